/* The only source of time in the programs: CLOCK_MONOTONIC for schedules and latencies,
 * CLOCK_REALTIME for the start stamps of summaries. */
#include "lib/base/clock.h"

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

int64_t clock_boot_ns(void)
{
    return read_clock(CLOCK_BOOTTIME);
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

int clock_sleep_until(int64_t until_ns, int64_t spin_ns)
{
    if (until_ns > clock_now_ns() + spin_ns) {
        int64_t wake_ns = until_ns - spin_ns;
        struct timespec ts = {.tv_sec = (time_t)(wake_ns / UNITS_NS_PER_S),
                              .tv_nsec = (long)(wake_ns % UNITS_NS_PER_S)};
        /* The default slack of 50 us would make every timer late. Slack is a property of the
         * thread; setting it each time costs less than tracking which threads have it. */
        prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
        int rc = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
        if (rc)
            return -rc;
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

const struct clock *clock_real(void)
{
    static const struct clock real = {.now_ns = real_now, .sleep_until = real_sleep};

    return &real;
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
