/* Reads a published model's config.json into our table's terms. The rules for fields that are
 * missing come from the configuration classes of the transformers library; what would give a wrong
 * size (layers without attention, shared caches) is refused by name rather than ignored. */
#include "lib/model/model_hf.h"

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

/* Values that a family's class assumes where its file is silent (0: none). */
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
    const struct jsonin_v *text; /* the language model in it: text_config, or the document */
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

/* Field, if there and not null, as a whole number of 1 to max; else *out stays. */
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

/* As get_u32, under the usual name or the one of older classes. */
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

static int refuse(const struct hf_reader *r, const char *why, const char *const *fields)
{
    for (; *fields; fields++)
        if (jsonin_get(r->text, *fields))
            return fail(r, *fields, why);
    return 0;
}

/* Fields of models whose cache is not "layers times tokens". */
static int refuse_unlike(const struct hf_reader *r)
{
    static const char *const hybrids[] = {"attn_layer_period",
                                          "attn_layer_indices",
                                          "layers_block_type",
                                          "layer_block_types",
                                          "full_attention_interval",
                                          "hybrid_override_pattern",
                                          "block_types",
                                          "state_size",
                                          NULL};
    static const char *const shared[] = {"num_kv_shared_layers", "attention_chunk_size", NULL};
    bool encoder = false;
    int rc = refuse(r, "layers without attention are not supported", hybrids);

    if (rc == 0)
        rc = get_bool(r, "is_encoder_decoder", &encoder);
    if (rc == 0 && encoder)
        rc = fail(r, "is_encoder_decoder", "encoder-decoder models are not supported");
    for (const char *const *f = shared; rc == 0 && *f; f++) {
        const struct jsonin_v *v = jsonin_get(r->text, *f);
        uint64_t n = 0;
        if (v && (jsonin_u64(v, &n) < 0 || n > 0))
            rc = fail(r, *f, "models with this are not supported");
    }
    return rc;
}

/* ---- attention ---- */

/* falcon and gpt_bigcode: one KV head for all (multi_query, their classes' default), but falcon's
 * new_decoder_architecture brings num_kv_heads. */
static int read_multi_query(const struct hf_reader *r, struct model *m)
{
    bool one = true, new_decoder = false;
    int rc = get_bool(r, "multi_query", &one);

    if (rc == 0 && is_type(r, "falcon"))
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

static int read_kv_heads(const struct hf_reader *r, struct model *m)
{
    if (is_type(r, "falcon") || is_type(r, "gpt_bigcode"))
        return read_multi_query(r, m);
    m->kv_heads = r->family->kv_heads ? r->family->kv_heads : m->heads;
    return get_u32(r, "num_key_value_heads", HF_HEADS_MAX, &m->kv_heads);
}

/* head_dim wins over the quotient when given: they differ in qwen3-32b, gpt-oss and gemma-3. */
static int read_head_dim(const struct hf_reader *r, struct model *m)
{
    int rc;

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

/* Multi-head latent attention keeps one latent a layer; num_key_value_heads then equals the query
 * heads and says nothing. */
static int read_mla(const struct hf_reader *r, struct model *m)
{
    int rc = get_u32(r, "kv_lora_rank", HF_HEADS_MAX, &m->kv_lora_rank);

    if (rc == 0)
        rc = get_u32(r, "qk_rope_head_dim", HF_HEADS_MAX, &m->qk_rope_head_dim);
    if (rc == 0 && m->qk_rope_head_dim == 0)
        rc = fail(r, "qk_rope_head_dim", "missing (kv_lora_rank is there)");
    m->attention = MODEL_MLA;
    return rc;
}

static int read_attention(const struct hf_reader *r, struct model *m)
{
    int rc;

    if (jsonin_get(r->text, "kv_lora_rank"))
        return read_mla(r, m);
    rc = read_kv_heads(r, m);
    if (rc == 0)
        rc = read_head_dim(r, m);
    m->attention = m->kv_heads == m->heads ? MODEL_MHA : MODEL_GQA;
    return rc;
}

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

/* ---- sliding windows ---- */

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

/* Every pattern-th layer is full, the others are windowed. */
static int count_pattern(const struct hf_reader *r, struct model *m)
{
    uint32_t pattern = r->family->pattern;
    int rc =
        get_either(r, "sliding_window_pattern", "_sliding_window_pattern", HF_LAYERS_MAX, &pattern);

    if (rc == 0)
        m->windowed_layers = m->layers - m->layers / pattern;
    return rc;
}

/* Qwen windows the layers from max_window_layers on (28 in its class). */
static int count_qwen(const struct hf_reader *r, struct model *m)
{
    const struct jsonin_v *v = jsonin_get(r->text, "max_window_layers");
    uint64_t full = 28;

    if (v && jsonin_u64(v, &full) < 0)
        return fail(r, "max_window_layers", "not a whole number");
    m->windowed_layers = full < m->layers ? m->layers - (uint32_t)full : 0;
    return 0;
}

static bool is_qwen(const struct hf_reader *r)
{
    return strncmp(r->type, "qwen", 4) == 0;
}

static int count_windowed(const struct hf_reader *r, struct model *m)
{
    const struct jsonin_v *types = jsonin_get(r->text, "layer_types");

    if (types)
        return count_layer_types(r, types, m);
    if (r->family->pattern > 0 || jsonin_get(r->text, "sliding_window_pattern") ||
        jsonin_get(r->text, "_sliding_window_pattern"))
        return count_pattern(r, m);
    if (is_qwen(r) || jsonin_get(r->text, "max_window_layers"))
        return count_qwen(r, m);
    m->windowed_layers = m->layers;
    if (is_type(r, "gemma2") || is_type(r, "gpt_oss"))
        m->windowed_layers = (m->layers + 1) / 2; /* the even ones */
    return 0;
}

/* sliding_window may be null, or there but switched off by use_sliding_window. */
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

/* ---- the element type ---- */

static const struct jsonin_v *find_dtype(const struct hf_reader *r)
{
    const struct jsonin_v *const at[] = {r->text, r->root};

    for (size_t i = 0; i < 2; i++) {
        const struct jsonin_v *v = jsonin_get(at[i], "torch_dtype");
        if (!v)
            v = jsonin_get(at[i], "dtype");
        if (v)
            return v;
    }
    return NULL;
}

/* The cache has the type of the activations: quantization_config is about weights. */
static void read_dtype(const struct hf_reader *r, struct model *m)
{
    const char *dtype = jsonin_text(find_dtype(r), NULL);

    m->element_bits = dtype && strcmp(dtype, "float32") == 0 ? 32 : 16;
}

/* ---- the document ---- */

static const struct hf_family *find_family(const char *type)
{
    const struct hf_family *f = hf_families;

    while (*f->type && strcmp(f->type, type) != 0)
        f++;
    return f;
}

int model_hf_parse(struct model *out, const struct jsonin_v *root, const char *where, struct err *e)
{
    struct hf_reader r = {.root = root, .text = root, .where = where, .e = e};
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
    r.type = r.type ? r.type : "";
    r.family = find_family(r.type);
    rc = refuse_unlike(&r);
    if (rc == 0)
        rc = read_shape(&r, &m);
    if (rc == 0)
        rc = read_attention(&r, &m);
    if (rc == 0)
        rc = read_window(&r, &m);
    read_dtype(&r, &m);
    if (rc == 0)
        *out = m;
    return rc;
}

/* The last name of path that says something: not "config.json". */
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
