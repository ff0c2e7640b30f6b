/* The directory of a run: taken with a marker, emptied of our own files, released. The rules are
 * lib/owner's; here is how a folder keeps its marker, so that of several processes one gets it, on
 * any file system. What must never be taken is target_guard.c's to say; which objects the files are
 * is lib/tier's.
 *
 * A lock on the marker's file says at once whether its process is there, where the file system
 * takes locks that all hosts see. Elsewhere the marker's lease decides. So the marker of a run is a
 * file of its own, which no other process writes to: it is made with O_EXCL, renewed in place, and
 * replaced by renaming another file over it. That file is made first, under a name for the
 * successor of that very run, of which there can be one: whoever has it and then still finds the
 * old text is the only one that may rename it. The old run, if it lives after all, removes the
 * successor's file when it renews its text, and then looks whether the marker is still its own.
 */
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
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/io/target_device.h"
#include "lib/io/target_files.h"
#include "lib/io/target_guard.h"
#include "lib/opt/files.h"
#include "lib/owner/owner.h"

#define DIR_MARKER   FILES_STORE_MARKER
#define DIR_FLAGS    (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define MARKER_FLAGS (O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
#define TAKING_NS    10000000LL /* between two looks at another process that takes it, too */

enum lock {
    LOCK_NONE,  /* the file system has none */
    LOCK_OURS,  /* no process of this host holds it */
    LOCK_OTHERS /* a process has it */
};

struct target_dir {
    int fd;
    int found_fd; /* marker of another process, or of nobody any more; -1: none was there */
    enum lock found_lock;
    bool local;    /* locks are seen by all who can get here */
    int marker_fd; /* our own; -1: not taken */
    bool missing;  /* the directory's parent is not there */
    bool sync;     /* the marker is on the device when the directory is taken */
    struct owner_store store;
    struct owner_opts opts;
    struct owner owner;
    const char *asked; /* the path as it was given */
    char path[PATH_MAX];
};

/* ---- the text ---- */

/* A marker always has this length, so that writing it over needs no cut: it is one sector, and a
 * power cut leaves the old text or the new one. */
static int text_write(const struct target_dir *t, int fd, const char *text, bool sync)
{
    char full[OWNER_BYTES];
    size_t len = strlen(text);

    memcpy(full, text, len);
    memset(full + len, '\n', sizeof(full) - len);
    errno = EIO;
    if (pwrite(fd, full, sizeof(full), 0) != (ssize_t)sizeof(full))
        return -errno;
    return sync && (fsync(fd) < 0 || fsync(t->fd) < 0) ? -errno : 0;
}

/* Without the newlines that fill the file. "": its process has not written it yet, or never did. */
static int text_read(int fd, char text[OWNER_BYTES])
{
    char full[OWNER_BYTES + 1];
    ssize_t n = pread(fd, full, sizeof(full), 0);

    if (n < 0)
        return -errno;
    while (n > 1 && full[n - 1] == '\n' && full[n - 2] == '\n')
        n--;
    card_take(text, full, (size_t)n);
    return 0;
}

