/* statistics.h - the arithmetic of trials and comparisons: spread, confidence intervals, tests. */
#ifndef KVSTAT_COUNT_STATISTICS_H
#define KVSTAT_COUNT_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#include "kvstat/count/blocks.h"
#include "lib/base/hist.h"

/* The regularized incomplete beta function I_x(a, b), a and b above 0: DLMF 8.17. */
double statistics_beta(double x, double a, double b);
/* The probability that |T| is at least |t|, where T has Student's t distribution with df > 0
 * degrees of freedom (any real number). By the incomplete beta function, DLMF 8.17. */
double statistics_t_tails(double t, double df);
/* The t that |T| exceeds with probability tails, 0 < tails < 1. */
double statistics_t_quantile(double tails, double df);

/* Describes n values. NAN where n is too small: the mean needs 1 value, the others need 2. */
struct statistics_sample {
    size_t n;
    double mean, sd;  /* standard deviation of the sample: divided by n - 1 */
    double cv;        /* sd / |mean|; NAN when mean is 0 */
    double low, high; /* 95 % confidence interval of the mean, Student's t */
};
struct statistics_sample statistics_of(const double *value, size_t n);

/*
 * The functions below return the two-sided p-value of the hypothesis that nothing changed; NAN when
 * the samples are too small. This one compares means by Welch's t test. If one side has a single
 * value, the variance of the other side (two values or more) stands for both. Variances of 0 give 1
 * or 0.
 */
double statistics_welch(const struct statistics_sample *a, const struct statistics_sample *b);
/* The smallest difference of the means that statistics_welch would tell, with a p-value of alpha or
 * less, from samples that vary as these do. NAN where it tells nothing. */
double statistics_welch_shows(const struct statistics_sample *a, const struct statistics_sample *b,
                              double alpha);
/* Two series in the order of time are compared by the spread between their blocks, since
 * successive values depend on each other. NAN also where the blocks still do. This one compares
 * their means. */
double statistics_series_mean(const struct blocks *a, const struct blocks *b);
/* One side of a comparison of percentiles: the values, and the same as a series. */
struct statistics_side {
    const struct hist *values;
    const struct blocks *series;
};
/* Compares the percentile ppm of two series, by the shares of each below the percentile of both
 * together (Mood's median test, for any percentile). NAN with fewer than ten values above or below
 * it in either. */
double statistics_series_percentile(const struct statistics_side *a,
                                    const struct statistics_side *b, uint32_t ppm);

/* The greatest p-value that counts as a change when m tests are made and at most the share alpha of
 * the changes found may be false: Benjamini and Hochberg 1995. Sorts p upwards. -1: none counts. If
 * nothing changed at all, a change is found with probability alpha. */
double statistics_threshold(double *p, size_t m, double alpha);

#endif
