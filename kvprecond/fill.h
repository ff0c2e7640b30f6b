/* fill.h - writes the units of a plan with several threads, each with a queue of the device kept
 * full, and then goes on in rounds of time if asked to. */
#ifndef KVTRACE_KVPRECOND_FILL_H
#define KVTRACE_KVPRECOND_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include "kvprecond/fill_target.h"
#include "kvprecond/plan.h"
#include "kvprecond/steady.h"
#include "lib/base/err.h"
#include "lib/base/hist.h"
#include "lib/io/io.h"

/* Of one thread: an engine that is open with pool registered; both the caller's. */
struct fill_queue {
    struct io *io;
    void *pool; /* bufs buffers of plan->o.write_bytes, 4 KiB aligned */
};

/* What was written in a span of time. */
struct fill_span {
    uint64_t bytes, writes; /* completed */
    int64_t elapsed_ns;
    const struct hist *service; /* ns from hand-over to completion of a write; lent */
};

struct fill_opts {
    const struct plan *plan;
    struct fill_target *target; /* ready for plan */
    const struct fill_queue *queues;
    unsigned threads; /* number of queues */
    unsigned bufs;    /* of each queue */
    unsigned depth;   /* writes of each queue in flight; bufs beyond it are filled ahead */
    /* Above 0: after the fill the same writes go on, and each span of this length is a round, until
     * round says so, STEADY_ROUNDS at most. */
    int64_t round_ns;
    /* Called in the caller's thread, rounds in order: true ends the run. */
    bool (*round)(void *ctx, const struct fill_span *span);
    /* Called in the caller's thread several times a second: true ends the run early. written: in
     * all, rounds included. */
    bool (*tick)(void *ctx, uint64_t written);
    void *ctx;
};

struct fill_result {
    uint64_t bytes, writes; /* of the fill: completed */
    uint64_t total_bytes;   /* with those of the rounds, and of what fell between them */
    int64_t elapsed_ns;     /* of the fill: from the first write to its last completion */
    bool complete;          /* the fill was all written */
    bool stopped;           /* by tick */
};

/* Runs; service times (ns) of the fill go into service. Returns 0, also when stopped; -ENOSPC,
 * -EIO... with *e of class ERR_FAILED when a write failed: no more are then begun, and those in
 * flight are awaited. *r is filled in every case. */
int fill_run(const struct fill_opts *o, struct fill_result *r, struct hist *service, struct err *e);

/* Buffers of a queue that keep depth writes of write_bytes in flight while others are filled. */
unsigned fill_buffers(unsigned depth, uint32_t write_bytes);

#endif
