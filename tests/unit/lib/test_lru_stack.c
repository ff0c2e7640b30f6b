/* Stack distances equal those added up by hand, while the stack grows and is compacted; sums that
 * do not fit are refused. Bugs looked like distances that jumped when places were used up. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kvgen/rng.h"
#include "lib/base/lru_stack.h"

static struct hash128 key_of(uint64_t id)
{
    return (struct hash128){.lo = hash_mix(id), .hi = id};
}

/* Distances over more uses than the stack has places, with objects that come and stay. */
static void stack_survives_its_growth(void **state)
{
    (void)state;
    enum {
        OBJECTS = 9000
    };
    struct rng rng;
    rng_seed(&rng, 1, 1);
    struct lru_stack *s = lru_stack_create();
    uint64_t *last = calloc(OBJECTS, sizeof *last), distance, when = 0;
    assert_true(s != NULL && last != NULL);
    for (int i = 0; i < 60000; i++) {
        uint64_t most = i < 10000 ? 100 : OBJECTS;
        uint64_t id = rng_below(&rng, most), expected = 0;
        uint32_t number;
        assert_int_equal(lru_stack_use(s, key_of(id), id + 1, &distance, &number), 0);
        if (i % 500 == 0) { /* by hand: all used since */
            for (uint64_t o = 0; o < OBJECTS; o++)
                expected += last[o] >= last[id] && last[o] > 0 ? o + 1 : 0;
            if (last[id] == 0)
                expected = LRU_STACK_NEW;
            else if (last[id] == when)
                expected = 0;
            assert_int_equal(distance, expected);
        }
        last[id] = ++when;
    }
    free(last);
    lru_stack_free(s);
}

static void stack_refuses_what_does_not_fit_63_bits(void **state)
{
    (void)state;
    uint64_t distance;
    uint32_t number;
    struct lru_stack *s = lru_stack_create();
    assert_int_equal(lru_stack_use(s, key_of(1), INT64_MAX, &distance, &number), 0);
    assert_int_equal(lru_stack_use(s, key_of(2), 1, &distance, &number), -EOVERFLOW);
    lru_stack_free(s);
}

static void sizes_count_as_they_were_last(void **state)
{
    (void)state;
    struct lru_stack *s = lru_stack_create();
    uint64_t distance;
    uint32_t number;
    assert_int_equal(lru_stack_use(s, key_of(1), 10, &distance, &number), 0);
    assert_true(distance == LRU_STACK_NEW);
    assert_int_equal(number, 0);
    assert_int_equal(lru_stack_use(s, key_of(2), 5, &distance, &number), 0);
    assert_int_equal(number, 1);
    assert_int_equal(lru_stack_use(s, key_of(1), 20, &distance, &number), 0);
    assert_int_equal(distance, 15);
    assert_int_equal(number, 0);
    assert_int_equal(lru_stack_use(s, key_of(1), 20, &distance, &number), 0);
    assert_int_equal(distance, 0);
    assert_int_equal(lru_stack_use(s, key_of(2), 5, &distance, &number), 0);
    assert_int_equal(distance, 25);
    uint64_t size = 0;
    assert_int_equal(lru_stack_use(s, key_of(2), 7, &distance, &number), 0);
    assert_int_equal(distance, 0);
    assert_int_equal(lru_stack_bytes(s), 27);
    assert_int_equal(lru_stack_use(s, key_of(1), 20, &distance, &number), 0);
    assert_int_equal(distance, 27);
    assert_int_equal(lru_stack_use(s, key_of(1), INT64_MAX, &distance, &number), -EOVERFLOW);
    assert_true(lru_stack_find(s, key_of(1), &size));
    assert_int_equal(size, 20);
    assert_false(lru_stack_find(s, key_of(3), &size));
    assert_int_equal(lru_stack_objects(s), 2);
    assert_int_equal(lru_stack_bytes(s), 27);
    lru_stack_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stack_survives_its_growth),
        cmocka_unit_test(stack_refuses_what_does_not_fit_63_bits),
        cmocka_unit_test(sizes_count_as_they_were_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
