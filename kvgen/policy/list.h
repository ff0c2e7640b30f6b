/* list.h - a doubly linked list through the objects, newest first. Most policies keep one; nobody
 * else uses it. */
#ifndef KVGEN_POLICY_LIST_H
#define KVGEN_POLICY_LIST_H

#include "kvgen/sim/objects.h"

struct policy_list {
    uint32_t newest, oldest; /* OBJECT_NONE: empty */
};

#define POLICY_LIST_EMPTY ((struct policy_list){.newest = OBJECT_NONE, .oldest = OBJECT_NONE})

static inline void policy_list_add(struct policy_list *l, struct objects *objects, uint32_t number)
{
    struct object *o = objects_at(objects, number);
    o->prev = OBJECT_NONE;
    o->next = l->newest;
    if (l->newest == OBJECT_NONE)
        l->oldest = number;
    else
        objects_at(objects, l->newest)->prev = number;
    l->newest = number;
}

static inline void policy_list_remove(struct policy_list *l, struct objects *objects,
                                      uint32_t number)
{
    const struct object *o = objects_at(objects, number);
    if (o->prev == OBJECT_NONE)
        l->newest = o->next;
    else
        objects_at(objects, o->prev)->next = o->next;
    if (o->next == OBJECT_NONE)
        l->oldest = o->prev;
    else
        objects_at(objects, o->next)->prev = o->prev;
}

/* That object is likely to leave the tier soon, and after it the newer ones: fetches from memory
 * its slot, and the next object. A policy that gives up objects in the order of a list calls this
 * for the victim to come. OBJECT_NONE: there is none. */
static inline void policy_list_leaves_soon(const struct objects *objects, uint32_t number)
{
    if (number == OBJECT_NONE)
        return;
    const struct object *o = objects_at(objects, number);
    objects_prefetch(objects, o->id);
    if (o->prev != OBJECT_NONE)
        objects_prefetch_at(objects, o->prev);
}

#endif
