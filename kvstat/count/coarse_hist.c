/* Log-linear histograms coarser than those of lib/base/hist.h: a time series has one for every
 * interval, tier and direction, and a series of values one for every block. */
#include "kvstat/count/coarse_hist.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* 32 buckets for each power of two: the middle of a bucket is within 1.6 % of any value in it. */
#define SUB_BITS 5
#define SUBS     (1u << SUB_BITS)
#define OCTAVES  (63 - SUB_BITS + 1)

struct coarse_hist {
    uint64_t count;
    int64_t max;
    uint64_t *octave[OCTAVES]; /* SUBS counts each, allocated where values fall */
};

void coarse_hist_free(struct coarse_hist *h)
{
    for (size_t o = 0; h && o < OCTAVES; o++)
        free(h->octave[o]);
    free(h);
}

/* As in hist.c: octave 0 holds 0..31 one by one, octave o 2^(o+4) .. 2^(o+5)-1. */
static unsigned shift_of(size_t octave)
{
    return octave > 1 ? (unsigned)octave - 1 : 0;
}

static size_t octave_of(uint64_t v)
{
    return (size_t)(64 - SUB_BITS - __builtin_clzll(v | (SUBS - 1)));
}

static size_t sub_of(uint64_t v, size_t octave)
{
    return (v >> shift_of(octave)) & (SUBS - 1);
}

static uint64_t *octave_at(struct coarse_hist *h, size_t o)
{
    if (!h->octave[o])
        h->octave[o] = calloc(SUBS, sizeof(*h->octave[o]));
    return h->octave[o];
}

int coarse_hist_record(struct coarse_hist **h, int64_t value)
{
    uint64_t v = value > 0 ? (uint64_t)value : 0;
    size_t o = octave_of(v);
    if (!*h)
        *h = calloc(1, sizeof(**h));
    uint64_t *octave = *h ? octave_at(*h, o) : NULL;
    if (!octave)
        return -ENOMEM;
    octave[sub_of(v, o)]++;
    (*h)->count++;
    if ((int64_t)v > (*h)->max)
        (*h)->max = (int64_t)v;
    return 0;
}

int coarse_hist_merge(struct coarse_hist **into, const struct coarse_hist *from)
{
    if (!from)
        return 0;
    if (!*into)
        *into = calloc(1, sizeof(**into));
    if (!*into)
        return -ENOMEM;
    for (size_t o = 0; o < OCTAVES; o++) {
        uint64_t *octave = from->octave[o] ? octave_at(*into, o) : NULL;
        if (from->octave[o] && !octave)
            return -ENOMEM;
        for (size_t i = 0; octave && i < SUBS; i++)
            octave[i] += from->octave[o][i];
    }
    (*into)->count += from->count;
    if (from->max > (*into)->max)
        (*into)->max = from->max;
    return 0;
}

int64_t coarse_hist_percentile(const struct coarse_hist *h, uint32_t ppm)
{
    uint64_t seen = 0;
    if (!h || h->count == 0)
        return -1;
    unsigned __int128 parts = (unsigned __int128)h->count * ppm;
    uint64_t rank = (uint64_t)((parts + 999999) / 1000000);
    for (size_t o = 0; o < OCTAVES; o++) {
        for (size_t i = 0; h->octave[o] && i < SUBS; i++) {
            seen += h->octave[o][i];
            if (seen < rank || h->octave[o][i] == 0)
                continue;
            uint64_t low = (o ? i | SUBS : i) << shift_of(o);
            int64_t middle = (int64_t)(low + ((UINT64_C(1) << shift_of(o)) - 1) / 2);
            return middle < h->max ? middle : h->max;
        }
    }
    return h->max;
}

uint64_t coarse_hist_from(const struct coarse_hist *h, int64_t bound)
{
    uint64_t v = bound > 0 ? (uint64_t)bound : 0, n = 0;
    size_t first = octave_of(v);
    for (size_t o = first; h && o < OCTAVES; o++)
        for (size_t i = o == first ? sub_of(v, o) : 0; h->octave[o] && i < SUBS; i++)
            n += h->octave[o][i];
    return n;
}
