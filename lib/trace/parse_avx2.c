/* Parses the usual row with AVX2: numbers and words of up to 16 bytes are taken whole, without a
 * branch on their length. What this does not take goes to the plain parser of parse.c, which
 * decides. Empty on other than x86-64. */
#include "lib/trace/parse.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2   __attribute__((target("avx2,bmi,bmi2")))
#define INLINE AVX2 static inline __attribute__((always_inline))

/* Loaded as windows of 16 bytes: first_bytes from 16 - n on keeps the first n bytes; to_right from
 * n on moves the first n bytes to the end, with zeros before them. */
static const uint8_t first_bytes[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                        255, 255, 255, 255, 255, 255, 255, 255};
static const uint8_t to_right[32] = {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
                                     128, 128, 128, 128, 128, 0,   1,   2,   3,   4,   5,
                                     6,   7,   8,   9,   10,  11,  12,  13,  14,  15};

/* A row being parsed. Wrong characters collect in bad. */
struct taker {
    const struct trace_layout *l;
    struct trace_fields fields;
    __m128i bad;
    __m128i zero, nine, point;
    __m256i pairs, fours, eights; /* weights of digits, of pairs of digits, and so on */
};

INLINE struct taker begin_row(const struct trace_layout *l, const struct trace_fields *fields)
{
    struct taker t = {l,
                      *fields,
                      _mm_setzero_si128(),
                      _mm_set1_epi8('0'),
                      _mm_set1_epi8(9),
                      _mm_set1_epi8('.'),
                      _mm256_set1_epi16(10 | 1 << 8),
                      _mm256_set1_epi32(100 | 1 << 16),
                      _mm256_set1_epi32(10000 | 1 << 16)};
    /* Keeps them in registers: compilers would make them anew for every field. */
    __asm__("" : "+x"(t.zero), "+x"(t.nine), "+x"(t.point));
    __asm__("" : "+x"(t.pairs), "+x"(t.fours), "+x"(t.eights));
    return t;
}

INLINE struct trace_span field(const struct taker *t, enum trace_column c)
{
    return trace_field(&t->fields, t->l->at[c]);
}

INLINE bool parsed(const struct taker *t, enum trace_column c)
{
    return t->l->parsed & TRACE_BIT(c);
}

INLINE __m128i load(const void *p)
{
    return _mm_loadu_si128(p);
}

INLINE __m128i load_digits(const struct taker *t, const char *p)
{
    return _mm_sub_epi8(load(p), t->zero);
}

/* Sets bits in t->bad where a byte is no digit. */
INLINE void check_digits(struct taker *t, __m128i digits)
{
    t->bad = _mm_or_si128(t->bad, _mm_subs_epu8(digits, t->nine));
}

/* Joins two numbers of eight digits, the higher one in the lower half. */
INLINE uint64_t join_eights(__m128i x)
{
    uint64_t two = (uint64_t)_mm_cvtsi128_si64(x);
    return (uint64_t)(uint32_t)two * 100000000 + (two >> 32);
}

INLINE uint64_t number_of(const struct taker *t, __m128i digits)
{
    __m128i x = _mm_maddubs_epi16(digits, _mm256_castsi256_si128(t->pairs));
    x = _mm_madd_epi16(x, _mm256_castsi256_si128(t->fours));
    x = _mm_madd_epi16(_mm_packus_epi32(x, x), _mm256_castsi256_si128(t->eights));
    return join_eights(x);
}

/* The same for two numbers at once. */
INLINE void numbers_of(const struct taker *t, __m128i a, __m128i b, uint64_t out[2])
{
    __m256i x = _mm256_maddubs_epi16(_mm256_set_m128i(b, a), t->pairs);
    x = _mm256_madd_epi16(x, t->fours);
    x = _mm256_madd_epi16(_mm256_packus_epi32(x, x), t->eights);
    out[0] = join_eights(_mm256_castsi256_si128(x));
    out[1] = join_eights(_mm256_extracti128_si256(x, 1));
}

/* Each of the following returns false, or sets bits in t->bad, for a field in an unusual form. */

