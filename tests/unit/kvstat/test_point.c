/* test_point.c - the rate of a point of kvtrace model against values worked out by hand: the parts
 * of a run, the interval of several runs, when it is known, and a step that gives no more. A bug
 * here is a rate that the next run does not find, or a ladder that is climbed for nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvstat/knee/point_report.h"

static struct point_run run; /* too large for a stack */
static const double even[POINT_PARTS] = {100, 100, 100, 100, 100, 100, 100, 100, 100, 100};
/* Each part is as far from 100 as the one before, on the other side. */
static const double uneven[POINT_PARTS] = {90, 110, 90, 110, 90, 110, 90, 110, 90, 110};
/* Each of five parts is like the one before. */
static const double halves[POINT_PARTS] = {90, 90, 90, 90, 90, 110, 110, 110, 110, 110};

static struct points *points;

static int set_up(void **state)
{
    (void)state;
    points = points_create();
    return points ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    points_free(points);
    return 0;
}

/* A run of so many seconds with factor times those parts. */
static void add(double in_flight, double seconds, const double *part, double factor)
{
    struct err e = {0};
    double sum = 0;
    run = (struct point_run){.in_flight = in_flight, .elapsed_s = seconds, .seconds = seconds};
    for (int k = 0; k < POINT_PARTS; k++) {
        run.part_bytes_s[k] = part[k] * factor;
        sum += part[k] * factor;
    }
    run.bytes = sum / POINT_PARTS * seconds;
    run.objects[0] = 1;
    assert_int_equal(points_add(points, &run, &e), 0);
}

/* Objects of 100 bytes that start each 0.1 s and take as long, one at a time: the time is from 0 to
 * 1 s, where the last one starts. One row with a second object from 0.95 to 1.05 s moves half of
 * its bytes in the last part. */
static void bytes_are_spread_over_the_time_of_an_object(void **state)
{
    (void)state;
    struct err e = {0};
    struct point_object o[12];
    for (int i = 0; i < 11; i++)
        o[10 - i] = (struct point_object){.start_s = i / 10.0, .time_us = 1e5, .bytes = 100};
    o[11] = (struct point_object){.start_s = 0.95, .time_us = 1e5, .bytes = 100};
    run.elapsed_s = 2;
    assert_int_equal(point_run_of(&run, 1, o, 12, &e), 0);
    assert_true(run.in_flight == 1 && run.elapsed_s == 2 && run.seconds == 1);
    assert_true(run.bytes == 1050);
    for (int k = 0; k < 9; k++)
        assert_true(run.part_bytes_s[k] == 1000);
    assert_true(run.part_bytes_s[9] == 1500);
    /* 100 ln(100,000) is 1151.3. */
    assert_true(run.objects[1151] == 12);
}

/* With 11 in flight the time begins with the eleventh start, at 0.95 s. With as many in flight as
 * there are objects, nothing lies between, and with more the first start counts. */
static void the_time_begins_when_all_are_in_flight(void **state)
{
    (void)state;
    struct err e = {0};
    struct point_object o[12];
    for (int i = 0; i < 11; i++)
        o[i] = (struct point_object){.start_s = i / 10.0, .time_us = 0.5, .bytes = 100};
    o[11] = (struct point_object){.start_s = 0.95, .time_us = 1e5, .bytes = 100};
    assert_int_equal(point_run_of(&run, 11, o, 12, &e), 0);
    assert_true(run.seconds == 0.05);
    assert_true(run.bytes == 50);
    assert_true(run.objects[0] == 11);
    assert_int_equal(point_run_of(&run, 12, o, 12, &e), 0);
    assert_true(run.seconds == 1);
    assert_int_equal(point_run_of(&run, 1, o, 1, &e), 0);
    assert_true(isnan(run.seconds));
    assert_int_equal(point_run_of(&run, 1, o, 0, &e), 0);
    assert_true(isnan(run.seconds));
}

/* Parts of 90 and 110 million: the squares are 20 times 100; 2.1 sqrt(2000 / 19 / 20) is 4.8181.
 * Alternation makes nothing narrower. */
static void parts_make_the_interval(void **state)
{
    (void)state;
    add(1, 1, uneven, 1e6);
    struct point_step s = points_step(points, 0);
    assert_false(s.known); /* one run */
    add(1, 3, uneven, 1e6);
    s = points_step(points, 0);
    assert_true(s.rate == 100e6 && s.seconds == 4 && s.elapsed_s == 3);
    assert_true(s.runs == 2);
    assert_true(s.high == 104817730 && s.low == 95182270);
    assert_true(s.known && s.known_to == 5);
}

