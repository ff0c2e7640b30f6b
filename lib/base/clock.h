/* Time in nanoseconds (int64_t), behind one interface for real and fake clocks. */
#ifndef KVTRACE_BASE_CLOCK_H
#define KVTRACE_BASE_CLOCK_H

#include <stdint.h>

/* A clock as a table of functions. Pass it to code that must be testable without waiting. */
struct clock {
    int64_t (*now_ns)(void *ctx);
    /* Returns 0 at or after until_ns (on the same clock), or -EINTR early after a signal. */
    int (*sleep_until)(void *ctx, int64_t until_ns);
    void *ctx;
};

/* CLOCK_MONOTONIC. Sleeps as clock_sleep_until does without spinning. Thread-safe; never fails. */
const struct clock *clock_real(void);

/* Monotonic time in ns, from the same source as clock_real()->now_ns. */
int64_t clock_now_ns(void);
/* Sleeps until until_ns on the monotonic clock with a timer slack of 1 ns and spins through the
 * last spin_ns. Returns 0, or -EINTR when a signal came during the sleep (not during the spin). */
int clock_sleep_until(int64_t until_ns, int64_t spin_ns);
/* Tells the CPU that the caller spins. Call it once in each round of the loop. */
void clock_relax(void);
/* CLOCK_REALTIME in ns since 1970. */
int64_t clock_wall_ns(void);
/* CLOCK_BOOTTIME in ns: monotonic, and goes on while the host is suspended. */
int64_t clock_boot_ns(void);
/* CPU time (user and system) of this process in ns. */
int64_t clock_process_cpu_ns(void);
/* CPU time of the calling thread in ns. */
int64_t clock_thread_cpu_ns(void);
/* Writes wall_ns as UTC "2026-11-20T21:54:00Z" to buf (at least 21 bytes) and returns buf. */
char *clock_format_utc(char *buf, int64_t wall_ns);

#endif
