/* reader.h - the thread that reads the trace ahead: rows in recycled slots, a window bounded in
 * rows and in bytes. The reader's thread fills rows; the scheduler's thread takes and gives them
 * back. */
#ifndef KVREPLAY_SCHED_READER_H
#define KVREPLAY_SCHED_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/row.h"
#include "kvreplay/sched/tier_map.h"
#include "kvreplay/sched/user_limit.h"
#include "lib/base/bell.h"
#include "lib/base/err.h"
#include "lib/trace/read.h"

enum {
    READER_BATCH = 64
};
/* Rows longer than a slot's own text may hold so many bytes in all. */
#define READER_MAX_TEXT ((size_t)64 << 20)

struct reader_opts {
    size_t rows;    /* window, multiple of READER_BATCH */
    uint64_t limit; /* rows at most, 0: all */
    uint64_t loops; /* passes over them; above 1 the trace must rewind. 0: 1 */
    struct tier_map map;
    struct user_limit *user_limit; /* NULL: all users. The reader's thread's */
    int only_tier;                 /* enum trace_tier, or -1: all */
    bool want_line;                /* keep the text of the row */
    bool want_user;                /* hash the name of the user */
    bool tell_starved;             /* ring as well when reader_starved becomes true */
    struct bell *bell;             /* rung when rows are there, and at the end */
};

struct reader;

/* Name of a copy: hash of (tier, hash of the key). */
struct hash128 reader_copy_name(struct hash128 key, unsigned tier);

/* Starts reading trace (which stays the caller's) with one cursor. */
int reader_open(struct reader **out, struct trace_reader *trace, const struct reader_opts *o,
                struct err *e);
/* Scheduler: the next rows in the order of the trace, their number; 0: none now. Each is the
 * caller's until reader_give. */
size_t reader_take(struct reader *r, struct row *rows[READER_BATCH]);
/* Scheduler: a finished row goes back. */
void reader_give(struct reader *r, struct row *row);
/* Scheduler: it can read no further until rows are given back. */
bool reader_starved(const struct reader *r);
/* It has read all that it can for now: it waits for free rows, or is at its end. Any thread; for
 * whoever must know that time does not run ahead of reading (a clock that jumps). */
bool reader_quiet(const struct reader *r);
/* Scheduler: everything was taken and the input is at its end (or failed: negative errno and *e).
 * 0: not yet; 1: the end. */
int reader_ended(const struct reader *r, struct err *e);
/* Ends the thread; *skipped: rows that --only-tier left out. False: it is stuck in a read of its
 * input; then r and the trace must be left alone. */
bool reader_close(struct reader *r, uint64_t *skipped);

#endif
