/* Beside the scheduler: how it waits when nothing can be done. In a virtual machine a halted CPU
 * takes hundreds of microseconds to come back, sometimes more. So the last part of each wait is
 * spun, for as long as sleeps have turned out to end late. The bell is watched all the time. */
#include "kvreplay/sched/idle.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

#include "lib/base/clock.h"

enum {
    IDLE_LOOK_NS = 50000000, /* longest wait: signals are looked at in between */
    IDLE_FORGET = 1024,
    IDLE_REGAIN = 256,
    IDLE_AWAY_NS = 100000 /* between two looks at the clock: another thread may have run */
};

void idle_init(struct idle *w, int64_t spin_ns, unsigned threads)
{
    cpu_set_t set;
    bool known = sched_getaffinity(0, sizeof(set), &set) == 0;

    *w = (struct idle){.spin_ns = spin_ns,
                       .cpus = known ? (unsigned)CPU_COUNT(&set) : 1,
                       .threads = threads,
                       .late_ns = IDLE_MAX_NS / 2,
                       .most_ns = IDLE_MAX_NS};
}

int64_t idle_spin_ns(const struct idle *w, size_t in_flight)
{
    size_t busy = in_flight < w->threads ? in_flight : w->threads;
    int64_t most = w->most_ns;

    if (w->spin_ns != IDLE_SPIN_AUTO)
        return w->spin_ns;
    /* Spinning must not take the CPU of a thread that serves an operation. */
    if (most > IDLE_BUSY_NS && (w->cpus <= 1 || w->cpus <= busy))
        most = IDLE_BUSY_NS;
    return w->late_ns < most ? w->late_ns : most;
}

static int64_t idle_within(int64_t ns)
{
    return ns < IDLE_MIN_NS ? IDLE_MIN_NS : ns > IDLE_MAX_NS ? IDLE_MAX_NS : ns;
}

/* A thread that spins uses up the share of the CPU that a sleeper saves for when it wakes. Where
 * others want the CPU, spinning makes rows later. */
void idle_yield(struct idle *w, bool lost_cpu)
{
    w->most_ns += lost_cpu ? -w->most_ns * 3 / 4 : w->most_ns / IDLE_REGAIN;
    w->most_ns = idle_within(w->most_ns);
}

/* Half as much again as the latest one: so fewer than one sleep in 400 ends too late. Waits
 * without a sleep count as good ones, or too much spinning would never be unlearned. */
void idle_learn(struct idle *w, int64_t late_ns)
{
    if (late_ns > IDLE_MAX_NS) /* no CPU takes that long to wake: other work had it */
        idle_yield(w, true);
    else if (late_ns > w->late_ns)
        w->late_ns = late_ns + late_ns / 2;
    else
        w->late_ns -= w->late_ns / IDLE_FORGET;
    w->late_ns = idle_within(w->late_ns);
}

/* How often this thread was made to give up its CPU. A virtual CPU that its host takes away does
 * not count: spinning less would not bring it back. */
static long idle_switches(void)
{
    struct rusage u;

    return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nivcsw : 0;
}

/* True: until_ns has come and nothing rang. */
static bool idle_spin(struct idle *w, const struct bell *b, uint32_t seen, int64_t until_ns)
{
    int64_t now = clock_now_ns(), before;
    bool away = false;

    if (now >= until_ns || bell_seen(b) != seen) /* --config spin=0 comes here too */
        return now >= until_ns;
    int64_t cpu = clock_thread_cpu_ns();
    long switches = idle_switches();
    do {
        clock_relax();
        before = now;
        now = clock_now_ns();
        if (now - before >= IDLE_AWAY_NS)
            away = true;
    } while (now < until_ns && bell_seen(b) == seen);
    w->spun_ns += clock_thread_cpu_ns() - cpu;
    idle_yield(w, away && idle_switches() != switches);
    return now >= until_ns;
}

void idle_wait(struct idle *w, struct bell *b, uint32_t seen, int64_t until_ns, size_t in_flight)
{
    int64_t now = clock_now_ns(), look = now + IDLE_LOOK_NS;
    int64_t wake = until_ns - idle_spin_ns(w, in_flight), end = until_ns < look ? until_ns : look;

    if (until_ns <= now)
        return;
    if (wake <= now) {
        if (idle_spin(w, b, seen, end))
            idle_learn(w, 0);
        return;
    }
    int64_t asleep_until = wake < look ? wake : look;
    if (bell_wait(b, seen, asleep_until) != -ETIMEDOUT)
        return;
    idle_learn(w, clock_now_ns() - asleep_until);
    if (wake <= look)
        idle_spin(w, b, seen, end);
}
