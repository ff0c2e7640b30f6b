/* Translates a published model's config.json into a struct model. Missing fields follow the
 * configuration classes of the transformers library. Which layers keep what is decided in
 * hf_layers.c, the size of states in hf_state.c, element types in hf_types.c, the arithmetic of
 * prefill in hf_compute.c, the types of weights in hf_weights.c, which keys may be there in
 * hf_keys.c. What would come out wrong is refused with the name of the field.
 */
#include "lib/model/hf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/model/hf_compute.h"
#include "lib/model/hf_fields.h"
#include "lib/model/hf_keys.h"
#include "lib/model/hf_layers.h"
#include "lib/model/hf_state.h"
#include "lib/model/hf_types.h"
#include "lib/model/hf_weights.h"

enum {
    HF_FILE_MAX = 16 << 20,
    HF_BLOCK_KEYS_MAX = 100,
    HF_STEPS_MAX = 1024,
    HF_RANKS_MAX = 65536
};

static const struct hf_family families[] = {
    {.type = "cohere2", .window = 4096, .pattern = 4},
    {.type = "exaone4", .kv_heads = 32, .window = 4096, .pattern = 4},
    {.type = "gemma2", .heads = 8, .kv_heads = 4, .head_dim = 256, .window = 4096},
    {.type = "gemma3", .heads = 8, .kv_heads = 4, .head_dim = 256, .window = 4096, .pattern = 6},
    {.type = "gemma3_text",
     .heads = 8,
     .kv_heads = 4,
     .head_dim = 256,
     .window = 4096,
     .pattern = 6},
    {.type = "gemma3n_text",
     .heads = 8,
     .kv_heads = 2,
     .head_dim = 256,
     .window = 512,
     .pattern = 5,
     .shared = 15},
    {.type = "gpt_oss", .heads = 64, .kv_heads = 8, .head_dim = 64, .window = 128},
    {.type = "jamba", .kv_heads = 8},
    {.type = "mistral", .kv_heads = 8, .window = 4096},
    {.type = "mixtral", .kv_heads = 8},
    {.type = "olmo3", .window = 4096, .pattern = 4},
    {.type = "qwen3_next", .kv_heads = 2, .head_dim = 256},
    {.type = ""},
};

/* Types whose cache has another form than layers times tokens, or whose class decides it. */
static const struct {
    const char *type, *why;
} refused_types[] = {
    {"deepseek_v4", "its cache is compressed in a way that kvtrace does not know"},
    {"zamba", "its layers share attention blocks"},
    {"zamba2", "its layers share attention blocks"},
};

/* Types that keep nothing which grows with the tokens. */
static const char *const states_only[] = {"falcon_mamba", "mamba", "mamba2", "rwkv",
                                          "rwkv5",        "rwkv6", "rwkv7"};
static const char *const encoders[] = {
    "albert",  "bert",        "camembert",      "clip",    "deberta",   "deberta-v2", "distilbert",
    "electra", "ernie",       "eurobert",       "gte",     "jina_bert", "mobilebert", "modernbert",
    "mpnet",   "new",         "nomic_bert",     "roberta", "roformer",  "siglip",     "siglip2",
    "vit",     "xlm-roberta", "xlm-roberta-xl", "wav2vec2"};

/* ---- attention ---- */

/* One head of keys and values for all, if nothing else is said. */
static int read_multi_query(const struct hf_reader *r, bool *one)
{
    bool falcon = hf_is(r, "falcon") || strncmp(r->type, "RefinedWeb", 10) == 0;
    bool new_decoder = false;
    const char *mpt = jsonin_text(hf_get(r, "attn_config.attn_type"), NULL);

    *one = falcon || hf_is(r, "gpt_bigcode"); /* the default of these classes */
    int rc = hf_bool(r, "multi_query", one);
    if (rc == 0)
        rc = hf_bool(r, "multi_query_attention", one);
    if (rc == 0)
        rc = hf_bool(r, "new_decoder_architecture", &new_decoder);
    *one = (*one && !new_decoder) || (mpt && strcmp(mpt, "multiquery_attention") == 0);
    return rc;
}

