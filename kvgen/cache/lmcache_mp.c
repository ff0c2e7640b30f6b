/* LMCache 0.5.6, multi-process server: what its look-up, store and eviction loop do to L1 and L2.
 * When they are called is left to the scheduler, how long they take to the tiers. */
#include <errno.h>
#include <stdlib.h>

#include "kvgen/cache/cache.h"
#include "kvgen/cache/ghosts.h"
#include "kvgen/cache/lmcache_mp.h"
#include "lib/base/memory.h"

const char *const lmcache_mp_op_names[LMCACHE_MP_OPS] = {
    [LMCACHE_MP_READ] = "read",
    [LMCACHE_MP_L1_STORE] = "l1.store",
    [LMCACHE_MP_L1_OOM] = "l1.oom",
    [LMCACHE_MP_L1_EVICT] = "l1.evict",
    [LMCACHE_MP_L1_DELETE] = "l1.delete",
    [LMCACHE_MP_L1_TEMP] = "l1.temp",
    [LMCACHE_MP_L1_DROPTEMP] = "l1.droptemp",
    [LMCACHE_MP_L1_PROMOTE] = "l1.promote",
    [LMCACHE_MP_L2_STORE] = "l2.store",
    [LMCACHE_MP_L2_DUP] = "l2.dup",
    [LMCACHE_MP_L2_LOAD] = "l2.load",
    [LMCACHE_MP_L2_EVICT] = "l2.evict",
    [LMCACHE_MP_L2_FULL] = "l2.full",
    [LMCACHE_MP_L2_CLEAN] = "l2.clean",
};

/* ARC over L1: of the chunks that only came (list 0) and those that were used (list 1) the keys
 * that the loop dropped. What leaves otherwise is forgotten. */
struct arc {
    struct ghosts ghosts;
    uint64_t most; /* chunks that L1 has had at once: its size, as the engine does not know it */
    double target; /* of list 0 */
};

struct lmcache_mp {
    struct lmcache_mp_settings s;
    lmcache_mp_sink sink;
    void *arg;
    struct chunks *chunks;
    struct arc arc;
    uint64_t *list; /* of the call in progress */
    uint64_t list_cap;
};

struct lmcache_mp *lmcache_mp_create(const struct lmcache_mp_settings *settings,
                                     lmcache_mp_sink sink, void *arg)
{
    struct lmcache_mp *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    *c = (struct lmcache_mp){.s = *settings, .sink = sink, .arg = arg};
    c->arc.ghosts = GHOSTS_EMPTY;
    c->chunks = chunks_create(settings->arc ? CHUNK_TWO_LISTS : CHUNK_LRU, CHUNK_LRU);
    if (c->chunks)
        return c;
    free(c);
    return NULL;
}

void lmcache_mp_free(struct lmcache_mp *c)
{
    if (c) {
        chunks_free(c->chunks);
        ghosts_free(&c->arc.ghosts);
        free(c->list);
    }
    free(c);
}

const struct chunks *lmcache_mp_chunks(const struct lmcache_mp *c)
{
    return c->chunks;
}

double lmcache_mp_target(const struct lmcache_mp *c)
{
    return c->arc.target;
}

static void tell(const struct lmcache_mp *c, enum lmcache_mp_op op, uint64_t chunk)
{
    c->sink(c->arg, op, chunk);
}

static bool holds(const struct lmcache_mp *c, enum chunk_tier tier, uint64_t chunk)
{
    return chunks_held(c->chunks, tier, chunks_find(c->chunks, chunk));
}

/* ---- L1's order ---- */

/* The first list with its ghosts has at most the size, all four lists have at most twice that. */
static void arc_trim(struct lmcache_mp *c)
{
    struct ghosts *g = &c->arc.ghosts;
    const uint64_t once = chunks_listed(c->chunks, CHUNK_L1, false);
    const uint64_t again = chunks_listed(c->chunks, CHUNK_L1, true);
    while (g->count[0] && once + g->count[0] > c->arc.most)
        ghosts_forget_oldest(g, 0);
    while (ghosts_count(g) && once + again + ghosts_count(g) > 2 * c->arc.most)
        ghosts_forget_oldest(g, g->count[1] > 0);
}

/* Whether the loop had dropped the chunk: then the target moves towards the list that it left. */
static bool arc_remembers(struct lmcache_mp *c, uint64_t chunk)
{
    struct arc *a = &c->arc;
    const uint32_t ghost = ghosts_find(&a->ghosts, chunk);
    if (ghost == GHOST_NONE)
        return false;
    const unsigned list = ghosts_list(&a->ghosts, ghost);
    const double hit = (double)a->ghosts.count[list], other = (double)a->ghosts.count[1 - list];
    const double step = other > hit ? other / hit : 1;
    a->target += list == 0 ? step : -step;
    if (a->target > (double)a->most)
        a->target = (double)a->most;
    if (a->target < 0)
        a->target = 0;
    ghosts_forget(&a->ghosts, ghost);
    return true;
}

