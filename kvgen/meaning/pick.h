/* pick.h - takes the fields of recorded JSON by tables: the path of each, what it must be, and the
 * member of a struct that it becomes. */
#ifndef KVGEN_MEANING_PICK_H
#define KVGEN_MEANING_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/json/jsonin.h"

/* What a field must be, and the type that it becomes. */
enum pick_as {
    PICK_BOOL,         /* bool; another value is as if it were missing */
    PICK_I64,          /* int64_t, as are those that follow: */
    PICK_RANK,         /* from 0 to 2^32 - 1 */
    PICK_TOKENS,       /* of a request */
    PICK_BLOCK_TOKENS, /* of a block */
    PICK_NS,           /* a time since 1970 */
    PICK_MS,           /* likewise; in ms */
    PICK_DELAY_US,     /* a time from 0 to 31 years, in ns */
    PICK_U64,          /* uint64_t */
    PICK_BYTES,        /* uint64_t */
    PICK_U32,          /* uint32_t: a number of tokens */
    PICK_HASH,         /* struct hash128, as hash_hex writes it */
    PICK_HASH_64,      /* uint64_t: 16 hexadecimal digits */
    PICK_KINDS
};

/* A field. One that is missing leaves its member as it is, unless it must be there. */
struct pick {
    const char *path, *other; /* as in jsonin_get; other: another path of it, or NULL */
    enum pick_as as;
    bool must;
    size_t to; /* offset of the member */
};

/* What is wrong: the name of the field, and words that follow it. */
struct pick_bad {
    const char *name, *what;
};

/* Takes n fields of v to the struct at to. 0, or -EINVAL with *bad: one is not what it must be. */
int pick(const struct pick *p, size_t n, const struct jsonin_v *v, void *to, struct pick_bad *bad);
/* Takes one value. NULL, or what is said of it: it is not what it must be. */
const char *pick_value(enum pick_as as, const struct jsonin_v *v, void *to);
/* Likewise a time in another unit of so many ns. */
const char *pick_delay(const struct jsonin_v *v, double unit_ns, int64_t *ns);

#endif
