/* Engines' caches under the scheduler, on random requests: what is loaded was stored, what is read
 * stays, no tier holds more than it has room for, and whoever departs leaves nothing behind. A bug
 * looked like a pin of a request that had gone, a load of a chunk whose file was still being
 * written, or a run that never ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kvgen/cache/vllm.h"
#include "kvgen/cache/vllm_offload.h"
#include "kvgen/manager/copies.h"
#include "kvgen/manager/lmcache.h"
#include "kvgen/manager/lmcache_mp.h"
#include "kvgen/manager/sglang.h"
#include "tests/unit/caches/manager_checks.h"
#include "tests/unit/scale.h"

enum {
    BLOCK = 8,
    MOST_TOKENS = 400,
    RUNS = 150
};

static struct kv_listener listener(struct checked *c)
{
    return (struct kv_listener){c, checked_event, checked_transfer, checked_flush};
}

/* vLLM's block pool above what is below. */
static void create_pool(struct checked *c, const struct kv_below_ops *ops, struct kv_below *below)
{
    const struct kv_listener l = listener(c);
    const struct vllm_opts o = {.blocks = 60 + rng_below(c->rng, 100),
                                .block_tokens = BLOCK,
                                .groups = 1,
                                .below_ops = ops,
                                .below = below};
    assert_non_null(below);
    c->most[TRACE_GPU] = o.blocks;
    c->ops = &vllm_cache_ops;
    c->cache = vllm_create(&o, &l);
    assert_non_null(c->cache);
}

/* Counts over all runs of a manager: that something of each kind took place. */
struct sums {
    uint64_t done[4], found[TRACE_TIERS], drops[TRACE_TIERS], refusals, stuck;
};

static void add_up(struct sums *s, const struct checked *c)
{
    for (int i = 0; i < 4; i++)
        s->done[i] += c->done[i];
    for (int t = 0; t < TRACE_TIERS; t++) {
        s->found[t] += c->found[t];
        s->drops[t] += c->drops[t];
    }
    s->refusals += c->refusals;
}

static void begin_run(struct checked *c, struct rng *rng, uint64_t seed, int run)
{
    rng_seed(rng, seed, (uint64_t)run);
    memset(c, 0, sizeof(*c));
    c->rng = rng;
    c->async = rng_below(rng, 2);
}

/* Every kind of transfer, and in each tier copies that were found and such that left. */
static void check_all_happened(const struct sums *s)
{
    for (int i = 0; i < 4; i++)
        assert_true(s->done[i] > 0);
    for (int t = 0; t < TRACE_TIERS; t++)
        assert_true(s->found[t] > 0 && s->drops[t] > 0);
}

/* Nothing is on its way or pinned. */
static void check_chunks(const struct chunks *c)
{
    for (int t = 0; t < CHUNK_TIERS; t++) {
        const enum chunk_tier tier = (enum chunk_tier)t;
        assert_int_equal(chunks_count(c, tier), chunks_used(c, tier));
        for (uint32_t n = CHUNK_NONE; (n = chunks_next(c, tier, n)) != CHUNK_NONE;)
            assert_false(chunks_pinned(c, tier, n));
    }
}

static void test_lmcache(void **state)
{
    (void)state;
    struct sums sums = {0};
    struct checked *c = malloc(sizeof(*c));
    assert_non_null(c);
    for (int run = 0; run < scaled(RUNS); run++) {
        struct rng rng;
        begin_run(c, &rng, 21, run);
        const struct lmcache_settings set = {.chunk_tokens = 32,
                                             .l1_chunks = 2 + rng_below(&rng, 40),
                                             .l2_chunks = rng_below(&rng, 3) * 40,
                                             .order = (enum chunk_order)rng_below(&rng, 4),
                                             .local_cpu = rng_below(&rng, 4) > 0,
                                             .save_unfull_chunk = rng_below(&rng, 2),
                                             .save_decode_cache = rng_below(&rng, 2),
                                             .async_loading = rng_below(&rng, 2),
                                             .fixed = rng_below(&rng, 2),
                                             .writes_held = true,
                                             .min_retrieve_tokens = rng_below(&rng, 2) * 64};
        const struct kv_listener l = listener(c);
        struct kv_below *below = lmcache_below_create(&set, &l);
        c->most[TRACE_CPU] = set.local_cpu ? set.l1_chunks : 0;
        c->most[TRACE_STORAGE] = set.l2_chunks;
        create_pool(c, &lmcache_below_ops, below);
        const int rc = checked_run(c, MOST_TOKENS);
        if (rc) { /* memory held nothing that could go, as the engine waits for ever */
            assert_int_equal(rc, -EDEADLK);
            assert_false(set.fixed);
            sums.stuck++;
        } else {
            checked_end(c);
            check_chunks(lmcache_below_chunks(below));
        }
        add_up(&sums, c);
        checked_free(c);
    }
    free(c);
    assert_true(sums.stuck > 0);
    check_all_happened(&sums);
    assert_true(sums.refusals > 0);
}

