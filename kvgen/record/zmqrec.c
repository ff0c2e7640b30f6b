/* Reads the container of ZMQ messages: "ZMQREC1\n", then for each message u64 received (ns since
 * 1970), u32 source, u32 number of frames, and for each frame u32 length and its bytes, all big
 * endian. The frames are topic, number and payload, as an engine publishes them. */
#include <errno.h>

#include "kvgen/record/bytes_in.h"
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
    bool begun;
};

static int bad_frames(struct err *e)
{
    return err_set(e, -EBADMSG, ERR_INPUT, "",
                   "damaged: a message has three frames: topic, number of eight bytes, payload");
}

static int read_frame(struct zmqrec *z, uint32_t frame, uint32_t source, struct batch *b,
                      struct err *e)
{
    const unsigned char *p;
    int rc = bytes_in_need(z->base.bytes, 4, &p, e);
    if (rc < 0)
        return rc;
    uint32_t len = (uint32_t)bytes_in_number(p, 4);
    if (len > (frame < 2 ? MAX_TOPIC : MAX_PAYLOAD) || (frame == 1 && len != 8))
        return bad_frames(e);
    rc = bytes_in_need(z->base.bytes, len, &p, e);
    if (rc < 0)
        return rc;
    if (frame == 0) {
        b->publisher = names_publisher(&z->base.o->names, source, p, len);
        return 0;
    }
    if (frame == 1) {
        b->seq = bytes_in_number(p, 8);
        b->numbered = true;
        return 0;
    }
    return kv_message_decode(z->base.o, p, len, b, &z->base.unknown, e);
}

static int next(struct batch_reader *base, struct batch *b, struct err *e)
{
    struct zmqrec *z = (struct zmqrec *)base;
    const unsigned char *p;
    int rc = z->begun ? 1 : bytes_in_need(z->base.bytes, MAGIC, &p, e);
    z->begun = true;
    if (rc > 0)
        rc = bytes_in_take(z->base.bytes, HEAD, &p, e);
    if (rc <= 0)
        return rc;
    uint32_t source = (uint32_t)bytes_in_number(p + 8, 4);
    if (bytes_in_number(p + 12, 4) != FRAMES)
        return bad_frames(e);
    batch_clear(b);
    for (uint32_t i = 0; i < FRAMES; i++)
        if ((rc = read_frame(z, i, source, b, e)) < 0)
            return rc;
    return 1;
}

static int begin(struct batch_reader *r, struct err *e)
{
    (void)e;
    r->key = r->o->pairing ? names_fingerprint(&r->o->names) : 0;
    return 0;
}

const struct batch_reader_ops zmqrec_reader = {
    .bytes = sizeof(struct zmqrec), .input = BATCH_BYTES, .begin = begin, .next = next};
