/* Models: geometry and bytes. Expected bytes of published config.json files are arithmetic done
 * apart from this code (16-bit elements); the built-in table is the specification's. A bug looked
 * like a head's width divided from the hidden size, a window counted in layers without one, MLA
 * with a factor 2, or the weights' quantisation taken for the cache's type. */
/* builds: plain address arm64 */
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
        assert_int_equal(model_find(&m, want[i].id, NULL, NULL, &e), 0);
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
        if (model_find(&m, path, NULL, NULL, &e) < 0)
            fail_msg("%s: %s", e.where, e.what);
        assert_string_equal(m.id, p->file);
        /* gemma-2-9b's file says float32, which is kept in 16 bits */
        if (strcmp(p->file, "falcon-7b") == 0 || strcmp(p->file, "gpt2") == 0 ||
            strcmp(p->file, "llama-2-7b") == 0)
            assert_string_equal(model_dtype(&m), "float16");
        else
            assert_string_equal(model_dtype(&m), "bfloat16");
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
    rc = model_hf_parse(m, jsonin_root(d), "c.json", NULL, e);
    jsonin_free(d);
    return rc;
}

static uint64_t state_of(struct model m)
{
    return model_state_bytes(&m);
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

/* The type of the main cache, and the key that says so. A bug looked like the type of the weights
 * taken for the cache's, an 8-bit cache that a file states counted in 16 bits, or float32 kept. */
static void element_types_of_files(void **state)
{
    (void)state;
#define QUANTISED(members) "\"torch_dtype\": \"bfloat16\", \"quantization_config\": {" members "}"
#define SCHEME(bits, type) "\"kv_cache_scheme\": {\"num_bits\": " bits ", \"type\": \"" type "\"}"
    static const struct {
        const char *text, *type, *by;
    } cases[] = {
        {"\"x\": 1", "float16", ""},
        {"\"torch_dtype\": \"bfloat16\"", "bfloat16", "torch_dtype"},
        {"\"dtype\": \"torch.bfloat16\"", "bfloat16", "dtype"},
        {"\"torch_dtype\": \"float32\"", "bfloat16", "torch_dtype (float32, kept in 16 bits)"},
        {"\"dtype\": \"float32\"", "bfloat16", "dtype (float32, kept in 16 bits)"},
        {"\"dtype\": \"float8_e4m3fn\"", "float16", "dtype"},
        /* the weights' quantisation is not the cache's type */
        {QUANTISED("\"quant_method\": \"fp8\""), "bfloat16", "torch_dtype"},
        {QUANTISED("\"quant_method\": \"fp8\", \"kv_cache_scheme\": \"static\""), "bfloat16",
         "torch_dtype"},
        {QUANTISED("\"kv_cache_scheme\": null"), "bfloat16", "torch_dtype"},
        {QUANTISED("\"kv_cache_quant_algo\": \"MIXED_PRECISION\""), "bfloat16", "torch_dtype"},
        /* what is stated of the cache */
        {QUANTISED(SCHEME("8", "float")), "fp8", "quantization_config.kv_cache_scheme"},
        {QUANTISED(SCHEME("8", "int")), "int8", "quantization_config.kv_cache_scheme"},
        {QUANTISED(SCHEME("4", "float")), "nvfp4", "quantization_config.kv_cache_scheme"},
        {QUANTISED("\"quant_method\": \"modelopt\", \"kv_cache_quant_algo\": \"FP8\""), "fp8",
         "quantization_config.kv_cache_quant_algo"},
        {QUANTISED("\"quantization\": {\"kv_cache_quant_algo\": \"fp8\"}"), "fp8",
         "quantization_config.quantization.kv_cache_quant_algo"},
        {"\"quantization\": {\"quant_algo\": \"FP8\", \"kv_cache_quant_algo\": \"INT8\"}", "int8",
         "quantization.kv_cache_quant_algo"},
        {"\"quantization\": {\"kv_cache_quant_algo\": \"NVFP4\"}", "nvfp4",
         "quantization.kv_cache_quant_algo"},
        {"\"compression_config\": {" SCHEME("8", "float") "}", "fp8",
         "compression_config.kv_cache_scheme"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text), "{" BASE ", %s}", cases[i].text);
        struct model m = parsed(text);
        assert_string_equal(model_dtype(&m), cases[i].type);
        assert_string_equal(m.part[0].typed_by, cases[i].by);
        uint64_t sixteenths = strcmp(cases[i].type, "nvfp4") == 0  ? 9
                              : strstr(cases[i].type, "8") != NULL ? 16
                                                                   : 32;
        assert_int_equal(model_bytes_per_token(&m), 10 * 2 * 8 * 128 * sixteenths / 16);
        /* the same around a nested language model */
        snprintf(text, sizeof(text), "{%s, \"text_config\": {" BASE "}}", cases[i].text);
        m = parsed(text);
        assert_string_equal(model_dtype(&m), cases[i].type);
    }
    struct model m = parsed("{\"torch_dtype\": \"float16\","
                            "\"text_config\": {" BASE ", \"dtype\": \"bfloat16\"}}");
    assert_string_equal(model_dtype(&m), "bfloat16");
    assert_string_equal(m.part[0].typed_by, "text_config.dtype");
}

/* The keys of an indexer have 8 bits and a scale, whatever the cache's type; layers may use the
 * choice of an earlier one. */
