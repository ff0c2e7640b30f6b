/* Between the scheduler, which says when a row goes, and the engines of the tiers: takes a slot in
 * flight, has worker.c fill its operation, submits it, and frees the slot when it is back. */
#include "kvreplay/sched/dispatch.h"

#include "kvreplay/sched/worker.h"

enum dispatch_end dispatch_row(struct dispatch *d, struct row *r, int64_t *now_ns, int64_t *slot_ns)
{
    struct flight *f = flights_next(d->flights);
    unsigned tier = r->t.tier;
    bool writes = dispatch_writes(r);

    if (!f)
        return DISPATCH_REFUSED;
    struct tier_op *op = flight_op(f);
    bool more = worker_prepare(r, d->verifies[tier] ? d->verify : TIER_VERIFY_NONE, op);
    *slot_ns = flight_freed_ns(f);
    *now_ns = d->clock->now_ns(d->clock->ctx);
    if (!more)
        return DISPATCH_NOTHING;
    op->owner = r;
    if (d->tier[tier]->ops->submit(d->tier[tier], op) < 0)
        return DISPATCH_REFUSED;
    flights_take(d->flights);
    d->gate.writing += writes;
    d->submitted[tier] = true;
    return DISPATCH_SENT;
}

void dispatch_kick(struct dispatch *d)
{
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        if (d->submitted[i])
            d->tier[i]->ops->kick(d->tier[i]);
        d->submitted[i] = false;
    }
}

struct row *dispatch_leave(struct dispatch *d, struct tier_op *op, bool wrote)
{
    flights_give(d->flights, flight_of(op), op->done_ns);
    return wrote ? write_gate_leave(&d->gate, op->done_ns) : NULL;
}

int64_t dispatch_next_ns(const struct dispatch *d)
{
    int64_t first = INT64_MAX;

    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        int64_t next = d->tier[i] ? d->tier[i]->ops->next_ns(d->tier[i]) : INT64_MAX;
        first = next < first ? next : first;
    }
    return first;
}
