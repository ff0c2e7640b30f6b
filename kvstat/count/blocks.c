/* Behind the confidence of a verdict and the noise of a comparison: successive values of a run are
 * not independent, and this tells how far they are from it. */
#include "kvstat/count/blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "kvstat/count/coarse_hist.h"

struct block {
    struct coarse_hist *values;
    uint64_t count;
    double sum;
};

struct blocks {
    uint64_t length; /* values in a block; the last one may have fewer, so may the last of each
                        appended series */
    size_t count;
    bool open; /* the last block takes values */
    struct block block[BLOCKS_MAX];
};

struct blocks *blocks_create(void)
{
    struct blocks *b = calloc(1, sizeof(*b));
    if (b)
        b->length = 1;
    return b;
}

void blocks_free(struct blocks *b)
{
    for (size_t i = 0; b && i < b->count; i++)
        coarse_hist_free(b->block[i].values);
    free(b);
}

static int block_merge(struct block *into, const struct block *from)
{
    into->count += from->count;
    into->sum += from->sum;
    return coarse_hist_merge(&into->values, from->values);
}

/* Makes one block of every two. */
static int halve(struct blocks *b)
{
    int rc = 0;
    size_t kept = (b->count + 1) / 2;
    for (size_t i = 0; i < b->count && rc == 0; i++) {
        struct block *into = &b->block[i / 2], *from = &b->block[i];
        if (i % 2 == 1) {
            rc = block_merge(into, from);
            coarse_hist_free(from->values);
            *from = (struct block){0};
        } else if (into != from) {
            *into = *from;
            *from = (struct block){0};
        }
    }
    if (rc < 0)
        return rc;
    b->open = b->count > 0 && b->block[kept - 1].count < 2 * b->length;
    b->count = kept;
    b->length *= 2;
    return 0;
}

int blocks_add(struct blocks *b, int64_t value)
{
    if (!b->open && b->count == BLOCKS_MAX) {
        int rc = halve(b);
        if (rc < 0)
            return rc;
    }
    if (!b->open) {
        b->count++;
        b->open = true;
    }
    struct block *last = &b->block[b->count - 1];
    last->sum += value > 0 ? (double)value : 0;
    b->open = ++last->count < b->length;
    return coarse_hist_record(&last->values, value);
}

int blocks_append(struct blocks *into, const struct blocks *from)
{
    int rc = 0;
    while (into->length < from->length && rc == 0)
        rc = halve(into);
    for (size_t i = 0; i < from->count && rc == 0; i++) {
        /* Shorter blocks of the other are put together up to the length here. */
        struct block *last = into->count > 0 && i > 0 ? &into->block[into->count - 1] : NULL;
        if (last && last->count + from->block[i].count <= into->length) {
            rc = block_merge(last, &from->block[i]);
            continue;
        }
        if (into->count == BLOCKS_MAX)
            rc = halve(into);
        if (rc == 0)
            rc = block_merge(&into->block[into->count++], &from->block[i]);
    }
    into->open = false;
    return rc;
}

int blocks_merge(struct blocks **into, const struct blocks *from)
{
    if (!from)
        return 0;
    if (!*into)
        *into = blocks_create();
    return *into ? blocks_append(*into, from) : -ENOMEM;
}

uint64_t blocks_count(const struct blocks *b)
{
    uint64_t n = 0;
    for (size_t i = 0; b && i < b->count; i++)
        n += b->block[i].count;
    return n;
}

int64_t blocks_percentile(const struct blocks *b, uint32_t ppm)
{
    struct coarse_hist *all = NULL;
    int rc = 0;
    for (size_t i = 0; i < b->count && rc == 0; i++)
        rc = coarse_hist_merge(&all, b->block[i].values);
    int64_t value = rc < 0 ? -1 : coarse_hist_percentile(all, ppm);
    coarse_hist_free(all);
    return value;
}

/* ---- the mean and its spread ---- */

/* Sums and counts of blocks. */
struct sums {
    size_t count;
    double sum[BLOCKS_MAX], n[BLOCKS_MAX];
};

