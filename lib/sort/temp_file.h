/* temp_file.h - a temporary file that has no name and goes away with its descriptor. One thread. */
#ifndef KVTRACE_SORT_TEMP_FILE_H
#define KVTRACE_SORT_TEMP_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct temp_file;

/* The folder for temporary files that belong to no output: TMPDIR, or /tmp. */
const char *temp_file_folder(void);
/* Opens an empty file in a folder. 0 or negative errno with *e, class ERR_OUTPUT, as all errors
 * here but memory. */
int temp_file_open(struct temp_file **out, const char *folder, struct err *e);
void temp_file_close(struct temp_file *f); /* NULL is fine */
/* Writes p[0..len) at byte at. */
int temp_file_write(struct temp_file *f, const void *p, size_t len, uint64_t at, struct err *e);
/* Reads up to len bytes at byte at, which is before the end: how many, or negative errno with *e.
 */
int64_t temp_file_read(struct temp_file *f, void *p, size_t len, uint64_t at, struct err *e);

#endif
