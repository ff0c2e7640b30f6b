/* same.h - compares the short names of members, of which the readers of recordings meet millions.
 */
#ifndef KVGEN_RECORD_SAME_H
#define KVGEN_RECORD_SAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Whether n bytes are the same. No call: what is left of the last word is compared by a word that
 * begins earlier. */
static inline bool same(const char *a, const char *b, size_t n)
{
    uint64_t x, y;
    uint32_t u, v;
    size_t at = 0;
    if (n < sizeof(u))
        return memcmp(a, b, n) == 0;
    if (n < sizeof(x)) {
        memcpy(&u, a, sizeof(u));
        memcpy(&v, b, sizeof(v));
        uint32_t differs = u ^ v;
        memcpy(&u, a + n - sizeof(u), sizeof(u));
        memcpy(&v, b + n - sizeof(v), sizeof(v));
        return (differs | (u ^ v)) == 0;
    }
    for (;;) {
        memcpy(&x, a + at, sizeof(x));
        memcpy(&y, b + at, sizeof(y));
        if (x != y)
            return false;
        if (at + sizeof(x) >= n)
            return true;
        at = at + 2 * sizeof(x) <= n ? at + sizeof(x) : n - sizeof(x);
    }
}

#endif