static void indexers(void **state)
{
    (void)state;
#define SPARSE BASE ", \"kv_lora_rank\": 512, \"qk_rope_head_dim\": 64, \"index_head_dim\": "
    static const struct {
        const char *text;
        uint64_t own, bytes; /* layers with an indexer; bytes of one */
    } cases[] = {
        {"128", 10, 132},
        {"64", 10, 68},
        {"256", 10, 264},
        {"128, \"index_topk_freq\": 4, \"index_skip_topk_offset\": 3", 4, 132}, /* 0 1 2 6 */
        {"128, \"index_topk_freq\": 4", 4, 132},                                /* 0 1 5 9 */
        {"128, \"index_topk_freq\": 1", 10, 132},
        {"null, \"model_type\": \"glm_moe_dsa\"", 10, 132}, /* the class's 128 */
        {"128, \"index_topk_pattern\": \"FFSSFSSSFS\"", 4, 132},
        {"128, \"index_topk_freq\": 9, \"indexer_types\": [\"full\", \"full\", \"shared\","
         "\"shared\", \"shared\", \"full\", \"shared\", \"shared\", \"shared\", \"full\"]",
         4, 132},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        struct err e = {0};
        snprintf(text, sizeof(text), "{" SPARSE "%s}", cases[i].text);
        struct model m = parsed(text);
        assert_int_equal(model_bytes_per_token(&m), 10 * 576 * 2 + cases[i].own * cases[i].bytes);
        assert_int_equal(model_set_dtype(&m, "fp8", &e), 0);
        assert_int_equal(model_bytes_per_token(&m), 10 * 576 + cases[i].own * cases[i].bytes);
    }
}

/* Models whose caches are not one for each layer. */
static void caches_of_a_layer(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t caches;
        const char *by;
    } cases[] = {
        {"\"num_layers\": 4, \"architectures\": [\"LongcatFlashForCausalLM\"]", 8, "num_layers"},
        {"\"num_layers\": 4, \"model_type\": \"longcat_flash_ngram\"", 8, "num_layers"},
        /* its num_hidden_layers counts caches */
        {"\"num_layers\": 4, \"num_hidden_layers\": 8, \"model_type\": \"longcat_flash\"", 8,
         "num_layers"},
        {"\"num_hidden_layers\": 8, \"model_type\": \"longcat_flash\"", 8, "num_hidden_layers"},
        {"\"num_layers\": 4", 4, "num_layers"},
        {"\"layers_block_type\": [\"attention\", \"moe\", \"attention\"]", 2, "layers_block_type"},
        {"\"num_hidden_layers\": 6, \"total_ut_steps\": 4, \"model_type\": \"ouro\"", 24,
         "num_hidden_layers, total_ut_steps"},
        {"\"num_hidden_layers\": 6, \"num_kv_shared_layers\": 2", 4,
         "num_hidden_layers, num_kv_shared_layers"},
        {"\"num_hidden_layers\": 6, \"use_cla\": true, \"cla_share_factor\": 2", 3,
         "num_hidden_layers, cla_share_factor"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "{\"num_attention_heads\": 8, \"head_dim\": 128, \"num_key_value_heads\": 2, %s}",
                 cases[i].text);
        struct model m = parsed(text);
        assert_int_equal(m.parts, 1);
        assert_int_equal(m.part[0].caches, cases[i].caches);
        assert_int_equal(model_bytes_per_token(&m), cases[i].caches * 2 * 2 * 128 * 2);
        assert_int_equal(strncmp(m.part[0].counted_by, cases[i].by, strlen(cases[i].by)), 0);
    }
}

/* Wrappers that give what the cache needs, and not the number of query heads. */
static void without_query_heads(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t per_token;
    } cases[] = {
        {"{\"model_type\": \"llava\", \"text_config\": {\"model_type\": \"mistral\", \"head_dim\": "
         "128,"
         "\"num_hidden_layers\": 40, \"num_key_value_heads\": 8, \"sliding_window\": null}}",
         163840},
        {"{\"llm_config\": {\"head_dim\": 64, \"num_hidden_layers\": 2, \"num_key_value_heads\": "
         "3}}",
         2 * 2 * 3 * 64 * 2},
        {"{\"num_hidden_layers\": 4, \"kv_lora_rank\": 512, \"qk_rope_head_dim\": 64}",
         4 * 576 * 2},
        {"{\"num_hidden_layers\": 4, \"kv_lora_rank\": 512, \"qk_rope_head_dim\": 64, \"use_mla\": "
         "1}",
         4 * 576 * 2},
        {"{\"num_hidden_layers\": 4, \"kv_lora_rank\": 512, \"qk_rope_head_dim\": 64, \"use_mla\": "
         "0,"
         "\"head_dim\": 8, \"num_key_value_heads\": 2}",
         4 * 2 * 2 * 8 * 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct model m = parsed(cases[i].text);
        assert_int_equal(model_bytes_per_token(&m), cases[i].per_token);
        assert_int_equal(m.pair_elements, 0);
    }
}

