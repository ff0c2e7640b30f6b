/* The usual row by AVX2: numbers and words of up to 16 bytes are taken whole, without a branch on
 * how long they are. Whatever this does not take goes to the plain parser of trace_parse.c, which
 * decides. Elsewhere than on x86-64 this file is empty. */
#include "lib/trace_parse.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2   __attribute__((target("avx2,bmi,bmi2")))
#define INLINE AVX2 static inline __attribute__((always_inline))

/* Windows of 16 bytes into these: first_bytes from 16 - n on keeps the first n bytes, to_right from
 * n on moves the first n bytes to the end and puts zeros before them. */
static const uint8_t first_bytes[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                        255, 255, 255, 255, 255, 255, 255, 255};
static const uint8_t to_right[32] = {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
                                     128, 128, 128, 128, 128, 0,   1,   2,   3,   4,   5,
                                     6,   7,   8,   9,   10,  11,  12,  13,  14,  15};

INLINE __m128i load(const void *p)
{
    return _mm_loadu_si128(p);
}

INLINE __m128i load_digits(const char *p)
{
    return _mm_sub_epi8(load(p), _mm_set1_epi8('0'));
}

/* What is not 0 in it stands where no digit is. */
INLINE __m128i above_nine(__m128i digits)
{
    return _mm_subs_epu8(digits, _mm_set1_epi8(9));
}

/* Sixteen digits as two numbers of eight, the higher one in the lower half: pairs, fours, eights.
 */
INLINE uint64_t join_eights(uint64_t two)
{
    return (uint64_t)(uint32_t)two * 100000000 + (two >> 32);
}

INLINE uint64_t number_of(__m128i digits)
{
    __m128i x = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010a));
    x = _mm_madd_epi16(x, _mm_set1_epi32(100 | 1 << 16));
    x = _mm_madd_epi16(_mm_packus_epi32(x, x), _mm_set1_epi32(10000 | 1 << 16));
    return join_eights((uint64_t)_mm_cvtsi128_si64(x));
}

/* The same of two at once. */
INLINE void numbers_of(__m128i a, __m128i b, uint64_t out[2])
{
    __m256i x = _mm256_maddubs_epi16(_mm256_set_m128i(b, a), _mm256_set1_epi16(0x010a));
    x = _mm256_madd_epi16(x, _mm256_set1_epi32(100 | 1 << 16));
    x = _mm256_madd_epi16(_mm256_packus_epi32(x, x), _mm256_set1_epi32(10000 | 1 << 16));
    out[0] = join_eights((uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(x)));
    out[1] = join_eights((uint64_t)_mm_cvtsi128_si64(_mm256_extracti128_si256(x, 1)));
}

/* Each of the following gives false for what is not usual, or leaves something in *bad. */

INLINE bool take_word(const struct trace_words *w, struct trace_span f, uint8_t *out, __m128i *bad)
{
    if (f.len > 16)
        return false;
    __m128i x = _mm_and_si128(load(f.p), load(first_bytes + 16 - f.len));
    unsigned slot = trace_word_slot(w, (uint64_t)_mm_cvtsi128_si64(x));
    *bad = _mm_or_si128(*bad, _mm_xor_si128(x, load(w->text[slot])));
    *out = w->value[slot];
    return *out != TRACE_BAD_WORD;
}

/* 0 when empty. */
INLINE bool take_number(struct trace_span f, uint64_t *out, __m128i *bad)
{
    if (f.len > 16)
        return false;
    __m128i x = _mm_shuffle_epi8(load_digits(f.p), load(to_right + f.len));
    *bad = _mm_or_si128(*bad, above_nine(x));
    *out = number_of(x);
    return true;
}

INLINE bool take_number_or_none(struct trace_span f, int64_t *out, __m128i *bad)
{
    uint64_t v = 0;
    bool ok = take_number(f, &v, bad);
    *out = f.len ? (int64_t)v : TRACE_NONE;
    return ok;
}

/* Digits before the point and behind it of a number of at most 63 bytes; false: more than those,
 * none before it, or a point with none behind it. */
INLINE bool find_point(struct trace_span f, size_t most_whole, size_t most_places, size_t *whole,
                       size_t *places)
{
    __m128i point = _mm_cmpeq_epi8(load(f.p), _mm_set1_epi8('.'));
    uint64_t end = UINT64_C(1) << f.len;
    *whole = (size_t)_tzcnt_u64((uint64_t)(unsigned)_mm_movemask_epi8(point) | end);
    size_t left = f.len - *whole;
    *places = left - (left > 0);
    return *whole - 1 < most_whole && *places <= most_places && left != 1;
}

/* Seconds to ns. */
INLINE bool take_seconds(struct trace_span f, int64_t *out, __m128i *bad)
{
    size_t whole, places;
    uint64_t v[2];
    if (f.len > 20 || !find_point(f, 10, 9, &whole, &places))
        return false;
    __m128i a = _mm_shuffle_epi8(load_digits(f.p), load(to_right + whole));
    __m128i b = _mm_slli_si128(load_digits(f.p + whole + 1), 7);
    b = _mm_and_si128(b, load(first_bytes + 9 - places));
    *bad = _mm_or_si128(*bad, above_nine(_mm_max_epu8(a, b)));
    numbers_of(a, b, v);
    *out = (int64_t)(v[0] * 1000000000 + v[1]);
    return v[0] < 9000000000u;
}

