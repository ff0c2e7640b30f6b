/* The host-memory tier keeps every byte of every object through rewrites, deletes and reads that
 * drop, whatever the fragmentation. A bug looked like a corrupt read or a lost object. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/tier_checks.h"

static struct tier *open_tier(struct bell *b, uint64_t capacity, unsigned threads, bool prefault)
{
    struct tier *t = NULL;
    struct err e = {0};
    struct tier_host_opts o = {.capacity = capacity,
                               .max_objects = 64,
                               .threads = threads,
                               .prefault = prefault,
                               .max_ops = 32};
    assert_int_equal(tier_host_open(&t, &o, b, &e), 0);
    return t;
}

static void one_object_lives_and_dies(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct tier *t = open_tier(b, 16 << 20, 1, true);
    checks_object_life(t, b);
    assert_int_equal(t->ops->close(t, NULL), 0);
    bell_free(b);
}

static void many_objects_at_once_fill_the_arena(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    for (unsigned depth = 1; depth <= 32; depth *= 4) {
        /* Room for the mean of all objects at their largest only thanks to exact accounting. */
        struct tier *t = open_tier(b, (uint64_t)CHECKS_OBJECTS * CHECKS_MAX, 2, false);
        checks_many(t, b, depth, 4000);
        assert_int_equal(t->ops->close(t, NULL), 0);
    }
    bell_free(b);
}

static void an_object_over_the_capacity_is_enospc(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct tier *t = open_tier(b, 1 << 20, 1, false);
    struct tier_op op = checks_op(1, 1, 8 << 20);
    op.verb = TIER_WRITE;
    assert_int_equal(checks_run(t, b, &op), -ENOSPC);
    assert_null(op.place);
    assert_int_equal(t->ops->close(t, NULL), 0);
    bell_free(b);
}

static void more_than_max_ops_is_refused_until_polled(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct tier *t = open_tier(b, 64 << 20, 1, false);
    struct tier_op op[33];
    for (unsigned i = 0; i < 33; i++) {
        op[i] = checks_op(i, 1, 100);
        op[i].verb = TIER_WRITE;
        assert_int_equal(t->ops->submit(t, &op[i]), i < 32 ? 0 : -EAGAIN);
    }
    t->ops->kick(t);
    for (unsigned i = 0; i < 32; i++)
        assert_int_equal(checks_wait(t, b)->status, 0);
    assert_int_equal(checks_run(t, b, &op[32]), 0);
    assert_int_equal(t->ops->close(t, NULL), 0);
    bell_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_object_lives_and_dies),
        cmocka_unit_test(many_objects_at_once_fill_the_arena),
        cmocka_unit_test(an_object_over_the_capacity_is_enospc),
        cmocka_unit_test(more_than_max_ops_is_refused_until_polled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
