/* jsoncut.h - cuts a stream of JSON into elements (depth- and quote-aware) without parsing them:
 * lines of JSONL (blank ones skipped), or the elements of one top-level array, told by the first
 * byte. Memory: the largest element. */
#ifndef KVTRACE_JSON_JSONCUT_H
#define KVTRACE_JSON_JSONCUT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/frame.h"

/* The stream stays the caller's. */
struct jsoncut;
int jsoncut_open(struct jsoncut **out, struct frame_in *in, size_t max_element_bytes,
                 struct err *e);
void jsoncut_close(struct jsoncut *c);
/* 1 and the element's bytes (lent until the next call, not NUL-terminated), 0 at the end, negative
 * errno with FILE:LINE in *e. */
int jsoncut_next(struct jsoncut *c, const char **text, size_t *len, struct err *e);
/* Line on which the element last returned begins, from 1. */
uint64_t jsoncut_line(const struct jsoncut *c);

/* For readers of elements: bytes of white space that text begins with, line ends in it, and the
 * error of text that is not JSON (-EINVAL). */
size_t jsoncut_space(const char *text, size_t len);
uint64_t jsoncut_lines(const char *text, size_t len);
int jsoncut_fail(struct err *e, const char *name, uint64_t line, const char *why);

#endif
