/* Reads the lines of block-hash traces from bytes to numbers and block ids. blocks.c asks here
 * first, because a tree of each line would cost more than the simulation of its request. Kept fast:
 * nothing is allocated once the list of ids is large enough. */
#include "kvgen/source/block_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/scan.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"

static bool read_number(struct scan *s, struct block_line_member *m)
{
    struct scan_number n;
    if (!scan_number(s, &n))
        return false;
    if (n.decimals > 0) {
        m->kind = BLOCK_LINE_FRACTION;
        return scan_double(&n, &m->fraction);
    }
    m->kind = BLOCK_LINE_WHOLE;
    m->whole = n.minus ? -(int64_t)n.digits : (int64_t)n.digits;
    return true;
}

/* A list, whose opening bracket was taken: 1; 0: left to jsonin; -ENOMEM. */
static int read_ids(struct block_line *l, struct scan *s, struct block_line_member *m)
{
    m->kind = BLOCK_LINE_IDS;
    m->first = l->ids;
    if (scan_take(s, ']'))
        return 1;
    do {
        uint64_t *id = memory_grow(l->id, &l->cap, l->ids, sizeof(*id), 256);
        if (!id)
            return -ENOMEM;
        l->id = id;
        id += l->ids;
        if (scan_space(s) == '"') {
            const char *hash;
            size_t len;
            if (!scan_text(s, &hash, &len) || block_line_hash(hash, len, id) < 0)
                return 0;
        } else if (!scan_u64(s, id) || *id == UINT64_MAX) {
            return 0;
        }
        l->ids++;
    } while (scan_take(s, ','));
    m->count = l->ids - m->first;
    return scan_take(s, ']');
}

static const struct block_line_member *find(const struct block_line *l, const char *name,
                                            size_t len)
{
    for (size_t i = 0; i < l->members; i++)
        if (l->member[i].name_len == len && memcmp(l->member[i].name, name, len) == 0)
            return &l->member[i];
    return NULL;
}

static int read_member(struct block_line *l, struct scan *s)
{
    struct block_line_member *m = &l->member[l->members];
    if (l->members == BLOCK_LINE_MEMBERS || scan_space(s) != '"')
        return 0;
    *m = (struct block_line_member){0};
    if (!scan_text(s, &m->name, &m->name_len) || find(l, m->name, m->name_len) ||
        !scan_take(s, ':'))
        return 0;
    int rc;
    if (scan_take(s, '[')) {
        rc = read_ids(l, s, m);
    } else if (scan_peek(s) == '"') {
        const char *text;
        size_t len;
        m->kind = BLOCK_LINE_TEXT;
        rc = scan_text(s, &text, &len);
    } else {
        rc = read_number(s, m);
    }
    l->members += rc > 0;
    return rc;
}

int block_line_scan(struct block_line *l, const char *text, size_t len)
{
    struct scan s = {text, text + len};
    l->members = l->ids = 0;
    if (!scan_take(&s, '{'))
        return 0;
    do {
        int rc = read_member(l, &s);
        if (rc <= 0)
            return rc;
    } while (scan_take(&s, ','));
    if (!scan_take(&s, '}'))
        return 0;
    scan_space(&s);
    return s.at == s.end;
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

/* A fraction whose value is whole is exact (scan_double). */
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
