/* The types in which a checkpoint keeps its weights. Expected: the published sizes of checkpoints
 * without prediction heads, and the formats' own arithmetic. A bug looked like 2 bytes for each of
 * 671 billion parameters of 8 bits, 4 bits for an attention that has 16, or scales left out. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/json/jsonin.h"
#include "lib/model/find.h"
#include "lib/model/hf.h"

static struct model parsed(const char *text, struct model_reading *reading)
{
    struct jsonin *d;
    struct model m;
    struct err e = {0};
    assert_int_equal(jsonin_parse(&d, text, strlen(text), "c.json", &e), 0);
    if (model_hf_parse(&m, jsonin_root(d), "c.json", reading, &e) < 0)
        fail_msg("%s: %s", text, e.what);
    jsonin_free(d);
    return m;
}

/* Layers, output head, and an embedding as large. */
static double gigabytes(const struct model *m)
{
    const double taken = m->experts ? (double)m->routed_params / m->experts * m->chosen : 0;
    const double bits = ((double)m->active_params - taken) * m->common_bits +
                        (double)m->routed_params * m->routed_bits +
                        (double)m->head_params * (m->head_bits + 16.0 * MODEL_BIT);
    return bits / MODEL_BIT / 8 / 1e9;
}

static void is_bits(uint32_t got, double want)
{
    if (fabs((double)got / MODEL_BIT - want) > 0.0001)
        fail_msg("%.5f bits, not %.5f", (double)got / MODEL_BIT, want);
}

#define V3                                                                                         \
    "\"model_type\": \"deepseek_v3\", \"num_hidden_layers\": 61, \"num_attention_heads\": 128, "   \
    "\"hidden_size\": 7168, \"kv_lora_rank\": 512, \"q_lora_rank\": 1536, \"qk_nope_head_dim\": "  \
    "128, \"qk_rope_head_dim\": 64, \"v_head_dim\": 128, \"first_k_dense_replace\": 3, "           \
    "\"intermediate_size\": 18432, \"moe_intermediate_size\": 2048, \"n_routed_experts\": 256, "   \
    "\"n_shared_experts\": 1, \"num_experts_per_tok\": 8, \"vocab_size\": 129280, "
#define GPT_OSS_20B                                                                                \
    "\"model_type\": \"gpt_oss\", \"num_hidden_layers\": 24, \"num_attention_heads\": 64, "        \
    "\"num_key_value_heads\": 8, \"head_dim\": 64, \"hidden_size\": 2880, \"intermediate_size\": " \
    "2880, \"num_local_experts\": 32, \"num_experts_per_tok\": 4, \"vocab_size\": 201088, "
#define FP8_BLOCKS "\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]"

static void published_sizes(void **state)
{
    (void)state;
    struct err e = {0};
    struct model m = parsed("{" V3 "\"quantization_config\": {" FP8_BLOCKS "}}", NULL);
    is_bits(m.routed_bits, 8 + 32.0 / 16384);
    is_bits(m.head_bits, 16);
    assert_true(gigabytes(&m) > 670 && gigabytes(&m) < 674);
    m = parsed("{" V3 "\"torch_dtype\": \"bfloat16\"}", NULL);
    assert_true(gigabytes(&m) > 1341 && gigabytes(&m) < 1343);
    m = parsed("{" GPT_OSS_20B "\"quantization_config\": {\"quant_method\": \"mxfp4\"}}", NULL);
    is_bits(m.common_bits, 16);
    is_bits(m.routed_bits, 4.25);
    assert_true(gigabytes(&m) > 12.8 && gigabytes(&m) < 13.8);
    assert_int_equal(model_find(&m, "tests/data/models/gpt-oss-120b.json", NULL, NULL, &e), 0);
    is_bits(m.common_bits, 16);
    is_bits(m.routed_bits, 4.25);
    assert_true(gigabytes(&m) > 61 && gigabytes(&m) < 65.3);
    assert_int_equal(model_find(&m, "tests/data/models/qwen3-8b-fp8.json", NULL, NULL, &e), 0);
    is_bits(m.common_bits, 8 + 32.0 / 16384);
    assert_true(gigabytes(&m) > 9.4 && gigabytes(&m) < 9.5); /* 6.95 G, and 2 x 0.62 G in 16 */
    /* All of layer 0, the MLP of layer 125. */
    assert_int_equal(
        model_find(&m, "tests/data/models/llama-3.1-405b-instruct-fp8.json", NULL, NULL, &e), 0);
    const double attention = 16384.0 * (2 * 16384 + 2 * 1024), mlp = 3 * 16384.0 * 53248;
    is_bits(m.common_bits, 8 + 8 * (attention + 2 * mlp) / 126 / (attention + mlp));
}

