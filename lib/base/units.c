/* Reads every number that a person or a trace writes, and writes every number for people. Integers
 * are scaled exactly, never through floating point: sizes and times of a trace must survive a round
 * trip unchanged. */
#include "lib/base/units.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SCALE 18

static const uint64_t power10[MAX_SCALE + 1] = {UINT64_C(1),
                                                UINT64_C(10),
                                                UINT64_C(100),
                                                UINT64_C(1000),
                                                UINT64_C(10000),
                                                UINT64_C(100000),
                                                UINT64_C(1000000),
                                                UINT64_C(10000000),
                                                UINT64_C(100000000),
                                                UINT64_C(1000000000),
                                                UINT64_C(10000000000),
                                                UINT64_C(100000000000),
                                                UINT64_C(1000000000000),
                                                UINT64_C(10000000000000),
                                                UINT64_C(100000000000000),
                                                UINT64_C(1000000000000000),
                                                UINT64_C(10000000000000000),
                                                UINT64_C(100000000000000000),
                                                UINT64_C(1000000000000000000)};

static bool is_digit(char c)
{
    return (unsigned)c - '0' < 10;
}

static size_t count_digits(const char *p, size_t len)
{
    size_t n = 0;
    while (n < len && is_digit(p[n]))
        n++;
    return n;
}

int units_add(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return -EOVERFLOW;
    *out = sum;
    return 0;
}

int units_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return -EOVERFLOW;
    *out = product;
    return 0;
}

/* ---- integers ---- */

/* value = value x 10^len + the digits. The caller has checked that p holds digits. */
static int append_digits(const char *p, size_t len, uint64_t *value)
{
    uint64_t v = *value;
    for (size_t i = 0; i < len; i++)
        if (units_mul(v, 10, &v) || units_add(v, (uint64_t)(p[i] - '0'), &v))
            return -ERANGE;
    *value = v;
    return 0;
}

int units_parse_digits(const char *text, size_t len, uint64_t *out)
{
    uint64_t v = 0;
    if (len == 0)
        return -EINVAL;
    if (len > 19) {
        if (count_digits(text, len) != len)
            return -EINVAL;
        if (append_digits(text, len, &v))
            return -ERANGE;
        *out = v;
        return 0;
    }
    for (size_t i = 0; i < len; i++) {
        if (!is_digit(text[i]))
            return -EINVAL;
        v = v * 10 + (uint64_t)(text[i] - '0');
    }
    *out = v;
    return 0;
}

int units_parse_u64(const char *text, uint64_t *out)
{
    return units_parse_digits(text, strlen(text), out);
}

int units_parse_i64(const char *text, int64_t *out)
{
    bool negative = text[0] == '-';
    uint64_t v;
    int rc = units_parse_u64(text + negative, &v);
    if (rc)
        return rc;
    if (v > (uint64_t)INT64_MAX + negative)
        return -ERANGE;
    *out = (int64_t)(negative ? 0 - v : v);
    return 0;
}

/* ---- decimals ---- */

/* Splits p[0..len) into digits[.digits], each part at least one digit long. frac_len 0: no point.
 */
static bool split_decimal(const char *p, size_t len, size_t *whole_len, size_t *frac_len)
{
    *whole_len = count_digits(p, len);
    *frac_len = 0;
    if (*whole_len == 0)
        return false;
    if (*whole_len == len)
        return true;
    if (p[*whole_len] != '.')
        return false;
    *frac_len = len - *whole_len - 1;
    return *frac_len > 0 && count_digits(p + *whole_len + 1, *frac_len) == *frac_len;
}

int units_parse_decimal(const char *text, size_t len, unsigned scale, int64_t *out)
{
    bool negative = len > 0 && text[0] == '-';
    const char *p = text + negative;
    size_t whole_len, frac_len;
    uint64_t v = 0;
    if (!split_decimal(p, len - negative, &whole_len, &frac_len))
        return -EINVAL;
    const char *frac = p + whole_len + (frac_len > 0);
    while (frac_len > scale)
        if (frac[--frac_len] != '0')
            return -EINVAL;
    if (whole_len + scale <= 18) { /* nothing can overflow */
        for (size_t i = 0; i < whole_len; i++)
            v = v * 10 + (uint64_t)(p[i] - '0');
        for (size_t i = 0; i < frac_len; i++)
            v = v * 10 + (uint64_t)(frac[i] - '0');
        v *= power10[scale - frac_len];
    } else if (append_digits(p, whole_len, &v) || append_digits(frac, frac_len, &v) ||
               append_digits("000000000000000000", scale - frac_len, &v) || v > INT64_MAX) {
        return -ERANGE;
    }
    *out = negative ? -(int64_t)v : (int64_t)v;
    return 0;
}

