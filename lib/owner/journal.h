/* Writes the list of a kept store (inventory.h) while a run goes on: what it writes and removes, in
 * batches, so that after a kill the list says what the store holds. */
#ifndef KVTRACE_OWNER_JOURNAL_H
#define KVTRACE_OWNER_JOURNAL_H

#include "lib/owner/inventory.h"
#include "lib/owner/lease.h"

struct journal;

struct journal_opts {
    const struct inventory_store *store; /* the caller's, as all pointers here */
    const struct inventory *had; /* the list that is there; NULL: there is none, or another process
                                    of this run has read it */
    bool trusted;                /* what it says may be used (inventory_holds) */
    bool exact;                  /* ... and what it names was not removed (inventory_exact) */
    struct lease *lease;         /* asked before each change; NULL: nobody else is there */
    unsigned rank;               /* among the processes that share the store */
    uint32_t epoch;
    uint64_t first_generation;
    int64_t flush_ns; /* longest time in which a record is not written */
};
/* Writes that the run begins; first the list anew, where it is long or damaged. 0 or negative errno
 * with *e, class ERR_TARGET. */
int journal_open(struct journal **out, const struct journal_opts *o, struct err *e);
/* An object was written, or one that lies in the store is not on the list. Takes no memory; waits
 * only when records come faster than the store takes them. Any thread. */
void journal_put(struct journal *j, const struct inventory_record *r);
/* An object is about to be removed or written over. True: only once it is on the list
 * (journal_flush); so it is always where the list is local, else at the first removal of the run,
 * as the list must say that there are some. */
bool journal_gone(struct journal *j, struct hash128 name);
/* Writes what was noted so far. 0, or negative errno: it is tried again, unless the list is given
 * up. */
int journal_flush(struct journal *j);
/* Why the list was given up: negative errno; 0: it is not. What it would say falsely was removed
 * from it. */
int journal_failed(const struct journal *j);
/* keep: writes the rest, and that the run has ended in order. Frees j, which may be NULL. Negative
 * errno with *e, class ERR_OUTPUT: the list could not be written. */
int journal_close(struct journal *j, bool keep, struct err *e);
/* This host's boot, as runs on the list have it. */
struct hash128 journal_boot(void);

#endif
