/* Stands between files and everything that reads or writes rows: tells plain from zstd input by its
 * first bytes, streams either, decompresses whole frames of our own files in the threads that ask
 * for them, and compresses frames for the trace writer. Where frames lie in a file is
 * frame_walk.c's, the seek table frame_table.c's; what the bytes mean is left to csv.c and
 * trace_read.c. */
#include "lib/trace/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "lib/trace/frame_source.h"
#include "lib/trace/frame_walk.h"

#define TEXT_PAD 64 /* readable bytes behind a piece's text */

struct frame_in {
    struct frame_source s;
    struct frame_walk w;
    bool zstd, long_window;
    bool in_frame; /* streaming: between a frame's first byte and its last */
    size_t hint;   /* bytes that the decompressor wants next */
    ZSTD_DCtx *dctx;
    char *back; /* given back; back[back_at..back_len) comes before the rest */
    size_t back_at, back_len;
};

struct frame_piece {
    const char *name;
    uint64_t offset; /* of the frame in the file */
    struct frame_bytes comp;
    char *text;
    size_t text_len, text_cap;
    bool pending; /* comp is still to be decompressed */
    bool cut;     /* comp is the first part of a frame */
    int max_window_log;
    ZSTD_DCtx *dctx;
};

/* ---- input ---- */

/* Looks at the first bytes. */
static int in_recognise(struct frame_in *in, struct err *e)
{
    int rc = frame_source_fill(&in->s, 4, e);
    if (rc || in->s.have - in->s.at < 4)
        return rc;
    uint32_t magic = frame_le32(in->s.buf + in->s.at);
    in->zstd = frame_is_data(magic) || frame_is_skippable(magic);
    in->w.own = magic == FRAME_MAGIC_PROVENANCE;
    if (!in->zstd)
        return 0;
    if (!in->dctx)
        in->dctx = ZSTD_createDCtx();
    if (!in->dctx)
        return err_nomem(e, "zstd");
    ZSTD_DCtx_reset(in->dctx, ZSTD_reset_session_only);
    ZSTD_DCtx_setParameter(in->dctx, ZSTD_d_windowLogMax, in->long_window ? 31 : 27);
    if (in->w.own && !in->w.provenance) {
        rc = frame_source_fill(&in->s, 8, e);
        return rc ? rc : frame_walk_skippable(&in->w, e);
    }
    return 0;
}

int frame_in_open(struct frame_in **out, const char *path, const struct frame_in_opts *o,
                  struct err *e)
{
    struct frame_in *in = calloc(1, sizeof(*in));
    if (!in)
        return err_nomem(e, "input");
    in->long_window = o && o->long_window;
    in->w.s = &in->s;
    int rc = frame_source_open(&in->s, path, e);
    if (rc == 0)
        rc = in_recognise(in, e);
    if (rc == 0 && in->zstd)
        in->w.summary = frame_source_summary(&in->s);
    if (rc)
        frame_in_close(in);
    else
        *out = in;
    return rc;
}

void frame_in_close(struct frame_in *in)
{
    if (!in)
        return;
    frame_source_close(&in->s);
    ZSTD_freeDCtx(in->dctx);
    free(in->w.provenance);
    free(in->w.summary);
    free(in->back);
    free(in);
}

const char *frame_in_name(const struct frame_in *in)
{
    return in->s.name;
}

bool frame_in_is_zstd(const struct frame_in *in)
{
    return in->zstd;
}

bool frame_in_can_rewind(const struct frame_in *in)
{
    return in->s.regular;
}

int frame_in_rewind(struct frame_in *in, struct err *e)
{
    int rc = frame_source_rewind(&in->s, e);
    if (rc)
        return rc;
    in->in_frame = in->w.table_last = false;
    in->back_at = in->back_len;
    free(in->w.provenance);
    in->w.provenance = NULL;
    return in_recognise(in, e);
}