/* The bytes that one rank of an engine keeps. */
static void ranks_of_an_engine(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        struct model_ranks ranks;
        uint64_t tokens, bytes;
    } cases[] = {
        {"llama3.1-8b", {0}, 6012, 6012 * 131072ull},
        {"llama3.1-8b", {.tensor = 8}, 6012, 6012 * 131072ull / 8},
        {"llama3.1-8b", {.tensor = 16}, 6012, 98500608}, /* one of 8 heads */
        {"llama3.1-8b", {.tensor = 16, .evenly = true}, 6012, 49250304},
        {"llama3.1-8b", {.tensor = 3}, 1, 43690},
        {"llama3.1-8b", {.pipeline = 3}, 1, 11 * 4096}, /* 11, 11 and 10 layers */
        {"llama3.1-8b", {.context = 4}, 10, 3 * 131072},
        {"llama3.1-8b", {.tensor = 8, .pipeline = 4, .context = 2}, 10, 5 * 131072 / 32},
        {"deepseek-v3", {.tensor = 8}, 10, 702720},
        {"deepseek-v3", {.tensor = 8, .latent = true}, 10, 87840},
        {"tests/data/models/qwen3-next-80b.json", {.tensor = 8}, 1, 12 * 2 * 1 * 256 * 2},
        {"tests/data/models/mimo-v2-flash.json", {.tensor = 8}, 1, (9 + 39) * 320 * 2},
        {"tests/data/models/mistral-7b-v0.1.json", {.context = 8}, 1u << 20, 512 * 131072},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err e = {0};
        struct model m;
        uint64_t n = 0;
        assert_int_equal(model_find(&m, cases[i].id, NULL, NULL, &e), 0);
        m.ranks = cases[i].ranks;
        assert_int_equal(model_rank_bytes(&m, cases[i].tokens, false, &n), 0);
        assert_int_equal(n, cases[i].bytes);
    }
    /* a state is divided by its own heads, of which there are many */
    struct err e = {0};
    struct model m;
    uint64_t grown, all;
    assert_int_equal(model_find(&m, "tests/data/models/qwen3-next-80b.json", NULL, NULL, &e), 0);
    m.ranks.tensor = 8;
    assert_int_equal(model_rank_bytes(&m, 1, false, &grown), 0);
    assert_int_equal(model_rank_bytes(&m, 1, true, &all), 0);
    assert_int_equal(all - grown, model_state_bytes(&m) / 8);
    m = parsed("{" BASE ", \"mapping\": {\"world_size\": 8, \"tp_size\": 2, \"pp_size\": 4}}");
    assert_int_equal(m.ranks.tensor, 2);
    assert_int_equal(m.ranks.pipeline, 4);
    assert_int_equal(m.ranks.context, 0);
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
        {"{\"num_hidden_layers\": 0}", "num_hidden_layers: expected a whole number from 1"},
        {"{\"num_hidden_layers\": -3}", "num_hidden_layers: expected a whole number"},
        {"{\"num_hidden_layers\": 1.5}", "num_hidden_layers: expected a whole number"},
        {"{\"num_hidden_layers\": \"9\"}", "num_hidden_layers: expected a whole number"},
        {"{\"num_hidden_layers\": 99999999999}", "num_hidden_layers: expected a whole number"},
        {"{\"num_hidden_layers\": 2}", "num_attention_heads: missing, and so is num_key_value_"},
        {"{\"num_hidden_layers\": 2, \"num_key_value_heads\": 2}",
         "num_attention_heads: missing, and so is head_dim"},
        {"{\"model_type\": \"bert\", \"num_hidden_layers\": 2}",
         "model_type: bert is an encoder, which sees all tokens at once: it keeps no keys and"},
        {"{\"model_type\": \"xlm-roberta\"}", "model_type: xlm-roberta is an encoder"},
        {"{" BASE ", \"use_bidirectional_attention\": true}",
         "use_bidirectional_attention: the model is an encoder"},
        {"{" BASE ", \"quantization_config\": {\"kv_cache_quant_algo\": \"FP6\"}}",
         "quantization_config.kv_cache_quant_algo: 'FP6' is no type of a cache"},
        {"{" BASE ", \"quantization_config\": {\"kv_cache_scheme\": {\"num_bits\": 2}}}",
         "quantization_config.kv_cache_scheme: a cache of 2 bits"},
        {"{\"quantization\": {\"kv_cache_quant_algo\": \"X\"}, \"text_config\": {" BASE "}}",
         "quantization.kv_cache_quant_algo: 'X'"},
        {"{" BASE ", \"attention_method\": \"retention\"}",
         "attention_method: it changes the cache in a way that is not known"},
        {"{" BASE ", \"mapping\": {\"pp_size\": 0}}", "mapping.pp_size: expected a whole"},
        {"{\"num_hidden_layers\": 2, \"num_attention_heads\": 3}", "hidden_size: missing"},
        {"{\"num_hidden_layers\": 2, \"num_attention_heads\": 3, \"hidden_size\": 10}",
         "head_dim: missing, and hidden_size is no multiple"},
        {"{" BASE ", \"kv_lora_rank\": 512}", "qk_rope_head_dim: missing"},
        {"{" BASE ", \"layer_types\": [\"full_attention\"]}", "layer_types: expected one entry"},
        {"{" BASE ", \"num_hidden_layers\": 1, \"layer_types\": [\"linear_attention\"]}",
         "layer_types: layers without keys and values have a state"},
        {"{" BASE ", \"num_hidden_layers\": 1, \"layer_types\": [\"recurrent\"]}",
         "layer_types: layers of type 'recurrent'"},
        {"{" BASE ", \"num_hidden_layers\": 1, \"layer_types\": [\"sliding_attention\"]}",
         "sliding_window: missing"},
        {"{" BASE ", \"sliding_window\": 0}", "sliding_window: expected a whole number from 1"},
        {"{" BASE ", \"sliding_window\": 9, \"sliding_window_pattern\": 0}",
         "sliding_window_pattern: expected"},
        {"{" BASE ", \"sliding_window\": 9, \"use_sliding_window\": 2}",
         "use_sliding_window: expected true"},
        {"{" BASE ", \"attn_layer_period\": 8}",
         "attn_layer_period: layers without keys and values"},
        {"{" BASE ", \"attn_layer_period\": 8, \"mamba_d_state\": 16}", "mamba_d_conv: missing"},
        {"{" BASE ", \"full_attention_interval\": 4, \"linear_num_value_heads\": 4}",
         "linear_num_key_heads: missing"},
        {"{" BASE ", \"attn_type_list\": [1, 0, 2, 1, 1, 1, 1, 1, 1, 1]}",
         "attn_type_list: expected a list of 0"},
        {"{" BASE ", \"full_attn_idxs\": [10], \"conv_L_cache\": 3}",
         "full_attn_idxs: an entry is not a layer"},
        {"{" BASE ", \"num_hidden_layers\": 2, \"hybrid_override_pattern\": \"*x\"}",
         "hybrid_override_pattern: layers of type 'x'"},
        {"{" BASE ", \"num_hidden_layers\": 1, \"hybrid_override_pattern\": \"-\"}",
         "num_hidden_layers: none of its layers keeps keys and values"},
        {"{" BASE ", \"use_cla\": true}", "cla_share_factor: missing"},
        {"{" BASE ", \"global_attn_every_n\": 4}", "global_attn_every_n: models with more"},
        {"{" BASE ", \"model_type\": \"granitemoehybrid\"}", "layer_types: missing: add it"},
        {"{" BASE ", \"model_type\": \"mllama_text_model\"}",
         "cross_attention_layers: missing: add"},
        {"{" BASE ", \"attention_chunk_size\": 8192}", "attention_chunk_size: models with this"},
        {"{" BASE ", \"sliding_window\": 9, \"sliding_window_pattern\": \"LXG\"}",
         "sliding_window_pattern: expected a number"},
        {"{" BASE ", \"qk_nope_head_dim\": 64}",
         "qk_nope_head_dim: not supported without kv_lora_rank"},
        {"{" BASE ", \"block_configs\": [{}]}", "block_configs: expected one entry"},
        {"{" BASE ", \"attn_config\": {\"kv_n_heads\": 2, \"sliding_window_size\": 64}}",
         "attn_config.sliding_window_size: models with this"},
        {"{" BASE ", \"num_hidden_layers\": 1, \"attn_type_list\": [0], \"conv_L_cache\": 3,"
         "\"mamba_cache_dtype\": \"fp6\"}",
         "mamba_cache_dtype: neither"},
        {"{" BASE ", \"is_encoder_decoder\": true}", "is_encoder_decoder: encoder"},
        {"{" BASE ", \"num_kv_shared_layers\": 10}", "num_kv_shared_layers: not below"},
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

