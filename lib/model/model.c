/* The arithmetic from a model's geometry to bytes, from which every object gets its size; the
 * built-in models; and element types. find.c looks models up. */
#include "lib/model/model.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "lib/base/units.h"

/* mlp_: parameters of one layer's MLP that one token multiplies with; 0: not known. */
#define MODEL(id_, name_, attention_, layers_, hidden_, heads_, kv_heads_, head_dim_, mlp_)        \
    {                                                                                              \
        .id = id_, .name = name_, .attention = attention_, .layers = layers_, .hidden = hidden_,   \
        .heads = heads_, .kv_heads = kv_heads_, .head_dim = head_dim_, .full_layers = layers_,     \
        .element_bits = 16, .full_elements = (uint64_t)(layers_)*2 * (kv_heads_) * (head_dim_),    \
        .active_params =                                                                           \
            (mlp_) == 0                                                                            \
                ? 0                                                                                \
                : (uint64_t)(layers_) *                                                            \
                      (2ull * (hidden_) * ((heads_) + (kv_heads_)) * (head_dim_) + (mlp_)),        \
        .pair_elements = 2ull * (heads_) * (head_dim_)                                             \
    }
/* Three matrices; and the experts that a token takes, with the router over all of them. */
#define GATED(hidden_, width_) (3ull * (hidden_) * (width_))
#define EXPERTS(hidden_, width_, taken_, experts_)                                                 \
    ((taken_)*GATED(hidden_, width_) + (hidden_) * (experts_))

static const struct model builtins[] = {
    MODEL("tiny-1b", "Tiny 1B", MODEL_GQA, 12, 1024, 8, 4, 128, 0),
    MODEL("mistral-7b", "Mistral 7B", MODEL_GQA, 32, 4096, 32, 8, 128, GATED(4096, 14336)),
    MODEL("llama2-7b", "Llama 2 7B", MODEL_MHA, 32, 4096, 32, 32, 128, GATED(4096, 11008)),
    MODEL("llama3.1-8b", "Llama 3.1 8B", MODEL_GQA, 32, 4096, 32, 8, 128, GATED(4096, 14336)),
    MODEL("llama3.1-70b-instruct", "Llama 3.1 70B Instruct", MODEL_GQA, 80, 8192, 64, 8, 128,
          GATED(8192, 28672)),
    {.id = "deepseek-v3",
     .name = "DeepSeek V3",
     .attention = MODEL_MLA,
     .layers = 61,
     .hidden = 7168,
     .heads = 128,
     .kv_lora_rank = 512,
     .qk_rope_head_dim = 64,
     .full_layers = 61,
     .element_bits = 16,
     .full_elements = 61 * (512 + 64),
     .active_params = UINT64_C(35697917952), /* tests/data/models/deepseek-v3.json */
     .pair_elements = 128 * (128 + 64 + 128)},
    MODEL("qwen3-32b", "Qwen3 32B", MODEL_GQA, 64, 5120, 64, 8, 128, GATED(5120, 25600)),
    MODEL("gpt-oss-120b", "gpt-oss 120B", MODEL_GQA, 36, 2880, 64, 8, 64,
          EXPERTS(2880, 2880, 4, 128)),
    MODEL("gpt-oss-20b", "gpt-oss 20B", MODEL_GQA, 24, 2880, 64, 8, 64, EXPERTS(2880, 2880, 4, 32)),
};

const struct model *model_builtin(size_t i)
{
    return i < sizeof(builtins) / sizeof(builtins[0]) ? &builtins[i] : NULL;
}

int model_set_dtype(struct model *m, const char *dtype, struct err *e)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } types[] = {{"float32", 32}, {"float16", 16}, {"bfloat16", 16},
                 {"fp8", 8},      {"int8", 8},     {"int4", 4}};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, dtype) == 0) {
            m->element_bits = types[i].bits;
            return 0;
        }
    }
    return err_set(e, -EINVAL, ERR_INPUT, "--kv-dtype", /* dtypes of files were checked before */
                   "%s: unknown element type (known: float32, float16, bfloat16, fp8, int8, int4)",
                   dtype);
}

const char *model_dtype(const struct model *m)
{
    switch (m->element_bits) {
    case 32:
        return "float32";
    case 8:
        return "fp8";
    case 4:
        return "int4";
    default:
        return "float16";
    }
}

void model_settle(struct model *m)
{
    uint64_t per_layer = m->attention == MODEL_MLA ? (uint64_t)m->kv_lora_rank + m->qk_rope_head_dim
                                                   : 2 * (uint64_t)m->kv_heads * m->head_dim;

    assert(m->windowed_layers <= m->layers);
    m->full_layers = m->layers - m->windowed_layers;
    m->full_elements = m->full_layers * per_layer;
    m->windowed_elements = m->windowed_layers * per_layer;
}

int model_bytes(const struct model *m, uint64_t tokens, uint64_t *bytes)
{
    uint64_t held = tokens > m->window ? m->window : tokens, full, elements;

    if (units_mul(m->full_elements, tokens, &full) < 0 ||
        units_mul(m->windowed_elements, held, &held) < 0 || units_add(full, held, &elements) < 0)
        return -EOVERFLOW;
    if (m->element_bits >= 8)
        return units_mul(elements, m->element_bits / 8, bytes);
    *bytes = elements / (8 / m->element_bits);
    return 0;
}

uint64_t model_bytes_per_token(const struct model *m)
{
    uint64_t bytes = 0;
    int rc = model_bytes(m, 1, &bytes);

    assert(rc == 0 && "the ranges of the geometry keep one token within 64 bits");
    (void)rc;
    return bytes;
}

int model_sequence_bytes(const struct model *m, uint64_t tokens, uint64_t *bytes)
{
    uint64_t kv;
    int rc = model_bytes(m, tokens, &kv);

    return rc < 0 ? rc : units_add(kv, m->state_bytes, bytes);
}
