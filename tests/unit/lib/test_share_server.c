/* test_share_server.c - the load-dependent server against theory (M/M/1 with processor sharing),
 * against a slow simulation of the same rules, and against a server that works in turn: no work is
 * lost. More than it was measured with wait in line. A bug here is a wrong time of every operation
 * on a simulated drive. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kvgen/rng.h"
#include "lib/drive/share_server.h"
#include "lib/json/jsonin.h"
#include "tests/unit/scale.h"

static struct drive_model *model_of(const char *points)
{
    char text[2048];
    struct err e = {0};
    struct jsonin *d;
    struct drive_model *m;
    int n =
        snprintf(text, sizeof(text), "{\"program\": \"kvtrace model\", \"points\": [%s]}", points);
    assert_int_equal(jsonin_parse(&d, text, (size_t)n, "model", &e), 0);
    assert_int_equal(drive_model_parse(&m, jsonin_root(d), "model", &e), 0);
    jsonin_free(d);
    return m;
}

#define GB "1000000000"
static const char constant[] =
    "{\"size_bytes\": 1000000, \"in_flight\": 65536, \"read_share\": 1, \"bytes_per_s\": " GB "}";
static const char loaded[] =
    "{\"size_bytes\": 1000, \"in_flight\": 1, \"read_share\": 1, \"bytes_per_s\": 50000000},"
    "{\"size_bytes\": 1000, \"in_flight\": 8, \"read_share\": 1, \"bytes_per_s\": 300000000},"
    "{\"size_bytes\": 1000000, \"in_flight\": 1, \"read_share\": 1, \"bytes_per_s\": 900000000},"
    "{\"size_bytes\": 1000000, \"in_flight\": 8, \"read_share\": 1, \"bytes_per_s\": 2000000000},"
    "{\"size_bytes\": 1000000, \"in_flight\": 8, \"read_share\": 0, \"bytes_per_s\": 700000000}";

/* Mean time in system 1 / (mu - lambda) = 2 ms at load 0.5 with a mean service of 1 ms. */
static void poisson_arrivals_and_exponential_sizes(void **state)
{
    (void)state;
    struct drive_model *m = model_of(constant);
    struct share_server *s = share_server_create(m, 64);
    struct share_server_end end;
    struct rng r;
    int64_t now_ns = 0;
    double in_system_ns = 0, bytes = 0;
    int count = scaled(1000000), ended = 0;
    rng_seed(&r, 42, 0);
    for (int i = 0; i < count; i++) {
        now_ns += (int64_t)rng_exponential(&r, 2e6);
        for (; share_server_take(s, now_ns, &end); ended++)
            in_system_ns += (double)(end.end_ns - end.begin_ns);
        uint64_t size = (uint64_t)rng_exponential(&r, 1e6);
        bytes += (double)size;
        assert_int_equal(share_server_add(s, now_ns, size, true, (uint64_t)i), 0);
    }
    for (; share_server_take(s, INT64_MAX - 1, &end); ended++)
        in_system_ns += (double)(end.end_ns - end.begin_ns);
    assert_int_equal(ended, count);
    double mean_ms = in_system_ns / count / 1e6, most = count >= 1000000 ? 0.01 : 0.1;
    print_message("mean time in system: %.4f ms; 1 / (mu - lambda) = 2 ms\n", mean_ms);
    assert_true(fabs(mean_ms - 2) <= 2 * most);
    /* All of its work, and no more: 1 byte a ns, each end rounded up to a ns. */
    double busy_ns = (double)share_server_busy_ns(s, INT64_MAX);
    assert_true(busy_ns >= bytes - count && busy_ns <= bytes + count);
    share_server_free(s);
    drive_model_free(m);
}

