/* Builds and writes JSON documents. */
#ifndef KVTRACE_JSON_JSONOUT_H
#define KVTRACE_JSON_JSONOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hist.h"
#include "lib/base/notes.h"
#include "lib/opt/opt.h"

struct jsonout;

/* An empty document with its root object open; NULL: no memory. When memory runs out later,
 * jsonout_text and jsonout_save report it. */
struct jsonout *jsonout_create(void);
void jsonout_free(struct jsonout *j);

/* Add a member (key) to the object, or an element (key NULL) to the array, that is open. _object
 * and _array open a new container until jsonout_end. _f64 writes the shortest digits that read back
 * the same, and null if v is not finite. A NULL text becomes null. */
void jsonout_object(struct jsonout *j, const char *key);
void jsonout_array(struct jsonout *j, const char *key);
void jsonout_end(struct jsonout *j);
void jsonout_u64(struct jsonout *j, const char *key, uint64_t v);
void jsonout_i64(struct jsonout *j, const char *key, int64_t v);
void jsonout_f64(struct jsonout *j, const char *key, double v);
void jsonout_bool(struct jsonout *j, const char *key, bool v);
void jsonout_text_value(struct jsonout *j, const char *key, const char *text);
void jsonout_null(struct jsonout *j, const char *key);
/* The same, but null if the value is not known. _f64_known: a number that is negative or not finite
 * is not known; _text_known: nor is NULL or "". */
void jsonout_u64_if(struct jsonout *j, const char *key, bool known, uint64_t v);
void jsonout_bool_if(struct jsonout *j, const char *key, bool known, bool v);
void jsonout_f64_known(struct jsonout *j, const char *key, double v);
void jsonout_text_known(struct jsonout *j, const char *key, const char *text);
/* A part could not be made for lack of memory: the document is not written, _save gives -ENOMEM. */
void jsonout_fail(struct jsonout *j);
/* Replaces each byte that is not part of valid UTF-8 (file names may hold any) by '?', in place, as
 * _text_value does in its copy. */
void jsonout_clean(char *text);
/* Adds JSON text as it is. 0, -EINVAL if it is not JSON, or -ENOMEM. */
int jsonout_raw(struct jsonout *j, const char *key, const char *json, size_t len);

/* Adds a distribution as an object: count, mean, min, the hist_percentiles, max; values are divided
 * by unit. Null if h is NULL or empty. _members adds these members to the open object. */
void jsonout_hist(struct jsonout *j, const char *key, const struct hist *h, double unit);
void jsonout_hist_members(struct jsonout *j, const struct hist *h, double unit);

/* Adds the texts of a list as an array. */
void jsonout_notes(struct jsonout *j, const char *key, const struct notes *notes);

/* Adds the members that begin every kvtrace JSON: program, version, command (array), host (object
 * {name, kernel, cpus, memory_bytes}), started (UTC). */
void jsonout_identity(struct jsonout *j, const char *program, int argc, char *const *argv,
                      int64_t started_wall_ns);

/* Adds every effective option of p that decides the rows to the open object: by long name, numbers
 * as numbers (sizes in bytes, durations in seconds), enums as their word, lists as arrays, unset
 * text as null. */
void jsonout_options(struct jsonout *j, const struct opt_parser *p);

/* The document as text, lent until the next call; NULL: no memory. pretty: indented, with a final
 * newline; else one line without one. */
const char *jsonout_text(struct jsonout *j, bool pretty);
/* Writes it pretty to path with save_text ("-": standard output). */
int jsonout_save(struct jsonout *j, const char *path, struct err *e);

#endif
