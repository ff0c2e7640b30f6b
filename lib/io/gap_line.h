/* A line, and what stops of the process have added to the waits in it. Who arrives while the
 * process stands still, and those behind them, wait for workers that the stop held, although it
 * overlaps few of the waits: what it adds is carried from one wait to the next, until somebody
 * waits less. In a line that is served in order the waits are longer by just that (Lindley 1952:
 * the waits of both lines, with the stop and without, differ by a constant until the shorter one is
 * empty). One thread. */
#ifndef KVTRACE_IO_GAP_LINE_H
#define KVTRACE_IO_GAP_LINE_H

#include <stdint.h>

/* A gap of all threads at once that is shorter is a busy machine's: it holds what runs in it, but
 * makes no line. */
#define GAP_STOP_NS INT64_C(100000000)

struct gap_line {
    int64_t seen_ns;    /* the latest start */
    int64_t carried_ns; /* added to the waits that end there */
};
#define GAP_LINE_NEW ((struct gap_line){.seen_ns = INT64_MIN})

/* How much of the time from start_ns to end_ns lies in stops. */
typedef int64_t (*gap_line_overlap_fn)(const void *stops, int64_t start_ns, int64_t end_ns);

/* The time that stops added to the wait from due_ns to start_ns. Waits come nearly in the order of
 * their starts: one that comes late, with a stop between it and those before it, gets what it
 * overlaps.
 */
int64_t gap_line_add_ns(struct gap_line *l, gap_line_overlap_fn overlap, const void *stops,
                        int64_t due_ns, int64_t start_ns);

#endif
