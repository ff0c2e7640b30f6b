/* SIEVE (Zhang et al., "SIEVE is Simpler than LRU", NSDI 2024). Objects stand in a queue by arrival
 * and do not move. A hand goes from the oldest to the newest and round again: it spares an object
 * that was read since it last came by and takes the first one that was not. */
#include <stdlib.h>

#include "kvgen/policy/list.h"
#include "kvgen/policy/policy.h"

/* object.mark: 1 when the object was read since the hand came by. */
struct policy {
    struct objects *objects;
    struct policy_list list; /* by arrival */
    uint32_t hand;           /* looked at next; OBJECT_NONE: the oldest */
};

static struct policy *sieve_create(struct objects *objects)
{
    struct policy *p = malloc(sizeof(*p));
    if (p)
        *p = (struct policy){.objects = objects, .list = POLICY_LIST_EMPTY, .hand = OBJECT_NONE};
    return p;
}

static void sieve_free(struct policy *p)
{
    free(p);
}

static void sieve_insert(struct policy *p, uint32_t number)
{
    objects_at(p->objects, number)->mark = 0;
    policy_list_add(&p->list, p->objects, number);
}

static void sieve_touch(struct policy *p, uint32_t number)
{
    objects_at(p->objects, number)->mark = 1;
}

static void sieve_remove(struct policy *p, uint32_t number)
{
    if (p->hand == number)
        p->hand = objects_at(p->objects, number)->prev;
    policy_list_remove(&p->list, p->objects, number);
}

/* Where the hand looks after number: OBJECT_NONE of it is the oldest again. */
static uint32_t hand_at(const struct policy *p, uint32_t number)
{
    return number == OBJECT_NONE ? p->list.oldest : number;
}

static uint32_t sieve_victim(const struct policy *p)
{
    uint32_t from = hand_at(p, p->hand), number = from;
    if (from == OBJECT_NONE)
        return OBJECT_NONE;
    do {
        const struct object *o = objects_at(p->objects, number);
        if (o->mark == 0)
            return number;
        number = hand_at(p, o->prev);
    } while (number != from);
    return from; /* all were read: it is spared once, and not in the second round */
}

/* O(1) on average: each step clears the mark of a read. */
static uint32_t sieve_evict(struct policy *p)
{
    for (;;) {
        uint32_t number = p->hand = hand_at(p, p->hand);
        if (number == OBJECT_NONE)
            return OBJECT_NONE;
        struct object *o = objects_at(p->objects, number);
        if (o->mark == 0) {
            sieve_remove(p, number);
            policy_list_leaves_soon(p->objects, p->hand);
            return number;
        }
        o->mark = 0;
        p->hand = o->prev;
    }
}

const struct policy_ops policy_sieve = {
    .name = "sieve",
    .create = sieve_create,
    .free = sieve_free,
    .insert = sieve_insert,
    .touch = sieve_touch,
    .remove = sieve_remove,
    .victim = sieve_victim,
    .evict = sieve_evict,
};
