/* test_spsc.c - the queue between two threads: every pointer comes out once and in order, full and
 * empty are told from each other at every fill, and what was written before a push is seen after
 * the pop (the thread sanitizer checks that part). A bug here loses or repeats rows. */
/* builds: plain address thread arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>

#include "lib/thread/spsc.h"

#define ITEMS 300000

static void fills_and_empties(void **state)
{
    (void)state;
    int item[8];
    struct spsc *q = spsc_create(5); /* rounded up to 8 */
    assert_non_null(q);
    for (int round = 0; round < 100; round++) {
        size_t n = (size_t)round % 9;
        assert_null(spsc_peek(q));
        assert_null(spsc_pop(q));
        for (size_t i = 0; i < n; i++) {
            assert_true(spsc_push(q, &item[i]));
            assert_int_equal(spsc_count(q), i + 1);
        }
        if (n == 8)
            assert_false(spsc_push(q, &item[0]));
        for (size_t i = 0; i < n; i++) {
            assert_ptr_equal(spsc_peek(q), &item[i]);
            assert_ptr_equal(spsc_pop(q), &item[i]);
        }
        assert_int_equal(spsc_count(q), 0);
    }
    spsc_free(q);
    spsc_free(NULL);
}

static void odd_capacities(void **state)
{
    (void)state;
    int item;
    struct spsc *q = spsc_create(0);
    assert_non_null(q);
    assert_true(spsc_push(q, &item));
    assert_false(spsc_push(q, &item));
    spsc_free(q);
    assert_null(spsc_create(SIZE_MAX));
    assert_null(spsc_create(SIZE_MAX / sizeof(void *)));
}

static void *produce(void *arg)
{
    struct spsc *q = arg;
    for (size_t i = 0; i < ITEMS; i++) {
        size_t *item = malloc(sizeof *item);
        if (!item)
            abort();
        *item = i;
        while (!spsc_push(q, item))
            sched_yield();
    }
    return NULL;
}

static void two_threads(void **state)
{
    (void)state;
    pthread_t thread;
    struct spsc *q = spsc_create(64);
    assert_int_equal(pthread_create(&thread, NULL, produce, q), 0);
    for (size_t i = 0; i < ITEMS;) {
        size_t *item = spsc_pop(q);
        if (!item) {
            sched_yield();
            continue;
        }
        assert_int_equal(*item, i);
        assert_true(spsc_count(q) <= 64);
        free(item);
        i++;
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_null(spsc_pop(q));
    spsc_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_and_empties),
        cmocka_unit_test(odd_capacities),
        cmocka_unit_test(two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
