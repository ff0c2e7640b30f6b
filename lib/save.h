/* save.h - writing a whole text at once. */
#ifndef KVTRACE_SAVE_H
#define KVTRACE_SAVE_H

#include <stddef.h>

#include "lib/err.h"

/* Writes text[0..len) to path ("-": standard output). A file is written beside and renamed, so that
 * it appears whole or not at all; a link stays, what is no regular file is written to directly.
 * 0 or negative errno, class ERR_OUTPUT. */
int save_text(const char *path, const char *text, size_t len, struct err *e);

#endif
