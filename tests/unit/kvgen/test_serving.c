/* Scheduler, block pool, host memory and files together, on random small configurations, with
 * transfers that take random steps: every request gets its tokens, every block comes back, no step
 * is over its limits, a load reads what is there, and what is read does not leave; and each run is
 * the same whether or not the cache says how long a request's steps change nothing, and whether
 * keys are hashes or numbers. A bug looked like a run that never ended, a block that was lost by a
 * preemption, a victim that was being loaded, an offer that was not made, or a number that was
 * given to a second key while the first one was somewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/chain_numbers.h"
#include "kvgen/cache/vllm.h"
#include "kvgen/cache/vllm_offload.h"
#include "kvgen/rng.h"
#include "kvgen/serve/scheduler.h"
#include "lib/base/hash.h"
#include "tests/unit/scale.h"

enum {
    RUNS = 1000,
    REQUESTS = 40,
    MAX_PIECES = 12,
    MAX_STEPS = 20000,
    MAX_JOBS = 4000,
    MAX_KEYS = 20000,
    BLOCK = 16
};

/* A second, naive model's record of a key. */
struct known {
    int on_gpu; /* copies */
    bool in_host, written;
    int reads; /* under way */
};
struct job {
    uint64_t id;
    enum kv_transfer_kind kind;
    struct serve_request *request;
    uint64_t *keys, count;
    uint64_t due; /* step */
    bool done;
};

struct world {
    struct rng rng;
    struct id_table keys;
    struct known known[MAX_KEYS];
    struct job job[MAX_JOBS];
    uint64_t jobs, now, done;
    struct serve_request request[REQUESTS];
    struct chain_piece piece[REQUESTS][MAX_PIECES];
    struct chain_numbers *numbers; /* NULL: keys are hashes */
    uint64_t *key[REQUESTS];       /* their numbers */
    uint32_t groups;
    struct kv_cache *cache;
    struct kv_cache_ops ops;
    struct scheduler *scheduler;
    uint64_t digest; /* of all that was told */
    uint64_t quiet;  /* parts of steps that the cache was not told */
};

static void note(struct world *w, uint64_t what, uint64_t a, uint64_t b)
{
    const uint64_t words[] = {w->digest, what, a, b};
    w->digest = hash_64(words, sizeof(words));
}

/* The hash of a key that the cache tells; 0 stands for none. */
static uint64_t hash_of(const struct world *w, uint64_t key)
{
    return w->numbers && key ? chain_numbers_key(w->numbers, key) : key;
}

static struct known *known_of(struct world *w, uint64_t told)
{
    const uint64_t key = hash_of(w, told);
    uint32_t n = id_table_find(&w->keys, key);
    if (n == ID_NONE) {
        assert_int_equal(id_table_reserve(&w->keys, 1), 0);
        n = id_table_add(&w->keys, key);
        assert_true(n < MAX_KEYS);
        w->known[n] = (struct known){0};
    }
    return &w->known[n];
}

static void on_event(void *ctx, const struct kv_event *e)
{
    struct world *w = ctx;
    struct known *k = known_of(w, e->key);
    note(w, 100 + (uint64_t)e->kind, (uint64_t)e->tier, hash_of(w, e->key));
    switch (e->kind) {
    case KV_CACHED:
        k->on_gpu++;
        break;
    case KV_DROPPED:
        if (e->tier == TRACE_GPU) {
            assert_true(--k->on_gpu >= 0);
            assert_int_equal(e->twin, k->on_gpu > 0);
        } else {
            assert_true(k->in_host && k->written && k->reads == 0);
            k->in_host = k->written = false;
        }
        break;
    case KV_STORED:
    case KV_PROMOTED:
        assert_false(k->in_host);
        k->in_host = true;
        k->written = false;
        break;
    case KV_FREED:
        assert_true(k->on_gpu > 0);
        break;
    default:
        break;
    }
}

static void on_transfer(void *ctx, const struct kv_transfer *t)
{
    struct world *w = ctx;
    assert_true(w->jobs < MAX_JOBS);
    note(w, 200 + (uint64_t)t->kind, t->count, t->id);
    struct job *j = &w->job[w->jobs++];
    *j = (struct job){.id = t->id, .kind = t->kind, .count = t->count};
    j->due = w->now + (t->in_step ? 0 : 1 + rng_below(&w->rng, 4));
    j->request = t->request ? &w->request[t->request->number] : NULL;
    j->keys = malloc((t->count + 1) * sizeof(*j->keys));
    assert_non_null(j->keys);
    memcpy(j->keys, t->keys, t->count * sizeof(*j->keys));
    for (uint64_t i = 0; i < t->count; i++) {
        struct known *k = known_of(w, t->keys[i]);
        assert_true(k->in_host);
        if (t->kind == KV_LOAD || t->kind == KV_WRITE) {
            assert_true(k->written);
            k->reads++;
        }
    }
}

