/* Least frequently used: a binary heap by (uses, last use). Each object knows its place in the
 * heap. Uses are counted while an object stays in its tier; in the next tier it starts with one. */
#include <errno.h>
#include <stdlib.h>

#include "kvgen/policy/policy.h"

/* One object of the tier. Its place in the heap is in object.prev. */
struct entry {
    uint64_t uses;
    uint64_t last; /* tick of the last use; no two are equal, so that ties go by age */
    uint32_t object;
};

struct policy {
    struct objects *objects;
    struct entry *heap; /* the victim first */
    uint32_t count;
    uint64_t cap;
    uint64_t tick;
};

static struct policy *lfu_create(struct objects *objects)
{
    struct policy *p = calloc(1, sizeof(*p));
    if (p)
        p->objects = objects;
    return p;
}

static void lfu_free(struct policy *p)
{
    if (p)
        free(p->heap);
    free(p);
}

static int lfu_reserve(struct policy *p, uint64_t objects)
{
    if (objects <= p->cap)
        return 0;
    uint64_t cap = objects < 512 ? 1024 : objects * 2;
    struct entry *heap = realloc(p->heap, cap * sizeof(*heap));
    if (!heap)
        return -ENOMEM;
    p->heap = heap;
    p->cap = cap;
    return 0;
}

static bool goes_before(const struct entry *a, const struct entry *b)
{
    return a->uses != b->uses ? a->uses < b->uses : a->last < b->last;
}

static void put(struct policy *p, uint32_t at, struct entry entry)
{
    p->heap[at] = entry;
    objects_at(p->objects, entry.object)->prev = at;
}

static void sift_up(struct policy *p, uint32_t at, struct entry entry)
{
    while (at > 0 && goes_before(&entry, &p->heap[(at - 1) / 2])) {
        put(p, at, p->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(p, at, entry);
}

static void sift_down(struct policy *p, uint32_t at, struct entry entry)
{
    for (uint64_t child; (child = 2 * (uint64_t)at + 1) < p->count; at = (uint32_t)child) {
        if (child + 1 < p->count && goes_before(&p->heap[child + 1], &p->heap[child]))
            child++;
        if (!goes_before(&p->heap[child], &entry))
            break;
        put(p, at, p->heap[child]);
    }
    put(p, at, entry);
}

static void lfu_insert(struct policy *p, uint32_t number)
{
    sift_up(p, p->count++, (struct entry){.uses = 1, .last = p->tick++, .object = number});
}

static void lfu_touch(struct policy *p, uint32_t number)
{
    uint32_t at = objects_at(p->objects, number)->prev;
    struct entry entry = p->heap[at];
    entry.uses++;
    entry.last = p->tick++;
    sift_down(p, at, entry);
}

static void lfu_remove(struct policy *p, uint32_t number)
{
    uint32_t at = objects_at(p->objects, number)->prev;
    struct entry last = p->heap[--p->count];
    if (at == p->count)
        return;
    if (goes_before(&last, &p->heap[at]))
        sift_up(p, at, last);
    else
        sift_down(p, at, last);
}

static uint32_t lfu_victim(const struct policy *p)
{
    return p->count > 0 ? p->heap[0].object : OBJECT_NONE;
}

static uint32_t lfu_evict(struct policy *p)
{
    uint32_t number = lfu_victim(p);
    if (number != OBJECT_NONE)
        lfu_remove(p, number);
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
