/* save.h - writing a whole text at once. */
#ifndef KVTRACE_SAVE_H
#define KVTRACE_SAVE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* Writes text[0..len) to path ("-": standard output). A file is written beside and renamed, so that
 * it appears whole or not at all; a link stays, what is no regular file is written to directly.
 * 0 or negative errno, class ERR_OUTPUT. */
int save_text(const char *path, const char *text, size_t len, struct err *e);

/* Would save_text find a place for path, by what the file system says now? For what is measured for
 * hours and then written. Nothing is made. 0 or negative errno, class ERR_OUTPUT. */
int save_check(const char *path, struct err *e);

/* Do both paths lead to one file or block device, so that what is written to one is lost in the
 * other? What is not there yet goes by its folder and name. Never of "-", pipes and terminals. */
bool save_is_same(const char *a, const char *b);

#endif
