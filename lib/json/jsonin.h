/* Reads JSON: whole small documents, and streams of elements. A tree of values is in memory, so a
 * stream is cut into lines (JSONL) or elements of its top-level array (jsoncut.h) that are parsed
 * one at a time. */
#ifndef KVTRACE_JSON_JSONIN_H
#define KVTRACE_JSON_JSONIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct frame_in;
struct jsonin;   /* a parsed document; owns its values */
struct jsonin_v; /* a value in it, lent until the document is freed */

/* Parses text[0..len), nested at most 64 deep. 0, or a negative errno with *e (-EINVAL: not JSON);
 * where names the text in it.
 */
int jsonin_parse(struct jsonin **out, const char *text, size_t len, const char *where,
                 struct err *e);
/* The same, with another limit of the memory that the values may take than 1 GiB: -EFBIG names the
 * option that allows more. A value takes up to 32 bytes, and texts as many as they have. */
struct jsonin_limit {
    size_t bytes;
    const char *option; /* NULL: there is none */
};
int jsonin_parse_within(struct jsonin **out, const char *text, size_t len,
                        const struct jsonin_limit *limit, const char *where, struct err *e);
/* Reads and parses a whole file of at most max_bytes (plain or zstd; "-": standard input). */
int jsonin_load(struct jsonin **out, const char *path, size_t max_bytes, struct err *e);
void jsonin_free(struct jsonin *d);
const struct jsonin_v *jsonin_root(const struct jsonin *d);

/* Members, elements and scalars. For a NULL value or one of the wrong type they return NULL, 0
 * elements, or -EINVAL with *out unchanged. A missing member and a JSON null are both NULL. */
/* path: "a.b.c" */
const struct jsonin_v *jsonin_get(const struct jsonin_v *v, const char *path);
bool jsonin_is_array(const struct jsonin_v *v);
size_t jsonin_count(const struct jsonin_v *array);
const struct jsonin_v *jsonin_at(const struct jsonin_v *array, size_t i);
/* The first element whose member path is that text. */
const struct jsonin_v *jsonin_find(const struct jsonin_v *array, const char *path,
                                   const char *text);
size_t jsonin_members(const struct jsonin_v *object);
/* The i-th member of an object in file order, NULL past the end; *key is lent. */
const struct jsonin_v *jsonin_member(const struct jsonin_v *object, size_t i, const char **key);
/* Integers must be whole and fit; f64 takes any number. */
int jsonin_i64(const struct jsonin_v *v, int64_t *out);
int jsonin_u64(const struct jsonin_v *v, uint64_t *out);
int jsonin_f64(const struct jsonin_v *v, double *out);
double jsonin_number(const struct jsonin_v *v, const char *path); /* the same; NAN: there is none */
int jsonin_bool(const struct jsonin_v *v, bool *out);
/* UTF-8, NUL-terminated; *len (may be NULL) its length. NULL if v is not a string. */
const char *jsonin_text(const struct jsonin_v *v, size_t *len);

/* The elements of a stream: the lines of JSONL (blank ones are skipped), or the elements of one
 * top-level array; the first byte tells which. in stays the caller's. */
struct jsonin_stream;
int jsonin_stream_open(struct jsonin_stream **out, struct frame_in *in, size_t max_element_bytes,
                       struct err *e);
/* Limits the memory of each element, as in jsonin_parse_within. */
void jsonin_stream_limit(struct jsonin_stream *s, const struct jsonin_limit *limit);
/* Returns 1 with *v (lent until the next call), 0 at the end, or a negative errno with FILE:LINE in
 * *e. */
int jsonin_stream_next(struct jsonin_stream *s, const struct jsonin_v **v, struct err *e);
/* The two steps of it, for readers that need no tree of most elements. _cut returns 1 with the
 * bytes of the next element (lent until the next call), 0 at the end, or a negative errno. _parse
 * parses that element: 0 or a negative errno. */
int jsonin_stream_cut(struct jsonin_stream *s, const char **text, size_t *len, struct err *e);
int jsonin_stream_parse(struct jsonin_stream *s, const struct jsonin_v **v, struct err *e);
/* The line on which the element last returned begins, from 1. */
uint64_t jsonin_stream_line(const struct jsonin_stream *s);
void jsonin_stream_close(struct jsonin_stream *s);

#endif
