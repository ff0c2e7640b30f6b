/* The target of a fill. Directories are taken, emptied and released by lib/io/target.c, files and
 * devices opened by lib/io/target_file.c. In a directory a file is opened when the first write for
 * it leaves and closed when the last one of a pass has ended; under random writes all stay open. */
#include "kvprecond/fill_target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/descriptors.h"
#include "lib/base/units.h"
#include "lib/data/data.h"
#include "lib/io/target_device.h"
#include "lib/io/target_dir.h"

#define TARGET_NAME_CAP 32
#define TARGET_DISCARD  (4 * UNITS_GIB) /* at a time, so that a stop need not wait for all of it */

struct fill_file {
    int fd;
    uint64_t number, pass, bytes, done;
    struct fill_file *next;
};

struct fill_target {
    struct fill_target_opts o;
    const struct plan *plan;
    struct target_dir *target; /* NULL: a file or device */
    struct target_file file;   /* fd -1: a directory */
    bool direct, grown;        /* grown: the regular file may be longer than it was */
    _Atomic int *fds;          /* random writes in a directory: by number of file, -1: not yet */
    pthread_mutex_t lock;      /* of what follows */
    struct fill_file *slots, *unused, *open;
    uint64_t files, beyond; /* files made; above the highest number of them */
};

/* ---- opening ---- */

static bool is_ours(const void *block)
{
    struct data_id id;
    uint64_t index;

    return data_identify(block, &id, &index) == 0;
}

static int open_dir(struct fill_target *p, struct err *e)
{
    int ret = target_dir_open(&p->target, p->o.path, "kvprecond", e);

    if (ret < 0)
        return ret;
    if (target_dir_was_kept(p->target) && !p->o.destroy_data)
        return err_set(e, EEXIST, ERR_TARGET, p->o.path,
                       "holds what an earlier run kept; --destroy-data removes it");
    if (target_dir_was_kept(p->target)) {
        ret = target_dir_empty(p->target, e);
        if (ret < 0)
            return ret;
    }
    p->direct = target_direct_io(target_dir_fd(p->target));
    return 0;
}

static int open_file(struct fill_target *p, struct err *e)
{
    const struct target_file_opts o = {.destroy_data = p->o.destroy_data, .is_ours = is_ours};
    int ret = target_file_open(&p->file, p->o.path, &o, e);

    if (ret < 0)
        return ret;
    p->direct = p->file.direct;
    if (p->file.is_device != (p->o.kind == TARGET_DEVICE))
        return err_set(e, EAGAIN, ERR_TARGET, p->o.path, "is not what it was a moment ago");
    return 0;
}

int fill_target_open(struct fill_target **out, const struct fill_target_opts *o, struct err *e)
{
    struct fill_target *p = calloc(1, sizeof(*p));
    int ret;

    if (!p)
        return err_nomem(e, "target");
    p->o = *o;
    p->file.fd = -1;
    pthread_mutex_init(&p->lock, NULL);
    ret = o->kind == TARGET_DIR ? open_dir(p, e) : open_file(p, e);
    if (ret < 0) {
        /* What was there before stays: a refused target is released as it was found. */
        fill_target_close(p, p->target && target_dir_was_kept(p->target), NULL);
        return ret;
    }
    *out = p;
    return 0;
}

uint64_t fill_target_capacity(const struct fill_target *p)
{
    return p->file.is_device ? p->file.bytes : 0;
}

/* ---- getting ready ---- */

static int check_room(const struct fill_target *p, struct err *e)
{
    const uint64_t need = plan_pass_bytes(p->plan), own = p->target ? 0 : p->file.allocated_bytes;
    char need_text[32], have_text[32];
    uint64_t room;
    int ret = target_room(fill_target_fd(p), p->o.reserve_share, &room, e);

    if (ret < 0)
        return ret;
    if (need <= own || need - own <= room)
        return 0;
    return err_set(e, ENOSPC, ERR_TARGET, p->o.path,
                   "%s asked for, %s free beside the reserve (%g %%)",
                   units_format_bytes(need_text, sizeof(need_text), (double)need),
                   units_format_bytes(have_text, sizeof(have_text), (double)(room + own)),
                   p->o.reserve_share * 100);
}

