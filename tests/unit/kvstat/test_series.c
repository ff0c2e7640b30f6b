/* The time series of kvstat: parts merged in any order are the whole, percentiles lie within 1.6 %,
 * numbers at the ends of their range are refused or counted, never wrapped. A bug looked like a
 * slot written before the begin of the table when a later part began earlier. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "kvgen/rng.h"
#include "kvstat/count/series.h"

#define SECOND INT64_C(1000000000)

static struct trace_row row(uint8_t op, int64_t start_ns, int64_t latency_ns, uint64_t size)
{
    return (struct trace_row){.op = op,
                              .tier = TRACE_STORAGE,
                              .phase = TRACE_DECODE,
                              .qos = TRACE_NO_QOS,
                              .class = TRACE_NO_CLASS,
                              .size = size,
                              .status = TRACE_OK,
                              .time_ns = start_ns,
                              .request = TRACE_NONE,
                              .tokens = TRACE_NONE,
                              .due_ns = TRACE_NONE,
                              .start_ns = start_ns,
                              .latency_ns = latency_ns,
                              .device_ns = TRACE_NONE};
}

static void same(const struct series *a, const struct series *b)
{
    assert_int_equal(series_count(a), series_count(b));
    for (size_t i = 0; i < series_count(a); i++) {
        const struct series_slot *x = series_at(a, i), *y = series_at(b, i);
        assert_int_equal(!x, !y);
        if (!x)
            continue;
        assert_int_equal(x->change_bytes[TRACE_STORAGE], y->change_bytes[TRACE_STORAGE]);
        for (int d = 0; d < SERIES_DIRECTIONS; d++) {
            const struct series_io *p = &x->io[TRACE_STORAGE][d], *q = &y->io[TRACE_STORAGE][d];
            assert_int_equal(p->ops, q->ops);
            assert_int_equal(p->bytes, q->bytes);
            for (uint32_t ppm = 0; ppm <= 1000000; ppm += 50000)
                assert_int_equal(series_percentile(p, SERIES_SERVICE, ppm),
                                 series_percentile(q, SERIES_SERVICE, ppm));
        }
    }
}

static void parts_are_the_whole(void **state)
{
    (void)state;
    for (int result = 0; result < 2; result++) {
        struct err e = {0};
        struct rng r;
        struct series *whole = series_create(result, SECOND), *part[3];
        for (int p = 0; p < 3; p++)
            part[p] = series_create(result, SECOND);
        rng_seed(&r, 11, 0);
        for (int i = 0; i < 20000; i++) {
            /* The parts begin at 2,000, 1,000 and 0 s; traces may begin before 0. */
            unsigned p = (unsigned)rng_below(&r, 3);
            int64_t start = (int64_t)rng_below(&r, 1000 * (uint64_t)SECOND) +
                            (2 - (int64_t)p) * 1000 * SECOND - (result ? 0 : 500 * SECOND);
            struct trace_row x = row(rng_below(&r, 2) ? TRACE_READ : TRACE_WRITE, start,
                                     (int64_t)rng_below(&r, 1000000), rng_below(&r, 5000));
            assert_int_equal(series_add(whole, &x, 1, &e), 0);
            assert_int_equal(series_add(part[p], &x, 1, &e), 0);
        }
        for (int p = 1; p < 3; p++)
            assert_int_equal(series_merge(part[0], part[p], &e), 0);
        assert_in_range(series_count(whole), 2990, 3001);
        same(part[0], whole);
        series_free(whole);
        for (int p = 0; p < 3; p++)
            series_free(part[p]);
    }
}

