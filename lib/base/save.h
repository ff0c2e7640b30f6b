/* Output files that appear whole or not at all. */
#ifndef KVTRACE_BASE_SAVE_H
#define KVTRACE_BASE_SAVE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

/* A file that is written in parts. One thread at a time. */
struct save;

/* Opens path ("-": standard output). A regular file is written under a temporary name beside path
 * and renamed by save_close; until then, and if the process dies, the old file stays. A link stays
 * and the file that it names is replaced. Devices and pipes are written to directly. Errors have
 * class ERR_OUTPUT, except for memory. */
int save_open(struct save **out, const char *path, struct err *e);
int save_put(struct save *s, const void *p, size_t len, struct err *e);
/* Renames the file into place. Frees s, on failure too; nothing is left behind then. */
int save_close(struct save *s, struct err *e);
/* Gives up: the old file stays. Takes NULL. */
void save_abandon(struct save *s);

/* The same, for what cannot be made again: a regular file is written in place, and what was written
 * stays, also after save_abandon or a kill. The old file then lies beside it, as save_set_aside
 * names it, until save_close. */
int save_open_growing(struct save **out, const char *path, struct err *e);

/* Writes text[0..len) to path in the same way, in one call. 0 or negative errno. */
int save_text(const char *path, const char *text, size_t len, struct err *e);

/* For outputs that are written in place, so that they can be read while they grow: moves a regular
 * file with contents that path leads to aside, to NAME.PID.old, until the new file is whole.
 * Returns that name, malloc'ed; NULL: there is nothing to keep, or it cannot be moved. */
char *save_set_aside(const char *path);
/* Gives the new file, open as fd, the owner, where that is allowed, and the rights of the old one.
 */
void save_inherit(const char *aside, int fd);
/* Moves the old file back over the new one, or removes it. Free aside; take NULL. */
void save_put_back(char *aside);
void save_drop(char *aside);

/* Checks whether path could be written now, without creating anything: for results that are written
 * after hours of measuring. 0 or negative errno, class ERR_OUTPUT. */
int save_check(const char *path, struct err *e);

/* Returns whether both paths lead to the same file or block device. A file that does not exist yet
 * is identified by its folder and name. False for "-", pipes and terminals. */
bool save_is_same(const char *a, const char *b);

#endif