/* A chunk comes to L1. */
static void put_l1(struct lmcache_mp *c, uint32_t number)
{
    if (c->s.arc && arc_remembers(c, chunks_id(c->chunks, number)))
        chunks_put_again(c->chunks, CHUNK_L1, number);
    else
        chunks_put(c->chunks, CHUNK_L1, number);
    if (!c->s.arc)
        return;
    if (chunks_count(c->chunks, CHUNK_L1) > c->arc.most)
        c->arc.most = chunks_count(c->chunks, CHUNK_L1);
    arc_trim(c);
}

/* A batch is used: those of its chunks that the tier holds, last chunk first, so that the first is
 * the most recent. */
static void touch(struct lmcache_mp *c, enum chunk_tier tier, const uint64_t *chunk, uint64_t n)
{
    while (n-- > 0) {
        uint32_t number = chunks_find(c->chunks, chunk[n]);
        if (chunks_held(c->chunks, tier, number))
            chunks_touch(c->chunks, tier, number);
    }
}

/* How many of the chunks L1 lacks. */
static uint64_t missing(const struct lmcache_mp *c, const uint64_t *chunk, uint64_t n)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++)
        count += holds(c, CHUNK_L1, chunk[i]) ? 0 : 1;
    return count;
}

static bool fits(const struct lmcache_mp *c, uint64_t more)
{
    uint64_t used = chunks_used(c->chunks, CHUNK_L1);
    return used <= c->s.l1.chunks && more <= c->s.l1.chunks - used;
}

/* Tells of chunks that L1 lacks, in order, then puts them there, last one first: the order of a new
 * batch is that of a used one. */
static void put_missing(struct lmcache_mp *c, const uint64_t *chunk, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        tell(c, LMCACHE_MP_L1_STORE, chunk[i]);
    while (n-- > 0)
        put_l1(c, chunks_get(c->chunks, chunk[n]));
}

/* Finds the chunks that both tiers have together, from the first on. false: one of them is on its
 * way to L1. */
static bool find_prefix(const struct lmcache_mp *c, struct lmcache_mp_request *r)
{
    for (r->hit = 0; r->hit < r->chunks; r->hit++) {
        uint32_t number = chunks_find(c->chunks, r->chunk[r->hit]);
        if (chunks_held(c->chunks, CHUNK_L1, number))
            continue;
        if (!chunks_held(c->chunks, CHUNK_L2, number))
            break;
        if (chunks_begun(c->chunks, CHUNK_L1, number))
            return false;
    }
    return true;
}

/* Begins to load the hits that L1 lacks from L2, or cuts the hits off before the first of them. */
static void load_l2(struct lmcache_mp *c, struct lmcache_mp_request *r)
{
    r->hit_l2 = missing(c, r->chunk, r->hit);
    bool fit = fits(c, r->hit_l2);
    uint64_t first = r->hit;
    for (uint64_t i = r->hit; i-- > 0;)
        if (!holds(c, CHUNK_L1, r->chunk[i]))
            first = i;
    for (uint64_t i = first; i < r->hit; i++)
        if (!holds(c, CHUNK_L1, r->chunk[i]))
            tell(c, fit ? LMCACHE_MP_L2_LOAD : LMCACHE_MP_L1_OOM, r->chunk[i]);
    if (!fit) {
        r->hit = first;
        r->hit_l2 = 0;
        return;
    }
    for (uint64_t i = first; i < r->hit; i++)
        if (!holds(c, CHUNK_L1, r->chunk[i]))
            tell(c, c->s.retain ? LMCACHE_MP_L1_PROMOTE : LMCACHE_MP_L1_TEMP, r->chunk[i]);
    for (uint64_t i = r->hit; i-- > first;) {
        uint32_t number = chunks_find(c->chunks, r->chunk[i]);
        if (chunks_held(c->chunks, CHUNK_L1, number))
            continue;
        chunks_touch(c->chunks, CHUNK_L2, number);
        chunks_pin(c->chunks, CHUNK_L2, number);
        chunks_mark(c->chunks, CHUNK_L1, number, !c->s.retain);
        chunks_begin(c->chunks, CHUNK_L1, number);
    }
}

int lmcache_mp_look_up(struct lmcache_mp *c, struct lmcache_mp_request *r)
{
    int rc = chunks_reserve(c->chunks, r->chunks);
    if (rc < 0)
        return rc;
    if (!find_prefix(c, r))
        return 1;
    load_l2(c, r);
    for (uint64_t i = 0; i < r->hit; i++)
        chunks_pin(c->chunks, CHUNK_L1, chunks_find(c->chunks, r->chunk[i]));
    return 0;
}

