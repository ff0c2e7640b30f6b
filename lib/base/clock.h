/* clock.h - one interface for real and fake time, nanoseconds in int64_t. */
#ifndef KVTRACE_BASE_CLOCK_H
#define KVTRACE_BASE_CLOCK_H

#include <stdint.h>

/* Table of functions; pass it by pointer to whatever must be testable without waiting. */
struct clock {
    int64_t (*now_ns)(void *ctx);
    /* Returns at or after until_ns (of the same clock), or early with -EINTR on a signal; 0 else.
     */
    int (*sleep_until)(void *ctx, int64_t until_ns);
    void *ctx;
};

/* CLOCK_MONOTONIC; sleeps as clock_sleep_until without spinning. Thread-safe. Never fails. */
const struct clock *clock_real(void);

/* Monotonic ns, the same source as clock_real()->now_ns. */
int64_t clock_now_ns(void);
/* Sleeps until until_ns on that clock with a timer slack of 1 ns, spinning through the last
 * spin_ns; 0, or -EINTR early (a signal came while it slept; the spinning is not interrupted). */
int clock_sleep_until(int64_t until_ns, int64_t spin_ns);
/* Once in every round of a loop that spins: tells the CPU so. */
void clock_relax(void);
/* CLOCK_REALTIME ns since 1970. */
int64_t clock_wall_ns(void);
/* CPU time of this process (user + system) in ns. */
int64_t clock_process_cpu_ns(void);
/* The same of the calling thread. */
int64_t clock_thread_cpu_ns(void);
/* UTC "2026-11-20T21:54:00Z" of wall_ns; buf of at least 21 bytes; returns buf. */
char *clock_format_utc(char *buf, int64_t wall_ns);

/* A clock that stands still until told: now is *now_ns; sleep_until moves it forward. Not
 * thread-safe. The struct it fills points at *now_ns, which the caller keeps alive. */
struct clock clock_fake(int64_t *now_ns);

#endif
