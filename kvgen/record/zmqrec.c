/* Reads the container of ZMQ messages: "ZMQREC1\n", then for each message u64 received (ns since
 * 1970), u32 source, u32 number of frames, and for each frame u32 length and its bytes, all big
 * endian. The frames are topic, number and payload, as an engine publishes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/record/kv_message.h"
#include "kvgen/record/readers.h"

enum {
    MAGIC = 8,
    HEAD = 16,
    FRAMES = 3,
    MAX_TOPIC = 4096
};
#define MAX_PAYLOAD ((uint32_t)256 << 20)

struct zmqrec {
    struct batch_reader base; /* first */
    struct frame_in *file;
    const struct record_opts *o;
    char *payload;
    size_t cap;
    bool begun;
};

/* Exactly len bytes: 1; 0 at the end of the file before the first of them; negative errno. */
static int read_exactly(struct zmqrec *z, void *p, size_t len, struct err *e)
{
    for (size_t have = 0; have < len;) {
        int64_t n = frame_in_read(z->file, (char *)p + have, len - have, e);
        if (n < 0)
            return (int)n;
        if (n == 0)
            return have == 0 ? 0
                             : err_set(e, -EBADMSG, ERR_INPUT, "",
                                       "cut in the middle of a message; those before it are used");
        have += (size_t)n;
    }
    return 1;
}

/* The same within a message, where the file must not end. */
static int read_inside(struct zmqrec *z, void *p, size_t len, struct err *e)
{
    int rc = len > 0 ? read_exactly(z, p, len, e) : 1;
    return rc != 0 ? rc
                   : err_set(e, -EBADMSG, ERR_INPUT, "",
                             "cut in the middle of a message; those before it are used");
}

static uint64_t number(const unsigned char *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

static int bad_frames(struct err *e)
{
    return err_set(e, -EBADMSG, ERR_INPUT, "",
                   "damaged: a message has three frames: topic, number of eight bytes, payload");
}

static int read_frame(struct zmqrec *z, uint32_t frame, uint32_t source, struct batch *b,
                      size_t *payload_len, struct err *e)
{
    unsigned char head[4], text[MAX_TOPIC];
    int rc = read_inside(z, head, sizeof(head), e);
    uint32_t len = (uint32_t)number(head, 4);
    if (rc < 0)
        return rc;
    if (frame < 2) {
        if (len > MAX_TOPIC || (frame == 1 && len != 8))
            return bad_frames(e);
        rc = read_inside(z, text, len, e);
        if (rc < 0)
            return rc;
        if (frame == 0) {
            b->publisher = publisher_of(z->o, source, text, len);
        } else {
            b->seq = number(text, 8);
            b->numbered = true;
        }
        return 0;
    }
    if (len > MAX_PAYLOAD)
        return bad_frames(e);
    if (len > z->cap) {
        char *grown = realloc(z->payload, len);
        if (!grown)
            return err_nomem(e, "message");
        z->payload = grown;
        z->cap = len;
    }
    *payload_len = len;
    return read_inside(z, z->payload, len, e);
}

static int next(struct batch_reader *base, struct batch *b, struct err *e)
{
    struct zmqrec *z = (struct zmqrec *)base;
    unsigned char head[HEAD];
    size_t len = 0;
    int rc = z->begun ? 1 : read_inside(z, head, MAGIC, e);
    z->begun = true;
    if (rc > 0)
        rc = read_exactly(z, head, HEAD, e);
    if (rc <= 0)
        return rc;
    uint32_t source = (uint32_t)number(head + 8, 4), frames = (uint32_t)number(head + 12, 4);
    if (frames != FRAMES)
        return bad_frames(e);
    batch_clear(b);
    for (uint32_t i = 0; i < frames; i++)
        if ((rc = read_frame(z, i, source, b, &len, e)) < 0)
            return rc;
    rc = kv_message_decode(z->o, z->payload, len, b, &base->unknown, e);
    return rc < 0 ? rc : 1;
}

static void close_zmqrec(struct batch_reader *base)
{
    struct zmqrec *z = (struct zmqrec *)base;
    free(z->payload);
    free(z);
}

static const struct batch_reader_ops ops = {.next = next, .close = close_zmqrec};

int zmqrec_open(struct batch_reader **out, struct frame_in *file, const struct record_opts *o,
                struct err *e)
{
    struct zmqrec *z = calloc(1, sizeof(*z));
    if (!z)
        return err_nomem(e, "recording");
    z->base.ops = &ops;
    z->file = file;
    z->o = o;
    *out = &z->base;
    return 0;
}