/* Under random writes every file is open at once. */
static int want_many_files(const struct fill_target *p, uint64_t files, struct err *e)
{
    uint64_t can = descriptors_want(files);

    if (can == files)
        return 0;
    return err_set(e, EMFILE, ERR_TARGET, p->o.path,
                   "%" PRIu64 " files would be open at once, and %" PRIu64 " can be: take a larger "
                   "--file-size",
                   files, can);
}

static int plan_random_files(struct fill_target *p, struct err *e)
{
    const uint64_t files = plan_files(p->plan);
    int ret = want_many_files(p, files, e);

    if (ret < 0)
        return ret;
    p->fds = malloc(files * sizeof(*p->fds));
    if (!p->fds)
        return err_nomem(e, "table of files");
    for (uint64_t i = 0; i < files; i++)
        atomic_init(&p->fds[i], -1);
    return 0;
}

static int plan_open_files(struct fill_target *p, unsigned outstanding, struct err *e)
{
    p->slots = calloc((size_t)outstanding + 1, sizeof(*p->slots));
    if (!p->slots)
        return err_nomem(e, "table of files");
    for (unsigned i = 0; i <= outstanding; i++) {
        p->slots[i].next = p->unused;
        p->unused = &p->slots[i];
    }
    /* Where there are fewer, opening says so. */
    descriptors_want(outstanding < plan_files(p->plan) ? outstanding : plan_files(p->plan));
    return 0;
}

int fill_target_plan(struct fill_target *p, const struct plan *plan, unsigned outstanding,
                     struct err *e)
{
    int ret;

    p->plan = plan;
    ret = p->file.is_device ? 0 : check_room(p, e);
    if (ret < 0 || !p->target)
        return ret;
    return plan->o.mode == PLAN_RANDOM ? plan_random_files(p, e)
                                       : plan_open_files(p, outstanding, e);
}

/* ---- purge ---- */

static int trim_free_space(struct fill_target *p, uint64_t *bytes)
{
    struct fstrim_range range = {.len = UINT64_MAX};

    if (ioctl(target_dir_fd(p->target), FITRIM, &range) < 0)
        return errno == ENOTTY ? -EOPNOTSUPP : -errno;
    *bytes = range.len;
    return 0;
}

static int discard(struct fill_target *p, uint64_t at, uint64_t len)
{
    uint64_t range[2] = {at, len};
    int ret;

    if (p->file.is_device)
        ret = ioctl(p->file.fd, BLKDISCARD, range);
    else
        ret = fallocate(p->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
                        (off_t)len);
    return ret < 0 ? -errno : 0;
}

int fill_target_purge(struct fill_target *p, bool (*stopped)(void), uint64_t *bytes, struct err *e)
{
    int ret = 0;

    *bytes = 0;
    if (p->target)
        ret = trim_free_space(p, bytes);
    while (!p->target && *bytes < p->file.bytes && ret == 0) {
        uint64_t left = p->file.bytes - *bytes, len = left < TARGET_DISCARD ? left : TARGET_DISCARD;

        ret = stopped() ? -EINTR : discard(p, *bytes, len);
        *bytes += ret == 0 ? len : 0;
    }
    return ret < 0 ? err_errno(e, ret, ERR_TARGET, p->o.path, "cannot be purged") : 0;
}

/* ---- starting ---- */

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

/* What was empty is ours from now on, also if this run is killed before its first block is written:
 * the next one is to know it. */
static int claim_empty(const struct fill_target *p)
{
    const struct data_id id = {.generation = UINT64_MAX};
    _Alignas(DATA_BLOCK) unsigned char block[DATA_BLOCK];

    data_fill(block, sizeof(block), &id, 0);
    errno = ENOSPC; /* of a short write */
    return pwrite(p->file.fd, block, sizeof(block), 0) == (ssize_t)sizeof(block) ? 0 : -errno;
}

