/* engine_curve.c - first the run with an endless tier, which says what is enough, then one for each
 * capacity below that. */
#include "kvgen/curve/engine_curve.h"

#include <stdlib.h>

#include "kvgen/cache/cache.h"
#include "kvgen/worth/frozen_engine.h"
#include "lib/base/stop.h"

enum {
    OCTAVES = 8, /* of the capacities that nobody chose, below the one that is enough */
    STEPS = 2,   /* in each */
    ENDLESS_BITS = 24
};

enum trace_tier engine_curve_tier(const struct engine_room *room)
{
    int t = TRACE_STORAGE;
    while (t > TRACE_GPU && room->capacity[t] == 0)
        t--;
    return (enum trace_tier)t;
}

/* The hits of a run, and the most that the tier held, in bytes of one rank. */
struct found {
    uint64_t looked_up, hits; /* tokens */
    uint64_t peak_bytes, token_bytes;
};

/* One run with that capacity, in bytes of one rank. 1: done; 0: stopped by a signal. */
static int simulate(struct found *f, const struct engine_curve_opts *o, uint64_t capacity,
                    struct err *e)
{
    struct engine_run_opts engine = *o->engine;
    const enum trace_tier tier = engine_curve_tier(&engine.room);
    struct engine_run *run;
    engine.room.capacity[tier] = capacity;
    const int rc = frozen_engine_run(&run, o->requests, &engine, e);
    if (rc == 0) {
        const struct copy_rows_stats *copies = engine_run_copies(run);
        const struct engine_cache *cache = engine_run_cache(run);
        *f = (struct found){.peak_bytes = engine_run_sim_stats(run)->rows.tier[tier].peak_bytes,
                            .token_bytes = cache->block_bytes / cache->block_tokens};
        for (int t = 0; t < TRACE_TIERS; t++)
            f->hits += copies->found_tokens[t];
        f->looked_up = f->hits + copies->computed_tokens;
    }
    engine_run_free(run);
    return rc < 0 ? rc : stop_signal() == 0;
}

/* A tier that is never full, unless 2^24 copies fill it. */
static uint64_t endless(const struct engine_curve_opts *o)
{
    return engine_curve_tier(&o->engine->room) == TRACE_STORAGE ? KV_NO_LIMIT
                                                                : o->chunk_bytes << ENDLESS_BITS;
}

/* Adds a point, unless the capacity has no room for a copy. */
static int add_point(struct engine_curve *c, const struct engine_curve_opts *o, uint64_t size,
                     struct err *e)
{
    struct found f;
    if (size / o->engine->room.ranks < o->chunk_bytes)
        return 1;
    const int rc = simulate(&f, o, size / o->engine->room.ranks, e);
    if (rc > 0)
        c->point[c->result.points++] = (struct curve_point){
            .capacity = size, .hits = f.hits, .hit_bytes = f.hits * f.token_bytes};
    return rc;
}

int engine_curve_run(struct engine_curve *c, const struct engine_curve_opts *o, struct err *e)
{
    const uint64_t ranks = o->engine->room.ranks;
    const size_t most = o->size ? o->sizes : OCTAVES * STEPS;
    struct found all;
    *c = (struct engine_curve){.point = calloc(most + 1, sizeof(*c->point))};
    if (!c->point)
        return err_nomem(e, "the curve");
    int rc = simulate(&all, o, endless(o), e);
    if (rc <= 0)
        return rc;
    const uint64_t need = all.peak_bytes * ranks;
    c->result = (struct curve_result){.lookups = all.looked_up,
                                      .lookup_bytes = all.looked_up * all.token_bytes,
                                      .point = c->point,
                                      .need = need};
    for (size_t i = 0; i < most && rc > 0; i++) {
        /* Between two powers of two lies three halves of the lower one. */
        const uint64_t octave = need >> (OCTAVES - i / STEPS);
        const uint64_t size = o->size ? o->size[i] : octave + i % STEPS * octave / STEPS;
        if (o->size || size < need)
            rc = add_point(c, o, size, e);
    }
    if (rc <= 0)
        return rc;
    const uint64_t last = c->result.points ? c->point[c->result.points - 1].capacity : 0;
    if (last < need)
        c->point[c->result.points++] = (struct curve_point){
            .capacity = need, .hits = all.hits, .hit_bytes = all.hits * all.token_bytes};
    c->result.knee = c->result.points ? curve_knee(&c->result) : CURVE_NO_KNEE;
    return 1;
}

void engine_curve_free(struct engine_curve *c)
{
    free(c->point);
}
