/* Order statistics: a percentile is below a limit as far as the share of values beyond the limit is
 * small enough, and a share has bounds by the binomial distribution. Successive values depend on
 * each other, so fewer count than there are. */
#include "kvstat/report/bounds.h"

#include <math.h>

#include "kvstat/count/statistics.h"

/* So many values on either side of a bound show how they depend on each other there. In the tail
 * few values come in few clusters; those in the middle cluster more, which errs to the safe side.
 */
#define SHOWING_TAIL   60
#define SHOWING_MIDDLE 10
/* Values beyond a percentile that strongly correlated series seldom reach lie in a handful of
 * clusters, whose spread is underestimated as often as not. So many times as many lie beyond a
 * lower one, in more clusters. */
#define WIDER 3

static uint64_t count_from(const struct hist *h, int64_t limit)
{
    int64_t low, high;
    uint64_t n, from = 0;
    for (size_t pos = 0; hist_next(h, &pos, &low, &high, &n);) {
        /* The value that a percentile in this bucket has: hist_percentile. */
        int64_t value = low + (high - low) / 2;
        value = value < hist_min(h) ? hist_min(h) : value > hist_max(h) ? hist_max(h) : value;
        from += value >= limit ? n : 0;
    }
    return from;
}

/* Independent samples among n, as the series shows it for the values from bound on; 0: fewer than
 * showing are on one side. */
static double independent_at(const struct blocks *series, int64_t bound, double n, double showing)
{
    struct blocks_mean m;
    if (!blocks_share(series, bound, &m) || m.mean * n < showing || (1 - m.mean) * n < showing ||
        !(m.variance > 0))
        return 0;
    /* The variance is itself an estimate, which Student's t accounts for. */
    double t = statistics_t_quantile(0.1, m.freedom) / statistics_t_quantile(0.1, 1e9);
    return m.mean * (1 - m.mean) / (m.variance * t * t);
}

/* The least of what the values beyond the limit and those of a wider tail show. Values that seldom
 * pass the limit tell more of themselves at their own percentile, or in their middle. */
static double independent_of(const struct blocks *series, uint32_t ppm, int64_t limit, double n)
{
    if (!series)
        return n;
    const uint32_t middle = 500000, tail = 1000000 - ppm;
    double least = independent_at(series, limit, n, SHOWING_TAIL), wider = 0;
    if (!(least > 0))
        least = independent_at(series, blocks_percentile(series, ppm), n, SHOWING_TAIL);
    if (tail < middle / WIDER)
        wider = independent_at(series, blocks_percentile(series, 1000000 - WIDER * tail), n,
                               SHOWING_TAIL);
    if (!(wider > 0))
        wider = independent_at(series, blocks_percentile(series, middle), n, SHOWING_MIDDLE);
    if (!(least > 0) || (wider > 0 && wider < least))
        least = wider;
    return least > 0 && least < n ? least : n;
}

/* The probability that a share of beyond / n or less is seen where it is share, and the same for
 * more: with whole numbers these are binomial. */
static double at_most(double beyond, double n, double share)
{
    return beyond >= n ? 1 : 1 - statistics_beta(share, beyond + 1, n - beyond);
}

static double at_least(double beyond, double n, double share)
{
    return beyond <= 0 ? 1 : statistics_beta(share, beyond, n - beyond + 1);
}

static enum bounds_answer answer_of(double beyond, double n, double share)
{
    const double error = 1 - BOUNDS_CONFIDENCE;
    return at_most(beyond, n, share) <= error    ? BOUNDS_WITHIN
           : at_least(beyond, n, share) <= error ? BOUNDS_BEYOND
                                                 : BOUNDS_UNDECIDED;
}

/* The share of values above the low (high) bound of a percentile: ranks that n samples of the
 * percentile's share reach with the error. */
static double share_at(double share, double n, bool high)
{
    const double error = 1 - BOUNDS_CONFIDENCE;
    double from = 0, to = 1;
    for (int i = 0; i < 60; i++) {
        double middle = (from + to) / 2;
        bool wide =
            high ? at_most(middle * n, n, share) > error : at_least(middle * n, n, share) <= error;
        *(wide ? &to : &from) = middle;
    }
    return high ? from : to;
}

struct bounds bounds_of(const struct hist *values, const struct blocks *series, uint32_t ppm,
                        int64_t limit)
{
    double n = (double)hist_count(values), share = 1 - ppm / 1e6;
    double beyond = (double)count_from(values, limit) / n;
    struct bounds b = {.independent = independent_of(series, ppm, limit, n)};
    b.answer = answer_of(beyond * b.independent, b.independent, share);
    double above_high = share_at(share, b.independent, true);
    double above_low = share_at(share, b.independent, false);
    /* Not even no value beyond the limit would be enough. */
    b.high = at_most(0, b.independent, share) > 1 - BOUNDS_CONFIDENCE
                 ? INFINITY
                 : (double)hist_percentile(values, (uint32_t)lround(1e6 * (1 - above_high)));
    b.low = (double)hist_percentile(values, (uint32_t)lround(1e6 * fmax(0, 1 - above_low)));
    if (b.answer == BOUNDS_UNDECIDED) {
        double more = b.independent;
        while (more < 1e12 && answer_of(beyond * more, more, share) == BOUNDS_UNDECIDED)
            more *= 1.05;
        double enough = more, few = more / 1.05;
        for (int i = 0; i < 40; i++) {
            double middle = (few + enough) / 2;
            bool decides = answer_of(beyond * middle, middle, share) != BOUNDS_UNDECIDED;
            *(decides ? &enough : &few) = middle;
        }
        b.samples_to_decide = more < 1e12 ? ceil(n * enough / b.independent) : INFINITY;
    }
    return b;
}
