/* policy_lru.c - least recently used: a doubly linked list through the objects, newest first.
 * Called by the hierarchy, which keeps the bytes. */
#include <stdlib.h>

#include "kvgen/policy.h"

struct policy {
    struct objects *objects;
    uint32_t newest, oldest;
};

static struct policy *lru_create(struct objects *objects)
{
    struct policy *p = malloc(sizeof *p);
    if (p != NULL)
        *p = (struct policy){.objects = objects, .newest = OBJECT_NONE, .oldest = OBJECT_NONE};
    return p;
}

static void lru_free(struct policy *p)
{
    free(p);
}

static void lru_insert(struct policy *p, uint32_t number)
{
    struct object *o = objects_at(p->objects, number);
    o->prev = OBJECT_NONE;
    o->next = p->newest;
    if (p->newest == OBJECT_NONE)
        p->oldest = number;
    else
        objects_at(p->objects, p->newest)->prev = number;
    p->newest = number;
}

static void lru_remove(struct policy *p, uint32_t number)
{
    const struct object *o = objects_at(p->objects, number);
    if (o->prev == OBJECT_NONE)
        p->newest = o->next;
    else
        objects_at(p->objects, o->prev)->next = o->next;
    if (o->next == OBJECT_NONE)
        p->oldest = o->prev;
    else
        objects_at(p->objects, o->next)->prev = o->prev;
}

static void lru_touch(struct policy *p, uint32_t number)
{
    if (p->newest == number)
        return;
    lru_remove(p, number);
    lru_insert(p, number);
}

static uint32_t lru_victim(struct policy *p)
{
    return p->oldest;
}

const struct policy_ops policy_lru = {
    .name = "lru",
    .create = lru_create,
    .free = lru_free,
    .insert = lru_insert,
    .touch = lru_touch,
    .remove = lru_remove,
    .victim = lru_victim,
};
