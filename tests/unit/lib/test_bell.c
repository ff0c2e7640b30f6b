/* test_bell.c - the event count: a ring between "nothing to do" and "sleep" wakes, times run out on
 * time, and two threads that take turns through bells never hang. A bug here is a replay that
 * stands still for ever (the last test would then run into its alarm). */
/* builds: plain address thread arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/thread/bell.h"

#define TURNS 20000

static void a_ring_before_the_sleep_counts(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    assert_non_null(b);
    uint32_t seen = bell_seen(b);
    bell_ring(b);
    assert_int_equal(bell_seen(b), seen + 1);
    assert_int_equal(bell_wait(b, seen, INT64_MAX), 0);
    assert_int_equal(bell_wait(b, seen, 0), 0);
    bell_free(b);
    bell_free(NULL);
}

static void time_runs_out(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    int64_t until = clock_now_ns() + 3000000;
    assert_int_equal(bell_wait(b, bell_seen(b), until), -ETIMEDOUT);
    assert_true(clock_now_ns() >= until);
    assert_int_equal(bell_wait(b, bell_seen(b), 0), -ETIMEDOUT);
    assert_int_equal(bell_wait(b, bell_seen(b), -1), -ETIMEDOUT);
    bell_free(b);
}

static void ignore(int sig)
{
    (void)sig;
}

static void a_signal_ends_the_wait(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct sigaction sa = {.sa_handler = ignore}, old;
    struct itimerval soon = {.it_value = {.tv_usec = 20000}, .it_interval = {.tv_usec = 20000}};
    struct itimerval never = {.it_value = {.tv_usec = 0}};
    sigaction(SIGALRM, &sa, &old);
    setitimer(ITIMER_REAL, &soon, NULL);
    assert_int_equal(bell_wait(b, bell_seen(b), INT64_MAX), -EINTR);
    assert_int_equal(bell_wait(b, bell_seen(b), clock_now_ns() + 60 * UNITS_NS_PER_S), -EINTR);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old, NULL);
    bell_free(b);
}

struct table {
    struct bell *bell[2];
    atomic_int turn; /* whose turn: 0, 1 */
    long counter;    /* written only by whose turn it is */
};
struct player {
    struct table *table;
    int me;
};

static void *play(void *arg)
{
    const struct player *p = arg;
    struct table *t = p->table;
    for (int i = 0; i < TURNS;) {
        uint32_t seen = bell_seen(t->bell[p->me]);
        if (atomic_load(&t->turn) != p->me) {
            bell_wait(t->bell[p->me], seen, INT64_MAX);
            continue;
        }
        t->counter++;
        i++;
        atomic_store(&t->turn, !p->me);
        bell_ring(t->bell[!p->me]);
    }
    return NULL;
}

static void turns_never_hang(void **state)
{
    (void)state;
    struct table t = {.bell = {bell_create(), bell_create()}};
    struct player players[2] = {{&t, 0}, {&t, 1}};
    pthread_t threads[2];
    alarm(600);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, play, &players[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    alarm(0);
    assert_int_equal(t.counter, 2 * TURNS);
    bell_free(t.bell[0]);
    bell_free(t.bell[1]);
}

struct sleeper {
    struct bell *bell;
    atomic_int *asleep;
    uint32_t seen;
};

static void *sleep_on(void *arg)
{
    const struct sleeper *s = arg;
    atomic_fetch_add(s->asleep, 1);
    while (bell_wait(s->bell, s->seen, INT64_MAX) != 0)
        continue;
    return NULL;
}

static void one_ring_wakes_all(void **state)
{
    (void)state;
    atomic_int asleep = 0;
    struct bell *b = bell_create();
    struct sleeper s = {.bell = b, .asleep = &asleep, .seen = bell_seen(b)};
    pthread_t threads[4];
    alarm(600);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sleep_on, &s), 0);
    while (atomic_load(&asleep) < 4)
        sched_yield();
    clock_sleep_until(clock_now_ns() + 5000000, 0); /* most are in the kernel by now */
    bell_ring(b);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    alarm(0);
    bell_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_before_the_sleep_counts),
        cmocka_unit_test(time_runs_out),
        cmocka_unit_test(a_signal_ends_the_wait),
        cmocka_unit_test(turns_never_hang),
        cmocka_unit_test(one_ring_wakes_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
