/* The arithmetic behind compare.c, which knows the figures: Student's t, tests of means and
 * percentiles, and the correction for many tests at once. */
#include "kvstat/count/statistics.h"
#include "lib/sort/ascending.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* ---- Student's t ---- */

/* Continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method. */
static double beta_fraction(double x, double a, double b)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double f = d;
    for (int m = 1; m < 1000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double last = f;
        for (int half = 0; half < 2; half++) {
            double term = half ? odd : even;
            d = 1 + term * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + term / c;
            c = fabs(c) < tiny ? tiny : c;
            f *= d * c;
        }
        if (fabs(f - last) <= 1e-15 * fabs(f))
            break;
    }
    return f;
}

double statistics_beta(double x, double a, double b)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double statistics_t_tails(double t, double df)
{
    if (!isfinite(t))
        return isnan(t) ? NAN : 0;
    if (df > 1e7) /* the normal distribution to all digits that matter */
        return erfc(fabs(t) / sqrt(2));
    return statistics_beta(df / (df + t * t), df / 2, 0.5);
}

double statistics_t_quantile(double tails, double df)
{
    double low = 0, high = 1;
    while (statistics_t_tails(high, df) > tails && high < 1e300)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-13 * high; i++) {
        double middle = low + (high - low) / 2;
        if (statistics_t_tails(middle, df) > tails)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ---- trials ---- */

struct statistics_sample statistics_of(const double *value, size_t n)
{
    struct statistics_sample s = {n, NAN, NAN, NAN, NAN, NAN};
    double sum = 0, squares = 0;
    if (n == 0)
        return s;
    for (size_t i = 0; i < n; i++)
        sum += value[i];
    s.mean = sum / (double)n;
    if (n == 1)
        return s;
    for (size_t i = 0; i < n; i++)
        squares += (value[i] - s.mean) * (value[i] - s.mean);
    s.sd = sqrt(squares / (double)(n - 1));
    /* The mean of equal values is rounded; that is no deviation. */
    if (s.sd <= 1e-14 * fabs(s.mean))
        s.sd = 0;
    s.cv = s.mean != 0 ? s.sd / fabs(s.mean) : NAN;
    double half = statistics_t_quantile(0.05, (double)(n - 1)) * s.sd / sqrt((double)n);
    s.low = s.mean - half;
    s.high = s.mean + half;
    return s;
}

/* From means, variances of the means and their degrees of freedom (Welch, Satterthwaite). */
static double welch(double difference, double va, double dfa, double vb, double dfb)
{
    double v = va + vb;
    if (v <= 0)
        return difference == 0 ? 1 : 0;
    return statistics_t_tails(difference / sqrt(v), v * v / (va * va / dfa + vb * vb / dfb));
}

double statistics_welch(const struct statistics_sample *a, const struct statistics_sample *b)
{
    double difference = b->mean - a->mean, na = (double)a->n, nb = (double)b->n;
    const struct statistics_sample *many = a->n > b->n ? a : b;
    if (a->n == 0 || b->n == 0 || many->n < 2)
        return NAN;
    if (a->n == 1 || b->n == 1) {
        double se = many->sd * sqrt(1 / na + 1 / nb);
        return se > 0            ? statistics_t_tails(difference / se, (double)many->n - 1)
               : difference == 0 ? 1
                                 : 0;
    }
    return welch(difference, a->sd * a->sd / na, na - 1, b->sd * b->sd / nb, nb - 1);
}

double statistics_welch_shows(const struct statistics_sample *a, const struct statistics_sample *b,
                              double alpha)
{
    double na = (double)a->n, nb = (double)b->n;
    const struct statistics_sample *many = a->n > b->n ? a : b;
    if (a->n == 0 || b->n == 0 || many->n < 2)
        return NAN;
    if (a->n == 1 || b->n == 1)
        return statistics_t_quantile(alpha, (double)many->n - 1) * many->sd * sqrt(1 / na + 1 / nb);
    double va = a->sd * a->sd / na, vb = b->sd * b->sd / nb, v = va + vb;
    if (v <= 0)
        return 0;
    return statistics_t_quantile(alpha, v * v / (va * va / (na - 1) + vb * vb / (nb - 1))) *
           sqrt(v);
}

/* ---- distributions ---- */

static uint64_t count_below(const struct hist *h, int64_t bound)
{
    int64_t low, high;
    uint64_t n, below = 0;
    for (size_t pos = 0; hist_next(h, &pos, &low, &high, &n) && low < bound;)
        below += n;
    return below;
}

/* The bucket that holds the percentile of both together; both histograms are cut at its ends. */
static void pooled_bucket(const struct hist *a, const struct hist *b, double rank, int64_t *begin,
                          int64_t *end)
{
    const struct hist *const side[2] = {a, b};
    size_t pos[2] = {0, 0};
    int64_t low[2], high[2];
    uint64_t n[2];
    bool more[2];
    double seen = 0;
    for (int i = 0; i < 2; i++)
        more[i] = hist_next(side[i], &pos[i], &low[i], &high[i], &n[i]);
    *begin = *end = 0;
    while (seen < rank && (more[0] || more[1])) {
        int i = !more[0] || (more[1] && low[1] < low[0]);
        *begin = low[i];
        *end = high[i] == INT64_MAX ? INT64_MAX : high[i] + 1;
        seen += (double)n[i];
        more[i] = hist_next(side[i], &pos[i], &low[i], &high[i], &n[i]);
    }
}

double statistics_series_mean(const struct blocks *a, const struct blocks *b)
{
    struct blocks_mean x, y;
    if (!blocks_mean(a, &x) || !blocks_mean(b, &y) || !x.settled || !y.settled)
        return NAN;
    return welch(y.mean - x.mean, x.variance, x.freedom, y.variance, y.freedom);
}

/* Compares the shares below edge. A variance is never less than that of independent values. */
static double shares_below(const struct statistics_side *a, const struct statistics_side *b,
                           int64_t edge, double share)
{
    const struct statistics_side *const side[2] = {a, b};
    double below[2];
    struct blocks_mean m[2];
    for (int i = 0; i < 2; i++) {
        double n = (double)hist_count(side[i]->values);
        below[i] = (double)count_below(side[i]->values, edge) / n;
        if (!blocks_share(side[i]->series, edge, &m[i]) || !m[i].settled)
            return NAN;
        m[i].variance = fmax(m[i].variance, share * (1 - share) / n);
    }
    return welch(below[1] - below[0], m[0].variance, m[0].freedom, m[1].variance, m[1].freedom);
}

double statistics_series_percentile(const struct statistics_side *a,
                                    const struct statistics_side *b, uint32_t ppm)
{
    double na = (double)hist_count(a->values), nb = (double)hist_count(b->values), p = ppm / 1e6;
    double fewest = fmin(na, nb) * fmin(p, 1 - p), nearest = INFINITY, best = 1;
    int64_t edge[2];
    if (fewest < 9.999)
        return NAN;
    pooled_bucket(a->values, b->values, ceil(p * (na + nb)), &edge[0], &edge[1]);
    for (int i = 0; i < 2; i++) {
        double xa = (double)count_below(a->values, edge[i]);
        double share = (xa + (double)count_below(b->values, edge[i])) / (na + nb);
        if (share <= 0 || share >= 1 || fabs(share - p) >= nearest)
            continue;
        nearest = fabs(share - p);
        best = shares_below(a, b, edge[i], share);
    }
    return best; /* 1: all values are in one bucket */
}

/* ---- many tests ---- */

double statistics_threshold(double *p, size_t m, double alpha)
{
    double threshold = -1;
    qsort(p, m, sizeof(*p), ascending_f64);
    for (size_t k = 0; k < m; k++)
        if (p[k] <= alpha * (double)(k + 1) / (double)m)
            threshold = p[k];
    return threshold;
}
