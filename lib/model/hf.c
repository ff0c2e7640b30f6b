/* Translates a published model's config.json into a struct model. Missing fields follow the
 * configuration classes of the transformers library. Which layers keep what is decided in
 * hf_layers.c, the size of states in hf_state.c, the arithmetic of prefill in hf_compute.c, which
 * keys may be there in hf_keys.c. What would come out wrong is refused with the name of the field.
 */
#include "lib/model/hf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/model/hf_compute.h"
#include "lib/model/hf_fields.h"
#include "lib/model/hf_keys.h"
#include "lib/model/hf_layers.h"
#include "lib/model/hf_state.h"

enum {
    HF_FILE_MAX = 16 << 20,
    HF_BLOCK_KEYS_MAX = 100
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
    {"falcon_mamba", "none of its layers keeps keys and values"},
    {"gemma4", "its full and windowed layers differ in width, in a way that its class decides"},
    {"gemma4_text",
     "its full and windowed layers differ in width, in a way that its class decides"},
    {"mamba", "none of its layers keeps keys and values"},
    {"mamba2", "none of its layers keeps keys and values"},
    {"zamba", "its layers share attention blocks"},
    {"zamba2", "its layers share attention blocks"},
};

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
    return hf_u32_any(r, names, HF_WIDTH_MAX, &m->kv_heads);
}

/* Multi-head latent attention keeps one latent a layer; num_key_value_heads then equals the query
 * heads and means nothing. *width: elements of a token in one layer. */
static int read_latent(const struct hf_reader *r, struct model *m, uint64_t *width)
{
    int rc = hf_u32(r, "kv_lora_rank", HF_WIDTH_MAX, &m->kv_lora_rank);

    m->attention = MODEL_MLA;
    if (rc == 0)
        rc = hf_u32(r, "qk_rope_head_dim", HF_WIDTH_MAX, &m->qk_rope_head_dim);
    if (rc == 0 && m->qk_rope_head_dim == 0)
        rc = hf_fail(r, "qk_rope_head_dim", "missing (kv_lora_rank is there)");
    *width = (uint64_t)m->kv_lora_rank + m->qk_rope_head_dim;
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
    if (m->hidden == 0)
        return hf_fail(r, "hidden_size", "missing, and so is head_dim");
    if (m->hidden % m->heads != 0)
        return hf_fail(r, "head_dim", "missing, and hidden_size is no multiple of the heads");
    m->head_dim = m->hidden / m->heads;
    return 0;
}

static int read_heads(const struct hf_reader *r, struct model *m, uint64_t *width)
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
    *width = (uint64_t)m->kv_heads * (m->head_dim + (value_dim ? value_dim : m->head_dim));
    return 0;
}

/* Elements of a token in a windowed layer, where they differ from those of a full one. */
static int read_windowed_width(const struct hf_reader *r, const struct model *m, uint64_t *width)
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
    *width = (uint64_t)heads * (dim + (value_dim ? value_dim : dim));
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
        heads % shared != 0)
        return hf_fail(r, "block_configs", "n_heads_in_group does not divide num_attention_heads");
    *kv_heads = heads / shared;
    return 0;
}

/* Nemotron's searched models: heads differ from layer to layer, and some layers have none. */
static int read_blocks(const struct hf_reader *r, struct model *m)
{
    const struct jsonin_v *blocks = hf_get(r, "block_configs");

    if (m->attention == MODEL_MLA || m->windowed_layers + m->state_layers > 0)
        return hf_fail(r, "block_configs", "not supported with latents, windows or states");
    if (jsonin_count(blocks) != m->layers)
        return hf_fail(r, "block_configs", "expected one entry for each layer");
    m->full_layers = 0;
    m->full_elements = 0;
    for (uint32_t i = 0; i < m->layers; i++) {
        uint64_t kv_heads;
        int rc = read_block(r, jsonin_at(blocks, i), m->heads, &kv_heads);
        if (rc < 0)
            return rc;
        m->full_layers += kv_heads > 0;
        m->full_elements += kv_heads * 2 * m->head_dim;
        if (kv_heads > 0) {
            m->kv_heads = (uint32_t)kv_heads;
            m->attention = m->kv_heads == m->heads ? MODEL_MHA : MODEL_GQA;
        }
    }
    return 0;
}

