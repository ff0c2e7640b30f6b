/* The models whose KV cache is measured: the built-in table, those of the configuration file, and
 * the arithmetic from geometry to bytes that every object's size comes from. */
#include "lib/model/model.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/model/model_hf.h"

enum {
    MODEL_KNOWN_MAX = 400,
    MODEL_PATH_MAX = 256
};

#define GQA(id, name, layers, hidden, heads, kv_heads, head_dim)                                   \
    {                                                                                              \
        id, name, MODEL_GQA, layers, hidden, heads, kv_heads, head_dim, 0, 0, 0, 0, 16             \
    }

static const struct model builtins[] = {
    GQA("tiny-1b", "Tiny 1B", 12, 1024, 8, 4, 128),
    GQA("mistral-7b", "Mistral 7B", 32, 4096, 32, 8, 128),
    {"llama2-7b", "Llama 2 7B", MODEL_MHA, 32, 4096, 32, 32, 128, 0, 0, 0, 0, 16},
    GQA("llama3.1-8b", "Llama 3.1 8B", 32, 4096, 32, 8, 128),
    GQA("llama3.1-70b-instruct", "Llama 3.1 70B Instruct", 80, 8192, 64, 8, 128),
    {"deepseek-v3", "DeepSeek V3", MODEL_MLA, 61, 7168, 128, 0, 0, 512, 64, 0, 0, 16},
    GQA("qwen3-32b", "Qwen3 32B", 64, 5120, 64, 8, 128),
    GQA("gpt-oss-120b", "gpt-oss 120B", 36, 2880, 64, 8, 64),
    GQA("gpt-oss-20b", "gpt-oss 20B", 24, 2880, 64, 8, 64),
};

const struct model *model_builtin(size_t i)
{
    return i < sizeof(builtins) / sizeof(builtins[0]) ? &builtins[i] : NULL;
}

static const struct model *find_builtin(const char *id)
{
    const struct model *m;

    for (size_t i = 0; (m = model_builtin(i)) != NULL; i++)
        if (strcmp(m->id, id) == 0)
            return m;
    return NULL;
}

