/* A directory that kvreplay or kvprecond may fill. A marker file (".kvtrace") in it says whose it
 * is, a lock on the marker keeps other processes out, and only kvtrace's own files are ever
 * removed. */
#ifndef KVTRACE_IO_TARGET_DIR_H
#define KVTRACE_IO_TARGET_DIR_H

#include <stdbool.h>

#include "lib/base/err.h"

struct target_dir;

/*
 * Takes the directory at path; creates it if it is missing (its parent must exist). Refused with
 * class ERR_TARGET: a system directory (target_guard_path), one that holds foreign files, one that
 * a living process has locked. An existing directory must be empty or carry our marker. If the
 * marker's process died, the directory's kvtrace files are removed first. program is written into
 * the marker.
 */
int target_dir_open(struct target_dir **out, const char *path, const char *program, struct err *e);
/* A descriptor for openat and fsync; the target's. */
int target_dir_fd(const struct target_dir *t);
const char *target_dir_path(const struct target_dir *t); /* resolved */
/* The marker said "kept": an earlier run left its objects here. */
bool target_dir_was_kept(const struct target_dir *t);
/* Removes every file that kvtrace made (xx/HEX.kv, slab.kv, ...) and its xx folders. */
int target_dir_empty(struct target_dir *t, struct err *e);
/* Unlocks and frees t. keep: writes "kept" into the marker and leaves the files. Else: empties the
 * directory, removes the marker, and removes the directory if we created it. */
int target_dir_close(struct target_dir *t, bool keep, struct err *e);

#endif
