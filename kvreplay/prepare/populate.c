/* Between survey and run. The survey says which objects must be there and how large they are. Each
 * is written once, in any order, so this is a plain loop that keeps a number of writes in flight.
 */
#include "kvreplay/prepare/populate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kvreplay/progress_line.h"
#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/ranks/ranks.h"

enum {
    POPULATE_POLL = 32,
    POPULATE_LINES = 3,         /* of each kind; the rest is counted */
    POPULATE_LOOK_NS = 20000000 /* longest wait: the progress line is shown in between */
};

static struct tier_op populate_op(const struct object *want, uint64_t generation)
{
    return (struct tier_op){.verb = TIER_WRITE,
                            .name = object_name(want->key, want->tier),
                            .id = {.key = want->key, .generation = generation},
                            .size = want->size};
}

/* The object is in its tier. */
static int populate_put(struct populate *p, const struct object *want, const struct tier_op *op)
{
    struct object *o = objects_get(p->objects, want->key, want->tier);
    if (!o)
        return -ENOMEM;
    o->live = o->planned = 1;
    o->size = o->planned_size = want->size;
    o->place = op->place;
    o->generation = op->id.generation;
    return 0;
}

/* The first objects that an earlier run kept and that are not as it left them are named. */
static void populate_tell(struct populate *p, const struct object *want, int rc)
{
    struct populated *n = &p->done;
    uint64_t *count = rc == -ENODATA  ? &n->lost_objects
                      : rc == -ESTALE ? &n->stale_objects
                      : rc == -EISNAM ? &n->foreign_objects
                                      : NULL;
    char name[HASH_HEX_LEN + 1];

    if (!count || ++*count > POPULATE_LINES)
        return;
    progress_clear(p->progress);
    hash_hex(object_name(want->key, want->tier), name);
    fprintf(stderr, "kvreplay%s: kept object %s (%llu bytes) %s\n", ranks_suffix(), name,
            (unsigned long long)want->size,
            rc == -ENODATA  ? "is lost: it is on the list of kept objects, but not in the store"
            : rc == -ESTALE ? "is stale: the store has another write of it than the list"
                            : "is not used: kvtrace did not write the file of that name");
}

static void populate_take_room(struct populate *p, const struct object *want)
{
    room_hold(&p->tiers->room[want->tier], want->tier, want->key, want->size);
}

/* Its target is full, as it may be where a cleaner makes room (the room is open): the object is as
 * one that was removed before the run. */
static int populate_leave(struct populate *p, const struct object *want)
{
    struct object *o = objects_get(p->objects, want->key, want->tier);
    const struct room *room = &p->tiers->room[want->tier];
    const uint8_t at = room_target_of(room, want->tier, want->key);

    if (!o)
        return -ENOMEM;
    o->planned = o->removed = 1;
    o->planned_size = want->size;
    p->left_bytes[at == TIER_NO_DOOR ? 0 : at] += room_bytes(room, want->size);
    p->done.left_objects++;
    p->done.left_bytes += want->size;
    return 0;
}

/* Is there room for the object, which has taken its own already? */
static bool populate_fits(const struct populate *p, const struct object *want)
{
    const struct room *room = &p->tiers->room[want->tier];
    const uint8_t at = room_target_of(room, want->tier, want->key);

    if (!room->open)
        return true;
    if (at == TIER_NO_DOOR)
        return room->reserved - p->left_bytes[0] <= room->capacity;
    return room->target[at].reserved - p->left_bytes[at] <= room->target[at].capacity;
}

/* Errors of the store, and not of an object: each of the next ones would wait for it again. */
static bool store_is_gone(int rc)
{
    return rc == -ETIMEDOUT || rc == -ECONNRESET || rc == -ECONNREFUSED || rc == -EPROTO;
}

int populate_adopt(struct populate *p, struct err *e)
{
    struct object *want;

    for (size_t pos = 0; (want = objects_next(p->survey->objects, &pos));) {
        uint64_t size, generation;
        if (!want->initial || !p->tiers->kept[want->tier])
            continue;
        struct tier *tier = p->tiers->tier[want->tier];
        struct tier_op op = populate_op(want, 0);
        op.verify = p->tiers->unsure[want->tier] ? TIER_VERIFY_HEADER : TIER_VERIFY_NONE;
        int rc = stop_signal() ? -EINTR : tier->ops->adopt(tier, &op, &size, &generation);
        bool listed = rc == -ENODATA || rc == -ESTALE;
        if (rc == -EINTR)
            return err_set(e, rc, ERR_FAILED, "populate", "interrupted");
        if (store_is_gone(rc))
            return err_errno(e, rc, ERR_TARGET, "populate",
                             "cannot look for the objects that an earlier run kept");
        p->done.torn_objects += rc == -EBADMSG;
        if (rc < 0 && !listed)
            populate_tell(p, want, rc);
        if ((rc < 0 && !listed) || DATA_PADDED(size) != DATA_PADDED(want->size))
            continue;
        populate_tell(p, want, rc);
        op.id.generation = generation;
        if (populate_put(p, want, &op) < 0)
            return err_nomem(e, "table of objects");
        objects_get(p->objects, want->key, want->tier)->stale = rc == -ESTALE;
        populate_take_room(p, want);
        if (rc == -ENODATA)
            continue;
        p->done.adopted_objects++;
        p->done.adopted_bytes += want->size;
        if (want->tier != TRACE_STORAGE || p->tiers->storages == 0)
            continue;
        struct tiers_adopted *adopted = &p->tiers->adopted[tiers_target(p->tiers, op.door)];
        adopted->bytes += want->size;
        if (p->survey->noted_objects > 0 && !want->replaced)
            adopted->staying_bytes += want->size;
    }
    return 0;
}