static int read_kv_heads(const struct hf_reader *r, struct model *m)
{
    static const char *const names[] = {
        "num_key_value_heads", "num_attention_groups", "num_kv_heads",           "n_head_kv",
        "n_kv_heads",          "num_query_groups",     "attn_config.kv_n_heads", NULL};
    bool one;
    int rc = read_multi_query(r, &one);

    if (rc < 0)
        return rc;
    if (one) {
        /* Falcon's file may give the heads of its other layout beside it; ChatGLM has groups. */
        m->kv_heads = 1;
        return hf_u32(r, "multi_query_group_num", HF_WIDTH_MAX, &m->kv_heads);
    }
    m->kv_heads = r->family->kv_heads ? r->family->kv_heads : m->heads;
    rc = hf_u32_any(r, names, HF_WIDTH_MAX, &m->kv_heads);
    if (rc == 0 && m->kv_heads == 0)
        rc = hf_fail(r, "num_attention_heads", "missing, and so is num_key_value_heads");
    return rc;
}

/* Elements of one token in one layer. */
struct width {
    uint64_t elements;
    uint32_t heads; /* into which ranks can divide it */
};

/* Multi-head latent attention keeps one latent a layer; num_key_value_heads then equals the query
 * heads and means nothing. */
static int read_latent(const struct hf_reader *r, struct model *m, struct width *width)
{
    int rc = hf_u32(r, "kv_lora_rank", HF_WIDTH_MAX, &m->kv_lora_rank);

    m->attention = MODEL_MLA;
    if (rc == 0)
        rc = hf_u32_from_0(r, "qk_rope_head_dim", HF_WIDTH_MAX, &m->qk_rope_head_dim);
    if (rc == 0 && !hf_get(r, "qk_rope_head_dim"))
        rc = hf_fail(r, "qk_rope_head_dim", "missing (kv_lora_rank is there)");
    *width = (struct width){(uint64_t)m->kv_lora_rank + m->qk_rope_head_dim, 1};
    return rc;
}

/* head_dim wins over the quotient: they differ in qwen3-32b, gpt-oss and gemma-3. */
static int read_head_dim(const struct hf_reader *r, struct model *m)
{
    static const char *const names[] = {"head_dim", "attention_head_dim", "kv_channels", NULL};
    uint32_t nope = 0;
    int rc = hf_u32_from_0(r, "qk_nope_head_dim", HF_WIDTH_MAX, &nope);

    if (rc == 0 && nope > 0)
        rc = hf_fail(r, "qk_nope_head_dim", "not supported without kv_lora_rank");
    m->head_dim = r->family->head_dim;
    if (rc == 0)
        rc = hf_u32_any(r, names, HF_WIDTH_MAX, &m->head_dim);
    if (rc < 0 || m->head_dim > 0)
        return rc;
    if (m->heads == 0)
        return hf_fail(r, "num_attention_heads", "missing, and so is head_dim");
    if (m->hidden == 0)
        return hf_fail(r, "hidden_size", "missing, and so is head_dim");
    if (m->hidden % m->heads != 0)
        return hf_fail(r, "head_dim", "missing, and hidden_size is no multiple of the heads");
    m->head_dim = m->hidden / m->heads;
    return 0;
}

static int read_heads(const struct hf_reader *r, struct model *m, struct width *width)
{
    uint32_t value_dim = 0;
    int64_t window = -1; /* MPT's */
    int rc = read_kv_heads(r, m);

    if (rc == 0)
        rc = read_head_dim(r, m);
    if (rc == 0)
        rc = hf_u32_from_0(r, "v_head_dim", HF_WIDTH_MAX, &value_dim);
    if (rc < 0)
        return rc;
    if (hf_get(r, "attn_config.sliding_window_size") &&
        (jsonin_i64(hf_get(r, "attn_config.sliding_window_size"), &window) < 0 || window != -1))
        return hf_fail(r, "attn_config.sliding_window_size", "models with this are not supported");
    m->attention = m->kv_heads == m->heads ? MODEL_MHA : MODEL_GQA;
    width->elements = (uint64_t)m->kv_heads * (m->head_dim + (value_dim ? value_dim : m->head_dim));
    width->heads = m->kv_heads;
    return 0;
}

