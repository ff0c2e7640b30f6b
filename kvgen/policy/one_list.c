/* Policies that keep one list of the objects. First in, first out: in the order in which they came.
 * Least recently used: by last use. Most recently used: what was used last goes first, so that a
 * loop over more than fits keeps a part of it. */
#include <stdlib.h>

#include "kvgen/policy/list.h"
#include "kvgen/policy/policy.h"

struct policy {
    struct objects *objects;
    struct policy_list list;
};

static struct policy *create(struct objects *objects)
{
    struct policy *p = malloc(sizeof(*p));
    if (p)
        *p = (struct policy){.objects = objects, .list = POLICY_LIST_EMPTY};
    return p;
}

static void release(struct policy *p)
{
    free(p);
}

static void insert(struct policy *p, uint32_t number)
{
    policy_list_add(&p->list, p->objects, number);
}

static void take_out(struct policy *p, uint32_t number)
{
    policy_list_remove(&p->list, p->objects, number);
}

static void leave_in_place(struct policy *p, uint32_t number)
{
    (void)p;
    (void)number;
}

static void make_newest(struct policy *p, uint32_t number)
{
    if (p->list.newest == number)
        return;
    policy_list_remove(&p->list, p->objects, number);
    policy_list_add(&p->list, p->objects, number);
}

static uint32_t oldest(const struct policy *p)
{
    return p->list.oldest;
}

static uint32_t newest(const struct policy *p)
{
    return p->list.newest;
}

static uint32_t evict_oldest(struct policy *p)
{
    uint32_t number = p->list.oldest;
    if (number != OBJECT_NONE)
        policy_list_remove(&p->list, p->objects, number);
    policy_list_leaves_soon(p->objects, p->list.oldest);
    return number;
}

static uint32_t evict_newest(struct policy *p)
{
    uint32_t number = p->list.newest;
    if (number != OBJECT_NONE)
        policy_list_remove(&p->list, p->objects, number);
    return number;
}

const struct policy_ops policy_fifo = {
    .name = "fifo",
    .create = create,
    .free = release,
    .insert = insert,
    .touch = leave_in_place,
    .remove = take_out,
    .victim = oldest,
    .evict = evict_oldest,
};

const struct policy_ops policy_lru = {
    .name = "lru",
    .create = create,
    .free = release,
    .insert = insert,
    .touch = make_newest,
    .remove = take_out,
    .victim = oldest,
    .evict = evict_oldest,
};

const struct policy_ops policy_mru = {
    .name = "mru",
    .create = create,
    .free = release,
    .insert = insert,
    .touch = make_newest,
    .remove = take_out,
    .victim = newest,
    .evict = evict_newest,
};
