/* Writes a configuration file with every default, as a start for users' own. */
#ifndef KVGEN_OPTIONS_PRINT_CONFIG_H
#define KVGEN_OPTIONS_PRINT_CONFIG_H

#include <stdio.h>

#include "lib/base/err.h"

/* Writes YAML made from the tables of configuration keys and of options: every key with its default
 * and its meaning; options and keys without a default as comments. 0, or -errno with *e. */
int print_config(FILE *f, struct err *e);

#endif
