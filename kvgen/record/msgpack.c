/* The messages of engines and the frames of LMCache are MessagePack. The decoders of events walk
 * through them with this reader; what they do not know they skip. */
#include "kvgen/record/msgpack.h"

#include <errno.h>
#include <string.h>

static size_t left(const struct msgpack *m)
{
    return (size_t)(m->end - m->at);
}

/* n bytes, at most 8, as a number, big endian. */
static int take_number(struct msgpack *m, unsigned n, uint64_t *out)
{
    if (left(m) < n)
        return -EBADMSG;
    *out = 0;
    for (unsigned i = 0; i < n; i++)
        *out = *out << 8 | *m->at++;
    return 0;
}

static int take_bytes(struct msgpack *m, struct msgpack_value *v, enum msgpack_type type,
                      uint64_t len)
{
    if (left(m) < len)
        return -EBADMSG;
    v->type = type;
    v->text = (const char *)m->at;
    v->len = (uint32_t)len;
    m->at += len;
    return 0;
}

/* The head of an array or a map. Each value in it takes a byte at least. */
static int take_head(const struct msgpack *m, struct msgpack_value *v, enum msgpack_type type,
                     uint64_t count)
{
    if (left(m) < count * (type == MSGPACK_MAP ? 2 : 1))
        return -EBADMSG;
    v->type = type;
    v->count = (uint32_t)count;
    return 0;
}

static int whole(struct msgpack_value *v, uint64_t bits, bool negative)
{
    v->type = MSGPACK_WHOLE;
    v->bits = bits;
    v->negative = negative;
    return 0;
}

/* A signed number of n bytes. */
static int take_signed(struct msgpack *m, struct msgpack_value *v, unsigned n)
{
    uint64_t bits = 0;
    int rc = take_number(m, n, &bits);
    if (rc < 0)
        return rc;
    uint64_t sign = UINT64_C(1) << (8 * n - 1);
    bits = (bits ^ sign) - sign;
    return whole(v, bits, bits >> 63 != 0);
}

static int take_float(struct msgpack *m, struct msgpack_value *v, unsigned n)
{
    uint64_t bits = 0;
    int rc = take_number(m, n, &bits);
    v->type = MSGPACK_FLOAT;
    if (n == 4) {
        uint32_t half = (uint32_t)bits;
        float f;
        memcpy(&f, &half, sizeof(f));
        v->number = (double)f;
    } else {
        memcpy(&v->number, &bits, sizeof(v->number));
    }
    return rc;
}

/* Types c0 to df, whose meaning is in the table of the specification. */
static int take_typed(struct msgpack *m, struct msgpack_value *v, unsigned char type)
{
    uint64_t n = 0;
    unsigned width = 1u << (type & 3); /* of numbers: 1, 2, 4, 8 bytes */
    int rc = 0;
    switch (type) {
    case 0xc0:
        v->type = MSGPACK_NIL;
        return 0;
    case 0xc2:
    case 0xc3:
        v->type = MSGPACK_BOOL;
        v->truth = type == 0xc3;
        return 0;
    case 0xc4:
    case 0xc5:
    case 0xc6:
        rc = take_number(m, width, &n);
        return rc < 0 ? rc : take_bytes(m, v, MSGPACK_BYTES, n);
    case 0xc7:
    case 0xc8:
    case 0xc9:
        rc = take_number(m, 1u << (type - 0xc7), &n);
        return rc < 0 ? rc : take_bytes(m, v, MSGPACK_EXT, n + 1);
    case 0xca:
        return take_float(m, v, 4);
    case 0xcb:
        return take_float(m, v, 8);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
        rc = take_number(m, width, &n);
        return rc < 0 ? rc : whole(v, n, false);
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return take_signed(m, v, width);
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
        return take_bytes(m, v, MSGPACK_EXT, (UINT64_C(1) << (type - 0xd4)) + 1);
    case 0xd9:
    case 0xda:
    case 0xdb:
        rc = take_number(m, 1u << (type - 0xd9), &n);
        return rc < 0 ? rc : take_bytes(m, v, MSGPACK_TEXT, n);
    case 0xdc:
    case 0xdd:
    case 0xde:
    case 0xdf:
        rc = take_number(m, 2u << (type & 1), &n);
        return rc < 0 ? rc : take_head(m, v, type < 0xde ? MSGPACK_ARRAY : MSGPACK_MAP, n);
    default:
        return -EBADMSG; /* c1 is used by nobody */
    }
}

