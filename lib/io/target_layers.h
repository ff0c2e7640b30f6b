/* The layers below a target, down to the last devices: file systems, the files of loop devices,
 * parts of disks, device mapper, RAID, and the folders of an overlay. It follows what the kernel
 * tells and concludes nothing about a run. */
#ifndef KVTRACE_IO_TARGET_LAYERS_H
#define KVTRACE_IO_TARGET_LAYERS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/io/target_facts.h"

enum {
    TARGET_LAYERS_DISKS = 32, /* more are not counted */
    TARGET_LAYERS_NAME = 32,  /* as a kernel's DISK_NAME_LEN */
    TARGET_LAYERS_TEXT = 160
};

/* A cache on the way that neither O_DIRECT nor a drop of the target's own pages gets round. */
enum target_cache {
    TARGET_CACHE_NONE,
    TARGET_CACHE_LOOP, /* the page cache of a loop device's file: the device has no direct I/O */
    TARGET_CACHE_ARC   /* that of ZFS */
};

struct target_layers {
    unsigned disks; /* the last devices, each once; 0: none is known */
    char disk[TARGET_LAYERS_DISKS][TARGET_LAYERS_NAME]; /* "nvme0n1", never a part of one */
    bool complete;                                      /* nothing on the way is hidden */
    bool memory;                                        /* somewhere the bytes are memory */
    bool network;                                       /* they go to another host */
    bool copies;  /* some RAID: more is written below than above, and sometimes read */
    bool reduces; /* a layer is set to compress or deduplicate, or may do so unseen */
    enum target_cache cache;
    char cache_of[TARGET_LAYERS_NAME]; /* "loop0" */
    char top[TARGET_LAYERS_NAME];      /* the first block device: "dm-0"; "": none */
    char text[TARGET_LAYERS_TEXT];     /* "ext4 on loop0 (no direct I/O) on ext4 on vda" */
};
/* Below the mount with this id (mount_id of /proc/self/fdinfo/N, statx(2)); where there is no such
 * mount, or mount_id is negative: below the block device dev. attributes: FS_*_FL of the target
 * (FS_IOC_GETFLAGS), which a folder hands on to its files; 0: not told. */
void target_layers_find(const struct target_facts *facts, int mount_id, dev_t dev, int attributes,
                        struct target_layers *l);
/* The folder in sysfs of the disk that path leads to, or to a part of. False: there is none; errno
 * says why. */
bool target_layers_folder(const char *path, char real[PATH_MAX]);

#endif
