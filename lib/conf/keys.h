/* The table of all keys that may stand in a configuration file, and the search in it. */
#ifndef KVTRACE_CONF_KEYS_H
#define KVTRACE_CONF_KEYS_H

#include <stdbool.h>
#include <stddef.h>

enum conf_type {
    CONF_I64,
    CONF_F64,
    CONF_TEXT,
    CONF_I64_PAIR, /* a YAML sequence of two numbers, low <= high */
    CONF_F64_PAIR,
    CONF_I64_LIST
};

struct conf_key {
    const char *path; /* "decode.batch_size"; '*' stands for any one name */
    enum conf_type type;
    const char *def;     /* as YAML text; NULL: no default (only in sections with '*') */
    double min, max;     /* range of the numbers, both inclusive */
    const char *choices; /* "a|b|c" for CONF_TEXT; NULL: any text */
    const char *help;    /* NULL: a key of the Python benchmark that has no meaning here */
};

/* Ends with a row whose path is NULL. */
extern const struct conf_key conf_keys[];

enum {
    CONF_NAME_MAX = 128 /* bytes of one name in a path, with the NUL */
};

enum conf_keys_match {
    CONF_KEYS_NONE,
    CONF_KEYS_SECTION,
    CONF_KEYS_KEY
};

/* Looks up the n names, from the root down. *row is set for CONF_KEYS_KEY only. */
enum conf_keys_match conf_keys_find(const char *const *names, size_t n,
                                    const struct conf_key **row);
/* Guesses what the last of the n names (n >= 1) stands for: a similar name in the same section, or
 * the path of a key with this name in another section. False: no guess. */
bool conf_keys_guess(const char *const *names, size_t n, char guess[CONF_NAME_MAX]);
/* Returns the row of an exact path ('*' replaced by a name, which may contain dots), NULL if there
 * is none. */
const struct conf_key *conf_keys_row(const char *path);
/* Number of rows. */
size_t conf_keys_count(void);

#endif