static void on_flush(void *ctx, uint64_t id)
{
    struct world *w = ctx;
    note(w, 300, id, 0);
    for (uint64_t i = 0; i < w->jobs; i++)
        if (w->job[i].id == id)
            w->job[i].due = w->now;
}

static void finish_jobs(struct world *w)
{
    for (uint64_t i = 0; i < w->jobs; i++) {
        struct job *j = &w->job[i];
        if (j->done || j->due > w->now)
            continue;
        j->done = true;
        for (uint64_t k = 0; k < j->count; k++) {
            struct known *known = known_of(w, j->keys[k]);
            if (j->kind == KV_LOAD || j->kind == KV_WRITE)
                known->reads--;
            else
                known->written = true;
        }
        vllm_cache_ops.transfer_done(w->cache, j->id);
        if (j->kind == KV_LOAD && j->request->state == SERVE_LOADING)
            scheduler_loaded(w->scheduler, j->request);
    }
}

static void on_gone(void *ctx, struct serve_request *r)
{
    struct world *w = ctx;
    assert_int_equal(r->outputs, r->output_tokens);
    /* Asynchronous: its last output may come after its preemption. */
    if (!r->preemptions || r->kv.computed_tokens)
        assert_int_equal(r->kv.computed_tokens, r->kv.prompt_tokens + r->output_tokens - 1);
    w->done++;
    if (w->numbers)
        chain_numbers_release(w->numbers, r->kv.chain.key, r->kv.chain.keys * w->groups);
}

/* Its keys become numbers. */
static void number_keys(struct world *w, struct serve_request *r)
{
    struct chain *c = &r->kv.chain;
    const uint64_t keys = chain_tokens(c) / BLOCK;
    uint64_t *key = w->key[r->kv.number] = malloc((keys * w->groups + 1) * sizeof(*key));
    assert_non_null(key);
    for (uint32_t g = 0; g < w->groups; g++) {
        chain_list_keys(c, g, BLOCK, keys, key + g * keys);
        assert_int_equal(chain_numbers_take(w->numbers, key + g * keys, keys), 0);
    }
    c->key = key;
    c->keys = keys;
    c->key_tokens = BLOCK;
    c->key_groups = w->groups;
}

/* Prompts share beginnings: piece i of one of three families. */
static void make_requests(struct world *w)
{
    for (uint32_t i = 0; i < REQUESTS; i++) {
        struct serve_request *r = &w->request[i];
        const uint64_t family = rng_below(&w->rng, 3), shared = rng_below(&w->rng, 9);
        uint64_t pieces = 0, prompt = 0;
        for (; pieces < shared; pieces++, prompt += BLOCK)
            w->piece[i][pieces] = (struct chain_piece){100 * family + pieces, BLOCK};
        const uint64_t own = 1 + rng_below(&w->rng, 60);
        w->piece[i][pieces++] = (struct chain_piece){10000 + 2 * i, own};
        *r = (struct serve_request){.output_tokens = 1 + rng_below(&w->rng, 50),
                                    .priority = (int64_t)rng_below(&w->rng, 3)};
        w->piece[i][pieces++] = (struct chain_piece){10001 + 2 * i, r->output_tokens};
        r->kv = (struct kv_request){.number = i,
                                    .chain = {.pieces = w->piece[i], .count = pieces},
                                    .prompt_tokens = prompt + own,
                                    .max_load_tokens = KV_NO_LIMIT,
                                    .max_offload_tokens = KV_NO_LIMIT};
    }
}

