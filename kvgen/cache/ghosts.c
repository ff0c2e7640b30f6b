/* ghosts.c - two lists through one array, found by name. What a hit on one means is its policy's
 * business. */
#include "kvgen/cache/ghosts.h"

#include <stdlib.h>

void ghosts_free(struct ghosts *g)
{
    id_table_free(&g->names);
    free(g->ghost);
    *g = GHOSTS_EMPTY;
}

uint32_t ghosts_find(const struct ghosts *g, uint64_t name)
{
    const uint32_t number = id_table_find(&g->names, name);
    return number == ID_NONE ? GHOST_NONE : number;
}

void ghosts_remember(struct ghosts *g, uint64_t name, unsigned list)
{
    if (id_table_find(&g->names, name) != ID_NONE)
        return;
    struct ghost *grown = id_table_reserve_item(&g->names, g->ghost, &g->cap, sizeof(*grown));
    if (!grown)
        return;
    g->ghost = grown;
    const uint32_t number = id_table_add(&g->names, name), newest = g->list[list].newest;
    g->ghost[number] =
        (struct ghost){.newer = GHOST_NONE, .older = newest & 0x7fffffffu, .list = list & 1u};
    *(newest == GHOST_NONE ? &g->list[list].oldest : &g->ghost[newest].newer) = number;
    g->list[list].newest = number;
    g->count[list]++;
}

void ghosts_forget(struct ghosts *g, uint32_t number)
{
    const struct ghost was = g->ghost[number];
    if (was.newer == GHOST_NONE)
        g->list[was.list].newest = was.older;
    else
        g->ghost[was.newer].older = was.older;
    if (was.older == GHOST_NONE)
        g->list[was.list].oldest = was.newer;
    else
        g->ghost[was.older].newer = was.newer;
    g->count[was.list]--;
    id_table_remove(&g->names, number);
}

void ghosts_forget_oldest(struct ghosts *g, unsigned list)
{
    if (g->list[list].oldest != GHOST_NONE)
        ghosts_forget(g, g->list[list].oldest);
}
