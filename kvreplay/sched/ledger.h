/* ledger.h - what is kept of a row as it runs: counted (stats), written (results), said (notices),
 * and whether the run may go on after it. One thread, the scheduler's. */
#ifndef KVREPLAY_SCHED_LEDGER_H
#define KVREPLAY_SCHED_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/sched/counts.h"
#include "kvreplay/sched/lag.h"
#include "kvreplay/sched/notices.h"
#include "kvreplay/sched/results.h"
#include "kvreplay/sched/room.h"
#include "kvreplay/sched/row.h"
#include "lib/base/err.h"
#include "lib/tier/tier.h"

/* All that it points to stays the caller's. */
struct ledger {
    struct counts *counts;
    struct results *results;
    struct notices *notices;
    const struct room *room; /* TRACE_TIERS */
    const bool *verifies;    /* TRACE_TIERS: reads are verified there; NULL: none is */
    /* Bytes free now on what lies under a tier, UINT64_MAX: not known; may be NULL */
    uint64_t (*target_free)(void *ctx, unsigned tier);
    void *ctx;
    bool absent_ends; /* a row without its object ends the run */
    bool failed_ends; /* any row that failed does */
    bool lags; /* rows are to start at their times; a line of requests that grows is no lag */
    struct lag lag;
};

/* The clock has started at zero_ns (monotonic): statistics cover warmup_ns later until until_ns.
 * Negative errno with *e, as results_zero. */
int ledger_begin(struct ledger *l, int64_t zero_ns, int64_t warmup_ns, int64_t until_ns,
                 struct err *e);
/* r has its start_ns. True: it is the first one beyond the limit of lag. */
bool ledger_started(struct ledger *l, const struct row *r);
/* The object of r was created before it was read. */
void ledger_created(struct ledger *l, const struct row *r);
/* The operation of r's main stage is done, its Status set. */
void ledger_moved(struct ledger *l, const struct row *r, const struct tier_op *op);
/* All result columns of r are set. *ends: the run ends with it. Negative errno with *e, as
 * results_put. */
int ledger_finished(struct ledger *l, const struct row *r, bool *ends, struct err *e);

#endif
