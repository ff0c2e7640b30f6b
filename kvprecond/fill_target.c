/* The target of a fill, behind one set of calls for its three kinds. lib/io takes directories,
 * files and devices with their guards; here files of a directory are made, opened and closed as the
 * writes need them. A file is opened for its first write and closed after its last one of a pass;
 * under random writes all files stay open. */
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
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/descriptors.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/data/data.h"
#include "lib/io/target_device.h"
#include "lib/io/target_dir.h"
#include "lib/ranks/ranks.h"

#define TARGET_NAME_CAP 32
#define TARGET_WINDOW   (256 * UNITS_MIB) /* of a file, whose pages are counted at a time */
#define TARGET_DISCARD  (4 * UNITS_GIB)   /* at a time: a stop waits for one of them at most */

struct fill_file {
    int fd;
    uint64_t number, pass, bytes, done;
    struct fill_file *next;
};

struct fill_target {
    struct fill_target_opts o;
    const struct plan *plan;
    struct target_dir *dir;  /* NULL: a file or device */
    struct target_file file; /* fd -1: a directory */
    bool direct;
    bool grown;           /* the regular file may be longer than it was */
    _Atomic int *fds;     /* random writes in a directory: by number of file; -1: not open yet */
    pthread_mutex_t lock; /* of what follows */
    struct fill_file *slots, *unused, *open;
    uint64_t files;  /* made so far */
    uint64_t beyond; /* above the highest number of a file made */
};

/* ---- opening ---- */

static bool is_ours(const void *block)
{
    struct data_id id;
    uint64_t index;

    return data_identify(block, &id, &index) == 0;
}

void fill_target_say_waits(const char *where, const char *who, unsigned seconds)
{
    fprintf(stderr,
            "kvprecond%s: %s: in use by %s, or left by it: watching for up to %u s whether it "
            "still renews its marker\n",
            ranks_suffix(), where, who, seconds);
}

static int open_dir(struct fill_target *t, struct err *e)
{
    const struct target_dir_opts o = {.path = t->o.path,
                                      .program = "kvprecond",
                                      .keeps = t->o.keep,
                                      .destroys = t->o.destroy_data,
                                      .waits = fill_target_say_waits,
                                      .data_seed = t->o.data_seed};
    int rc = target_dir_open(&t->dir, &o, e);

    if (rc < 0)
        return rc;
    t->direct = !t->o.buffered && target_direct_io(target_dir_fd(t->dir));
    return 0;
}

/* Takes O_DIRECT off the file or device where it is not wanted. */
static int set_buffered(struct fill_target *t, struct err *e)
{
    int flags = fcntl(t->file.fd, F_GETFL);

    if (flags < 0 || fcntl(t->file.fd, F_SETFL, flags & ~O_DIRECT) < 0)
        return err_errno(e, -errno, ERR_TARGET, t->o.path, "O_DIRECT cannot be taken off");
    t->direct = false;
    return 0;
}

int fill_target_open(struct fill_target **out, const struct fill_target_opts *o, struct err *e)
{
    const struct target_file_opts how = {.destroy_data = o->destroy_data, .is_ours = is_ours};
    struct fill_target *t = calloc(1, sizeof(*t));
    int rc;

    if (!t)
        return err_nomem(e, "target");
    t->o = *o;
    t->file.fd = -1;
    pthread_mutex_init(&t->lock, NULL);
    if (o->kind == TARGET_DIR) {
        rc = open_dir(t, e);
    } else {
        rc = target_file_open(&t->file, o->path, &how, e);
        t->direct = t->file.direct;
        if (rc == 0 && t->file.is_device != (o->kind == TARGET_DEVICE))
            rc = err_set(e, EAGAIN, ERR_TARGET, o->path, "has changed since it was checked");
        if (rc == 0 && o->buffered)
            rc = set_buffered(t, e);
    }
    if (rc < 0) {
        fill_target_close(t, false, NULL);
        return rc;
    }
    *out = t;
    return 0;
}

uint64_t fill_target_capacity(const struct fill_target *t)
{
    return t->file.is_device ? t->file.bytes : 0;
}

/* ---- getting ready ---- */

