/* Collects latencies and sizes: each thread records into its own histograms, which are merged for
 * the report. Counts are allocated per power of two when the first value falls there, so that
 * thousands of histograms (one per user, say) stay small. */
#include "lib/base/hist.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

const struct hist_percentile hist_percentiles[HIST_PERCENTILES] = {
    {"p50", "p50", 500000}, {"p90", "p90", 900000},    {"p95", "p95", 950000},
    {"p99", "p99", 990000}, {"p999", "p99.9", 999000}, {"p9999", "p99.99", 999900},
};

/*
 * HdrHistogram's layout (G. Tene, hdrhistogram.org) for 3 significant digits: 2,048 sub-buckets.
 * Chunks 0 and 1 hold the values 0..2047 one by one; chunk c >= 1 holds 2^(c+9) .. 2^(c+10)-1 in
 * 1,024 buckets that are 2^(c-1) wide.
 */
#define CHUNK_BITS 10
#define CHUNK_LEN  ((size_t)1 << CHUNK_BITS)
#define CHUNKS     ((size_t)(63 - CHUNK_BITS + 1)) /* values have 63 bits */

struct hist {
    uint64_t count;
    int64_t min, max;
    unsigned __int128 sum;
    uint64_t *chunk[CHUNKS];
};

static size_t chunk_of(int64_t v)
{
    uint64_t bits = (uint64_t)v | (CHUNK_LEN - 1);
    return (size_t)(64 - CHUNK_BITS - __builtin_clzll(bits));
}

static unsigned shift_of(size_t chunk)
{
    return chunk > 1 ? (unsigned)chunk - 1 : 0;
}

static size_t slot_of(size_t chunk, int64_t v)
{
    return (size_t)((uint64_t)v >> shift_of(chunk)) & (CHUNK_LEN - 1);
}

struct hist *hist_create(void)
{
    struct hist *h = calloc(1, sizeof(*h));
    if (h)
        h->min = INT64_MAX;
    return h;
}

void hist_free(struct hist *h)
{
    if (!h)
        return;
    for (size_t c = 0; c < CHUNKS; c++)
        free(h->chunk[c]);
    free(h);
}

static bool have_chunk(struct hist *h, size_t c)
{
    if (!h->chunk[c])
        h->chunk[c] = calloc(CHUNK_LEN, sizeof(*h->chunk[c]));
    return h->chunk[c] != NULL;
}

/* Counts the value in everything but its bucket. */
static void count_value(struct hist *h, int64_t v, uint64_t n)
{
    h->count += n;
    h->sum += (unsigned __int128)(uint64_t)v * n;
    if (v < h->min)
        h->min = v;
    if (v > h->max)
        h->max = v;
}

int hist_record_n(struct hist *h, int64_t value, uint64_t n)
{
    int64_t v = value < 0 ? 0 : value;
    size_t c = chunk_of(v);
    if (n == 0)
        return 0;
    if (__builtin_expect(!h->chunk[c], 0) && !have_chunk(h, c))
        return -ENOMEM;
    h->chunk[c][slot_of(c, v)] += n;
    count_value(h, v, n);
    return 0;
}

int hist_record(struct hist *h, int64_t value)
{
    return hist_record_n(h, value, 1);
}

void hist_prefetch(const struct hist *h, int64_t value)
{
    int64_t v = value < 0 ? 0 : value;
    size_t c = chunk_of(v);
    if (h && h->chunk[c])
        __builtin_prefetch(&h->chunk[c][slot_of(c, v)], 1);
}

int hist_record_batch(struct hist *const h[], const int64_t value[], size_t n)
{
    uint64_t *place[HIST_BATCH];
    for (size_t i = 0; i < n; i++) {
        int64_t v = value[i] < 0 ? 0 : value[i];
        size_t c = chunk_of(v);
        if (__builtin_expect(!h[i]->chunk[c], 0) && !have_chunk(h[i], c))
            return -ENOMEM;
        place[i] = &h[i]->chunk[c][slot_of(c, v)];
        __builtin_prefetch(place[i], 1);
    }
    for (size_t i = 0; i < n; i++) {
        ++*place[i];
        count_value(h[i], value[i] < 0 ? 0 : value[i], 1);
    }
    return 0;
}

