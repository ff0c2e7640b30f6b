/* layout.h - where on storage an object lies. layout_files: one file per object, xx/<hash>.kv below
 * a target's directory, by openat with O_NOFOLLOW, never the key itself. */
#ifndef KVTRACE_LAYOUT_H
#define KVTRACE_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/hash.h"

struct layout;

/* An object opened for I/O: offset 0 of the object is at .offset of .fd. */
struct layout_place {
    int fd;
    uint64_t offset;
};

struct layout_ops {
    const char *name; /* "files" */
    /* Object name for writing: created, or cut or grown to bytes (a multiple of the block). */
    int (*create)(struct layout *l, struct hash128 name, uint64_t bytes, struct layout_place *p);
    /* For reading; *bytes what is stored. -ENOENT: no such object. */
    int (*open)(struct layout *l, struct hash128 name, struct layout_place *p, uint64_t *bytes);
    /* fdatasync of the place when sync, then close. */
    int (*release)(struct layout *l, struct layout_place *p, bool sync);
    int (*remove)(struct layout *l, struct hash128 name); /* -ENOENT: was not there */
    void (*close)(struct layout *l);
};
struct layout {
    const struct layout_ops *ops;
};

/* Files below dirfd (stays the caller's); direct: with O_DIRECT. Thread-safe. */
int layout_files_open(struct layout **out, int dirfd, bool direct, struct err *e);

#endif
