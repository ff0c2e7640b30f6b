/* Figures of a round from what was counted in it, the verdict by what is tracked, and the table. A
 * bug looked like this: rates over a round's nominal length when it was another, starts that drift,
 * a latency judged by another figure than the one asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvprecond/rounds.h"

#define SECOND INT64_C(1000000000)

/* Adds a round in which writes of 1 MiB took us each. */
static bool add_disturbed(struct rounds *r, const struct fill_span *of, int64_t us,
                          const char *disturbed)
{
    struct fill_span span = *of;
    struct hist *h = hist_create();
    bool steady;

    span.bytes = span.writes << 20;
    assert_non_null(h);
    assert_int_equal(hist_record_n(h, us * 1000, span.writes), 0);
    span.service = h;
    steady = rounds_add(r, &span, disturbed);
    hist_free(h);
    return steady;
}

static bool add(struct rounds *r, int64_t elapsed_ns, uint64_t writes, int64_t us)
{
    return add_disturbed(r, &(struct fill_span){.writes = writes, .elapsed_ns = elapsed_ns}, us,
                         "");
}

static void test_figures(void **state)
{
    struct rounds r = {.track = ROUNDS_BANDWIDTH};

    (void)state;
    assert_false(rounds_steady(&r));
    add(&r, 2 * SECOND, 512, 100);
    add(&r, SECOND / 2, 256, 250);
    assert_int_equal(r.count, 2);
    assert_true(r.round[0].bytes_per_s == 256.0 * 1048576);
    assert_true(r.round[0].iops == 256);
    assert_true(r.round[0].mean_ns == 100000);
    assert_int_equal(r.round[0].start_ns, 0);
    assert_int_equal(r.round[1].start_ns, 2 * SECOND);
    assert_true(r.round[1].iops == 512);
    assert_int_equal(r.round[1].p99_ns, 250000);
}

/* Bandwidth stands still while the latency doubles, and the reverse. */
static void test_what_is_tracked(void **state)
{
    struct rounds by_rate = {.track = ROUNDS_BANDWIDTH}, by_iops = {.track = ROUNDS_IOPS},
                  by_latency = {.track = ROUNDS_LATENCY};

    (void)state;
    for (int i = 0; i < 5; i++) {
        bool last = i == 4;

        assert_int_equal(add(&by_rate, SECOND, 100, 100 + 50 * i), last);
        assert_int_equal(add(&by_iops, SECOND, 100, 100 + 50 * i), last);
        assert_int_equal(add(&by_latency, SECOND, 100 + 50 * (uint64_t)i, 100), last);
    }
    assert_true(rounds_steady(&by_rate) && rounds_steady(&by_latency));
    assert_false(add(&by_rate, SECOND, 200, 100));
    assert_false(add(&by_latency, SECOND, 100, 200));
    assert_false(rounds_steady(&by_rate));
}

/* Rounds in which a neighbour took most of the device are left out: with the five others the device
 * is steady. All of them together would not be, and no such round is. */
static void test_disturbed(void **state)
{
    const struct fill_span slow = {.writes = 10, .elapsed_ns = SECOND};
    struct rounds r = {.track = ROUNDS_BANDWIDTH};

    (void)state;
    assert_null(rounds_last(&r));
    for (int i = 0; i < 4; i++) {
        assert_false(add(&r, SECOND, 100, 100));
        assert_false(add_disturbed(&r, &slow, 1000, "foreign traffic"));
        assert_true(rounds_last(&r) == &r.round[2 * i]);
    }
    assert_true(add(&r, SECOND, 100, 100));
    assert_true(rounds_steady(&r));
    assert_int_equal(r.count, 9);
    assert_int_equal(r.judged, 5);
    assert_int_equal(r.number[4], 8);
    assert_string_equal(r.round[1].disturbed, "foreign traffic");
    assert_true(r.round[1].verdict.average == 0);
    assert_false(add_disturbed(&r, &slow, 1000, "foreign traffic"));
    assert_false(rounds_steady(&r));
}

static void test_table(void **state)
{
    static const char wanted[] = "Round,Start_s,Seconds,Bytes,Bandwidth_GiB_s,IOPS,Latency_mean_us,"
                                 "Latency_p99_us,Steady,Disturbed\n"
                                 "1,0.000,0.500,536870912,1.000000,1024.000,100.000,100.000,0,0\n"
                                 "2,0.500,0.500,536870912,1.000000,1024.000,100.000,100.000,0,0\n"
                                 "3,1.000,0.500,536870912,1.000000,1024.000,100.000,100.000,0,0\n"
                                 "4,1.500,0.500,536870912,1.000000,1024.000,100.000,100.000,0,0\n"
                                 "5,2.000,0.500,536870912,1.000000,1024.000,100.000,100.000,1,0\n"
                                 "6,2.500,0.500,0,0.000000,0.000,0.000,0.000,0,0\n";
    const char *tmp = getenv("TMPDIR");
    struct rounds r = {.track = ROUNDS_BANDWIDTH};
    char path[128], text[1024] = "";
    struct err e = {0};
    FILE *f;

    (void)state;
    snprintf(path, sizeof(path), "%s/kvtrace-rounds-%ld.csv",
             tmp && strlen(tmp) < 64 ? tmp : "/tmp", (long)getpid());
    for (int i = 0; i < 5; i++)
        add(&r, SECOND / 2, 512, 100);
    add(&r, SECOND / 2, 0, 0);
    assert_int_equal(rounds_save(&r, path, &e), 0);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
    fclose(f);
    unlink(path);
    assert_string_equal(text, wanted);
    assert_int_equal(rounds_save(&r, "/nonexistent/r.csv", &e), -ENOENT);
    assert_int_equal(e.class, ERR_OUTPUT);
}

/* The table of the longest run with the largest numbers fits. */
static void test_most_rounds(void **state)
{
    struct rounds r = {.track = ROUNDS_IOPS};
    struct err e = {0};

    (void)state;
    for (int i = 0; i < STEADY_ROUNDS; i++)
        add(&r, 24 * 3600 * SECOND, UINT64_C(1) << 43, INT64_MAX / 1000);
    assert_int_equal(r.count, STEADY_ROUNDS);
    assert_int_equal(rounds_save(&r, "/dev/null", &e), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),     cmocka_unit_test(test_what_is_tracked),
        cmocka_unit_test(test_disturbed),   cmocka_unit_test(test_table),
        cmocka_unit_test(test_most_rounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
