/* A directory that kvreplay and kvprecond may write to: what must never be taken, the marker file
 * with its lock, and the removal of our own files only. target_device.c has what lies under it. */
#include "lib/io/target_dir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define TARGET_MARKER     ".kvtrace"
#define TARGET_MARKER_CAP 256
#define TARGET_HEX_LEN    32
#define TARGET_DIR_FLAGS  (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define TARGET_TRIES      10

#define TARGET_PATIENCE_NS 1000000000LL
#define TARGET_LOOK_NS     10000000LL

struct target {
    int fd, marker_fd;
    bool created;  /* the directory is kvtrace's: removed at the end */
    bool was_kept; /* the marker said so */
    bool died;     /* the marker named a process that is no more */
    bool fresh;    /* the marker is new */
    char path[PATH_MAX];
    char program[64];
};

/* ---- what no test data may go to ---- */

/* Directories whose whole trees are the system's (or its interfaces), then such that only their
 * sub-directories are somebody's to use. */
static const char *const target_trees[] = {"/bin",   "/boot",   "/dev",  "/etc",  "/lib", "/lib32",
                                           "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr"};
static const char *const target_exact[] = {
    "/",          "/dev/shm", "/home",     "/lost+found", "/media",     "/opt",       "/root",
    "/run",       "/srv",     "/tmp",      "/var",        "/var/cache", "/var/lib",   "/var/log",
    "/var/spool", "/var/tmp", "/run/user", "/run/shm",    "/run/lock",  "/run/media",
};

