/* Writes output files that appear whole or not at all: results made in memory, and files written in
 * parts whose readers would take half a file for a whole one. */
#include "lib/base/save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/descriptors.h"

/* ---- a file in parts ---- */

struct save {
    char *path;   /* for messages */
    char *real;   /* the final name of beside; NULL: bytes go straight into path */
    char *beside; /* the file until save_close */
    char *aside;  /* of one that grows: the old file; NULL: there was none */
    off_t bytes;  /* of whole parts */
    bool grows, written;
    int fd;
    bool is_stdout;
};

/* Tells whether path must be written to directly. /dev/stdout and the like may lead to a regular
 * file that is open elsewhere and must not be replaced. */
static bool is_direct(const char *path)
{
    static const char *const streams[] = {"/dev/std", "/dev/fd/", "/proc/"};
    struct stat st;

    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++)
        if (strncmp(path, streams[i], strlen(streams[i])) == 0)
            return true;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static void save_free(struct save *s)
{
    if (s->fd >= 0 && !s->is_stdout)
        close(s->fd);
    free(s->aside);
    free(s->beside);
    free(s->real);
    free(s->path);
    free(s);
}

/* In place; the old file goes aside. */
static int open_growing(struct save *s)
{
    s->aside = save_set_aside(s->path);
    s->fd = open(s->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (s->fd < 0)
        return -errno;
    save_inherit(s->aside, s->fd);
    return 0;
}

static int open_output(struct save *s)
{
    if (s->is_stdout) {
        s->fd = STDOUT_FILENO;
        return fflush(stdout) != 0 ? -errno : 0;
    }
    if (is_direct(s->path)) {
        s->fd = descriptors_open(s->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return s->fd < 0 ? s->fd : 0;
    }
    if (s->grows)
        return open_growing(s);
    s->real = realpath(s->path, NULL); /* a link stays, the file that it names is replaced */
    if (!s->real)
        s->real = strdup(s->path);
    if (!s->real || asprintf(&s->beside, "%s.%ld.tmp", s->real, (long)getpid()) < 0) {
        s->beside = NULL;
        return -ENOMEM;
    }
    s->fd = open(s->beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    return s->fd < 0 ? -errno : 0;
}

static int fail(const struct save *s, int rc, struct err *e)
{
    return err_errno(e, rc, ERR_OUTPUT, s->path, "cannot write");
}

static int open_save(struct save **out, const char *path, bool grows, struct err *e)
{
    struct save *s = calloc(1, sizeof(*s));

    if (!s)
        return err_nomem(e, "output");
    s->grows = grows;
    s->fd = -1;
    s->is_stdout = strcmp(path, "-") == 0;
    s->path = strdup(s->is_stdout ? "standard output" : path);
    int rc = s->path ? open_output(s) : err_nomem(e, "output");
    if (rc < 0 && s->path)
        fail(s, rc, e);
    if (rc < 0)
        save_abandon(s);
    else
        *out = s;
    return rc;
}

int save_open(struct save **out, const char *path, struct err *e)
{
    return open_save(out, path, false, e);
}

int save_open_growing(struct save **out, const char *path, struct err *e)
{
    return open_save(out, path, true, e);
}

int save_put(struct save *s, const void *p, size_t len, struct err *e)
{
    int rc = descriptors_write(s->fd, p, len);

    if (rc < 0) {
        /* The file goes back to where the part before this one ended; in a pipe nothing can be
         * done. */
        if (s->grows && ftruncate(s->fd, s->bytes) < 0)
            s->written = true;
        return fail(s, rc, e);
    }
    s->written |= len > 0;
    s->bytes += (off_t)len;
    return 0;
}

int save_close(struct save *s, struct err *e)
{
    int fd = s->fd, rc = 0;

    s->fd = -1;
    if (!s->is_stdout && close(fd) != 0)
        rc = -errno;
    if (rc == 0 && s->beside && rename(s->beside, s->real) != 0)
        rc = -errno;
    if (rc < 0)
        fail(s, rc, e);
    if (rc < 0 && s->beside)
        unlink(s->beside);
    if (rc == 0) {
        save_drop(s->aside);
        s->aside = NULL;
    }
    save_free(s);
    return rc;
}

void save_abandon(struct save *s)
{
    if (!s)
        return;
    if (s->beside && s->fd >= 0)
        unlink(s->beside);
    /* A growing file that is still empty is worth nothing. */
    if (s->grows && !s->written && s->fd >= 0 && !s->is_stdout && !s->aside && !is_direct(s->path))
        unlink(s->path);
    if (s->aside && !s->written) {
        save_put_back(s->aside);
        s->aside = NULL;
    }
    save_free(s);
}

int save_text(const char *path, const char *text, size_t len, struct err *e)
{
    struct save *s = NULL;
    int rc = save_open(&s, path, e);

    if (rc == 0)
        rc = save_put(s, text, len, e);
    if (rc < 0) {
        save_abandon(s);
        return rc;
    }
    return save_close(s, e);
}

/* ---- a file written in place ---- */

#define ASIDE ".%ld.old"

char *save_set_aside(const char *path)
{
    struct stat st;
    char *real, *aside = NULL;

    if (is_direct(path) || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return NULL;
    real = realpath(path, NULL);
    if (real && asprintf(&aside, "%s" ASIDE, real, (long)getpid()) < 0)
        aside = NULL;
    if (aside && rename(real, aside) != 0) {
        free(aside);
        aside = NULL;
    }
    free(real);
    return aside;
}

void save_inherit(const char *aside, int fd)
{
    struct stat st;

    if (!aside || stat(aside, &st) != 0)
        return;
    if (fchown(fd, st.st_uid, st.st_gid) == 0 || st.st_uid == geteuid())
        fchmod(fd, st.st_mode & 0777);
}

void save_put_back(char *aside)
{
    char *real = aside ? strdup(aside) : NULL, *end = real;

    for (int dots = 0; end && dots < 2; dots++) {
        end = strrchr(real, '.');
        if (end)
            *end = '\0';
    }
    if (end)
        rename(aside, real); /* if that fails, both are there */
    free(real);
    free(aside);
}

void save_drop(char *aside)
{
    if (aside)
        unlink(aside);
    free(aside);
}

/* ---- before anything is written ---- */

/* Splits path into its folder ("." if it has none) and its name there. */
static int split_path(const char *path, char folder[PATH_MAX], const char **name)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) + 1 : 0;

    if (len >= PATH_MAX - 1)
        return -ENAMETOOLONG;
    memcpy(folder, path, len);
    strcpy(folder + len, len ? "" : ".");
    *name = path + len;
    return 0;
}

int save_check(const char *path, struct err *e)
{
    struct stat st;
    int rc = 0;

    if (strcmp(path, "-") == 0)
        return 0;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        rc = -EISDIR;
    else if (is_direct(path)) {
        if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
            rc = -errno;
    } else {
        char folder[PATH_MAX], *real = realpath(path, NULL);
        const char *name;
        rc = split_path(real ? real : path, folder, &name);
        if (rc == 0 && !*name)
            rc = -EISDIR;
        if (rc == 0 && faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
            rc = -errno;
        free(real);
    }
    return rc < 0 ? err_errno(e, rc, ERR_OUTPUT, path, "cannot write") : 0;
}

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The same folder and the same name in it. */
static bool is_same_place(const char *a, const char *b)
{
    char folder_a[PATH_MAX], folder_b[PATH_MAX];
    const char *name_a, *name_b;
    struct stat st_a, st_b;

    return split_path(a, folder_a, &name_a) == 0 && split_path(b, folder_b, &name_b) == 0 &&
           strcmp(name_a, name_b) == 0 && stat(folder_a, &st_a) == 0 &&
           stat(folder_b, &st_b) == 0 && is_same_inode(&st_a, &st_b);
}

bool save_is_same(const char *a, const char *b)
{
    struct stat st_a, st_b;

    if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0)
        return false;
    if (stat(a, &st_a) != 0 || stat(b, &st_b) != 0)
        return is_same_place(a, b);
    if (S_ISBLK(st_a.st_mode) && S_ISBLK(st_b.st_mode))
        return st_a.st_rdev == st_b.st_rdev;
    return S_ISREG(st_a.st_mode) && is_same_inode(&st_a, &st_b);
}
