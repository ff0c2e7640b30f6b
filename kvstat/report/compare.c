/* --compare: takes the figures that both sides have, finds what noise each has, and marks those
 * whose change exceeds it, with the correction for testing many. */
#include "kvstat/report/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/report/headline.h"
#include "kvstat/report/statistics.h"

/* Histograms tell values apart down to 0.1 %: a smaller change of one run's figure is none. */
#define RESOLUTION 0.001

static double p_of_shares(const struct compare_side *base, const struct compare_side *new)
{
    uint64_t hits[2] = {0}, lookups[2] = {0};
    const struct compare_side *const side[2] = {base, new};
    for (int s = 0; s < 2; s++) {
        const struct agg_totals *t = agg_totals(side[s]->scan->agg);
        for (int c = 0; c <= TRACE_NO_CLASS; c++) {
            hits[s] += t->hits[c];
            lookups[s] += t->hits[c] + t->misses[c];
        }
    }
    return stats_shares(hits[0], lookups[0], hits[1], lookups[1]);
}

/* With one run on each side, from what happened within each. */
static double p_within(const struct compare_side *base, const struct compare_side *new,
                       const struct compare_figure *f)
{
    uint32_t ppm;
    if (strcmp(f->name, "cache.lookups.all.hit_rate") == 0)
        return p_of_shares(base, new);
    const struct hist *a = headline_hist(base->scan, f->name, &ppm);
    const struct hist *b = headline_hist(new->scan, f->name, &ppm);
    if (!a || !b)
        return NAN;
    double p = ppm ? stats_hist_percentile(a, b, ppm) : stats_hist_mean(a, b);
    return !isnan(p) && fabs(f->new - f->base) <= RESOLUTION * fabs(f->base) ? 1 : p;
}

/* False when a side lacks the figure. */
static bool compare_figure(struct compare_figure *f, const struct compare_side *base,
                           const struct compare_side *new, size_t figure)
{
    *f = (struct compare_figure){.name = runs_name(base->runs, figure)};
    size_t other = runs_find(new->runs, f->name);
    if (!headline_is(f->name) || other == runs_figures(new->runs))
        return false;
    struct stats_sample a = runs_sample(base->runs, figure), b = runs_sample(new->runs, other);
    if (a.n == 0 || b.n == 0)
        return false;
    f->base = a.mean;
    f->new = b.mean;
    f->change = a.mean != 0 ? (b.mean - a.mean) / fabs(a.mean) : NAN;
    f->p = base->scan && new->scan ? p_within(base, new, f) : stats_welch(&a, &b);
    return true;
}

static int mark_changes(struct compare *c, struct err *e)
{
    double *p = malloc((c->count + 1) * sizeof(*p));
    if (!p)
        return err_nomem(e, "comparison");
    for (size_t i = 0; i < c->count; i++)
        if (!isnan(c->figure[i].p))
            p[c->tested++] = c->figure[i].p;
    double threshold = stats_threshold(p, c->tested, COMPARE_ALPHA);
    for (size_t i = 0; i < c->count; i++)
        c->figure[i].changed = !isnan(c->figure[i].p) && c->figure[i].p <= threshold;
    free(p);
    return 0;
}

/* A trace's figures are what its load asks for: more of it is neither better nor worse. */
static void judge_changes(struct compare *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct compare_figure *f = &c->figure[i];
        struct headline h;
        if (!f->changed)
            continue;
        headline_of(&h, f->name);
        f->better = !c->result ? 0 : f->new > f->base ? h.better : -h.better;
        c->better += f->better > 0;
        c->worse += f->better < 0;
        c->neither += f->better == 0;
    }
}

/* False when two runs are known to be of different traces. */
static bool one_load(const struct runs *base, const struct runs *new)
{
    const struct runs *const side[2] = {base, new};
    const char *first = "";
    for (size_t s = 0; s < 2; s++)
        for (size_t run = 0; run < runs_count(side[s]); run++) {
            const char *digest = runs_text_of(side[s], run, "run.digest");
            if (digest[0] && first[0] && strcmp(digest, first) != 0)
                return false;
            first = first[0] ? first : digest;
        }
    return true;
}

static bool all_valid(const struct runs *r)
{
    for (size_t run = 0; run < runs_count(r); run++)
        if (strcmp(runs_text_of(r, run, "run.valid"), "false") == 0)
            return false;
    return true;
}

int compare_sides(struct compare **out, const struct compare_side *base,
                  const struct compare_side *new, struct err *e)
{
    size_t n = runs_figures(base->runs);
    if (runs_is_result(base->runs) != runs_is_result(new->runs))
        return err_set(e, -EINVAL, ERR_INPUT, "--compare",
                       "a trace and a result file cannot be compared: their times differ");
    struct compare *c = calloc(1, sizeof(*c) + n * sizeof(c->figure[0]));
    if (!c)
        return err_nomem(e, "comparison");
    c->base_runs = runs_count(base->runs);
    c->new_runs = runs_count(new->runs);
    c->result = runs_is_result(new->runs);
    c->one_load = one_load(base->runs, new->runs);
    c->valid = all_valid(base->runs) && all_valid(new->runs);
    for (size_t i = 0; i < n; i++)
        c->count += compare_figure(&c->figure[c->count], base, new, i);
    int rc = mark_changes(c, e);
    if (rc < 0) {
        free(c);
        return rc;
    }
    judge_changes(c);
    *out = c;
    return 0;
}
