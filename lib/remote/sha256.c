/* Below the signatures of requests to an object store (lib/remote/s3_sign.c). Names of variables
 * and constants are those of the standard. */
#include "lib/remote/sha256.h"

#include <stdio.h>
#include <string.h>

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void take_block(struct sha256 *s, const unsigned char *m)
{
    uint32_t w[64], v[8]; /* v: a to h */

    for (unsigned t = 0; t < 16; t++)
        w[t] = (uint32_t)m[4 * t] << 24 | (uint32_t)m[4 * t + 1] << 16 |
               (uint32_t)m[4 * t + 2] << 8 | m[4 * t + 3];
    for (unsigned t = 16; t < 64; t++) {
        uint32_t s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    memcpy(v, s->h, sizeof(v));
    for (unsigned t = 0; t < 64; t++) {
        uint32_t s1 = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25);
        uint32_t ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + ch + k[t] + w[t];
        uint32_t s0 = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22);
        uint32_t maj = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += t1;
        v[0] = t1 + s0 + maj;
    }
    for (unsigned i = 0; i < 8; i++)
        s->h[i] += v[i];
}

void sha256_begin(struct sha256 *s)
{
    /* The fractions of the square roots of the first 8 primes. */
    *s = (struct sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                               0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *s, const void *data, size_t len)
{
    const unsigned char *at = data;

    while (len > 0) {
        size_t have = s->bytes % SHA256_BLOCK, room = SHA256_BLOCK - have;
        size_t take = len < room ? len : room;
        memcpy(s->block + have, at, take);
        s->bytes += take;
        at += take;
        len -= take;
        if (take == room)
            take_block(s, s->block);
    }
}

void sha256_end(struct sha256 *s, unsigned char sum[SHA256_BYTES])
{
    static const unsigned char pad[SHA256_BLOCK] = {0x80};
    uint64_t bits = 8 * s->bytes;
    size_t have = s->bytes % SHA256_BLOCK;
    unsigned char length[8];

    for (unsigned i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(s, pad, (have < 56 ? 56 : 120) - have);
    sha256_add(s, length, sizeof(length));
    for (unsigned i = 0; i < SHA256_BYTES; i++)
        sum[i] = (unsigned char)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hmac(const void *key, size_t key_len, const void *data, size_t len,
                 unsigned char mac[SHA256_BYTES])
{
    unsigned char inner[SHA256_BLOCK] = {0}, outer[SHA256_BLOCK];
    struct sha256 s;

    if (key_len > SHA256_BLOCK) {
        sha256_begin(&s);
        sha256_add(&s, key, key_len);
        sha256_end(&s, inner);
    } else {
        memcpy(inner, key, key_len);
    }
    for (unsigned i = 0; i < SHA256_BLOCK; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    sha256_begin(&s);
    sha256_add(&s, inner, sizeof(inner));
    sha256_add(&s, data, len);
    sha256_end(&s, mac);
    sha256_begin(&s);
    sha256_add(&s, outer, sizeof(outer));
    sha256_add(&s, mac, SHA256_BYTES);
    sha256_end(&s, mac);
    explicit_bzero(inner, sizeof(inner));
    explicit_bzero(outer, sizeof(outer));
    explicit_bzero(&s, sizeof(s));
}

void sha256_hex(const unsigned char sum[SHA256_BYTES], char text[SHA256_HEX_CAP])
{
    for (unsigned i = 0; i < SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", sum[i]);
}
