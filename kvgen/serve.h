/* serve.h - the inside of sim.h: its state, and requests that are served step by step. */
#ifndef KVGEN_SERVE_H
#define KVGEN_SERVE_H

#include "kvgen/heap.h"
#include "kvgen/queue.h"
#include "kvgen/sim.h"

/* The clock may not pass this (146 years): sums of two times then fit. */
#define SIM_LAST_NS (INT64_C(1) << 62)

enum serve_progress {
    SERVE_ON,   /* done: whatever comes next */
    SERVE_AGAIN /* has to wait: call the same again at the job's until_ns */
};

struct sim;
struct job;

/*
 * One step of serving a request, for instance its prefill. Called at the present virtual time, it
 * does its operations in order by the verbs below until it is done (SERVE_ON: the list's next step
 * follows) or a verb says SERVE_AGAIN, which it passes on. Then it is called again later and goes
 * on from where the job says that it was: round is its own, zero when it begins.
 *
 * A verb first waits for the operation before it, then does its own. So a step of one verb is
 *     return serve_store(s, j, id, tokens, class);
 * and one of several verbs counts those that are done in round:
 *     for (; j->round < n; j->round++)
 *         if (serve_read(s, j, id(j->round), tokens, class) == SERVE_AGAIN)
 *             return SERVE_AGAIN;
 *     return SERVE_ON;
 * To add a step, write such a function and put it into the list of the requests that take it (the
 * tables in front of serve_begin in serve.c). A step that does not concern a request returns
 * SERVE_ON. When the run has ended early, verbs say SERVE_AGAIN.
 */
typedef enum serve_progress (*serve_step)(struct sim *s, struct job *j);

/* One request that a worker has in hand. */
struct job {
    struct request r;
    const serve_step *step; /* under way, in a list that ends with NULL */
    int64_t until_ns;       /* it may go on at this time */
    int64_t tokens;         /* of the request's own object: those behind the shared prompt */
    uint64_t round;         /* a step's own: verbs done */
    bool missed;            /* a verb's own: the object was not there */
    bool dropped;           /* a step's: no tier could hold what it wrote */
    bool generating;        /* operations are over; until_ns is the end */
};

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
    struct job *job; /* by worker */
    uint32_t *idle;  /* stack of idle workers */
    uint32_t idle_count;
    struct heap wakes;    /* of the others: when their jobs go on */
    int64_t block_tokens; /* of the blocks last served, ... */
    uint64_t block_size;  /* ... and their bytes */
    struct sim_stats stats;
};

/* The request in j->r is taken by a worker now. */
void serve_begin(struct sim *s, struct job *j);
/* Goes on at the present instant: until the job has to wait (until_ns lies ahead), its generation
 * included, or is over (false). */
bool serve_go_on(struct sim *s, struct job *j);
/* The hierarchy's sink; ctx is the simulation. */
void serve_operation(void *ctx, const struct hierarchy_op *op);

/* Verbs of a step, on an entry of the cache that holds tokens tokens. */

/* Reads it; what is not there is a miss. tokens 0: not known here. */
enum serve_progress serve_read(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                               enum trace_class class);
/* Reads it, and writes what is not there. */
enum serve_progress serve_fetch(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                                enum trace_class class);
/* Writes it, unless it is there. */
enum serve_progress serve_store(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                                enum trace_class class);

#endif
