/* Between the reader and the scheduler: the effect of a row on objects and room, in trace order.
 * What a row takes and gives is fixed here and does not depend on how earlier rows end: a write
 * that fails keeps its reservation until the row that would have freed it. So reserved room is
 * never below what is stored, and a row lacks room exactly when the trace itself needs more than
 * the tier has. */
#include "kvreplay/sched/room.h"

#include <errno.h>

#include "kvreplay/sched/row.h"
#include "lib/data/data.h"

static uint64_t room_bytes(const struct room *room, uint64_t size)
{
    return room->blocks && size <= OBJECT_SIZE_MAX ? DATA_PADDED(size) : size;
}

/* False, with the room unchanged, when the plan does not fit after all earlier rows. */
static bool room_plan(struct room *room, const struct plan *p)
{
    if (p->take > room->capacity || room->planned > room->capacity - p->take ||
        room->planned_objects + p->take_objects > room->max_objects)
        return false;
    room->planned += p->take;
    room->planned_objects += p->take_objects;
    if (room->planned > room->peak)
        room->peak = room->planned;
    if (room->planned_objects > room->peak_objects)
        room->peak_objects = room->planned_objects;
    room->planned -= p->give;
    room->planned_objects -= p->give_objects;
    return true;
}

bool room_reserve(struct room *room, const struct plan *p)
{
    if (room->reserved > room->capacity - p->take ||
        room->reserved_objects + p->take_objects > room->max_objects)
        return false;
    room->reserved += p->take;
    room->reserved_objects += p->take_objects;
    return true;
}

void room_release(struct room *room, const struct plan *p)
{
    room->reserved -= p->give;
    room->reserved_objects -= p->give_objects;
}

/* p->object: the copy, if it is known. */
static int plan_put(struct objects *objects, struct room *room, const struct trace_row *t,
                    struct hash128 key, struct plan *p)
{
    if (t->size > OBJECT_SIZE_MAX || !room_plan(room, p)) {
        *p = (struct plan){.verdict = PLAN_NO_ROOM,
                           .needed = p->take,
                           .room_left = room->capacity - room->planned};
        return 0;
    }
    struct object *o = p->object ? p->object : objects_get(objects, key, t->tier);
    if (!o)
        return -ENOMEM;
    p->object = o;
    o->planned = 1;
    o->planned_size = t->size & OBJECT_SIZE_MAX;
    o->replaced = 1;
    return 0;
}

static int plan_write(struct objects *objects, struct room *room, const struct trace_row *t,
                      struct hash128 key, struct plan *p)
{
    bool there = p->object && p->object->planned;
    uint64_t before = there ? room_bytes(room, p->object->planned_size) : 0;
    uint64_t after = room_bytes(room, t->size);
    p->take = after > before ? after - before : 0;
    p->give = before > after ? before - after : 0;
    p->take_objects = there ? 0 : 1;
    return plan_put(objects, room, t, key, p);
}

static int plan_create(struct objects *objects, struct room *room, const struct trace_row *t,
                       struct hash128 key, struct plan *p)
{
    p->take = room_bytes(room, t->size);
    p->take_objects = 1;
    p->create = true;
    if (row_drops(t)) {
        p->give = p->take;
        p->give_objects = 1;
    }
    int rc = plan_put(objects, room, t, key, p);
    if (rc == 0 && p->verdict == PLAN_GO && row_drops(t))
        p->object->planned = 0;
    return rc;
}

int plan_row(struct objects *objects, struct room *room, const struct trace_row *t,
             struct hash128 key, struct object *known, bool create, struct plan *p)
{
    *p = (struct plan){.object = known, .verdict = PLAN_GO};
    if (t->op == TRACE_WRITE)
        return plan_write(objects, room, t, key, p);
    if (!known || !known->planned) {
        if (t->op == TRACE_READ && create && t->size > 0)
            return plan_create(objects, room, t, key, p);
        *p = (struct plan){.verdict = PLAN_ABSENT};
        return 0;
    }
    if (t->op == TRACE_DELETE || row_drops(t)) {
        p->give = room_bytes(room, known->planned_size);
        p->give_objects = 1;
        room_plan(room, p);
        known->planned = 0;
        known->replaced = 1;
    }
    return 0;
}