static void test_lmcache_mp(void **state)
{
    (void)state;
    struct sums sums = {0};
    struct checked *c = malloc(sizeof(*c));
    assert_non_null(c);
    for (int run = 0; run < scaled(RUNS); run++) {
        struct rng rng;
        begin_run(c, &rng, 22, run);
        struct lmcache_mp_opts o = {.chunk_tokens = 32,
                                    .settings = {.l1 = {2 + rng_below(&rng, 60), 0.8, 0.2},
                                                 .l2 = {rng_below(&rng, 3) * 40, 0.5,
                                                        0.2 + 0.4 * (double)rng_below(&rng, 3)},
                                                 .retain = rng_below(&rng, 2),
                                                 .writes_held = true}};
        o.settings.skip_l1 = o.settings.l2.chunks && rng_below(&rng, 2);
        const struct kv_listener l = listener(c);
        struct kv_below *below = lmcache_mp_below_create(&o, &l);
        c->most[TRACE_CPU] = o.settings.l1.chunks;
        c->most[TRACE_STORAGE] = UINT64_MAX; /* only its loop keeps it small */
        create_pool(c, &lmcache_mp_below_ops, below);
        assert_int_equal(checked_run(c, MOST_TOKENS), 0);
        checked_end(c);
        check_chunks(lmcache_mp_below_chunks(below));
        add_up(&sums, c);
        checked_free(c);
    }
    free(c);
    check_all_happened(&sums);
    assert_true(sums.refusals > 0);
}

static void test_sglang(void **state)
{
    (void)state;
    struct sums sums = {0};
    struct checked *c = malloc(sizeof(*c));
    assert_non_null(c);
    for (int run = 0; run < scaled(RUNS); run++) {
        struct rng rng;
        begin_run(c, &rng, 23, run);
        c->same_units = c->host_twins = true;
        struct sglang_settings set = {.page_tokens = 1 + rng_below(&rng, 2) * 7,
                                      .write = (enum sglang_write)rng_below(&rng, SGLANG_WRITES),
                                      .order = (enum page_order)rng_below(&rng, PAGE_ORDERS),
                                      .load_back_threshold = 10,
                                      .files = rng_below(&rng, 3) > 0,
                                      .files_ratio = 0.9,
                                      .prefetch_threshold = 1 + rng_below(&rng, 60)};
        set.device_pages = (500 + rng_below(&rng, 500)) / set.page_tokens + 2;
        set.host_pages = rng_below(&rng, 4) * 300 / set.page_tokens;
        set.files &= set.host_pages > 0;
        set.files_max_pages = rng_below(&rng, 2) * (200 + rng_below(&rng, 1000)) / set.page_tokens;
        const struct kv_listener l = listener(c);
        c->most[TRACE_GPU] = set.device_pages;
        c->most[TRACE_CPU] = set.host_pages;
        c->most[TRACE_STORAGE] = set.files_max_pages ? set.files_max_pages : UINT64_MAX;
        c->ops = &sglang_cache_ops;
        c->cache = sglang_cache_create(&set, &l);
        assert_non_null(c->cache);
        assert_int_equal(checked_run(c, MOST_TOKENS), 0);
        checked_end(c);
        const struct sglang *tree = sglang_cache_state(c->cache);
        assert_int_equal(sglang_device_free(tree) + c->book[TRACE_GPU].count, set.device_pages);
        assert_int_equal(sglang_host_free(tree) + c->book[TRACE_CPU].count, set.host_pages);
        assert_int_equal(sglang_files(tree), c->book[TRACE_STORAGE].count);
        add_up(&sums, c);
        checked_free(c);
    }
    free(c);
    check_all_happened(&sums);
}

