/* Turns ISO 8601 times into nanoseconds and back, for the sources, imports and exports whose files
 * have times of day. */
#include "lib/log/iso_time.h"

#include <errno.h>
#include <stdbool.h>

#include "lib/base/units.h"

/* The part of the text that is not read yet. */
struct text {
    const char *p;
    size_t len;
};

static bool take_char(struct text *t, char c)
{
    if (t->len == 0 || *t->p != c)
        return false;
    t->p++;
    t->len--;
    return true;
}

/* Takes exactly n digits that make a number from lo to hi. */
static bool take_number(struct text *t, size_t n, int64_t lo, int64_t hi, int64_t *out)
{
    uint64_t v;
    if (t->len < n || units_parse_digits(t->p, n, &v) < 0 || (int64_t)v < lo || (int64_t)v > hi)
        return false;
    t->p += n;
    t->len -= n;
    *out = (int64_t)v;
    return true;
}

static bool take_date(struct text *t, int64_t *days)
{
    int64_t y, m, d;
    if (!take_number(t, 4, 1970, 2199, &y) || !take_char(t, '-') || !take_number(t, 2, 1, 12, &m) ||
        !take_char(t, '-'))
        return false;
    bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    int64_t length = m == 2 ? 28 + leap : 30 + (m + m / 8) % 2;
    if (!take_number(t, 2, 1, length, &d))
        return false;
    int64_t a = (m - 14) / 12; /* -1 in January and February: the year begins in March */
    *days = 1461 * (y + 4800 + a) / 4 + 367 * (m - 2 - 12 * a) / 12 -
            3 * ((y + 4900 + a) / 100) / 4 + d - 32075 - 2440588;
    return true;
}

/* Takes a time of day with up to 9 decimals. */
static bool take_clock(struct text *t, int64_t *s, int64_t *ns)
{
    int64_t hour, minute, second, digit, place = UNITS_NS_PER_S;
    if (!take_number(t, 2, 0, 23, &hour) || !take_char(t, ':') ||
        !take_number(t, 2, 0, 59, &minute) || !take_char(t, ':') ||
        !take_number(t, 2, 0, 60, &second))
        return false;
    *s = (hour * 60 + minute) * 60 + second;
    *ns = 0;
    if (!take_char(t, '.'))
        return true;
    while (take_number(t, 1, 0, 9, &digit)) {
        place /= 10;
        if (place == 0)
            return false;
        *ns += digit * place;
    }
    return place < UNITS_NS_PER_S;
}

/* Takes a zone: *s is the number of seconds that it is ahead of UTC. */
static bool take_zone(struct text *t, int64_t *s)
{
    int64_t hours, minutes;
    *s = 0;
    if (t->len == 0 || take_char(t, 'Z'))
        return true;
    bool west = take_char(t, '-');
    if (!west && !take_char(t, '+'))
        return false;
    if (!take_number(t, 2, 0, 23, &hours))
        return false;
    take_char(t, ':');
    if (!take_number(t, 2, 0, 59, &minutes))
        return false;
    *s = (hours * 60 + minutes) * (west ? -60 : 60);
    return true;
}

int iso_time_parse(const char *text, size_t len, int64_t *ns)
{
    struct text t = {text, len};
    int64_t days, second, fraction, zone;
    if (!take_date(&t, &days) || (!take_char(&t, ' ') && !take_char(&t, 'T')) ||
        !take_clock(&t, &second, &fraction) || !take_zone(&t, &zone) || t.len != 0)
        return -EINVAL;
    *ns = (days * 86400 + second - zone) * UNITS_NS_PER_S + fraction;
    return 0;
}

/* Writes v with that many digits, and a character behind them. */
static char *put_part(char *p, int64_t v, int digits, char behind)
{
    for (int i = digits - 1; i >= 0; i--, v /= 10)
        p[i] = (char)('0' + v % 10);
    p[digits] = behind;
    return p + digits + 1;
}

size_t iso_time_put(char *buf, int64_t ns)
{
    int64_t seconds = ns / UNITS_NS_PER_S;

    /* The names of the paper. */
    int64_t l = seconds / 86400 + 2440588 + 68569;
    int64_t n = 4 * l / 146097;
    l -= (146097 * n + 3) / 4;
    int64_t i = 4000 * (l + 1) / 1461001;
    l -= 1461 * i / 4 - 31;
    int64_t j = 80 * l / 2447;
    int64_t day = l - 2447 * j / 80;
    l = j / 11;
    char *p = put_part(buf, 100 * (n - 49) + i + l, 4, '-');
    p = put_part(p, j + 2 - 12 * l, 2, '-');
    p = put_part(p, day, 2, 'T');

    p = put_part(p, seconds / 3600 % 24, 2, ':');
    p = put_part(p, seconds / 60 % 60, 2, ':');
    p = put_part(p, seconds % 60, 2, '.');
    put_part(p, ns % UNITS_NS_PER_S, 9, 'Z');
    return ISO_TIME_LEN;
}
