/* Reads a model's arithmetic from a config.json, for the time of a prefill. The cache's sizes do
 * not depend on it (hf.c), so a file that does not tell is no error here. */
#include "lib/model/hf_compute.h"

#include <stddef.h>
#include <string.h>

/* Families whose layers are attention and an MLP, and nothing else. Of others too little is known.
 */
static const struct family {
    const char *type;
    uint32_t matrices; /* of one MLP: gate, up and down, or up and down */
    bool experts;      /* an MLP may be a mixture of experts */
    uint32_t ratio;    /* width of the MLP over hidden where the file does not give it; 0: none */
    uint32_t words;    /* vocab_size likewise */
} families[] = {
    {"cohere", 3, false, 0, 0},
    {"cohere2", 3, false, 0, 0},
    {"deepseek_v2", 3, true, 0, 0},
    {"deepseek_v3", 3, true, 0, 0},
    {"deepseek_v32", 3, true, 0, 0},
    {"exaone4", 3, false, 0, 0},
    {"falcon", 2, false, 4, 65024},
    {"gemma", 3, false, 0, 0},
    {"gemma2", 3, false, 0, 0},
    {"gemma3", 3, false, 0, 262208},
    {"gemma3_text", 3, false, 0, 262208},
    {"glm4", 3, false, 0, 0},
    {"glm4_moe", 3, true, 0, 0},
    {"glm_moe_dsa", 3, true, 0, 0},
    {"gpt2", 2, false, 4, 50257},
    {"gpt_bigcode", 2, false, 4, 50257},
    {"gpt_neox", 2, false, 0, 0},
    {"gpt_oss", 3, true, 0, 0},
    {"granite", 3, false, 0, 0},
    {"internlm2", 3, false, 0, 0},
    {"kimi_k2", 3, true, 0, 0},
    {"llama", 3, false, 0, 0},
    {"minicpm3", 3, false, 0, 0},
    {"ministral", 3, false, 0, 0},
    {"mistral", 3, false, 0, 0},
    {"mixtral", 3, true, 0, 0},
    {"olmo", 3, false, 0, 0},
    {"olmo2", 3, false, 0, 0},
    {"olmo3", 3, false, 0, 0},
    {"olmoe", 3, true, 0, 0},
    {"phi3", 3, false, 0, 0},
    {"qwen2", 3, false, 0, 0},
    {"qwen2_moe", 3, true, 0, 0},
    {"qwen3", 3, false, 0, 0},
    {"qwen3_moe", 3, true, 0, 0},
    {"seed_oss", 3, false, 0, 0},
    {"smollm3", 3, false, 0, 0},
    {"starcoder2", 2, false, 0, 0},
};

/* A number of the file within 1 to HF_HIDDEN_MAX, by the first of its names that is there; 0: it is
 * not there. */
static uint64_t number(const struct hf_reader *r, const char *const *names)
{
    uint64_t n = 0;
    for (size_t i = 0; names[i]; i++)
        if (hf_get(r, names[i]))
            return jsonin_u64(hf_get(r, names[i]), &n) == 0 && n <= HF_HIDDEN_MAX ? n : 0;
    return 0;
}

static uint64_t one(const struct hf_reader *r, const char *name)
{
    return number(r, (const char *const[]){name, NULL});
}

/* Matrices of the attention of one layer: their sum; 0: not known. */
static uint64_t attention(const struct hf_reader *r, const struct model *m, struct hf_matrices *x)
{
    uint64_t hidden = m->hidden, heads = m->heads, *params = x->params;
    uint64_t value = one(r, "v_head_dim");
    if (m->attention != MODEL_MLA) {
        value = value ? value : m->head_dim;
        params[HF_Q] = hidden * heads * m->head_dim;
        params[HF_K] = hidden * m->kv_heads * m->head_dim;
        params[HF_V] = hidden * m->kv_heads * value;
        params[HF_O] = hidden * heads * value;
    } else {
        uint64_t nope = one(r, "qk_nope_head_dim"), rank = one(r, "q_lora_rank");
        uint64_t query = heads * (nope + m->qk_rope_head_dim);
        if (nope == 0 || value == 0 || nope > HF_WIDTH_MAX || value > HF_WIDTH_MAX)
            return 0;
        params[HF_Q] = rank ? (hidden + query) * rank : hidden * query;
        params[HF_K] = hidden * ((uint64_t)m->kv_lora_rank + m->qk_rope_head_dim);
        params[HF_V] = m->kv_lora_rank * heads * (nope + value);
        params[HF_O] = heads * value * hidden;
    }
    return params[HF_Q] + params[HF_K] + params[HF_V] + params[HF_O];
}