/* Microseconds to ns: with the point left out it is one number. */
INLINE bool take_micros(struct trace_span f, int64_t *out, __m128i *bad)
{
    const __m128i last_three = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1);
    size_t whole, places;
    if (f.len > 16 || !find_point(f, 12, 3, &whole, &places))
        return false;
    __m128i from =
        _mm_blendv_epi8(load(to_right + whole + 3), load(to_right + whole + 4), last_three);
    __m128i x = _mm_shuffle_epi8(load_digits(f.p), from);
    x = _mm_and_si128(x, load(first_bytes + 3 - places));
    *bad = _mm_or_si128(*bad, above_nine(x));
    *out = (int64_t)number_of(x);
    return true;
}

INLINE bool take_seconds_or_none(struct trace_span f, int64_t *out, __m128i *bad)
{
    *out = TRACE_NONE;
    return f.len == 0 || take_seconds(f, out, bad);
}

INLINE bool take_micros_or_none(struct trace_span f, int64_t *out, __m128i *bad)
{
    *out = TRACE_NONE;
    return f.len == 0 || take_micros(f, out, bad);
}

INLINE bool take_core(const struct trace_layout *l, const struct trace_fields *s,
                      struct trace_row *row, __m128i *bad)
{
    struct trace_span size = trace_field(s, l->at[TRACE_COL_SIZE]);
    bool ok = size.len > 0;
    ok &= take_seconds(trace_field(s, l->at[TRACE_COL_TIMESTAMP]), &row->time_ns, bad);
    ok &= take_word(&l->op, trace_field(s, l->at[TRACE_COL_OPERATION]), &row->op, bad);
    ok &= take_number(size, &row->size, bad);
    ok &= take_word(&l->tier, trace_field(s, l->at[TRACE_COL_TIER]), &row->tier, bad);
    row->key = trace_span_str(trace_field(s, l->at[TRACE_COL_KEY]));
    ok &= take_word(&l->phase, trace_field(s, l->at[TRACE_COL_PHASE]), &row->phase, bad);
    return ok && trace_core_fits(row);
}

INLINE bool take_extended(const struct trace_layout *l, const struct trace_fields *s,
                          struct trace_row *row, __m128i *bad)
{
    bool ok = true;
    if (l->parsed & TRACE_BIT(TRACE_COL_REQUEST))
        ok &= take_number_or_none(trace_field(s, l->at[TRACE_COL_REQUEST]), &row->request, bad);
    if (l->parsed & TRACE_BIT(TRACE_COL_USER))
        row->user = trace_span_str(trace_field(s, l->at[TRACE_COL_USER]));
    if (l->parsed & TRACE_BIT(TRACE_COL_QOS))
        ok &= take_word(&l->qos, trace_field(s, l->at[TRACE_COL_QOS]), &row->qos, bad);
    if (l->parsed & TRACE_BIT(TRACE_COL_CLASS))
        ok &= take_word(&l->class, trace_field(s, l->at[TRACE_COL_CLASS]), &row->class, bad);
    if (l->parsed & TRACE_BIT(TRACE_COL_TOKENS))
        ok &= take_number_or_none(trace_field(s, l->at[TRACE_COL_TOKENS]), &row->tokens, bad);
    if (l->parsed & TRACE_BIT(TRACE_COL_ARRIVAL))
        ok &= take_seconds_or_none(trace_field(s, l->at[TRACE_COL_ARRIVAL]), &row->arrival_ns, bad);
    if (l->parsed & TRACE_BIT(TRACE_COL_DURATION))
        ok &=
            take_micros_or_none(trace_field(s, l->at[TRACE_COL_DURATION]), &row->duration_ns, bad);
    return ok;
}

INLINE bool take_result(const struct trace_layout *l, const struct trace_fields *s,
                        struct trace_row *row, __m128i *bad)
{
    int64_t *const moment[] = {&row->due_ns, &row->eligible_ns, &row->start_ns};
    int64_t *const length[] = {&row->latency_ns, &row->device_ns};
    bool ok = true;
    for (int i = 0; i < 3; i++)
        if (l->parsed & TRACE_BIT(TRACE_COL_DUE + i))
            ok &= take_seconds_or_none(trace_field(s, l->at[TRACE_COL_DUE + i]), moment[i], bad);
    for (int i = 0; i < 2; i++)
        if (l->parsed & TRACE_BIT(TRACE_COL_LATENCY + i))
            ok &= take_micros_or_none(trace_field(s, l->at[TRACE_COL_LATENCY + i]), length[i], bad);
    if (l->parsed & TRACE_BIT(TRACE_COL_STATUS)) {
        struct trace_span f = trace_field(s, l->at[TRACE_COL_STATUS]);
        ok &= f.len == 2 && f.p[0] == 'o' && f.p[1] == 'k';
        row->status = TRACE_OK;
    }
    return ok;
}

AVX2 bool trace_parse_index_avx2(const struct trace_layout *l, const char *text, uint32_t begin,
                                 const uint32_t *end, struct trace_row *row)
{
    const struct trace_fields s = {text, begin, end, NULL};
    __m128i bad = _mm_setzero_si128();
    if (l->want_line)
        row->line = (struct trace_str){text + begin, end[l->own_fields - 1] - begin};
    bool ok = take_core(l, &s, row, &bad);
    if (l->parsed & TRACE_EXTENDED)
        ok &= take_extended(l, &s, row, &bad);
    if (l->parsed & TRACE_RESULT)
        ok &= take_result(l, &s, row, &bad);
    if (__builtin_expect(ok && _mm_testz_si128(bad, bad), 1))
        return true;
    return trace_parse_index(l, text, begin, end, row);
}
#endif
