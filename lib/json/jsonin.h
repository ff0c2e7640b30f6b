/* jsonin.h - reading JSON (json-c stays in jsonin.c): whole small documents, and streams of
 * elements, since json-c builds trees: lines of JSONL, or the elements of a top-level array, are
 * cut out (depth- and quote-aware) and parsed one at a time. Memory: the largest element. */
#ifndef KVTRACE_JSON_JSONIN_H
#define KVTRACE_JSON_JSONIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/frame.h"

struct jsonin;   /* a parsed document (owner) */
struct jsonin_v; /* a value in it, lent until the document is freed */

/* Parses text[0..len), depth at most 64. -EINVAL with *e; where is put in front. */
int jsonin_parse(struct jsonin **out, const char *text, size_t len, const char *where,
                 struct err *e);
/* Reads a whole file (plain or zstd, "-"), at most max_bytes. */
int jsonin_load(struct jsonin **out, const char *path, size_t max_bytes, struct err *e);
void jsonin_free(struct jsonin *d);
const struct jsonin_v *jsonin_root(const struct jsonin *d);

/* Members, elements, scalars. A NULL value or a wrong type gives NULL, 0 elements, or -EINVAL and
 * leaves *out alone; a missing member and a JSON null are both NULL. path: "a.b.c". Integers must
 * be whole and fit; f64 accepts any number. */
const struct jsonin_v *jsonin_get(const struct jsonin_v *v, const char *path);
bool jsonin_is_array(const struct jsonin_v *v);
size_t jsonin_count(const struct jsonin_v *array);
const struct jsonin_v *jsonin_at(const struct jsonin_v *array, size_t i);
/* i-th member of an object in file order; *key lent; NULL past the end. O(i). */
const struct jsonin_v *jsonin_member(const struct jsonin_v *object, size_t i, const char **key);
int jsonin_i64(const struct jsonin_v *v, int64_t *out);
int jsonin_u64(const struct jsonin_v *v, uint64_t *out);
int jsonin_f64(const struct jsonin_v *v, double *out);
int jsonin_bool(const struct jsonin_v *v, bool *out);
/* NUL-terminated, UTF-8; *len may be NULL. NULL when not a string. */
const char *jsonin_text(const struct jsonin_v *v, size_t *len);

/* Elements of a stream: JSONL (blank lines skipped) or one top-level array, told by the first byte.
 * The stream stays the caller's. */
struct jsonin_stream;
int jsonin_stream_open(struct jsonin_stream **out, struct frame_in *in, size_t max_element_bytes,
                       struct err *e);
/* 1 and *v (lent until the next call), 0 at the end, negative errno with FILE:LINE in *e. */
int jsonin_stream_next(struct jsonin_stream *s, const struct jsonin_v **v, struct err *e);
/* The two halves of it, for a reader that can do without a tree of most elements: 1 and the bytes
 * of the next element (lent until the next call), 0 at the end, negative errno; the value of the
 * element cut out last, 0 or -EINVAL. */
int jsonin_stream_cut(struct jsonin_stream *s, const char **text, size_t *len, struct err *e);
int jsonin_stream_parse(struct jsonin_stream *s, const struct jsonin_v **v, struct err *e);
/* Line on which the element last returned begins, from 1. */
uint64_t jsonin_stream_line(const struct jsonin_stream *s);
void jsonin_stream_close(struct jsonin_stream *s);

#endif