static bool is_f64(const char *p)
{
    p += *p == '-';
    size_t whole = count_digits(p, strlen(p));
    p += whole;
    if (*p == '.') {
        size_t frac = count_digits(p + 1, strlen(p + 1));
        if (whole + frac == 0)
            return false;
        p += 1 + frac;
    } else if (whole == 0) {
        return false;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '-' || *p == '+';
        size_t digits = count_digits(p, strlen(p));
        if (digits == 0)
            return false;
        p += digits;
    }
    return *p == '\0';
}

int units_parse_f64(const char *text, double *out)
{
    if (!is_f64(text))
        return -EINVAL;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return -ENOMEM;
    double v = strtod_l(text, NULL, c);
    freelocale(c);
    if (!isfinite(v))
        return -ERANGE;
    *out = v;
    return 0;
}

int units_parse_share(const char *text, double *out)
{
    char number[32];
    size_t len = strlen(text);
    if (len == 0 || text[len - 1] != '%' || len > sizeof(number))
        return units_parse_f64(text, out);
    memcpy(number, text, len - 1);
    number[len - 1] = '\0';
    int rc = units_parse_f64(number, out);
    if (rc == 0)
        *out /= 100;
    return rc;
}

/* ---- numbers with units ---- */

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"K", UINT64_C(1) << 10},
    {"M", UINT64_C(1) << 20},
    {"G", UINT64_C(1) << 30},
    {"T", UINT64_C(1) << 40},
    {"P", UINT64_C(1) << 50},
    {"E", UINT64_C(1) << 60},
    {"k", UINT64_C(1) << 10},
    {"m", UINT64_C(1) << 20},
    {"g", UINT64_C(1) << 30},
    {"t", UINT64_C(1) << 40},
    {"p", UINT64_C(1) << 50},
    {"KiB", UINT64_C(1) << 10},
    {"MiB", UINT64_C(1) << 20},
    {"GiB", UINT64_C(1) << 30},
    {"TiB", UINT64_C(1) << 40},
    {"PiB", UINT64_C(1) << 50},
    {"EiB", UINT64_C(1) << 60},
    {"kB", UINT64_C(1000)},
    {"KB", UINT64_C(1000)},
    {"MB", UINT64_C(1000000)},
    {"GB", UINT64_C(1000000000)},
    {"TB", UINT64_C(1000000000000)},
    {"PB", UINT64_C(1000000000000000)},
    {"EB", UINT64_C(1000000000000000000)},
    {NULL, 0},
};

static const struct unit duration_units[] = {
    {"", UINT64_C(1000000000)},
    {"ns", 1},
    {"us", UINT64_C(1000)},
    {"ms", UINT64_C(1000000)},
    {"s", UINT64_C(1000000000)},
    {"m", UINT64_C(60000000000)},
    {"h", UINT64_C(3600000000000)},
    {"d", UINT64_C(86400000000000)},
    {NULL, 0},
};

/* Parses a decimal and a unit of the table: digits[.digits] x factor, rounded half up. 18 digits of
 * the fraction count: the rest is under a millionth of the result's unit for any factor of the
 * tables. */
static int parse_with_unit(const char *text, size_t len, const struct unit *units, uint64_t *out)
{
    size_t number_len = 0, whole_len, frac_len;
    uint64_t whole = 0, frac = 0;

    while (number_len < len && (is_digit(text[number_len]) || text[number_len] == '.'))
        number_len++;
    if (!split_decimal(text, number_len, &whole_len, &frac_len))
        return -EINVAL;
    while (units->name && (strlen(units->name) != len - number_len ||
                           memcmp(units->name, text + number_len, len - number_len) != 0))
        units++;
    if (!units->name)
        return -EINVAL;

    size_t used = frac_len < MAX_SCALE ? frac_len : MAX_SCALE;
    if (append_digits(text, whole_len, &whole) ||
        append_digits(text + whole_len + (frac_len > 0), used, &frac))
        return -ERANGE;
    unsigned __int128 part = (unsigned __int128)frac * units->factor;
    part = (part + power10[used] / 2) / power10[used];
    if (units_mul(whole, units->factor, &whole) || units_add(whole, (uint64_t)part, &whole))
        return -ERANGE;
    *out = whole;
    return 0;
}

int units_parse_size(const char *text, uint64_t *bytes)
{
    return parse_with_unit(text, strlen(text), size_units, bytes);
}

int units_parse_bandwidth(const char *text, uint64_t *bytes_per_s)
{
    size_t len = strlen(text);
    if (len > 0 && is_digit(text[len - 1])) /* bytes a second are never meant */
        return -EINVAL;
    if (len > 2 && strcmp(text + len - 2, "/s") == 0)
        len -= 2;
    return parse_with_unit(text, len, size_units, bytes_per_s);
}

