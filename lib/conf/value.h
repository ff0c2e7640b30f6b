/* One configuration value: texts checked against a row of the table. */
#ifndef KVTRACE_CONF_VALUE_H
#define KVTRACE_CONF_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/conf/keys.h"

enum {
    CONF_LIST_MAX = 1024,
    CONF_WHY_MAX = 256
};

/* Exactly one of the three arrays is set, with count elements (text: one). All NULL: no value. */
struct conf_value {
    size_t count;
    int64_t *i64;
    double *f64;
    char *text;
};

/* Returns whether the type takes a YAML sequence. */
bool conf_value_is_list(enum conf_type type);
/* Names the type in errors: "a whole number", "two numbers [low, high]"... */
const char *conf_value_noun(enum conf_type type);

/* Parses the n texts as a value for key; the caller clears it. 0; -EINVAL with the reason in
 * why[CONF_WHY_MAX]; or -ENOMEM. */
int conf_value_parse(struct conf_value *out, const struct conf_key *key, const char *const *texts,
                     size_t n, char *why);
/* Parses the row's default; *out is empty if it has none. 0 or -ENOMEM. A bad default is an
 * assertion. */
int conf_value_default(struct conf_value *out, const struct conf_key *key);
bool conf_value_equal(const struct conf_value *a, const struct conf_value *b);
void conf_value_clear(struct conf_value *v);

#endif
