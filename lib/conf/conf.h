/* The YAML configuration that all four programs share. keys.h lists every key with its default, but
 * for those in the section of a program, which are rows of its table of options (OPT_CONFIG). A
 * value comes from the configuration, or else from that default. */
#ifndef KVTRACE_CONF_CONF_H
#define KVTRACE_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/opt/opt.h"

struct conf;

/*
 * Reads and checks the file ("-": standard input). With path NULL there are only defaults. Errors:
 * -ENOENT and the like, or -EINVAL with FILE:LINE for bad YAML, an unknown key (the nearest one is
 * suggested), a value of the wrong type or out of range, or a key given twice. The file must
 * consist of mappings down to the keys. Anchors, aliases and tags are refused; depth, size (16 MiB)
 * and counts are bounded.
 */
int conf_open(struct conf **out, const char *path, struct err *e);
/* Likewise, of the texts of a program's --config: files, and settings of the command line
 * (KEY=VALUE, where a KEY without a section is one of p's program). A later one wins, and
 * opt_moved over all; settings of a list add to each other. Sets the rows of p's table that are
 * keys, and takes the settings of such rows out of *from. On failure *out may be set all the same.
 */
int conf_read(struct conf **out, struct opt_list *from, struct opt_parser *p, struct err *e);
void conf_free(struct conf *c);

/* Text of the i-th warning, NULL past the end: "FILE:LINE: key X has no effect in kvtrace
 * (ignored)", and what opt_moved has. */
const char *conf_warning(const struct conf *c, size_t i);

/* Values by the exact path of a row of conf_keys ('*' replaced by a name). An unknown path is an
 * assertion, and so is a missing value without a default, except for the _get functions: they then
 * return -ENOENT and leave *out alone, else 0. */
int64_t conf_i64(const struct conf *c, const char *path);
double conf_f64(const struct conf *c, const char *path);
const char *conf_text(const struct conf *c, const char *path);
void conf_i64_pair(const struct conf *c, const char *path, int64_t out[2]);
void conf_f64_pair(const struct conf *c, const char *path, double out[2]);
int conf_get_i64(const struct conf *c, const char *path, int64_t *out);
int conf_get_text(const struct conf *c, const char *path, const char **out);
/* A sequence of *n integers (0 when missing), lent until conf_free. */
const int64_t *conf_i64_list(const struct conf *c, const char *path, size_t *n);

/* The i-th name in a section of the file ("model_configs"), in the file's order; lent; NULL past
 * the end. */
const char *conf_model_name(const struct conf *c, size_t i);
struct conf_key;
struct conf_value;
/* A key of conf_keys that was given another value than its default. */
struct conf_given {
    const char *path;
    const struct conf_key *row;
    const struct conf_value *value;
};
/* The i-th of them; lent. False: there are no more. */
bool conf_given(const struct conf *c, size_t i, struct conf_given *out);
enum {
    CONF_PLACE_MAX = 320 /* bytes of a place, with its NUL */
};
/* Writes where the value of a path (section or key) was given: "FILE:LINE" or "--config KEY".
 * False: nowhere, and buf is left alone. */
bool conf_place(const struct conf *c, const char *path, char buf[CONF_PLACE_MAX]);

#endif
