/* From which length on loading beats computing. Expected: the figures of a measured drive by hand:
 * a context of n tokens takes size / R(1, size) in one object, and object after object in several.
 * A bug looked like a measured drive that took no time, for it has no bandwidth of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kvgen/worth/break_even.h"
#include "lib/drive/drive_model.h"
#include "lib/json/jsonin.h"
#include "lib/model/find.h"

#define MIB       ((double)(1 << 20))
#define TOKEN     131072.0 /* bytes of Llama 3.1 8B */
#define PARAMS    6979321856.0
#define OVERHEAD  0.02
#define PER_TOKEN (2 * PARAMS / (0.5 * 989e12))
#define PER_PAIR  (4.0 * 32 * 4096 / (0.5 * 989e12))

struct bench {
    struct model model;
    struct prefill_model compute;
    struct drive_model *drive;
    struct loading l;
};

/* One H100 at eta 0.5 without a link; points of a drive's reads. */
static void set_up(struct bench *b, const char *points)
{
    char text[1024];
    struct err e = {0};
    struct jsonin *d;
    *b = (struct bench){.compute = {.engines = 1, .tensor_parallel = 1, .host_ranks = 1}};
    assert_int_equal(model_find(&b->model, "llama3.1-8b", NULL, NULL, &e), 0);
    struct prefill_gpu gpu = {.params = (double)b->model.active_params,
                              .operations_per_s = 989e12,
                              .eta = 0.5,
                              .t0_ns = 7e6,
                              .tensor_parallel = 1};
    prefill_time_layers(&b->compute.time, &b->model);
    prefill_time_calculate(&b->compute.time, &b->model, &gpu);
    b->l = (struct loading){.model = &b->model, .compute = &b->compute, .latency_s = OVERHEAD};
    if (!points)
        return;
    int n =
        snprintf(text, sizeof(text), "{\"program\": \"kvtrace model\", \"points\": [%s]}", points);
    assert_in_range(n, 1, sizeof(text) - 1);
    assert_int_equal(jsonin_parse(&d, text, (size_t)n, "test", &e), 0);
    assert_int_equal(drive_model_parse(&b->drive, jsonin_root(d), "test", &e), 0);
    jsonin_free(d);
    b->l.drive = b->drive;
}

static void tear_down(struct bench *b)
{
    drive_model_free(b->drive);
}

static double computed_s(double tokens)
{
    return PER_TOKEN * tokens + PER_PAIR * tokens * tokens / 2;
}

/* The least n with latency + per_token n <= a n + b n^2 / 2: the larger root of the parabola. */
static uint64_t root(double latency_s, double per_token_s)
{
    double linear = PER_TOKEN - per_token_s;
    return (uint64_t)ceil((-linear + sqrt(linear * linear + 2 * PER_PAIR * latency_s)) / PER_PAIR);
}

static void one_rate(void **state)
{
    (void)state;
    struct bench b;
    set_up(&b, "{\"size_bytes\": 4194304, \"in_flight\": 1, \"read_share\": 1, \"bytes_per_s\": "
               "2000000000}, {\"size_bytes\": 4194304, \"in_flight\": 64, \"read_share\": 1, "
               "\"bytes_per_s\": 9000000000}");
    /* Alone: not the rate of 64 in flight. */
    assert_true(fabs(loading_s(&b.l, 1000) - (OVERHEAD + 1000 * TOKEN / 2e9)) < 1e-12);
    assert_int_equal(loading_break_even(&b.l), root(OVERHEAD, TOKEN / 2e9));
    b.l.link_bytes_per_s = 64e9;
    assert_int_equal(loading_break_even(&b.l), root(OVERHEAD, TOKEN / 2e9 + TOKEN / 64e9));
    tear_down(&b);
}

/* Small objects are slow: what counts is the rate of the object, not of the drive. R is linear in
 * log size: 32 MiB lies half way between 16 and 64 MiB. */
static void rate_of_the_object(void **state)
{
    (void)state;
    struct bench b;
    set_up(&b, "{\"size_bytes\": 16777216, \"in_flight\": 1, \"read_share\": 1, \"bytes_per_s\": "
               "1000000000}, {\"size_bytes\": 67108864, \"in_flight\": 1, \"read_share\": 1, "
               "\"bytes_per_s\": 3000000000}");
    assert_true(fabs(loading_s(&b.l, 64) - (OVERHEAD + 8 * MIB / 1e9)) < 1e-9);
    assert_true(fabs(loading_s(&b.l, 256) - (OVERHEAD + 32 * MIB / 2e9)) < 1e-9);
    assert_true(fabs(loading_s(&b.l, 1024) - (OVERHEAD + 128 * MIB / 3e9)) < 1e-9);
    /* 128 tokens are 16 MiB, which take 16.8 ms. In objects of 128 tokens a context of 4 x 128 + 3
     * takes five of them. */
    b.l.object_tokens = 128;
    assert_true(fabs(loading_s(&b.l, 515) - (OVERHEAD + 5 * 16 * MIB / 1e9)) < 1e-9);
    assert_int_equal(loading_bytes(&b.l, 515), 5 * 16 * (1 << 20));
    b.l.object_tokens = 0;
    uint64_t n = loading_break_even(&b.l);
    assert_true(n > 512 && n < root(OVERHEAD, TOKEN / 1e9));
    assert_int_equal(n, root(OVERHEAD, TOKEN / 3e9)); /* above 64 MiB */
    tear_down(&b);
}

static void never_and_at_once(void **state)
{
    (void)state;
    struct bench b;
    set_up(&b, NULL);
    /* Computing costs 4 L d n^2 / 2 and so more than loading at last, but where the drive is slow
     * only behind 2^31 tokens. */
    b.l.tier_bytes_per_s = TOKEN / (PER_PAIR * (double)(UINT64_C(1) << 32));
    assert_int_equal(loading_break_even(&b.l), 0);
    b.l.tier_bytes_per_s = 0;
    assert_int_equal(loading_break_even(&b.l), root(OVERHEAD, 0));
    b.l.latency_s = 0;
    assert_int_equal(loading_break_even(&b.l), 1);
    /* A token earlier it does not pay. */
    b.l.latency_s = 0.1;
    b.l.tier_bytes_per_s = 6e9;
    uint64_t n = loading_break_even(&b.l);
    assert_true(loading_s(&b.l, n) <= computed_s((double)n));
    assert_true(loading_s(&b.l, n - 1) > computed_s((double)(n - 1)));
    tear_down(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rate),
        cmocka_unit_test(rate_of_the_object),
        cmocka_unit_test(never_and_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
