/* The work of a worker thread (like.c) for one object. Profiles follow LMCache 0.5.6's file store
 * and vLLM's file connector; the *at forms with O_NOFOLLOW, O_NONBLOCK and O_CLOEXEC stand for the
 * plain calls. */
#include "kvreplay/like/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kvreplay/like/names.h"
#include "lib/base/clock.h"
#include "lib/io/target_guard.h"

/* A pipe that somebody planted is not waited for. */
#define OPEN_FLAGS (O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

const struct like_profile *like_profile(enum uri_like like)
{
    static const struct like_profile profiles[URI_LIKES] = {
        [URI_LIKE_LMCACHE_FS] = {.source = "LMCache 0.5.6", .evicts = true, .workers = 6},
        [URI_LIKE_LMCACHE_FS_DIRECT] = {.source = "LMCache 0.5.6",
                                        .direct = true,
                                        .evicts = true,
                                        .workers = 6},
        [URI_LIKE_VLLM_FS] =
            {.source = "vLLM", .tree = true, .direct = true, .workers = 16, .load_workers = 16},
    };
    return &profiles[like];
}

/* ---- opening ---- */

static int tree_open(int dirfd, int *tree)
{
    static const char config[] = "{\"model\": \"kvtrace\", \"rank\": 0, \"group\": 0}\n";
    struct stat st;
    int fd;

    if (mkdirat(dirfd, TARGET_FILES_TREE, 0755) < 0 && errno != EEXIST)
        return -errno;
    *tree = openat(dirfd, TARGET_FILES_TREE, O_RDONLY | O_DIRECTORY | OPEN_FLAGS);
    if (*tree < 0)
        return -errno;
    /* Below it no path is checked for links: only its owner could plant one. */
    if (fstat(*tree, &st) < 0 || st.st_mode & (S_IWGRP | S_IWOTH) ||
        !target_guard_owner(*tree, st.st_uid))
        return -EPERM;
    fd = openat(*tree, TARGET_FILES_CONFIG, O_WRONLY | O_CREAT | O_TRUNC | OPEN_FLAGS, 0644);
    if (fd < 0)
        return -errno;
    int rc = write(fd, config, strlen(config)) == (ssize_t)strlen(config) ? 0 : -EIO;
    return close(fd) < 0 && rc == 0 ? -errno : rc;
}

int like_calls_open(struct like_calls *c, int dirfd, const char *path, struct err *e)
{
    int rc = target_files_remove(dirfd, true, c->lease, NULL);

    c->dirfd = dirfd;
    if (rc < 0)
        return err_errno(e, rc, ERR_TARGET, path, "cannot remove what a crash left");
    if (!c->profile->tree)
        return 0;
    c->dirfd = -1;
    rc = tree_open(dirfd, &c->dirfd);
    if (rc < 0)
        like_calls_close(c);
    if (rc < 0)
        return err_errno(e, rc, ERR_TARGET, path, "%s cannot be made or used", TARGET_FILES_TREE);
    return 0;
}

void like_calls_close(struct like_calls *c)
{
    if (c->profile->tree && c->dirfd >= 0)
        close(c->dirfd);
    c->dirfd = -1;
}

/* ---- one object ---- */

static struct like_name name_of(const struct like_calls *c, struct hash128 object, unsigned writer)
{
    struct like_name n;

    if (c->profile->tree)
        like_name_tree(&n, object, writer);
    else
        like_name_flat(&n, object);
    return n;
}

/* O_DIRECT cannot move a part of a block. */
static int direct_flag(const struct like_calls *c, uint64_t bytes)
{
    return c->direct && bytes % DATA_BLOCK == 0 ? O_DIRECT : 0;
}

/* The one that the engine makes before it stores or loads. 0 or -1 with errno. */
static int look(const struct like_calls *c, const struct like_name *n)
{
    struct stat st;

    return c->profile->tree ? faccessat(c->dirfd, n->path, F_OK, 0)
                            : fstatat(c->dirfd, n->path, &st, AT_SYMLINK_NOFOLLOW);
}

int like_lookup(const struct like_calls *c, struct hash128 object, struct tier_parts *part)
{
    const struct like_name n = name_of(c, object, 0);
    int64_t begin_ns = clock_now_ns();
    int rc = look(c, &n) < 0 ? -errno : 0;

    part->meta_ns += clock_now_ns() - begin_ns;
    return rc;
}

int like_evict(const struct like_calls *c, struct hash128 object, struct tier_parts *part)
{
    const struct like_name n = name_of(c, object, 0);
    int64_t begin_ns = clock_now_ns();

    if (!lease_valid(c->lease))
        return -ESTALE;
    int rc = unlinkat(c->dirfd, n.path, 0) < 0 ? -errno : 0;
    part->meta_ns += clock_now_ns() - begin_ns;
    return rc;
}