/* The text of the marker in an open directory. 0 or negative errno. */
static int marker_read(int dir, char text[OWNER_BYTES])
{
    int fd = openat(dir, DIR_MARKER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int rc = fd < 0 ? -errno : text_read(fd, text);

    if (fd >= 0)
        close(fd);
    return rc;
}

static int marker_fault(const struct target_dir *t, int rc, const char *what, struct err *e)
{
    return err_errno(e, rc, ERR_TARGET, t->path, "cannot %s its marker " DIR_MARKER, what);
}

/* ---- opening the directory ---- */

/* Lets go of what was opened, and leaves what was found. */
static void directory_leave(struct target_dir *t)
{
    if (t->found_fd >= 0)
        close(t->found_fd);
    if (t->fd >= 0)
        close(t->fd);
    t->fd = t->found_fd = -1;
}

/* The path is checked before anything is made, and again as what was really opened. */
static int directory_open(struct target_dir *t, struct err *e)
{
    const char *path = t->asked;
    struct target_device device;
    char link[64], name[24];
    struct stat st;
    ssize_t n;
    int rc = target_guard_path(path, e);

    if (rc < 0)
        return rc;
    if (mkdir(path, 0755) == 0)
        t->opts.created = true;
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
    if (fstat(t->fd, &st) < 0)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be examined");
    if (st.st_nlink == 0) /* its last owner has just removed it */
        return -EAGAIN;
    target_device_find(t->fd, &device);
    enum target_medium medium = target_medium_of(t->fd, &device, name);
    t->local = medium == TARGET_MEDIUM_STORAGE || medium == TARGET_MEDIUM_MEMORY;
    rc = target_guard_path(t->path, e);
    if (rc == 0)
        rc = target_guard_folder(target_facts_here(), t->path, e);
    return rc == -ENOENT ? -EAGAIN : rc; /* removed since */
}

/* ---- the marker of somebody else ---- */

/* Is the open file a marker that a process of ours may have made? */
static int found_check(const struct target_dir *t, int fd, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return marker_fault(t, -errno, "examine", e);
    if (st.st_nlink == 0)
        return -EAGAIN;
    if (!S_ISREG(st.st_mode))
        return err_set(e, EACCES, ERR_TARGET, t->path,
                       "refused: its " DIR_MARKER " was not written by kvtrace");
    if (st.st_nlink > 1)
        return err_set(e, EACCES, ERR_TARGET, t->path,
                       "refused: its " DIR_MARKER " has another name too (a hard link)");
    if (!target_guard_owner(t->fd, st.st_uid))
        return err_set(e, EACCES, ERR_TARGET, t->path,
                       "refused: its " DIR_MARKER " belongs to another user");
    return 0;
}

/* Locks are advice here: one that cannot be had says nothing. */
static enum lock lock_file(int fd)
{
    int rc = target_guard_lock(fd);

    return rc == 0 ? LOCK_OURS : rc == -EWOULDBLOCK ? LOCK_OTHERS : LOCK_NONE;
}

/* Before this run has the directory: opens it, makes it if it is missing, and reads its marker. */
static int find(struct target_dir *t, char text[OWNER_BYTES], struct err *e)
{
    directory_leave(t);
    int rc = directory_open(t, e);

    t->missing = rc == -ENOENT; /* which is not that its marker is */
    if (rc < 0)
        return t->missing ? -ENXIO : rc;
    t->found_fd = openat(t->fd, DIR_MARKER, MARKER_FLAGS);
    if (t->found_fd < 0)
        return errno == ENOENT ? -ENOENT : marker_fault(t, -errno, "open", e);
    rc = found_check(t, t->found_fd, e);
    if (rc < 0)
        return rc;
    t->found_lock = lock_file(t->found_fd);
    rc = found_check(t, t->found_fd, e); /* its last owner may have removed it meanwhile */
    if (rc < 0)
        return rc;
    rc = text_read(t->found_fd, text);
    return rc < 0 ? marker_fault(t, rc, "read", e) : 0;
}

/* On a file system of this kernel's a lock tells of all processes. A marker of another boot may be
 * that of a host which has the file system by another way. What earlier versions wrote, without a
 * lease, they wrote under a lock. */
static enum card_life dir_life(void *ctx, const struct card *found, const struct card *me)
{
    const struct target_dir *t = ctx;
    bool early = found->program[0] && found->epoch == 0;

    if (t->found_lock == LOCK_OTHERS)
        return CARD_LIVES;
    if (t->found_lock != LOCK_OURS)
        return CARD_UNKNOWN;
    if (early || (t->local && (!found->program[0] || strcmp(found->boot, me->boot) == 0)))
        return CARD_DEAD;
    return CARD_UNKNOWN;
}

/* ---- our own marker ---- */

/* Is the file under the marker's name ours? */
static bool is_own(const struct target_dir *t, int fd)
{
    struct stat there, own;

    return fstatat(t->fd, DIR_MARKER, &there, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &own) == 0 &&
           there.st_dev == own.st_dev && there.st_ino == own.st_ino;
}

/* The file for the successor of the run with that epoch. */
static void taking_name(uint32_t epoch, char name[32])
{
    snprintf(name, 32, TARGET_FILES_TAKING "%08x", epoch);
}

/* Asks the server, if there is one, what is in the directory now (NFS does so at each opening). */
static void directory_refresh(const struct target_dir *t)
{
    int fd = openat(t->fd, ".", DIR_FLAGS);

    if (fd >= 0)
        close(fd);
}

static int dir_get(void *ctx, char text[OWNER_BYTES], int64_t *now_s, struct err *e)
{
    struct target_dir *t = ctx;

    *now_s = 0;
    if (t->marker_fd < 0 && !t->owner.joined)
        return find(t, text, e);
    directory_refresh(t);
    return marker_read(t->fd, text);
}

/* Makes the file name, locks it and writes text to it. A descriptor, or negative errno. */
static int make(const struct target_dir *t, const char *name, const char *text, bool sync)
{
    int fd = openat(t->fd, name, MARKER_FLAGS | O_CREAT | O_EXCL, 0644);

    if (fd < 0)
        return -errno;
    int rc = lock_file(fd) == LOCK_OTHERS ? -EEXIST : text_write(t, fd, text, sync);
    if (rc < 0) {
        if (rc != -EEXIST) /* else it is the other one's to remove */
            unlinkat(t->fd, name, 0);
        close(fd);
        return rc;
    }
    return fd;
}

static int dir_put(void *ctx, const char *text, struct err *e)
{
    struct target_dir *t = ctx;
    int fd = make(t, DIR_MARKER, text, t->sync);

    if (fd < 0)
        return fd == -EEXIST || fd == -ENOENT ? -EEXIST : marker_fault(t, fd, "write", e);
    if (!is_own(t, fd)) {
        close(fd);
        return -EEXIST;
    }
    t->marker_fd = fd;
    return 0;
}

/* Another process has made the file name, to take the marker over: waits until it is done. One that
 * died meanwhile is not waited for longer than its lease. Always -EAGAIN, or negative errno. */
static int wait_taking(struct target_dir *t, const char *name, struct err *e)
{
    int64_t until_ns = clock_boot_ns() + lease_seconds() * UNITS_NS_PER_S;
    char text[OWNER_BYTES];
    struct card card, me;
    struct stat st;

    card_here(&me, "");
    for (;;) {
        int fd = openat(t->fd, name, MARKER_FLAGS);
        if (fd < 0)
            return errno == ENOENT ? -EAGAIN : marker_fault(t, -errno, "take over", e);
        bool gone = fstat(fd, &st) < 0 || st.st_nlink == 0;
        bool dead = !gone && lock_file(fd) == LOCK_OURS && t->local;
        dead |= !gone && text_read(fd, text) == 0 && card_parse(text, strlen(text), &card) == 0 &&
                card_life(&card, &me) == CARD_DEAD;
        if (dead || clock_boot_ns() > until_ns)
            unlinkat(t->fd, name, 0);
        close(fd);
        if (gone)
            return -EAGAIN;
        if (stop_signal())
            return err_set(e, -EINTR, ERR_TARGET, t->path,
                           "interrupted while another process was taking it");
        clock_sleep_until(clock_now_ns() + TAKING_NS, 0);
    }
}

/* Replaces the marker that was found, whose text is old. */
static int take_over(struct target_dir *t, const char *old, const char *text, struct err *e)
{
    char name[32], now[OWNER_BYTES];
    struct card card;

    if (card_parse(old, strlen(old), &card) < 0)
        card = (struct card){0};
    bool sync = t->sync || card.kept || card.keeps;
    taking_name(card.epoch, name);
    int fd = make(t, name, text, sync);
    if (fd == -EEXIST)
        return wait_taking(t, name, e);
    if (fd < 0)
        return marker_fault(t, fd, "write", e);
    directory_refresh(t);
    bool same = is_own(t, t->found_fd) && text_read(t->found_fd, now) == 0 && strcmp(now, old) == 0;
    if (!same)
        unlinkat(t->fd, name, 0);
    int rc = same && renameat(t->fd, name, t->fd, DIR_MARKER) < 0 ? -errno : 0;
    if (rc < 0 && rc != -ENOENT) {
        unlinkat(t->fd, name, 0);
        close(fd);
        return marker_fault(t, rc, "replace", e);
    }
    if (!is_own(t, fd)) {
        close(fd);
        return -EAGAIN;
    }
    t->marker_fd = fd;
    close(t->found_fd);
    t->found_fd = -1;
    return sync && fsync(t->fd) < 0 ? marker_fault(t, -errno, "write", e) : 0;
}

/* Writes our own marker over, and stops whoever was about to take it. */
static int renew(const struct target_dir *t, const char *text)
{
    char name[32];
    struct card card;
    bool kept = card_parse(text, strlen(text), &card) == 0 && card.kept;
    int rc = text_write(t, t->marker_fd, text, kept); /* what is renewed nobody misses */

    if (rc < 0)
        return rc;
    taking_name(card.epoch, name);
    directory_refresh(t);
    if (unlinkat(t->fd, name, 0) < 0 && errno != ENOENT)
        return -errno;
    return is_own(t, t->marker_fd) ? 0 : -EAGAIN;
}

static int dir_swap(void *ctx, const char *old, const char *text, struct err *e)
{
    struct target_dir *t = ctx;

    if (t->marker_fd < 0)
        return take_over(t, old, text, e);
    if (text) {
        int rc = renew(t, text);
        return rc < 0 && rc != -EAGAIN ? marker_fault(t, rc, "write", e) : rc;
    }
    if (!is_own(t, t->marker_fd))
        return -EAGAIN;
    return unlinkat(t->fd, DIR_MARKER, 0) < 0 && errno != ENOENT
               ? marker_fault(t, -errno, "remove", e)
               : 0;
}

/* ---- what lies there ---- */

static bool count_file(void *ctx, int dir, const char *name, const struct stat *st,
                       enum target_files_kind kind)
{
    struct owner_found *found = ctx;

    (void)dir;
    bool counts = kind != TARGET_FILES_MARKER && kind != TARGET_FILES_LIST;

    if (kind == TARGET_FILES_OBJECT)
        owner_found_object(found, name, strlen(name));
    else
        found->objects += counts;
    found->bytes += counts ? (uint64_t)st->st_size : 0;
    return true;
}

/* Looks for files that are not ours. lost+found is the file system's: a fresh volume is empty. */
static int look_foreign(const struct target_dir *t, struct owner_found *found)
{
    int fd = openat(t->fd, ".", DIR_FLAGS | O_NOFOLLOW);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *de;

    if (!d) {
        int rc = errno == ENOENT ? -EAGAIN : -errno; /* the directory has just been removed */
        if (fd >= 0)
            close(fd);
        return rc;
    }
    while (!found->foreign && (errno = 0, de = readdir(d)) != NULL) {
        const char *name = de->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "lost+found") == 0 ||
            strcmp(name, DIR_MARKER) == 0 || target_files_name(name))
            continue;
        owner_found_foreign(found, name);
    }
    int rc = found->foreign ? 0 : -errno;
    closedir(d);
    return rc;
}

