/* serve.h - the inside of sim.h: its state, and what serving one request does to the cache. */
#ifndef KVGEN_SERVE_H
#define KVGEN_SERVE_H

#include "kvgen/heap.h"
#include "kvgen/queue.h"
#include "kvgen/sim.h"

/* The clock may not pass this (146 years): sums of two times then fit. */
#define SIM_LAST_NS (INT64_C(1) << 62)

struct sim {
    struct sim_opts o;
    struct source *source;
    struct hierarchy *hierarchy;
    struct queue *queue;
    sim_sink sink;
    void *ctx;
    struct err *err; /* of the sim_run under way */
    int status;      /* of the sink: 0, 1 (end here) or negative */
    const struct request *serving;
    struct request *busy; /* by worker: what it generates for */
    uint32_t *idle;       /* stack of idle workers */
    uint32_t idle_count;
    struct heap ends;     /* of generation, by worker */
    int64_t block_tokens; /* of the blocks last served, ... */
    uint64_t block_size;  /* ... and their bytes */
    struct sim_stats stats;
};

/* Does r's operations at the present instant; returns how long its worker is busy from now on. */
int64_t serve_request(struct sim *s, const struct request *r);
/* The hierarchy's sink; ctx is the simulation. */
void serve_operation(void *ctx, const struct hierarchy_op *op);

#endif
