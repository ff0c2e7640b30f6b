/* Rows on their way to their tier and back. A row becomes one or more tier operations, each of
 * which takes a slot in flight; the outcome sets the row's Status and its object. One thread, the
 * scheduler's. */
#ifndef KVREPLAY_SCHED_DISPATCH_H
#define KVREPLAY_SCHED_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/wait/row.h"
#include "lib/base/clock.h"
#include "lib/tier/tier.h"

struct dispatch;

struct dispatch_opts {
    struct tier **tier;      /* TRACE_TIERS; NULL where no row needs one */
    const bool *verifies;    /* TRACE_TIERS: the engine checks what it reads */
    const bool *takes_slots; /* TRACE_TIERS: the engine does; NULL with ahead 0 */
    enum tier_verify verify;
    bool wants_where; /* where operations lie on their disks is asked for */
    const struct clock *clock;
    unsigned slots;      /* operations in flight at most */
    unsigned ahead;      /* more may be inside, of engines that take slots: these open the next ones
                            and check the last ones beside those in flight */
    unsigned max_writes; /* of all inside, objects being written; 0: no bound */
};

/* Everything that o points to stays the caller's. NULL: no memory. */
struct dispatch *dispatch_create(const struct dispatch_opts *o);
void dispatch_free(struct dispatch *d);

enum dispatch_end {
    DISPATCH_REFUSED, /* no slot is free, or the engine takes no more: try again later */
    DISPATCH_SHUT,    /* too many objects are being written: give the row to dispatch_hold */
    DISPATCH_NOTHING, /* nothing is left to do; the Status is set */
    DISPATCH_SENT     /* the engine's poll returns the operation, its owner being the row */
};

/* Hands the present stage of r, which has a tier, to its engine. For DISPATCH_NOTHING and _SENT,
 * *now_ns is the moment before, and *slot_ns is since when its slot was free (INT64_MIN: since the
 * start). */
enum dispatch_end dispatch_row(struct dispatch *d, struct row *r, int64_t *now_ns,
                               int64_t *slot_ns);
/* Keeps r until it may write; dispatch_leave or dispatch_next_writer returns it. */
void dispatch_hold(struct dispatch *d, struct row *r);
/* A row that dispatch_leave returned does not write: returns the next of those held that may write
 * now; NULL: none. */
struct row *dispatch_next_writer(struct dispatch *d);
/* Makes the engines begin what they got since the last call. */
void dispatch_kick(struct dispatch *d);
/* Is the next operation of the row a write of its object? */
bool dispatch_writes(const struct row *r);
/* An operation is done (op->done_ns) and was looked at: frees its slot. wrote: what dispatch_writes
 * said when it was sent. Returns a held row that may write now, with its Eligible set; NULL: none
 * waits. */
struct row *dispatch_leave(struct dispatch *d, struct tier_op *op, bool wrote);
/* Is an operation of a row of that object inside? Looks at all places. */
bool dispatch_works_on(const struct dispatch *d, const struct object *object);
/* Goes through the rows whose operations are inside: *pos from 0 on; NULL: no more. */
struct row *dispatch_in_flight(const struct dispatch *d, size_t *pos);
/* Operations inside. */
size_t dispatch_busy(const struct dispatch *d);
/* When an engine that knows it has its next completion; INT64_MAX: none knows. */
int64_t dispatch_next_ns(const struct dispatch *d);

/* Fills op for the row's present stage. True: submit op to the row's tier. False: nothing is left
 * to do; t.status is set. Repeat it for the same stage when a submit was refused. */
bool dispatch_prepare(struct row *r, enum tier_verify verify, struct tier_op *op);
/* op has completed: updates the object and the Status. True: another stage follows. */
bool dispatch_complete(struct row *r, const struct tier_op *op);

#endif
