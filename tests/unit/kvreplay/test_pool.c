/* The figures of a step of autoscale, on their way through one rank: what arrives has the same
 * sums, and the same percentiles bit for bit, whatever the histograms hold. */
#include "kvreplay/many/pool.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/hash.h"

/* count values of all sizes, the same for a seed. */
static struct hist *filled(uint64_t seed, unsigned count)
{
    struct hist *h = hist_create();

    assert_non_null(h);
    for (unsigned i = 0; i < count; i++) {
        uint64_t x = hash_mix(seed + i);
        assert_int_equal(hist_record(h, (int64_t)(x >> (2 + x % 60))), 0);
    }
    return h;
}

static int64_t p95(const struct hist *h)
{
    return hist_count(h) ? hist_percentile(h, 950000) : TRACE_NONE;
}

static void passes(uint64_t seed, unsigned count)
{
    struct hist *read = filled(seed, count), *write = filled(seed + 7, count / 2),
                *queue = filled(seed + 9, 1), *last = filled(seed + 11, count);
    const struct replay_times times = {
        .read = read, .write = write, .queue = queue, .end_to_end[TRACE_QOSES - 1] = last};
    struct replay_figures f = {
        .seconds = 2, .least_s = 2, .tokens = 30, .bytes = 400, .failed = 5, .waiting = 6};
    struct ranks *ranks;
    struct err e = {0};
    int argc = 0;
    char **argv = NULL;

    assert_int_equal(ranks_open(&ranks, &argc, &argv, &e), 0);
    assert_int_equal(pool_figures(ranks, 0, &f, &times, &e), 0);
    assert_int_equal(f.read_p95_ns, p95(read));
    assert_int_equal(f.write_p95_ns, p95(write));
    assert_int_equal(f.queue_p95_ns, p95(queue));
    assert_int_equal(f.end_to_end_p95_ns[0], TRACE_NONE);
    assert_int_equal(f.end_to_end_p95_ns[TRACE_QOSES - 1], p95(last));
    assert_true(f.seconds == 2 && f.least_s == 2 && !f.interrupted && !f.stopped);
    assert_true(f.tokens == 30 && f.bytes == 400 && f.failed == 5 && f.waiting == 6);
    ranks_close(ranks, 0);
    hist_free(read);
    hist_free(write);
    hist_free(queue);
    hist_free(last);
}

static void test_percentiles_are_the_same(void **state)
{
    (void)state;
    for (unsigned count = 0; count < 40; count++)
        passes(1000 * count, count);
    for (uint64_t seed = 1; seed < 20; seed++)
        passes(seed << 32, 5000);
}

static void test_an_error_is_passed_on(void **state)
{
    struct replay_figures f = {.tokens = 3};
    const struct replay_times none = {0};
    struct ranks *ranks;
    struct err e = {0};
    int argc = 0;
    char **argv = NULL;

    (void)state;
    assert_int_equal(ranks_open(&ranks, &argc, &argv, &e), 0);
    int rc = err_set(&e, -EIO, ERR_FAILED, "", "a drive is gone");
    assert_int_equal(pool_figures(ranks, rc, &f, &none, &e), -EIO);
    assert_string_equal(e.what, "a drive is gone");
    assert_int_equal(f.tokens, 3);
    ranks_close(ranks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_percentiles_are_the_same),
        cmocka_unit_test(test_an_error_is_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