void frame_in_progress(const struct frame_in *in, uint64_t *consumed, uint64_t *total)
{
    *consumed = frame_walk_offset(&in->w);
    *total = in->s.size;
}

const char *frame_in_provenance(const struct frame_in *in)
{
    return in->w.provenance;
}

const char *frame_in_summary(const struct frame_in *in)
{
    return in->w.summary;
}

bool frame_in_whole_rows(const struct frame_in *in)
{
    return in->w.own;
}

static int64_t in_read_plain(struct frame_in *in, char *buf, size_t cap, struct err *e)
{
    size_t n = in->s.have - in->s.at;
    if (n) {
        n = n < cap ? n : cap;
        memcpy(buf, in->s.buf + in->s.at, n);
        in->s.at += n;
        return (int64_t)n;
    }
    return in->s.eof ? 0 : frame_source_pull(&in->s, buf, cap, e);
}

static int in_damaged(struct frame_in *in, size_t code, struct err *e)
{
    unsigned long long at = frame_walk_offset(&in->w);
    if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge)
        err_set(&in->s.error, -E2BIG, ERR_INPUT, in->s.name,
                "byte offset %llu: its zstd window is larger than 2^%d bytes%s", at,
                in->long_window ? 31 : 27, in->long_window ? "" : " (--long allows it)");
    else
        err_set(&in->s.error, -EBADMSG, ERR_INPUT, in->s.name, "byte offset %llu: damaged: %s", at,
                ZSTD_getErrorName(code));
    return frame_source_fail(&in->s, e);
}

/* One step of decompression of the frame that is open. The decompressor gets no more than it asks
 * for, a block, so that an error cannot take the output of earlier blocks with it. */
static int in_decompress(struct frame_in *in, ZSTD_outBuffer *o, struct err *e)
{
    int rc = frame_source_fill(&in->s, 1, e);
    if (rc)
        return rc;
    size_t n = in->s.have - in->s.at, want = in->hint ? in->hint : 1;
    ZSTD_inBuffer i = {in->s.buf + in->s.at, n < want ? n : want, 0};
    size_t before = o->pos;
    size_t left = ZSTD_decompressStream(in->dctx, o, &i);
    if (ZSTD_isError(left))
        return in_damaged(in, left, e);
    in->s.at += i.pos;
    in->hint = left;
    in->in_frame = left != 0;
    if (left && n == 0 && o->pos == before && in->s.eof)
        return frame_walk_cut(&in->w, e, "cut in the middle of a zstd frame");
    return 0;
}

static int64_t in_read_zstd(struct frame_in *in, char *buf, size_t cap, struct err *e)
{
    ZSTD_outBuffer o = {buf, cap, 0};
    while (o.pos < cap) {
        int rc = 1;
        if (!in->in_frame) {
            rc = frame_walk_next(&in->w, e);
            if (rc == 1) {
                ZSTD_DCtx_reset(in->dctx, ZSTD_reset_session_only);
                in->in_frame = true;
                in->hint = 5;
            }
        }
        if (rc == 1)
            rc = in_decompress(in, &o, e);
        else if (rc == 0)
            break;
        /* What came before the error goes out first; the error is sticky. */
        if (rc < 0)
            return o.pos ? (int64_t)o.pos : rc;
        if (o.pos && in->s.at == in->s.have && !in->s.regular)
            break; /* a pipe has no more at the moment: do not wait for it */
    }
    return (int64_t)o.pos;
}

int frame_in_unread(struct frame_in *in, const void *buf, size_t len)
{
    size_t left = in->back_len - in->back_at;
    char *back = malloc(len + left + 1);
    if (!back)
        return -ENOMEM;
    memcpy(back, buf, len);
    if (left)
        memcpy(back + len, in->back + in->back_at, left);
    free(in->back);
    in->back = back;
    in->back_at = 0;
    in->back_len = len + left;
    return 0;
}

static int64_t in_read_back(struct frame_in *in, void *buf, size_t cap)
{
    size_t n = in->back_len - in->back_at;
    n = n < cap ? n : cap;
    memcpy(buf, in->back + in->back_at, n);
    in->back_at += n;
    return (int64_t)n;
}

