/* Extents: what is free can always be had, no byte is given twice, and freed neighbours merge so
 * that age costs nothing. A bug looked like overlapping objects, or ENOSPC with room left. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/rng.h"
#include "lib/layout/extent.h"

enum {
    UNIT = 4096,
    UNITS = 2000,
    OBJECTS = 300
};

/* Marks list's units in owner with mark; each must have held from before. */
static uint64_t mark(struct extent_pool *p, uint32_t list, int *owner, int from, int to)
{
    uint64_t units = 0;
    struct extent x;
    while (extent_walk(p, &list, &x)) {
        assert_int_equal(x.offset % UNIT, 0);
        assert_true(x.offset / UNIT + x.len / UNIT <= UNITS);
        for (uint64_t u = x.offset / UNIT; u < (x.offset + x.len) / UNIT; u++, units++) {
            assert_int_equal(owner[u], from);
            owner[u] = to;
        }
    }
    return units;
}

/* Over UNITS units in all. */
static void random_life(struct extent_pool *p)
{
    uint32_t list[OBJECTS] = {0};
    int owner[UNITS] = {0};
    uint64_t live = 0;
    struct rng r;
    rng_seed(&r, 7, 0);
    for (int step = 0; step < 60000; step++) {
        size_t i = (size_t)rng_below(&r, OBJECTS);
        if (list[i]) {
            live -= mark(p, list[i], owner, (int)i + 1, 0);
            extent_release(p, list[i]);
            list[i] = 0;
        } else {
            uint64_t bytes = rng_below(&r, 40 * UNIT), want = bytes ? (bytes + UNIT - 1) / UNIT : 1;
            int rc = extent_alloc(p, bytes, &list[i]);
            assert_int_equal(rc, want <= UNITS - live ? 0 : -ENOSPC);
            if (rc == 0) {
                assert_int_equal(extent_bytes(p, list[i]), want * UNIT);
                live += mark(p, list[i], owner, 0, (int)i + 1);
            }
        }
        assert_int_equal(extent_free_bytes(p), (UNITS - live) * UNIT);
    }
    extent_pool_free(p);
}

static void random_life_never_overlaps_and_never_fails_early(void **state)
{
    (void)state;
    random_life(extent_pool_create((uint64_t)UNITS * UNIT + 17, UNIT));
    random_life(extent_pool_create_parts((uint64_t)UNITS / 5 * UNIT + 17, 5, UNIT));
    random_life(extent_pool_create_parts((uint64_t)UNITS / 16 * UNIT, 16, UNIT));
}

enum {
    PART = 100 /* units */
};

/* Units of list in each part; no extent lies in two. */
static void by_part(const struct extent_pool *p, uint32_t list, uint64_t units[3])
{
    struct extent x;
    memset(units, 0, 3 * sizeof(*units));
    while (extent_walk(p, &list, &x)) {
        uint64_t part = x.offset / UNIT / PART;
        assert_true(part < 3);
        assert_int_equal((x.offset + x.len - 1) / UNIT / PART, part);
        units[part] += x.len / UNIT;
    }
}

static void expect_parts(struct extent_pool *p, uint64_t want, uint32_t *list, uint64_t a,
                         uint64_t b, uint64_t c)
{
    uint64_t units[3];
    assert_int_equal(extent_alloc(p, want * UNIT, list), 0);
    by_part(p, *list, units);
    assert_int_equal(units[0], a);
    assert_int_equal(units[1], b);
    assert_int_equal(units[2], c);
}

static void an_object_is_whole_in_the_roomiest_part(void **state)
{
    (void)state;
    struct extent_pool *p = extent_pool_create_parts(PART * UNIT, 3, UNIT);
    uint32_t list[8];
    expect_parts(p, 40, &list[0], 40, 0, 0); /* equal: the first */
    expect_parts(p, 30, &list[1], 0, 30, 0);
    expect_parts(p, 20, &list[2], 0, 0, 20);
    expect_parts(p, 70, &list[3], 0, 0, 70);
    expect_parts(p, 60, &list[4], 0, 60, 0);
    expect_parts(p, 50, &list[5], 50, 0, 0); /* 10 left in each */
    expect_parts(p, 25, &list[6], 10, 10, 5);
    assert_int_equal(extent_alloc(p, 6 * UNIT, &list[7]), -ENOSPC);
    extent_release(p, list[6]);
    extent_release(p, list[0]);
    expect_parts(p, 50, &list[0], 50, 0, 0);
    for (size_t i = 0; i < 6; i++)
        extent_release(p, list[i]);
    assert_int_equal(extent_free_bytes(p), 3 * PART * UNIT);
    /* Free space does not merge over a border, and all of it can be had. */
    expect_parts(p, 3 * PART, &list[0], PART, PART, PART);
    extent_pool_free(p);
}

