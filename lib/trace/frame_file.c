/* The lowest layer of input: reads a file or pipe into a buffer, finds where each zstd frame begins
 * and ends by its headers alone, and keeps the JSON of our skippable frames. frame.c decompresses.
 */
#include "lib/trace/frame_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/descriptors.h"
#include "lib/base/stop.h"

#define STOP_LOOK_MS 100 /* between looks for a signal while a pipe is silent */

/* ---- bytes ---- */

int frame_file_open(struct frame_file *f, const char *path, struct err *e)
{
    struct stat st;

    f->fd = -1;
    f->is_stdin = strcmp(path, "-") == 0;
    f->name = strdup(f->is_stdin ? "standard input" : path);
    f->buf = malloc(FRAME_FILE_BUFFER);
    if (!f->name || !f->buf)
        return err_nomem(e, "input");
    f->fd = f->is_stdin ? STDIN_FILENO : descriptors_open(path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0)
        return err_errno(e, f->fd, ERR_INPUT, path[0] ? path : "\"\"", "cannot open");
    if (fstat(f->fd, &st) < 0)
        return err_errno(e, -errno, ERR_INPUT, f->name, "cannot be examined");
    if (S_ISDIR(st.st_mode))
        return err_set(e, -EISDIR, ERR_INPUT, f->name, "is a directory");
    f->regular = S_ISREG(st.st_mode);
    if (!f->regular)
        return 0;
    f->base = lseek(f->fd, 0, SEEK_CUR);
    if (f->base < 0)
        f->base = 0;
    f->size = st.st_size > f->base ? (uint64_t)(st.st_size - f->base) : 0;
    posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return 0;
}

void frame_file_close(struct frame_file *f)
{
    if (f->fd >= 0 && !f->is_stdin)
        close(f->fd);
    free(f->buf);
    free(f->name);
    free(f->provenance);
    free(f->summary);
}

int frame_file_rewind(struct frame_file *f, struct err *e)
{
    if (!f->regular)
        return err_set(e, -ESPIPE, ERR_INPUT, f->name, "cannot be read a second time");
    if (lseek(f->fd, f->base, SEEK_SET) < 0)
        return err_errno(e, -errno, ERR_INPUT, f->name, "cannot go back to the start");
    f->at = f->have = 0;
    f->offset = 0;
    f->eof = f->damaged = f->unfinished = f->table_last = false;
    memset(&f->error, 0, sizeof(f->error));
    free(f->provenance);
    f->provenance = NULL;
    return 0;
}

uint64_t frame_file_offset(const struct frame_file *f)
{
    return f->offset - (f->have - f->at);
}

int frame_file_fail(const struct frame_file *f, struct err *e)
{
    if (e)
        *e = f->error;
    return f->error.code;
}

int frame_file_cut(struct frame_file *f, const char *why, struct err *e)
{
    err_set(&f->error, -EBADMSG, ERR_INPUT, f->name, "byte offset %llu: %s",
            (unsigned long long)f->offset, why);
    return frame_file_fail(f, e);
}

int frame_file_damaged(struct frame_file *f, const char *why, struct err *e)
{
    f->damaged = true;
    err_set(&f->error, -EBADMSG, ERR_INPUT, f->name, "byte offset %llu: damaged: %s",
            (unsigned long long)frame_file_offset(f), why);
    return frame_file_fail(f, e);
}

static int fail_memory(struct frame_file *f, const char *what, struct err *e)
{
    err_nomem(&f->error, what);
    return frame_file_fail(f, e);
}

int frame_file_look(struct frame_file *f, struct err *e)
{
    if (!stop_ends_reading(f->patient && !f->regular))
        return 0;
    err_set(&f->error, -EINTR, ERR_FAILED, f->name, "reading was interrupted");
    return frame_file_fail(f, e);
}

int64_t frame_file_read(struct frame_file *f, void *p, size_t cap, struct err *e)
{
    struct pollfd fd = {.fd = f->fd, .events = POLLIN};
    ssize_t n;

    do {
        /* A read of a pipe may block for ever: wait until it would not, or until a signal wants the
         * end. The signal may reach another thread, or come before the wait, so EINTR alone does
         * not tell. Whatever poll reports, read reports better. */
        for (int ready = f->regular; ready == 0;) {
            if (frame_file_look(f, e))
                return -EINTR;
            ready = poll(&fd, 1, STOP_LOOK_MS);
            if (ready < 0 && errno == EINTR)
                ready = 0;
        }
        n = read(f->fd, p, cap);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        err_errno(&f->error, -errno, ERR_INPUT, f->name, "cannot read");
        return frame_file_fail(f, e);
    }
    f->eof = n == 0;
    f->offset += (uint64_t)n;
    return n;
}

