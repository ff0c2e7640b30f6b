/* The time of a prefill. Expected: the formula done by hand (figures of the specification, 2
 * operations a parameter and 4 L d a pair of positions), windows counted up to their length, and a
 * fit that finds what made its points. A bug looked like a gated MLP of two matrices, a window that
 * counted the whole context, or a fit that was led astray by one long prefill. */
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

#include "kvgen/rng.h"
#include "kvgen/speed/gpu_profile.h"
#include "kvgen/speed/prefill_time.h"
#include "lib/json/jsonin.h"
#include "lib/model/find.h"

static struct prefill_time calculated(const char *model, double eta, uint32_t ranks)
{
    struct model m;
    struct err e = {0};
    struct prefill_time p;
    assert_int_equal(model_find(&m, model, NULL, NULL, &e), 0);
    struct prefill_gpu gpu = {.params = (double)m.active_params,
                              .operations_per_s = 989e12,
                              .eta = eta,
                              .tensor_parallel = ranks};
    prefill_time_layers(&p, &m);
    prefill_time_calculate(&p, &m, &gpu);
    return p;
}

static void by_calculation(void **state)
{
    (void)state;
    struct prefill_time p = calculated("llama3.1-8b", 0.45, 1);
    /* (2 P m + 4 x 32 x 4096 x m^2 / 2) / (0.45 x 989e12), to the ns. */
    assert_int_equal(prefill_time_ns(&p, 0, 2048), 66704447);
    assert_int_equal(prefill_time_ns(&p, 0, 8192), 296464207);
    assert_int_equal(prefill_time_ns(&p, 0, 32768), 1660199559);
    assert_int_equal(prefill_time_ns(&p, 0, 100000), INT64_C(9026636044));
    /* A prefill in two parts takes as long as one. */
    assert_true(llabs(prefill_time_ns(&p, 0, 20000) + prefill_time_ns(&p, 20000, 12768) -
                      prefill_time_ns(&p, 0, 32768)) <= 1);
    p.t0_ns = 5e6;
    assert_int_equal(prefill_time_ns(&p, 0, 2048), 71704447);
    p = calculated("deepseek-v3", 0.5, 8);
    assert_int_equal((prefill_time_ns(&p, 0, 32768) + 500000) / 1000000, 1270);
}

/* deepseek-v3.2: attention to 2,048 tokens at most, and 61 indexers of 64 x 128 over all. */
static void sparse(void **state)
{
    (void)state;
    struct prefill_time p = calculated("tests/data/models/deepseek-v3.2.json", 0.5, 8);
    const double all = 1e5 * 1e5 / 2, picked = 2048. * 2048 / 2 + 2048. * (1e5 - 2048);
    const double ops = 2 * 36549427200. * 1e5 + 4 * 61 * 20480. * picked + 2 * 61 * 64 * 128. * all;
    assert_true(fabs((double)prefill_time_ns(&p, 0, 100000) - ops / (0.5 * 989e12 * 8) * 1e9) <= 1);
}

/* gemma-3-27b: 10 full layers, 52 with a window of 1,024. */
static void windows(void **state)
{
    (void)state;
    struct prefill_time p = calculated("tests/data/models/gemma-3-27b.json", 0.5, 1);
    assert_int_equal(p.full_layers, 10);
    assert_int_equal(p.windowed_layers, 52);
    static const struct {
        double cached, fresh, full, windowed;
    } want[] = {{0, 1000, 500000, 500000},
                {0, 2048, 2097152, 1024.0 * 1024 / 2 + 1024.0 * 1024},
                {1024, 10, 10240 + 50, 10240},
                {1000, 100, 100000 + 5000, (1024.0 * 1024 - 1e6) / 2 + 1024 * 76}};
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
        assert_true(fabs(prefill_time_pairs(&p, want[i].cached, want[i].fresh) -
                         (10 * want[i].full + 52 * want[i].windowed) / 62) < 1e-6);
}

enum {
    NOISY = 100
};

/* t0 12 ms, 28 us a token, 1.1 ns a pair; noise up to 5 % either way. */
static void fills_noisy(struct prefill_point point[NOISY], const struct prefill_time *p,
                        double noise)
{
    struct rng rng;
    rng_seed(&rng, 5, 1);
    for (int i = 0; i < NOISY; i++) {
        point[i].cached = i % 3 == 0 ? 0 : rng_below(&rng, 60000);
        point[i].fresh = 1 + rng_below(&rng, i % 2 == 0 ? 500 : 30000);
        double pairs = prefill_time_pairs(p, (double)point[i].cached, (double)point[i].fresh);
        point[i].ns = (12e6 + 28e3 * (double)point[i].fresh + 1.1 * pairs) *
                      (1 + noise * (2 * rng_unit(&rng) - 1));
    }
}