/* In a directory that has a marker somebody else's files may lie, which stay. */
static int dir_look(void *ctx, struct owner_found *found, struct err *e)
{
    const struct target_dir *t = ctx;
    bool marked = t->found_fd >= 0 || t->marker_fd >= 0;
    int rc = marked ? 0 : look_foreign(t, found);

    if (rc == 0)
        rc = target_files_each(t->fd, count_file, found);
    return rc < 0 && rc != -EAGAIN ? err_errno(e, rc, ERR_TARGET, t->path, "cannot be read") : rc;
}

static int dir_clear(void *ctx, struct owner_clear *c, struct err *e)
{
    const struct target_dir *t = ctx;
    struct owner_found left = {0};
    int rc = target_files_remove(t->fd, false, c->lease, c);

    if (rc == 0 || rc == -ESTALE)
        return rc;
    target_files_each(t->fd, count_file, &left);
    c->left = left.objects;
    c->left_bytes = left.bytes;
    if (rc == -EINTR && c->at_the_end) /* of -EINTR nobody would hear */
        return err_set(
            e, -ENOTEMPTY, ERR_TARGET, t->path,
            "a second signal stopped the clean-up: some objects are left, and the next run "
            "there removes them");
    if (rc == -EINTR)
        return err_set(e, rc, ERR_TARGET, t->path, "interrupted");
    return err_errno(e, rc, ERR_TARGET, t->path, "cannot be emptied");
}

