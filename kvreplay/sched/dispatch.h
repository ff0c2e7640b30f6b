/* dispatch.h - rows of a tier on their way to its engine and back: a slot in flight for each, and
 * the bound on objects written at once. One thread, the scheduler's. */
#ifndef KVREPLAY_SCHED_DISPATCH_H
#define KVREPLAY_SCHED_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/flights.h"
#include "kvreplay/sched/row.h"
#include "kvreplay/sched/write_gate.h"
#include "lib/base/clock.h"
#include "lib/tier/tier.h"

/* Set the first six (of the gate its max), zero the rest. */
struct dispatch {
    struct tier **tier;   /* TRACE_TIERS; NULL where no row may need one */
    const bool *verifies; /* TRACE_TIERS: the engine checks what it reads */
    enum tier_verify verify;
    const struct clock *clock;
    struct flights *flights;
    struct write_gate gate;
    bool submitted[TRACE_TIERS];
};

enum dispatch_end {
    DISPATCH_REFUSED, /* no slot is free, or the engine takes no more: again later */
    DISPATCH_NOTHING, /* nothing is left to do there, the Status is set */
    DISPATCH_SENT     /* the engine's poll gives it back, owner being the row */
};

/* Is what the row does next a write of its object? */
static inline bool dispatch_writes(const struct row *r)
{
    return r->stage == ROW_CREATE || (r->stage == ROW_MAIN && r->t.op == TRACE_WRITE);
}

/* True: r may not write yet; it goes to dispatch_hold, and comes back from dispatch_leave. */
static inline bool dispatch_shut(const struct dispatch *d, const struct row *r)
{
    return write_gate_shut(&d->gate) && dispatch_writes(r);
}

static inline void dispatch_hold(struct dispatch *d, struct row *r)
{
    list_append(&d->gate.line, r);
}

/* Hands the present stage of r, which has a tier, to its engine. Unless it is refused: *now_ns is
 * the moment before, *slot_ns the one since when its slot was free (INT64_MIN: always). */
enum dispatch_end dispatch_row(struct dispatch *d, struct row *r, int64_t *now_ns,
                               int64_t *slot_ns);
/* The engines are to begin what they got since the last kick. */
void dispatch_kick(struct dispatch *d);
/* An operation is done (op->done_ns) and looked at: its slot is free from then on. wrote: what
 * dispatch_writes said when it was sent. The row that may write now, Eligible; NULL: none waits. */
struct row *dispatch_leave(struct dispatch *d, struct tier_op *op, bool wrote);

static inline size_t dispatch_busy(const struct dispatch *d)
{
    return flights_busy(d->flights);
}

/* When an engine that knows it has its next completion; INT64_MAX: none does. */
int64_t dispatch_next_ns(const struct dispatch *d);

#endif
