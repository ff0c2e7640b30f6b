/* Cuts a stream of JSON into elements without parsing them: the lines of JSONL (blank lines are
 * skipped), or the elements of one top-level array; the first byte tells which. Needs memory for
 * the largest element. */
#ifndef KVTRACE_JSON_JSONCUT_H
#define KVTRACE_JSON_JSONCUT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct frame_in;
struct jsoncut;

/* in stays the caller's. 0 or -ENOMEM. */
int jsoncut_open(struct jsoncut **out, struct frame_in *in, size_t max_element_bytes,
                 struct err *e);
void jsoncut_close(struct jsoncut *c);
/* Returns 1 with the element's bytes (lent until the next call, not NUL-terminated), 0 at the end,
 * or a negative errno with FILE:LINE in *e. */
int jsoncut_next(struct jsoncut *c, const char **text, size_t *len, struct err *e);
/* The line on which the element last returned begins, from 1. */
uint64_t jsoncut_line(const struct jsoncut *c);

/* For readers of elements: the number of leading white space bytes, the number of line ends, and
 * the error for text that is not JSON (-EINVAL). */
size_t jsoncut_space(const char *text, size_t len);
uint64_t jsoncut_lines(const char *text, size_t len);
int jsoncut_fail(struct err *e, const char *name, uint64_t line, const char *why);

#endif
