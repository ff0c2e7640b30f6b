/* test_units.c - numbers with units: each form that the header promises is read exactly, everything
 * else is refused with the output untouched, limits are -ERANGE and never a wrapped number, and
 * what is written is read back as it was. A bug here silently changes a size or a time of a trace.
 */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"

#define UNTOUCHED 77

static void sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t want;
    } good[] = {{"0", 0},
                {"4096", 4096},
                {"512B", 512},
                {"4K", 4096},
                {"4k", 4096},
                {"4KiB", 4096},
                {"4kB", 4000},
                {"4KB", 4000},
                {"1M", 1048576},
                {"1m", 1048576},
                {"1MB", 1000000},
                {"1.5G", 1610612736},
                {"1.5GiB", 1610612736},
                {"1.5GB", 1500000000},
                {"2T", UINT64_C(2) << 40},
                {"2TB", UINT64_C(2000000000000)},
                {"0.9765625G", 1048576000},
                {"0.3", 0},
                {"0.5", 1},
                {"1.4999999999999999999999", 1},
                {"16777215T", UINT64_C(16777215) << 40},
                {"18446744073709551615", UINT64_MAX}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint64_t v = UNTOUCHED;
        assert_int_equal(units_parse_size(good[i].text, &v), 0);
        assert_int_equal(v, good[i].want);
    }
    static const char *const bad[] = {"",     "K",   "-1",   "+1",  " 1",    "1 ",    "1 K",
                                      "1.",   ".5",  "1..5", "1e3", "0x10",  "1KiBx", "1Q",
                                      "1kib", "inf", "nan",  "1,5", "1.5.2G"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t v = UNTOUCHED;
        assert_int_equal(units_parse_size(bad[i], &v), -EINVAL);
        assert_int_equal(v, UNTOUCHED);
    }
    static const char *const big[] = {"16777216T", "18446744073709551616",
                                      "99999999999999999999999999", "18446744073709551615.5",
                                      "20000000TB"};
    for (size_t i = 0; i < sizeof big / sizeof big[0]; i++) {
        uint64_t v = UNTOUCHED;
        assert_int_equal(units_parse_size(big[i], &v), -ERANGE);
        assert_int_equal(v, UNTOUCHED);
    }
}

static void durations(void **state)
{
    (void)state;
    int64_t ns = UNTOUCHED;
    assert_int_equal(units_parse_duration("90", &ns), 0);
    assert_int_equal(ns, INT64_C(90000000000));
    assert_int_equal(units_parse_duration("1.5s", &ns), 0);
    assert_int_equal(ns, 1500000000);
    assert_int_equal(units_parse_duration("100us", &ns), 0);
    assert_int_equal(ns, 100000);
    assert_int_equal(units_parse_duration("2ms", &ns), 0);
    assert_int_equal(ns, 2000000);
    assert_int_equal(units_parse_duration("0.5ns", &ns), 0);
    assert_int_equal(ns, 1);
    assert_int_equal(units_parse_duration("3m", &ns), 0);
    assert_int_equal(ns, INT64_C(180000000000));
    assert_int_equal(units_parse_duration("1h", &ns), 0);
    assert_int_equal(ns, INT64_C(3600000000000));
    assert_int_equal(units_parse_duration("365d", &ns), 0);
    assert_int_equal(ns, INT64_C(31536000000000000));
    ns = UNTOUCHED;
    assert_int_equal(units_parse_duration("-1s", &ns), -EINVAL);
    assert_int_equal(units_parse_duration("1day", &ns), -EINVAL);
    assert_int_equal(units_parse_duration("s", &ns), -EINVAL);
    assert_int_equal(units_parse_duration("9223372036.854775808", &ns), -ERANGE);
    assert_int_equal(units_parse_duration("3000000h", &ns), -ERANGE);
    assert_int_equal(units_parse_duration("106752d", &ns), -ERANGE);
    assert_int_equal(ns, UNTOUCHED);
    assert_int_equal(units_parse_duration("9223372036.854775807", &ns), 0);
    assert_int_equal(ns, INT64_MAX);
}

static void bandwidths(void **state)
{
    (void)state;
    uint64_t v = UNTOUCHED;
    assert_int_equal(units_parse_bandwidth("64GB/s", &v), 0);
    assert_int_equal(v, UINT64_C(64000000000));
    assert_int_equal(units_parse_bandwidth("800MiB/s", &v), 0);
    assert_int_equal(v, 800 * UNITS_MIB);
    assert_int_equal(units_parse_bandwidth("1000B/s", &v), 0);
    assert_int_equal(v, 1000);
    v = UNTOUCHED;
    assert_int_equal(units_parse_bandwidth("1000", &v), -EINVAL);
    assert_int_equal(units_parse_bandwidth("/s", &v), -EINVAL);
    assert_int_equal(units_parse_bandwidth("1GB/h", &v), -EINVAL);
    assert_int_equal(units_parse_bandwidth("1GB/s/s", &v), -EINVAL);
    assert_int_equal(v, UNTOUCHED);
}

