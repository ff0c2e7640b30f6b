/* The vectorised half of CSV: finds commas and newlines 64 bytes at a time and stops at the first
 * quote, where csv.c takes over. Three versions give the same index; the processor decides which
 * one runs. */
#include "lib/trace/csv_scan.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define TARGET_AVX512                                                                              \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt,bmi,bmi2")))
#define TARGET_AVX2 __attribute__((target("avx2,popcnt,bmi,bmi2")))
#endif

#define BLOCK ((size_t)64)

static size_t scan_portable(struct csv_index *ix, const char *text, size_t len)
{
    size_t at = 0;

    ix->count = 0;
    ix->quote = false;
    while (at < len && ix->count <= CSV_INDEX_CAP - BLOCK) {
        size_t end = len - at < BLOCK ? len : at + BLOCK, n = ix->count;
        for (; at < end && text[at] != '"'; at++) {
            ix->pos[n] = (uint32_t)at;
            ix->sep[n] = (uint8_t)text[at];
            n += text[at] == ',' || text[at] == '\n';
        }
        ix->count = n;
        if (at < end) {
            ix->quote = true;
            break;
        }
    }
    return at;
}

static uint64_t count_portable(const char *text, size_t len)
{
    uint64_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += text[i] == '\n';
    return n;
}

#if defined(__x86_64__)
struct masks {
    uint64_t sep, quote;
};

TARGET_AVX2 static inline struct masks masks_avx2(const char *p)
{
    const __m256i comma = _mm256_set1_epi8(','), newline = _mm256_set1_epi8('\n'),
                  quote = _mm256_set1_epi8('"');
    __m256i a = _mm256_loadu_si256((const __m256i *)p);
    __m256i b = _mm256_loadu_si256((const __m256i *)(p + 32));
    __m256i sa = _mm256_or_si256(_mm256_cmpeq_epi8(a, comma), _mm256_cmpeq_epi8(a, newline));
    __m256i sb = _mm256_or_si256(_mm256_cmpeq_epi8(b, comma), _mm256_cmpeq_epi8(b, newline));
    uint32_t qa = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, quote));
    uint32_t qb = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, quote));
    return (struct masks){(uint32_t)_mm256_movemask_epi8(sa) |
                              (uint64_t)(uint32_t)_mm256_movemask_epi8(sb) << 32,
                          qa | (uint64_t)qb << 32};
}

TARGET_AVX2 static inline void put_bits_avx2(struct csv_index *ix, const char *p, size_t at,
                                             uint64_t m)
{
    size_t n = ix->count;
    ix->count = n + (size_t)__builtin_popcountll(m);
    while (m) {
        for (int i = 0; i < 4; i++) { /* behind the last bit: junk that is overwritten */
            unsigned bit = (unsigned)_tzcnt_u64(m) & 63;
            ix->pos[n] = (uint32_t)(at + bit);
            ix->sep[n++] = (uint8_t)p[bit];
            m = _blsr_u64(m);
        }
    }
}

TARGET_AVX2 static size_t scan_avx2(struct csv_index *ix, const char *text, size_t len)
{
    char tail[BLOCK] = {0};
    size_t at = 0;
    ix->count = 0;
    ix->quote = false;
    while (at < len && ix->count <= CSV_INDEX_CAP - BLOCK) {
        const char *p = text + at;
        if (len - at < BLOCK)
            p = memcpy(tail, p, len - at);
        struct masks m = masks_avx2(p);
        if (m.quote) {
            put_bits_avx2(ix, p, at, m.sep & (_blsi_u64(m.quote) - 1));
            ix->quote = true;
            return at + (size_t)_tzcnt_u64(m.quote);
        }
        put_bits_avx2(ix, p, at, m.sep);
        at += BLOCK;
    }
    return at < len ? at : len;
}

TARGET_AVX2 static uint64_t count_avx2(const char *text, size_t len)
{
    const __m256i newline = _mm256_set1_epi8('\n');
    uint64_t n = 0;
    size_t at = 0;
    for (; at + 32 <= len; at += 32) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(text + at));
        unsigned m = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, newline));
        n += (unsigned)__builtin_popcount(m);
    }
    return n + count_portable(text + at, len - at);
}

