/* Models: geometry and bytes. Expected bytes of published config.json files are arithmetic done
 * apart from this code (16-bit elements); the built-in table is the specification's. A bug looked
 * like a head's width divided from the hidden size, a window counted in layers without one, MLA
 * with a factor 2, or the weights' quantisation taken for the cache's type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/json/jsonin.h"
#include "lib/model/find.h"
#include "lib/model/hf.h"

static uint64_t bytes(const struct model *m, uint64_t tokens)
{
    uint64_t n = 0;

    assert_int_equal(model_bytes(m, tokens, &n), 0);
    return n;
}

static void built_in_models(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        uint64_t per_token;
    } want[] = {{"tiny-1b", 24576},
                {"mistral-7b", 131072},
                {"llama2-7b", 524288},
                {"llama3.1-8b", 131072},
                {"llama3.1-70b-instruct", 327680},
                {"deepseek-v3", 70272},
                {"qwen3-32b", 262144},
                {"gpt-oss-120b", 73728},
                {"gpt-oss-20b", 49152}};
    size_t n = sizeof(want) / sizeof(want[0]);
    struct err e = {0};
    struct model m;

    for (size_t i = 0; i < n; i++) {
        assert_string_equal(model_builtin(i)->id, want[i].id);
        assert_int_equal(model_find(&m, want[i].id, NULL, &e), 0);
        assert_int_equal(model_bytes_per_token(&m), want[i].per_token);
        assert_int_equal(bytes(&m, 1000), 1000 * want[i].per_token);
        assert_string_equal(model_dtype(&m), "float16");
    }
    assert_null(model_builtin(n));
}

/* file, layers, kv_heads, head_dim (0, 0: MLA), bytes a token, window, windowed layers, bytes of
 * 1,024, 8,192, 32,768 and 131,072 tokens */
static const struct published {
    const char *file;
    uint32_t layers, kv_heads, head_dim;
    uint64_t per_token, window;
    uint32_t windowed;
    uint64_t at[4];
} published[] = {
    {"deepseek-v2-lite", 27, 0, 0, 31104, 0, 0, {31850496, 254803968, 1019215872, 4076863488}},
    {"deepseek-v3", 61, 0, 0, 70272, 0, 0, {71958528, 575668224, 2302672896, 9210691584}},
    {"falcon-7b", 32, 1, 64, 8192, 0, 0, {8388608, 67108864, 268435456, 1073741824}},
    {"gemma-2-9b", 42, 8, 256, 344064, 4096, 21, {352321536, 2113929216, 6341787648, 23253221376}},
    {"gemma-3-27b",
     62,
     16,
     128,
     507904,
     1024,
     52,
     {520093696, 1107296256, 3120562176, 11173625856}},
    {"gpt-oss-120b", 36, 8, 64, 73728, 128, 18, {42467328, 306708480, 1212678144, 4836556800}},
    {"gpt2", 12, 12, 64, 36864, 0, 0, {37748736, 301989888, 1207959552, 4831838208}},
    {"llama-2-7b", 32, 32, 128, 524288, 0, 0, {536870912, 4294967296, 17179869184, 68719476736}},
    {"llama-3.1-405b-instruct-fp8",
     126,
     8,
     128,
     516096,
     0,
     0,
     {528482304, 4227858432, 16911433728, 67645734912}},
    {"llama-3.1-70b", 80, 8, 128, 327680, 0, 0, {335544320, 2684354560, 10737418240, 42949672960}},
    {"llama-3.1-8b", 32, 8, 128, 131072, 0, 0, {134217728, 1073741824, 4294967296, 17179869184}},
    {"mistral-7b-v0.1", 32, 8, 128, 131072, 4096, 32, {134217728, 536870912, 536870912, 536870912}},
    {"mixtral-8x7b-v0.1",
     32,
     8,
     128,
     131072,
     0,
     0,
     {134217728, 1073741824, 4294967296, 17179869184}},
    {"phi-3-mini-128k",
     32,
     32,
     96,
     393216,
     262144,
     32,
     {402653184, 3221225472, 12884901888, 51539607552}},
    {"qwen2.5-72b", 80, 8, 128, 327680, 0, 0, {335544320, 2684354560, 10737418240, 42949672960}},
    {"qwen2.5-7b", 28, 4, 128, 57344, 0, 0, {58720256, 469762048, 1879048192, 7516192768}},
    {"qwen3-30b-a3b-instruct-2507",
     48,
     4,
     128,
     98304,
     0,
     0,
     {100663296, 805306368, 3221225472, 12884901888}},
    {"qwen3-32b", 64, 8, 128, 262144, 0, 0, {268435456, 2147483648, 8589934592, 34359738368}},
    {"qwen3-8b-fp8", 36, 8, 128, 147456, 0, 0, {150994944, 1207959552, 4831838208, 19327352832}},
};

