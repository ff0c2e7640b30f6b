/* Reads in which types a checkpoint keeps its weights, for the memory that they take and the time
 * to read them. The names of modules that stay as they were are read by their words, not matched as
 * patterns: lists hold names, globs and regular expressions side by side. */
#include "lib/model/hf_weights.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    BIT = MODEL_BIT,
    WHOLE = 16 * BIT, /* the dtype: 16 bits, float32 too (hf_types.h) */
    GROUP_MAX = 1 << 20,
    NAMED_LAYERS_MAX = 64,
    WORD_CAP = 48,
    ATTENTION = 1 << HF_Q | 1 << HF_K | 1 << HF_V | 1 << HF_O,
    DENSE = 7 << HF_DENSE_GATE,
    SHARED = 7 << HF_SHARED_GATE,
    ROUTED = 7 << HF_ROUTED_GATE,
    GATE = 1 << HF_DENSE_GATE | 1 << HF_SHARED_GATE | 1 << HF_ROUTED_GATE,
    UP = GATE << 1,
    DOWN = GATE << 2,
    ALL = ATTENTION | DENSE | SHARED | ROUTED
};

/* What a checkpoint says of its weights. */
struct types {
    const struct jsonin_v *config;
    uint32_t bits[HF_MATRICES], head; /* of a parameter, in 1 / BIT */
    uint32_t plain;                   /* matrices that are as they were in all layers, ... */
    uint16_t by_layer[HF_LAYERS_MAX]; /* ... and in one */
};

/* ---- names of modules ---- */

/* Words of names: the module, or the matrix in it. */
static const struct {
    const char *word;
    uint32_t module, matrix;
} words[] = {
    {"self_attn", ATTENTION, 0},
    {"self_attention", ATTENTION, 0},
    {"attention", ATTENTION, 0},
    {"attn", ATTENTION, 0},
    {"mlp", DENSE | SHARED | ROUTED, 0},
    {"feed_forward", DENSE | SHARED | ROUTED, 0},
    {"block_sparse_moe", ROUTED, 0},
    {"experts", ROUTED, 0},
    {"shared_expert", SHARED, 0},
    {"shared_experts", SHARED, 0},
    {"shared_mlp", SHARED, 0},
    {"q_proj", 0, 1 << HF_Q},
    {"q_a_proj", 0, 1 << HF_Q},
    {"q_b_proj", 0, 1 << HF_Q},
    {"k_proj", 0, 1 << HF_K},
    {"kv_a_proj_with_mqa", 0, 1 << HF_K},
    {"v_proj", 0, 1 << HF_V},
    {"kv_b_proj", 0, 1 << HF_V},
    {"o_proj", 0, 1 << HF_O},
    {"qkv_proj", 0, 1 << HF_Q | 1 << HF_K | 1 << HF_V},
    {"query_key_value", 0, 1 << HF_Q | 1 << HF_K | 1 << HF_V},
    {"gate_proj", 0, GATE},
    {"up_proj", 0, UP},
    {"up", 0, UP},
    {"gate_up", 0, GATE | UP},
    {"gate_up_proj", 0, GATE | UP},
    {"down_proj", 0, DOWN},
    {"down", 0, DOWN},
    {"w1", 0, GATE},
    {"w3", 0, UP},
    {"w2", 0, DOWN},
};
static const char *const layer_words[] = {"layers", "h", "blocks"};
/* Parts of names that say that the module is another one than ours. */
static const char *const elsewhere[] = {"vis",     "audio",       "mtp",    "multi_modal",
                                        "indexer", "embed",       "talker", "lm_head",
                                        "encoder", "mm_projector"};

/* What a name is about. layers 0: all. */
struct named {
    uint32_t matrices;
    uint32_t layer[NAMED_LAYERS_MAX], layers;
};

static bool is_layer_word(const char *word)
{
    for (size_t i = 0; i < sizeof(layer_words) / sizeof(*layer_words); i++)
        if (strcmp(layer_words[i], word) == 0)
            return true;
    return false;
}

/* The next word of a name in word[WORD_CAP], cut; NULL: there is none. */
static const char *next_word(const char *at, char *word)
{
    size_t len = 0;
    while (*at && !isalnum((unsigned char)*at) && *at != '_')
        at++;
    for (; isalnum((unsigned char)*at) || *at == '_'; at++)
        if (len + 1 < WORD_CAP)
            word[len++] = *at;
    word[len] = '\0';
    return len ? at : NULL;
}

