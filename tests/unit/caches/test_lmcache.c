/* LMCache's in-process engine, rule by rule, on chains of a few chunks. A bug looked like a hit
 * that was touched forwards, a store that made room for its new chunks only, or a chunk of L2 that
 * was found before its write had ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "kvgen/cache/lmcache.h"
#include "tests/unit/caches/op_text.h"

static void told(void *arg, enum lmcache_op op, uint64_t chunk)
{
    op_text_add(arg, lmcache_op_names[op], chunk);
}

static struct lmcache *cache(struct op_text *t, uint64_t l1, uint64_t l2,
                             struct lmcache_settings set)
{
    *t = (struct op_text){0};
    set.chunk_tokens = 256;
    set.l1_chunks = l1;
    set.l2_chunks = l2;
    set.local_cpu = true;
    struct lmcache *c = lmcache_create(&set, told, t);
    assert_non_null(c);
    return c;
}

/* A prompt of whole chunks and one token. */
static struct lmcache_request look_up(struct lmcache *c, const uint64_t *chunk, uint64_t n)
{
    struct lmcache_request r = {.chunk = chunk, .chunks = n, .tokens = 256 * n + 1};
    assert_int_equal(lmcache_look_up(c, &r), 0);
    return r;
}

/* A store whose writes to files begin. */
static void store(struct lmcache *c, const uint64_t *chunk, uint64_t n)
{
    const int64_t got = lmcache_store(c, chunk, n);
    assert_true(got >= 0);
    assert_int_equal(lmcache_submit(c, chunk, (uint64_t)got), 0);
}

/* A whole request; returns the chunks that hit. */
static uint64_t run(struct lmcache *c, const uint64_t *chunk, uint64_t n)
{
    struct lmcache_request r = look_up(c, chunk, n);
    uint64_t hit = r.hit_l1 + r.hit_l2;
    assert_int_equal(lmcache_load(c, &r), hit * 256);
    lmcache_loaded(c, &r);
    store(c, chunk + hit, n - hit);
    return hit;
}

