/* The arithmetic from a model's geometry to bytes, from which every object gets its size; the
 * built-in models; and element types. find.c looks models up. */
#include "lib/model/model.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Keys and values of layers that are alike. */
#define PART(layers_, kv_heads_, head_dim_)                                                        \
    .parts = 1, .part = {{.kind = MODEL_KEYS_VALUES,                                               \
                          .caches = layers_,                                                       \
                          .elements = 2 * (kv_heads_) * (head_dim_),                               \
                          .heads = kv_heads_}}
/* mlp_: parameters of one layer's MLP that one token multiplies with; 0: not known. Then
 * the words of the vocabulary, and what a mixture of experts has more. */
#define HEAD(hidden_, words_, ...) .head_params = (uint64_t)(words_) * (hidden_), __VA_ARGS__
#define MODEL(id_, name_, attention_, layers_, hidden_, heads_, kv_heads_, head_dim_, mlp_, ...)   \
    {                                                                                              \
        .id = id_, .name = name_, .attention = attention_, .layers = layers_, .hidden = hidden_,   \
        .heads = heads_, .kv_heads = kv_heads_, .head_dim = head_dim_, .full_layers = layers_,     \
        .active_params =                                                                           \
            (mlp_) == 0                                                                            \
                ? 0                                                                                \
                : (uint64_t)(layers_) *                                                            \
                      (2ull * (hidden_) * ((heads_) + (kv_heads_)) * (head_dim_) + (mlp_)),        \
        .pair_elements = 2ull * (heads_) * (head_dim_), PART(layers_, kv_heads_, head_dim_),       \
        HEAD(hidden_, __VA_ARGS__)                                                                 \
    }
/* Three matrices; and the experts that a token takes, with the router over all of them. */
#define GATED(hidden_, width_) (3ull * (hidden_) * (width_))
#define EXPERTS(hidden_, width_, taken_, experts_)                                                 \
    ((taken_)*GATED(hidden_, width_) + (hidden_) * (experts_))

/* The types of checkpoints (hf_weights.h): 8 bits with a scale of 32 for 128 x 128, 4 with one of 8
 * for 32. */
#define FP8_BLOCKS (8 * MODEL_BIT + 32 * MODEL_BIT / (128 * 128))
#define MXFP4      (4 * MODEL_BIT + 8 * MODEL_BIT / 32)

static const struct model builtins[] = {
    MODEL("tiny-1b", "Tiny 1B", MODEL_GQA, 12, 1024, 8, 4, 128, 0, 0),
    MODEL("mistral-7b", "Mistral 7B", MODEL_GQA, 32, 4096, 32, 8, 128, GATED(4096, 14336), 32000),
    MODEL("llama2-7b", "Llama 2 7B", MODEL_MHA, 32, 4096, 32, 32, 128, GATED(4096, 11008), 32000),
    MODEL("llama3.1-8b", "Llama 3.1 8B", MODEL_GQA, 32, 4096, 32, 8, 128, GATED(4096, 14336),
          128256),
    MODEL("llama3.1-70b-instruct", "Llama 3.1 70B Instruct", MODEL_GQA, 80, 8192, 64, 8, 128,
          GATED(8192, 28672), 128256),
    {.id = "deepseek-v3",
     .name = "DeepSeek V3",
     .attention = MODEL_MLA,
     .layers = 61,
     .hidden = 7168,
     .heads = 128,
     .kv_lora_rank = 512,
     .qk_rope_head_dim = 64,
     .full_layers = 61,
     .parts = 1,
     .part = {{.kind = MODEL_LATENT, .caches = 61, .elements = 512 + 64, .heads = 1}},
     .active_params = UINT64_C(35697917952), /* tests/data/models/deepseek-v3.json */
     .pair_elements = 128 * (128 + 64 + 128),
     .head_params = UINT64_C(129280) * 7168,
     .routed_params = 58 * 256 * GATED(7168, 2048),
     .common_bits = 132018, /* the router has 16 bits */
     .routed_bits = FP8_BLOCKS,
     .experts = 256,
     .chosen = 8},
    MODEL("qwen3-32b", "Qwen3 32B", MODEL_GQA, 64, 5120, 64, 8, 128, GATED(5120, 25600), 151936),
    MODEL("gpt-oss-120b", "gpt-oss 120B", MODEL_GQA, 36, 2880, 64, 8, 64,
          EXPERTS(2880, 2880, 4, 128), 201088, .routed_params = 36 * 128 * GATED(2880, 2880),
          .routed_bits = MXFP4, .experts = 128, .chosen = 4),
    MODEL("gpt-oss-20b", "gpt-oss 20B", MODEL_GQA, 24, 2880, 64, 8, 64, EXPERTS(2880, 2880, 4, 32),
          201088, .routed_params = 24 * 32 * GATED(2880, 2880), .routed_bits = MXFP4, .experts = 32,
          .chosen = 4),
};

