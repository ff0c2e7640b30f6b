/* export_file.c - the output end of every export: what a format writes is hashed, compressed when
 * asked, and written in blocks. One frame, since readers of other tools may stop after the first.
 */
#include "kvgen/format/export_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/base/save.h"
#include "lib/trace/frame_out.h"

enum {
    BLOCK = 1 << 20,
    DEFAULT_LEVEL = 3
};

struct export_file {
    struct save *save;
    char *block;
    size_t used;
    struct frame_encoder *encoder; /* NULL: plain */
    struct frame_bytes packed;
    struct hash_stream *digest;
    struct trace_totals totals;
};

static void file_free(struct export_file *f)
{
    save_abandon(f->save);
    frame_encoder_free(f->encoder);
    hash_stream_free(f->digest);
    free(f->packed.at);
    free(f->block);
    free(f);
}

static int open_encoder(struct export_file *f, int level, struct err *e)
{
    f->encoder = frame_encoder_create(level > 0 ? level : DEFAULT_LEVEL);
    return f->encoder ? 0 : err_nomem(e, "zstd");
}

int export_file_open(struct export_file **out, const char *path, bool zstd, int level,
                     struct err *e)
{
    struct export_file *f = calloc(1, sizeof *f);
    if (f == NULL)
        return err_nomem(e, "output");
    f->block = malloc(BLOCK);
    f->digest = hash_stream_create();
    int rc = f->block == NULL || f->digest == NULL ? err_nomem(e, "output") : 0;
    if (rc == 0 && zstd)
        rc = open_encoder(f, level, e);
    if (rc == 0)
        rc = save_open(&f->save, path, e);
    if (rc < 0) {
        file_free(f);
        return rc;
    }
    *out = f;
    return 0;
}

static int put(struct export_file *f, const char *p, size_t len, struct err *e)
{
    f->totals.file_bytes += len;
    return save_put(f->save, p, len, e);
}

static int write_block(struct export_file *f, bool last, struct err *e)
{
    const struct frame_part part = {.p = f->block, .len = f->used, .last = last};
    hash_stream_add(f->digest, f->block, f->used);
    f->totals.csv_bytes += f->used;
    if (f->encoder == NULL)
        return put(f, f->block, f->used, e);
    int rc = frame_encode_part(f->encoder, &part, &f->packed, e);
    return rc < 0 ? rc : put(f, (const char *)f->packed.at, f->packed.len, e);
}

int export_file_put(struct export_file *f, const void *p, size_t len, struct err *e)
{
    const char *from = p;
    while (len > 0) {
        size_t n = len < BLOCK - f->used ? len : BLOCK - f->used;
        memcpy(f->block + f->used, from, n);
        f->used += n;
        from += n;
        len -= n;
        if (f->used < BLOCK)
            continue;
        int rc = write_block(f, false, e);
        if (rc < 0)
            return rc;
        f->used = 0;
    }
    return 0;
}

int export_file_close(struct export_file *f, struct trace_totals *totals, struct err *e)
{
    int rc = write_block(f, true, e);
    struct save *save = f->save;
    if (rc == 0) {
        f->save = NULL;
        rc = save_close(save, e);
    }
    if (rc < 0) {
        file_free(f);
        return rc;
    }
    totals->csv_bytes = f->totals.csv_bytes;
    totals->file_bytes = f->totals.file_bytes;
    hash_hex(hash_stream_digest(f->digest), totals->digest);
    file_free(f);
    return 0;
}

void export_file_abandon(struct export_file *f)
{
    if (f != NULL)
        file_free(f);
}

const char *export_temp_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    return tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp";
}

int export_temp_open(const char *dir, struct err *e)
{
    char name[4096];
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    /* Not every file system has files without names. */
    if ((size_t)snprintf(name, sizeof name, "%s/kvgen.XXXXXX", dir) >= sizeof name)
        return err_set(e, -ENAMETOOLONG, ERR_OUTPUT, dir, "cannot hold a temporary file");
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, -errno, ERR_OUTPUT, dir, "cannot make a temporary file");
    unlink(name);
    return fd;
}

int export_temp_write(int fd, const char *dir, const void *p, size_t len, uint64_t at,
                      struct err *e)
{
    const char *from = p;
    while (len > 0) {
        ssize_t n = pwrite(fd, from, len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, -errno, ERR_OUTPUT, dir, "cannot write the temporary file");
        from += n;
        len -= (size_t)n;
        at += (uint64_t)n;
    }
    return 0;
}

int64_t export_temp_read(int fd, const char *dir, void *p, size_t len, uint64_t at, struct err *e)
{
    ssize_t n;
    do
        n = pread(fd, p, len, (off_t)at);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return err_errno(e, n < 0 ? -errno : -EIO, ERR_OUTPUT, dir,
                         "cannot read the temporary file");
    return n;
}
