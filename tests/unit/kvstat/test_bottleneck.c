/* The bottleneck: shares add up to all of the end-to-end time, one is named only when it is 40 %
 * and half as large again as the next, the queue is given to what held the requests, and storage is
 * named as a whole when no part of it stands out. Bugs looked like a bottleneck of 0.2 %, a queue
 * as the cause of itself, or a throttled drive called host time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "kvstat/report/bottleneck.h"

static const double unknown[3] = {NAN, NAN, NAN};

/* The sums of a run of 100 ns, with those parts. */
static struct requests_totals sums(double queue, double generation, double slot, double device,
                                   double host)
{
    struct requests_totals r = {.count = 1, .with_arrival = 1, .end_to_end_ns = 100};
    static struct hist *some;
    if (!some)
        some = hist_create();
    r.metric[REQUESTS_GENERATION] = r.metric[REQUESTS_STORAGE] = some;
    r.part_ns[REQUEST_PART_QUEUE] = queue;
    r.part_ns[REQUEST_PART_GENERATION] = generation;
    r.part_ns[REQUEST_PART_SLOT] = slot;
    r.part_ns[REQUEST_PART_DEVICE] = device;
    r.part_ns[REQUEST_PART_HOST] = host;
    r.part_ns[REQUEST_PART_ROWS] = 100 - queue - generation - slot - device - host;
    return r;
}

static enum figure_what named(const struct requests_totals *r, const double parts[3], double share)
{
    struct bottleneck b;
    double sum = 0;
    assert_true(bottleneck_find(&b, r, parts, true));
    for (unsigned i = 0; i < BOTTLENECK_SHARES; i++)
        sum += isnan(b.shares[i]) ? 0 : b.shares[i];
    assert_true(fabs(sum - 1) < 1e-9);
    assert_true(fabs(b.share - share) < 1e-9);
    return b.what;
}

static void one_stands_out(void **state)
{
    (void)state;
    struct requests_totals r = sums(0, 61, 0, 39, 0);
    assert_int_equal(named(&r, unknown, 0.61), FIGURE_SHARE_GENERATION);
    r = sums(0, 59, 0, 41, 0);
    assert_int_equal(named(&r, unknown, 0.59), FIGURE_ITSELF);
    r = sums(0, 40, 0, 26, 14); /* exactly the share that is enough */
    assert_int_equal(named(&r, unknown, 0.4), FIGURE_SHARE_GENERATION);
    r = sums(0, 39, 0, 10, 20);
    assert_int_equal(named(&r, unknown, 0.39), FIGURE_ITSELF);
    r = sums(0, 0, 0, 0.2, 0);
    assert_int_equal(named(&r, unknown, 0.998), FIGURE_ROWS);
    r = sums(0, 0, 0, 0, 0);
    r.end_to_end_ns = 0;
    struct bottleneck b;
    assert_false(bottleneck_find(&b, &r, unknown, true));
}

static void the_queue_is_no_cause(void **state)
{
    (void)state;
    struct requests_totals r = sums(90, 1, 0, 8, 1);
    assert_int_equal(named(&r, unknown, 0.8), FIGURE_SHARE_IO);
    r = sums(100, 0, 0, 0, 0); /* nothing held them */
    assert_int_equal(named(&r, unknown, 1), FIGURE_SHARE_QUEUE);
}

static void storage_as_a_whole(void **state)
{
    (void)state;
    struct requests_totals r = sums(0, 10, 45, 40, 5);
    assert_int_equal(named(&r, unknown, 0.85), FIGURE_SHARE_STORAGE);
    r = sums(0, 10, 70, 15, 5);
    assert_int_equal(named(&r, unknown, 0.7), FIGURE_SHARE_SLOT);
}

static void device_time_in_parts(void **state)
{
    (void)state;
    struct requests_totals r = sums(0, 20, 0, 80, 0);
    const double parts[3] = {1e9, 2e9, 7e9};
    struct bottleneck b;
    assert_int_equal(named(&r, parts, 0.56), FIGURE_SHARE_FLUSH);
    assert_true(bottleneck_find(&b, &r, parts, true));
    assert_true(fabs(b.shares[FIGURE_SHARE_META - FIGURE_SHARE_QUEUE] - 0.08) < 1e-9);
    assert_true(bottleneck_find(&b, &r, unknown, true));
    assert_true(isnan(b.shares[FIGURE_SHARE_META - FIGURE_SHARE_QUEUE]));
    assert_true(b.shares[FIGURE_SHARE_IO - FIGURE_SHARE_QUEUE] == 0.8);
}

/* A file without device times: all that is known is storage. */
static void parts_not_known(void **state)
{
    (void)state;
    struct requests_totals r = sums(0, 20, 0, 0, 0);
    r.part_ns[REQUEST_PART_STORAGE] = 80;
    r.part_ns[REQUEST_PART_ROWS] = 0;
    struct bottleneck b;
    assert_int_equal(named(&r, unknown, 0.8), FIGURE_SHARE_STORAGE);
    assert_true(bottleneck_find(&b, &r, unknown, true));
    assert_true(isnan(b.shares[FIGURE_SHARE_IO - FIGURE_SHARE_QUEUE]));
    assert_true(isnan(b.shares[FIGURE_SHARE_HOST - FIGURE_SHARE_QUEUE]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stands_out),     cmocka_unit_test(the_queue_is_no_cause),
        cmocka_unit_test(storage_as_a_whole), cmocka_unit_test(device_time_in_parts),
        cmocka_unit_test(parts_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
