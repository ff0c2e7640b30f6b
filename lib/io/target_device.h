/* The file system (room, O_DIRECT) and the device of an open target, with the kernel's own
 * counters of the device. */
#ifndef KVTRACE_IO_TARGET_DEVICE_H
#define KVTRACE_IO_TARGET_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/err.h"
#include "lib/io/target_layers.h"

/* In place of a share of the file system: the smaller of 5 % of it and half of what is free. */
#define TARGET_RESERVE_AUTO (-1.0)
/* Parses the text of --reserve, "auto" or a percentage from 0 to 99, into a share. -EINVAL, class
 * ERR_INPUT. */
int target_reserve_parse(const char *text, double *share, struct err *e);
/* Free bytes on the file system that we may use: a reserve of reserve_share (0 to 1) of its size
 * stays free, or TARGET_RESERVE_AUTO. 0 bytes: none. Class ERR_TARGET. */
int target_room(int fd, double reserve_share, uint64_t *bytes, struct err *e);
/* Bytes of objects that fit in the directory at path, which need not exist yet: its room with the
 * usual reserve, less a 32nd and 8 MiB for what they take beside their bytes (blocks, an index). A
 * trace that never holds more is not refused there. Class ERR_TARGET. */
int target_fits(const char *path, uint64_t *bytes, struct err *e);
/* Bytes of what holds path, free or not: a block device, or the file system of a file or directory,
 * which need not exist yet. Class ERR_TARGET. */
int target_size(const char *path, uint64_t *bytes, struct err *e);
/* The device number of the file system that path lies on, or will be made on; of a block device its
 * own. 0 or negative errno. */
int target_file_system(const char *path, dev_t *dev);
/* Does fd lie on a file system in memory? Newer kernels accept O_DIRECT there, but the data never
 * leaves memory. */
bool target_in_memory(int fd);
/* Does O_DIRECT work in this directory? Tried with a scratch file; never on a file system in
 * memory. */
bool target_direct_io(int dirfd);

struct target_device {
    char name[64];  /* the last device below, "nvme0n1"; of several, what is built on them, or the
                     * first; "" when none is known (tmpfs) */
    char model[64]; /* "" unknown */
    bool counted;   /* the kernel has counters for all that is below */
    struct target_layers layers;
};
/* The device under the file, directory or device node fd. */
void target_device_find(int fd, struct target_device *d);
/* The NUMA node that the disk (its name, "nvme0n1") is nearest to; negative: not known. sysfs:
 * "/sys". */
int target_device_node(const char *disk);
/* The kind of medium that a target's bytes end up in. */
enum target_medium {
    TARGET_MEDIUM_UNKNOWN, /* as under FUSE */
    TARGET_MEDIUM_STORAGE,
    TARGET_MEDIUM_MEMORY,
    TARGET_MEDIUM_NETWORK
};
/* The kind of target that fd, on device d, is. file_system is its name, "" when it is not known or
 * fd is a block device. */
enum target_medium target_medium_of(int fd, const struct target_device *d, char file_system[24]);
/* Does the block device fd take discards? False for anything else. */
bool target_device_discards(int fd);

/* Totals since boot (/sys/block/NAME/stat); queue_ms is the sum of all I/Os' times in the device's
 * queue. */
struct target_counters {
    uint64_t read_ios, read_bytes, write_ios, write_bytes, queue_ms;
};
/* The sum of what the last devices below n targets counted, each device once. 0; -ENODEV: there are
 * none, or one of them is hidden or has no counters. */
int target_devices_count(const struct target_device *const *d, unsigned n,
                         struct target_counters *c);
/* Likewise of the first block device below each target, which has less of others' I/O in it: a file
 * system's own loop device, or a mapped one. -ENODEV also where a target lies on several. */
int target_tops_count(const struct target_device *const *d, unsigned n, struct target_counters *c);

#endif
