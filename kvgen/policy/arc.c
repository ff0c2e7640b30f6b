/* ARC (Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003): one
 * list of objects that were used once, one of those that were used again, and ghosts of what either
 * gave up. A hit on a ghost moves the target size of the first list. A tier makes room before it
 * says what for, so the target moves after the eviction, not before it. The cache's size c is the
 * number of objects when one is evicted. */
#include <stdlib.h>

#include "kvgen/cache/id_table.h"
#include "kvgen/policy/list.h"
#include "kvgen/policy/policy.h"
#include "lib/base/hash.h"

/* object.mark: the list that it is in; of a ghost, the list that gave it up. */
enum {
    ONCE,
    AGAIN,
    LISTS
};
#define NO_GHOST ((uint32_t)1 << 30) /* above all numbers of id_table.h */

struct ghost {
    uint32_t newer, older : 31, list : 1;
};
struct ghost_list {
    uint32_t newest, oldest; /* NO_GHOST: empty */
};

struct policy {
    struct objects *objects;
    struct policy_list list[LISTS];
    uint64_t count[LISTS];
    struct id_table ghosts; /* by a hash of the identity; at most as many as objects */
    struct ghost *ghost;    /* by number */
    uint32_t cap;
    struct ghost_list ghost_list[LISTS];
    uint64_t ghost_count[LISTS];
    uint64_t size;   /* c */
    uint64_t target; /* p: objects of the first list */
};

static void arc_free(struct policy *p)
{
    if (!p)
        return;
    id_table_free(&p->ghosts);
    free(p->ghost);
    free(p);
}

static struct policy *arc_create(struct objects *objects)
{
    struct policy *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->objects = objects;
    for (int l = 0; l < LISTS; l++) {
        p->list[l] = POLICY_LIST_EMPTY;
        p->ghost_list[l] = (struct ghost_list){NO_GHOST, NO_GHOST};
    }
    return p;
}

static void add(struct policy *p, uint32_t number, uint8_t list)
{
    objects_at(p->objects, number)->mark = list;
    policy_list_add(&p->list[list], p->objects, number);
    p->count[list]++;
}

static void arc_remove(struct policy *p, uint32_t number)
{
    uint8_t list = objects_at(p->objects, number)->mark;
    policy_list_remove(&p->list[list], p->objects, number);
    p->count[list]--;
}

static void arc_touch(struct policy *p, uint32_t number)
{
    arc_remove(p, number);
    add(p, number, AGAIN);
}

/* ---- ghosts ---- */

static uint64_t name_of(struct ident id)
{
    return hash_mix(id.lo + id.hi * UINT64_C(0x9e3779b97f4a7c15));
}

static void ghost_forget(struct policy *p, uint32_t n)
{
    const struct ghost g = p->ghost[n];
    struct ghost_list *l = &p->ghost_list[g.list];
    if (g.newer == NO_GHOST)
        l->newest = g.older;
    else
        p->ghost[g.newer].older = g.older;
    if (g.older == NO_GHOST)
        l->oldest = g.newer;
    else
        p->ghost[g.older].newer = g.newer;
    p->ghost_count[g.list]--;
    id_table_remove(&p->ghosts, n);
}

/* The first list and its ghosts are at most c, all four are at most 2 c. */
static void ghosts_trim(struct policy *p)
{
    while (p->ghost_count[ONCE] > 0 && p->count[ONCE] + p->ghost_count[ONCE] > p->size)
        ghost_forget(p, p->ghost_list[ONCE].oldest);
    while (p->ghost_count[AGAIN] > 0 &&
           p->count[ONCE] + p->ghost_count[ONCE] + p->count[AGAIN] + p->ghost_count[AGAIN] >
               2 * p->size)
        ghost_forget(p, p->ghost_list[AGAIN].oldest);
}

/* Without memory it is forgotten. */
static void ghost_remember(struct policy *p, struct ident id, uint8_t list)
{
    const uint64_t name = name_of(id);
    struct ghost_list *l = &p->ghost_list[list];
    if (id_table_find(&p->ghosts, name) != ID_NONE)
        return;
    struct ghost *grown = id_table_reserve_item(&p->ghosts, p->ghost, &p->cap, sizeof(*grown));
    if (!grown)
        return;
    p->ghost = grown;
    const uint32_t n = id_table_add(&p->ghosts, name);
    p->ghost[n] =
        (struct ghost){.newer = NO_GHOST, .older = l->newest & 0x7fffffffu, .list = list & 1u};
    if (l->newest == NO_GHOST)
        l->oldest = n;
    else
        p->ghost[l->newest].newer = n;
    l->newest = n;
    p->ghost_count[list]++;
}

static uint64_t step(uint64_t other, uint64_t own)
{
    return other > own ? other / own : 1;
}

static void arc_insert(struct policy *p, uint32_t number)
{
    const uint32_t ghost = id_table_find(&p->ghosts, name_of(objects_at(p->objects, number)->id));
    if (ghost == ID_NONE) {
        add(p, number, ONCE);
        ghosts_trim(p);
        return;
    }
    uint64_t once = p->ghost_count[ONCE], again = p->ghost_count[AGAIN];
    if (p->ghost[ghost].list == ONCE) {
        p->target += step(again, once);
        if (p->target > p->size)
            p->target = p->size;
    } else {
        uint64_t less = step(once, again);
        p->target -= less < p->target ? less : p->target;
    }
    ghost_forget(p, ghost);
    add(p, number, AGAIN);
    ghosts_trim(p);
}

static uint32_t arc_victim(const struct policy *p)
{
    bool once = p->count[ONCE] > 0 && (p->count[ONCE] > p->target || p->count[AGAIN] == 0);
    return p->list[once ? ONCE : AGAIN].oldest;
}

static uint32_t arc_evict(struct policy *p)
{
    uint32_t number = arc_victim(p);
    if (number == OBJECT_NONE)
        return number;
    const struct object *o = objects_at(p->objects, number);
    p->size = p->count[ONCE] + p->count[AGAIN];
    arc_remove(p, number);
    ghost_remember(p, o->id, o->mark);
    ghosts_trim(p);
    return number;
}

const struct policy_ops policy_arc = {
    .name = "arc",
    .create = arc_create,
    .free = arc_free,
    .insert = arc_insert,
    .touch = arc_touch,
    .remove = arc_remove,
    .victim = arc_victim,
    .evict = arc_evict,
};