static int check_room(const struct fill_target *t, struct err *e)
{
    const uint64_t sharers = t->o.sharers ? t->o.sharers : 1;
    const uint64_t need = plan_pass_bytes(t->plan) * sharers,
                   own = t->dir ? 0 : t->file.allocated_bytes;
    char need_text[32], have_text[32];
    uint64_t room;
    int rc = target_room(fill_target_fd(t), t->o.reserve_share, &room, e);

    if (rc < 0)
        return rc;
    if (need <= own || need - own <= room)
        return 0;
    return err_set(e, ENOSPC, ERR_TARGET, t->o.path,
                   "%s asked for%s, but only %s may be used (--reserve keeps the rest free)",
                   units_format_bytes(need_text, sizeof(need_text), (double)need),
                   sharers > 1 ? " by the targets on its file system" : "",
                   units_format_bytes(have_text, sizeof(have_text), (double)(room + own)));
}

int fill_target_plan(struct fill_target *t, const struct plan *plan, unsigned outstanding,
                     struct err *e)
{
    const uint64_t files = plan_files(plan), targets = t->o.targets ? t->o.targets : 1;
    int rc;

    t->plan = plan;
    rc = t->file.is_device ? 0 : check_room(t, e);
    if (rc < 0 || !t->dir)
        return rc;

    if (plan->o.mode == PLAN_RANDOM) { /* all files are open at once */
        uint64_t can = descriptors_want(files * targets) / targets;

        if (can < files)
            return err_set(e, EMFILE, ERR_TARGET, t->o.path,
                           "%" PRIu64 " files must be open, but only %" PRIu64
                           " are allowed: use a larger --config file_size",
                           files, can);
        t->fds = malloc(files * sizeof(*t->fds));
        if (!t->fds)
            return err_nomem(e, "table of files");
        for (uint64_t i = 0; i < files; i++)
            atomic_init(&t->fds[i], -1);
        return 0;
    }

    t->slots = calloc((size_t)outstanding + 1, sizeof(*t->slots));
    if (!t->slots)
        return err_nomem(e, "table of files");
    for (unsigned i = 0; i <= outstanding; i++) {
        t->slots[i].next = t->unused;
        t->unused = &t->slots[i];
    }
    /* With fewer descriptors than this, opening says so. */
    descriptors_want((outstanding < files ? outstanding : files) * targets);
    return 0;
}

int fill_target_purge(struct fill_target *t, bool (*stopped)(void), uint64_t *bytes, struct err *e)
{
    int rc = 0;

    *bytes = 0;
    if (t->dir) {
        struct fstrim_range free_space = {.len = UINT64_MAX};

        if (ioctl(target_dir_fd(t->dir), FITRIM, &free_space) < 0)
            rc = errno == ENOTTY ? -EOPNOTSUPP : -errno;
        else
            *bytes = free_space.len;
    }
    while (!t->dir && *bytes < t->file.bytes && rc == 0) {
        uint64_t left = t->file.bytes - *bytes;
        uint64_t range[2] = {*bytes, left < TARGET_DISCARD ? left : TARGET_DISCARD};

        if (stopped())
            rc = -EINTR;
        else if (t->file.is_device)
            rc = ioctl(t->file.fd, BLKDISCARD, range) < 0 ? -errno : 0;
        else if (fallocate(t->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)range[0],
                           (off_t)range[1]) < 0)
            rc = -errno;
        *bytes += rc == 0 ? range[1] : 0;
    }
    return rc < 0 ? err_errno(e, rc, ERR_TARGET, t->o.path, "cannot be purged") : 0;
}

/* Takes space at once: writes into allocated space run side by side, while writes that grow a file
 * wait for each other on most file systems. */
static int allocate(int fd, uint64_t bytes, bool (*stopped)(void))
{
    int rc = target_file_allocate(fd, bytes, stopped);

    return rc == -EOPNOTSUPP ? 0 : rc;
}

int fill_target_start(struct fill_target *t, struct err *e)
{
    const struct data_id id = {.generation = UINT64_MAX};
    _Alignas(DATA_BLOCK) unsigned char block[DATA_BLOCK];
    int rc;

    if (t->dir || t->file.is_device)
        return 0;
    t->grown = true;
    if (t->file.bytes ==
        0) { /* ours from now on, even if this run is killed before its first write */
        data_fill(block, sizeof(block), &id, 0);
        errno = ENOSPC; /* of a short write */
        if (pwrite(t->file.fd, block, sizeof(block), 0) != (ssize_t)sizeof(block))
            return err_errno(e, -errno, ERR_TARGET, t->o.path, "cannot be written");
    }
    rc = allocate(t->file.fd, plan_pass_bytes(t->plan), stop_asks);
    return rc < 0 ? err_errno(e, rc, ERR_TARGET, t->o.path, "no space could be allocated") : 0;
}

/* ---- files of a directory ---- */

static const char *file_name(char buf[TARGET_NAME_CAP], uint64_t number)
{
    snprintf(buf, TARGET_NAME_CAP, "fill-%06" PRIu64 ".kv", number);
    return buf;
}

