/* models.h - what kvgen prints about models without simulating anything. */
#ifndef KVGEN_OPTIONS_MODELS_H
#define KVGEN_OPTIONS_MODELS_H

#include <stdio.h>

#include "lib/base/err.h"
#include "lib/conf/conf.h"
#include "lib/model/hf.h"

/* Prints the built-in models and those of the configuration, with the bytes of 1k, 8k, 32k and 128k
 * tokens. f is standard output. 0 or negative errno with *e. */
int models_list(FILE *f, const struct conf *conf, struct err *e);
/* Prints one model as JSON on standard output, with what was found in its file. 0 or negative errno
 * with *e. */
int models_show(const struct model *m, const struct model_reading *reading, struct err *e);

#endif
