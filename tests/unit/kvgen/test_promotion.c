/* Promotion: a hit object goes to the top, and demotions make room for it. A bug looked like an
 * object that was deleted by its own promotion, or read out of its tier and written back to it. */
#include "tests/unit/kvgen/hierarchy_book.h"

static struct hierarchy_opts promoting(uint64_t gpu, uint64_t cpu, uint64_t storage)
{
    struct hierarchy_opts o = tiers(gpu, cpu, storage);
    o.promote = HIERARCHY_PROMOTE_ON_HIT;
    return o;
}

/* A read takes its object to the top: out of its tier first, so that the demotion that makes room
 * finds it there, and nothing is deleted. */
static void hit_exchanges(void **state)
{
    (void)state;
    struct hierarchy_opts o = promoting(100, 0, 80);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    for (uint64_t i = 0; i < 4; i++)
        write_size(h, &b, i, 40);
    assert_int_equal(b.tier[0], TRACE_STORAGE);
    assert_true(read_id(h, &b, 0));
    static const enum trace_op op[] = {TRACE_READ, TRACE_READ, TRACE_READ, TRACE_WRITE,
                                       TRACE_WRITE};
    static const enum trace_class class[] = {TRACE_USER, TRACE_PROMOTE, TRACE_CLASS_EVICT,
                                             TRACE_CLASS_EVICT, TRACE_PROMOTE};
    static const int tier[] = {TRACE_STORAGE, TRACE_STORAGE, TRACE_GPU, TRACE_STORAGE, TRACE_GPU};
    static const uint64_t id[] = {0, 0, 2, 2, 0};
    assert_int_equal(b.ops, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(b.op[i].op, op[i]);
        assert_int_equal(b.op[i].class, class[i]);
        assert_int_equal(b.op[i].tier, tier[i]);
        assert_int_equal(b.op[i].id.lo, id[i]);
    }
    assert_int_equal(b.counts.tier[TRACE_STORAGE].promoted, 1);
    assert_true(read_id(h, &b, 0)); /* at the top already: one row */
    assert_int_equal(b.ops, 1);
    hierarchy_free(h);
}

/* Too large for every tier above: stays, without a row. */
static void hit_stays(void **state)
{
    (void)state;
    struct hierarchy_opts o = promoting(100, 50, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    write_size(h, &b, 1, 96);
    assert_true(read_id(h, &b, 1));
    assert_int_equal(b.ops, 1);
    assert_int_equal(b.tier[1], TRACE_STORAGE);
    hierarchy_free(h);
}

/* The second victim above is too large for the tier between, and so is the object: it is written
 * back where it was, and nothing counts as promoted. */
static void hit_returns(void **state)
{
    (void)state;
    struct hierarchy_opts o = promoting(100, 10, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    write_size(h, &b, 1, 5);
    write_size(h, &b, 2, 60);
    write_size(h, &b, 3, 30);
    assert_int_equal(b.tier[3], TRACE_STORAGE);
    assert_int_equal(b.tier[1], TRACE_CPU); /* demoted for 3, in vain */
    assert_true(read_id(h, &b, 1));
    assert_int_equal(b.tier[1], TRACE_GPU);
    assert_true(read_id(h, &b, 2)); /* 1 is the oldest again */
    assert_true(read_id(h, &b, 3));
    assert_int_equal(b.ops, 5);
    assert_int_equal(b.op[4].class, TRACE_PROMOTE);
    assert_int_equal(b.op[4].tier, TRACE_STORAGE);
    assert_int_equal(b.tier[1], TRACE_CPU);
    assert_int_equal(b.counts.tier[TRACE_STORAGE].promoted, 0);
    hierarchy_free(h);
}

/* The tier above could only take it after a demotion, and its victim is too large for the tier
 * between: nothing moves. Such a read was followed by a read and a write of the whole object, out
 * of its tier and back. */
static void hit_without_effect(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct hierarchy_opts o = promoting(100, 10, HIERARCHY_UNLIMITED);
        o.policy = policies[i];
        struct book b;
        struct hierarchy *h = begin(&b, &o);
        write_size(h, &b, 1, 60);
        write_size(h, &b, 2, 30);
        assert_int_equal(b.tier[2], TRACE_STORAGE);
        for (int reads = 0; reads < 5; reads++) {
            assert_true(read_id(h, &b, 2));
            assert_int_equal(b.ops, 1);
        }
        hierarchy_free(h);
    }
}

/* Taken out of the tier between, it leaves room there for the victim of the tier above, even where
 * that tier is full of it; where the victim is larger than the tier, it stays. */
static void hit_makes_room(void **state)
{
    (void)state;
    for (uint64_t victim = 40; victim <= 60; victim += 20) {
        struct hierarchy_opts o = promoting(100, 50, 0);
        struct book b;
        struct hierarchy *h = begin(&b, &o);
        write_size(h, &b, 1, 45);
        write_size(h, &b, 2, victim); /* sends 1 down */
        assert_int_equal(b.tier[1], TRACE_CPU);
        assert_true(read_id(h, &b, 1));
        assert_int_equal(b.tier[1], victim == 40 ? TRACE_GPU : TRACE_CPU);
        assert_int_equal(b.tier[2], victim == 40 ? TRACE_CPU : TRACE_GPU);
        assert_int_equal(b.ops, victim == 40 ? 5 : 1);
        hierarchy_free(h);
    }
}

/* An object that leaves a tier by its promotion was not evicted there: when it comes down again it
 * is new, and S3-FIFO evicts it with the new ones. It was a ghost and went to the main queue, for
 * the question whether Tier-1 would take the victim of Tier-0 had named it. */
static void promoted_is_no_ghost(void **state)
{
    (void)state;
    struct hierarchy_opts o = promoting(10, 40, HIERARCHY_UNLIMITED);
    o.policy = &policy_s3fifo;
    struct book b;
    o.target_usage_ratio = o.large_entry_limit_ratio = 1;
    struct hierarchy *h = begin(&b, &o);
    for (uint64_t i = 0; i < 40; i++)
        write_size(h, &b, i, 1);
    for (uint64_t i = 40; i < 45; i++)
        write_size(h, &b, i, 2);    /* 0 to 39 are in Tier-1, these above */
    assert_true(read_id(h, &b, 0)); /* goes up; 40 comes down for it, and 1 makes room for that */
    assert_int_equal(b.tier[0], TRACE_GPU);
    assert_int_equal(b.tier[40], TRACE_CPU);
    assert_int_equal(b.tier[1], TRACE_STORAGE);
    for (uint64_t i = 50; i < 60; i++)
        write_size(h, &b, i, 1);
    assert_int_equal(b.tier[0], TRACE_CPU); /* down again */
    for (uint64_t i = 60; i < 110; i++)
        write_size(h, &b, i, 1);
    assert_int_equal(b.tier[0], TRACE_STORAGE); /* as all that came down with it */
    hierarchy_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hit_exchanges),  cmocka_unit_test(hit_stays),
        cmocka_unit_test(hit_returns),    cmocka_unit_test(hit_without_effect),
        cmocka_unit_test(hit_makes_room), cmocka_unit_test(promoted_is_no_ghost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
