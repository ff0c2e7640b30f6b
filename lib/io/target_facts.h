/* Reads which devices and files are in use: the mount table, swap space, loop devices and
 * what is built on them. It may be handed recorded facts. Only target_guard.c draws conclusions. */
#ifndef KVTRACE_IO_TARGET_FACTS_H
#define KVTRACE_IO_TARGET_FACTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Where the kernel tells what is in use. A test may name recorded files instead. NULL, or a name
 * that is not there: nothing is known of that (but mountinfo and sys_dev_block, which a device
 * needs). */
struct target_facts {
    const char *mountinfo;     /* a file like /proc/self/mountinfo */
    const char *sys_dev_block; /* a folder like /sys/dev/block: MAJOR:MINOR/{holders/,NAMEn/,ro} */
    const char *sys_block;     /* a folder like /sys/block: NAME/{dev,holders/,loop/backing_file} */
    const char *swaps;         /* a file like /proc/swaps */
    const char *dev;           /* a folder like /dev: nodes of loop devices, which are asked too */
    const char *sys_fs; /* a folder like /sys/fs: btrfs/UUID/devices/, bcachefs/UUID/dev-N/ */
    const char *files;  /* what stands before each path that these name, where it is looked
                         * for; NULL: nothing */
};
const struct target_facts *target_facts_here(void);

/* Is the device mounted (path: its resolved name)? 1: it is, on where; 0; or the negative errno of
 * reading mountinfo. */
int target_facts_mounted(const struct target_facts *facts, dev_t dev, const char *path,
                         char where[PATH_MAX]);

/* A line of the mount table. */
struct target_mount {
    dev_t dev;                     /* major 0: the file system has no device of its own number */
    char *type, *source, *options; /* of the file system; options: of its superblock */
    char *line;                    /* which the texts point into */
};
/* The mount with this id; id negative: the one that path, which begins with a slash, lies in. 1:
 * found, to be released; 0; or the negative errno of reading mountinfo. */
int target_facts_mount(const struct target_facts *facts, int id, const char *path,
                       struct target_mount *m);
void target_mount_release(struct target_mount *m);

enum target_use {
    TARGET_USE_LOOP,  /* a loop device is attached to it */
    TARGET_USE_SWAP,  /* swap space */
    TARGET_USE_MOUNT, /* a file system is mounted from it, without a loop device */
};
/* A file or device that the kernel uses. */
struct target_used {
    enum target_use use;
    const char *name;  /* as the kernel tells it; it may be of another mount namespace, or gone */
    bool known;        /* name, or the loop device itself, leads to the file: st is its */
    struct stat st;    /* st_dev and st_ino, of a device st_mode and st_rdev too */
    const char *where; /* the loop device ("loop3"), or the mount point */
};
/* Calls each for all files and devices that loop devices, swap space and mounts use, until it
 * returns another value than 0, and returns that. 0: none is left; or the negative errno of reading
 * the facts. */
int target_facts_used(const struct target_facts *facts,
                      int (*each)(void *ctx, const struct target_used *used), void *ctx);
/* The same for what one loop device, "loop3", is attached to. 0 when it is none, or is free. */
int target_facts_loop(const struct target_facts *facts, const char *disk,
                      int (*each)(void *ctx, const struct target_used *used), void *ctx);

/* The first line of a file, without blanks around it; "": it cannot be read. */
void target_facts_line(const char *path, char *out, size_t cap);

/* The use of a disk ("loop3") or of a part of it: writes " (mounted on X)", " (held by dm-0)"
 * or "" to text. */
void target_facts_above(const struct target_facts *facts, const char *disk, char *text, size_t cap);

#endif
