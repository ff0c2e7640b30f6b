/* curve.c - the lookups of a run, as it makes them, into hits by capacity: by stack distances in
 * one structure, or in one cache for each capacity. The answer is worked out in curve_result.c. */
#include "kvgen/curve/curve_state.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/hash.h"

/* Powers of two that the default capacities begin and end with, and how many are simulated. */
enum {
    FIRST_EXACT = 20,
    LAST_EXACT = 52,
    FIRST_SIMULATED = 24,
    LAST_SIMULATED = 44
};

/* Four capacities an octave, or one: 2^(i/4), without the library's pow, whose last bit differs
 * between hosts. */
static size_t default_sizes(uint64_t *size, bool simulated)
{
    static const double root[4] = {1, 1.189207115002721, 1.4142135623730951, 1.681792830507429};
    int first = simulated ? FIRST_SIMULATED : FIRST_EXACT;
    int last = simulated ? LAST_SIMULATED : LAST_EXACT;
    size_t n = 0;
    for (int octave = first; octave <= last; octave++)
        for (int i = 0; i < (simulated ? 1 : 4); i++)
            size[n++] = (uint64_t)((double)(UINT64_C(1) << octave) * root[i]);
    return n;
}

static bool take_arrays(struct curve *c)
{
    c->size = calloc(CURVE_MAX_SIZES, sizeof *c->size);
    c->limit = calloc(CURVE_MAX_SIZES, sizeof *c->limit);
    c->hits = calloc(CURVE_MAX_SIZES + 1, sizeof *c->hits);
    c->hit_bytes = calloc(CURVE_MAX_SIZES + 1, sizeof *c->hit_bytes);
    c->point = calloc(CURVE_MAX_SIZES + 1, sizeof *c->point);
    return c->size != NULL && c->limit != NULL && c->hits != NULL && c->hit_bytes != NULL &&
           c->point != NULL;
}

static void set_sizes(struct curve *c, const struct curve_opts *o)
{
    assert(o->sizes <= CURVE_MAX_SIZES);
    c->spaced = o->size == NULL;
    c->sizes = c->spaced ? default_sizes(c->size, curve_simulates(c)) : o->sizes;
    for (size_t i = 0; i < c->sizes; i++) {
        if (!c->spaced)
            c->size[i] = o->size[i];
        c->limit[i] = (uint64_t)((double)c->size[i] * o->sample);
        if (o->sample == 1)
            c->limit[i] = c->size[i];
    }
}

static bool make_caches(struct curve *c)
{
    c->cache = calloc(c->sizes + 1, sizeof *c->cache);
    c->broken = c->unnamed = calloc(c->sizes + 1, sizeof *c->unnamed);
    if (c->cache == NULL || c->unnamed == NULL)
        return false;
    for (size_t i = 0; i <= c->sizes; i++) {
        c->cache[i] = sized_cache_create(c->o.policy, i < c->sizes ? c->limit[i] : UINT64_MAX);
        if (c->cache[i] == NULL)
            return false;
    }
    return true;
}

int curve_create(struct curve **out, const struct curve_opts *o, struct err *e)
{
    struct curve *c = calloc(1, sizeof *c);
    if (c == NULL)
        return err_nomem(e, "curve");
    c->o = *o;
    bool ok = take_arrays(c);
    if (ok) {
        set_sizes(c, o);
        c->optimal = o->optimal ? optimal_create() : NULL;
        c->stack = curve_simulates(c) ? NULL : lru_stack_create();
        ok = (c->optimal != NULL) == o->optimal &&
             (curve_simulates(c) ? make_caches(c) : c->stack != NULL);
    }
    if (!ok) {
        curve_free(c);
        return err_nomem(e, "curve");
    }
    *out = c;
    return 0;
}

void curve_free(struct curve *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; c->cache != NULL && i <= c->sizes; i++)
        sized_cache_free(c->cache[i]);
    free(c->cache);
    free(c->unnamed);
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
    return c->o.policy != &policy_lru || !c->o.refills;
}

/* Is that object followed? Its hash shares nothing with the one by which it is found. Parts are
 * followed with their entry. */
static bool is_followed(const struct curve *c, struct ident id)
{
    if (c->o.sample == 1)
        return true;
    id = ident_whole(id);
    uint64_t hash = hash_mix(hash_mix(id.hi + UINT64_C(0x5851f42d4c957f2d)) ^ id.lo);
    return (double)(hash >> 11) < c->o.sample * 9007199254740992.0;
}

void curve_request(struct curve *c)
{
    c->furthest = 0;
    c->broken = c->unnamed;
    for (size_t i = 0; c->broken != NULL && i <= c->sizes; i++)
        c->broken[i] = false;
}

int curve_resume(struct curve *c, int64_t request)
{
    assert(curve_simulates(c));
    if (c->prefixes == NULL)
        c->prefixes = request_prefixes_create(c->sizes + 1);
    bool *broken = c->prefixes != NULL ? request_prefixes_of(c->prefixes, request) : NULL;
    if (broken == NULL)
        return -ENOMEM;
    c->broken = broken;
    return 0;
}

void curve_end_request(struct curve *c, int64_t request)
{
    curve_request(c);
    if (c->prefixes != NULL)
        request_prefixes_forget(c->prefixes, request);
}

/* ---- stack distances ---- */

/* The first capacity that is large enough, c->sizes: only the endless one. */
static size_t first_over(const struct curve *c, uint64_t distance)
{
    size_t low = 0, high = c->sizes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->limit[middle] >= distance)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* LRU caches are nested, so a prefix is whole in exactly those that hold its furthest object. */
