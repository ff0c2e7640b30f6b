/* Between the ranks of a step: each sends its figures, with the distributions behind them, to rank
 * 0, which makes one of them and spreads what came of it. autoscale.c decides by that. */
#include "kvreplay/many/pool.h"

#include <errno.h>

#include "lib/json/jsonout.h"
#include "lib/ranks/documents.h"

_Static_assert(FACT_STEP_END_TO_END + TRACE_QOSES - 1 == FACT_STEP_LAST, "a fact for each class");

static void put_step(struct facts *f, const struct replay_figures *g, const struct replay_times *t)
{
    *f = (struct facts){0};
    facts_put_yes(f, FACT_STEP_INTERRUPTED, g->interrupted);
    facts_put_yes(f, FACT_STEP_STOPPED, g->stopped);
    facts_put_number(f, FACT_STEP_S, g->seconds);
    facts_put_number(f, FACT_STEP_LEAST_S, g->least_s);
    facts_put_count(f, FACT_STEP_TOKENS, true, g->tokens);
    facts_put_count(f, FACT_STEP_BYTES, true, g->bytes);
    facts_put_count(f, FACT_STEP_FAILED, true, g->failed);
    facts_put_count(f, FACT_STEP_WAITING, true, g->waiting);
    facts_put_hist(f, FACT_STEP_READ, t->read);
    facts_put_hist(f, FACT_STEP_WRITE, t->write);
    facts_put_hist(f, FACT_STEP_QUEUE, t->queue);
    for (unsigned i = 0; i < TRACE_QOSES; i++)
        facts_put_hist(f, FACT_STEP_END_TO_END + i, t->end_to_end[i]);
}

static int64_t p95(const struct facts *f, enum fact_id id)
{
    const struct hist *h = f->of[id].hist;

    return h && hist_count(h) ? hist_percentile(h, 950000) : TRACE_NONE;
}

static void take_step(struct replay_figures *g, const struct facts *f)
{
    *g = (struct replay_figures){.interrupted = f->of[FACT_STEP_INTERRUPTED].yes,
                                 .stopped = f->of[FACT_STEP_STOPPED].yes,
                                 .seconds = f->of[FACT_STEP_S].number,
                                 .least_s = f->of[FACT_STEP_LEAST_S].number,
                                 .tokens = f->of[FACT_STEP_TOKENS].count,
                                 .bytes = f->of[FACT_STEP_BYTES].count,
                                 .failed = f->of[FACT_STEP_FAILED].count,
                                 .waiting = f->of[FACT_STEP_WAITING].count,
                                 .read_p95_ns = p95(f, FACT_STEP_READ),
                                 .write_p95_ns = p95(f, FACT_STEP_WRITE),
                                 .queue_p95_ns = p95(f, FACT_STEP_QUEUE)};
    for (unsigned i = 0; i < TRACE_QOSES; i++)
        g->end_to_end_p95_ns[i] = p95(f, FACT_STEP_END_TO_END + i);
}

/* The message of a rank; NULL: no memory. */
static struct jsonout *step_document(const struct replay_figures *g, const struct replay_times *t)
{
    struct jsonout *j = jsonout_create();
    struct facts f;

    put_step(&f, g, t);
    if (j && !f.failed)
        facts_write(j, &f, FACTS_OF_STEP);
    else if (j)
        jsonout_fail(j);
    facts_release(&f);
    return j;
}

int pool_figures(struct ranks *ranks, int rc, struct replay_figures *f,
                 const struct replay_times *times, struct err *e)
{
    struct jsonout *j = rc == 0 ? step_document(f, times) : NULL;
    const char *own = j ? jsonout_text(j, false) : NULL;
    struct documents d = {0};
    struct replay_figures all = {0};

    if (rc == 0 && !own)
        rc = err_nomem(e, "figures");
    rc = ranks_agree(ranks, rc, e);
    int gathered = rc == 0 ? documents_gather(&d, ranks, NULL, 0, own, e) : rc;
    if (gathered == 0 && ranks_rank(ranks) == 0) {
        struct facts sum;
        if (runs_merge(&sum, d.run, d.count) < 0)
            gathered = err_nomem(e, "figures");
        take_step(&all, &sum);
        facts_release(&sum);
    }
    documents_free(&d);
    jsonout_free(j);
    if (rc < 0 || gathered == -ETIMEDOUT) /* the same on all */
        return gathered;
    rc = ranks_agree(ranks, gathered, e);
    if (rc == 0)
        rc = ranks_spread(ranks, &all, sizeof(all), e);
    if (rc == 0)
        *f = all;
    return rc;
}
