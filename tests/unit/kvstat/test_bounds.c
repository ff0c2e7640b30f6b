/* The bounds behind a verdict: 59 independent samples are the fewest that show a P95, false answers
 * at the limit are as rare as promised for independent and for correlated values, and more samples
 * decide more often. A bug looked like 29 of 100 runs that passed at their limit, because
 * successive values were taken as independent. */
/* builds: plain (shares of many runs; tests/cli/kvstat/report.t runs its code) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "kvgen/rng.h"
#include "kvstat/report/bounds.h"

enum {
    P95 = 950000,
    RUNS = 200
};

/* n values of 1 ms, of which the last beyond are of 10 ms. */
static enum bounds_answer answer(int n, int beyond)
{
    struct hist *h = hist_create();
    hist_record_n(h, 1000000, (uint64_t)(n - beyond));
    if (beyond > 0)
        hist_record_n(h, 10000000, (uint64_t)beyond);
    struct bounds b = bounds_of(h, NULL, P95, 5000000);
    assert_true(b.independent == n);
    assert_true((b.answer == BOUNDS_UNDECIDED) == (b.samples_to_decide > 0));
    hist_free(h);
    return b.answer;
}

/* Binomial tails: 0.95^59 = 0.0485; 1 of 93: 0.0500; 4 of 21 at 5 %: 0.0189, 3: 0.0849. */
static void by_hand(void **state)
{
    (void)state;
    assert_int_equal(answer(58, 0), BOUNDS_UNDECIDED);
    assert_int_equal(answer(59, 0), BOUNDS_WITHIN);
    assert_int_equal(answer(92, 1), BOUNDS_UNDECIDED);
    assert_int_equal(answer(93, 1), BOUNDS_WITHIN);
    assert_int_equal(answer(2, 2), BOUNDS_BEYOND);
    assert_int_equal(answer(2, 0), BOUNDS_UNDECIDED);
    assert_int_equal(answer(21, 3), BOUNDS_UNDECIDED);
    assert_int_equal(answer(21, 4), BOUNDS_BEYOND);
}

/* The values 1..1000 us: P95 is 950 us; 5 % of 1,000 have a standard deviation of 6.9 ranks. */
static void bounds_of_the_value(void **state)
{
    (void)state;
    struct hist *h = hist_create();
    for (int i = 1; i <= 1000; i++)
        hist_record(h, i * 1000);
    struct bounds b = bounds_of(h, NULL, P95, 2000000);
    assert_int_equal(b.answer, BOUNDS_WITHIN);
    assert_true(b.low > 934e3 && b.low < 942e3);
    assert_true(b.high > 958e3 && b.high < 966e3);
    b = bounds_of(h, NULL, P95, 955000);
    assert_int_equal(b.answer, BOUNDS_UNDECIDED);
    assert_true(b.samples_to_decide > 1000 && b.samples_to_decide < 10000);
    hist_free(h);
}

/* A handful of values has no upper bound. */
static void few(void **state)
{
    (void)state;
    struct hist *h = hist_create();
    hist_record_n(h, 1000, 10);
    assert_true(isinf(bounds_of(h, NULL, P95, 2000).high));
    hist_free(h);
}