/* ---- which keys may be there ---- */

static int parse_with(struct model *m, const char *text, struct model_reading *reading,
                      struct err *e)
{
    struct jsonin *d;

    assert_int_equal(jsonin_parse(&d, text, strlen(text), "c.json", e), 0);
    int rc = model_hf_parse(m, jsonin_root(d), "c.json", reading, e);
    jsonin_free(d);
    return rc;
}

/* A key that is not known passes; it is told when its name is about the cache and it is not off. */
static void unknown_keys(void **state)
{
    (void)state;
    static const char *const told[][2] = {
        {"\"kv_share_map\": [1, 2]", "kv_share_map"},
        {"\"attention_window_schedule\": \"x\"", "attention_window_schedule"},
        {"\"num_global_heads\": 4", "num_global_heads"},
        {"\"cross_layer_sharing\": true", "cross_layer_sharing"},
        {"\"cache_compress_ratio\": 4", "cache_compress_ratio"},
        {"\"new_config\": {\"a\": {\"attn_stride\": 2}}", "new_config.a.attn_stride"},
        {"\"kv_quantizer\": {\"ratio\": 4}", "kv_quantizer"},
        {"\"stages\": [1, {\"num_heads_kept\": 4}]", "stages.num_heads_kept"},
        {"\"state_size\": 16", "state_size"},
        {"\"index_topk\": 2048", "index_topk"}, /* without index_head_dim: not DeepSeek's */
        {"\"kv_cache_dtype\": \"fp8\"", "kv_cache_dtype"},
    };
    static const char *const passed[] = {"\"kv_share_map\": null",
                                         "\"num_reward_heads\": 0",
                                         "\"kv_share_map\": []",
                                         "\"kv_share_map\": {}",
                                         "\"kv_sharing\": false",
                                         "\"some_number\": 7",
                                         "\"attention_norm_eps\": 1e-6",
                                         "\"rope_layer_base\": 9",
                                         "\"new_config\": {\"a\": 1}",
                                         "\"attention_method\": \"MLA\"",
                                         "\"use_mla\": 1",
                                         "\"attn_res_block_size\": 4",
                                         "\"for_llm_compressor\": true",
                                         "\"dual_chunk_attention_config\": {\"chunk_size\": 9}"};

    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]) + sizeof(passed) / sizeof(passed[0]);
         i++) {
        size_t k = i - sizeof(told) / sizeof(told[0]);
        bool is_told = i < sizeof(told) / sizeof(told[0]);
        char text[256];
        struct model m;
        struct err e = {0};
        struct model_reading reading = {0};
        snprintf(text, sizeof(text), "{" BASE ", %s}", is_told ? told[i][0] : passed[k]);
        if (parse_with(&m, text, &reading, &e) < 0)
            fail_msg("%s: %s", text, e.what);
        assert_int_equal(reading.unread.count, is_told);
        if (is_told)
            assert_string_equal(reading.unread.text[0], told[i][1]);
        assert_int_equal(model_bytes_per_token(&m), 40960);
    }
}