/* vpcompressb packs positions and characters of the set bits all at once. */
TARGET_AVX512 static inline void put_bits_avx512(struct csv_index *ix, __m512i v, size_t at,
                                                 uint64_t m)
{
    const __m512i iota = _mm512_set_epi8(
        63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41,
        40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18,
        17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    size_t n = ix->count, bits = (size_t)__builtin_popcountll(m);
    const __m512i base = _mm512_set1_epi32((int)at);
    __m512i where = _mm512_maskz_compress_epi8(m, iota);
    _mm512_storeu_si512(ix->sep + n, _mm512_maskz_compress_epi8(m, v));
    ix->count = n + bits;
    for (;;) {
        __m512i wide = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(where));
        _mm512_storeu_si512(ix->pos + n, _mm512_add_epi32(wide, base));
        if (__builtin_expect(bits <= 16, 1))
            return;
        where = _mm512_alignr_epi64(_mm512_setzero_si512(), where, 2);
        bits -= 16;
        n += 16;
    }
}

TARGET_AVX512 static size_t scan_avx512(struct csv_index *ix, const char *text, size_t len)
{
    const __m512i comma = _mm512_set1_epi8(','), newline = _mm512_set1_epi8('\n'),
                  quote = _mm512_set1_epi8('"');
    size_t at = 0;
    ix->count = 0;
    ix->quote = false;
    while (at < len && ix->count <= CSV_INDEX_CAP - BLOCK) {
        uint64_t in =
            len - at < BLOCK ? _bzhi_u64(~UINT64_C(0), (unsigned)(len - at)) : ~UINT64_C(0);
        __m512i v = _mm512_maskz_loadu_epi8(in, text + at);
        uint64_t m = _mm512_cmpeq_epi8_mask(v, comma) | _mm512_cmpeq_epi8_mask(v, newline);
        uint64_t q = _mm512_cmpeq_epi8_mask(v, quote);
        if (__builtin_expect(q != 0, 0)) {
            put_bits_avx512(ix, v, at, m & (_blsi_u64(q) - 1));
            ix->quote = true;
            return at + (size_t)_tzcnt_u64(q);
        }
        put_bits_avx512(ix, v, at, m);
        at += BLOCK;
    }
    return at < len ? at : len;
}

TARGET_AVX512 static uint64_t count_avx512(const char *text, size_t len)
{
    const __m512i newline = _mm512_set1_epi8('\n');
    uint64_t n = 0;
    size_t at = 0;
    for (; at + BLOCK <= len; at += BLOCK)
        n += (unsigned)__builtin_popcountll(
            _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(text + at), newline));
    return n + count_portable(text + at, len - at);
}
#endif

static bool runs_here(enum csv_isa isa)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (isa == CSV_ISA_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    if (isa == CSV_ISA_AVX512)
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2");
#endif
    return isa == CSV_ISA_PORTABLE;
}

/* Set by csv_force_isa only: tests compare the versions with each other. -1: not set. */
static _Atomic int forced_isa = -1;

enum csv_isa csv_isa(void)
{
    int isa = atomic_load_explicit(&forced_isa, memory_order_relaxed);

    if (isa >= 0)
        return (enum csv_isa)isa;
    return runs_here(CSV_ISA_AVX512) ? CSV_ISA_AVX512
           : runs_here(CSV_ISA_AVX2) ? CSV_ISA_AVX2
                                     : CSV_ISA_PORTABLE;
}

int csv_force_isa(enum csv_isa isa)
{
    if (!runs_here(isa))
        return -ENOTSUP;
    atomic_store(&forced_isa, (int)isa);
    return 0;
}

const char *csv_isa_name(enum csv_isa isa)
{
    static const char *const names[] = {"portable", "avx2", "avx512"};

    return names[isa];
}

csv_scan_fn csv_scan_pick(void)
{
#if defined(__x86_64__)
    switch (csv_isa()) {
    case CSV_ISA_AVX512:
        return scan_avx512;
    case CSV_ISA_AVX2:
        return scan_avx2;
    case CSV_ISA_PORTABLE:
        break;
    }
#endif
    return scan_portable;
}

uint64_t csv_scan_count_lines(const char *text, size_t len)
{
#if defined(__x86_64__)
    switch (csv_isa()) {
    case CSV_ISA_AVX512:
        return count_avx512(text, len);
    case CSV_ISA_AVX2:
        return count_avx2(text, len);
    case CSV_ISA_PORTABLE:
        break;
    }
#endif
    return count_portable(text, len);
}