/* Gemma 4: full layers have heads of their own; what stands under the usual names is the windowed
 * layers'. Where keys and values have one matrix they are still kept apart. */
static int read_full_width(const struct hf_reader *r, const struct model *m, struct width *width)
{
    uint32_t heads = m->kv_heads, dim = 512; /* the class's */
    bool one_matrix = false;

    if (strncmp(r->type, "gemma4", 6) != 0)
        return 0;
    int rc = hf_u32(r, "global_head_dim", HF_WIDTH_MAX, &dim);
    if (rc == 0)
        rc = hf_bool(r, "attention_k_eq_v", &one_matrix);
    if (rc == 0 && one_matrix)
        rc = hf_u32(r, "num_global_key_value_heads", HF_WIDTH_MAX, &heads);
    *width = (struct width){2 * (uint64_t)heads * dim, heads};
    return rc;
}

/* Elements of a token in a windowed layer, where they differ from those of a full one. */
static int read_windowed_width(const struct hf_reader *r, const struct model *m,
                               struct width *width)
{
    static const char *const head_names[] = {"swa_num_key_value_heads",
                                             "attention_other_setting.num_attention_groups", NULL};
    static const char *const dim_names[] = {"swa_head_dim", "attention_other_setting.head_dim",
                                            NULL};
    uint32_t heads = m->kv_heads, dim = m->head_dim, value_dim = 0;
    bool other = hf_get(r, "attention_other_setting");

    for (size_t i = 0; head_names[i] && !other; i++)
        other = hf_get(r, head_names[i]) || hf_get(r, dim_names[i]) || hf_get(r, "swa_v_head_dim");
    if (!other || m->attention == MODEL_MLA)
        return 0;
    int rc = hf_u32_any(r, head_names, HF_WIDTH_MAX, &heads);
    if (rc == 0)
        rc = hf_u32_any(r, dim_names, HF_WIDTH_MAX, &dim);
    if (rc == 0)
        rc = hf_u32_from_0(r, hf_get(r, "swa_v_head_dim") ? "swa_v_head_dim" : "v_head_dim",
                           HF_WIDTH_MAX, &value_dim);
    *width = (struct width){(uint64_t)heads * (dim + (value_dim ? value_dim : dim)), heads};
    return rc;
}

/* ---- layers ---- */

/* The attention of one entry of block_configs: how many query heads share a head of keys and
 * values. *kv_heads 0: the layer has none. */
static int read_block(const struct hf_reader *r, const struct jsonin_v *block, uint32_t heads,
                      uint64_t *kv_heads)
{
    static const char *const known[] = {"no_op", "n_heads_in_group", "num_key_value_heads",
                                        "replace_with_linear"};
    const struct jsonin_v *attention = jsonin_get(block, "attention");
    const char *key;
    bool none = false, linear = false;
    uint64_t shared = 0;

    *kv_heads = 0;
    if (!hf_key(attention, 0))
        return hf_fail(r, "block_configs", "an entry has no attention");
    for (size_t i = 0; (key = hf_key(attention, i)); i++) {
        bool off = true, is_known = false;
        if (i == HF_BLOCK_KEYS_MAX)
            return hf_fail(r, "block_configs", "an attention has more than %d keys",
                           HF_BLOCK_KEYS_MAX);
        const struct jsonin_v *v = jsonin_member(attention, i, &key);
        for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
            is_known |= strcmp(key, known[k]) == 0;
        if (!is_known && v && (jsonin_bool(v, &off) < 0 || off) &&
            strcmp(key, "unshifted_sink") != 0 && strncmp(key, "use_", 4) != 0)
            return hf_fail(r, "block_configs", "attention.%.60s is not supported", key);
    }
    jsonin_bool(jsonin_get(attention, "no_op"), &none);
    jsonin_bool(jsonin_get(attention, "replace_with_linear"), &linear);
    if (none || linear)
        return 0;
    if (jsonin_u64(jsonin_get(attention, "num_key_value_heads"), kv_heads) == 0 && *kv_heads > 0 &&
        *kv_heads <= HF_WIDTH_MAX)
        return 0;
    if (jsonin_u64(jsonin_get(attention, "n_heads_in_group"), &shared) < 0 || shared == 0 ||
        heads == 0 || heads % shared != 0)
        return hf_fail(r, "block_configs", "n_heads_in_group does not divide num_attention_heads");
    *kv_heads = heads / shared;
    return 0;
}

