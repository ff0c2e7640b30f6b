/* block_line.c - the lines of block-hash traces, from the bytes of a line to numbers and block ids.
 * blocks.c asks here first, since a tree of each line would cost more than the simulation
 * of its requests. */
#include "kvgen/source/block_line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

enum {
    WHOLE_DIGITS = 18,    /* always fit an int64_t */
    FRACTION_DIGITS = 15, /* exact as a double, and so is the power of ten: one rounding */
    ID_DIGITS = 19        /* always fit a uint64_t; one more may */
};

struct at {
    const char *p, *end;
};

static char peek(const struct at *a)
{
    return a->p < a->end ? *a->p : '\0';
}

static char after_space(struct at *a)
{
    while (peek(a) == ' ' || peek(a) == '\t' || peek(a) == '\r')
        a->p++;
    return peek(a);
}

static bool take(struct at *a, char c)
{
    bool is = after_space(a) == c;
    a->p += is;
    return is;
}

static unsigned digit(const struct at *a)
{
    return (unsigned)(unsigned char)peek(a) - '0';
}

/* At most max digits: how many there were. */
static int scan_digits(struct at *a, int max, uint64_t *n)
{
    int count = 0;
    for (unsigned d; count < max && (d = digit(a)) <= 9; count++, a->p++)
        *n = *n * 10 + d;
    return count;
}

/* Digits without a needless zero in front: how many, or 0. */
static int scan_whole(struct at *a, int max, uint64_t *n)
{
    const char *first = a->p;
    int count = scan_digits(a, max, n);
    return count > 1 && *first == '0' ? 0 : count;
}

/* Plain ASCII between quotes; the opening one is behind us. */
static bool scan_text(struct at *a, const char **text, size_t *len)
{
    *text = a->p;
    /* Signed: bytes beyond ASCII are negative, also where char is unsigned. */
    while (a->p < a->end && (signed char)*a->p >= ' ' && *a->p != '"' && *a->p != '\\')
        a->p++;
    *len = (size_t)(a->p - *text);
    if (peek(a) != '"')
        return false;
    a->p++;
    return true;
}

static bool scan_number(struct at *a, struct block_line_member *m)
{
    static const double power[FRACTION_DIGITS + 1] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    uint64_t n = 0;
    bool minus = peek(a) == '-';
    a->p += minus;
    int whole = scan_whole(a, WHOLE_DIGITS, &n);
    if (whole == 0)
        return false;
    if (peek(a) != '.') {
        m->kind = BLOCK_LINE_WHOLE;
        m->whole = minus ? -(int64_t)n : (int64_t)n;
        return !(minus && n == 0);
    }
    a->p++;
    int decimals = scan_digits(a, FRACTION_DIGITS + 1, &n);
    if (decimals == 0 || whole + decimals > FRACTION_DIGITS)
        return false;
    m->kind = BLOCK_LINE_FRACTION;
    m->fraction = (minus ? -(double)n : (double)n) / power[decimals];
    return true;
}

static bool scan_id(struct at *a, uint64_t *id)
{
    *id = 0;
    int count = scan_whole(a, ID_DIGITS, id);
    unsigned d = digit(a);
    if (count < ID_DIGITS || d > 9)
        return count > 0;
    a->p++;
    return !__builtin_mul_overflow(*id, 10, id) && !__builtin_add_overflow(*id, d, id) &&
           *id != UINT64_MAX;
}

static bool scan_hash(struct at *a, uint64_t *id)
{
    const char *text;
    size_t len;
    a->p++;
    return scan_text(a, &text, &len) && block_line_hash(text, len, id) == 0;
}

static int room(struct block_line *l)
{
    if (l->ids < l->cap)
        return 0;
    size_t cap = l->cap > 0 ? l->cap * 2 : 256;
    uint64_t *id = realloc(l->id, cap * sizeof *id);
    if (id == NULL)
        return -ENOMEM;
    l->id = id;
    l->cap = cap;
    return 0;
}

