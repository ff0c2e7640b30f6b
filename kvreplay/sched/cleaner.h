/* Makes room on Tier-2 when a write finds none (--on-full evict), as a cleaner beside an engine
 * does whose store has no bound of its own: removes the objects that were read longest ago
 * (written, if they never were) until 90 % is used of what a target holds. Keeps count of what each
 * target holds. One thread, the scheduler's. */
#ifndef KVREPLAY_SCHED_CLEANER_H
#define KVREPLAY_SCHED_CLEANER_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/sched/counts.h"
#include "kvreplay/sched/dispatch.h"
#include "kvreplay/wait/objects.h"
#include "kvreplay/wait/room.h"
#include "kvreplay/wait/row.h"

struct cleaner;

/* All of it stays the caller's. */
struct cleaner_opts {
    struct objects *objects; /* which keeps links; what it has now is the oldest */
    const struct room *room; /* of Tier-2, open; capacities are its and its targets' */
    struct counts *counts;
};

/* The bytes that may be left in a target that was found full with held of them. */
static inline uint64_t cleaner_goal(uint64_t held)
{
    return held / 10 * 9;
}

/* NULL: no memory. */
struct cleaner *cleaner_create(const struct cleaner_opts *o);
void cleaner_free(struct cleaner *c); /* takes NULL */

enum cleaner_answer {
    CLEANER_GO,
    CLEANER_WAIT, /* give the row to cleaner_line */
    CLEANER_NEVER /* the row's object is larger than its target; its effect says so */
};
/* r, a row of Tier-2, is about to write its object. */
enum cleaner_answer cleaner_asks(struct cleaner *c, struct row *r);
/* r's write ended with -ENOSPC or -EDQUOT, and what it left is removed. False: room was made since
 * it was sent, so that it may try again at once; else give it to cleaner_line. */
bool cleaner_found_full(struct cleaner *c, struct row *r);
/* r waits until there is room. */
void cleaner_line(struct cleaner *c, struct row *r);

/* An operation of r, a row of Tier-2 that has an object, was sent to the store. */
void cleaner_sent(struct cleaner *c, struct row *r);
/* Bytes that r's object takes now, for cleaner_ended, before the object changes. */
uint64_t cleaner_held(const struct cleaner *c, const struct row *r);
/* The operation has ended, and the object says with what result. held: see cleaner_held. */
void cleaner_ended(struct cleaner *c, struct row *r, uint64_t held);

/* While any row waits: the row that removes the next object, to be handed to dispatch_row; NULL:
 * none for now. Objects that dispatch works on stay. */
struct row *cleaner_removal(struct cleaner *c, const struct dispatch *d);
/* Such a row has ended with that status of its operation. */
void cleaner_removed(struct cleaner *c, struct row *r, int status);
/* The next row that need not wait any more; NULL: none. *room: whether there may be room, or
 * nothing is left that could be removed, nor in flight. */
struct row *cleaner_next(struct cleaner *c, bool *room);

#endif
