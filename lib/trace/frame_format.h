/* Shared by both directions of compressed files: magic numbers, little-endian words and a buffer
 * that grows. Formats: RFC 8878 (zstd), and zstd's contrib/seekable_format (the seek table). */
#ifndef KVTRACE_TRACE_FRAME_FORMAT_H
#define KVTRACE_TRACE_FRAME_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/memory.h"

#define FRAME_MAGIC_DATA 0xFD2FB528u
/* Skippable frames have the magic 0x184D2A50 + n. Ours hold one JSON object each. */
#define FRAME_MAGIC_SKIPPABLE  0x184D2A50u /* the low four bits are free */
#define FRAME_MAGIC_PROVENANCE 0x184D2A5Bu /* first in a file: what decides the rows */
#define FRAME_MAGIC_SUMMARY    0x184D2A5Cu /* before the seek table: kvreplay's summary */
#define FRAME_MAGIC_SEEK_TABLE 0x184D2A5Eu /* ends the file */
#define FRAME_SEEKABLE_MAGIC   0x8F92EAB1u /* the last 4 bytes of the seek table */
#define FRAME_SEEK_FOOTER      9           /* bytes: count of frames, descriptor, that magic */

static inline uint32_t frame_le32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* A buffer that grows. Zero it before the first use; free at. */
struct frame_bytes {
    unsigned char *at;
    size_t len, cap;
};

/* Makes b->cap at least cap. False: no memory. */
static inline bool frame_bytes_room(struct frame_bytes *b, size_t cap)
{
    size_t want = b->cap * 2 > cap ? b->cap * 2 : cap;

    if (cap <= b->cap)
        return true;
    if (memory_resize(&b->at, want, 1) < 0)
        return false;
    b->cap = want;
    return true;
}

#endif
