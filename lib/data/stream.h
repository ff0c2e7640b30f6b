/* The pseudo-random stream that fills a block, compiled once per instruction set. Private to data.c
 * and the stream_*.c: each includes it with its DATA_VECTOR (bytes per vector) and DATA_MUL32 and
 * gets the same bytes.
 *
 * 32 xorshift64 generators (Marsaglia, "Xorshift RNGs", 2003; shifts 13, 7, 17) side by side make
 * 256 bytes per step and 16 steps per block; the first step is their seeds. So many generators hide
 * the latency of a step: they fill 4 AVX-512 registers. */
#ifndef KVTRACE_DATA_STREAM_H
#define KVTRACE_DATA_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DATA_BODY_BLOCK  ((size_t)4096) /* DATA_BLOCK */
#define DATA_LINE        64             /* a cache line */
#define DATA_BODY_HEADER 48             /* bytes at the start that belong to the header */

/* The start of a block's stream, different for every header. */
struct data_seed {
    uint64_t a, b;
};

/* One instruction set. */
struct data_code {
    const char *isa;
    /* Writes a block: the 48 bytes of the header, then the stream. */
    void (*fill)(void *block, const void *header, struct data_seed seed);
    /* The same with non-temporal stores where the set has them; a store fence must follow. */
    void (*fill_past)(void *block, const void *header, struct data_seed seed);
    /* Compares bytes 48..4095 with the stream. */
    bool (*matches)(const void *block, struct data_seed seed);
};

extern const struct data_code data_code_avx2;
extern const struct data_code data_code_avx512;

#ifndef DATA_VECTOR
#define DATA_VECTOR 16
#endif

#define DATA_STEP    256                           /* bytes of one step of all generators */
#define DATA_STEPS   (DATA_BODY_BLOCK / DATA_STEP) /* steps a block */
#define DATA_VECTORS (DATA_STEP / DATA_VECTOR)     /* vectors a step */
#define DATA_GROUP   4                             /* vectors kept in registers at a time */

#if defined(__clang__)
#define DATA_UNROLL _Pragma("unroll")
#else
#define DATA_UNROLL _Pragma("GCC unroll 8")
#endif

struct data_lanes {
    uint64_t v __attribute__((vector_size(DATA_VECTOR)));
};
/* The same in memory, at any address. memcpy would do, but gcc splits it for vectors over 16 bytes.
 */
struct data_memory {
    struct data_lanes x;
} __attribute__((packed, may_alias));

/* Product of the low halves of each 64-bit lane. */
static inline struct data_lanes data_mul32(struct data_lanes x, struct data_lanes y)
{
#ifdef DATA_MUL32
    x.v = (__typeof__(x.v))DATA_MUL32((DATA_REGISTER)x.v, (DATA_REGISTER)y.v);
#else
    x.v = (x.v & 0xffffffffu) * (y.v & 0xffffffffu);
#endif
    return x;
}

/* 32 words that make the generators different: hash_mix of 1..32. */
extern const uint64_t data_lane_words[DATA_STEP / 8];

static inline struct data_lanes data_load(const void *p)
{
    return ((const struct data_memory *)p)->x;
}

static inline void data_store(void *p, struct data_lanes x, bool past)
{
#ifdef DATA_STREAM
    if (past)
        DATA_STREAM((DATA_REGISTER *)p, (DATA_REGISTER)x.v);
    else
#endif
        ((struct data_memory *)p)->x = x;
    (void)past;
}

/* The seeds of a vector of generators. Products keep the generators from being xors of each other;
 * adding a, which is uniform, keeps the seeds uniform. A seed of zero, which yields only zeros,
 * occurs once in 2^64. */
static inline struct data_lanes data_start(struct data_seed seed, size_t vector)
{
    struct data_lanes word = data_load(&data_lane_words[vector * DATA_VECTOR / 8]);
    struct data_lanes a = {word.v + seed.a}, b = {word.v ^ seed.b};
    struct data_lanes a_high = {a.v >> 32}, b_high = {b.v >> 32};
    struct data_lanes low = data_mul32(a, b), high = data_mul32(a_high, b_high);
    low.v ^= (high.v << 32) | (high.v >> 32);
    low.v += a.v;
    return low;
}