static void published_models(void **state)
{
    (void)state;
    static const uint64_t tokens[4] = {1024, 8192, 32768, 131072};

    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
        const struct published *p = &published[i];
        struct err e = {0};
        struct model m;
        char path[128];

        snprintf(path, sizeof(path), "tests/data/models/%s.json", p->file);
        if (model_find(&m, path, NULL, &e) < 0)
            fail_msg("%s: %s", e.where, e.what);
        assert_string_equal(m.id, p->file);
        if (strcmp(p->file, "gemma-2-9b") == 0) {
            assert_int_equal(m.element_bits, 32); /* as its file says */
            assert_int_equal(model_set_dtype(&m, "bfloat16", &e), 0);
        }
        assert_int_equal(m.element_bits, 16);
        assert_int_equal(m.layers, p->layers);
        assert_int_equal(m.attention == MODEL_MLA, p->kv_heads == 0);
        assert_int_equal(m.kv_heads, p->kv_heads);
        assert_int_equal(m.head_dim, p->head_dim);
        assert_int_equal(m.window, p->window);
        assert_int_equal(m.windowed_layers, p->windowed);
        assert_int_equal(model_bytes_per_token(&m), p->per_token);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(bytes(&m, tokens[k]), p->at[k]);
    }
}

/* ---- config.json texts that no published file covers ---- */

static int parse(struct model *m, const char *text, struct err *e)
{
    struct jsonin *d;
    int rc;

    assert_int_equal(jsonin_parse(&d, text, strlen(text), "c.json", e), 0);
    rc = model_hf_parse(m, jsonin_root(d), "c.json", e);
    jsonin_free(d);
    return rc;
}

static struct model parsed(const char *text)
{
    struct model m;
    struct err e = {0};

    if (parse(&m, text, &e) < 0)
        fail_msg("%s: %s", e.where, e.what);
    return m;
}

#define BASE "\"num_hidden_layers\": 10, \"num_attention_heads\": 8, \"hidden_size\": 1024"

static void windows_of_each_family(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t window;
        uint32_t layers;
    } cases[] = {
        {"\"model_type\": \"mistral\", \"sliding_window\": 64", 64, 10},
        {"\"model_type\": \"mistral\", \"sliding_window\": null", 0, 0},
        /* qwen: only from max_window_layers on, and only when switched on */
        {"\"model_type\": \"qwen2\", \"sliding_window\": 64, \"use_sliding_window\": true,"
         "\"max_window_layers\": 7",
         64, 3},
        {"\"model_type\": \"qwen2\", \"sliding_window\": 64, \"use_sliding_window\": true,"
         "\"max_window_layers\": 10",
         0, 0},
        {"\"model_type\": \"qwen2\", \"sliding_window\": 64, \"use_sliding_window\": true,"
         "\"max_window_layers\": 0",
         64, 10},
        {"\"model_type\": \"qwen3\", \"sliding_window\": 64, \"use_sliding_window\": false,"
         "\"max_window_layers\": 7",
         0, 0},
        {"\"model_type\": \"qwen3\", \"sliding_window\": 64, \"max_window_layers\": 7", 0, 0},
        /* every sixth layer of gemma 3 is full unless its pattern says otherwise */
        {"\"model_type\": \"gemma3_text\", \"sliding_window\": 64", 64, 9},
        {"\"model_type\": \"gemma3_text\", \"sliding_window\": 64, \"sliding_window_pattern\": 5",
         64, 8},
        {"\"model_type\": \"cohere2\", \"sliding_window\": 64, \"sliding_window_pattern\": 4", 64,
         8},
        {"\"model_type\": \"gemma2\", \"sliding_window\": 64, \"num_hidden_layers\": 9", 64, 5},
        {"\"model_type\": \"gpt_oss\", \"sliding_window\": 64", 64, 5},
        {"\"layer_types\": [\"full_attention\", \"sliding_attention\", \"full_attention\"],"
         "\"num_hidden_layers\": 3, \"sliding_window\": 64",
         64, 1},
        {"\"layer_types\": [\"full_attention\", \"full_attention\", \"full_attention\"],"
         "\"num_hidden_layers\": 3, \"sliding_window\": 64",
         0, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        struct model m;
        snprintf(text, sizeof(text), "{" BASE ", %s}", cases[i].text);
        m = parsed(text);
        assert_int_equal(m.window, cases[i].window);
        assert_int_equal(m.windowed_layers, cases[i].layers);
    }
}

