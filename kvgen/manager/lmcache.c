/* lmcache.c - LMCache 0.5.6: its connector (vllm_v1_adapter.py in its rules). It cuts a request
 * into chunks, and says when they are looked up, loaded and stored. */
#include "kvgen/manager/lmcache.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/manager/chunk_keys.h"
#include "kvgen/manager/jobs.h"
#include "lib/base/memory.h"

/* A request. */
struct chunked {
    struct kv_request *request;
    struct chunk_keys keys;
    struct lmcache_request cached; /* as the cache knows it */
    uint64_t saved;                /* chunks of the list that is being saved */
    bool looked_up;                /* what was found is pinned */
    bool in_answer;                /* the prompt is saved: `saved` counts keys.full */
};

/* Work to be done once the load before it has found memory; with async_loading only loads. */
struct task {
    struct chunked *request;
    bool load;    /* else a store */
    uint64_t end; /* of a store: tokens that are on the GPU after this step */
};

struct kv_below {
    struct lmcache_settings s;
    struct kv_listener listener;
    struct lmcache *cache;
    struct jobs jobs;
    struct task *task;
    size_t tasks, tasks_cap;
    struct chunked *loading; /* with async_loading: whose load is under way; NULL: nobody's */
    /* Keys of one call of the cache, by what happened to them. */
    struct job_keys read_l1, read_l2, stored, written, got;
    const struct kv_request *now; /* whose operation it is */
    bool blocked, stuck, failed;
};

static void keep(struct kv_below *b, struct job_keys *k, uint64_t key)
{
    b->failed |= job_keys_add(k, key) < 0;
}

/* Tells the cache's events in the words of the seam. */
static void told(void *arg, enum lmcache_op op, uint64_t chunk)
{
    static const struct {
        enum kv_event_kind kind;
        enum trace_tier tier;
    } words[LMCACHE_OPS] = {
        [LMCACHE_L1_LOAD] = {KV_READ, TRACE_CPU},
        [LMCACHE_L1_PROMOTE] = {KV_PROMOTED, TRACE_CPU},
        [LMCACHE_L1_STORE] = {KV_STORED, TRACE_CPU},
        [LMCACHE_L1_DUP] = {KV_KNOWN, TRACE_CPU},
        [LMCACHE_L1_EVICT] = {KV_DROPPED, TRACE_CPU},
        [LMCACHE_L1_ALLOCFAIL] = {KV_REFUSED, TRACE_CPU},
        [LMCACHE_L1_HANG] = {KV_WAITS, TRACE_CPU},
        [LMCACHE_L2_LOAD] = {KV_READ, TRACE_STORAGE},
        [LMCACHE_L2_STORE] = {KV_STORED, TRACE_STORAGE},
        [LMCACHE_L2_DUP] = {KV_TOUCHED, TRACE_STORAGE},
        [LMCACHE_L2_INFLIGHT] = {KV_KNOWN, TRACE_STORAGE},
        [LMCACHE_L2_REJECT] = {KV_REFUSED, TRACE_STORAGE},
        [LMCACHE_L2_EVICT] = {KV_DROPPED, TRACE_STORAGE},
    };
    struct kv_below *b = arg;
    const struct kv_event e = {
        .kind = words[op].kind, .tier = words[op].tier, .key = chunk, .request = b->now};
    if (op == LMCACHE_L1_LOAD)
        keep(b, &b->read_l1, chunk);
    else if (op == LMCACHE_L2_LOAD)
        keep(b, &b->read_l2, chunk);
    else if (op == LMCACHE_L1_STORE)
        keep(b, &b->stored, chunk);
    else if (op == LMCACHE_L2_STORE)
        keep(b, &b->written, chunk);
    b->listener.event(b->listener.ctx, &e);
}

static void below_free(struct kv_below *b)
{
    if (!b)
        return;
    lmcache_free(b->cache);
    jobs_release(&b->jobs);
    free(b->task);
    free(b->read_l1.key);
    free(b->read_l2.key);
    free(b->stored.key);
    free(b->written.key);
    free(b->got.key);
    free(b);
}

struct kv_below *lmcache_below_create(const struct lmcache_settings *settings,
                                      const struct kv_listener *listener)
{
    struct kv_below *b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->s = *settings;
    b->listener = *listener;
    b->cache = lmcache_create(&b->s, told, b);
    if (b->cache)
        return b;
    below_free(b);
    return NULL;
}

const struct chunks *lmcache_below_chunks(const struct kv_below *b)
{
    return lmcache_chunks(b->cache);
}

const struct lmcache_request *lmcache_below_request(const void *state)
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
    if (chunk_keys_make(&s->keys, &r->chain, r->prompt_tokens, b->s.chunk_tokens,
                        b->s.save_unfull_chunk)) {
        free(s);
        return -ENOMEM;
    }
    *state = s;
    return 0;
}

static void let_go(struct kv_below *b, struct chunked *s)
{
    if (s->looked_up)
        lmcache_cancel(b->cache, &s->cached);
    s->looked_up = false;
}

static void depart(struct kv_below *b, void *state)
{
    struct chunked *s = state;
    let_go(b, s);
    chunk_keys_free(&s->keys);
    free(s);
}

