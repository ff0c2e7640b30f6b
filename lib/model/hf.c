/* Translates a published model's config.json into a struct model. Missing fields follow the
 * configuration classes of the transformers library. Models whose size would come out wrong (layers
 * without attention, shared caches) are refused with the name of the field. */
#include "lib/model/hf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    HF_FILE_MAX = 16 << 20,
    HF_LAYERS_MAX = 10000,
    HF_HEADS_MAX = 65536,
    HF_HIDDEN_MAX = 1 << 24,
    HF_WINDOW_MAX = 1 << 30
};

/* Defaults of a family's class, for fields that its file leaves out (0: none). */
struct hf_family {
    const char *type; /* model_type */
    uint32_t heads, kv_heads, head_dim, window, pattern;
};

static const struct hf_family hf_families[] = {
    {"gemma2", 8, 4, 256, 4096, 0},
    {"gemma3", 8, 4, 256, 4096, 6},
    {"gemma3_text", 8, 4, 256, 4096, 6},
    {"", 0, 0, 0, 0, 0},
};

struct hf_reader {
    const struct jsonin_v *root; /* the document */
    const struct jsonin_v *text; /* the language model: text_config, or the document */
    const char *type;            /* model_type, "" if missing */
    const struct hf_family *family;
    const char *where;
    struct err *e;
};

static int fail(const struct hf_reader *r, const char *field, const char *why)
{
    return err_set(r->e, -EINVAL, ERR_INPUT, r->where, "%s: %s", field, why);
}

static bool is_type(const struct hf_reader *r, const char *type)
{
    return strcmp(r->type, type) == 0;
}

/* Reads a whole number from 1 to max; leaves *out alone if the field is missing or null. */
static int get_u32(const struct hf_reader *r, const char *field, uint32_t max, uint32_t *out)
{
    const struct jsonin_v *v = jsonin_get(r->text, field);
    char why[64];
    uint64_t n;

    if (!v)
        return 0;
    if (jsonin_u64(v, &n) == 0 && n >= 1 && n <= max) {
        *out = (uint32_t)n;
        return 0;
    }
    snprintf(why, sizeof(why), "not a whole number from 1 to %u", (unsigned)max);
    return fail(r, field, why);
}

/* As get_u32, under the usual name or that of older classes. */
static int get_either(const struct hf_reader *r, const char *field, const char *older, uint32_t max,
                      uint32_t *out)
{
    return get_u32(r, jsonin_get(r->text, field) ? field : older, max, out);
}

static int get_bool(const struct hf_reader *r, const char *field, bool *out)
{
    const struct jsonin_v *v = jsonin_get(r->text, field);

    if (v && jsonin_bool(v, out) < 0)
        return fail(r, field, "neither true nor false");
    return 0;
}

/* Refuses models whose cache is not "layers times tokens". */
static int refuse_unlike(const struct hf_reader *r)
{
    static const char *const hybrids[] = {"attn_layer_period",
                                          "attn_layer_indices",
                                          "layers_block_type",
                                          "layer_block_types",
                                          "full_attention_interval",
                                          "hybrid_override_pattern",
                                          "block_types",
                                          "state_size"};
    static const char *const shared[] = {"num_kv_shared_layers", "attention_chunk_size"};
    bool encoder = false;

    for (size_t i = 0; i < sizeof(hybrids) / sizeof(hybrids[0]); i++)
        if (jsonin_get(r->text, hybrids[i]))
            return fail(r, hybrids[i], "layers without attention are not supported");
    int rc = get_bool(r, "is_encoder_decoder", &encoder);
    if (rc < 0)
        return rc;
    if (encoder)
        return fail(r, "is_encoder_decoder", "encoder-decoder models are not supported");
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
        const struct jsonin_v *v = jsonin_get(r->text, shared[i]);
        uint64_t n = 0;
        if (v && (jsonin_u64(v, &n) < 0 || n > 0))
            return fail(r, shared[i], "models with this are not supported");
    }
    return 0;
}

/* ---- attention ---- */