static void heads_of_each_family(void **state)
{
    (void)state;
    struct model m = parsed("{" BASE "}");

    assert_int_equal(m.kv_heads, 8);
    assert_int_equal(m.head_dim, 128);
    assert_int_equal(m.attention, MODEL_MHA);
    m = parsed("{" BASE ", \"head_dim\": null, \"num_key_value_heads\": 2}");
    assert_int_equal(m.head_dim, 128);
    assert_int_equal(m.attention, MODEL_GQA);
    m = parsed("{" BASE ", \"model_type\": \"falcon\", \"multi_query\": true,"
               "\"new_decoder_architecture\": true, \"num_kv_heads\": 4}");
    assert_int_equal(m.kv_heads, 4);
    m = parsed("{" BASE ", \"model_type\": \"falcon\", \"multi_query\": false}");
    assert_int_equal(m.kv_heads, 8);
    m = parsed("{" BASE ", \"model_type\": \"gpt_bigcode\"}");
    assert_int_equal(m.kv_heads, 1);
    /* a small gemma 3, whose file leaves out what its class assumes */
    m = parsed("{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\","
               "\"num_hidden_layers\": 34, \"hidden_size\": 2560, \"sliding_window\": 1024}}");
    assert_int_equal(m.kv_heads, 4);
    assert_int_equal(m.head_dim, 256);
    assert_int_equal(m.windowed_layers, 29);
}

static void element_types_of_files(void **state)
{
    (void)state;
    assert_int_equal(parsed("{" BASE "}").element_bits, 16);
    assert_int_equal(parsed("{" BASE ", \"torch_dtype\": \"float32\"}").element_bits, 32);
    assert_int_equal(parsed("{" BASE ", \"dtype\": \"float32\"}").element_bits, 32);
    assert_int_equal(parsed("{" BASE ", \"dtype\": \"float8_e4m3fn\"}").element_bits, 16);
    assert_int_equal(
        parsed("{\"torch_dtype\": \"float32\", \"text_config\": {" BASE "}}").element_bits, 32);
    assert_int_equal(parsed("{\"torch_dtype\": \"float32\","
                            "\"text_config\": {" BASE ", \"dtype\": \"bfloat16\"}}")
                         .element_bits,
                     16);
    /* the weights' quantisation is not the cache's type */
    assert_int_equal(
        parsed("{" BASE ", \"quantization_config\": {\"quant_method\": \"fp8\"}}").element_bits,
        16);
}

