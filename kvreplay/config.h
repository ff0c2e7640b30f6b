/* config.h - what the configuration file says to kvreplay. */
#ifndef KVREPLAY_CONFIG_H
#define KVREPLAY_CONFIG_H

#include "kvreplay/options.h"

/* Reads the file of --config, or without one the defaults of its keys, into o; an option of the
 * command line comes before the key that means the same. Prints warnings about keys that mean
 * nothing. Errors as conf_open's, and -EINVAL. */
int config_read(const struct opt_parser *p, struct options *o, struct err *e);

#endif
