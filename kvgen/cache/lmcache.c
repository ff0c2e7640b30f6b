/* LMCache 0.5.6, in-process engine: what its look-up, load and store do to L1 and L2. When they are
 * called is left to the scheduler, how long they take to the tiers. */
#include <errno.h>
#include <stdlib.h>

#include "kvgen/cache/lmcache.h"

const char *const lmcache_op_names[LMCACHE_OPS] = {
    [LMCACHE_L1_LOAD] = "l1.load",         [LMCACHE_L1_PROMOTE] = "l1.promote",
    [LMCACHE_L1_STORE] = "l1.store",       [LMCACHE_L1_DUP] = "l1.dup",
    [LMCACHE_L1_EVICT] = "l1.evict",       [LMCACHE_L1_ALLOCFAIL] = "l1.allocfail",
    [LMCACHE_L1_HANG] = "l1.hang",         [LMCACHE_L2_LOAD] = "l2.load",
    [LMCACHE_L2_STORE] = "l2.store",       [LMCACHE_L2_DUP] = "l2.dup",
    [LMCACHE_L2_INFLIGHT] = "l2.inflight", [LMCACHE_L2_REJECT] = "l2.reject",
    [LMCACHE_L2_EVICT] = "l2.evict",
};

struct lmcache {
    struct lmcache_settings s;
    lmcache_sink sink;
    void *arg;
    struct chunks *chunks;
    uint64_t staged; /* buffers of L1 that are taken, but by no chunk of its table */
};

struct lmcache *lmcache_create(const struct lmcache_settings *settings, lmcache_sink sink,
                               void *arg)
{
    struct lmcache *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    *c = (struct lmcache){.s = *settings, .sink = sink, .arg = arg};
    c->chunks = chunks_create(settings->order, settings->order);
    if (c->chunks)
        return c;
    free(c);
    return NULL;
}

void lmcache_free(struct lmcache *c)
{
    if (c)
        chunks_free(c->chunks);
    free(c);
}

const struct chunks *lmcache_chunks(const struct lmcache *c)
{
    return c->chunks;
}

static void tell(const struct lmcache *c, enum lmcache_op op, uint64_t chunk)
{
    c->sink(c->arg, op, chunk);
}

static bool holds(const struct lmcache *c, enum chunk_tier tier, uint64_t chunk)
{
    return chunks_held(c->chunks, tier, chunks_find(c->chunks, chunk));
}

/* The tier of hit i. */
static enum chunk_tier hit_tier(const struct lmcache_request *r, uint64_t i)
{
    return i < r->hit_l1 ? CHUNK_L1 : CHUNK_L2;
}

static uint64_t hits(const struct lmcache_request *r)
{
    return r->hit_l1 + r->hit_l2;
}

static void set_hit_tokens(const struct lmcache *c, struct lmcache_request *r)
{
    uint64_t tokens = hits(r) * c->s.chunk_tokens;
    r->hit_tokens = tokens < r->tokens ? tokens : r->tokens;
}

int lmcache_look_up(struct lmcache *c, struct lmcache_request *r)
{
    int rc = chunks_reserve(c->chunks, r->chunks);
    if (rc < 0)
        return rc;
    r->hit_l1 = r->hit_l2 = r->staged = 0;
    r->waits = false;
    while (r->hit_l1 < r->chunks && holds(c, CHUNK_L1, r->chunk[r->hit_l1]))
        r->hit_l1++;
    /* From the first miss on L1 is not asked again. */
    while (hits(r) < r->chunks && holds(c, CHUNK_L2, r->chunk[hits(r)]))
        r->hit_l2++;
    set_hit_tokens(c, r);
    for (uint64_t i = 0; i < hits(r); i++)
        chunks_pin(c->chunks, hit_tier(r, i), chunks_find(c->chunks, r->chunk[i]));
    /* Backwards, so that the first chunk is the most recent. */
    for (uint64_t i = hits(r); !c->s.async_loading && i-- > 0;)
        chunks_touch(c->chunks, hit_tier(r, i), chunks_find(c->chunks, r->chunk[i]));
    return 0;
}

void lmcache_cancel(struct lmcache *c, struct lmcache_request *r)
{
    c->staged -= r->staged;
    r->staged = 0;
    for (uint64_t i = 0; i < hits(r); i++)
        chunks_unpin(c->chunks, hit_tier(r, i), chunks_find(c->chunks, r->chunk[i]));
    r->hit_l1 = r->hit_l2 = r->hit_tokens = 0;
}

