/* LMCache's multi-process server, rule by rule. A bug looked like a store that took what fitted, a
 * loop that evicted to a target, or a gap in L1 that ended a prefix which L2 goes on with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kvgen/cache/lmcache_mp.h"
#include "kvgen/rng.h"
#include "tests/unit/caches/op_text.h"

/* The chunks that the last store put in L1. */
static uint64_t stored[16], stores;

static void told(void *arg, enum lmcache_mp_op op, uint64_t chunk)
{
    if (op == LMCACHE_MP_L1_STORE)
        stored[stores++] = chunk;
    op_text_add(arg, lmcache_mp_op_names[op], chunk);
}

static struct lmcache_mp *cache(struct op_text *t, uint64_t l1, uint64_t l2, bool retain, bool skip)
{
    const struct lmcache_mp_settings set = {
        .l1 = {l1, 0.8, 0.2}, .l2 = {l2, 0.8, 0.2}, .retain = retain, .skip_l1 = skip};
    *t = (struct op_text){0};
    struct lmcache_mp *c = lmcache_mp_create(&set, told, t);
    assert_non_null(c);
    return c;
}

static void look_up(struct lmcache_mp *c, struct lmcache_mp_request *r)
{
    assert_int_equal(lmcache_mp_look_up(c, r), 0);
    lmcache_mp_loaded(c, r);
}

