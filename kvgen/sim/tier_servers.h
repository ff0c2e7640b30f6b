/* tier_servers.h - when the operations of the hierarchy happen, where its tiers take time. */
#ifndef KVGEN_SIM_TIER_SERVERS_H
#define KVGEN_SIM_TIER_SERVERS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/sim/emitter.h"
#include "kvgen/sim/hierarchy.h"
#include "kvgen/sim/virtual_clock.h"
#include "kvgen/speed/tier_model.h"
#include "lib/base/hist.h"

/*
 * The model. The hierarchy decides at the present instant where objects go and tells its operations
 * in a consistent order. Here each of them waits until what it depends on is over. Then it is
 * issued: it joins its server's queue, and its row goes to the emitter.
 *  - Each tier has one server for reads and one for writes. A server transfers one operation after
 * the other, in the order in which they were issued, each for size / bandwidth, and is never idle
 * while one waits. An operation is complete the fixed latency after its transfer; the latency does
 * not occupy the server.
 *  - A tier with a measured drive has one server for both (lib/drive/share_server.h): all that are
 * issued move at once and share its rate, which depends on them. Deletes take no time.
 *  - Nothing else touches an object while it is being written or moved. The operations on one
 * object happen in the order in which they were told.
 *  - Space is taken in the order in which it was given: a write into a tier is issued when all that
 * was told to leave that tier before it has left. A demoted object has left when its write below is
 * complete, a promoted one when it was read, a deleted one at its Delete. So the rows in the order
 * of their times are as consistent as in the order in which they were told, and no tier ever holds
 * more than its capacity.
 */
struct tier_servers;

/* One server so far. */
struct tier_server_use {
    struct hist *latency_ns; /* of its operations, from issue to completion */
    int64_t transfer_ns; /* it transferred until tier_servers_end; of a measured drive for both */
};

/* The models are copied. The clock and the emitter stay the caller's. NULL: no memory. */
struct tier_servers *tier_servers_create(const struct tier_model model[TRACE_TIERS],
                                         struct virtual_clock *clock, struct emitter *emitter);
void tier_servers_free(struct tier_servers *t);

/*
 * Takes the next operation that the hierarchy tells, at the present time: a Read, Write or Delete.
 * job waits for its end: its until_ns becomes that time, or SLEEPER_PARKED while the operation
 * cannot be issued; it is woken then. NULL: nobody waits. Failures end the run.
 */
void tier_servers_schedule(struct tier_servers *t, const struct sim_row *row, struct sleeper *job);
/* Whether the object with this identity is being written, moved or removed. If so, the job is
 * parked and woken when that is over. */
bool tier_servers_in_flight(struct tier_servers *t, struct ident id, struct sleeper *job);
/* Completes the operations that end up to until_ns and issues those that waited for them. The clock
 * follows the rows. true: a job was woken, perhaps for a time before until_ns, and operations that
 * end later are left. */
bool tier_servers_advance(struct tier_servers *t, int64_t until_ns);
/* The run ends at the clock's time: use counts the transfers up to it. Call it once, at last. */
void tier_servers_end(struct tier_servers *t);
/* Lent. NULL: operations on that tier take no time. */
const struct tier_server_use *tier_servers_reads(const struct tier_servers *t,
                                                 enum trace_tier tier);
const struct tier_server_use *tier_servers_writes(const struct tier_servers *t,
                                                  enum trace_tier tier);

#endif
