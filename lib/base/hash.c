/* The only file that includes xxHash: names of objects from keys, checksums of block headers,
 * digests of traces. The hash code is inlined, because most inputs are a few dozen bytes. */
#define XXH_INLINE_ALL
#include "lib/base/hash.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct hash_stream {
    XXH3_state_t *state;
};

static struct hash128 from_xxh(XXH128_hash_t h)
{
    return (struct hash128){.lo = h.low64, .hi = h.high64};
}

struct hash128 hash_128(const void *p, size_t len)
{
    return from_xxh(XXH3_128bits(p, len));
}

uint64_t hash_64(const void *p, size_t len)
{
    return XXH3_64bits(p, len);
}

uint64_t hash_64_seeded(const void *p, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(p, len, seed);
}

/* Eight digits at a time: each in a byte of its own, the first one in the highest. */
static uint64_t hex_digits(uint32_t v)
{
    uint64_t x = v;
    x = (x << 16 | x) & UINT64_C(0x0000ffff0000ffff);
    x = (x << 8 | x) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x << 4 | x) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    uint64_t letters = (x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    return x + UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10);
}

static void put_hex(char *out, uint64_t v)
{
    for (int half = 0; half < 2; half++, v <<= 32) {
        uint64_t digits = htobe64(hex_digits((uint32_t)(v >> 32)));
        memcpy(out + 8 * half, &digits, sizeof(digits));
    }
}

void hash_hex(struct hash128 h, char out[HASH_HEX_LEN + 1])
{
    put_hex(out, h.hi);
    put_hex(out + 16, h.lo);
    out[HASH_HEX_LEN] = '\0';
}

struct hash_stream *hash_stream_create(void)
{
    struct hash_stream *s = malloc(sizeof(*s));
    if (!s)
        return NULL;
    s->state = XXH3_createState();
    if (!s->state) {
        free(s);
        return NULL;
    }
    XXH3_128bits_reset(s->state);
    return s;
}

void hash_stream_add(struct hash_stream *s, const void *p, size_t len)
{
    /* It fails only for a NULL input, which XXH3 treats as empty. */
    XXH3_128bits_update(s->state, p, len);
}

struct hash128 hash_stream_digest(const struct hash_stream *s)
{
    return from_xxh(XXH3_128bits_digest(s->state));
}

void hash_stream_free(struct hash_stream *s)
{
    if (!s)
        return;
    XXH3_freeState(s->state);
    free(s);
}