/* ---- opening and closing ---- */

static void dir_free(struct target_dir *t)
{
    directory_leave(t);
    if (t->marker_fd >= 0)
        close(t->marker_fd);
    free(t);
}

static struct target_dir *dir_new(const char *path)
{
    struct target_dir *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->fd = t->found_fd = t->marker_fd = -1;
    t->asked = path;
    snprintf(t->path, sizeof(t->path), "%s", path);
    t->store = (struct owner_store){.ctx = t,
                                    .where = t->path,
                                    .get = dir_get,
                                    .put = dir_put,
                                    .swap = dir_swap,
                                    .look = dir_look,
                                    .clear = dir_clear,
                                    .life = dir_life};
    return t;
}

int target_dir_open(struct target_dir **out, const struct target_dir_opts *o, struct err *e)
{
    const struct target_part part = o->part.to ? o->part : TARGET_WHOLE;
    bool whole = target_part_same(part, TARGET_WHOLE);
    struct target_dir *t = dir_new(o->path);

    if (!t)
        return err_nomem(e, "target");
    t->opts = (struct owner_opts){.program = o->program,
                                  .keeps = o->keeps,
                                  .adopts = o->adopts,
                                  .destroys = o->destroys,
                                  .reuses = o->adopts,
                                  .data_seed = o->data_seed,
                                  .part_from = whole ? 0 : part.from,
                                  .part_to = whole ? 0 : part.to,
                                  .waits = o->waits,
                                  .late = o->late};
    /* Where nothing is kept a power cut may take the marker's text: an empty one means the same. */
    t->sync = o->keeps || o->shared;
    int rc = owner_take(&t->owner, &t->store, &t->opts, e);
    t->asked = NULL;
    if (rc == 0) {
        *out = t;
        return 0;
    }
    if (t->opts.created) /* unless something is there */
        rmdir(t->path);
    rc = t->missing ? -ENOENT : rc;
    dir_free(t);
    return rc;
}

