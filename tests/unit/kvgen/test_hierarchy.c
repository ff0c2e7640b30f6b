/* The waterfall: each rule of a tier at its exact limit, the rows that it tells, and the invariants
 * on random small hierarchies and workloads, by the naive book. A bug looked like bytes counted
 * twice after a demotion, an object in two tiers, a tier over its capacity, or a demotion whose two
 * rows named different objects. */
#include "kvgen/rng.h"
#include "tests/unit/kvgen/hierarchy_book.h"
#include "tests/unit/scale.h"

/* (a): 95 of 100 stays up, 96 goes down at once, although nothing is used. */
static void large_objects_go_down(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(100, 0, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    assert_int_equal(write_size(h, &b, 1, 96), 1);
    assert_int_equal(b.tier[1], TRACE_STORAGE);
    assert_int_equal(write_size(h, &b, 2, 95), 1); /* (c): empty, so it may pass 80 % */
    assert_int_equal(b.tier[2], TRACE_GPU);
    hierarchy_free(h);
}

/* (b): exactly 80 % is reached without a demotion, one byte more demotes the oldest. */
static void fills_to_target(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(100, 0, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    for (uint64_t i = 0; i < 4; i++)
        write_size(h, &b, i, 20);
    assert_int_equal(b.used[TRACE_GPU], 80);
    assert_true(read_id(h, &b, 0)); /* 1 is the oldest now */
    assert_int_equal(write_size(h, &b, 4, 1), 1);
    assert_int_equal(b.ops, 3);
    assert_int_equal(b.op[0].op, TRACE_READ);
    assert_int_equal(b.op[0].tier, TRACE_GPU);
    assert_int_equal(b.op[0].id.lo, 1);
    assert_int_equal(b.op[0].class, TRACE_CLASS_EVICT);
    assert_int_equal(b.op[1].op, TRACE_WRITE);
    assert_int_equal(b.op[1].tier, TRACE_STORAGE);
    assert_int_equal(b.op[2].op, TRACE_WRITE);
    assert_int_equal(b.op[2].class, TRACE_BLOCK);
    assert_int_equal(b.tier[0], TRACE_GPU);
    hierarchy_free(h);
}

/* (c): with 4 of 100 used 95 are taken, with 5 used they are not (and (d) refuses, undemoted). */
static void nearly_empty_passes_target(void **state)
{
    (void)state;
    for (uint64_t used = 4; used <= 5; used++) {
        struct hierarchy_opts o = tiers(100, 0, HIERARCHY_UNLIMITED);
        struct book b;
        struct hierarchy *h = begin(&b, &o);
        write_size(h, &b, 1, used);
        write_size(h, &b, 2, 95);
        assert_int_equal(b.tier[2], used == 4 ? TRACE_GPU : TRACE_STORAGE);
        assert_int_equal(b.tier[1], TRACE_GPU);
        hierarchy_free(h);
    }
}

/* (c) passes 80 %, never 100: with a limit of large objects above 95 % they need not fit. */
static void nearly_empty_stays_within_capacity(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(100, 0, HIERARCHY_UNLIMITED);
    o.large_entry_limit_ratio = 1;
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    write_size(h, &b, 1, 4);
    write_size(h, &b, 2, 97);
    assert_int_equal(b.tier[1], TRACE_GPU);
    assert_int_equal(b.tier[2], TRACE_STORAGE);
    hierarchy_free(h);
}

/* (d): an object of over 40 % that finds under 20 % used goes down; with 20 % used it demotes. */
static void roomy_refuses_big(void **state)
{
    (void)state;
    for (uint64_t used = 19; used <= 20; used++) {
        struct hierarchy_opts o = tiers(100, 0, HIERARCHY_UNLIMITED);
        struct book b;
        struct hierarchy *h = begin(&b, &o);
        write_size(h, &b, 1, used);
        write_size(h, &b, 2, 62); /* 62 + 19 passes 80 */
        assert_int_equal(b.tier[1], used == 19 ? TRACE_GPU : TRACE_STORAGE);
        assert_int_equal(b.tier[2], used == 19 ? TRACE_STORAGE : TRACE_GPU);
        hierarchy_free(h);
    }
}

/* (e): a demotion makes room below first: rows come from the bottom up. */
static void waterfall_over_three(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(100, 100, 100);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    for (uint64_t i = 0; i < 13; i++) /* 4 + 4 + 5 of 20 fill all three */
        write_size(h, &b, i, 20);
    assert_int_equal(b.used[TRACE_GPU], 80);
    assert_int_equal(b.used[TRACE_CPU], 80);
    assert_int_equal(b.used[TRACE_STORAGE], 100);
    assert_int_equal(write_size(h, &b, 13, 20), 1);
    static const enum trace_op op[] = {TRACE_DELETE, TRACE_READ,  TRACE_WRITE,
                                       TRACE_READ,   TRACE_WRITE, TRACE_WRITE};
    static const int tier[] = {TRACE_STORAGE, TRACE_CPU, TRACE_STORAGE,
                               TRACE_GPU,     TRACE_CPU, TRACE_GPU};
    static const uint64_t id[] = {0, 5, 5, 9, 9, 13};
    assert_int_equal(b.ops, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(b.op[i].op, op[i]);
        assert_int_equal(b.op[i].tier, tier[i]);
        assert_int_equal(b.op[i].id.lo, id[i]);
    }
    hierarchy_free(h);
}

/* A victim that the tier below refuses makes its own tier refuse: the new object goes further down.
 */
static void failed_demotion_refuses(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(100, 10, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    write_size(h, &b, 1, 70);
    assert_int_equal(write_size(h, &b, 2, 30), 1);
    assert_int_equal(b.tier[1], TRACE_GPU);
    assert_int_equal(b.tier[2], TRACE_STORAGE);
    assert_int_equal(b.ops, 1);
    hierarchy_free(h);
}

/* Storage takes an object larger than itself, alone; a CPU tier that is the last drops it. */
static void oversized(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(0, 0, 100);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    write_size(h, &b, 1, 60);
    assert_int_equal(write_size(h, &b, 2, 150), 1);
    assert_int_equal(b.tier[1], TRACE_NO_TIER);
    assert_int_equal(b.tier[2], TRACE_STORAGE);
    assert_int_equal(b.counts.tier[TRACE_STORAGE].oversized, 1);
    assert_int_equal(b.counts.tier[TRACE_STORAGE].peak_bytes, 150);
    write_size(h, &b, 3, 1);
    assert_int_equal(b.tier[2], TRACE_NO_TIER);
    hierarchy_free(h);

    uint64_t writes, bytes;
    o = tiers(0, 100, 0);
    h = begin(&b, &o);
    assert_int_equal(write_size(h, &b, 1, 100), 1); /* the last is filled to 100 % */
    assert_int_equal(write_size(h, &b, 2, 101), 0);
    assert_int_equal(b.ops, 0);
    assert_int_equal(b.tier[1], TRACE_CPU);
    hierarchy_dropped(h, &writes, &bytes);
    assert_int_equal(writes, 1);
    assert_int_equal(bytes, 101);
    hierarchy_free(h);
}

/* A touch counts as use without a row. */
static void touch_renews(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(0, 0, 2);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    write_size(h, &b, 1, 1);
    write_size(h, &b, 2, 1);
    b.ops = 0;
    assert_true(hierarchy_touch(h, ident_block(1)));
    assert_false(hierarchy_touch(h, ident_block(9)));
    assert_int_equal(b.ops, 0);
    write_size(h, &b, 3, 1);
    assert_true(hierarchy_has(h, ident_block(1)));
    assert_false(hierarchy_has(h, ident_block(2)));
    hierarchy_free(h);
}

/* A GPU tier that holds one object and a CPU tier that holds four, of 20 bytes: write i moves i - 1
 * down. Write 6 races with 5, which moved 4 down: 20 bytes below are reserved for nobody, room for
 * which 1 leaves, and again 2 for what 6 moves. */
static void race_reserves_twice(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(30, 100, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    for (uint64_t i = 1; i <= 5; i++)
        write_size(h, &b, i, 20);
    assert_int_equal(b.used[TRACE_CPU], 80);
    hierarchy_race(h);
    write_size(h, &b, 6, 20);
    assert_int_equal(b.used[TRACE_CPU], 60);
    assert_int_equal(b.tier[2], TRACE_STORAGE);
    assert_int_equal(b.tier[3], TRACE_CPU);
    for (uint64_t i = 7; i <= 10; i++) { /* it stays so, one out and one in... */
        write_size(h, &b, i, 20);
        assert_int_equal(b.used[TRACE_CPU], 60);
    }
    for (uint64_t i = 11; i <= 13; i++) { /* ... and adds up, until nothing is left... */
        hierarchy_race(h);
        write_size(h, &b, i, 20);
    }
    assert_int_equal(b.used[TRACE_CPU], 20);
    for (uint64_t i = 14; i <= 16; i++) /* ... and the tier is counted anew */
        write_size(h, &b, i, 20);
    assert_int_equal(b.used[TRACE_CPU], 80);
    hierarchy_free(h);
}

/* No demotion, no race: neither for the one nor for the other. Nor does one last. */
static void race_of_one_that_fits(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(100, 100, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    for (uint64_t i = 1; i <= 5; i++) { /* 5 moves 1 down */
        hierarchy_race(h);
        write_size(h, &b, i, 20);
    }
    assert_int_equal(b.used[TRACE_CPU], 20);
    hierarchy_race(h);
    write_size(h, &b, 6, 0); /* needs no room */
    hierarchy_race(h);
    for (uint64_t i = 7; i <= 20; i++) /* 6 moved nothing */
        write_size(h, &b, i, 20);
    assert_int_equal(b.used[TRACE_CPU], 80);
    hierarchy_free(h);
}

/* Where an object of 50 bytes goes that is written on top of others, of which the last is still
 * being written. At most 80 bytes of the upper tier are used, and less than 20 make it refuse. */
static int tier_of_large(uint64_t before, uint64_t last, bool race)
{
    struct hierarchy_opts o = tiers(0, 100, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    if (before > 0)
        write_size(h, &b, 1, before);
    write_size(h, &b, 2, last);
    if (race)
        hierarchy_race(h);
    write_size(h, &b, 3, 50);
    int tier = b.tier[3];
    if (before > 0 && tier == TRACE_CPU) /* what is in flight is the last to move */
        assert_int_equal(b.tier[1], TRACE_STORAGE);
    hierarchy_free(h);
    return tier;
}

/* An object being written takes space, but makes the tier look emptier than it is where a large
 * object asks, at first and again when all that was listed is demoted. */
static void race_of_large_objects(void **state)
{
    (void)state;
    assert_int_equal(tier_of_large(15, 20, false), TRACE_CPU); /* 35 used, so that 15 move */
    assert_int_equal(tier_of_large(15, 20, true), TRACE_STORAGE);
    assert_int_equal(tier_of_large(25, 25, false), TRACE_CPU);
    assert_int_equal(tier_of_large(25, 25, true), TRACE_CPU); /* 25 listed, and then they fit */
    assert_int_equal(tier_of_large(25, 40, true), TRACE_CPU); /* the list, then 40 in the next */
    assert_int_equal(tier_of_large(60, 19, true), TRACE_CPU); /* the list, then they fit */
    assert_int_equal(tier_of_large(0, 35, false), TRACE_CPU);
    assert_int_equal(tier_of_large(0, 35, true), TRACE_CPU); /* at once in the next list */
}

/* The next list is asked about like the first: 19 used are too few for 70. */
static void next_list_is_asked(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(0, 100, HIERARCHY_UNLIMITED);
    for (int race = 0; race <= 1; race++) {
        struct book b;
        struct hierarchy *h = begin(&b, &o);
        write_size(h, &b, 1, 60);
        write_size(h, &b, 2, 19);
        if (race)
            hierarchy_race(h);
        write_size(h, &b, 3, 70);
        assert_int_equal(b.tier[1], TRACE_STORAGE);
        assert_int_equal(b.tier[2], race ? TRACE_CPU : TRACE_STORAGE);
        assert_int_equal(b.tier[3], race ? TRACE_STORAGE : TRACE_CPU);
        hierarchy_free(h);
    }
}

static uint64_t random_capacity(struct rng *r)
{
    static const uint64_t choice[] = {0, 1, 2, 7, 20, 100, 333, 1000};
    return choice[rng_below(r, sizeof(choice) / sizeof(*choice))];
}

static void random_run(struct rng *r)
{
    struct hierarchy_opts o = tiers(random_capacity(r), random_capacity(r), random_capacity(r));
    if (rng_chance(r, 0.3))
        o.capacity[TRACE_STORAGE] = HIERARCHY_UNLIMITED;
    if (o.capacity[0] + o.capacity[1] + o.capacity[2] == 0)
        o.capacity[rng_below(r, 3)] = 50;
    o.target_usage_ratio = rng_chance(r, 0.5) ? 0.8 : rng_unit(r);
    o.large_entry_limit_ratio = rng_chance(r, 0.5) ? 0.95 : rng_unit(r);
    o.policy = policies[rng_below(r, POLICIES)];
    o.promote = rng_chance(r, 0.5) ? HIERARCHY_PROMOTE_ON_HIT : HIERARCHY_PROMOTE_NONE;
    uint64_t most = 1 + rng_below(r, 400);
    double races = rng_chance(r, 0.3) ? rng_unit(r) : 0;
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    for (int step = 0; step < 300; step++) {
        uint64_t id = rng_below(r, MAX_IDS);
        if (b.tier[id] != TRACE_NO_TIER || rng_chance(r, 0.1))
            read_id(h, &b, id);
        else {
            if (rng_chance(r, races))
                hierarchy_race(h);
            write_size(h, &b, id, rng_below(r, most + 1));
        }
    }
    hierarchy_free(h);
}

static void invariants_on_random_runs(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 1, 0);
    for (int run = scaled(3000); run > 0; run--)
        random_run(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_objects_go_down),
        cmocka_unit_test(fills_to_target),
        cmocka_unit_test(nearly_empty_passes_target),
        cmocka_unit_test(nearly_empty_stays_within_capacity),
        cmocka_unit_test(roomy_refuses_big),
        cmocka_unit_test(waterfall_over_three),
        cmocka_unit_test(failed_demotion_refuses),
        cmocka_unit_test(oversized),
        cmocka_unit_test(touch_renews),
        cmocka_unit_test(race_reserves_twice),
        cmocka_unit_test(race_of_one_that_fits),
        cmocka_unit_test(race_of_large_objects),
        cmocka_unit_test(next_list_is_asked),
        cmocka_unit_test(invariants_on_random_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