/* ---- element types ---- */

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
    return err_set(e, -EINVAL, ERR_INPUT, "--kv-dtype", /* a file's own were checked with it */
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

/* ---- models of the configuration file ---- */

/* A model of model_configs while it is read. */
struct model_reader {
    const struct conf *conf;
    const char *id;
    struct err *e;
};

static void put_path(const struct model_reader *r, const char *field, char path[MODEL_PATH_MAX])
{
    snprintf(path, MODEL_PATH_MAX, "model_configs.%s%s%s", r->id, *field ? "." : "", field);
}

static int fail(const struct model_reader *r, const char *why)
{
    char path[MODEL_PATH_MAX], where[320];

    put_path(r, "", path);
    snprintf(where, sizeof(where), "%.250s:%u", conf_path(r->conf), conf_line(r->conf, path));
    return err_set(r->e, -EINVAL, ERR_INPUT, where, "%s: %s", path, why);
}

/* The table of keys has checked that the number fits. */
static void get_u32(const struct model_reader *r, const char *field, uint32_t *out)
{
    char path[MODEL_PATH_MAX];
    int64_t n;

    put_path(r, field, path);
    if (conf_get_i64(r->conf, path, &n) == 0)
        *out = (uint32_t)n;
}

static const char *get_text(const struct model_reader *r, const char *field)
{
    char path[MODEL_PATH_MAX];
    const char *text = NULL;

    put_path(r, field, path);
    return conf_get_text(r->conf, path, &text) == 0 ? text : NULL;
}

static enum model_attention read_attention(const struct model_reader *r, const struct model *m)
{
    const char *type = get_text(r, "attention_type");

    if (type)
        return *type == 'g' ? MODEL_GQA : type[1] == 'h' ? MODEL_MHA : MODEL_MLA;
    if (m->kv_lora_rank > 0)
        return MODEL_MLA;
    return m->kv_heads == 0 || m->kv_heads == m->heads ? MODEL_MHA : MODEL_GQA;
}

/* Completes what was not given; says what is missing. */
static int settle_heads(const struct model_reader *r, struct model *m)
{
    if (m->attention == MODEL_MLA) {
        m->kv_heads = m->head_dim = 0;
        if (m->kv_lora_rank == 0 || m->qk_rope_head_dim == 0)
            return fail(r, "mla needs kv_lora_rank and qk_rope_head_dim");
        return 0;
    }
    m->kv_lora_rank = m->qk_rope_head_dim = 0;
    if (m->kv_heads == 0)
        m->kv_heads = m->heads;
    if (m->kv_heads == 0)
        return fail(r, "kv_heads is missing, and so is num_heads");
    if (m->head_dim == 0 && (m->heads == 0 || m->hidden == 0))
        return fail(r, "kv_dim_per_head is missing, and so is hidden_dim or num_heads");
    if (m->head_dim == 0 && m->hidden % m->heads != 0)
        return fail(r, "kv_dim_per_head is missing, and hidden_dim is no multiple of num_heads");
    if (m->head_dim == 0)
        m->head_dim = m->hidden / m->heads;
    return 0;
}

static int settle_window(const struct model_reader *r, struct model *m)
{
    if (m->windowed_layers > 0 && m->window == 0)
        return fail(r, "windowed_layers without sliding_window");
    if (m->window > 0 && m->windowed_layers == 0)
        m->windowed_layers = m->layers;
    if (m->windowed_layers > m->layers)
        return fail(r, "windowed_layers is above num_layers");
    return 0;
}

/* An override of a built-in model keeps what it does not name, but a head's width follows from the
 * geometry when that changes. */
static void read_geometry(const struct model_reader *r, struct model *m)
{
    uint32_t window = (uint32_t)m->window, heads = m->heads, hidden = m->hidden;

    get_u32(r, "num_layers", &m->layers);
    get_u32(r, "hidden_dim", &m->hidden);
    get_u32(r, "num_heads", &m->heads);
    if (m->heads != heads || m->hidden != hidden)
        m->head_dim = 0;
    get_u32(r, "kv_heads", &m->kv_heads);
    get_u32(r, "kv_dim_per_head", &m->head_dim);
    get_u32(r, "kv_lora_rank", &m->kv_lora_rank);
    get_u32(r, "qk_rope_head_dim", &m->qk_rope_head_dim);
    get_u32(r, "sliding_window", &window);
    get_u32(r, "windowed_layers", &m->windowed_layers);
    m->window = window;
}

static int read_model(const struct model_reader *r, struct model *out)
{
    const struct model *builtin = find_builtin(r->id);
    struct model m = builtin ? *builtin : (struct model){.element_bits = 16};
    const char *name = get_text(r, "name"), *dtype = get_text(r, "dtype");
    int rc;

    if (strlen(r->id) >= sizeof(m.id))
        return fail(r, "a model's id has at most 95 characters");
    snprintf(m.id, sizeof(m.id), "%s", r->id);
    if (name || !builtin)
        snprintf(m.name, sizeof(m.name), "%s", name ? name : r->id);
    read_geometry(r, &m);
    m.attention = read_attention(r, &m);
    if (m.layers == 0)
        return fail(r, "num_layers is missing");
    rc = settle_heads(r, &m);
    if (rc == 0)
        rc = settle_window(r, &m);
    if (rc == 0 && dtype)
        rc = model_set_dtype(&m, dtype, r->e);
    if (rc == 0)
        *out = m;
    return rc;
}

/* ---- finding ---- */

static bool in_conf(const struct conf *conf, const char *id)
{
    const char *name;

    for (size_t i = 0; conf && (name = conf_name(conf, "model_configs", i)) != NULL; i++)
        if (strcmp(name, id) == 0)
            return true;
    return false;
}

static bool ends_with(const char *text, const char *tail)
{
    size_t text_len = strlen(text), tail_len = strlen(tail);

    return text_len > tail_len && strcmp(text + text_len - tail_len, tail) == 0;
}

static void add_known(char known[MODEL_KNOWN_MAX], const char *id)
{
    size_t room = MODEL_KNOWN_MAX - strlen(known) - 1;

    if (strlen(id) + 2 > room)
        return;
    strcat(known, *known ? ", " : "");
    strcat(known, id);
}

static int fail_unknown(const char *id, const struct conf *conf, struct err *e)
{
    char known[MODEL_KNOWN_MAX] = "";
    const struct model *m;
    const char *name;

    for (size_t i = 0; (m = model_builtin(i)) != NULL; i++)
        add_known(known, m->id);
    for (size_t i = 0; conf && (name = conf_name(conf, "model_configs", i)) != NULL; i++)
        if (!find_builtin(name))
            add_known(known, name);
    return err_set(e, -ENOENT, ERR_INPUT, id,
                   "unknown model (known: %s; or a Hugging Face config.json)", known);
}

int model_find(struct model *out, const char *id, const struct conf *conf, struct err *e)
{
    struct model_reader r = {.conf = conf, .id = id, .e = e};
    const struct model *builtin = find_builtin(id);

    if (in_conf(conf, id))
        return read_model(&r, out);
    if (builtin) {
        *out = *builtin;
        return 0;
    }
    if (ends_with(id, ".json") || ends_with(id, ".json.zst"))
        return model_hf_load(out, id, e);
    return fail_unknown(id, conf, e);
}

/* ---- bytes ---- */

static uint64_t elements_per_layer(const struct model *m)
{
    if (m->attention == MODEL_MLA)
        return (uint64_t)m->kv_lora_rank + m->qk_rope_head_dim;
    return 2 * (uint64_t)m->kv_heads * m->head_dim;
}

/* Tokens summed over the layers. */
static int layer_tokens(const struct model *m, uint64_t tokens, uint64_t *sum)
{
    uint64_t held = m->windowed_layers > 0 && tokens > m->window ? m->window : tokens;
    uint64_t full;

    if (units_mul(m->layers - m->windowed_layers, tokens, &full) < 0 ||
        units_mul(m->windowed_layers, held, &held) < 0)
        return -EOVERFLOW;
    return units_add(full, held, sum);
}

int model_bytes(const struct model *m, uint64_t tokens, uint64_t *bytes)
{
    uint64_t sum, elements;

    assert(m->windowed_layers <= m->layers);
    if (layer_tokens(m, tokens, &sum) < 0 || units_mul(sum, elements_per_layer(m), &elements) < 0)
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
