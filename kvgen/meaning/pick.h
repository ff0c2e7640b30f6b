/* pick.h - reads the fields of recorded JSON by a table. A row has the path of a field, says what
 * it must be, and names the member of a struct that gets its value. */
#ifndef KVGEN_MEANING_PICK_H
#define KVGEN_MEANING_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/json/jsonin.h"

/* What a field must be, and the type that it becomes. */
enum pick_as {
    PICK_BOOL,         /* bool; any other value counts as missing */
    PICK_I64,          /* int64_t, as are the next six: */
    PICK_RANK,         /* from 0 to 2^32 - 1 */
    PICK_TOKENS,       /* of a request */
    PICK_BLOCK_TOKENS, /* of a block */
    PICK_NS,           /* a time since 1970 */
    PICK_MS,           /* the same, in ms */
    PICK_DELAY_US,     /* a time from 0 to 31 years, in ns */
    PICK_U64,          /* uint64_t */
    PICK_BYTES,        /* uint64_t */
    PICK_U32,          /* uint32_t: a number of tokens */
    PICK_HASH,         /* struct hash128, as hash_hex writes it */
    PICK_HASH_64,      /* uint64_t: 16 hexadecimal digits */
    PICK_KINDS
};

/* A field. If it is missing, its member stays as it is; with must, that is an error. */
struct pick {
    const char *path, *other; /* as in jsonin_get; other: a second path, or NULL */
    enum pick_as as;
    bool must;
    size_t to; /* offset of the member */
};

/* An error: the name of the field, and the words that follow the name. */
struct pick_bad {
    const char *name, *what;
};

/* Stores n fields of v in the struct at to. 0, or -EINVAL with *bad: a field is wrong. */
int pick(const struct pick *p, size_t n, const struct jsonin_v *v, void *to, struct pick_bad *bad);
/* Stores one value. NULL, or the words of the error: the value is wrong. */
const char *pick_value(enum pick_as as, const struct jsonin_v *v, void *to);
/* The same for a time whose unit is unit_ns. */
const char *pick_delay(const struct jsonin_v *v, double unit_ns, int64_t *ns);

#endif
