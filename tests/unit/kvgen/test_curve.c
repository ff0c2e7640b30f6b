/* The hit-rate curve on random streams against caches written out naively: LRU by stack distances
 * at every capacity, every policy against the hierarchy itself, the optimal bound against all ways
 * to serve a short stream, and the answer's points. A bug looked like a hit more or less at one
 * capacity, a bound that a policy passes, or a sample that is off by its rate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/curve/curve.h"
#include "kvgen/curve/optimal.h"
#include "kvgen/rng.h"
#include "kvgen/sim/hierarchy.h"
#include "tests/unit/scale.h"

enum {
    IDS = 40,
    USES = 600,
    SIZES = 12,
    FEW = 4, /* objects and uses of which every way is tried */
    SHORT = 9
};

/* A stream: mostly objects used lately. A request is a run of uses. */
struct stream {
    uint32_t id[USES];
    bool begins[USES]; /* a request */
    uint64_t size[IDS];
};

static void draw(struct stream *s, struct rng *rng, uint64_t max_size)
{
    for (int i = 0; i < IDS; i++)
        s->size[i] = 1 + rng_below(rng, max_size);
    uint64_t spread = 1 + rng_below(rng, IDS);
    for (int i = 0; i < USES; i++) {
        s->id[i] = (uint32_t)((rng_below(rng, spread) + (uint64_t)i / 50) % IDS);
        s->begins[i] = i == 0 || rng_below(rng, 4) == 0;
    }
}

static struct curve *make(const struct policy_ops *policy, const uint64_t *size, size_t sizes,
                          bool prefix, bool optimal)
{
    struct curve *c;
    struct curve_opts o = {.policy = policy,
                           .refills = policy == &policy_lru,
                           .prefix = prefix,
                           .sample = 1,
                           .optimal = optimal,
                           .size = size,
                           .sizes = sizes};
    assert_int_equal(curve_create(&c, &o, NULL), 0);
    return c;
}

static const struct curve_result *run(struct curve *c, const struct stream *s)
{
    const struct curve_result *r;
    for (int i = 0; i < USES; i++) {
        if (s->begins[i])
            curve_request(c);
        assert_int_equal(curve_lookup(c, ident_block(s->id[i]), s->size[s->id[i]]), 0);
    }
    assert_int_equal(curve_result(c, &r, NULL), 0);
    assert_int_equal(r->lookups, USES);
    return r;
}

/* Naive LRU as the last tier does it: order by use, the oldest go until the new one fits. */
static void naive(const struct stream *s, uint64_t capacity, bool prefix, uint64_t *hits,
                  uint64_t *bytes)
{
    uint32_t order[IDS]; /* newest first */
    int n = 0;
    uint64_t used = 0;
    bool broken = false;
    *hits = *bytes = 0;
    for (int i = 0; i < USES; i++) {
        uint32_t id = s->id[i];
        int at = 0;
        broken &= !s->begins[i];
        while (at < n && order[at] != id)
            at++;
        if (at < n) {
            *hits += !broken;
            *bytes += broken ? 0 : s->size[id];
        } else {
            broken = prefix;
            while (n > 0 && used + s->size[id] > capacity)
                used -= s->size[order[--n]];
            used += s->size[id];
            at = n++;
        }
        memmove(order + 1, order, (size_t)at * sizeof(*order));
        order[0] = id;
    }
}

static void rising_sizes(uint64_t *size, struct rng *rng, uint64_t most)
{
    uint64_t at = rng_below(rng, 3);
    for (int i = 0; i < SIZES; i++) {
        size[i] = at;
        at += 1 + rng_below(rng, most);
    }
}

