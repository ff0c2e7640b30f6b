/* The statistics of trials and comparisons: Student's t against tables, a planted 10 % difference
 * in 3 % noise found, and no change found in at least 95 of 100 pairs of samples of one
 * distribution. A bug looked like a change found in every tenth pair when twenty figures were
 * tested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "kvgen/rng.h"
#include "kvstat/count/statistics.h"
#include "tests/unit/scale.h"

enum {
    DRAWS = 100,
    FIGURES = 20,
    ROW_FIGURES = 40, /* of single runs */
    TRIALS = 5,
    ROWS = 5000
};

static void near(double got, double want, double relative)
{
    if (fabs(got - want) > relative * fabs(want))
        fail_msg("got %.12g, wanted %.12g", got, want);
}

/* Tables of the t distribution, 95 %, 99 % and 99.9 % two-sided. */
static void student(void **state)
{
    (void)state;
    near(statistics_t_quantile(0.05, 1), 12.706205, 1e-6);
    near(statistics_t_quantile(0.05, 2), 4.302653, 1e-6);
    near(statistics_t_quantile(0.05, 4), 2.776445, 1e-6);
    near(statistics_t_quantile(0.01, 9), 3.249836, 1e-6);
    near(statistics_t_quantile(0.001, 30), 3.645959, 1e-6);
    near(statistics_t_quantile(0.05, 1e9), 1.959964, 1e-6);
    near(statistics_t_tails(0, 5), 1, 1e-12);
    near(statistics_t_tails(1, 1), 0.5, 1e-12);
    near(statistics_t_tails(-1, 1), 0.5, 1e-12);
    near(statistics_t_tails(1, 2), 1 - 1 / sqrt(3), 1e-12);
    assert_true(statistics_t_tails(INFINITY, 3) == 0);
}

/* 10, 12, 14: mean 12, sd 2; half width 4.302653 x 2 / sqrt 3. */
static void sample(void **state)
{
    (void)state;
    static const double value[] = {10, 12, 14};
    struct statistics_sample s = statistics_of(value, 3);
    near(s.mean, 12, 1e-12);
    near(s.sd, 2, 1e-12);
    near(s.cv, 1.0 / 6, 1e-12);
    near(s.low, 12 - 4.968275, 1e-6);
    near(s.high, 12 + 4.968275, 1e-6);
    s = statistics_of(value, 1);
    assert_true(s.mean == 10 && isnan(s.sd) && isnan(s.low));
    assert_true(isnan(statistics_of(value, 0).mean));
}

/* {1, 2, 3} and {3, 4, 5, 6}: t = 2.5 / sqrt(1/3 + 5/12) = 2.886751, df = (3/4)^2 / (1/18 + 25/432)
 * = 4.959184; p = 0.03465 (by numerical integration of the density). */
static void welch_by_hand(void **state)
{
    (void)state;
    static const double a[] = {1, 2, 3}, b[] = {3, 4, 5, 6}, same[] = {7, 7};
    struct statistics_sample x = statistics_of(a, 3), y = statistics_of(b, 4),
                             z = statistics_of(same, 2);
    double p = statistics_welch(&x, &y);
    near(statistics_t_quantile(p, 4.959184), 2.886751, 1e-5);
    assert_true(p > 0.034 && p < 0.035);
    assert_true(statistics_welch(&z, &z) == 1);
    struct statistics_sample one = statistics_of(b, 1), none = statistics_of(b, 0);
    /* 1 against 3: se = 1 x sqrt(1 + 1/3), t = 1 / se, df = 2 */
    near(statistics_welch(&x, &one), statistics_t_tails(1 / sqrt(4.0 / 3), 2), 1e-12);
    assert_true(isnan(statistics_welch(&one, &one)));
    assert_true(isnan(statistics_welch(&x, &none)));
}

static void benjamini_hochberg(void **state)
{
    (void)state;
    double p[] = {0.5, 0.012, 0.001, 0.014, 0.9};
    /* Sorted against 0.05 k / 5: 0.001, 0.012, 0.014 lie below 0.01, 0.02, 0.03. */
    near(statistics_threshold(p, 5, 0.05), 0.014, 1e-12);
    double q[] = {0.02, 0.5};
    assert_true(statistics_threshold(q, 2, 0.01) == -1);
    assert_true(statistics_threshold(q, 0, 0.01) == -1);
}

