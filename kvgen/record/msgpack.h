/* msgpack.h - reads MessagePack (msgpack.org, specification of 2017) value by value, without memory
 * of its own. Every length is checked against the bytes that are there. */
#ifndef KVGEN_RECORD_MSGPACK_H
#define KVGEN_RECORD_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes that are not read yet. */
struct msgpack {
    const unsigned char *at, *end;
};

enum msgpack_type {
    MSGPACK_NIL,
    MSGPACK_BOOL,
    MSGPACK_WHOLE, /* a whole number */
    MSGPACK_FLOAT,
    MSGPACK_TEXT,
    MSGPACK_BYTES,
    MSGPACK_EXT,
    MSGPACK_ARRAY, /* count values follow */
    MSGPACK_MAP    /* count pairs of values follow */
};

struct msgpack_value {
    enum msgpack_type type;
    bool truth;
    bool negative;    /* of a whole number: it is the bits as int64_t; else as uint64_t */
    uint64_t bits;    /* of a whole number: 64 bits, the same for -1 and 2^64 - 1 */
    double number;    /* of a float */
    const char *text; /* of texts, bytes and ext: lent by the bytes; not NUL-terminated */
    uint32_t len;     /* of it */
    uint32_t count;   /* of arrays and maps, else 0; never more than bytes are left */
};

/* The next value; of an array or a map only its head. 0, or -EBADMSG: cut, or not MessagePack. */
int msgpack_next(struct msgpack *m, struct msgpack_value *v);
/* The next value with all that is in it. 0 or -EBADMSG. */
int msgpack_skip_any(struct msgpack *m);
/* The same. Most values that are skipped are small whole numbers and texts, which take no call. */
static inline int msgpack_skip(struct msgpack *m)
{
    size_t left = (size_t)(m->end - m->at), len = 0; /* behind the first byte */
    if (left > 1 && m->at[0] == 0xd9)
        len = 1 + (size_t)m->at[1];
    else if (left > 0 && (m->at[0] & 0xe0) == 0xa0)
        len = m->at[0] & 31u;
    else if (left == 0 || m->at[0] >= 0x80)
        return msgpack_skip_any(m);
    if (len >= left)
        return msgpack_skip_any(m);
    m->at += 1 + len;
    return 0;
}
/* Skips what is in v, which msgpack_next gave just now. */
int msgpack_skip_rest(struct msgpack *m, const struct msgpack_value *v);

/* Whether v is a text or bytes and equals text. */
bool msgpack_is(const struct msgpack_value *v, const char *text);
/* A whole number or a float as a double. False: v is neither. */
bool msgpack_number(const struct msgpack_value *v, double *out);

#endif
