/* Log-linear histograms of non-negative 64-bit integers, in the layout of HdrHistogram (Gil Tene,
 * hdrhistogram.org) with 3 significant digits (2,048 sub-buckets, unit 1). Takes any value up to
 * 2^63-1; memory is allocated where values fall. Not thread-safe: use one per thread and merge. */
#ifndef KVTRACE_BASE_HIST_H
#define KVTRACE_BASE_HIST_H

#include <stddef.h>
#include <stdint.h>

struct hist;

/* An empty histogram of a few hundred bytes. NULL: no memory. */
struct hist *hist_create(void);
void hist_free(struct hist *h);

/* Adds value once, or n times. Negative values count as 0. 0, or -ENOMEM (nothing was added). */
int hist_record(struct hist *h, int64_t value);
int hist_record_n(struct hist *h, int64_t value, uint64_t n);
/* Prefetches the counter of a value that will be recorded soon. Called several values ahead, it
 * hides the cache miss that dominates a recording. h may be NULL. */
void hist_prefetch(const struct hist *h, int64_t value);
/* Adds value[i] to h[i] for i < n <= HIST_BATCH; their cache misses overlap. 0, or -ENOMEM (nothing
 * was added). */
#define HIST_BATCH 128
int hist_record_batch(struct hist *const h[], const int64_t value[], size_t n);

/* Values that come one by one, on their way into histograms as a batch. Zero it first. */
struct hist_batch {
    struct hist *of[HIST_BATCH];
    int64_t value[HIST_BATCH];
    size_t held;
};
/* Records what is held, and holds nothing. 0, or -ENOMEM (it is lost). */
int hist_batch_end(struct hist_batch *b);
/* h has the value when the batch is full, or at hist_batch_end. 0, or what that returned. */
static inline int hist_batch_add(struct hist_batch *b, struct hist *h, int64_t value)
{
    b->of[b->held] = h;
    b->value[b->held++] = value;
    return b->held == HIST_BATCH ? hist_batch_end(b) : 0;
}

/* Adds all counts of from to into. 0, or -ENOMEM (into is then partly merged). */
int hist_merge(struct hist *into, const struct hist *from);

uint64_t hist_count(const struct hist *h);
int64_t hist_min(const struct hist *h); /* exact; 0 when empty */
int64_t hist_max(const struct hist *h); /* exact; 0 when empty */
double hist_mean(const struct hist *h); /* exact sum / count; 0 when empty */
double hist_sum(const struct hist *h);  /* from an exact 128-bit sum */

/* Sum over all values of (middle of the value's bucket - mean)^2; 0 when empty. Divided by the
 * count it is the variance of the values, by the count less one the sample variance. */
double hist_squares(const struct hist *h);

/*
 * Percentile by nearest rank: the value of rank ceil(ppm x count / 1,000,000), at least 1, in
 * integer arithmetic; ppm from 0 to 1,000,000 (p99.99 = 999,900). Returns the middle of that
 * value's bucket, clamped to [min, max]: within 0.1 % of the true value. 0 when empty.
 */
int64_t hist_percentile(const struct hist *h, uint32_t ppm);

/* The percentiles that every program reports: name in JSON, label in text, parts per million. */
struct hist_percentile {
    const char *name, *label;
    uint32_t ppm;
};
enum {
    HIST_PERCENTILES = 6
};
extern const struct hist_percentile hist_percentiles[HIST_PERCENTILES];
/* The statistics of a distribution, in the order in which programs show them: count, mean, least
 * value, percentiles, greatest value; and their names in JSON. */
enum {
    HIST_COUNT,
    HIST_MEAN,
    HIST_MIN,
    HIST_P50, /* in the order of hist_percentiles */
    HIST_P95 = HIST_P50 + 2,
    HIST_P99,
    HIST_MAX = HIST_P50 + HIST_PERCENTILES,
    HIST_STATISTICS
};
double hist_statistic(const struct hist *h, unsigned statistic);
const char *hist_statistic_name(unsigned statistic);

/* Walks the non-empty buckets upwards, starting with *pos = 0. Returns 1 with the bucket's lowest
 * and highest value (both inclusive) and its count, or 0 at the end. */
int hist_next(const struct hist *h, size_t *pos, int64_t *lowest, int64_t *highest,
              uint64_t *count);

#endif
