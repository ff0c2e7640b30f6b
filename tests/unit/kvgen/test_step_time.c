/* The time of a step against figures by hand: Llama 3.1 8B in bfloat16 on one H100 (the page of
 * serving has them), experts touched by n tokens, the exchange of two GPUs, windows and sparse
 * attention; and the table of the man page. A bug looked like weights that every token read again,
 * a decode that computed the attention of a prefill, or a window that looked at everything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/serve/step_setup.h"
#include "kvgen/serve/step_time.h"
#include "kvgen/speed/gpu_profile.h"
#include "lib/model/find.h"

#define MS INT64_C(1000000)

/* 32 layers: 4096 x (4096 + 2 x 1024 + 4096) of attention, 3 x 4096 x 14336 of the rest. */
static const struct step_model llama = {.parameters = UINT64_C(6979321856),
                                        .always_bytes = UINT64_C(13958643712),
                                        .head_bytes = UINT64_C(128256) * 4096 * 2,
                                        .look = {{4 * 32 * 4096, 131072, 0}},
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
    struct step_work w = {.output = true};
    step_time_add(&llama, &w, 0, 2048, false);
    is_ms(step_time_gpu_ns(&llama, &h100, &w), 600); /* 57.8 + 2.2 */
    int64_t products = 0, all = 0;
    for (uint64_t done = 0; done < 100000;) {
        const uint64_t n = 100000 - done < 8192 ? 100000 - done : 8192;
        struct step_work chunk = {.tokens = n};
        products += step_time_gpu_ns(&llama, &h100, &chunk);
        chunk.tokens = 0;
        step_time_add(&llama, &chunk, done, n, false);
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
    struct step_work many = {.output = true};
    for (int i = 0; i < 64; i++)
        step_time_add(&llama, &many, 4095, 1, false);
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

/* A window of 100: of 50 tokens behind 80, 20 look at 81 to 100 and 30 at 100. */
static void test_windows(void **state)
{
    (void)state;
    static const struct step_model m = {.look = {{1, 10, 0}, {1000, 1, 100}}};
    struct step_work w = {0};
    step_time_add(&m, &w, 80, 50, false);
    const uint64_t all = 50 * 80 + 50 * 51 / 2, within = 20 * (81 + 100) / 2 + 30 * 100;
    assert_true(w.attention_ops == all + 1000 * within);
    assert_int_equal(w.tokens, 50);
    w = (struct step_work){0};
    step_time_add(&m, &w, 500, 50, false);
    assert_true(w.attention_ops == 50 * 500 + 50 * 51 / 2 + 1000 * 50 * 100);
    w = (struct step_work){0};
    step_time_add(&m, &w, 50, 50, false);
    assert_true(w.attention_ops == 1001 * (50 * 50 + 50 * 51 / 2));
    w = (struct step_work){0};
    step_time_add(&m, &w, 98, 1, false);
    step_time_add(&m, &w, 499, 1, false);
    assert_int_equal(w.read_bytes, 10 * (99 + 500) + 99 + 100);
    assert_int_equal(w.tokens, 2);
}

static void set_up(struct step_setup *s, const char *model, uint32_t tp, uint32_t bytes)
{
    struct model m;
    struct gpu_profile g = {0};
    struct err e = {0};
    const struct step_weights weights = {.bytes = bytes, .tp = tp};
    assert_int_equal(model_find(&m, model, NULL, NULL, &e), 0);
    assert_int_equal(gpu_profile_set(&g, "h100", &e), 0);
    assert_int_equal(step_setup(s, &m, &g, &weights, &e), 0);
}

/* Layers as their config.json says: latents of 576 values; of these 2,048 that 61 indexers of 64
 * heads of 128 pick, whose keys have 128 bytes and a scale; 10 full layers of gemma-3-27b beside 52
 * with a window. */
static void test_layers(void **state)
{
    (void)state;
    struct step_setup s = {0};
    set_up(&s, "tests/data/models/deepseek-v3.json", 8, 2);
    assert_int_equal(s.model.look[0].pair_ops, 4 * 61 * 20480);
    assert_int_equal(s.model.look[0].cache_bytes, 61 * 576 * 2);
    assert_int_equal(s.model.look[0].most, 0);
    assert_int_equal(s.model.look[1].pair_ops, 0);
    set_up(&s, "tests/data/models/deepseek-v3.2.json", 8, 2);
    assert_int_equal(s.model.look[0].pair_ops, 4 * 61 * 20480);
    assert_int_equal(s.model.look[0].cache_bytes, 61 * 576 * 2);
    assert_int_equal(s.model.look[0].most, 2048);
    assert_int_equal(s.model.look[1].pair_ops, 2 * 61 * 64 * 128);
    assert_int_equal(s.model.look[1].cache_bytes, 61 * (128 + 4));
    assert_int_equal(s.model.look[1].most, 0);
    assert_true(s.model.parameters == UINT64_C(36549427200));
    assert_true(s.model.routed_bytes == UINT64_C(2) * 58 * 256 * 3 * 7168 * 2048);
    set_up(&s, "tests/data/models/gemma-3-27b.json", 1, 2);
    assert_int_equal(s.model.look[0].pair_ops, 4 * 10 * 4096);
    assert_int_equal(s.model.look[0].cache_bytes, 10 * 2 * 16 * 128 * 2);
    assert_int_equal(s.model.look[1].pair_ops, 4 * 52 * 4096);
    assert_int_equal(s.model.look[1].cache_bytes, 52 * 2 * 16 * 128 * 2);
    assert_int_equal(s.model.look[1].most, 1024);
}

/* Weights as the checkpoint has them: one decode of gpt-oss-120b on an H100 reads 4 of 128 experts
 * of 4.25 bits in each of 36 layers, the rest and the output head in 16; with --weights all have
 * the bytes that it says. A profile's arithmetic stays. */
static void test_checkpoint(void **state)
{
    (void)state;
    struct model m;
    struct gpu_profile g = {0};
    struct step_setup s = {0};
    struct step_memory memory;
    struct err e = {0};
    const struct step_weights own = {.tp = 1}, bf16 = {.bytes = 2, .tp = 1},
                              fp8 = {.bytes = 1, .tp = 1};
    const struct step_work one = {.tokens = 1, .output = true};
    const double expert = 3 * 2880. * 2880, taken = 36 * 4 * expert;
    const double rest = 4551966720 - taken, head = 201088 * 2880.;
    assert_int_equal(model_find(&m, "tests/data/models/gpt-oss-120b.json", NULL, NULL, &e), 0);
    assert_int_equal(gpu_profile_set(&g, "h100", &e), 0);
    assert_int_equal(step_setup(&s, &m, &g, &own, &e), 0);
    assert_true(s.model.routed_bytes == (uint64_t)(36 * 128 * expert * 4.25 / 8));
    assert_true(s.model.always_bytes == (uint64_t)(2 * rest));
    assert_true(s.model.head_bytes == (uint64_t)(2 * head));
    const uint64_t ops = s.gpu.ops_s;
    const double ms = (taken * 4.25 / 8 + 2 * rest + 2 * head) / (0.75 * g.hbm_tb_s * 1e9);
    assert_true(fabs((double)step_time_gpu_ns(&s.model, &s.gpu, &one) / 1e6 - ms) < 0.001);
    assert_int_equal(step_setup_memory(&memory, &m, &g, &own, &e), 0);
    assert_in_range(memory.weight_bytes, 61000000000, 65300000000);
    assert_int_equal(step_setup(&s, &m, &g, &fp8, &e), 0);
    assert_true(s.model.routed_bytes == (uint64_t)(36 * 128 * expert));
    assert_int_equal(s.gpu.ops_s, ops);
    assert_int_equal(step_setup(&s, &m, &g, &bf16, &e), 0);
    assert_true(s.model.routed_bytes == (uint64_t)(2 * 36 * 128 * expert));
    assert_int_equal(step_setup_memory(&memory, &m, &g, &bf16, &e), -ENOSPC);
}

/* ---- the table of kvgen(1) ---- */

enum {
    TERMS = 3
};

/* Products or weights, attention or reads, exchange, in ms, of a step more. */
static void add_terms(const struct step_setup *s, const struct step_work *w, double ms[TERMS])
{
    struct step_gpu alone = s->gpu;
    struct step_work bare = *w;
    bare.attention_ops = 0;
    bare.read_bytes = 0;
    alone.link_bytes_s = UINT64_C(1) << 60;
    const double latency_ms = s->gpu.tp > 1 ? 2 * 0.02 * (double)s->model.layers : 0;
    const double all = (double)step_time_gpu_ns(&s->model, &s->gpu, w) / 1e6;
    const double without = (double)step_time_gpu_ns(&s->model, &alone, w) / 1e6 - latency_ms;
    const double products = (double)step_time_gpu_ns(&s->model, &alone, &bare) / 1e6 - latency_ms;
    ms[0] += products;
    ms[1] += without - products;
    ms[2] += all - without;
}

static void add_prompt(const struct step_setup *s, uint64_t tokens, double ms[TERMS])
{
    for (uint64_t done = 0; done < tokens;) {
        const uint64_t n = tokens - done < 8192 ? tokens - done : 8192;
        struct step_work w = {.output = done + n == tokens};
        step_time_add(&s->model, &w, done, n, false);
        add_terms(s, &w, ms);
        done += n;
    }
}

static void is_row(const char *line)
{
    char model[64];
    unsigned tp;
    double said[3 * TERMS], ms[3 * TERMS] = {0};
    struct step_setup s = {0};
    assert_int_equal(sscanf(line, "%63s %u %lf %lf %lf %lf %lf %lf %lf %lf %lf", model, &tp, said,
                            said + 1, said + 2, said + 3, said + 4, said + 5, said + 6, said + 7,
                            said + 8),
                     2 + 3 * TERMS);
    set_up(&s, model, tp, 0); /* --weights auto */
    add_prompt(&s, 2048, ms);
    add_prompt(&s, 100000, ms + TERMS);
    struct step_work decodes = {.output = true};
    for (int i = 0; i < 64; i++)
        step_time_add(&s.model, &decodes, 4095, 1, false);
    add_terms(&s, &decodes, ms + 2 * TERMS);
    for (int i = 0; i < 3 * TERMS; i++) {
        const bool seconds = i / TERMS == 1;
        if (fabs(ms[i] - said[i] * (seconds ? 1000 : 1)) > (seconds ? 5.01 : 0.0501))
            fail_msg("%s: term %d is %f ms, kvgen(1) says %f", model, i + 1, ms[i], said[i]);
    }
}

static void test_man_page(void **state)
{
    (void)state;
    FILE *in = fopen("man/kvgen.1", "r");
    char line[512];
    bool table = false;
    int rows = 0;
    assert_non_null(in);
    while (fgets(line, sizeof(line), in)) {
        if (table && line[0] == '.')
            break;
        if (table && line[0] != ' ') {
            is_row(line);
            rows++;
        }
        table |= strstr(line, "TP     2,048 tokens") != NULL;
    }
    fclose(in);
    assert_int_equal(rows, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefill),    cmocka_unit_test(test_decode),
        cmocka_unit_test(test_experts),    cmocka_unit_test(test_two_gpus),
        cmocka_unit_test(test_windows),    cmocka_unit_test(test_layers),
        cmocka_unit_test(test_checkpoint), cmocka_unit_test(test_man_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
