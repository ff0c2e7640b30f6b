/* Which rows wait for which: by key (reads of one key together, everything else alone, in the order
 * of the trace) and by request (one row after another). Only rows inside the window are known. One
 * thread, the scheduler's. */
#ifndef KVREPLAY_WAIT_ORDER_H
#define KVREPLAY_WAIT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/wait/row.h"

/* In the order of the choices of --order. */
enum order_mode {
    ORDER_AUTO,    /* ORDER_REQUEST when the trace has the column, else ORDER_KEY; not for
                      order_create */
    ORDER_REQUEST, /* by request and by key */
    ORDER_KEY,
    ORDER_NONE /* only what a tier needs to be safe: one writer or several readers of a copy. Reads
                  may overtake writes */
};

struct order;

/* For at most rows rows inside. NULL: no memory. */
struct order *order_create(enum order_mode mode, size_t rows);
void order_free(struct order *o);
/* The next row of the trace enters; its t, key, name and effect are set. Sets its chains, and waits
 * to what it waits for. */
void order_enter(struct order *o, struct row *r);
/* The row enters soon: fetches the buckets of its chains, and a little later the chains. */
void order_prefetch_buckets(const struct order *o, const struct row *r);
void order_prefetch_chains(const struct order *o, const struct row *r);
/* Rows of a request wait for rows of their copy (tier and key) only, not for what becomes of the
 * others under the key. Reads and writes without a request wait for those of their key that have
 * none either, so that a copy is read before it is written elsewhere. For traces of engines that
 * serve steps. */
void order_by_copy(struct order *o);
/* From the first row on, keeps what order_blockers needs. */
void order_keep_links(struct order *o);
/* Calls visit for the rows, each of a request (r->request), that r waits for by its key. Rows that
 * these wait for in turn are left out, and may be visited as well. Rows of no request are passed
 * over to what they wait for. */
typedef void (*order_visit_fn)(void *ctx, struct row *blocker);
void order_blockers(const struct row *r, order_visit_fn visit, void *ctx);
/* The row's write of its object was done at done_ns. Call it before order_leave. */
void order_wrote(struct row *r, int64_t done_ns);
/* Does a read that starts at start_ns come before the end of a write that precedes it in the trace?
 * The run counts such reads: there must be none, unless ORDER_NONE. */
bool order_reads_early(const struct row *r, int64_t start_ns);
/* The row is finished. Returns the rows that wait for no other row any more, linked by woken, in
 * the order of the trace. They may still wait for room, a worker or their user. */
struct row *order_leave(struct order *o, struct row *r);

#endif
