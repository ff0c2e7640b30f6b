/* virtual_clock.h - the time of one simulation: the present instant, the jobs that will be woken,
 * and whether the run has ended. All parts of a simulation share it. */
#ifndef KVGEN_SIM_VIRTUAL_CLOCK_H
#define KVGEN_SIM_VIRTUAL_CLOCK_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/sort/heap.h"

/* No time passes this (146 years), so that the sum of two times fits. */
#define VIRTUAL_CLOCK_LAST_NS (INT64_C(1) << 62)

struct virtual_clock {
    int64_t now_ns;
    struct heap wakes; /* item: a worker, at most once; tie: the number of its request */
    int ended;         /* 0: the run goes on; 1: the sink ended it; negative: it failed */
    struct err *err;   /* why it failed; the caller's of sim_run */
};

/* A job that may have to wait. */
struct sleeper {
    int64_t until_ns; /* when it may go on; SLEEPER_PARKED: not known yet, it will be woken */
    uint64_t request; /* number of its request */
    uint32_t worker;
    struct sleeper *next; /* of those that wait for the same */
};
#define SLEEPER_PARKED INT64_MAX

/* The job goes on at at_ns. */
static inline void virtual_clock_wake(struct virtual_clock *c, struct sleeper *job, int64_t at_ns)
{
    job->until_ns = at_ns;
    heap_push(&c->wakes,
              (struct heap_event){.time_ns = at_ns, .tie = job->request, .item = job->worker});
}

/* Ends the run with the error code, unless it has failed before. */
static inline void virtual_clock_fail(struct virtual_clock *c, int code)
{
    if (c->ended >= 0)
        c->ended = code;
}

#endif
