/* curve.h - hit rate against the capacity of one cache, from the lookups of a run, in one pass.
 *
 * LRU comes from stack distances: exact at every capacity. Other policies, and streams whose misses
 * are not all filled, are simulated for each capacity: exact, too. The cache is filled to the whole
 * of its capacity and takes objects of any size, as the last tier of a hierarchy does. */
#ifndef KVGEN_CURVE_CURVE_H
#define KVGEN_CURVE_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvgen/policy/policy.h"
#include "kvgen/source/ident.h"
#include "lib/base/err.h"

enum {
    CURVE_MAX_SIZES = 1024
};

struct curve_opts {
    const struct policy_ops *policy;
    bool refills; /* every lookup that misses is followed by a write: there are no probes */
    bool prefix;  /* a lookup can hit only while all earlier ones of its request hit */
    /* Share of the objects that are followed, over 0 to 1: fixed-rate spatial sampling of
     * Waldspurger et al., "Efficient MRC construction with SHARDS", FAST 2015, with its adjustment
     * of the number of lookups; with simulated sizes as in "Cache modeling and optimization using
     * miniature simulations", ATC 2017. 1: exact. */
    double sample;
    bool optimal;         /* also what no policy can pass; keeps every lookup in memory */
    const uint64_t *size; /* capacities, rising; NULL: spaced by logarithm */
    size_t sizes;
};

struct curve_point {
    uint64_t capacity; /* bytes */
    uint64_t hits, hit_bytes;
    uint64_t optimal_hits, optimal_hit_bytes; /* with curve_opts.optimal */
};

struct curve_result {
    uint64_t lookups, lookup_bytes; /* an object never written is looked up with 0 bytes */
    /* Rising; the last is at the ceiling: it has the hits of an endless cache. */
    const struct curve_point *point;
    size_t points;
    uint64_t need; /* least capacity that reaches the ceiling (simulated: one that is enough) */
    /* Place of the knee, CURVE_NO_KNEE without hits: where, from the first point to the ceiling,
     * hits are furthest ahead of capacity. Satopaa et al., "Finding a 'Kneedle' in a
     * haystack", ICDCSW 2011, of the points as they are. */
    size_t knee;
};
#define CURVE_NO_KNEE SIZE_MAX

struct curve;

int curve_create(struct curve **out, const struct curve_opts *o, struct err *e);
void curve_free(struct curve *c);

/* The stream, in its order. Each gives 0, -ENOMEM, -EOVERFLOW (see lru_stack.h), or -EFBIG
 * (optimal.h). */
void curve_request(struct curve *c); /* a new request: the prefix begins anew */
/* What comes is of that request, whose prefix goes on from where it was: for requests that mix. The
 * curve simulates. Until curve_end_request. */
int curve_resume(struct curve *c, int64_t request);
void curve_end_request(struct curve *c, int64_t request); /* it looks nothing up any more */
/* A lookup whose object, should it miss, is written with that size. */
int curve_lookup(struct curve *c, struct ident id, uint64_t size);
/* A lookup after which, should it miss, nothing is written. */
int curve_probe(struct curve *c, struct ident id);
/* A lookup whose object, should it miss, is written by a curve_write to come: that tells the bytes
 * of an object that was never written before. The curve simulates. */
int curve_await(struct curve *c, struct ident id);
/* Lookups of all parts of an entry (ident.h), as curve_probe, by who reads it from its first part
 * on: in each capacity what lies behind a missing part cannot hit and is not used. An entry whose
 * last part was never written has one part. The curve simulates. */
int curve_probe_entry(struct curve *c, struct ident entry);
/* The object is written unless it is there, which is no lookup. */
int curve_write(struct curve *c, struct ident id, uint64_t size);

/* Puts one of those errors into words: for --curve. Returns code. */
int curve_failed(int code, struct err *e);

/* The answer so far, lent until the curve is freed; call it once, at the end. */
int curve_result(struct curve *c, const struct curve_result **out, struct err *e);
bool curve_simulates(const struct curve *c); /* else: stack distances */

/* The answer as CSV: Capacity_Bytes, Lookups, Hits, Object_Hit_Rate, Byte_Hit_Rate, and with
 * optimal the same of the bound. path as in lib/base/save.h. */
int curve_save(const struct curve_result *r, bool optimal, const char *path, struct err *e);

#endif
