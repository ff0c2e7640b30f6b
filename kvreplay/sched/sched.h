/*
 * The scheduler: decides when each row of the trace goes to its tier. This folder holds a
 * row's way through a replay:
 *
 *     reader      parses ahead, in a thread of its own (selection: which rows, and on which tier)
 *     order       what the row waits for: earlier rows of its key and of its request
 *     admission   --timing served: its request waits for a worker (line: those of one class)
 *     pace        its due time, its user's pause, the timers
 *     room        its effect on the object and on the room of its tier (objects: the table)
 *     cleaner     --on-full evict: room on Tier-2 for a write that finds none
 *     threads     --timing served: a thread of its engine, where engines served steps
 *     dispatch    a slot in flight, the tier's operations, their outcome
 *     ledger      counts, results, messages
 *
 * sched.c drives these, one thread, the caller's; idle.c says how it waits.
 */
#ifndef KVREPLAY_SCHED_SCHED_H
#define KVREPLAY_SCHED_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/ledger.h"
#include "kvreplay/sched/reader.h"
#include "kvreplay/wait/admission.h"
#include "kvreplay/wait/objects.h"
#include "kvreplay/wait/order.h"
#include "kvreplay/wait/room.h"
#include "kvreplay/wait/threads.h"
#include "lib/base/clock.h"
#include "lib/thread/bell.h"
#include "lib/tier/tier.h"

/* In the order of the choices of --timing. */
enum sched_timing {
    SCHED_ASAP,   /* as fast as possible */
    SCHED_TRACE,  /* each row at its Timestamp */
    SCHED_SERVED, /* each request when it has arrived and a worker is free; needs ORDER_REQUEST */
    SCHED_CLOSED  /* each user's rows one after another, with the trace's pauses between them */
};

struct sched;

struct sched_opts {
    const struct clock *clock;
    enum sched_timing timing;
    unsigned workers;          /* SCHED_SERVED: requests that are served at once */
    enum admission_rule admit; /* SCHED_SERVED */
    double speed;              /* divides the trace's times */
    enum order_mode order;
    unsigned inflight;   /* operations in flight at most */
    unsigned ahead;      /* as of dispatch_opts */
    bool loads_first;    /* when no place is free, reads that wait go before writes to Tier-2 */
    unsigned max_writes; /* objects being written at most; 0: no bound */
    bool wants_where;    /* results ask where rows lie on their disks */
    size_t window;       /* rows inside at most */
    enum tier_verify verify;
    bool create; /* write an object that is read before it was written, when admission meets
                    the read; false: it was written before the run, or is not to be */
    bool steps;  /* the trace is of engines that serve steps, which decided when rows ran */
    struct threads_opts threads; /* of these engines; SCHED_SERVED */
    int64_t duration_ns;         /* from the start of the clock; 0: until the trace ends */
    int64_t warmup_ns;           /* from the start of the clock; statistics begin then */
    int64_t spin_ns; /* the last part of each wait, which is spun; IDLE_SPIN_AUTO: learned */
    bool evict;      /* a cleaner makes room on Tier-2, whose room is open and whose objects
                        keep links */
    bool lookups;    /* Read rows of Tier-2 and Miss rows begin with a lookup there */
    unsigned engine_threads;   /* that serve operations in flight */
    uint64_t first_generation; /* of what the run writes */
    struct gap_list *gaps;     /* told when the scheduler was kept from running; may be NULL */
    /* Rows of the head are done: waits until the clock may start, and says when it did (monotonic;
     * now or before). Negative errno with *e ends the run; -EINTR: a signal came, here or
     * elsewhere. Called once in each run; stopping: it has ended already. NULL: it starts at once.
     */
    int (*start)(void *ctx, bool stopping, int64_t *zero_ns, struct err *e);
    int64_t tick_ns; /* tick is called once in this time at least, while the loop waits; 0: any */
    /* Both may be NULL. */
    void (*began)(void *ctx, int64_t zero_ns); /* the clock has started (monotonic) */
    void (*tick)(void *ctx, struct sched *s);  /* now and then, for progress */
    void *ctx;
};

/* The parts that the scheduler works with; all of them stay the caller's. */
struct sched_env {
    struct reader *reader;
    struct objects *objects;
    struct room *room;  /* TRACE_TIERS */
    struct tier **tier; /* TRACE_TIERS; NULL where no row needs one */
    bool *verifies;     /* TRACE_TIERS: the engine checks what it reads */
    bool *takes_slots;  /* TRACE_TIERS: as of dispatch_opts */
    struct ledger *ledger;
    struct bell *bell; /* rung by the reader and by all tiers */
};

enum sched_end {
    SCHED_DONE,     /* the trace has ended */
    SCHED_DURATION, /* duration_ns is over */
    SCHED_SIGNAL,   /* stopped by a signal */
    SCHED_LOST,     /* the store of a tier is not this run's any more (tier_ops.lost) */
    SCHED_ERROR,    /* a row ended the run (ledger_finished), or the run failed */
    SCHED_LAGGED,   /* a row ended the run by its lag (ledger_started) */
    SCHED_EPIPE     /* the reader of the results went away */
};

struct sched_outcome {
    enum sched_end end;
    int64_t zero_ns; /* monotonic */
    int64_t spun_ns; /* CPU time that the scheduler spun while it waited */
    size_t waiting;  /* SCHED_SERVED: requests in line when something ended the run */
    bool stuck;      /* operations are still in flight: a second signal came, and they did not end
                        in time. The tiers, the reader's rows and the scheduler must stay. */
};

/* Takes all memory that a run needs. */
int sched_create(struct sched **out, const struct sched_opts *o, const struct sched_env *env,
                 struct err *e);
void sched_free(struct sched *s);
/* Runs until the trace has ended or something stops it. Nothing is in flight afterwards, unless
 * out->stuck. Negative
 * errno with *e: bad input (the rows before it were executed), output not writable, no memory. */
int sched_run(struct sched *s, struct sched_outcome *out, struct err *e);
/* For tick: ends the run as a signal does. */
void sched_interrupt(struct sched *s);
/* For tick: operations in flight now, and rows whose time has come that have not started
 * (SCHED_SERVED: requests in line that have arrived). */
void sched_queue(struct sched *s, size_t *in_flight, size_t *waiting);
/* For tick, after sched_queue: is there load that is not due yet? */
bool sched_expects(const struct sched *s);

#endif
