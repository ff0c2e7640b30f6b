/* left_files.h - what a run of an engine left in its files (Tier-2), as its trace tells: the run
 * that comes after it finds them. One thread. */
#ifndef KVGEN_FORMAT_LEFT_FILES_H
#define KVGEN_FORMAT_LEFT_FILES_H

#include "kvgen/cache/cache.h"
#include "lib/base/err.h"

/*
 * Reads the trace at path ("-": standard input): its Writes and Deletes of Tier-2, in order. out is
 * the caller's, to be freed with left_files_free, also on failure. 0, or negative errno with *e:
 *  - (-EINVAL) a row of Tier-2 that no engine's cache wrote, copies of several sizes, a trace that
 *    is of another cache than the one named so, or one that left no files;
 *  - those of trace_cursor_next.
 */
int left_files_read(struct kv_files *out, const char *path, const char *cache, struct err *e);
void left_files_free(struct kv_files *f);

#endif