static void bad_files_name_the_field(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"{}", "not a JSON object"},
        {"[1]", "not a JSON object"},
        {"{\"model_type\": \"llama\"}", "num_hidden_layers: missing"},
        {"{\"num_hidden_layers\": 0}", "num_hidden_layers: not a whole number from 1"},
        {"{\"num_hidden_layers\": -3}", "num_hidden_layers: not a whole number"},
        {"{\"num_hidden_layers\": 1.5}", "num_hidden_layers: not a whole number"},
        {"{\"num_hidden_layers\": \"9\"}", "num_hidden_layers: not a whole number"},
        {"{\"num_hidden_layers\": 99999999999}", "num_hidden_layers: not a whole number"},
        {"{\"num_hidden_layers\": 2}", "num_attention_heads: missing"},
        {"{\"num_hidden_layers\": 2, \"num_attention_heads\": 3}", "hidden_size: missing"},
        {"{\"num_hidden_layers\": 2, \"num_attention_heads\": 3, \"hidden_size\": 10}",
         "head_dim: missing, and hidden_size is no multiple"},
        {"{" BASE ", \"kv_lora_rank\": 512}", "qk_rope_head_dim: missing"},
        {"{" BASE ", \"layer_types\": [\"full_attention\"]}", "layer_types: not one entry"},
        {"{" BASE ", \"num_hidden_layers\": 1, \"layer_types\": [\"linear_attention\"]}",
         "layer_types: layers of type 'linear_attention'"},
        {"{" BASE ", \"num_hidden_layers\": 1, \"layer_types\": [\"sliding_attention\"]}",
         "sliding_window: missing"},
        {"{" BASE ", \"sliding_window\": 0}", "sliding_window: not a whole number from 1"},
        {"{" BASE ", \"sliding_window\": 9, \"sliding_window_pattern\": 0}",
         "sliding_window_pattern: not"},
        {"{" BASE ", \"sliding_window\": 9, \"use_sliding_window\": 1}",
         "use_sliding_window: neither"},
        {"{" BASE ", \"attn_layer_period\": 8}", "attn_layer_period: layers without attention"},
        {"{" BASE ", \"is_encoder_decoder\": true}", "is_encoder_decoder: encoder"},
        {"{" BASE ", \"num_kv_shared_layers\": 4}", "num_kv_shared_layers: models with this"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct model m;
        struct err e = {0};
        assert_int_equal(parse(&m, cases[i].text, &e), -EINVAL);
        assert_string_equal(e.where, "c.json");
        if (strncmp(e.what, cases[i].what, strlen(cases[i].what)) != 0)
            fail_msg("got: %s, wanted: %s", e.what, cases[i].what);
    }
}

/* ---- configuration ---- */

static struct conf *conf_of(const char *text)
{
    char file[] = "/tmp/kvtrace-model.XXXXXX";
    struct conf *c = NULL;
    struct err e = {0};
    int fd = mkstemp(file);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    assert_int_equal(conf_open(&c, file, &e), 0);
    unlink(file);
    return c;
}

static void the_example_file(void **state)
{
    (void)state;
    struct conf *c;
    struct err e = {0};
    struct model m;

    assert_int_equal(conf_open(&c, "examples/models.yaml", &e), 0);
    assert_int_equal(model_find(&m, "block-2k", c, &e), 0);
    assert_int_equal(model_bytes_per_token(&m), 2048);
    assert_int_equal(bytes(&m, 512), 1 << 20);
    assert_int_equal(model_find(&m, "qwen2.5-7b", c, &e), 0);
    assert_int_equal(model_bytes_per_token(&m), 57344);
    assert_int_equal(model_find(&m, "deepseek-v2-lite", c, &e), 0);
    assert_int_equal(bytes(&m, 1024), 31850496);
    assert_int_equal(model_find(&m, "gemma-2-9b", c, &e), 0);
    assert_int_equal(bytes(&m, 131072), 23253221376);
    assert_null(conf_warning(c, 0));
    conf_free(c);
}

static void a_file_overrides_built_in_models(void **state)
{
    (void)state;
    struct conf *c = conf_of("model_configs:\n"
                             "  llama3.1-8b: {dtype: fp8}\n"
                             "  tiny-1b: {sliding_window: 100, windowed_layers: 6}\n"
                             "  mistral-7b: {num_heads: 16}\n"
                             "  deepseek-v3: {attention_type: gqa, kv_heads: 8}\n");
    struct err e = {0};
    struct model m;

    assert_int_equal(model_find(&m, "llama3.1-8b", c, &e), 0);
    assert_int_equal(model_bytes_per_token(&m), 65536);
    assert_string_equal(m.name, "Llama 3.1 8B");
    assert_int_equal(model_find(&m, "tiny-1b", c, &e), 0);
    assert_int_equal(bytes(&m, 1000), 2048 * (6 * 1000 + 6 * 100));
    assert_int_equal(model_find(&m, "mistral-7b", c, &e), 0);
    assert_int_equal(m.head_dim, 256);
    assert_int_equal(model_find(&m, "deepseek-v3", c, &e), 0);
    assert_int_equal(m.head_dim, 56);
    assert_int_equal(model_find(&m, "llama2-7b", c, &e), 0);
    conf_free(c);
}

