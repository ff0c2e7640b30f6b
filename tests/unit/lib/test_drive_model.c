/* test_drive_model.c - the measured drive: the rate at its points, between them and beyond them;
 * what the file says of the measurement; bad files are refused with the point and the reason. A bug
 * here is a simulated drive that is not the measured one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/rng.h"
#include "lib/drive/drive_model.h"
#include "lib/json/jsonin.h"

#define KIB256 262144
#define MIB4   4194304
#define MIB64  67108864

static int parse(struct drive_model **out, const char *text, struct err *e)
{
    struct jsonin *d;
    int rc = jsonin_parse(&d, text, strlen(text), "drive.json", e);
    assert_int_equal(rc, 0);
    rc = drive_model_parse(out, jsonin_root(d), "drive.json", e);
    jsonin_free(d);
    return rc;
}

static struct drive_model *model_of(const char *points)
{
    char text[4096];
    struct err e = {0};
    struct drive_model *m;
    snprintf(text, sizeof(text), "{\"program\": \"kvtrace model\", \"points\": [%s]}", points);
    assert_int_equal(parse(&m, text, &e), 0);
    return m;
}

static const char grid[] =
    "{\"size_bytes\": 4194304, \"in_flight\": 1, \"read_share\": 1, \"bytes_per_s\": 1000000000},"
    "{\"size_bytes\": 4194304, \"in_flight\": 16, \"read_share\": 1, \"bytes_per_s\": 3000000000},"
    "{\"size_bytes\": 262144, \"in_flight\": 1, \"read_share\": 1, \"bytes_per_s\": 200000000},"
    "{\"size_bytes\": 262144, \"in_flight\": 4, \"read_share\": 1, \"bytes_per_s\": 600000000},"
    "{\"size_bytes\": 262144, \"in_flight\": 16, \"read_share\": 1, \"bytes_per_s\": 1600000000},"
    "{\"size_bytes\": 4194304, \"in_flight\": 1, \"read_share\": 0, \"bytes_per_s\": 500000000}";

static void rate_at_and_between_points(void **state)
{
    (void)state;
    struct drive_model *m = model_of(grid);
    /* at the points */
    assert_int_equal(drive_model_rate(m, 1, KIB256, KIB256), 200000000);
    assert_int_equal(drive_model_rate(m, 4, 4 * KIB256, 4 * KIB256), 600000000);
    assert_int_equal(drive_model_rate(m, 16, 16ull * MIB4, 16ull * MIB4), 3000000000);
    assert_int_equal(drive_model_rate(m, 1, MIB4, 0), 500000000);
    /* half of the way in log n: 2 between 1 and 4, 8 between 4 and 16, 4 between 1 and 16 */
    assert_int_equal(drive_model_rate(m, 2, 2 * KIB256, 2 * KIB256), 400000000);
    assert_int_equal(drive_model_rate(m, 8, 8 * KIB256, 8 * KIB256), 1100000000);
    assert_int_equal(drive_model_rate(m, 4, 4 * MIB4, 4 * MIB4), 2000000000);
    /* half of the way in log size: 1 MiB; and in both */
    assert_int_equal(drive_model_rate(m, 1, 1048576, 1048576), 600000000);
    assert_int_equal(drive_model_rate(m, 4, 4 * 1048576, 4 * 1048576), 1300000000);
    /* 3 / 4 of the bytes are read */
    assert_int_equal(drive_model_rate(m, 1, MIB4, 3 * MIB4 / 4), 875000000);
    /* beyond the grid: the nearest point */
    assert_int_equal(drive_model_rate(m, 1, 1000, 1000), 200000000);
    assert_int_equal(drive_model_rate(m, 1, 1ull << 40, 1ull << 40), 1000000000);
    assert_int_equal(drive_model_rate(m, 500, 500ull * KIB256, 500ull * KIB256), 1600000000);
    assert_int_equal(drive_model_rate(m, 500, 500ull * MIB4, 0), 500000000);
    assert_int_equal(drive_model_rate(m, 1, 0, 0), 200000000);
    drive_model_free(m);
}

/* Against the formula with the logarithm of libm. */
static void rate_follows_the_formula(void **state)
{
    (void)state;
    struct drive_model *m = model_of(grid);
    struct rng r;
    rng_seed(&r, 7, 0);
    for (int i = 0; i < 10000; i++) {
        uint64_t n = 1 + rng_below(&r, 16), size = (uint64_t)rng_range(&r, KIB256, MIB4);
        double log_n = log2((double)n), weight = (log2((double)size) - 18) / 4;
        double low = n < 4 ? 200e6 + 400e6 * log_n / 2 : 600e6 + 1000e6 * (log_n - 2) / 2;
        double high = 1000e6 + 2000e6 * log_n / 4;
        double share = rng_unit(&r);
        uint64_t bytes = n * size, read = (uint64_t)(share * (double)bytes);
        double reads = low + (high - low) * weight;
        double want = 500e6 + (reads - 500e6) * ((double)read / (double)bytes);
        double got = (double)drive_model_rate(m, n, bytes, read);
        assert_true(fabs(got - want) <= 1 + want * 1e-8);
    }
    drive_model_free(m);
}