int frame_file_fill(struct frame_file *f, size_t need, struct err *e)
{
    if (f->have - f->at >= need)
        return 0;
    memmove(f->buf, f->buf + f->at, f->have - f->at);
    f->have -= f->at;
    f->at = 0;
    while (f->have < need && !f->eof) {
        int64_t n = frame_file_read(f, f->buf + f->have, FRAME_FILE_BUFFER - f->have, e);
        if (n < 0)
            return (int)n;
        f->have += (size_t)n;
    }
    return 0;
}

/* Takes the next len bytes to p (NULL: drops them); *got is less only at the end. */
static int take(struct frame_file *f, unsigned char *p, size_t len, size_t *got, struct err *e)
{
    *got = 0;
    while (*got < len) {
        int rc = frame_file_fill(f, 1, e);
        if (rc)
            return rc;
        size_t n = f->have - f->at;
        if (n == 0)
            return 0;
        if (n > len - *got)
            n = len - *got;
        if (p)
            memcpy(p + *got, f->buf + f->at, n);
        f->at += n;
        *got += n;
    }
    return 0;
}

/* ---- frames ---- */

bool frame_is_data(uint32_t magic)
{
    return magic == FRAME_MAGIC_DATA;
}

bool frame_is_skippable(uint32_t magic)
{
    return (magic & ~0xFu) == FRAME_MAGIC_SKIPPABLE;
}

int frame_file_skippable(struct frame_file *f, struct err *e)
{
    static const char cut[] = "cut off inside a skippable frame";
    char **slot = NULL, *text = NULL;
    size_t got;

    if (f->have - f->at < 8)
        return frame_file_cut(f, cut, e);
    uint32_t magic = frame_le32(f->buf + f->at), len = frame_le32(f->buf + f->at + 4);
    f->at += 8;
    f->table_last = magic == FRAME_MAGIC_SEEK_TABLE;
    if (magic == FRAME_MAGIC_PROVENANCE && len <= FRAME_MAX_JSON && !f->provenance)
        slot = &f->provenance;
    if (magic == FRAME_MAGIC_SUMMARY && len <= FRAME_MAX_JSON)
        slot = &f->summary;
    if (slot) {
        text = malloc((size_t)len + 1);
        if (!text)
            return fail_memory(f, "skippable frame", e);
    }
    int rc = take(f, (unsigned char *)text, len, &got, e);
    if (rc == 0 && got < len)
        rc = frame_file_cut(f, cut, e);
    if (rc < 0 || !slot) {
        free(text);
        return rc;
    }
    text[len] = '\0';
    free(*slot);
    *slot = text;
    return 0;
}

int frame_file_next(struct frame_file *f, struct err *e)
{
    for (;;) {
        int rc = frame_file_fill(f, 8, e);
        size_t n = f->have - f->at;
        if (rc)
            return rc;
        if (n == 0 && f->own && !f->table_last) {
            f->unfinished = true;
            return frame_file_cut(f, "cut: the seek table at its end is missing", e);
        }
        if (n == 0)
            return 0;
        if (n < 4)
            return frame_file_cut(f, "cut off in the header of a zstd frame", e);
        uint32_t magic = frame_le32(f->buf + f->at);
        if (frame_is_data(magic)) {
            f->table_last = false;
            return 1;
        }
        if (!frame_is_skippable(magic))
            return frame_file_damaged(f, "expected a zstd frame here", e);
        rc = frame_file_skippable(f, e);
        if (rc)
            return rc;
    }
}

/* Appends the next n bytes of the file. 1, or 0 when it ends before. */
static int append(struct frame_file *f, struct frame_bytes *b, size_t n, struct err *e)
{
    size_t got;

    if (b->len + n > FRAME_MAX) {
        err_set(&f->error, -E2BIG, ERR_INPUT, f->name,
                "byte offset %llu: a frame of more than 64 MiB in a file with a provenance frame",
                (unsigned long long)(frame_file_offset(f) - b->len));
        return frame_file_fail(f, e);
    }
    if (!frame_bytes_room(b, b->len + n))
        return fail_memory(f, "frame", e);
    int rc = take(f, b->at + b->len, n, &got, e);
    b->len += got;
    return rc ? rc : got == n;
}

