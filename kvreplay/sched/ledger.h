/* The books of a run: each row is counted (counts), written (results), and reported on standard
 * error when it went wrong. Judges whether the run goes on after it. One thread, the
 * scheduler's. */
#ifndef KVREPLAY_SCHED_LEDGER_H
#define KVREPLAY_SCHED_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/sched/counts.h"
#include "kvreplay/sched/results.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"
#include "lib/tier/tier.h"

/* Each in the order of the choices of its option. */
enum ledger_on_absent { /* --on-absent */
    LEDGER_ABSENT_CREATE,
    LEDGER_ABSENT_SKIP,
    LEDGER_ABSENT_FAIL
};
enum ledger_on_error { /* --config on_error */
    LEDGER_ERROR_CONTINUE,
    LEDGER_ERROR_STOP
};
enum ledger_on_lag { /* --config on_lag */
    LEDGER_LAG_CONTINUE,
    LEDGER_LAG_SKIP_WAIT,
    LEDGER_LAG_STOP
};

enum {
    LEDGER_LINES = 10, /* of each kind, on standard error; the rest is counted */
    LEDGER_CODES = 16  /* of a store, whose words are told */
};

/* Plain state. Zero it and set the first part; what it points to stays the caller's. */
struct ledger {
    struct counts *counts;
    struct results *results;
    struct progress *progress; /* cleared before a line on standard error; may be NULL */
    const struct room *room;   /* TRACE_TIERS */
    const bool *verifies;      /* TRACE_TIERS: reads are verified there; NULL: none are */
    /* Bytes free now on what lies under a tier; UINT64_MAX: not known. May be NULL. */
    uint64_t (*target_free)(void *ctx, const struct row *r);
    void *ctx;
    enum ledger_on_absent on_absent;
    enum ledger_on_error on_error;
    enum ledger_on_lag on_lag;
    int64_t lag_limit_ns; /* from Due to Start; INT64_MAX: lag has no meaning (served, closed) */
    /* set by the functions below */
    uint64_t corrupt, failed;               /* rows, absent ones not counted */
    char code[LEDGER_CODES][TIER_CODE_CAP]; /* those that were told; "": no more */
    bool lagged;                            /* a row was beyond the limit */
    bool skip_waits; /* LEDGER_LAG_SKIP_WAIT, and the replay has not caught up */
};

/* The consequence of a row for the run. */
enum ledger_verdict {
    LEDGER_GO_ON,
    LEDGER_END /* the run ends with it */
};

/* The clock has started at zero_ns (monotonic). Statistics cover the time from warmup_ns later to
 * until_ns. Negative errno with *e, as results_zero. */
int ledger_begin(struct ledger *l, int64_t zero_ns, int64_t warmup_ns, int64_t until_ns,
                 struct err *e);
/* r has its start_ns. Reports the first row that is beyond the limit of lag. */
enum ledger_verdict ledger_started(struct ledger *l, struct row *r);
/* The object of r was created before it was read. */
void ledger_created(struct ledger *l, const struct row *r);
/* The operation of r's main stage is done, its Status set. */
void ledger_moved(struct ledger *l, const struct row *r, const struct tier_op *op);
/* All result columns of r are set. Negative errno with *e, as results_put. */
int ledger_finished(struct ledger *l, const struct row *r, enum ledger_verdict *verdict,
                    struct err *e);
/* The store was found full for the first time, and a cleaner makes room. */
void ledger_cleans(const struct ledger *l);
/* A signal came with so many operations in flight: says what happens now. */
void ledger_stopping(const struct ledger *l, size_t in_flight);
/* r's operation is left in flight: it is counted and written with Status ECANCELED. Negative errno
 * with *e, as results_put. */
int ledger_abandoned(struct ledger *l, struct row *r, int64_t now_ns, struct err *e);
/* The run is over: says how many lines were left out. */
void ledger_end(const struct ledger *l);

#endif