/* Keys that are known to change the cache and are not read: all are named at once. Forced, each
 * assumption is told. */
static void refused_keys(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error, *assumed;
    } cases[] = {
        {"\"mb_per_layer\": 2, \"x\": 1, \"sparse_attention_config\": {\"a\": 1}",
         "mb_per_layer, sparse_attention_config: they change the cache",
         "mb_per_layer, sparse_attention_config: they change the cache in a way that is not known "
         "here; assumed: they change nothing"},
        {"\"layer_group_size\": 5", "layer_group_size: it changes the cache",
         "layer_group_size: it changes the cache in a way that is not known here; assumed: it "
         "changes nothing"},
        {"\"attention_mechanism\": \"retention\"", "attention_mechanism: it changes the cache",
         "attention_mechanism: it changes the cache in a way that is not known here; assumed: it "
         "changes nothing"},
        {"\"num_hidden_layers\": 10, \"layer_types\": [\"x\", \"y\", \"x\", \"x\", \"x\", \"x\","
         "\"x\", \"x\", \"x\", \"x\"]",
         "layer_types: layers of type 'x' are not supported",
         "layer_types: layers of type 'x' are not supported; assumed: they keep the keys and "
         "values of all tokens"},
        {"\"quantization_config\": {\"kv_cache_quant_algo\": \"FP6\"}",
         "quantization_config.kv_cache_quant_algo: 'FP6' is no type",
         "quantization_config.kv_cache_quant_algo: 'FP6' is no type of a cache that is known; "
         "--kv-dtype gives it; assumed: 16 bits"},
        {"\"model_type\": \"zamba2\"", "model_type: zamba2 is not supported",
         "model_type: zamba2 is not supported: its layers share attention blocks; assumed: its "
         "keys mean what they do elsewhere"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        struct model m;
        struct err e = {0};
        struct model_reading reading = {.force = true};
        snprintf(text, sizeof(text), "{" BASE ", %s}", cases[i].text);
        assert_int_equal(parse(&m, text, &e), -EINVAL);
        assert_int_equal(strncmp(e.what, cases[i].error, strlen(cases[i].error)), 0);
        assert_non_null(strstr(e.what, "--force-model"));
        assert_int_equal(parse_with(&m, text, &reading, &e), 0);
        assert_string_equal(reading.assumed.text[0], cases[i].assumed);
        assert_int_equal(model_bytes_per_token(&m), 40960);
    }
}

/* However many keys a hostile file has, it is refused soon. */
static void endless_keys(void **state)
{
    (void)state;
    static char text[1 << 20];
    struct model m;
    struct err e = {0};
    size_t len = 0;

    for (int wrapped = 0; wrapped < 2; wrapped++) {
        len = (size_t)sprintf(text, "{" BASE "%s", wrapped ? ", \"x\": {\"a\": 1" : "");
        for (int i = 0; i < 60000; i++)
            len += (size_t)sprintf(text + len, ", \"k%d\": null", i);
        strcpy(text + len, wrapped ? "}}" : "}");
        assert_int_equal(parse(&m, text, &e), -E2BIG);
        assert_string_equal(e.what, "more than 4096 keys");
    }
}

/* Keys of published files (beside those of tests/data/models) that change no size: refusing one
 * would refuse its model. */
