/* The directory of a run: taken with a marker and a lock, emptied of our own files, released. What
 * must never be taken is target_guard.c's to say; which objects the files are is lib/tier's. */
#include "lib/io/target_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/io/target_files.h"
#include "lib/io/target_guard.h"
#include "lib/io/target_marker.h"
#include "lib/opt/files.h"

#define DIR_MARKER FILES_STORE_MARKER
#define DIR_FLAGS  (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define DIR_TRIES  100
#define DIR_TRY_NS 2000000LL

struct target_dir {
    int fd, marker_fd;
    struct target_marker marker; /* as it is now, or will be written */
    bool was_kept;               /* objects of an earlier run are there */
    bool died;                   /* a run died here that did not keep its objects */
    bool fresh;                  /* this process made the marker */
    bool joined;                 /* another process has taken it */
    char path[PATH_MAX];
};

/* The directory fd, to be read from its beginning; NULL with errno. */
static DIR *dir_list(int fd)
{
    int again = openat(fd, ".", DIR_FLAGS | O_NOFOLLOW);
    DIR *d = again < 0 ? NULL : fdopendir(again);

    if (!d && again >= 0)
        close(again);
    return d;
}

int target_dir_empty(struct target_dir *t, struct err *e)
{
    int ret = target_files_remove(t->fd, false);

    if (ret < 0)
        return err_errno(e, ret, ERR_TARGET, t->path, "cannot be emptied");
    t->marker.unsure = false;
    return 0;
}

/* ---- what an earlier run left ---- */

struct kept {
    uint64_t files, bytes;
};

static bool count_file(void *ctx, int dir, const char *name, const struct stat *st,
                       enum target_files_kind kind)
{
    struct kept *k = ctx;

    (void)dir, (void)name, (void)kind;
    k->files++;
    k->bytes += (uint64_t)st->st_size;
    return true;
}

/* Says what would be removed, and what may be done about it. */
static int refuse_kept(const struct target_dir *t, const struct target_dir_opts *o, struct err *e)
{
    struct kept k = {0};
    char text[32];

    target_files_each(t->fd, count_file, &k);
    return err_set(e, EEXIST, ERR_TARGET, t->path,
                   "holds %llu object%s (%s) that an earlier run of %s kept: %s--destroy-data "
                   "removes them",
                   (unsigned long long)k.files, units_plural(k.files),
                   units_format_bytes(text, sizeof(text), (double)k.bytes), t->marker.program,
                   o->adopts ? "--keep uses them and leaves them, " : "");
}

/* ---- the marker ---- */

/* Written over in place. sync: forced to the device, with the directory's entry for it. */
static int marker_write(struct target_dir *t, bool sync, struct err *e)
{
    char text[TARGET_MARKER_BYTES];

    target_marker_format(&t->marker, text);
    errno = EIO;
    if (pwrite(t->marker_fd, text, sizeof(text), 0) != (ssize_t)sizeof(text) ||
        (sync && (fsync(t->marker_fd) < 0 || fsync(t->fd) < 0)))
        return err_errno(e, -errno, ERR_TARGET, t->path, "cannot write its marker " DIR_MARKER);
    return 0;
}

/* 0; -EINVAL: not ours; other negative errno: it cannot be read. Length 0: a process died between
 * making the marker and writing it, before it had written anything else. */
static int marker_parse(int fd, struct target_marker *m, bool *empty)
{
    char text[TARGET_MARKER_BYTES + 1];
    ssize_t n = pread(fd, text, sizeof(text), 0);

    if (n < 0)
        return -errno;
    *empty = n == 0;
    *m = (struct target_marker){.part = TARGET_WHOLE};
    return n == 0 ? 0 : target_marker_parse(text, (size_t)n, m);
}

