/* target.h - a place on storage that we may write to: guards, marker and lock, room, and what the
 * kernel counted there. Shared by kvreplay and kvprecond. */
#ifndef KVTRACE_IO_TARGET_DIR_H
#define KVTRACE_IO_TARGET_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

struct target;

/*
 * Takes a directory: created if missing (parents must exist); taken only if we created it, found it
 * empty, or it carries our marker file (".kvtrace"). Refused with class ERR_TARGET: system
 * directories (/, /etc, /usr, /bin, /boot, /dev, /proc, /sys, /root itself, /home itself, $HOME
 * itself, /tmp itself, /var and the like, after resolving links), a directory with foreign files,
 * one locked by a living process. After a dead process the directory's kvtrace files are removed
 * first. program is written into the marker.
 */
int target_open_dir(struct target **out, const char *path, const char *program, struct err *e);
/* The directory's descriptor (O_PATH is not used: openat and fsync work), the target's. */
int target_fd(const struct target *t);
const char *target_path(const struct target *t);
/* The marker said "kept": objects of an earlier run are still there. */
bool target_was_kept(const struct target *t);
/* Removes every file that kvtrace made (xx/HEX.kv, *.kv) and its xx folders. */
int target_empty(struct target *t, struct err *e);
/* Releases lock; keep: marks "kept" and leaves files; else empties, removes the marker, and the
 * directory if we created it. Frees t. */
int target_close(struct target *t, bool keep, struct err *e);

/* What a path names, links followed; what is not there will be a directory. Other kinds: -EINVAL.
 */
enum target_kind {
    TARGET_DIR,
    TARGET_FILE,
    TARGET_DEVICE
};
int target_kind(const char *path, enum target_kind *kind, struct err *e);

/* One regular file or block device that is written over as a whole. */
struct target_file {
    int fd; /* read and write; the caller's to close, which releases lock or claim */
    bool is_device;
    bool direct;              /* O_DIRECT is set on fd */
    uint64_t bytes;           /* length of the file; capacity of the device in whole 4 KiB */
    uint64_t allocated_bytes; /* what the file occupies on its file system; a device: bytes */
};
struct target_file_opts {
    bool destroy_data;
    /* Is this the first 4 KiB of what kvtrace wrote? Such a file needs no destroy_data. May be
     * NULL: nothing is recognised. Not asked for devices. */
    bool (*is_ours)(const void *first_block);
};
/*
 * Takes path. A regular file: must exist, no link, not below a system directory, locked by nobody
 * (flock), and empty, ours or free to destroy. A block device (links are followed): not mounted,
 * held, partitioned or read-only (target_guard.h), claimed with O_EXCL, and only with destroy_data.
 * Nothing is written. 0, or negative errno of class ERR_TARGET and *out untouched. The room for a
 * file to grow is target_room's to tell; a device has its bytes.
 */
int target_open_file(struct target_file *out, const char *path, const struct target_file_opts *o,
                     struct err *e);

/* Something is in use: worth another look? The kernel lets go of the files of a process that was
 * killed a moment after it is gone, later with I/O of io_uring in flight. Sleeps 10 ms each time,
 * for a second; *until_ns is 0 at first. */
bool target_patience(int64_t *until_ns);
/* Locks fd for this process alone (flock), with patience: 0 or negative errno. */
int target_lock(int fd);

/* -EACCES with class ERR_TARGET when path resolves to a directory that no test data may go to. */
int target_refuse_system_path(const char *path, struct err *e);

/* Free bytes for us on the file system, less reserve_share (0.05) of its size; 0 if none. */
int target_room(int fd, double reserve_share, uint64_t *bytes, struct err *e);

/* Device under a file or directory. */
struct target_device {
    char name[64];  /* "nvme0n1", the whole disk, "" when there is none (tmpfs, overlay) */
    char model[64]; /* "" unknown */
    bool counted;   /* kernel counters exist */
};
void target_device(int fd, struct target_device *d);
/* Bytes and I/Os that the device has read and written since boot, and the sum of the times that
 * these were in its queue (/sys/block/NAME/stat). */
struct target_counters {
    uint64_t read_ios, read_bytes, write_ios, write_bytes, queue_ms;
};
int target_counters(const struct target_device *d, struct target_counters *c);

/* Is fd a block device that takes discards? */
bool target_discards(int fd);
/* Does fd lie on a file system in memory? Newer kernels take O_DIRECT there, but the data never
 * leaves memory. */
bool target_in_memory(int fd);
/* Can O_DIRECT be used in this directory (tried with a scratch file; never on tmpfs)? */
bool target_direct_io(int dirfd);

#endif