int64_t frame_in_read(struct frame_in *in, void *buf, size_t cap, struct err *e)
{
    if (in->back_at < in->back_len)
        return in_read_back(in, buf, cap);
    if (in->s.error.code)
        return frame_source_fail(&in->s, e);
    return in->zstd ? in_read_zstd(in, buf, cap, e) : in_read_plain(in, buf, cap, e);
}

/* ---- pieces ---- */

struct frame_piece *frame_piece_create(void)
{
    return calloc(1, sizeof(struct frame_piece));
}

void frame_piece_free(struct frame_piece *p)
{
    if (!p)
        return;
    ZSTD_freeDCtx(p->dctx);
    free(p->comp.at);
    free(p->text);
    free(p);
}

static bool piece_text_room(struct frame_piece *p, size_t len)
{
    unsigned char *text = (unsigned char *)p->text;
    bool ok = frame_room(&text, &p->text_cap, len + TEXT_PAD);
    p->text = (char *)text;
    if (ok)
        memset(p->text + len, 0, TEXT_PAD);
    return ok;
}

static int take_frame(struct frame_in *in, struct frame_piece *p, struct err *e)
{
    int rc = frame_walk_next(&in->w, e);
    if (rc != 1)
        return rc;
    p->offset = frame_walk_offset(&in->w);
    rc = frame_walk_copy(&in->w, &p->comp, e);
    if (rc < 0)
        return rc;
    p->cut = rc == 0;
    if (p->cut) /* for the next take; this piece still has rows */
        frame_walk_cut(&in->w, NULL, "cut in the middle of a zstd frame");
    p->pending = true;
    return 1;
}

int frame_in_take(struct frame_in *in, struct frame_piece *p, struct err *e)
{
    if (in->s.error.code)
        return frame_source_fail(&in->s, e);
    p->name = in->s.name;
    p->pending = p->cut = false;
    p->text_len = 0;
    p->max_window_log = in->long_window ? 31 : 27;
    if (in->w.own)
        return take_frame(in, p, e);
    if (!piece_text_room(p, FRAME_BLOCK))
        return err_nomem(e, "block");
    int64_t n = frame_in_read(in, p->text, FRAME_BLOCK, e);
    if (n <= 0)
        return (int)n;
    p->text_len = (size_t)n;
    return piece_text_room(p, p->text_len) ? 1 : err_nomem(e, "block");
}

/* Block by block, for frames that are cut or do not say their size. */
static int piece_stream(struct frame_piece *p, struct err *e)
{
    ZSTD_inBuffer i = {p->comp.at, 0, 0};
    size_t left = 5;
    ZSTD_DCtx_setParameter(p->dctx, ZSTD_d_windowLogMax, p->max_window_log);
    while (left) {
        if (!piece_text_room(p, p->text_len + ((size_t)128 << 10)))
            return err_nomem(e, "frame");
        ZSTD_outBuffer o = {p->text, p->text_cap - TEXT_PAD, p->text_len};
        i.size = p->comp.len - i.pos < left ? p->comp.len : i.pos + left;
        size_t fed = i.size - i.pos;
        left = ZSTD_decompressStream(p->dctx, &o, &i);
        if (ZSTD_isError(left) || o.pos > FRAME_MAX)
            return err_set(e, -EBADMSG, ERR_INPUT, p->name, "byte offset %llu: damaged: %s",
                           (unsigned long long)p->offset,
                           ZSTD_isError(left) ? ZSTD_getErrorName(left) : "a frame over 64 MiB");
        if (fed == 0 && o.pos == p->text_len)
            return p->cut ? 0
                          : err_set(e, -EBADMSG, ERR_INPUT, p->name,
                                    "byte offset %llu: damaged: the frame does not end",
                                    (unsigned long long)p->offset);
        p->text_len = o.pos;
    }
    return 0;
}

