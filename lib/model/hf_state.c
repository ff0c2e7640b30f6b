/* Sizes the state of a layer without keys and values, by the fields that its kind has (hf_layers.c
 * says which layers those are). */
#include "lib/model/hf_state.h"

#include <stdio.h>
#include <string.h>

enum {
    HF_KERNEL_MAX = 1024,
    HF_EXPAND_MAX = 64
};

/* As hf_u32_any; a field that is missing is an error, named as the first name. */
static int need_any(const struct hf_reader *r, const char *const *fields, uint32_t max,
                    uint32_t *out)
{
    *out = 0;
    int rc = hf_u32_any(r, fields, max, out);

    if (rc == 0 && *out == 0)
        rc = hf_fail(r, fields[0], "missing: needed for the size of the layers' state");
    return rc;
}

static int need(const struct hf_reader *r, const char *field, uint32_t max, uint32_t *out)
{
    return need_any(r, (const char *const[]){field, NULL}, max, out);
}

/* ---- the kinds of layers ---- */

static int read_kda(const struct hf_reader *r, struct hf_state *s)
{
    uint32_t heads, dim, kernel;
    int rc = need(r, "linear_attn_config.num_heads", HF_WIDTH_MAX, &heads);

    if (rc == 0)
        rc = need(r, "linear_attn_config.head_dim", HF_WIDTH_MAX, &dim);
    if (rc == 0)
        rc = need(r, "linear_attn_config.short_conv_kernel_size", HF_KERNEL_MAX, &kernel);
    if (rc < 0)
        return rc;
    s->inputs = 3 * (uint64_t)heads * dim * (kernel - 1);
    s->recurrent = (uint64_t)heads * dim * dim;
    return 0;
}

static int read_delta_net(const struct hf_reader *r, struct hf_state *s)
{
    uint32_t keys, values, key_dim, value_dim, kernel;
    int rc = need(r, "linear_num_key_heads", HF_WIDTH_MAX, &keys);

    if (rc == 0)
        rc = need(r, "linear_num_value_heads", HF_WIDTH_MAX, &values);
    if (rc == 0)
        rc = need(r, "linear_key_head_dim", HF_WIDTH_MAX, &key_dim);
    if (rc == 0)
        rc = need(r, "linear_value_head_dim", HF_WIDTH_MAX, &value_dim);
    if (rc == 0)
        rc = need(r, "linear_conv_kernel_dim", HF_KERNEL_MAX, &kernel);
    if (rc < 0)
        return rc;
    s->inputs = (2 * (uint64_t)keys * key_dim + (uint64_t)values * value_dim) * (kernel - 1);
    s->recurrent = (uint64_t)values * key_dim * value_dim;
    return 0;
}

static int read_short_conv(const struct hf_reader *r, struct hf_state *s)
{
    static const char *const widths[] = {"conv_dim", "hidden_size", NULL};
    uint32_t width, kernel;
    int rc = need(r, "conv_L_cache", HF_KERNEL_MAX, &kernel);

    if (rc == 0)
        rc = need_any(r, widths, HF_HIDDEN_MAX, &width);
    if (rc == 0)
        s->inputs = (uint64_t)width * (kernel - 1);
    return rc;
}

static int read_expanded(const struct hf_reader *r, uint64_t *width)
{
    static const char *const names[] = {"mamba_expand", "expand", NULL};
    uint32_t expand, hidden;
    int rc = need_any(r, names, HF_EXPAND_MAX, &expand);

    if (rc == 0)
        rc = need(r, "hidden_size", HF_HIDDEN_MAX, &hidden);
    if (rc == 0)
        *width = (uint64_t)expand * hidden;
    return rc;
}

static const char *const mamba_states[] = {"mamba_d_state", "ssm_state_size", NULL};
static const char *const mamba_kernels[] = {"mamba_d_conv", "conv_kernel", NULL};
static const char *const mamba_heads[] = {"mamba_n_heads", "mamba_num_heads", NULL};

static int read_mamba_1(const struct hf_reader *r, struct hf_state *s)
{
    uint32_t state, kernel;
    uint64_t width;
    int rc = need_any(r, mamba_states, HF_WIDTH_MAX, &state);

    if (rc == 0)
        rc = need_any(r, mamba_kernels, HF_KERNEL_MAX, &kernel);
    if (rc == 0)
        rc = read_expanded(r, &width);
    if (rc < 0)
        return rc;
    s->inputs = width * (kernel - 1);
    s->recurrent = width * state;
    return 0;
}

