/* First in, first out: objects leave a tier in the order in which they came to it. Reads change
 * nothing. */
#include <stdlib.h>

#include "kvgen/policy/list.h"
#include "kvgen/policy/policy.h"

struct policy {
    struct objects *objects;
    struct policy_list list; /* by arrival */
};

static struct policy *fifo_create(struct objects *objects)
{
    struct policy *p = malloc(sizeof(*p));
    if (p)
        *p = (struct policy){.objects = objects, .list = POLICY_LIST_EMPTY};
    return p;
}

static void fifo_free(struct policy *p)
{
    free(p);
}

static void fifo_insert(struct policy *p, uint32_t number)
{
    policy_list_add(&p->list, p->objects, number);
}

static void fifo_touch(struct policy *p, uint32_t number)
{
    (void)p;
    (void)number;
}

static void fifo_remove(struct policy *p, uint32_t number)
{
    policy_list_remove(&p->list, p->objects, number);
}

static uint32_t fifo_victim(const struct policy *p)
{
    return p->list.oldest;
}

static uint32_t fifo_evict(struct policy *p)
{
    uint32_t number = p->list.oldest;
    if (number != OBJECT_NONE)
        policy_list_remove(&p->list, p->objects, number);
    policy_list_leaves_soon(p->objects, p->list.oldest);
    return number;
}

const struct policy_ops policy_fifo = {
    .name = "fifo",
    .create = fifo_create,
    .free = fifo_free,
    .insert = fifo_insert,
    .touch = fifo_touch,
    .remove = fifo_remove,
    .victim = fifo_victim,
    .evict = fifo_evict,
};
