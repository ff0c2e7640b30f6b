/* test_hist.c - histograms: percentiles against sorting the same values, on several shapes and
 * sizes and after merges; exact minimum, maximum, mean; buckets that neither overlap nor leave
 * gaps. A bug here is a wrong P99 in every report. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kvgen/rng.h"
#include "lib/base/hist.h"

#define MOST 20000

static const uint32_t ppms[] = {0,      1,      100,    10000,  250000, 500000, 900000,
                                950000, 990000, 999000, 999900, 999999, 1000000};

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Rank ceil(ppm n / 10^6), at least 1. */
static int64_t true_percentile(const int64_t *sorted, size_t n, uint32_t ppm)
{
    uint64_t rank = ((uint64_t)n * ppm + 999999) / 1000000;
    return sorted[rank ? rank - 1 : 0];
}

static void check_against_sorting(const struct hist *h, int64_t *v, size_t n)
{
    long double sum = 0;
    qsort(v, n, sizeof *v, compare);
    for (size_t i = 0; i < n; i++)
        sum += (long double)v[i];
    assert_int_equal(hist_count(h), n);
    assert_true(hist_min(h) == v[0] && hist_max(h) == v[n - 1]);
    assert_true(fabsl((long double)hist_sum(h) - sum) <= 1e-12L * sum);
    assert_true(fabsl((long double)hist_mean(h) - sum / (long double)n) <= 1e-12L * sum);
    for (size_t i = 0; i < sizeof ppms / sizeof ppms[0]; i++) {
        int64_t want = true_percentile(v, n, ppms[i]), got = hist_percentile(h, ppms[i]);
        assert_true(llabs(got - want) <= want / 1000);
        assert_true(got >= v[0] && got <= v[n - 1]);
        if (want < 2048)
            assert_true(got == want);
    }
}

/* Shapes: constant, small, uniform, exponential, two humps, all magnitudes. */
static int64_t draw(struct rng *r, int shape)
{
    switch (shape) {
    case 0:
        return 123456789;
    case 1:
        return rng_range(r, 0, 3000);
    case 2:
        return rng_range(r, 0, 1000000000);
    case 3:
        return (int64_t)rng_exponential(r, 5e6);
    case 4:
        return rng_chance(r, 0.99) ? rng_range(r, 80000, 120000) : rng_range(r, 30000000, 90000000);
    default:
        return (int64_t)(rng_u64(r) >> rng_range(r, 1, 63));
    }
}
#define SHAPES 6

static void percentiles_agree_with_sorting(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 10, 999, 1000, 1001, MOST};
    static int64_t v[MOST];
    struct rng r;
    rng_seed(&r, 1, 0);
    for (int shape = 0; shape < SHAPES; shape++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            struct hist *h = hist_create();
            assert_non_null(h);
            for (size_t i = 0; i < sizes[s]; i++) {
                v[i] = draw(&r, shape);
                assert_int_equal(hist_record(h, v[i]), 0);
            }
            check_against_sorting(h, v, sizes[s]);
            hist_free(h);
        }
}

