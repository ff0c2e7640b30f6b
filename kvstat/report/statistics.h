/* statistics.h - what samples tell about the runs that they are drawn from. */
#ifndef KVSTAT_REPORT_STATISTICS_H
#define KVSTAT_REPORT_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/hist.h"

/* Two-sided: the probability that |T| is at least |t|, T with Student's t distribution with df > 0
 * degrees of freedom (any real number). By the incomplete beta function, DLMF 8.17. */
double statistics_t_tails(double t, double df);
/* The t that |T| exceeds with probability tails, 0 < tails < 1. */
double statistics_t_quantile(double tails, double df);

/* Of n values: NAN where n is too small (mean: 0, others: 1). */
struct statistics_sample {
    size_t n;
    double mean, sd;  /* sd: of the sample, n - 1 */
    double cv;        /* sd / |mean|; NAN when mean is 0 */
    double low, high; /* 95 % confidence interval of the mean, Student's t */
};
struct statistics_sample statistics_of(const double *value, size_t n);

/*
 * p-values of the hypothesis that nothing changed, two-sided; NAN when the samples cannot tell.
 * Means: Welch's t test; with one value on a side the other side's variance stands for both (two
 * values at least). Equal variances of 0 give 1 or 0.
 */
double statistics_welch(const struct statistics_sample *a, const struct statistics_sample *b);
/* Means of two distributions, of two values or more each. */
double statistics_hist_mean(const struct hist *a, const struct hist *b);
/* The percentile ppm of two distributions, by the shares of each that lie below the percentile of
 * both together (Mood's median test for any percentile). NAN with fewer than ten values above (or
 * below) it in either. */
double statistics_hist_percentile(const struct hist *a, const struct hist *b, uint32_t ppm);
/* Two shares, hits of n; NAN with fewer than ten hits or misses in either. */
double statistics_shares(uint64_t hits_a, uint64_t n_a, uint64_t hits_b, uint64_t n_b);

/* The greatest p-value that counts as a change when m tests are made and no more than the share
 * alpha of the changes found shall be false: Benjamini and Hochberg 1995. p is sorted upwards by
 * the call. -1: none. When nothing changed at all, a change is found with probability alpha. */
double statistics_threshold(double *p, size_t m, double alpha);

#endif
