/* serve.h - the inside of sim.h: its state, and requests that are served step by step. */
#ifndef KVGEN_SIM_SERVE_H
#define KVGEN_SIM_SERVE_H

#include "kvgen/heap.h"
#include "kvgen/sim/pending_rows.h"
#include "kvgen/sim/queue.h"
#include "kvgen/sim/sim.h"

/* until_ns of a job that another one will wake. */
#define SERVE_PARKED INT64_MAX

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

/* --max-concurrent-allocs: what a job has of the places for writers. */
enum serve_place {
    SERVE_NO_PLACE,
    SERVE_MAY_WRITE, /* it was handed one while it was parked */
    SERVE_WRITES     /* until its write is complete */
};

/* One request that a worker has in hand. */
struct job {
    struct request r;
    const serve_step *step; /* under way, in a list that ends with NULL */
    int64_t until_ns;       /* it may go on at this time */
    int64_t tokens;         /* of the request's own object: those behind the shared prompt */
    uint64_t round;         /* a step's own: verbs done */
    uint32_t part;          /* a verb's own: objects of the entry done */
    bool missed;            /* a verb's own: the object was not there and is to be written */
    bool behind;            /* a step's own: blocks behind one that was not there */
    bool absent;            /* a step's: what it looked up last was not there */
    bool dropped;           /* a step's: no tier could hold what it wrote */
    bool generating;        /* operations are over; until_ns is the end */
    enum serve_place place;
    int64_t taken_ns, served_ns; /* when a worker took it, and its operations were over */
};

/* Requests in a row that took the same time. */
struct sim_run {
    int64_t ns;
    uint64_t count;
};

struct sim {
    struct sim_opts o;
    struct source *source;
    struct hierarchy *hierarchy;
    struct queue *queue;
    sim_sink sink;
    void *ctx;
    struct err *err;               /* of the sim_run under way */
    int status;                    /* of the sink: 0, 1 (end here) or negative */
    const struct request *serving; /* NULL: before the first */
    enum trace_class before;       /* class of what is written and moved before the first */
    struct job *job;               /* by worker */
    uint32_t *idle;                /* stack of idle workers */
    uint32_t idle_count;
    struct heap wakes;                 /* of the others: when their jobs go on */
    struct tier_servers *tier_servers; /* NULL: operations take no time */
    struct pending_rows *pending;      /* rows of operations that are issued later */
    int64_t complete_ns;               /* of the read or write that was told last */
    uint32_t writers;                  /* places for writers that are taken */
    uint32_t *parked;                  /* ring of workers that wait for one */
    uint32_t parked_first, parked_count;
    uint64_t writer;               /* the request that wrote last, ... */
    int64_t written_ns;            /* ... and when; kept where writers race */
    int64_t block_tokens;          /* of the blocks last served, ... */
    uint64_t block_size;           /* ... and their bytes */
    struct sim_run run[SIM_TIMES]; /* the last, which may go on */
    struct sim_run due[SIM_TIMES]; /* the one before, to be recorded */
    struct sim_stats stats;
};

/* The request in j->r is taken by a worker now. */
void serve_begin(struct sim *s, struct job *j);
/* Goes on at the present instant: until the job has to wait (until_ns lies ahead), its generation
 * included, or is over (false). */
bool serve_go_on(struct sim *s, struct job *j);
/* Writes what a decode node and retrievals find there, at the present instant, before the first
 * request. */
void serve_populate(struct sim *s);
/* Writes an object before the first request, unless the run has ended. */
void serve_write(struct sim *s, struct ident id, int64_t tokens, enum trace_class class);
/* Deletes it there, where it is. */
void serve_drop(struct sim *s, struct ident id, int64_t tokens, enum trace_class class);
/* Hands on the rows that were kept for times up to until_ns; the clock follows them. */
void serve_pending(struct sim *s, int64_t until_ns);
/* The hierarchy's sink; ctx is the simulation. */
void serve_operation(void *ctx, const struct hierarchy_op *op);

/* The parts that verbs are made of, on one object. */

