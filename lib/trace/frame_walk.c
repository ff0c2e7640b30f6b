/* Between the bytes of a zstd file and frame.c, which decompresses them: finds where each frame
 * begins and ends by its headers alone, keeps the JSON of our skippable frames, passes over others,
 * and copies whole compressed frames for the threads that decompress them. */
#include "lib/trace/frame_walk.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/trace/frame.h"

#define MAGIC_FRAME     0xFD2FB528u
#define MAGIC_SKIPPABLE 0x184D2A50u /* low four bits free */

bool frame_is_data(uint32_t magic)
{
    return magic == MAGIC_FRAME;
}

bool frame_is_skippable(uint32_t magic)
{
    return (magic & ~0xFu) == MAGIC_SKIPPABLE;
}

bool frame_room(unsigned char **buf, size_t *cap, size_t len)
{
    if (len <= *cap)
        return true;
    size_t want = *cap * 2 > len ? *cap * 2 : len;
    unsigned char *grown = realloc(*buf, want);
    if (!grown)
        return false;
    *buf = grown;
    *cap = want;
    return true;
}

uint64_t frame_walk_offset(const struct frame_walk *w)
{
    return w->s->offset - (w->s->have - w->s->at);
}

int frame_walk_cut(struct frame_walk *w, struct err *e, const char *why)
{
    err_set(&w->s->error, -EBADMSG, ERR_INPUT, w->s->name, "byte offset %llu: %s",
            (unsigned long long)w->s->offset, why);
    return frame_source_fail(w->s, e);
}

/* Takes the JSON of a skippable frame, whose header was consumed. */
static int walk_take_json(struct frame_walk *w, char **slot, uint32_t len, struct err *e)
{
    char *text = malloc((size_t)len + 1);
    size_t got;
    if (!text) {
        err_nomem(&w->s->error, "skippable frame");
        return frame_source_fail(w->s, e);
    }
    int rc = frame_source_copy(w->s, (unsigned char *)text, len, &got, e);
    if (rc || got < len) {
        free(text);
        return rc ? rc : frame_walk_cut(w, e, "cut in a skippable frame");
    }
    text[len] = '\0';
    free(*slot);
    *slot = text;
    return 0;
}

int frame_walk_skippable(struct frame_walk *w, struct err *e)
{
    size_t got;
    if (w->s->have - w->s->at < 8)
        return frame_walk_cut(w, e, "cut in a skippable frame");
    uint32_t magic = frame_le32(w->s->buf + w->s->at), len = frame_le32(w->s->buf + w->s->at + 4);
    w->s->at += 8;
    w->table_last = magic == FRAME_MAGIC_SEEK_TABLE;
    if (magic == FRAME_MAGIC_PROVENANCE && len <= FRAME_MAX_JSON && !w->provenance)
        return walk_take_json(w, &w->provenance, len, e);
    if (magic == FRAME_MAGIC_SUMMARY && len <= FRAME_MAX_JSON)
        return walk_take_json(w, &w->summary, len, e);
    int rc = frame_source_copy(w->s, NULL, len, &got, e);
    return rc ? rc : got < len ? frame_walk_cut(w, e, "cut in a skippable frame") : 0;
}

int frame_walk_next(struct frame_walk *w, struct err *e)
{
    for (;;) {
        int rc = frame_source_fill(w->s, 8, e);
        size_t n = w->s->have - w->s->at;
        if (rc)
            return rc;
        if (n == 0 && w->own && !w->table_last)
            return frame_walk_cut(w, e, "cut: the seek table that ends such a file is missing");
        if (n == 0)
            return 0;
        if (n < 4)
            return frame_walk_cut(w, e, "cut in the head of a zstd frame");
        uint32_t magic = frame_le32(w->s->buf + w->s->at);
        if (frame_is_data(magic)) {
            w->table_last = false;
            return 1;
        }
        if (!frame_is_skippable(magic)) {
            err_set(&w->s->error, -EBADMSG, ERR_INPUT, w->s->name,
                    "byte offset %llu: damaged: no zstd frame begins here",
                    (unsigned long long)frame_walk_offset(w));
            return frame_source_fail(w->s, e);
        }
        rc = frame_walk_skippable(w, e);
        if (rc)
            return rc;
    }
}

/* Appends the next n bytes of the file; 1, or 0 when it ends before. */
static int walk_append(struct frame_walk *w, struct frame_bytes *b, size_t n, struct err *e)
{
    size_t got;
    if (b->len + n > FRAME_MAX) {
        err_set(&w->s->error, -E2BIG, ERR_INPUT, w->s->name,
                "byte offset %llu: a frame of more than 64 MiB in a file with a provenance frame",
                (unsigned long long)(frame_walk_offset(w) - b->len));
        return frame_source_fail(w->s, e);
    }
    if (!frame_room(&b->at, &b->cap, b->len + n)) {
        err_nomem(&w->s->error, "frame");
        return frame_source_fail(w->s, e);
    }
    int rc = frame_source_copy(w->s, b->at + b->len, n, &got, e);
    b->len += got;
    return rc ? rc : got == n;
}

/* Frame header and blocks as in RFC 8878, 3.1.1: finds the end without decompressing. */
int frame_walk_copy(struct frame_walk *w, struct frame_bytes *b, struct err *e)
{
    static const uint8_t dict_len[4] = {0, 1, 2, 4}, size_len[4] = {0, 2, 4, 8};
    b->len = 0;
    int rc = walk_append(w, b, 5, e);
    if (rc != 1)
        return rc;
    unsigned fhd = b->at[4];
    bool single = fhd & 0x20, last = false;
    size_t head = (single ? 0u : 1u) + dict_len[fhd & 3] + size_len[fhd >> 6] +
                  (single && fhd >> 6 == 0 ? 1u : 0u);
    rc = walk_append(w, b, head, e);
    while (rc == 1 && !last) {
        rc = walk_append(w, b, 3, e);
        if (rc != 1)
            return rc;
        uint32_t block = frame_le32(
            (const unsigned char[4]){b->at[b->len - 3], b->at[b->len - 2], b->at[b->len - 1], 0});
        last = block & 1;
        rc = walk_append(w, b, (block >> 1 & 3) == 1 ? 1 : block >> 3, e);
    }
    if (rc == 1 && fhd & 4)
        rc = walk_append(w, b, 4, e);
    return rc;
}
