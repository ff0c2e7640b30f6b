/* Any bytes as a file: reading it as a stream and as pieces ends, and gives the same bytes where
 * both reach the end. The first byte decides whether a provenance frame is put in front, and
 * whether the rest is a file or says how one is composed: of frames with right sums and lengths,
 * which are then damaged, so that what the sums guard is reached. One that was not damaged reads as
 * what was put in. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/trace/frame.h"
#include "lib/trace/frame_out.h"

enum {
    LIMIT = 4 << 20
}; /* of decompressed bytes: bombs only take time */

static int64_t read_stream(const char *path, struct hash128 *hash)
{
    static char buf[65536];
    struct frame_in *in;
    struct err e = {0};
    struct hash_stream *h = hash_stream_create();
    int64_t n = 0, total = 0;
    int rc = frame_in_open(&in, path, NULL, &e);
    if (rc == 0) {
        while ((n = frame_in_read(in, buf, sizeof(buf), &e)) > 0 && total < LIMIT) {
            hash_stream_add(h, buf, (size_t)n);
            total += n;
        }
        if (n < 0 && e.code != n)
            abort();
        frame_in_close(in);
    }
    *hash = hash_stream_digest(h);
    hash_stream_free(h);
    return rc ? rc : n ? -1 : total;
}

static int64_t read_pieces(const char *path, struct hash128 *hash)
{
    struct frame_in *in;
    struct err e = {0};
    struct hash_stream *h = hash_stream_create();
    struct frame_piece *p = frame_piece_create();
    int64_t total = 0;
    int rc = frame_in_open(&in, path, NULL, &e);
    if (rc == 0) {
        while ((rc = frame_in_take(in, p, &e)) == 1 && total < LIMIT) {
            const char *text;
            size_t len;
            rc = frame_text(p, &text, &len, &e);
            if (rc)
                break;
            hash_stream_add(h, text, len);
            total += (int64_t)len;
        }
        frame_in_close(in);
    }
    *hash = hash_stream_digest(h);
    hash_stream_free(h);
    frame_piece_free(p);
    return rc ? -1 : total;
}

/* ---- composed files ---- */

enum step {
    STEP_ROWS,
    STEP_PROVENANCE,
    STEP_SUMMARY,
    STEP_TABLE,
    STEP_SKIPPABLE,
    STEP_AGAIN, /* the last frame of rows, so many times */
    STEP_RAW,
    STEP_CHANGE, /* a byte of the file */
    STEP_CUT,
    STEPS
};

struct composed {
    char file[1 << 18], text[1 << 18];
    size_t len, text_len;
    bool sound; /* as our programs write files, and not damaged */
};

static void append(struct composed *c, const void *p, size_t len)
{
    if (len > sizeof(c->file) - c->len)
        c->sound = false;
    else if (len > 0) {
        memcpy(c->file + c->len, p, len);
        c->len += len;
    }
}

static void append_skippable(struct composed *c, uint32_t magic, const void *p, size_t len)
{
    char frame[8 + UINT8_MAX];

    append(c, frame, frame_put_skippable(frame, magic, p, len));
}

static void append_frame(struct composed *c, struct frame_table *t, const struct frame_bytes *f,
                         const uint8_t *text, size_t len)
{
    if (f->len > sizeof(c->file) - c->len || len > sizeof(c->text) - c->text_len) {
        c->sound = false;
        return;
    }
    append(c, f->at, f->len);
    memcpy(c->text + c->text_len, text, len);
    c->text_len += len;
    if (frame_table_add(t, f->len, len) < 0)
        abort();
}

static void append_table(struct composed *c, const struct frame_table *t)
{
    struct frame_bytes table = {0};

    if (frame_table_encode(t, &table) < 0)
        abort();
    append(c, table.at, table.len);
    free(table.at);
}