#define RUN(c, ...)                                                                                \
    run(c, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static void test_new_chunks_leave_prefix_first(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache *c = cache(&t, 4, 0, (struct lmcache_settings){0});
    assert_int_equal(RUN(c, 1, 2, 3), 0);
    assert_int_equal(RUN(c, 7, 8), 0);
    op_text_is(&t, "l1.store 1 2 3, l1.evict 1, l1.store 7 8");
    lmcache_free(c);
}

static void test_a_hit_is_touched_backwards(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache *c = cache(&t, 4, 0, (struct lmcache_settings){0});
    RUN(c, 1, 2, 3);
    assert_int_equal(RUN(c, 1, 2, 3), 3);
    RUN(c, 7, 8);
    RUN(c, 9);
    op_text_is(&t,
               "l1.store 1 2 3, l1.load 1 2 3, l1.evict 3, l1.store 7 8, l1.evict 2, l1.store 9");
    lmcache_free(c);
}

static void test_a_load_from_disk_touches_forwards_and_promotes(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache *c = cache(&t, 2, 4, (struct lmcache_settings){0});
    RUN(c, 1, 2);
    RUN(c, 3, 4);
    op_text_is(&t, "l1.store 1 2, l2.store 1 2, l1.evict 1 2, l1.store 3 4, l2.store 3 4");
    assert_int_equal(RUN(c, 1, 2), 2);
    op_text_is(&t, "l1.evict 3 4, l2.load 1 2, l1.promote 1 2");
    RUN(c, 5, 6, 7); /* the disk gives up 3 and 4, then 1 */
    op_text_is(&t,
               "l1.evict 1 2, l1.allocfail 7, l1.store 5 6, l2.evict 3, l2.store 5, l2.evict 4, "
               "l2.store 6");
    RUN(c, 8);
    op_text_is(&t, "l1.evict 5, l1.store 8, l2.evict 1, l2.store 8");
    lmcache_free(c);
}

static void test_after_the_first_miss_l1_is_not_asked(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache *c = cache(&t, 3, 8, (struct lmcache_settings){0});
    RUN(c, 1, 2, 3);
    RUN(c, 9); /* 1 leaves L1 */
    op_text_is(&t, "l1.store 1 2 3, l2.store 1 2 3, l1.evict 1, l1.store 9, l2.store 9");
    struct lmcache_request r = look_up(c, (const uint64_t[]){1, 2, 3}, 3);
    assert_int_equal(r.hit_l1, 0);
    assert_int_equal(r.hit_l2, 3);
    lmcache_cancel(c, &r);
    lmcache_free(c);

    /* Without a disk the chunks behind the gap are of no use. */
    c = cache(&t, 3, 0, (struct lmcache_settings){0});
    RUN(c, 1, 2, 3);
    RUN(c, 9);
    r = look_up(c, (const uint64_t[]){1, 2, 3}, 3);
    assert_int_equal(r.hit_l1 + r.hit_l2, 0);
    lmcache_free(c);
}

static void test_a_store_makes_room_for_duplicates_first(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache *c = cache(&t, 4, 0, (struct lmcache_settings){0});
    RUN(c, 1, 2, 3, 4);
    /* Computed by another request that was looked up before 3 and 4 were stored. */
    store(c, (const uint64_t[]){3, 4, 5}, 3);
    op_text_is(&t, "l1.store 1 2 3 4, l1.evict 1 2 3, l1.store 3, l1.dup 4, l1.store 5");
    lmcache_free(c);
}

static void test_pins_count_and_hold(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache *c = cache(&t, 2, 0, (struct lmcache_settings){0});
    const uint64_t chain[] = {1, 2};
    RUN(c, 1, 2);
    struct lmcache_request a = look_up(c, chain, 2), b = look_up(c, chain, 1);
    RUN(c, 5);
    op_text_is(&t, "l1.store 1 2, l1.allocfail 5");
    assert_int_equal(lmcache_load(c, &a), 512);
    lmcache_loaded(c, &a);
    RUN(c, 5);
    op_text_is(&t, "l1.load 1 2, l1.evict 2, l1.store 5"); /* b still holds 1 */
    RUN(c, 6);
    op_text_is(&t, "l1.evict 5, l1.store 6");
    lmcache_cancel(c, &b);
    RUN(c, 7);
    op_text_is(&t, "l1.evict 1, l1.store 7");
    lmcache_free(c);
}

static void test_orders(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache *c = cache(&t, 3, 0, (struct lmcache_settings){.order = CHUNK_MRU});
    RUN(c, 1, 2, 3);
    RUN(c, 4);
    op_text_is(&t, "l1.store 1 2 3, l1.evict 3, l1.store 4");
    lmcache_free(c);
    c = cache(&t, 3, 0, (struct lmcache_settings){.order = CHUNK_LFU});
    RUN(c, 1, 2);
    RUN(c, 1);
    RUN(c, 3);
    RUN(c, 3);
    RUN(c, 4, 5); /* 2 with one use; of those with two, the one that has had them longest */
    op_text_is(&t, "l1.store 1 2, l1.load 1, l1.store 3, l1.load 3, l1.evict 2 1, l1.store 4 5");
    lmcache_free(c);
    c = cache(&t, 3, 0, (struct lmcache_settings){.order = CHUNK_FIFO});
    RUN(c, 1, 2, 3);
    RUN(c, 1);
    RUN(c, 4);
    op_text_is(&t, "l1.store 1 2 3, l1.load 1, l1.evict 1, l1.store 4");
    lmcache_free(c);
}

static void test_mru_on_disk_pushes_a_store_out_itself(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache *c = cache(&t, 8, 2, (struct lmcache_settings){.order = CHUNK_MRU});
    RUN(c, 1, 2, 3, 4);
    op_text_is(&t,
               "l1.store 1 2 3 4, l2.store 1 2, l2.evict 2, l2.store 3, l2.evict 3, l2.store 4");
    lmcache_free(c);
}

static void test_a_load_larger_than_l1_waits(void **state)
{
    (void)state;
    struct op_text t;
    for (int fixed = 0; fixed < 2; fixed++) {
        struct lmcache *c = cache(&t, 2, 8, (struct lmcache_settings){.fixed = fixed});
        const uint64_t chain[] = {1, 2, 3};
        RUN(c, 1, 2);
        store(c, chain + 2, 1);
        RUN(c, 8, 9);
        t = (struct op_text){0};
        struct lmcache_request r = look_up(c, chain, 3);
        assert_int_equal(r.hit_l2, 3);
        if (fixed) {
            assert_int_equal(lmcache_load(c, &r), 0);
            assert_int_equal(r.hit_tokens, 0);
            lmcache_loaded(c, &r);
            op_text_is(&t, "l1.evict 8 9, l1.hang 3");
        } else {
            assert_int_equal(lmcache_load(c, &r), -EAGAIN);
            assert_int_equal(lmcache_load(c, &r), -EAGAIN); /* told once */
            op_text_is(&t, "l1.evict 8 9, l1.hang 3");
            lmcache_cancel(c, &r);
        }
        RUN(c, 6, 7); /* no buffer was lost */
        op_text_is(&t, "l1.store 6 7, l2.store 6 7");
        lmcache_free(c);
    }
}

static void test_asynchronous_loading_keeps_files_for_ever(void **state)
{
    (void)state;
    struct op_text t;
    for (int fixed = 0; fixed < 2; fixed++) {
        struct lmcache *c =
            cache(&t, 2, 3, (struct lmcache_settings){.async_loading = true, .fixed = fixed});
        RUN(c, 1);
        RUN(c, 2, 3);
        t = (struct op_text){0};
        assert_int_equal(RUN(c, 1), 1);
        op_text_is(&t, "l1.evict 2, l2.load 1"); /* not promoted */
        RUN(c, 4, 5);
        RUN(c, 6, 7);
        if (fixed)
            assert_non_null(strstr(t.text, "l2.evict 1"));
        else
            assert_null(strstr(t.text, "l2.evict 1"));
        lmcache_free(c);
    }
}

static void test_a_write_under_way(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache *c = cache(&t, 2, 4, (struct lmcache_settings){.writes_held = true});
    const uint64_t chain[] = {1, 2};
    RUN(c, 1, 2);
    RUN(c, 5); /* the writes hold both buffers */
    op_text_is(&t, "l1.store 1 2, l2.store 1 2, l1.allocfail 5");
    lmcache_written(c, chain, 1);
    RUN(c, 5);
    op_text_is(&t, "l1.evict 1, l1.store 5, l2.store 5");
    struct lmcache_request r = look_up(c, chain, 2);
    assert_int_equal(r.hit_l2, 1); /* 2 cannot be found on the disk yet, and L1 is not asked */
    lmcache_cancel(c, &r);
    lmcache_written(c, (const uint64_t[]){2, 5}, 2);
    r = look_up(c, chain, 2);
    assert_int_equal(r.hit_l2, 2);
    lmcache_cancel(c, &r);
    lmcache_free(c);
}

static void test_min_retrieve_tokens(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache *c = cache(&t, 3, 0, (struct lmcache_settings){.min_retrieve_tokens = 300});
    RUN(c, 1, 2, 3);
    struct lmcache_request r = look_up(c, (const uint64_t[]){1, 2}, 2);
    r.gpu_tokens = 256; /* 256 tokens would be loaded */
    assert_int_equal(lmcache_load(c, &r), 0);
    lmcache_loaded(c, &r);
    op_text_is(&t, "l1.store 1 2 3");
    RUN(c, 4); /* but the hit was touched */
    op_text_is(&t, "l1.evict 3, l1.store 4");
    r = look_up(c, (const uint64_t[]){1, 2}, 2);
    r.gpu_tokens = 128;
    assert_int_equal(lmcache_load(c, &r), 384);
    op_text_is(&t, "l1.load 1 2");
    lmcache_free(c);
}

static void test_memory_of_a_block(void **state)
{
    (void)state;
    for (int order = 0; order <= CHUNK_MRU; order++) {
        struct chunks *c = chunks_create((enum chunk_order)order, (enum chunk_order)order);
        uint64_t chunks = 0;
        for (; chunks < 300000; chunks++) {
            assert_int_equal(chunks_reserve(c, 1), 0);
            chunks_put(c, CHUNK_L1, chunks_get(c, chunks * 7919));
            chunks_touch(c, CHUNK_L1, chunks_find(c, chunks / 2 * 7919));
            if (chunks > 1000)
                assert_true(chunks_memory(c) <= 96 * (chunks + 1));
        }
        while (chunks_count(c, CHUNK_L1) > 0)
            chunks_drop(c, CHUNK_L1, chunks_victim(c, CHUNK_L1));
        for (uint64_t i = 0; i < chunks; i++)
            assert_int_equal(chunks_find(c, i * 7919), CHUNK_NONE);
        chunks_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_chunks_leave_prefix_first),
        cmocka_unit_test(test_a_hit_is_touched_backwards),
        cmocka_unit_test(test_a_load_from_disk_touches_forwards_and_promotes),
        cmocka_unit_test(test_after_the_first_miss_l1_is_not_asked),
        cmocka_unit_test(test_a_store_makes_room_for_duplicates_first),
        cmocka_unit_test(test_pins_count_and_hold),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_mru_on_disk_pushes_a_store_out_itself),
        cmocka_unit_test(test_a_load_larger_than_l1_waits),
        cmocka_unit_test(test_asynchronous_loading_keeps_files_for_ever),
        cmocka_unit_test(test_a_write_under_way),
        cmocka_unit_test(test_min_retrieve_tokens),
        cmocka_unit_test(test_memory_of_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
