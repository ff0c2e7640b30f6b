/* block_line.h - one line of a block-hash trace, read without building a tree: a flat JSON object
 * of whole numbers, decimal fractions, plain ASCII strings and lists of block ids. It takes less
 * than JSON does. Any other line (escapes, nesting, exponents, null, a name twice, damage) is left
 * to lib/json/jsonin.h. For the lines taken here, jsonin gives the same values. */
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
    int64_t whole;       /* of BLOCK_LINE_WHOLE */
    double fraction;     /* of BLOCK_LINE_FRACTION */
    size_t first, count; /* of BLOCK_LINE_IDS: id[first..first + count) */
};

/* Zero it first, then use it for line after line. */
struct block_line {
    struct block_line_member member[BLOCK_LINE_MEMBERS];
    size_t members;
    uint64_t *id;
    size_t ids, cap;
};

/* Reads text[0..len), which must stay in place as long as the members are used. 1: done; 0: the
 * line is left to jsonin; -ENOMEM. */
int block_line_scan(struct block_line *l, const char *text, size_t len);
void block_line_free(struct block_line *l);

/* The member with that name; NULL: there is none. */
const struct block_line_member *block_line_get(const struct block_line *l, const char *name);
/* The value of a member, as jsonin_i64 and jsonin_f64 read it. -EINVAL: m is NULL or of another
 * kind, or the value does not fit. */
int block_line_i64(const struct block_line_member *m, int64_t *out);
int block_line_f64(const struct block_line_member *m, double *out);

/* The id of a hash in hexadecimal, with or without 0x in front. A hash of more than 64 bits is
 * hashed again. 0 or -EINVAL. */
int block_line_hash(const char *text, size_t len, uint64_t *id);

#endif
