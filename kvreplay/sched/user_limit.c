/* Beside the reader and the survey: lets the rows of the first users through. Its table is taken at
 * the start, for as many users as are let in; later ones leave no trace. */
#include "kvreplay/sched/user_limit.h"

#include <stddef.h>
#include <stdlib.h>

#include "lib/base/hash.h"

struct user_limit {
    uint64_t users, known;
    size_t mask;
    struct seen {
        struct hash128 id;
        bool taken;
    } cell[];
};

struct user_limit *user_limit_create(uint64_t users)
{
    size_t cells = 16;

    while (cells < users * 2)
        cells *= 2;
    struct user_limit *l = calloc(1, sizeof(*l) + cells * sizeof(struct seen));
    if (!l)
        return NULL;
    l->users = users;
    l->mask = cells - 1;
    return l;
}

void user_limit_free(struct user_limit *l)
{
    free(l);
}

bool user_limit_passes(struct user_limit *l, const struct trace_row *t)
{
    if (t->user.len == 0)
        return true;
    struct hash128 id = hash_128(t->user.p, t->user.len);
    size_t i = (size_t)id.lo & l->mask;
    for (; l->cell[i].taken; i = (i + 1) & l->mask) {
        if (l->cell[i].id.lo == id.lo && l->cell[i].id.hi == id.hi)
            return true;
    }
    if (l->known == l->users)
        return false;
    l->known++;
    l->cell[i] = (struct seen){id, true};
    return true;
}