void lmcache_mp_loaded(struct lmcache_mp *c, struct lmcache_mp_request *r)
{
    for (uint64_t i = r->hit; i-- > 0;) {
        uint32_t number = chunks_find(c->chunks, r->chunk[i]);
        if (chunks_held(c->chunks, CHUNK_L1, number))
            continue;
        put_l1(c, number);
        chunks_unpin(c->chunks, CHUNK_L2, number);
    }
    touch(c, CHUNK_L1, r->chunk, r->hit);
}

void lmcache_mp_read(struct lmcache_mp *c, struct lmcache_mp_request *r)
{
    for (uint64_t i = r->gpu; i < r->hit; i++)
        tell(c, LMCACHE_MP_READ, r->chunk[i]);
    for (uint64_t i = 0; i < r->hit; i++) {
        uint32_t number = chunks_find(c->chunks, r->chunk[i]);
        chunks_unpin(c->chunks, CHUNK_L1, number);
        /* The last of its readers drops what was loaded for reading only. */
        if (chunks_marked(c->chunks, CHUNK_L1, number) &&
            !chunks_pinned(c->chunks, CHUNK_L1, number)) {
            tell(c, LMCACHE_MP_L1_DROPTEMP, r->chunk[i]);
            chunks_drop(c->chunks, CHUNK_L1, number);
        }
    }
}

/* Room for that many chunks in c->list. */
static int take_list(struct lmcache_mp *c, uint64_t chunks)
{
    if (c->list_cap >= chunks)
        return 0;
    if (memory_resize(&c->list, chunks, sizeof(*c->list)) < 0)
        return -ENOMEM;
    c->list_cap = chunks;
    return 0;
}

/* A chunk is not held for L2 any more. */
static void let_go(struct lmcache_mp *c, uint64_t chunk)
{
    uint32_t number = chunks_find(c->chunks, chunk);
    chunks_unpin(c->chunks, CHUNK_L1, number);
    if (!c->s.skip_l1 || chunks_pinned(c->chunks, CHUNK_L1, number))
        return;
    tell(c, LMCACHE_MP_L1_DELETE, chunk);
    chunks_drop(c->chunks, CHUNK_L1, number);
}

/* Their files are there, the last one first, so that the first is the most recent. */
static void put_files(struct lmcache_mp *c, const uint64_t *chunk, uint64_t n)
{
    while (n-- > 0)
        chunks_put(c->chunks, CHUNK_L2, chunks_find(c->chunks, chunk[n]));
}

void lmcache_mp_written(struct lmcache_mp *c, const uint64_t *chunk, uint64_t chunks)
{
    put_files(c, chunk, chunks);
    for (uint64_t i = 0; i < chunks; i++)
        let_go(c, chunk[i]);
}

/* Whether a write to L2 finds room. */
static bool finds_room(struct lmcache_mp *c)
{
    const uint64_t room = c->s.l2_room;
    if (room == 0 || chunks_used(c->chunks, CHUNK_L2) < room)
        return true;
    while (c->s.l2_clean && chunks_used(c->chunks, CHUNK_L2) > kv_files_cleaned(room)) {
        const uint32_t victim = chunks_victim(c->chunks, CHUNK_L2);
        if (victim == CHUNK_NONE)
            break;
        tell(c, LMCACHE_MP_L2_CLEAN, chunks_id(c->chunks, victim));
        chunks_drop(c->chunks, CHUNK_L2, victim);
    }
    return chunks_used(c->chunks, CHUNK_L2) < room;
}

int lmcache_mp_submit(struct lmcache_mp *c, const uint64_t *chunk, uint64_t chunks)
{
    uint64_t writes = 0;
    if (c->s.l2.chunks == 0)
        return 0;
    int rc = take_list(c, chunks);
    if (rc < 0)
        return rc;
    for (uint64_t i = 0; i < chunks; i++) {
        if (holds(c, CHUNK_L2, chunk[i]))
            tell(c, LMCACHE_MP_L2_DUP, chunk[i]);
        else
            c->list[writes++] = chunk[i];
    }
    uint64_t fit = 0;
    for (uint64_t i = 0; i < writes; i++) {
        const uint32_t number = chunks_find(c->chunks, c->list[i]);
        if (!finds_room(c)) {
            tell(c, LMCACHE_MP_L2_FULL, c->list[i]);
            chunks_unpin(c->chunks, CHUNK_L1, number);
            continue;
        }
        tell(c, LMCACHE_MP_L2_STORE, c->list[i]);
        chunks_begin(c->chunks, CHUNK_L2, number);
        c->list[fit++] = c->list[i];
    }
    if (!c->s.writes_held)
        put_files(c, c->list, fit);
    /* All of the call at once, in its order, those whose file was there, too. */
    for (uint64_t i = 0; i < chunks; i++)
        if (holds(c, CHUNK_L2, chunk[i]))
            let_go(c, chunk[i]);
    return 0;
}