static void facts_of_the_measurement(void **state)
{
    (void)state;
    struct err e = {0};
    struct drive_model *m;
    char text[100];
    assert_int_equal(
        parse(&m,
              "{\"program\": \"kvtrace model\", \"target\": \"/mnt/x\", \"device\": \"vda\", "
              "\"started\": \"2026-01-02T03:04:05Z\", \"valid\": false, "
              "\"why_invalid\": [\"a neighbour\"], \"in_force\": [\"io_uring\", \"O_DIRECT\"], "
              "\"points\": [{\"size_bytes\": 1, \"in_flight\": 1, \"read_share\": 0.5, "
              "\"bytes_per_s\": 10.4, \"low\": 9, \"anything\": null}]}",
              &e),
        0);
    const struct drive_model_facts *f = drive_model_facts(m);
    assert_string_equal(f->target, "/mnt/x");
    assert_string_equal(f->device, "vda");
    assert_string_equal(f->file, "drive.json");
    assert_string_equal(f->started, "2026-01-02T03:04:05Z");
    assert_int_equal(f->valid, 0);
    assert_int_equal(f->points, 1);
    assert_int_equal(f->in_force.count, 2);
    drive_model_validity(m, text, sizeof(text));
    assert_string_equal(text, "unreliable: a neighbour");
    assert_int_equal(drive_model_rate(m, 3, 3, 0), 10);
    drive_model_free(m);
    m = model_of(grid);
    drive_model_validity(m, text, sizeof(text));
    assert_string_equal(text, "unknown");
    assert_int_equal(drive_model_facts(m)->valid, -1);
    drive_model_free(m);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
#define POINT(size, n, share, rate)                                                                \
    "{\"size_bytes\": " size ", \"in_flight\": " n ", \"read_share\": " share                      \
    ", \"bytes_per_s\": " rate "}"
#define FILE_OF(points) "{\"program\": \"kvtrace model\", \"points\": [" points "]}"
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"{}", "not a file of kvtrace model"},
        {"[]", "not a file of kvtrace model"},
        {"{\"program\": \"kvreplay\"}", "not a file of kvtrace model"},
        {"{\"program\": \"kvtrace model\"}", "has no points"},
        {"{\"program\": \"kvtrace model\", \"points\": {}}", "has no points"},
        {FILE_OF(""), "has no points"},
        {FILE_OF("1"), "points[0]: size_bytes"},
        {FILE_OF(POINT("0", "1", "1", "1")), "points[0]: size_bytes"},
        {FILE_OF(POINT("4398046511105", "1", "1", "1")), "points[0]: size_bytes"},
        {FILE_OF(POINT("1", "0", "1", "1")), "points[0]: in_flight"},
        {FILE_OF(POINT("1", "1.5", "1", "1")), "points[0]: in_flight"},
        {FILE_OF(POINT("1", "1", "-0.1", "1")), "points[0]: read_share"},
        {FILE_OF(POINT("1", "1", "1.1", "1")), "points[0]: read_share"},
        {FILE_OF(POINT("1", "1", "1", "0")), "points[0]: bytes_per_s"},
        {FILE_OF(POINT("1", "1", "1", "2e15")), "points[0]: bytes_per_s"},
        {FILE_OF(POINT("1", "1", "1", "5") "," POINT("1", "2", "1", "\"5\"")),
         "points[1]: bytes_per_s"},
        {FILE_OF(POINT("1", "1", "1", "5, \"p95_us\": -1")), "points[0]: p95_us"},
        {FILE_OF(POINT("1", "1", "1", "5, \"p95_us\": \"2\"")), "points[0]: p95_us"},
        {FILE_OF(POINT("1", "1", "1", "5") "," POINT("1", "1", "1", "6")), "two points of 1 bytes"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct err e = {0};
        struct drive_model *m;
        assert_true(parse(&m, bad[i].text, &e) < 0);
        assert_null(m);
        assert_string_equal(e.where, "drive.json");
        assert_non_null(strstr(e.what, bad[i].why));
    }
    /* more values than an axis may have */
    static const char *const axis[] = {"size_bytes", "in_flight", "read_share"};
    for (int a = 0; a < 3; a++) {
        char text[4096] = "{\"program\": \"kvtrace model\", \"points\": [";
        struct err e = {0};
        struct drive_model *m;
        for (int i = 1; i <= DRIVE_MODEL_VALUES_MAX + 1; i++)
            snprintf(text + strlen(text), sizeof(text) - strlen(text),
                     "%s{\"size_bytes\": %d, \"in_flight\": %d, \"read_share\": %g, "
                     "\"bytes_per_s\": 1}",
                     i > 1 ? "," : "", a == 0 ? i : 1, a == 1 ? i : 1, a == 2 ? i / 32.0 : 1);
        strcat(text, "]}");
        assert_true(parse(&m, text, &e) < 0);
        assert_non_null(strstr(e.what, axis[a]));
    }
}

static void points_are_lent_in_their_order(void **state)
{
    (void)state;
    struct drive_model *m =
        model_of("{\"size_bytes\": 8192, \"in_flight\": 4, \"read_share\": 1, \"bytes_per_s\": 9, "
                 "\"p95_us\": 2.5},"
                 "{\"size_bytes\": 8192, \"in_flight\": 1, \"read_share\": 1, \"bytes_per_s\": 5, "
                 "\"p95_us\": null},"
                 "{\"size_bytes\": 8192, \"in_flight\": 1, \"read_share\": 0, \"bytes_per_s\": 3}");
    const struct drive_model_point *p = drive_model_points(m);
    assert_int_equal(drive_model_facts(m)->points, 3);
    assert_true(p[0].read_share == 0 && p[0].bytes_per_s == 3 && isnan(p[0].p95_us));
    assert_true(p[1].in_flight == 1 && p[1].size == 8192 && isnan(p[1].p95_us));
    assert_true(p[2].in_flight == 4 && p[2].bytes_per_s == 9 && p[2].p95_us == 2.5);
    drive_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rate_at_and_between_points),
        cmocka_unit_test(rate_follows_the_formula),
        cmocka_unit_test(facts_of_the_measurement),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(points_are_lent_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
