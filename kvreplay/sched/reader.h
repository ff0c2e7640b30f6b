/* The thread that reads the trace ahead of the scheduler. Rows live in recycled slots; the window
 * is bounded in rows and in bytes. The reader's thread fills rows; the scheduler's thread takes
 * them and gives them back. */
#ifndef KVREPLAY_SCHED_READER_H
#define KVREPLAY_SCHED_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/selection.h"
#include "kvreplay/wait/row.h"
#include "lib/base/err.h"
#include "lib/thread/bell.h"
#include "lib/trace/read.h"

enum {
    READER_BATCH = 64
};
/* Bytes of all texts that do not fit in their rows. */
#define READER_MAX_TEXT ((size_t)64 << 20)

struct reader_opts {
    size_t rows;             /* window; a multiple of READER_BATCH */
    struct selection select; /* with more than one loop the trace must be able to rewind */
    bool want_line;          /* keep the text of the row */
    bool want_user;          /* hash the name of the user */
    bool want_lookups;       /* name the objects that Miss rows looked for on Tier-2 */
    bool tell_starved;       /* ring the bell also when reader_starved becomes true */
    struct bell *bell;       /* rung when rows are there, and at the end; the caller's */
};

struct reader;

/* Starts to read trace, which stays the caller's, with one cursor. */
int reader_open(struct reader **out, struct trace_reader *trace, const struct reader_opts *o,
                struct err *e);
/* Scheduler: takes the next rows in the order of the trace. Returns their number; 0: none now. Each
 * row is the caller's until reader_give. */
size_t reader_take(struct reader *r, struct row *rows[READER_BATCH]);
/* Scheduler: gives a finished row back. */
void reader_give(struct reader *r, struct row *row);
/* Scheduler: the reader cannot go on until rows are given back. */
bool reader_starved(const struct reader *r);
/* Scheduler, when it has taken a row behind the head: with parts, the Timestamp of the trace's
 * first such row, whichever part runs it, so that the clocks of all parts mean the same; TRACE_NONE
 * without. */
int64_t reader_zero_time_ns(const struct reader *r);
/* Any thread: the reader has read all that it can for now. It waits for free rows, or is at its
 * end. A test with a clock that jumps waits for this. */
bool reader_quiet(const struct reader *r);
/* Scheduler: has every row been taken, and is the input at its end? 0: not yet; 1: yes; negative
 * errno with *e (may be NULL): the input failed. */
int reader_ended(const struct reader *r, struct err *e);
/* Ends the thread and frees r, which may be NULL. *skipped: rows that the selection left out.
 * False: the thread is stuck in a read of its input; then neither r nor the trace may be used or
 * freed, and nothing that either points to. */
bool reader_close(struct reader *r, uint64_t *skipped);

#endif
