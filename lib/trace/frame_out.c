/* The output half of compressed files: compresses frames, and writes the skippable frames and the
 * seek table of zstd's seekable format, which other tools read. write.c decides where frames end.
 */
#include "lib/trace/frame_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/base/memory.h"

/* ---- compression ---- */

struct frame_encoder {
    ZSTD_CCtx *cctx;
};

static bool encoder_set(struct frame_encoder *c, ZSTD_cParameter parameter, int value)
{
    return !ZSTD_isError(ZSTD_CCtx_setParameter(c->cctx, parameter, value));
}

struct frame_encoder *frame_encoder_create(int level)
{
    struct frame_encoder *c = calloc(1, sizeof(*c));
    bool ok;

    if (!c)
        return NULL;
    c->cctx = ZSTD_createCCtx();
    ok = c->cctx && encoder_set(c, ZSTD_c_compressionLevel, level) &&
         encoder_set(c, ZSTD_c_checksumFlag, 1);
    /* The two tables of level 3 (2^17 and 2^16 cells) exceed a core's own cache. Rows resemble the
     * rows just before them: one table of 2^15 cells finds as much, in half the time. */
    if (ok && level == 3)
        ok = encoder_set(c, ZSTD_c_strategy, ZSTD_fast) && encoder_set(c, ZSTD_c_hashLog, 15) &&
             encoder_set(c, ZSTD_c_minMatch, 6);
    if (!ok) {
        frame_encoder_free(c);
        return NULL;
    }
    return c;
}

void frame_encoder_free(struct frame_encoder *c)
{
    if (!c)
        return;
    ZSTD_freeCCtx(c->cctx);
    free(c);
}

/* Most bytes of a frame, or of a part, which may add the frame's head, a block and the checksum. */
static bool make_room(struct frame_bytes *out, size_t len)
{
    return frame_bytes_room(out, ZSTD_compressBound(len) + 64);
}

int frame_encode(struct frame_encoder *c, const void *src, size_t len, struct frame_bytes *out,
                 struct err *e)
{
    if (!make_room(out, len))
        return err_nomem(e, "frame");
    size_t n = ZSTD_compress2(c->cctx, out->at, out->cap, src, len);
    if (ZSTD_isError(n))
        return err_set(e, -EIO, ERR_FAILED, "", "zstd: %s", ZSTD_getErrorName(n));
    out->len = n;
    return 0;
}

int frame_encode_part(struct frame_encoder *c, const struct frame_part *part,
                      struct frame_bytes *out, struct err *e)
{
    if (!make_room(out, part->len))
        return err_nomem(e, "frame");
    ZSTD_inBuffer i = {part->p, part->len, 0};
    ZSTD_outBuffer o = {out->at, out->cap, 0};
    size_t left = ZSTD_compressStream2(c->cctx, &o, &i, part->last ? ZSTD_e_end : ZSTD_e_flush);
    if (left)
        return err_set(e, -EIO, ERR_FAILED, "", "zstd: %s",
                       ZSTD_isError(left) ? ZSTD_getErrorName(left) : "no room");
    out->len = o.pos;
    return 0;
}

/* ---- skippable frames ---- */

static void put_le32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

size_t frame_put_skippable(void *dst, uint32_t magic, const void *data, size_t len)
{
    unsigned char *p = dst;
    put_le32(p, magic);
    put_le32(p + 4, (uint32_t)len);
    if (len)
        memcpy(p + 8, data, len);
    return len + 8;
}

struct frame_table {
    uint32_t (*size)[2]; /* compressed, decompressed */
    size_t count, cap;
};

struct frame_table *frame_table_create(void)
{
    return calloc(1, sizeof(struct frame_table));
}

void frame_table_free(struct frame_table *t)
{
    if (!t)
        return;
    free(t->size);
    free(t);
}

int frame_table_add(struct frame_table *t, size_t compressed, size_t decompressed)
{
    if (memory_room(&t->size, &t->cap, t->count, sizeof(*t->size), 64) < 0)
        return -ENOMEM;
    t->size[t->count][0] = (uint32_t)compressed;
    t->size[t->count][1] = (uint32_t)decompressed;
    t->count++;
    return 0;
}

int frame_table_encode(const struct frame_table *t, struct frame_bytes *out)
{
    size_t body = t->count * 8 + FRAME_SEEK_FOOTER;

    if (!frame_bytes_room(out, body + 8))
        return -ENOMEM;
    unsigned char *p = out->at;
    put_le32(p, FRAME_MAGIC_SEEK_TABLE);
    put_le32(p + 4, (uint32_t)body);
    for (size_t i = 0; i < t->count; i++) {
        put_le32(p + 8 + i * 8, t->size[i][0]);
        put_le32(p + 12 + i * 8, t->size[i][1]);
    }
    unsigned char *foot = p + 8 + t->count * 8;
    put_le32(foot, (uint32_t)t->count);
    foot[4] = 0; /* no checksums in the table: the frames have their own */
    put_le32(foot + 5, FRAME_SEEKABLE_MAGIC);
    out->len = body + 8;
    return 0;
}
