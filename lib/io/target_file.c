/* Opens the one file or device that a slab (kvreplay) or a fill (kvprecond) is written to. All its
 * guards are called here: a caller that has the descriptor may write. */
#include "lib/io/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/units.h"
#include "lib/io/target_device.h"
#include "lib/io/target_guard.h"

#define FILE_BLOCK     4096u
#define FILE_SECTOR    512u              /* unit of st_blocks */
#define FILE_ALLOCATED (256 * UNITS_MIB) /* at once: between two looks at the signals */

/* The directory that path, which is not there, is to be made in, resolved, and its name there.
 * False: there is no such directory. */
static bool place_of(const char *path, char place[2 * PATH_MAX])
{
    char parent[PATH_MAX], name[PATH_MAX], resolved[PATH_MAX];

    if (strlen(path) >= PATH_MAX)
        return false;
    snprintf(parent, sizeof(parent), "%s", path);
    snprintf(name, sizeof(name), "%s", path);
    if (!realpath(dirname(parent), resolved))
        return false;
    snprintf(place, 2 * PATH_MAX, "%s/%s", resolved, basename(name));
    return true;
}

bool target_same(const char *a, const char *b)
{
    char place[2][2 * PATH_MAX];
    struct stat one, other;
    bool here = stat(a, &one) == 0, there = stat(b, &other) == 0;

    if (!here && !there && place_of(a, place[0]) && place_of(b, place[1]))
        return strcmp(place[0], place[1]) == 0;
    if (!here || !there)
        return strcmp(a, b) == 0;
    if (S_ISBLK(one.st_mode) && S_ISBLK(other.st_mode))
        return one.st_rdev == other.st_rdev;
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

int target_kind(const char *path, enum target_kind *kind, struct err *e)
{
    struct stat st;

    if (stat(path, &st) < 0) {
        if (errno != ENOENT)
            return err_errno(e, -errno, ERR_TARGET, path, "cannot be examined");
        *kind = TARGET_DIR;
        return 0;
    }
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
        return err_set(e, EINVAL, ERR_TARGET, path,
                       "is not a directory, a regular file or a block device");
    *kind = S_ISDIR(st.st_mode) ? TARGET_DIR : S_ISREG(st.st_mode) ? TARGET_FILE : TARGET_DEVICE;
    return 0;
}

/* O_NONBLOCK was only for the opening: io_uring would take it as a wish not to wait for the device.
 */
static int set_flags(struct target_file *f, const char *path, struct err *e)
{
    int flags = fcntl(f->fd, F_GETFL) & ~O_NONBLOCK;

    if (fcntl(f->fd, F_SETFL, flags) < 0)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be opened for writing");
    /* The node of a device lies on a file system in memory; the device does not. */
    f->direct =
        (f->is_device || !target_in_memory(f->fd)) && fcntl(f->fd, F_SETFL, flags | O_DIRECT) == 0;
    return 0;
}

/* ---- a regular file ---- */

static bool holds_foreign_data(const struct target_file *f, const struct target_file_opts *o)
{
    unsigned char block[FILE_BLOCK];

    if (f->bytes == 0 || o->destroy_data)
        return false;
    return !o->is_ours || pread(f->fd, block, sizeof(block), 0) != (ssize_t)sizeof(block) ||
           !o->is_ours(block);
}

static int open_regular(struct target_file *f, const char *path, const struct target_file_opts *o,
                        struct err *e)
{
    struct stat st;
    char *resolved;
    bool in_home;
    int rc;

    f->fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (f->fd < 0)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be opened for writing");
    rc = target_guard_lock(f->fd);
    if (rc == -EWOULDBLOCK)
        return err_set(e, -EBUSY, ERR_TARGET, path, "is in use by another process");
    if (rc < 0) /* and a single file has no marker that would do instead */
        return err_errno(e, rc, ERR_TARGET, path,
                         "cannot be locked, so a second run could use it at the same time: name a "
                         "directory instead");
    /* Examined under the lock: its last owner may have written. */
    if (fstat(f->fd, &st) < 0)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be examined");
    if (!S_ISREG(st.st_mode))
        return err_set(e, EINVAL, ERR_TARGET, path, "is no longer a regular file");
    /* The guard knows directories by their resolved names. O_NOFOLLOW took care of the last part.
     */
    resolved = realpath(path, NULL);
    if (!resolved)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be resolved");
    rc = target_guard_path(resolved, e);
    *strrchr(resolved, '/') = '\0';
    in_home = target_guard_home(resolved);
    free(resolved);
    if (rc < 0)
        return rc;
    f->bytes = (uint64_t)st.st_size;
    f->allocated_bytes = (uint64_t)st.st_blocks * FILE_SECTOR;
    if (!target_guard_owner(f->fd, st.st_uid))
        return err_set(e, EACCES, ERR_TARGET, path, "refused: it belongs to another user");
    if (st.st_nlink > 1 && !o->destroy_data)
        return err_set(e, EACCES, ERR_TARGET, path,
                       "refused: it has %ju names (hard links), whose contents would change too; "
                       "--destroy-data overwrites them",
                       (uintmax_t)st.st_nlink);
    rc = target_guard_unused(target_facts_here(), f->fd, path, e);
    if (rc < 0)
        return rc;
    if (in_home && holds_foreign_data(f, &(struct target_file_opts){.is_ours = o->is_ours}))
        return err_set(e, EEXIST, ERR_TARGET, path,
                       "refused: holds data that is not kvtrace's, in a home folder");
    if (holds_foreign_data(f, o))
        return err_set(e, EEXIST, ERR_TARGET, path,
                       "holds data that is not kvtrace's; --destroy-data overwrites it");
    return set_flags(f, path, e);
}

/* ---- a block device ---- */

/* Opens the device that was examined, with O_EXCL: from here on nobody else mounts or holds it. */
static int open_examined(struct target_file *f, const char *path, dev_t examined, struct err *e)
{
    int64_t until_ns = 0;
    struct stat st;

    do
        f->fd = open(path, O_RDWR | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    while (f->fd < 0 && errno == EBUSY && target_guard_wait(&until_ns));
    if (f->fd < 0 && errno == EBUSY)
        return err_set(e, EBUSY, ERR_TARGET, path, "refused: the kernel says it is in use");
    if (f->fd < 0)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be opened for writing");
    if (fstat(f->fd, &st) < 0 || !S_ISBLK(st.st_mode) || st.st_rdev != examined)
        return err_set(e, EAGAIN, ERR_TARGET, path, "is no longer the same device");
    return 0;
}

static int device_size(struct target_file *f, const char *path, struct err *e)
{
    int sector = 0;

    if (ioctl(f->fd, BLKGETSIZE64, &f->bytes) < 0 || ioctl(f->fd, BLKSSZGET, &sector) < 0)
        return err_errno(e, -errno, ERR_TARGET, path, "its size cannot be read");
    f->bytes = f->bytes / FILE_BLOCK * FILE_BLOCK;
    f->allocated_bytes = f->bytes;
    if (f->bytes == 0)
        return err_set(e, ENOSPC, ERR_TARGET, path, "is smaller than 4 KiB");
    if (sector <= 0 || FILE_BLOCK % (unsigned)sector != 0)
        return err_set(e, ENOTSUP, ERR_TARGET, path,
                       "has sectors of %d bytes; 4 KiB must be a multiple of them", sector);
    return 0;
}

static int open_device(struct target_file *f, const char *path, const struct target_file_opts *o,
                       struct err *e)
{
    unsigned char head[TARGET_GUARD_HEAD];
    struct stat st;
    ssize_t n;
    int rc;

    f->is_device = true;
    if (stat(path, &st) < 0 || !S_ISBLK(st.st_mode))
        return err_set(e, EINVAL, ERR_TARGET, path, "is no longer a block device");
    rc = target_guard_device(target_facts_here(), st.st_rdev, path, e);
    if (rc < 0)
        return rc;
    rc = open_examined(f, path, st.st_rdev, e);
    if (rc < 0)
        return rc;
    n = pread(f->fd, head, sizeof(head), 0);
    if (n < 0)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be read");
    rc = target_guard_table(head, (size_t)n, path, e);
    if (rc < 0)
        return rc;
    rc = device_size(f, path, e);
    if (rc < 0)
        return rc;
    if (!o->destroy_data)
        return err_set(e, EPERM, ERR_TARGET, path,
                       "is a block device: --destroy-data is needed to overwrite all that it "
                       "holds");
    return set_flags(f, path, e);
}

int target_file_open(struct target_file *out, const char *path, const struct target_file_opts *o,
                     struct err *e)
{
    struct target_file f = {.fd = -1};
    enum target_kind kind;
    char *real = NULL;
    int rc = target_kind(path, &kind, e);

    if (rc < 0)
        return rc;
    if (kind == TARGET_DIR)
        return err_set(e, EISDIR, ERR_TARGET, path, "is neither a regular file nor a block device");
    /* Devices are often named by links (/dev/disk/by-id), files never are. */
    if (kind == TARGET_DEVICE && !(real = realpath(path, NULL)))
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be resolved");
    rc = real ? open_device(&f, real, o, e) : open_regular(&f, path, o, e);
    free(real);
    if (rc < 0 && f.fd >= 0)
        close(f.fd);
    if (rc == 0)
        *out = f;
    return rc;
}

/* ---- space ---- */

int target_file_allocate(int fd, uint64_t bytes, bool (*stopped)(void))
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t part = bytes - done < FILE_ALLOCATED ? bytes - done : FILE_ALLOCATED;

        if (stopped())
            return -EINTR;
        if (fallocate(fd, 0, (off_t)done, (off_t)part) == 0)
            done += part;
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}
