/* The time of a prefill by formula, and the fit of the formula to measured points. What the
 * steps of an engine make of the fit is kvgen/serve's business. */
#include "kvgen/speed/prefill_time.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARTS = 3, /* t0, token, pair */
    STEPS = 200,
    HALVINGS = 40
};
#define LAST_NS  0x1p61
#define SINGULAR 1e-12 /* of a pivot, where columns have mean 1 */

void prefill_time_layers(struct prefill_time *p, const struct model *m)
{
    *p = (struct prefill_time){
        .full_layers = m->full_layers, .windowed_layers = m->windowed_layers, .window = m->window};
    if (m->index_picks == 0)
        return;
    p->windowed_layers = m->full_layers;
    p->full_layers = 0;
    p->window = m->index_picks;
    p->index_share = (double)m->index_elements / ((double)m->pair_elements * p->windowed_layers);
}

void prefill_time_calculate(struct prefill_time *p, const struct model *m,
                            const struct prefill_gpu *gpu)
{
    double per_s = gpu->eta * gpu->operations_per_s * gpu->tensor_parallel;
    double layers = (double)p->full_layers + p->windowed_layers;
    p->measured = false;
    p->t0_ns = gpu->t0_ns;
    p->token_ns = 2 * gpu->params / per_s * 1e9;
    p->pair_ns = 2 * layers * (double)m->pair_elements / per_s * 1e9;
}

double prefill_time_pairs(const struct prefill_time *p, double cached, double fresh)
{
    double all = cached * fresh + fresh * fresh / 2, end = cached + fresh;
    double window = (double)p->window, within = all;
    if (cached >= window)
        within = window * fresh;
    else if (end > window)
        within = (window * window - cached * cached) / 2 + window * (end - window);
    return (p->full_layers * all + p->windowed_layers * within) /
               ((double)p->full_layers + p->windowed_layers) +
           p->index_share * all;
}

int64_t prefill_time_ns(const struct prefill_time *p, uint64_t cached, uint64_t fresh)
{
    double ns = p->t0_ns + p->token_ns * (double)fresh +
                p->pair_ns * prefill_time_pairs(p, (double)cached, (double)fresh);
    return ns < LAST_NS ? (int64_t)(ns + 0.5) : (int64_t)LAST_NS;
}

/* ---- the fit ---- */

/* The points as rows of 1, m, X, each column divided by its mean, so that all parts are of one
 * size. Some parts may be left out, which are 0 then. */
struct fit {
    const struct prefill_point *point;
    size_t points;
    double (*column)[PARTS];
    double mean[PARTS];
    bool used[PARTS];
};

static double predicted(const struct fit *f, size_t i, const double part[PARTS])
{
    double sum = 0;
    for (int k = 0; k < PARTS; k++)
        sum += f->used[k] ? part[k] * f->column[i][k] : 0;
    return sum;
}

/* The sum of squares of log(fit / measured); infinite where the fit is not positive. */
static double squares(const struct fit *f, const double part[PARTS])
{
    double sum = 0;
    for (size_t i = 0; i < f->points; i++) {
        double at = predicted(f, i, part);
        if (!(at > 0))
            return INFINITY;
        double miss = log(at / f->point[i].ns);
        sum += miss * miss;
    }
    return sum;
}

/* Solves the normal equations a x = b of the parts in use by elimination; false: singular. */
static bool solve(const struct fit *f, double a[PARTS][PARTS], double b[PARTS], double x[PARTS])
{
    for (int k = 0; k < PARTS; k++) {
        if (!f->used[k])
            continue;
        double largest = 0;
        for (int i = 0; i < PARTS; i++)
            largest = f->used[i] && fabs(a[i][i]) > largest ? fabs(a[i][i]) : largest;
        if (!(a[k][k] > SINGULAR * largest))
            return false;
        for (int i = k + 1; i < PARTS; i++) {
            double factor = a[i][k] / a[k][k];
            for (int c = k; c < PARTS && f->used[i]; c++)
                a[i][c] -= f->used[c] ? factor * a[k][c] : 0;
            b[i] -= f->used[i] ? factor * b[k] : 0;
        }
    }
    for (int k = PARTS - 1; k >= 0; k--) {
        x[k] = f->used[k] ? b[k] : 0;
        for (int c = k + 1; c < PARTS && f->used[k]; c++)
            x[k] -= f->used[c] ? a[k][c] * x[c] : 0;
        x[k] = f->used[k] ? x[k] / a[k][k] : 0;
    }
    return true;
}

