/* Fields of a config.json, read with their ranges. A field that is missing and one that is null are
 * the same, but for hf_has. */
#ifndef KVTRACE_MODEL_HF_FIELDS_H
#define KVTRACE_MODEL_HF_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/notes.h"
#include "lib/json/jsonin.h"

enum {
    HF_LAYERS_MAX = 10000,
    HF_WIDTH_MAX = 65536, /* heads, and elements of one */
    HF_HIDDEN_MAX = 1 << 24,
    HF_WINDOW_MAX = 1 << 30,
    HF_KEYS_MAX = 4096 /* of a document, but for objects that are passed over */
};

/* Defaults of a family's class, for fields that its file leaves out (0: none). */
struct hf_family {
    const char *type; /* model_type */
    uint32_t heads, kv_heads, head_dim, window;
    uint32_t pattern; /* every pattern-th layer is full, the others are windowed */
    uint32_t shared;  /* num_kv_shared_layers */
};

struct hf_reader {
    const struct jsonin_v *root;   /* the document */
    const struct jsonin_v *text;   /* the language model in it, or all of it */
    const struct jsonin_v *beside; /* hf_quant_config.json; NULL: there is none */
    const char *nested; /* where in the document that is: "text_config."; "": it is all */
    const char *type;   /* model_type, "" if missing */
    const struct hf_family *family;
    struct notes *assumed; /* NULL: what is not known is an error; else it is assumed, and told */
    const char *where;
    struct err *e;
};

/* -EINVAL, with "FIELD: WHY" in *e. */
int hf_fail(const struct hf_reader *r, const char *field, const char *why, ...)
    __attribute__((format(printf, 3, 4)));
/* hf_fail; but if the reader may assume, 0, with why and the assumption in a note. */
int hf_assume(const struct hf_reader *r, const char *field, const char *assumed, const char *why,
              ...) __attribute__((format(printf, 4, 5)));
/* The name of the i-th member of an object, whatever its value; NULL: no object, or past its end.
 * O(i). */
const char *hf_key(const struct jsonin_v *object, size_t i);
/* The field of the language model; NULL: missing or null. */
const struct jsonin_v *hf_get(const struct hf_reader *r, const char *field);
/* Is the field there, if only as null? */
bool hf_has(const struct hf_reader *r, const char *field);
bool hf_is(const struct hf_reader *r, const char *type);

/* Each returns 0 or -EINVAL, and leaves *out alone when the field is missing. */
int hf_u32(const struct hf_reader *r, const char *field, uint32_t max, uint32_t *out); /* from 1 */
int hf_u32_from_0(const struct hf_reader *r, const char *field, uint32_t max, uint32_t *out);
/* Takes 0 and 1 as well. */
int hf_bool(const struct hf_reader *r, const char *field, bool *out);
/* As hf_u32, of the first of several names (the last is NULL) that the file has. */
int hf_u32_any(const struct hf_reader *r, const char *const *fields, uint32_t max, uint32_t *out);

#endif
