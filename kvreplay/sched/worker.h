/* worker.h - what is done for one row: the operations its tier gets, and what their outcome means
 * for the object and for the row's Status. The scheduler submits and polls. */
#ifndef KVREPLAY_SCHED_WORKER_H
#define KVREPLAY_SCHED_WORKER_H

#include <stdbool.h>

#include "kvreplay/sched/row.h"
#include "lib/tier/tier.h"

/*
 * Fills op for the row's present stage; the row holds the object of its plan. True: op must be
 * submitted to the row's tier. False: nothing is left to do, t.status is set. May be called again
 * for the same stage when a submit was refused.
 */
bool worker_prepare(struct row *r, enum tier_verify verify, struct tier_op *op);
/* op has completed: updates the object and the Status. True: another stage follows (prepare again).
 */
bool worker_complete(struct row *r, const struct tier_op *op);

#endif
