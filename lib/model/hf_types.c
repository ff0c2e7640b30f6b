/* Reads the type of activations and what a quantised checkpoint states of its cache, for hf.c. */
#include "lib/model/hf_types.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static void set(struct hf_type *t, enum model_type type, const struct hf_reader *r, const char *by)
{
    t->type = type;
    snprintf(t->by, sizeof(t->by), "%s%s", r->nested, by);
}

/* The document as a reader of its own: what stands around the language model. */
static struct hf_reader around(const struct hf_reader *r)
{
    struct hf_reader root = *r;

    root.text = r->root;
    root.nested = "";
    return root;
}

/* false: the file does not say. */
static bool read_activation(const struct hf_reader *r, struct hf_type *t)
{
    static const char *const names[] = {"torch_dtype", "dtype"};
    char by[MODEL_KEYS_CAP];

    for (size_t i = 0; i < 2; i++) {
        const char *text = jsonin_text(hf_get(r, names[i]), NULL);
        if (!text)
            continue;
        if (strncmp(text, "torch.", 6) == 0)
            text += 6;
        bool wide = strcmp(text, "float32") == 0 || strcmp(text, "float") == 0;
        snprintf(by, sizeof(by), "%s%s", names[i], wide ? " (float32, kept in 16 bits)" : "");
        set(t, wide || strcmp(text, "bfloat16") == 0 ? MODEL_BFLOAT16 : MODEL_FLOAT16, r, by);
        return true;
    }
    return false;
}

/* The element type of a scheme: its number of bits, float or whole. */
static int read_scheme(const struct hf_reader *r, const struct jsonin_v *v, const char *by,
                       struct hf_type *cache)
{
    const char *type = jsonin_text(jsonin_get(v, "type"), NULL);
    bool real = type && strcmp(type, "float") == 0, whole = type && strcmp(type, "int") == 0;
    uint64_t bits = 0;

    jsonin_u64(jsonin_get(v, "num_bits"), &bits);
    if (bits == 8 && (real || whole))
        set(cache, real ? MODEL_FP8 : MODEL_INT8, r, by);
    else if (bits == 4 && real)
        set(cache, MODEL_NVFP4, r, by);
    else
        return hf_assume(r, by, "16 bits",
                         "a cache of %llu bits and type '%.40s' is not known; --kv-dtype gives it",
                         (unsigned long long)bits, type ? type : "");
    return 0;
}

/* The element type that the name of an algorithm states. */
static int read_algorithm(const struct hf_reader *r, const char *text, const char *by,
                          struct hf_type *cache)
{
    static const struct {
        const char *name;
        enum model_type type;
    } known[] = {{"fp8", MODEL_FP8},
                 {"fp8_e4m3", MODEL_FP8},
                 {"fp8_e5m2", MODEL_FP8},
                 {"int8", MODEL_INT8},
                 {"nvfp4", MODEL_NVFP4}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcasecmp(text, known[i].name) == 0) {
            set(cache, known[i].type, r, by);
            return 0;
        }
    /* AutoFP8's schemes are about scales; an engine keeps 16 bits unless it is told otherwise. */
    static const char *const none[] = {"", "none", "auto", "mixed_precision", "static", "dynamic"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        if (strcasecmp(text, none[i]) == 0)
            return 0;
    return hf_assume(r, by, "16 bits",
                     "'%.40s' is no type of a cache that is known; --kv-dtype gives it", text);
}

/* *stated: the reader's part of the file says something, if only that nothing is quantised. */
static int read_cache(const struct hf_reader *r, struct hf_type *cache, bool *stated)
{
    static const char *const places[] = {"quantization_config", "compression_config",
                                         "quantization"};
    static const char *const keys[] = {"quantization.kv_cache_scheme", "kv_cache_scheme",
                                       "quantization.kv_cache_quant_algo", "kv_cache_quant_algo"};

    for (size_t i = 0; i < 3 * 4; i++) {
        char by[MODEL_KEYS_CAP];
        snprintf(by, sizeof(by), "%s.%s", places[i / 4], keys[i % 4]);
        const struct jsonin_v *v = hf_get(r, by);
        const char *text = jsonin_text(v, NULL);
        *stated = text || hf_key(v, 0);
        if (*stated)
            return text ? read_algorithm(r, text, by, cache) : read_scheme(r, v, by, cache);
    }
    return 0;
}

int hf_types_read(const struct hf_reader *r, struct hf_type *activation, struct hf_type *cache)
{
    struct hf_reader root = around(r);
    bool stated;

    *activation = (struct hf_type){.type = MODEL_FLOAT16};
    if (!read_activation(r, activation))
        read_activation(&root, activation);
    *cache = *activation;
    int rc = read_cache(r, cache, &stated);
    if (rc == 0 && !stated)
        rc = read_cache(&root, cache, &stated);
    if (rc < 0 || stated || !r->beside || hf_get(r, "quantization_config") ||
        hf_get(&root, "quantization_config"))
        return rc;
    struct hf_reader beside = root;
    beside.text = r->beside;
    beside.nested = "hf_quant_config.json: ";
    return read_cache(&beside, cache, &stated);
}
