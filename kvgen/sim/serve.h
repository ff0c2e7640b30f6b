/* serve.h - what a worker does with one request: the steps that it takes, from the shared prompt to
 * the generation. The event loop resumes it (sim.c); its operations are those of cache.h. */
#ifndef KVGEN_SIM_SERVE_H
#define KVGEN_SIM_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/sim/cache.h"
#include "kvgen/sim/emitter.h"
#include "kvgen/sim/opts.h"
#include "kvgen/sim/virtual_clock.h"

/* Everything that serving needs. All of it is lent. */
struct serving {
    const struct sim_opts *o;
    struct virtual_clock *clock;
    struct cache *cache;
    const struct hierarchy *hierarchy; /* the cache's, to look ahead */
    struct emitter *emitter;
};

struct job;

/*
 * One step of serving a request, for instance its prefill. It is called at the present virtual time
 * and does its operations in order (cache.h) until it is done (CACHE_DONE: the next step follows)
 * or one of them says CACHE_WAIT, which it passes on. Then it is called again later and goes on
 * where it was: it counts what is done in job.round, which is zero when the step begins. So a step
 * of one operation is return cache_store(s->cache, &j->access, &entry); and a step of n operations
 * is for (; j->round < n; j->round++) if (cache_read(s->cache, &j->access, &entry[j->round]) ==
 * CACHE_WAIT) return CACHE_WAIT; return CACHE_DONE; To add a step, write such a function and put it
 * into the lists of the requests that take it (serve.c). A step that does not concern a request
 * returns CACHE_DONE.
 */
typedef enum cache_progress (*serve_step)(struct serving *s, struct job *j);

/* One request that a worker has. */
struct job {
    struct request r;
    const serve_step *step;      /* under way, in a list that ends with NULL */
    struct cache_access access;  /* access.job.until_ns: when the job may go on */
    int64_t tokens;              /* of the request's own object: its context behind the prompt */
    uint64_t round;              /* a step's own: operations that are done */
    int64_t hit_tokens;          /* of blocks that hit */
    bool behind;                 /* a step's own: an earlier block was missing */
    bool generating;             /* all operations are over; until_ns is the end of the job */
    int64_t taken_ns, served_ns; /* when a worker took it, and when its operations were over */
};

/* Writes what is there before the first request: documents, and the objects of a decode node. */
void serve_populate(struct serving *s);
/* Fetches from memory what the next request of the source needs first, if that is known. */
void serve_look_ahead(const struct serving *s);
/* Worker number worker takes the request j->r now. */
void serve_begin(const struct serving *s, struct job *j, uint32_t worker);
/* Goes on with the job at the present time. true: it has to wait until access.job.until_ns, for an
 * operation or for the end of its generation; false: it is over. */
bool serve_go_on(struct serving *s, struct job *j);

#endif