static void a_claim_stays_in_its_part(void **state)
{
    (void)state;
    struct extent_pool *p = extent_pool_create_parts(PART * UNIT, 3, UNIT);
    uint32_t list = 0, last = 0;
    uint64_t units[3];
    assert_int_equal(extent_claim(p, (PART - 5) * UNIT, 10 * UNIT, &list, &last), -EEXIST);
    assert_int_equal(extent_claim(p, 3 * PART * UNIT, UNIT, &list, &last), -EEXIST);
    assert_int_equal(extent_claim(p, (PART + 5) * UNIT, 10 * UNIT, &list, &last), 0);
    by_part(p, list, units);
    assert_int_equal(units[1], 10);
    assert_int_equal(extent_free_bytes(p), (3 * PART - 10) * UNIT);
    extent_release(p, list);
    assert_int_equal(extent_free_bytes(p), 3 * PART * UNIT);
    extent_pool_free(p);
}

static void freed_neighbours_become_one_extent_again(void **state)
{
    (void)state;
    struct extent_pool *p = extent_pool_create((uint64_t)UNITS * UNIT, UNIT);
    uint32_t list[UNITS], all;
    for (int i = 0; i < UNITS; i++)
        assert_int_equal(extent_alloc(p, UNIT, &list[i]), 0);
    assert_int_equal(extent_alloc(p, 1, &all), -ENOSPC);
    for (int i = 0; i < UNITS; i += 2)
        extent_release(p, list[i]);
    for (int i = 1; i < UNITS; i += 2)
        extent_release(p, list[i]);
    assert_int_equal(extent_alloc(p, (uint64_t)UNITS * UNIT, &all), 0);
    struct extent x;
    uint32_t pos = all;
    assert_true(extent_walk(p, &pos, &x));
    assert_int_equal(x.len, (uint64_t)UNITS * UNIT);
    assert_false(extent_walk(p, &pos, &x));
    extent_pool_free(p);
}

static void an_object_that_fits_nowhere_takes_the_longest_extents(void **state)
{
    (void)state;
    struct extent_pool *p = extent_pool_create(100 * UNIT, UNIT);
    uint32_t a, b, c, d;
    struct extent x;
    assert_int_equal(extent_alloc(p, 10 * UNIT, &a), 0);
    assert_int_equal(extent_alloc(p, 1 * UNIT, &b), 0);
    assert_int_equal(extent_alloc(p, 89 * UNIT, &c), 0);
    extent_release(p, a);
    extent_release(p, c);
    assert_int_equal(extent_alloc(p, 95 * UNIT, &d), 0);
    assert_true(extent_walk(p, &d, &x));
    assert_int_equal(x.len, 89 * UNIT);
    assert_true(extent_walk(p, &d, &x));
    assert_int_equal(x.len, 6 * UNIT);
    extent_pool_free(p);
}

/* A bug looked like memory that grows to the whole arena while little is live. */
static void freed_space_is_used_before_new(void **state)
{
    (void)state;
    struct extent_pool *p = extent_pool_create((uint64_t)UNITS * UNIT, UNIT);
    uint32_t list[4];
    struct extent x;
    struct rng r;
    rng_seed(&r, 11, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(extent_alloc(p, 7 * UNIT, &list[i]), 0);
    for (int step = 0; step < 1000; step++) {
        size_t i = (size_t)rng_below(&r, 4);
        extent_release(p, list[i]);
        assert_int_equal(extent_alloc(p, 7 * UNIT, &list[i]), 0);
        uint32_t pos = list[i];
        assert_true(extent_walk(p, &pos, &x));
        assert_true(x.offset + x.len <= 28 * UNIT);
        assert_int_equal(pos, 0);
    }
    extent_pool_free(p);
}

static void nothing_fits_in_nothing(void **state)
{
    (void)state;
    struct extent_pool *p = extent_pool_create(UNIT - 1, UNIT);
    uint32_t list;
    assert_int_equal(extent_free_bytes(p), 0);
    assert_int_equal(extent_alloc(p, 1, &list), -ENOSPC);
    extent_release(p, 0);
    extent_pool_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_life_never_overlaps_and_never_fails_early),
        cmocka_unit_test(freed_neighbours_become_one_extent_again),
        cmocka_unit_test(an_object_that_fits_nowhere_takes_the_longest_extents),
        cmocka_unit_test(freed_space_is_used_before_new),
        cmocka_unit_test(nothing_fits_in_nothing),
        cmocka_unit_test(an_object_is_whole_in_the_roomiest_part),
        cmocka_unit_test(a_claim_stays_in_its_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
