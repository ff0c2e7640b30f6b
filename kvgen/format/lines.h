/* lines.h - the lines of a text file, streamed. Memory: the largest line. */
#ifndef KVGEN_FORMAT_LINES_H
#define KVGEN_FORMAT_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/frame.h"

#define LINES_MAX ((size_t)1 << 20) /* bytes of a line */

struct lines;

struct lines *lines_create(struct frame_in *file); /* takes the file; NULL: no memory */
void lines_free(struct lines *l);                  /* closes it */
/* 1 and the next line, NUL-terminated, without its LF or CR LF, lent until the next call; 0 at the
 * end; negative errno with *e (a longer line, a NUL byte: -EINVAL). A byte-order mark at the start
 * is skipped. */
int lines_next(struct lines *l, char **text, size_t *len, struct err *e);
/* As err_set with -EINVAL and "FILE:LINE" of the line returned last. */
int lines_bad(const struct lines *l, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
const char *lines_name(const struct lines *l);

#endif
