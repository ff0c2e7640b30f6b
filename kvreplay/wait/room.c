/* Between the reader and the scheduler: works out, in the order of the trace, what each row needs
 * and frees. This is fixed at admission and does not depend on how earlier rows end: a write that
 * fails keeps its room until the row that would have freed it. So reserved room is never below what
 * is stored, and a row lacks room exactly when the trace needs more than the tier has. */
#include "kvreplay/wait/room.h"

#include <errno.h>

#include "lib/data/data.h"
#include "lib/tier/spread.h"

uint64_t room_bytes(const struct room *room, uint64_t size)
{
    return room->blocks && size <= OBJECT_SIZE_MAX ? DATA_PADDED(size) : size;
}

/* ---- the targets of a tier ---- */

uint8_t room_target_of(const struct room *room, unsigned tier, struct hash128 copy)
{
    struct hash128 name;
    uint8_t i = 0;

    if (room->targets == 0)
        return TIER_NO_DOOR;
    name = object_name(copy, tier);
    while (i + 1u < room->targets && !spread_holds(room->part[i], name))
        i++;
    return i;
}

struct room *room_target(const struct room *room, const struct room_effect *effect)
{
    return room->targets ? &room->target[effect->target] : NULL;
}

static void hold(struct room *room, uint64_t size)
{
    room->planned += size;
    room->reserved += size;
    room->planned_objects++;
    room->reserved_objects++;
}

void room_hold(struct room *room, unsigned tier, struct hash128 copy, uint64_t size)
{
    hold(room, size);
    if (room->targets)
        hold(&room->target[room_target_of(room, tier, copy)], size);
}

static void was_there(struct room *room, const struct room_effect *more)
{
    room->planned += more->take;
    room->peak += more->take;
    room->planned_objects += more->take_objects;
    room->peak_objects += more->take_objects;
}

void room_was_there(struct room *room, unsigned tier, struct hash128 copy,
                    const struct room_effect *more)
{
    was_there(room, more);
    if (room->targets)
        was_there(&room->target[room_target_of(room, tier, copy)], more);
}

/* ---- taking and giving ---- */

static bool plan_fits(const struct room *room, const struct room_effect *effect)
{
    if (room->open)
        return true;
    return effect->take <= room->capacity && room->planned <= room->capacity - effect->take &&
           room->planned_objects + effect->take_objects <= room->max_objects;
}

static void plan(struct room *room, const struct room_effect *effect)
{
    room->planned += effect->take;
    room->planned_objects += effect->take_objects;
    if (room->planned > room->peak)
        room->peak = room->planned;
    if (room->planned_objects > room->peak_objects)
        room->peak_objects = room->planned_objects;
    room->planned -= effect->give;
    room->planned_objects -= effect->give_objects;
}

/* False, with the room unchanged, when the row does not fit after all earlier rows. */
static bool room_plan(struct room *room, const struct room_effect *effect)
{
    struct room *target = room_target(room, effect);

    if (!plan_fits(room, effect) || (target && !plan_fits(target, effect)))
        return false;
    plan(room, effect);
    if (target)
        plan(target, effect);
    return true;
}

static bool reserve_fits(const struct room *room, const struct room_effect *effect)
{
    if (room->open)
        return true;
    return room->reserved <= room->capacity - effect->take &&
           room->reserved_objects + effect->take_objects <= room->max_objects;
}

static void reserve(struct room *room, const struct room_effect *effect)
{
    room->reserved += effect->take;
    room->reserved_objects += effect->take_objects;
}

void room_force(struct room *room, const struct room_effect *effect)
{
    struct room *target = room_target(room, effect);

    reserve(room, effect);
    if (target)
        reserve(target, effect);
}

bool room_reserve(struct room *room, const struct room_effect *effect)
{
    const struct room *target = room_target(room, effect);

    if (!reserve_fits(room, effect) || (target && !reserve_fits(target, effect)))
        return false;
    room_force(room, effect);
    return true;
}

static void release(struct room *room, const struct room_effect *effect)
{
    room->reserved -= effect->give;
    room->reserved_objects -= effect->give_objects;
}

void room_release(struct room *room, const struct room_effect *effect)
{
    struct room *target = room_target(room, effect);

    release(room, effect);
    if (target)
        release(target, effect);
}

/* ---- the room of a request ---- */

static void share_enter(struct room_share *s, uint64_t take, uint64_t give)
{
    int64_t spare = (int64_t)(s->held + s->owed) - s->net; /* once the rows before it are done */

    if (take > 0 && (int64_t)take > spare)
        s->owed += (uint64_t)((int64_t)take - spare);
    s->net += (int64_t)take - (int64_t)give;
}

void room_claim_enter(struct room_claim *claim, const struct room_effect *effect)
{
    share_enter(&claim->bytes, effect->take, effect->give);
    share_enter(&claim->objects, effect->take_objects, effect->give_objects);
    claim->takers += effect->take || effect->take_objects;
}

bool room_claim_fits(const struct room *room, const struct room_claim *claim)
{
    uint64_t bytes = claim->bytes.owed, objects = claim->objects.owed;

    if (room->open)
        return true;
    return (!bytes ||
            (room->reserved <= room->capacity && bytes <= room->capacity - room->reserved)) &&
           (!objects || (room->reserved_objects <= room->max_objects &&
                         objects <= room->max_objects - room->reserved_objects));
}

void room_claim_reserve(struct room *room, struct room_claim *claim)
{
    room->reserved += claim->bytes.owed;
    room->reserved_objects += claim->objects.owed;
    claim->bytes.held += claim->bytes.owed;
    claim->objects.held += claim->objects.owed;
    claim->bytes.owed = claim->objects.owed = 0;
}

static void share_leave(struct room_share *s, uint64_t take, uint64_t give)
{
    s->held = s->held - take + give;
    s->net -= (int64_t)take - (int64_t)give;
}

bool room_claim_leave(struct room *room, struct room_claim *claim, const struct room_effect *effect)
{
    struct room *target = room_target(room, effect);

    if (target) { /* a claim holds nothing there: its rows take and give when they are done */
        reserve(target, effect);
        release(target, effect);
    }
    share_leave(&claim->bytes, effect->take, effect->give);
    share_leave(&claim->objects, effect->take_objects, effect->give_objects);
    claim->takers -= effect->take || effect->take_objects;
    if (claim->takers > 0 || (claim->bytes.held == 0 && claim->objects.held == 0))
        return false;
    room->reserved -= claim->bytes.held;
    room->reserved_objects -= claim->objects.held;
    claim->bytes.held = claim->objects.held = 0;
    return true;
}

/* ---- what a row does ---- */

/* A row that stores its object: plans effect's room and the object's new size. */
static int room_store(struct room *room, struct objects *objects, const struct room_row *row,
                      struct room_effect *effect)
{
    const struct trace_row *t = row->t;

    if (t->size > OBJECT_SIZE_MAX || !room_plan(room, effect)) {
        const struct room *target = room_target(room, effect);
        bool of_target = target && plan_fits(room, effect);
        const struct room *full = of_target ? target : room;

        *effect = (struct room_effect){.verdict = ROOM_FULL,
                                       .target = effect->target,
                                       .of_target = of_target,
                                       .needed = effect->take,
                                       .room_left = full->capacity - full->planned};
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

    *effect = (struct room_effect){
        .object = o, .verdict = ROOM_GO, .target = room_target_of(room, t->tier, row->copy)};
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
        *effect = (struct room_effect){.verdict = ROOM_ABSENT, .target = effect->target};
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
