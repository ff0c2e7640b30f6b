/* Guards what no test data may be written to: system directories, block devices in use, files that
 * another process holds. target_dir and target_file ask here before they take anything. */
#ifndef KVTRACE_IO_TARGET_GUARD_H
#define KVTRACE_IO_TARGET_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/err.h"
#include "lib/io/target_facts.h"

/*
 * 0 when path, with all links resolved, is no system directory and lies below none (/, /etc, /usr,
 * /bin, /boot, /dev, /proc, /sys and the like with everything below them; /tmp, /var and the like
 * themselves), is nobody's home folder, and is not, or would not be, in another user's folder. A
 * file is judged by its folder. -EACCES: refused; -ENOENT: no parent; other errno: it cannot be
 * resolved. All of class ERR_TARGET.
 */
int target_guard_path(const char *path, struct err *e);

/* Is path, resolved, somebody's home folder? */
bool target_guard_home(const char *path);
/* May a file of that owner on the file system of fd be taken for ours? It is this user's, root's or
 * that of the user who called sudo, or the file system does not tell. */
bool target_guard_owner(int fd, uid_t owner);
/* Opens name, found in the store's folder dir, with flags for reading: a descriptor, with *bytes
 * its size, or negative errno. Never waits. -EISNAM: no file of ours; it is a pipe, socket, device,
 * folder or link, has a second name, or belongs to somebody else. */
int target_guard_open(int dir, const char *name, int flags, uint64_t *bytes);

/* Locks fd for this process (flock). The kernel lets go of a killed process's files only a moment
 * after it is gone, and later when I/O of io_uring is in flight: so this waits up to a second for
 * the lock. 0; -EWOULDBLOCK: another process holds it; or negative errno. */
int target_guard_lock(int fd);
/* For such a wait on something else. Sleeps 10 ms and returns true; false after a second. Start
 * with *until_ns = 0. */
bool target_guard_wait(int64_t *until_ns);

/*
 * 0 when nobody else uses the regular file fd (path: its name): no loop device is attached to it
 * (mounted or not), it is no swap space, no file system is mounted from it, and no other process or
 * part of the kernel has it open or locked, as far as the kernel tells this user. Waits up to a
 * second for a process that is just ending. -EBUSY: refused; other errno: the facts cannot be read.
 * All of class ERR_TARGET. Nothing, --destroy-data neither, makes such a file free.
 */
int target_guard_unused(const struct target_facts *facts, int fd, const char *path, struct err *e);
/* The same for a folder (path: its resolved name), whose files may be removed: 0 when no loop
 * device, swap space or mount uses a file in it. Files that processes have open do not count. */
int target_guard_folder(const struct target_facts *facts, const char *path, struct err *e);

/*
 * 0 when the facts allow writing to the device dev (path: its resolved name). -EBUSY: mounted, held
 * (device mapper, RAID, ...), partitioned, swap space or the image of a loop device, or it is
 * itself a loop device, or made of one, whose file or device somebody else uses; -EROFS: read-only;
 * other errno: the facts cannot be read, which refuses too. All of class ERR_TARGET. Users that
 * leave no trace there (another program) are found by opening with O_EXCL.
 */
int target_guard_device(const struct target_facts *facts, dev_t dev, const char *path,
                        struct err *e);

enum {
    TARGET_GUARD_HEAD = 8192 /* bytes of a device that target_guard_table wants to see */
};
/* -EBUSY, class ERR_TARGET, when head[0..len), the first bytes of a device, hold a partition table
 * (GPT or MBR), even one that the kernel was never told to read. len: TARGET_GUARD_HEAD, or less
 * for a small device. */
int target_guard_table(const void *head, size_t len, const char *path, struct err *e);

#endif
