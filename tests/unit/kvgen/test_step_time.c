/* The time of a step against figures by hand: Llama 3.1 8B in bfloat16 on one H100 (the page of
 * serving has them), experts touched by n tokens, and the exchange of two GPUs. A bug looked like
 * weights that every token read again, or a decode that computed the attention of a prefill. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kvgen/serve/step_time.h"

#define MS INT64_C(1000000)

/* 32 layers: 4096 x (4096 + 2 x 1024 + 4096) of attention, 3 x 4096 x 14336 of the rest. */
static const struct step_model llama = {.parameters = UINT64_C(6979321856),
                                        .always_bytes = UINT64_C(13958643712),
                                        .head_bytes = UINT64_C(128256) * 4096 * 2,
                                        .pair_ops = 4 * 32 * 4096,
                                        .cache_bytes = 131072,
                                        .layers = 32,
                                        .hidden_bytes = 8192};
static const struct step_gpu h100 = {.ops_s = UINT64_C(989500000000000),
                                     .bytes_s = UINT64_C(3350000000000),
                                     .link_bytes_s = UINT64_C(450000000000),
                                     .tp = 1,
                                     .eta_ppm = 500000,
                                     .eta_a_ppm = 500000,
                                     .b_ppm = 750000,
                                     .async = true};

/* In tenths of a ms, each term rounded to them. */
static void is_ms(int64_t ns, int64_t tenths)
{
    assert_in_range(ns, tenths * MS / 10 - 60000, tenths * MS / 10 + 60000);
}

static void test_prefill(void **state)
{
    (void)state;
    const struct step_work w = {.tokens = 2048, .pairs = UINT64_C(2048) * 2049 / 2, .output = true};
    is_ms(step_time_gpu_ns(&llama, &h100, &w), 600); /* 57.8 + 2.2 */
    int64_t products = 0, all = 0;
    for (uint64_t done = 0; done < 100000;) {
        const uint64_t n = 100000 - done < 8192 ? 100000 - done : 8192;
        struct step_work chunk = {.tokens = n};
        products += step_time_gpu_ns(&llama, &h100, &chunk);
        chunk.pairs = n * done + n * (n + 1) / 2;
        all += step_time_gpu_ns(&llama, &h100, &chunk);
        done += n;
    }
    assert_in_range(products, 2815 * MS, 2825 * MS);
    assert_in_range(all - products, 5295 * MS, 5305 * MS);
}

static void test_decode(void **state)
{
    (void)state;
    const struct step_work one = {.tokens = 1, .output = true};
    const struct step_work many = {.tokens = 64, .read = 64 * 4096, .output = true};
    is_ms(step_time_gpu_ns(&llama, &h100, &one), 60);
    is_ms(step_time_ns(&llama, &h100, &one), 70);
    is_ms(step_time_gpu_ns(&llama, &h100, &many), 197); /* 6.0 + 13.7 */
    struct step_gpu host = h100;
    host.host_ns = 5 * MS;
    is_ms(step_time_ns(&llama, &host, &one), 70);
    host.async = false;
    is_ms(step_time_ns(&llama, &host, &one), 110);
}

static void test_experts(void **state)
{
    (void)state;
    const struct step_model m = {
        .always_bytes = 1000, .routed_bytes = 256000, .experts = 256, .chosen = 8};
    struct step_work w = {.tokens = 1};
    assert_in_range(step_time_weights(&m, &w), 8999, 9000);
    w.tokens = 2; /* 8 + 8 x 248 / 256 experts */
    assert_in_range(step_time_weights(&m, &w), 16749, 16750);
    w.tokens = 100000;
    assert_in_range(step_time_weights(&m, &w), 256999, 257000);
}

static void test_two_gpus(void **state)
{
    (void)state;
    struct step_gpu g = h100;
    const struct step_work w = {.tokens = 2048};
    const int64_t alone = step_time_gpu_ns(&llama, &g, &w);
    g.tp = 2;
    /* 64 all-reduces of 2048 x 8192 bytes at 450 GB/s, and 20 us each. */
    const int64_t with = step_time_gpu_ns(&llama, &g, &w);
    assert_in_range(with - alone / 2, 3660000, 3670000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefill),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_two_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