/* Takes a buffer of L1, evicting for it. false: nothing can be evicted. */
static bool take_buffer(struct lmcache *c)
{
    while (chunks_count(c->chunks, CHUNK_L1) + c->staged >= c->s.l1_chunks) {
        uint32_t victim = chunks_victim(c->chunks, CHUNK_L1);
        if (victim == CHUNK_NONE)
            return false;
        tell(c, LMCACHE_L1_EVICT, chunks_id(c->chunks, victim));
        chunks_drop(c->chunks, CHUNK_L1, victim);
    }
    c->staged++;
    return true;
}

/* A buffer that was taken becomes the chunk's in L1, or is given back if there is one. */
static void keep_buffer(struct lmcache *c, uint64_t chunk, enum lmcache_op op)
{
    uint32_t number = chunks_get(c->chunks, chunk);
    bool dup = chunks_held(c->chunks, CHUNK_L1, number);
    c->staged--;
    if (!dup)
        chunks_put(c->chunks, CHUNK_L1, number);
    tell(c, dup ? LMCACHE_L1_DUP : op, chunk);
}

/* Lets go of the look-up's pins from hit i on. Asynchronous loading never lets go of a file that it
 * read. */
static void unpin(struct lmcache *c, const struct lmcache_request *r, uint64_t i)
{
    for (; i < hits(r); i++) {
        enum chunk_tier tier = hit_tier(r, i);
        uint32_t number = chunks_find(c->chunks, r->chunk[i]);
        if (c->s.async_loading && !c->s.fixed && tier == CHUNK_L2)
            chunks_keep(c->chunks, tier, number);
        else
            chunks_unpin(c->chunks, tier, number);
    }
}

/* Reads hits on L2 from hit `first` on into the buffers that were taken for them. */
static void read_l2(struct lmcache *c, struct lmcache_request *r, uint64_t first)
{
    for (uint64_t i = first; i < hits(r); i++) {
        tell(c, LMCACHE_L2_LOAD, r->chunk[i]);
        chunks_touch(c->chunks, CHUNK_L2, chunks_find(c->chunks, r->chunk[i]));
    }
    bool promoted = c->s.local_cpu && !c->s.async_loading;
    for (uint64_t i = first; promoted && i < hits(r); i++)
        keep_buffer(c, r->chunk[i], LMCACHE_L1_PROMOTE);
    if (promoted)
        r->staged = 0;
}

/* The first hit on L2 that the GPU lacks. */
static uint64_t first_on_l2(const struct lmcache *c, const struct lmcache_request *r)
{
    uint64_t first = r->gpu_tokens / c->s.chunk_tokens;
    return first > r->hit_l1 ? first : r->hit_l1;
}

/* Takes a buffer for each hit on L2. false: there is none for the rest. */
static bool stage(struct lmcache *c, struct lmcache_request *r)
{
    while (first_on_l2(c, r) + r->staged < hits(r)) {
        if (!take_buffer(c))
            return false;
        r->staged++;
    }
    return true;
}

/* Leaves the hits on L2 that no buffer was found for. */
static void leave_l2(struct lmcache *c, struct lmcache_request *r)
{
    uint64_t first = first_on_l2(c, r);
    c->staged -= r->staged;
    r->staged = 0;
    if (first >= hits(r))
        return;
    unpin(c, r, first);
    r->hit_l2 = first - r->hit_l1;
    set_hit_tokens(c, r);
}

void lmcache_stage(struct lmcache *c, struct lmcache_request *r)
{
    c->staged -= r->staged;
    r->staged = 0;
    if (!stage(c, r))
        leave_l2(c, r);
}

void lmcache_loaded(struct lmcache *c, struct lmcache_request *r)
{
    c->staged -= r->staged;
    r->staged = 0;
    unpin(c, r, 0);
}

