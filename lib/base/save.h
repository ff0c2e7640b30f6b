/* save.h - files that appear whole or not at all. */
#ifndef KVTRACE_BASE_SAVE_H
#define KVTRACE_BASE_SAVE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

/* A file that is written in parts. */
struct save;

/* Opens path ("-": standard output). A regular file is written beside, under a name of this
 * process, and renamed by save_close: until then, and if the process dies, what was there stays; a
 * link stays, the file that it names is replaced. What is no regular file is written to directly.
 * Class ERR_OUTPUT, as all errors here but memory. */
int save_open(struct save **out, const char *path, struct err *e);
int save_put(struct save *s, const void *p, size_t len, struct err *e);
/* Gives the file its name. Frees s also on failure; nothing is left then. */
int save_close(struct save *s, struct err *e);
/* Gives up: what was there before stays. NULL is fine. */
void save_abandon(struct save *s);

/* Writes text[0..len) to path at once, in the same way. 0 or negative errno. */
int save_text(const char *path, const char *text, size_t len, struct err *e);

/* Would save_text find a place for path, by what the file system says now? For what is measured for
 * hours and then written. Nothing is made. 0 or negative errno, class ERR_OUTPUT. */
int save_check(const char *path, struct err *e);

/* Do both paths lead to one file or block device, so that what is written to one is lost in the
 * other? What is not there yet goes by its folder and name. Never of "-", pipes and terminals. */
bool save_is_same(const char *a, const char *b);

#endif
