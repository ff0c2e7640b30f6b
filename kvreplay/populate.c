/* Between survey and run. The objects' sizes come from the survey; order does not matter here,
 * since each object is written once, so this is a plain loop that keeps a number of writes in
 * flight. */
#include "kvreplay/populate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvreplay/progress_line.h"
#include "kvreplay/sched/objects.h"
#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"

static struct tier_op populate_op(const struct object *want, uint64_t generation)
{
    return (struct tier_op){.verb = TIER_WRITE,
                            .name = object_name(want->key, want->tier),
                            .id = {.key = want->key, .generation = generation},
                            .size = want->size};
}

static struct object *populate_put(struct objects *objects, const struct object *want,
                                   const struct tier_op *op)
{
    struct object *o = objects_get(objects, want->key, want->tier);
    if (!o)
        return NULL;
    o->live = o->planned = 1;
    o->size = o->planned_size = want->size;
    o->place = op->place;
    o->generation = op->id.generation;
    return o;
}

static void populate_room(struct tiers *t, const struct object *want)
{
    struct room *room = &t->room[want->tier];
    room->planned += want->size;
    room->reserved += want->size;
    room->planned_objects++;
    room->reserved_objects++;
}

int populate_adopt(struct populated *p, const struct survey *s, struct tiers *t,
                   struct objects *objects, struct err *e)
{
    struct object *want;

    if (!t->storage.was_kept)
        return 0;
    for (size_t pos = 0; (want = objects_next(s->objects, &pos));) {
        struct tier *tier = t->tier[want->tier];
        uint64_t size, generation;
        if (!want->initial || want->tier != TRACE_STORAGE)
            continue;
        struct tier_op op = populate_op(want, 0);
        if (tier->ops->adopt(tier, &op, &size, &generation) < 0 ||
            DATA_PADDED(size) != DATA_PADDED(want->size))
            continue;
        op.id.generation = generation;
        if (!populate_put(objects, want, &op))
            return err_nomem(e, "table of objects");
        populate_room(t, want);
        p->adopted_objects++;
        p->adopted_bytes += want->size;
        if (s->noted_objects > 0 && !want->replaced)
            p->staying_bytes += want->size;
    }
    return 0;
}

/* The writes in flight. */
struct populate_pool {
    struct tier_op *op, *spare; /* spare: linked by next */
    unsigned in_flight;
    int failed; /* first failure, negative errno */
    struct progress *progress;
    int64_t began_ns;
    uint64_t total_bytes;
};

static void populate_poll(struct populate_pool *pool, struct populated *p, struct tiers *t,
                          struct objects *objects)
{
    struct tier_op *done[32];
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        size_t n = t->tier[i] ? t->tier[i]->ops->poll(t->tier[i], done, 32) : 0;
        for (size_t k = 0; k < n; k++) {
            const struct object *want = done[k]->owner;
            int rc = done[k]->status;
            if (rc == 0 && !populate_put(objects, want, done[k]))
                rc = -ENOMEM;
            if (rc < 0 && pool->failed == 0)
                pool->failed = rc;
            p->objects += rc == 0;
            p->bytes += rc == 0 ? want->size : 0;
            done[k]->next = pool->spare;
            pool->spare = done[k];
            pool->in_flight--;
        }
    }
}

/* Waits until a write is done. */
static void populate_wait(struct populate_pool *pool, struct populated *p, struct tiers *t,
                          struct objects *objects, struct bell *bell)
{
    enum {
        LOOK_NS = 20000000
    };
    unsigned before = pool->in_flight;
    for (;;) {
        uint32_t seen = bell_seen(bell);
        int64_t until = clock_now_ns() + LOOK_NS;
        populate_poll(pool, p, t, objects);
        progress_line_populate(pool->progress, p->objects, p->bytes, pool->total_bytes,
                               pool->began_ns);
        if (pool->in_flight < before || before == 0)
            return;
        for (unsigned i = 0; i < TRACE_TIERS; i++) {
            int64_t next = t->tier[i] ? t->tier[i]->ops->next_ns(t->tier[i]) : INT64_MAX;
            until = next < until ? next : until;
        }
        bell_wait(bell, seen, until);
    }
}

static void populate_one(struct populate_pool *pool, struct populated *p, struct tiers *t,
                         struct objects *objects, struct object *want, uint64_t generation,
                         struct bell *bell)
{
    struct tier *tier = t->tier[want->tier];

    while (!pool->spare)
        populate_wait(pool, p, t, objects, bell);
    struct tier_op *op = pool->spare;
    pool->spare = op->next;
    *op = populate_op(want, generation);
    op->owner = want;
    pool->in_flight++;
    while (tier->ops->submit(tier, op) < 0)
        populate_wait(pool, p, t, objects, bell);
    tier->ops->kick(tier);
}

static int populate_no_space(const struct survey *s, const struct tiers *t, struct err *e)
{
    char need[32], room[32];
    uint64_t bytes = storage_free(&t->storage);

    return err_set(
        e, -ENOSPC, ERR_TARGET, "populate",
        "the target is full: the objects that the trace reads before it writes them need "
        "%s in Tier-2, and %s are free now",
        units_format_bytes(need, sizeof(need), (double)s->initial_bytes[TRACE_STORAGE]),
        units_format_bytes(room, sizeof(room), (double)bytes));
}

static int populate_result(const struct populate_pool *pool, const struct survey *s,
                           const struct tiers *t, struct err *e)
{
    if (pool->failed == -ENOSPC)
        return populate_no_space(s, t, e);
    if (pool->failed)
        return err_errno(e, pool->failed, ERR_TARGET, "populate",
                         "cannot write the objects that the trace reads before it writes them");
    if (stop_signal())
        return err_set(e, -EINTR, ERR_FAILED, "populate", "interrupted");
    return 0;
}

int populate_write(struct populated *p, const struct survey *s, struct tiers *t,
                   struct objects *objects, unsigned inflight, uint64_t *generation,
                   struct progress *progress, struct bell *bell, struct err *e)
{
    struct populate_pool pool = {.progress = progress, .began_ns = clock_now_ns()};
    struct object *want;

    for (unsigned i = 0; i < TRACE_TIERS; i++)
        pool.total_bytes += s->initial_bytes[i];
    pool.op = calloc(inflight, sizeof(*pool.op));
    if (!pool.op)
        return err_nomem(e, "populate");
    for (unsigned i = 0; i < inflight; i++) {
        pool.op[i].next = pool.spare;
        pool.spare = &pool.op[i];
    }
    for (size_t pos = 0; (want = objects_next(s->objects, &pos));) {
        if (!want->initial || objects_find(objects, want->key, want->tier))
            continue;
        populate_room(t, want);
        if (!pool.failed && !stop_signal())
            populate_one(&pool, p, t, objects, want, (*generation)++, bell);
    }
    while (pool.in_flight > 0)
        populate_wait(&pool, p, t, objects, bell);
    free(pool.op);
    return populate_result(&pool, s, t, e);
}
