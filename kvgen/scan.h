/* scan.h - takes the pieces of the JSON lines of Dynamo's request traces, millions of them:
 * whitespace, whole numbers, decimal fractions, texts in plain ASCII. A piece that is not taken
 * (exponents, escapes, too many digits, damage) says that the line is left to lib/json/jsonin.h;
 * for what is taken jsonin gives the same values. Inline, for a line has many pieces. */
#ifndef KVGEN_SCAN_H
#define KVGEN_SCAN_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    SCAN_DIGITS = 18,   /* of a number: they always fit an int64_t */
    SCAN_ID_DIGITS = 19 /* always fit a uint64_t; one digit more may fit */
};

/* The rest of the line. */
struct scan {
    const char *at, *end;
};

static inline char scan_peek(const struct scan *s)
{
    return s->at < s->end ? *s->at : '\0';
}

/* The character behind whitespace; '\0': the line ends. */
static inline char scan_space(struct scan *s)
{
    char c;
    while ((c = scan_peek(s)) == ' ' || c == '\t' || c == '\r' || c == '\n')
        s->at++;
    return c;
}

static inline bool scan_take(struct scan *s, char c)
{
    bool is = scan_space(s) == c;
    s->at += is;
    return is;
}

static inline bool scan_is_digit(const struct scan *s)
{
    return (unsigned)(unsigned char)scan_peek(s) - '0' <= 9;
}

/* Appends the next digits to *n, at most `most` of up to eight, without a branch on how many there
 * are, and returns that. Eight bytes are left. A byte that is no digit leaves a bit in others, and
 * the first of them ends the number; a carry goes upwards only. Neighbours are added up in pairs.
 */
static inline int scan_some_digits(struct scan *s, int most, uint64_t *n)
{
    static const uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const uint64_t sixes = UINT64_C(0x0606060606060606), highs = UINT64_C(0xf0f0f0f0f0f0f0f0);
    const uint64_t zeros = UINT64_C(0x3030303030303030);
    uint64_t x;
    memcpy(&x, s->at, sizeof(x));
    x = le64toh(x);
    uint64_t others = ((x & highs) ^ zeros) | (((x + sixes) & highs) ^ zeros);
    int count = others ? __builtin_ctzll(others) / 8 : 8;
    count = count < most ? count : most;
    if (count == 0)
        return 0;
    x = (x - zeros) << (64 - 8 * count); /* the digits of a number with zeros in front */
    x = (x * 10 + (x >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x * 100 + (x >> 16)) & UINT64_C(0x0000ffff0000ffff);
    *n = *n * power[count] + (x & 0xffff) * 10000 + (x >> 32);
    s->at += count;
    return count;
}

/* Appends at most max digits to *n, and returns how many there were. */
static inline int scan_add_digits(struct scan *s, int max, uint64_t *n)
{
    int count = 0;
    while (count < max && s->end - s->at >= (ptrdiff_t)sizeof(*n)) {
        int some = scan_some_digits(s, max - count, n);
        count += some;
        if (some < 8)
            return count;
    }
    for (; count < max && scan_is_digit(s); count++, s->at++)
        *n = *n * 10 + (unsigned)(*s->at - '0');
    return count;
}

/* The same; 0 also for a needless zero in front. */
static inline int scan_whole(struct scan *s, int max, uint64_t *n)
{
    const char *first = s->at;
    int count = scan_add_digits(s, max, n);
    return count > 1 && *first == '0' ? 0 : count;
}

/* A whole number of 64 bits without a sign. */
static inline bool scan_u64(struct scan *s, uint64_t *n)
{
    *n = 0;
    int count = scan_whole(s, SCAN_ID_DIGITS, n);
    if (count < SCAN_ID_DIGITS || !scan_is_digit(s))
        return count > 0;
    unsigned digit = (unsigned)(*s->at++ - '0');
    return !__builtin_mul_overflow(*n, 10, n) && !__builtin_add_overflow(*n, digit, n);
}

/* A number without an exponent. */
struct scan_number {
    bool minus;
    uint64_t digits; /* without the point */
    int decimals;    /* digits behind it; 0: there is no point */
};

/* At most SCAN_DIGITS digits. -0 is not taken. */
static inline bool scan_number(struct scan *s, struct scan_number *n)
{
    n->digits = 0;
    n->decimals = 0;
    n->minus = scan_peek(s) == '-';
    s->at += n->minus;
    int whole = scan_whole(s, SCAN_DIGITS, &n->digits);
    if (whole > 0 && scan_peek(s) == '.') {
        s->at++;
        n->decimals = scan_add_digits(s, SCAN_DIGITS - whole, &n->digits);
        if (n->decimals == 0)
            return false;
    }
    return whole > 0 && !scan_is_digit(s) && !(n->minus && n->digits == 0);
}

/* The number, rounded once, as strtod does it: digits and the power of ten are exact in a double
 * (Clinger, "How to read floating point numbers accurately", PLDI 1990). false: too many digits for
 * that. A fraction never becomes whole by it. */
static inline bool scan_double(const struct scan_number *n, double *out)
{
    static const double power[SCAN_DIGITS + 1] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                                                  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
                                                  1e14, 1e15, 1e16, 1e17, 1e18};
    *out = (n->minus ? -(double)n->digits : (double)n->digits) / power[n->decimals];
    return n->digits < UINT64_C(1) << 53;
}

/* A text, at its first quote: plain ASCII without escapes. Eight bytes at once: the top bit of a
 * byte is set if it is beyond ASCII, below a blank, a quote or a backslash. A borrow goes upwards
 * only, so the lowest bit that is set is right. */
static inline bool scan_text(struct scan *s, const char **text, size_t *len)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    const char *p = ++s->at;
    uint64_t x, special = 0;
    while (s->end - p >= (ptrdiff_t)sizeof(x)) {
        memcpy(&x, p, sizeof(x));
        x = le64toh(x);
        special =
            (x | (x - ones * ' ') | ((x ^ ones * '"') - ones) | ((x ^ ones * '\\') - ones)) & tops;
        if (special)
            break;
        p += sizeof(x);
    }
    if (special)
        p += __builtin_ctzll(special) / 8;
    else
        while (p < s->end && (signed char)*p >= ' ' && *p != '"' && *p != '\\')
            p++;
    *text = s->at;
    *len = (size_t)(p - s->at);
    s->at = p;
    if (scan_peek(s) != '"')
        return false;
    s->at++;
    return true;
}

#endif
