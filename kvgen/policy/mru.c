/* Most recently used: what was used last goes first, so that a loop over more than fits keeps a
 * part of it. */
#include <stdlib.h>

#include "kvgen/policy/list.h"
#include "kvgen/policy/policy.h"

struct policy {
    struct objects *objects;
    struct policy_list list; /* by last use */
};

static struct policy *mru_create(struct objects *objects)
{
    struct policy *p = malloc(sizeof(*p));
    if (p)
        *p = (struct policy){.objects = objects, .list = POLICY_LIST_EMPTY};
    return p;
}

static void mru_free(struct policy *p)
{
    free(p);
}

static void mru_insert(struct policy *p, uint32_t number)
{
    policy_list_add(&p->list, p->objects, number);
}

static void mru_remove(struct policy *p, uint32_t number)
{
    policy_list_remove(&p->list, p->objects, number);
}

static void mru_touch(struct policy *p, uint32_t number)
{
    mru_remove(p, number);
    mru_insert(p, number);
}

static uint32_t mru_victim(const struct policy *p)
{
    return p->list.newest;
}

static uint32_t mru_evict(struct policy *p)
{
    uint32_t number = p->list.newest;
    if (number != OBJECT_NONE)
        mru_remove(p, number);
    return number;
}

const struct policy_ops policy_mru = {
    .name = "mru",
    .create = mru_create,
    .free = mru_free,
    .insert = mru_insert,
    .touch = mru_touch,
    .remove = mru_remove,
    .victim = mru_victim,
    .evict = mru_evict,
};
