/* --compare: takes the figures that both sides have, finds what noise each has, and marks those
 * whose change exceeds it, with the correction for testing many. */
#include "kvstat/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/headline.h"
#include "kvstat/stats.h"

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
    for (size_t i = 0; i < n; i++)
        c->count += compare_figure(&c->figure[c->count], base, new, i);
    int rc = mark_changes(c, e);
    if (rc < 0)
        free(c);
    else
        *out = c;
    return rc;
}