static void built_in_models(void **state)
{
    (void)state;
    struct err e = {0};
    struct model m;
    const struct {
        const char *name, *config;
    } cases[] = {
        {"deepseek-v3", "{" V3 "\"quantization_config\": {" FP8_BLOCKS "}}"},
        {"gpt-oss-20b", "{" GPT_OSS_20B "\"quantization_config\": {\"quant_method\": \"mxfp4\"}}"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct model want = parsed(cases[i].config, NULL);
        assert_int_equal(model_find(&m, cases[i].name, NULL, NULL, &e), 0);
        assert_int_equal(m.routed_bits, want.routed_bits);
        assert_int_equal(m.common_bits ? m.common_bits : 16 * MODEL_BIT, want.common_bits);
    }
    assert_int_equal(model_find(&m, "gpt-oss-120b", NULL, NULL, &e), 0);
    is_bits(m.routed_bits, 4.25);
}

#define LLAMA                                                                                      \
    "\"model_type\": \"llama\", \"num_hidden_layers\": 10, \"num_attention_heads\": 8, "           \
    "\"hidden_size\": 1024, \"intermediate_size\": 4096, \"vocab_size\": 1000, "                   \
    "\"quantization_config\": "
#define GROUP(weights) "\"config_groups\": {\"group_0\": {\"weights\": {" weights "}}}"

static void each_method(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        double common, head;
    } cases[] = {
        {"\"quant_method\": \"fp8\"", 8, 16},
        {"\"quant_method\": \"FP8\", \"weight_block_size\": [4, 4]", 10, 16},
        {"\"quant_method\": \"mxfp4\"", 16, 16}, /* it has no experts */
        {"\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 128, \"zero_point\": true",
         4 + 20.0 / 128, 16},
        {"\"quant_method\": \"awq\", \"w_bit\": 4, \"q_group_size\": 64", 4 + 16.0 / 64, 16},
        {"\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 128", 4 + 20.0 / 128, 16},
        {"\"quant_method\": \"gptq\", \"bits\": 8, \"group_size\": -1, \"lm_head\": true", 8, 8},
        {"\"quant_method\": \"auto-round\", \"bits\": 2, \"group_size\": 32", 2 + 18.0 / 32, 16},
        {"\"quant_method\": \"bitsandbytes\", \"load_in_8bit\": true", 8, 16},
        {"\"quant_method\": \"bitsandbytes\", \"_load_in_4bit\": true", 4.5, 16},
        {"\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true, "
         "\"bnb_4bit_use_double_quant\": true",
         4 + 8.0 / 64 + 32.0 / 16384, 16},
        {"\"quant_method\": \"compressed-tensors\", " GROUP("\"num_bits\": 4, \"group_size\": 32"),
         4.5, 16},
        {GROUP("\"num_bits\": 4, \"group_size\": 128, \"symmetric\": false"), 4 + 20.0 / 128, 16},
        {GROUP("\"num_bits\": 4, \"type\": \"float\", \"group_size\": 16"), 4.5, 16},
        {GROUP("\"num_bits\": 8, \"type\": \"float\", \"block_structure\": [128, 128]"),
         8 + 32.0 / 16384, 16},
        {GROUP("\"num_bits\": 8, \"type\": \"int\", \"group_size\": null"), 8, 16},
        {"\"quant_method\": \"modelopt\", \"quant_algo\": \"FP8\"", 8, 16},
        {"\"quantization\": {\"quant_algo\": \"NVFP4\"}", 4.5, 16},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[1024];
        struct model_reading reading = {0};
        snprintf(text, sizeof(text), "{" LLAMA "{%s}}", cases[i].config);
        const struct model m = parsed(text, &reading);
        is_bits(m.common_bits, cases[i].common);
        is_bits(m.head_bits, cases[i].head);
        assert_int_equal(reading.weights.count, 0);
    }
    /* Layers that are not known, whose parameters --params gives. */
    is_bits(parsed("{\"model_type\": \"unheard_of\", \"num_hidden_layers\": 10, "
                   "\"num_attention_heads\": 8, \"hidden_size\": 1024, \"quantization_config\": "
                   "{\"quant_method\": \"fp8\"}}",
                   NULL)
                .common_bits,
            8);
    struct jsonin *beside;
    struct err e = {0};
    const char *quant = "{\"quantization\": {\"quant_algo\": \"FP8\"}}";
    assert_int_equal(jsonin_parse(&beside, quant, strlen(quant), "hf_quant_config.json", &e), 0);
    struct model_reading reading = {.beside = jsonin_root(beside)};
    is_bits(parsed("{" LLAMA "null}", &reading).common_bits, 8);
    is_bits(
        parsed("{" LLAMA "{\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true}}", &reading)
            .common_bits,
        4.5);
    jsonin_free(beside);
}

