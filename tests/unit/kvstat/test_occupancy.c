/* Live bytes from signed sizes: runs cut anywhere and appended give the peaks of one pass. A bug
 * looked like a peak that was missed because it lay inside a run that ended lower than it began. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "kvgen/rng.h"
#include "kvstat/count/occupancy.h"

enum {
    ROWS = 5000
};

static struct trace_row row(uint8_t op, uint8_t tier, uint8_t phase, uint64_t size)
{
    return (struct trace_row){
        .op = op, .tier = tier, .phase = phase, .size = size, .status = TRACE_NO_STATUS};
}

static void signs(void **state)
{
    (void)state;
    struct trace_row rows[] = {
        row(TRACE_WRITE, TRACE_GPU, TRACE_PREFILL, 100),
        row(TRACE_WRITE, TRACE_GPU, TRACE_PREFILL, 50),
        row(TRACE_READ, TRACE_GPU, TRACE_DECODE, 100),
        row(TRACE_READ, TRACE_GPU, TRACE_EVICT, 100),
        row(TRACE_WRITE, TRACE_CPU, TRACE_EVICT, 100),
        row(TRACE_DELETE, TRACE_CPU, TRACE_EVICT, 100),
        row(TRACE_WRITE, TRACE_GPU, TRACE_PREFILL, 30),
        row(TRACE_MISS, TRACE_NO_TIER, TRACE_NO_PHASE, 0),
    };
    rows[6].status = ENOSPC;
    struct occupancy o = {0};
    assert_int_equal(occupancy_add(&o, rows, 8), 0);
    assert_int_equal(o.tier[TRACE_GPU].bytes, 50);
    assert_int_equal(o.tier[TRACE_GPU].peak_bytes, 150);
    assert_int_equal(o.tier[TRACE_GPU].objects, 1);
    assert_int_equal(o.tier[TRACE_CPU].bytes, 0);
    assert_int_equal(o.tier[TRACE_CPU].peak_bytes, 100);
    assert_int_equal(o.tier[TRACE_STORAGE].peak_bytes, 0);
}

static void any_cut_gives_the_same(void **state)
{
    (void)state;
    static struct trace_row rows[ROWS];
    struct rng r;
    rng_seed(&r, 3, 0);
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = row(rng_below(&r, 2) ? TRACE_WRITE : TRACE_DELETE, (uint8_t)rng_below(&r, 3),
                      TRACE_PREFILL, rng_below(&r, 1000));
    struct occupancy whole = {0}, parts = {0};
    assert_int_equal(occupancy_add(&whole, rows, ROWS), 0);
    for (size_t at = 0; at < ROWS;) {
        struct occupancy run = {0};
        size_t n = 1 + (size_t)rng_below(&r, 300);
        n = n < ROWS - at ? n : ROWS - at;
        assert_int_equal(occupancy_add(&run, rows + at, n), 0);
        assert_int_equal(occupancy_append(&parts, &run), 0);
        at += n;
    }
    assert_memory_equal(&whole, &parts, sizeof(whole));
    assert_true(whole.tier[0].peak_bytes > 0);
}

static void the_peaks_of_parts_are_added(void **state)
{
    (void)state;
    const struct trace_row rows[] = {row(TRACE_WRITE, TRACE_GPU, TRACE_PREFILL, 100),
                                     row(TRACE_DELETE, TRACE_GPU, TRACE_PREFILL, 100),
                                     row(TRACE_WRITE, TRACE_GPU, TRACE_PREFILL, 70),
                                     row(TRACE_WRITE, TRACE_CPU, TRACE_PREFILL, 30)};
    struct occupancy a = {0}, b = {0}, ab, ba;
    assert_int_equal(occupancy_add(&a, rows, 2), 0);
    assert_int_equal(occupancy_add(&b, rows + 2, 2), 0);
    ab = a;
    assert_int_equal(occupancy_beside(&ab, &b), 0);
    ba = b;
    assert_int_equal(occupancy_beside(&ba, &a), 0);
    assert_memory_equal(&ab, &ba, sizeof(ab));
    assert_int_equal(ab.tier[TRACE_GPU].peak_bytes, 170);
    assert_int_equal(ab.tier[TRACE_GPU].peak_objects, 2);
    assert_int_equal(ab.tier[TRACE_GPU].bytes, 70);
    assert_int_equal(ab.tier[TRACE_GPU].objects, 1);
    assert_int_equal(ab.tier[TRACE_CPU].peak_bytes, 30);
}

static void overflow(void **state)
{
    (void)state;
    struct trace_row r = row(TRACE_WRITE, TRACE_GPU, TRACE_PREFILL, INT64_MAX);
    struct occupancy o = {0}, again = {0};
    assert_int_equal(occupancy_add(&o, &r, 1), 0);
    assert_int_equal(occupancy_add(&again, &r, 1), 0);
    struct occupancy beside = o;
    assert_int_equal(occupancy_append(&o, &again), -EOVERFLOW);
    assert_int_equal(occupancy_beside(&beside, &again), -EOVERFLOW);
    r.size = UINT64_MAX;
    assert_int_equal(occupancy_add(&again, &r, 1), -EOVERFLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs),
        cmocka_unit_test(any_cut_gives_the_same),
        cmocka_unit_test(the_peaks_of_parts_are_added),
        cmocka_unit_test(overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
