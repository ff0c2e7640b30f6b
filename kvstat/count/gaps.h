/* gaps.h - the times at which the replay did not get its processors, as its summary lists them. */
#ifndef KVSTAT_COUNT_GAPS_H
#define KVSTAT_COUNT_GAPS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct gaps;
/* From a summary: the file at path, else the text (both may be NULL). *out NULL: it lists none. 0
 * or a negative errno with *e. */
int gaps_read(struct gaps **out, const char *path, const char *summary, struct err *e);
void gaps_free(struct gaps *g);
/* Those of 0.1 s and more in which no thread ran at all; lent by g, which may be NULL. */
const struct gaps *gaps_of_process(const struct gaps *g);
/* How much of the time from start_ns to end_ns, on the replay's clock, lies in gaps of any thread.
 */
int64_t gaps_overlap_ns(const struct gaps *g, int64_t start_ns, int64_t end_ns);

/* A line, and what stops have added to the waits in it. Who arrives while the process stands still,
 * and those behind them, wait for workers that the stop held, although it overlaps few of the
 * waits: what it adds is carried from one wait to the next, until somebody waits less. In a line
 * that is served in order the waits are longer by just that (Lindley 1952: the waits of both lines,
 * with the stop and without, differ by a constant until the shorter one is empty). */
struct gaps_line {
    int64_t seen_ns;    /* the latest start */
    int64_t carried_ns; /* added to the waits that end there */
};
#define GAPS_LINE_NEW ((struct gaps_line){.seen_ns = INT64_MIN})
/* What stops added to the wait from due_ns to start_ns. Waits come nearly in the order of their
 * starts: one that comes late, with a stop between it and those before it, gets what it overlaps.
 */
int64_t gaps_line_add_ns(struct gaps_line *l, const struct gaps *stops, int64_t due_ns,
                         int64_t start_ns);

#endif