/* Under the lock. */
static int marker_read(struct target_dir *t, struct err *e)
{
    bool created = t->marker.created, empty;
    struct stat st;
    int ret = marker_parse(t->marker_fd, &t->marker, &empty);

    if (ret == 0 && fstat(t->marker_fd, &st) < 0)
        ret = -errno;
    if (ret < 0 && ret != -EINVAL)
        return err_errno(e, ret, ERR_TARGET, t->path, "cannot read its marker " DIR_MARKER);
    if (ret == -EINVAL || !S_ISREG(st.st_mode))
        return err_set(e, EACCES, ERR_TARGET, t->path,
                       "refused: its " DIR_MARKER " was not written by kvtrace");
    if (st.st_nlink > 1)
        return err_set(e, EACCES, ERR_TARGET, t->path,
                       "refused: its " DIR_MARKER " has another name too (a hard link)");
    if (!target_guard_owner(t->fd, st.st_uid))
        return err_set(e, EACCES, ERR_TARGET, t->path,
                       "refused: its " DIR_MARKER " belongs to another user");
    t->was_kept = t->marker.kept || t->marker.keeps;
    t->marker.unsure = t->marker.unsure || (!t->marker.kept && t->marker.keeps);
    t->died = !t->was_kept && !t->fresh;
    t->marker.created |= created;
    return 0;
}

/* Refuses a directory without a marker that holds anything. lost+found is the file system's own: a
 * fresh volume counts as empty. -EAGAIN: another process has
 * just made a marker, or, unless this is the last try, may just have removed it: its files were
 * seen. */
static int check_empty(struct target_dir *t, bool last, struct err *e)
{
    DIR *d = dir_list(t->fd);
    struct dirent *de;
    int ret = 0;

    if (!d && errno == ENOENT) /* the directory has just been removed */
        return -EAGAIN;
    if (!d)
        return err_errno(e, -errno, ERR_TARGET, t->path, "cannot be read");
    while (ret == 0 && (errno = 0, de = readdir(d)) != NULL) {
        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0 ||
            strcmp(de->d_name, "lost+found") == 0)
            continue;
        if (strcmp(de->d_name, DIR_MARKER) == 0 || (!last && target_files_name(de->d_name)))
            ret = -EAGAIN;
        else
            ret = err_set(e, ENOTEMPTY, ERR_TARGET, t->path,
                          "refused: holds files that are not kvtrace's (%s)", de->d_name);
    }
    if (ret == 0 && errno != 0)
        ret = err_errno(e, -errno, ERR_TARGET, t->path, "cannot be read");
    closedir(d);
    return ret;
}

/* Opens the marker, or makes it, and locks it. -EAGAIN: another process made or removed it, or the
 * directory, in the meantime. */
static int marker_take(struct target_dir *t, bool last, struct err *e)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    struct target_marker m;
    struct stat st;
    bool empty, made = false;
    int ret;

    t->marker_fd = openat(t->fd, DIR_MARKER, flags);
    if (t->marker_fd < 0 && errno == ENOENT) {
        ret = check_empty(t, last, e);
        if (ret < 0)
            return ret;
        t->marker_fd = openat(t->fd, DIR_MARKER, flags | O_CREAT | O_EXCL, 0644);
        if (t->marker_fd < 0 && (errno == EEXIST || errno == ENOENT))
            return -EAGAIN;
        made = t->marker_fd >= 0;
    }
    if (t->marker_fd < 0)
        return err_errno(e, -errno, ERR_TARGET, t->path, "cannot open its marker " DIR_MARKER);

    ret = target_guard_lock(t->marker_fd);
    if (ret == -EWOULDBLOCK && marker_parse(t->marker_fd, &m, &empty) == 0 && m.pid)
        return err_set(e, EBUSY, ERR_TARGET, t->path, "in use by process %ld", m.pid);
    if (ret == -EWOULDBLOCK)
        return err_set(e, EBUSY, ERR_TARGET, t->path, "in use by another process");
    if (ret < 0)
        return err_errno(e, ret, ERR_TARGET, t->path, "cannot lock its marker " DIR_MARKER);
    /* Its last owner may have removed it before we got the lock. */
    if (fstat(t->marker_fd, &st) < 0 || st.st_nlink == 0)
        return -EAGAIN;
    t->fresh = made; /* without the lock it would be the other one's to remove */
    return 0;
}

/* ---- opening and closing ---- */