static int fail_file(const struct fill_target *t, uint64_t number, int code, const char *what,
                     struct err *e)
{
    char where[PATH_MAX + TARGET_NAME_CAP], name[TARGET_NAME_CAP];

    snprintf(where, sizeof(where), "%s/%s", t->o.path, file_name(name, number));
    return err_errno(e, code, ERR_FAILED, where, "%s", what);
}

/* Opens a file and makes it where it is not there yet: a descriptor or negative errno. Objects are
 * made anew in later passes, because a cache writes no object twice in place. With the lock held.
 */
static int take_file(struct fill_target *t, uint64_t number, uint64_t pass, struct err *e)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (t->direct ? O_DIRECT : 0);
    const bool known = number < t->beyond;
    const int dir = target_dir_fd(t->dir);
    char name[TARGET_NAME_CAP];
    int fd, rc;

    file_name(name, number);
    if (known && t->plan->o.mode == PLAN_KV && unlinkat(dir, name, 0) < 0 && errno != ENOENT)
        return fail_file(t, number, -errno, "cannot be opened for writing", e);
    fd = openat(dir, name, flags | O_CREAT | O_EXCL, 0600);
    if (fd < 0 && errno == EEXIST && known) {
        fd = openat(dir, name, flags);
        return fd < 0 ? fail_file(t, number, -errno, "cannot be opened for writing", e) : fd;
    }
    if (fd < 0)
        return fail_file(t, number, -errno, "cannot be opened for writing", e);

    rc = allocate(fd, plan_file_bytes(t->plan, number), stop_abandons);
    if (rc < 0) {
        close(fd);
        return fail_file(t, number, rc, "no space could be allocated", e);
    }
    t->files += pass == 0;
    if (number >= t->beyond)
        t->beyond = number + 1;
    return fd;
}

/* The open file of that pass, moved to the front: the next part is likely in it too. NULL: it is
 * not open. With the lock held. */
static struct fill_file *find_open(struct fill_target *t, uint64_t number, uint64_t pass)
{
    struct fill_file **at = &t->open, *f;

    while (*at && ((*at)->number != number || (*at)->pass != pass))
        at = &(*at)->next;
    f = *at;
    if (!f)
        return NULL;
    *at = f->next;
    f->next = t->open;
    t->open = f;
    return f;
}

/* Under random writes: by number of file, opened once. A descriptor or negative errno. */
static int begin_random(struct fill_target *t, uint64_t number, struct err *e)
{
    int fd = atomic_load(&t->fds[number]);

    if (fd >= 0)
        return fd;
    pthread_mutex_lock(&t->lock);
    fd = atomic_load(&t->fds[number]);
    if (fd < 0)
        fd = take_file(t, number, 0, e);
    if (fd >= 0)
        atomic_store(&t->fds[number], fd);
    pthread_mutex_unlock(&t->lock);
    return fd;
}

int fill_target_begin(struct fill_target *t, const struct plan_part *part, struct fill_file **file,
                      int *fd, struct err *e)
{
    struct fill_file *f;

    *file = NULL;
    *fd = t->file.fd;
    if (!t->dir)
        return 0;
    if (!lease_valid(target_dir_lease(t->dir)))
        return err_set(e, -ESTALE, ERR_TARGET, t->o.path, "another run took it over");
    if (t->fds) {
        *fd = begin_random(t, part->file, e);
        return *fd < 0 ? *fd : 0;
    }

    pthread_mutex_lock(&t->lock);
    f = find_open(t, part->file, part->pass);
    *fd = f ? f->fd : take_file(t, part->file, part->pass, e);
    if (!f && *fd >= 0) {
        f = t->unused;
        t->unused = f->next;
        *f = (struct fill_file){.fd = *fd,
                                .number = part->file,
                                .pass = part->pass,
                                .bytes = plan_file_bytes(t->plan, part->file),
                                .next = t->open};
        t->open = f;
    }
    *file = f;
    pthread_mutex_unlock(&t->lock);
    return *fd < 0 ? *fd : 0;
}

/* O_DIRECT was refused: what was written must neither stay in the page cache nor wait there. */
static int flush_buffered(int fd)
{
    if (fdatasync(fd) < 0)
        return -errno;
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return 0;
}

