/* arena.h - what the engines that keep objects in an arena of memory share (host.c,
 * gpu.c): space by extents in the scheduler's thread, workers fed by bounded queues. An arena
 * may be of several equal parts, a device each, every one with workers of its own. */
#ifndef KVTRACE_TIER_ARENA_H
#define KVTRACE_TIER_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/tier/extent.h"
#include "lib/tier/tier.h"

enum {
    ARENA_MAX_WORKERS = 16 /* of a part */
};

struct arena; /* the shared half of an engine */
struct arena_worker;

/* What an engine adds. */
struct arena_engine {
    /* A worker's whole life, in its own thread: arena_take until it gives NULL and arena_stopping.
     */
    void (*run)(struct arena_worker *w, void *engine);
    /* Which of the n workers of its part serves op. Scheduler's thread. */
    unsigned (*choose)(const struct tier_op *op, unsigned n, void *engine);
    void (*describe)(void *engine, struct tier_info *info);
    void (*close)(void *engine); /* after the workers have ended; frees engine */
};

/* wrap: space given out has no end and comes round in the engine's memory; what was there before is
 * written over, so contents do not last, and operations may touch the same bytes. */

/* Size that each of an engine's parts must have for capacity bytes in all, plus a block of slack
 * for each of max_objects. */
uint64_t arena_bytes(uint64_t capacity, uint64_t max_objects, unsigned parts);

struct arena_opts {
    uint64_t bytes; /* of each part: arena_bytes */
    unsigned parts; /* 1 to EXTENT_PARTS_MAX */
    bool wrap;
    unsigned workers; /* of each part; threads that run engine->run */
    unsigned max_ops;
};
/* On failure state is not closed. */
int arena_open(struct tier **out, const struct arena_opts *o, const struct arena_engine *engine,
               void *state, struct bell *bell, struct err *e);

/* For workers, in their own thread. */
unsigned arena_worker_index(const struct arena_worker *w); /* within its part */
unsigned arena_worker_part(const struct arena_worker *w);
struct tier_op *arena_take(struct arena_worker *w); /* NULL: nothing at the moment */
bool arena_stopping(const struct arena_worker *w);
uint32_t arena_seen(const struct arena_worker *w);           /* take before arena_take... */
void arena_sleep(struct arena_worker *w, uint32_t seen);     /* ...and sleep when that was NULL */
void arena_done(struct arena_worker *w, struct tier_op *op); /* op's outputs are set */

/* The bytes of an object that a worker copies, in pieces of its part. An object that no part had
 * room for goes from worker to worker: each copies what lies in its part, in the object's order. */
struct arena_walk {
    uint64_t block; /* of the object, where this begins */
    uint64_t bytes; /* of op->size, whole blocks; an object of no bytes has one block */
    const struct extent_pool *space;
    uint64_t part_bytes; /* of the space */
    uint64_t wrap_bytes; /* 0: offsets do not come round */
    uint32_t pos;
    struct extent at;
};
void arena_walk_start(struct arena_walk *k, const struct arena_worker *w, const struct tier_op *op);
/* Next piece of at most max bytes, which add up to k->bytes at most: its offset in the part, and
 * its length. */
uint64_t arena_walk_next(struct arena_walk *k, uint64_t max, uint64_t *offset);

#endif