const struct model *model_builtin(size_t i)
{
    return i < sizeof(builtins) / sizeof(builtins[0]) ? &builtins[i] : NULL;
}

/* ---- element types ---- */

static const struct {
    const char *name;
    uint32_t sixteenths; /* of a byte */
} types[MODEL_TYPES] = {
    [MODEL_FLOAT16] = {"float16", 32}, [MODEL_BFLOAT16] = {"bfloat16", 32},
    [MODEL_FLOAT32] = {"float32", 64}, [MODEL_FP8] = {"fp8", 16},
    [MODEL_INT8] = {"int8", 16},       [MODEL_INT4] = {"int4", 8},
    [MODEL_NVFP4] = {"nvfp4", 9},
};

const char *model_type_name(enum model_type type)
{
    return types[type].name;
}

static bool is_main(const struct model_part *part)
{
    return part->kind == MODEL_KEYS_VALUES || part->kind == MODEL_LATENT;
}

bool model_is_state(const struct model_part *part)
{
    return part->kind == MODEL_INPUTS || part->kind == MODEL_RECURRENT;
}

int model_set_dtype(struct model *m, const char *dtype, struct err *e)
{
    for (int t = 0; t < MODEL_TYPES; t++) {
        if (strcmp(types[t].name, dtype) != 0)
            continue;
        for (unsigned i = 0; i < m->parts; i++) {
            struct model_part *part = &m->part[i];
            if (is_main(part)) {
                part->type = (enum model_type)t;
                snprintf(part->typed_by, sizeof(part->typed_by), "--kv-dtype");
            }
        }
        return 0;
    }
    return err_set(e, -EINVAL, ERR_INPUT, "--kv-dtype", /* dtypes of files were checked before */
                   "%s: unknown element type (known: float32, float16, bfloat16, fp8, int8, int4, "
                   "nvfp4)",
                   dtype);
}

const char *model_dtype(const struct model *m)
{
    for (unsigned i = 0; i < m->parts; i++)
        if (is_main(&m->part[i]))
            return model_type_name(m->part[i].type);
    return model_type_name(MODEL_FLOAT16);
}

/* ---- parts ---- */

bool model_add(struct model *m, const struct model_part *part)
{
    if (part->caches == 0)
        return true;
    if (m->parts == MODEL_PARTS_MAX)
        return false;
    m->part[m->parts++] = *part;
    return true;
}

void model_settle(struct model *m, enum model_type type, uint64_t state_bytes)
{
    bool latent = m->attention == MODEL_MLA;
    struct model_part part = {
        .kind = latent ? MODEL_LATENT : MODEL_KEYS_VALUES,
        .caches = m->layers - m->windowed_layers,
        .elements = latent ? (uint64_t)m->kv_lora_rank + m->qk_rope_head_dim
                           : 2 * (uint64_t)m->kv_heads * m->head_dim,
        .heads = latent ? 1 : m->kv_heads,
        .type = type,
    };

    assert(m->windowed_layers <= m->layers);
    m->parts = 0;
    m->full_layers = part.caches;
    model_add(m, &part);
    part.caches = m->windowed_layers;
    part.window = m->window;
    model_add(m, &part);
    part = (struct model_part){.kind = MODEL_RECURRENT, .caches = 1, .elements = state_bytes};
    part.type = MODEL_INT8; /* bytes */
    if (state_bytes > 0)
        model_add(m, &part);
}

uint64_t model_part_bytes(const struct model_part *part)
{
    return (uint64_t)((unsigned __int128)part->caches * part->elements *
                      types[part->type].sixteenths / 16);
}

/* ---- sizes ---- */

static uint32_t ranks_or_one(uint32_t ranks)
{
    return ranks > 0 ? ranks : 1;
}

/* Ranks among which the part is divided. */
static uint32_t divided_by(const struct model_part *part, const struct model_ranks *r)
{
    uint32_t ranks = ranks_or_one(r->tensor);
    bool latent = part->kind == MODEL_LATENT || part->kind == MODEL_INDEX_KEYS ||
                  part->kind == MODEL_INDEX_SCALES;

    if (r->evenly || (latent && r->latent) || part->heads == 0 || ranks < part->heads)
        return ranks;
    return part->heads;
}