static void integers(void **state)
{
    (void)state;
    uint64_t u = UNTOUCHED;
    int64_t i = UNTOUCHED;
    assert_int_equal(units_parse_u64("18446744073709551615", &u), 0);
    assert_true(u == UINT64_MAX);
    assert_int_equal(units_parse_u64("0000000000000000000000012", &u), 0);
    assert_int_equal(u, 12);
    u = UNTOUCHED;
    assert_int_equal(units_parse_u64("18446744073709551616", &u), -ERANGE);
    assert_int_equal(units_parse_u64("1844674407370955161x", &u), -EINVAL);
    assert_int_equal(units_parse_u64("18446744073709551616x", &u), -EINVAL);
    assert_int_equal(units_parse_u64("", &u), -EINVAL);
    assert_int_equal(units_parse_u64("-1", &u), -EINVAL);
    assert_int_equal(u, UNTOUCHED);
    assert_int_equal(units_parse_i64("-9223372036854775808", &i), 0);
    assert_true(i == INT64_MIN);
    assert_int_equal(units_parse_i64("9223372036854775807", &i), 0);
    assert_true(i == INT64_MAX);
    i = UNTOUCHED;
    assert_int_equal(units_parse_i64("9223372036854775808", &i), -ERANGE);
    assert_int_equal(units_parse_i64("-9223372036854775809", &i), -ERANGE);
    assert_int_equal(units_parse_i64("-", &i), -EINVAL);
    assert_int_equal(units_parse_i64("--1", &i), -EINVAL);
    assert_int_equal(i, UNTOUCHED);
    assert_int_equal(units_parse_digits("123,456", 3, &u), 0);
    assert_int_equal(u, 123);
}

static void floats(void **state)
{
    (void)state;
    double v = UNTOUCHED;
    assert_int_equal(units_parse_f64("0.1", &v), 0);
    assert_true(v == 0.1);
    assert_int_equal(units_parse_f64("-2.5e-3", &v), 0);
    assert_true(v == -2.5e-3);
    assert_int_equal(units_parse_f64("1E+2", &v), 0);
    assert_true(v == 100.0);
    assert_int_equal(units_parse_f64(".5", &v), 0);
    assert_true(v == 0.5);
    assert_int_equal(units_parse_f64("9007199254740993", &v), 0);
    assert_true(v == 9007199254740992.0);
    v = UNTOUCHED;
    static const char *const bad[] = {"",  "inf", "nan", "0x1p3", "1e",  "e5",  ".",
                                      "-", "+1",  " 1",  "1 ",    "1,5", "1e+", "1.5x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(units_parse_f64(bad[i], &v), -EINVAL);
    assert_int_equal(units_parse_f64("1e999", &v), -ERANGE);
    assert_true(v == UNTOUCHED);
}

static int decimal(const char *text, unsigned scale, int64_t *out)
{
    return units_parse_decimal(text, strlen(text), scale, out);
}

static void decimals(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned scale;
        int64_t want;
    } good[] = {{"0", 9, 0},
                {"-0", 9, 0},
                {"12", 9, INT64_C(12000000000)},
                {"12.345", 9, INT64_C(12345000000)},
                {"-0.000000001", 9, -1},
                {"1.5", 3, 1500},
                {"1.500", 3, 1500},
                {"1.5000000000000", 3, 1500},
                {"00001.5", 3, 1500},
                {"42", 0, 42},
                {"42.0", 0, 42},
                {"9223372036.854775807", 9, INT64_MAX},
                {"-9223372036.854775807", 9, -INT64_MAX},
                {"999999999.999999999", 9, INT64_C(999999999999999999)},
                {"1000000000.000000001", 9, INT64_C(1000000000000000001)}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t v = UNTOUCHED;
        assert_int_equal(decimal(good[i].text, good[i].scale, &v), 0);
        assert_true(v == good[i].want);
    }
    static const char *const bad[] = {"",     "-",    ".5",   "1.",  "1.5.5", "+1",     "1e3",
                                      "1.x5", " 1.5", "1.5 ", "--1", "1,5",   "1.0001", "0x1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t v = UNTOUCHED;
        assert_int_equal(decimal(bad[i], 3, &v), -EINVAL);
        assert_true(v == UNTOUCHED);
    }
    int64_t v = UNTOUCHED;
    assert_int_equal(decimal("9223372036.854775808", 9, &v), -ERANGE);
    assert_int_equal(decimal("-9223372036.854775808", 9, &v), -ERANGE);
    assert_int_equal(decimal("99999999999", 9, &v), -ERANGE);
    assert_int_equal(decimal("99999999999999999999999999", 0, &v), -ERANGE);
    assert_true(v == UNTOUCHED);
}

static void decimals_come_back(void **state)
{
    (void)state;
    uint64_t x = 1;
    for (int i = 0; i < 200000; i++) {
        char buf[24];
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        int64_t v = (int64_t)(x >> (x % 63)), back = UNTOUCHED;
        if (v == INT64_MIN)
            continue;
        unsigned scale = (unsigned)(i % 10), places = (unsigned)(i / 10) % (scale + 1);
        size_t n = units_put_decimal(buf, v, scale, places);
        assert_in_range(n, 1, sizeof buf);
        assert_int_equal(units_parse_decimal(buf, n, scale, &back), 0);
        assert_true(back == v);
    }
}