static void count_distance(struct curve *c, uint64_t distance, uint64_t size)
{
    if (c->o.prefix && distance > c->furthest)
        c->furthest = distance;
    if (c->o.prefix)
        distance = c->furthest;
    if (distance == LRU_STACK_NEW)
        return;
    size_t i = first_over(c, distance);
    c->hits[i]++;
    c->hit_bytes[i] += size;
    if (distance > c->need)
        c->need = distance;
}

/* Identities are counted up: one to one, but mixed. */
static struct hash128 mixed(struct ident id)
{
    return (struct hash128){.lo = hash_mix(id.lo ^ hash_mix(id.hi)), .hi = id.hi};
}

static int use_stack(struct curve *c, struct ident id, uint64_t size, bool counted)
{
    uint64_t distance;
    uint32_t number;
    int rc = lru_stack_use(c->stack, mixed(id), size, &distance, &number);
    if (rc == 0 && counted)
        count_distance(c, distance, size);
    if (rc == 0 && c->optimal != NULL)
        rc = optimal_use(c->optimal, number, size, counted ? OPTIMAL_LOOKUP : OPTIMAL_WRITE);
    return rc;
}

/* ---- simulated capacities ---- */

/* Is it there? A hit counts while the prefix is whole. */
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

static int use_cache(struct curve *c, size_t i, struct ident id, uint64_t size)
{
    return probe_cache(c, i, id, size) ? 0 : sized_cache_write(c->cache[i], id, size);
}

/* Of an object that the endless cache holds. */
static int note_optimal(struct curve *c, struct ident id, enum optimal_kind kind)
{
    uint64_t size;
    uint32_t number;
    if (c->optimal == NULL || !sized_cache_find(c->cache[c->sizes], id, &size, &number))
        return 0;
    return optimal_use(c->optimal, number, size, kind);
}

/* The first that is known of its size: the bytes of lookups before. */
static void settle_awaited(struct curve *c, struct ident id, uint64_t size)
{
    const uint64_t *lookups = c->awaited != NULL ? keymap_find(c->awaited, mixed(id)) : NULL;
    if (lookups == NULL)
        return;
    c->followed_bytes += *lookups * size;
    keymap_remove(c->awaited, mixed(id));
}

/* Tells of an entry how many parts it has, of those not followed too: their lookups count. */
static int note_entry(struct curve *c, struct ident id)
{
    uint32_t parts = ident_parts(id);
    if (parts == 0)
        return 0;
    if (c->entries == NULL)
        c->entries = keymap_create();
    bool ok = c->entries != NULL && keymap_get(c->entries, mixed(ident_whole(id)), parts) != NULL;
    return ok ? 0 : -ENOMEM;
}

static int use_caches(struct curve *c, struct ident id, uint64_t size)
{
    int rc = 0;
    settle_awaited(c, id, size);
    for (size_t i = 0; rc == 0 && i <= c->sizes; i++)
        rc = use_cache(c, i, id, size);
    return rc == 0 ? note_optimal(c, id, OPTIMAL_LOOKUP) : rc;
}

/* ---- the stream ---- */

static bool count_lookup(struct curve *c, struct ident id)
{
    c->lookups++;
    if (!is_followed(c, id))
        return false;
    c->followed++;
    return true;
}

int curve_lookup(struct curve *c, struct ident id, uint64_t size)
{
    int rc = note_entry(c, id);
    if (rc < 0 || !count_lookup(c, id))
        return rc;
    c->followed_bytes += size;
    return curve_simulates(c) ? use_caches(c, id, size) : use_stack(c, id, size, true);
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

static uint32_t parts_of_entry(const struct curve *c, struct ident entry)
{
    const uint64_t *parts = c->entries != NULL ? keymap_find(c->entries, mixed(entry)) : NULL;
    return parts != NULL ? (uint32_t)*parts : 1;
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
    uint32_t parts = parts_of_entry(c, entry);
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

int curve_await(struct curve *c, struct ident id)
{
    if (is_followed(c, id) && !sized_cache_find(c->cache[c->sizes], id, NULL, NULL)) {
        if (c->awaited == NULL)
            c->awaited = keymap_create();
        uint64_t *lookups = c->awaited != NULL ? keymap_get(c->awaited, mixed(id), 0) : NULL;
        if (lookups == NULL)
            return -ENOMEM;
        ++*lookups;
    }
    return curve_probe(c, id);
}

int curve_write(struct curve *c, struct ident id, uint64_t size)
{
    int rc = note_entry(c, id);
    if (rc < 0 || !is_followed(c, id))
        return rc;
    if (!curve_simulates(c))
        return use_stack(c, id, size, false);
    settle_awaited(c, id, size);
    for (size_t i = 0; rc == 0 && i <= c->sizes; i++)
        if (!sized_cache_find(c->cache[i], id, NULL, NULL))
            rc = sized_cache_write(c->cache[i], id, size);
    return rc == 0 ? note_optimal(c, id, OPTIMAL_WRITE) : rc;
}

int curve_failed(int code, struct err *e)
{
    if (code == -EOVERFLOW)
        return err_set(e, code, ERR_INPUT, "--curve",
                       "the objects looked up have more than 2^63 bytes");
    if (code == -EFBIG)
        return err_set(
            e, code, ERR_INPUT, "--curve-optimal",
            "more than 2^32 lookups or 2^30 objects; --curve-sample follows a part of them");
    return err_nomem(e, "curve");
}