/* vLLM's own offloading, with groups of layers that look at all tokens or at a window. Where the
 * host is small, some requests fetch for ever: they are named, and the others are served. */
static void test_vllm(void **state)
{
    (void)state;
    struct sums sums = {0};
    uint64_t endless = 0;
    struct checked *c = malloc(sizeof(*c));
    assert_non_null(c);
    for (int run = 0; run < scaled(RUNS); run++) {
        struct rng rng;
        begin_run(c, &rng, 25, run);
        uint64_t window[VLLM_GROUPS] = {0};
        const uint32_t groups = 1 + (uint32_t)rng_below(&rng, 3);
        for (uint32_t g = 1; g < groups; g++)
            window[g] = rng_below(&rng, 3) * 30;
        const struct vllm_opts o = {.blocks = (60 + rng_below(&rng, 100)) * groups,
                                    .block_tokens = BLOCK,
                                    .groups = groups,
                                    .window = {0, window[1], window[2]},
                                    .all_windows = rng_below(&rng, 2)};
        const struct vllm_offload_opts oo = {.gpu_blocks = o.blocks,
                                             .block_tokens = BLOCK,
                                             .groups = groups,
                                             .window = window,
                                             .chunks = 4 + rng_below(&rng, 100),
                                             .chunk_blocks = 1,
                                             .arc = rng_below(&rng, 2),
                                             .prompt_only = rng_below(&rng, 2),
                                             .lower = (enum vllm_lower)rng_below(&rng, 3),
                                             .fixed = rng_below(&rng, 2),
                                             .max_tracker_size = 64000};
        const struct kv_listener l = listener(c);
        struct vllm_opts all = o;
        all.below_ops = &vllm_offload_ops;
        all.below = vllm_offload_create(&oo, &l);
        assert_non_null(all.below);
        c->most[TRACE_GPU] = o.blocks;
        c->most[TRACE_CPU] = oo.chunks;
        c->ops = &vllm_cache_ops;
        c->files_untold = true;
        c->most[TRACE_STORAGE] = UINT64_MAX;
        c->cache = vllm_create(&all, &l);
        assert_non_null(c->cache);
        assert_int_equal(checked_run(c, MOST_TOKENS), 0);
        if (c->gone < c->requests) {
            assert_false(oo.fixed);
            check_endless(c);
        } else
            checked_end(c);
        endless += c->endless;
        add_up(&sums, c);
        checked_free(c);
    }
    free(c);
    assert_true(endless > 0);
    for (int i = 0; i < 4; i++)
        assert_true(sums.done[i] > 0);
    assert_true(sums.found[TRACE_CPU] > 0 && sums.drops[TRACE_CPU] > 0);
    assert_true(sums.refusals > 0);
}

/* A prompt of that many blocks of one content is served, as far as that ends. */
static void serve_prompt(struct checked *c, uint64_t content, uint64_t blocks)
{
    struct serve_request *r = &c->request[c->requests];
    struct chain_piece *p = c->piece[c->requests];
    struct step last = {0};
    p[0] = (struct chain_piece){content, blocks * BLOCK + 1};
    r->output_tokens = 1;
    r->kv = (struct kv_request){.number = (uint32_t)c->requests++,
                                .chain = {.pieces = p, .count = 1},
                                .prompt_tokens = blocks * BLOCK + 1,
                                .max_load_tokens = KV_NO_LIMIT,
                                .max_offload_tokens = KV_NO_LIMIT};
    assert_int_equal(scheduler_add(c->scheduler, r), 0);
    while (scheduler_has_work(c->scheduler) && !scheduler_is_stuck(c->scheduler))
        assert_int_equal(checked_step(c, &last), 0);
}