/* The writes in flight. */
struct writes {
    struct tier_op *op, *spare; /* spare: linked by next */
    unsigned in_flight;
    int failed;    /* first failure, negative errno */
    unsigned full; /* the target where it was */
    int64_t began_ns;
    uint64_t total_bytes;
    bool told;        /* that a signal is being followed */
    uint64_t largest; /* object */
};

static void writes_done(struct populate *p, struct writes *w, struct tier_op *op)
{
    const struct object *want = op->owner;
    int rc = op->status;

    bool full = (rc == -ENOSPC || rc == -EDQUOT) && p->tiers->room[want->tier].open;
    bool written = rc == 0;

    if (written)
        rc = populate_put(p, want, op);
    else if (full)
        rc = populate_leave(p, want);
    if (rc < 0 && w->failed == 0) {
        w->failed = rc;
        w->full = tiers_target(p->tiers, op->door);
    }
    p->done.objects += written && rc == 0;
    p->done.bytes += written && rc == 0 ? want->size : 0;
    op->next = w->spare;
    w->spare = op;
    w->in_flight--;
}

static void writes_look(struct populate *p, struct writes *w)
{
    if (!stop_signal() || w->told)
        return;
    w->told = true;
    progress_clear(p->progress);
    fprintf(stderr, "kvreplay%s: stopping: finishing %u write%s; again to abort\n", ranks_suffix(),
            w->in_flight, units_plural(w->in_flight));
}

/* Waits until a write is done, or a second signal comes. */
static void writes_wait(struct populate *p, struct writes *w)
{
    unsigned before = w->in_flight;
    struct tier_op *done[POPULATE_POLL];

    for (;;) {
        uint32_t seen = bell_seen(p->bell);
        int64_t until = clock_now_ns() + POPULATE_LOOK_NS;
        for (unsigned i = 0; i < TRACE_TIERS; i++) {
            struct tier *tier = p->tiers->tier[i];
            size_t n = tier ? tier->ops->poll(tier, done, POPULATE_POLL) : 0;
            for (size_t k = 0; k < n; k++)
                writes_done(p, w, done[k]);
        }
        progress_line_populate(p->progress, p->done.objects, p->done.bytes, w->total_bytes,
                               w->began_ns);
        writes_look(p, w);
        if (w->in_flight < before || before == 0 || stop_abandons())
            return;
        for (unsigned i = 0; i < TRACE_TIERS; i++) {
            struct tier *tier = p->tiers->tier[i];
            int64_t next = tier ? tier->ops->next_ns(tier) : INT64_MAX;
            until = next < until ? next : until;
        }
        bell_wait(p->bell, seen, until);
    }
}

static void writes_start(struct populate *p, struct writes *w, struct object *want)
{
    struct tier *tier = p->tiers->tier[want->tier];

    while (!w->spare && !stop_abandons())
        writes_wait(p, w);
    if (!w->spare)
        return;
    struct tier_op *op = w->spare;
    w->spare = op->next;
    *op = populate_op(want, p->generation++);
    op->owner = want;
    w->largest = want->size > w->largest ? want->size : w->largest;
    w->in_flight++;
    while (tier->ops->submit(tier, op) < 0) {
        writes_wait(p, w);
        if (stop_abandons())
            return; /* it counts as in flight for ever */
    }
    tier->ops->kick(tier);
}

int populate_write(struct populate *p, struct err *e)
{
    struct writes w = {.began_ns = clock_now_ns()};
    struct object *want;

    for (unsigned i = 0; i < TRACE_TIERS; i++)
        w.total_bytes += p->survey->initial_bytes[i];
    w.op = calloc(p->inflight, sizeof(*w.op));
    if (!w.op)
        return err_nomem(e, "populate");
    for (unsigned i = 0; i < p->inflight; i++) {
        w.op[i].next = w.spare;
        w.spare = &w.op[i];
    }
    for (size_t pos = 0; (want = objects_next(p->survey->objects, &pos));) {
        if (!want->initial || objects_find(p->objects, want->key, want->tier))
            continue;
        populate_take_room(p, want);
        bool fits = populate_fits(p, want);
        if (!fits && populate_leave(p, want) < 0)
            w.failed = -ENOMEM;
        if (fits && !w.failed && !stop_signal())
            writes_start(p, &w, want);
    }
    while (w.in_flight > 0 && !stop_abandons())
        writes_wait(p, &w);
    p->stuck = w.in_flight > 0;
    if (!p->stuck)
        free(w.op);
    if (w.failed == -ENOSPC) {
        char need[32], done[32], room[32];
        uint64_t free_bytes = tiers_storage_free(p->tiers, w.full);
        const char *target = p->tiers->storages > 1 ? p->tiers->storage[w.full].o.path : "";
        return err_set(
            e, -ENOSPC, ERR_TARGET, "populate",
            "the target%s%s is full: the trace needs %s to be there at its start, %s were written, "
            "and "
            "%s %s free now%s",
            target[0] ? " " : "", target,
            units_format_bytes(need, sizeof(need), (double)p->survey->initial_bytes[TRACE_STORAGE]),
            units_format_bytes(done, sizeof(done), (double)p->done.bytes),
            units_format_bytes(room, sizeof(room), (double)free_bytes),
            free_bytes > w.largest ? "seem" : "are",
            free_bytes > w.largest ? ": another limit (inodes, a quota) or another writer" : "");
    }
    if (w.failed)
        return err_errno(e, w.failed, ERR_TARGET, "populate",
                         "cannot write the objects that the trace reads before it writes them");
    if (stop_signal())
        return err_set(e, -EINTR, ERR_FAILED, "populate", "interrupted");
    return 0;
}
