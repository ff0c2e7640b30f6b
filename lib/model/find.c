/* Looks up a model by name: in the configuration file, whose entries are completed and checked
 * here, among the built-in models, or in a published config.json (hf.c). */
#include "lib/model/find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/nearest.h"
#include "lib/text/text.h"

enum {
    MODEL_KNOWN_MAX = 400,
    MODEL_PATH_MAX = 256
};

static const struct model *find_builtin(const char *id)
{
    /* The name without its kind, as many people write it. */
    static const char short_name[] = "llama3.1-70b", whole_name[] = "llama3.1-70b-instruct";
    const struct model *m;

    if (strcmp(id, short_name) == 0)
        id = whole_name;
    for (size_t i = 0; (m = model_builtin(i)) != NULL; i++)
        if (strcmp(m->id, id) == 0)
            return m;
    return NULL;
}

/* ---- models of the configuration file ---- */

/* The model of model_configs that is being read. */
struct model_reader {
    const struct conf *conf;
    const char *id;
    struct err *e;
};

/* Writes the path of a field of the model, or of the model itself (""). */
static void put_path(const struct model_reader *r, const char *field, char path[MODEL_PATH_MAX])
{
    snprintf(path, MODEL_PATH_MAX, "model_configs.%s%s%s", r->id, *field ? "." : "", field);
}

static int fail(const struct model_reader *r, const char *why)
{
    char path[MODEL_PATH_MAX], where[CONF_PLACE_MAX] = "";

    put_path(r, "", path);
    conf_place(r->conf, path, where);
    return err_set(r->e, -EINVAL, ERR_INPUT, where, "%s: %s", path, why);
}

/* Leaves *out alone if the field is missing. The table of keys has checked that the number fits. */
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

/* Completes heads and widths that were not given. */
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

/* An entry gives no MLP. So what prefill multiplies is known only where the geometry is that of a
 * built-in model; the pair of positions follows from the heads, but for MLA. */
static void settle_compute(const struct model *builtin, struct model *m)
{
    if (builtin && m->attention == builtin->attention && m->layers == builtin->layers &&
        m->hidden == builtin->hidden && m->heads == builtin->heads &&
        m->kv_heads == builtin->kv_heads && m->head_dim == builtin->head_dim &&
        m->kv_lora_rank == builtin->kv_lora_rank &&
        m->qk_rope_head_dim == builtin->qk_rope_head_dim)
        return;
    m->active_params = 0;
    m->pair_elements = m->attention == MODEL_MLA ? 0 : 2 * (uint64_t)m->heads * m->head_dim;
}

static int read_model(const struct model_reader *r, struct model *out)
{
    const struct model *builtin = find_builtin(r->id);
    struct model m = builtin ? *builtin : (struct model){0};
    const char *name = get_text(r, "name"), *dtype = get_text(r, "dtype");
    const char *type = get_text(r, "attention_type");
    uint32_t heads = m.heads, hidden = m.hidden, window = m.window;
    char path[MODEL_PATH_MAX];
    int64_t state = 0;
    int rc;

    if (strlen(r->id) >= sizeof(m.id))
        return fail(r, "a model's name has at most 95 characters");
    snprintf(m.id, sizeof(m.id), "%s", r->id);
    if (name || !builtin)
        snprintf(m.name, sizeof(m.name), "%s", name ? name : r->id);

    /* An entry for a built-in model keeps what it does not name, except a head's width when the
     * geometry that it follows from changes. */
    get_u32(r, "num_layers", &m.layers);
    get_u32(r, "hidden_dim", &m.hidden);
    get_u32(r, "num_heads", &m.heads);
    if (m.heads != heads || m.hidden != hidden)
        m.head_dim = 0;
    get_u32(r, "kv_heads", &m.kv_heads);
    get_u32(r, "kv_dim_per_head", &m.head_dim);
    get_u32(r, "kv_lora_rank", &m.kv_lora_rank);
    get_u32(r, "qk_rope_head_dim", &m.qk_rope_head_dim);
    get_u32(r, "sliding_window", &window);
    get_u32(r, "windowed_layers", &m.windowed_layers);
    m.window = window;

    put_path(r, "state_bytes", path);
    conf_get_i64(r->conf, path, &state);

    if (type)
        m.attention = strcmp(type, "gqa") == 0   ? MODEL_GQA
                      : strcmp(type, "mha") == 0 ? MODEL_MHA
                                                 : MODEL_MLA;
    else if (m.kv_lora_rank > 0)
        m.attention = MODEL_MLA;
    else
        m.attention = m.kv_heads == 0 || m.kv_heads == m.heads ? MODEL_MHA : MODEL_GQA;
    if (m.layers == 0)
        return fail(r, "num_layers is missing");
    rc = settle_heads(r, &m);
    if (rc < 0)
        return rc;
    if (m.windowed_layers > 0 && m.window == 0)
        return fail(r, "windowed_layers without sliding_window");
    if (m.window > 0 && m.windowed_layers == 0)
        m.windowed_layers = m.layers;
    if (m.windowed_layers > m.layers)
        return fail(r, "windowed_layers is above num_layers");
    model_settle(&m, MODEL_FLOAT16, (uint64_t)state);
    settle_compute(builtin, &m);
    rc = dtype ? model_set_dtype(&m, dtype, r->e) : 0;
    if (rc == 0)
        *out = m;
    return rc;
}

/* ---- finding ---- */

static void add_known(char known[MODEL_KNOWN_MAX], const char *id)
{
    size_t room = MODEL_KNOWN_MAX - strlen(known) - 1;

    if (strlen(id) + 2 > room)
        return;
    strcat(known, *known ? ", " : "");
    strcat(known, id);
}

const char *model_file(const char *id)
{
    return id && (text_ends_with(id, ".json") || text_ends_with(id, ".json.zst")) ? id : NULL;
}

int model_find(struct model *out, const char *id, const struct conf *conf,
               struct model_reading *reading, struct err *e)
{
    struct model_reader r = {.conf = conf, .id = id, .e = e};
    const struct model *m = find_builtin(id);
    struct nearest near = {.typed = id};
    char known[MODEL_KNOWN_MAX] = "", hint[NEAREST_HINT];
    const char *name;

    for (size_t i = 0; conf && (name = conf_model_name(conf, i)) != NULL; i++)
        if (strcmp(name, id) == 0)
            return read_model(&r, out);
    if (m) {
        *out = *m;
        return 0;
    }
    if (model_file(id))
        return model_hf_load(out, id, reading, e);

    for (size_t i = 0; (m = model_builtin(i)) != NULL; i++) {
        add_known(known, m->id);
        nearest_offer(&near, m->id);
    }
    for (size_t i = 0; conf && (name = conf_model_name(conf, i)) != NULL; i++)
        if (!find_builtin(name)) {
            add_known(known, name);
            nearest_offer(&near, name);
        }
    return err_set(e, -ENOENT, ERR_INPUT, *id ? id : "\"\"",
                   "unknown model%s (known: %s; or a Hugging Face config.json)",
                   nearest_hint(&near, hint), known);
}
