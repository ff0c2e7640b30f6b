/* Where the bytes of a file or block device lie on their disk, as the kernel's block events number
 * it. Exact for disks and parts of them, and for files on ext4 and xfs on these; where something
 * lies between that moves bytes (device mapper, RAID, btrfs, overlays, networks) it is not known.
 */
#ifndef KVTRACE_IO_DISK_MAP_H
#define KVTRACE_IO_DISK_MAP_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DISK_EXTENTS = 16, /* of an operation; with more, its place is not known */
    DISK_SECTOR = 512
};
struct disk_extent {
    uint64_t sector, sectors; /* of 512 bytes, from the start of the disk */
    uint32_t disk;            /* major << 20 | minor */
};
/* Where the bytes of an operation lie. */
struct disk_where {
    bool wanted;      /* in: somebody asks for it */
    bool known;       /* all extents are there */
    unsigned count;   /* of them */
    int64_t first_ns; /* monotonic: its first I/O was submitted; INT64_MAX: none was */
    struct disk_extent at[DISK_EXTENTS];
};

enum disk_map_kind {
    DISK_MAP_NONE,
    DISK_MAP_DEVICE, /* the target is a disk or a part of one */
    DISK_MAP_FILES   /* files on such a device: the file system tells (FIEMAP) */
};
struct disk_map {
    enum disk_map_kind kind;
    uint32_t disk;
    uint64_t begin; /* sector at which the part begins; 0: a whole disk */
};
/* For fd, a block device, or a file or folder. */
void disk_map_find(int fd, struct disk_map *m);
/* Adds where bytes [offset, offset + len) of fd lie; what a file system has not placed yet it
 * places now. w->known becomes false when that cannot be told. */
void disk_map_add(const struct disk_map *m, int fd, uint64_t offset, uint64_t len,
                  struct disk_where *w);

#endif