/* With a constant rate each busy time is as long as that of a server which works in turn. */
static void constant_rate_ends_as_a_queue_does(void **state)
{
    (void)state;
    struct drive_model *m = model_of(constant);
    struct rng r;
    rng_seed(&r, 3, 0);
    for (int round = 0; round < 200; round++) {
        struct share_server *s = share_server_create(m, 1);
        struct share_server_end end;
        int64_t now_ns = 0, free_ns = 0, last_ns = 0;
        int count = (int)rng_range(&r, 1, 200);
        for (int i = 0; i < count; i++) {
            uint64_t size = rng_below(&r, 3000000);
            now_ns += rng_range(&r, 0, 2) * (int64_t)rng_below(&r, 1000000);
            while (share_server_take(s, now_ns, &end))
                ;
            assert_int_equal(share_server_add(s, now_ns, size, rng_chance(&r, 0.5), 0), 0);
            free_ns = (now_ns > free_ns ? now_ns : free_ns) + (int64_t)size; /* 1 ns a byte */
        }
        while (share_server_take(s, INT64_MAX - 1, &end)) {
            assert_true(end.end_ns >= last_ns);
            last_ns = end.end_ns;
        }
        /* Each moves less than a ns too much in the ns in which another one ended. */
        assert_in_range(last_ns + count, free_ns > 0 ? free_ns : 0, free_ns + 2 * count);
        share_server_free(s);
    }
    drive_model_free(m);
}

struct slow {
    double left;
    uint64_t size, tag;
    bool read;
};

/* Against a simulation that keeps what each object has left. Those behind the first PLACES wait in
 * line. */
static void ends_as_the_rules_say(void **state)
{
    (void)state;
    enum {
        MOST = 40,
        PLACES = 8 /* what loaded was measured with */
    };
    struct drive_model *m = model_of(loaded);
    struct rng r;
    rng_seed(&r, 11, 0);
    for (int round = 0; round < scaled(300); round++) {
        struct share_server *s = share_server_create(m, 1);
        struct slow in[MOST];
        int inside = 0, count = 200, added = 0;
        double now = 0;
        int64_t next_add_ns = 0;
        while (added < count || inside > 0) {
            uint64_t bytes = 0, read = 0;
            int first = -1, served = inside < PLACES ? inside : PLACES;
            for (int i = 0; i < served; i++) {
                bytes += in[i].size;
                read += in[i].read ? in[i].size : 0;
                if (first < 0 || in[i].left < in[first].left)
                    first = i;
            }
            double each =
                inside ? (double)drive_model_rate(m, (uint64_t)served, bytes, read) / 1e9 / served
                       : 0;
            double ends = inside ? now + in[first].left / each : 1e300;
            bool adds = added < count && (double)next_add_ns <= ends;
            double until = adds ? (double)next_add_ns : ends;
            for (int i = 0; i < served; i++)
                in[i].left -= each * (until - now);
            now = until;
            if (adds) {
                struct share_server_end early;
                assert_false(share_server_take(s, next_add_ns - 2, &early));
                struct slow o = {.size = rng_below(&r, 2000000),
                                 .tag = (uint64_t)added++,
                                 .read = rng_chance(&r, 0.6)};
                o.left = (double)o.size;
                if (share_server_next_ns(s) <= next_add_ns || inside == MOST - 1) {
                    /* Ends within a ns of the arrival: which of them is first is rounding. */
                    added--;
                    next_add_ns += inside == MOST - 1 ? 1000000 : 10;
                    continue;
                }
                in[inside++] = o;
                assert_int_equal(share_server_add(s, next_add_ns, o.size, o.read, o.tag), 0);
                next_add_ns += (int64_t)rng_exponential(&r, 1.5e6);
                continue;
            }
            struct share_server_end end;
            assert_true(share_server_take(s, INT64_MAX - 1, &end));
            assert_true(fabs((double)end.end_ns - now) < 2000);
            int at = 0;
            while (at < inside && in[at].tag != end.tag)
                at++;
            assert_true(at < inside);
            assert_true(fabs(in[at].left) < 100);
            memmove(&in[at], &in[at + 1], (size_t)(--inside - at) * sizeof(*in));
            now = (double)end.end_ns;
        }
        assert_int_equal(share_server_next_ns(s), INT64_MAX);
        share_server_free(s);
    }
    drive_model_free(m);
}

/* A burst leaves in the order in which it came: what is beyond the places waits, all of the rate is
 * used, and the last one ends when it would have ended among all of them at once. */
