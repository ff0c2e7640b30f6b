/* The directory of a run: taken with a marker and a lock, emptied of our own files, released. What
 * must never be taken is target_guard.c's to say; which objects the files are is lib/tier's. */
#include "lib/io/target_dir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/io/target_guard.h"
#include "lib/opt/files.h"

#define DIR_MARKER     FILES_STORE_MARKER
#define DIR_MARKER_CAP 256
#define DIR_HEX_LEN    32
#define DIR_FLAGS      (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define DIR_TRIES      10

struct target_dir {
    int fd, marker_fd;
    bool created;  /* kvtrace made the directory and removes it at the end */
    bool was_kept; /* the marker said so */
    bool died;     /* the marker named a process that is no more */
    bool fresh;    /* this process made the marker */
    char path[PATH_MAX];
    char program[64];
};

/* ---- our files ---- */

/* Of an object: HEX.kv. */
static bool name_is_object(const char *name)
{
    for (size_t i = 0; i < DIR_HEX_LEN; i++)
        if (!isdigit((unsigned char)name[i]) && !(name[i] >= 'a' && name[i] <= 'f'))
            return false;
    return strcmp(name + DIR_HEX_LEN, ".kv") == 0;
}

/* slab.kv, fill-000001.kv (kvprecond), probe-1234.kv (target_device.c). */
static bool name_is_top_file(const char *name)
{
    static const char *const numbered[] = {"fill-", "probe-"};

    for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++) {
        size_t len = strlen(numbered[i]), digits;

        if (strncmp(name, numbered[i], len) != 0)
            continue;
        digits = strspn(name + len, "0123456789");
        return digits > 0 && strcmp(name + len + digits, ".kv") == 0;
    }
    return strcmp(name, "slab.kv") == 0;
}

/* The directory fd, to be read from its beginning; NULL with errno. */
static DIR *dir_list(int fd)
{
    int again = openat(fd, ".", DIR_FLAGS | O_NOFOLLOW);
    DIR *d = again < 0 ? NULL : fdopendir(again);

    if (!d && again >= 0)
        close(again);
    return d;
}

/* Removes the regular files of directory fd whose names are ours. Links stay: only the user makes
 * those. Some file systems skip entries of a directory that changes while it is read, so this goes
 * on until a pass finds none. 0 or negative errno. */
static int remove_files(int fd, bool (*ours)(const char *))
{
    bool removed = true;
    int ret = 0;

    while (removed && ret == 0) {
        DIR *d = dir_list(fd);
        struct dirent *de;
        struct stat st;

        if (!d)
            return -errno;
        removed = false;
        while (ret == 0 && (errno = 0, de = readdir(d)) != NULL) {
            if (!ours(de->d_name) || fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                !S_ISREG(st.st_mode))
                continue;
            if (unlinkat(fd, de->d_name, 0) == 0)
                removed = true;
            else if (errno != ENOENT)
                ret = -errno;
        }
        closedir(d);
    }
    return ret;
}

/* Removes the objects in one xx folder, and the folder if it is then empty. A link or a file of
 * that name stays. */