static void check_lru(uint64_t max_size, bool prefix)
{
    struct rng rng;
    rng_seed(&rng, max_size, prefix);
    for (int round = 0; round < scaled(300); round++) {
        struct stream s;
        uint64_t size[SIZES], hits, bytes;
        draw(&s, &rng, max_size);
        rising_sizes(size, &rng, max_size * 4);
        struct curve *c = make(&policy_lru, size, SIZES, prefix, false);
        assert_false(curve_simulates(c));
        const struct curve_result *r = run(c, &s);
        for (size_t i = 0; i < r->points; i++) {
            naive(&s, r->point[i].capacity, prefix, &hits, &bytes);
            assert_int_equal(r->point[i].hits, hits);
            assert_int_equal(r->point[i].hit_bytes, bytes);
        }
        naive(&s, UINT64_MAX, prefix, &hits, &bytes);
        assert_int_equal(r->point[r->points - 1].hits, hits);
        if (r->need > 0) { /* one byte less and a hit is lost */
            naive(&s, r->need, prefix, &bytes, &hits);
            uint64_t enough = bytes;
            naive(&s, r->need - 1, prefix, &bytes, &hits);
            assert_true(bytes < enough);
        }
        curve_free(c);
    }
}

static void lru_is_exact_for_equal_sizes(void **state)
{
    (void)state;
    check_lru(1, false);
    check_lru(1, true);
}

static void lru_is_exact_for_any_sizes(void **state)
{
    (void)state;
    check_lru(5, false);
    check_lru(100, true);
}

static void no_rows(void *ctx, const struct hierarchy_op *op)
{
    (void)ctx;
    (void)op;
}

/* The hits of kvgen itself with that much storage and nothing else. */
static uint64_t hierarchy_hits(const struct policy_ops *policy, const struct stream *s,
                               uint64_t capacity, bool probes)
{
    struct hierarchy_opts o = {.capacity = {0, 0, capacity},
                               .large_entry_limit_ratio = 0.95,
                               .target_usage_ratio = 0.8,
                               .policy = policy};
    struct hierarchy *h = hierarchy_create(&o, no_rows, NULL);
    uint64_t hits = 0;
    for (int i = 0; i < USES; i++) {
        struct ident id = ident_block(s->id[i]);
        if (hierarchy_read(h, id, TRACE_BLOCK))
            hits++;
        else if (!probes || s->begins[i])
            hierarchy_write(h, id, s->size[s->id[i]], 1, TRACE_BLOCK);
    }
    hierarchy_free(h);
    return hits;
}

static void every_policy_is_the_hierarchys(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 5, 5);
    for (int round = 0; round < scaled(60); round++)
        for (int p = 0; p < POLICIES; p++) {
            struct stream s;
            uint64_t size[SIZES];
            draw(&s, &rng, 9);
            rising_sizes(size, &rng, 40);
            size[0] = 1; /* the hierarchy takes 0 for absent */
            size[1] = size[1] > 1 ? size[1] : 2;
            size[2] = size[2] > 2 ? size[2] : 3;
            struct curve *c = make(policies[p], size, SIZES, false, false);
            const struct curve_result *r = run(c, &s);
            for (size_t i = 0; i < r->points && r->point[i].capacity > 0; i++)
                assert_int_equal(r->point[i].hits,
                                 hierarchy_hits(policies[p], &s, r->point[i].capacity, false));
            curve_free(c);
        }
}

/* Lookups whose misses are not filled cannot come from distances, and are simulated. */
static void probes_are_the_hierarchys(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 6, 6);
    for (int round = 0; round < scaled(100); round++) {
        struct stream s;
        uint64_t size[SIZES] = {3, 5, 9, 14, 20, 27, 35, 44, 54, 65, 77, 90};
        const struct curve_result *r;
        struct curve_opts o = {
            .policy = &policy_lru, .sample = 1, .size = size, .sizes = SIZES, .optimal = true};
        struct curve *c;
        draw(&s, &rng, 9);
        assert_int_equal(curve_create(&c, &o, NULL), 0);
        assert_true(curve_simulates(c));
        for (int i = 0; i < USES; i++) {
            struct ident id = ident_block(s.id[i]);
            assert_int_equal(
                s.begins[i] ? curve_lookup(c, id, s.size[s.id[i]]) : curve_probe(c, id), 0);
        }
        assert_int_equal(curve_result(c, &r, NULL), 0);
        for (size_t i = 0; i < r->points; i++) {
            assert_int_equal(r->point[i].hits,
                             hierarchy_hits(&policy_lru, &s, r->point[i].capacity, true));
            assert_true(r->point[i].optimal_hits >= r->point[i].hits);
            assert_true(r->point[i].optimal_hit_bytes >= r->point[i].hit_bytes);
        }
        curve_free(c);
    }
}

