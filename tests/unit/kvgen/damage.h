/* damage.h - breaks a line of JSON, for tests that compare two readers of it. */
#ifndef TESTS_UNIT_KVGEN_DAMAGE_H
#define TESTS_UNIT_KVGEN_DAMAGE_H

#include <string.h>

#include "kvgen/rng.h"

/* A byte changed or left out, or the end cut off. Returns the new length. */
static inline size_t damage(struct rng *r, char *text, size_t len)
{
    static const char bytes[] = "{}[]\",:.-+eE0159 \t\r\\/xXaN\x01\x7f\x80";
    size_t at = (size_t)rng_below(r, len);
    switch (rng_below(r, 3)) {
    case 0:
        text[at] = bytes[rng_below(r, sizeof bytes)];
        return len;
    case 1:
        memmove(text + at, text + at + 1, len - at - 1);
        return len - 1;
    default:
        return at;
    }
}

#endif
