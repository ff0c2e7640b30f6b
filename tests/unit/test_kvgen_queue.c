/* The two orders that decide everything: waiting requests by priority and then arrival, events by
 * time and then their tie. A bug looked like a batch request served before an interactive one, or
 * two equal times that came out in the order of a heap's accidents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kvgen/heap.h"
#include "kvgen/queue.h"
#include "lib/rng.h"
#include "lib/trace.h"

static void push(struct queue *q, uint64_t number, enum trace_qos qos)
{
    struct request r = {.number = number, .qos = (uint8_t)qos};
    assert_int_equal(queue_push(q, &r), 0);
}

static uint64_t pop(struct queue *q)
{
    struct request r = {0};
    return queue_pop(q, &r) ? r.number : 0;
}

static void priority_then_arrival(void **state)
{
    (void)state;
    static const int64_t priority[3] = {3, 2, 1};
    struct queue *q = queue_create(priority);
    assert_non_null(q);
    push(q, 1, TRACE_BATCH);
    push(q, 2, TRACE_RESPONSIVE);
    push(q, 3, TRACE_BATCH);
    push(q, 4, TRACE_INTERACTIVE);
    push(q, 5, TRACE_RESPONSIVE);
    assert_int_equal(queue_length(q), 5);
    static const uint64_t want[] = {4, 2, 5, 1, 3, 0};
    for (int i = 0; i < 6; i++)
        assert_int_equal(pop(q), want[i]);
    queue_free(q);
}

static void equal_priorities_share(void **state)
{
    (void)state;
    static const int64_t priority[3] = {1, 1, 2};
    struct queue *q = queue_create(priority);
    push(q, 1, TRACE_RESPONSIVE);
    push(q, 2, TRACE_INTERACTIVE);
    push(q, 3, TRACE_RESPONSIVE);
    push(q, 4, TRACE_BATCH);
    static const uint64_t want[] = {4, 1, 2, 3};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pop(q), want[i]);
    queue_free(q);
}

/* Rings wrap and grow in any state. */
static void long_queues_keep_order(void **state)
{
    (void)state;
    static const int64_t priority[3] = {3, 2, 1};
    struct queue *q = queue_create(priority);
    struct rng r;
    uint64_t in = 0, out = 0;
    rng_seed(&r, 5, 0);
    for (int round = 0; round < 200; round++) {
        for (uint64_t n = rng_below(&r, 300); n > 0; n--)
            push(q, ++in, TRACE_BATCH);
        for (uint64_t n = rng_below(&r, 300); n > 0 && out < in; n--)
            assert_int_equal(pop(q), ++out);
        assert_int_equal(queue_length(q), in - out);
    }
    queue_free(q);
}

static void events_by_time_then_tie(void **state)
{
    (void)state;
    enum {
        N = 2000
    };
    struct heap h;
    struct rng r;
    rng_seed(&r, 7, 0);
    assert_int_equal(heap_init(&h, N), 0);
    for (uint32_t i = 0; i < N; i++)
        heap_push(&h, (struct heap_event){.time_ns = (int64_t)rng_below(&r, 50),
                                          .tie = (i * 7919u) % N,
                                          .item = i});
    struct heap_event last = {.time_ns = -1};
    for (int i = 0; i < N; i++) {
        struct heap_event top = *heap_top(&h), e = heap_pop(&h);
        assert_int_equal(top.item, e.item);
        assert_true(e.time_ns > last.time_ns || (e.time_ns == last.time_ns && e.tie > last.tie));
        last = e;
    }
    assert_null(heap_top(&h));
    heap_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priority_then_arrival),
        cmocka_unit_test(equal_priorities_share),
        cmocka_unit_test(long_queues_keep_order),
        cmocka_unit_test(events_by_time_then_tie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