static void open_world(struct world *w, struct scheduler_opts *so)
{
    const struct kv_listener l = {w, on_event, on_transfer, on_flush};
    const struct scheduler_listener sl = {.ctx = w, .gone = on_gone};
    /* The largest request takes 16 blocks in each group. */
    struct vllm_opts o = {.blocks = 34 + rng_below(&w->rng, 60),
                          .block_tokens = BLOCK,
                          .groups = 1,
                          .numbers = w->numbers};
    if (rng_chance(&w->rng, 0.3)) {
        o.groups = 2;
        o.window[1] = 17 + rng_below(&w->rng, 60);
        o.all_windows = rng_chance(&w->rng, 0.5);
    }
    *so = (struct scheduler_opts){.step_tokens = 16 + rng_below(&w->rng, 300),
                                  .max_running = 1 + rng_below(&w->rng, 12),
                                  .max_tokens = 4096,
                                  .policy = (enum scheduler_policy)rng_below(&w->rng, 2),
                                  .async = rng_chance(&w->rng, 0.5),
                                  .whole_prompts = rng_chance(&w->rng, 0.7),
                                  .chunks = true,
                                  .long_tokens = rng_chance(&w->rng, 0.3) ? 40 : 0,
                                  .prefill_interval = 1 + rng_below(&w->rng, 3)};
    if (rng_chance(&w->rng, 0.7)) {
        struct vllm_offload_opts oo = {
            .gpu_blocks = o.blocks,
            .block_tokens = BLOCK,
            .groups = o.groups,
            .window = o.window,
            .chunks = 4 + rng_below(&w->rng, 100),
            .chunk_blocks = o.groups == 1 ? 1 + rng_below(&w->rng, 2) : 1,
            .arc = rng_chance(&w->rng, 0.5),
            .prompt_only = rng_chance(&w->rng, 0.5),
            .store_threshold = rng_below(&w->rng, 4),
            .max_tracker_size = 1 + rng_below(&w->rng, 60),
            .sync_load_bytes = rng_below(&w->rng, 3) * 4,
            .chunk_bytes = 1,
            .lower = o.groups == 1 ? (enum vllm_lower)rng_below(&w->rng, 3) : VLLM_NO_LOWER,
            .numbers = w->numbers};
        /* A request whose files do not fit into host memory together fetches them for ever. */
        if (oo.lower != VLLM_NO_LOWER)
            oo.chunks += 20;
        o.below_ops = &vllm_offload_ops;
        o.below = vllm_offload_create(&oo, &l);
        assert_non_null(o.below);
        so->connector = true;
    }
    w->groups = o.groups;
    w->cache = vllm_create(&o, &l);
    assert_non_null(w->cache);
    w->scheduler = scheduler_create(so, &w->ops, w->cache, &sl);
    assert_non_null(w->scheduler);
}

static void close_world(struct world *w)
{
    scheduler_free(w->scheduler);
    vllm_cache_ops.free(w->cache);
    for (uint64_t i = 0; i < w->jobs; i++)
        free(w->job[i].keys);
    for (int i = 0; i < REQUESTS; i++)
        free(w->key[i]);
    id_table_free(&w->keys);
    chain_numbers_free(w->numbers);
}

static void check_step(struct world *w, const struct step *step, const struct scheduler_opts *so)
{
    uint64_t tokens = 0;
    for (uint64_t i = 0; i < step->parts; i++) {
        assert_true(step->part[i].tokens > 0);
        tokens += step->part[i].tokens;
        note(w, step->part[i].request->kv.number, step->part[i].tokens, step->part[i].before);
        w->quiet += step->part[i].quiet;
    }
    assert_true(tokens <= so->step_tokens);
    assert_true(scheduler_running(w->scheduler) <= so->max_running);
}

static void run_world(struct world *w, uint64_t seed, bool quiet, bool numbered)
{
    struct scheduler_opts so;
    struct step last = {0};
    uint32_t next = 0;
    memset(w, 0, sizeof(*w));
    rng_seed(&w->rng, seed, 0);
    w->ops = vllm_cache_ops;
    if (!quiet)
        w->ops.quiet_until = NULL;
    if (numbered)
        w->numbers = chain_numbers_create();
    assert_true(!numbered || w->numbers);
    make_requests(w);
    open_world(w, &so);
    while (next < REQUESTS || scheduler_has_work(w->scheduler) || (so.async && last.number)) {
        assert_true(++w->now < MAX_STEPS);
        while (next < REQUESTS && rng_chance(&w->rng, 0.2)) {
            if (numbered)
                number_keys(w, &w->request[next]);
            assert_int_equal(scheduler_add(w->scheduler, &w->request[next++]), 0);
        }
        struct step step = {0};
        if (scheduler_has_work(w->scheduler)) {
            assert_int_equal(scheduler_schedule(w->scheduler, &step), 0);
            check_step(w, &step, &so);
        }
        const struct step outputs = so.async ? last : step;
        last = step;
        if (outputs.number)
            scheduler_outputs(w->scheduler, &outputs);
        finish_jobs(w);
    }
    assert_int_equal(w->done, REQUESTS);
    assert_int_equal(vllm_cache_ops.room_free(w->cache), vllm_cache_ops.room(w->cache));
    for (uint32_t i = 0; i < w->keys.made; i++)
        assert_int_equal(w->known[i].reads, 0);
    close_world(w);
}

static void test_random_configurations(void **state)
{
    (void)state;
    struct world *w = malloc(sizeof(*w));
    assert_non_null(w);
    uint64_t quiet = 0;
    for (int seed = 0; seed < scaled(RUNS); seed++) {
        run_world(w, (uint64_t)seed, false, seed % 2);
        const uint64_t digest = w->digest;
        assert_int_equal(w->quiet, 0);
        run_world(w, (uint64_t)seed, true, !(seed % 2));
        assert_true(w->digest == digest);
        quiet += w->quiet;
    }
    assert_true(quiet > 0);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_configurations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