int lmcache_mp_store(struct lmcache_mp *c, const uint64_t *chunk, uint64_t chunks)
{
    int rc = chunks_reserve(c->chunks, chunks);
    if (rc == 0)
        rc = take_list(c, chunks);
    if (rc < 0)
        return rc;
    /* Chunks that L1 has, or is about to have, are no part of the call. */
    uint64_t news = 0;
    for (uint64_t i = 0; i < chunks; i++)
        if (!holds(c, CHUNK_L1, chunk[i]) &&
            !chunks_begun(c->chunks, CHUNK_L1, chunks_find(c->chunks, chunk[i])))
            c->list[news++] = chunk[i];
    if (!fits(c, news)) {
        for (uint64_t i = 0; i < news; i++)
            tell(c, LMCACHE_MP_L1_OOM, c->list[i]);
        return 0;
    }
    put_missing(c, c->list, news);
    for (uint64_t i = 0; c->s.l2.chunks > 0 && i < news; i++)
        chunks_pin(c->chunks, CHUNK_L1, chunks_find(c->chunks, c->list[i]));
    return 0;
}

int lmcache_mp_end(struct lmcache_mp *c, const struct lmcache_mp_request *r)
{
    int rc = chunks_reserve(c->chunks, r->chunks);
    if (rc < 0)
        return rc;
    touch(c, CHUNK_L1, r->chunk, r->chunks);
    return 0;
}

/* The entry of a list of L1 from that one on which may leave. */
static uint32_t next_in_list(const struct lmcache_mp *c, uint32_t number, bool touched)
{
    while (number != CHUNK_NONE && chunks_is_touched(c->chunks, CHUNK_L1, number) == touched &&
           chunks_pinned(c->chunks, CHUNK_L1, number))
        number = chunks_next(c->chunks, CHUNK_L1, number);
    return number != CHUNK_NONE && chunks_is_touched(c->chunks, CHUNK_L1, number) == touched
               ? number
               : CHUNK_NONE;
}

static void evict_by_arc(struct lmcache_mp *c, uint64_t go)
{
    uint64_t size = chunks_listed(c->chunks, CHUNK_L1, false);
    uint32_t at[2];
    for (int l = 0; l < 2; l++)
        at[l] = next_in_list(c, chunks_first(c->chunks, CHUNK_L1, l), l);
    for (; go > 0 && (at[0] != CHUNK_NONE || at[1] != CHUNK_NONE); go--) {
        const bool first =
            at[0] != CHUNK_NONE && (size >= (uint64_t)c->arc.target || at[1] == CHUNK_NONE);
        const bool list = !first;
        const uint32_t victim = at[list];
        const uint64_t chunk = chunks_id(c->chunks, victim);
        size -= first;
        at[list] = next_in_list(c, chunks_next(c->chunks, CHUNK_L1, victim), list);
        tell(c, LMCACHE_MP_L1_EVICT, chunk);
        chunks_drop(c->chunks, CHUNK_L1, victim);
        ghosts_remember(&c->arc.ghosts, chunk, list);
    }
    arc_trim(c);
}

static void evict_by_order(struct lmcache_mp *c, enum chunk_tier tier, uint64_t go,
                           enum lmcache_mp_op op)
{
    for (; go > 0; go--) {
        uint32_t victim = chunks_victim(c->chunks, tier);
        if (victim == CHUNK_NONE)
            return;
        tell(c, op, chunks_id(c->chunks, victim));
        chunks_drop(c->chunks, tier, victim);
    }
}

/* How many keys of a tier go now. */
static uint64_t surplus(const struct lmcache_mp *c, enum chunk_tier tier,
                        const struct lmcache_mp_tier *t)
{
    uint64_t count = chunks_count(c->chunks, tier);
    /* A chunk on its way counts as used, but is no key yet. */
    const double used = (double)chunks_used(c->chunks, tier);
    if (t->chunks == 0 || t->chunks == UINT64_MAX || count == 0 ||
        used / (double)t->chunks < t->watermark)
        return 0;
    const uint64_t go = (uint64_t)((double)count * t->ratio);
    return go > 0 ? go : 1;
}

void lmcache_mp_evict(struct lmcache_mp *c)
{
    const uint64_t go = surplus(c, CHUNK_L1, &c->s.l1);
    if (c->s.arc)
        evict_by_arc(c, go);
    else
        evict_by_order(c, CHUNK_L1, go, LMCACHE_MP_L1_EVICT);
    evict_by_order(c, CHUNK_L2, surplus(c, CHUNK_L2, &c->s.l2), LMCACHE_MP_L2_EVICT);
}
