/* models.c - --list-models and --show-model: the model table for people and as JSON. The arithmetic
 * is lib/model/model.h's. */
#include "kvgen/models.h"

#include <errno.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/json/jsonout.h"
#include "lib/model/find.h"

static const uint64_t shown_tokens[] = {1024, 8192, 32768, 131072};
enum {
    SHOWN = sizeof shown_tokens / sizeof *shown_tokens
};

static const char *attention(const struct model *m)
{
    static const char *const text[] = {
        [MODEL_MHA] = "mha", [MODEL_GQA] = "gqa", [MODEL_MLA] = "mla"};
    return text[m->attention];
}

static int list_model(FILE *f, const struct model *m, struct err *e)
{
    fprintf(f, "%-24s %-4s %6u %12llu", m->id, attention(m), m->layers,
            (unsigned long long)model_bytes_per_token(m));
    for (int i = 0; i < SHOWN; i++) {
        uint64_t bytes;
        char text[32];
        if (model_bytes(m, shown_tokens[i], &bytes) < 0)
            return err_set(e, -EOVERFLOW, ERR_INPUT, m->id, "sizes do not fit 64 bits");
        fprintf(f, " %11s", units_format_bytes(text, sizeof text, (double)bytes));
    }
    fputc('\n', f);
    return 0;
}

/* A model of the configuration takes the place of the built-in one with its name. */
static int in_configuration(const struct conf *conf, const char *id)
{
    const char *name;
    for (size_t i = 0; (name = conf_name(conf, "model_configs", i)) != NULL; i++)
        if (strcmp(name, id) == 0)
            return 1;
    return 0;
}

int models_list(FILE *f, const struct conf *conf, struct err *e)
{
    const struct model *built_in;
    const char *name;
    int rc = 0;
    fprintf(f, "%-24s %-4s %6s %12s %11s %11s %11s %11s\n", "model", "kind", "layers",
            "bytes/token", "1k tokens", "8k", "32k", "128k");
    for (size_t i = 0; rc == 0 && (built_in = model_builtin(i)) != NULL; i++)
        if (!in_configuration(conf, built_in->id))
            rc = list_model(f, built_in, e);
    for (size_t i = 0; rc == 0 && (name = conf_name(conf, "model_configs", i)) != NULL; i++) {
        struct model m;
        rc = model_find(&m, name, conf, e);
        if (rc == 0)
            rc = list_model(f, &m, e);
    }
    if (fflush(f) != 0 && rc == 0)
        rc = err_errno(e, -errno, ERR_OUTPUT, "standard output", "cannot write");
    return rc;
}

static int put_sizes(struct jsonout *j, const struct model *m, struct err *e)
{
    jsonout_object(j, "bytes_by_tokens");
    for (int i = 0; i < SHOWN; i++) {
        char key[21];
        uint64_t bytes;
        if (model_bytes(m, shown_tokens[i], &bytes) < 0)
            return err_set(e, -EOVERFLOW, ERR_INPUT, m->id, "sizes do not fit 64 bits");
        key[units_put_u64(key, shown_tokens[i])] = '\0';
        jsonout_u64(j, key, bytes);
    }
    jsonout_end(j);
    return 0;
}

int models_show(const struct model *m, struct err *e)
{
    struct jsonout *j = jsonout_create();
    if (j == NULL)
        return err_nomem(e, "model");
    jsonout_text_value(j, "id", m->id);
    jsonout_text_value(j, "name", m->name);
    jsonout_text_value(j, "attention", attention(m));
    jsonout_text_value(j, "kv_dtype", model_dtype(m));
    jsonout_u64(j, "layers", m->layers);
    jsonout_u64(j, "windowed_layers", m->windowed_layers);
    if (m->window > 0)
        jsonout_u64(j, "window", m->window);
    else
        jsonout_null(j, "window");
    jsonout_u64(j, "bytes_per_token", model_bytes_per_token(m));
    int rc = put_sizes(j, m, e);
    if (rc == 0)
        rc = jsonout_save(j, "-", e);
    jsonout_free(j);
    return rc;
}