int units_parse_duration(const char *text, int64_t *ns)
{
    uint64_t v;
    int rc = parse_with_unit(text, strlen(text), duration_units, &v);
    if (rc)
        return rc;
    if (v > INT64_MAX)
        return -ERANGE;
    *ns = (int64_t)v;
    return 0;
}

/* ---- writing, exact ---- */

size_t units_put_u64(char *buf, uint64_t v)
{
    char tmp[20];
    size_t n = sizeof(tmp);
    do {
        tmp[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    memcpy(buf, tmp + n, sizeof(tmp) - n);
    return sizeof(tmp) - n;
}

size_t units_put_decimal(char *buf, int64_t value, unsigned scale, unsigned min_places)
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t frac = magnitude % power10[scale];
    unsigned places = scale;
    size_t n = 0;
    if (value < 0)
        buf[n++] = '-';
    n += units_put_u64(buf + n, magnitude / power10[scale]);
    while (places > min_places && frac % 10 == 0) {
        frac /= 10;
        places--;
    }
    if (places == 0)
        return n;
    buf[n] = '.';
    for (size_t i = places; i > 0; i--, frac /= 10)
        buf[n + i] = (char)('0' + frac % 10);
    return n + 1 + places;
}

/* ---- writing, for people ---- */

/* v with the given places and a unit. Not %f, which prints the locale's decimal point. */
static char *put_scaled(char *buf, size_t n, double v, unsigned places, const char *unit)
{
    char digits[25];
    double scaled = v * (double)power10[places];
    int64_t fixed = scaled >= 9e18 ? INT64_MAX : scaled <= -9e18 ? -INT64_MAX : llround(scaled);
    digits[units_put_decimal(digits, fixed, places, places)] = '\0';
    snprintf(buf, n, "%s %s", digits, unit);
    return buf;
}

char *units_format_bytes(char *buf, size_t n, double bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t i = 0;
    if (isnan(bytes))
        return snprintf(buf, n, "?"), buf;
    /* A value that would show as 1024.00 moves to the next unit. */
    for (; i < 6 && fabs(bytes) >= (i ? 1023.995 : 1023.5); i++)
        bytes /= 1024;
    return put_scaled(buf, n, bytes, i ? 2 : 0, names[i]);
}

char *units_format_rate(char *buf, size_t n, double bytes_per_s)
{
    units_format_bytes(buf, n, bytes_per_s);
    size_t len = strlen(buf);
    snprintf(buf + len, n - len, "/s");
    return buf;
}

/* Three significant digits: "1.23 us", "12.3 us", "123 us". */
static char *put_three(char *buf, size_t n, double v, const char *unit)
{
    double a = fabs(v);
    return put_scaled(buf, n, v, a < 9.995 ? 2 : a < 99.95 ? 1 : 0, unit);
}

char *units_format_size(char *buf, size_t n, uint64_t bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    size_t i = 0;
    for (; i < 6 && v >= 999.5; i++)
        v /= 1024;
    return i == 0 ? put_scaled(buf, n, v, 0, names[0]) : put_three(buf, n, v, names[i]);
}

static char *put_long(char *buf, size_t n, double s)
{
    double whole = s < 9e15 ? s : 9e15;
    uint64_t seconds = (uint64_t)llround(whole);
    if (seconds < 3600)
        snprintf(buf, n, "%u min %02u s", (unsigned)(seconds / 60), (unsigned)(seconds % 60));
    else
        snprintf(buf, n, "%llu h %02u min", (unsigned long long)(seconds / 3600),
                 (unsigned)(seconds / 60 % 60));
    return buf;
}

char *units_format_duration(char *buf, size_t n, double ns)
{
    double a = fabs(ns);
    if (isnan(ns))
        return snprintf(buf, n, "?"), buf;
    if (a < 999.5)
        return put_scaled(buf, n, ns, 0, "ns");
    if (a < 999.5e3)
        return put_three(buf, n, ns / 1e3, "us");
    if (a < 999.5e6)
        return put_three(buf, n, ns / 1e6, "ms");
    if (a < 59.95e9)
        return put_three(buf, n, ns / 1e9, "s");
    if (ns > 0)
        return put_long(buf, n, ns / 1e9);
    buf[0] = '-';
    put_long(buf + 1, n - 1, -ns / 1e9);
    return buf;
}

char *units_format_count(char *buf, size_t n, uint64_t count)
{
    char digits[20];
    size_t len = units_put_u64(digits, count), w = 0;
    for (size_t i = 0; i < len && w + 2 < n; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            buf[w++] = ',';
        buf[w++] = digits[i];
    }
    buf[w] = '\0';
    return buf;
}

const char *units_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}
