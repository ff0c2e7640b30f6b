/* XXH3 hashes: 128-bit names of keys, 64-bit checksums, digests of streams. */
#ifndef KVTRACE_BASE_HASH_H
#define KVTRACE_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_HEX_LEN 32 /* hex digits of a 128-bit hash, without the NUL */

struct hash128 {
    uint64_t lo, hi;
};

static inline bool hash128_equal(struct hash128 a, struct hash128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* XXH3-128 and XXH3-64 of p[0..len). Thread-safe; never fail. */
struct hash128 hash_128(const void *p, size_t len);
uint64_t hash_64(const void *p, size_t len);
/* XXH3-64 with a seed. */
uint64_t hash_64_seeded(const void *p, size_t len, uint64_t seed);
/* Mixes the bits of x; a bijection. It is the finaliser of splitmix64 (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", OOPSLA 2014). */
static inline uint64_t hash_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}
/* Writes h in hex as xxhsum prints it: high word first, lower case, NUL-terminated. */
void hash_hex(struct hash128 h, char out[HASH_HEX_LEN + 1]);

/* Streaming XXH3-128: create (NULL: no memory), add, take the digest at any time, free. One thread
 * at a time. */
struct hash_stream;
struct hash_stream *hash_stream_create(void);
void hash_stream_add(struct hash_stream *s, const void *p, size_t len);
struct hash128 hash_stream_digest(const struct hash_stream *s);
void hash_stream_free(struct hash_stream *s);

#endif
