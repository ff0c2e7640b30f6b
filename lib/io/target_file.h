/* One regular file or block device that may be written over as a whole. All guards are passed
 * before a caller gets the descriptor. */
#ifndef KVTRACE_IO_TARGET_FILE_H
#define KVTRACE_IO_TARGET_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

enum target_kind {
    TARGET_DIR,
    TARGET_FILE,
    TARGET_DEVICE
};
/* The kind of path, with links followed. A path that is not there counts as a directory to be made.
 * -EINVAL, class ERR_TARGET: neither a directory, a regular file nor a block device. */
int target_kind(const char *path, enum target_kind *kind, struct err *e);

/* Do both paths lead to one place, or would they once it is made? */
bool target_same(const char *a, const char *b);

struct target_file {
    int fd; /* for reading and writing; the caller closes it, which releases lock or claim */
    bool is_device;
    bool direct;              /* O_DIRECT is set on fd */
    uint64_t bytes;           /* length of the file; capacity of the device in whole 4 KiB */
    uint64_t allocated_bytes; /* what the file occupies on its file system; of a device: bytes */
};
struct target_file_opts {
    bool destroy_data;
    /* Is this the first 4 KiB of something that kvtrace wrote? Such a file needs no destroy_data.
     * NULL: no file is. Devices are not asked about. */
    bool (*is_ours)(const void *first_block);
};
/*
 * Takes path. A regular file must exist, be no link, lie below no system directory, be locked by
 * nobody (flock), be used by nobody else (target_guard_unused), have one name or be free to
 * destroy, and be empty, ours or free to destroy; what is not ours in somebody's home folder is
 * never free. A block device (links are followed) must pass target_guard.h, is claimed with O_EXCL,
 * and always needs destroy_data. Nothing is written. 0, or negative errno of class ERR_TARGET with
 * *out untouched. Whether a file has room to grow is for target_room to tell.
 */
int target_file_open(struct target_file *out, const char *path, const struct target_file_opts *o,
                     struct err *e);

/* Takes space for bytes of the regular file fd, which becomes as long, a part at a time until
 * stopped says so. 0, -EOPNOTSUPP where the file system cannot, -EINTR: stopped; or other negative
 * errno. After a failure the file may be longer than before. */
int target_file_allocate(int fd, uint64_t bytes, bool (*stopped)(void));

#endif
