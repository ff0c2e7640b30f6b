/* Beside the reader and the survey: lets the rows of the first users through. Its table is taken at
 * the start, for as many users as are let in; later ones leave no trace. */
#include "kvreplay/gate.h"

#include <stddef.h>
#include <stdlib.h>

#include "lib/hash.h"

struct gate {
    uint64_t users, known;
    size_t mask;
    struct seen {
        struct hash128 id;
        bool taken;
    } cell[];
};

struct gate *gate_create(uint64_t users)
{
    size_t cells = 16;

    while (cells < users * 2)
        cells *= 2;
    struct gate *g = calloc(1, sizeof(*g) + cells * sizeof(struct seen));
    if (!g)
        return NULL;
    g->users = users;
    g->mask = cells - 1;
    return g;
}

void gate_free(struct gate *g)
{
    free(g);
}

bool gate_passes(struct gate *g, const struct trace_row *t)
{
    if (t->user.len == 0)
        return true;
    struct hash128 id = hash_128(t->user.p, t->user.len);
    size_t i = (size_t)id.lo & g->mask;
    for (; g->cell[i].taken; i = (i + 1) & g->mask) {
        if (g->cell[i].id.lo == id.lo && g->cell[i].id.hi == id.hi)
            return true;
    }
    if (g->known == g->users)
        return false;
    g->known++;
    g->cell[i] = (struct seen){id, true};
    return true;
}