/* A series that chooses its interval ends with the same one however its rows were dealt. */
static void intervals_grow(void **state)
{
    (void)state;
    struct err e = {0};
    struct rng r;
    uint64_t ops = 0;
    struct series *whole = series_create_auto(false), *part[2];
    for (int p = 0; p < 2; p++)
        part[p] = series_create_auto(false);
    rng_seed(&r, 5, 0);
    for (int i = 0; i < 5000; i++) {
        int64_t at = (int64_t)rng_below(&r, 3000 * (uint64_t)SECOND) - 777 * SECOND;
        struct trace_row x = row(TRACE_READ, at, 0, 1);
        assert_int_equal(series_add(whole, &x, 1, &e), 0);
        assert_int_equal(series_add(part[at > 0], &x, 1, &e), 0);
    }
    assert_int_equal(series_merge(part[0], part[1], &e), 0);
    assert_int_equal(series_interval_ns(whole), 16384000000);
    assert_int_equal(series_interval_ns(part[0]), series_interval_ns(whole));
    same(part[0], whole);
    assert_in_range(series_count(whole), SERIES_AUTO_MAX / 2, SERIES_AUTO_MAX);
    for (size_t i = 0; i < series_count(whole); i++)
        ops += series_at(whole, i)->io[TRACE_STORAGE][SERIES_READ].ops;
    assert_int_equal(ops, 5000);
    /* The finer one into the coarser one. */
    struct series *fine = series_create_auto(false);
    struct trace_row first = row(TRACE_READ, -777 * SECOND, 0, 1);
    assert_int_equal(series_add(fine, &first, 1, &e), 0);
    assert_int_equal(series_merge(whole, fine, &e), 0);
    assert_int_equal(series_interval_ns(whole), 16384000000);
    series_free(fine);
    series_free(whole);
    for (int p = 0; p < 2; p++)
        series_free(part[p]);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void percentiles_are_near(void **state)
{
    (void)state;
    enum {
        N = 5000
    };
    static const uint32_t ppm[] = {500000, 950000, 990000, 1000000};
    struct err e = {0};
    struct rng r;
    int64_t value[N];
    struct series *s = series_create(true, SECOND);
    rng_seed(&r, 3, 0);
    for (int i = 0; i < N; i++) {
        value[i] = (int64_t)(rng_below(&r, 1000) << rng_below(&r, 18));
        struct trace_row x = row(TRACE_READ, 0, value[i], 1);
        assert_int_equal(series_add(s, &x, 1, &e), 0);
    }
    qsort(value, N, sizeof(value[0]), by_value);
    for (size_t i = 0; i < sizeof(ppm) / sizeof(ppm[0]); i++) {
        int64_t exact = value[((uint64_t)N * ppm[i] + 999999) / 1000000 - 1];
        int64_t got = series_percentile(&series_at(s, 0)->io[TRACE_STORAGE][SERIES_READ],
                                        SERIES_SERVICE, ppm[i]);
        int64_t off = got > exact ? got - exact : exact - got;
        assert_true((double)off <= 0.016 * (double)exact);
    }
    assert_int_equal(series_percentile(&(struct series_io){0}, SERIES_SERVICE, 500000), -1);
    series_free(s);
}

static void ends_of_the_range(void **state)
{
    (void)state;
    struct err e = {0};
    struct trace_row late = row(TRACE_READ, INT64_MAX, INT64_MAX, 1);
    struct trace_row early = row(TRACE_READ, INT64_MIN + 1, 0, 1), zero = row(TRACE_READ, 0, 0, 1);
    struct series *s = series_create(true, 1);
    assert_int_equal(series_add(s, &zero, 1, &e), 0);
    assert_int_equal(series_add(s, &late, 1, &e), -ERANGE);
    assert_int_equal(err_exit_status(&e), 2);
    series_free(s);
    s = series_create(false, 1);
    assert_int_equal(series_add(s, &late, 1, &e), 0);
    assert_int_equal(series_add(s, &late, 1, &e), 0);
    assert_int_equal(series_add(s, &zero, 1, &e), -ERANGE);
    series_free(s);
    s = series_create(false, 1);
    assert_int_equal(series_add(s, &early, 1, &e), 0);
    assert_int_equal(series_add(s, &late, 1, &e), -ERANGE);
    assert_int_equal(series_count(s), 1);
    struct trace_row last = row(TRACE_READ, INT64_MIN + SERIES_MAX, 0, 1);
    assert_int_equal(series_add(s, &last, 1, &e), 0);
    assert_int_equal(series_count(s), SERIES_MAX);
    last.time_ns++;
    assert_int_equal(series_add(s, &last, 1, &e), -ERANGE);
    series_free(s);
}

/* However long a row took, it is where it was due; one without such a time where it ended. */
static void rows_count_when_they_are_due(void **state)
{
    (void)state;
    struct err e = {0};
    struct series *s = series_create(true, SECOND);
    struct trace_row due = row(TRACE_READ, 2 * SECOND, 5 * SECOND, 1);
    struct trace_row ends = row(TRACE_WRITE, 2 * SECOND, 5 * SECOND, 1);
    due.due_ns = SECOND;
    series_by_due(s);
    assert_int_equal(series_add(s, &due, 1, &e), 0);
    assert_int_equal(series_add(s, &ends, 1, &e), 0);
    assert_int_equal(series_at(s, 1)->io[TRACE_STORAGE][SERIES_READ].ops, 1);
    assert_int_equal(series_at(s, 7)->io[TRACE_STORAGE][SERIES_WRITE].ops, 1);
    series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_the_whole),          cmocka_unit_test(intervals_grow),
        cmocka_unit_test(percentiles_are_near),         cmocka_unit_test(ends_of_the_range),
        cmocka_unit_test(rows_count_when_they_are_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
