/* Dependencies: reads of a key together, everything else alone and in the order of the trace, one
 * row of a request after another, and the timers in order of time. A bug looked like this: a read
 * let in beside a waiting write, or a row that waited in two chains and was released by the first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kvreplay/wait/order.h"
#include "kvreplay/wait/pace.h"

static struct row make(uint8_t op, uint8_t phase, uint64_t key, int64_t request)
{
    struct row r;
    memset(&r, 0, sizeof(r));
    r.t.op = op;
    r.t.phase = phase;
    r.t.tier = TRACE_CPU;
    r.t.request = request;
    r.key = r.name = (struct hash128){key, key};
    return r;
}

static void reads_share_writes_do_not(void **state)
{
    (void)state;
    struct order *o = order_create(ORDER_KEY, 16);
    struct row w1 = make(TRACE_WRITE, TRACE_PREFILL, 1, TRACE_NONE);
    struct row r1 = make(TRACE_READ, TRACE_DECODE, 1, TRACE_NONE);
    struct row r2 = make(TRACE_READ, TRACE_DECODE, 1, TRACE_NONE);
    struct row move = make(TRACE_READ, TRACE_EVICT, 1, TRACE_NONE);
    struct row r3 = make(TRACE_READ, TRACE_DECODE, 1, TRACE_NONE);
    struct row other = make(TRACE_WRITE, TRACE_PREFILL, 2, TRACE_NONE);

    order_enter(o, &w1);
    order_enter(o, &r1);
    order_enter(o, &r2);
    order_enter(o, &move);
    order_enter(o, &r3);
    order_enter(o, &other);
    assert_int_equal(w1.waits, 0);
    assert_int_equal(other.waits, 0);
    assert_int_equal(r1.waits, ROW_WAIT_KEY);
    assert_true(order_reads_early(&r1, 5));
    order_wrote(&w1, 10);
    assert_true(order_reads_early(&r1, 9));
    assert_false(order_reads_early(&r1, 10));
    assert_ptr_equal(order_leave(o, &w1), &r1);
    assert_ptr_equal(r1.woken, &r2);
    assert_null(r2.woken);
    assert_int_equal(move.waits, ROW_WAIT_KEY);
    assert_null(order_leave(o, &r2));
    assert_ptr_equal(order_leave(o, &r1), &move);
    assert_int_equal(r3.waits, ROW_WAIT_KEY);
    assert_ptr_equal(order_leave(o, &move), &r3);
    assert_null(order_leave(o, &r3));
    assert_null(order_leave(o, &other));
    order_free(o);
}

static void both_chains_must_end(void **state)
{
    (void)state;
    struct order *o = order_create(ORDER_REQUEST, 16);
    struct row a = make(TRACE_WRITE, TRACE_PREFILL, 1, 7);
    struct row b = make(TRACE_WRITE, TRACE_PREFILL, 2, 8);
    struct row c = make(TRACE_READ, TRACE_DECODE, 2, 7); /* after a by request, after b by key */

    order_enter(o, &a);
    order_enter(o, &b);
    order_enter(o, &c);
    assert_int_equal(c.waits, ROW_WAIT_KEY | ROW_WAIT_REQUEST);
    assert_null(order_leave(o, &a));
    assert_int_equal(c.waits, ROW_WAIT_KEY);
    assert_ptr_equal(order_leave(o, &b), &c);
    assert_null(order_leave(o, &c));
    order_free(o);
}

static void none_lets_reads_overtake(void **state)
{
    (void)state;
    struct order *o = order_create(ORDER_NONE, 16);
    struct row r1 = make(TRACE_READ, TRACE_DECODE, 1, 1);
    struct row w = make(TRACE_WRITE, TRACE_PREFILL, 1, 1);
    struct row r2 = make(TRACE_READ, TRACE_DECODE, 1, 1);

    order_enter(o, &r1);
    order_enter(o, &w);
    order_enter(o, &r2);
    assert_int_equal(w.waits, ROW_WAIT_KEY); /* a tier is never asked for both at once */
    assert_int_equal(r2.waits, 0);
    assert_true(order_reads_early(&r2, 100)); /* and the proof sees it */
    order_free(o);
}

static void timers_in_order(void **state)
{
    (void)state;
    enum {
        N = 500
    };
    static struct row rows[N];
    struct timers *t = timers_create(N);
    uint64_t x = 3;

    for (int i = 0; i < N; i++) {
        x = x * UINT64_C(6364136223846793005) + 1;
        rows[i].wake_ns = (int64_t)(x >> 60);
        rows[i].number = (uint64_t)i;
        timers_add(t, &rows[i]);
    }
    assert_null(timers_pop(t, -1));
    const struct row *last = NULL, *r;
    int count = 0;
    while ((r = timers_pop(t, 100))) {
        assert_true(!last || r->wake_ns > last->wake_ns ||
                    (r->wake_ns == last->wake_ns && r->number > last->number));
        last = r;
        count++;
    }
    assert_int_equal(count, N);
    assert_true(timers_next_ns(t) == INT64_MAX);
    timers_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_share_writes_do_not), cmocka_unit_test(both_chains_must_end),
        cmocka_unit_test(none_lets_reads_overtake), cmocka_unit_test(timers_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
