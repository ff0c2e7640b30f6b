/* search.c - the search keeps two rungs: the largest that holds and the smallest that does not.
 * Loads are tried between them, or beyond the one that is known: so every load tried up to the
 * first one holds. */
#include "kvgen/answer/search.h"

/* Rungs are counted from 1. */
struct bounds {
    uint64_t most; /* load of the last rung */
    unsigned last;
    unsigned held, failed; /* 0: none did */
};

static uint64_t next_load(uint64_t n)
{
    return n + (n >= 2 * SEARCH_PARTS ? n / SEARCH_PARTS : 1);
}

/* The last rung of a load that is no larger. */
static unsigned rung_of(uint64_t load)
{
    unsigned rung = 1;
    for (uint64_t n = next_load(1); n <= load; n = next_load(n))
        rung++;
    return rung;
}

static uint64_t load_of(const struct bounds *b, unsigned rung)
{
    uint64_t n = 1;
    if (rung >= b->last)
        return b->most;
    for (unsigned i = 1; i < rung; i++)
        n = next_load(n);
    return n;
}

static int try_rung(struct bounds *b, search_try try, void *ctx, unsigned rung)
{
    bool held;
    const int rc = try(ctx, load_of(b, rung), &held);
    if (rc == 0)
        *(held ? &b->held : &b->failed) = rung;
    return rc;
}

int search_largest(const struct search *s, search_try try, void *ctx, uint64_t *value,
                   uint64_t *failed)
{
    struct bounds b = {.most = s->most, .last = rung_of(s->most)};
    const unsigned start = rung_of(s->start < s->most ? s->start : s->most);
    unsigned rung = start, far = s->step;
    int rc = try_rung(&b, try, ctx, rung);
    for (const bool up = b.held > 0;
         rc == 0 && (up ? !b.failed && rung < b.last : !b.held && rung > 1);
         far += far < SEARCH_DOUBLE ? far : SEARCH_DOUBLE) {
        if (up)
            rung = b.last - start > far ? start + far : b.last;
        else
            rung = start > far ? start - far : 1;
        rc = try_rung(&b, try, ctx, rung);
    }
    while (rc == 0 && b.held && b.failed && b.failed - b.held > s->apart)
        rc = try_rung(&b, try, ctx, b.held + (b.failed - b.held) / 2);
    *value = b.held ? load_of(&b, b.held) : 0;
    *failed = b.failed ? load_of(&b, b.failed) : 0;
    return rc;
}
