/* curve.h - hit rates against the capacity of one cache, from the lookups of a run, in one pass.
 *
 * LRU is worked out by stack distances and is exact at every capacity. Other policies, and streams
 * in which not every miss is followed by a write, are simulated for each capacity, which is exact,
 * too. The cache is filled to its whole capacity and takes objects of any size, as the last tier of
 * a hierarchy does. */
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
    /* Share of the objects that are followed, above 0 and up to 1 (exact): the fixed-rate spatial
     * sampling of Waldspurger et al., "Efficient MRC construction with SHARDS", FAST 2015, with its
     * adjustment of the number of lookups; where capacities are simulated as in "Cache modeling and
     * optimization using miniature simulations", ATC 2017. */
    double sample;
    bool optimal;         /* the bound that no policy can pass, too; keeps every lookup in memory */
    const uint64_t *size; /* capacities in bytes, rising; NULL: spaced by logarithm */
    size_t sizes;         /* at most CURVE_MAX_SIZES */
};

struct curve_point {
    uint64_t capacity; /* bytes */
    uint64_t hits, hit_bytes;
    uint64_t optimal_hits, optimal_hit_bytes; /* with curve_opts.optimal */
};

struct curve_result {
    uint64_t lookups, lookup_bytes; /* an object that was never written counts with 0 bytes */
    /* By rising capacity. The last is the ceiling: it has the hits of an endless cache. */
    const struct curve_point *point;
    size_t points;
    uint64_t need; /* least capacity that reaches the ceiling; if simulated, one that is enough */
    /* The knee, a place in point: where hits are furthest ahead of capacity on the way from the
     * first point to the ceiling. Satopaa et al., "Finding a 'Kneedle' in a haystack", ICDCSW 2011,
     * on the points as they are. CURVE_NO_KNEE: no hits. */
    size_t knee;
};
#define CURVE_NO_KNEE SIZE_MAX

struct curve;

/* The options are copied, the sizes, too. 0, or -ENOMEM with *e. */
int curve_create(struct curve **out, const struct curve_opts *o, struct err *e);
void curve_free(struct curve *c);

/* true: each capacity is simulated; false: stack distances. curve_resume, curve_probe, curve_await
 * and curve_probe_entry are only for a curve that simulates. */
bool curve_simulates(const struct curve *c);

/* The stream, in its order. Each returns 0, -ENOMEM, -EOVERFLOW (see lru_stack.h), or -EFBIG
 * (optimal.h); curve_failed puts these into words. */

/* A new request: the prefix begins anew. */
void curve_request(struct curve *c);
/* For requests that mix: what follows belongs to that request, whose prefix goes on from where it
 * was. */
int curve_resume(struct curve *c, int64_t request);
/* That request looks nothing up any more. */
void curve_end_request(struct curve *c, int64_t request);
/* A lookup. If it misses, the object is written with that size (bytes). */
int curve_lookup(struct curve *c, struct ident id, uint64_t size);
/* A lookup. If it misses, nothing is written. */
int curve_probe(struct curve *c, struct ident id);
/* A lookup. If it misses, a curve_write to come writes the object; only that tells the bytes of an
 * object that was never written before. */
int curve_await(struct curve *c, struct ident id);
/* Lookups of all parts of an entry (ident.h), as curve_probe, from the first part on: in each
 * capacity, parts behind a missing one cannot hit and are not used. An entry whose last part was
 * never written counts as one part. */
int curve_probe_entry(struct curve *c, struct ident entry);
/* No lookup: the object is written unless it is there. */
int curve_write(struct curve *c, struct ident id, uint64_t size);

/* Sets *e, for the options of --curve. Returns code. */
int curve_failed(int code, struct err *e);

/* The answer, lent until the curve is freed. Call it once, after the stream. 0, or -ENOMEM with *e.
 */
int curve_result(struct curve *c, const struct curve_result **out, struct err *e);

/* The knee of points, from the first to the one that reaches need. */
size_t curve_knee(const struct curve_result *r);

/* Writes the answer as CSV: Capacity_Bytes, Lookups, Hits, Object_Hit_Rate, Byte_Hit_Rate, and with
 * optimal the same three of the bound. path is as in lib/base/save.h. 0, or negative errno with *e.
 */
int curve_save(const struct curve_result *r, bool optimal, const char *path, struct err *e);

#endif
