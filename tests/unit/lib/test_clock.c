/* Clocks: time never runs backwards and a sleep ends early only on a signal. A bug here makes
 * replays late. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"

static void sleeps_reach_their_time(void **state)
{
    (void)state;
    static const int64_t spins[] = {0, 100000, 5000000};
    for (size_t i = 0; i < 3; i++) {
        int64_t until = clock_now_ns() + 2000000;
        assert_int_equal(clock_sleep_until(until, spins[i]), 0);
        int64_t now = clock_now_ns();
        assert_true(now >= until);
        assert_true(now < until + 5 * UNITS_NS_PER_S);
    }
    const struct clock *c = clock_real();
    int64_t until = c->now_ns(c->ctx) + 1000000;
    assert_int_equal(c->sleep_until(c->ctx, until), 0);
    assert_true(clock_now_ns() >= until);
}

static void the_past_needs_no_sleep(void **state)
{
    (void)state;
    assert_int_equal(clock_sleep_until(0, 0), 0);
    assert_int_equal(clock_sleep_until(-5, 1000), 0);
    assert_int_equal(clock_sleep_until(INT64_MIN, 0), 0);
}

static void ignore(int sig)
{
    (void)sig;
}

static void a_signal_ends_the_sleep(void **state)
{
    (void)state;
    struct sigaction sa = {.sa_handler = ignore}, old;
    /* repeats, so that one that fires before the sleep begins does no harm */
    struct itimerval soon = {.it_value = {.tv_usec = 20000}, .it_interval = {.tv_usec = 20000}};
    struct itimerval never = {.it_value = {.tv_usec = 0}};
    sigaction(SIGALRM, &sa, &old);
    setitimer(ITIMER_REAL, &soon, NULL);
    int64_t start = clock_now_ns();
    int rc = clock_sleep_until(start + 60 * UNITS_NS_PER_S, 0);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old, NULL);
    assert_int_equal(rc, -EINTR);
    assert_true(clock_now_ns() - start < 30 * UNITS_NS_PER_S);
}

static void utc(void **state)
{
    (void)state;
    char buf[21];
    assert_string_equal(clock_format_utc(buf, 0), "1970-01-01T00:00:00Z");
    assert_string_equal(clock_format_utc(buf, INT64_C(1795211640999999999)),
                        "2026-11-20T21:54:00Z");
    assert_string_equal(clock_format_utc(buf, -1), "1969-12-31T23:59:59Z");
    assert_string_equal(clock_format_utc(buf, INT64_MAX), "2262-04-11T23:47:16Z");
}

static void wall_and_cpu_time(void **state)
{
    (void)state;
    assert_true(clock_wall_ns() > INT64_C(1700000000) * UNITS_NS_PER_S);
    int64_t cpu = clock_process_cpu_ns();
    int64_t until = clock_now_ns() + 20000000;
    assert_int_equal(clock_sleep_until(until, 20000000), 0); /* spins: uses CPU */
    assert_true(clock_process_cpu_ns() > cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sleeps_reach_their_time), cmocka_unit_test(the_past_needs_no_sleep),
        cmocka_unit_test(a_signal_ends_the_sleep), cmocka_unit_test(utc),
        cmocka_unit_test(wall_and_cpu_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
