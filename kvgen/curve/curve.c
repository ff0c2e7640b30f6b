/* Hit rates by capacity from the lookups of a run, as it makes them: by stack distances in one
 * structure, or in one cache for each capacity. At the end hits become points, a sample is scaled
 * up, and the knee is found. The bound that no policy can pass is worked out in optimal.c. */
#include "kvgen/curve/curve.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kvgen/curve/optimal.h"
#include "kvgen/curve/request_prefixes.h"
#include "kvgen/curve/sized_cache.h"
#include "lib/base/hash.h"
#include "lib/base/keymap.h"
#include "lib/base/lru_stack.h"
#include "lib/base/memory.h"
#include "lib/base/save.h"

/* The default capacities go from 2 to the power of one to that of the other. */
enum {
    FIRST_EXACT = 20,
    LAST_EXACT = 52,
    FIRST_SIMULATED = 24,
    LAST_SIMULATED = 44
};

struct curve {
    struct curve_opts o;
    bool spaced; /* capacities are the default ones: those that tell nothing are left out */
    uint64_t *size, *limit; /* capacities, and what the followed objects have of them */
    size_t sizes;
    /* By capacity, the endless one last. With stack distances: hits that need it and no less. */
    uint64_t *hits, *hit_bytes;
    uint64_t lookups;                  /* all */
    uint64_t followed, followed_bytes; /* lookups of objects that are followed */

    /* Stack distances; NULL: capacities are simulated. */
    struct lru_stack *stack;
    uint64_t furthest; /* distance in the request's prefix so far */
    uint64_t need;     /* furthest distance of a hit */

    /* Simulated capacities. */
    struct sized_cache **cache; /* by capacity, the endless one last */
    struct keymap *awaited;     /* objects without a size: lookups; NULL: none yet */
    struct keymap *entries;     /* entries in parts: how many parts; NULL: none yet */
    bool *broken;  /* by capacity: the prefix of the request under way has missed. Marks in: */
    bool *unmixed; /* one request at a time */
    struct request_prefixes *prefixes; /* requests that mix; NULL: none yet */

    struct optimal *optimal; /* NULL: not wanted */
    struct curve_point *point;
    struct curve_result result;
};

/* The capacities asked for, or four an octave, or one where they are simulated: 2^(i/4). Not by the
 * library's pow, whose last bit differs between hosts. */
static void set_sizes(struct curve *c, const struct curve_opts *o)
{
    static const double root[4] = {1, 1.189207115002721, 1.4142135623730951, 1.681792830507429};
    bool simulated = curve_simulates(c);
    int first = simulated ? FIRST_SIMULATED : FIRST_EXACT;
    int last = simulated ? LAST_SIMULATED : LAST_EXACT;
    assert(o->sizes <= CURVE_MAX_SIZES);
    c->spaced = !o->size;
    for (size_t i = 0; !c->spaced && i < o->sizes; i++)
        c->size[c->sizes++] = o->size[i];
    for (int octave = first; c->spaced && octave <= last; octave++)
        for (int i = 0; i < (simulated ? 1 : 4); i++)
            c->size[c->sizes++] = (uint64_t)((double)(UINT64_C(1) << octave) * root[i]);
    for (size_t i = 0; i < c->sizes; i++)
        c->limit[i] = o->sample == 1 ? c->size[i] : (uint64_t)((double)c->size[i] * o->sample);
}

static bool make_caches(struct curve *c)
{
    c->cache = calloc(c->sizes + 1, sizeof(*c->cache));
    c->broken = c->unmixed = calloc(c->sizes + 1, sizeof(*c->unmixed));
    if (!c->cache || !c->unmixed)
        return false;
    for (size_t i = 0; i <= c->sizes; i++) {
        c->cache[i] = sized_cache_create(c->o.policy, i < c->sizes ? c->limit[i] : UINT64_MAX);
        if (!c->cache[i])
            return false;
    }
    return true;
}