static double normal(struct rng *r)
{
    double u = ((double)rng_below(r, UINT64_C(1) << 50) + 1) / 0x1p50;
    double v = (double)rng_below(r, UINT64_C(1) << 50) / 0x1p50;
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

/* Answers of RUNS runs of n values, normal with the correlation phi, against a limit that 5 % of
 * them are truly beyond (1.644854 deviations), or 1 % (2.326348). */
static void count(double phi, int n, double deviations, int answers[3])
{
    struct rng r;
    rng_seed(&r, 7, 0);
    answers[0] = answers[1] = answers[2] = 0;
    for (int run = 0; run < RUNS; run++) {
        struct hist *h = hist_create();
        struct blocks *b = blocks_create();
        double x = normal(&r);
        for (int i = 0; i < n; i++) {
            x = phi * x + sqrt(1 - phi * phi) * normal(&r);
            assert_int_equal(hist_record(h, (int64_t)(1e6 * (10 + x))), 0);
            assert_int_equal(blocks_add(b, (int64_t)(1e6 * (10 + x))), 0);
        }
        answers[bounds_of(h, b, P95, (int64_t)(1e6 * (10 + deviations))).answer]++;
        hist_free(h);
        blocks_free(b);
    }
}

/* At the limit 5 % (7 %) of either answer are allowed; 200 runs show up to 4 points more by chance.
 */
static void false_answers(void **state)
{
    (void)state;
    static const double phis[] = {0, 0.9};
    for (int p = 0; p < 2; p++) {
        int last = RUNS;
        for (int n = 100; n <= 4000; n *= 40) {
            int answers[3];
            count(phis[p], n, 1.644854, answers);
            print_message("AR(1) %g, %d rows at the limit: %d within, %d beyond of %d\n", phis[p],
                          n, answers[BOUNDS_WITHIN], answers[BOUNDS_BEYOND], RUNS);
            assert_in_range(answers[BOUNDS_WITHIN], 0, RUNS * 9 / 100);
            assert_in_range(answers[BOUNDS_BEYOND], 0, RUNS * 9 / 100);
            count(phis[p], n, 2.326348, answers);
            assert_in_range(answers[BOUNDS_UNDECIDED], 0, last);
            last = answers[BOUNDS_UNDECIDED];
            assert_in_range(answers[BOUNDS_BEYOND], 0, RUNS * 5 / 100);
        }
        assert_in_range(last, 0, RUNS / 20);
    }
}

/* Strongly correlated rows: 11 in 100 runs of 4,000 rows with a coefficient of 0.98 passed at their
 * limit, for the variance of a few clusters beyond it was underestimated. 5 % are allowed, and 200
 * runs show up to 4 points more by chance. */
static void strongly_correlated(void **state)
{
    (void)state;
    static const double phis[] = {0.96, 0.98, 0.99};
    static const int lengths[] = {1000, 4000};
    for (int p = 0; p < 3; p++) {
        for (int l = 0; l < 2; l++) {
            int answers[3];
            count(phis[p], lengths[l], 1.644854, answers);
            print_message("AR(1) %g, %d rows at the limit: %d within, %d beyond of %d\n", phis[p],
                          lengths[l], answers[BOUNDS_WITHIN], answers[BOUNDS_BEYOND], RUNS);
            assert_in_range(answers[BOUNDS_WITHIN], 0, RUNS * 6 / 100);
            assert_in_range(answers[BOUNDS_BEYOND], 0, RUNS * 6 / 100);
        }
    }
}

/* Two series one behind the other are as many values, in blocks of one length. */
static void appended(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 3, 0);
    for (int run = 0; run < 200; run++) {
        struct blocks *a = blocks_create(), *b = blocks_create();
        int na = (int)rng_below(&r, 700), nb = (int)rng_below(&r, 700) + 40;
        struct blocks_mean m;
        double sum = 0;
        for (int i = 0; i < na + nb; i++) {
            int64_t v = (int64_t)rng_below(&r, 1000000);
            assert_int_equal(blocks_add(i < na ? a : b, v), 0);
            sum += (double)v;
        }
        assert_int_equal(blocks_append(a, b), 0);
        assert_int_equal(blocks_count(a), na + nb);
        assert_true(blocks_mean(a, &m));
        assert_true(fabs(m.mean - sum / (na + nb)) < 1e-6 * sum);
        for (int i = 0; i < 300; i++) /* and it goes on */
            assert_int_equal(blocks_add(a, 5), 0);
        assert_int_equal(blocks_count(a), na + nb + 300);
        blocks_free(a);
        blocks_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),  cmocka_unit_test(bounds_of_the_value),
        cmocka_unit_test(few),      cmocka_unit_test(false_answers),
        cmocka_unit_test(appended), cmocka_unit_test(strongly_correlated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
