/* test_pool.c - places of an engine's pool: the first that fits, aligned; an object stays until its
 * room is needed, and then those that were given back first go; objects in use are never
 * overwritten, whatever their sizes. A bug looked like an object of another worker's bytes, or like
 * a worker that waited although there was room. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kvreplay/like/pool.h"

enum {
    KIB = 1024,
    OBJECT = 64 * KIB
};

static struct like_pool *opened(size_t bytes, size_t largest, unsigned in_use)
{
    struct like_pool *p = NULL;
    const struct like_pool_opts o = {.before = 3 * KIB,
                                     .bytes = bytes,
                                     .largest = largest,
                                     .in_use = in_use,
                                     .pages = IO_PAGES_PLAIN};

    assert_int_equal(like_pool_open(&p, &o), 0);
    return p;
}

static void refused(void **state)
{
    (void)state;
    struct like_pool *p;
    const struct like_pool_opts bad[] = {
        {.bytes = 0, .largest = 1, .in_use = 1},
        {.bytes = 1, .largest = 0, .in_use = 1},
        {.bytes = 1, .largest = 1, .in_use = 0},
        {.bytes = 1, .largest = 1, .in_use = LIKE_POOL_IN_USE + 1},
        {.bytes = 1, .largest = SIZE_MAX / 16, .in_use = 8},
        {.bytes = SIZE_MAX / 2, .largest = 1, .in_use = 1},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(like_pool_open(&p, &bad[i]), -EINVAL);
    like_pool_close(NULL);
    p = opened(OBJECT, OBJECT, 1);
    assert_null(like_pool_take(p, OBJECT + 1));
    like_pool_give(p, NULL);
    like_pool_close(p);
}

static void first_fit(void **state)
{
    (void)state;
    struct like_pool *p = opened(4 * OBJECT, OBJECT, 4);
    char *a = like_pool_take(p, OBJECT), *b = like_pool_take(p, OBJECT - 1);
    char *c = like_pool_take(p, 1);

    assert_int_equal((uintptr_t)a % LIKE_POOL_ALIGN, 0);
    assert_ptr_equal(b, a + OBJECT);
    assert_ptr_equal(c, b + OBJECT);
    like_pool_give(p, a); /* stays: its room is not needed yet */
    char *d = like_pool_take(p, OBJECT);
    assert_ptr_equal(d, c + LIKE_POOL_ALIGN);
    like_pool_give(p, d);
    char *e = like_pool_take(p, OBJECT); /* a was given back before d */
    assert_ptr_equal(e, a);
    like_pool_give(p, b);
    like_pool_give(p, c);
    like_pool_give(p, e);
    char *f = like_pool_take(p, OBJECT); /* and d before the others */
    assert_ptr_equal(f, d);
    like_pool_close(p);
}

/* More than the pool has, up to what may be in use at once. */
static void beyond_the_pool(void **state)
{
    (void)state;
    enum {
        N = 8
    };
    struct like_pool *p = opened(OBJECT, OBJECT, N);
    char *at[N];

    for (int i = 0; i < N; i++) {
        at[i] = like_pool_take(p, OBJECT);
        assert_non_null(at[i]);
        memset(at[i], i, OBJECT);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(at[i][0], i);
        assert_int_equal(at[i][OBJECT - 1], i);
        like_pool_give(p, at[i]);
    }
    assert_ptr_equal(like_pool_take(p, OBJECT), at[0]);
    like_pool_close(p);
}

/* Sizes and orders at random: there is always a place, and nobody else writes there. */
static void any_order(void **state)
{
    (void)state;
    enum {
        N = 6,
        TURNS = 20000
    };
    struct like_pool *p = opened(OBJECT, OBJECT, N);
    struct {
        char *at;
        size_t bytes;
    } used[N] = {0};
    uint64_t x = 88172645463325252u;

    for (int turn = 0; turn < TURNS; turn++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        unsigned i = (unsigned)(x % N);
        char mark = (char)(i + 1);

        if (used[i].at) {
            assert_int_equal(used[i].at[0], mark);
            assert_int_equal(used[i].at[used[i].bytes - 1], mark);
            like_pool_give(p, used[i].at);
            used[i].at = NULL;
            continue;
        }
        used[i].bytes = 1 + (x >> 32) % OBJECT;
        used[i].at = like_pool_take(p, used[i].bytes);
        assert_non_null(used[i].at);
        used[i].at[0] = used[i].at[used[i].bytes - 1] = mark;
    }
    like_pool_close(p);
}

/* There are more small objects than the pool keeps. */
static void many_small_ones(void **state)
{
    (void)state;
    struct like_pool *p =
        opened((size_t)2 * LIKE_POOL_OBJECTS * LIKE_POOL_ALIGN, LIKE_POOL_ALIGN, 1);
    char *first = NULL;

    for (unsigned i = 0; i < 2 * LIKE_POOL_OBJECTS; i++) {
        char *at = like_pool_take(p, 1);

        assert_non_null(at);
        if (i == 0)
            first = at;
        if (i == LIKE_POOL_OBJECTS)
            assert_ptr_equal(at, first);
        like_pool_give(p, at);
    }
    like_pool_close(p);
}

static void how_pages_lie(void **state)
{
    (void)state;
    struct like_pool *p = opened((size_t)4 << 20, OBJECT, 1);
    double run = like_pool_run(p);

    assert_in_range(like_pool_huge(p) + 1, 0, 2);
    assert_true(run == 0 || (run >= 1 && run <= 1024));
    like_pool_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),         cmocka_unit_test(first_fit),
        cmocka_unit_test(beyond_the_pool), cmocka_unit_test(any_order),
        cmocka_unit_test(many_small_ones), cmocka_unit_test(how_pages_lie),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
