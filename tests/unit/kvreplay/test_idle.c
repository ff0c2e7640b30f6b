/* How kvreplay waits: it is awake when the time comes, at once when something rings, spins no more
 * than it was told or has learned, and gives way where no CPU is to spare. A bug looked like this:
 * rows half a millisecond late because the CPU had to be woken first, or spinning that once learned
 * was never forgotten. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "kvreplay/sched/idle.h"
#include "lib/base/clock.h"

enum {
    MS = 1000000
};

static void what_was_told_is_spun(void **state)
{
    (void)state;
    struct idle w;
    idle_init(&w, 300000, 4);
    w.cpus = 1;
    idle_learn(&w, 5 * MS);
    assert_int_equal(idle_spin_ns(&w, 64), 300000);
}

static void late_sleeps_are_learned_and_forgotten(void **state)
{
    (void)state;
    struct idle w;
    idle_init(&w, IDLE_SPIN_AUTO, 1);
    w.cpus = 4;
    for (int i = 0; i < 100000; i++)
        idle_learn(&w, 1000);
    assert_int_equal(idle_spin_ns(&w, 0), IDLE_MIN_NS);
    idle_learn(&w, 400000);
    assert_int_equal(idle_spin_ns(&w, 0), 600000);
    for (int i = 0; i < 400; i++) /* still enough for another such one */
        idle_learn(&w, 0);
    assert_in_range(idle_spin_ns(&w, 0), 400000, 420000);
    idle_learn(&w, IDLE_MAX_NS);
    assert_int_equal(idle_spin_ns(&w, 0), IDLE_MAX_NS);
    for (int i = 0; i < 100000; i++)
        idle_learn(&w, 0);
    assert_int_equal(idle_spin_ns(&w, 0), IDLE_MIN_NS);
}

static void those_who_work_keep_their_cpu(void **state)
{
    (void)state;
    struct idle w;
    idle_init(&w, IDLE_SPIN_AUTO, 2);
    assert_true(w.cpus >= 1);
    idle_learn(&w, IDLE_MAX_NS);
    w.cpus = 1;
    assert_int_equal(idle_spin_ns(&w, 0), IDLE_BUSY_NS);
    w.cpus = 2;
    assert_int_equal(idle_spin_ns(&w, 1), IDLE_MAX_NS);
    assert_int_equal(idle_spin_ns(&w, 2), IDLE_BUSY_NS);
    w.cpus = 3;
    assert_int_equal(idle_spin_ns(&w, 64), IDLE_MAX_NS); /* two threads serve them all */
}

static void others_who_want_the_cpu_get_it(void **state)
{
    (void)state;
    struct idle w;
    idle_init(&w, IDLE_SPIN_AUTO, 0);
    w.cpus = 2;
    idle_learn(&w, IDLE_MAX_NS);
    for (int i = 0; i < 1000; i++)
        idle_yield(&w, i % 10 == 0);
    assert_true(idle_spin_ns(&w, 0) < IDLE_BUSY_NS);
    for (int i = 0; i < 2000; i++)
        idle_yield(&w, false);
    assert_int_equal(idle_spin_ns(&w, 0), IDLE_MAX_NS);
    idle_learn(&w, 50 * MS); /* no CPU wakes that late: there was other work */
    assert_int_equal(idle_spin_ns(&w, 0), IDLE_MAX_NS / 4);
    for (int i = 0; i < 2000; i++)
        idle_yield(&w, false);
    for (int i = 0; i < 1000; i++) /* now and then is no reason */
        idle_yield(&w, i % 500 == 0);
    assert_int_equal(idle_spin_ns(&w, 0), IDLE_MAX_NS);
}

