/* Least frequently used, in constant time: the objects that were used equally often are a list by
 * their last use, and these levels are a list by uses (Shah, Mitra and Matani, "An O(1) algorithm
 * for implementing the LFU cache eviction scheme", 2010). Uses are counted while an object stays in
 * its tier; in the next tier it starts with one. */
#include <errno.h>
#include <stdlib.h>

#include "kvgen/policy/list.h"
#include "kvgen/policy/policy.h"
#include "lib/base/memory.h"

#define NO_LEVEL UINT32_MAX

/* Objects with the same number of uses. */
struct level {
    uint64_t uses;
    struct policy_list list; /* never empty: by last use */
    uint32_t more;           /* level with the next larger number of uses, ... */
    uint32_t fewer;          /* ... and the next smaller; NO_LEVEL: none */
};

struct policy {
    struct objects *objects;
    struct level *level;
    uint32_t *level_of; /* by object */
    uint64_t cap;       /* of both: there are never more levels than objects */
    uint32_t made;      /* levels given out so far, free ones included */
    uint32_t free;      /* chain through .more */
    uint32_t least;     /* level with the fewest uses; NO_LEVEL: the tier is empty */
};

static struct policy *lfu_create(struct objects *objects)
{
    struct policy *p = malloc(sizeof(*p));
    if (p)
        *p = (struct policy){.objects = objects, .free = NO_LEVEL, .least = NO_LEVEL};
    return p;
}

static void lfu_free(struct policy *p)
{
    if (p) {
        free(p->level);
        free(p->level_of);
    }
    free(p);
}

static int lfu_reserve(struct policy *p, uint64_t objects)
{
    if (objects <= p->cap)
        return 0;
    uint64_t cap = objects < 512 ? 1024 : objects * 2;
    if (memory_resize(&p->level, cap, sizeof(*p->level)) < 0 ||
        memory_resize(&p->level_of, cap, sizeof(*p->level_of)) < 0)
        return -ENOMEM;
    p->cap = cap;
    return 0;
}

/* The level with so many uses, made if need be. It stands behind that one, which has the next
 * smaller number of uses; NO_LEVEL: at the begin. */
static uint32_t level_behind(struct policy *p, uint32_t fewer, uint64_t uses)
{
    uint32_t *link = fewer == NO_LEVEL ? &p->least : &p->level[fewer].more, more = *link;
    if (more != NO_LEVEL && p->level[more].uses == uses)
        return more;
    uint32_t made = p->free;
    if (made != NO_LEVEL)
        p->free = p->level[made].more;
    else
        made = p->made++;
    p->level[made] =
        (struct level){.uses = uses, .list = POLICY_LIST_EMPTY, .more = more, .fewer = fewer};
    *link = made;
    if (more != NO_LEVEL)
        p->level[more].fewer = made;
    return made;
}

static void drop_if_empty(struct policy *p, uint32_t number)
{
    struct level *l = &p->level[number];
    if (l->list.newest != OBJECT_NONE)
        return;
    if (l->fewer == NO_LEVEL)
        p->least = l->more;
    else
        p->level[l->fewer].more = l->more;
    if (l->more != NO_LEVEL)
        p->level[l->more].fewer = l->fewer;
    l->more = p->free;
    p->free = number;
}

static void add(struct policy *p, uint32_t number, uint32_t level)
{
    policy_list_add(&p->level[level].list, p->objects, number);
    p->level_of[number] = level;
}

static void lfu_insert(struct policy *p, uint32_t number)
{
    add(p, number, level_behind(p, NO_LEVEL, 1));
}

static void lfu_touch(struct policy *p, uint32_t number)
{
    uint32_t from = p->level_of[number];
    struct level *l = &p->level[from];
    bool alone = l->list.newest == l->list.oldest;
    if (alone && (l->more == NO_LEVEL || p->level[l->more].uses > l->uses + 1)) {
        l->uses++; /* its level goes with it */
        return;
    }
    policy_list_remove(&l->list, p->objects, number);
    add(p, number, level_behind(p, from, l->uses + 1));
    drop_if_empty(p, from);
}

static void lfu_remove(struct policy *p, uint32_t number)
{
    uint32_t level = p->level_of[number];
    policy_list_remove(&p->level[level].list, p->objects, number);
    drop_if_empty(p, level);
}

static uint32_t lfu_victim(const struct policy *p)
{
    return p->least != NO_LEVEL ? p->level[p->least].list.oldest : OBJECT_NONE;
}

static uint32_t lfu_evict(struct policy *p)
{
    uint32_t number = lfu_victim(p);
    if (number != OBJECT_NONE)
        lfu_remove(p, number);
    policy_list_leaves_soon(p->objects, lfu_victim(p));
    return number;
}

const struct policy_ops policy_lfu = {
    .name = "lfu",
    .create = lfu_create,
    .free = lfu_free,
    .reserve = lfu_reserve,
    .insert = lfu_insert,
    .touch = lfu_touch,
    .remove = lfu_remove,
    .victim = lfu_victim,
    .evict = lfu_evict,
};
