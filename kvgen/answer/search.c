/* search.c - the search keeps two loads: the largest that holds and the smallest that does not.
 * Loads are tried between them, or beyond the one that is known: so every load tried up to the
 * first one holds. */
#include "kvgen/answer/search.h"

struct bounds {
    uint64_t held, failed; /* failed 0: none did */
};

static int try_load(struct bounds *b, search_try try, void *ctx, uint64_t n)
{
    bool held;
    const int rc = try(ctx, n, &held);
    if (rc == 0)
        *(held ? &b->held : &b->failed) = n;
    return rc;
}

static uint64_t scaled(uint64_t n, uint64_t by, uint64_t of)
{
    return (uint64_t)((unsigned __int128)n * by / of);
}

int search_largest(const struct search *s, search_try try, void *ctx, uint64_t *value,
                   uint64_t *failed)
{
    struct bounds b = {0};
    uint64_t n = s->start < s->most ? s->start : s->most, step = s->step_permille;
    int rc = try_load(&b, try, ctx, n);
    for (const bool up = b.held > 0; rc == 0 && (up ? !b.failed && n < s->most : !b.held && n > 1);
         step = step * step / 1000 < 2000 ? step * step / 1000 : 2000) {
        const uint64_t next = up ? scaled(n, step, 1000) : scaled(n, 1000, step);
        n = next == n ? (up ? n + 1 : n - 1) : next;
        n = n > s->most ? s->most : n ? n : 1;
        rc = try_load(&b, try, ctx, n);
    }
    while (rc == 0 && b.held && b.failed && b.failed - b.held > 1 &&
           b.failed - b.held > b.held / s->resolution)
        rc = try_load(&b, try, ctx, b.held + (b.failed - b.held) / 2);
    *value = b.held;
    *failed = b.failed;
    return rc;
}
