/* room.h - what each row does to the objects and the room of its tier, worked out in the order of
 * the trace when a row is admitted (and, by the survey, for the whole trace before anything is
 * written). */
#ifndef KVREPLAY_SCHED_ROOM_H
#define KVREPLAY_SCHED_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/sched/objects.h"
#include "lib/trace/trace.h"

/* Room of one tier, in exact bytes of objects, or, where nobody knows how many there will be, in
 * whole blocks. planned: after every admitted row; reserved: granted
 * to rows and not yet given back. When all admitted rows are done both are equal. */
struct room {
    uint64_t capacity, planned, reserved, peak;
    uint64_t max_objects, planned_objects, reserved_objects, peak_objects;
    bool blocks;
};

enum plan_verdict {
    PLAN_GO,
    PLAN_ABSENT, /* the object is not there */
    PLAN_NO_ROOM /* the tier is too small, even when every earlier row is done */
};

struct plan {
    struct object *object; /* what the row works on; NULL unless PLAN_GO */
    uint64_t take, give;   /* bytes of room: needed before the row runs, free when it is done */
    uint8_t take_objects, give_objects; /* 0 or 1 */
    uint8_t verdict;                    /* enum plan_verdict */
    bool create;                /* write the object first: it is read before it was written */
    uint64_t needed, room_left; /* PLAN_NO_ROOM: bytes, after every earlier row */
};

/*
 * Works out *p for a Read, Write or Delete of its tier and applies it to the planned state. known:
 * what objects_find gives for key and tier. create: an object that is read without being there is
 * to be written first. 0 or -ENOMEM.
 */
int plan_row(struct objects *objects, struct room *room, const struct trace_row *t,
             struct hash128 key, struct object *known, bool create, struct plan *p);

/* Takes the plan's room if it is there now. */
bool room_reserve(struct room *room, const struct plan *p);
/* Gives back what the finished row frees. */
void room_release(struct room *room, const struct plan *p);

#endif
