/* tier_servers.h - when the operations of the hierarchy happen, where its tiers take time. */
#ifndef KVGEN_SIM_TIER_SERVERS_H
#define KVGEN_SIM_TIER_SERVERS_H

#include <stdint.h>

#include "kvgen/sim/hierarchy.h"
#include "kvgen/tier_model.h"
#include "lib/base/hist.h"

/*
 * The model. The hierarchy decides at the present instant where objects go and tells its operations
 * in a consistent order. Here each of them gets its times, behind what it depends on:
 *  - Each tier has one server for reads and one for writes. A server transfers one operation after
 * the other, in the order in which they were told, each for size / bandwidth. An operation is
 * complete the fixed latency after its transfer; the latency does not occupy the server.
 *  - Nothing else touches an object while it is being written or moved.
 *  - Space is taken in the order in which it was given: a write into a tier is issued when all that
 * was to leave that tier before it has left. A demoted object has left when its write below is
 * complete, a promoted one when it was read, a deleted one at its Delete. So the rows in the order
 * of their times are as consistent as in the order in which they were told, and no tier ever holds
 * more than its capacity.
 */
struct tier_servers;

struct tier_server_span {
    int64_t issue_ns;    /* the row's time, not before the present; then it waits for its server */
    int64_t complete_ns; /* not before issue_ns */
};

/* One server so far. */
struct tier_server_use {
    struct hist *latency_ns; /* of its operations, from issue to completion */
    int64_t transfer_ns;     /* time it transferred, in all */
};

/* The models are copied. NULL: no memory. */
struct tier_servers *tier_servers_create(const struct tier_model model[TRACE_TIERS]);
void tier_servers_free(struct tier_servers *t);

/* Gives the next operation that the hierarchy tells its times. now_ns never goes back between
 * calls. 0 or -ENOMEM. */
int tier_servers_schedule(struct tier_servers *t, const struct hierarchy_op *op, int64_t now_ns,
                          struct tier_server_span *span);
/* When an object with this identity may be looked up: at the end of its write, move or removal, or
 * at now_ns. */
int64_t tier_servers_ready_ns(struct tier_servers *t, struct ident id, int64_t now_ns);
/* Lent. NULL: operations on that tier take no time. */
const struct tier_server_use *tier_servers_reads(const struct tier_servers *t,
                                                 enum trace_tier tier);
const struct tier_server_use *tier_servers_writes(const struct tier_servers *t,
                                                  enum trace_tier tier);

#endif