/* The correlation of a block with the next one. */
static double correlation(const double *residual, size_t count)
{
    double products = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        squares += residual[i] * residual[i];
        products += i > 0 ? residual[i] * residual[i - 1] : 0;
    }
    return squares > 0 ? products / squares : 0;
}

/* The mean as the ratio of two sums over blocks, whose variance counts blocks that differ in length
 * for what they hold (Cochran, Sampling Techniques, 6.4). */
static void ratio_mean(const struct sums *s, struct blocks_mean *out)
{
    double total = 0, n = 0, squares = 0, residual[BLOCKS_MAX];
    double count = (double)s->count;
    for (size_t i = 0; i < s->count; i++) {
        total += s->sum[i];
        n += s->n[i];
    }
    out->mean = total / n;
    for (size_t i = 0; i < s->count; i++) {
        residual[i] = s->sum[i] - out->mean * s->n[i];
        squares += residual[i] * residual[i];
    }
    double r = correlation(residual, s->count);
    out->variance = squares / (n * n) * count / (count - 1);
    out->freedom = count - 1;
    /* Within 95 % of what blocks that do not depend on each other show. */
    out->settled = r < 1.645 / sqrt(count);
    /* The rest of the correlation lengthens the variance as that of an autoregressive series.
     * Estimates below 0 are chance, and not taken. */
    if (r > 0)
        out->variance *= (1 + fmin(r, 0.95)) / (1 - fmin(r, 0.95));
}

static bool mean_of(struct sums *s, struct blocks_mean *out)
{
    if (s->count < BLOCKS_LEAST)
        return false;
    ratio_mean(s, out);
    /* Blocks twice as long settle sooner. */
    if (!out->settled && s->count / 2 >= BLOCKS_LEAST) {
        struct sums pairs = {.count = s->count / 2}; /* an odd last block goes to the last pair */
        for (size_t i = 0; i < s->count; i++) {
            size_t pair = i / 2 < pairs.count ? i / 2 : pairs.count - 1;
            pairs.sum[pair] += s->sum[i];
            pairs.n[pair] += s->n[i];
        }
        *s = pairs;
        ratio_mean(s, out);
    }
    return true;
}

bool blocks_mean(const struct blocks *b, struct blocks_mean *out)
{
    struct sums s = {.count = b ? b->count : 0};
    for (size_t i = 0; i < s.count; i++) {
        s.sum[i] = b->block[i].sum;
        s.n[i] = (double)b->block[i].count;
    }
    return mean_of(&s, out);
}

bool blocks_share(const struct blocks *b, int64_t bound, struct blocks_mean *out)
{
    struct sums s = {.count = b ? b->count : 0};
    for (size_t i = 0; i < s.count; i++) {
        s.sum[i] = (double)coarse_hist_from(b->block[i].values, bound);
        s.n[i] = (double)b->block[i].count;
    }
    return mean_of(&s, out);
}

bool blocks_rise(const struct blocks *b, struct blocks_mean *out)
{
    double n = 0, x_mean = 0, y_mean = 0, xx = 0, xy = 0, squares = 0, residual[BLOCKS_MAX];
    double x[BLOCKS_MAX], y[BLOCKS_MAX];
    size_t count = b ? b->count : 0;
    double values = (double)blocks_count(b);
    if (count < BLOCKS_LEAST)
        return false;
    for (size_t i = 0; i < count; i++) {
        double block = (double)b->block[i].count;
        x[i] = (n + block / 2) / values; /* the place of its middle, 0..1 */
        y[i] = b->block[i].sum / block;
        n += block;
        x_mean += x[i] / (double)count;
        y_mean += y[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        xx += (x[i] - x_mean) * (x[i] - x_mean);
        xy += (x[i] - x_mean) * (y[i] - y_mean);
    }
    out->mean = xy / xx;
    for (size_t i = 0; i < count; i++) {
        residual[i] = y[i] - y_mean - out->mean * (x[i] - x_mean);
        squares += residual[i] * residual[i];
    }
    double r = fmin(correlation(residual, count), 0.95);
    out->freedom = (double)count - 2;
    out->variance = squares / out->freedom / xx * (r > 0 ? (1 + r) / (1 - r) : 1);
    out->settled = r < 1.645 / sqrt((double)count);
    return true;
}
