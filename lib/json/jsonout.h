/* jsonout.h - building and writing JSON documents (json-c stays in jsonout.c). */
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

/* An empty document whose root object is open; NULL: no memory. Later failures of memory are kept
 * and reported by jsonout_text and jsonout_save. */
struct jsonout *jsonout_create(void);
void jsonout_free(struct jsonout *j);

/* Adds a member to the object (key non-NULL) or an element to the array (key NULL) that is open.
 * _object and _array open the new container until jsonout_end. f64: not finite becomes null;
 * shortest digits that read back the same. text NULL becomes null. */
void jsonout_object(struct jsonout *j, const char *key);
void jsonout_array(struct jsonout *j, const char *key);
void jsonout_end(struct jsonout *j);
void jsonout_u64(struct jsonout *j, const char *key, uint64_t v);
void jsonout_i64(struct jsonout *j, const char *key, int64_t v);
void jsonout_f64(struct jsonout *j, const char *key, double v);
void jsonout_bool(struct jsonout *j, const char *key, bool v);
void jsonout_text_value(struct jsonout *j, const char *key, const char *text);
void jsonout_null(struct jsonout *j, const char *key);
/* Replaces the bytes of a text that are not UTF-8 (file names may hold any) by '?'. This is done to
 * every text that is added. */
void jsonout_clean(char *text);
/* Adds JSON text (checked: -EINVAL when it is none). */
int jsonout_raw(struct jsonout *j, const char *key, const char *json, size_t len);

/* An array of the texts; empty when there are none. */
void jsonout_notes(struct jsonout *j, const char *key, const struct notes *notes);

/* A distribution as an object: count, mean, min, hist_percentiles, max, of values divided by unit.
 * Null when h is NULL or empty. _members adds these members to the object that is open. */
void jsonout_hist(struct jsonout *j, const char *key, const struct hist *h, double unit);
void jsonout_hist_members(struct jsonout *j, const struct hist *h, double unit);

/* The members that every kvtrace JSON starts with: program, version, command (array), host (object
 * {name, kernel, cpus, memory_bytes}), started (UTC). */
void jsonout_identity(struct jsonout *j, const char *program, int argc, char *const *argv,
                      int64_t started_wall_ns);

/* Adds every effective option of p that decides the rows to the object that is open: by long name,
 * numbers as numbers (sizes in bytes, durations in seconds: as the option itself takes them bare),
 * enums as their word, lists as arrays, unset text as null. */
void jsonout_options(struct jsonout *j, const struct opt_parser *p);

/* The document as text (pretty: indented, with a final newline; else one line without). Lent until
 * the next call; NULL: no memory. */
const char *jsonout_text(struct jsonout *j, bool pretty);
/* Writes it pretty to path as lib/base/save.h does ("-": standard output). */
int jsonout_save(struct jsonout *j, const char *path, struct err *e);

#endif
