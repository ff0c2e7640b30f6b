/* tier_arena.h - what the engines that keep objects in an arena of memory share (tier_host.c,
 * tier_gpu.c): space by extents in the scheduler's thread, workers fed by bounded queues. */
#ifndef KVTRACE_TIER_ARENA_H
#define KVTRACE_TIER_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/extent.h"
#include "lib/tier.h"

enum {
    ARENA_MAX_WORKERS = 16
};

struct arena; /* the shared half of an engine */
struct arena_worker;

/* What an engine adds. */
struct arena_engine {
    /* A worker's whole life, in its own thread: arena_take until it gives NULL and arena_stopping.
     */
    void (*run)(struct arena_worker *w, void *engine);
    /* Which of n workers serves op. Scheduler's thread. */
    unsigned (*choose)(const struct tier_op *op, unsigned n, void *engine);
    void (*describe)(void *engine, struct tier_info *info);
    void (*close)(void *engine); /* after the workers have ended; frees engine */
};

/* wrap: space given out has no end and comes round in the engine's memory; what was there before is
 * written over, so contents do not last, and operations may touch the same bytes. */

/* A tier of capacity bytes plus a block of slack for each of max_objects; arena_bytes gives the
 * size that the engine's memory must have. workers threads run engine->run. On failure engine is
 * not closed. */
uint64_t arena_bytes(uint64_t capacity, uint64_t max_objects);
int arena_open(struct tier **out, uint64_t bytes, bool wrap, unsigned workers, unsigned max_ops,
               const struct arena_engine *engine, void *state, struct bell *bell, struct err *e);

/* For workers, in their own thread. */
unsigned arena_worker_index(const struct arena_worker *w);
struct tier_op *arena_take(struct arena_worker *w); /* NULL: nothing at the moment */
bool arena_stopping(const struct arena_worker *w);
uint32_t arena_seen(const struct arena_worker *w);           /* take before arena_take... */
void arena_sleep(struct arena_worker *w, uint32_t seen);     /* ...and sleep when that was NULL */
void arena_done(struct arena_worker *w, struct tier_op *op); /* op's outputs are set */

/* An object's bytes in pieces of the arena. */
struct arena_walk {
    const struct extent_pool *space;
    uint64_t wrap_bytes; /* 0: offsets do not come round */
    uint32_t pos;
    struct extent at;
};
void arena_walk_start(struct arena_walk *k, const struct arena_worker *w, const struct tier_op *op);
/* Next piece of at most max bytes: its offset in the arena, and its length (0 at the end). */
uint64_t arena_walk_next(struct arena_walk *k, uint64_t max, uint64_t *offset);

#endif
