/* The cache `copies`, rule by rule, on prompts of a few blocks. A bug looked like a second use that
 * was counted within one request, a copy that stayed where a tier keeps none of what it gave, or a
 * prompt whose begin went before its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kvgen/manager/copies.h"
#include "tests/unit/caches/op_text.h"

enum {
    BLOCK = 4,
    MOST = 8,
    NAMES = 64
};

/* Blocks are named by the content of their last piece. */
struct run {
    struct op_text text;
    struct kv_cache *cache;
    uint64_t key[NAMES], name[NAMES], names;
    uint64_t transfer[64], transfers;
    uint64_t found[TRACE_TIERS]; /* blocks, of the last request */
    bool whole;                  /* prompts have no token behind their blocks */
};

static uint64_t name_of(const struct run *r, uint64_t key)
{
    uint64_t i = 0;
    while (i < r->names && r->key[i] != key)
        i++;
    assert_true(i < r->names);
    return r->name[i];
}

static void on_event(void *ctx, const struct kv_event *e)
{
    static const char *const words[][TRACE_TIERS] = {
        [KV_CACHED] = {"gpu.fill", NULL, NULL},
        [KV_DROPPED] = {"gpu.drop", "host.drop", "files.drop"},
        [KV_DEMOTED] = {"gpu.demote", "host.demote", NULL},
        [KV_STORED] = {NULL, "host.store", "files.store"},
        [KV_REFUSED] = {NULL, "host.refuse", "files.refuse"},
        [KV_PROMOTED] = {NULL, "host.promote", NULL},
        [KV_TOUCHED] = {NULL, "host.touch", "files.touch"},
        [KV_WAITS] = {NULL, NULL, NULL}};
    struct run *r = ctx;
    assert_non_null(words[e->kind][e->tier]);
    op_text_add(&r->text, words[e->kind][e->tier], name_of(r, e->key));
}

static void on_transfer(void *ctx, const struct kv_transfer *t)
{
    struct run *r = ctx;
    r->transfer[r->transfers++] = t->id;
    for (uint64_t i = 0; t->kind == KV_LOAD && i < t->count; i++)
        op_text_add(&r->text, t->from == TRACE_CPU ? "host.load" : "files.load",
                    name_of(r, t->keys[i]));
}

static void open_cache(struct run *r, const struct copies_cache_opts *o)
{
    static const struct kv_listener none;
    struct kv_listener l = none;
    *r = (struct run){0};
    l.ctx = r;
    l.event = on_event;
    l.transfer = on_transfer;
    r->cache = copies_cache_create(o, &l);
    assert_non_null(r->cache);
}

static void settle(struct run *r)
{
    for (uint64_t i = 0; i < r->transfers; i++)
        copies_cache_ops.transfer_done(r->cache, r->transfer[i]);
    r->transfers = 0;
}

