/* The input half of files: tells plain from zstd and gzip by the first bytes, streams any of them,
 * and decompresses whole frames of our own files in the threads that ask for them. frame_file.c
 * finds the frames; the meaning of the bytes is left to csv.c and pieces.c. */
#include "lib/trace/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "lib/trace/frame_file.h"
#include "lib/trace/gzip.h"

#define TEXT_PAD 64 /* readable bytes behind a piece's text */

struct frame_in {
    struct frame_file f;
    bool zstd, long_window;
    bool in_frame; /* streaming: between a frame's first byte and its last */
    size_t hint;   /* bytes that the decompressor wants next */
    ZSTD_DCtx *dctx;
    struct gzip *gzip; /* NULL: the file is not compressed so; in_frame: within a member */
    char *back;        /* given back; back[back_at..back_len) comes before the rest */
    size_t back_at, back_len;
};

struct frame_piece {
    const char *name;
    uint64_t offset; /* of the frame in the file */
    struct frame_bytes comp, text;
    bool pending; /* comp is still to be decompressed */
    bool cut;     /* comp is the first part of a frame */
    int max_window_log;
    ZSTD_DCtx *dctx;
};

/* ---- input ---- */

static int begin_gzip(struct frame_in *in, struct err *e)
{
    in->in_frame = true;
    if (in->gzip) {
        gzip_reset(in->gzip);
        return 0;
    }
    if (!gzip_is_built())
        return err_set(e, -ENOTSUP, ERR_INPUT, in->f.name,
                       "compressed by gzip, and this program was built without zlib (gzip -dc)");
    in->gzip = gzip_create();
    return in->gzip ? 0 : err_nomem(e, "gzip");
}

