/* save.c - results that are made in memory and written at the end of a run: JSON documents, users
 * files. A file appears whole or not at all; what is no regular file is written to. */
#include "lib/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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