static int piece_decompress(struct frame_piece *p, struct err *e)
{
    if (!p->dctx)
        p->dctx = ZSTD_createDCtx();
    if (!p->dctx)
        return err_nomem(e, "zstd");
    ZSTD_DCtx_reset(p->dctx, ZSTD_reset_session_only);
    unsigned long long size = ZSTD_getFrameContentSize(p->comp.at, p->comp.len);
    if (p->cut || size > FRAME_MAX)
        return piece_stream(p, e);
    if (!piece_text_room(p, (size_t)size))
        return err_nomem(e, "frame");
    size_t n = ZSTD_decompressDCtx(p->dctx, p->text, (size_t)size, p->comp.at, p->comp.len);
    if (ZSTD_isError(n))
        return err_set(e, -EBADMSG, ERR_INPUT, p->name, "byte offset %llu: damaged: %s",
                       (unsigned long long)p->offset, ZSTD_getErrorName(n));
    p->text_len = n;
    return 0;
}

int frame_text(struct frame_piece *p, const char **text, size_t *len, struct err *e)
{
    int rc = 0;
    if (p->pending) {
        p->pending = false;
        rc = piece_decompress(p, e);
        if (rc)
            p->text_len = 0;
        else if (!piece_text_room(p, p->text_len))
            rc = err_nomem(e, "frame");
    }
    *text = p->text;
    *len = p->text_len;
    return rc;
}

bool frame_is_cut(const struct frame_piece *p)
{
    return p->cut;
}

/* ---- output ---- */

struct frame_encoder {
    ZSTD_CCtx *cctx;
};

static bool encoder_set(struct frame_encoder *c, ZSTD_cParameter parameter, int value)
{
    return !ZSTD_isError(ZSTD_CCtx_setParameter(c->cctx, parameter, value));
}

/* The two tables of level 3 (2^17 and 2^16 cells) pass a core's own cache. Rows resemble the rows
 * just before them: one of 2^15 cells finds as much, in half the time. */
static bool encoder_fit_rows(struct frame_encoder *c, int level)
{
    return level != 3 || (encoder_set(c, ZSTD_c_strategy, ZSTD_fast) &&
                          encoder_set(c, ZSTD_c_hashLog, 15) && encoder_set(c, ZSTD_c_minMatch, 6));
}

struct frame_encoder *frame_encoder_create(int level)
{
    struct frame_encoder *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->cctx = ZSTD_createCCtx();
    if (!c->cctx || !encoder_set(c, ZSTD_c_compressionLevel, level) ||
        !encoder_set(c, ZSTD_c_checksumFlag, 1) || !encoder_fit_rows(c, level)) {
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

size_t frame_bound(size_t len)
{
    return ZSTD_compressBound(len) +
           64; /* frame_encode_part may add the head, a block and the sum */
}

int frame_encode(struct frame_encoder *c, const void *src, size_t len, void *dst, size_t cap,
                 size_t *out_len, struct err *e)
{
    size_t n = ZSTD_compress2(c->cctx, dst, cap, src, len);
    if (ZSTD_isError(n))
        return err_set(e, -EIO, ERR_FAILED, "", "zstd: %s", ZSTD_getErrorName(n));
    *out_len = n;
    return 0;
}

int frame_encode_part(struct frame_encoder *c, const void *src, size_t len, bool last, void *dst,
                      size_t cap, size_t *out_len, struct err *e)
{
    ZSTD_inBuffer i = {src, len, 0};
    ZSTD_outBuffer o = {dst, cap, 0};
    size_t left = ZSTD_compressStream2(c->cctx, &o, &i, last ? ZSTD_e_end : ZSTD_e_flush);
    if (ZSTD_isError(left) || left)
        return err_set(e, -EIO, ERR_FAILED, "", "zstd: %s",
                       left && !ZSTD_isError(left) ? "no room" : ZSTD_getErrorName(left));
    *out_len = o.pos;
    return 0;
}