static bool is_number(const char *word, uint32_t *n)
{
    *n = 0;
    for (size_t i = 0; word[i]; i++) {
        if (!isdigit((unsigned char)word[i]) || i == 8)
            return false;
        *n = 10 * *n + (uint32_t)(word[i] - '0');
    }
    return true;
}

/* Adds what a word says to the module and the matrix that are named. false: it is unknown. */
static bool add_word(const char *word, uint32_t *module, uint32_t *matrix)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(words[i].word, word) != 0)
            continue;
        *module = words[i].module ? words[i].module : *module;
        *matrix |= words[i].matrix;
        return true;
    }
    return false;
}

/* Single experts are left out: they are few of many. */
static void read_name(struct named *out, const char *name)
{
    char word[WORD_CAP];
    uint32_t module = 0, matrix = 0, number;
    bool in_layers = false, in_module = false, router = false;
    *out = (struct named){0};
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++)
        if (strstr(name, elsewhere[i]))
            return;
    for (const char *at = name; (at = next_word(at, word));) {
        if (is_number(word, &number)) {
            if (in_module)
                return;
            if (in_layers && out->layers < NAMED_LAYERS_MAX)
                out->layer[out->layers++] = number;
            continue;
        }
        in_layers |= is_layer_word(word);
        router |= strcmp(word, "gate") == 0 || strcmp(word, "router") == 0;
        in_module |= add_word(word, &module, &matrix);
        if (strstr(word, "norm"))
            return;
    }
    if (router && !matrix)
        return;
    /* mlp.up_proj is that of the layer itself; experts and shared ones have a name of their own. */
    if (matrix && module == (DENSE | SHARED | ROUTED))
        module = DENSE;
    if (module || matrix || out->layers)
        out->matrices = (module ? module : ALL) & (matrix ? matrix : ALL);
}

/* The members of a list are not converted. */
static void keep_plain(struct types *t, const struct jsonin_v *list)
{
    for (size_t i = 0; i < jsonin_count(list); i++) {
        const char *name = jsonin_text(jsonin_at(list, i), NULL);
        struct named n;
        if (!name)
            continue;
        read_name(&n, name);
        for (uint32_t k = 0; k < n.layers; k++)
            if (n.layer[k] < HF_LAYERS_MAX)
                t->by_layer[n.layer[k]] |= (uint16_t)n.matrices;
        if (n.layers == 0)
            t->plain |= n.matrices;
    }
}

/* ---- methods ---- */

static uint32_t number(const struct types *t, const char *const *names, uint32_t max)
{
    uint64_t n;
    for (; *names; names++)
        if (jsonin_u64(jsonin_get(t->config, *names), &n) == 0 && n > 0 && n <= max)
            return (uint32_t)n;
    return 0;
}

static bool is_on(const struct jsonin_v *object, const char *name)
{
    bool on = false;
    return jsonin_bool(jsonin_get(object, name), &on) == 0 && on;
}

/* bits, and more for each group of parameters; group 0: for a whole row, which is nothing. */
static uint32_t grouped(uint32_t bits, uint32_t more, uint32_t group)
{
    return bits * BIT + (group ? (more * BIT + group / 2) / group : 0);
}

static void set(struct types *t, uint32_t matrices, uint32_t bits)
{
    for (int i = 0; i < HF_MATRICES; i++)
        if (matrices >> i & 1)
            t->bits[i] = bits;
}

static bool read_fp8(struct types *t)
{
    const struct jsonin_v *block = jsonin_get(t->config, "weight_block_size");
    uint64_t rows = 0, columns = 0;
    if (jsonin_u64(jsonin_at(block, 0), &rows) < 0 || rows > 4096 ||
        jsonin_u64(jsonin_at(block, 1), &columns) < 0 || columns > 4096)
        rows = columns = 0;
    set(t, ALL, grouped(8, 32, (uint32_t)(rows * columns)));
    return true;
}

static bool read_mxfp4(struct types *t)
{
    set(t, ROUTED, grouped(4, 8, 32));
    return true;
}

static uint32_t group_size(const struct types *t)
{
    return number(t, (const char *const[]){"group_size", "q_group_size", NULL}, GROUP_MAX);
}