static void waits_end_on_time(void **state)
{
    static const int64_t spins[] = {IDLE_SPIN_AUTO, 0, MS, 1000 * MS};
    (void)state;
    struct bell *b = bell_create();
    int64_t give_up = clock_now_ns() + 60000 * (int64_t)MS;
    for (size_t i = 0; i < sizeof(spins) / sizeof(*spins); i++) {
        struct idle w;
        idle_init(&w, spins[i], 0);
        bool spins_all = spins[i] > 3 * MS; /* the others may sleep until it is too late to spin */
        do {                                /* again when the CPU was lost before the wait */
            int64_t until = clock_now_ns() + 3 * MS;
            idle_wait(&w, b, bell_seen(b), until, 0);
            assert_true(clock_now_ns() >= until);
        } while (spins_all && w.spun_ns == 0 && clock_now_ns() < give_up);
        if (spins[i] == 0)
            assert_int_equal(w.spun_ns, 0);
        if (spins_all)
            assert_true(w.spun_ns > 0);
        idle_wait(&w, b, bell_seen(b), 0, 0); /* long past */
    }
    bell_free(b);
}

static void what_is_spun_is_counted(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct idle w;
    idle_init(&w, 1000 * MS, 0);
    int64_t cpu = clock_thread_cpu_ns();
    idle_wait(&w, b, bell_seen(b), clock_now_ns() + 500 * MS, 0);
    assert_in_range(w.spun_ns, 1, clock_thread_cpu_ns() - cpu);
    bell_free(b);
}

/* Works a little, again and again: it takes the CPU for less than a spinning thread sees. */
static void *interrupt(void *arg)
{
    const atomic_bool *stop = arg;
    while (!*stop) {
        clock_sleep_until(clock_now_ns() + 60000, 0);
        clock_sleep_until(clock_now_ns() + 60000, MS);
    }
    return NULL;
}

static void time_of_others_is_not_counted(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    struct bell *b = bell_create();
    struct idle w;
    idle_init(&w, 1000 * MS, 0);
    atomic_bool stop = false;
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, interrupt, &stop), 0);
    int64_t cpu = clock_thread_cpu_ns(), until = clock_now_ns() + 300 * MS;
    while (clock_now_ns() < until)
        idle_wait(&w, b, bell_seen(b), until, 0);
    assert_in_range(w.spun_ns, 1, clock_thread_cpu_ns() - cpu);
    stop = true;
    assert_int_equal(pthread_join(t, NULL), 0);
    bell_free(b);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* No time comes: it looks up again soon, since a signal may have come in between. */
static void waits_without_a_time_end_too(void **state)
{
    static const int64_t spins[] = {IDLE_SPIN_AUTO, INT64_MAX};
    (void)state;
    struct bell *b = bell_create();
    for (size_t i = 0; i < 2; i++) {
        struct idle w;
        idle_init(&w, spins[i], 0);
        int64_t begin = clock_now_ns();
        idle_wait(&w, b, bell_seen(b), INT64_MAX, 0);
        assert_true(clock_now_ns() - begin >= 40 * MS);
    }
    bell_free(b);
}

struct ringer {
    struct bell *bell;
    int64_t after_ns;
};

static void *ring(void *arg)
{
    const struct ringer *r = arg;
    clock_sleep_until(clock_now_ns() + r->after_ns, 0);
    bell_ring(r->bell);
    return NULL;
}

static void a_ring_ends_sleep_and_spin(void **state)
{
    static const int64_t spins[] = {0, 3600000 * (int64_t)MS};
    (void)state;
    struct bell *b = bell_create();
    for (size_t i = 0; i < 2; i++) {
        struct ringer r = {.bell = b, .after_ns = 5 * MS};
        uint32_t seen = bell_seen(b);
        struct idle w;
        pthread_t t;
        idle_init(&w, spins[i], 0);
        assert_int_equal(pthread_create(&t, NULL, ring, &r), 0);
        while (bell_seen(b) == seen) /* a wait may also end to look at signals */
            idle_wait(&w, b, seen, clock_now_ns() + 60000 * (int64_t)MS, 0);
        assert_int_equal(pthread_join(t, NULL), 0);
    }
    bell_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_told_is_spun),
        cmocka_unit_test(late_sleeps_are_learned_and_forgotten),
        cmocka_unit_test(those_who_work_keep_their_cpu),
        cmocka_unit_test(others_who_want_the_cpu_get_it),
        cmocka_unit_test(waits_end_on_time),
        cmocka_unit_test(what_is_spun_is_counted),
        cmocka_unit_test(time_of_others_is_not_counted),
        cmocka_unit_test(waits_without_a_time_end_too),
        cmocka_unit_test(a_ring_ends_sleep_and_spin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