static int remove_folder(int fd, const char *name)
{
    int sub = openat(fd, name, DIR_FLAGS | O_NOFOLLOW), ret;

    if (sub < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
    ret = remove_files(sub, name_is_object);
    close(sub);
    if (ret < 0)
        return ret;
    if (unlinkat(fd, name, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY && errno != EEXIST)
        return -errno;
    return 0;
}

int target_dir_empty(struct target_dir *t, struct err *e)
{
    int ret = remove_files(t->fd, name_is_top_file);

    for (unsigned i = 0; i < 256 && ret >= 0; i++) {
        char name[3];

        snprintf(name, sizeof(name), "%02x", i & 0xffu);
        ret = remove_folder(t->fd, name);
    }
    if (ret < 0)
        return err_errno(e, ret, ERR_TARGET, t->path, "cannot be emptied");
    return 0;
}

/* ---- the marker ---- */

/* Three lines: "running PID" or "kept"; the program; "created" when kvtrace made the directory. It
 * is written over in place: only a reader without the lock can see it torn. */
static int marker_write(struct target_dir *t, bool keep, struct err *e)
{
    char text[DIR_MARKER_CAP], state[32] = "kept";
    int len;

    if (!keep)
        snprintf(state, sizeof(state), "running %ld", (long)getpid());
    len = snprintf(text, sizeof(text), "%s\n%s\n%s", state, t->program,
                   t->created ? "created\n" : "");
    errno = EIO;
    if (pwrite(t->marker_fd, text, (size_t)len, 0) != len || ftruncate(t->marker_fd, len) < 0)
        return err_errno(e, -errno, ERR_TARGET, t->path, "cannot write its marker " DIR_MARKER);
    return 0;
}

static int marker_text(int fd, char text[DIR_MARKER_CAP])
{
    ssize_t n = pread(fd, text, DIR_MARKER_CAP - 1, 0);

    if (n < 0)
        return -errno;
    text[n] = '\0';
    return 0;
}

/* An empty marker is left by a process that died before it wrote one. */
static int marker_read(struct target_dir *t, struct err *e)
{
    char text[DIR_MARKER_CAP];
    int ret = marker_text(t->marker_fd, text);

    if (ret < 0)
        return err_errno(e, ret, ERR_TARGET, t->path, "cannot read its marker " DIR_MARKER);
    t->was_kept = strncmp(text, "kept\n", 5) == 0;
    t->died = !t->was_kept && !t->fresh;
    if (!t->was_kept && strncmp(text, "running ", 8) != 0 && text[0] != '\0')
        return err_set(e, EACCES, ERR_TARGET, t->path,
                       "refused: its " DIR_MARKER " was not written by kvtrace");
    if (strstr(text, "\ncreated\n"))
        t->created = true;
    return 0;
}

/* Refuses a directory without a marker that holds anything. lost+found is the file system's own: a
 * fresh volume counts as empty. -EAGAIN: another process has just made a marker. */
static int check_empty(struct target_dir *t, struct err *e)
{
    DIR *d = dir_list(t->fd);
    struct dirent *de;
    int ret = 0;

    if (!d)
        return err_errno(e, -errno, ERR_TARGET, t->path, "cannot be read");
    while (ret == 0 && (errno = 0, de = readdir(d)) != NULL) {
        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0 ||
            strcmp(de->d_name, "lost+found") == 0)
            continue;
        if (strcmp(de->d_name, DIR_MARKER) == 0)
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

/* Opens the marker, or makes it, and locks it. -EAGAIN: another process made or removed it in the
 * meantime. */
static int marker_try(struct target_dir *t, struct err *e)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    char text[DIR_MARKER_CAP] = "";
    struct stat st;
    int ret;

    t->fresh = false;
    t->marker_fd = openat(t->fd, DIR_MARKER, flags);
    if (t->marker_fd < 0 && errno == ENOENT) {
        ret = check_empty(t, e);
        if (ret < 0)
            return ret;
        t->marker_fd = openat(t->fd, DIR_MARKER, flags | O_CREAT | O_EXCL, 0644);
        if (t->marker_fd < 0 && errno == EEXIST)
            return -EAGAIN;
        t->fresh = t->marker_fd >= 0;
    }
    if (t->marker_fd < 0)
        return err_errno(e, -errno, ERR_TARGET, t->path, "cannot open its marker " DIR_MARKER);

    ret = target_guard_lock(t->marker_fd);
    if (ret == -EWOULDBLOCK && marker_text(t->marker_fd, text) == 0 &&
        strncmp(text, "running ", 8) == 0)
        return err_set(e, EBUSY, ERR_TARGET, t->path, "in use by process %.*s",
                       (int)strspn(text + 8, "0123456789"), text + 8);
    if (ret == -EWOULDBLOCK)
        return err_set(e, EBUSY, ERR_TARGET, t->path, "in use by another process");
    if (ret < 0)
        return err_errno(e, ret, ERR_TARGET, t->path, "cannot lock its marker " DIR_MARKER);
    /* Its last owner may have removed it before we got the lock. */
    return fstat(t->marker_fd, &st) < 0 || st.st_nlink == 0 ? -EAGAIN : 0;
}

static int marker_take(struct target_dir *t, struct err *e)
{
    int ret = -EAGAIN;

    for (int i = 0; i < DIR_TRIES && ret == -EAGAIN; i++) {
        ret = marker_try(t, e);
        if (ret < 0 && t->marker_fd >= 0) {
            close(t->marker_fd);
            t->marker_fd = -1;
        }
    }
    if (ret == -EAGAIN)
        return err_set(e, EBUSY, ERR_TARGET, t->path, "in use by another process");
    return ret;
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
        t->created = true;
    else if (errno != EEXIST)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be created");
    t->fd = open(path, DIR_FLAGS);
    if (t->fd < 0)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be opened");
    snprintf(link, sizeof(link), "/proc/self/fd/%d", t->fd);
    n = readlink(link, t->path, sizeof(t->path) - 1);
    if (n > 0)
        t->path[n] = '\0';
    else if (!realpath(path, t->path))
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be resolved");
    return target_guard_path(t->path, e);
}

int target_dir_open(struct target_dir **out, const char *path, const char *program, struct err *e)
{
    struct target_dir *t = calloc(1, sizeof(*t));
    int ret;

    if (!t)
        return err_nomem(e, "target");
    t->fd = t->marker_fd = -1;
    snprintf(t->program, sizeof(t->program), "%s", program);
    ret = directory_open(t, path, e);
    if (ret < 0)
        goto out;
    ret = marker_take(t, e);
    if (ret < 0)
        goto out;
    ret = marker_read(t, e);
    if (ret == 0 && t->died)
        ret = target_dir_empty(t, e);
    if (ret == 0)
        ret = marker_write(t, false, e);
out:
    if (ret == 0) {
        *out = t;
        return 0;
    }
    if (t->marker_fd >= 0) {
        if (t->fresh)
            unlinkat(t->fd, DIR_MARKER, 0);
        close(t->marker_fd);
    }
    if (t->fd >= 0) {
        close(t->fd);
        if (t->created && (t->fresh || t->marker_fd < 0))
            rmdir(t->path);
    }
    free(t);
    return ret;
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

/* The marker goes last: what could not be removed is left for the next run to find. A directory
 * stays when somebody else has put files into it. */
static int close_remove(struct target_dir *t, struct err *e)
{
    int ret = target_dir_empty(t, e);

    if (ret < 0)
        return ret;
    if (unlinkat(t->fd, DIR_MARKER, 0) < 0 && errno != ENOENT)
        return err_errno(e, -errno, ERR_OUTPUT, t->path, "cannot remove its marker " DIR_MARKER);
    if (t->created && rmdir(t->path) < 0 && errno != ENOTEMPTY && errno != EEXIST &&
        errno != ENOENT)
        return err_errno(e, -errno, ERR_OUTPUT, t->path, "cannot be removed");
    return 0;
}

int target_dir_close(struct target_dir *t, bool keep, struct err *e)
{
    int ret;

    if (!t)
        return 0;
    ret = keep ? marker_write(t, true, e) : close_remove(t, e);
    close(t->marker_fd);
    close(t->fd);
    free(t);
    return ret;
}
