/* Least recently used: a list of the objects by their last use. */
#include <stdlib.h>

#include "kvgen/policy/list.h"
#include "kvgen/policy/policy.h"

struct policy {
    struct objects *objects;
    struct policy_list list; /* by last use */
};

static struct policy *lru_create(struct objects *objects)
{
    struct policy *p = malloc(sizeof(*p));
    if (p)
        *p = (struct policy){.objects = objects, .list = POLICY_LIST_EMPTY};
    return p;
}

static void lru_free(struct policy *p)
{
    free(p);
}

static void lru_insert(struct policy *p, uint32_t number)
{
    policy_list_add(&p->list, p->objects, number);
}

static void lru_remove(struct policy *p, uint32_t number)
{
    policy_list_remove(&p->list, p->objects, number);
}

static void lru_touch(struct policy *p, uint32_t number)
{
    if (p->list.newest == number)
        return;
    policy_list_remove(&p->list, p->objects, number);
    policy_list_add(&p->list, p->objects, number);
}

static uint32_t lru_victim(const struct policy *p)
{
    return p->list.oldest;
}

static uint32_t lru_evict(struct policy *p)
{
    uint32_t number = p->list.oldest;
    if (number != OBJECT_NONE)
        policy_list_remove(&p->list, p->objects, number);
    policy_list_leaves_soon(p->objects, p->list.oldest);
    return number;
}

const struct policy_ops policy_lru = {
    .name = "lru",
    .create = lru_create,
    .free = lru_free,
    .insert = lru_insert,
    .touch = lru_touch,
    .remove = lru_remove,
    .victim = lru_victim,
    .evict = lru_evict,
};
