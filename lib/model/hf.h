/* Reads a model from a Hugging Face config.json. */
#ifndef KVTRACE_MODEL_HF_H
#define KVTRACE_MODEL_HF_H

#include "lib/base/err.h"
#include "lib/base/notes.h"
#include "lib/json/jsonin.h"
#include "lib/model/model.h"

/* How a file is read, and what was found. Zero it before use. */
struct model_reading {
    bool force;                    /* what is not known is assumed instead of being an error */
    const struct jsonin_v *beside; /* hf_quant_config.json, which lies beside it; NULL: none does */
    struct notes assumed;          /* why, and what */
    struct notes weights;          /* what is not known of its weights, and what they count */
    struct notes unread; /* keys whose names are about the cache, and which nothing here reads */
};

/* Reads the model that the document describes; id and name stay empty. 0, or -EINVAL naming a field
 * that is missing, out of range, or has a meaning that the arithmetic does not cover; all keys that
 * change the cache and are not read are named at once (hf_keys.h). reading may be NULL. */
int model_hf_parse(struct model *out, const struct jsonin_v *root, const char *where,
                   struct model_reading *reading, struct err *e);
/* Reads the file path (plain or zstd). The id is the file's name without its ending, or for
 * "config.json" the folder's name; an hf_quant_config.json in the folder of a config.json is read,
 * too. */
int model_hf_load(struct model *out, const char *path, struct model_reading *reading,
                  struct err *e);

#endif
