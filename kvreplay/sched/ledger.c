/* Beside the scheduler, which calls it when a row has started, moved its bytes or ended: the one
 * place that feeds statistics, result rows and notices, and judges by the row's Status and its lag
 * whether the run goes on. */
#include "kvreplay/sched/ledger.h"

#include <errno.h>

#include "kvreplay/sched/order.h"

int ledger_begin(struct ledger *l, int64_t zero_ns, int64_t warmup_ns, int64_t until_ns,
                 struct err *e)
{
    l->counts->from_ns = zero_ns + warmup_ns;
    l->counts->until_ns = until_ns;
    return results_zero(l->results, zero_ns, e);
}

bool ledger_started(struct ledger *l, const struct row *r)
{
    if (r->t.op == TRACE_READ && order_reads_early(r, r->t.start_ns))
        l->counts->reads_before_write++;
    return l->lags && r->t.due_ns != TRACE_NONE && lag_started(&l->lag, r, l->notices);
}

void ledger_created(struct ledger *l, const struct row *r)
{
    l->counts->created_objects++;
    l->counts->created_bytes += r->t.size;
    l->counts->write_bytes[r->t.tier] += r->t.size;
}

void ledger_moved(struct ledger *l, const struct row *r, const struct tier_op *op)
{
    if (r->t.status == TRACE_CORRUPT)
        notices_corrupt(l->notices, r, &op->fault);
    l->counts->unverified_reads +=
        op->verb == TIER_READ && !(l->verifies && l->verifies[r->t.tier]);
}

/* Says what is wrong with a row that did not end ok. True: the run ends with it. */
static bool ledger_judge(struct ledger *l, const struct row *r)
{
    bool absent = r->t.status == TRACE_ABSENT;

    if (r->t.status == TRACE_OK || (absent && !l->absent_ends))
        return false;
    if (r->t.status == ENOSPC)
        notices_no_space(l->notices, r, &l->room[r->t.tier],
                         l->target_free ? l->target_free(l->ctx, r->t.tier) : UINT64_MAX);
    else if (r->t.status != TRACE_CORRUPT) /* which was said when it was found */
        notices_failed(l->notices, r);
    return absent || l->failed_ends;
}

int ledger_finished(struct ledger *l, const struct row *r, bool *ends, struct err *e)
{
    counts_add(l->counts, r);
    int rc = results_put(l->results, &r->t, e);
    *ends = ledger_judge(l, r);
    return rc;
}