/* Files have six chunks of a prompt, host memory has room for three: what is fetched pushes out
 * what the next look-up needs. The request is named and left, and others are served. */
static void test_a_prompt_larger_than_the_host(void **state)
{
    (void)state;
    enum {
        PROMPT = 6
    };
    struct checked *c = malloc(sizeof(*c));
    assert_non_null(c);
    for (int fixed = 0; fixed < 2; fixed++) {
        struct rng rng;
        rng_seed(&rng, 1, 0);
        memset(c, 0, sizeof(*c));
        c->rng = &rng;
        c->files_untold = true;
        const uint64_t window = 0;
        const struct vllm_offload_opts oo = {.gpu_blocks = 10,
                                             .block_tokens = BLOCK,
                                             .groups = 1,
                                             .window = &window,
                                             .chunks = 3,
                                             .chunk_blocks = 1,
                                             .prompt_only = true,
                                             .lower = VLLM_FILES,
                                             .max_tracker_size = 64000,
                                             .fixed = fixed};
        const struct kv_listener l = listener(c);
        const struct vllm_opts o = {.blocks = 10,
                                    .block_tokens = BLOCK,
                                    .groups = 1,
                                    .below_ops = &vllm_offload_ops,
                                    .below = vllm_offload_create(&oo, &l)};
        assert_non_null(o.below);
        c->most[TRACE_GPU] = o.blocks;
        c->most[TRACE_CPU] = oo.chunks;
        c->most[TRACE_STORAGE] = UINT64_MAX;
        c->ops = &vllm_cache_ops;
        c->cache = vllm_create(&o, &l);
        assert_non_null(c->cache);
        checked_open(c, &(struct scheduler_opts){.step_tokens = BLOCK,
                                                 .max_running = 4,
                                                 .max_tokens = KV_NO_LIMIT,
                                                 .connector = true,
                                                 .whole_prompts = true,
                                                 .chunks = true,
                                                 .prefill_interval = 1});
        serve_prompt(c, 1, PROMPT);
        serve_prompt(c, 2, 9); /* takes its blocks of the GPU */
        assert_int_equal(c->gone, 2);
        serve_prompt(c, 1, PROMPT);
        assert_int_equal(c->endless, !fixed);
        assert_int_equal(c->request[2].kv.endless, !fixed);
        assert_int_equal(c->gone, fixed ? 3 : 2);
        serve_prompt(c, 3, 2);
        assert_int_equal(c->gone, fixed ? 4 : 3);
        if (fixed)
            checked_end(c);
        else
            check_endless(c);
        checked_free(c);
    }
    free(c);
}

static struct copies_tier random_tier(struct rng *rng, uint64_t blocks)
{
    const double high = rng_below(rng, 2) ? 1 : 0.9;
    return (struct copies_tier){
        .room = {blocks, (enum policy_number)rng_below(rng, POLICIES), high, high < 1 ? 0.7 : 1},
        .store = (enum copies_store)rng_below(rng, COPIES_STORES),
        .uses = 1 + (uint32_t)rng_below(rng, 3),
        .prompt_only = rng_below(rng, 2),
        .exclusive = rng_below(rng, 2),
        .admission = (enum admission_rule)rng_below(rng, ADMISSION_RULES),
        .admission_uses = 1 + (uint32_t)rng_below(rng, 3)};
}

