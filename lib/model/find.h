/* Finds the model that a user names. */
#ifndef KVTRACE_MODEL_FIND_H
#define KVTRACE_MODEL_FIND_H

#include "lib/base/err.h"
#include "lib/conf/conf.h"
#include "lib/model/hf.h"

/*
 * Looks up id in the configuration's model_configs (conf may be NULL), then among the built-in
 * models. A name ending in .json or .json.zst is read as a Hugging Face config.json (hf.h), as
 * reading says (may be NULL). 0; -ENOENT, with the known ids in *e; -EINVAL for a model that is
 * described wrongly; or an error of reading.
 */
int model_find(struct model *out, const char *id, const struct conf *conf,
               struct model_reading *reading, struct err *e);

/* The file that model_find reads for id; NULL: none. */
const char *model_file(const char *id);

#endif
