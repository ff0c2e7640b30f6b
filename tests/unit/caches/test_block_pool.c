/* The block pool by hand: which block is taken next, what it loses, and whose copy a name finds. A
 * bug looked like a cached block that was taken before an empty one, or a name that vanished with
 * one of two copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kvgen/cache/block_pool.h"

static uint32_t take(struct block_pool *p, uint64_t lost)
{
    struct block_pool_loss loss;
    const uint32_t block = block_pool_take(p, &loss);
    assert_int_equal(loss.named ? loss.key : 0, lost);
    return block;
}

static void test_order(void **state)
{
    (void)state;
    struct block_pool *p = block_pool_create(4, NULL);
    assert_non_null(p);
    const uint32_t a = take(p, 0), b = take(p, 0), c = take(p, 0);
    assert_int_equal(block_pool_idle(p), 1);
    block_pool_name(p, a, 77);
    block_pool_name(p, b, 88);
    /* Tail first; c has no name and goes to the front. */
    assert_int_equal(block_pool_release(p, c), BLOCK_FIRST);
    assert_int_equal(block_pool_release(p, b), BLOCK_LAST);
    assert_int_equal(block_pool_release(p, a), BLOCK_LAST);
    assert_int_equal(block_pool_find(p, 77), a);
    assert_int_equal(take(p, 0), c);
    take(p, 0);
    /* A hit takes its block out of the queue. */
    block_pool_hold(p, b);
    assert_int_equal(take(p, 77), a);
    assert_int_equal(block_pool_find(p, 77), BLOCK_NONE);
    block_pool_hold(p, b);
    assert_int_equal(block_pool_release(p, b), BLOCK_IN_USE);
    assert_int_equal(block_pool_release(p, b), BLOCK_LAST);
    assert_int_equal(block_pool_idle(p), 1);
    block_pool_free(p);
}

static void test_copies(void **state)
{
    (void)state;
    struct block_pool_loss loss;
    struct block_pool *p = block_pool_create(3, NULL);
    assert_non_null(p);
    const uint32_t a = take(p, 0), b = take(p, 0), c = take(p, 0);
    block_pool_name(p, a, 5);
    block_pool_name(p, b, 5);
    block_pool_name(p, c, 5);
    assert_int_equal(block_pool_find(p, 5), a);
    block_pool_release(p, a);
    block_pool_release(p, c);
    assert_int_equal(block_pool_take(p, &loss), a);
    assert_true(loss.named && loss.twin && loss.key == 5);
    assert_int_equal(block_pool_find(p, 5), b);
    assert_int_equal(block_pool_take(p, &loss), c);
    assert_true(loss.twin);
    block_pool_release(p, b);
    assert_int_equal(block_pool_take(p, &loss), b);
    assert_true(loss.named && !loss.twin);
    assert_int_equal(block_pool_find(p, 5), BLOCK_NONE);
    block_pool_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
