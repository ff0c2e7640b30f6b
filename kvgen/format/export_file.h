/* export_file.h - bytes into a file of another tool's format, plain or as one zstd frame. */
#ifndef KVGEN_FORMAT_EXPORT_FILE_H
#define KVGEN_FORMAT_EXPORT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/write.h"

struct export_file;

/* Opens path ("-": standard output); a regular file appears, or replaces what is there, when it is
 * closed. zstd: one ordinary frame at level (1..19, 0: 3). Class ERR_OUTPUT, as all errors here but
 * memory. */
int export_file_open(struct export_file **out, const char *path, bool zstd, int level,
                     struct err *e);
/* Appends p[0..len). */
int export_file_put(struct export_file *f, const void *p, size_t len, struct err *e);
/* Completes and closes; fills the bytes and the digest (XXH3-128 of the bytes before compression)
 * of *totals, leaves its rows alone. Frees f also on failure; what was there before stays then. */
int export_file_close(struct export_file *f, struct trace_totals *totals, struct err *e);
/* Gives up: what was there before stays. NULL is fine. */
void export_file_abandon(struct export_file *f);

/* Where temporary files go that have no output to lie beside: TMPDIR, or /tmp. */
const char *export_temp_folder(void);
/* A temporary file in folder dir that has no name and goes with its descriptor: that, or negative
 * errno with *e (class ERR_OUTPUT). */
int export_temp_open(const char *dir, struct err *e);
/* Writes p[0..len) at byte at of such a file; dir is for the words of *e (class ERR_OUTPUT). */
int export_temp_write(int fd, const char *dir, const void *p, size_t len, uint64_t at,
                      struct err *e);
/* Reads up to len bytes at byte at, which is not the end: how many, or negative errno with *e. */
int64_t export_temp_read(int fd, const char *dir, void *p, size_t len, uint64_t at, struct err *e);

#endif
