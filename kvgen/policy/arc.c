/* ARC (Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003): one
 * list of objects that were used once, one of those that were used again, and ghosts of what either
 * gave up. A hit on a ghost moves the target size of the first list. A tier makes room before it
 * says what for, so the target moves after the eviction, not before it. The cache's size c is the
 * number of objects when one is evicted. */
#include <stdlib.h>

#include "kvgen/policy/list.h"
#include "kvgen/policy/policy.h"

/* object.mark: the list that it is in; of a ghost, the list that gave it up. */
enum {
    ONCE,
    AGAIN,
    LISTS
};

struct policy {
    struct objects *objects;
    struct policy_list list[LISTS];
    uint64_t count[LISTS];
    struct objects *ghosts; /* only identities; at most as many as objects */
    struct policy_list ghost_list[LISTS];
    uint64_t ghost_count[LISTS];
    uint64_t size;   /* c */
    uint64_t target; /* p: objects of the first list */
};

static void arc_free(struct policy *p)
{
    if (p)
        objects_free(p->ghosts);
    free(p);
}

static struct policy *arc_create(struct objects *objects)
{
    struct policy *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->objects = objects;
    for (int l = 0; l < LISTS; l++)
        p->list[l] = p->ghost_list[l] = POLICY_LIST_EMPTY;
    p->ghosts = objects_create();
    if (!p->ghosts) {
        arc_free(p);
        return NULL;
    }
    return p;
}

static int arc_reserve(struct policy *p, uint64_t objects)
{
    return objects_reserve(p->ghosts, objects + 1);
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

static void ghost_forget(struct policy *p, uint32_t ghost)
{
    uint8_t list = objects_at(p->ghosts, ghost)->mark;
    policy_list_remove(&p->ghost_list[list], p->ghosts, ghost);
    p->ghost_count[list]--;
    objects_remove(p->ghosts, ghost);
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

static void ghost_remember(struct policy *p, struct ident id, uint8_t list)
{
    uint32_t ghost;
    if (objects_add(p->ghosts, id, &ghost) < 0)
        return;
    objects_at(p->ghosts, ghost)->mark = list;
    policy_list_add(&p->ghost_list[list], p->ghosts, ghost);
    p->ghost_count[list]++;
}

static uint64_t step(uint64_t other, uint64_t own)
{
    return other > own ? other / own : 1;
}

static void arc_insert(struct policy *p, uint32_t number)
{
    uint32_t ghost = objects_find(p->ghosts, objects_at(p->objects, number)->id);
    if (ghost == OBJECT_NONE) {
        add(p, number, ONCE);
        ghosts_trim(p);
        return;
    }
    uint64_t once = p->ghost_count[ONCE], again = p->ghost_count[AGAIN];
    if (objects_at(p->ghosts, ghost)->mark == ONCE) {
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
    .reserve = arc_reserve,
    .insert = arc_insert,
    .touch = arc_touch,
    .remove = arc_remove,
    .victim = arc_victim,
    .evict = arc_evict,
};