/* Box and Muller 1958. */
static double normal(struct rng *r)
{
    double u = ((double)rng_below(r, UINT64_C(1) << 50) + 1) / 0x1p50;
    double v = (double)rng_below(r, UINT64_C(1) << 50) / 0x1p50;
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

/* Runs of one load: a run's own 3 % noise moves all its figures, and each has some of its own. */
static void draw_runs(struct rng *r, double value[FIGURES][TRIALS], double factor)
{
    for (int t = 0; t < TRIALS; t++) {
        double run = normal(r);
        for (int f = 0; f < FIGURES; f++)
            value[f][t] = factor * (100 + f) * (1 + 0.03 * (0.8 * run + 0.6 * normal(r)));
    }
}

static int changes_of_runs(struct rng *r, double factor)
{
    double a[FIGURES][TRIALS], b[FIGURES][TRIALS], p[FIGURES], sorted[FIGURES];
    int changes = 0;
    draw_runs(r, a, 1);
    draw_runs(r, b, factor);
    for (int f = 0; f < FIGURES; f++) {
        struct statistics_sample x = statistics_of(a[f], TRIALS), y = statistics_of(b[f], TRIALS);
        sorted[f] = p[f] = statistics_welch(&x, &y);
    }
    double threshold = statistics_threshold(sorted, FIGURES, 0.01);
    for (int f = 0; f < FIGURES; f++)
        changes += p[f] <= threshold;
    return changes;
}

static void five_runs_each(void **state)
{
    (void)state;
    struct rng r;
    int alarms = 0, found = 0;
    rng_seed(&r, 1, 0);
    for (int i = 0; i < DRAWS; i++) {
        alarms += changes_of_runs(&r, 1) > 0;
        found += changes_of_runs(&r, 1.10) > FIGURES / 2;
    }
    print_message("five runs each: %d of 100 false alarms, %d of 100 found\n", alarms, found);
    assert_in_range(alarms, 0, 5);
    assert_in_range(found, 80, 100);
}

/* ROWS values around factor x 1 ms with 3 % noise, each depending on the one before by phi. */
static struct statistics_side draw_rows(struct rng *r, double factor, double phi)
{
    struct hist *h = hist_create();
    struct blocks *b = blocks_create();
    double x = normal(r);
    assert_true(h && b);
    for (int i = 0; i < ROWS; i++) {
        x = phi * x + sqrt(1 - phi * phi) * normal(r);
        hist_record(h, (int64_t)(1e6 * factor * (1 + 0.03 * x)));
        blocks_add(b, (int64_t)(1e6 * factor * (1 + 0.03 * x)));
    }
    return (struct statistics_side){h, b};
}

static void side_free(struct statistics_side *s)
{
    hist_free((struct hist *)(uintptr_t)s->values);
    blocks_free((struct blocks *)(uintptr_t)s->series);
}

/* Ten distributions in a file, four figures of each. */
static int changes_of_rows(struct rng *r, double factor, double phi)
{
    static const uint32_t ppm[] = {500000, 950000, 990000};
    double p[ROW_FIGURES], sorted[ROW_FIGURES];
    int changes = 0, tested = 0;
    for (int f = 0; f < ROW_FIGURES; f += 4) {
        struct statistics_side a = draw_rows(r, 1, phi), b = draw_rows(r, factor, phi);
        p[f] = statistics_series_mean(a.series, b.series);
        for (int i = 0; i < 3; i++)
            p[f + 1 + i] = statistics_series_percentile(&a, &b, ppm[i]);
        side_free(&a);
        side_free(&b);
    }
    for (int f = 0; f < ROW_FIGURES; f++)
        if (!isnan(p[f]))
            sorted[tested++] = p[f];
    double threshold = statistics_threshold(sorted, (size_t)tested, 0.01);
    for (int f = 0; f < ROW_FIGURES; f++)
        changes += p[f] <= threshold;
    return changes;
}

/* AR(1) series of 0.99 were called changed in 30 of 30 pairs of one distribution. */
static void one_run_each(void **state)
{
    (void)state;
    static const double phis[] = {0, 0.9, 0.99};
    struct rng r;
    rng_seed(&r, 2, 0);
    for (int c = 0; c < 3; c++) {
        int alarms = 0, draws = scaled(DRAWS);
        for (int i = 0; i < draws; i++)
            alarms += changes_of_rows(&r, 1, phis[c]) > 0;
        print_message("one run each, AR(1) %g: %d of %d false alarms\n", phis[c], alarms, draws);
        assert_in_range(alarms, 0, (draws + 19) / 20);
    }
    for (int i = 0; i < scaled(10); i++) /* some percentiles are not known */
        assert_true(changes_of_rows(&r, 1.10, 0) > ROW_FIGURES / 2);
}

static void what_cannot_be_told(void **state)
{
    (void)state;
    struct hist *h = hist_create();
    struct blocks *few = blocks_create(), *many = blocks_create();
    for (int i = 0; i < 100; i++) {
        hist_record(h, 1000000);
        blocks_add(many, 1000000);
        if (i < 19)
            blocks_add(few, 1000000);
    }
    const struct statistics_side a = {h, many}, b = {h, few};
    assert_true(isnan(statistics_series_percentile(&a, &a, 950000))); /* five above it */
    assert_true(statistics_series_percentile(&a, &a, 500000) == 1);
    assert_true(statistics_series_mean(many, many) == 1);
    assert_true(isnan(statistics_series_mean(many, few))); /* 19 blocks */
    assert_true(isnan(statistics_series_mean(many, b.series)));
    hist_free(h);
    blocks_free(few);
    blocks_free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(student),
        cmocka_unit_test(sample),
        cmocka_unit_test(welch_by_hand),
        cmocka_unit_test(benjamini_hochberg),
        cmocka_unit_test(five_runs_each),
        cmocka_unit_test(one_run_each),
        cmocka_unit_test(what_cannot_be_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