/* Simulated sizes keep the prefix rule as stack distances do. */
static void prefixes_agree(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 8, 8);
    for (int round = 0; round < scaled(50); round++) {
        struct stream s;
        uint64_t size[SIZES], hits, bytes;
        draw(&s, &rng, 7);
        rising_sizes(size, &rng, 30);
        struct curve_opts o = {
            .policy = &policy_lru, .sample = 1, .prefix = true, .size = size, .sizes = SIZES};
        struct curve *c;
        assert_int_equal(curve_create(&c, &o, NULL), 0);
        const struct curve_result *r = run(c, &s);
        for (size_t i = 0; i < r->points; i++) {
            naive(&s, r->point[i].capacity, true, &hits, &bytes);
            assert_int_equal(r->point[i].hits, hits);
            assert_int_equal(r->point[i].hit_bytes, bytes);
        }
        curve_free(c);
    }
}

/* A write that is no lookup brings its object in, and is not counted. */
static void writes_count_for_nothing(void **state)
{
    (void)state;
    uint64_t size[1] = {10};
    for (int simulated = 0; simulated < 2; simulated++) {
        const struct curve_result *r;
        struct curve *c = make(simulated ? &policy_fifo : &policy_lru, size, 1, false, false);
        curve_write(c, ident_block(1), 6);
        curve_lookup(c, ident_block(1), 6);
        curve_write(c, ident_block(2), 6);
        curve_write(c, ident_block(2), 6);
        curve_lookup(c, ident_block(1), 6);
        assert_int_equal(curve_result(c, &r, NULL), 0);
        assert_int_equal(r->lookups, 2);
        assert_int_equal(r->lookup_bytes, 12);
        assert_int_equal(r->point[0].hits, 1);
        assert_int_equal(r->point[1].hits, 2);
        assert_int_equal(r->point[1].capacity, 12);
        curve_free(c);
    }
}

/* Each of a thousand requests under way knows its own prefix, and one that is over begins anew. */
static void prefixes_of_requests_that_mix(void **state)
{
    (void)state;
    uint64_t size[1] = {1 << 20};
    const struct curve_result *r;
    struct curve_opts o = {
        .policy = &policy_lru, .sample = 1, .prefix = true, .size = size, .sizes = 1};
    struct curve *c;
    assert_int_equal(curve_create(&c, &o, NULL), 0);
    assert_int_equal(curve_lookup(c, ident_block(0), 1), 0);
    for (int64_t request = 0; request < 1000; request++) { /* the even ones miss */
        assert_int_equal(curve_resume(c, request), 0);
        if (request % 2 == 0)
            assert_int_equal(curve_lookup(c, ident_block((uint64_t)request + 1), 1), 0);
    }
    for (int64_t request = 0; request < 1000; request++) {
        assert_int_equal(curve_resume(c, request), 0);
        assert_int_equal(curve_lookup(c, ident_block(0), 1), 0);
        curve_end_request(c, request);
    }
    assert_int_equal(curve_resume(c, 0), 0);
    assert_int_equal(curve_lookup(c, ident_block(0), 1), 0);
    assert_int_equal(curve_result(c, &r, NULL), 0);
    assert_int_equal(r->point[0].hits, 501);
    curve_free(c);
}