/* The ranks whose parts are added up, and the tokens in each part. */
struct extent {
    const struct model_ranks *ranks;
    uint64_t tokens;
    bool grows, state, whole; /* whole: windows hold all tokens */
    enum model_layers layers;
};

static bool is_asked(const struct model_part *part, const struct extent *x)
{
    if (model_is_state(part))
        return x->state;
    return x->grows &&
           (x->layers == MODEL_ALL || (x->layers == MODEL_WINDOWED) == (part->window > 0));
}

static unsigned __int128 sixteenths_of(const struct model_part *part, const struct extent *x)
{
    uint32_t context = ranks_or_one(x->ranks->context);
    uint64_t held = x->tokens;

    if (part->window > 0 && !x->whole && held > part->window)
        held = part->window;
    held = model_is_state(part) ? 1 : held / context + (held % context > 0);
    return (unsigned __int128)part->caches * part->elements * types[part->type].sixteenths * held;
}

/* Parts that are divided alike are summed before they are rounded down. */
static int sum(const struct model *m, const struct extent *x, uint64_t *bytes)
{
    uint32_t stages = ranks_or_one(x->ranks->pipeline);
    uint32_t most = m->layers / stages + (m->layers % stages > 0); /* layers of a stage */
    unsigned __int128 all = 0;

    for (unsigned i = 0; i < m->parts; i++) {
        uint32_t by = divided_by(&m->part[i], x->ranks);
        unsigned __int128 alike = 0;
        bool earlier = false;
        for (unsigned k = 0; k < m->parts; k++) {
            if (divided_by(&m->part[k], x->ranks) != by || !is_asked(&m->part[k], x))
                continue;
            earlier = earlier || k < i;
            alike += sixteenths_of(&m->part[k], x);
        }
        if (alike >> 110 != 0)
            return -EOVERFLOW; /* far above 64 bits, and the product below needs room */
        if (is_asked(&m->part[i], x) && !earlier)
            all += stages > 1 ? alike / 16 * most / by / m->layers : alike / 16 / by;
    }
    if (all > UINT64_MAX)
        return -EOVERFLOW;
    *bytes = (uint64_t)all;
    return 0;
}

static const struct model_ranks one_rank = {.tensor = 1};

int model_bytes(const struct model *m, uint64_t tokens, uint64_t *bytes)
{
    const struct extent x = {.ranks = &one_rank, .tokens = tokens, .grows = true};

    return sum(m, &x, bytes);
}

uint64_t model_bytes_per_token(const struct model *m)
{
    uint64_t bytes = 0;
    int rc = model_bytes(m, 1, &bytes);

    assert(rc == 0 && "the ranges of the geometry keep one token within 64 bits");
    (void)rc;
    return bytes;
}

uint64_t model_state_bytes(const struct model *m)
{
    const struct extent x = {.ranks = &one_rank, .state = true};
    uint64_t bytes = 0;
    int rc = sum(m, &x, &bytes);

    assert(rc == 0 && "the ranges of the geometry keep a state within 64 bits");
    (void)rc;
    return bytes;
}

int model_sequence_bytes(const struct model *m, uint64_t tokens, uint64_t *bytes)
{
    const struct extent x = {.ranks = &one_rank, .tokens = tokens, .grows = true, .state = true};

    return sum(m, &x, bytes);
}

int model_rank_bytes(const struct model *m, uint64_t tokens, bool state, uint64_t *bytes)
{
    const struct extent x = {.ranks = &m->ranks, .tokens = tokens, .grows = true, .state = state};

    return sum(m, &x, bytes);
}

uint32_t model_divisor(const struct model *m)
{
    uint32_t by = 1;

    for (unsigned i = m->parts; i > 0; i--)
        if (is_main(&m->part[i - 1]))
            by = divided_by(&m->part[i - 1], &m->ranks);
    return by * ranks_or_one(m->ranks.pipeline) * ranks_or_one(m->ranks.context);
}

static int block_bytes(const struct model *m, const struct model_ranks *ranks,
                       enum model_layers layers, uint64_t tokens, uint64_t *bytes)
{
    const struct extent x = {
        .ranks = ranks, .tokens = tokens, .grows = true, .whole = true, .layers = layers};

    return sum(m, &x, bytes);
}

int model_block_bytes(const struct model *m, enum model_layers layers, uint64_t tokens,
                      uint64_t *bytes)
{
    return block_bytes(m, &one_rank, layers, tokens, bytes);
}

int model_rank_block_bytes(const struct model *m, enum model_layers layers, uint64_t tokens,
                           uint64_t *bytes)
{
    return block_bytes(m, &m->ranks, layers, tokens, bytes);
}
