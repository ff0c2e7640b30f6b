/* A tier over another one, whose store is kept: it lists there what the other one writes and
 * removes (lib/owner/journal.h), and adopts by what the list of earlier runs says
 * (lib/owner/inventory.h). */
#ifndef KVTRACE_TIER_LISTED_H
#define KVTRACE_TIER_LISTED_H

#include "lib/owner/inventory.h"
#include "lib/tier/tier.h"

struct tier_listed_opts {
    struct tier *under;                  /* closed with this one, also when opening fails */
    const struct inventory_store *store; /* of the list; the caller's, until it is closed */
    struct lease *lease;                 /* of the store; NULL: nobody else is there */
    bool adopts;                         /* an earlier run has kept objects there */
    bool unsure;                         /* ... and may have torn some */
    bool writes;                         /* this run keeps its objects, so it lists them */
    unsigned rank;                       /* among the processes of this run that share the store */
    uint32_t epoch;
    uint64_t first_generation;
    int64_t flush_ns; /* as journal_opts */
    unsigned max_ops; /* as under's */
};
/* Adopting then says more than tier_ops.adopt does. -ENODATA: the object is on the list and not
 * there; -ESTALE: it is there in another size or generation. Both with *size and *generation of the
 * list, and a place from which it can be read and removed. */
int tier_listed_open(struct tier **out, const struct tier_listed_opts *o, struct err *e);

/* The results of adopting. */
struct tier_listed_facts {
    bool adopts;                /* an earlier run has kept objects there */
    enum inventory_state state; /* of the list; INVENTORY_NONE also without adopts */

    uint64_t listed;   /* objects on it */
    uint64_t unlisted; /* that were adopted all the same */
    uint64_t missing;  /* on the list and not there, of a run that may have removed them */
    int failed;        /* why this run's list was given up: negative errno, or 0 */
};
void tier_listed_look(const struct tier *tier, struct tier_listed_facts *f);
/* Nothing is adopted any more: what was adopted is forgotten here. */
void tier_listed_settle(struct tier *tier);
/* Whether the store stays, so that its list is to be ended. */
void tier_listed_keep(struct tier *tier, bool keep);

#endif