/* Looks at the first bytes. */
static int recognise(struct frame_in *in, struct err *e)
{
    int rc = frame_file_fill(&in->f, 4, e);
    if (rc || in->f.have - in->f.at < 4)
        return rc;
    uint32_t magic = frame_le32(in->f.buf + in->f.at);
    if ((magic & 0xffffff) == 0x088b1f) /* gzip's magic, and deflate */
        return begin_gzip(in, e);
    in->zstd = frame_is_data(magic) || frame_is_skippable(magic);
    in->f.own = magic == FRAME_MAGIC_PROVENANCE;
    if (!in->zstd)
        return 0;
    if (!in->dctx)
        in->dctx = ZSTD_createDCtx();
    if (!in->dctx)
        return err_nomem(e, "zstd");
    ZSTD_DCtx_reset(in->dctx, ZSTD_reset_session_only);
    ZSTD_DCtx_setParameter(in->dctx, ZSTD_d_windowLogMax, in->long_window ? 31 : 27);
    if (in->f.own && !in->f.provenance) {
        rc = frame_file_fill(&in->f, 8, e);
        return rc ? rc : frame_file_skippable(&in->f, e);
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
    in->f.patient = o && o->patient;
    int rc = frame_file_open(&in->f, path, e);
    if (rc == 0)
        rc = recognise(in, e);
    if (rc == 0 && in->zstd)
        rc = frame_file_find_summary(&in->f, e);
    if (rc) {
        frame_in_close(in);
        return rc;
    }
    *out = in;
    return 0;
}

void frame_in_close(struct frame_in *in)
{
    if (!in)
        return;
    frame_file_close(&in->f);
    ZSTD_freeDCtx(in->dctx);
    gzip_free(in->gzip);
    free(in->back);
    free(in);
}

const char *frame_in_name(const struct frame_in *in)
{
    return in->f.name;
}

bool frame_in_can_rewind(const struct frame_in *in)
{
    return in->f.regular;
}

int frame_in_rewind(struct frame_in *in, struct err *e)
{
    int rc = frame_file_rewind(&in->f, e);

    if (rc)
        return rc;
    in->in_frame = false;
    in->back_at = in->back_len;
    return recognise(in, e);
}

void frame_in_progress(const struct frame_in *in, uint64_t *consumed, uint64_t *total)
{
    *consumed = frame_file_offset(&in->f);
    *total = in->f.size;
}

const char *frame_in_provenance(const struct frame_in *in)
{
    return in->f.provenance;
}

const char *frame_in_summary(const struct frame_in *in)
{
    return in->f.summary;
}

bool frame_in_is_damaged(const struct frame_in *in)
{
    return in->f.damaged;
}

bool frame_in_is_unfinished(const struct frame_in *in)
{
    return in->f.unfinished;
}

bool frame_in_whole_rows(const struct frame_in *in)
{
    return in->f.own;
}

static int64_t read_plain(struct frame_in *in, char *buf, size_t cap, struct err *e)
{
    size_t n = in->f.have - in->f.at;

    if (n) {
        n = n < cap ? n : cap;
        memcpy(buf, in->f.buf + in->f.at, n);
        in->f.at += n;
        return (int64_t)n;
    }
    return in->f.eof ? 0 : frame_file_read(&in->f, buf, cap, e);
}

static int stream_error(struct frame_in *in, size_t code, struct err *e)
{
    if (ZSTD_getErrorCode(code) != ZSTD_error_frameParameter_windowTooLarge)
        return frame_file_damaged(&in->f, ZSTD_getErrorName(code), e);
    err_set(&in->f.error, -E2BIG, ERR_INPUT, in->f.name,
            "byte offset %llu: its zstd window is larger than 2^%d bytes%s",
            (unsigned long long)frame_file_offset(&in->f), in->long_window ? 31 : 27,
            in->long_window ? "" : " (kvreplay --config long=true allows it)");
    return frame_file_fail(&in->f, e);
}

/* Decompresses one step of the open frame. The decompressor gets no more than it asks for, one
 * block, so that an error cannot take the output of earlier blocks with it. */
static int stream_step(struct frame_in *in, ZSTD_outBuffer *o, struct err *e)
{
    int rc = frame_file_fill(&in->f, 1, e);
    if (rc)
        return rc;
    size_t n = in->f.have - in->f.at, want = in->hint ? in->hint : 1, before = o->pos;
    ZSTD_inBuffer i = {in->f.buf + in->f.at, n < want ? n : want, 0};
    size_t left = ZSTD_decompressStream(in->dctx, o, &i);
    if (ZSTD_isError(left))
        return stream_error(in, left, e);
    in->f.at += i.pos;
    in->hint = left;
    in->in_frame = left != 0;
    if (left && n == 0 && o->pos == before && in->f.eof)
        return frame_file_cut(&in->f, "cut off inside a zstd frame", e);
    return 0;
}

static int64_t read_zstd(struct frame_in *in, char *buf, size_t cap, struct err *e)
{
    ZSTD_outBuffer o = {buf, cap, 0};

    while (o.pos < cap) {
        int rc = 1;
        if (!in->in_frame) {
            rc = frame_file_next(&in->f, e);
            if (rc == 1) {
                ZSTD_DCtx_reset(in->dctx, ZSTD_reset_session_only);
                in->in_frame = true;
                in->hint = 5;
            }
        }
        if (rc == 1)
            rc = stream_step(in, &o, e);
        else if (rc == 0)
            break;
        if (rc < 0) /* bytes before the error go out first; the error sticks */
            return o.pos ? (int64_t)o.pos : rc;
        if (o.pos && in->f.at == in->f.have && !in->f.regular)
            break; /* a pipe has no more at the moment: do not wait for it */
    }
    return (int64_t)o.pos;
}

/* The next member, or the end: 1, 0, negative errno. Files of several members, one behind the
 * other, are usual: whoever flushes ends one. */
static int next_member(struct frame_in *in, struct err *e)
{
    int rc = frame_file_fill(&in->f, 3, e);
    if (rc)
        return rc;
    const unsigned char *p = in->f.buf + in->f.at;
    size_t n = in->f.have - in->f.at;
    if (n == 0)
        return 0;
    if (n < 3)
        return frame_file_cut(&in->f, "cut in the middle of a gzip member", e);
    if (p[0] != 0x1f || p[1] != 0x8b || p[2] != 8)
        return frame_file_damaged(&in->f, "no gzip member where one should begin", e);
    gzip_reset(in->gzip);
    in->in_frame = true;
    return 1;
}

static int64_t read_gzip(struct frame_in *in, char *buf, size_t cap, struct err *e)
{
    size_t made = 0;
    while (made < cap) {
        int rc = in->in_frame ? 1 : next_member(in, e);
        if (rc == 0)
            break;
        rc = rc > 0 ? frame_file_fill(&in->f, 1, e) : rc;
        if (rc < 0)
            return made > 0 ? (int64_t)made : rc;
        size_t n = in->f.have - in->f.at, room = cap - made;
        bool empty = n == 0 && in->f.eof;
        rc = gzip_step(in->gzip, in->f.buf + in->f.at, &n, buf + made, &room);
        in->f.at += n;
        made += room;
        in->in_frame = rc == 0;
        if (rc == -ENOMEM)
            return err_nomem(e, "gzip");
        if (rc < 0)
            rc = frame_file_damaged(&in->f, "damaged gzip data", e);
        else if (rc == 0 && empty && room == 0)
            rc = frame_file_cut(&in->f, "cut in the middle of a gzip member", e);
        if (rc < 0)
            return made > 0 ? (int64_t)made : rc;
        if (made > 0 && in->f.at == in->f.have && !in->f.regular)
            break; /* a pipe has no more at the moment: do not wait for it */
    }
    return (int64_t)made;
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

int64_t frame_in_read(struct frame_in *in, void *buf, size_t cap, struct err *e)
{
    size_t back = in->back_len - in->back_at;

    if (back) {
        size_t n = back < cap ? back : cap;
        memcpy(buf, in->back + in->back_at, n);
        in->back_at += n;
        return (int64_t)n;
    }
    if (in->f.error.code)
        return frame_file_fail(&in->f, e);
    if (frame_file_look(&in->f, e)) /* a few bytes of a bomb decompress for minutes */
        return -EINTR;
    return in->zstd   ? read_zstd(in, buf, cap, e)
           : in->gzip ? read_gzip(in, buf, cap, e)
                      : read_plain(in, buf, cap, e);
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
    free(p->text.at);
    free(p);
}

/* Makes room for len bytes of text and clears the pad behind them. */
static bool text_room(struct frame_piece *p, size_t len)
{
    if (!frame_bytes_room(&p->text, len + TEXT_PAD))
        return false;
    memset(p->text.at + len, 0, TEXT_PAD);
    return true;
}

int frame_in_take(struct frame_in *in, struct frame_piece *p, struct err *e)
{
    if (in->f.error.code)
        return frame_file_fail(&in->f, e);
    if (frame_file_look(&in->f, e))
        return -EINTR;
    p->name = in->f.name;
    p->pending = p->cut = false;
    p->text.len = 0;
    p->max_window_log = in->long_window ? 31 : 27;

    if (!in->f.own) {
        if (!text_room(p, FRAME_BLOCK))
            return err_nomem(e, "block");
        int64_t n = frame_in_read(in, p->text.at, FRAME_BLOCK, e);
        if (n <= 0)
            return (int)n;
        p->text.len = (size_t)n;
        return text_room(p, p->text.len) ? 1 : err_nomem(e, "block");
    }
    int rc = frame_file_next(&in->f, e);
    if (rc != 1)
        return rc;
    p->offset = frame_file_offset(&in->f);
    rc = frame_file_copy(&in->f, &p->comp, e);
    if (rc < 0)
        return rc;
    p->cut = rc == 0;
    if (p->cut) /* for the next take: this piece still has rows */
        frame_file_cut(&in->f, "cut off inside a zstd frame", NULL);
    p->pending = true;
    return 1;
}

static int fail_damaged(const struct frame_piece *p, const char *why, struct err *e)
{
    return err_set(e, -EBADMSG, ERR_INPUT, p->name, "byte offset %llu: damaged: %s",
                   (unsigned long long)p->offset, why);
}

/* Decompresses block by block: a frame that is cut, or does not say its size. */
static int decompress_blocks(struct frame_piece *p, struct err *e)
{
    ZSTD_inBuffer i = {p->comp.at, 0, 0};
    size_t left = 5;

    ZSTD_DCtx_setParameter(p->dctx, ZSTD_d_windowLogMax, p->max_window_log);
    while (left) {
        if (!text_room(p, p->text.len + ((size_t)128 << 10)))
            return err_nomem(e, "frame");
        ZSTD_outBuffer o = {p->text.at, p->text.cap - TEXT_PAD, p->text.len};
        i.size = p->comp.len - i.pos < left ? p->comp.len : i.pos + left;
        size_t fed = i.size - i.pos;
        left = ZSTD_decompressStream(p->dctx, &o, &i);
        if (ZSTD_isError(left))
            return fail_damaged(p, ZSTD_getErrorName(left), e);
        if (o.pos > FRAME_MAX)
            return fail_damaged(p, "a frame over 64 MiB", e);
        if (fed == 0 && o.pos == p->text.len)
            return p->cut ? 0 : fail_damaged(p, "the frame does not end", e);
        p->text.len = o.pos;
    }
    return 0;
}

static int decompress(struct frame_piece *p, struct err *e)
{
    if (!p->dctx)
        p->dctx = ZSTD_createDCtx();
    if (!p->dctx)
        return err_nomem(e, "zstd");
    ZSTD_DCtx_reset(p->dctx, ZSTD_reset_session_only);
    unsigned long long size = ZSTD_getFrameContentSize(p->comp.at, p->comp.len);
    if (p->cut || size > FRAME_MAX)
        return decompress_blocks(p, e);
    if (!text_room(p, (size_t)size))
        return err_nomem(e, "frame");
    size_t n = ZSTD_decompressDCtx(p->dctx, p->text.at, (size_t)size, p->comp.at, p->comp.len);
    if (ZSTD_isError(n))
        return fail_damaged(p, ZSTD_getErrorName(n), e);
    p->text.len = n;
    return 0;
}

int frame_text(struct frame_piece *p, const char **text, size_t *len, struct err *e)
{
    int rc = 0;

    if (p->pending) {
        p->pending = false;
        rc = decompress(p, e);
        if (rc)
            p->text.len = 0;
        else if (!text_room(p, p->text.len))
            rc = err_nomem(e, "frame");
    }
    *text = (const char *)p->text.at;
    *len = p->text.len;
    return rc;
}

bool frame_is_cut(const struct frame_piece *p)
{
    return p->cut;
}
