/* Several stores as one: every name has one holder, by weight; a part that was recorded comes back
 * as it was; the engine hands each operation to its holder and says which. A bug looked like a slot
 * that two stores had, so that an object was written to one and read from the other. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/tier/spread.h"

static void equal_weights_make_equal_parts(void **state)
{
    uint64_t weight[SPREAD_MAX];
    struct target_part part[SPREAD_MAX];

    (void)state;
    for (unsigned i = 0; i < SPREAD_MAX; i++)
        weight[i] = 7;
    for (unsigned n = 1; n <= SPREAD_MAX; n++) {
        spread_divide(weight, n, part);
        assert_true(spread_complete(part, n));
        for (unsigned i = 0; i < n; i++) {
            unsigned slots = part[i].to - part[i].from;

            assert_in_range(slots, TARGET_SLOTS / n, TARGET_SLOTS / n + 1);
        }
    }
    spread_divide(weight, 1, part);
    assert_true(target_part_same(part[0], TARGET_WHOLE));
}

static void weights_are_shares(void **state)
{
    const uint64_t weight[] = {UINT64_C(1) << 40, UINT64_C(3) << 40}, lost[] = {1, UINT64_MAX, 0};
    struct target_part part[3];

    (void)state;
    spread_divide(weight, 2, part);
    assert_int_equal(part[0].to - part[0].from, TARGET_SLOTS / 4);
    assert_true(spread_complete(part, 2));
    spread_divide(lost, 3, part); /* each has one at least */
    assert_true(spread_complete(part, 3));
    assert_int_equal(part[0].to - part[0].from, 1);
    assert_int_equal(part[2].to - part[2].from, 1);
}

static void parts_that_do_not_fit(void **state)
{
    const struct target_part whole = TARGET_WHOLE;
    const struct target_part gap[] = {{0, 1000}, {1001, TARGET_SLOTS}},
                             both[] = {{0, 1001}, {1000, TARGET_SLOTS}},
                             turned[] = {{1000, TARGET_SLOTS}, {0, 1000}},
                             wrong[] = {{5, 5}, {0, TARGET_SLOTS}};

    (void)state;
    assert_true(spread_complete(&whole, 1));
    assert_false(spread_complete(gap, 2));
    assert_false(spread_complete(both, 2));
    assert_true(spread_complete(turned, 2));
    assert_false(spread_complete(wrong, 2));
}

static void names_spread_evenly(void **state)
{
    enum {
        NAMES = 40000,
        STORES = 5
    };
    const uint64_t weight[STORES] = {1, 1, 1, 1, 1};
    struct target_part part[STORES];
    unsigned held[STORES] = {0};

    (void)state;
    spread_divide(weight, STORES, part);
    for (uint64_t k = 0; k < NAMES; k++) {
        struct hash128 name = hash_128(&k, sizeof(k));
        unsigned holders = 0;

        for (unsigned i = 0; i < STORES; i++) {
            holders += spread_holds(part[i], name);
            held[i] += spread_holds(part[i], name);
        }
        assert_int_equal(holders, 1);
    }
    for (unsigned i = 0; i < STORES; i++) /* 5 standard deviations of the binomial are 400 */
        assert_in_range(held[i], NAMES / STORES - 400, NAMES / STORES + 400);
}

static void operations_go_to_their_holder(void **state)
{
    const uint64_t weight[] = {1, 2, 1};
    static const char *const name[] = {"a", "b", "c"};
    struct target_part part[3];
    struct tier *under[3], *all;
    struct tier_op op[200], *done[200];
    struct bell *bell = bell_create();
    struct tier_info info;
    size_t n = 0;

    (void)state;
    spread_divide(weight, 3, part);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(tier_null_open(&under[i], bell, NULL), 0);
    const struct spread_opts o = {.count = 3, .tier = under, .name = name, .part = part};
    assert_int_equal(tier_spread_open(&all, &o, NULL), 0);
    for (uint64_t k = 0; k < 200; k++) {
        op[k] = (struct tier_op){.verb = TIER_WRITE, .name = hash_128(&k, sizeof(k)), .size = 4096};
        assert_int_equal(all->ops->submit(all, &op[k]), 0);
    }
    all->ops->kick(all);
    while (n < 200)
        n += all->ops->poll(all, done + n, 7);
    assert_int_equal(all->ops->poll(all, done, 7), 0);
    for (size_t i = 0; i < 200; i++)
        assert_true(spread_holds(part[op[i].door], op[i].name));
    all->ops->describe(all, &info);
    assert_string_equal(info.target, "a, b, c");
    assert_int_equal(all->ops->close(all, NULL), 0);
    bell_free(bell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_weights_make_equal_parts), cmocka_unit_test(weights_are_shares),
        cmocka_unit_test(parts_that_do_not_fit),          cmocka_unit_test(names_spread_evenly),
        cmocka_unit_test(operations_go_to_their_holder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
