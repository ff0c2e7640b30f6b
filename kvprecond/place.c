/* The target of a fill. Directories are taken, emptied and released by lib/target.c; what a regular
 * file needs (lock, recognising our own data, its former length) is here. Files are opened when the
 * first write for them leaves and closed when the last one has ended. */
#include "kvprecond/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/hash.h"
#include "lib/target.h"
#include "lib/units.h"

#define PLACE_NAME_CAP 32

struct place_file {
    int fd; /* -1: this slot is free */
    uint64_t number, bytes, done;
};

struct place {
    struct place_opts o;
    struct target *target; /* NULL: a regular file */
    int file_fd;           /* -1: a directory */
    uint64_t former_bytes; /* length of the regular file before */
    uint64_t file_bytes, begun;
    bool direct;
    unsigned slots;
    struct place_file *last; /* the file that parts are begun in now */
    struct place_file open[];
};

static const char *file_name(char buf[PLACE_NAME_CAP], uint64_t number)
{
    snprintf(buf, PLACE_NAME_CAP, "fill-%06" PRIu64 ".kv", number);
    return buf;
}

static uint64_t file_size(const struct place *p, uint64_t number)
{
    uint64_t left = p->o.size - number * p->file_bytes;

    return left < p->file_bytes ? left : p->file_bytes;
}

static int check_room(const struct place *p, uint64_t own_bytes, struct err *e)
{
    char need[32], have[32];
    uint64_t room;
    int ret = target_room(place_fd(p), p->o.reserve_share, &room, e);

    if (ret < 0)
        return ret;
    if (p->o.size <= own_bytes || p->o.size - own_bytes <= room)
        return 0;
    return err_set(e, ENOSPC, ERR_TARGET, p->o.path,
                   "%s asked for, %s free beside the reserve (%g %%)",
                   units_format_bytes(need, sizeof need, (double)p->o.size),
                   units_format_bytes(have, sizeof have, (double)(room + own_bytes)),
                   p->o.reserve_share * 100);
}

/* ---- a directory ---- */

static int open_dir(struct place *p, struct err *e)
{
    int ret = target_open_dir(&p->target, p->o.path, "kvprecond", e);

    if (ret < 0)
        return ret;
    if (target_was_kept(p->target) && !p->o.destroy_data)
        return err_set(e, EEXIST, ERR_TARGET, p->o.path,
                       "holds what an earlier run kept; --destroy-data removes it");
    if (target_was_kept(p->target)) {
        ret = target_empty(p->target, e);
        if (ret < 0)
            return ret;
    }
    p->file_bytes = p->o.file_bytes;
    p->direct = target_direct_io(target_fd(p->target));
    return check_room(p, 0, e);
}

/* ---- a regular file ---- */

static bool is_ours(const void *block)
{
    struct data_id id;
    uint64_t index;

    return data_identify(block, &id, &index) == 0;
}

static int open_file(struct place *p, struct err *e)
{
    const struct target_file_opts o = {.destroy_data = p->o.destroy_data, .is_ours = is_ours};
    struct target_file f;
    int ret = target_open_file(&f, p->o.path, &o, e);

    if (ret < 0)
        return ret;
    p->file_fd = f.fd;
    p->former_bytes = f.bytes;
    p->file_bytes = p->o.size;
    p->direct = f.direct;
    return check_room(p, f.allocated_bytes, e);
}

/* ---- both ---- */

static int open_kind(struct place *p, struct err *e)
{
    enum target_kind kind;
    int ret = target_kind(p->o.path, &kind, e);

    if (ret < 0)
        return ret;
    if (kind == TARGET_DEVICE)
        return err_set(e, ENOTSUP, ERR_TARGET, p->o.path,
                       "is a block device; kvprecond fills directories and regular files");
    return kind == TARGET_DIR ? open_dir(p, e) : open_file(p, e);
}

int place_open(struct place **out, const struct place_opts *o, struct err *e)
{
    unsigned slots = o->depth + 1;
    struct place *p = calloc(1, sizeof *p + slots * sizeof p->open[0]);
    int ret;

    if (!p)
        return err_nomem(e, "target");
    p->o = *o;
    p->file_fd = -1;
    p->slots = slots;
    for (unsigned i = 0; i < slots; i++)
        p->open[i].fd = -1;
    ret = open_kind(p, e);
    if (ret < 0) {
        /* What was there before stays: a refused target is released as it was found. */
        place_close(p, p->target && target_was_kept(p->target), NULL);
        return ret;
    }
    *out = p;
    return 0;
}

struct place_part place_part(const struct place *p, uint64_t at, uint32_t max)
{
    struct place_part part = {.file = at / p->file_bytes, .offset = at % p->file_bytes, .len = max};
    uint64_t left = file_size(p, part.file) - part.offset;
    uint64_t name[2] = {part.file, p->o.seed};

    if (left < max)
        part.len = (uint32_t)left;
    part.id.key = hash_128(name, sizeof name);
    part.id.generation = p->o.seed;
    return part;
}