/* The path is checked before anything is made, and again as what was really opened. */
static int directory_open(struct target_dir *t, const char *path, struct err *e)
{
    char link[64];
    ssize_t n;
    int ret = target_guard_path(path, e);

    if (ret < 0)
        return ret;
    if (mkdir(path, 0755) == 0)
        t->marker.created = true;
    else if (errno != EEXIST)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be created");
    t->fd = open(path, DIR_FLAGS);
    if (t->fd < 0 && errno == ENOENT)
        return -EAGAIN;
    if (t->fd < 0)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be opened");
    snprintf(link, sizeof(link), "/proc/self/fd/%d", t->fd);
    n = readlink(link, t->path, sizeof(t->path) - 1);
    t->path[n > 0 ? n : 0] = '\0';
    if (n <= 0 && !realpath(path, t->path))
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be resolved");
    struct stat st;
    if (fstat(t->fd, &st) < 0)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be examined");
    if (st.st_nlink == 0) /* its last owner has just removed it */
        return -EAGAIN;
    ret = target_guard_path(t->path, e);
    return ret < 0 ? ret : target_guard_folder(target_facts_here(), t->path, e);
}

/* Lets go of what was opened, and leaves what was found. */
static void directory_leave(struct target_dir *t)
{
    if (t->marker_fd >= 0) {
        if (t->fresh)
            unlinkat(t->fd, DIR_MARKER, 0);
        close(t->marker_fd);
    }
    if (t->fd >= 0)
        close(t->fd);
    t->fd = t->marker_fd = -1;
    t->fresh = false;
}

int target_dir_open(struct target_dir **out, const struct target_dir_opts *o, struct err *e)
{
    const struct target_part part = o->part.to ? o->part : TARGET_WHOLE;
    struct target_dir *t = calloc(1, sizeof(*t));
    int ret = -EAGAIN;

    if (!t)
        return err_nomem(e, "target");
    t->fd = t->marker_fd = -1;
    /* Runs that end beside us remove marker and directory, and others make them again. Each try
     * waits a second for the run that has the directory. */
    for (unsigned i = 0; i < DIR_TRIES && ret == -EAGAIN; i++) {
        directory_leave(t);
        ret = directory_open(t, o->path, e);
        if (ret == 0)
            ret = marker_take(t, i + 1 == DIR_TRIES, e);
        if (ret == -EAGAIN)
            clock_sleep_until(clock_now_ns() + DIR_TRY_NS, 0);
    }
    if (ret == -EAGAIN)
        ret =
            err_set(e, EBUSY, ERR_TARGET, o->path, "in use by other processes, one after another");
    if (ret == 0)
        ret = marker_read(t, e);
    if (ret == 0 && t->was_kept && !o->destroys && !(o->adopts && o->keeps))
        ret = refuse_kept(t, o, e);
    if (ret == 0 && t->was_kept && !o->destroys && !target_part_same(t->marker.part, part))
        ret = err_set(e, EEXIST, ERR_TARGET, t->path,
                      "holds objects of a store that is divided in another way");
    /* Nobody would look for these objects here. */
    if (ret == 0 && (t->died || (t->was_kept && !target_part_same(t->marker.part, part))))
        ret = target_dir_empty(t, e);
    if (ret == 0) {
        t->marker.kept = false;
        t->marker.pid = (long)getpid();
        t->marker.keeps = o->keeps;
        t->marker.data_seed = o->data_seed;
        t->marker.part = part;
        snprintf(t->marker.program, sizeof(t->marker.program), "%s", o->program);
        /* Where nothing is kept a power cut may take the marker's text: an empty one means the
         * same. */
        ret = marker_write(t, t->was_kept || o->keeps || o->shared, e);
    }
    if (ret == 0) {
        *out = t;
        return 0;
    }
    bool remove = t->marker.created && (t->fresh || t->marker_fd < 0);
    directory_leave(t);
    if (remove)
        rmdir(t->path);
    free(t);
    return ret;
}

