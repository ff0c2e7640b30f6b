/* What a compressed file holds besides compressed frames: skippable frames with JSON, and the seek
 * table of zstd's seekable format, which other tools read. Used by the trace writer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trace/frame.h"

#define SEEK_FOOTER 9 /* bytes that end a seek table: count, descriptor, magic */

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
    if (t->count == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        void *grown = realloc(t->size, cap * sizeof(*t->size));
        if (!grown)
            return -ENOMEM;
        t->size = grown;
        t->cap = cap;
    }
    t->size[t->count][0] = (uint32_t)compressed;
    t->size[t->count][1] = (uint32_t)decompressed;
    t->count++;
    return 0;
}

int frame_table_encode(const struct frame_table *t, void **out, size_t *len)
{
    size_t body = t->count * 8 + SEEK_FOOTER;
    unsigned char *p = malloc(body + 8);
    if (!p)
        return -ENOMEM;
    put_le32(p, FRAME_MAGIC_SEEK_TABLE);
    put_le32(p + 4, (uint32_t)body);
    for (size_t i = 0; i < t->count; i++) {
        put_le32(p + 8 + i * 8, t->size[i][0]);
        put_le32(p + 12 + i * 8, t->size[i][1]);
    }
    unsigned char *foot = p + 8 + t->count * 8;
    put_le32(foot, (uint32_t)t->count);
    foot[4] = 0; /* no checksums per frame: the frames carry their own */
    put_le32(foot + 5, FRAME_SEEKABLE_MAGIC);
    *out = p;
    *len = body + 8;
    return 0;
}