/* Layers of a mixture of experts that have one MLP for all tokens: sets which, and returns how
 * many. */
static uint64_t dense_layers(const struct hf_reader *r, const struct model *m,
                             struct hf_matrices *x)
{
    const struct jsonin_v *listed = hf_get(r, "mlp_only_layers");
    uint64_t first = one(r, "first_k_dense_replace"), every = one(r, "moe_layer_freq");
    uint64_t step = one(r, "decoder_sparse_step"), dense = 0, layer;
    size_t named = jsonin_count(listed);
    for (uint32_t i = 0; i < m->layers; i++) {
        bool is = i < first || (every > 1 && i % every != 0) || (step > 1 && (i + 1) % step != 0);
        for (size_t k = 0; k < named && !is && named <= m->layers; k++)
            is = jsonin_u64(jsonin_at(listed, k), &layer) == 0 && layer == i;
        x->dense[i] = is;
        dense += is;
    }
    return dense;
}

/* The matrices of an MLP of that width, or of several. */
static void set_mlp(struct hf_matrices *x, enum hf_matrix gate, uint32_t matrices,
                    unsigned __int128 matrix)
{
    const uint64_t params = matrix < (uint64_t)INT64_MAX ? (uint64_t)matrix : 0;
    x->params[gate] = matrices == 3 ? params : 0;
    x->params[gate + 1] = x->params[gate + 2] = params;
}

/* Parameters that one token multiplies with in the MLPs of all layers. Sets the experts of m. */
static unsigned __int128 all_mlps(const struct hf_reader *r, const struct family *f,
                                  struct model *m, struct hf_matrices *x)
{
    static const char *const width_names[] = {"intermediate_size", "n_inner", "ffn_hidden_size",
                                              NULL};
    static const char *const expert_names[] = {"n_routed_experts", "num_local_experts",
                                               "num_experts", NULL};
    static const char *const taken_names[] = {"num_experts_per_tok", "experts_per_token", NULL};
    uint64_t width = number(r, width_names), experts = number(r, expert_names);
    uint64_t taken = number(r, taken_names), expert_width = one(r, "moe_intermediate_size");
    uint64_t shared = one(r, "n_shared_experts"),
             shared_width = one(r, "shared_expert_intermediate_size");
    uint64_t hidden = m->hidden, dense = m->layers;
    memset(x->dense, 1, sizeof(x->dense));
    if (experts > 1)
        dense = dense_layers(r, m, x);
    if (width == 0)
        width = f->ratio * hidden;
    if (expert_width == 0)
        expert_width = width;
    if (experts > 1 && (!f->experts || taken == 0 || taken > experts || expert_width == 0))
        return 0;
    if (dense > 0 && width == 0)
        return 0;
    const unsigned __int128 wide = hidden, matrix = f->matrices * wide;
    x->router = hidden * experts + (shared_width > 0 ? hidden : 0);
    set_mlp(x, HF_DENSE_GATE, f->matrices, wide * width);
    set_mlp(x, HF_SHARED_GATE, f->matrices, wide * (shared * expert_width + shared_width));
    set_mlp(x, HF_ROUTED_GATE, f->matrices, wide * experts * expert_width);
    unsigned __int128 mixture =
        (taken + shared) * expert_width * matrix + shared_width * matrix + x->router;
    unsigned __int128 routed = (m->layers - dense) * experts * expert_width * matrix;
    if (experts > 1 && experts <= UINT32_MAX && routed < (uint64_t)INT64_MAX) {
        m->routed_params = (uint64_t)routed;
        m->experts = (uint32_t)experts;
        m->chosen = (uint32_t)taken;
    }
    return dense * matrix * width + (m->layers - dense) * mixture;
}

