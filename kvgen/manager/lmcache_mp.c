/* lmcache_mp.c - LMCache 0.5.6, multi-process server: what its connector asks of it for a request,
 * and when. */
#include "kvgen/manager/lmcache_mp.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/manager/chunk_keys.h"
#include "kvgen/manager/jobs.h"

/* A request. */
struct chunked {
    struct kv_request *request;
    struct chunk_keys keys;
    struct lmcache_mp_request cached; /* as the server knows it */
    uint64_t saved;                   /* chunks of the prompt */
    bool looked_up;                   /* what was found is locked */
    bool fetches;                     /* and is on its way to memory */
};

struct kv_below {
    struct lmcache_mp_opts o;
    struct kv_listener listener;
    struct lmcache_mp *cache;
    struct jobs jobs;
    /* Keys of one call of the cache, by what happened to them. */
    struct job_keys fetched, stored, written;
    const struct kv_request *now; /* whose operation it is */
    bool failed;
};

static void keep(struct kv_below *b, struct job_keys *k, uint64_t key)
{
    b->failed |= job_keys_add(k, key) < 0;
}

/* Tells the cache's events in the words of the seam. */
static void told(void *arg, enum lmcache_mp_op op, uint64_t chunk)
{
    static const struct {
        enum kv_event_kind kind;
        enum trace_tier tier;
    } words[LMCACHE_MP_OPS] = {
        [LMCACHE_MP_READ] = {KV_READ, TRACE_CPU},
        [LMCACHE_MP_L1_STORE] = {KV_STORED, TRACE_CPU},
        [LMCACHE_MP_L1_OOM] = {KV_REFUSED, TRACE_CPU},
        [LMCACHE_MP_L1_EVICT] = {KV_DROPPED, TRACE_CPU},
        [LMCACHE_MP_L1_DELETE] = {KV_DEMOTED, TRACE_CPU},
        [LMCACHE_MP_L1_TEMP] = {KV_PROMOTED, TRACE_CPU},
        [LMCACHE_MP_L1_DROPTEMP] = {KV_DROPPED, TRACE_CPU},
        [LMCACHE_MP_L1_PROMOTE] = {KV_PROMOTED, TRACE_CPU},
        [LMCACHE_MP_L2_STORE] = {KV_STORED, TRACE_STORAGE},
        [LMCACHE_MP_L2_DUP] = {KV_KNOWN, TRACE_STORAGE},
        [LMCACHE_MP_L2_LOAD] = {KV_READ, TRACE_STORAGE},
        [LMCACHE_MP_L2_EVICT] = {KV_DROPPED, TRACE_STORAGE},
        [LMCACHE_MP_L2_FULL] = {KV_REFUSED, TRACE_STORAGE},
        [LMCACHE_MP_L2_CLEAN] = {KV_DROPPED, TRACE_STORAGE},
    };
    struct kv_below *b = arg;
    const struct kv_event e = {
        .kind = words[op].kind, .tier = words[op].tier, .key = chunk, .request = b->now};
    if (op == LMCACHE_MP_L2_LOAD)
        keep(b, &b->fetched, chunk);
    else if (op == LMCACHE_MP_L1_STORE)
        keep(b, &b->stored, chunk);
    else if (op == LMCACHE_MP_L2_STORE)
        keep(b, &b->written, chunk);
    b->listener.event(b->listener.ctx, &e);
}

static void below_free(struct kv_below *b)
{
    if (!b)
        return;
    lmcache_mp_free(b->cache);
    jobs_release(&b->jobs);
    free(b->fetched.key);
    free(b->stored.key);
    free(b->written.key);
    free(b);
}

struct kv_below *lmcache_mp_below_create(const struct lmcache_mp_opts *o,
                                         const struct kv_listener *listener)
{
    struct kv_below *b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->o = *o;
    b->listener = *listener;
    b->cache = lmcache_mp_create(&o->settings, told, b);
    if (b->cache)
        return b;
    below_free(b);
    return NULL;
}