/* A list; the opening bracket is behind us. 1, 0, -ENOMEM. */
static int scan_ids(struct block_line *l, struct at *a, struct block_line_member *m)
{
    m->kind = BLOCK_LINE_IDS;
    m->first = l->ids;
    if (take(a, ']'))
        return 1;
    do {
        if (room(l) < 0)
            return -ENOMEM;
        if (!(after_space(a) == '"' ? scan_hash(a, &l->id[l->ids]) : scan_id(a, &l->id[l->ids])))
            return 0;
        l->ids++;
    } while (take(a, ','));
    m->count = l->ids - m->first;
    return take(a, ']');
}

static int scan_value(struct block_line *l, struct at *a, struct block_line_member *m)
{
    const char *text;
    size_t len;
    if (take(a, '['))
        return scan_ids(l, a, m);
    if (peek(a) != '"')
        return scan_number(a, m);
    a->p++;
    m->kind = BLOCK_LINE_TEXT;
    return scan_text(a, &text, &len);
}

static bool is_new(const struct block_line *l, const struct block_line_member *m)
{
    for (size_t i = 0; i < l->members; i++)
        if (l->member[i].name_len == m->name_len &&
            memcmp(l->member[i].name, m->name, m->name_len) == 0)
            return false;
    return true;
}

static int scan_member(struct block_line *l, struct at *a)
{
    struct block_line_member *m = &l->member[l->members];
    if (l->members == BLOCK_LINE_MEMBERS || !take(a, '"'))
        return 0;
    *m = (struct block_line_member){0};
    if (!scan_text(a, &m->name, &m->name_len) || !is_new(l, m) || !take(a, ':'))
        return 0;
    int rc = scan_value(l, a, m);
    l->members += rc > 0;
    return rc;
}

int block_line_scan(struct block_line *l, const char *text, size_t len)
{
    struct at a = {text, text + len};
    l->members = l->ids = 0;
    if (!take(&a, '{'))
        return 0;
    do {
        int rc = scan_member(l, &a);
        if (rc <= 0)
            return rc;
    } while (take(&a, ','));
    if (!take(&a, '}'))
        return 0;
    after_space(&a);
    return a.p == a.end;
}

void block_line_free(struct block_line *l)
{
    free(l->id);
    *l = (struct block_line){0};
}

const struct block_line_member *block_line_get(const struct block_line *l, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < l->members; i++)
        if (l->member[i].name_len == len && memcmp(l->member[i].name, name, len) == 0)
            return &l->member[i];
    return NULL;
}

/* Fractions have at most 15 digits, so those that are whole are exact. */
int block_line_i64(const struct block_line_member *m, int64_t *out)
{
    if (m == NULL || m->kind > BLOCK_LINE_FRACTION)
        return -EINVAL;
    int64_t n = m->kind == BLOCK_LINE_WHOLE ? m->whole : (int64_t)m->fraction;
    if (m->kind == BLOCK_LINE_FRACTION && (double)n != m->fraction)
        return -EINVAL;
    *out = n;
    return 0;
}

int block_line_f64(const struct block_line_member *m, double *out)
{
    if (m == NULL || m->kind > BLOCK_LINE_FRACTION)
        return -EINVAL;
    *out = m->kind == BLOCK_LINE_WHOLE ? (double)m->whole : m->fraction;
    return 0;
}

int block_line_hash(const char *text, size_t len, uint64_t *id)
{
    if (len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        text += 2;
        len -= 2;
    }
    uint64_t n = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned c = (unsigned char)text[i], lower = c | 0x20;
        if (!(c >= '0' && c <= '9') && !(lower >= 'a' && lower <= 'f'))
            return -EINVAL;
        n = n << 4 | (c <= '9' ? c - '0' : lower - 'a' + 10);
    }
    *id = len <= 16 ? n : hash_64(text, len);
    return len > 0 ? 0 : -EINVAL;
}