int fill_target_start(struct fill_target *p, struct err *e)
{
    int ret;

    if (p->target || p->file.is_device)
        return 0;
    p->grown = true;
    ret = p->file.bytes == 0 ? claim_empty(p) : 0;
    if (ret < 0)
        return err_errno(e, ret, ERR_TARGET, p->o.path, "cannot be written");
    ret = allocate(p->file.fd, plan_pass_bytes(p->plan));
    return ret < 0 ? err_errno(e, ret, ERR_TARGET, p->o.path, "no space could be allocated") : 0;
}

/* ---- files of a directory ---- */

static const char *file_name(char buf[TARGET_NAME_CAP], uint64_t number)
{
    snprintf(buf, TARGET_NAME_CAP, "fill-%06" PRIu64 ".kv", number);
    return buf;
}

static int fail_file(const struct fill_target *p, uint64_t number, int code, const char *what,
                     struct err *e)
{
    char where[PATH_MAX + TARGET_NAME_CAP], name[TARGET_NAME_CAP];

    snprintf(where, sizeof(where), "%s/%s", p->o.path, file_name(name, number));
    return err_errno(e, code, ERR_FAILED, where, "%s", what);
}

/* A cache writes no object twice in place: in later passes an object is a new file. Others are made
 * once, in whichever pass comes to them first. *made: the file is new. */
static int open_named(struct fill_target *p, uint64_t number, bool *made)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (p->direct ? O_DIRECT : 0);
    const bool known = number < p->beyond;
    char name[TARGET_NAME_CAP];
    int fd, dir = target_dir_fd(p->target);

    file_name(name, number);
    if (known && p->plan->o.mode == PLAN_KV && unlinkat(dir, name, 0) < 0 && errno != ENOENT)
        return -errno;
    fd = openat(dir, name, flags | O_CREAT | O_EXCL, 0600);
    *made = fd >= 0;
    if (fd < 0 && errno == EEXIST && known)
        fd = openat(dir, name, flags);
    return fd < 0 ? -errno : fd;
}

/* With the lock held. */
static int take_file(struct fill_target *p, uint64_t number, uint64_t pass, struct err *e)
{
    bool made = false;
    int fd = open_named(p, number, &made), ret;

    if (fd < 0)
        return fail_file(p, number, fd, "cannot be opened for writing", e);
    if (!made)
        return fd;
    ret = allocate(fd, plan_file_bytes(p->plan, number));
    if (ret < 0) {
        close(fd);
        return fail_file(p, number, ret, "no space could be allocated", e);
    }
    p->files += pass == 0;
    if (number >= p->beyond)
        p->beyond = number + 1;
    return fd;
}

static int begin_random(struct fill_target *p, uint64_t number, struct err *e)
{
    int fd = atomic_load(&p->fds[number]);

    if (fd >= 0)
        return fd;
    pthread_mutex_lock(&p->lock);
    fd = atomic_load(&p->fds[number]);
    if (fd < 0)
        fd = take_file(p, number, 0, e);
    if (fd >= 0)
        atomic_store(&p->fds[number], fd);
    pthread_mutex_unlock(&p->lock);
    return fd;
}

/* With the lock held. The file that is found moves to the front: the next part is likely its. */
static struct fill_file *find_open(struct fill_target *p, uint64_t number, uint64_t pass)
{
    struct fill_file **at = &p->open, *f;

    while (*at && ((*at)->number != number || (*at)->pass != pass))
        at = &(*at)->next;
    f = *at;
    if (!f)
        return NULL;
    *at = f->next;
    f->next = p->open;
    p->open = f;
    return f;
}

/* With the lock held. */
static int open_next(struct fill_target *p, const struct plan_part *part, struct fill_file **out,
                     struct err *e)
{
    struct fill_file *f = p->unused;
    int fd = take_file(p, part->file, part->pass, e);

    if (fd < 0)
        return fd;
    p->unused = f->next;
    *f = (struct fill_file){.fd = fd,
                            .number = part->file,
                            .pass = part->pass,
                            .bytes = plan_file_bytes(p->plan, part->file),
                            .next = p->open};
    p->open = f;
    *out = f;
    return 0;
}