INLINE bool take_word(struct taker *t, const struct trace_words *w, enum trace_column c,
                      uint8_t *out)
{
    struct trace_span f = field(t, c);
    if (f.len > 16)
        return false;
    __m128i x = _mm_and_si128(load(f.p), load(first_bytes + 16 - f.len));
    unsigned slot = trace_word_slot(w, (uint64_t)_mm_cvtsi128_si64(x));
    t->bad = _mm_or_si128(t->bad, _mm_xor_si128(x, load(w->text[slot])));
    *out = w->value[slot];
    return *out != TRACE_BAD_WORD;
}

/* 0 when empty. */
INLINE bool take_number(struct taker *t, struct trace_span f, uint64_t *out)
{
    if (f.len > 16)
        return false;
    __m128i x = _mm_shuffle_epi8(load_digits(t, f.p), load(to_right + f.len));
    check_digits(t, x);
    *out = number_of(t, x);
    return true;
}

INLINE bool take_number_or_none(struct taker *t, enum trace_column c, int64_t *out)
{
    struct trace_span f = field(t, c);
    uint64_t v = 0;
    if (!take_number(t, f, &v))
        return false;
    *out = f.len ? (int64_t)v : TRACE_NONE;
    return true;
}

/* Digits before the point and behind it. */
struct places {
    size_t whole, fraction;
};

/* Counts the digits of a number of at most 63 bytes. False: more than `most`, none before the
 * point, or none behind a point. */
INLINE bool find_point(const struct taker *t, struct trace_span f, struct places most,
                       struct places *n)
{
    __m128i point = _mm_cmpeq_epi8(load(f.p), t->point);
    uint64_t end = UINT64_C(1) << f.len;
    n->whole = (size_t)_tzcnt_u64((uint64_t)(unsigned)_mm_movemask_epi8(point) | end);
    n->fraction = 0;
    if (__builtin_expect(n->whole - 1 >= most.whole, 0))
        return false;
    if (__builtin_expect(n->whole == f.len, 0))
        return true;
    n->fraction = f.len - n->whole - 1;
    return n->fraction - 1 < most.fraction;
}

/* Seconds to ns: without the point it is one number, if it is below a million. */
INLINE bool take_seconds(struct taker *t, struct trace_span f, int64_t *out)
{
    const __m128i last_nine =
        _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    struct places n;
    uint64_t v[2];
    if (f.len > 20 || !find_point(t, f, (struct places){10, 9}, &n))
        return false;
    if (__builtin_expect(n.whole <= 6, 1)) {
        __m128i from =
            _mm_blendv_epi8(load(to_right + n.whole + 9), load(to_right + n.whole + 10), last_nine);
        __m128i x = _mm_shuffle_epi8(load_digits(t, f.p), from);
        x = _mm_and_si128(x, load(first_bytes + 9 - n.fraction));
        check_digits(t, x);
        *out = (int64_t)number_of(t, x);
        return true;
    }
    __m128i a = _mm_shuffle_epi8(load_digits(t, f.p), load(to_right + n.whole));
    __m128i b = _mm_slli_si128(load_digits(t, f.p + n.whole + 1), 7);
    b = _mm_and_si128(b, load(first_bytes + 9 - n.fraction));
    check_digits(t, _mm_max_epu8(a, b));
    numbers_of(t, a, b, v);
    *out = (int64_t)(v[0] * 1000000000 + v[1]);
    return v[0] < 9000000000u;
}

/* Microseconds to ns: without the point it is one number. */
INLINE bool take_micros(struct taker *t, struct trace_span f, int64_t *out)
{
    const __m128i last_three = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1);
    struct places n;
    if (f.len > 16 || !find_point(t, f, (struct places){12, 3}, &n))
        return false;
    __m128i from =
        _mm_blendv_epi8(load(to_right + n.whole + 3), load(to_right + n.whole + 4), last_three);
    __m128i x = _mm_shuffle_epi8(load_digits(t, f.p), from);
    x = _mm_and_si128(x, load(first_bytes + 3 - n.fraction));
    check_digits(t, x);
    *out = (int64_t)number_of(t, x);
    return true;
}

INLINE bool take_seconds_or_none(struct taker *t, enum trace_column c, int64_t *out)
{
    struct trace_span f = field(t, c);
    *out = TRACE_NONE;
    return f.len == 0 || take_seconds(t, f, out);
}

INLINE bool take_micros_or_none(struct taker *t, enum trace_column c, int64_t *out)
{
    struct trace_span f = field(t, c);
    *out = TRACE_NONE;
    return f.len == 0 || take_micros(t, f, out);
}