/* A whole request of those blocks, a token more, and an answer of that many blocks. */
static void serve(struct run *r, const uint64_t *content, uint64_t n, uint64_t answer)
{
    const struct kv_cache_ops *ops = &copies_cache_ops;
    struct chain_piece piece[MOST + 1];
    for (uint64_t i = 0; i < n; i++)
        piece[i] = (struct chain_piece){content[i], BLOCK};
    piece[n] = (struct chain_piece){999, 1 + answer * BLOCK};
    struct kv_request q = {.chain = {.pieces = piece, .count = n + 1},
                           .prompt_tokens = n * BLOCK + !r->whole};
    struct chain_walk w = {.chain = &q.chain, .key = chain_root(0)};
    for (uint64_t i = 0; i < n + answer; i++) {
        r->key[r->names] = chain_key(&w, (i + 1) * BLOCK);
        r->name[r->names++] = i < n ? content[i] : 99;
    }
    struct kv_found found;
    q.known_tokens = q.prompt_tokens;
    assert_int_equal(ops->arrive(r->cache, &q), 0);
    assert_int_equal(ops->look_up(r->cache, &q, &found), KV_FOUND);
    uint64_t there = 0;
    for (int t = 0; t < TRACE_TIERS; t++) {
        r->found[t] = found.tokens[t] / BLOCK;
        there += found.tokens[t];
    }
    struct kv_room room = {.whole = true};
    if (found.load_first) {
        assert_true(ops->admit(r->cache, &q, &room));
        settle(r);
        q.computed_tokens = there;
        ops->loaded(r->cache, &q);
    }
    room.tokens = q.known_tokens - there;
    assert_true(ops->admit(r->cache, &q, &room));
    q.computed_tokens = there;
    ops->scheduled(r->cache, &q, room.tokens);
    assert_int_equal(ops->step_built(r->cache), 0);
    settle(r);
    q.computed_tokens = q.known_tokens;
    for (uint64_t i = 0; i < answer * BLOCK; i++) {
        q.known_tokens++;
        assert_true(ops->extend(r->cache, &q, 1));
        ops->scheduled(r->cache, &q, 1);
        assert_int_equal(ops->step_built(r->cache), 0);
        q.computed_tokens++;
        settle(r);
    }
    ops->finished(r->cache, &q);
    assert_int_equal(ops->step_built(r->cache), 0);
    ops->depart(r->cache, &q);
    settle(r);
}

static void end(struct run *r)
{
    copies_cache_ops.free(r->cache);
}

#define BLOCKS(...) (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8
#define TIER(n)     .room = {.blocks = (n), .policy = POLICY_LRU, .high = 1, .low = 1}

static void test_at_once(void **state)
{
    (void)state;
    struct run r;
    const struct copies_cache_opts o = {
        .block_tokens = BLOCK, .tier = {{TIER(4)}, {TIER(3), .uses = 1}, {TIER(9), .uses = 1}}};
    open_cache(&r, &o);
    serve(&r, BLOCKS(1, 2), 0);
    op_text_is(&r.text, "gpu.fill 1 2, host.store 1 2, files.store 1 2");
    serve(&r, BLOCKS(1, 2), 0); /* refreshed below, tier by tier */
    assert_int_equal(r.found[TRACE_GPU], 2);
    op_text_is(&r.text, "host.touch 1 2, files.touch 1 2");
    serve(&r, BLOCKS(3, 4), 0); /* of three blocks one is free for the last token */
    op_text_is(&r.text, "gpu.demote 2, gpu.fill 3 4, host.store 3, host.demote 2, host.store 4, "
                        "files.store 3 4");
    end(&r);
}

static void test_the_end_of_a_prompt_goes_first(void **state)
{
    (void)state;
    struct run r;
    const struct copies_cache_opts o = {.block_tokens = BLOCK,
                                        .tier = {{TIER(4)}, {.store = COPIES_NEVER}}};
    open_cache(&r, &o);
    serve(&r, BLOCKS(1, 2, 3), 0);
    serve(&r, BLOCKS(5), 0);
    op_text_is(&r.text, "gpu.fill 1 2 3, gpu.drop 3, gpu.fill 5");
    serve(&r, BLOCKS(6), 0);
    op_text_is(&r.text, "gpu.drop 2, gpu.fill 6");
    end(&r);
}

static void test_at_the_second_use(void **state)
{
    (void)state;
    struct run r;
    const struct copies_cache_opts o = {.block_tokens = BLOCK,
                                        .tier = {{TIER(8)}, {TIER(8), .uses = 2}}};
    open_cache(&r, &o);
    serve(&r, BLOCKS(1, 2), 0);
    op_text_is(&r.text, "gpu.fill 1 2");
    serve(&r, BLOCKS(1, 3), 0);
    op_text_is(&r.text, "host.store 1, gpu.fill 3");
    end(&r);
}

