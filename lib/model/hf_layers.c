/* Decides what each layer keeps, from the field in which a family writes it down, or from the
 * family's own rule. Widths are hf.c's, states hf_state.c's. */
#include "lib/model/hf_layers.h"

#include <string.h>

uint32_t hf_layers_of(const struct hf_layers *l, enum hf_layer kind)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->count; i++)
        n += l->kind[i] == kind;
    return n;
}

static bool is_qwen(const struct hf_reader *r)
{
    return strncmp(r->type, "qwen", 4) == 0;
}

static bool is_llama4(const struct hf_reader *r)
{
    return strncmp(r->type, "llama4", 6) == 0;
}

static void fill(struct hf_layers *l, enum hf_layer kind)
{
    memset(l->kind, (int)kind, l->count);
}

/* ---- one entry for each layer ---- */

static int one_each(const struct hf_reader *r, const char *field, const struct hf_layers *l,
                    size_t entries)
{
    return entries == l->count ? 0 : hf_fail(r, field, "expected one entry for each layer");
}

/* The kind of a layer by its name; -1: unknown. */
static int kind_of(const char *name)
{
    static const struct {
        const char *name;
        enum hf_layer kind;
    } kinds[] = {{"full_attention", HF_FULL},
                 {"attention", HF_FULL},
                 {"sliding_attention", HF_WINDOWED},
                 {"chunked_attention", HF_WINDOWED},
                 {"linear_attention", HF_STATE},
                 {"mamba", HF_STATE},
                 {"conv", HF_STATE},
                 {"mlp", HF_NOTHING},
                 {"moe", HF_NOTHING}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return (int)kinds[i].kind;
    return -1;
}

static int read_names(const struct hf_reader *r, const char *field, struct hf_layers *l)
{
    const struct jsonin_v *list = hf_get(r, field);
    int rc = one_each(r, field, l, jsonin_count(list));

    for (uint32_t i = 0; rc == 0 && i < l->count; i++) {
        const char *name = jsonin_text(jsonin_at(list, i), NULL);
        int kind = name ? kind_of(name) : -1;
        if (kind < 0)
            rc = hf_assume(r, field, "they keep the keys and values of all tokens",
                           "layers of type '%.60s' are not supported", name ? name : "(no text)");
        l->kind[i] = kind < 0 ? HF_FULL : (uint8_t)kind;
    }
    return rc;
}

/* Nemotron-H: a letter for each layer. */
static int read_letters(const struct hf_reader *r, const char *field, struct hf_layers *l)
{
    static const char letters[] = "*M-E";
    static const uint8_t kinds[] = {HF_FULL, HF_STATE, HF_NOTHING, HF_NOTHING};
    const char *text = jsonin_text(hf_get(r, field), NULL);
    int rc = one_each(r, field, l, text ? strlen(text) : 0);

    for (uint32_t i = 0; rc == 0 && i < l->count; i++) {
        const char *letter = strchr(letters, text[i]);
        if (!letter)
            rc = hf_assume(r, field, "they keep the keys and values of all tokens",
                           "layers of type '%c' are not supported", text[i]);
        l->kind[i] = letter ? kinds[letter - letters] : HF_FULL;
    }
    return rc;
}

/* A 0 or 1 for each layer. */
static int read_bits(const struct hf_reader *r, const char *field, struct hf_layers *l,
                     const uint8_t kinds[2])
{
    const struct jsonin_v *list = hf_get(r, field);
    int rc = one_each(r, field, l, jsonin_count(list));

    for (uint32_t i = 0; rc == 0 && i < l->count; i++) {
        uint64_t bit;
        if (jsonin_u64(jsonin_at(list, i), &bit) < 0 || bit > 1)
            return hf_fail(r, field, "expected a list of 0 and 1");
        l->kind[i] = kinds[bit];
    }
    return rc;
}

static int bits_of_states(const struct hf_reader *r, const char *field, struct hf_layers *l)
{
    return read_bits(r, field, l, (const uint8_t[]){HF_STATE, HF_FULL});
}

static int bits_of_windows(const struct hf_reader *r, const char *field, struct hf_layers *l)
{
    return read_bits(r, field, l, (const uint8_t[]){HF_FULL, HF_WINDOWED});
}

/* ---- lists and rules that name some layers ---- */

/* Gives the layers that the list names (the first is number first) a kind. */
static int mark(const struct hf_reader *r, const char *field, struct hf_layers *l, uint32_t first,
                enum hf_layer kind)
{
    const struct jsonin_v *list = hf_get(r, field);

    if (!jsonin_is_array(list))
        return hf_fail(r, field, "expected a list of layers");
    for (size_t i = 0; i < jsonin_count(list); i++) {
        uint64_t layer;
        if (jsonin_u64(jsonin_at(list, i), &layer) < 0 || layer < first ||
            layer - first >= l->count)
            return hf_fail(r, field, "an entry is not a layer of the model");
        l->kind[layer - first] = (uint8_t)kind;
    }
    return 0;
}

/* The listed layers have attention, the others a state. */
static int attention_from_0(const struct hf_reader *r, const char *field, struct hf_layers *l)
{
    fill(l, HF_STATE);
    return mark(r, field, l, 0, HF_FULL);
}

static int attention_from_1(const struct hf_reader *r, const char *field, struct hf_layers *l)
{
    fill(l, HF_STATE);
    return mark(r, field, l, 1, HF_FULL);
}

/* Jamba: one layer of each period. */
static int attention_by_period(const struct hf_reader *r, const char *field, struct hf_layers *l)
{
    uint32_t period = 8, offset = 4;
    int rc = hf_u32(r, field, HF_LAYERS_MAX, &period);

    if (rc == 0)
        rc = hf_u32_from_0(r, "attn_layer_offset", HF_LAYERS_MAX, &offset);
    for (uint32_t i = 0; rc == 0 && i < l->count; i++)
        l->kind[i] = i % period == offset ? HF_FULL : HF_STATE;
    return rc;
}

/* The last layer of each interval. */
static int attention_by_interval(const struct hf_reader *r, const char *field, struct hf_layers *l)
{
    uint32_t interval = 4;
    int rc = hf_u32(r, field, HF_LAYERS_MAX, &interval);

    for (uint32_t i = 0; rc == 0 && i < l->count; i++)
        l->kind[i] = (i + 1) % interval == 0 ? HF_FULL : HF_STATE;
    return rc;
}

/* ---- windows by a family's rule ---- */

/* The pattern as text: a letter for each layer, L (windowed) or G (full), over and over. */
static int window_by_letters(const struct hf_reader *r, const char *field, struct hf_layers *l,
                             const char *text)
{
    size_t len = strlen(text);

    if (len == 0 || strspn(text, "LG") != len)
        return hf_fail(r, field, "expected a number, or a string of L and G");
    for (uint32_t i = 0; i < l->count; i++)
        l->kind[i] = text[i % len] == 'L' ? HF_WINDOWED : HF_FULL;
    return 0;
}

/* Every pattern-th layer is full. *known: the file or the family has a pattern. */
static int window_by_pattern(const struct hf_reader *r, struct hf_layers *l, bool *known)
{
    uint32_t pattern = r->family->pattern;
    const char *field =
        hf_get(r, "sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
    const char *letters = jsonin_text(hf_get(r, field), NULL);

    *known = pattern > 0 || hf_get(r, field);
    if (letters)
        return window_by_letters(r, field, l, letters);
    int rc = hf_u32(r, field, HF_LAYERS_MAX, &pattern);
    for (uint32_t i = 0; rc == 0 && *known && i < l->count; i++)
        l->kind[i] = (i + 1) % pattern == 0 ? HF_FULL : HF_WINDOWED;
    return rc;
}

static int window_by_rule(const struct hf_reader *r, struct hf_layers *l)
{
    bool known, qwen = is_qwen(r) || hf_get(r, "max_window_layers");
    uint32_t first = qwen ? 28 : 0, step = 1; /* 28 in Qwen's class */
    int rc = window_by_pattern(r, l, &known);

    if (rc < 0 || known)
        return rc;
    if (qwen) {
        rc = hf_u32_from_0(r, "max_window_layers", UINT32_MAX, &first);
        if (rc < 0)
            return rc;
    } else if (hf_is(r, "gemma2") || hf_is(r, "gpt_oss")) {
        step = 2;
    }
    for (uint64_t i = first; i < l->count; i += step)
        l->kind[i] = HF_WINDOWED;
    return 0;
}

/* Llama 4: layers with rotary positions attend within a chunk, which holds at most as much as a
 * window. */
static int window_by_chunks(const struct hf_reader *r, struct hf_layers *l)
{
    uint32_t interval = 4;
    int rc = hf_u32(r, "no_rope_layer_interval", HF_LAYERS_MAX, &interval);

    if (rc == 0 && jsonin_count(hf_get(r, "no_rope_layers")) > 0)
        return bits_of_windows(r, "no_rope_layers", l);
    for (uint32_t i = 0; rc == 0 && i < l->count; i++)
        l->kind[i] = (i + 1) % interval == 0 ? HF_FULL : HF_WINDOWED;
    return rc;
}

/* Reads the length of the window; 0: there is none. *use: it is not switched off. */
static int read_window(const struct hf_reader *r, uint32_t *window, bool *use)
{
    static const char *const names[] = {"sliding_window", "sliding_window_size", NULL};
    int64_t size = 0;

    *use = !is_qwen(r);
    *window = 0;
    int rc = hf_bool(r, "use_sliding_window", use);
    if (rc < 0 || !*use)
        return rc;
    if (!hf_has(r, "sliding_window"))
        *window = r->family->window;
    if (!hf_get(r, "sliding_window") && jsonin_i64(hf_get(r, "sliding_window_size"), &size) == 0 &&
        size == -1)
        return 0;
    return hf_u32_any(r, names, HF_WINDOW_MAX, window);
}

/* ---- from these, all layers ---- */

typedef int (*layers_by)(const struct hf_reader *r, const char *field, struct hf_layers *l);

/* Where families say which layers are of which kind. The first that a file has decides. */
static const struct {
    const char *field;
    layers_by by;
} kinds_by[] = {
    {"layer_types", read_names},
    {"layers_block_type", read_names},
    {"layer_block_types", read_names},
    {"block_types", read_names},
    {"hybrid_override_pattern", read_letters},
    {"attn_type_list", bits_of_states},
    {"decoder_attention_types", bits_of_states},
    {"hybrid_layer_pattern", bits_of_windows},
    {"linear_attn_config.full_attn_layers", attention_from_1},
    {"full_attn_idxs", attention_from_0},
    {"attn_layer_indices", attention_from_0},
    {"attn_layer_period", attention_by_period},
    {"full_attention_interval", attention_by_interval},
};

/* Types whose class decides which layers keep keys and values when the file does not say it. */
static const struct {
    const char *type, *field;
} needed[] = {
    {"bamba", "attn_layer_indices"},
    {"gemma4_text", "layer_types"},
    {"granitemoehybrid", "layer_types"},
    {"lfm2_moe", "layer_types"},
    {"mimo_v2", "hybrid_layer_pattern"},
    {"mimo_v2_flash", "hybrid_layer_pattern"},
    {"minimax", "attn_type_list"},
    {"minimax_m1", "attn_type_list"},
    {"minimax_text_01", "attn_type_list"},
    {"mllama_text_model", "cross_attention_layers"},
    {"nemotron_h", "hybrid_override_pattern"},
    {"step3p5", "layer_types"},
};

static int refuse_unsaid(const struct hf_reader *r)
{
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        if (hf_is(r, needed[i].type) && !hf_get(r, needed[i].field))
            return hf_fail(
                r, needed[i].field,
                "missing: add it, because not every layer of this model keeps keys and values "
                "of all tokens");
    return 0;
}

/* Sets the kinds that the file or the family says; *said: it does. */
static int read_kinds(const struct hf_reader *r, struct hf_layers *l, bool *said)
{
    bool interval = hf_is(r, "qwen3_next") || strncmp(r->type, "qwen3_5", 7) == 0;
    const char *by_class = interval            ? "full_attention_interval"
                           : hf_is(r, "jamba") ? "attn_layer_period"
                                               : NULL;

    fill(l, HF_FULL);
    l->by = l->states_by = NULL;
    *said = false;
    for (size_t i = 0; i < sizeof(kinds_by) / sizeof(kinds_by[0]); i++) {
        const char *field = kinds_by[i].field;
        if (!hf_get(r, field) && !(by_class && strcmp(by_class, field) == 0))
            continue;
        *said = true;
        l->by = field;
        int rc = kinds_by[i].by(r, field, l);
        if (hf_layers_of(l, HF_STATE) > 0)
            l->states_by = field;
        return rc;
    }
    return refuse_unsaid(r);
}

static int read_windows(const struct hf_reader *r, struct hf_layers *l, bool said)
{
    uint32_t every = 1, chunk = is_llama4(r) && !hf_has(r, "attention_chunk_size") ? 8192 : 0;
    bool use;
    int rc = read_window(r, &l->window, &use);

    if (rc == 0)
        rc = hf_u32_from_0(r, "attention_chunk_size", HF_WINDOW_MAX, &chunk);
    if (rc == 0)
        rc = hf_u32(r, "global_attn_every_n", HF_LAYERS_MAX, &every);
    if (rc == 0 && every != 1)
        rc = hf_fail(r, "global_attn_every_n", "models with more than 1 here are not supported");
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; !use && i < l->count; i++)
        if (l->kind[i] == HF_WINDOWED)
            l->kind[i] = HF_FULL;
    if (chunk > 0 && is_llama4(r)) {
        l->window = chunk;
        return said ? 0 : window_by_chunks(r, l);
    }
    if (chunk > 0 && !said)
        return hf_fail(r, "attention_chunk_size", "models with this are not supported");
    if (l->window > 0 && !said)
        return window_by_rule(r, l);
    return 0;
}

/* A layer that uses the keys and values of another one keeps none. */
static int drop_shared(const struct hf_reader *r, struct hf_layers *l)
{
    uint32_t last = r->family->shared, factor = 0;
    bool cla = false;
    int rc = hf_u32_from_0(r, "num_kv_shared_layers", HF_LAYERS_MAX, &last);

    if (rc == 0 && last >= l->count)
        rc = hf_fail(r, "num_kv_shared_layers", "not below the number of layers");
    if (rc == 0)
        rc = hf_bool(r, "use_cla", &cla);
    if (rc == 0 && cla)
        rc = hf_u32(r, "cla_share_factor", HF_LAYERS_MAX, &factor);
    if (rc == 0 && cla && factor == 0)
        rc = hf_fail(r, "cla_share_factor", "missing (use_cla is true)");
    for (uint32_t i = 0; rc == 0 && i < l->count; i++)
        if (i >= l->count - last || (cla && i % factor != 0)) {
            l->kind[i] = HF_NOTHING;
            l->shared++;
        }
    return rc;
}

int hf_layers_read(const struct hf_reader *r, struct hf_layers *l)
{
    bool said;
    l->shared = 0;
    int rc = read_kinds(r, l, &said);

    if (rc == 0)
        rc = read_windows(r, l, said);
    if (rc == 0)
        rc = drop_shared(r, l);
    /* Their keys and values are those of a picture: not of the sequence's tokens. */
    if (rc == 0 && hf_get(r, "cross_attention_layers"))
        rc = mark(r, "cross_attention_layers", l, 0, HF_NOTHING);
    if (rc < 0)
        return rc;

    if (hf_layers_of(l, HF_WINDOWED) == 0)
        l->window = 0;
    else if (l->window == 0)
        return hf_fail(r, "sliding_window", "missing, but some layers are sliding");
    return 0;
}