int hist_batch_end(struct hist_batch *b)
{
    int rc = hist_record_batch(b->of, b->value, b->held);

    b->held = 0;
    return rc;
}

int hist_merge(struct hist *into, const struct hist *from)
{
    for (size_t c = 0; c < CHUNKS; c++) {
        if (!from->chunk[c])
            continue;
        if (!have_chunk(into, c))
            return -ENOMEM;
        for (size_t s = 0; s < CHUNK_LEN; s++)
            into->chunk[c][s] += from->chunk[c][s];
    }
    into->count += from->count;
    into->sum += from->sum;
    if (from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    return 0;
}

uint64_t hist_count(const struct hist *h)
{
    return h->count;
}

int64_t hist_min(const struct hist *h)
{
    return h->count ? h->min : 0;
}

int64_t hist_max(const struct hist *h)
{
    return h->max;
}

double hist_sum(const struct hist *h)
{
    return (double)h->sum;
}

double hist_mean(const struct hist *h)
{
    return h->count ? (double)h->sum / (double)h->count : 0.0;
}

int hist_next(const struct hist *h, size_t *pos, int64_t *lowest, int64_t *highest, uint64_t *count)
{
    for (; *pos < CHUNKS * CHUNK_LEN; ++*pos) {
        size_t c = *pos >> CHUNK_BITS, s = *pos & (CHUNK_LEN - 1);
        if (!h->chunk[c]) {
            *pos |= CHUNK_LEN - 1;
            continue;
        }
        if (!h->chunk[c][s])
            continue;
        *lowest = (int64_t)((c ? s | CHUNK_LEN : s) << shift_of(c));
        *highest = *lowest + (int64_t)((UINT64_C(1) << shift_of(c)) - 1);
        *count = h->chunk[c][s];
        ++*pos;
        return 1;
    }
    return 0;
}

int64_t hist_percentile(const struct hist *h, uint32_t ppm)
{
    unsigned __int128 scaled = (unsigned __int128)h->count * (ppm < 1000000 ? ppm : 1000000);
    uint64_t rank = (uint64_t)((scaled + 999999) / 1000000);
    size_t pos = 0;
    int64_t lo, hi;
    uint64_t n, below = 0;
    if (rank == 0)
        rank = 1;
    while (hist_next(h, &pos, &lo, &hi, &n)) {
        below += n;
        if (below < rank)
            continue;
        int64_t middle = lo + (hi - lo + 1) / 2;
        return middle < h->min ? h->min : middle > h->max ? h->max : middle;
    }
    return 0;
}

double hist_statistic(const struct hist *h, unsigned statistic)
{
    return statistic == HIST_COUNT  ? (double)h->count
           : statistic == HIST_MEAN ? hist_mean(h)
           : statistic == HIST_MIN  ? (double)hist_min(h)
           : statistic == HIST_MAX
               ? (double)hist_max(h)
               : (double)hist_percentile(h, hist_percentiles[statistic - HIST_P50].ppm);
}

const char *hist_statistic_name(unsigned statistic)
{
    return statistic == HIST_COUNT  ? "count"
           : statistic == HIST_MEAN ? "mean"
           : statistic == HIST_MIN  ? "min"
           : statistic == HIST_MAX  ? "max"
                                    : hist_percentiles[statistic - HIST_P50].name;
}

double hist_squares(const struct hist *h)
{
    double mean = hist_mean(h), sum = 0;
    int64_t low, high;
    uint64_t n;
    for (size_t pos = 0; hist_next(h, &pos, &low, &high, &n);) {
        double from_mean = (double)low + (double)(high - low) / 2 - mean;
        sum += from_mean * from_mean * (double)n;
    }
    return sum;
}
