/* Between the reader and the scheduler: works out, in the order of the trace, what each row needs
 * and frees. This is fixed at admission and does not depend on how earlier rows end: a write that
 * fails keeps its room until the row that would have freed it. So reserved room is never below what
 * is stored, and a row lacks room exactly when the trace needs more than the tier has. */
#include "kvreplay/sched/room.h"

#include <errno.h>

#include "lib/data/data.h"

static uint64_t room_bytes(const struct room *room, uint64_t size)
{
    return room->blocks && size <= OBJECT_SIZE_MAX ? DATA_PADDED(size) : size;
}

/* False, with the room unchanged, when the row does not fit after all earlier rows. */
static bool room_plan(struct room *room, const struct room_effect *effect)
{
    if (effect->take > room->capacity || room->planned > room->capacity - effect->take ||
        room->planned_objects + effect->take_objects > room->max_objects)
        return false;
    room->planned += effect->take;
    room->planned_objects += effect->take_objects;
    if (room->planned > room->peak)
        room->peak = room->planned;
    if (room->planned_objects > room->peak_objects)
        room->peak_objects = room->planned_objects;
    room->planned -= effect->give;
    room->planned_objects -= effect->give_objects;
    return true;
}

bool room_reserve(struct room *room, const struct room_effect *effect)
{
    if (room->reserved > room->capacity - effect->take ||
        room->reserved_objects + effect->take_objects > room->max_objects)
        return false;
    room->reserved += effect->take;
    room->reserved_objects += effect->take_objects;
    return true;
}

void room_release(struct room *room, const struct room_effect *effect)
{
    room->reserved -= effect->give;
    room->reserved_objects -= effect->give_objects;
}

/* A row that stores its object: plans effect's room and the object's new size. */
static int room_store(struct room *room, struct objects *objects, const struct room_row *row,
                      struct room_effect *effect)
{
    const struct trace_row *t = row->t;

    if (t->size > OBJECT_SIZE_MAX || !room_plan(room, effect)) {
        *effect = (struct room_effect){.verdict = ROOM_FULL,
                                       .needed = effect->take,
                                       .room_left = room->capacity - room->planned};
        return 0;
    }
    struct object *o = row->known ? row->known : objects_get(objects, row->copy, t->tier);
    if (!o)
        return -ENOMEM;
    effect->object = o;
    o->planned = 1;
    o->planned_size = t->size & OBJECT_SIZE_MAX;
    o->replaced = 1;
    return 0;
}

int room_admit(struct room *room, struct objects *objects, const struct room_row *row,
               struct room_effect *effect)
{
    const struct trace_row *t = row->t;
    struct object *o = row->known;
    bool there = o && o->planned, drops = room_drops(t);

    *effect = (struct room_effect){.object = o, .verdict = ROOM_GO};
    if (t->op == TRACE_WRITE) {
        uint64_t before = there ? room_bytes(room, o->planned_size) : 0;
        uint64_t after = room_bytes(room, t->size);
        effect->take = after > before ? after - before : 0;
        effect->give = before > after ? before - after : 0;
        effect->take_objects = !there;
        return room_store(room, objects, row, effect);
    }
    if (!there && t->op == TRACE_READ && row->create && t->size > 0) {
        effect->take = room_bytes(room, t->size);
        effect->take_objects = 1;
        effect->give = drops ? effect->take : 0;
        effect->give_objects = drops;
        effect->create = true;
        int rc = room_store(room, objects, row, effect);
        if (rc == 0 && effect->verdict == ROOM_GO && drops)
            effect->object->planned = 0;
        return rc;
    }
    if (!there) {
        *effect = (struct room_effect){.verdict = ROOM_ABSENT};
        return 0;
    }
    if (t->op == TRACE_DELETE || drops) {
        effect->give = room_bytes(room, o->planned_size);
        effect->give_objects = 1;
        room_plan(room, effect); /* it takes nothing: always fits */
        o->planned = 0;
        o->replaced = 1;
    }
    return 0;
}
