/* The effect of each row on its object and on the room of its tier. The scheduler works it out when
 * it admits a row, in the order of the trace. The survey does the same for the whole trace before
 * anything is written. One thread. */
#ifndef KVREPLAY_WAIT_ROOM_H
#define KVREPLAY_WAIT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/wait/objects.h"
#include "lib/io/target_part.h"
#include "lib/trace/trace.h"

/*
 * Room of one tier, in bytes and in objects. "planned" is what is taken once every admitted row is
 * done. "reserved" is what rows were granted and have not given back. Both are equal when all
 * admitted rows are done. A tier of several targets has a room for each, and a row needs both: that
 * of its tier and that of the target which holds its object. Requests (struct room_claim) wait for
 * the tier's alone.
 */
struct room {
    uint64_t capacity, planned, reserved, peak; /* peak: highest planned */
    uint64_t max_objects, planned_objects, reserved_objects, peak_objects;
    bool blocks; /* sizes count in whole blocks; false: exact bytes */
    bool open;   /* no row waits or fails for room here: a cleaner makes it when it is used up */
    size_t
        line; /* rows of admitted requests, or of none, that wait for room (--config admit=qos) */
    /* The targets' rooms, and the part of the names that each has; the caller's. 0: one target. */
    unsigned targets;
    struct room *target;
    const struct target_part *part;
};

enum room_verdict {
    ROOM_GO,
    ROOM_ABSENT, /* the object is not there */
    ROOM_FULL    /* the tier is too small, even when every earlier row is done */
};

struct room_effect {
    struct object *object; /* the row's object; NULL unless ROOM_GO */
    uint64_t take, give;   /* bytes needed before the row runs; freed when it is done */
    uint8_t take_objects, give_objects; /* 0 or 1 */
    uint8_t verdict;                    /* enum room_verdict */
    uint8_t target;                     /* whose room it needs; TIER_NO_DOOR: the tier has one */
    bool of_target;                     /* ROOM_FULL: its target is too small, the tier is not */
    bool create;                /* write the object first: it is read before it is written */
    uint64_t needed, room_left; /* ROOM_FULL: bytes, after every earlier row */
};

/* A Read, Write or Delete, as the room sees it. */
struct room_row {
    const struct trace_row *t; /* its tier is the one that executes it */
    struct hash128 copy;       /* names the object in that tier */
    struct object *known;      /* objects_find of copy and tier */
    bool create;               /* a Read may create its object when it is not there */
};

/* A Read that moves or removes its object: the copy is gone when the row is done. */
static inline bool room_drops(const struct trace_row *t)
{
    return t->op == TRACE_READ && t->phase == TRACE_EVICT;
}

/* Works out *effect and applies it to the planned state of room and object. 0 or -ENOMEM. */
int room_admit(struct room *room, struct objects *objects, const struct room_row *row,
               struct room_effect *effect);

/* Bytes that an object of that size takes. */
uint64_t room_bytes(const struct room *room, uint64_t size);
/* Which of the tier's targets holds that copy; TIER_NO_DOOR: the tier has one. */
uint8_t room_target_of(const struct room *room, unsigned tier, struct hash128 copy);
/* The room of the target that an effect is on; NULL: the tier has one target. */
struct room *room_target(const struct room *room, const struct room_effect *effect);
/* The object (its key's hash, as for objects_find) is there before the first row: takes its room.
 */
void room_hold(struct room *room, unsigned tier, struct hash128 copy, uint64_t size);
/* The object was there, with so many bytes more, from before the first row until now: adds to the
 * peak as to what is planned. */
void room_was_there(struct room *room, unsigned tier, struct hash128 copy,
                    const struct room_effect *more);
/* Takes the row's room, free or not. */
void room_force(struct room *room, const struct room_effect *effect);
/* Takes the row's room if it is free now. */
bool room_reserve(struct room *room, const struct room_effect *effect);
/* Gives back what the finished row frees. */
void room_release(struct room *room, const struct room_effect *effect);

/*
 * The room of a request in one tier (--config admit=qos). Its rows run one after another, so it
 * needs the most that they have taken at once, less what they have given back by then: that is
 * reserved when the request is admitted, and its rows take of it and give to it. What is left goes
 * back to the tier when no row inside takes any more. Zero it first.
 */
struct room_claim {
    struct room_share {
        uint64_t held; /* reserved, and of no object */
        uint64_t owed; /* needed, and not reserved yet */
        int64_t net;   /* what the rows inside that are not done take, less what they give */
    } bytes, objects;
    uint64_t takers; /* rows inside that take and are not done */
};

/* The next row of the request enters. */
void room_claim_enter(struct room_claim *claim, const struct room_effect *effect);
/* Is nothing owed, or is what is owed free? */
bool room_claim_fits(const struct room *room, const struct room_claim *claim);
/* Reserves what is owed; more than is free when it does not fit. */
void room_claim_reserve(struct room *room, struct room_claim *claim);
/* The row, for which nothing was owed, is done. True: some room went back to the tier. */
bool room_claim_leave(struct room *room, struct room_claim *claim,
                      const struct room_effect *effect);

#endif
