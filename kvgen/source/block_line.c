/* Reads the lines of block-hash traces from bytes to numbers and block ids. blocks.c asks here
 * first, because a tree of each line would cost more than the simulation of its request. Kept fast:
 * nothing is allocated once the list of ids is large enough. */
#include "kvgen/source/block_line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

enum {
    WHOLE_DIGITS = 18,    /* always fit an int64_t */
    FRACTION_DIGITS = 15, /* exact in a double, as is the power of ten: rounded only once */
    ID_DIGITS = 19        /* always fit a uint64_t; one digit more may fit */
};

/* What is left of the line. */
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

/* Appends at most max digits to *n; returns how many there were. */
static int scan_digits(struct at *a, int max, uint64_t *n)
{
    int count = 0;
    for (unsigned d; count < max && (d = digit(a)) <= 9; count++, a->p++)
        *n = *n * 10 + d;
    return count;
}

/* The same; 0 also for a needless zero in front. */
static int scan_whole(struct at *a, int max, uint64_t *n)
{
    const char *first = a->p;
    int count = scan_digits(a, max, n);
    return count > 1 && *first == '0' ? 0 : count;
}

/* Plain ASCII up to the closing quote. The opening one was taken. */
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

/* A list, whose opening bracket was taken: 1; 0: left to jsonin; -ENOMEM. */
static int scan_ids(struct block_line *l, struct at *a, struct block_line_member *m)
{
    m->kind = BLOCK_LINE_IDS;
    m->first = l->ids;
    if (take(a, ']'))
        return 1;
    do {
        if (l->ids == l->cap) {
            size_t cap = l->cap > 0 ? l->cap * 2 : 256;
            uint64_t *id = realloc(l->id, cap * sizeof(*id));
            if (!id)
                return -ENOMEM;
            l->id = id;
            l->cap = cap;
        }
        uint64_t *id = &l->id[l->ids];
        if (after_space(a) == '"') {
            const char *hash;
            size_t len;
            a->p++;
            if (!scan_text(a, &hash, &len) || block_line_hash(hash, len, id) < 0)
                return 0;
        } else if (!scan_id(a, id)) {
            return 0;
        }
        l->ids++;
    } while (take(a, ','));
    m->count = l->ids - m->first;
    return take(a, ']');
}

static const struct block_line_member *find(const struct block_line *l, const char *name,
                                            size_t len)
{
    for (size_t i = 0; i < l->members; i++)
        if (l->member[i].name_len == len && memcmp(l->member[i].name, name, len) == 0)
            return &l->member[i];
    return NULL;
}

static int scan_member(struct block_line *l, struct at *a)
{
    struct block_line_member *m = &l->member[l->members];
    if (l->members == BLOCK_LINE_MEMBERS || !take(a, '"'))
        return 0;
    *m = (struct block_line_member){0};
    if (!scan_text(a, &m->name, &m->name_len) || find(l, m->name, m->name_len) || !take(a, ':'))
        return 0;
    int rc;
    if (take(a, '[')) {
        rc = scan_ids(l, a, m);
    } else if (peek(a) == '"') {
        const char *text;
        size_t len;
        a->p++;
        m->kind = BLOCK_LINE_TEXT;
        rc = scan_text(a, &text, &len);
    } else {
        rc = scan_number(a, m);
    }
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
    return find(l, name, strlen(name));
}

/* A fraction has at most 15 digits, so its value is exact if it is whole. */
int block_line_i64(const struct block_line_member *m, int64_t *out)
{
    if (!m || m->kind > BLOCK_LINE_FRACTION)
        return -EINVAL;
    int64_t n = m->kind == BLOCK_LINE_WHOLE ? m->whole : (int64_t)m->fraction;
    if (m->kind == BLOCK_LINE_FRACTION && (double)n != m->fraction)
        return -EINVAL;
    *out = n;
    return 0;
}

int block_line_f64(const struct block_line_member *m, double *out)
{
    if (!m || m->kind > BLOCK_LINE_FRACTION)
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