static void bad_models_of_a_file(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{kv_heads: 4}", "model_configs.a.1: num_layers is missing"},
        {"{num_layers: 4}", "model_configs.a.1: kv_heads is missing, and so is num_heads"},
        {"{num_layers: 4, kv_heads: 4}", "model_configs.a.1: kv_dim_per_head is missing, and so"},
        {"{num_layers: 4, num_heads: 3, hidden_dim: 10}",
         "model_configs.a.1: kv_dim_per_head is missing, and hidden_dim is no multiple"},
        {"{num_layers: 4, attention_type: mla, kv_lora_rank: 5}", "model_configs.a.1: mla needs"},
        {"{num_layers: 4, kv_heads: 1, kv_dim_per_head: 1, windowed_layers: 2}",
         "model_configs.a.1: windowed_layers without"},
        {"{num_layers: 4, kv_heads: 1, kv_dim_per_head: 1, sliding_window: 2, windowed_layers: 5}",
         "model_configs.a.1: windowed_layers is above"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        struct conf *c;
        struct err e = {0};
        struct model m;
        snprintf(text, sizeof(text), "model_configs:\n  a.1: %s\n", cases[i][0]);
        c = conf_of(text);
        assert_int_equal(model_find(&m, "a.1", c, &e), -EINVAL);
        assert_int_equal(strncmp(e.what, cases[i][1], strlen(cases[i][1])), 0);
        assert_non_null(strstr(e.where, ":2"));
        conf_free(c);
    }
}

static void unknown_models_list_the_known(void **state)
{
    (void)state;
    struct conf *c = conf_of("model_configs:\n  mine: {num_layers: 1}\n");
    struct err e = {0};
    struct model m;

    assert_int_equal(model_find(&m, "llama9", c, &e), -ENOENT);
    assert_int_equal(e.class, ERR_INPUT);
    assert_string_equal(e.where, "llama9");
    assert_non_null(strstr(e.what, "unknown model (known: tiny-1b, mistral-7b,"));
    assert_non_null(strstr(e.what, ", mine;"));
    assert_int_equal(model_find(&m, "none.json", c, &e), -ENOENT);
    assert_string_equal(e.where, "none.json");
    conf_free(c);
}

static void element_widths_and_overflow(void **state)
{
    (void)state;
    struct model m = *model_builtin(0);
    struct err e = {0};
    uint64_t n = 7;

    assert_int_equal(model_set_dtype(&m, "float32", &e), 0);
    assert_int_equal(model_bytes_per_token(&m), 49152);
    assert_string_equal(model_dtype(&m), "float32");
    assert_int_equal(model_set_dtype(&m, "int8", &e), 0);
    assert_int_equal(model_bytes_per_token(&m), 12288);
    assert_string_equal(model_dtype(&m), "fp8");
    assert_int_equal(model_set_dtype(&m, "int4", &e), 0);
    assert_int_equal(model_bytes_per_token(&m), 6144);
    assert_int_equal(model_bytes(&m, UINT64_MAX / 6144, &n), -EOVERFLOW);
    assert_int_equal(n, 7);
    assert_int_equal(model_bytes(&m, UINT64_MAX, &n), -EOVERFLOW);
    assert_int_equal(model_bytes(&m, 0, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(model_set_dtype(&m, "float64", &e), -EINVAL);
    assert_string_equal(e.where, "--kv-dtype");
    assert_non_null(strstr(e.what, "float64: unknown element type"));
    /* int4 of an odd number of elements: down to a whole byte, once, at the end */
    m = (struct model){.attention = MODEL_MLA,
                       .layers = 1,
                       .kv_lora_rank = 2,
                       .qk_rope_head_dim = 1,
                       .element_bits = 4};
    assert_int_equal(bytes(&m, 1), 1);
    assert_int_equal(bytes(&m, 3), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_models),
        cmocka_unit_test(published_models),
        cmocka_unit_test(windows_of_each_family),
        cmocka_unit_test(heads_of_each_family),
        cmocka_unit_test(element_types_of_files),
        cmocka_unit_test(bad_files_name_the_field),
        cmocka_unit_test(the_example_file),
        cmocka_unit_test(a_file_overrides_built_in_models),
        cmocka_unit_test(bad_models_of_a_file),
        cmocka_unit_test(unknown_models_list_the_known),
        cmocka_unit_test(element_widths_and_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