/* A model while its parts are put together. */
struct parts {
    const struct hf_reader *r;
    struct model *m;
    struct hf_layers layers;
    struct hf_type activation, cache;
    uint32_t times; /* caches of a layer */
    char counted_by[MODEL_KEYS_CAP];
};

static int add(const struct parts *p, struct model_part part, const struct hf_type *type)
{
    part.type = type->type;
    snprintf(part.typed_by, sizeof(part.typed_by), "%s", type->by);
    if (!*part.counted_by)
        snprintf(part.counted_by, sizeof(part.counted_by), "%s", p->counted_by);
    return model_add(p->m, &part) ? 0
                                  : hf_fail(p->r, "num_hidden_layers",
                                            "more than %d parts that differ", MODEL_PARTS_MAX);
}

/* Keys and values, or the latent, of caches that are alike. */
static int add_main(const struct parts *p, uint32_t caches, const struct width *width,
                    uint32_t window)
{
    bool latent = p->m->attention == MODEL_MLA;
    const struct model_part part = {.kind = latent ? MODEL_LATENT : MODEL_KEYS_VALUES,
                                    .caches = caches,
                                    .elements = width->elements,
                                    .heads = width->heads,
                                    .window = window};
    return add(p, part, &p->cache);
}

/* Nemotron's searched models: heads differ from layer to layer, and some layers have none. */
static int add_blocks(const struct parts *p)
{
    const struct hf_reader *r = p->r;
    const struct jsonin_v *blocks = hf_get(r, "block_configs");
    struct model *m = p->m;
    uint32_t heads[HF_LAYERS_MAX];

    if (m->attention == MODEL_MLA || m->windowed_layers + m->state_layers > 0 || p->times > 1)
        return hf_fail(r, "block_configs", "not supported with latents, windows or states");
    if (jsonin_count(blocks) != m->layers)
        return hf_fail(r, "block_configs", "expected one entry for each layer");
    m->full_layers = 0;
    for (uint32_t i = 0; i < m->layers; i++) {
        uint64_t kv_heads;
        int rc = read_block(r, jsonin_at(blocks, i), m->heads, &kv_heads);
        if (rc < 0)
            return rc;
        heads[i] = (uint32_t)kv_heads;
        m->full_layers += kv_heads > 0;
        if (kv_heads > 0) {
            m->kv_heads = heads[i];
            m->attention = m->kv_heads == m->heads ? MODEL_MHA : MODEL_GQA;
        }
    }
    for (uint32_t i = 0; i < m->layers; i++) {
        uint32_t caches = 0, one = heads[i];
        const struct width width = {2 * (uint64_t)one * m->head_dim, one};
        for (uint32_t k = i; k < m->layers; k++)
            if (one > 0 && heads[k] == one) {
                caches++;
                heads[k] = 0;
            }
        int rc = add_main(p, caches, &width, 0);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Does layer i pick tokens with keys of its own, not with the choice of an earlier layer? Source:
 * GlmMoeDsaConfig; vLLM's deepseek_v2. */
static int has_indexer(const struct hf_reader *r, uint32_t i, bool *own)
{
    const struct jsonin_v *types = hf_get(r, "indexer_types");
    const char *type = jsonin_text(jsonin_at(types, i), NULL);
    const char *letters = jsonin_text(hf_get(r, "index_topk_pattern"), NULL);
    uint32_t every = 1, offset = 2;
    int rc = hf_u32(r, "index_topk_freq", HF_LAYERS_MAX, &every);

    if (rc == 0)
        rc = hf_u32_from_0(r, "index_skip_topk_offset", HF_LAYERS_MAX, &offset);
    *own = (i + 1 > offset ? i + 1 - offset : 0) % every == 0;
    if (letters)
        *own = i >= strlen(letters) || letters[i] != 'S';
    if (type)
        *own = strcmp(type, "shared") != 0;
    if (rc == 0 && types && (!type || (*own && strcmp(type, "full") != 0)))
        rc = hf_assume(r, "indexer_types", "it has an indexer of its own",
                       "layer %u is neither 'full' nor 'shared'", i);
    return rc;
}

/* The keys by which sparse attention picks tokens: 8 bits each, and a float32 scale for 128 of
 * them, in every engine, whatever the type of the main cache. */
static int add_indexers(const struct parts *p)
{
    static const struct hf_type keys = {MODEL_FP8, "an indexer, in every engine"},
                                scales = {MODEL_FLOAT32, "an indexer, in every engine"};
    static const char *const by[] = {"indexer_types", "index_topk_pattern", "index_topk_freq"};
    const struct hf_reader *r = p->r;
    struct model_part part = {.kind = MODEL_INDEX_KEYS, .heads = 1};
    bool sparse = hf_is(r, "deepseek_v32") || hf_is(r, "glm_moe_dsa");
    uint32_t width = sparse ? 128 : 0; /* the classes' */
    int rc = hf_u32(r, "index_head_dim", HF_WIDTH_MAX, &width);

    for (uint32_t i = 0; rc == 0 && width > 0 && i < p->layers.count; i++) {
        bool own = false;
        if (p->layers.kind[i] == HF_FULL || p->layers.kind[i] == HF_WINDOWED)
            rc = has_indexer(r, i, &own);
        part.caches += own ? p->times : 0;
    }
    for (size_t i = sizeof(by) / sizeof(by[0]); i > 0; i--)
        if (hf_get(r, by[i - 1]))
            snprintf(part.counted_by, sizeof(part.counted_by), "%s%s", r->nested, by[i - 1]);
    part.elements = width;
    if (rc == 0)
        rc = add(p, part, &keys);
    part.kind = MODEL_INDEX_SCALES;
    part.elements = (width + 127) / 128;
    return rc < 0 ? rc : add(p, part, &scales);
}

static int add_states(const struct parts *p)
{
    struct model_part part = {.kind = MODEL_INPUTS, .caches = p->m->state_layers};
    struct hf_state s;

    if (part.caches == 0)
        return 0;
    int rc = hf_state_read(p->r, p->layers.states_by, p->m, &p->activation, &s);
    if (rc < 0)
        return rc;
    snprintf(part.counted_by, sizeof(part.counted_by), "%s%s", p->r->nested, p->layers.states_by);
    part.elements = s.inputs;
    if (s.inputs > 0)
        rc = add(p, part, &s.inputs_type);
    part.kind = MODEL_RECURRENT;
    part.elements = s.recurrent;
    if (rc == 0 && s.recurrent > 0)
        rc = add(p, part, &s.recurrent_type);
    return rc;
}

/* How many caches a layer has. LongCat-Flash: two attentions in each of num_layers (its
 * num_hidden_layers counts both); Ouro: one for each pass through the layers. */
static int read_times(const struct hf_reader *r, uint32_t *times)
{
    *times = strncmp(r->type, "longcat_flash", 13) == 0 && hf_get(r, "num_layers") ? 2 : 1;
    return hf_u32(r, "total_ut_steps", HF_STEPS_MAX, times);
}

/* The keys from which the number of caches follows. */
static void tell_count(struct parts *p, const char *layers)
{
    const struct hf_reader *r = p->r;

    bool by = p->layers.by && strcmp(p->layers.by, layers) != 0;
    snprintf(p->counted_by, sizeof(p->counted_by), "%s%s%s%s%s%s", r->nested, layers,
             by ? ", " : "", by ? p->layers.by : "",
             p->layers.shared == 0               ? ""
             : hf_get(r, "num_kv_shared_layers") ? ", num_kv_shared_layers"
             : hf_get(r, "cla_share_factor")     ? ", cla_share_factor"
                                                 : "",
             hf_get(r, "total_ut_steps") ? ", total_ut_steps"
             : p->times == 2             ? ", twice in each layer"
                                         : "");
}

/* From what each layer keeps to the parts of all. layers_by: the field with their number; width: of
 * one token in a full layer. */
static int read_parts(const struct hf_reader *r, struct model *m, const char *layers_by,
                      struct width width)
{
    struct parts p = {.r = r, .m = m, .layers = {.count = m->layers}};
    struct width windowed = width;
    int rc = hf_layers_read(r, &p.layers);

    if (rc == 0)
        rc = hf_types_read(r, &p.activation, &p.cache);
    if (rc == 0)
        rc = read_times(r, &p.times);
    if (rc == 0)
        rc = read_windowed_width(r, m, &windowed);
    if (rc == 0)
        rc = read_full_width(r, m, &width);
    if (rc < 0)
        return rc;
    tell_count(&p, layers_by);
    m->window = p.layers.window;
    m->full_layers = p.times * hf_layers_of(&p.layers, HF_FULL);
    m->windowed_layers = p.times * hf_layers_of(&p.layers, HF_WINDOWED);
    m->state_layers = hf_layers_of(&p.layers, HF_STATE);
    if (hf_is(r, "falcon_h1")) { /* each of its layers has attention and Mamba side by side */
        m->state_layers = m->layers;
        p.layers.states_by = "model_type";
    }
    if (hf_get(r, "block_configs")) {
        rc = add_blocks(&p);
    } else {
        rc = add_main(&p, m->full_layers, &width, 0);
        if (rc == 0)
            rc = add_main(&p, m->windowed_layers, &windowed, m->window);
    }
    if (rc == 0)
        rc = add_indexers(&p);
    if (rc == 0)
        rc = add_states(&p);
    if (rc == 0 && model_bytes_per_token(m) == 0)
        rc = hf_fail(r, p.layers.states_by ? p.layers.states_by : "num_hidden_layers",
                     "none of its layers keeps keys and values");
    return rc;
}

/* ---- the document ---- */

/* Files that leave the rest to their class tell from which model that comes. */
static int missing_layers(const struct hf_reader *r)
{
    const char *from = jsonin_text(hf_get(r, "_name_or_path"), NULL);

    return hf_fail(r, "num_hidden_layers",
                   "missing: add num_hidden_layers, num_attention_heads, num_key_value_heads and "
                   "hidden_size of the language model%s%.100s%s",
                   from && *from ? ", as the config.json of " : "", from ? from : "",
                   from && *from ? " has them"
                   : *r->nested  ? ""
                                 : ", or give its part of the file as a file of "
                                   "its own");
}

/* *layers_by: the field with the number of layers. */
static int read_shape(const struct hf_reader *r, struct model *m, const char **layers_by)
{
    static const char *const layers[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                                         NULL};
    static const char *const heads[] = {"num_attention_heads", "n_head", "n_heads", "num_heads",
                                        NULL};
    static const char *const hidden[] = {"hidden_size", "n_embd", "n_embed", "d_model", NULL};
    /* The key that counts layers of two caches wins over the one that counts caches. */
    size_t first = strncmp(r->type, "longcat_flash", 13) == 0 && hf_get(r, "num_layers") ? 3 : 0;
    while (layers[first + 1] && !hf_get(r, layers[first]))
        first++;
    *layers_by = layers[first];
    int rc = hf_u32(r, *layers_by, HF_LAYERS_MAX, &m->layers);

    /* Some of Nemotron-H's files have only the list. */
    size_t listed = jsonin_count(hf_get(r, "layers_block_type"));
    if (m->layers == 0 && listed > 0 && listed <= HF_LAYERS_MAX) {
        *layers_by = "layers_block_type";
        m->layers = (uint32_t)listed;
    }
    if (rc == 0 && m->layers == 0)
        rc = missing_layers(r);
    m->heads = r->family->heads;
    if (rc == 0)
        rc = hf_u32_any(r, heads, HF_WIDTH_MAX, &m->heads);
    if (rc == 0)
        rc = hf_u32_any(r, hidden, HF_HIDDEN_MAX, &m->hidden);
    return rc;
}

static bool is_any(const struct hf_reader *r, const char *const *types, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hf_is(r, types[i]))
            return true;
    return false;
}

static int refuse_unlike(const struct hf_reader *r)
{
    static const char encoder_only[] =
        "an encoder, which sees all tokens at once: it keeps no keys and values, and has no cache";
    bool two_stacks = false, both_ways = false, decodes = false;
    int rc = hf_bool(r, "is_encoder_decoder", &two_stacks);

    if (rc == 0 && two_stacks)
        return hf_fail(r, "is_encoder_decoder", "encoder-decoder models are not supported");
    if (rc == 0)
        rc = hf_bool(r, "is_decoder", &decodes);
    if (rc == 0 && !decodes && is_any(r, encoders, sizeof(encoders) / sizeof(encoders[0])))
        return hf_fail(r, "model_type", "%s is %s", r->type, encoder_only);
    /* In other files it is the name of what is seen both ways, such as "vision". */
    if (rc == 0 && jsonin_bool(hf_get(r, "use_bidirectional_attention"), &both_ways) == 0 &&
        both_ways)
        return hf_fail(r, "use_bidirectional_attention", "the model is %s", encoder_only);
    if (rc == 0 && is_any(r, states_only, sizeof(states_only) / sizeof(states_only[0])))
        return hf_fail(r, "model_type",
                       "%s is not supported: none of its layers keeps keys and values", r->type);
    for (size_t i = 0; rc == 0 && i < sizeof(refused_types) / sizeof(refused_types[0]); i++)
        if (hf_is(r, refused_types[i].type))
            rc = hf_assume(r, "model_type", "its keys mean what they do elsewhere",
                           "%s is not supported: %s", r->type, refused_types[i].why);
    return rc;
}

/* The engine that a checkpoint of TensorRT-LLM was converted for. */
static int read_ranks(const struct hf_reader *r, struct model_ranks *ranks)
{
    int rc = hf_u32(r, "mapping.tp_size", HF_RANKS_MAX, &ranks->tensor);

    if (rc == 0)
        rc = hf_u32(r, "mapping.pp_size", HF_RANKS_MAX, &ranks->pipeline);
    return rc < 0 ? rc : hf_u32(r, "mapping.cp_size", HF_RANKS_MAX, &ranks->context);
}

/* Finds the language model in the document. */
static void find_text(struct hf_reader *r)
{
    static const char *const nests[] = {"text_config.", "llm_config.", "language_config.",
                                        "thinker_config.text_config."};

    for (size_t i = 0; i < sizeof(nests) / sizeof(nests[0]) && !*r->nested; i++) {
        char path[64];
        snprintf(path, sizeof(path), "%.*s", (int)strlen(nests[i]) - 1, nests[i]);
        if (hf_key(jsonin_get(r->root, path), 0)) {
            r->text = jsonin_get(r->root, path);
            r->nested = nests[i];
        }
    }
    r->type = jsonin_text(hf_get(r, "model_type"), NULL);
    if (!r->type)
        r->type = jsonin_text(jsonin_get(r->root, "model_type"), NULL);
    if (!r->type) { /* its published file has no model_type */
        const char *class = jsonin_text(jsonin_at(jsonin_get(r->root, "architectures"), 0), NULL);
        bool longcat = class && strncmp(class, "LongcatFlash", 12) == 0;
        r->type = longcat ? "longcat_flash" : "";
    }
    while (*r->family->type && strcmp(r->family->type, r->type) != 0)
        r->family++;
}

int model_hf_parse(struct model *out, const struct jsonin_v *root, const char *where,
                   struct model_reading *reading, struct err *e)
{
    bool forced = reading && reading->force;
    struct hf_reader r = {.root = root,
                          .text = root,
                          .nested = "",
                          .family = families,
                          .beside = reading ? reading->beside : NULL,
                          .assumed = forced ? &reading->assumed : NULL,
                          .where = where,
                          .e = e};
    struct notes unread = {0}, untold = {0};
    struct notes *weights = reading ? &reading->weights : &untold;
    struct hf_matrices matrices;
    struct model m = {0};
    struct width width = {0};
    const char *layers_by = NULL;
    bool latent = true;
    int rc;

    if (!hf_key(root, 0))
        return err_set(e, -EINVAL, ERR_INPUT, where, "not a JSON object with a model's fields");
    find_text(&r);
    if (hf_key(r.text, HF_KEYS_MAX))
        return err_set(e, -E2BIG, ERR_INPUT, where, "more than %d keys", HF_KEYS_MAX);

    rc = refuse_unlike(&r);
    if (rc == 0)
        rc = read_shape(&r, &m, &layers_by);
    if (rc == 0)
        rc = hf_bool(&r, "use_mla", &latent);
    if (rc == 0)
        rc = latent && hf_get(&r, "kv_lora_rank") ? read_latent(&r, &m, &width)
                                                  : read_heads(&r, &m, &width);
    if (rc == 0)
        rc = read_parts(&r, &m, layers_by, width);
    if (rc == 0)
        rc = read_ranks(&r, &m.ranks);
    if (rc == 0)
        rc = hf_keys_check(&r, reading ? &reading->unread : &unread);
    if (rc < 0)
        return rc;
    hf_compute_read(&r, &m, &matrices, weights);
    hf_weights_read(&r, &matrices, &m, weights);
    *out = m;
    return 0;
}

/* Sets the id to the last name of path, without its ending, that is not "config.json". */
static void put_id(struct model *m, const char *path)
{
    const char *end = path + strlen(path);
    const char *base = strrchr(path, '/');
    size_t len;

    base = base ? base + 1 : path;
    if (base > path + 1 && strncmp(base, "config.json", 11) == 0) {
        end = base - 1;
        for (base = end; base > path && base[-1] != '/';)
            base--;
    } else if (strstr(base, ".json")) {
        end = strstr(base, ".json");
    }
    len = (size_t)(end - base);
    snprintf(m->id, sizeof(m->id), "%.*s", (int)(len < sizeof(m->id) ? len : sizeof(m->id)), base);
}

/* *document: the hf_quant_config.json in the folder of the config.json at path, or NULL. */
static int load_beside(struct jsonin **document, const char *path, struct err *e)
{
    const char *base = strrchr(path, '/');
    char beside[4096];
    struct stat st;

    *document = NULL;
    base = base ? base + 1 : path;
    int len =
        snprintf(beside, sizeof(beside), "%.*shf_quant_config.json", (int)(base - path), path);
    if (strncmp(base, "config.json", 11) != 0 || len >= (int)sizeof(beside) ||
        stat(beside, &st) < 0)
        return 0;
    return jsonin_load(document, beside, HF_FILE_MAX, e);
}

int model_hf_load(struct model *out, const char *path, struct model_reading *reading, struct err *e)
{
    struct jsonin *document, *beside;
    struct model_reading unasked = {0};
    const char *name;
    int rc = jsonin_load(&document, path, HF_FILE_MAX, e);

    if (rc < 0)
        return rc;
    rc = load_beside(&beside, path, e);
    if (rc < 0) {
        jsonin_free(document);
        return rc;
    }
    if (!reading)
        reading = &unasked;
    reading->beside = beside ? jsonin_root(beside) : NULL;
    rc = model_hf_parse(out, jsonin_root(document), path, reading, e);
    reading->beside = NULL;
    jsonin_free(beside);
    if (rc == 0) {
        put_id(out, path);
        name = jsonin_text(jsonin_get(jsonin_root(document), "_name_or_path"), NULL);
        snprintf(out->name, sizeof(out->name), "%s", name && *name ? name : out->id);
    }
    jsonin_free(document);
    return rc;
}