int curve_create(struct curve **out, const struct curve_opts *o, struct err *e)
{
    struct curve *c = calloc(1, sizeof(*c));
    if (!c)
        return err_nomem(e, "curve");
    c->o = *o;
    c->size = calloc(CURVE_MAX_SIZES, sizeof(*c->size));
    c->limit = calloc(CURVE_MAX_SIZES, sizeof(*c->limit));
    c->hits = calloc(CURVE_MAX_SIZES + 1, sizeof(*c->hits));
    c->hit_bytes = calloc(CURVE_MAX_SIZES + 1, sizeof(*c->hit_bytes));
    c->point = calloc(CURVE_MAX_SIZES + 1, sizeof(*c->point));
    if (!c->size || !c->limit || !c->hits || !c->hit_bytes || !c->point)
        goto out;
    set_sizes(c, o);
    if (o->optimal && !(c->optimal = optimal_create()))
        goto out;
    if (curve_simulates(c) ? !make_caches(c) : !(c->stack = lru_stack_create()))
        goto out;
    *out = c;
    return 0;
out:
    curve_free(c);
    return err_nomem(e, "curve");
}

void curve_free(struct curve *c)
{
    if (!c)
        return;
    for (size_t i = 0; c->cache && i <= c->sizes; i++)
        sized_cache_free(c->cache[i]);
    free(c->cache);
    free(c->unmixed);
    request_prefixes_free(c->prefixes);
    keymap_free(c->awaited);
    keymap_free(c->entries);
    lru_stack_free(c->stack);
    optimal_free(c->optimal);
    free(c->size);
    free(c->limit);
    free(c->hits);
    free(c->hit_bytes);
    free(c->point);
    free(c);
}

bool curve_simulates(const struct curve *c)
{
    return c->o.policy != policies[POLICY_LRU] || !c->o.refills;
}

/* ---- requests ---- */

void curve_request(struct curve *c)
{
    c->furthest = 0;
    c->broken = c->unmixed;
    for (size_t i = 0; c->broken && i <= c->sizes; i++)
        c->broken[i] = false;
}

int curve_resume(struct curve *c, int64_t request)
{
    assert(curve_simulates(c));
    if (!c->prefixes)
        c->prefixes = request_prefixes_create(c->sizes + 1);
    bool *broken = c->prefixes ? request_prefixes_of(c->prefixes, request) : NULL;
    if (!broken)
        return -ENOMEM;
    c->broken = broken;
    return 0;
}

void curve_end_request(struct curve *c, int64_t request)
{
    curve_request(c);
    if (c->prefixes)
        request_prefixes_forget(c->prefixes, request);
}

/* ---- which objects are followed ---- */

/* Its hash shares nothing with the one by which the object is found. Parts are followed with their
 * entry. */
static bool is_followed(const struct curve *c, struct ident id)
{
    if (c->o.sample == 1)
        return true;
    id = ident_whole(id);
    uint64_t hash = hash_mix(hash_mix(id.hi + UINT64_C(0x5851f42d4c957f2d)) ^ id.lo);
    return (double)(hash >> 11) < c->o.sample * 9007199254740992.0; /* 53 bits of it below 2^53 */
}

/* false: the object is not followed. */
static bool count_lookup(struct curve *c, struct ident id)
{
    c->lookups++;
    if (!is_followed(c, id))
        return false;
    c->followed++;
    return true;
}

/* The key by which maps find an object. Identities are counted up, so they are mixed, one to one.
 */
static struct hash128 mixed(struct ident id)
{
    return (struct hash128){.lo = hash_mix(id.lo ^ hash_mix(id.hi)), .hi = id.hi};
}

/* ---- stack distances ---- */

/* A lookup that hits in every capacity from that distance on. LRU caches are nested, so a prefix is
 * whole in exactly those that hold its furthest object. */
static void count_distance(struct curve *c, uint64_t distance, uint64_t size)
{
    if (c->o.prefix) {
        if (distance > c->furthest)
            c->furthest = distance;
        distance = c->furthest;
    }
    if (distance == LRU_STACK_NEW)
        return;
    size_t low = 0,
           high = c->sizes; /* the first that is large enough; c->sizes: only the endless one */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->limit[middle] >= distance)
            high = middle;
        else
            low = middle + 1;
    }
    c->hits[low]++;
    c->hit_bytes[low] += size;
    if (distance > c->need)
        c->need = distance;
}