const struct chunks *lmcache_mp_below_chunks(const struct kv_below *b)
{
    return lmcache_mp_chunks(b->cache);
}

const struct lmcache_mp_request *lmcache_mp_below_request(const void *state)
{
    const struct chunked *s = state;
    return &s->cached;
}

static int arrive(struct kv_below *b, struct kv_request *r, void **state)
{
    struct chunked *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->request = r;
    if (chunk_keys_make(&s->keys, &r->chain, r->prompt_tokens, b->o.chunk_tokens, false)) {
        free(s);
        return -ENOMEM;
    }
    *state = s;
    return 0;
}

/* The chunks that the last look-up found are read, from chunk `gpu` on, or only let go. */
static void read_found(struct kv_below *b, struct chunked *s, uint64_t gpu)
{
    if (!s->looked_up)
        return;
    b->now = s->request;
    s->cached.gpu = gpu;
    lmcache_mp_read(b->cache, &s->cached);
    s->looked_up = false;
}

static void depart(struct kv_below *b, void *state)
{
    struct chunked *s = state;
    if (!s->fetches)
        read_found(b, s, s->cached.hit);
    chunk_keys_free(&s->keys);
    free(s);
}

/* ---- look-up ---- */

static struct job *begin(struct kv_below *b, struct kv_transfer t, const struct job_keys *k)
{
    t.tokens = k->count * b->o.chunk_tokens;
    struct job *job = jobs_begin(&b->jobs, &b->listener, &t, k, NULL);
    b->failed |= !job;
    return job;
}

/* Finds and locks what the tiers have, and begins to fetch it. */
static enum kv_look find(struct kv_below *b, struct chunked *s)
{
    const struct kv_request *r = s->request;
    s->cached = (struct lmcache_mp_request){.chunk = s->keys.full,
                                            .chunks = r->known_tokens / b->o.chunk_tokens};
    b->now = r;
    b->fetched.count = 0;
    const int rc = lmcache_mp_look_up(b->cache, &s->cached);
    b->failed |= rc < 0;
    if (rc)
        return KV_ASK_AGAIN;
    s->looked_up = true;
    if (!s->cached.hit_l2) {
        lmcache_mp_loaded(b->cache, &s->cached);
        return KV_FOUND;
    }
    struct job *job =
        begin(b,
              (struct kv_transfer){
                  .kind = KV_PROMOTE, .from = TRACE_STORAGE, .to = TRACE_CPU, .request = r},
              &b->fetched);
    if (job)
        job->owner = s;
    s->fetches = true;
    return KV_OWN_TRANSFERS;
}

static enum kv_look look_up(struct kv_below *b, void *state, uint64_t from, struct kv_found *out)
{
    struct chunked *s = state;
    const enum kv_look answer = s->fetches     ? KV_OWN_TRANSFERS
                                : s->looked_up ? KV_FOUND
                                               : find(b, s);
    if (answer != KV_FOUND)
        return answer;
    uint64_t end = s->cached.hit * b->o.chunk_tokens;
    /* After a hit on all of it the last token is computed again. */
    end -= end == s->request->known_tokens;
    if (end <= from)
        return KV_FOUND;
    const uint64_t fetched = s->cached.hit_l2 * b->o.chunk_tokens;
    out->tokens[TRACE_STORAGE] = fetched < end - from ? fetched : end - from;
    out->tokens[TRACE_CPU] = end - from - out->tokens[TRACE_STORAGE];
    out->load_first = true;
    return KV_FOUND;
}

static void admitted(struct kv_below *b, void *state, uint64_t from, uint64_t to)
{
    struct chunked *s = state;
    s->saved = s->cached.hit;
    if (from == to) {
        read_found(b, s, s->cached.hit);
        return;
    }
    s->cached.gpu = from / b->o.chunk_tokens;
    b->fetched.count = 0;
    for (uint64_t i = s->cached.gpu; i < s->cached.hit; i++)
        keep(b, &b->fetched, s->cached.chunk[i]);
    struct job *job =
        begin(b,
              (struct kv_transfer){
                  .kind = KV_LOAD, .from = TRACE_CPU, .to = TRACE_GPU, .request = s->request},
              &b->fetched);
    if (job)
        job->owner = s;
}

