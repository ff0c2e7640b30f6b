/* write_gate.h - bounds the objects that are being written at once (--max-concurrent-allocs): rows
 * that may not go yet stand in line behind it. One thread, the scheduler's. */
#ifndef KVREPLAY_SCHED_WRITE_GATE_H
#define KVREPLAY_SCHED_WRITE_GATE_H

#include <stdbool.h>

#include "kvreplay/sched/row_list.h"

/* Zero it, then set max. */
struct write_gate {
    unsigned max; /* 0: no bound */
    unsigned writing;
    struct row_list line;
};

static inline bool write_gate_shut(const struct write_gate *g)
{
    return g->max && g->writing == g->max;
}

/* A write has ended at done_ns: the row that may go now, Eligible from then on; NULL: none waits.
 */
static inline struct row *write_gate_leave(struct write_gate *g, int64_t done_ns)
{
    struct row *r = g->line.head ? list_pop(&g->line) : NULL;

    g->writing--;
    if (r && r->t.eligible_ns < done_ns)
        r->t.eligible_ns = done_ns;
    return r;
}

#endif
