/* window.h - the rows of the drive in the busiest part of a simulation, as a trace that is replayed
 * at once: times from 0, and objects that were written earlier folded onto a few. Two passes over
 * the same simulation: the first finds the part, the second tells its rows. One thread. */
#ifndef KVGEN_ANSWER_WINDOW_H
#define KVGEN_ANSWER_WINDOW_H

#include <stdint.h>

#include "kvgen/sim/row.h"
#include "kvgen/speed/tier_model.h"
#include "lib/base/err.h"

enum {
    WINDOW_POOL_LEAST = 16,
    WINDOW_POOL_S = 15 /* the pool is as many objects as the drive writes in so many seconds */
};

/* Bytes of Tier-2 by second. Zero it first; owned. */
struct window_load {
    uint64_t *bytes;
    size_t seconds, cap;
};

/* A sim_sink; ctx is the struct window_load. */
int window_load_row(void *ctx, const struct sim_row *row, struct err *e);
void window_load_free(struct window_load *l);
/* Begin in ns, a whole second, of the part of length_ns with the most bytes that lies between
 * first_ns and last_ns; of several the first. If none fits, first_ns. */
int64_t window_busiest(const struct window_load *l, int64_t first_ns, int64_t last_ns,
                       int64_t length_ns);

/* Objects of the pool for rows of that many bytes; UINT64_MAX: each object of its own. */
uint64_t window_pool(const struct tier_model *files, uint64_t object_bytes);

struct window;

struct window_stats {
    uint64_t rows, read_bytes, written_bytes;
    uint64_t pool_objects, pool_bytes; /* that a replay must have before it begins */
};

/* Rows go to sink, whose ctx stays the caller's. NULL: no memory. */
struct window *window_create(int64_t from_ns, int64_t length_ns, uint64_t pool, sim_sink sink,
                             void *ctx);
void window_free(struct window *w); /* takes NULL */
/* A sim_sink for all rows of the simulation; ctx is the window. It tells the sink those of Tier-2
 * in its time, and ends the run behind it. Reads of what the window did not write before become
 * reads of the pool, by turns; deletes of it are left out. */
int window_row(void *ctx, const struct sim_row *row, struct err *e);
const struct window_stats *window_stats(const struct window *w); /* lent */

#endif