/* Of 10 layers attention has 4 M parameters each, the MLP 12 M. */
static void modules_as_they_were(void **state)
{
    (void)state;
    static const struct {
        const char *names;
        double sixteenths; /* of all that are not converted */
    } cases[] = {
        {"\"lm_head\", \"model.embed_tokens\", \"model.norm\"", 0},
        {"\"model.layers.*.self_attn\"", 4},
        {"\"re:.*self_attn.*\"", 4},
        {"\"re:.*mlp\\\\.(gate|up|gate_up|down)_proj.*\"", 12},
        {"\"re:.*mlp.gate$\", \"mlp.gate\", \"re:.*router.*\"", 0},
        {"\"down_proj\"", 4},
        {"\"o_proj\", \"q_proj\"", 2},
        {"\"model.layers.3.self_attn.o_proj\", \"model.layers.4.mlp.up_proj\"", 0.5},
        {"\"model.layers.9\"", 1.6},
        {"\"model.layers.0*\", \"model.layers.0.self_attn\"", 1.6},
        {"\"re:.*layers\\\\.(1|2)\\\\.mlp.*\"", 2.4},
        {"\"model.layers.10\", \"model.layers.99999.mlp\"", 0}, /* prediction heads */
        {"\"vision_tower.layers.0.self_attn\", \"visual\", \"mtp.layers.0.mlp\"", 0},
        {"\"model.layers.1.input_layernorm\"", 0},
        {"\"model.layers.1.mlp.experts.17.up_proj\"", 0},
        {"3, null, \"\"", 0},
    };
    static const char *const keys[] = {"modules_to_not_convert", "ignored_layers", "ignore",
                                       "exclude_modules", "llm_int8_skip_modules"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[1024];
        snprintf(text, sizeof(text), "{" LLAMA "{\"quant_method\": \"fp8\", \"%s\": [%s]}}",
                 keys[i % 5], cases[i].names);
        is_bits(parsed(text, NULL).common_bits, 8 + 8 * cases[i].sixteenths / 16);
    }
    /* Experts of 4 bits, attention of 8, the rest as it was. */
    const struct model m = parsed(
        "{" V3 "\"quantization_config\": {\"quant_method\": \"compressed-tensors\", "
        "\"config_groups\": {\"a\": {\"targets\": [\"Linear\"], \"weights\": {\"num_bits\": 4, "
        "\"group_size\": 32}}, \"b\": {\"targets\": [\"re:.*self_attn.*\"], \"weights\": "
        "{\"num_bits\": 8}}}, \"ignore\": [\"lm_head\", \"re:.*shared_experts.*\", "
        "\"re:.*mlp\\\\.(gate|up|gate_up|down)_proj.*\"]}}",
        NULL);
    const double attention =
        61 * (7168 * (1536 + 576.) + 128 * 192 * 1536. + 512 * 128 * 256. + 128 * 128 * 7168.);
    is_bits(m.routed_bits, 4.5);
    is_bits(m.common_bits, 16 - 8 * attention / (35697917952.0 - 58 * 8 * 3 * 7168 * 2048.0));
}

/* What is not known is told, and counts 16 bits. */
static void unknown_weights(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "\"quant_method\": \"vptq\"",
        "\"quant_method\": \"awq\"",
        "\"quant_method\": \"bitsandbytes\"",
        "\"quant_method\": \"modelopt\", \"quant_algo\": \"MIXED_PRECISION\"",
        "\"quant_method\": \"compressed-tensors\", " GROUP("\"num_bits\": 0"),
        "\"bits\": 4",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[1024];
        struct model_reading reading = {0};
        snprintf(text, sizeof(text), "{" LLAMA "{%s}}", cases[i]);
        is_bits(parsed(text, &reading).common_bits, 16);
        assert_int_equal(reading.weights.count, 1);
        assert_non_null(strstr(reading.weights.text[0], "quantization_config: the size of"));
    }
}

/* The output head where the file leaves the vocabulary to its class. */
static void vocabularies(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        uint64_t head;
    } cases[] = {{"gemma-3-27b", UINT64_C(262208) * 5376},
                 {"gpt2", 50257 * 768},
                 {"falcon-7b", 65024 * 4544},
                 {"qwen3-8b-fp8", 151936 * 4096}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char path[128];
        struct model m;
        struct err e = {0};
        snprintf(path, sizeof(path), "tests/data/models/%s.json", cases[i].file);
        assert_int_equal(model_find(&m, path, NULL, NULL, &e), 0);
        assert_int_equal(m.head_params, cases[i].head);
    }
    struct model_reading reading = {0};
    assert_int_equal(parsed("{\"model_type\": \"llama\", \"num_hidden_layers\": 10, "
                            "\"num_attention_heads\": 8, \"hidden_size\": 1024}",
                            &reading)
                         .head_params,
                     0);
    assert_int_equal(reading.weights.count, 1);
    assert_non_null(strstr(reading.weights.text[0], "vocab_size: missing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_sizes), cmocka_unit_test(built_in_models),
        cmocka_unit_test(each_method),     cmocka_unit_test(modules_as_they_were),
        cmocka_unit_test(unknown_weights), cmocka_unit_test(vocabularies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