/* ---- stores ---- */

static void offer(struct kv_below *b, void *state, uint64_t end, const struct kv_held *held)
{
    struct chunked *s = state;
    const uint64_t prompt = s->request->prompt_tokens;
    const uint64_t chunks = (end < prompt ? end : prompt) / b->o.chunk_tokens;
    (void)held;
    if (chunks <= s->saved)
        return;
    b->now = s->request;
    b->stored.count = 0;
    b->failed |= lmcache_mp_store(b->cache, s->keys.full + s->saved, chunks - s->saved) < 0;
    s->saved = chunks;
    if (b->stored.count)
        begin(b,
              (struct kv_transfer){.kind = KV_STORE,
                                   .from = TRACE_GPU,
                                   .to = TRACE_CPU,
                                   .request = s->request,
                                   .in_step = true},
              &b->stored);
}

static uint64_t quiet_until(const struct kv_below *b, const void *state)
{
    const struct chunked *s = state;
    return s->request->prompt_tokens / b->o.chunk_tokens <= s->saved
               ? KV_NO_LIMIT
               : (s->saved + 1) * b->o.chunk_tokens - 1;
}

static int step_built(struct kv_below *b)
{
    return b->failed ? -ENOMEM : 0;
}

static void preempted(struct kv_below *b, void *state)
{
    (void)b, (void)state; /* what it stored is done within its step */
}

/* Its session ends. */
static void finished(struct kv_below *b, void *state, const struct kv_held *held)
{
    struct chunked *s = state;
    (void)held;
    const struct lmcache_mp_request all = {.chunk = s->keys.full, .chunks = s->keys.prompt_full};
    b->now = s->request;
    if (!s->fetches)
        read_found(b, s, s->cached.hit);
    b->failed |= lmcache_mp_end(b->cache, &all) < 0;
}

static void taken(struct kv_below *b, uint32_t block)
{
    (void)b, (void)block;
}

static void transfer_done(struct kv_below *b, uint64_t id)
{
    struct job j;
    struct chunked *s;
    jobs_end(&b->jobs, id, &j);
    s = j.owner;
    switch (j.kind) {
    case KV_PROMOTE:
        lmcache_mp_loaded(b->cache, &s->cached);
        s->fetches = false;
        break;
    case KV_LOAD:
        read_found(b, s, s->cached.gpu);
        break;
    case KV_STORE:
        b->now = NULL;
        b->written.count = 0;
        b->failed |= lmcache_mp_submit(b->cache, j.keys, j.count) < 0;
        if (b->written.count)
            begin(b, (struct kv_transfer){.kind = KV_WRITE, .from = TRACE_CPU, .to = TRACE_STORAGE},
                  &b->written);
        break;
    case KV_WRITE:
        b->now = NULL;
        if (b->o.settings.writes_held)
            lmcache_mp_written(b->cache, j.keys, j.count);
        break;
    }
    free(j.keys);
}

static void second(struct kv_below *b)
{
    b->now = NULL;
    lmcache_mp_evict(b->cache);
}

static bool busy(const struct kv_below *b)
{
    return b->jobs.open > 0;
}

const struct kv_below_ops lmcache_mp_below_ops = {
    .name = "lmcache-mp",
    .version = "0.5.6",
    .free = below_free,
    .arrive = arrive,
    .look_up = look_up,
    .admitted = admitted,
    .offer = offer,
    .quiet_until = quiet_until,
    .step_built = step_built,
    .preempted = preempted,
    .finished = finished,
    .taken = taken,
    .transfer_done = transfer_done,
    .second = second,
    .depart = depart,
    .busy = busy,
};