int msgpack_next(struct msgpack *m, struct msgpack_value *v)
{
    *v = (struct msgpack_value){0};
    if (left(m) == 0)
        return -EBADMSG;
    unsigned char type = *m->at++;
    if (type < 0x80)
        return whole(v, type, false);
    if (type < 0x90)
        return take_head(m, v, MSGPACK_MAP, type & 15);
    if (type < 0xa0)
        return take_head(m, v, MSGPACK_ARRAY, type & 15);
    if (type < 0xc0)
        return take_bytes(m, v, MSGPACK_TEXT, type & 31);
    if (type >= 0xe0)
        return whole(v, (uint64_t)(int64_t)(int8_t)type, true);
    return take_typed(m, v, type);
}

/* Bytes that follow the first one of a value, where the first one tells. The head of a small array
 * or map has none. */
enum {
    ASK = 255 /* msgpack_next tells */
};
#define EIGHT(n) (n), (n) + 1, (n) + 2, (n) + 3, (n) + 4, (n) + 5, (n) + 6, (n) + 7
#define NUMBER   1, 2, 4, 8
#define SIX_ASK  ASK, ASK, ASK, ASK, ASK, ASK
static const unsigned char following[256] = {
    /* short texts */
    [0xa0] = EIGHT(0),
    EIGHT(8),
    EIGHT(16),
    EIGHT(24),
    /* none; bytes and ext with their length; floats, whole numbers */
    [0xc1] = ASK,
    [0xc4] = SIX_ASK,
    [0xca] = 4,
    8,
    NUMBER,
    NUMBER,
    /* ext of 1, 2, 4, 8 and 16 bytes; texts, arrays, maps with their length */
    [0xd4] = 2,
    3,
    5,
    9,
    17,
    [0xd9] = SIX_ASK,
    ASK};

/* Skips so many values with all that is in them. Most of what is read is skipped, so this is one
 * loop: what is in an array adds to the values that are left. Sums fit: no container has more
 * values than bytes are left. */
static int skip_values(struct msgpack *m, uint64_t values)
{
    const unsigned char *p = m->at;
    for (; values > 0; values--) {
        size_t there = (size_t)(m->end - p), n = 0;
        if (there == 0)
            return -EBADMSG;
        unsigned char type = *p;
        n = following[type];
        if ((type & 0xe0) == 0x80) {
            values += type < 0x90 ? 2 * (type & 15u) : type & 15u;
        } else if ((type == 0xc4 || type == 0xd9) && there > 1) {
            n = 1 + (size_t)p[1];
        } else if (n == ASK) {
            struct msgpack_value v;
            m->at = p;
            int rc = msgpack_next(m, &v);
            if (rc < 0)
                return rc;
            values += v.type == MSGPACK_MAP ? (uint64_t)v.count * 2 : v.count;
            p = m->at;
            continue;
        }
        if (n >= there)
            return -EBADMSG;
        p += n + 1;
    }
    m->at = p;
    return 0;
}

int msgpack_skip_rest(struct msgpack *m, const struct msgpack_value *v)
{
    return skip_values(m, v->type == MSGPACK_MAP ? (uint64_t)v->count * 2 : v->count);
}

int msgpack_skip_any(struct msgpack *m)
{
    return skip_values(m, 1);
}

bool msgpack_is(const struct msgpack_value *v, const char *text)
{
    return (v->type == MSGPACK_TEXT || v->type == MSGPACK_BYTES) && v->len == strlen(text) &&
           memcmp(v->text, text, v->len) == 0;
}

bool msgpack_number(const struct msgpack_value *v, double *out)
{
    if (v->type == MSGPACK_FLOAT)
        *out = v->number;
    else if (v->type == MSGPACK_WHOLE)
        *out = v->negative ? (double)(int64_t)v->bits : (double)v->bits;
    return v->type == MSGPACK_FLOAT || v->type == MSGPACK_WHOLE;
}
