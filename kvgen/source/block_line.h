/* block_line.h - one line of a block-hash trace read without a tree: a flat JSON object of whole
 * numbers, decimal fractions, plain strings and lists of block ids. Stricter than JSON: anything
 * else (escapes, nesting, exponents, null, repeated names, damage) is left to lib/json/jsonin.h,
 * whose verdict and values those of the lines taken here equal. */
#ifndef KVGEN_SOURCE_BLOCK_LINE_H
#define KVGEN_SOURCE_BLOCK_LINE_H

#include <stddef.h>
#include <stdint.h>

enum {
    BLOCK_LINE_MEMBERS = 24
};

enum block_line_kind {
    BLOCK_LINE_WHOLE,
    BLOCK_LINE_FRACTION,
    BLOCK_LINE_TEXT,
    BLOCK_LINE_IDS
};

struct block_line_member {
    const char *name; /* in the line, not NUL-terminated */
    size_t name_len;
    enum block_line_kind kind;
    int64_t whole;       /* of WHOLE */
    double fraction;     /* of FRACTION */
    size_t first, count; /* of IDS: id[first..first + count) */
};

/* Begins as zeros; is used again for line after line. */
struct block_line {
    struct block_line_member member[BLOCK_LINE_MEMBERS];
    size_t members;
    uint64_t *id;
    size_t ids, cap;
};

/* 1: taken; 0: left to jsonin; -ENOMEM. */
int block_line_scan(struct block_line *l, const char *text, size_t len);
void block_line_free(struct block_line *l);

/* A member by name, NULL when there is none, and its value: 0, or -EINVAL when it is none, of
 * another kind or does not fit, as jsonin_i64 and jsonin_f64 do. */
const struct block_line_member *block_line_get(const struct block_line *l, const char *name);
int block_line_i64(const struct block_line_member *m, int64_t *out);
int block_line_f64(const struct block_line_member *m, double *out);

/* The id of a hash in hexadecimal, 0x in front or not, of which more than 64 bits are hashed again:
 * 0 or -EINVAL. */
int block_line_hash(const char *text, size_t len, uint64_t *id);

#endif
