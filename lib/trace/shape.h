/* shape.h - what a file is that is no trace, by its beginning: words for error messages. */
#ifndef KVTRACE_TRACE_SHAPE_H
#define KVTRACE_TRACE_SHAPE_H

#include <stddef.h>

/* Names the format of text[0..len), the beginning of a file, and says what to do with it: "a
 * pointer of Git LFS, not the file itself (git lfs pull gets it)". NULL: not known. */
const char *shape_name(const char *text, size_t len);
/* Names the character that divides the columns of a header that has no comma: "tabs", "semicolons",
 * "bars", "blanks". NULL: it has commas, or one column. */
const char *shape_divider(const char *line, size_t len);

enum {
    SHAPE_BEGIN = 64
};
/* The beginning of the first line, for people: at most SHAPE_BEGIN - 1 bytes, tabs as blanks,
 * others than printable ASCII as "?". Returns buf. */
const char *shape_begin(const char *text, size_t len, char buf[SHAPE_BEGIN]);

#endif