static void test_copies(void **state)
{
    (void)state;
    struct sums sums = {0};
    struct checked *c = malloc(sizeof(*c));
    assert_non_null(c);
    for (int run = 0; run < scaled(RUNS); run++) {
        struct rng rng;
        begin_run(c, &rng, 24, run);
        c->same_units = true;
        struct copies_cache_opts o = {.block_tokens = BLOCK, .through = rng_below(&rng, 2)};
        o.tier[TRACE_GPU] = random_tier(&rng, 60 + rng_below(&rng, 100));
        o.tier[TRACE_CPU] = random_tier(&rng, rng_below(&rng, 4) * 50);
        o.tier[TRACE_STORAGE] = random_tier(&rng, rng_below(&rng, 4) * 100);
        const struct kv_listener l = listener(c);
        for (int t = 0; t < TRACE_TIERS; t++)
            c->most[t] = o.tier[t].room.blocks;
        c->ops = &copies_cache_ops;
        c->cache = copies_cache_create(&o, &l);
        assert_non_null(c->cache);
        assert_int_equal(checked_run(c, MOST_TOKENS), 0);
        checked_end(c);
        for (int t = 0; t < TRACE_TIERS; t++) {
            const struct copy_tier *tier = copies_cache_tier(c->cache, (enum trace_tier)t);
            if (!tier)
                continue;
            assert_int_equal(copy_tier_count(tier), c->book[t].count);
            assert_int_equal(copy_tier_idle(tier), c->book[t].count);
            assert_int_equal(copy_tier_pins(tier), 0);
        }
        add_up(&sums, c);
        checked_free(c);
    }
    free(c);
    check_all_happened(&sums);
    assert_true(sums.refusals > 0);
}

/* A block that was computed has one copy, in one tier, or none where storage had no room (least 0).
 */
static void check_single(const struct checked *c, int least)
{
    for (uint64_t i = 0; i < c->requests; i++) {
        const struct chain *chain = &c->request[i].kv.chain;
        struct chain_walk w = {.chain = chain, .key = chain_root(0)};
        for (uint64_t end = BLOCK; end < chain_tokens(chain); end += BLOCK) {
            const uint64_t key = chain_key(&w, end);
            int copies = 0;
            for (int t = 0; t < TRACE_TIERS; t++)
                copies += book_has(&c->book[t], key);
            assert_true(copies >= least && copies <= 1);
        }
    }
}

static void test_waterfall(void **state)
{
    (void)state;
    struct sums sums = {0};
    struct checked *c = malloc(sizeof(*c));
    assert_non_null(c);
    for (int run = 0; run < scaled(RUNS); run++) {
        struct rng rng;
        begin_run(c, &rng, 26, run);
        c->same_units = true;
        struct copies_cache_opts o = {.block_tokens = BLOCK, .single = true};
        const bool rises = rng_below(&rng, 2);
        const enum policy_number policy = (enum policy_number)rng_below(&rng, POLICIES);
        const uint64_t blocks[TRACE_TIERS] = {60 + rng_below(&rng, 100), rng_below(&rng, 4) * 20,
                                              rng_below(&rng, 3) *
                                                  (50 + rng_below(&rng, 2) * 5000)};
        for (int t = 0; t < TRACE_TIERS; t++) {
            o.tier[t] = (struct copies_tier){.room = {blocks[t], policy, 1, 1},
                                             .store = COPIES_WHEN_EVICTED,
                                             .exclusive = rises};
            c->most[t] = blocks[t];
        }
        const struct kv_listener l = listener(c);
        c->ops = &copies_cache_ops;
        c->cache = copies_cache_create(&o, &l);
        assert_non_null(c->cache);
        assert_int_equal(checked_run(c, MOST_TOKENS), 0);
        checked_end(c);
        check_single(c, blocks[TRACE_STORAGE] > 5000);
        for (int t = 0; t < TRACE_TIERS; t++) {
            const struct copy_tier *tier = copies_cache_tier(c->cache, (enum trace_tier)t);
            if (!tier)
                continue;
            assert_int_equal(copy_tier_count(tier), c->book[t].count);
            assert_int_equal(copy_tier_idle(tier), c->book[t].count);
        }
        add_up(&sums, c);
        checked_free(c);
    }
    free(c);
    assert_true(sums.done[KV_STORE] > 0 && sums.done[KV_WRITE] > 0 && sums.done[KV_LOAD] > 0);
    for (int t = 0; t < TRACE_TIERS; t++)
        assert_true(sums.found[t] > 0 && sums.drops[t] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vllm),      cmocka_unit_test(test_a_prompt_larger_than_the_host),
        cmocka_unit_test(test_lmcache),   cmocka_unit_test(test_lmcache_mp),
        cmocka_unit_test(test_sglang),    cmocka_unit_test(test_copies),
        cmocka_unit_test(test_waterfall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
