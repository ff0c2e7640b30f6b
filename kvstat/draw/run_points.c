/* The intervals of a run as points: several intervals make one where they hold few operations. */
#include "kvstat/draw/run_points.h"

#include <math.h>
#include <stdlib.h>

#include "kvstat/report/intervals.h"

const enum trace_op points_op[POINTS_DIRECTIONS] = {TRACE_READ, TRACE_WRITE};

static const enum figure_what times[POINTS_TIMES] = {[POINTS_SERVICE] = FIGURE_SERVICE,
                                                     [POINTS_RESPONSE] = FIGURE_RESPONSE,
                                                     [POINTS_WAIT] = FIGURE_WAIT,
                                                     [POINTS_LATENESS] = FIGURE_LATENESS};

/* A point of a few operations is noise: where kvstat chose the interval, points have so many. */
#define POINT_OPS 16

/* How many intervals make a point. */
static size_t choose_together(const struct figures *f, const struct intervals *series)
{
    size_t n = intervals_count(series), together = 1;
    uint64_t moved = figures_count(f, figure_id(FIGURE_OF_ROWS, FIGURE_IO_OPS));
    if (intervals_asked_for(series))
        return 1;
    while (together * 12 < n && moved * together < (uint64_t)POINT_OPS * n)
        together++;
    return together;
}

static double greater(const struct point *p, double before, double us)
{
    return p->intervals ? fmax(before, us) : us;
}

static void add_interval(struct point *p, unsigned tier, const struct intervals *series, size_t i)
{
    const struct figure_part part = intervals_at(series, i);
    for (unsigned m = 0; m < POINTS_TIMES; m++)
        for (unsigned d = 0; d < POINTS_DIRECTIONS; d++) {
            const struct figure_id id = figure_id_direction(tier, points_op[d], times[m]);
            p->p95_us[m][d] =
                greater(p, p->p95_us[m][d],
                        intervals_number(series, i, figure_id_statistic(id, FIGURE_P95)));
            p->max_us[m][d] =
                greater(p, p->max_us[m][d],
                        intervals_number(series, i, figure_id_statistic(id, FIGURE_MAX)));
        }
    p->intervals++;
    p->length_s = (double)p->intervals * intervals_length_s(series);
    for (size_t k = 0; k < part.count; k++) {
        const struct figure *v = &part.figure[k];
        unsigned t = v->id.tier, d = v->id.op == TRACE_WRITE ? POINTS_WRITE : POINTS_READ;
        if (v->id.scope == FIGURE_OF_DIRECTION && v->id.what == FIGURE_OPS)
            p->ops[t][d] += v->count;
        else if (v->id.scope == FIGURE_OF_DIRECTION && v->id.what == FIGURE_BYTES)
            p->bytes[t][d] += v->count;
        else if (v->id.what == FIGURE_CONTENTS_BYTES)
            p->contents[t] = (double)v->level;
        else if (v->id.what == FIGURE_HITS)
            p->hits += v->count;
        else if (v->id.what == FIGURE_LOOKUPS)
            p->lookups += v->count;
    }
}

static unsigned choose_tier(const struct figures *f)
{
    for (unsigned t = TRACE_TIERS; t-- > 0;)
        for (unsigned d = 0; d < POINTS_DIRECTIONS; d++)
            if (figures_count(f, figure_id_direction(t, points_op[d], FIGURE_OPS)) > 0)
                return t;
    return TRACE_STORAGE;
}

int run_points_make(struct run_points *p, const struct figures *f, struct err *e)
{
    const struct intervals *series = figures_intervals(f);
    size_t n = intervals_count(series), together = choose_together(f, series);
    *p = (struct run_points){.f = f,
                             .tier = choose_tier(f),
                             .points = n > 0 && n < together ? 1 : n / together,
                             .length_s = intervals_length_s(series) * (double)n};
    p->point = calloc(p->points + 1, sizeof(*p->point));
    if (!p->point)
        return err_nomem(e, "plot");
    for (size_t i = 0; i < n; i++) { /* the last point has the intervals that are left, too */
        size_t point = i / together < p->points ? i / together : p->points - 1;
        add_interval(&p->point[point], p->tier, series, i);
    }
    return 0;
}

bool run_points_have(const struct run_points *p, unsigned time, unsigned direction)
{
    for (size_t i = 0; i < p->points; i++)
        if (!isnan(p->point[i].p95_us[time][direction]))
            return true;
    return false;
}