static inline struct data_lanes data_step(struct data_lanes x)
{
    x.v ^= x.v << 13;
    x.v ^= x.v >> 7;
    x.v ^= x.v << 17;
    return x;
}

/* The first cache line holds the header and the begin of the stream. It is composed elsewhere, so
 * that it is written in whole vectors too. */
static inline void data_put_first_line(unsigned char *block, const void *header,
                                       struct data_seed seed, bool past)
{
    _Alignas(DATA_LINE) unsigned char line[DATA_LINE];
    for (size_t i = 0; i < DATA_LINE / DATA_VECTOR; i++)
        data_store(line + i * DATA_VECTOR, data_start(seed, i), false);
    memcpy(line, header, DATA_BODY_HEADER);
    for (size_t i = 0; i < DATA_LINE; i += DATA_VECTOR)
        data_store(block + i, data_load(line + i), past);
}

static inline void data_fill_block(void *block, const void *header, struct data_seed seed,
                                   bool past)
{
    data_put_first_line(block, header, seed, past);
    for (size_t first = 0; first < DATA_VECTORS; first += DATA_GROUP) {
        unsigned char *out = (unsigned char *)block + first * DATA_VECTOR;
        struct data_lanes x[DATA_GROUP];
        DATA_UNROLL
        for (size_t i = 0; i < DATA_GROUP; i++) {
            x[i] = data_start(seed, first + i);
            if ((first + i) * DATA_VECTOR >= DATA_LINE)
                data_store(out + i * DATA_VECTOR, x[i], past);
        }
        for (size_t step = 1; step < DATA_STEPS; step++) {
            DATA_UNROLL
            for (size_t i = 0; i < DATA_GROUP; i++) {
                x[i] = data_step(x[i]);
                data_store(out + step * DATA_STEP + i * DATA_VECTOR, x[i], past);
            }
        }
    }
}

/* Returns 0 in every lane that equals x; bytes of the header do not count. */
static inline struct data_lanes data_diff(const unsigned char *block, size_t at,
                                          struct data_lanes x)
{
    struct data_lanes d = {data_load(block + at).v ^ x.v};
    if (at < DATA_BODY_HEADER) {
        size_t skip = DATA_BODY_HEADER - at < DATA_VECTOR ? DATA_BODY_HEADER - at : DATA_VECTOR;
        memset(&d, 0, skip);
    }
    return d;
}

/* Prefetches the same line of the next block: hardware prefetchers stop at the end of a page. A
 * prefetch behind the buffer does nothing. */
static inline void data_prefetch_next(const void *block, size_t at)
{
    if (at % DATA_LINE == 0)
        __builtin_prefetch((const unsigned char *)block + at + DATA_BODY_BLOCK);
}

static inline bool data_matches_block(const void *block, struct data_seed seed)
{
    struct data_lanes any = {{0}};
    for (size_t first = 0; first < DATA_VECTORS; first += DATA_GROUP) {
        struct data_lanes x[DATA_GROUP];
        DATA_UNROLL
        for (size_t i = 0; i < DATA_GROUP; i++) {
            x[i] = data_start(seed, first + i);
            any.v |= data_diff(block, (first + i) * DATA_VECTOR, x[i]).v;
            data_prefetch_next(block, (first + i) * DATA_VECTOR);
        }
        for (size_t step = 1; step < DATA_STEPS; step++) {
            DATA_UNROLL
            for (size_t i = 0; i < DATA_GROUP; i++) {
                size_t at = step * DATA_STEP + (first + i) * DATA_VECTOR;
                x[i] = data_step(x[i]);
                data_prefetch_next(block, at);
                any.v |= data_load((const unsigned char *)block + at).v ^ x[i].v;
            }
        }
    }
    uint64_t all = 0;
    for (size_t i = 0; i < DATA_VECTOR / 8; i++)
        all |= any.v[i];
    return all == 0;
}

static inline void data_fill_here(void *block, const void *header, struct data_seed seed)
{
    data_fill_block(block, header, seed, false);
}

static inline void data_fill_past(void *block, const void *header, struct data_seed seed)
{
    data_fill_block(block, header, seed, true);
}

/* The struct data_code of the instruction set that the file is compiled for. */
#define DATA_CODE(set)                                                                             \
    {                                                                                              \
        .isa = (set), .fill = data_fill_here, .fill_past = data_fill_past,                         \
        .matches = data_matches_block                                                              \
    }

#endif
