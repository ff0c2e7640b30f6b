/* Segments of a list as files. One stays open to be appended to; the head is written under another
 * name and renamed, so that it is the old one or the new one. */
#include "lib/owner/inventory_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe that somebody planted is not waited for, a link not followed. */
#define OPEN_FLAGS (O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
/* While the head is written: a segment that is never read. */
#define HEAD_NEW UINT32_MAX

struct inventory_files {
    int dirfd;
    char where[300];
    uint32_t segment; /* that fd is of */
    int fd;           /* negative: none */
    struct inventory_store store;
};

/* A descriptor of a regular file without another name, or negative errno. */
static int open_segment(const struct inventory_files *f, uint32_t segment, int flags)
{
    char name[INVENTORY_NAME_CAP];
    struct stat st;

    inventory_name(name, segment);
    int fd = openat(f->dirfd, name, flags | OPEN_FLAGS, 0644);
    if (fd < 0)
        return errno == ENXIO || errno == ELOOP ? -EISNAM : -errno;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink <= 1)
        return fd;
    close(fd);
    return -EISNAM;
}

static int let_go(struct inventory_files *f)
{
    int fd = f->fd;

    f->fd = -1;
    return fd >= 0 && close(fd) < 0 ? -errno : 0;
}

static int failed(const struct inventory_files *f, int code, const char *what, struct err *e)
{
    return err_errno(e, code, ERR_TARGET, f->where, "its " INVENTORY_NAME " cannot be %s", what);
}

static ssize_t files_read(void *ctx, uint32_t segment, uint64_t at, void *buf, size_t cap,
                          struct err *e)
{
    struct inventory_files *f = ctx;
    ssize_t n;

    if (f->fd < 0 || f->segment != segment) {
        (void)let_go(f);
        f->fd = open_segment(f, segment, O_RDONLY);
        f->segment = segment;
    }
    if (f->fd == -ENOENT)
        return -ENOENT;
    if (f->fd < 0)
        return failed(f, f->fd, "read", e);
    n = pread(f->fd, buf, cap, (off_t)at);
    return n < 0 ? failed(f, -errno, "read", e) : n;
}

static int write_at(int fd, const void *buf, size_t len, uint64_t at)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(fd, (const char *)buf + done, len - done, (off_t)(at + done));

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return -EIO;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* A file that somebody left in its place is removed first, and never written to. */
static int make_segment(struct inventory_files *f, uint32_t segment)
{
    char name[INVENTORY_NAME_CAP];

    inventory_name(name, segment);
    if (unlinkat(f->dirfd, name, 0) < 0 && errno != ENOENT)
        return -errno;
    return open_segment(f, segment, O_WRONLY | O_CREAT | O_EXCL);
}

static int write_head(struct inventory_files *f, const void *buf, size_t len)
{
    char name[INVENTORY_NAME_CAP];
    int fd = make_segment(f, HEAD_NEW), rc;

    if (fd < 0)
        return fd;
    rc = write_at(fd, buf, len, 0);
    if (rc == 0 && fdatasync(fd) < 0)
        rc = -errno;
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    inventory_name(name, HEAD_NEW);
    if (rc == 0 && renameat(f->dirfd, name, f->dirfd, INVENTORY_NAME) < 0)
        rc = -errno;
    return rc;
}

static int files_write(void *ctx, uint32_t segment, uint64_t at, const void *buf, size_t len,
                       struct err *e)
{
    struct inventory_files *f = ctx;
    int rc = 0;

    if (segment == 0) {
        rc = write_head(f, buf, len);
    } else {
        if (f->fd < 0 || f->segment != segment || at == 0) {
            rc = let_go(f);
            f->fd = at == 0 ? make_segment(f, segment) : open_segment(f, segment, O_WRONLY);
            f->segment = segment;
        }
        rc = f->fd < 0 ? f->fd : rc < 0 ? rc : write_at(f->fd, buf, len, at);
    }
    return rc < 0 ? failed(f, rc, "written", e) : 0;
}

static int files_remove(void *ctx, uint32_t segment, struct err *e)
{
    struct inventory_files *f = ctx;
    char name[INVENTORY_NAME_CAP];

    if (f->segment == segment)
        (void)let_go(f);
    inventory_name(name, segment);
    return unlinkat(f->dirfd, name, 0) < 0 && errno != ENOENT ? failed(f, -errno, "removed", e) : 0;
}

struct inventory_files *inventory_files_open(int dirfd, const char *where)
{
    struct inventory_files *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    *f = (struct inventory_files){.dirfd = dirfd, .fd = -1};
    snprintf(f->where, sizeof(f->where), "%s", where);
    f->store = (struct inventory_store){.ctx = f,
                                        .appends = true,
                                        .local = true,
                                        .segment_bytes = UINT64_C(1) << 40,
                                        .read = files_read,
                                        .write = files_write,
                                        .remove = files_remove};
    return f;
}

void inventory_files_close(struct inventory_files *f)
{
    if (!f)
        return;
    (void)let_go(f);
    free(f);
}

const struct inventory_store *inventory_files_store(const struct inventory_files *f)
{
    return &f->store;
}