static int use_stack(struct curve *c, struct ident id, uint64_t size, enum optimal_kind kind)
{
    uint64_t distance;
    uint32_t number;
    int rc = lru_stack_use(c->stack, mixed(id), size, &distance, &number);
    if (rc == 0 && kind == OPTIMAL_LOOKUP)
        count_distance(c, distance, size);
    if (rc == 0 && c->optimal)
        rc = optimal_use(c->optimal, number, size, kind);
    return rc;
}

/* ---- simulated capacities ---- */

/* Looks the object up in one capacity. A hit counts while the prefix is whole. */
static bool probe_cache(struct curve *c, size_t i, struct ident id, uint64_t size)
{
    if (!sized_cache_touch(c->cache[i], id)) {
        c->broken[i] = c->o.prefix;
        return false;
    }
    if (!c->broken[i]) {
        c->hits[i]++;
        c->hit_bytes[i] += size;
    }
    return true;
}

/* For an object that the endless cache holds. */
static int note_optimal(struct curve *c, struct ident id, enum optimal_kind kind)
{
    uint64_t size;
    uint32_t number;
    if (!c->optimal || !sized_cache_find(c->cache[c->sizes], id, &size, &number))
        return 0;
    return optimal_use(c->optimal, number, size, kind);
}

/* The size of an object is known for the first time: its earlier lookups get their bytes. */
static void settle_awaited(struct curve *c, struct ident id, uint64_t size)
{
    const uint64_t *lookups = c->awaited ? keymap_find(c->awaited, mixed(id)) : NULL;
    if (!lookups)
        return;
    c->followed_bytes += *lookups * size;
    keymap_remove(c->awaited, mixed(id));
}

/* The last part of an entry tells how many parts there are. Kept also for entries that are not
 * followed, because their lookups count. */
static int note_entry(struct curve *c, struct ident id)
{
    uint32_t parts = ident_parts(id);
    if (parts == 0)
        return 0;
    if (!c->entries)
        c->entries = keymap_create();
    bool ok = c->entries && keymap_get(c->entries, mixed(ident_whole(id)), parts);
    return ok ? 0 : -ENOMEM;
}

/* ---- the stream ---- */

int curve_lookup(struct curve *c, struct ident id, uint64_t size)
{
    int rc = note_entry(c, id);
    if (rc < 0 || !count_lookup(c, id))
        return rc;
    c->followed_bytes += size;
    if (!curve_simulates(c))
        return use_stack(c, id, size, OPTIMAL_LOOKUP);
    settle_awaited(c, id, size);
    for (size_t i = 0; rc == 0 && i <= c->sizes; i++)
        if (!probe_cache(c, i, id, size))
            rc = sized_cache_write(c->cache[i], id, size);
    return rc == 0 ? note_optimal(c, id, OPTIMAL_LOOKUP) : rc;
}

int curve_write(struct curve *c, struct ident id, uint64_t size)
{
    int rc = note_entry(c, id);
    if (rc < 0 || !is_followed(c, id))
        return rc;
    if (!curve_simulates(c))
        return use_stack(c, id, size, OPTIMAL_WRITE);
    settle_awaited(c, id, size);
    for (size_t i = 0; rc == 0 && i <= c->sizes; i++)
        if (!sized_cache_find(c->cache[i], id, NULL, NULL))
            rc = sized_cache_write(c->cache[i], id, size);
    return rc == 0 ? note_optimal(c, id, OPTIMAL_WRITE) : rc;
}

int curve_probe(struct curve *c, struct ident id)
{
    uint64_t size;
    assert(curve_simulates(c));
    if (!count_lookup(c, id))
        return 0;
    if (!sized_cache_find(c->cache[c->sizes], id, &size, NULL)) {
        for (size_t i = 0; i <= c->sizes; i++)
            c->broken[i] = c->o.prefix;
        return 0;
    }
    c->followed_bytes += size;
    for (size_t i = 0; i <= c->sizes; i++)
        probe_cache(c, i, id, size);
    return note_optimal(c, id, OPTIMAL_PROBE);
}

