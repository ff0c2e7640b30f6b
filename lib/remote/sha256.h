/* SHA-256, and HMAC with it, for signatures of requests. Not for secrets that must not show in the
 * time that it takes: the length of a text does. Source: FIPS 180-4; RFC 2104. */
#ifndef KVTRACE_REMOTE_SHA256_H
#define KVTRACE_REMOTE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum {
    SHA256_BYTES = 32,
    SHA256_BLOCK = 64,
    SHA256_HEX_CAP = 2 * SHA256_BYTES + 1
};

/* Plain state of a sum under way. */
struct sha256 {
    uint32_t h[8];
    uint64_t bytes; /* taken so far */
    unsigned char block[SHA256_BLOCK];
};
void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
void sha256_end(struct sha256 *s, unsigned char sum[SHA256_BYTES]);

/* The HMAC of data[0..len); key and mac may be the same. */
void sha256_hmac(const void *key, size_t key_len, const void *data, size_t len,
                 unsigned char mac[SHA256_BYTES]);
/* sum in lower-case hex. */
void sha256_hex(const unsigned char sum[SHA256_BYTES], char text[SHA256_HEX_CAP]);

#endif
