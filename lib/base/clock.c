/* clock.c - all time in the programs comes from here: schedules and latencies from CLOCK_MONOTONIC,
 * the start stamps of summaries from CLOCK_REALTIME. The fake clock lets schedules be tested
 * without waiting for them. */
#include "lib/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#include "lib/base/units.h"

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * UNITS_NS_PER_S + ts.tv_nsec;
}

int64_t clock_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_process_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_thread_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void clock_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int sleep_kernel(int64_t until_ns)
{
    struct timespec ts = {.tv_sec = (time_t)(until_ns / UNITS_NS_PER_S),
                          .tv_nsec = (long)(until_ns % UNITS_NS_PER_S)};
    /* The default slack of 50 us would make every timer late; it is a property of the thread, and
     * setting it costs less than keeping track of which threads have it. */
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

int clock_sleep_until(int64_t until_ns, int64_t spin_ns)
{
    if (until_ns > clock_now_ns() + spin_ns) {
        int rc = sleep_kernel(until_ns - spin_ns);
        if (rc)
            return rc;
    }
    while (clock_now_ns() < until_ns)
        clock_relax();
    return 0;
}

static int64_t real_now(void *ctx)
{
    (void)ctx;
    return clock_now_ns();
}

static int real_sleep(void *ctx, int64_t until_ns)
{
    (void)ctx;
    return clock_sleep_until(until_ns, 0);
}

static const struct clock real = {.now_ns = real_now, .sleep_until = real_sleep};

const struct clock *clock_real(void)
{
    return &real;
}

static int64_t fake_now(void *ctx)
{
    const int64_t *now = ctx;
    return *now;
}

static int fake_sleep(void *ctx, int64_t until_ns)
{
    int64_t *now = ctx;
    if (*now < until_ns)
        *now = until_ns;
    return 0;
}

struct clock clock_fake(int64_t *now_ns)
{
    return (struct clock){.now_ns = fake_now, .sleep_until = fake_sleep, .ctx = now_ns};
}

char *clock_format_utc(char *buf, int64_t wall_ns)
{
    int64_t s = wall_ns / UNITS_NS_PER_S - (wall_ns % UNITS_NS_PER_S < 0);
    time_t t = (time_t)s;
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(buf, 21, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return buf;
}