static void merging_equals_recording(void **state)
{
    (void)state;
    static int64_t v[MOST];
    struct rng r;
    struct hist *part[3] = {hist_create(), hist_create(), hist_create()};
    struct hist *all = hist_create();
    rng_seed(&r, 2, 0);
    for (size_t i = 0; i < MOST; i++) {
        v[i] = draw(&r, (int)(i % SHAPES));
        hist_record(part[i % 2], v[i]); /* part[2] stays empty */
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(hist_merge(all, part[i]), 0);
    check_against_sorting(all, v, MOST);
    for (int i = 0; i < 3; i++)
        hist_free(part[i]);
    hist_free(all);
}

/* Three histograms in turn, negative values among the others. */
static void batches_equal_single_recordings(void **state)
{
    (void)state;
    struct hist *batched[3], *single[3], *gathered[3], *h[HIST_BATCH];
    struct hist_batch batch = {0};
    int64_t v[HIST_BATCH];
    struct rng r;
    rng_seed(&r, 3, 0);
    for (int i = 0; i < 3; i++) {
        batched[i] = hist_create();
        single[i] = hist_create();
        gathered[i] = hist_create();
    }
    for (size_t round = 0; round < 500; round++) {
        size_t n = (size_t)rng_range(&r, 0, HIST_BATCH);
        for (size_t i = 0; i < n; i++) {
            size_t which = (size_t)rng_range(&r, 0, 2);
            v[i] = i % 17 == 16 ? -5 : draw(&r, (int)(round % SHAPES));
            h[i] = batched[which];
            assert_int_equal(hist_record(single[which], v[i]), 0);
            assert_int_equal(hist_batch_add(&batch, gathered[which], v[i]), 0);
        }
        assert_int_equal(hist_record_batch(h, v, n), 0);
    }
    assert_int_equal(hist_batch_end(&batch), 0);
    assert_int_equal(batch.held, 0);
    for (int i = 0; i < 3; i++) {
        int64_t low[2], high[2];
        uint64_t n[2];
        size_t pos[2] = {0, 0};
        assert_true(hist_count(batched[i]) > 1000);
        assert_int_equal(hist_count(batched[i]), hist_count(single[i]));
        assert_int_equal(hist_min(batched[i]), hist_min(single[i]));
        assert_int_equal(hist_max(batched[i]), hist_max(single[i]));
        assert_true(hist_sum(batched[i]) == hist_sum(single[i]));
        assert_int_equal(hist_count(gathered[i]), hist_count(single[i]));
        assert_true(hist_sum(gathered[i]) == hist_sum(single[i]));
        while (hist_next(single[i], &pos[0], &low[0], &high[0], &n[0])) {
            assert_int_equal(hist_next(batched[i], &pos[1], &low[1], &high[1], &n[1]), 1);
            assert_int_equal(low[0], low[1]);
            assert_int_equal(n[0], n[1]);
        }
        hist_free(batched[i]);
        hist_free(single[i]);
        hist_free(gathered[i]);
    }
}

static void empty_and_odd_values(void **state)
{
    (void)state;
    struct hist *h = hist_create();
    size_t pos = 0;
    int64_t lo, hi;
    uint64_t n;
    assert_int_equal(hist_count(h), 0);
    assert_int_equal(hist_min(h), 0);
    assert_int_equal(hist_max(h), 0);
    assert_true(hist_mean(h) == 0 && hist_sum(h) == 0);
    assert_int_equal(hist_percentile(h, 500000), 0);
    assert_int_equal(hist_next(h, &pos, &lo, &hi, &n), 0);
    assert_int_equal(hist_record_n(h, 5, 0), 0);
    assert_int_equal(hist_min(h), 0);
    assert_int_equal(hist_record(h, -7), 0);
    assert_int_equal(hist_max(h), 0);
    assert_int_equal(hist_record(h, INT64_MAX), 0);
    assert_true(hist_max(h) == INT64_MAX);
    int64_t top = hist_percentile(h, 1000000);
    assert_true(top > INT64_MAX - INT64_MAX / 1000);
    assert_int_equal(hist_percentile(h, 500000), 0);
    hist_free(h);
    hist_free(NULL);
}

static void large_counts_keep_exact_ranks(void **state)
{
    (void)state;
    struct hist *h = hist_create();
    /* 10^15 values; P99.99 must land on the other side of one single count */
    assert_int_equal(hist_record_n(h, 100, UINT64_C(999900000000000)), 0);
    assert_int_equal(hist_record_n(h, 200, UINT64_C(100000000000)), 0);
    assert_int_equal(hist_percentile(h, 999900), 100);
    assert_int_equal(hist_percentile(h, 999901), 200);
    assert_int_equal(hist_record(h, 200), 0);
    assert_int_equal(hist_percentile(h, 999900), 200);
    hist_free(h);
    /* 999,999 x 0.999999 is a millionth over a whole rank: that is the next rank */
    h = hist_create();
    assert_int_equal(hist_record_n(h, 100, 999998), 0);
    assert_int_equal(hist_record(h, 200), 0);
    assert_int_equal(hist_percentile(h, 999999), 200);
    hist_free(h);
    /* a sum over 64 bits */
    h = hist_create();
    hist_record_n(h, INT64_MAX, 1000);
    assert_true(fabs(hist_mean(h) / (double)INT64_MAX - 1) < 1e-15);
    hist_free(h);
}

static void buckets_join_without_gaps(void **state)
{
    (void)state;
    struct hist *h = hist_create();
    struct rng r;
    size_t pos = 0;
    int64_t lo, hi, last = -1;
    uint64_t n, total = 0;
    rng_seed(&r, 3, 0);
    for (int64_t v = 0; v < 20000; v++)
        hist_record(h, v);
    while (hist_next(h, &pos, &lo, &hi, &n)) {
        assert_true(lo == last + 1 && hi >= lo);
        assert_true(hi - lo <= lo / 1000);
        if (hi < 20000)
            assert_int_equal(n, hi - lo + 1);
        last = hi;
        total += n;
    }
    assert_int_equal(total, 20000);
    hist_free(h);
    for (int i = 0; i < 2000; i++) {
        int64_t v = draw(&r, 5);
        h = hist_create();
        hist_record(h, v);
        pos = 0;
        assert_int_equal(hist_next(h, &pos, &lo, &hi, &n), 1);
        assert_true(lo <= v && v <= hi && n == 1);
        assert_int_equal(hist_next(h, &pos, &lo, &hi, &n), 0);
        hist_free(h);
    }
}

static void squares_are_those_of_the_values(void **state)
{
    (void)state;
    struct hist *h = hist_create();
    assert_true(hist_squares(h) == 0);
    for (int64_t v = 1; v <= 5; v++) /* buckets of one value: exact */
        hist_record_n(h, v, 2);
    assert_true(hist_squares(h) == 20);
    hist_free(h);
}

/* Each by its name, in the order in which all programs tell them. */
static void statistics_have_names(void **state)
{
    static const char *const names[HIST_STATISTICS] = {"count", "mean", "min",  "p50",   "p90",
                                                       "p95",   "p99",  "p999", "p9999", "max"};
    struct hist *h = hist_create();

    (void)state;
    assert_non_null(h);
    for (int64_t v = 1; v <= 100; v++) /* buckets of one value: exact */
        assert_int_equal(hist_record(h, v), 0);
    for (unsigned i = 0; i < HIST_STATISTICS; i++)
        assert_string_equal(hist_statistic_name(i), names[i]);
    assert_true(hist_statistic(h, HIST_COUNT) == 100 && hist_statistic(h, HIST_MEAN) == 50.5);
    assert_true(hist_statistic(h, HIST_MIN) == 1 && hist_statistic(h, HIST_MAX) == 100);
    assert_true(hist_statistic(h, HIST_P50) == 50 && hist_statistic(h, HIST_P95) == 95);
    assert_true(hist_statistic(h, HIST_P99) == 99);
    hist_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_agree_with_sorting),
        cmocka_unit_test(merging_equals_recording),
        cmocka_unit_test(batches_equal_single_recordings),
        cmocka_unit_test(empty_and_odd_values),
        cmocka_unit_test(large_counts_keep_exact_ranks),
        cmocka_unit_test(buckets_join_without_gaps),
        cmocka_unit_test(squares_are_those_of_the_values),
        cmocka_unit_test(statistics_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