/* Lookups of an object that is written later have its bytes, whoever writes it. */
static void awaited_objects_have_a_size(void **state)
{
    (void)state;
    uint64_t size[1] = {10};
    const struct curve_result *r;
    struct curve *c = make(&policy_fifo, size, 1, false, true);
    assert_int_equal(curve_await(c, ident_block(1)), 0);
    assert_int_equal(curve_await(c, ident_block(1)), 0);
    assert_int_equal(curve_await(c, ident_block(2)), 0);
    assert_int_equal(curve_await(c, ident_block(3)), 0);
    assert_int_equal(curve_write(c, ident_block(1), 5), 0);
    assert_int_equal(curve_lookup(c, ident_block(2), 7), 0);
    assert_int_equal(curve_await(c, ident_block(1)), 0);
    assert_int_equal(curve_result(c, &r, NULL), 0);
    assert_int_equal(r->lookups, 6);
    assert_int_equal(r->lookup_bytes, 5 + 5 + 7 + 7 + 5);
    assert_int_equal(r->point[0].hits, 0);
    assert_int_equal(r->point[1].hits, 1);
    curve_free(c);
}

/* ---- the bound ---- */

/* The most hits (or bytes) from use i on, over all choices of what to keep: sets as bits. */
static uint64_t best_of(const struct stream *s, int i, int end, unsigned kept, uint64_t capacity,
                        bool bytes)
{
    if (i == end)
        return 0;
    uint32_t id = s->id[i];
    uint64_t value = (kept >> id & 1) == 0 ? 0 : bytes ? s->size[id] : 1, best = 0;
    unsigned all = kept | 1u << id;
    for (unsigned keep = all;; keep = (keep - 1) & all) {
        uint64_t used = 0;
        for (int o = 0; o < FEW; o++)
            used += (keep >> o & 1) != 0 ? s->size[o] : 0;
        if (used <= capacity || keep == 1u << id) { /* one that is too large is taken alone */
            uint64_t rest = best_of(s, i + 1, end, keep, capacity, bytes);
            best = rest > best ? rest : best;
        }
        if (keep == 0)
            return value + best;
    }
}

static void check_bound(uint64_t max_size)
{
    struct rng rng;
    rng_seed(&rng, max_size, 77);
    for (int round = 0; round < scaled(40); round++) {
        struct stream s;
        draw(&s, &rng, max_size);
        if (max_size > 1 && round % 4 == 0)
            s.size[rng_below(&rng, FEW)] = 0;
        struct optimal *o = optimal_create();
        uint32_t number[FEW];
        uint32_t seen = 0;
        memset(number, 0xff, sizeof(number));
        for (int i = 0; i < SHORT; i++) {
            uint32_t id = s.id[i] = (uint32_t)rng_below(&rng, FEW);
            if (number[id] == UINT32_MAX)
                number[id] = seen++;
            assert_int_equal(optimal_use(o, number[id], s.size[id], OPTIMAL_LOOKUP), 0);
        }
        assert_int_equal(optimal_begin(o), 0);
        for (uint64_t capacity = 0; capacity <= 4 * max_size; capacity++) {
            uint64_t hits, bytes;
            optimal_hits(o, capacity, &hits, &bytes);
            uint64_t most = best_of(&s, 0, SHORT, 0, capacity, false);
            assert_true(hits >= most);
            assert_true(bytes >= best_of(&s, 0, SHORT, 0, capacity, true));
            if (max_size == 1)
                assert_int_equal(hits, most);
        }
        optimal_free(o);
    }
}

static void bound_of_equal_sizes_is_the_best(void **state)
{
    (void)state;
    check_bound(1);
}

static void bound_of_other_sizes_is_one(void **state)
{
    (void)state;
    check_bound(4);
}

static void no_policy_passes_the_bound(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 9, 9);
    for (int round = 0; round < scaled(100); round++)
        for (int p = 0; p < POLICIES; p++) {
            struct stream s;
            uint64_t size[SIZES], max_size = round % 2 == 0 ? 1 : 8;
            draw(&s, &rng, max_size);
            rising_sizes(size, &rng, max_size * 4);
            struct curve *c = make(policies[p], size, SIZES, false, true);
            const struct curve_result *r = run(c, &s);
            for (size_t i = 0; i < r->points; i++) {
                assert_true(r->point[i].optimal_hits >= r->point[i].hits);
                assert_true(r->point[i].optimal_hit_bytes >= r->point[i].hit_bytes);
            }
            assert_int_equal(r->point[r->points - 1].optimal_hits, r->point[r->points - 1].hits);
            curve_free(c);
        }
}

