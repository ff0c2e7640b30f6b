/* waiter.h - how the scheduler waits for a time or a ring: asleep, and the last of it spinning,
 * since a CPU that sleeps wakes late. One thread. */
#ifndef KVREPLAY_SCHED_WAITER_H
#define KVREPLAY_SCHED_WAITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bell.h"

enum {
    WAITER_AUTO = -1,
    WAITER_MIN_NS = 50000,   /* learned spinning is never less, */
    WAITER_MAX_NS = 2000000, /* never more, */
    WAITER_BUSY_NS = 100000  /* and at most this while no CPU is to spare */
};

/* Plain state; waiter_init fills it. */
struct waiter {
    int64_t spin_ns;  /* the last of every wait that is spun; WAITER_AUTO: as late as sleeps end */
    unsigned cpus;    /* that this process may run on */
    unsigned threads; /* that serve operations in flight */
    int64_t late_ns;  /* how late sleeps end: largest seen, falling by 1/1024 a wait */
    int64_t most_ns;  /* spinning at most: cut when it lost the CPU, regained slowly */
    int64_t spun_ns;  /* CPU time spent spinning so far */
};

void waiter_init(struct waiter *w, int64_t spin_ns, unsigned threads);
/* How much of a wait is spun now, with in_flight operations. */
int64_t waiter_spin_ns(const struct waiter *w, size_t in_flight);
/* A sleep has ended late_ns after its time; 0: a wait was too short for a sleep. */
void waiter_learn(struct waiter *w, int64_t late_ns);
/* A spell of spinning has ended; lost_cpu: another thread ran in between. */
void waiter_yield(struct waiter *w, bool lost_cpu);
/* Until the bell is rung behind seen, or until_ns (monotonic; INT64_MAX: none) has come, or a
 * signal, or some 50 ms. */
void waiter_wait(struct waiter *w, struct bell *b, uint32_t seen, int64_t until_ns,
                 size_t in_flight);

#endif
