/* The output end of every export: hashes what a format writes, compresses it if wanted, and writes
 * it in blocks. One frame only, since readers of other tools may stop after the first. */
#include "kvgen/format/output_file.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/save.h"
#include "lib/trace/frame_out.h"

enum {
    BLOCK = 1 << 20,
    DEFAULT_LEVEL = 3
};

struct output_file {
    struct save *save;
    char *block;
    size_t used;
    struct frame_encoder *encoder; /* NULL: plain */
    struct frame_bytes packed;
    struct hash_stream *digest;
    struct trace_totals totals;
};

static int open_file(struct output_file **out, const char *path, bool zstd, int level, bool grows,
                     struct err *e)
{
    struct output_file *f = calloc(1, sizeof(*f));
    if (!f)
        return err_nomem(e, "output");
    f->block = malloc(BLOCK);
    f->digest = hash_stream_create();
    if (zstd)
        f->encoder = frame_encoder_create(level > 0 ? level : DEFAULT_LEVEL);
    int rc = 0;
    if (!f->block || !f->digest || (zstd && !f->encoder))
        rc = err_nomem(e, "output");
    else
        rc = grows ? save_open_growing(&f->save, path, e) : save_open(&f->save, path, e);
    if (rc < 0) {
        output_file_abandon(f);
        return rc;
    }
    *out = f;
    return 0;
}

int output_file_open(struct output_file **out, const char *path, bool zstd, int level,
                     struct err *e)
{
    return open_file(out, path, zstd, level, false, e);
}

int output_file_open_growing(struct output_file **out, const char *path, bool zstd, int level,
                             struct err *e)
{
    return open_file(out, path, zstd, level, true, e);
}

static int write_block(struct output_file *f, bool last, struct err *e)
{
    const char *p = f->block;
    size_t len = f->used;
    hash_stream_add(f->digest, p, len);
    f->totals.csv_bytes += len;
    if (f->encoder) {
        const struct frame_part part = {.p = f->block, .len = f->used, .last = last};
        int rc = frame_encode_part(f->encoder, &part, &f->packed, e);
        if (rc < 0)
            return rc;
        p = (const char *)f->packed.at;
        len = f->packed.len;
    }
    f->totals.file_bytes += len;
    f->used = 0;
    return save_put(f->save, p, len, e);
}

int output_file_put(struct output_file *f, const void *p, size_t len, struct err *e)
{
    const char *from = p;
    while (len > 0) {
        size_t n = len < BLOCK - f->used ? len : BLOCK - f->used;
        memcpy(f->block + f->used, from, n);
        f->used += n;
        from += n;
        len -= n;
        int rc = f->used == BLOCK ? write_block(f, false, e) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

int output_file_flush(struct output_file *f, struct err *e)
{
    return f->used > 0 ? write_block(f, false, e) : 0;
}

int output_file_close(struct output_file *f, struct trace_totals *totals, struct err *e)
{
    int rc = write_block(f, true, e);
    if (rc == 0) {
        struct save *save = f->save;
        f->save = NULL; /* save_close frees it */
        rc = save_close(save, e);
    }
    if (rc == 0) {
        totals->csv_bytes = f->totals.csv_bytes;
        totals->file_bytes = f->totals.file_bytes;
        hash_hex(hash_stream_digest(f->digest), totals->digest);
    }
    output_file_abandon(f);
    return rc;
}

void output_file_abandon(struct output_file *f)
{
    if (!f)
        return;
    save_abandon(f->save);
    frame_encoder_free(f->encoder);
    hash_stream_free(f->digest);
    free(f->packed.at);
    free(f->block);
    free(f);
}
