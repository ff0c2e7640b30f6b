/* One file per object below a target's directory: xx/<hash>.kv, where xx are the first two digits
 * of the hash. The key itself is never part of a path. */
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

/* Where an object's file is. Open it below dirfd, which is the layout's, with O_NOFOLLOW. */
struct layout_name {
    int dirfd;
    char text[LAYOUT_NAME_CAP];
};

struct layout_files;

/* Files below dirfd, which stays the caller's; direct: they are opened with O_DIRECT. Any thread
 * may call the functions below. They return 0 or negative errno. */
int layout_files_open(struct layout_files **out, int dirfd, bool direct, struct err *e);
void layout_files_close(struct layout_files *f);
/* The name of an object's file. Its folder is opened when first named and stays open; make: it is
 * also created. -ENOENT: there is no such folder, so no such object. */
int layout_files_name(struct layout_files *f, struct hash128 object, bool make,
                      struct layout_name *n);
/* Makes and opens all folders, so that no object has to wait for one. What fails now is told when
 * an object needs it. */
void layout_files_prepare(struct layout_files *f);
enum layout_files_use {
    LAYOUT_FILES_READ,
    LAYOUT_FILES_NEW, /* made; -EEXIST where one is already: it is not ours, and to be removed */
    LAYOUT_FILES_CUT, /* written by this run or adopted: cut to nothing; made if missing */
    LAYOUT_FILES_OLD  /* the same, to be written over */
};
/* Flags to open a file with. */
int layout_files_flags(const struct layout_files *f, enum layout_files_use use);
/* Opens an object of an earlier run for reading: a descriptor, which is the caller's, and its
 * length; or negative errno. -ENOENT also for a file that has a second name or belongs to somebody
 * else: no object of ours. */
int layout_files_find(struct layout_files *f, struct hash128 object, uint64_t *bytes);

#endif
