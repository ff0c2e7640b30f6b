/* One file per object below a target's directory: xx/<hash>-<epoch>.kv, where xx are the first two
 * digits of the hash. The key itself is never part of a path. */
#ifndef KVTRACE_LAYOUT_FILES_H
#define KVTRACE_LAYOUT_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/owner/stem.h"

enum {
    LAYOUT_FILES_FOLDERS = 256,
    LAYOUT_NAME_CAP = STEM_CAP - 1 + sizeof(".kv")
};

/* Where an object's file is. Open it below dirfd, which is the layout's, with O_NOFOLLOW. */
struct layout_name {
    int dirfd;
    char text[LAYOUT_NAME_CAP];
};

struct layout_files;

struct layout_files_opts {
    int dirfd;      /* the caller's; all files are below it */
    bool direct;    /* they are opened with O_DIRECT */
    uint32_t epoch; /* of this run, in the names of what it writes; not 0 */
};
/* Any thread may call the functions below. They return 0 or negative errno. */
int layout_files_open(struct layout_files **out, const struct layout_files_opts *o, struct err *e);
void layout_files_close(struct layout_files *f);
/* The name of an object's file: the one that it has at place (lib/layout/place.h), or, with place
 * NULL, gets from this run. Its folder is opened when first named and stays open; make: it is also
 * created. -ENOENT: there is no such folder, so no such object. */
int layout_files_name(struct layout_files *f, struct hash128 object, const void *place, bool make,
                      struct layout_name *n);
/* The place of an object of that epoch and length, whether it is there or not. During a run only of
 * epochs that were named before it. 0 or negative errno. */
int layout_files_place(struct layout_files *f, uint32_t epoch, uint64_t bytes, void **place);
/* Calls found for each object, until it returns negative errno. 0 or negative errno. */
typedef int layout_files_found(void *ctx, struct hash128 object, uint32_t epoch);
int layout_files_each(const struct layout_files *f, layout_files_found *found, void *ctx);
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
/* Opens an object that a run of that epoch wrote, for reading: a descriptor, which is the caller's,
 * with the object's place; or negative errno. -EISNAM: what has its name is no file of ours
 * (target_guard_open). Before the run; one thread. */
int layout_files_find(struct layout_files *f, struct hash128 object, uint32_t epoch, void **place);

#endif
