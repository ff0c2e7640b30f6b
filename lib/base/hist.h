/* hist.h - log-linear histograms of non-negative 64-bit integers: the layout of HdrHistogram (Gil
 * Tene, hdrhistogram.org) with 3 significant digits (2,048 sub-buckets, unit 1), any value up to
 * 2^63-1, counts allocated where values fall. Not thread-safe: one histogram a thread, merged at
 * the end. */
#ifndef KVTRACE_BASE_HIST_H
#define KVTRACE_BASE_HIST_H

#include <stddef.h>
#include <stdint.h>

struct hist;

/* Empty histogram of a few hundred bytes; NULL when there is no memory. */
struct hist *hist_create(void);
void hist_free(struct hist *h);

/* Adds value once (n times). Negative values count as 0. 0, or -ENOMEM (value not added). */
int hist_record(struct hist *h, int64_t value);
int hist_record_n(struct hist *h, int64_t value, uint64_t n);
/* Says that value is recorded soon: several values ahead this hides the cache miss that a recording
 * mostly is. h may be NULL. */
void hist_prefetch(const struct hist *h, int64_t value);
/* Adds value[i] to h[i] for i < n <= HIST_BATCH, with the misses of all overlapped. -ENOMEM: none
 * was added. */
#define HIST_BATCH 80
int hist_record_batch(struct hist *const h[], const int64_t value[], size_t n);
/* Adds all of from to into; 0 or -ENOMEM (into then partly merged). */
int hist_merge(struct hist *into, const struct hist *from);

uint64_t hist_count(const struct hist *h);
int64_t hist_min(const struct hist *h); /* exact; 0 when empty */
int64_t hist_max(const struct hist *h); /* exact; 0 when empty */
double hist_mean(const struct hist *h); /* exact sum / count; 0 when empty */
double hist_sum(const struct hist *h);  /* from an exact 128-bit sum */

/* Sum over all values of (middle of the value's bucket - mean)^2: divided by the count the variance
 * of the values, by the count less one that of what they are drawn from. 0 when empty. */
double hist_squares(const struct hist *h);

/*
 * Nearest rank: the value of rank ceil(ppm x count / 1,000,000), at least 1, in integer
 * arithmetic; ppm from 0 to 1,000,000 (p99.99 = 999,900). The answer is the middle of that
 * value's bucket, clamped to [min, max]; within 0.1 % of the true one. 0 when empty.
 */
int64_t hist_percentile(const struct hist *h, uint32_t ppm);

/* The percentiles that every program reports: their names in JSON and in text, and their parts per
 * million. */
struct hist_percentile {
    const char *name, *label;
    uint32_t ppm;
};
enum {
    HIST_PERCENTILES = 6
};
extern const struct hist_percentile hist_percentiles[HIST_PERCENTILES];

/* Walks the non-empty buckets upwards. Start with *pos = 0; returns 1 and fills lowest and highest
 * value of the bucket (inclusive) and its count, or 0 at the end. */
int hist_next(const struct hist *h, size_t *pos, int64_t *lowest, int64_t *highest,
              uint64_t *count);

#endif
