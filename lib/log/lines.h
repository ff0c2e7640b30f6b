/* lines.h - the lines of a text file, read as a stream. Memory: that of a line of LINES_MAX. One
 * thread. */
#ifndef KVTRACE_LOG_LINES_H
#define KVTRACE_LOG_LINES_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/trace/frame.h"

#define LINES_MAX ((size_t)1 << 20) /* bytes of a line */

struct lines;

/* Takes file, also on failure. NULL: no memory. */
struct lines *lines_create(struct frame_in *file);
void lines_free(struct lines *l); /* closes the file; NULL is fine */
/* 1 and the next line, NUL-terminated, without its LF or CR LF, lent until the next call; 0 at the
 * end; negative errno with *e (-EINVAL for a longer line or a NUL byte). A byte-order mark at the
 * start of the file is skipped. */
int lines_next(struct lines *l, char **text, size_t *len, struct err *e);
/* -EINVAL with the given text at "FILE:LINE" of the line returned last. */
int lines_bad(const struct lines *l, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
const char *lines_name(const struct lines *l); /* of the file, for errors */

#endif
