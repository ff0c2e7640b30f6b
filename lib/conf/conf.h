/* conf.h - the YAML configuration file that all four programs share (libyaml stays in conf.c).
 * Every key that may stand in it is one row of the table conf_keys (conf_keys.c): path, type,
 * default, range, help. Values come from the file or from that default, so none is typed twice. */
#ifndef KVTRACE_CONF_CONF_H
#define KVTRACE_CONF_CONF_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

enum conf_type {
    CONF_I64,
    CONF_F64,
    CONF_TEXT,
    CONF_I64_PAIR,
    CONF_F64_PAIR,
    CONF_I64_LIST
};

struct conf_key {
    const char *path;    /* "decode.batch_size"; '*' stands for any one name */
    enum conf_type type; /* a pair is a YAML sequence of two numbers, low <= high */
    const char *def;     /* as YAML text; NULL: no default (only in sections with '*') */
    double min, max;     /* range of the numbers, both inclusive */
    const char *choices; /* "a|b|c" for CONF_TEXT, NULL: any */
    const char *help;    /* NULL: a key of the Python benchmark that means nothing here */
};

/* The table, ended by a row whose path is NULL. */
extern const struct conf_key conf_keys[];

struct conf;

/*
 * Reads and checks the file ("-": standard input); NULL gives a conf with only defaults. Errors:
 * -ENOENT..., -EINVAL with FILE:LINE for bad YAML, an unknown key (nearest one suggested), a value
 * of the wrong type or out of range, a key given twice. The structure must be mappings down to the
 * keys. Anchors and aliases are refused; depth, size (16 MiB) and counts are bounded.
 */
int conf_open(struct conf **out, const char *path, struct err *e);
void conf_free(struct conf *c);

/* Text for the i-th warning ("FILE:LINE: key X means nothing here (ignored)"), NULL past
 * the end. */
const char *conf_warning(const struct conf *c, size_t i);

/* Values by exact path of a row of conf_keys ('*' replaced by a name). Unknown paths: assertion.
 * Missing and without default: the _get functions return -ENOENT and leave *out alone, else 0. */
int64_t conf_i64(const struct conf *c, const char *path);
double conf_f64(const struct conf *c, const char *path);
const char *conf_text(const struct conf *c, const char *path);
void conf_i64_pair(const struct conf *c, const char *path, int64_t out[2]);
void conf_f64_pair(const struct conf *c, const char *path, double out[2]);
int conf_get_i64(const struct conf *c, const char *path, int64_t *out);
int conf_get_f64(const struct conf *c, const char *path, double *out);
int conf_get_text(const struct conf *c, const char *path, const char **out);
/* A sequence of integers; *n 0 when missing. Lent until conf_free. */
const int64_t *conf_i64_list(const struct conf *c, const char *path, size_t *n);
/* Names that stand in a section of the file ("model_configs"), in the file's order; lent; NULL past
 * the end. conf_line: the line that a path (section or key) stands on, 0 if not in the file. */
const char *conf_name(const struct conf *c, const char *section, size_t i);
unsigned conf_line(const struct conf *c, const char *path);
const char *conf_path(const struct conf *c); /* the file's name, or "" */

#endif