int64_t lmcache_load(struct lmcache *c, struct lmcache_request *r)
{
    int rc = chunks_reserve(c->chunks, r->chunks);
    if (rc < 0)
        return rc;
    /* After a hit on the whole prompt the last token is computed again. */
    uint64_t kept = r->gpu_tokens + (r->hit_tokens == r->tokens ? 1 : 0);
    uint64_t needed = r->hit_tokens > kept ? r->hit_tokens - kept : 0;
    if (needed == 0 || needed < c->s.min_retrieve_tokens)
        return 0;
    for (uint64_t i = r->gpu_tokens / c->s.chunk_tokens; !r->waits && i < r->hit_l1; i++)
        tell(c, LMCACHE_L1_LOAD, r->chunk[i]);
    /* All buffers first, then the reads. */
    if (!stage(c, r)) {
        if (!r->waits)
            tell(c, LMCACHE_L1_HANG, r->chunk[first_on_l2(c, r) + r->staged]);
        r->waits = true;
        if (!c->s.fixed)
            return -EAGAIN;
        leave_l2(c, r);
    }
    read_l2(c, r, first_on_l2(c, r));
    return (int64_t)(r->hit_tokens > r->gpu_tokens ? r->hit_tokens - r->gpu_tokens : 0);
}

/* A buffer of L1 is let go. */
static void let_go(struct lmcache *c, uint32_t number)
{
    if (c->s.local_cpu)
        chunks_unpin(c->chunks, CHUNK_L1, number);
    else
        c->staged--;
}

/* A write to L2 ends: its chunk can be found there and evicted, and its buffer let go. */
static void end_write(struct lmcache *c, uint32_t number)
{
    chunks_put(c->chunks, CHUNK_L2, number);
    let_go(c, number);
}

void lmcache_written(struct lmcache *c, const uint64_t *chunk, uint64_t chunks)
{
    for (uint64_t i = 0; i < chunks; i++)
        end_write(c, chunks_find(c->chunks, chunk[i]));
}

/* One more chunk fits on L2, after evictions. false: none can be evicted. */
static bool make_room(struct lmcache *c)
{
    while (chunks_used(c->chunks, CHUNK_L2) >= c->s.l2_chunks) {
        uint32_t victim = chunks_victim(c->chunks, CHUNK_L2);
        if (victim == CHUNK_NONE)
            return false;
        tell(c, LMCACHE_L2_EVICT, chunks_id(c->chunks, victim));
        chunks_drop(c->chunks, CHUNK_L2, victim);
    }
    return true;
}

/* A buffer of L1 that holds the chunk is given to L2. */
static void submit(struct lmcache *c, uint64_t chunk)
{
    uint32_t number = chunks_find(c->chunks, chunk);
    if (chunks_held(c->chunks, CHUNK_L2, number)) {
        chunks_touch(c->chunks, CHUNK_L2, number);
        tell(c, LMCACHE_L2_DUP, chunk);
        let_go(c, number);
    } else if (chunks_begun(c->chunks, CHUNK_L2, number)) {
        tell(c, LMCACHE_L2_INFLIGHT, chunk);
        let_go(c, number);
    } else if (make_room(c)) {
        /* Its buffer is taken until the write ends. */
        number = chunks_get(c->chunks, chunk);
        chunks_begin(c->chunks, CHUNK_L2, number);
        tell(c, LMCACHE_L2_STORE, chunk);
        if (!c->s.writes_held)
            end_write(c, number);
    } else {
        tell(c, LMCACHE_L2_REJECT, chunk);
        let_go(c, number);
    }
}

int64_t lmcache_store(struct lmcache *c, const uint64_t *chunk, uint64_t chunks)
{
    int rc = chunks_reserve(c->chunks, chunks);
    if (rc < 0)
        return rc;
    /* All buffers first, for chunks that turn out to be there already, too. */
    uint64_t got = 0;
    while (got < chunks && take_buffer(c))
        got++;
    if (got < chunks)
        tell(c, LMCACHE_L1_ALLOCFAIL, chunk[got]);
    for (uint64_t i = 0; c->s.local_cpu && i < got; i++) {
        keep_buffer(c, chunk[i], LMCACHE_L1_STORE);
        if (c->s.l2_chunks > 0)
            chunks_pin(c->chunks, CHUNK_L1, chunks_find(c->chunks, chunk[i]));
    }
    if (!c->s.local_cpu && c->s.l2_chunks == 0)
        c->staged -= got;
    return (int64_t)got;
}

int lmcache_submit(struct lmcache *c, const uint64_t *chunk, uint64_t chunks)
{
    if (c->s.l2_chunks == 0)
        return 0;
    int rc = chunks_reserve(c->chunks, chunks);
    for (uint64_t i = 0; rc == 0 && i < chunks; i++)
        submit(c, chunk[i]);
    return rc;
}

uint64_t lmcache_savable(const struct lmcache_settings *s, uint64_t prompt, uint64_t computed)
{
    uint64_t end = s->save_decode_cache || computed < prompt ? computed : prompt;
    return end / s->chunk_tokens;
}