/* The object's folders where they are missing. 0 or -1 with errno. */
static int make_folders(const struct like_calls *c, const struct like_name *n)
{
    char folder[LIKE_PATH_CAP];
    struct stat st;

    like_name_folder(n, true, folder);
    if (fstatat(c->dirfd, folder, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    like_name_folder(n, false, folder);
    if (mkdirat(c->dirfd, folder, 0755) < 0 && errno != EEXIST)
        return -1;
    like_name_folder(n, true, folder);
    return mkdirat(c->dirfd, folder, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

/* Descriptor of the new file, or negative errno. */
static int store_open(const struct like_calls *c, const struct like_name *n, uint64_t bytes)
{
    int flags = O_WRONLY | O_CREAT | OPEN_FLAGS | direct_flag(c, bytes);
    int fd;

    (void)look(c, n);
    if (!lease_valid(c->lease))
        return -ESTALE;
    if (c->profile->tree && make_folders(c, n) < 0)
        return -errno;
    /* LMCache leaves out O_TRUNC when it writes directly: nothing of that name is there, unless an
     * earlier write has left it, which may be longer. */
    if (c->profile->tree)
        flags |= O_EXCL | O_TRUNC;
    else if (!(flags & O_DIRECT) || atomic_load_explicit(&c->left, memory_order_relaxed))
        flags |= O_TRUNC;
    fd = openat(c->dirfd, n->temporary, flags, 0644);
    /* An earlier write of this thread, or of a run that was killed, could not remove it. */
    if (fd < 0 && errno == EEXIST && unlinkat(c->dirfd, n->temporary, 0) == 0)
        fd = openat(c->dirfd, n->temporary, flags, 0644);
    return fd < 0 ? -errno : fd;
}

/* One call, unless the kernel takes less: a full device says so only at the next. */
static int write_whole(int fd, const void *buf, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes;) {
        ssize_t n = write(fd, (const char *)buf + at, bytes - at);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return -EIO;
        at += n > 0 ? (uint64_t)n : 0;
    }
    return 0;
}

int like_store(struct like_calls *c, struct tier_op *op, unsigned writer, const void *buf)
{
    const struct like_name n = name_of(c, op->name, writer);
    const uint64_t bytes = op->size;
    struct tier_parts *part = &op->part;
    int64_t begin_ns = clock_now_ns(), opened_ns, written_ns, synced_ns;
    int fd = store_open(c, &n, bytes), rc;
    bool drops = c->drop && fd >= 0 && !direct_flag(c, bytes);

    opened_ns = written_ns = synced_ns = clock_now_ns();
    part->meta_ns += opened_ns - begin_ns;
    if (fd < 0)
        return fd;
    rc = write_whole(fd, buf, bytes);
    written_ns = synced_ns = clock_now_ns();
    part->io_ns += written_ns - opened_ns;
    if (rc == 0 && (c->sync_objects || drops)) { /* only clean pages can be dropped */
        rc = fdatasync(fd) < 0 ? -errno : 0;
        synced_ns = clock_now_ns();
        part->flush_ns += synced_ns - written_ns;
    }
    if (drops) { /* no storage would do it: its time is nobody's */
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        synced_ns = clock_now_ns();
    }
    if (close(fd) < 0 && errno != EINTR && rc == 0)
        rc = -errno;
    if (rc == 0 && !lease_valid(c->lease))
        rc = -ESTALE;
    if (rc == 0 && renameat(c->dirfd, n.temporary, c->dirfd, n.path) < 0)
        rc = -errno;
    if (rc < 0 && rc != -ESTALE && unlinkat(c->dirfd, n.temporary, 0) < 0 && errno != ENOENT)
        atomic_store_explicit(&c->left, true, memory_order_relaxed);
    part->meta_ns += clock_now_ns() - synced_ns;
    return rc;
}

/* One call, unless the kernel gives less. 0, also at the end of the file, or negative errno. */
static int read_whole(int fd, void *buf, uint64_t bytes, uint64_t *got)
{
    while (*got < bytes) {
        ssize_t n = read(fd, (char *)buf + *got, bytes - *got);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            break;
        *got += n > 0 ? (uint64_t)n : 0;
    }
    return 0;
}

int like_load(const struct like_calls *c, struct tier_op *op, void *buf, uint64_t bytes,
              uint64_t *got)
{
    const struct like_name n = name_of(c, op->name, 0);
    struct tier_parts *part = &op->part;
    int direct = direct_flag(c, bytes), rc = 0;
    int64_t begin_ns = clock_now_ns(), opened_ns, read_ns;
    int fd = openat(c->dirfd, n.path, O_RDONLY | OPEN_FLAGS | direct);
    struct stat st;

    *got = 0;
    if (fd < 0)
        rc = -errno;
    else if (!c->profile->tree && fstat(fd, &st) < 0)
        rc = -errno;
    opened_ns = clock_now_ns();
    part->meta_ns += opened_ns - begin_ns;
    if (fd < 0)
        return rc;
    if (rc == 0)
        rc = read_whole(fd, buf, bytes, got);
    read_ns = clock_now_ns();
    part->io_ns += read_ns - opened_ns;
    if (c->drop && !direct) {
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        read_ns = clock_now_ns();
    }
    close(fd);
    part->meta_ns += clock_now_ns() - read_ns;
    return rc == 0 && *got < bytes ? -ENODATA : rc;
}

int like_find(const struct like_calls *c, struct hash128 object, uint64_t *bytes)
{
    const struct like_name n = name_of(c, object, 0);
    int fd = target_guard_open(c->dirfd, n.path, O_RDONLY, bytes);

    if (fd < 0)
        return fd;
    /* Reads of this look must not be in the page cache when the clock starts. */
    if (*bytes % DATA_BLOCK == 0)
        (void)fcntl(fd, F_SETFL, O_DIRECT);
    else
        posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    return fd;
}
