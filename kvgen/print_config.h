/* print_config.h - the configuration file with every default, for people to begin with. */
#ifndef KVGEN_PRINT_CONFIG_H
#define KVGEN_PRINT_CONFIG_H

#include <stdio.h>

#include "lib/base/err.h"

/* YAML from the tables of configuration keys and options: every key that is used, with its default
 * and what it means; options, keys without a default and those not used yet as comments. 0, or
 * -errno with *e. */
int print_config(FILE *f, struct err *e);

#endif
