/* order.h - which rows must wait for which: by key (reads of one key together, everything else
 * alone, in the order of the trace) and by request (one row after another). Only rows inside the
 * window are known. One thread. */
#ifndef KVREPLAY_SCHED_ORDER_H
#define KVREPLAY_SCHED_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/row.h"

enum order_mode {
    ORDER_REQUEST, /* by request and key */
    ORDER_KEY,
    ORDER_NONE /* only what a tier needs to be safe: one writer or several readers of a copy, reads
                  may overtake */
};

struct order;

/* For at most rows rows inside. NULL: no memory. */
struct order *order_create(enum order_mode mode, size_t rows);
void order_free(struct order *o);
/* The next row of the trace (t, key, name and plan filled): sets its chains and waits. */
void order_enter(struct order *o, struct row *r);
/* The row will enter soon: fetches the cells of its chains; a little later, the chains. */
void order_prefetch_cells(const struct order *o, const struct row *r);
void order_prefetch_chains(const struct order *o, const struct row *r);
/* The row's write of its object was complete at done_ns. Before order_leave. */
void order_wrote(struct row *r, int64_t done_ns);
/* Would a read that starts at start_ns come before the end of a write that stands before it in the
 * trace? */
int order_reads_early(const struct row *r, int64_t start_ns);
/* The row is finished. Returns the rows whose last wait for another row has ended (linked by woken,
 * in the order of the trace); they may still wait for room. */
struct row *order_leave(struct order *o, struct row *r);

#endif