static void a_burst_leaves_in_order(void **state)
{
    (void)state;
    enum {
        BURST = 500,
        PLACES = 8
    };
    struct drive_model *m = model_of(
        "{\"size_bytes\": 1000000, \"in_flight\": 8, \"read_share\": 1, \"bytes_per_s\": " GB "}");
    struct share_server *s = share_server_create(m, 1);
    struct share_server_end end;
    for (int i = 0; i < BURST; i++)
        assert_int_equal(share_server_add(s, 7, 1000000, true, (uint64_t)i), 0);
    for (int i = 0; i < BURST; i++) {
        assert_true(share_server_take(s, INT64_MAX - 1, &end));
        assert_int_equal(end.tag, i);
        assert_int_equal(end.begin_ns, 7);
        /* In eights, each of 8 MB at 1 byte a ns, until the last four. */
        int64_t ends_ns =
            7 + INT64_C(1000000) * (i < BURST - 4 ? (i / PLACES + 1) * PLACES : BURST);
        assert_in_range(end.end_ns, ends_ns, ends_ns + BURST);
    }
    assert_false(share_server_take(s, INT64_MAX - 1, &end));
    assert_int_equal(share_server_busy_ns(s, INT64_MAX), end.end_ns - 7);
    share_server_free(s);
    drive_model_free(m);
}

static void zero_and_huge_objects(void **state)
{
    (void)state;
    struct drive_model *m = model_of(constant);
    struct share_server *s = share_server_create(m, 1);
    struct share_server_end end;
    assert_int_equal(share_server_next_ns(s), INT64_MAX);
    assert_false(share_server_take(s, INT64_MAX - 1, &end));
    assert_int_equal(share_server_add(s, 5, UINT64_MAX, true, 1), 0);
    assert_int_equal(share_server_add(s, 5, 0, false, 2), 0);
    assert_int_equal(share_server_next_ns(s), 5);
    assert_true(share_server_take(s, 5, &end));
    assert_int_equal(end.tag, 2);
    assert_int_equal(end.end_ns, 5);
    assert_false(share_server_take(s, 6, &end));
    assert_int_equal(share_server_busy_ns(s, 105), 100); /* while it moves */
    assert_true(share_server_take(s, INT64_MAX - 1, &end));
    assert_int_equal(end.end_ns, 5 + (int64_t)DRIVE_MODEL_MAX_SIZE);
    assert_int_equal(share_server_busy_ns(s, INT64_MAX), (int64_t)DRIVE_MODEL_MAX_SIZE);
    share_server_free(s);
    drive_model_free(m);
}

/* It is never empty for so long that its counter begins anew. */
static void never_empty(void **state)
{
    (void)state;
    struct drive_model *m = model_of(constant);
    struct share_server *s = share_server_create(m, 4);
    struct share_server_end end;
    uint64_t size = DRIVE_MODEL_MAX_SIZE;
    int64_t begin_ns[2] = {0, 0};
    assert_int_equal(share_server_add(s, 0, size / 2, true, 0), 0);
    assert_int_equal(share_server_add(s, 0, size, true, 1), 0);
    for (int i = 0; i < 5000; i++) {
        assert_true(share_server_take(s, INT64_MAX - 1, &end));
        /* Two of one size, half of it apart: each takes its whole size at half of the rate. */
        if (i >= 2)
            assert_int_equal((end.end_ns - begin_ns[end.tag] + (int64_t)size) / (int64_t)size, 3);
        begin_ns[end.tag] = end.end_ns;
        if (end.end_ns > INT64_MAX / 4)
            break;
        assert_int_equal(share_server_add(s, end.end_ns, size, true, end.tag), 0);
    }
    share_server_free(s);
    drive_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poisson_arrivals_and_exponential_sizes),
        cmocka_unit_test(constant_rate_ends_as_a_queue_does),
        cmocka_unit_test(ends_as_the_rules_say),
        cmocka_unit_test(a_burst_leaves_in_order),
        cmocka_unit_test(zero_and_huge_objects),
        cmocka_unit_test(never_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
