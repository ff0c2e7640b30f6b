/* ARC (Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003): one
 * list of objects that were used once, one of those that were used again, and ghosts of what either
 * gave up. A hit on a ghost moves the target size of the first list. A tier makes room before it
 * says what for, so the target moves after the eviction, not before it. The cache's size c is the
 * number of objects when one is evicted. */
#include <stdlib.h>

#include "kvgen/cache/ghosts.h"
#include "kvgen/policy/list.h"
#include "kvgen/policy/policy.h"
#include "lib/base/hash.h"

/* object.mark: the list that it is in. */
enum {
    ONCE,
    AGAIN,
    LISTS
};

struct policy {
    struct objects *objects;
    struct policy_list list[LISTS];
    uint64_t count[LISTS];
    struct ghosts ghosts; /* by a hash of the identity; at most as many as objects */
    uint64_t size;        /* c */
    uint64_t target;      /* p: objects of the first list */
};

static void arc_free(struct policy *p)
{
    if (!p)
        return;
    ghosts_free(&p->ghosts);
    free(p);
}

static struct policy *arc_create(struct objects *objects)
{
    struct policy *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->objects = objects;
    p->ghosts = GHOSTS_EMPTY;
    for (int l = 0; l < LISTS; l++)
        p->list[l] = POLICY_LIST_EMPTY;
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

/* The first list and its ghosts are at most c, all four are at most 2 c. */
static void ghosts_trim(struct policy *p)
{
    struct ghosts *g = &p->ghosts;
    while (g->count[ONCE] > 0 && p->count[ONCE] + g->count[ONCE] > p->size)
        ghosts_forget_oldest(g, ONCE);
    while (g->count[AGAIN] > 0 && p->count[ONCE] + p->count[AGAIN] + ghosts_count(g) > 2 * p->size)
        ghosts_forget_oldest(g, AGAIN);
}

static uint64_t step(uint64_t other, uint64_t own)
{
    return other > own ? other / own : 1;
}

static void arc_insert(struct policy *p, uint32_t number)
{
    const uint32_t ghost = ghosts_find(&p->ghosts, name_of(objects_at(p->objects, number)->id));
    if (ghost == GHOST_NONE) {
        add(p, number, ONCE);
        ghosts_trim(p);
        return;
    }
    const uint64_t once = p->ghosts.count[ONCE], again = p->ghosts.count[AGAIN];
    if (ghosts_list(&p->ghosts, ghost) == ONCE) {
        p->target += step(again, once);
        if (p->target > p->size)
            p->target = p->size;
    } else {
        uint64_t less = step(once, again);
        p->target -= less < p->target ? less : p->target;
    }
    ghosts_forget(&p->ghosts, ghost);
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
    ghosts_remember(&p->ghosts, name_of(o->id), o->mark);
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
