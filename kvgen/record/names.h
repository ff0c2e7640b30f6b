/* names.h - keyed hashes in place of names and hashes that were recorded. Hashes of known texts
 * could be looked up, so every run has a random key of its own, unless a file holds one. */
#ifndef KVGEN_RECORD_NAMES_H
#define KVGEN_RECORD_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"

/* The key, which nothing prints. A plain value. */
struct names {
    uint64_t key[2];
};

/* Takes the key from a file of 16 bytes to 1 MiB, and makes one that only its owner reads if there
 * is no such file. path NULL: a random key. 0 or negative errno with *e. */
int names_init(struct names *n, const char *path, struct err *e);
/* SipHash-2-4 with 128 bits (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012, and
 * its 128-bit variant). Equal names have equal hashes. */
struct hash128 names_hash(const struct names *n, const void *p, size_t len);
/* The name of a publisher: its source, and the topic that it names itself by. */
struct hash128 names_publisher(const struct names *n, uint32_t source, const void *topic,
                               size_t len);
/* The same for 64 bits: 64 bits of the hash of the number in little endian. */
uint64_t names_number(const struct names *n, uint64_t number);
/* Tells keys apart, never 0; the key cannot be told from it. */
uint64_t names_fingerprint(const struct names *n);

#endif