int curve_await(struct curve *c, struct ident id)
{
    if (is_followed(c, id) && !sized_cache_find(c->cache[c->sizes], id, NULL, NULL)) {
        if (!c->awaited)
            c->awaited = keymap_create();
        uint64_t *lookups = c->awaited ? keymap_get(c->awaited, mixed(id), 0) : NULL;
        if (!lookups)
            return -ENOMEM;
        ++*lookups;
    }
    return curve_probe(c, id);
}

/* One part, in the capacities that held all parts before it. */
static int probe_part(struct curve *c, struct ident id)
{
    uint64_t size;
    if (!sized_cache_find(c->cache[c->sizes], id, &size, NULL))
        return 0;
    c->followed_bytes += size;
    for (size_t i = 0; i <= c->sizes; i++)
        if (!c->broken[i] && !probe_cache(c, i, id, size))
            c->broken[i] = true;
    return note_optimal(c, id, OPTIMAL_PROBE);
}

int curve_probe_entry(struct curve *c, struct ident entry)
{
    assert(curve_simulates(c) && !c->o.prefix);
    const uint64_t *known = c->entries ? keymap_find(c->entries, mixed(entry)) : NULL;
    uint32_t parts = known ? (uint32_t)*known : 1;
    int rc = 0;
    c->lookups += parts;
    if (!is_followed(c, entry))
        return 0;
    c->followed += parts;
    for (uint32_t i = 0; rc == 0 && i < parts; i++)
        rc = probe_part(c, ident_part(entry, i, i + 1 == parts));
    curve_request(c);
    return rc;
}

int curve_failed(int code, struct err *e)
{
    if (code == -EOVERFLOW)
        return err_set(e, code, ERR_INPUT, "--curve",
                       "the objects looked up have more than 2^63 bytes");
    if (code == -EFBIG)
        return err_set(
            e, code, ERR_INPUT, "--config curve_optimal",
            "more than 2^32 lookups or 2^30 objects; --config curve_sample follows a part of them");
    return err_nomem(e, "curve");
}

/* ---- the answer ---- */

/* Counts of followed objects become counts of all objects. The lookups that a sample has too many
 * or too few are taken for hits, because objects that are looked up often enough to matter are few
 * and in any cache ("SHARDS-adj"). */
struct scale {
    double sample, missing, mean_bytes;
    uint64_t lookups, lookup_bytes;
};

static struct scale make_scale(const struct curve *c)
{
    struct scale s = {
        .sample = c->o.sample, .lookups = c->lookups, .lookup_bytes = c->followed_bytes};
    if (s.sample == 1)
        return s;
    s.missing = (double)c->lookups * s.sample - (double)c->followed;
    s.mean_bytes = c->followed > 0 ? (double)c->followed_bytes / (double)c->followed : 0;
    s.lookup_bytes = (uint64_t)(s.mean_bytes * (double)c->lookups);
    return s;
}

static uint64_t scaled(const struct scale *s, uint64_t count, double missing, uint64_t most)
{
    if (s->sample == 1)
        return count;
    double n = ((double)count + missing) / s->sample;
    return n <= 0 ? 0 : n >= (double)most ? most : (uint64_t)(n + 0.5);
}

/* Adds the point of that capacity, whose hits are those at place i. */
static void add_point(struct curve *c, const struct scale *s, uint64_t capacity, size_t i)
{
    struct curve_point *p = &c->point[c->result.points++];
    uint64_t hits = c->hits[i], bytes = c->hit_bytes[i];
    double missing_bytes = s->missing * s->mean_bytes;
    p->capacity = capacity;
    p->hits = scaled(s, hits, s->missing, s->lookups);
    p->hit_bytes = scaled(s, bytes, missing_bytes, s->lookup_bytes);
    if (!c->optimal)
        return;
    uint64_t limit = s->sample == 1 ? capacity : (uint64_t)((double)capacity * s->sample);
    optimal_hits(c->optimal, limit, &hits, &bytes);
    p->optimal_hits = scaled(s, hits, s->missing, s->lookups);
    p->optimal_hit_bytes = scaled(s, bytes, missing_bytes, s->lookup_bytes);
}