/* ---- look-up ---- */

static uint64_t less(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Finds and pins what the tiers have of the known tokens. false: no memory. */
static bool pin(struct kv_below *b, struct chunked *s)
{
    const struct kv_request *r = s->request;
    const bool answer = r->known_tokens > r->prompt_tokens; /* it was preempted */
    s->cached = (struct lmcache_request){.chunk = answer ? s->keys.full : s->keys.prompt,
                                         .chunks = answer ? r->known_tokens / b->s.chunk_tokens
                                                          : s->keys.prompt_count,
                                         .tokens = r->known_tokens};
    b->now = r;
    s->looked_up = lmcache_look_up(b->cache, &s->cached) == 0;
    b->failed |= !s->looked_up;
    return s->looked_up;
}

static enum kv_look look_up(struct kv_below *b, void *state, uint64_t from, struct kv_found *out)
{
    struct chunked *s = state;
    struct lmcache_request *q = &s->cached;
    if (!s->looked_up && !pin(b, s))
        return KV_FOUND;
    q->gpu_tokens = from;
    if (b->s.fixed)
        lmcache_stage(b->cache, q);
    /* After a hit on all of it the last token is computed again. */
    const uint64_t end = q->hit_tokens - (q->hit_tokens == s->request->known_tokens);
    if (q->hit_tokens <= from || end <= from || end - from < b->s.min_retrieve_tokens)
        return KV_FOUND;
    const uint64_t in_l1 = less(q->hit_l1 * b->s.chunk_tokens, end);
    out->tokens[TRACE_CPU] = in_l1 > from ? in_l1 - from : 0;
    out->tokens[TRACE_STORAGE] = end - from - out->tokens[TRACE_CPU];
    out->load_first = b->s.async_loading;
    out->load_in_step = !b->s.async_loading;
    return KV_FOUND;
}

/* ---- loads and stores ---- */

/* A transfer of those keys begins. kept: as jobs_begin takes it. */
static void begin(struct kv_below *b, struct kv_transfer t, const struct job_keys *k,
                  const struct job_keys *kept)
{
    if (!k->count)
        return;
    t.tokens = k->count * b->s.chunk_tokens;
    if (!jobs_begin(&b->jobs, &b->listener, &t, k, kept))
        b->failed = true;
}

/* The chunks just read are on their way to the GPU. */
static void begin_load(struct kv_below *b, struct kv_request *r)
{
    const bool in_step = !b->s.async_loading;
    struct kv_transfer t = {.kind = KV_LOAD, .to = TRACE_GPU, .request = r, .in_step = in_step};
    if (b->s.local_cpu && in_step) {
        const struct kv_transfer up = {.kind = KV_PROMOTE,
                                       .from = TRACE_STORAGE,
                                       .to = TRACE_CPU,
                                       .request = r,
                                       .in_step = true};
        begin(b, up, &b->read_l2, NULL);
        for (size_t i = 0; i < b->read_l2.count; i++)
            keep(b, &b->read_l1, b->read_l2.key[i]);
        b->read_l2.count = 0;
    }
    if (!in_step)
        r->loads = (b->read_l1.count > 0 ? 1u : 0) + (b->read_l2.count > 0 ? 1u : 0);
    t.from = TRACE_CPU;
    begin(b, t, &b->read_l1, NULL);
    t.from = TRACE_STORAGE;
    begin(b, t, &b->read_l2, NULL);
    b->read_l1.count = b->read_l2.count = 0;
}

/* Chunks that were found are not stored again. */
static void skip_found(struct chunked *s)
{
    s->saved = s->cached.hit_l1 + s->cached.hit_l2;
    s->in_answer = s->request->known_tokens > s->request->prompt_tokens;
}

/* false: it waits for memory. */
static bool load(struct kv_below *b, struct chunked *s)
{
    b->now = s->request;
    const int64_t loaded = lmcache_load(b->cache, &s->cached);
    if (loaded == -EAGAIN)
        return false;
    b->failed |= loaded < 0;
    skip_found(s);
    begin_load(b, s->request);
    if (b->s.async_loading)
        b->loading = s;
    else
        lmcache_loaded(b->cache, &s->cached);
    return true;
}

/* Chunks that lie in buffers go to files. With local_cpu the buffer is a copy of its own. */
static void submit(struct kv_below *b, const struct kv_request *r, const uint64_t *chunk,
                   uint64_t count)
{
    b->written.count = 0;
    b->now = r;
    b->failed |= lmcache_submit(b->cache, chunk, count) < 0;
    const struct kv_transfer t = {.kind = b->s.local_cpu ? KV_WRITE : KV_STORE,
                                  .from = b->s.local_cpu ? TRACE_CPU : TRACE_GPU,
                                  .to = TRACE_STORAGE,
                                  .request = r};
    begin(b, t, &b->written, NULL);
}

/* Chunks of a list from the first unsaved one up to `end`, which this step completes. */
static void save(struct kv_below *b, struct chunked *s, const uint64_t *chunk, uint64_t end)
{
    if (end <= s->saved)
        return;
    chunk += s->saved;
    b->now = s->request;
    b->stored.count = b->got.count = 0;
    const int64_t got = lmcache_store(b->cache, chunk, end - s->saved);
    b->failed |= got < 0;
    s->saved = end;
    for (int64_t i = 0; i < got; i++)
        keep(b, &b->got, chunk[i]);
    const struct kv_transfer t = {.kind = KV_STORE,
                                  .from = TRACE_GPU,
                                  .to = TRACE_CPU,
                                  .request = s->request,
                                  .in_step = true};
    if (b->stored.count)
        begin(b, t, &b->stored, &b->got);
    else if (b->got.count) /* all of them were in memory, or none is kept there */
        submit(b, s->request, b->got.key, b->got.count);
}

/* Saves what is due once the first `end` tokens are on the GPU: of the prompt, then of the answer.
 */
static void store(struct kv_below *b, struct chunked *s, uint64_t end)
{
    const uint64_t prompt = s->request->prompt_tokens;
    if (!s->in_answer)
        save(b, s, s->keys.prompt,
             end < prompt ? lmcache_savable(&b->s, prompt, end) : s->keys.prompt_count);
    if (!s->in_answer && end >= prompt) {
        s->in_answer = true;
        s->saved = s->keys.prompt_full;
    }
    if (s->in_answer)
        save(b, s, s->keys.full, lmcache_savable(&b->s, prompt, end));
}

/* Does what there is to do in its order, up to a load that waits. One that waits for memory gets it
 * when a file is written. */
static void work(struct kv_below *b)
{
    size_t done = 0;
    for (; done < b->tasks; done++) {
        const struct task *t = &b->task[done];
        if (!t->load)
            store(b, t->request, t->end);
        else if (b->loading || !load(b, t->request))
            break; /* asynchronous loads are made one by one */
    }
    for (size_t i = done; i < b->tasks; i++)
        b->task[i - done] = b->task[i];
    b->tasks -= done;
    if (!b->tasks || b->loading)
        return;
    const struct job *write = jobs_oldest(&b->jobs, b->s.local_cpu ? KV_WRITE : KV_STORE);
    if (!write)
        b->stuck = !jobs_oldest(&b->jobs, KV_STORE);
    else if (!b->s.async_loading)
        b->listener.flush(b->listener.ctx, write->id);
}

static void add(struct kv_below *b, const struct task *t)
{
    if (memory_room(&b->task, &b->tasks_cap, b->tasks, sizeof(*b->task), 64) < 0) {
        b->failed = true;
        return;
    }
    b->task[b->tasks++] = *t;
    if (b->tasks == 1)
        work(b);
}

static void admitted(struct kv_below *b, void *state, uint64_t from, uint64_t to)
{
    struct chunked *s = state;
    s->cached.gpu_tokens = from;
    s->looked_up = false; /* the load lets go of the pins */
    if (from < to) {
        add(b, &(struct task){.request = s, .load = true});
        return;
    }
    lmcache_loaded(b->cache, &s->cached);
    skip_found(s);
}

static void offer(struct kv_below *b, void *state, uint64_t end, const struct kv_held *held)
{
    (void)held;
    if (b->tasks && !b->s.async_loading)
        add(b, &(struct task){.request = state, .end = end});
    else
        store(b, state, end);
}

static int step_built(struct kv_below *b)
{
    return b->failed ? -ENOMEM : b->stuck ? -EDEADLK : 0;
}

static void preempted(struct kv_below *b, void *state)
{
    (void)b, (void)state; /* what it stored is done within its step */
}

static void finished(struct kv_below *b, void *state, const struct kv_held *held)
{
    (void)held;
    let_go(b, state);
}

static void taken(struct kv_below *b, uint32_t block)
{
    (void)b, (void)block;
}

/* One of the transfers of an asynchronous load is done. */
static void end_load(struct kv_below *b)
{
    struct chunked *s = b->loading;
    if (--s->request->loads > 0)
        return;
    lmcache_loaded(b->cache, &s->cached);
    b->loading = NULL;
}

static void transfer_done(struct kv_below *b, uint64_t id)
{
    struct job j;
    jobs_end(&b->jobs, id, &j);
    if (j.kind == KV_LOAD && !j.in_step)
        end_load(b);
    else if (j.to == TRACE_STORAGE && b->s.writes_held)
        lmcache_written(b->cache, j.keys, j.count);
    else if (j.to == TRACE_CPU && j.kind == KV_STORE)
        submit(b, NULL, j.keys, j.count);
    free(j.keys);
    if (b->tasks)
        work(b);
}

static bool busy(const struct kv_below *b)
{
    return b->jobs.open > 0 && !b->stuck;
}

const struct kv_below_ops lmcache_below_ops = {
    .name = "lmcache",
    .version = "0.5.6",
    .free = below_free,
    .arrive = arrive,
    .look_up = look_up,
    .admitted = admitted,
    .offer = offer,
    .step_built = step_built,
    .preempted = preempted,
    .finished = finished,
    .taken = taken,
    .transfer_done = transfer_done,
    .depart = depart,
    .busy = busy,
};