INLINE bool take_core(struct taker *t, struct trace_row *row)
{
    struct trace_span size = field(t, TRACE_COL_SIZE);
    row->key = trace_span_str(field(t, TRACE_COL_KEY));
    return take_seconds(t, field(t, TRACE_COL_TIMESTAMP), &row->time_ns) &&
           take_word(t, &t->l->op, TRACE_COL_OPERATION, &row->op) && size.len &&
           take_number(t, size, &row->size) &&
           take_word(t, &t->l->tier, TRACE_COL_TIER, &row->tier) &&
           take_word(t, &t->l->phase, TRACE_COL_PHASE, &row->phase) && trace_core_fits(row);
}

INLINE bool take_extended(struct taker *t, struct trace_row *row)
{
    if (parsed(t, TRACE_COL_REQUEST) && !take_number_or_none(t, TRACE_COL_REQUEST, &row->request))
        return false;
    if (parsed(t, TRACE_COL_USER))
        row->user = trace_span_str(field(t, TRACE_COL_USER));
    if (parsed(t, TRACE_COL_QOS) && !take_word(t, &t->l->qos, TRACE_COL_QOS, &row->qos))
        return false;
    if (parsed(t, TRACE_COL_CLASS) && !take_word(t, &t->l->class, TRACE_COL_CLASS, &row->class))
        return false;
    if (parsed(t, TRACE_COL_TOKENS) && !take_number_or_none(t, TRACE_COL_TOKENS, &row->tokens))
        return false;
    if (parsed(t, TRACE_COL_ARRIVAL) &&
        !take_seconds_or_none(t, TRACE_COL_ARRIVAL, &row->arrival_ns))
        return false;
    if (parsed(t, TRACE_COL_DURATION) &&
        !take_micros_or_none(t, TRACE_COL_DURATION, &row->duration_ns))
        return false;
    int64_t engine = TRACE_NONE;
    if (parsed(t, TRACE_COL_ENGINE) && !take_number_or_none(t, TRACE_COL_ENGINE, &engine))
        return false;
    row->engine = engine < 0 ? -1 : (int32_t)engine;
    return engine <= INT32_MAX;
}

INLINE bool take_result(struct taker *t, struct trace_row *row)
{
    if (parsed(t, TRACE_COL_DUE) && !take_seconds_or_none(t, TRACE_COL_DUE, &row->due_ns))
        return false;
    if (parsed(t, TRACE_COL_ELIGIBLE) &&
        !take_seconds_or_none(t, TRACE_COL_ELIGIBLE, &row->eligible_ns))
        return false;
    if (parsed(t, TRACE_COL_START) && !take_seconds_or_none(t, TRACE_COL_START, &row->start_ns))
        return false;
    if (parsed(t, TRACE_COL_LATENCY) &&
        !take_micros_or_none(t, TRACE_COL_LATENCY, &row->latency_ns))
        return false;
    if (parsed(t, TRACE_COL_DEVICE) && !take_micros_or_none(t, TRACE_COL_DEVICE, &row->device_ns))
        return false;
    /* The one extra column that every result has. */
    if (parsed(t, TRACE_COL_SLOT) && !take_micros_or_none(t, TRACE_COL_SLOT, &row->extra->slot_ns))
        return false;
    if (!parsed(t, TRACE_COL_STATUS))
        return true;
    struct trace_span f = field(t, TRACE_COL_STATUS);
    row->status = TRACE_OK;
    return f.len == 2 && f.p[0] == 'o' && f.p[1] == 'k';
}

AVX2 bool trace_parse_index_avx2(const struct trace_layout *l, const char *text, uint32_t begin,
                                 const uint32_t *end, struct trace_row *row)
{
    const struct trace_fields fields = {text, begin, end, NULL};
    struct taker t = begin_row(l, &fields);
    if (l->want_line)
        row->line = (struct trace_str){text + begin, end[l->own_fields - 1] - begin};
    if (take_core(&t, row) &&
        (!(l->parsed & (TRACE_EXTENDED | TRACE_SERVED)) || take_extended(&t, row)) &&
        (!(l->parsed & (TRACE_RESULT | TRACE_BIT(TRACE_COL_SLOT))) || take_result(&t, row)) &&
        _mm_testz_si128(t.bad, t.bad))
        return true;
    return trace_parse_index(l, text, begin, end, row);
}
#endif
