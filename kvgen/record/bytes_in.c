/* Buffers a file for the readers of binary recordings: pipes and system calls give bytes in other
 * pieces than messages come in. */
#include "kvgen/record/bytes_in.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

enum {
    STEP = 256 << 10
};

struct bytes_in {
    struct frame_in *file;
    unsigned char *buf;
    size_t at, have, cap;
};

struct bytes_in *bytes_in_create(struct frame_in *file)
{
    struct bytes_in *b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->file = file;
    b->cap = STEP;
    b->buf = malloc(b->cap);
    if (b->buf)
        return b;
    free(b);
    return NULL;
}

void bytes_in_free(struct bytes_in *b)
{
    if (b)
        free(b->buf);
    free(b);
}

static int cut(struct err *e)
{
    return err_set(e, -EBADMSG, ERR_INPUT, "",
                   "cut in the middle of a message; those before it are used");
}

int bytes_in_take(struct bytes_in *b, size_t len, const unsigned char **p, struct err *e)
{
    if (b->have - b->at < len && b->at > 0) {
        memmove(b->buf, b->buf + b->at, b->have - b->at);
        b->have -= b->at;
        b->at = 0;
    }
    while (b->have - b->at < len) {
        /* Memory follows the bytes that are there, not the length that a file claims. */
        if (memory_room(&b->buf, &b->cap, b->have, 1, 0) < 0)
            return err_nomem(e, "message");
        int64_t n = frame_in_read(b->file, b->buf + b->have, b->cap - b->have, e);
        if (n < 0)
            return (int)n;
        if (n == 0)
            return b->have == b->at ? 0 : cut(e);
        b->have += (size_t)n;
    }
    *p = b->buf + b->at;
    b->at += len;
    return 1;
}

int bytes_in_need(struct bytes_in *b, size_t len, const unsigned char **p, struct err *e)
{
    int rc = bytes_in_take(b, len, p, e);
    return rc != 0 || len == 0 ? rc : cut(e);
}

uint64_t bytes_in_number(const unsigned char *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}