/* Reads the frame header and the block headers (RFC 8878, 3.1.1), which tell where the frame ends.
 */
int frame_file_copy(struct frame_file *f, struct frame_bytes *b, struct err *e)
{
    static const uint8_t dict_len[4] = {0, 1, 2, 4}, size_len[4] = {0, 2, 4, 8};

    b->len = 0;
    int rc = append(f, b, 5, e);
    if (rc != 1)
        return rc;
    unsigned descriptor = b->at[4];
    bool single = descriptor & 0x20, last = false;
    size_t head = (single ? 0u : 1u) + dict_len[descriptor & 3] + size_len[descriptor >> 6] +
                  (single && descriptor >> 6 == 0 ? 1u : 0u);
    rc = append(f, b, head, e);
    while (rc == 1 && !last) {
        rc = append(f, b, 3, e);
        if (rc != 1)
            return rc;
        const unsigned char *p = b->at + b->len - 3;
        uint32_t block = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
        last = block & 1;
        rc = append(f, b, (block >> 1 & 3) == 1 ? 1 : block >> 3, e); /* 1: one byte, repeated */
    }
    if (rc == 1 && descriptor & 4)
        rc = append(f, b, 4, e); /* the checksum */
    return rc;
}

/* ---- the summary at the end ---- */

/* Returns 1; 0 when the file ends before; negative errno. */
static int pread_all(struct frame_file *f, void *p, size_t len, uint64_t at, struct err *e)
{
    for (size_t got = 0; got < len;) {
        ssize_t n = pread(f->fd, (char *)p + got, len - got, f->base + (off_t)(at + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_errno(&f->error, -errno, ERR_INPUT, f->name, "cannot read");
            return frame_file_fail(f, e);
        }
        if (n == 0)
            return 0;
        got += (size_t)n;
    }
    return 1;
}

/* Finds the offset of the last frame before the seek table. Returns 1; 0 if there is no sound
 * table; negative errno. */
static int last_frame(struct frame_file *f, uint64_t *start, struct err *e)
{
    unsigned char foot[FRAME_SEEK_FOOTER], last[4];

    if (!f->regular || f->size < 8 + FRAME_SEEK_FOOTER)
        return 0;
    int rc = pread_all(f, foot, FRAME_SEEK_FOOTER, f->size - FRAME_SEEK_FOOTER, e);
    if (rc != 1 || frame_le32(foot + 5) != FRAME_SEEKABLE_MAGIC || frame_le32(foot) == 0)
        return rc < 0 ? rc : 0;
    size_t entry = foot[4] & 0x80 ? 12 : 8, count = frame_le32(foot);
    uint64_t table = (uint64_t)count * entry + 8 + FRAME_SEEK_FOOTER;
    if (table > f->size)
        return 0;
    /* The last frame ends where the table begins; its size is in the last entry. */
    rc = pread_all(f, last, 4, f->size - FRAME_SEEK_FOOTER - entry, e);
    if (rc != 1 || frame_le32(last) >= f->size - table)
        return rc < 0 ? rc : 0;
    *start = f->size - table - frame_le32(last);
    return 1;
}

int frame_file_find_summary(struct frame_file *f, struct err *e)
{
    uint64_t start;
    unsigned char head[8];
    int rc = last_frame(f, &start, e);

    if (rc == 1)
        rc = pread_all(f, head, 8, start, e);
    if (rc != 1 || frame_le32(head) != FRAME_MAGIC_SUMMARY)
        return rc < 0 ? rc : 0;
    uint32_t len = frame_le32(head + 4);
    if (len > FRAME_MAX_JSON || len > f->size - start - 8)
        return 0;
    char *text = malloc((size_t)len + 1);
    if (!text)
        return fail_memory(f, "summary", e);
    rc = pread_all(f, text, len, start + 8, e);
    if (rc != 1) {
        free(text);
        return rc;
    }
    text[len] = '\0';
    free(f->summary);
    f->summary = text;
    return 0;
}