static bool path_is_below(const char *path, const char *tree)
{
    size_t len = strlen(tree);

    return strncmp(path, tree, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool path_is_home(const char *path)
{
    const char *home = getenv("HOME");
    char real[PATH_MAX];

    return home && realpath(home, real) && strcmp(path, real) == 0;
}

static bool path_is_system(const char *path)
{
    for (size_t i = 0; i < sizeof(target_exact) / sizeof(target_exact[0]); i++)
        if (strcmp(path, target_exact[i]) == 0)
            return true;
    if (path_is_home(path))
        return true;
    /* Memory that anybody may use, the one place below /dev for data. */
    if (path_is_below(path, "/dev/shm"))
        return false;
    for (size_t i = 0; i < sizeof(target_trees) / sizeof(target_trees[0]); i++)
        if (path_is_below(path, target_trees[i]))
            return true;
    return false;
}

/* Resolves links of path, of its parent where path itself does not exist. */
static int path_resolve(const char *path, char out[PATH_MAX])
{
    char parent[PATH_MAX];
    const char *last;
    size_t len = strlen(path);

    if (realpath(path, out))
        return 0;
    if (errno != ENOENT || len == 0 || len >= sizeof(parent))
        return len >= sizeof(parent) ? -ENAMETOOLONG : -errno;
    memcpy(parent, path, len + 1);
    while (len > 1 && parent[len - 1] == '/')
        parent[--len] = '\0';
    last = strrchr(parent, '/');
    last = last ? last + 1 : parent;
    len = (size_t)(last - parent);
    path += len; /* the last part, with its slashes cut below */
    parent[len] = '\0';
    if (!realpath(len ? parent : ".", out))
        return -errno;
    len = strlen(out);
    if (snprintf(out + len, PATH_MAX - len, "%s%.*s", len > 1 ? "/" : "", (int)strcspn(path, "/"),
                 path) >= (int)(PATH_MAX - len))
        return -ENAMETOOLONG;
    return 0;
}

static int target_refuse(const char *real, const char *path, struct err *e)
{
    if (!path_is_system(real))
        return 0;
    return err_set(e, EACCES, ERR_TARGET, path, "refused: %s is a system directory; name one below",
                   real);
}

int target_refuse_system_path(const char *path, struct err *e)
{
    char real[PATH_MAX];
    int ret = path_resolve(path, real);

    if (ret == -ENOENT)
        return err_set(e, ret, ERR_TARGET, path,
                       "the folder that it would be made in is not there");
    if (ret < 0)
        return err_errno(e, ret, ERR_TARGET, path, "cannot be resolved");
    return target_refuse(real, path, e);
}

/* ---- names of our files ---- */

static bool name_is_hex(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isdigit((unsigned char)name[i]) && !(name[i] >= 'a' && name[i] <= 'f'))
            return false;
    return true;
}

static bool name_is_object(const char *name)
{
    return strlen(name) == TARGET_HEX_LEN + 3 && name_is_hex(name, TARGET_HEX_LEN) &&
           strcmp(name + TARGET_HEX_LEN, ".kv") == 0;
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

static bool name_is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static DIR *dir_at(int fd, const char *name)
{
    int sub = openat(fd, name, TARGET_DIR_FLAGS | O_NOFOLLOW);
    DIR *d = sub < 0 ? NULL : fdopendir(sub);

    if (!d && sub >= 0)
        close(sub);
    return d;
}

/* Removes the regular files of directory fd whose names are ours; the number removed or negative
 * errno. Links are nobody's work but the user's and stay. */
static int remove_files(int fd, bool (*ours)(const char *))
{
    DIR *d = dir_at(fd, ".");
    struct dirent *de;
    int removed = 0, ret = 0;

    if (!d)
        return -errno;
    while (ret == 0 && (errno = 0, de = readdir(d)) != NULL) {
        struct stat st;

        if (!ours(de->d_name) || fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(st.st_mode))
            continue;
        if (unlinkat(fd, de->d_name, 0) == 0)
            removed++;
        else if (errno != ENOENT)
            ret = -errno;
    }
    closedir(d);
    return ret < 0 ? ret : removed;
}

/* Some file systems skip entries of a directory that changes while it is read: again until nothing
 * is left. */
static int remove_all_files(int fd, bool (*ours)(const char *))
{
    int n;

    do
        n = remove_files(fd, ours);
    while (n > 0);
    return n;
}

/* One xx folder: its objects, and itself if that leaves it empty. A link or a file of that name
 * stays. */
static int remove_folder(int fd, const char *name)
{
    int sub = openat(fd, name, TARGET_DIR_FLAGS | O_NOFOLLOW), ret;

    if (sub < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
    ret = remove_all_files(sub, name_is_object);
    close(sub);
    if (ret < 0)
        return ret;
    if (unlinkat(fd, name, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY && errno != EEXIST)
        return -errno;
    return 0;
}

int target_empty(struct target *t, struct err *e)
{
    int ret = remove_all_files(t->fd, name_is_top_file);

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

/* Content: "running PID" or "kept", the program, and "created" when kvtrace made the directory; a
 * line each. Written over in place: a reader that sees a torn one holds no lock. */
static int marker_write(struct target *t, bool keep, struct err *e)
{
    char text[TARGET_MARKER_CAP], state[32] = "kept";
    int len;

    if (!keep)
        snprintf(state, sizeof(state), "running %ld", (long)getpid());
    len = snprintf(text, sizeof(text), "%s\n%s\n%s", state, t->program,
                   t->created ? "created\n" : "");
    errno = EIO;
    if (pwrite(t->marker_fd, text, (size_t)len, 0) != len || ftruncate(t->marker_fd, len) < 0)
        return err_errno(e, -errno, ERR_TARGET, t->path, "cannot write its marker " TARGET_MARKER);
    return 0;
}

static int marker_text(int fd, char text[TARGET_MARKER_CAP])
{
    ssize_t n = pread(fd, text, TARGET_MARKER_CAP - 1, 0);

    if (n < 0)
        return -errno;
    text[n] = '\0';
    return 0;
}

/* An empty marker is that of a process that died before it wrote it. */
static int marker_parse(struct target *t, struct err *e)
{
    char text[TARGET_MARKER_CAP];
    int ret = marker_text(t->marker_fd, text);

    if (ret < 0)
        return err_errno(e, ret, ERR_TARGET, t->path, "cannot read its marker " TARGET_MARKER);
    t->was_kept = strncmp(text, "kept\n", 5) == 0;
    t->died = !t->was_kept && !t->fresh;
    if (!t->was_kept && strncmp(text, "running ", 8) != 0 && text[0] != '\0')
        return err_set(e, EACCES, ERR_TARGET, t->path,
                       "refused: its " TARGET_MARKER " was not written by kvtrace");
    if (strstr(text, "\ncreated\n"))
        t->created = true;
    return 0;
}

static int marker_in_use(const struct target *t, struct err *e)
{
    char text[TARGET_MARKER_CAP] = "";

    if (marker_text(t->marker_fd, text) == 0 && strncmp(text, "running ", 8) == 0)
        return err_set(e, EBUSY, ERR_TARGET, t->path, "in use by process %.*s",
                       (int)strspn(text + 8, "0123456789"), text + 8);
    return err_set(e, EBUSY, ERR_TARGET, t->path, "in use by another process");
}

/* Refuses a directory without our marker that has anything in it. lost+found is the file system's
 * own, so a fresh volume counts as empty. */
static int marker_check_empty(struct target *t, struct err *e)
{
    DIR *d = dir_at(t->fd, ".");
    struct dirent *de;
    int ret = 0;

    if (!d)
        return err_errno(e, -errno, ERR_TARGET, t->path, "cannot be read");
    while (ret == 0 && (errno = 0, de = readdir(d)) != NULL) {
        if (name_is_dots(de->d_name) || strcmp(de->d_name, "lost+found") == 0)
            continue;
        if (strcmp(de->d_name, TARGET_MARKER) == 0) /* made a moment ago by another process */
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

/* Opens the marker or makes it; -EAGAIN: another process made or removed it meanwhile. */
static int marker_open(struct target *t, struct err *e)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    int ret;

    t->fresh = false;
    t->marker_fd = openat(t->fd, TARGET_MARKER, flags);
    if (t->marker_fd < 0 && errno == ENOENT) {
        ret = marker_check_empty(t, e);
        if (ret < 0)
            return ret;
        t->marker_fd = openat(t->fd, TARGET_MARKER, flags | O_CREAT | O_EXCL, 0644);
        if (t->marker_fd < 0 && errno == EEXIST)
            return -EAGAIN;
        t->fresh = t->marker_fd >= 0;
    }
    if (t->marker_fd < 0)
        return err_errno(e, -errno, ERR_TARGET, t->path, "cannot open its marker " TARGET_MARKER);
    return 0;
}

bool target_patience(int64_t *until_ns)
{
    int64_t now = clock_now_ns();

    if (*until_ns == 0)
        *until_ns = now + TARGET_PATIENCE_NS;
    return now < *until_ns && clock_sleep_until(now + TARGET_LOOK_NS, 0) == 0;
}

int target_lock(int fd)
{
    int64_t until = 0;
    int ret;

    do
        ret = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
    while (ret == -EWOULDBLOCK && target_patience(&until));
    return ret;
}

/* Locked, and still the marker: its last owner may have unlinked it before we got the lock. */
static int marker_lock(struct target *t, struct err *e)
{
    struct stat st;
    int ret = target_lock(t->marker_fd);

    if (ret == -EWOULDBLOCK)
        return marker_in_use(t, e);
    if (ret < 0)
        return err_errno(e, ret, ERR_TARGET, t->path, "cannot lock its marker " TARGET_MARKER);
    if (fstat(t->marker_fd, &st) < 0 || st.st_nlink == 0)
        return -EAGAIN;
    return 0;
}

static int marker_take(struct target *t, struct err *e)
{
    int ret = -EAGAIN;

    for (int i = 0; i < TARGET_TRIES && ret == -EAGAIN; i++) {
        ret = marker_open(t, e);
        if (ret == 0)
            ret = marker_lock(t, e);
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

/* The path is looked at before anything is made, and once more as what was really opened. */
static int open_directory(struct target *t, const char *path, struct err *e)
{
    char link[64];
    ssize_t n;
    int ret = target_refuse_system_path(path, e);

    if (ret < 0)
        return ret;
    if (mkdir(path, 0755) == 0)
        t->created = true;
    else if (errno != EEXIST)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be created");
    t->fd = open(path, TARGET_DIR_FLAGS);
    if (t->fd < 0)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be opened");
    snprintf(link, sizeof(link), "/proc/self/fd/%d", t->fd);
    n = readlink(link, t->path, sizeof(t->path) - 1);
    if (n > 0)
        t->path[n] = '\0';
    else if (!realpath(path, t->path))
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be resolved");
    return target_refuse(t->path, path, e);
}

/* Undoes what a failed opening made. */
static void open_undo(struct target *t)
{
    if (t->marker_fd >= 0) {
        if (t->fresh)
            unlinkat(t->fd, TARGET_MARKER, 0);
        close(t->marker_fd);
    }
    if (t->fd >= 0) {
        close(t->fd);
        if (t->created && (t->fresh || t->marker_fd < 0))
            rmdir(t->path);
    }
    free(t);
}

int target_open_dir(struct target **out, const char *path, const char *program, struct err *e)
{
    struct target *t = calloc(1, sizeof(*t));
    int ret;

    if (!t)
        return err_nomem(e, "target");
    t->fd = t->marker_fd = -1;
    snprintf(t->program, sizeof(t->program), "%s", program);
    ret = open_directory(t, path, e);
    if (ret == 0)
        ret = marker_take(t, e);
    if (ret == 0)
        ret = marker_parse(t, e);
    if (ret == 0 && t->died)
        ret = target_empty(t, e);
    if (ret == 0)
        ret = marker_write(t, false, e);
    if (ret < 0) {
        open_undo(t);
        return ret;
    }
    *out = t;
    return 0;
}

int target_fd(const struct target *t)
{
    return t->fd;
}

const char *target_path(const struct target *t)
{
    return t->path;
}

bool target_was_kept(const struct target *t)
{
    return t->was_kept;
}

/* A directory in which somebody has meanwhile put files stays. */
static int close_remove(struct target *t, struct err *e)
{
    int ret = target_empty(t, e);

    /* The marker goes last: what could not be removed is found by the next run. */
    if (ret < 0)
        return ret;
    if (unlinkat(t->fd, TARGET_MARKER, 0) < 0 && errno != ENOENT)
        return err_errno(e, -errno, ERR_OUTPUT, t->path, "cannot remove its marker " TARGET_MARKER);
    if (t->created && rmdir(t->path) < 0 && errno != ENOTEMPTY && errno != EEXIST &&
        errno != ENOENT)
        return err_errno(e, -errno, ERR_OUTPUT, t->path, "cannot be removed");
    return 0;
}

int target_close(struct target *t, bool keep, struct err *e)
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