/* Each step is a byte, a length, and so many bytes. */
static void compose(struct composed *c, const uint8_t *data, size_t size)
{
    static struct frame_encoder *encoder;
    static struct frame_bytes frame;
    struct frame_table *table = frame_table_create();
    const uint8_t *text = NULL;
    size_t text_len = 0;
    unsigned last = STEP_RAW, step;

    if ((!encoder && !(encoder = frame_encoder_create(1))) || !table)
        abort();
    c->len = c->text_len = 0;
    c->sound = true;
    for (size_t at = 0; at + 2 <= size; last = step) {
        const uint8_t *p = data + at + 2;
        size_t len = data[at + 1] < size - at - 2 ? data[at + 1] : size - at - 2;

        step = data[at] % STEPS;
        at += 2 + len;
        /* Provenance comes first; the table, and a summary before it, last. */
        c->sound &= (c->len == 0) == (step == STEP_PROVENANCE) && last != STEP_TABLE &&
                    (last != STEP_SUMMARY || step == STEP_TABLE);
        switch (step) {
        case STEP_ROWS:
            text = p;
            text_len = len;
            if (len > 0 && frame_encode(encoder, p, len, &frame, NULL) < 0)
                abort();
            if (len > 0)
                append_frame(c, table, &frame, p, len);
            break;
        case STEP_PROVENANCE:
            append_skippable(c, FRAME_MAGIC_PROVENANCE, p, len);
            break;
        case STEP_SUMMARY:
            append_skippable(c, FRAME_MAGIC_SUMMARY, p, len);
            break;
        case STEP_TABLE:
            append_table(c, table);
            break;
        case STEP_SKIPPABLE:
            append_skippable(c, FRAME_MAGIC_SKIPPABLE + (len > 0 ? p[0] % 16 : 0), p, len);
            c->sound = false;
            break;
        case STEP_AGAIN:
            for (size_t i = 0; text_len > 0 && i < len; i++)
                append_frame(c, table, &frame, text, text_len);
            break;
        case STEP_RAW:
            append(c, p, len);
            c->sound = false;
            break;
        case STEP_CHANGE: /* from the end, where the table is */
            if (len > 2 && c->len > 0)
                c->file[c->len - 1 - (size_t)(p[0] << 8 | p[1]) % c->len] ^= (char)p[2];
            c->sound = false;
            break;
        default:
            c->len -= len < c->len ? len : c->len;
            c->sound = false;
        }
    }
    c->sound &= last == STEP_TABLE;
    frame_table_free(table);
}

static void read_composed(int fd, const char *path, const uint8_t *data, size_t size)
{
    static struct composed c;
    struct hash128 a, b, want;

    compose(&c, data, size);
    want = hash_128(c.text, c.text_len);
    if (write(fd, c.file, c.len) != (ssize_t)c.len)
        return;
    int64_t x = read_stream(path, &a), y = read_pieces(path, &b);
    if (x >= 0 && y >= 0 && (x != y || a.lo != b.lo || a.hi != b.hi))
        abort();
    if (c.sound && (x != (int64_t)c.text_len || y != x || a.lo != want.lo || a.hi != want.hi))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], head[16];
    struct hash128 a, b;
    if (size < 1)
        return 0;
    int fd = memfd_create("fuzz", 0);
    if (fd < 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (data[0] & 2) {
        read_composed(fd, path, data + 1, size - 1);
        close(fd);
        return 0;
    }
    size_t n = data[0] & 1 ? frame_put_skippable(head, FRAME_MAGIC_PROVENANCE, "{}", 2) : 0;
    if (write(fd, head, n) == (ssize_t)n && write(fd, data + 1, size - 1) == (ssize_t)size - 1) {
        int64_t x = read_stream(path, &a), y = read_pieces(path, &b);
        if (x >= 0 && y >= 0 && (x != y || a.lo != b.lo || a.hi != b.hi))
            abort();
    }
    close(fd);
    return 0;
}
