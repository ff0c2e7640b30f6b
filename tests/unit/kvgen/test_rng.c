/* test_rng.c - the random generator: its numbers are part of the trace format's promise, so golden
 * values hold them in place (xoshiro256** against its published sequence), and distributions have
 * the shape that the header says. If a golden value changes, every digest of every trace changes
 * with it. */
/* builds: plain (numbers; every test of kvgen draws them under sanitizers) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "kvgen/rng.h"

static void published_sequence(void **state)
{
    (void)state;
    /* reference implementation from state 1, 2, 3, 4 */
    static const uint64_t want[] = {11520,
                                    0,
                                    1509978240,
                                    UINT64_C(1215971899390074240),
                                    UINT64_C(1216172134540287360),
                                    UINT64_C(607988272756665600),
                                    UINT64_C(16172922978634559625),
                                    UINT64_C(8476171486693032832),
                                    UINT64_C(10595114339597558777),
                                    UINT64_C(2904607092377533576)};
    struct rng r = {.s = {1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        assert_true(rng_u64(&r) == want[i]);
}

static void golden_streams(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed, stream, want[3];
    } golden[] = {
        {1,
         0,
         {UINT64_C(0x920c1a8b10b953ee), UINT64_C(0x681ec64a90c60a80),
          UINT64_C(0x79d6d1ba3e1571c7)}},
        {1,
         1,
         {UINT64_C(0x4c026c2a0de63b80), UINT64_C(0xa23c800cdd6945a1),
          UINT64_C(0x1526d2da77d0adfc)}},
        {2,
         0,
         {UINT64_C(0xdc3bd52cc93dd129), UINT64_C(0xff205a676596de05),
          UINT64_C(0x92804c1ab36d5765)}},
        {42,
         0,
         {UINT64_C(0x2c05c6a85da7257f), UINT64_C(0x8df8fa55e3af37c6),
          UINT64_C(0x2395733003e54f26)}},
        {UINT64_MAX,
         UINT64_MAX,
         {UINT64_C(0x55b37883f5ce701f), UINT64_C(0xc7da9bf4193db02c),
          UINT64_C(0x0066ed01268a624d)}},
    };
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        struct rng r;
        rng_seed(&r, golden[i].seed, golden[i].stream);
        for (size_t k = 0; k < 3; k++)
            assert_true(rng_u64(&r) == golden[i].want[k]);
    }
}

static void golden_draws(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 42, 7);
    assert_int_equal(rng_below(&r, 1000), 612);
    assert_int_equal(rng_range(&r, -500, 500), -90);
    assert_true(rng_unit(&r) == 0x1.7b8f7478a901cp-1);
    assert_true(rng_uniform(&r, 0.8, 1.2) == 0x1.190956bdc9d93p+0);
    assert_true(rng_exponential(&r, 3.0) == 0x1.2582a281f1e8cp+2);
    assert_true(rng_ln(10.0) == 0x1.26bb1bbb55515p+1);
    assert_true(rng_exp(-3.25) == 0x1.3da368521902dp-5);
    assert_true(rng_gamma(&r, 3.0, 0.5) == 0x1.28c3ae59abe35p+2);
    assert_true(rng_gamma(&r, 3.0, 4.0) == 0x1.43347cbe70cfbp+6);
}

static void streams_differ(void **state)
{
    (void)state;
    uint64_t first[200];
    for (uint64_t i = 0; i < 200; i++) {
        struct rng r;
        rng_seed(&r, i < 100 ? 1 : i, i < 100 ? i : 1);
        first[i] = rng_u64(&r);
        for (uint64_t k = 0; k < i; k++)
            assert_true(first[k] != first[i] || (i == 101 && k == 1));
    }
}

static void below_is_uniform_and_in_range(void **state)
{
    (void)state;
    struct rng r;
    int count[10] = {0};
    rng_seed(&r, 3, 0);
    for (int i = 0; i < 100000; i++)
        count[rng_below(&r, 10)]++;
    for (int i = 0; i < 10; i++)
        assert_in_range(count[i], 9500, 10500); /* 5 standard deviations */
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(rng_below(&r, 1), 0);
        assert_true(rng_below(&r, (UINT64_C(1) << 63) + 1) <= UINT64_C(1) << 63);
    }
    /* n just over 2^63: without rejection low results would come twice as often */
    int low = 0;
    for (int i = 0; i < 100000; i++)
        low += rng_below(&r, UINT64_C(3) << 62) < UINT64_C(1) << 62;
    assert_in_range(low, 32500, 34200);
}

static void range_reaches_both_ends(void **state)
{
    (void)state;
    struct rng r;
    int low = 0, high = 0, negative = 0;
    rng_seed(&r, 4, 0);
    for (int i = 0; i < 1000; i++) {
        int64_t v = rng_range(&r, -2, 2);
        assert_true(v >= -2 && v <= 2);
        low += v == -2;
        high += v == 2;
        negative += rng_range(&r, INT64_MIN, INT64_MAX) < 0;
    }
    assert_in_range(low, 120, 280);
    assert_in_range(high, 120, 280);
    assert_in_range(negative, 400, 600);
    assert_int_equal(rng_range(&r, 9, 9), 9);
}

