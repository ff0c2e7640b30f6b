/* Answers --list-models and --show-model: the models as a table for people, and one model as JSON.
 * lib/model/model.h does the arithmetic. */
#include "kvgen/options/models.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/json/jsonout.h"
#include "lib/model/find.h"

static const uint64_t shown_tokens[] = {1024, 8192, 32768, 131072};
enum {
    SHOWN = sizeof(shown_tokens) / sizeof(*shown_tokens)
};

static const char *attention(const struct model *m)
{
    static const char *const text[] = {
        [MODEL_MHA] = "mha", [MODEL_GQA] = "gqa", [MODEL_MLA] = "mla"};
    return text[m->attention];
}

static int shown_bytes(const struct model *m, int i, uint64_t *bytes, struct err *e)
{
    if (model_bytes(m, shown_tokens[i], bytes) < 0)
        return err_set(e, -EOVERFLOW, ERR_INPUT, m->id, "sizes do not fit 64 bits");
    return 0;
}

static int list_model(FILE *f, const struct model *m, struct err *e)
{
    char id[sizeof(m->id)];
    snprintf(id, sizeof(id), "%s", m->id);
    err_make_harmless(id); /* it may come from a configuration */
    fprintf(f, "%-24s %-4s %6u %12llu", id, attention(m), m->layers,
            (unsigned long long)model_bytes_per_token(m));
    for (int i = 0; i < SHOWN; i++) {
        uint64_t bytes;
        char text[32];
        int rc = shown_bytes(m, i, &bytes, e);
        if (rc < 0)
            return rc;
        fprintf(f, " %11s", units_format_bytes(text, sizeof(text), (double)bytes));
    }
    fputc('\n', f);
    return 0;
}

/* A model of the configuration replaces the built-in one of its name. */
static bool in_configuration(const struct conf *conf, const char *id)
{
    const char *name;
    for (size_t i = 0; (name = conf_model_name(conf, i)); i++)
        if (strcmp(name, id) == 0)
            return true;
    return false;
}

int models_list(FILE *f, const struct conf *conf, struct err *e)
{
    const struct model *built_in;
    const char *name;
    int rc = 0;
    fprintf(f, "%-24s %-4s %6s %12s %11s %11s %11s %11s\n", "model", "kind", "layers",
            "bytes/token", "1k tokens", "8k", "32k", "128k");
    for (size_t i = 0; rc == 0 && (built_in = model_builtin(i)); i++)
        if (!in_configuration(conf, built_in->id))
            rc = list_model(f, built_in, e);
    for (size_t i = 0; rc == 0 && (name = conf_model_name(conf, i)); i++) {
        struct model m;
        rc = model_find(&m, name, conf, NULL, e);
        if (rc == 0)
            rc = list_model(f, &m, e);
    }
    if (fflush(f) != 0 && rc == 0)
        rc = err_errno(e, -errno, ERR_OUTPUT, "standard output", "cannot write");
    return rc;
}

/* null for 0, which is not known. */
static void put_known(struct jsonout *j, const char *key, double value)
{
    jsonout_f64(j, key, value > 0 ? value : NAN);
}

static void put_part(struct jsonout *j, const struct model_part *part)
{
    static const char *const kinds[] = {
        [MODEL_KEYS_VALUES] = "keys and values", [MODEL_LATENT] = "latent",
        [MODEL_INDEX_KEYS] = "index keys",       [MODEL_INDEX_SCALES] = "index scales",
        [MODEL_INPUTS] = "convolution inputs",   [MODEL_RECURRENT] = "recurrent state"};
    jsonout_object(j, NULL);
    jsonout_text_value(j, "part", kinds[part->kind]);
    jsonout_u64(j, "caches", part->caches);
    jsonout_u64(j, "elements", part->elements);
    jsonout_text_value(j, "type", model_type_name(part->type));
    jsonout_u64(j, "bytes", model_part_bytes(part));
    jsonout_text_value(j, "of_a", model_is_state(part) ? "sequence" : "token");
    jsonout_u64_if(j, "window", part->window > 0, part->window);
    jsonout_text_known(j, "caches_by", part->counted_by);
    jsonout_text_known(j, "type_by", part->typed_by);
    jsonout_end(j);
}

int models_show(const struct model *m, const struct model_reading *reading, struct err *e)
{
    int rc;
    struct jsonout *j = jsonout_create();
    if (!j)
        return err_nomem(e, "model");
    jsonout_text_value(j, "id", m->id);
    jsonout_text_value(j, "name", m->name);
    jsonout_text_value(j, "attention", attention(m));
    jsonout_text_value(j, "kv_dtype", model_dtype(m));
    jsonout_u64(j, "layers", m->layers);
    jsonout_u64(j, "kv_layers", m->full_layers + m->windowed_layers);
    jsonout_u64(j, "windowed_layers", m->windowed_layers);
    jsonout_u64_if(j, "window", m->window > 0, m->window);
    jsonout_u64(j, "bytes_per_token", model_bytes_per_token(m));
    jsonout_object(j, "bytes_by_tokens");
    for (int i = 0; i < SHOWN; i++) {
        char key[21];
        uint64_t bytes;
        rc = shown_bytes(m, i, &bytes, e);
        if (rc < 0)
            goto out;
        key[units_put_u64(key, shown_tokens[i])] = '\0';
        jsonout_u64(j, key, bytes);
    }
    jsonout_end(j);
    jsonout_u64(j, "state_layers", m->state_layers);
    jsonout_u64(j, "state_bytes", model_state_bytes(m));
    put_known(j, "active_params", (double)m->active_params);
    put_known(j, "pair_width", (double)m->pair_elements / 2);
    jsonout_array(j, "parts");
    for (unsigned i = 0; i < m->parts; i++)
        put_part(j, &m->part[i]);
    jsonout_end(j);
    jsonout_notes(j, "assumed", &reading->assumed);
    jsonout_notes(j, "unread", &reading->unread);
    rc = jsonout_save(j, "-", e);
out:
    jsonout_free(j);
    return rc;
}