static void harmless_keys(void **state)
{
    (void)state;
    static const char *const families[] = {
        /* GPT-J, GPT-NeoX, GPT-BigCode, OPT, CodeGen */
        "\"n_positions\": 2048, \"n_inner\": null, \"n_ctx\": 2048, \"rotary\": true, "
        "\"rotary_dim\": 64,"
        "\"resid_pdrop\": 0.0, \"embd_pdrop\": 0.0, \"attn_pdrop\": 0.1, \"scale_attn_weights\": "
        "true,"
        "\"summary_type\": \"cls_index\", \"summary_use_proj\": true, \"gradient_checkpointing\": "
        "false,"
        "\"scale_attn_by_inverse_layer_idx\": true, \"reorder_and_upcast_attn\": true",
        "\"rotary_pct\": 0.25, \"rotary_emb_base\": 10000, \"use_parallel_residual\": true,"
        "\"classifier_dropout\": 0.1, \"hidden_act\": \"gelu\", \"layer_norm_eps\": 1e-5",
        "\"attention_softmax_in_fp32\": true, \"inference_runner\": 0, \"max_batch_size\": null,"
        "\"pad_key_length\": true, \"pre_allocate_kv_cache\": false, \"validate_runner_input\": "
        "true,"
        "\"scale_attention_softmax_in_fp32\": true",
        "\"ffn_dim\": 8192, \"word_embed_proj_dim\": 2048, \"layerdrop\": 0.0, \"enable_bias\": "
        "true,"
        "\"do_layer_norm_before\": true, \"layer_norm_elementwise_affine\": true,"
        "\"_remove_final_layer_norm\": false, \"activation_function\": \"relu\"",
        /* StableLM, StarCoder2, Phi, Persimmon, Nemotron */
        "\"use_qkv_bias\": true, \"qk_layernorm\": true, \"rope_pct\": 0.25, "
        "\"partial_rotary_factor\": 0.4,"
        "\"use_bias\": true, \"residual_dropout\": 0.1, \"embedding_dropout\": 0.1, "
        "\"norm_epsilon\": 1e-5,"
        "\"mlp_type\": \"default\", \"norm_type\": \"layer_norm\", \"flash_attn\": true, "
        "\"fused_dense\": true",
        "\"lm_head_bias\": true, \"original_max_position_embeddings\": 4096, \"attention_bias\": "
        "true,"
        "\"embd_layer\": {\"embedding_cls\": \"tune_image\"}, \"speech_lora\": {\"r\": 320, "
        "\"layer\": \"x\"},"
        "\"vision_lora\": {\"lora_alpha\": 512, \"layer\": \"x\"}, \"audio_processor\": {\"name\": "
        "\"c\"}",
        /* Qwen 1 and VL, InternLM, Baichuan, Yi, MiniCPM-V */
        "\"attn_dropout_prob\": 0.0, \"use_dynamic_ntk\": true, \"use_flash_attn\": \"auto\","
        "\"use_logn_attn\": true, \"use_cache_quantization\": true, \"use_cache_kernel\": true,"
        "\"softmax_in_fp32\": true, \"visual\": {\"heads\": 16, \"layers\": 48}",
        "\"vision_start_token_id\": 1, \"image_token_id\": 2, \"rope_scaling\": "
        "{\"mrope_section\": [1],"
        "\"type\": \"mrope\"}, \"spatial_merge_size\": 2, \"vision_feature_layer\": -1,"
        "\"vision_config\": {\"num_hidden_layers\": 24, \"num_heads\": 16, \"window_size\": 112}",
        "\"bias\": false, \"attn_implementation\": \"eager\", \"_attn_implementation\": \"sdpa\","
        "\"_attn_implementation_autoset\": true, \"model_max_length\": 4096, \"z_loss_weight\": 0,"
        "\"_from_model_config\": true, \"query_num\": 64, \"slice_config\": {\"max_slice_nums\": "
        "9},"
        "\"drop_vision_last_layer\": true, \"use_image_id\": true",
        /* OLMo, Grok, Cohere, Seed-OSS */
        "\"clip_qkv\": 8, \"attention_layer_norm\": true, \"block_group_size\": 1,"
        "\"block_type\": \"sequential\", \"layer_norm_type\": \"rms\", \"alibi_bias_max\": 8.0,"
        "\"attention_layer_norm_with_affine\": true, \"init_fn\": \"mitchell\", "
        "\"flash_attention\": true,"
        "\"bias_for_layer_norm\": true, \"scale_logits\": false, \"n_kv_heads\": null",
        "\"attn_output_multiplier\": 0.08, \"max_attn_value\": 30.0, \"attn_logit_softcapping\": "
        "30.0,"
        "\"embedding_multiplier_scale\": 78.4, \"sliding_window_size\": -1, "
        "\"attn_temperature_len\": 1024,"
        "\"attn_factor\": 1.0, \"global_attn_every_n\": 1, \"router_logit_softcapping\": 30.0, "
        "\"residual_moe\": true",
        "\"attention_out_bias\": false, \"logit_scale\": 0.06, \"use_qk_norm\": true, "
        "\"mlp_bias\": false",
        /* mixtures of experts: GLM-4.5, Hunyuan, gpt-oss, Arctic, LFM2-MoE */
        "\"n_group\": 1, \"topk_group\": 1, \"first_k_dense_replace\": 3, \"moe_layer_freq\": [0, "
        "1],"
        "\"num_nextn_predict_layers\": 1, \"interleave_moe_layer_step\": 2, \"moe_layers\": [1, 3],"
        "\"expert_layer_period\": 2, \"mlp_layer_types\": [\"dense\"], "
        "\"shared_expert_intermediate_size\": 9,"
        "\"decoder_sparse_step\": 1, \"mlp_only_layers\": [0], \"num_dense_layers\": 2,"
        "\"use_mixed_mlp_moe\": true, \"group_limited_greedy\": true, \"dense_list\": [4096, 0],"
        "\"moe_layer_num_skipped\": [1], \"num_shared_expert\": [1], \"pool_type\": \"last\","
        "\"vit_type\": \"x\", \"add_classification_head\": true, \"experts_per_token\": 4,"
        "\"moe_num_shared_experts\": 2, \"moe_group\": \"dp\", \"num_expert_group\": 8",
        /* around all of them */
        "\"transformers_version\": \"4.51.0\", \"architectures\": [\"X\"], \"torch_dtype\": "
        "\"bfloat16\","
        "\"auto_map\": {\"AutoConfig\": \"c.C\"}, \"task_specific_params\": {\"a\": "
        "{\"num_beams\": 4}},"
        "\"quantization_config\": {\"quant_method\": \"awq\", \"group_size\": 128, "
        "\"kv_cache_scheme\": null},"
        "\"quantization\": {\"group_size\": 64}, \"generation_config\": {\"use_cache\": true},"
        "\"position_embedding_type\": \"rope\", \"hidden_dropout\": 0.1, \"is_decoder\": true,"
        "\"attention_probs_dropout_prob\": 0.1, \"type_vocab_size\": 2, \"output_hidden_states\": "
        "true,"
        "\"num_beam_groups\": 1, \"no_repeat_ngram_size\": 0, \"encoder_no_repeat_ngram_size\": 0,"
        "\"chunk_size_feed_forward\": 0, \"tokenizer_class\": \"T\", \"max_window_layers\": 10",
    };

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        char text[2048];
        snprintf(text, sizeof(text), "{" BASE ", %s}", families[i]);
        struct model m = parsed(text);
        assert_int_equal(model_bytes_per_token(&m), 40960);
    }
}