/* ---- the answer ---- */

/* Uses of n objects of which a few are used most; sampled at a tenth it comes near the truth. */
static void sample_is_near(void **state)
{
    (void)state;
    uint64_t size[6] = {500, 1000, 2000, 4000, 8000, 16000};
    for (int p = 0; p < 2; p++) {
        struct curve_opts o = {.policy = p == 0 ? &policy_lru : &policy_sieve,
                               .refills = true,
                               .sample = 1,
                               .size = size,
                               .sizes = 6};
        struct curve *all, *some;
        const struct curve_result *a, *b;
        struct rng rng;
        rng_seed(&rng, 3, 3);
        assert_int_equal(curve_create(&all, &o, NULL), 0);
        o.sample = 0.1;
        assert_int_equal(curve_create(&some, &o, NULL), 0);
        for (int i = 0; i < 200000; i++) {
            uint64_t id = rng_below(&rng, 1 + rng_below(&rng, 20000));
            curve_lookup(all, ident_block(id), 1);
            curve_lookup(some, ident_block(id), 1);
        }
        assert_int_equal(curve_result(all, &a, NULL), 0);
        assert_int_equal(curve_result(some, &b, NULL), 0);
        assert_int_equal(b->lookups, 200000);
        for (int i = 0; i < 6; i++) {
            double difference = (double)a->point[i].hits - (double)b->point[i].hits;
            assert_true(difference < 0.02 * 200000 && difference > -0.02 * 200000);
        }
        curve_free(all);
        curve_free(some);
    }
}

/* Ten objects in a circle, and one that is used in between: the knee is where that one fits. */
static void knee_is_where_it_bends(void **state)
{
    (void)state;
    uint64_t size[4] = {1, 2, 6, 9};
    const struct curve_result *r;
    struct curve *c = make(&policy_lru, size, 4, false, false);
    for (int i = 0; i < 1000; i++)
        for (uint64_t k = 0; k < 5; k++)
            curve_lookup(c, ident_block(k < 4 ? 99 + k % 2 * ((uint64_t)i % 10 + 1) : 99), 1);
    assert_int_equal(curve_result(c, &r, NULL), 0);
    assert_int_equal(r->need, 11);
    assert_int_equal(r->points, 5);
    assert_int_equal(r->knee, 1);
    curve_free(c);
}

static void nothing_gives_no_knee(void **state)
{
    (void)state;
    const struct curve_result *r;
    struct curve *c = make(&policy_lru, NULL, 0, false, true);
    assert_int_equal(curve_result(c, &r, NULL), 0);
    assert_int_equal(r->lookups, 0);
    assert_int_equal(r->point[r->points - 1].hits, 0);
    assert_true(r->knee == CURVE_NO_KNEE);
    curve_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lru_is_exact_for_equal_sizes),
        cmocka_unit_test(lru_is_exact_for_any_sizes),
        cmocka_unit_test(every_policy_is_the_hierarchys),
        cmocka_unit_test(probes_are_the_hierarchys),
        cmocka_unit_test(prefixes_agree),
        cmocka_unit_test(prefixes_of_requests_that_mix),
        cmocka_unit_test(awaited_objects_have_a_size),
        cmocka_unit_test(writes_count_for_nothing),
        cmocka_unit_test(bound_of_equal_sizes_is_the_best),
        cmocka_unit_test(bound_of_other_sizes_is_one),
        cmocka_unit_test(no_policy_passes_the_bound),
        cmocka_unit_test(sample_is_near),
        cmocka_unit_test(knee_is_where_it_bends),
        cmocka_unit_test(nothing_gives_no_knee),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