int fill_target_begin(struct fill_target *p, const struct plan_part *part, struct fill_file **file,
                      int *fd, struct err *e)
{
    int ret = 0;

    *file = NULL;
    *fd = p->file.fd;
    if (!p->target)
        return 0;
    if (p->fds) {
        *fd = begin_random(p, part->file, e);
        return *fd < 0 ? *fd : 0;
    }
    pthread_mutex_lock(&p->lock);
    *file = find_open(p, part->file, part->pass);
    if (!*file)
        ret = open_next(p, part, file, e);
    if (ret == 0)
        *fd = (*file)->fd;
    pthread_mutex_unlock(&p->lock);
    return ret;
}

/* Without O_DIRECT the page cache must not keep, or keep back, what was written. */
static int flush_buffered(int fd)
{
    if (fdatasync(fd) < 0)
        return -errno;
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return 0;
}

static int close_file(const struct fill_target *p, int fd)
{
    int ret = p->direct ? 0 : flush_buffered(fd);

    if (close(fd) < 0 && ret == 0)
        ret = -errno;
    return ret;
}

int fill_target_done(struct fill_target *p, struct fill_file *f, uint32_t len, struct err *e)
{
    uint64_t number;
    int fd = -1, ret;

    if (!f)
        return 0;
    pthread_mutex_lock(&p->lock);
    f->done += len;
    number = f->number;
    if (f->done == f->bytes) {
        fd = f->fd;
        find_open(p, f->number, f->pass);
        p->open = f->next;
        f->next = p->unused;
        p->unused = f;
    }
    pthread_mutex_unlock(&p->lock);
    ret = fd < 0 ? 0 : close_file(p, fd);
    return ret < 0 ? fail_file(p, number, ret, "cannot be written", e) : 0;
}

/* ---- the end ---- */

/* A file that was never made, for its turn did not come, is none to be synced. */
static int sync_named(const struct fill_target *p, uint64_t number)
{
    char name[TARGET_NAME_CAP];
    int ret = 0, fd = openat(target_dir_fd(p->target), file_name(name, number),
                             O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    if (fdatasync(fd) < 0)
        ret = -errno;
    close(fd);
    return ret;
}

static int sync_file(const struct fill_target *p)
{
    if (!p->direct)
        return flush_buffered(p->file.fd);
    return fdatasync(p->file.fd) < 0 ? -errno : 0;
}

static int sync_directory(const struct fill_target *p)
{
    int ret = 0;

    for (uint64_t i = 0; i < p->beyond && ret == 0; i++)
        ret = sync_named(p, i);
    if (ret == 0 && fsync(target_dir_fd(p->target)) < 0)
        ret = -errno;
    return ret;
}

int fill_target_sync(struct fill_target *p, struct err *e)
{
    int ret = p->target ? sync_directory(p) : sync_file(p);

    return ret < 0 ? err_errno(e, ret, ERR_FAILED, p->o.path, "cannot be made durable") : 0;
}

int fill_target_fd(const struct fill_target *p)
{
    return p->target ? target_dir_fd(p->target) : p->file.fd;
}

bool fill_target_direct(const struct fill_target *p)
{
    return p->direct;
}

uint64_t fill_target_files(const struct fill_target *p)
{
    return p->target ? p->files : 1;
}

static int release_file(struct fill_target *p, bool keep, struct err *e)
{
    int ret = 0;

    if (p->file.fd < 0)
        return 0;
    if (!keep && p->grown && ftruncate(p->file.fd, (off_t)p->file.bytes) < 0)
        ret = err_errno(e, -errno, ERR_FAILED, p->o.path, "cannot be cut to its former length");
    if (close(p->file.fd) < 0 && ret == 0)
        ret = err_errno(e, -errno, ERR_FAILED, p->o.path, "cannot be closed");
    return ret;
}

int fill_target_close(struct fill_target *p, bool keep, struct err *e)
{
    int ret;

    if (!p)
        return 0;
    for (struct fill_file *f = p->open; f; f = f->next)
        close(f->fd);
    for (uint64_t i = 0; p->fds && i < plan_files(p->plan); i++)
        if (atomic_load(&p->fds[i]) >= 0)
            close(atomic_load(&p->fds[i]));
    ret = p->target ? target_dir_close(p->target, keep, e) : release_file(p, keep, e);
    pthread_mutex_destroy(&p->lock);
    free(p->slots);
    free(p->fds);
    free(p);
    return ret;
}
