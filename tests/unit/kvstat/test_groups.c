/* Groups and aggregate of kvstat: every row lands in the group of its key, failed rows count but
 * give no bytes and no percentiles, and parts merged are the whole. A bug looked like groups of one
 * user under two keys after the table grew, or a failed row's latency in the percentiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kvgen/rng.h"
#include "kvstat/count/agg.h"
#include "kvstat/count/groups.h"
#include "tests/unit/scale.h"

#define COLUMNS (TRACE_CORE | TRACE_EXTENDED | TRACE_RESULT)

static size_t sorted(struct groups *g)
{
    size_t n;
    assert_int_equal(groups_sort(g, &n), 0);
    return n;
}

static struct trace_row row(uint8_t op, uint8_t tier, uint8_t phase, uint64_t size)
{
    return (struct trace_row){.op = op,
                              .tier = tier,
                              .phase = phase,
                              .qos = TRACE_NO_QOS,
                              .class = TRACE_NO_CLASS,
                              .size = size,
                              .status = TRACE_OK,
                              .request = TRACE_NONE,
                              .tokens = TRACE_NONE,
                              .arrival_ns = TRACE_NONE,
                              .duration_ns = TRACE_NONE,
                              .due_ns = TRACE_NONE,
                              .start_ns = 0,
                              .latency_ns = TRACE_NONE,
                              .device_ns = TRACE_NONE};
}

static void parses_by(void **state)
{
    (void)state;
    unsigned by = 0;
    struct err e = {0};
    assert_int_equal(groups_parse_by("status,user", &by, &e), 0);
    assert_int_equal(by, GROUPS_STATUS | GROUPS_USER);
    assert_int_equal(groups_parse_by("tier,op,phase,qos,class,user,status", &by, &e), 0);
    assert_int_equal(by, 127);
    assert_int_equal(groups_parse_by("tier,tiers", &by, &e), -EINVAL);
    assert_non_null(strstr(e.what, "tiers"));
    assert_int_equal(groups_parse_by("op,op", &by, &e), -EINVAL);
    assert_int_equal(groups_parse_by("op,", &by, &e), -EINVAL);
    assert_int_equal(groups_parse_by("", &by, &e), -EINVAL);
}

/* Service times 1..1000 us: nearest rank within the histogram's 0.1 %. */
static void percentiles_of_ok_rows(void **state)
{
    (void)state;
    struct err e = {0};
    struct agg *a = agg_create(GROUPS_DEFAULT, COLUMNS);
    for (int64_t i = 1; i <= 1000; i++) {
        struct trace_row r = row(TRACE_READ, TRACE_STORAGE, TRACE_DECODE, 100);
        r.latency_ns = i * 1000;
        r.start_ns = i * 1000000;
        r.due_ns = r.start_ns - 500;
        assert_int_equal(agg_add(a, &r, 1, &e), 0);
        r.status = EIO;
        r.latency_ns = INT64_C(1000000000000);
        assert_int_equal(agg_add(a, &r, 1, &e), 0);
    }
    assert_int_equal(agg_end_file(a, &e), 0);
    assert_int_equal(sorted(agg_groups(a)), 1);
    const struct group *g = groups_at(agg_groups(a), 0);
    assert_int_equal(g->ops, 2000);
    assert_int_equal(g->failed, 1000);
    assert_int_equal(g->bytes, 100000);
    const struct hist *h = g->metric[GROUP_SERVICE];
    assert_int_equal(hist_count(h), 1000);
    assert_int_equal(hist_min(h), 1000);
    assert_int_equal(hist_max(h), 1000000);
    assert_in_range(hist_percentile(h, 950000), 949050, 950950);
    assert_int_equal(hist_max(g->metric[GROUP_WAIT]), 500);
    assert_int_equal(hist_max(g->metric[GROUP_RESPONSE]), 1000500);
    assert_null(g->metric[GROUP_DEVICE]);
    /* first start 1 ms, last completion 1000 ms + 1 ms */
    assert_int_equal(g->span_ns, 1000000000);
    assert_int_equal(agg_totals(a)->failed, 1000);
    assert_int_equal(agg_totals(a)->decode_bytes, 100000);
    agg_free(a);
}

static struct trace_row random_row(struct rng *r, char user[16])
{
    struct trace_row x = row((uint8_t)rng_below(r, 2), (uint8_t)rng_below(r, 3),
                             (uint8_t)rng_below(r, 3), rng_below(r, 1000000));
    x.qos = (uint8_t)rng_below(r, TRACE_NO_QOS + 1);
    x.class = (uint8_t)rng_below(r, TRACE_NO_CLASS + 1);
    x.status = rng_below(r, 10) ? TRACE_OK : TRACE_ABSENT;
    x.start_ns = (int64_t)rng_below(r, 1000000000);
    x.latency_ns = (int64_t)rng_below(r, 10000000);
    x.device_ns = x.latency_ns / 2;
    x.user.len = (uint32_t)snprintf(user, 16, "user_%u", (unsigned)rng_below(r, 3000));
    x.user.p = user;
    return x;
}

static void same_groups(struct groups *a, struct groups *b)
{
    size_t n = sorted(a);
    assert_int_equal(n, sorted(b));
    for (size_t i = 0; i < n; i++) {
        const struct group *x = groups_at(a, i), *y = groups_at(b, i);
        assert_int_equal(x->ops, y->ops);
        assert_int_equal(x->failed, y->failed);
        assert_int_equal(x->bytes, y->bytes);
        assert_int_equal(x->span_ns, y->span_ns);
        assert_int_equal(x->key.text[GROUP_USER].len, y->key.text[GROUP_USER].len);
        assert_memory_equal(x->key.text[GROUP_USER].p, y->key.text[GROUP_USER].p,
                            x->key.text[GROUP_USER].len);
        for (int m = 0; m < GROUP_METRICS; m++) {
            assert_int_equal(!x->metric[m], !y->metric[m]);
            if (!x->metric[m])
                continue;
            assert_int_equal(hist_count(x->metric[m]), hist_count(y->metric[m]));
            assert_int_equal(hist_percentile(x->metric[m], 500000),
                             hist_percentile(y->metric[m], 500000));
        }
    }
}