static int read_kv_heads(const struct hf_reader *r, struct model *m)
{
    bool falcon = is_type(r, "falcon"), one = true, new_decoder = false;
    int rc;

    if (!falcon && !is_type(r, "gpt_bigcode")) {
        m->kv_heads = r->family->kv_heads ? r->family->kv_heads : m->heads;
        return get_u32(r, "num_key_value_heads", HF_HEADS_MAX, &m->kv_heads);
    }
    /* These two have one KV head for all (multi_query, the default of their classes), but
     * new_decoder_architecture of falcon brings num_kv_heads. */
    rc = get_bool(r, "multi_query", &one);
    if (rc == 0 && falcon)
        rc = get_bool(r, "new_decoder_architecture", &new_decoder);
    if (rc < 0)
        return rc;
    if (one && !new_decoder) {
        m->kv_heads = 1;
        return 0;
    }
    m->kv_heads = m->heads;
    return get_either(r, "num_kv_heads", "num_key_value_heads", HF_HEADS_MAX, &m->kv_heads);
}

static int read_attention(const struct hf_reader *r, struct model *m)
{
    int rc;

    /* Multi-head latent attention keeps one latent a layer; num_key_value_heads then equals the
     * query heads and means nothing. */
    if (jsonin_get(r->text, "kv_lora_rank")) {
        m->attention = MODEL_MLA;
        rc = get_u32(r, "kv_lora_rank", HF_HEADS_MAX, &m->kv_lora_rank);
        if (rc == 0)
            rc = get_u32(r, "qk_rope_head_dim", HF_HEADS_MAX, &m->qk_rope_head_dim);
        if (rc == 0 && m->qk_rope_head_dim == 0)
            rc = fail(r, "qk_rope_head_dim", "missing (kv_lora_rank is there)");
        return rc;
    }
    rc = read_kv_heads(r, m);
    if (rc < 0)
        return rc;
    m->attention = m->kv_heads == m->heads ? MODEL_MHA : MODEL_GQA;
    /* head_dim wins over the quotient: they differ in qwen3-32b, gpt-oss and gemma-3. */
    m->head_dim = r->family->head_dim;
    rc = get_u32(r, "head_dim", HF_HEADS_MAX, &m->head_dim);
    if (rc < 0 || m->head_dim > 0)
        return rc;
    if (m->hidden == 0)
        return fail(r, "hidden_size", "missing, and so is head_dim");
    if (m->hidden % m->heads != 0)
        return fail(r, "head_dim", "missing, and hidden_size is no multiple of the heads");
    m->head_dim = m->hidden / m->heads;
    return 0;
}

/* ---- sliding windows ---- */

/* layer_types names each layer. */
static int count_layer_types(const struct hf_reader *r, const struct jsonin_v *types,
                             struct model *m)
{
    char why[128];

    if (jsonin_count(types) != m->layers)
        return fail(r, "layer_types", "not one entry for each layer");
    for (size_t i = 0; i < m->layers; i++) {
        const char *type = jsonin_text(jsonin_at(types, i), NULL);
        if (type && strcmp(type, "sliding_attention") == 0) {
            m->windowed_layers++;
        } else if (!type || strcmp(type, "full_attention") != 0) {
            snprintf(why, sizeof(why), "layers of type '%.60s' are not supported",
                     type ? type : "(no text)");
            return fail(r, "layer_types", why);
        }
    }
    return 0;
}

static bool is_qwen(const struct hf_reader *r)
{
    return strncmp(r->type, "qwen", 4) == 0;
}

