/* One file per object below a target's directory, for the storage tier: xx/<hash>.kv, where xx are
 * the first two digits of the hash. Folders are made when first needed and kept open, so that every
 * file is reached by openat without following a link. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/layout.h"

#define FILES_FOLDERS   256
#define FILES_NAME_CAP  (HASH_HEX_LEN + sizeof ".kv")
#define FILES_DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct layout_files {
    struct layout layout;
    int dirfd;
    int direct;                       /* O_DIRECT or 0 */
    atomic_int folder[FILES_FOLDERS]; /* descriptors, -1: not open yet */
};

struct files_name {
    unsigned folder;
    char text[FILES_NAME_CAP];
};

static struct files_name files_name(struct hash128 h)
{
    struct files_name n = {.folder = (unsigned)(h.hi >> 56)};

    hash_hex(h, n.text);
    n.text[HASH_HEX_LEN] = '.';
    n.text[HASH_HEX_LEN + 1] = 'k';
    n.text[HASH_HEX_LEN + 2] = 'v';
    n.text[HASH_HEX_LEN + 3] = '\0';
    return n;
}

/* Descriptor of folder number i or negative errno; made if make. Two threads may open it at once:
 * one keeps its own. */
static int files_folder(struct layout_files *f, unsigned i, bool make)
{
    int fd = atomic_load_explicit(&f->folder[i], memory_order_acquire), none = -1;
    char name[3];

    if (fd >= 0)
        return fd;
    snprintf(name, sizeof name, "%02x", i & 0xffu);
    if (make && mkdirat(f->dirfd, name, 0755) < 0 && errno != EEXIST)
        return -errno;
    fd = openat(f->dirfd, name, FILES_DIR_FLAGS);
    if (fd < 0)
        return -errno;
    if (!atomic_compare_exchange_strong(&f->folder[i], &none, fd)) {
        close(fd);
        fd = none;
    }
    return fd;
}

/*
 * Blocks are allocated before the writes: ext4 runs direct writes in parallel only where they
 * neither move the end of the file nor fill a hole, else one after another under the inode's lock.
 */
static int files_resize(int fd, uint64_t bytes)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if ((uint64_t)st.st_size == bytes)
        return 0;
    if ((uint64_t)st.st_size > bytes)
        return ftruncate(fd, (off_t)bytes) < 0 ? -errno : 0;
    if (fallocate(fd, 0, 0, (off_t)bytes) == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR)
        return -errno;
    return ftruncate(fd, (off_t)bytes) < 0 ? -errno : 0;
}

static int files_create(struct layout *l, struct hash128 name, uint64_t bytes,
                        struct layout_place *p)
{
    struct layout_files *f = (struct layout_files *)l;
    struct files_name n = files_name(name);
    int dir = files_folder(f, n.folder, true), fd, ret;

    if (dir < 0)
        return dir;
    if (bytes > INT64_MAX)
        return -EFBIG;
    fd = openat(dir, n.text, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | f->direct, 0644);
    if (fd < 0)
        return -errno;
    ret = files_resize(fd, bytes);
    if (ret < 0) {
        close(fd);
        unlinkat(dir, n.text, 0); /* neither the old object nor the new one */
        return ret;
    }
    *p = (struct layout_place){.fd = fd};
    return 0;
}

static int files_open(struct layout *l, struct hash128 name, struct layout_place *p,
                      uint64_t *bytes)
{
    struct layout_files *f = (struct layout_files *)l;
    struct files_name n = files_name(name);
    int dir = files_folder(f, n.folder, false), fd;
    struct stat st;

    if (dir < 0)
        return dir;
    fd = openat(dir, n.text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | f->direct);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return -EIO;
    }
    *p = (struct layout_place){.fd = fd};
    *bytes = (uint64_t)st.st_size;
    return 0;
}

static int files_release(struct layout *l, struct layout_place *p, bool sync)
{
    int ret = 0;

    (void)l;
    if (sync && fdatasync(p->fd) < 0)
        ret = -errno;
    /* Network file systems report failed writes here. */
    if (close(p->fd) < 0 && errno != EINTR && ret == 0)
        ret = -errno;
    p->fd = -1;
    return ret;
}

static int files_remove(struct layout *l, struct hash128 name)
{
    struct layout_files *f = (struct layout_files *)l;
    struct files_name n = files_name(name);
    int dir = files_folder(f, n.folder, false);

    if (dir < 0)
        return dir;
    return unlinkat(dir, n.text, 0) < 0 ? -errno : 0;
}

static void files_close(struct layout *l)
{
    struct layout_files *f = (struct layout_files *)l;

    if (!f)
        return;
    for (int i = 0; i < FILES_FOLDERS; i++) {
        int fd = atomic_load_explicit(&f->folder[i], memory_order_acquire);

        if (fd >= 0)
            close(fd);
    }
    free(f);
}

static const struct layout_ops files_ops = {
    .name = "files",
    .create = files_create,
    .open = files_open,
    .release = files_release,
    .remove = files_remove,
    .close = files_close,
};

int layout_files_open(struct layout **out, int dirfd, bool direct, struct err *e)
{
    struct layout_files *f = calloc(1, sizeof *f);

    if (!f)
        return err_nomem(e, "layout of files");
    f->layout.ops = &files_ops;
    f->dirfd = dirfd;
    f->direct = direct ? O_DIRECT : 0;
    for (int i = 0; i < FILES_FOLDERS; i++)
        atomic_init(&f->folder[i], -1);
    *out = &f->layout;
    return 0;
}