int fill_target_done(struct fill_target *t, struct fill_file *f, uint32_t len, struct err *e)
{
    uint64_t number;
    int fd = -1, rc;

    if (!f)
        return 0;
    pthread_mutex_lock(&t->lock);
    f->done += len;
    number = f->number;
    if (f->done == f->bytes) {
        fd = f->fd;
        find_open(t, f->number, f->pass);
        t->open = f->next;
        f->next = t->unused;
        t->unused = f;
    }
    pthread_mutex_unlock(&t->lock);
    if (fd < 0)
        return 0;
    rc = t->direct || t->o.buffered ? 0 : flush_buffered(fd);
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    return rc < 0 ? fail_file(t, number, rc, "cannot be written", e) : 0;
}

/* ---- the end ---- */

/* A file whose turn did not come was never made. */
static int sync_named(const struct fill_target *t, uint64_t number)
{
    char name[TARGET_NAME_CAP];
    int rc = 0, fd = openat(target_dir_fd(t->dir), file_name(name, number),
                            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    if (fdatasync(fd) < 0)
        rc = -errno;
    close(fd);
    return rc;
}

int fill_target_sync(struct fill_target *t, struct err *e)
{
    int rc = 0;

    if (t->dir) {
        for (uint64_t i = 0; i < t->beyond && rc == 0; i++)
            rc = stop_abandons() ? -EINTR : sync_named(t, i);
        if (rc == 0 && fsync(target_dir_fd(t->dir)) < 0)
            rc = -errno;
    } else if (!t->direct && !t->o.buffered) {
        rc = flush_buffered(t->file.fd);
    } else if (fdatasync(t->file.fd) < 0) {
        rc = -errno;
    }
    return rc < 0 ? err_errno(e, rc, ERR_FAILED, t->o.path, "cannot be made durable") : 0;
}

int fill_target_fd(const struct fill_target *t)
{
    return t->dir ? target_dir_fd(t->dir) : t->file.fd;
}

bool fill_target_direct(const struct fill_target *t)
{
    return t->direct;
}

uint64_t fill_target_files(const struct fill_target *t)
{
    return t->dir ? t->files : 1;
}

/* Adds what of the file lies in the page cache. pages has a byte for each page of a window. */
static int count_cached(int fd, unsigned char *pages, uint64_t *bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const off_t end = lseek(fd, 0, SEEK_END);

    if (end < 0)
        return -errno;
    for (uint64_t at = 0; at < (uint64_t)end; at += TARGET_WINDOW) {
        uint64_t left = (uint64_t)end - at;
        size_t len = left < TARGET_WINDOW ? (size_t)left : (size_t)TARGET_WINDOW;
        void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, (off_t)at);
        int rc;

        if (map == MAP_FAILED)
            return -errno;
        rc = mincore(map, len, pages) < 0 ? -errno : 0;
        munmap(map, len);
        if (rc < 0)
            return rc;
        for (size_t i = 0; i * page < len; i++)
            *bytes += pages[i] & 1 ? page : 0;
    }
    return 0;
}

int fill_target_cached(const struct fill_target *t, uint64_t *bytes)
{
    unsigned char *pages = malloc(TARGET_WINDOW / (size_t)sysconf(_SC_PAGESIZE));
    int rc = pages ? 0 : -ENOMEM;

    *bytes = 0;
    if (rc == 0 && !t->dir)
        rc = count_cached(t->file.fd, pages, bytes);
    for (uint64_t i = 0; t->dir && i < t->beyond && rc == 0; i++) {
        char name[TARGET_NAME_CAP];
        int fd = openat(target_dir_fd(t->dir), file_name(name, i),
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

        if (fd < 0)
            rc = -errno;
        else
            rc = count_cached(fd, pages, bytes);
        if (fd >= 0)
            close(fd);
    }
    free(pages);
    return rc;
}

int fill_target_close(struct fill_target *t, bool keep, struct err *e)
{
    int rc = 0;

    if (!t)
        return 0;
    for (struct fill_file *f = t->open; f; f = f->next)
        close(f->fd);
    for (uint64_t i = 0; t->fds && i < plan_files(t->plan); i++)
        if (atomic_load(&t->fds[i]) >= 0)
            close(atomic_load(&t->fds[i]));
    if (t->dir) {
        rc = target_dir_close(t->dir, keep, e);
    } else if (t->file.fd >= 0) {
        if (!keep && t->grown && ftruncate(t->file.fd, (off_t)t->file.bytes) < 0)
            rc = err_errno(e, -errno, ERR_FAILED, t->o.path, "cannot be cut to its former length");
        if (close(t->file.fd) < 0 && rc == 0)
            rc = err_errno(e, -errno, ERR_FAILED, t->o.path, "cannot be closed");
    }
    pthread_mutex_destroy(&t->lock);
    free(t->slots);
    free(t->fds);
    free(t);
    return rc;
}