/* Rows dealt to three aggregates and merged give the tables of one; 3,000 users make the hash grow.
 */
static void parts_are_the_whole(void **state)
{
    (void)state;
    static const unsigned bys[] = {GROUPS_DEFAULT, GROUPS_USER | GROUPS_OP, 127};
    struct err e = {0};
    const int rows = scaled(8000);
    for (size_t b = 0; b < 3; b++) {
        struct rng r;
        char user[16];
        struct agg *whole = agg_create(bys[b], COLUMNS), *part[3];
        for (int p = 0; p < 3; p++)
            part[p] = agg_create(bys[b], COLUMNS);
        rng_seed(&r, 7, 0);
        for (int i = 0; i < rows; i++) {
            struct trace_row x = random_row(&r, user);
            assert_int_equal(agg_add(whole, &x, 1, &e), 0);
            assert_int_equal(agg_add(part[rng_below(&r, 3)], &x, 1, &e), 0);
        }
        assert_int_equal(agg_merge(part[0], part[1], &e), 0);
        assert_int_equal(agg_merge(part[0], part[2], &e), 0);
        assert_int_equal(agg_end_file(part[0], &e), 0);
        assert_int_equal(agg_end_file(whole, &e), 0);
        same_groups(agg_groups(part[0]), agg_groups(whole));
        same_groups(agg_by_tier_op(part[0]), agg_by_tier_op(whole));
        same_groups(agg_by_phase(part[0]), agg_by_phase(whole));
        assert_memory_equal(agg_totals(part[0]), agg_totals(whole), sizeof(struct agg_totals));
        if (bys[b] == 127)
            assert_in_range(sorted(agg_groups(whole)), (size_t)rows / 4 * 3, (size_t)rows);
        agg_free(whole);
        for (int p = 0; p < 3; p++)
            agg_free(part[p]);
    }
}

/* A lookup that missed takes no time and a generation takes seconds: neither is an operation's
 * latency, where nothing keeps them apart. */
static void only_operations_are_timed(void **state)
{
    (void)state;
    static const unsigned by[] = {GROUPS_CLASS, GROUPS_CLASS | GROUPS_OP};
    for (int i = 0; i < 2; i++) {
        struct err e = {0};
        struct agg *a = agg_create(by[i], COLUMNS);
        struct trace_row r[] = {row(TRACE_READ, TRACE_STORAGE, TRACE_DECODE, 100),
                                row(TRACE_GENERATE, TRACE_NO_TIER, TRACE_NO_PHASE, 0),
                                row(TRACE_MISS, TRACE_NO_TIER, TRACE_NO_PHASE, 0)};
        r[0].latency_ns = 1000;
        r[1].latency_ns = INT64_C(3000000000);
        r[2].latency_ns = 0;
        assert_int_equal(agg_add(a, r, 3, &e), 0);
        assert_int_equal(agg_end_file(a, &e), 0);
        assert_int_equal(sorted(agg_groups(a)), i ? 3 : 1);
        const struct group *g = groups_at(agg_groups(a), 0);
        assert_int_equal(g->ops, i ? 1 : 3);
        assert_int_equal(hist_count(g->metric[GROUP_SERVICE]), 1);
        assert_int_equal(hist_max(g->metric[GROUP_SERVICE]), 1000);
        assert_int_equal(g->span_ns, 1000);
        agg_free(a);
    }
}

/* Rows before the replay's zero are no measurement, but one that failed is not hidden. */
static void populating_rows_have_a_status(void **state)
{
    (void)state;
    struct err e = {0};
    struct agg *a = agg_create(GROUPS_DEFAULT, COLUMNS);
    struct trace_row r[] = {row(TRACE_WRITE, TRACE_STORAGE, TRACE_PREFILL, 100),
                            row(TRACE_WRITE, TRACE_STORAGE, TRACE_PREFILL, 30)};
    r[0].start_ns = r[1].start_ns = -5000;
    r[1].status = ENOSPC;
    assert_int_equal(agg_add(a, r, 2, &e), 0);
    assert_int_equal(agg_totals(a)->populated_rows, 2);
    assert_int_equal(agg_totals(a)->populated_bytes, 100);
    assert_int_equal(agg_totals(a)->ok, 1);
    assert_int_equal(agg_totals(a)->failed, 1);
    assert_int_equal(agg_totals(a)->io_ops, 0);
    agg_free(a);
}

static void overflow_is_an_error(void **state)
{
    (void)state;
    struct err e = {0};
    struct agg *a = agg_create(GROUPS_DEFAULT, TRACE_CORE);
    struct trace_row r = row(TRACE_WRITE, TRACE_STORAGE, TRACE_PREFILL, UINT64_MAX / 2 + 1);
    assert_int_equal(agg_add(a, &r, 1, &e), 0);
    assert_int_equal(agg_add(a, &r, 1, &e), -EOVERFLOW);
    assert_int_equal(err_exit_status(&e), 2);
    agg_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_by),
        cmocka_unit_test(percentiles_of_ok_rows),
        cmocka_unit_test(parts_are_the_whole),
        cmocka_unit_test(only_operations_are_timed),
        cmocka_unit_test(populating_rows_have_a_status),
        cmocka_unit_test(overflow_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