/* How far x has come from low to high: 0 to 1. */
static double fraction(uint64_t x, uint64_t low, uint64_t high)
{
    return high > low ? (double)(x - low) / (double)(high - low) : 0;
}

/* Kneedle without its smoothing and its threshold: one curve, one knee. */
size_t curve_knee(const struct curve_result *r)
{
    const struct curve_point *first = &r->point[0], *top = &r->point[r->points - 1];
    size_t knee = 0;
    double best = 0;
    if (top->hits == 0)
        return CURVE_NO_KNEE;
    for (size_t i = 1; i < r->points && r->point[i].capacity <= r->need; i++) {
        double above = fraction(r->point[i].hits, first->hits, top->hits) -
                       fraction(r->point[i].capacity, first->capacity, r->need);
        if (above > best) {
            best = above;
            knee = i;
        }
    }
    return knee;
}

int curve_result(struct curve *c, const struct curve_result **out, struct err *e)
{
    if (c->optimal && optimal_begin(c->optimal) < 0)
        return err_nomem(e, "optimal bound");
    /* Stack distances: from hits that need a capacity and no less to hits that need no more. */
    for (size_t i = 1; c->stack && i <= c->sizes; i++) {
        c->hits[i] += c->hits[i - 1];
        c->hit_bytes[i] += c->hit_bytes[i - 1];
    }
    uint64_t need = c->stack ? c->need : sized_cache_peak_bytes(c->cache[c->sizes]);
    if (c->o.sample != 1)
        need = (uint64_t)((double)need / c->o.sample + 0.5);

    /* The default capacities from the last without hits up to the one that is enough. */
    size_t first = 0, end = c->sizes;
    if (c->spaced) {
        while (first + 1 < c->sizes && c->hits[first + 1] == 0)
            first++;
        for (end = first; end < c->sizes && c->size[end] < need;)
            end++;
    }
    struct scale s = make_scale(c);
    c->result = (struct curve_result){
        .lookups = s.lookups, .lookup_bytes = s.lookup_bytes, .point = c->point, .need = need};
    for (size_t i = first; i < end; i++)
        add_point(c, &s, c->size[i], i);
    if (end == first || c->size[end - 1] < need)
        add_point(c, &s, need, c->sizes);
    c->result.knee = curve_knee(&c->result);
    *out = &c->result;
    return 0;
}

/* ---- CSV ---- */

static double share(uint64_t part, uint64_t of)
{
    return of > 0 ? (double)part / (double)of : 0;
}

int curve_save(const struct curve_result *r, bool optimal, const char *path, struct err *e)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = memory_stream(&text, &len);
    if (!f)
        return err_nomem(e, "curve");
    fprintf(f, "Capacity_Bytes,Lookups,Hits,Object_Hit_Rate,Byte_Hit_Rate%s\n",
            optimal ? ",Optimal_Hits,Optimal_Object_Hit_Rate,Optimal_Byte_Hit_Rate" : "");
    for (size_t i = 0; i < r->points; i++) {
        const struct curve_point *p = &r->point[i];
        fprintf(f, "%llu,%llu,%llu,%.6f,%.6f", (unsigned long long)p->capacity,
                (unsigned long long)r->lookups, (unsigned long long)p->hits,
                share(p->hits, r->lookups), share(p->hit_bytes, r->lookup_bytes));
        if (optimal)
            fprintf(f, ",%llu,%.6f,%.6f", (unsigned long long)p->optimal_hits,
                    share(p->optimal_hits, r->lookups),
                    share(p->optimal_hit_bytes, r->lookup_bytes));
        fputc('\n', f);
    }
    bool bad = ferror(f) != 0;
    bad |= fclose(f) != 0;
    int rc = bad ? err_nomem(e, "curve") : save_text(path, text, len, e);
    free(text);
    return rc;
}