enum serve_look {
    SERVE_WAIT, /* call again at until_ns */
    SERVE_MISS,
    SERVE_HIT
};
/* The job's write is complete: its place goes to the next. */
void serve_free_place(struct sim *s, struct job *j);
/* Has the job to wait before its next operation? For ever, once the run has ended. */
static inline bool serve_has_to_wait(struct sim *s, struct job *j)
{
    if (j->until_ns > s->stats.now_ns || s->status != 0)
        return true;
    if (j->place == SERVE_WRITES)
        serve_free_place(s, j);
    return false;
}
/* The same where operations take time. */
enum serve_look serve_look_timed(struct sim *s, struct job *j, struct ident id,
                                 enum trace_class class);
/* Looks an object up, which reads it, when nothing has to be waited for. */
static inline enum serve_look serve_look(struct sim *s, struct job *j, struct ident id,
                                         enum trace_class class)
{
    if (serve_has_to_wait(s, j))
        return SERVE_WAIT;
    if (s->tier_servers != NULL)
        return serve_look_timed(s, j, id, class);
    return hierarchy_read(s->hierarchy, id, class) ? SERVE_HIT : SERVE_MISS;
}
/* Writes an object of size bytes; false: call again at until_ns. */
bool serve_put(struct sim *s, struct job *j, struct ident id, uint64_t size, int64_t tokens,
               enum trace_class class);
/* Ends the run with an error, unless it has one. */
void serve_fail(struct sim *s, int code);
/* Tells the curve, if there is one, of an object of tokens tokens; by: curve_lookup or curve_write.
 */
void serve_tell_curve(struct sim *s, int (*by)(struct curve *, struct ident, uint64_t),
                      struct ident id, int64_t tokens);
void serve_probe_curve(struct sim *s, struct ident id);
/* The same of an entry in parts that is read until one is missing. */
void serve_probe_curve_entry(struct sim *s, struct ident id);
/* Bytes of an object of tokens tokens; false: too many, which ends the run. */
bool serve_size(struct sim *s, int64_t tokens, uint64_t *size);
/* Counts a row and hands it on, until the sink has ended the run. */
void serve_row(struct sim *s, const struct sim_row *row);

/* Verbs of a step, on an entry of the cache that holds tokens tokens. One identity has always the
 * same tokens. */

/* Reads it; what is not there is a miss. tokens 0: not known here; then reading ends with the first
 * part that is not there. */
enum serve_progress serve_read(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                               enum trace_class class);
/* Reads it, and writes what is not there. */
enum serve_progress serve_fetch(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                                enum trace_class class);
/* Writes it, unless it is there. */
enum serve_progress serve_store(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                                enum trace_class class);

/* Steps of a request with an object of its own (serve_objects.c): what a decode node decodes was
 * written before the first request. */
enum serve_progress serve_step_prompt(struct sim *s, struct job *j);
enum serve_progress serve_step_earlier_turns(struct sim *s, struct job *j);
enum serve_progress serve_step_prefill(struct sim *s, struct job *j);
enum serve_progress serve_step_decode(struct sim *s, struct job *j);
enum serve_progress serve_step_decode_prepopulated(struct sim *s, struct job *j);
/* The step of a request of blocks (serve_blocks.c). */
enum serve_progress serve_step_blocks(struct sim *s, struct job *j);
/* Steps around documents (serve_rag.c): a request retrieves chunks; a query decodes over them. */
enum serve_progress serve_step_retrieve(struct sim *s, struct job *j);
enum serve_progress serve_step_query(struct sim *s, struct job *j);

/* Does the request start with a shared system prompt? Queries and decode nodes write none. */
bool serve_has_prompt(const struct sim *s, const struct request *r);
/* A stream of the run's seed for one request and purpose, the same whoever serves it and when. */
void serve_stream(const struct sim *s, const struct request *r, uint64_t purpose, struct rng *rng);
/* How often the request reads while it decodes. */
uint64_t serve_decode_reads(const struct sim *s, const struct request *r);

#endif
