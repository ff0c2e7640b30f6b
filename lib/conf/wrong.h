/* Says why a key of the configuration is unknown. */
#ifndef KVTRACE_CONF_WRONG_H
#define KVTRACE_CONF_WRONG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/conf/keys.h"

enum {
    CONF_WRONG_MAX = CONF_NAME_MAX + 64
};

/* Writes why the last of the n names (n >= 1, from the root down) is no key: it is an option, a key
 * of another section, or a word like a key. */
void conf_wrong_key(const char *const *names, size_t n, char why[CONF_WRONG_MAX]);
/* Writes "the section kvgen", or of the several programs that have a key of this name, to buf, and
 * returns whether there is one. */
bool conf_wrong_sections(const char *key, char *buf, size_t n);
/* Whether a text that names no file is a key without its value: "rings", "kvreplay.rings",
 * "decode.batch_size". */
bool conf_wrong_is_key(const char *text);

#endif