static void put(int64_t v, unsigned scale, unsigned places, const char *want)
{
    char buf[25];
    buf[units_put_decimal(buf, v, scale, places)] = '\0';
    assert_string_equal(buf, want);
}

static void writing_exactly(void **state)
{
    (void)state;
    char buf[21];
    put(0, 9, 0, "0");
    put(0, 9, 6, "0.000000");
    put(1500000000, 9, 0, "1.5");
    put(1500000000, 9, 6, "1.500000");
    put(1500000001, 9, 6, "1.500000001");
    put(-1, 9, 0, "-0.000000001");
    put(-1500, 3, 0, "-1.5");
    put(42, 0, 0, "42");
    put(INT64_MIN, 9, 0, "-9223372036.854775808");
    buf[units_put_u64(buf, UINT64_MAX)] = '\0';
    assert_string_equal(buf, "18446744073709551615");
    buf[units_put_u64(buf, 0)] = '\0';
    assert_string_equal(buf, "0");
}

static void writing_for_people(void **state)
{
    (void)state;
    char b[32];
    assert_string_equal(units_format_bytes(b, sizeof b, 0), "0 B");
    assert_string_equal(units_format_bytes(b, sizeof b, 1023), "1023 B");
    assert_string_equal(units_format_bytes(b, sizeof b, 1024), "1.00 KiB");
    assert_string_equal(units_format_bytes(b, sizeof b, 1610612736), "1.50 GiB");
    assert_string_equal(units_format_bytes(b, sizeof b, 1048575.9), "1.00 MiB");
    assert_string_equal(units_format_bytes(b, sizeof b, 1e24), "867361.74 EiB");
    assert_string_equal(units_format_size(b, sizeof b, 0), "0 B");
    assert_string_equal(units_format_size(b, sizeof b, 999), "999 B");
    assert_string_equal(units_format_size(b, sizeof b, 1000), "0.98 KiB");
    assert_string_equal(units_format_size(b, sizeof b, 1610612736), "1.50 GiB");
    assert_string_equal(units_format_size(b, sizeof b, UINT64_C(150) << 30), "150 GiB");
    assert_string_equal(units_format_size(b, sizeof b, UINT64_MAX), "16.0 EiB");
    assert_string_equal(units_format_rate(b, sizeof b, 2.31 * 1073741824), "2.31 GiB/s");
    assert_string_equal(units_format_duration(b, sizeof b, 0), "0 ns");
    assert_string_equal(units_format_duration(b, sizeof b, 999), "999 ns");
    assert_string_equal(units_format_duration(b, sizeof b, 999.7), "1.00 us");
    assert_string_equal(units_format_duration(b, sizeof b, 12345), "12.3 us");
    assert_string_equal(units_format_duration(b, sizeof b, 123456), "123 us");
    assert_string_equal(units_format_duration(b, sizeof b, 1.2e9), "1.20 s");
    assert_string_equal(units_format_duration(b, sizeof b, 59.96e9), "1 min 00 s");
    assert_string_equal(units_format_duration(b, sizeof b, 125e9), "2 min 05 s");
    assert_string_equal(units_format_duration(b, sizeof b, 7500e9), "2 h 05 min");
    assert_string_equal(units_format_duration(b, sizeof b, -1.2e6), "-1.20 ms");
    assert_string_equal(units_format_count(b, sizeof b, 0), "0");
    assert_string_equal(units_format_count(b, sizeof b, 999), "999");
    assert_string_equal(units_format_count(b, sizeof b, 1234567), "1,234,567");
    assert_string_equal(units_format_count(b, sizeof b, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(units_plural(0), "s");
    assert_string_equal(units_plural(1), "");
    assert_string_equal(units_plural(UINT64_MAX), "s");
}

static void sums_and_products(void **state)
{
    (void)state;
    uint64_t v = UNTOUCHED;
    assert_int_equal(units_add(UINT64_MAX, 1, &v), -EOVERFLOW);
    assert_int_equal(units_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &v), -EOVERFLOW);
    assert_int_equal(v, UNTOUCHED);
    assert_int_equal(units_add(UINT64_MAX - 1, 1, &v), 0);
    assert_true(v == UINT64_MAX);
    assert_int_equal(units_mul(UINT64_C(1) << 32, (UINT64_C(1) << 32) - 1, &v), 0);
    assert_true(v == UINT64_C(0xffffffff00000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(durations),
        cmocka_unit_test(bandwidths),
        cmocka_unit_test(integers),
        cmocka_unit_test(floats),
        cmocka_unit_test(decimals),
        cmocka_unit_test(decimals_come_back),
        cmocka_unit_test(writing_exactly),
        cmocka_unit_test(writing_for_people),
        cmocka_unit_test(sums_and_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
