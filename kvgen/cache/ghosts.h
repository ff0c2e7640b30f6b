/* ghosts.h - the names of what left one of two lists, for policies that learn from what comes again
 * (ARC): each is remembered with the list that it left, in the order in which they left. One thread
 * at a time. */
#ifndef KVGEN_CACHE_GHOSTS_H
#define KVGEN_CACHE_GHOSTS_H

#include <stdint.h>

#include "kvgen/cache/id_table.h"

enum {
    GHOST_LISTS = 2
};
#define GHOST_NONE ((uint32_t)1 << 30) /* above all numbers of id_table.h */

struct ghost {
    uint32_t newer, older : 31, list : 1;
};

/* Set it up with GHOSTS_EMPTY, and free it with ghosts_free. A ghost's number is valid until it is
 * forgotten. */
struct ghosts {
    struct id_table names;
    struct ghost *ghost; /* by number */
    uint32_t cap;
    struct {
        uint32_t newest, oldest; /* GHOST_NONE: empty */
    } list[GHOST_LISTS];
    uint64_t count[GHOST_LISTS];
};
#define GHOSTS_EMPTY ((struct ghosts){.list = {{GHOST_NONE, GHOST_NONE}, {GHOST_NONE, GHOST_NONE}}})

void ghosts_free(struct ghosts *g);
uint32_t ghosts_find(const struct ghosts *g, uint64_t name); /* GHOST_NONE: no ghost has it */
/* It is the newest that left that list. Without memory, and where the name has a ghost, nothing
 * changes. */
void ghosts_remember(struct ghosts *g, uint64_t name, unsigned list);
void ghosts_forget(struct ghosts *g, uint32_t number);
/* The one of that list which left first, if there is one, is forgotten. */
void ghosts_forget_oldest(struct ghosts *g, unsigned list);

static inline unsigned ghosts_list(const struct ghosts *g, uint32_t number)
{
    return g->ghost[number].list;
}

/* Ghosts of both lists. */
static inline uint64_t ghosts_count(const struct ghosts *g)
{
    return g->count[0] + g->count[1];
}

#endif
