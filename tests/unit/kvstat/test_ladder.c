/* test_ladder.c - the statistics of kvtrace knee against values worked out by hand: intervals of a
 * step, knee and cliff between steps, what the rounds have in common. A bug here is a knee that the
 * next run does not find, or a drive that changed and is not said to. */
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

#include "kvstat/knee/ladder.h"

static struct ladder found;

/* ladder_of on a file with that head and those lines. */
static int ladder(const char *lines, struct err *e)
{
    char path[] = "/tmp/test_ladder.XXXXXX";
    int fd = mkstemp(path);
    struct number_table *t = NULL;
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    fprintf(f, "In_Flight,Round,Bytes_Per_s,Read_P99_us,Write_P99_us,IO_s,Elapsed_s,Direct\n%s",
            lines);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(number_table_load(&t, path, e), 0);
    unlink(path);
    int rc = ladder_of(&found, t, e);
    number_table_free(t);
    return rc;
}

static void near(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-6 * fabs(expected));
}

/* The deviation of 99 and 101 is sqrt(2); t of one degree of freedom is 12.7062; as many rounds
 * again: 100 +- 12.7062 sqrt(2) sqrt(2 / 2). Steps come in any order. */
static void intervals_hold_as_many_rounds_again(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(ladder("4,1,198,,30,8,4,1\n1,1,99,,10,4,4,1\n1,2,101,,10,4,4,1\n"
                            "4,2,202,,30,8,4,1\n",
                            &e),
                     0);
    assert_int_equal(found.steps, 2);
    assert_int_equal(found.rounds, 2);
    assert_true(found.step[0].in_flight == 1 && found.step[1].in_flight == 4);
    const struct ladder_value *rate = &found.step[0].figure[LADDER_RATE];
    near(rate->mean, 100);
    near(rate->high, 100 + 12.706204736 * sqrt(2));
    near(rate->low, 100 - 12.706204736 * sqrt(2));
    near(found.step[1].figure[LADDER_DEPTH].mean, 2);
    near(found.step[0].figure[LADDER_DIRECT].mean, 1);
    assert_true(isnan(found.step[0].figure[LADDER_IO_BYTES].mean));
    assert_int_equal(found.p99, LADDER_WRITE_P99);
    /* Two doublings, and the throughput is doubled: above 1.05 squared, so this is no knee. P99 is
     * three times as long, below nine times. */
    near(found.step[0].next_rate.low, 2);
    assert_true(isnan(found.knee_from) && isnan(found.knee_to));
    assert_true(isnan(found.cliff_from) && isnan(found.cliff_to));
}

/* Four rounds, each of the ratios 1.2, 1.0, 1.2, 1.0 from 4 to 8: the interval of their mean has
 * 1.05 in it, so the knee may be 4; from 8 to 16 nothing is gained for sure. */
static void a_knee_that_may_be_earlier(void **state)
{
    (void)state;
    struct err e = {0};
    char lines[4096] = "";
    size_t n = 0;
    for (int k = 1; k <= 4; k++) {
        double more = k % 2 ? 1.2 : 1.0;
        n += (size_t)snprintf(lines + n, sizeof(lines) - n,
                              "2,%d,200,10,,1,1,0\n4,%d,400,10,,1,1,0\n8,%d,%g,20,,1,1,0\n"
                              "16,%d,%g,90,,1,1,0\n",
                              k, k, k, 400 * more, k, 400 * more);
    }
    assert_int_equal(ladder(lines, &e), 0);
    assert_true(found.knee_from == 4 && found.knee_to == 8);
    assert_true(found.cliff_from == 16 && found.cliff_to == 16);
    assert_int_equal(found.p99, LADDER_READ_P99);
    assert_true(isnan(found.step[3].next_rate.mean));
}

/* All steps get 3 % slower from round to round: deviations 1.25 / 5 of which go on, so intervals
 * are sqrt(5 / 3) times as wide; the rounds differ by 10.2 % (0.97 of 0.88), beyond chance. */
static void a_drive_that_changes(void **state)
{
    (void)state;
    struct err e = {0};
    char lines[4096] = "";
    size_t n = 0;
    for (int s = 0; s < 5; s++)
        for (int k = 1; k <= 4; k++)
            n += (size_t)snprintf(lines + n, sizeof(lines) - n, "%d,%d,%.10g,10,,1,1,1\n", 1 << s,
                                  k, (100 << s) * (1 - 0.03 * k));
    assert_int_equal(ladder(lines, &e), 0);
    near(found.rounds_differ, 0.97 / 0.88 - 1);
    assert_true(found.changed);
    const struct ladder_value *rate = &found.step[0].figure[LADDER_RATE];
    near(rate->high - rate->mean, 3.182446305 * 3 * sqrt(5.0 / 3) * sqrt(2.0 / 4) * sqrt(5.0 / 3));
    /* One round tells nothing of it. */
    assert_int_equal(ladder("1,1,100,10,,1,1,1\n2,1,100,10,,1,1,1\n", &e), 0);
    assert_true(isnan(found.rounds_differ) && !found.changed);
    assert_true(found.knee_from == 1 && isnan(found.knee_to));
}

static void what_is_no_ladder(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "x,1,1,,,,,\n", "0,1,1,,,,,\n", "1,0,1,,,,,\n", "1,1.5,1,,,,,\n", "1,1025,1,,,,,\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err e = {0};
        assert_int_equal(ladder(bad[i], &e), -EINVAL);
    }
    char lines[1024] = "";
    size_t n = 0;
    for (int s = 1; s <= LADDER_STEPS_MAX + 1; s++)
        n += (size_t)snprintf(lines + n, sizeof(lines) - n, "%d,1,1,,,,,\n", s);
    struct err e = {0};
    assert_int_equal(ladder(lines, &e), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_hold_as_many_rounds_again),
        cmocka_unit_test(a_knee_that_may_be_earlier),
        cmocka_unit_test(a_drive_that_changes),
        cmocka_unit_test(what_is_no_ladder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