/* Cases that the other tables do not reach: states by type, and shared layers. */
static void states_and_shared_layers(void **state)
{
    (void)state;
    static const char mamba[] =
        "\"attn_layer_indices\": [0, 5], \"mamba_d_state\": 16, \"mamba_d_conv\": 4,"
        "\"mamba_n_heads\": 4, \"mamba_d_head\": 32, \"mamba_n_groups\": 2";
    const uint64_t inputs = (4 * 32 + 2 * 2 * 16) * 3, recurrent = 4 * 32 * 16;
    char text[512];
    struct model m;

    snprintf(text, sizeof(text), "{" BASE ", %s}", mamba);
    m = parsed(text);
    assert_int_equal(m.full_layers, 2);
    assert_int_equal(m.state_layers, 8);
    assert_int_equal(model_state_bytes(&m), 8 * (inputs + recurrent) * 2);
    assert_int_equal(bytes(&m, 100), 2 * 2 * 8 * 128 * 2 * 100);
    uint64_t all;
    assert_int_equal(model_sequence_bytes(&m, 100, &all), 0);
    assert_int_equal(all, bytes(&m, 100) + model_state_bytes(&m));
    /* the type of keys and values is not that of the state */
    struct err e = {0};
    assert_int_equal(model_set_dtype(&m, "fp8", &e), 0);
    assert_int_equal(bytes(&m, 100), 2 * 2 * 8 * 128 * 100);
    assert_int_equal(model_state_bytes(&m), 8 * (inputs + recurrent) * 2);
    m.part[m.parts - 1].elements = UINT64_MAX;
    assert_int_equal(model_sequence_bytes(&m, 1, &all), -EOVERFLOW);

    snprintf(text, sizeof(text), "{" BASE ", %s, \"mamba_ssm_cache_dtype\": \"float32\"}", mamba);
    assert_int_equal(state_of(parsed(text)), 8 * (inputs * 2 + recurrent * 4));
    snprintf(text, sizeof(text), "{" BASE ", %s, \"mamba_cache_dtype\": \"float32\"}", mamba);
    assert_int_equal(state_of(parsed(text)), 8 * (inputs + recurrent) * 4);
    snprintf(text, sizeof(text), "{" BASE ", %s, \"torch_dtype\": \"float32\"}", mamba);
    assert_int_equal(state_of(parsed(text)), 8 * (inputs + recurrent) * 2);

    m = parsed("{" BASE ", \"num_kv_shared_layers\": 4}");
    assert_int_equal(m.full_layers, 6);
    m = parsed("{" BASE ", \"use_cla\": true, \"cla_share_factor\": 3}");
    assert_int_equal(m.full_layers, 4);
    m = parsed("{" BASE ", \"use_cla\": false, \"cla_share_factor\": 3}");
    assert_int_equal(m.full_layers, 10);
}

