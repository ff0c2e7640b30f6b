/* layout_files.h - one file per object below a target's directory: xx/<hash>.kv, where xx are the
 * first two digits of the hash, never the key itself. */
#ifndef KVTRACE_TIER_LAYOUT_FILES_H
#define KVTRACE_TIER_LAYOUT_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"

enum {
    LAYOUT_FILES_FOLDERS = 256,
    LAYOUT_NAME_CAP = HASH_HEX_LEN + sizeof(".kv")
};

/* Where an object's file is: to be opened with O_NOFOLLOW below dirfd, which is the layout's. */
struct layout_name {
    int dirfd;
    char text[LAYOUT_NAME_CAP];
};

struct layout_files;

/* Files below dirfd (stays the caller's); direct: with O_DIRECT. All verbs are thread-safe. 0 or
 * negative errno. */
int layout_files_open(struct layout_files **out, int dirfd, bool direct, struct err *e);
void layout_files_close(struct layout_files *f);
/* Folders are opened when first named and stay open; make: created too. 0 or negative errno
 * (-ENOENT: no such folder, so no such object). */
int layout_files_name(struct layout_files *f, struct hash128 object, bool make,
                      struct layout_name *n);
/* Flags to open a file with: for reading, or created for writing, emptied if cut. */
int layout_files_flags(const struct layout_files *f, bool write, bool cut);
/* An object of an earlier run: an open descriptor (the caller's) and its bytes, or negative errno.
 */
int layout_files_find(struct layout_files *f, struct hash128 object, uint64_t *bytes);

#endif