static void run(struct lmcache_mp *c, const uint64_t *chunk, uint64_t n)
{
    struct lmcache_mp_request r = {.chunk = chunk, .chunks = n};
    look_up(c, &r);
    lmcache_mp_read(c, &r);
    stores = 0;
    assert_int_equal(lmcache_mp_store(c, chunk + r.hit, n - r.hit), 0);
    assert_int_equal(lmcache_mp_submit(c, stored, stores), 0);
    lmcache_mp_end(c, &r);
}
#define RUN(c, ...)                                                                                \
    run(c, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static void test_a_store_is_all_or_nothing(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache_mp *c = cache(&t, 4, 0, false, false);
    RUN(c, 1, 2, 3);
    RUN(c, 7, 8);
    op_text_is(&t, "l1.store 1 2 3, l1.oom 7 8");
    RUN(c, 9);
    op_text_is(&t, "l1.store 9");
    lmcache_mp_free(c);
}

static void test_the_loop_makes_one_pass_suffix_first(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache_mp *c = cache(&t, 10, 0, false, false);
    RUN(c, 1, 2, 3, 4, 5, 6, 7);
    lmcache_mp_evict(c); /* below the watermark */
    op_text_is(&t, "l1.store 1 2 3 4 5 6 7");
    RUN(c, 11, 12, 13);
    lmcache_mp_evict(c); /* two of ten, though eight are still 0.8 */
    op_text_is(&t, "l1.store 11 12 13, l1.evict 7 6");
    lmcache_mp_evict(c);
    op_text_is(&t, "l1.evict 5");
    lmcache_mp_free(c);
}

static void test_locked_keys_stay(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache_mp *c = cache(&t, 4, 0, false, false);
    const uint64_t chain[] = {1, 2};
    RUN(c, 1, 2);
    struct lmcache_mp_request r = {.chunk = chain, .chunks = 2};
    look_up(c, &r);
    RUN(c, 3, 4);
    lmcache_mp_evict(c);
    op_text_is(&t, "l1.store 1 2 3 4, l1.evict 4");
    lmcache_mp_read(c, &r);
    lmcache_mp_end(c, &r);
    op_text_is(&t, "read 1 2");
    lmcache_mp_free(c);
}

static void test_mixed_tiers_hit(void **state)
{
    (void)state;
    struct op_text t;
    for (int retain = 0; retain < 2; retain++) {
        struct lmcache_mp *c = cache(&t, 5, UINT64_MAX, retain, false);
        RUN(c, 1, 2, 3, 4);
        RUN(c, 4); /* ids say nothing of the place: now 3 is the oldest */
        lmcache_mp_evict(c);
        t = (struct op_text){0};
        RUN(c, 1, 2, 3, 4);
        op_text_is(&t, retain ? "l2.load 3, l1.promote 3, read 1 2 3 4"
                              : "l2.load 3, l1.temp 3, read 1 2 3 4, l1.droptemp 3");
        lmcache_mp_free(c);
    }
}

static void test_loads_that_do_not_fit_cut_the_prefix(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache_mp *c = cache(&t, 3, UINT64_MAX, false, true);
    RUN(c, 1, 2);
    op_text_is(&t, "l1.store 1 2, l2.store 1 2, l1.delete 1 2");
    RUN(c, 3, 4);
    t = (struct op_text){0};
    const uint64_t a[] = {1, 2}, b[] = {3, 4};
    struct lmcache_mp_request reads = {.chunk = a, .chunks = 2}, waits = {.chunk = b, .chunks = 2};
    look_up(c, &reads);
    look_up(c, &waits);
    assert_int_equal(waits.hit, 0);
    op_text_is(&t, "l2.load 1 2, l1.temp 1 2, l1.oom 3 4");
    lmcache_mp_read(c, &reads);
    lmcache_mp_free(c);
}

static void test_two_readers_of_what_was_loaded_for_reading(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache_mp *c = cache(&t, 4, UINT64_MAX, false, true);
    RUN(c, 1);
    t = (struct op_text){0};
    const uint64_t chain[] = {1};
    struct lmcache_mp_request a = {.chunk = chain, .chunks = 1}, b = a;
    assert_int_equal(lmcache_mp_look_up(c, &a), 0);
    assert_int_equal(lmcache_mp_look_up(c, &b), 1); /* a's load is under way */
    lmcache_mp_loaded(c, &a);
    look_up(c, &b);
    assert_int_equal(b.hit_l2, 0);
    lmcache_mp_read(c, &a);
    op_text_is(&t, "l2.load 1, l1.temp 1, read 1");
    lmcache_mp_read(c, &b);
    op_text_is(&t, "read 1, l1.droptemp 1");
    lmcache_mp_free(c);
}

static void test_l2_has_its_own_loop_and_refuses_nothing(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache_mp *c = cache(&t, 100, 5, false, false);
    RUN(c, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    lmcache_mp_evict(c);
    op_text_is(&t, "l1.store 1 2 3 4 5 6 7 8 9 10, l2.store 1 2 3 4 5 6 7 8 9 10, l2.evict 10 9");
    lmcache_mp_free(c);
}

static void test_a_write_under_way(void **state)
{
    (void)state;
    struct op_text t = {0};
    const struct lmcache_mp_settings set = {
        .l1 = {4, 0.5, 1}, .l2 = {UINT64_MAX, 0.8, 0.2}, .skip_l1 = true, .writes_held = true};
    struct lmcache_mp *c = lmcache_mp_create(&set, told, &t);
    const uint64_t chain[] = {1, 2};
    assert_non_null(c);
    RUN(c, 1, 2);
    lmcache_mp_evict(c); /* both are being read */
    op_text_is(&t, "l1.store 1 2, l2.store 1 2");
    lmcache_mp_written(c, chain, 2);
    op_text_is(&t, "l1.delete 1 2");
    lmcache_mp_free(c);
}

static void test_a_call_leaves_l1_as_a_whole(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache_mp *c = cache(&t, 4, UINT64_MAX, false, true);
    RUN(c, 1);
    op_text_is(&t, "l1.store 1, l2.store 1, l1.delete 1");
    RUN(c, 5, 1); /* the file of 1 is there */
    op_text_is(&t, "l1.store 5 1, l2.dup 1, l2.store 5, l1.delete 5 1");
    lmcache_mp_free(c);
}

static void test_a_drive_that_is_full(void **state)
{
    (void)state;
    struct op_text t = {0};
    struct lmcache_mp_settings set = {.l1 = {9, 1, 0.2}, .l2 = {UINT64_MAX, 1, 0.2}, .l2_room = 3};
    struct lmcache_mp *c = lmcache_mp_create(&set, told, &t);
    assert_non_null(c);
    RUN(c, 1, 2);
    RUN(c, 3, 4);
    op_text_is(&t, "l1.store 1 2, l2.store 1 2, l1.store 3 4, l2.store 3, l2.full 4");
    lmcache_mp_free(c);
    /* A cleaner takes what was read longest ago: down to nine tenths of three. */
    set.l2_clean = true;
    c = lmcache_mp_create(&set, told, &t);
    assert_non_null(c);
    RUN(c, 1, 2);
    RUN(c, 3, 4);
    op_text_is(&t, "l1.store 1 2, l2.store 1 2, l1.store 3 4, l2.store 3, l2.clean 2, l2.store 4");
    lmcache_mp_free(c);
}

/* ---- ARC ---- */

static struct lmcache_mp *arc_cache(struct op_text *t, uint64_t l1, double watermark, double ratio)
{
    const struct lmcache_mp_settings set = {.l1 = {l1, watermark, ratio}, .arc = true};
    *t = (struct op_text){0};
    struct lmcache_mp *c = lmcache_mp_create(&set, told, t);
    assert_non_null(c);
    return c;
}
/* Stores, in a session that goes on. */
static void store(struct lmcache_mp *c, const uint64_t *chunk, uint64_t n)
{
    stores = 0;
    assert_int_equal(lmcache_mp_store(c, chunk, n), 0);
}
#define STORE(c, ...)                                                                              \
    store(c, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static void test_arc_drops_what_only_came_until_it_comes_again(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache_mp *c = arc_cache(&t, 10, 0.8, 0.5);
    RUN(c, 1, 2, 3); /* its session ended: it was used */
    STORE(c, 5, 6, 7, 8, 9);
    t = (struct op_text){0};
    lmcache_mp_evict(c);
    op_text_is(&t, "l1.evict 9 8 7 6");
    STORE(c, 6, 7, 8, 9); /* each moves the target by one, and counts as used */
    assert_true(lmcache_mp_target(c) == 4);
    t = (struct op_text){0};
    lmcache_mp_evict(c);
    op_text_is(&t, "l1.evict 3 2 1 9");
    STORE(c, 9);
    assert_true(lmcache_mp_target(c) == 3);
    lmcache_mp_free(c);
}

static void test_arc_spares_what_is_locked(void **state)
{
    (void)state;
    struct op_text t;
    struct lmcache_mp *c = arc_cache(&t, 4, 0.5, 1);
    const uint64_t chain[] = {1, 2};
    RUN(c, 1, 2);
    struct lmcache_mp_request r = {.chunk = chain, .chunks = 2};
    look_up(c, &r);
    STORE(c, 5, 6);
    t = (struct op_text){0};
    lmcache_mp_evict(c);
    op_text_is(&t, "l1.evict 6 5");
    lmcache_mp_read(c, &r);
    lmcache_mp_free(c);
}

static void test_arc_forgets_what_the_loop_did_not_drop(void **state)
{
    (void)state;
    struct op_text t = {0};
    const struct lmcache_mp_settings set = {
        .l1 = {4, 0.5, 1}, .l2 = {UINT64_MAX, 1, 1}, .arc = true, .skip_l1 = true};
    struct lmcache_mp *c = lmcache_mp_create(&set, told, &t);
    assert_non_null(c);
    RUN(c, 1);
    RUN(c, 1); /* loaded to be read, and dropped */
    STORE(c, 1);
    assert_true(lmcache_mp_target(c) == 0);
    lmcache_mp_free(c);
}

/* The rules as lists: what came, what was used, and what left either. */
enum {
    ONCE,
    AGAIN,
    LEFT_ONCE,
    LEFT_AGAIN,
    MODEL_LISTS,
    MODEL_KEYS = 40
};
struct model {
    uint64_t key[MODEL_LISTS][2 * MODEL_KEYS];
    int n[MODEL_LISTS], most;
    double target;
};

static bool model_take(struct model *m, int list, uint64_t key)
{
    for (int i = 0; i < m->n[list]; i++)
        if (m->key[list][i] == key) {
            m->n[list]--;
            memmove(&m->key[list][i], &m->key[list][i + 1], (size_t)(m->n[list] - i) * sizeof(key));
            return true;
        }
    return false;
}

static void model_add(struct model *m, int list, uint64_t key)
{
    m->key[list][m->n[list]++] = key;
}

static void model_come(struct model *m, uint64_t key)
{
    for (int list = LEFT_ONCE; list <= LEFT_AGAIN; list++) {
        const double hit = m->n[list], other = m->n[LEFT_ONCE + LEFT_AGAIN - list];
        if (!model_take(m, list, key))
            continue;
        m->target += (list == LEFT_ONCE ? 1 : -1) * (other / hit > 1 ? other / hit : 1);
        m->target = m->target < 0 ? 0 : m->target > m->most ? m->most : m->target;
        model_add(m, AGAIN, key);
        goto came;
    }
    model_add(m, ONCE, key);
came:
    if (m->n[ONCE] + m->n[AGAIN] > m->most)
        m->most = m->n[ONCE] + m->n[AGAIN];
    while (m->n[LEFT_ONCE] && m->n[ONCE] + m->n[LEFT_ONCE] > m->most)
        model_take(m, LEFT_ONCE, m->key[LEFT_ONCE][0]);
    while (m->n[ONCE] + m->n[AGAIN] + m->n[LEFT_ONCE] + m->n[LEFT_AGAIN] > 2 * m->most) {
        const int list = m->n[LEFT_AGAIN] ? LEFT_AGAIN : LEFT_ONCE;
        model_take(m, list, m->key[list][0]);
    }
}

static void model_evict(struct model *m, int go, struct op_text *t)
{
    while (go-- > 0) {
        const int list =
            m->n[ONCE] && (m->n[ONCE] >= (int)m->target || !m->n[AGAIN]) ? ONCE : AGAIN;
        const uint64_t key = m->key[list][0];
        model_take(m, list, key);
        model_add(m, LEFT_ONCE + list, key);
        op_text_add(t, lmcache_mp_op_names[LMCACHE_MP_L1_EVICT], key);
    }
}

static void test_arc_against_its_rules(void **state)
{
    (void)state;
    struct op_text t, want;
    struct rng rng;
    struct model m = {0};
    struct lmcache_mp *c = arc_cache(&t, 20, 0.6, 0.25);
    double highest = 0;
    rng_seed(&rng, 11, 0);
    for (int round = 0; round < 20000; round++) {
        const uint64_t key = 1 + rng_below(&rng, MODEL_KEYS);
        const int there = m.n[ONCE] + m.n[AGAIN];
        const bool has = model_take(&m, ONCE, key) || model_take(&m, AGAIN, key);
        if (has) { /* it is used, as at the end of a session */
            const struct lmcache_mp_request r = {.chunk = &key, .chunks = 1};
            model_add(&m, AGAIN, key);
            assert_int_equal(lmcache_mp_end(c, &r), 0);
        } else if (there < 20) {
            model_come(&m, key);
            STORE(c, key);
        }
        if (rng_below(&rng, 3))
            continue;
        want = t = (struct op_text){0};
        const int now = m.n[ONCE] + m.n[AGAIN];
        if (now >= 12)
            model_evict(&m, now / 4, &want);
        lmcache_mp_evict(c);
        op_text_is(&t, want.text);
        assert_true(lmcache_mp_target(c) == m.target);
        highest = m.target > highest ? m.target : highest;
    }
    assert_true(highest > 2); /* the target did move */
    lmcache_mp_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_store_is_all_or_nothing),
        cmocka_unit_test(test_the_loop_makes_one_pass_suffix_first),
        cmocka_unit_test(test_locked_keys_stay),
        cmocka_unit_test(test_mixed_tiers_hit),
        cmocka_unit_test(test_loads_that_do_not_fit_cut_the_prefix),
        cmocka_unit_test(test_two_readers_of_what_was_loaded_for_reading),
        cmocka_unit_test(test_a_write_under_way),
        cmocka_unit_test(test_l2_has_its_own_loop_and_refuses_nothing),
        cmocka_unit_test(test_a_call_leaves_l1_as_a_whole),
        cmocka_unit_test(test_a_drive_that_is_full),
        cmocka_unit_test(test_arc_drops_what_only_came_until_it_comes_again),
        cmocka_unit_test(test_arc_spares_what_is_locked),
        cmocka_unit_test(test_arc_forgets_what_the_loop_did_not_drop),
        cmocka_unit_test(test_arc_against_its_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
