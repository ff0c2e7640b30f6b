/* output_file.h - a file in the format of another tool, plain or as one zstd frame. One thread. */
#ifndef KVGEN_FORMAT_OUTPUT_FILE_H
#define KVGEN_FORMAT_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/trace/write.h"

struct output_file;

/* Opens path ("-": standard output). A regular file appears, or replaces what is there, when it is
 * closed. zstd: one ordinary frame at that level (1 to 19, 0: 3). 0 or negative errno with *e,
 * class ERR_OUTPUT, as all errors here but memory. */
int output_file_open(struct output_file **out, const char *path, bool zstd, int level,
                     struct err *e);
/* The same, for what cannot be made again: it is written in place, and what was written stays, also
 * when it is not closed, or abandoned. */
int output_file_open_growing(struct output_file **out, const char *path, bool zstd, int level,
                             struct err *e);
/* Writes what was put so far, so that it can be read. */
int output_file_flush(struct output_file *f, struct err *e);
/* Appends p[0..len). */
int output_file_put(struct output_file *f, const void *p, size_t len, struct err *e);
/* Completes the file, and frees f also on failure; what was there before stays then. Sets the bytes
 * and the digest (XXH3-128 of the bytes before compression) of *totals, and leaves its rows alone.
 */
int output_file_close(struct output_file *f, struct trace_totals *totals, struct err *e);
/* Gives up: what was there before stays. NULL is fine. */
void output_file_abandon(struct output_file *f);

#endif