/* Missing and null are not the same where a class has a default. */
static void windows_of_classes(void **state)
{
    (void)state;
    struct model m = parsed("{" BASE ", \"model_type\": \"mistral\"}");

    assert_int_equal(m.window, 4096);
    assert_int_equal(m.kv_heads, 8);
    m = parsed("{" BASE ", \"model_type\": \"gemma2\", \"sliding_window\": null}");
    assert_int_equal(m.window, 0);
    m = parsed("{" BASE ", \"model_type\": \"cohere2\"}");
    assert_int_equal(m.window, 4096);
    assert_int_equal(m.windowed_layers, 8);
    m = parsed("{" BASE ", \"model_type\": \"llama4_text\"}");
    assert_int_equal(m.window, 8192);
    assert_int_equal(m.windowed_layers, 8);
    m = parsed("{" BASE ", \"model_type\": \"llama4_text\", \"attention_chunk_size\": null}");
    assert_int_equal(m.windowed_layers, 0);
    m = parsed("{\"a\": null, " BASE "}"); /* a first member that is null is no empty file */
    assert_int_equal(m.layers, 10);
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
    assert_int_equal(model_find(&m, "block-2k", c, NULL, &e), 0);
    assert_int_equal(model_bytes_per_token(&m), 2048);
    assert_int_equal(bytes(&m, 512), 1 << 20);
    assert_int_equal(model_find(&m, "qwen2.5-7b", c, NULL, &e), 0);
    assert_int_equal(model_bytes_per_token(&m), 57344);
    assert_int_equal(model_find(&m, "deepseek-v2-lite", c, NULL, &e), 0);
    assert_int_equal(bytes(&m, 1024), 31850496);
    assert_int_equal(model_find(&m, "gemma-2-9b", c, NULL, &e), 0);
    assert_int_equal(bytes(&m, 131072), 23253221376);
    /* the same as its config.json says */
    struct model hf;
    assert_int_equal(model_find(&m, "qwen3-next-80b", c, NULL, &e), 0);
    assert_int_equal(model_find(&hf, "tests/data/models/qwen3-next-80b.json", NULL, NULL, &e), 0);
    assert_int_equal(bytes(&m, 1000), bytes(&hf, 1000));
    assert_int_equal(model_state_bytes(&m), model_state_bytes(&hf));
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

    assert_int_equal(model_find(&m, "llama3.1-8b", c, NULL, &e), 0);
    assert_int_equal(model_bytes_per_token(&m), 65536);
    assert_string_equal(m.name, "Llama 3.1 8B");
    assert_int_equal(model_find(&m, "tiny-1b", c, NULL, &e), 0);
    assert_int_equal(bytes(&m, 1000), 2048 * (6 * 1000 + 6 * 100));
    assert_int_equal(model_find(&m, "mistral-7b", c, NULL, &e), 0);
    assert_int_equal(m.head_dim, 256);
    assert_int_equal(model_find(&m, "deepseek-v3", c, NULL, &e), 0);
    assert_int_equal(m.head_dim, 56);
    assert_int_equal(model_find(&m, "llama2-7b", c, NULL, &e), 0);
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
        assert_int_equal(model_find(&m, "a.1", c, NULL, &e), -EINVAL);
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

    assert_int_equal(model_find(&m, "llama9", c, NULL, &e), -ENOENT);
    assert_int_equal(e.class, ERR_INPUT);
    assert_string_equal(e.where, "llama9");
    assert_non_null(strstr(e.what, "unknown model (known: tiny-1b, mistral-7b,"));
    assert_non_null(strstr(e.what, ", mine;"));
    assert_int_equal(model_find(&m, "none.json", c, NULL, &e), -ENOENT);
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
    assert_string_equal(model_dtype(&m), "int8");
    assert_int_equal(model_set_dtype(&m, "int4", &e), 0);
    assert_int_equal(model_bytes_per_token(&m), 6144);
    assert_int_equal(model_bytes(&m, UINT64_MAX / 6144 + 1, &n), -EOVERFLOW);
    assert_int_equal(n, 7);
    assert_int_equal(model_bytes(&m, UINT64_MAX, &n), -EOVERFLOW);
    assert_int_equal(model_bytes(&m, 0, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(model_set_dtype(&m, "float64", &e), -EINVAL);
    assert_string_equal(e.where, "--kv-dtype");
    assert_non_null(strstr(e.what, "float64: unknown element type"));
    /* int4 of an odd number of elements: down to a whole byte, once, at the end */
    m = (struct model){
        .attention = MODEL_MLA, .layers = 1, .kv_lora_rank = 2, .qk_rope_head_dim = 1};
    model_settle(&m, MODEL_INT4, 0);
    assert_int_equal(bytes(&m, 1), 1);
    assert_int_equal(bytes(&m, 3), 4);
}

/* The parameters that prefill multiplies. Expected: the published number of parameters of each
 * model without embeddings, output head, norms and biases, summed apart from this code; of mixtures
 * of experts, those of one token. A bug looked like a gated MLP of two matrices, or a router left
 * out. */
static void arithmetic_of_prefill(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        uint64_t params, pair_width;
    } want[] = {
        {"llama3.1-8b", 6979321856, 4096},
        {"llama3.1-70b-instruct", 68451041280, 8192},
        {"deepseek-v3", 35697917952, 20480},
        {"qwen3-32b", 31205621760, 8192},
        {"gpt-oss-120b", 4551966720, 4096},
        {"gpt-oss-20b", 3028008960, 4096},
        {"tiny-1b", 0, 1024}, /* invented, without an MLP */
        {"tests/data/models/llama-3.1-8b.json", 6979321856, 4096},
        {"tests/data/models/deepseek-v3.json", 35697917952, 20480},
        {"tests/data/models/deepseek-v2-lite.json", 2241593344, 2560}, /* no q_lora_rank */
        {"tests/data/models/gpt-oss-120b.json", 4551966720, 4096},
        {"tests/data/models/qwen3-30b-a3b-instruct-2507.json", 2730491904, 4096},
        {"tests/data/models/mixtral-8x7b-v0.1.json", 12617515008, 4096},
        {"tests/data/models/gemma-3-27b.json", 25598361600, 4096},
        {"tests/data/models/falcon-7b.json", 6625951744, 4544}, /* no gate */
        {"tests/data/models/gpt2.json", 84934656, 768},
        {"tests/data/models/kimi-linear-48b.json", 0, 5120}, /* states: more than matrices */
        /* V3, and the indexers' 61 x (64 x 128 x 1536 + 7168 x (128 + 64)) */
        {"tests/data/models/deepseek-v3.2.json", 36549427200, 20480},
    };
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        struct err e = {0};
        struct model m;
        assert_int_equal(model_find(&m, want[i].id, NULL, NULL, &e), 0);
        assert_int_equal(m.active_params, want[i].params);
        assert_int_equal(m.pair_elements, 2 * want[i].pair_width);
        if (strstr(want[i].id, "v3.2")) {
            assert_int_equal(m.index_picks, 2048);
            assert_int_equal(m.index_elements, 61 * 64 * 128);
        } else {
            assert_int_equal(m.index_picks, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_models),
        cmocka_unit_test(arithmetic_of_prefill),
        cmocka_unit_test(published_models),
        cmocka_unit_test(windows_of_each_family),
        cmocka_unit_test(heads_of_each_family),
        cmocka_unit_test(element_types_of_files),
        cmocka_unit_test(bad_files_name_the_field),
        cmocka_unit_test(indexers),
        cmocka_unit_test(caches_of_a_layer),
        cmocka_unit_test(without_query_heads),
        cmocka_unit_test(ranks_of_an_engine),
        cmocka_unit_test(unknown_keys),
        cmocka_unit_test(refused_keys),
        cmocka_unit_test(endless_keys),
        cmocka_unit_test(harmless_keys),
        cmocka_unit_test(states_and_shared_layers),
        cmocka_unit_test(windows_of_classes),
        cmocka_unit_test(the_example_file),
        cmocka_unit_test(a_file_overrides_built_in_models),
        cmocka_unit_test(bad_models_of_a_file),
        cmocka_unit_test(unknown_models_list_the_known),
        cmocka_unit_test(element_widths_and_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