static uint32_t bits_of(const struct types *t)
{
    return number(t, (const char *const[]){"bits", "w_bit", NULL}, 16);
}

static bool read_awq(struct types *t)
{
    const uint32_t bits = bits_of(t), zeros = is_on(t->config, "zero_point") ? bits : 0;
    set(t, ALL, bits ? grouped(bits, 16 + zeros, group_size(t)) : WHOLE);
    return bits > 0;
}

static bool read_gptq(struct types *t)
{
    const uint32_t bits = bits_of(t), all = grouped(bits, 16 + bits, group_size(t));
    set(t, ALL, bits ? all : WHOLE);
    if (bits && is_on(t->config, "lm_head"))
        t->head = all;
    return bits > 0;
}

static bool read_bitsandbytes(struct types *t)
{
    const struct jsonin_v *c = t->config;
    if (is_on(c, "load_in_4bit") || is_on(c, "_load_in_4bit"))
        set(t, ALL,
            is_on(c, "bnb_4bit_use_double_quant") ? grouped(4, 8 * 256 + 32, 64 * 256)
                                                  : grouped(4, 32, 64));
    else if (is_on(c, "load_in_8bit") || is_on(c, "_load_in_8bit"))
        set(t, ALL, 8 * BIT);
    else
        return false;
    return true;
}

/* The bits of one of config_groups; 0: not known. */
static uint32_t group_bits(const struct jsonin_v *weights)
{
    const char *type = jsonin_text(jsonin_get(weights, "type"), NULL);
    const struct jsonin_v *block = jsonin_get(weights, "block_structure");
    bool symmetric = true;
    uint64_t bits = 0, group = 0, columns = 0;
    jsonin_bool(jsonin_get(weights, "symmetric"), &symmetric);
    if (jsonin_u64(jsonin_get(weights, "num_bits"), &bits) < 0 || bits == 0 || bits > 16)
        return 0;
    const uint32_t zeros = symmetric ? 0 : (uint32_t)bits;
    const bool small = type && strcmp(type, "float") == 0 && bits == 4;
    if (jsonin_u64(jsonin_at(block, 0), &group) == 0 && group <= 4096 &&
        jsonin_u64(jsonin_at(block, 1), &columns) == 0 && columns <= 4096)
        return grouped((uint32_t)bits, 32, (uint32_t)(group * columns));
    group = 0;
    if (jsonin_u64(jsonin_get(weights, "group_size"), &group) < 0 || group > GROUP_MAX)
        group = 0;
    return grouped((uint32_t)bits, (small ? 8 : 16) + zeros, (uint32_t)group);
}

/* Each group names the modules that it is for: by their class (Linear), or by patterns. */
static bool read_groups(struct types *t)
{
    const struct jsonin_v *groups = jsonin_get(t->config, "config_groups");
    const char *key;
    if (jsonin_members(groups) == 0)
        return false;
    for (size_t i = 0; i < jsonin_members(groups); i++) {
        const struct jsonin_v *group = jsonin_member(groups, i, &key);
        const struct jsonin_v *targets = jsonin_get(group, "targets");
        const uint32_t bits = group_bits(jsonin_get(group, "weights"));
        uint32_t matrices = jsonin_count(targets) ? 0 : ALL;
        if (!bits)
            return false;
        for (size_t k = 0; k < jsonin_count(targets); k++) {
            const char *name = jsonin_text(jsonin_at(targets, k), NULL);
            struct named n = {0};
            if (name && strcmp(name, "Linear") == 0)
                n.matrices = ALL;
            else if (name)
                read_name(&n, name);
            matrices |= n.matrices;
        }
        set(t, matrices, bits);
    }
    return true;
}

static bool read_modelopt(struct types *t)
{
    const char *text = jsonin_text(jsonin_get(t->config, "quant_algo"), NULL);
    if (text && strncasecmp(text, "FP8", 3) == 0)
        set(t, ALL, 8 * BIT);
    else if (text && strcasecmp(text, "NVFP4") == 0)
        set(t, ALL, grouped(4, 8, 16));
    else
        return read_groups(t);
    return true;
}