/* 0 when the marker in the directory is that of a run at work with this seed. */
static int marker_expect(const struct target_dir *t, uint64_t data_seed, struct err *e)
{
    int fd = openat(t->fd, DIR_MARKER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct target_marker m = {0};
    bool empty = false;
    int ret = fd < 0 ? -errno : marker_parse(fd, &m, &empty);

    if (fd >= 0)
        close(fd);
    if (ret == 0 && !empty && !m.kept && m.data_seed == data_seed)
        return 0;
    return err_set(e, ENOENT, ERR_TARGET, t->path,
                   "is not the directory that rank 0 has taken: its marker " DIR_MARKER
                   " is not there");
}

int target_dir_join(struct target_dir **out, const char *path, uint64_t data_seed, struct err *e)
{
    struct target_dir *t = calloc(1, sizeof(*t));

    if (!t)
        return err_nomem(e, "target");
    *t = (struct target_dir){.fd = -1, .marker_fd = -1, .joined = true};
    snprintf(t->path, sizeof(t->path), "%s", path);
    t->fd = open(path, DIR_FLAGS);
    int rc = t->fd < 0 ? err_errno(e, -errno, ERR_TARGET, path, "cannot be opened")
                       : marker_expect(t, data_seed, e);
    if (rc < 0) {
        directory_leave(t);
        free(t);
        return rc;
    }
    *out = t;
    return 0;
}

int target_dir_kept_part(const char *path, struct target_part *part)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int dir = open(path, DIR_FLAGS), fd = dir < 0 ? -1 : openat(dir, DIR_MARKER, flags);
    struct target_marker m = {0};
    bool empty, keeps = fd >= 0 && marker_parse(fd, &m, &empty) == 0 && (m.kept || m.keeps);

    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    *part = m.part;
    return keeps ? 0 : -ENOENT;
}

int target_dir_fd(const struct target_dir *t)
{
    return t->fd;
}

const char *target_dir_path(const struct target_dir *t)
{
    return t->path;
}

bool target_dir_was_kept(const struct target_dir *t)
{
    return t->was_kept;
}

bool target_dir_unsure(const struct target_dir *t)
{
    return t->marker.unsure;
}

void target_dir_doubt(struct target_dir *t)
{
    t->marker.unsure = true;
}

/* The marker goes last: what could not be removed is left for the next run to find. A directory
 * stays when somebody else has put files into it. */
static int close_remove(struct target_dir *t, struct err *e)
{
    int ret = target_files_clean_up(t->fd);

    if (ret == -EINTR) /* what is left is said, as what a signal ends is not */
        return err_set(e, ENOTEMPTY, ERR_OUTPUT, t->path,
                       "not all of its objects are removed, because a second signal came: the next "
                       "run there removes them");
    if (ret < 0)
        return err_errno(e, ret, ERR_OUTPUT, t->path, "cannot be emptied");
    if (unlinkat(t->fd, DIR_MARKER, 0) < 0 && errno != ENOENT)
        return err_errno(e, -errno, ERR_OUTPUT, t->path, "cannot remove its marker " DIR_MARKER);
    if (t->marker.created && rmdir(t->path) < 0 && errno != ENOTEMPTY && errno != EEXIST &&
        errno != ENOENT)
        return err_errno(e, -errno, ERR_OUTPUT, t->path, "cannot be removed");
    return 0;
}

/* First what the objects are, then that they are kept: a power cut in between leaves a directory
 * whose objects are verified before they are used. */
static int close_keep(struct target_dir *t, struct err *e)
{
    struct stat st;
    int parent, ret;

    if (syncfs(t->fd) < 0)
        return err_errno(e, -errno, ERR_OUTPUT, t->path, "cannot flush its objects");
    if (fstat(t->marker_fd, &st) < 0 || st.st_nlink == 0)
        return err_set(e, ENOENT, ERR_OUTPUT, t->path,
                       "was removed during the run: nothing is kept");
    t->marker.kept = true;
    ret = marker_write(t, true, e);
    if (ret < 0)
        return ret;
    parent = openat(t->fd, "..", DIR_FLAGS);
    if (parent >= 0) { /* that the directory is there; some parents may not be opened */
        if (fsync(parent) < 0)
            ret = err_errno(e, -errno, ERR_OUTPUT, t->path, "cannot flush its parent directory");
        close(parent);
    }
    return ret;
}

int target_dir_close(struct target_dir *t, bool keep, struct err *e)
{
    int ret;

    if (!t)
        return 0;
    ret = t->joined ? 0 : keep ? close_keep(t, e) : close_remove(t, e);
    if (t->marker_fd >= 0)
        close(t->marker_fd);
    close(t->fd);
    free(t);
    return ret;
}
