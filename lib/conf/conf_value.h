/* conf_value.h - one value of the configuration: texts checked against a row of conf_keys; used by
 * conf.c only. */
#ifndef KVTRACE_CONF_CONF_VALUE_H
#define KVTRACE_CONF_CONF_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/conf/conf.h"

enum {
    CONF_LIST_MAX = 1024,
    CONF_WHY_MAX = 256
};

/* Exactly one of the three is set, count elements long; all NULL: no value. */
struct conf_value {
    size_t count;
    int64_t *i64;
    double *f64;
    char *text;
};

/* Does the row want a YAML sequence? */
bool conf_value_is_list(enum conf_type type);
/* "a whole number", "two numbers [low, high]"...: what the row wants. */
const char *conf_value_noun(enum conf_type type);

/* The value that the n texts stand for; the caller clears it. -EINVAL with the reason in
 * why[CONF_WHY_MAX], or -ENOMEM. */
int conf_value_parse(struct conf_value *out, const struct conf_key *key, const char *const *texts,
                     size_t n, char *why);
/* The row's default; without one *out is empty. 0 or -ENOMEM; a bad default: assertion. */
int conf_value_default(struct conf_value *out, const struct conf_key *key);
void conf_value_clear(struct conf_value *v);

#endif
