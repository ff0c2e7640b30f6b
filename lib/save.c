/* save.c - results that are made in memory and written at the end of a run: JSON documents, users
 * files. A file appears whole or not at all; what is no regular file is written to. */
#include "lib/save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        text += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Into what is no regular file (a device, a pipe): nothing to rename. */
static int save_direct(const char *path, const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    int rc;

    if (fd < 0)
        return -errno;
    rc = write_all(fd, text, len);
    if (close(fd) != 0 && rc == 0)
        rc = -errno;
    return rc;
}

/* Into a new file beside path, which it then replaces. */
static int save_beside(const char *path, const char *text, size_t len)
{
    char *beside = NULL;
    int fd, rc;

    if (asprintf(&beside, "%s.%ld.tmp", path, (long)getpid()) < 0)
        return -ENOMEM;
    fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    rc = fd < 0 ? -errno : write_all(fd, text, len);
    if (fd >= 0 && close(fd) != 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && rename(beside, path) != 0)
        rc = -errno;
    if (rc < 0 && fd >= 0)
        unlink(beside);
    free(beside);
    return rc;
}

/* /dev/stdout may lead to a regular file that is open elsewhere: it must not be replaced. */
static bool is_direct(const char *path)
{
    static const char *const streams[] = {"/dev/std", "/dev/fd/", "/proc/"};
    struct stat st;

    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++)
        if (strncmp(path, streams[i], strlen(streams[i])) == 0)
            return true;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int save_file(const char *path, const char *text, size_t len)
{
    char *real;
    int rc;

    if (is_direct(path))
        return save_direct(path, text, len);
    real = realpath(path, NULL); /* a link stays, the file that it names is replaced */
    rc = save_beside(real ? real : path, text, len);
    free(real);
    return rc;
}

int save_text(const char *path, const char *text, size_t len, struct err *e)
{
    bool is_stdout = strcmp(path, "-") == 0;
    int rc;

    if (is_stdout)
        rc = fflush(stdout) != 0 ? -errno : write_all(STDOUT_FILENO, text, len);
    else
        rc = save_file(path, text, len);
    if (rc < 0)
        return err_errno(e, rc, ERR_OUTPUT, is_stdout ? "standard output" : path, "cannot write");
    return 0;
}

/* ---- before anything is written ---- */

/* The folder that path lies in, and its name there. */
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

static int check_file(const char *path)
{
    char folder[PATH_MAX], *real = realpath(path, NULL);
    const char *name;
    int rc = split_path(real ? real : path, folder, &name);

    if (rc == 0 && !*name)
        rc = -EISDIR;
    if (rc == 0 && faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
        rc = -errno;
    free(real);
    return rc;
}

int save_check(const char *path, struct err *e)
{
    struct stat st;
    int rc = 0;

    if (strcmp(path, "-") == 0)
        return 0;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        rc = -EISDIR;
    else if (!is_direct(path))
        rc = check_file(path);
    else if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
        rc = -errno;
    return rc < 0 ? err_errno(e, rc, ERR_OUTPUT, path, "cannot write") : 0;
}

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

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
