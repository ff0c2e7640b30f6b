/* S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023). New objects
 * pass through a small queue with a tenth of the bytes; only those that are read again go on to the
 * main queue. A ghost queue remembers the identities that were evicted from the small queue, as
 * many as the main queue holds. An object that comes back while it is remembered goes to the main
 * queue at once. */
#include <stdlib.h>

#include "kvgen/policy/list.h"
#include "kvgen/policy/policy.h"

enum {
    USES = 3,        /* object.mark: reads since it came to its queue, counted up to this, ... */
    IN_MAIN = 4,     /* ... and a bit for the queue that it is in */
    SMALL_PART = 10, /* the small queue holds 1/10 of the bytes */
    MOVE_ON = 2      /* reads that move an object from the small to the main queue */
};

struct queue_of {
    struct policy_list list; /* by arrival */
    uint64_t bytes, objects;
};

struct policy {
    struct objects *objects;
    struct queue_of small, main;
    struct objects *ghosts; /* only identities; at most as many as the main queue holds */
    struct policy_list ghost_list;
};

static void s3fifo_free(struct policy *p)
{
    if (p)
        objects_free(p->ghosts);
    free(p);
}

static struct policy *s3fifo_create(struct objects *objects)
{
    struct policy *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->objects = objects;
    p->small.list = p->main.list = p->ghost_list = POLICY_LIST_EMPTY;
    p->ghosts = objects_create();
    if (!p->ghosts) {
        s3fifo_free(p);
        return NULL;
    }
    return p;
}

static int s3fifo_reserve(struct policy *p, uint64_t objects)
{
    return objects_reserve(p->ghosts, objects);
}

/* ---- queues ---- */

static struct queue_of *queue_with(struct policy *p, const struct object *o)
{
    return (o->mark & IN_MAIN) != 0 ? &p->main : &p->small;
}

static void enqueue(struct policy *p, uint32_t number, uint8_t mark)
{
    struct object *o = objects_at(p->objects, number);
    o->mark = mark;
    struct queue_of *q = queue_with(p, o);
    policy_list_add(&q->list, p->objects, number);
    q->bytes += o->size;
    q->objects++;
}

static void dequeue(struct policy *p, uint32_t number)
{
    const struct object *o = objects_at(p->objects, number);
    struct queue_of *q = queue_with(p, o);
    policy_list_remove(&q->list, p->objects, number);
    q->bytes -= o->size;
    q->objects--;
}

/* ---- ghosts ---- */

static void ghost_forget(struct policy *p, uint32_t ghost)
{
    policy_list_remove(&p->ghost_list, p->ghosts, ghost);
    objects_remove(p->ghosts, ghost);
}

/* The main queue's part of the objects in the tier, with the one that leaves: what that queue holds
 * once it is full. s3fifo_reserve made room for as many. */
static uint64_t most_ghosts(const struct policy *p)
{
    uint64_t objects = p->small.objects + p->main.objects + 1;
    return objects - objects / SMALL_PART;
}

/* The object has left its queue. */
static void ghost_remember(struct policy *p, struct ident id)
{
    uint32_t ghost;
    while (objects_count(p->ghosts) >= most_ghosts(p))
        ghost_forget(p, p->ghost_list.oldest);
    if (objects_add(p->ghosts, id, &ghost) == 0)
        policy_list_add(&p->ghost_list, p->ghosts, ghost);
}

/* ---- the table's functions ---- */

static void s3fifo_insert(struct policy *p, uint32_t number)
{
    uint32_t ghost = objects_find(p->ghosts, objects_at(p->objects, number)->id);
    if (ghost != OBJECT_NONE)
        ghost_forget(p, ghost);
    enqueue(p, number, ghost != OBJECT_NONE ? IN_MAIN : 0);
}

static void s3fifo_touch(struct policy *p, uint32_t number)
{
    struct object *o = objects_at(p->objects, number);
    if ((o->mark & USES) < USES)
        o->mark++;
}

static void s3fifo_remove(struct policy *p, uint32_t number)
{
    dequeue(p, number);
}

/* Does the victim come from the small queue, if it holds so much? */
static bool small_gives(uint64_t small_objects, uint64_t small_bytes, uint64_t main_objects,
                        uint64_t main_bytes)
{
    return small_objects > 0 &&
           (main_objects == 0 || small_bytes >= (small_bytes + main_bytes) / SMALL_PART);
}

static uint8_t uses_of(const struct policy *p, uint32_t number)
{
    return objects_at(p->objects, number)->mark & USES;
}

/* The object of the main queue that has the fewest reads, and of these the oldest: the others are
 * spared once for each read. *reads: its reads. */
static uint32_t least_read(const struct policy *p, uint8_t *reads)
{
    uint32_t least = OBJECT_NONE;
    *reads = USES + 1;
    for (uint32_t i = p->main.list.oldest; i != OBJECT_NONE && *reads > 0;
         i = objects_at(p->objects, i)->prev) {
        if (uses_of(p, i) < *reads) {
            least = i;
            *reads = uses_of(p, i);
        }
    }
    return least;
}

/* As s3fifo_evict goes, but nothing moves. */
static uint32_t s3fifo_victim(const struct policy *p)
{
    uint64_t small_objects = p->small.objects, small_bytes = p->small.bytes;
    uint64_t main_objects = p->main.objects, main_bytes = p->main.bytes;
    uint32_t number = p->small.list.oldest, moved = OBJECT_NONE;
    for (; small_gives(small_objects, small_bytes, main_objects, main_bytes);
         number = objects_at(p->objects, number)->prev) {
        const struct object *o = objects_at(p->objects, number);
        if (uses_of(p, number) < MOVE_ON)
            return number;
        if (moved == OBJECT_NONE)
            moved = number;
        small_objects--;
        main_objects++;
        small_bytes -= o->size;
        main_bytes += o->size;
    }
    uint8_t reads;
    uint32_t least = least_read(p, &reads);
    /* An object that has just come to the main queue has no reads there, and stands behind the
     * others. */
    return moved != OBJECT_NONE && reads > 0 ? moved : least;
}

static uint32_t evict_from_main(struct policy *p)
{
    for (uint32_t number; (number = p->main.list.oldest) != OBJECT_NONE;) {
        uint8_t mark = objects_at(p->objects, number)->mark;
        dequeue(p, number);
        if ((mark & USES) == 0)
            return number;
        enqueue(p, number, (uint8_t)(mark - 1));
    }
    return OBJECT_NONE;
}

/* The small queue gives the victim while it holds its part of the bytes. Objects that were read
 * again move on to the main queue. O(1) on average: each step lowers a count of reads or moves an
 * object on, at most once for each read and each arrival. */
static uint32_t s3fifo_evict(struct policy *p)
{
    while (small_gives(p->small.objects, p->small.bytes, p->main.objects, p->main.bytes)) {
        uint32_t number = p->small.list.oldest;
        bool moves_on = uses_of(p, number) >= MOVE_ON;
        dequeue(p, number);
        if (!moves_on) {
            ghost_remember(p, objects_at(p->objects, number)->id);
            return number;
        }
        enqueue(p, number, IN_MAIN);
    }
    return evict_from_main(p);
}

const struct policy_ops policy_s3fifo = {
    .name = "s3fifo",
    .create = s3fifo_create,
    .free = s3fifo_free,
    .reserve = s3fifo_reserve,
    .insert = s3fifo_insert,
    .touch = s3fifo_touch,
    .remove = s3fifo_remove,
    .victim = s3fifo_victim,
    .evict = s3fifo_evict,
};
