/* Temporary files for what does not fit memory: sorted runs, and the records of an export that are
 * completed later. */
#include "lib/sort/temp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct temp_file {
    int fd;
    char folder[]; /* for error messages */
};

const char *temp_file_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    return tmp && tmp[0] != '\0' ? tmp : "/tmp";
}

int temp_file_open(struct temp_file **out, const char *folder, struct err *e)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        /* Not every file system has files without names. */
        char name[4096];
        if ((size_t)snprintf(name, sizeof(name), "%s/kvtrace.XXXXXX", folder) >= sizeof(name))
            return err_set(e, -ENAMETOOLONG, ERR_OUTPUT, folder, "cannot hold a temporary file");
        fd = mkostemp(name, O_CLOEXEC);
        if (fd < 0)
            return err_errno(e, -errno, ERR_OUTPUT, folder, "cannot make a temporary file");
        unlink(name);
    }
    struct temp_file *f = malloc(sizeof(*f) + strlen(folder) + 1);
    if (!f) {
        close(fd);
        return err_nomem(e, "temporary file");
    }
    f->fd = fd;
    strcpy(f->folder, folder);
    *out = f;
    return 0;
}

void temp_file_close(struct temp_file *f)
{
    if (!f)
        return;
    close(f->fd);
    free(f);
}

int temp_file_write(struct temp_file *f, const void *p, size_t len, uint64_t at, struct err *e)
{
    const char *from = p;
    while (len > 0) {
        ssize_t n = pwrite(f->fd, from, len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, -errno, ERR_OUTPUT, f->folder, "cannot write the temporary file");
        from += n;
        len -= (size_t)n;
        at += (uint64_t)n;
    }
    return 0;
}

int64_t temp_file_read(struct temp_file *f, void *p, size_t len, uint64_t at, struct err *e)
{
    ssize_t n;
    do
        n = pread(f->fd, p, len, (off_t)at);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return err_errno(e, n < 0 ? -errno : -EIO, ERR_OUTPUT, f->folder,
                         "cannot read the temporary file");
    return n;
}