static void fits_points(void **state)
{
    (void)state;
    struct prefill_time p = calculated("llama3.1-8b", 0.5, 1);
    struct prefill_point point[NOISY], exact[NOISY];
    size_t worst;
    double miss;
    fills_noisy(point, &p, 0.05);
    assert_int_equal(prefill_time_fit(&p, point, NOISY, &worst, &miss), 0);
    assert_true(p.measured && miss > 0.03 && miss < 0.08);
    fills_noisy(exact, &p, 0);
    for (int i = 0; i < NOISY; i++)
        assert_true(
            fabs((double)prefill_time_ns(&p, exact[i].cached, exact[i].fresh) / exact[i].ns - 1) <
            0.05);
    /* Without noise it finds what made them, in six digits. */
    assert_int_equal(prefill_time_fit(&p, exact, NOISY, &worst, &miss), 0);
    assert_true(p.t0_ns == 12e6 && p.token_ns == 28e3 && p.pair_ns == 1.1);
    /* A part that would be negative is 0. */
    for (int i = 0; i < NOISY; i++)
        exact[i].ns = 3e4 * (double)exact[i].fresh;
    assert_int_equal(prefill_time_fit(&p, exact, NOISY, &worst, &miss), 0);
    assert_true(p.token_ns == 3e4 && p.t0_ns < 1 && p.pair_ns < 1e-6);
}

static int load(const char *text, struct prefill_time *p, struct gpu_profile *g, struct err *e)
{
    struct jsonin *d;
    *p = calculated("llama3.1-8b", 0.5, 1);
    *e = (struct err){0};
    assert_int_equal(jsonin_parse(&d, text, strlen(text), "points.json", e), 0);
    int rc = prefill_points_parse(p, g, jsonin_root(d), "points.json", e);
    jsonin_free(d);
    return rc;
}

#define P(h, m, ms) "{\"cached\": " #h ", \"new\": " #m ", \"ms\": " #ms "}"
#define GOOD        P(0, 1000, 40) ", " P(0, 10000, 350) ", " P(0, 100000, 9000)

static void files(void **state)
{
    (void)state;
    struct prefill_time p;
    struct gpu_profile g = {0};
    struct err e;
    assert_int_equal(
        load("{\"points\": [" GOOD ", " P(50000, 1000, 100) "], \"link_gb_s\": 50}", &p, &g, &e),
        0);
    assert_true(p.measured && g.link_gb_s == 50);
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"{\"points\": [" GOOD "]}", "found 3"},
        {"{\"points\": [" GOOD ", " P(0, 2000, 400) "]}", "more than 20 % off"},
        {"{\"points\": [" GOOD ", " P(0, 0, 4) "]}", "point 4"},
        {"{\"points\": [" GOOD ", " P(0, 5, -1) "]}", "point 4"},
        {"{\"points\": [" GOOD ", {\"new\": 5, \"ms\": 1}]}", "point 4"},
        {"{\"points\": [" P(9, 10, 5) "," P(9, 10, 5) "," P(9, 10, 5) "," P(9, 10, 5) "]}",
         "three lengths"},
        {"{\"points\": 7}", "expected a list"},
        {"{\"points\": [" GOOD ", " P(0, 9, 1) "], \"eta\": 1}", "eta: unknown"},
        {"{\"points\": [" GOOD ", " P(0, 9, 1) "], \"link_gb_s\": 0}", "link_gb_s"},
        {"[]", "expected a list"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(load(bad[i].text, &p, &g, &e), -EINVAL);
        assert_string_equal(e.where, "points.json");
        assert_non_null(strstr(e.what, bad[i].why));
    }
}

static void profiles(void **state)
{
    (void)state;
    struct gpu_profile g;
    struct err e = {0};
    assert_int_equal(gpu_profile_set(&g, "h100", &e), 0);
    assert_true(g.given && g.bf16_tflops == 989 && g.fp8_tflops == 1979 && g.link_gb_s == 64 &&
                g.watts == 700 && g.eta == 0.5 && g.t0_ms == 0 && g.load_overhead_ms == 20);
    assert_int_equal(gpu_profile_set(&g, "a100-80:eta=0.45,t0_ms=5,load_overhead_ms=0", &e), 0);
    assert_true(g.eta == 0.45 && g.t0_ms == 5 && g.load_overhead_ms == 0 && !g.fp8);
    assert_int_equal(gpu_profile_set(&g, "b200:type=fp8", &e), 0);
    assert_true(g.fp8);
    static const char *const bad[] = {
        "h10",           "h100:eta=0",       "h100:eta=1.1",   "h100:eta", "h100:x=1",
        "h100:eta=0.5x", "a100-80:type=fp8", "h100:type=int8", ""};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        e = (struct err){0};
        assert_int_equal(gpu_profile_set(&g, bad[i], &e), -EINVAL);
        assert_string_equal(e.where, "--gpu-profile");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_calculation), cmocka_unit_test(windows), cmocka_unit_test(sparse),
        cmocka_unit_test(fits_points),    cmocka_unit_test(files),   cmocka_unit_test(profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