/* Nine neighbours of each run: eight are alike, one is not. The correlation is (8 - 1) / 10, and
 * the interval sqrt(1.7 / 0.3) = 2.3805 times as wide. */
static void parts_that_are_alike_tell_less(void **state)
{
    (void)state;
    add(1, 1, halves, 1e6);
    add(1, 1, halves, 1e6);
    struct point_step s = points_step(points, 0);
    assert_true(s.high == 111468492);
    assert_true(!s.known && s.known_to == 12);
}

/* Runs of 90 and 110, 1 s and 3 s: 105 together, and half of their difference, 10, is more than
 * their parts have: 2.1 sqrt(4020 / 19 / 20) is 6.8. */
static void runs_that_differ_make_it_wider(void **state)
{
    (void)state;
    add(1, 1, uneven, 0.9e6);
    add(1, 3, uneven, 1.1e6);
    struct point_step s = points_step(points, 0);
    assert_true(s.rate == 105e6);
    assert_true(s.low == 95e6 && s.high == 115e6);
    assert_true(!s.known && s.known_to == 10);
}

/* 105 % of the step before is flat, more is not; a step whose runs were too short is neither. */
static void a_step_that_gives_no_more_is_flat(void **state)
{
    (void)state;
    struct err e = {0};
    add(1, 1, even, 1e6);
    add(2, 1, even, 1.05e6);
    add(4, 1, even, 1.11e6);
    run = (struct point_run){.in_flight = 8, .elapsed_s = 1, .seconds = NAN};
    assert_int_equal(points_add(points, &run, &e), 0);
    assert_int_equal(points_count(points), 4);
    assert_false(points_step(points, 0).flat);
    assert_true(points_step(points, 1).flat);
    assert_false(points_step(points, 2).flat);
    struct point_step s = points_step(points, 3);
    assert_true(isnan(s.rate) && isnan(s.known_to));
    assert_true(!s.flat && !s.known);
    run.in_flight = 4;
    assert_int_equal(points_add(points, &run, &e), -EINVAL);
}

/* 50 objects in class 0, 45 in 100, 5 in 461: e^0.005, e^1.005 and e^4.615 us. */
static void percentiles_are_of_all_runs(void **state)
{
    (void)state;
    struct err e = {0};
    run = (struct point_run){.in_flight = 1, .elapsed_s = 1, .seconds = NAN};
    run.objects[0] = 50;
    run.objects[100] = 5;
    assert_int_equal(points_add(points, &run, &e), 0);
    run.objects[0] = 0;
    run.objects[100] = 40;
    run.objects[461] = 5;
    assert_int_equal(points_add(points, &run, &e), 0);
    struct point_step s = points_step(points, 0);
    assert_true(s.p50_us == 1.0);
    assert_true(s.p95_us == 2.7);
    assert_true(s.p99_us == 101.0);
}

/* The text of point_run_csv is read again; a table of kvtrace knee is another. */
static void a_run_is_read_again(void **state)
{
    (void)state;
    char path[] = "/tmp/test_point.XXXXXX";
    struct err e = {0};
    struct number_table *t = NULL;
    FILE *f = fdopen(mkstemp(path), "w");
    assert_non_null(f);
    add(4, 1, uneven, 1e6);
    run.objects[530] = 7;
    point_run_csv(f, &run);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(number_table_load(&t, path, &e), 0);
    unlink(path);
    assert_true(points_are_in(t));
    assert_int_equal(points_add_table(points, t, &e), 0);
    number_table_free(t);
    struct point_step s = points_step(points, 0);
    assert_true(s.in_flight == 4 && s.runs == 2 && s.rate == 100e6);
    assert_true(s.high == 104817730);
    /* Two objects of the first class, seven of 530. */
    assert_true(s.p50_us == round(exp(5.305) * 10) / 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(bytes_are_spread_over_the_time_of_an_object),
        TEST(the_time_begins_when_all_are_in_flight),
        TEST(parts_make_the_interval),
        TEST(parts_that_are_alike_tell_less),
        TEST(runs_that_differ_make_it_wider),
        TEST(a_step_that_gives_no_more_is_flat),
        TEST(percentiles_are_of_all_runs),
        TEST(a_run_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
