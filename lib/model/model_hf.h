/* model_hf.h - a model from a Hugging Face config.json; used by model.c, and by its fuzzer. */
#ifndef KVTRACE_MODEL_MODEL_HF_H
#define KVTRACE_MODEL_MODEL_HF_H

#include "lib/base/err.h"
#include "lib/json/jsonin.h"
#include "lib/model/model.h"

/* The model that the document describes, id and name empty. -EINVAL naming the field that is
 * missing, out of range, or means something that the KV arithmetic does not cover. */
int model_hf_parse(struct model *out, const struct jsonin_v *root, const char *where,
                   struct err *e);
/* Reads path (plain or zstd); id is the file's name without its ending, or for "config.json" the
 * folder's. */
int model_hf_load(struct model *out, const char *path, struct err *e);

#endif