static void test_when_evicted(void **state)
{
    (void)state;
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        struct run r;
        const struct copies_cache_opts o = {
            .block_tokens = BLOCK,
            .tier = {{TIER(3)}, {TIER(8), .store = COPIES_WHEN_EVICTED, .exclusive = exclusive}}};
        open_cache(&r, &o);
        serve(&r, BLOCKS(1, 2), 0);
        op_text_is(&r.text, "gpu.fill 1 2");
        serve(&r, BLOCKS(3, 4), 0);
        op_text_is(&r.text, "host.store 2 1, gpu.demote 2 1, gpu.fill 3 4");
        serve(&r, BLOCKS(1, 2), 0);
        assert_int_equal(r.found[TRACE_CPU], 2);
        op_text_is(&r.text, exclusive ? "host.store 4, gpu.demote 4, host.load 1 2, host.drop 2 1, "
                                        "gpu.fill 1 2, host.store 3, gpu.demote 3"
                                      : "host.store 4, gpu.demote 4, host.load 1 2, gpu.fill 1 2, "
                                        "host.store 3, gpu.demote 3");
        end(&r);
    }
}

/* As under the waterfall: a block has one copy. What a load brings is the request's own, or the
 * copy moves up with it; what is computed while it lies below has no second one. */
static void test_one_copy(void **state)
{
    (void)state;
    for (int rises = 0; rises < 2; rises++) {
        struct run r;
        const struct copies_cache_opts o = {
            .block_tokens = BLOCK,
            .single = true,
            .tier = {{TIER(3)}, {TIER(8), .store = COPIES_WHEN_EVICTED, .exclusive = rises}}};
        open_cache(&r, &o);
        serve(&r, BLOCKS(1, 2), 0);
        serve(&r, BLOCKS(3, 4), 0);
        op_text_is(&r.text, "gpu.fill 1 2, host.store 2 1, gpu.demote 2 1, gpu.fill 3 4");
        r.whole = true; /* the last block of a prompt is computed, whatever is there */
        serve(&r, BLOCKS(1, 2), 0);
        assert_int_equal(r.found[TRACE_CPU], 1);
        op_text_is(&r.text, rises
                                ? "host.load 1, host.drop 1, gpu.fill 1, host.store 4, gpu.demote 4"
                                : "host.load 1, host.store 4, gpu.demote 4");
        r.whole = false;
        serve(&r, BLOCKS(1, 2), 0);
        assert_int_equal(r.found[TRACE_GPU], rises ? 1 : 0);
        assert_int_equal(r.found[TRACE_CPU], rises ? 1 : 2);
        op_text_is(&r.text, rises
                                ? "host.load 2, host.drop 2, gpu.fill 2, host.store 3, gpu.demote 3"
                                : "host.load 1 2, host.store 3, gpu.demote 3");
        assert_int_equal(copy_tier_count(copies_cache_tier(r.cache, TRACE_GPU)), rises ? 2 : 0);
        assert_int_equal(copy_tier_count(copies_cache_tier(r.cache, TRACE_CPU)), rises ? 2 : 4);
        end(&r);
    }
}

/* A block that the tier below has no room for falls further. */
static void test_one_copy_falls_further(void **state)
{
    (void)state;
    struct run r;
    const struct copies_cache_opts o = {.block_tokens = BLOCK,
                                        .single = true,
                                        .tier = {{TIER(3)},
                                                 {TIER(1), .store = COPIES_WHEN_EVICTED},
                                                 {TIER(9), .store = COPIES_WHEN_EVICTED}}};
    open_cache(&r, &o);
    serve(&r, BLOCKS(1, 2), 0);
    serve(&r, BLOCKS(3, 4), 0); /* 2 is on its way to the host when 1 leaves */
    op_text_is(&r.text, "gpu.fill 1 2, host.store 2, host.refuse 1, files.store 1, gpu.demote 2 1, "
                        "gpu.fill 3 4");
    serve(&r, BLOCKS(1, 2), 0);
    assert_int_equal(r.found[TRACE_STORAGE], 1);
    assert_int_equal(r.found[TRACE_CPU], 1);
    end(&r);
}

