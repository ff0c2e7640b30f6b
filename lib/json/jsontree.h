/* The tree of one JSON text (RFC 8259), for jsonin.c: 16 bytes for each value and name, elements
 * side by side, so that every element is reached at once. Nothing is allocated for a value: how
 * many there can be is counted before, and so is the memory, against a limit. */
#ifndef KVTRACE_JSON_JSONTREE_H
#define KVTRACE_JSON_JSONTREE_H

#include <stddef.h>
#include <stdint.h>

enum jsontree_type {
    JSONTREE_NULL,
    JSONTREE_BOOL,
    JSONTREE_I64, /* a whole number that fits, */
    JSONTREE_U64, /* or fits only this, */
    JSONTREE_F64, /* or neither; or any other number, also NaN, Infinity and -Infinity */
    JSONTREE_TEXT,
    JSONTREE_ARRAY,
    JSONTREE_OBJECT
};

/* A value. count: bytes of a text, elements of an array, members of an object. */
struct jsonin_v {
    uint32_t type; /* enum jsontree_type; of a bool, its value is in i64 */
    uint32_t count;
    union {
        int64_t i64;
        uint64_t u64;
        const char *text;          /* NUL-terminated; of JSONTREE_F64 the number */
        const struct jsonin_v *in; /* elements; of an object: name, value, name, value, ... */
    };
};

/* Zero it. The memory serves one text after another. */
struct jsontree {
    struct jsonin_v *node, *stack;
    char *chars;
    size_t nodes_cap, chars_cap;
    /* of the text being parsed */
    size_t nodes, open;
    char *put; /* where the next text goes */
    const char *at, *end;
    const char *why; /* what is wrong at `at` */
};

enum {
    JSONTREE_DEPTH = 64
};

/* Parses exactly one value in text[0..len) into t, which lends it until the next call. 0 with *v;
 * -EINVAL: t->why says what is wrong, at t->at; -ENOMEM; -EFBIG: it may take more than max_bytes of
 * memory. */
int jsontree_parse(struct jsontree *t, const char *text, size_t len, size_t max_bytes,
                   const struct jsonin_v **v);
/* The number of a JSONTREE_F64. */
double jsontree_f64(const struct jsonin_v *v);
void jsontree_release(struct jsontree *t);

#endif