/* Heads times their width. The width may be "auto": what the expanded hidden size leaves. */
static int read_mamba_width(const struct hf_reader *r, uint64_t *width)
{
    static const char *const dims[] = {"mamba_d_head", "mamba_head_dim", NULL};
    const char *text = jsonin_text(hf_get(r, "mamba_d_head"), NULL);
    uint32_t heads, dim;

    if (text && strcmp(text, "auto") == 0)
        return read_expanded(r, width);
    int rc = need_any(r, mamba_heads, HF_WIDTH_MAX, &heads);
    if (rc == 0)
        rc = need_any(r, dims, HF_WIDTH_MAX, &dim);
    if (rc == 0)
        *width = (uint64_t)heads * dim;
    return rc;
}

static int read_mamba_2(const struct hf_reader *r, struct hf_state *s)
{
    static const char *const group_names[] = {"mamba_n_groups", "n_groups", NULL};
    uint32_t state, kernel, groups;
    uint64_t width;
    int rc = read_mamba_width(r, &width);

    if (rc == 0)
        rc = need_any(r, mamba_states, HF_WIDTH_MAX, &state);
    if (rc == 0)
        rc = need_any(r, mamba_kernels, HF_KERNEL_MAX, &kernel);
    if (rc == 0)
        rc = need_any(r, group_names, HF_WIDTH_MAX, &groups);
    if (rc < 0)
        return rc;
    s->inputs = (width + 2 * (uint64_t)groups * state) * (kernel - 1);
    s->recurrent = width * state;
    return 0;
}

/* ---- element types ---- */

/* The type that the field names; *t stays if it is missing. */
static int read_type(const struct hf_reader *r, const char *field, struct hf_type *t)
{
    static const enum model_type known[] = {MODEL_FLOAT16, MODEL_BFLOAT16, MODEL_FLOAT32};
    const struct jsonin_v *v = hf_get(r, field);
    const char *type = jsonin_text(v, NULL);

    if (!v || (type && strcmp(type, "auto") == 0))
        return 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (type && strcmp(type, model_type_name(known[i])) == 0) {
            t->type = known[i];
            snprintf(t->by, sizeof(t->by), "%s%s", r->nested, field);
            return 0;
        }
    return hf_fail(r, field, "neither float32, float16, bfloat16 nor auto");
}

static int read_types(const struct hf_reader *r, const struct hf_type *activation,
                      struct hf_state *s)
{
    static const char *const types[] = {"mamba_ssm_cache_dtype", "mamba_ssm_dtype"};

    s->inputs_type = *activation;
    int rc = read_type(r, "mamba_cache_dtype", &s->inputs_type);
    s->recurrent_type = s->inputs_type;
    for (size_t i = 0; rc == 0 && i < sizeof(types) / sizeof(types[0]); i++)
        rc = read_type(r, types[i], &s->recurrent_type);
    if (hf_get(r, "linear_attn_config"))
        s->recurrent_type = (struct hf_type){MODEL_FLOAT32, "KDA, in every engine"};
    return rc;
}

int hf_state_read(const struct hf_reader *r, const char *field, const struct model *m,
                  const struct hf_type *activation, struct hf_state *s)
{
    int rc = 0;

    *s = (struct hf_state){0};
    if (hf_get(r, "linear_attn_config"))
        rc = read_kda(r, s);
    else if (hf_get(r, "linear_num_value_heads"))
        rc = read_delta_net(r, s);
    else if (hf_get(r, "conv_L_cache"))
        rc = read_short_conv(r, s);
    else if (hf_get(r, mamba_heads[0]) || hf_get(r, mamba_heads[1]))
        rc = read_mamba_2(r, s);
    else if (hf_get(r, mamba_states[0]))
        rc = read_mamba_1(r, s);
    else if (strncmp(r->type, "minimax", 7) == 0 && m->heads > 0)
        s->recurrent = (uint64_t)m->heads * m->head_dim * m->head_dim;
    else
        rc = hf_fail(r, field,
                     "layers without keys and values have a state, whose size cannot "
                     "be told from this file");
    return rc < 0 ? rc : read_types(r, activation, s);
}
