/* The steady-state rule on recorded series, against the rule worked out by hand beside each: range
 * of five rounds within 20 % of their average, rise of the best line within 10 %. A bug looked like
 * this: a slow decline taken as steady because each round was near the last one, a series that
 * settles judged by its fall, excursions measured from the average and so allowed twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>

#include "kvprecond/steady.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static void near(double got, double wanted)
{
    if (fabs(got - wanted) > 1e-12)
        fail_msg("%.15g, wanted %.15g", got, wanted);
}

/* The first round, counted from 1, at whose end the series is steady; 0: none. */
static size_t steady_at(const double *y, size_t n)
{
    for (size_t i = 1; i <= n; i++)
        if (steady_judge(y, i).steady)
            return i;
    return 0;
}

/* Sum 2000, average 400; 410 - 390 = 20, 20 / 400 = 5 %. Deviations 0, 10, -10, 5, -5 times
 * -2, -1, 0, 1, 2: -10 + 5 - 10 = -15; / 10 = -1.5 a round, x 4 = -6; 6 / 400 = 1.5 %. */
static void test_steady(void **state)
{
    static const double y[] = {400, 410, 390, 405, 395};
    struct steady s = steady_judge(y, COUNT(y));

    (void)state;
    near(s.average, 400);
    near(s.range_share, 0.05);
    near(s.slope_share, 0.015);
    assert_true(s.steady);
    assert_false(steady_judge(y, 4).steady); /* four rounds are no window */
    near(steady_judge(y, 4).average, 0);
}

/* 100, 97, 94, ...: every window of five falls by 3 a round: rise 12, range 12. The first: average
 * 94: 12 / 94 = 12.8 % of slope, above 10 %; range 12.8 %, within 20 %. It never gets flatter, and
 * its average falls: never steady. */
static void test_drifting(void **state)
{
    double y[STEADY_ROUNDS];
    struct steady s;

    (void)state;
    for (int i = 0; i < STEADY_ROUNDS; i++)
        y[i] = 100 - 3 * i;
    s = steady_judge(y, 5);
    near(s.average, 94);
    near(s.range_share, 12.0 / 94);
    near(s.slope_share, 12.0 / 94);
    assert_false(s.steady);
    assert_int_equal(steady_at(y, STEADY_ROUNDS), 0);
}

/* 200 and 250 in turn. High first: sum 1150, average 230, range 50 / 230 = 21.7 %, above 20 %;
 * deviations 20, -30, 20, -30, 20: slope (-40 + 30 + 0 - 30 + 40) / 10 = 0. Low first: average 220,
 * 22.7 %. Flat, and never steady. */
static void test_oscillating(void **state)
{
    double y[STEADY_ROUNDS];
    struct steady s;

    (void)state;
    for (int i = 0; i < STEADY_ROUNDS; i++)
        y[i] = i % 2 ? 200 : 250;
    s = steady_judge(y, 5);
    near(s.average, 230);
    near(s.range_share, 50.0 / 230);
    near(s.slope_share, 0);
    assert_int_equal(steady_at(y, STEADY_ROUNDS), 0);
    /* 210 and 250: 40 / 234 = 17.1 % and 40 / 226 = 17.7 %: steady from the first window on. */
    for (int i = 0; i < STEADY_ROUNDS; i++)
        y[i] = i % 2 ? 210 : 250;
    assert_int_equal(steady_at(y, STEADY_ROUNDS), 5);
}

/* A drive that leaves its cache: 1000, 1000, 800, 500, 320, then about 300.
 * Rounds 4-8: 500, 320, 300, 305, 300: average 345, range 200 / 345 = 58 %.
 * Rounds 5-9: 320, 300, 305, 300, 302: average 305.4, range 20 / 305.4 = 6.5 %; deviations 14.6,
 * -5.4, -0.4, -5.4, -3.4: (-29.2 + 5.4 - 5.4 - 6.8) / 10 = -3.6 a round, 14.4 / 305.4 = 4.7 %. */
static void test_falling_then_flat(void **state)
{
    static const double y[] = {1000, 1000, 800, 500, 320, 300, 305, 300, 302, 299, 301};
    struct steady s = steady_judge(y, 9);

    (void)state;
    near(steady_judge(y, 8).range_share, 200.0 / 345);
    near(s.average, 305.4);
    near(s.range_share, 20 / 305.4);
    near(s.slope_share, 14.4 / 305.4);
    assert_int_equal(steady_at(y, COUNT(y)), 9);
}

/* "Within" takes the limit itself. Range: 90, 110, 100, 90, 110 is 20 / 100; deviations -10, 10, 0,
 * -10, 10: (20 - 10 - 10 + 20) / 10 = 2 a round, 8 %. Slope: 95, 97.5, 100, 102.5, 105 rises by 10
 * on 100. */
static void test_limits(void **state)
{
    static const double range[] = {90, 110, 100, 90, 110}, above[] = {89.9, 110, 100.1, 90, 110};
    static const double slope[] = {95, 97.5, 100, 102.5, 105}, steep[] = {94, 97, 100, 103, 106};

    (void)state;
    near(steady_judge(range, 5).range_share, 0.2);
    near(steady_judge(range, 5).slope_share, 0.08);
    assert_true(steady_judge(range, 5).steady);
    assert_false(steady_judge(above, 5).steady);
    near(steady_judge(slope, 5).slope_share, 0.1);
    assert_true(steady_judge(slope, 5).steady);
    near(steady_judge(steep, 5).slope_share, 0.12);
    assert_false(steady_judge(steep, 5).steady);
}

/* Rounds in which nothing was done agree with each other, and say nothing. */
static void test_nothing_done(void **state)
{
    static const double none[] = {0, 0, 0, 0, 0}, stalled[] = {300, 300, 300, 300, 0};

    (void)state;
    assert_false(steady_judge(none, 5).steady);
    assert_false(steady_judge(stalled, 5).steady);
    assert_false(steady_judge(none, 0).steady);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady),      cmocka_unit_test(test_drifting),
        cmocka_unit_test(test_oscillating), cmocka_unit_test(test_falling_then_flat),
        cmocka_unit_test(test_limits),      cmocka_unit_test(test_nothing_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
