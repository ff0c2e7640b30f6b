/* sched.h - the scheduler: decides when each row of the trace is released to its tier. One thread,
 * the caller's. */
#ifndef KVREPLAY_SCHED_SCHED_H
#define KVREPLAY_SCHED_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/counts.h"
#include "kvreplay/sched/notices.h"
#include "kvreplay/sched/objects.h"
#include "kvreplay/sched/order.h"
#include "kvreplay/sched/reader.h"
#include "kvreplay/sched/results.h"
#include "kvreplay/sched/room.h"
#include "lib/base/bell.h"
#include "lib/base/clock.h"
#include "lib/tier/tier.h"

enum sched_on_lag {
    SCHED_LAG_CONTINUE,
    SCHED_LAG_SKIP_WAIT,
    SCHED_LAG_STOP
};
enum sched_on_absent {
    SCHED_ABSENT_CREATE,
    SCHED_ABSENT_SKIP,
    SCHED_ABSENT_FAIL
};

struct sched;

struct sched_opts {
    const struct clock *clock;
    bool timed;       /* rows at their Timestamps; else as fast as possible */
    unsigned workers; /* timed: that many requests are served at once (order by request); 0: rows
                         come at their own times */
    bool closed;      /* timed: each user's rows one after another, with the trace's pauses */
    double speed;
    enum order_mode order;
    unsigned inflight;   /* objects */
    unsigned max_writes; /* of them, objects that are being written; 0: no bound */
    size_t window;       /* rows inside */
    enum tier_verify verify;
    enum sched_on_absent on_absent;
    bool create_in_run; /* no survey was possible: objects are created when the look-ahead meets
                           them */
    bool stop_on_error;
    int64_t duration_ns; /* from the start of the clock; 0: until the trace ends */
    int64_t warmup_ns;   /* so long after it statistics begin */
    int64_t lag_limit_ns;
    enum sched_on_lag on_lag;
    int64_t spin_ns;         /* the last of every wait that is spun; IDLE_SPIN_AUTO: learned */
    unsigned engine_threads; /* that serve operations in flight */
    uint64_t first_generation;
    void (*began)(void *ctx, int64_t zero_ns); /* the clock has started; may be NULL */
    void (*tick)(void *ctx, struct sched *s);  /* now and then, for progress; may be NULL */
    /* Bytes free now on what lies under a tier, UINT64_MAX: not known; may be NULL */
    uint64_t (*target_free)(void *ctx, unsigned tier);
    void *ctx;
};

/* What the scheduler works with; all stays the caller's. */
struct sched_env {
    struct reader *reader;
    struct objects *objects;
    struct room *room;  /* TRACE_TIERS of them */
    struct tier **tier; /* TRACE_TIERS; NULL where no row may need one */
    bool *verifies;     /* TRACE_TIERS: the engine checks what it reads */
    struct results *results;
    struct counts *counts;
    struct notices *notices;
    struct bell *bell; /* rung by the reader and by all tiers */
};

enum sched_end {
    SCHED_DONE,     /* the trace has ended */
    SCHED_DURATION, /* its time was over */
    SCHED_SIGNAL,   /* stopped by a signal */
    SCHED_ERROR,    /* a row failed and stop_on_error, or absent and fail */
    SCHED_LAGGED,   /* behind by more than the limit, and on_lag says stop */
    SCHED_EPIPE     /* the reader of the results went away */
};

struct sched_outcome {
    enum sched_end end;
    int64_t zero_ns; /* monotonic */
    int64_t spun_ns; /* that the scheduler spun, waiting */
    bool lagged;
    size_t waiting; /* served: requests that were in line when something ended the run */
};

/* Takes all memory that a run needs. */
int sched_create(struct sched **out, const struct sched_opts *o, const struct sched_env *env,
                 struct err *e);
void sched_free(struct sched *s);
/* Runs until the trace has ended or something stops it; nothing is in flight then. Negative errno
 * with *e: bad input (rows before it were executed), output not writable, no memory. */
int sched_run(struct sched *s, struct sched_outcome *out, struct err *e);
/* Right now: operations in flight, and rows whose time has come that have not been started
 * (served: requests in line that have arrived). For tick. */
void sched_queue(struct sched *s, size_t *in_flight, size_t *waiting);

#endif