static void unit_uniform_chance(void **state)
{
    (void)state;
    struct rng r;
    double sum = 0;
    int hits = 0;
    rng_seed(&r, 5, 0);
    for (int i = 0; i < 100000; i++) {
        double u = rng_unit(&r);
        assert_true(u >= 0 && u < 1);
        sum += u;
        hits += rng_chance(&r, 0.25);
        double v = rng_uniform(&r, 0.8, 1.2);
        assert_true(v >= 0.8 && v <= 1.2);
        assert_false(rng_chance(&r, 0));
        assert_true(rng_chance(&r, 1));
    }
    assert_true(fabs(sum / 100000 - 0.5) < 0.005);
    assert_in_range(hits, 24300, 25700);
}

static void exponential_has_its_mean(void **state)
{
    (void)state;
    struct rng r;
    double sum = 0;
    int above = 0;
    rng_seed(&r, 6, 0);
    for (int i = 0; i < 100000; i++) {
        double v = rng_exponential(&r, 2.0);
        assert_true(v >= 0 && !signbit(v));
        sum += v;
        above += v > 2.0;
    }
    assert_true(fabs(sum / 100000 - 2.0) < 0.04);
    assert_in_range(above, 36000, 37600); /* 1/e of them */
}

static void exp_agrees_with_libm(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 9, 0);
    assert_true(rng_exp(0) == 1);
    assert_true(rng_exp(-701) == 0);
    assert_true(rng_exp(-1e300) == 0);
    for (int i = 0; i < 200000; i++) {
        double x = rng_uniform(&r, -700, 700);
        if (i % 2)
            x /= 700;
        double want = exp(x);
        assert_true(fabs(rng_exp(x) - want) <= 1e-13 * want);
    }
}

enum {
    INTERVALS = 250000
};

static int upwards(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void gamma_has_its_mean_and_spread(void **state)
{
    (void)state;
    static const double spread[] = {0.5, 1, 2, 4};
    for (size_t i = 0; i < sizeof spread / sizeof spread[0]; i++) {
        struct rng r;
        double sum = 0, squares = 0;
        int draws = spread[i] > 2 ? 4 * INTERVALS : INTERVALS; /* 1 % are two deviations of cv */
        rng_seed(&r, 42, i);
        for (int n = 0; n < draws; n++) {
            double v = rng_gamma(&r, 0.25, spread[i]);
            assert_true(v >= 0 && !signbit(v));
            sum += v;
            squares += v * v;
        }
        double mean = sum / draws;
        double cv = sqrt(squares / draws - mean * mean) / mean;
        print_message("cv %g: mean %.6f of 0.25, cv %.5f\n", spread[i], mean, cv);
        assert_true(fabs(mean / 0.25 - 1) < 0.01);
        assert_true(fabs(cv / spread[i] - 1) < 0.01);
    }
}

/* Kolmogorov and Smirnov: at 1 %, D exceeds 1.628 / sqrt(n) by chance. */
static double distance_from_exponential(double cv)
{
    static double v[INTERVALS];
    struct rng r;
    double most = 0;
    rng_seed(&r, 42, 100);
    for (int n = 0; n < INTERVALS; n++)
        v[n] = rng_gamma(&r, 2.0, cv);
    qsort(v, INTERVALS, sizeof(v[0]), upwards);
    for (int n = 0; n < INTERVALS; n++) {
        double below = 1 - exp(-v[n] / 2.0);
        most = fmax(most, fmax(fabs(below - (double)n / INTERVALS),
                               fabs(below - (double)(n + 1) / INTERVALS)));
    }
    return most;
}

static void gamma_of_one_is_exponential(void **state)
{
    (void)state;
    double bound = 1.628 / sqrt(INTERVALS);
    assert_true(distance_from_exponential(1) < bound);
    assert_true(distance_from_exponential(1.02) > bound); /* the test tells a small difference */
}

static void ln_agrees_with_libm(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 7, 0);
    assert_true(rng_ln(1.0) == 0.0);
    for (int i = 0; i < 200000; i++) {
        double x = ldexp(1.0 + rng_unit(&r), (int)rng_range(&r, -1070, 1022));
        if (i % 2)
            x = 1.0 + (rng_unit(&r) - 0.5) * ldexp(1.0, -(i % 50));
        if (x == 1.0)
            continue;
        double want = log(x);
        assert_true(fabs(rng_ln(x) - want) <= 1e-14 * fabs(want));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_sequence),
        cmocka_unit_test(golden_streams),
        cmocka_unit_test(golden_draws),
        cmocka_unit_test(streams_differ),
        cmocka_unit_test(below_is_uniform_and_in_range),
        cmocka_unit_test(range_reaches_both_ends),
        cmocka_unit_test(unit_uniform_chance),
        cmocka_unit_test(exponential_has_its_mean),
        cmocka_unit_test(exp_agrees_with_libm),
        cmocka_unit_test(gamma_has_its_mean_and_spread),
        cmocka_unit_test(gamma_of_one_is_exponential),
        cmocka_unit_test(ln_agrees_with_libm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