/* Space is taken at once: writes into allocated space run side by side, while writes that grow a
 * file wait for each other in most file systems. */
static int allocate(int fd, uint64_t bytes)
{
    int ret;

    do
        ret = fallocate(fd, 0, 0, (off_t)bytes);
    while (ret < 0 && errno == EINTR);
    return ret == 0 || errno == EOPNOTSUPP ? 0 : -errno;
}

static int begin_file(struct place *p, struct place_file *f, const char *where, struct err *e)
{
    char name[PLACE_NAME_CAP];
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | (p->direct ? O_DIRECT : 0);
    int ret;

    if (p->target)
        f->fd = openat(target_fd(p->target), file_name(name, f->number), flags, 0600);
    else
        f->fd = fcntl(p->file_fd, F_DUPFD_CLOEXEC, 0);
    if (f->fd < 0)
        return err_errno(e, -errno, ERR_FAILED, where, "cannot be created");
    ret = allocate(f->fd, f->bytes);
    if (ret < 0) {
        close(f->fd);
        f->fd = -1;
        return err_errno(e, ret, ERR_FAILED, where, "no space could be allocated");
    }
    p->begun++;
    p->last = f;
    return 0;
}

int place_begin(struct place *p, const struct place_part *part, struct place_file **file, int *fd,
                struct err *e)
{
    char where[PATH_MAX + PLACE_NAME_CAP], name[PLACE_NAME_CAP];
    unsigned i = 0;
    int ret = 0;

    if (!p->last || p->last->fd < 0 || p->last->number != part->file) {
        /* depth + 1 slots: there is always a free one beside the files with writes in flight. */
        while (p->open[i].fd >= 0)
            i++;
        p->open[i] =
            (struct place_file){.fd = -1, .number = part->file, .bytes = file_size(p, part->file)};
        snprintf(where, sizeof where, "%s%s%s", p->o.path, p->target ? "/" : "",
                 p->target ? file_name(name, part->file) : "");
        ret = begin_file(p, &p->open[i], where, e);
    }
    if (ret < 0)
        return ret;
    *file = p->last;
    *fd = p->last->fd;
    return 0;
}

/* Without O_DIRECT the page cache must not keep, or keep back, what was written. */
static int flush_buffered(int fd)
{
    if (fdatasync(fd) < 0)
        return -errno;
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return 0;
}

int place_done(struct place *p, struct place_file *f, uint32_t len, struct err *e)
{
    int ret = 0;

    f->done += len;
    if (f->done < f->bytes)
        return 0;
    if (!p->direct)
        ret = flush_buffered(f->fd);
    if (close(f->fd) < 0 && ret == 0)
        ret = -errno;
    f->fd = -1;
    return ret < 0 ? err_errno(e, ret, ERR_FAILED, p->o.path, "cannot be written") : 0;
}

static int sync_named(const struct place *p, uint64_t number)
{
    char name[PLACE_NAME_CAP];
    int ret = 0, fd = openat(target_fd(p->target), file_name(name, number),
                             O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (fdatasync(fd) < 0)
        ret = -errno;
    close(fd);
    return ret;
}

int place_sync(struct place *p, struct err *e)
{
    int ret = 0;

    if (!p->target && fdatasync(p->file_fd) < 0)
        ret = -errno;
    for (uint64_t i = 0; p->target && i < p->begun && ret == 0; i++)
        ret = sync_named(p, i);
    if (p->target && ret == 0 && fsync(target_fd(p->target)) < 0)
        ret = -errno;
    return ret < 0 ? err_errno(e, ret, ERR_FAILED, p->o.path, "cannot be made durable") : 0;
}

int place_fd(const struct place *p)
{
    return p->target ? target_fd(p->target) : p->file_fd;
}

bool place_direct(const struct place *p)
{
    return p->direct;
}

bool place_is_dir(const struct place *p)
{
    return p->target != NULL;
}

uint64_t place_files(const struct place *p)
{
    return p->begun;
}

static int close_file(struct place *p, bool keep, struct err *e)
{
    int ret = 0;

    if (p->file_fd < 0)
        return 0;
    if (!keep && p->begun && ftruncate(p->file_fd, (off_t)p->former_bytes) < 0)
        ret = err_errno(e, -errno, ERR_FAILED, p->o.path, "cannot be cut to its former length");
    if (close(p->file_fd) < 0 && ret == 0)
        ret = err_errno(e, -errno, ERR_FAILED, p->o.path, "cannot be closed");
    return ret;
}

int place_close(struct place *p, bool keep, struct err *e)
{
    int ret;

    if (!p)
        return 0;
    for (unsigned i = 0; i < p->slots; i++)
        if (p->open[i].fd >= 0)
            close(p->open[i].fd);
    ret = p->target ? target_close(p->target, keep, e) : close_file(p, keep, e);
    free(p);
    return ret;
}
