/* The lowest layer of input: reads files and pipes into a buffer, knows how far it is, and finds a
 * summary through the seek table at the end of a regular file. What the bytes are is decided in
 * frame.c. */
#include "lib/trace/frame_source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/stop.h"
#include "lib/trace/frame.h"

#define SEEK_FOOTER  9   /* bytes that end a seek table: count, descriptor, magic */
#define STOP_LOOK_MS 100 /* between looks for a signal while a pipe is silent */

int frame_source_fail(const struct frame_source *s, struct err *e)
{
    if (e)
        *e = s->error;
    return s->error.code;
}

/* A read of a pipe may block for ever: waits until it would not, or a signal wants the end. A
 * signal need not come to this thread, nor during the wait, so EINTR alone would not tell. */
static int wait_readable(struct frame_source *s, struct err *e)
{
    struct pollfd fd = {.fd = s->fd, .events = POLLIN};
    int n = s->regular ? 1 : 0;
    while (n == 0 && !stop_signal()) {
        n = poll(&fd, 1, STOP_LOOK_MS);
        if (n < 0 && errno == EINTR)
            n = 0;
    }
    if (n != 0)
        return 0; /* what else poll has to say, read says better */
    err_set(&s->error, -EINTR, ERR_FAILED, s->name, "reading was interrupted");
    return frame_source_fail(s, e);
}

int64_t frame_source_pull(struct frame_source *s, void *p, size_t cap, struct err *e)
{
    for (;;) {
        int rc = wait_readable(s, e);
        if (rc < 0)
            return rc;
        ssize_t n = read(s->fd, p, cap);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_errno(&s->error, -errno, ERR_INPUT, s->name, "cannot read");
            return frame_source_fail(s, e);
        }
        if (n == 0)
            s->eof = true;
        s->offset += (uint64_t)n;
        return n;
    }
}

int frame_source_fill(struct frame_source *s, size_t need, struct err *e)
{
    if (s->have - s->at >= need)
        return 0;
    memmove(s->buf, s->buf + s->at, s->have - s->at);
    s->have -= s->at;
    s->at = 0;
    while (s->have < need && !s->eof) {
        int64_t n = frame_source_pull(s, s->buf + s->have, FRAME_SOURCE_CAP - s->have, e);
        if (n < 0)
            return (int)n;
        s->have += (size_t)n;
    }
    return 0;
}

int frame_source_copy(struct frame_source *s, unsigned char *p, size_t len, size_t *got,
                      struct err *e)
{
    *got = 0;
    while (*got < len) {
        int rc = frame_source_fill(s, 1, e);
        if (rc)
            return rc;
        size_t n = s->have - s->at;
        if (n == 0)
            return 0;
        if (n > len - *got)
            n = len - *got;
        if (p)
            memcpy(p + *got, s->buf + s->at, n);
        s->at += n;
        *got += n;
    }
    return 0;
}

static int pread_all(int fd, void *p, size_t len, off_t at)
{
    for (size_t got = 0; got < len;) {
        ssize_t n = pread(fd, (char *)p + got, len - got, at + (off_t)got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -EIO;
        got += (size_t)n;
    }
    return 0;
}

/* Offset of the file's last frame before the seek table, 0 if there is no sound table. */
static uint64_t last_entry(const struct frame_source *s)
{
    unsigned char foot[SEEK_FOOTER];
    uint64_t size = s->size, table, start = 0;
    if (size < 8 + SEEK_FOOTER ||
        pread_all(s->fd, foot, SEEK_FOOTER, s->base + (off_t)(size - SEEK_FOOTER)) ||
        frame_le32(foot + 5) != FRAME_SEEKABLE_MAGIC || frame_le32(foot) == 0)
        return 0;
    size_t entry = foot[4] & 0x80 ? 12 : 8, count = frame_le32(foot);
    table = (uint64_t)count * entry + 8 + SEEK_FOOTER;
    if (table > size)
        return 0;
    /* The last entry's size stands at the end of the table: the frame ends where the table begins.
     */
    unsigned char last[4];
    if (pread_all(s->fd, last, 4, s->base + (off_t)(size - SEEK_FOOTER - entry)))
        return 0;
    if (frame_le32(last) <= size - table)
        start = size - table - frame_le32(last);
    return start;
}

char *frame_source_summary(const struct frame_source *s)
{
    unsigned char head[8];
    uint64_t start = s->regular ? last_entry(s) : 0;
    if (start == 0 || pread_all(s->fd, head, 8, s->base + (off_t)start) ||
        frame_le32(head) != FRAME_MAGIC_SUMMARY)
        return NULL;
    uint32_t len = frame_le32(head + 4);
    if (len > FRAME_MAX_JSON || len > s->size - start - 8)
        return NULL;
    char *text = malloc((size_t)len + 1);
    if (text && pread_all(s->fd, text, len, s->base + (off_t)start + 8)) {
        free(text);
        text = NULL;
    }
    if (text)
        text[len] = '\0';
    return text;
}

static int source_stat(struct frame_source *s, struct err *e)
{
    struct stat st;
    if (fstat(s->fd, &st) < 0)
        return err_errno(e, -errno, ERR_INPUT, s->name, "cannot look at it");
    if (S_ISDIR(st.st_mode))
        return err_set(e, -EISDIR, ERR_INPUT, s->name, "is a directory");
    s->regular = S_ISREG(st.st_mode);
    if (!s->regular)
        return 0;
    s->base = lseek(s->fd, 0, SEEK_CUR);
    if (s->base < 0)
        s->base = 0;
    s->size = st.st_size > s->base ? (uint64_t)(st.st_size - s->base) : 0;
    posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return 0;
}

int frame_source_open(struct frame_source *s, const char *path, struct err *e)
{
    s->fd = -1;
    s->is_stdin = strcmp(path, "-") == 0;
    s->name = strdup(s->is_stdin ? "standard input" : path);
    s->buf = malloc(FRAME_SOURCE_CAP);
    if (!s->name || !s->buf)
        return err_nomem(e, "input");
    s->fd = s->is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0)
        return err_errno(e, -errno, ERR_INPUT, path[0] ? path : "\"\"", "cannot open");
    return source_stat(s, e);
}

void frame_source_close(struct frame_source *s)
{
    if (s->fd >= 0 && !s->is_stdin)
        close(s->fd);
    free(s->buf);
    free(s->name);
}

int frame_source_rewind(struct frame_source *s, struct err *e)
{
    if (!s->regular)
        return err_set(e, -ESPIPE, ERR_INPUT, s->name, "cannot be read a second time");
    if (lseek(s->fd, s->base, SEEK_SET) < 0)
        return err_errno(e, -errno, ERR_INPUT, s->name, "cannot go back to the start");
    s->at = s->have = 0;
    s->offset = 0;
    s->eof = false;
    memset(&s->error, 0, sizeof(s->error));
    return 0;
}
