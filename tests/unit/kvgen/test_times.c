/* Times of traces: ISO text into nanoseconds, exactly and for nothing else, and the arrivals that a
 * source makes of the times of its files. A bug looked like a day lost in March, a zone added
 * instead of taken off, or a second file that arrived before the first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "kvgen/rng.h"
#include "kvgen/source/file_source.h"
#include "lib/base/units.h"
#include "lib/log/iso_time.h"

static void iso_is(const char *text, int64_t want)
{
    int64_t ns = 7;
    assert_int_equal(iso_time_parse(text, strlen(text), &ns), 0);
    assert_int_equal(ns, want);
}

static void iso_bad(const char *text)
{
    int64_t ns = 7;
    assert_int_equal(iso_time_parse(text, strlen(text), &ns), -EINVAL);
    assert_int_equal(ns, 7);
}

static void iso_times(void **state)
{
    (void)state;
    iso_is("1970-01-01 00:00:00", 0);
    iso_is("1970-01-01T00:00:00.5Z", 500000000);
    iso_is("2023-11-16 18:17:03.9799600", INT64_C(1700158623979960000));
    iso_is("2024-05-10 00:00:00.009930+00:00", INT64_C(1715299200009930000));
    iso_is("2024-05-10 02:30:00+0230", INT64_C(1715299200000000000));
    iso_is("2024-05-09 22:00:00-02:00", INT64_C(1715299200000000000));
    iso_is("2024-02-29 00:00:00.123456789", INT64_C(1709164800123456789));
    iso_is("2016-12-31 23:59:60", INT64_C(1483228800000000000));
    static const char *const bad[] = {"",
                                      "2023-11-16",
                                      "2023-11-16 18:17",
                                      "2023-11-16 18:17:03.",
                                      "2023-11-16 18:17:03.1234567890",
                                      "2023-11-16 18:17:03x",
                                      "2023-11-16 18:17:03+1",
                                      "2023-11-16_18:17:03",
                                      "2023-02-29 00:00:00",
                                      "2100-02-29 00:00:00",
                                      "2023-13-01 00:00:00",
                                      "2023-00-01 00:00:00",
                                      "2023-04-31 00:00:00",
                                      "2023-11-16 24:00:00",
                                      "1969-12-31 23:59:59",
                                      "2200-01-01 00:00:00",
                                      " 2023-11-16 18:17:03"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        iso_bad(bad[i]);
}

/* Against the C library, at random seconds of all the years. */
static void iso_agrees_with_libc(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 5, 0);
    for (int i = 0; i < 20000; i++) {
        time_t t = (time_t)rng_below(&r, UINT64_C(7258118400));
        struct tm tm;
        char text[64];
        assert_non_null(gmtime_r(&t, &tm));
        assert_true(strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm) > 0);
        iso_is(text, (int64_t)t * UNITS_NS_PER_S);
    }
}

static int64_t arrival(struct file_source *p, int64_t time_ns)
{
    int64_t ns = -1;
    assert_int_equal(file_source_arrival(p, time_ns, &ns), 0);
    return ns;
}

static void arrivals(void **state)
{
    (void)state;
    struct err e = {0};
    int64_t ns = -1;
    struct file_source p = {.o = {.speedup = 2, .cycles = 2}};
    p.new_file = true;
    assert_int_equal(arrival(&p, -100), 0);
    assert_int_equal(arrival(&p, 100), 100);
    assert_int_equal(file_source_arrival(&p, 99, &ns), -EINVAL);
    assert_int_equal(arrival(&p, 100), 100);
    p.new_file = true; /* goes on */
    assert_int_equal(arrival(&p, 300), 200);
    p.new_file = true; /* begins anew */
    assert_int_equal(arrival(&p, 0), 200);
    assert_int_equal(arrival(&p, 10), 205);
    assert_int_equal(file_source_again(&p, "", &e), 1);
    p.new_file = true;
    assert_int_equal(arrival(&p, -100), 205);
    assert_int_equal(file_source_again(&p, "", &e), 0);
    assert_int_equal(file_source_arrival(&p, INT64_MAX, &ns), -ERANGE);
    assert_int_equal(file_source_arrival(&p, INT64_MIN, &ns), -ERANGE);
}

static void arrival_limits(void **state)
{
    (void)state;
    struct err e = {0};
    int64_t ns;
    struct file_source slow = {.o = {.speedup = 1e-6, .cycles = 0}};
    assert_int_equal(arrival(&slow, 0), 0);
    assert_int_equal(file_source_arrival(&slow, FILE_SOURCE_MAX_NS, &ns), -ERANGE);
    struct file_source still = {.o = {.speedup = 1, .cycles = 0}};
    assert_int_equal(arrival(&still, 9), 0);
    assert_int_equal(file_source_again(&still, "in", &e), -EINVAL);
    struct file_source none = {.o = {.speedup = 1, .cycles = 0}};
    assert_int_equal(file_source_again(&none, "in", &e), 0); /* nothing to repeat */
    struct file_source fast = {.o = {.speedup = 0, .cycles = 1}};
    assert_int_equal(arrival(&fast, -FILE_SOURCE_MAX_NS), 0);
    assert_int_equal(arrival(&fast, FILE_SOURCE_MAX_NS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iso_times),
        cmocka_unit_test(iso_agrees_with_libc),
        cmocka_unit_test(arrivals),
        cmocka_unit_test(arrival_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
