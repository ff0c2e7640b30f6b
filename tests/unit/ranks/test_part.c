/* test_part.c - parts of a run: what --part and --start-at may say, names by part, and the share of
 * the keys that each part has. A bug looked like two parts with one folder, a key that no part ran,
 * or an instant in local time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "lib/ranks/part.h"
#include "lib/ranks/start.h"

static void clear_environment(void)
{
    static const char *const names[] = {
        "SLURM_PROCID", "SLURM_NTASKS", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
        "PMI_RANK",     "PMI_SIZE",     "JOB_COMPLETION_INDEX"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
}

static void is_part(const char *text, unsigned rank, unsigned count)
{
    struct part p;
    struct err e = {0};

    assert_int_equal(part_parse(&p, text, &e), 0);
    assert_true(p.on);
    assert_int_equal(p.rank, rank);
    assert_int_equal(p.count, count);
    assert_true(p.host[0] != '\0');
}

static void is_refused(const char *text, const char *why)
{
    struct part p;
    struct err e = {0};

    assert_int_equal(part_parse(&p, text, &e), -EINVAL);
    assert_non_null(strstr(e.what, why));
}

static void numbers(void **state)
{
    struct part p;

    (void)state;
    clear_environment();
    is_part("0/1", 0, 1);
    is_part("7/8", 7, 8);
    is_part("65535/65536", 65535, 65536);
    is_refused("8/8", "numbered from 0");
    is_refused("0/0", "not from 1");
    is_refused("0/65537", "not from 1");
    is_refused("1", "expected I/N");
    is_refused("/4", "expected I/N");
    is_refused("-1/4", "expected I/N");
    is_refused("1/4x", "expected I/N");
    is_refused("18446744073709551616/4", "expected I/N");
    assert_int_equal(part_parse(&p, NULL, NULL), 0);
    assert_false(p.on);
    assert_int_equal(p.count, 1);
}

static void launchers(void **state)
{
    (void)state;
    clear_environment();
    is_refused("auto", "no launcher");
    is_refused("auto/3", "JOB_COMPLETION_INDEX is not set");
    setenv("JOB_COMPLETION_INDEX", "2", 1);
    is_part("auto/3", 2, 3);
    is_refused("auto", "no launcher");
    setenv("PMI_RANK", "1", 1);
    is_refused("auto", "no launcher"); /* a rank of how many? */
    setenv("PMI_SIZE", "9", 1);
    is_part("auto", 1, 9);
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    is_part("auto", 3, 4);
    setenv("SLURM_PROCID", "5", 1);
    setenv("SLURM_NTASKS", "6", 1);
    is_part("auto", 5, 6);
    setenv("SLURM_PROCID", "five", 1);
    is_refused("auto", "SLURM_PROCID=five is no number");
    clear_environment();
}

static void becomes(const char *text, const char *want)
{
    const struct part p = {.on = true, .rank = 3, .count = 16, .host = "node-c"};
    char *got = part_expand(&p, text);

    assert_string_equal(got, want);
    free(got);
}

static void target_becomes(const char *text, const char *want)
{
    const struct part p = {.on = true, .rank = 3, .count = 16, .host = "node-c"};
    struct err e = {0};

    char *got = part_target(&p, text, "--target", &e);
    assert_string_equal(got, want);
    free(got);
}

static void names(void **state)
{
    (void)state;
    becomes("", "");
    becomes("r-{rank}of{ranks}@{host}.csv", "r-3of16@node-c.csv");
    becomes("{rank}{rank}", "33");
    becomes("{N} {ran} {rank", "{N} {ran} {rank");
    target_becomes("/no/such/kv", "/no/such/kv/rank-3");
    target_becomes("/no/such/kv//", "/no/such/kv/rank-3");
    target_becomes("2=/no/such", "2=/no/such/rank-3");
    target_becomes("/no/such/{host}/{rank}", "/no/such/node-c/3");
    target_becomes("/dev/null", "/dev/null");
    target_becomes("s3://bucket/prefix?endpoint=http://h:1",
                   "s3://bucket/prefix/rank-3?endpoint=http://h:1");
    target_becomes("s3://bucket?endpoint=http://h:1", "s3://bucket/rank-3?endpoint=http://h:1");
    target_becomes("redis://h:1/{rank}", "redis://h:1/3");
    target_becomes("redis://h:1/2", "redis://h:1/2");
    struct err e = {0};
    const struct part p = {.on = true, .rank = 3, .count = 16, .host = "node-c"};
    assert_null(part_target(&p, "s3://{host", "--target", &e));
    assert_string_equal(e.where, "--target");
}

/* Every key is in one part, and the parts are about as large. */
static void shares(void **state)
{
    enum {
        KEYS = 100000,
        PARTS = 7
    };
    unsigned keys[PARTS] = {0};

    (void)state;
    for (uint64_t i = 0; i < KEYS; i++) {
        unsigned part = part_of_key(hash_128(&i, sizeof(i)).hi, PARTS);
        assert_true(part < PARTS);
        keys[part]++;
    }
    for (unsigned i = 0; i < PARTS; i++) /* 5 standard deviations */
        assert_in_range(keys[i], KEYS / PARTS - 553, KEYS / PARTS + 553);
    assert_int_equal(part_of_key(0, PARTS), 0);
    assert_int_equal(part_of_key(UINT64_MAX, PARTS), PARTS - 1);
    assert_int_equal(part_of_key(UINT64_MAX, 1), 0);
}

static void starts_at(const char *text, int64_t now_ns, int64_t want_ns)
{
    int64_t ns = -1;
    struct err e = {0};

    assert_int_equal(start_parse(text, now_ns, &ns, &e), 0);
    assert_true(ns == want_ns);
}

static void instants(void **state)
{
    const int64_t s = INT64_C(1000000000), now = 1767225600 * s;
    int64_t ns;
    struct err e = {0};

    (void)state;
    starts_at("+2", now, now + 2 * s);
    starts_at("+100ms", now, now + s / 10);
    starts_at("1767225600.5", now, now + s / 2);
    starts_at("2026-01-01T00:00:01Z", now, now + s);
    starts_at("2026-01-01 01:00:01+01:00", now, now + s);
    assert_int_equal(start_parse("1767225599", now, &ns, &e), -ETIME);
    assert_int_equal(e.class, ERR_TARGET);
    assert_int_equal(start_parse("tomorrow", now, &ns, &e), -EINVAL);
    assert_int_equal(start_parse("", now, &ns, &e), -EINVAL);
    assert_int_equal(start_parse("+", now, &ns, &e), -EINVAL);
    assert_int_equal(start_parse("+1e300", now, &ns, &e), -EINVAL);
    assert_int_equal(start_parse("99999999999", now, &ns, &e), -EINVAL);
    assert_int_equal(start_parse("-7777777777", now, &ns, &e), -EINVAL);
}

static void clocks(void **state)
{
    (void)state;
    assert_null(start_clock_doubt(&(struct start_clock){true, true, 1000}));
    assert_non_null(start_clock_doubt(&(struct start_clock){true, false, 1000}));
    assert_non_null(start_clock_doubt(&(struct start_clock){true, true, START_ERROR_MAX_NS + 1}));
    assert_non_null(start_clock_doubt(&(struct start_clock){false, true, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers), cmocka_unit_test(launchers), cmocka_unit_test(names),
        cmocka_unit_test(shares),  cmocka_unit_test(instants),  cmocka_unit_test(clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