static void test_through_the_tier_between(void **state)
{
    (void)state;
    for (int through = 0; through < 2; through++) {
        struct run r;
        const struct copies_cache_opts o = {
            .block_tokens = BLOCK,
            .through = through,
            .tier = {{TIER(2)}, {TIER(1), .uses = 1}, {TIER(9), .uses = 1}}};
        open_cache(&r, &o);
        serve(&r, BLOCKS(1), 0);
        serve(&r, BLOCKS(2), 0);
        serve(&r, BLOCKS(3), 0);
        r.text = (struct op_text){0};
        serve(&r, BLOCKS(1), 0);
        assert_int_equal(r.found[TRACE_STORAGE], 1);
        if (through)
            op_text_is(&r.text, "host.demote 3, host.promote 1, host.load 1, gpu.fill 1, "
                                "files.touch 1, gpu.drop 3");
        else
            op_text_is(&r.text, "files.load 1, gpu.fill 1, gpu.demote 3");
        end(&r);
    }
}

static void test_admission(void **state)
{
    (void)state;
    for (int rule = ADMISSION_SEEN; rule <= ADMISSION_TINYLFU; rule++) {
        struct run r;
        const struct copies_cache_opts o = {
            .block_tokens = BLOCK,
            .tier = {
                {TIER(9)},
                {TIER(1), .uses = 1, .admission = (enum admission_rule)rule, .admission_uses = 2}}};
        open_cache(&r, &o);
        serve(&r, BLOCKS(1), 0);
        serve(&r, BLOCKS(1), 0);
        op_text_is(&r.text, rule == ADMISSION_SEEN ? "gpu.fill 1, host.refuse 1, host.store 1"
                                                   : "gpu.fill 1, host.store 1, host.touch 1");
        serve(&r, BLOCKS(2), 0);
        serve(&r, BLOCKS(2), 0);
        op_text_is(&r.text, rule == ADMISSION_SEEN
                                ? "gpu.fill 2, host.refuse 2, host.drop 1, host.store 2"
                                : "gpu.fill 2, host.refuse 2 2"); /* no more often than 1 */
        serve(&r, BLOCKS(2), 0);
        op_text_is(&r.text, rule == ADMISSION_SEEN ? "host.touch 2" : "host.drop 1, host.store 2");
        end(&r);
    }
}

static void test_prompt_only(void **state)
{
    (void)state;
    for (int only = 0; only < 2; only++) {
        struct run r;
        const struct copies_cache_opts o = {
            .block_tokens = BLOCK, .tier = {{TIER(9)}, {TIER(9), .uses = 1, .prompt_only = only}}};
        open_cache(&r, &o);
        serve(&r, BLOCKS(1), 1);
        op_text_is(&r.text, only ? "gpu.fill 1, host.store 1, gpu.fill 99"
                                 : "gpu.fill 1, host.store 1, gpu.fill 99, host.store 99");
        end(&r);
    }
}

static void test_watermarks(void **state)
{
    (void)state;
    struct run r;
    const struct copies_cache_opts o = {
        .block_tokens = BLOCK,
        .tier = {{TIER(20)}, {.room = {8, POLICY_LRU, 0.75, 0.5}, .uses = 1}}};
    open_cache(&r, &o);
    serve(&r, BLOCKS(1, 2, 3), 0);
    serve(&r, BLOCKS(4, 5, 6), 0);
    r.text = (struct op_text){0};
    serve(&r, BLOCKS(7), 0); /* seven are above six: down to four */
    op_text_is(&r.text, "gpu.fill 7, host.drop 3 2 1, host.store 7");
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_the_end_of_a_prompt_goes_first),
        cmocka_unit_test(test_at_the_second_use),
        cmocka_unit_test(test_when_evicted),
        cmocka_unit_test(test_one_copy),
        cmocka_unit_test(test_one_copy_falls_further),
        cmocka_unit_test(test_through_the_tier_between),
        cmocka_unit_test(test_admission),
        cmocka_unit_test(test_prompt_only),
        cmocka_unit_test(test_watermarks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
