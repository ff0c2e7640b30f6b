/* How the scheduler waits for a time or a ring: it sleeps, and spins for the last part, since a CPU
 * that slept wakes late. One thread. */
#ifndef KVREPLAY_SCHED_IDLE_H
#define KVREPLAY_SCHED_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/thread/bell.h"

enum {
    IDLE_SPIN_AUTO = -1,
    IDLE_MIN_NS = 50000,   /* least time that is learned */
    IDLE_MAX_NS = 2000000, /* most */
    IDLE_BUSY_NS = 100000  /* most while no CPU is to spare */
};

/* Plain state; idle_init fills it. */
struct idle {
    int64_t spin_ns;  /* the last part of each wait, which is spun; IDLE_SPIN_AUTO: learned */
    unsigned cpus;    /* that this process may run on */
    unsigned threads; /* that serve operations in flight */
    int64_t late_ns;  /* how late sleeps end: the largest seen, falling by 1/1024 a wait */
    int64_t most_ns;  /* spinning at most: cut when it lost the CPU, regained slowly */
    int64_t spun_ns;  /* CPU time spent spinning so far */
};

void idle_init(struct idle *w, int64_t spin_ns, unsigned threads);
/* How much of a wait is spun now, with in_flight operations. */
int64_t idle_spin_ns(const struct idle *w, size_t in_flight);
/* A sleep ended late_ns after its time; 0: the wait was too short for a sleep. */
void idle_learn(struct idle *w, int64_t late_ns);
/* A spell of spinning has ended; lost_cpu: another thread ran in between. */
void idle_yield(struct idle *w, bool lost_cpu);
/* Waits until the bell's count differs from seen, or until_ns (monotonic; INT64_MAX: none) has
 * come, or a signal, or for about 50 ms. */
void idle_wait(struct idle *w, struct bell *b, uint32_t seen, int64_t until_ns, size_t in_flight);

#endif
