/* worker.h - one thread of a fill with a queue of its own, and what the threads share. Private to
 * fill.c and worker.c. */
#ifndef KVTRACE_KVPRECOND_WORKER_H
#define KVTRACE_KVPRECOND_WORKER_H

#include <pthread.h>
#include <stdatomic.h>

#include "kvprecond/fill.h"

/* Where a completion is counted: the fill, round k = 1, 2, ..., and what belongs to neither. */
enum {
    WORKER_FILL = 0,
    WORKER_REST = STEADY_ROUNDS + 1,
    WORKER_TALLIES
};
struct tally {
    uint64_t bytes, writes;
    struct hist *service; /* NULL in WORKER_REST: nobody asks */
    int64_t last_ns;      /* of its last completion */
};

/* What all threads of a fill share. */
struct work {
    const struct fill_opts *o;
    atomic_uint_fast64_t next_unit;
    atomic_uint_fast64_t writes_left;   /* of the fill */
    atomic_int_fast64_t rounds_from_ns; /* 0 until the fill has ended */
    atomic_bool stop;                   /* begin no more writes */
    pthread_mutex_t lock;               /* of what follows */
    pthread_cond_t ended;               /* a thread has */
    unsigned running;
    int failed; /* the first failure, which *e tells */
    struct err *e;
};

struct worker;

/* NULL: no memory. */
struct worker *worker_create(struct work *work, const struct fill_queue *queue);
void worker_free(struct worker *w);
/* The thread's body; arg is the worker. Ends when the units do, or at work->stop. */
void *worker_run(void *arg);
/* Tells work of a failure and stops all threads. */
void worker_fail(struct work *work, int code, const struct err *e);

/* Any thread: bytes written so far. */
uint64_t worker_bytes(const struct worker *w);
/* Every completion before this monotonic time is in the tallies. INT64_MAX after the end. */
int64_t worker_counted_to(const struct worker *w);
/* Any thread, for a tally that is complete by worker_counted_to. */
const struct tally *worker_tally(const struct worker *w, unsigned which);

#endif
