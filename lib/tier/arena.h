/* The half that the memory engines share (host.c, gpu.c). The scheduler's thread gives out space by
 * extents and hands operations to threads of the engine over bounded queues. An arena may have
 * several equal parts, for instance one per device, each with threads of its own. */
#ifndef KVTRACE_TIER_ARENA_H
#define KVTRACE_TIER_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/layout/extent.h"
#include "lib/tier/tier.h"

enum {
    ARENA_MAX_THREADS = 16 /* of a part */
};

struct arena;
struct arena_thread;

/* The functions of an engine. state is its own. */
struct arena_engine {
    /* The whole life of a thread, in that thread: takes operations (arena_take) until there are
     * none and arena_stopping says so. */
    void (*run)(struct arena_thread *t, void *state);
    /* Which of the n threads of its part serves op. In the scheduler's thread. */
    unsigned (*choose)(const struct tier_op *op, unsigned n, void *state);
    void (*describe)(void *state, struct tier_info *info);
    /* After the threads have ended; frees state. */
    void (*close)(void *state);
};

/* Bytes that each of the parts needs for capacity bytes in all, with a block of slack for each of
 * max_objects. */
uint64_t arena_bytes(uint64_t capacity, uint64_t max_objects, unsigned parts);

struct arena_opts {
    const struct arena_engine *engine;
    void *state;
    struct bell *bell; /* rings when operations are done */
    uint64_t bytes;    /* of each part: arena_bytes */
    unsigned parts;    /* 1 to EXTENT_PARTS_MAX */
    bool wrap; /* space never ends: it comes round in the engine's memory and overwrites what was
                  there. Contents do not last, and operations may touch the same bytes */
    unsigned threads; /* of each part, ARENA_MAX_THREADS at most */
    unsigned max_ops;
    struct gap_list *gaps; /* the caller's; may be NULL */
    const char *name;      /* of its threads: "memory" */
    enum gap_of of;        /* likewise */
};
/* After a failure the state is still the caller's to close. */
int arena_open(struct tier **out, const struct arena_opts *o, struct err *e);

/* For the engine's threads, each about itself. */
unsigned arena_thread_index(const struct arena_thread *t); /* within its part */
unsigned arena_thread_part(const struct arena_thread *t);
struct tier_op *arena_take(struct arena_thread *t); /* NULL: nothing to do now */
bool arena_stopping(const struct arena_thread *t);
uint32_t arena_seen(const struct arena_thread *t);           /* call before arena_take... */
void arena_sleep(struct arena_thread *t, uint32_t seen);     /* ...and sleep when it gave NULL */
void arena_done(struct arena_thread *t, struct tier_op *op); /* op's outputs are set */

/* The bytes of op that a thread copies, in pieces within its part. An object that lies in several
 * parts goes from thread to thread: each copies what lies in its part, in the object's order. */
struct arena_walk {
    uint64_t block; /* of the object, where this thread begins */
    uint64_t bytes; /* that it copies, in whole blocks; for an object of no bytes one block */
    const struct extent_pool *space;
    uint64_t part_bytes; /* of the space */
    uint64_t wrap_bytes; /* 0: offsets do not come round */
    uint32_t pos;
    struct extent at;
};
void arena_walk_start(struct arena_walk *k, const struct arena_thread *t, const struct tier_op *op);
/* The next piece, of at most max bytes: its offset in the part, and its length. All pieces together
 * are k->bytes at most. */
uint64_t arena_walk_next(struct arena_walk *k, uint64_t max, uint64_t *offset);

#endif