/* One step of least squares: of the relative error around 0 (first), or of the logarithm around
 * part, which it then adds to. */
static bool step(const struct fit *f, bool first, const double part[PARTS], double out[PARTS])
{
    double a[PARTS][PARTS] = {0}, b[PARTS] = {0};
    for (size_t i = 0; i < f->points; i++) {
        double at = first ? f->point[i].ns : predicted(f, i, part);
        double miss = first ? 1 : log(f->point[i].ns / at);
        for (int k = 0; k < PARTS; k++)
            for (int c = 0; c < PARTS; c++)
                a[k][c] += f->column[i][k] / at * f->column[i][c] / at;
        for (int k = 0; k < PARTS; k++)
            b[k] += f->column[i][k] / at * miss;
    }
    /* The size of the times drops out of the pivots' ratio, not of the pivots. */
    return solve(f, a, b, out);
}

/* The best parts among those in use; false: the points do not tell them apart. */
static bool settle(const struct fit *f, double part[PARTS], double *sum)
{
    double move[PARTS], next[PARTS];
    if (!step(f, true, part, part))
        return false;
    for (int k = 0; k < PARTS; k++) /* relative errors may leave a part negative: begin inside */
        part[k] = f->used[k] && !(part[k] > 0) ? f->point[0].ns * 1e-3 : part[k];
    *sum = squares(f, part);
    for (int i = 0; i < STEPS; i++) {
        double length = 1, now = INFINITY;
        if (!step(f, false, part, move))
            return false;
        for (int h = 0; h < HALVINGS && !(now <= *sum); h++, length /= 2) {
            for (int k = 0; k < PARTS; k++)
                next[k] = part[k] + length * move[k];
            now = squares(f, next);
        }
        if (!(now <= *sum))
            break;
        bool still = true;
        for (int k = 0; k < PARTS; k++)
            still = still && fabs(next[k] - part[k]) <= 1e-13 * fabs(part[k]);
        memcpy(part, next, sizeof(next));
        *sum = now;
        if (still)
            break;
    }
    return true;
}

/* To 6 digits. */
static double rounded(double v)
{
    char text[32];
    snprintf(text, sizeof(text), "%.5e", v);
    return strtod(text, NULL);
}

static void fill_columns(struct fit *f, const struct prefill_time *p)
{
    for (size_t i = 0; i < f->points; i++) {
        f->column[i][0] = 1;
        f->column[i][1] = (double)f->point[i].fresh;
        f->column[i][2] =
            prefill_time_pairs(p, (double)f->point[i].cached, (double)f->point[i].fresh);
        for (int k = 0; k < PARTS; k++)
            f->mean[k] += f->column[i][k] / (double)f->points;
    }
    for (size_t i = 0; i < f->points; i++)
        for (int k = 0; k < PARTS; k++)
            f->column[i][k] /= f->mean[k];
}

int prefill_time_fit(struct prefill_time *p, const struct prefill_point *point, size_t points,
                     size_t *worst, double *miss)
{
    struct fit f = {.point = point, .points = points};
    double best[PARTS] = {0}, least = INFINITY;
    f.column = calloc(points, sizeof(*f.column));
    if (!f.column)
        return -ENOMEM;
    fill_columns(&f, p);
    /* No part is negative: the best is all three, or fewer with the rest 0. */
    bool apart = true;
    for (unsigned set = (1u << PARTS) - 1; set > 0 && apart; set--) {
        double part[PARTS] = {0}, sum;
        bool inside = true;
        for (int k = 0; k < PARTS; k++)
            f.used[k] = (set >> k & 1) != 0;
        if (!settle(&f, part, &sum)) {
            apart = set != (1u << PARTS) - 1;
            continue;
        }
        for (int k = 0; k < PARTS; k++)
            inside = inside && part[k] >= 0;
        if (inside && sum < least) {
            least = sum;
            memcpy(best, part, sizeof(best));
        }
    }
    p->measured = true;
    p->t0_ns = rounded(best[0] / f.mean[0]);
    p->token_ns = rounded(best[1] / f.mean[1]);
    p->pair_ns = rounded(best[2] / f.mean[2]);
    free(f.column);
    if (!apart)
        return -EDOM;
    *worst = 0;
    *miss = 0;
    for (size_t i = 0; i < points; i++) {
        double off =
            fabs((double)prefill_time_ns(p, point[i].cached, point[i].fresh) / point[i].ns - 1);
        if (off > *miss) {
            *miss = off;
            *worst = i;
        }
    }
    return *miss > PREFILL_MISS ? -ERANGE : 0;
}