static int count_windowed(const struct hf_reader *r, struct model *m)
{
    const struct jsonin_v *types = jsonin_get(r->text, "layer_types");
    const struct jsonin_v *first_windowed = jsonin_get(r->text, "max_window_layers");
    uint32_t pattern = r->family->pattern;

    if (types)
        return count_layer_types(r, types, m);
    /* Every pattern-th layer is full, the others are windowed. */
    if (pattern > 0 || jsonin_get(r->text, "sliding_window_pattern") ||
        jsonin_get(r->text, "_sliding_window_pattern")) {
        int rc = get_either(r, "sliding_window_pattern", "_sliding_window_pattern", HF_LAYERS_MAX,
                            &pattern);
        if (rc == 0)
            m->windowed_layers = m->layers - m->layers / pattern;
        return rc;
    }
    /* Qwen windows the layers from max_window_layers on (28 in its class). */
    if (is_qwen(r) || first_windowed) {
        uint64_t full = 28;
        if (first_windowed && jsonin_u64(first_windowed, &full) < 0)
            return fail(r, "max_window_layers", "not a whole number");
        m->windowed_layers = full < m->layers ? m->layers - (uint32_t)full : 0;
        return 0;
    }
    m->windowed_layers = m->layers;
    if (is_type(r, "gemma2") || is_type(r, "gpt_oss"))
        m->windowed_layers = (m->layers + 1) / 2; /* the even ones */
    return 0;
}

/* sliding_window may be null, or use_sliding_window may switch it off. */
static int read_window(const struct hf_reader *r, struct model *m)
{
    bool use = !is_qwen(r);
    uint32_t window = r->family->window;
    int rc = get_bool(r, "use_sliding_window", &use);

    if (rc == 0 && use)
        rc = get_u32(r, "sliding_window", HF_WINDOW_MAX, &window);
    if (rc < 0 || !use)
        return rc;
    if (window > 0 || jsonin_get(r->text, "layer_types"))
        rc = count_windowed(r, m);
    if (rc == 0 && m->windowed_layers > 0 && window == 0)
        rc = fail(r, "sliding_window", "missing, but layer_types has sliding layers");
    m->window = m->windowed_layers > 0 ? window : 0;
    return rc;
}

/* ---- the document ---- */

static int read_shape(const struct hf_reader *r, struct model *m)
{
    int rc = get_either(r, "num_hidden_layers", "n_layer", HF_LAYERS_MAX, &m->layers);

    if (rc == 0 && m->layers == 0)
        rc = fail(r, "num_hidden_layers", "missing");
    m->heads = r->family->heads;
    if (rc == 0)
        rc = get_either(r, "num_attention_heads", "n_head", HF_HEADS_MAX, &m->heads);
    if (rc == 0 && m->heads == 0)
        rc = fail(r, "num_attention_heads", "missing");
    if (rc == 0)
        rc = get_either(r, "hidden_size", "n_embd", HF_HIDDEN_MAX, &m->hidden);
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

int model_hf_parse(struct model *out, const struct jsonin_v *root, const char *where, struct err *e)
{
    struct hf_reader r = {
        .root = root, .text = root, .family = hf_families, .where = where, .e = e};
    struct model m = {0};
    const char *key;
    int rc;

    if (!jsonin_member(root, 0, &key))
        return err_set(e, -EINVAL, ERR_INPUT, where, "not a JSON object with a model's fields");
    if (jsonin_get(root, "text_config"))
        r.text = jsonin_get(root, "text_config");
    r.type = jsonin_text(jsonin_get(r.text, "model_type"), NULL);
    if (!r.type)
        r.type = jsonin_text(jsonin_get(root, "model_type"), NULL);
    if (!r.type)
        r.type = "";
    while (*r.family->type && strcmp(r.family->type, r.type) != 0)
        r.family++;

    rc = refuse_unlike(&r);
    if (rc == 0)
        rc = read_shape(&r, &m);
    if (rc == 0)
        rc = read_attention(&r, &m);
    if (rc == 0)
        rc = read_window(&r, &m);
    m.element_bits = read_element_bits(&r);
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

int model_hf_load(struct model *out, const char *path, struct err *e)
{
    struct jsonin *document;
    const char *name;
    int rc = jsonin_load(&document, path, HF_FILE_MAX, e);

    if (rc < 0)
        return rc;
    rc = model_hf_parse(out, jsonin_root(document), path, e);
    if (rc == 0) {
        put_id(out, path);
        name = jsonin_text(jsonin_get(jsonin_root(document), "_name_or_path"), NULL);
        snprintf(out->name, sizeof(out->name), "%s", name && *name ? name : out->id);
    }
    jsonin_free(document);
    return rc;
}