/* From what each layer keeps to the sizes of all. width: of one token in a full layer. */
static int read_sizes(const struct hf_reader *r, struct model *m, uint64_t width)
{
    struct hf_layers layers = {.count = m->layers};
    uint64_t windowed_width, state_bytes = 0;
    uint32_t index = 0;
    int rc = hf_layers_read(r, &layers);

    if (rc == 0)
        rc = hf_u32(r, "index_head_dim", HF_WIDTH_MAX, &index);
    width += index; /* the key by which sparse attention picks tokens */
    windowed_width = width;
    if (rc == 0)
        rc = read_windowed_width(r, m, &windowed_width);
    if (rc < 0)
        return rc;
    m->window = layers.window;
    m->full_layers = hf_layers_of(&layers, HF_FULL);
    m->windowed_layers = hf_layers_of(&layers, HF_WINDOWED);
    m->state_layers = hf_layers_of(&layers, HF_STATE);
    if (hf_is(r, "falcon_h1")) { /* each of its layers has attention and Mamba side by side */
        m->state_layers = m->layers;
        layers.states_by = "model_type";
    }
    m->full_elements = m->full_layers * width;
    m->windowed_elements = m->windowed_layers * windowed_width;
    if (m->state_layers > 0)
        rc = hf_state_bytes(r, layers.states_by, m->heads, m->head_dim, &state_bytes);
    m->state_bytes = m->state_layers * state_bytes;
    if (rc == 0 && hf_get(r, "block_configs"))
        rc = read_blocks(r, m);
    if (rc == 0 && m->full_elements + m->windowed_elements == 0)
        rc = hf_fail(r, layers.states_by ? layers.states_by : "num_hidden_layers",
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

static int read_shape(const struct hf_reader *r, struct model *m)
{
    static const char *const layers[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                                         NULL};
    static const char *const heads[] = {"num_attention_heads", "n_head", "n_heads", "num_heads",
                                        NULL};
    static const char *const hidden[] = {"hidden_size", "n_embd", "n_embed", "d_model", NULL};
    int rc = hf_u32_any(r, layers, HF_LAYERS_MAX, &m->layers);

    if (rc == 0 && m->layers == 0)
        rc = missing_layers(r);
    m->heads = r->family->heads;
    if (rc == 0)
        rc = hf_u32_any(r, heads, HF_WIDTH_MAX, &m->heads);
    if (rc == 0 && m->heads == 0)
        rc = hf_fail(r, "num_attention_heads", "missing");
    if (rc == 0)
        rc = hf_u32_any(r, hidden, HF_HIDDEN_MAX, &m->hidden);
    return rc;
}

static int refuse_unlike(const struct hf_reader *r)
{
    bool encoder = false;
    int rc = hf_bool(r, "is_encoder_decoder", &encoder);

    if (rc == 0 && encoder)
        rc = hf_fail(r, "is_encoder_decoder", "encoder-decoder models are not supported");
    for (size_t i = 0; rc == 0 && i < sizeof(refused_types) / sizeof(refused_types[0]); i++)
        if (hf_is(r, refused_types[i].type))
            rc = hf_fail(r, "model_type", "%s is not supported: %s", r->type, refused_types[i].why);
    return rc;
}

/* The cache has the type of the activations. quantization_config is about weights only. */
static uint32_t read_element_bits(const struct hf_reader *r)
{
    const struct jsonin_v *const at[] = {r->text, r->root};
    const struct jsonin_v *v = NULL;

    for (size_t i = 0; i < 2 && !v; i++) {
        v = jsonin_get(at[i], "torch_dtype");
        if (!v)
            v = jsonin_get(at[i], "dtype");
    }
    const char *dtype = jsonin_text(v, NULL);
    return dtype && strcmp(dtype, "float32") == 0 ? 32 : 16;
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
    if (!r->type)
        r->type = "";
    while (*r->family->type && strcmp(r->family->type, r->type) != 0)
        r->family++;
}

int model_hf_parse(struct model *out, const struct jsonin_v *root, const char *where,
                   struct notes *ignored, struct err *e)
{
    struct hf_reader r = {
        .root = root, .text = root, .nested = "", .family = families, .where = where, .e = e};
    struct model m = {0};
    uint64_t width = 0;
    bool latent = true;
    int rc;

    if (!hf_key(root, 0))
        return err_set(e, -EINVAL, ERR_INPUT, where, "not a JSON object with a model's fields");
    find_text(&r);
    if (hf_key(r.text, HF_KEYS_MAX))
        return err_set(e, -E2BIG, ERR_INPUT, where, "more than %d keys", HF_KEYS_MAX);

    rc = refuse_unlike(&r);
    if (rc == 0)
        rc = read_shape(&r, &m);
    if (rc == 0)
        rc = hf_bool(&r, "use_mla", &latent);
    if (rc == 0)
        rc = latent && hf_get(&r, "kv_lora_rank") ? read_latent(&r, &m, &width)
                                                  : read_heads(&r, &m, &width);
    if (rc == 0)
        rc = read_sizes(&r, &m, width);
    if (rc == 0)
        rc = hf_keys_check(&r, ignored);
    m.element_bits = read_element_bits(&r);
    hf_compute_read(&r, &m);
    if (rc == 0)
        *out = m;
    return rc;
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

int model_hf_load(struct model *out, const char *path, struct notes *ignored, struct err *e)
{
    struct jsonin *document;
    const char *name;
    int rc = jsonin_load(&document, path, HF_FILE_MAX, e);

    if (rc < 0)
        return rc;
    rc = model_hf_parse(out, jsonin_root(document), path, ignored, e);
    if (rc == 0) {
        put_id(out, path);
        name = jsonin_text(jsonin_get(jsonin_root(document), "_name_or_path"), NULL);
        snprintf(out->name, sizeof(out->name), "%s", name && *name ? name : out->id);
    }
    jsonin_free(document);
    return rc;
}