static const struct {
    const char *name;
    bool (*read)(struct types *t); /* false: its numbers are not known */
} methods[] = {
    {"fp8", read_fp8},
    {"fbgemm_fp8", read_fp8},
    {"mxfp4", read_mxfp4},
    {"gpt_oss_mxfp4", read_mxfp4},
    {"awq", read_awq},
    {"awq_marlin", read_awq},
    {"gptq", read_gptq},
    {"gptq_marlin", read_gptq},
    {"auto-round", read_gptq},
    {"bitsandbytes", read_bitsandbytes},
    {"compressed-tensors", read_groups},
    {"modelopt", read_modelopt},
    {"modelopt_fp4", read_modelopt},
};

/* The part of the file that is about quantisation; NULL: there is none. */
static const struct jsonin_v *find_config(const struct hf_reader *r, const char **name)
{
    static const char *const names[] = {"quantization_config", "compression_config",
                                        "quantization"};
    for (size_t i = 0; i < 2 * sizeof(names) / sizeof(*names); i++) {
        const struct jsonin_v *v = jsonin_get(i % 2 ? r->root : r->text, names[i / 2]);
        *name = names[i / 2];
        if (hf_key(v, 0))
            return v;
    }
    *name = "hf_quant_config.json";
    return jsonin_get(r->beside, "quantization");
}

/* How the file names its method; where it does not, by what is there. */
static const char *method_of(const struct jsonin_v *config)
{
    const char *method = jsonin_text(jsonin_get(config, "quant_method"), NULL);
    if (!method)
        method = jsonin_get(config, "quant_algo")      ? "modelopt"
                 : jsonin_get(config, "config_groups") ? "compressed-tensors"
                                                       : "";
    return method;
}

/* false: the method, or what it says, is not known. */
static bool read_method(struct types *t, const char *method)
{
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
        if (strcasecmp(methods[i].name, method) == 0)
            return methods[i].read(t);
    return false;
}

static void read_lists(struct types *t)
{
    static const char *const lists[] = {"modules_to_not_convert", "ignored_layers", "ignore",
                                        "exclude_modules", "llm_int8_skip_modules"};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        keep_plain(t, jsonin_get(t->config, lists[i]));
}

/* ---- sums ---- */

/* Parameters, and 1 / BIT bits of them. */
struct sum {
    unsigned __int128 params, bits;
};

static void add(struct sum *s, uint64_t params, uint32_t bits)
{
    s->params += params;
    s->bits += (unsigned __int128)params * bits;
}

static uint32_t mean(const struct sum *s, uint32_t none)
{
    return s->params ? (uint32_t)((s->bits + s->params / 2) / s->params) : none;
}

/* Of a parameter that each token multiplies with, and of one of a routed expert. */
static void set_means(const struct types *t, const struct hf_matrices *x, struct model *m)
{
    struct sum common = {0}, routed = {0};
    for (uint32_t i = 0; x->known && i < m->layers; i++) {
        const uint32_t other = x->dense[i] ? SHARED | ROUTED : DENSE;
        const uint32_t plain = t->plain | t->by_layer[i];
        for (int k = 0; k < HF_MATRICES; k++) {
            const uint32_t bits = plain >> k & 1 ? WHOLE : t->bits[k];
            if (!(other >> k & 1))
                add(k >= HF_ROUTED_GATE ? &routed : &common, x->params[k], bits);
        }
        add(&common, x->dense[i] ? 0 : x->router, WHOLE);
    }
    add(&common, x->indexers, t->plain >> HF_Q & 1 ? WHOLE : t->bits[HF_Q]);
    m->common_bits = mean(&common, t->bits[HF_DENSE_UP]);
    m->routed_bits = mean(&routed, t->bits[HF_ROUTED_UP]);
    m->head_bits = t->head;
}

void hf_weights_read(const struct hf_reader *r, const struct hf_matrices *x, struct model *m,
                     struct notes *told)
{
    struct types t = {.head = WHOLE};
    const char *name, *method;
    m->common_bits = m->routed_bits = m->head_bits = WHOLE;
    t.config = find_config(r, &name);
    if (!t.config)
        return;
    if (hf_key(jsonin_get(t.config, "quantization"), 0))
        t.config = jsonin_get(t.config, "quantization");
    set(&t, ALL, WHOLE);
    method = method_of(t.config);
    if (!read_method(&t, method)) {
        notes_add(told,
                  "%s: the size of weights by '%.40s' is not known: 16 bits a parameter, unless "
                  "--weights gives it",
                  name, method);
        return;
    }
    read_lists(&t);
    set_means(&t, x, m);
}
