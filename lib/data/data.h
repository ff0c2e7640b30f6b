/* Contents of objects: unique and incompressible (or reducible on demand), verifiable per 4 KiB
 * block, and generated anew at any time. Vector code (AVX-512, AVX2, portable) is chosen at run
 * time; all versions give the same bytes. Thread-safe. */
#ifndef KVTRACE_DATA_DATA_H
#define KVTRACE_DATA_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash.h"

#define DATA_BLOCK 4096u
/* Bytes at the start of a block that say whose it is. */
#define DATA_HEADER 48u
/* size rounded up to whole blocks; size <= UINT64_MAX - DATA_BLOCK. */
#define DATA_PADDED(size) (((uint64_t)(size) + DATA_BLOCK - 1) / DATA_BLOCK * DATA_BLOCK)

/*
 * Identifies the contents of one stored copy. Layout of a block, little-endian, offset and (bytes):
 * 0 magic "KVTRACE1" (8), 8 key.lo (8), 16 key.hi (8), 24 generation (8), 32 block index in the
 * object (5), 37 shape (3), 40 checksum of bytes 0..39 (XXH3-64, 8), then 4,048 bytes of a
 * pseudo-random stream (stream.h) seeded from bytes 0..39.
 */
struct data_id {
    struct hash128 key;  /* hash of the key */
    uint64_t generation; /* of the write; unique among the writes of a replay */
    uint32_t shape;      /* 0: unique and incompressible; else from data_shape */
};
/*
 * The shape of contents that compressors make `compress` times smaller (1..64) and block
 * deduplication `dedup` times (1..255, in steps of 1/16). For the first, zeros follow an early end
 * of the stream. For the second, of every `dedup` consecutive blocks all equal the first one, so a
 * header check cannot tell these apart. 0 or -ERANGE.
 */
int data_shape(double compress, double dedup, uint32_t *shape);

enum data_fault_kind {
    DATA_FAULT_NONE,
    DATA_FAULT_HEADER,     /* magic or header checksum wrong: not our block, or torn */
    DATA_FAULT_KEY,        /* another object's block */
    DATA_FAULT_GENERATION, /* an older or newer write of this key */
    DATA_FAULT_INDEX,      /* another block of this object */
    DATA_FAULT_BODY,       /* data_check_full: contents differ */
    DATA_FAULT_END         /* the stored copy ends before the block; found by the tier */
};
struct data_fault {
    enum data_fault_kind kind;
    uint64_t block;  /* index in the object */
    uint64_t offset; /* bytes in the object: of the first wrong byte for DATA_FAULT_BODY, else of
                        the block */
};
const char *data_fault_text(enum data_fault_kind kind);

/* Fills buf[0..len) with the blocks from first_block on. buf is 64-byte aligned, len a multiple of
 * DATA_BLOCK. */
void data_fill(void *buf, size_t len, const struct data_id *id, uint64_t first_block);
/* Check the headers only, or every byte. 0, or -EBADMSG with the first fault in *fault. */
int data_check_headers(const void *buf, size_t len, const struct data_id *id, uint64_t first_block,
                       struct data_fault *fault);
int data_check_full(const void *buf, size_t len, const struct data_id *id, uint64_t first_block,
                    struct data_fault *fault);
/* Checks every byte of buf[0..len), the beginning of that block: an object that is stored without
 * padding ends there. 0 < len < DATA_BLOCK. As data_check_full. */
int data_check_part(const void *buf, size_t len, const struct data_id *id, uint64_t block,
                    struct data_fault *fault);
/* Reads the header of one block (DATA_HEADER bytes): 0 with *id and *index (in steps of the shape),
 * or -EBADMSG when it is not ours. */
int data_identify(const void *block, struct data_id *id, uint64_t *index);

/* A seed for the contents of one run, 1 to 2^48 - 1: every reader of JSON takes such a number. */
uint64_t data_random_seed(void);

/* Selects "avx512", "avx2" or "portable" for tests. 0, or -ENOTSUP: not on this processor. */
int data_force_isa(const char *isa);

#endif