int target_dir_join(struct target_dir **out, const char *path, uint64_t data_seed, struct err *e)
{
    struct target_dir *t = dir_new(path);

    if (!t)
        return err_nomem(e, "target");
    t->fd = open(path, DIR_FLAGS);
    int rc = t->fd < 0 ? err_errno(e, -errno, ERR_TARGET, path, "cannot be opened")
                       : owner_join(&t->owner, &t->store, data_seed, e);
    if (rc < 0) {
        dir_free(t);
        return rc;
    }
    *out = t;
    return 0;
}

int target_dir_kept_part(const char *path, struct target_part *part)
{
    int dir = open(path, DIR_FLAGS);
    char text[OWNER_BYTES];
    struct card card;
    bool keeps = dir >= 0 && marker_read(dir, text) == 0 &&
                 card_parse(text, strlen(text), &card) == 0 && (card.kept || card.keeps);

    if (dir >= 0)
        close(dir);
    *part = TARGET_WHOLE;
    if (keeps && card.part_to)
        *part = (struct target_part){(uint16_t)card.part_from, (uint16_t)card.part_to};
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

uint32_t target_dir_epoch(const struct target_dir *t)
{
    return t->owner.me.epoch;
}

struct lease *target_dir_lease(const struct target_dir *t)
{
    return t->owner.lease;
}

bool target_dir_was_kept(const struct target_dir *t)
{
    return t->owner.kept;
}

bool target_dir_unsure(const struct target_dir *t)
{
    return t->owner.unsure;
}

void target_dir_doubt(struct target_dir *t)
{
    owner_doubt(&t->owner);
}

/* The directory's entry in its parent; some parents may not be opened. */
static int flush_parent(const struct target_dir *t, struct err *e)
{
    int parent = openat(t->fd, "..", DIR_FLAGS), rc = 0;

    if (parent < 0)
        return 0;
    if (fsync(parent) < 0)
        rc = err_errno(e, -errno, ERR_OUTPUT, t->path, "cannot flush its parent directory");
    close(parent);
    return rc;
}

int target_dir_close(struct target_dir *t, bool keep, struct err *e)
{
    int rc = 0;

    if (!t)
        return 0;
    bool created = t->owner.me.created && !t->owner.joined;
    /* First what the objects are, then that they are kept: a power cut in between leaves a
     * directory whose objects are verified before they are used. */
    if (keep && !t->owner.joined && lease_valid(t->owner.lease)) {
        rc = syncfs(t->fd) < 0
                 ? err_errno(e, -errno, ERR_OUTPUT, t->path, "cannot flush its objects")
                 : 0;
    }
    if (rc == 0)
        rc = owner_leave(&t->owner, keep, e);
    else
        owner_abandon(&t->owner);
    if (rc == 0 && keep && !t->owner.joined)
        rc = flush_parent(t, e);
    /* It stays when somebody else has put files into it. */
    if (rc == 0 && !keep && created && rmdir(t->path) < 0 && errno != ENOTEMPTY &&
        errno != EEXIST && errno != ENOENT)
        rc = err_errno(e, -errno, ERR_OUTPUT, t->path, "cannot be removed");
    dir_free(t);
    return rc;
}