/* NULL: it has no sparse attention. */
static const struct model_part *index_keys(const struct model *m)
{
    for (unsigned i = 0; i < m->parts; i++)
        if (m->part[i].kind == MODEL_INDEX_KEYS)
            return &m->part[i];
    return NULL;
}

/* The indexers of sparse attention: sets what they do to a pair of tokens, and returns what one
 * token multiplies with in all of them; 0: there are none, or what they are is not known. Sources:
 * DeepSeek-AI, "DeepSeek-V3.2-Exp", 2025, section 2.1 (lightning indexer); DeepseekV32Config and
 * GlmMoeDsaConfig of the transformers library. */
static unsigned __int128 indexers(const struct hf_reader *r, struct model *m)
{
    const uint64_t heads = one(r, "index_n_heads"), rank = one(r, "q_lora_rank");
    const struct model_part *keys = index_keys(m);
    m->index_picks = m->index_elements = 0;
    if (!keys || !heads || heads > HF_WIDTH_MAX || !rank)
        return 0;
    m->index_picks = one(r, "index_topk");
    m->index_elements = keys->caches * heads * keys->elements;
    return (unsigned __int128)rank * m->index_elements +
           (unsigned __int128)keys->caches * m->hidden * (keys->elements + heads);
}

/* Layers that share keys and values or have other heads than the rest multiply in ways of their
 * own. */
static bool is_plain(const struct hf_reader *r, const struct model *m)
{
    static const char *const other[] = {"block_configs", "attention_other_setting",
                                        "swa_num_attention_heads", "swa_head_dim",
                                        "cross_attention_layers"};
    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
        if (hf_get(r, other[i]))
            return false;
    return m->full_layers + m->windowed_layers + m->state_layers == m->layers;
}

/* The output head's. */
static uint64_t head(const struct hf_reader *r, const struct family *f, const struct model *m,
                     struct notes *told)
{
    uint64_t words = one(r, "vocab_size");
    if (!hf_get(r, "vocab_size") && f)
        words = f->words;
    if (!hf_get(r, "vocab_size") && words == 0)
        notes_add(told, "%svocab_size: missing: the output head counts nothing", r->nested);
    return words * m->hidden;
}

void hf_compute_read(const struct hf_reader *r, struct model *m, struct hf_matrices *x,
                     struct notes *told)
{
    const struct family *f = NULL;
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
        if (hf_is(r, families[i].type))
            f = &families[i];
    *x = (struct hf_matrices){0};
    m->active_params = m->pair_elements = m->routed_params = 0;
    m->experts = m->chosen = 0;
    m->head_params = head(r, f, m, told);
    const unsigned __int128 sparse = indexers(r, m);
    if (!is_plain(r, m) || (index_keys(m) && !m->index_picks))
        return;
    uint64_t value = one(r, "v_head_dim"), key = m->head_dim;
    if (m->attention == MODEL_MLA)
        key = one(r, "qk_nope_head_dim") > 0 ? one(r, "qk_nope_head_dim") + m->qk_rope_head_dim : 0;
    else if (value == 0)
        value = key;
    if (key > 0 && value > 0)
        m->pair_elements = m->heads * (key + value);
    uint64_t layer = attention(r, m, x);
    unsigned __int128 mlps = f ? all_mlps(r, f, m, x) : 0;
    if (m->state_layers > 0 || m->hidden == 0 || layer == 0 || mlps == 0)
        return;
    unsigned __int128 all = (unsigned __int128)layer * m->layers + sparse + mlps;
    x->known = all < (uint64_t)INT64_MAX;
    x->indexers = x->known ? (uint64_t)sparse : 0;
    m->active_params = x->known ? (uint64_t)all : 0;
}
