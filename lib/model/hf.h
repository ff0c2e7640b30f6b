/* Reads a model from a Hugging Face config.json. */
#ifndef KVTRACE_MODEL_HF_H
#define KVTRACE_MODEL_HF_H

#include "lib/base/err.h"
#include "lib/base/notes.h"
#include "lib/json/jsonin.h"
#include "lib/model/model.h"

/* Reads the model that the document describes; id and name stay empty. 0, or -EINVAL naming a field
 * that is missing, out of range, or has a meaning that the arithmetic does not cover. A key that
 * may change the cache's size and is not known (hf_keys.h) is an error too, unless ignored is
 * there, which then gets its name. */
int model_hf_parse(struct model *out, const struct jsonin_v *root, const char *where,
                   struct notes *ignored, struct err *e);
/* Reads the file path (plain or zstd). The id is the file's name without its ending, or for
 * "config.json" the folder's name. */
int model_hf_load(struct model *out, const char *path, struct notes *ignored, struct err *e);

#endif
