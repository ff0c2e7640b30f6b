/* Slots in flight: first come, first served, across the threads of all engines, and none is lost or
 * had twice. Bugs looked like: a thread that gave a slot back and took it again before those who
 * had waited longer; a slot that went with an engine that broke; a thread that slept with its slot
 * given. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "lib/base/clock.h"
#include "lib/thread/bell.h"
#include "lib/tier/tier.h"

static void count_wake(void *ctx)
{
    ++*(unsigned *)ctx;
}

/* How many are free now. */
static unsigned free_slots(struct slots *s)
{
    int64_t since_ns;
    unsigned n = 0;

    while (slots_try(s, &since_ns))
        n++;
    for (unsigned i = 0; i < n; i++)
        slots_give(s, NULL, 0);
    return n;
}

static void first_come_first_served(void **state)
{
    (void)state;
    struct slots *s = slots_create(2);
    unsigned woken[2] = {0};
    struct slots_user a = {.wake = count_wake, .ctx = &woken[0]},
                      b = {.wake = count_wake, .ctx = &woken[1]};
    struct tier_op op[5];
    int64_t since_ns = 0;

    assert_non_null(s);
    for (int i = 0; i < 5; i++)
        op[i] = (struct tier_op){.slots = s};
    assert_true(slots_take(&op[0], &a));
    assert_true(slots_take(&op[1], &a));
    assert_false(slots_take(&op[2], &b));
    assert_false(slots_take(&op[3], &a));
    assert_false(slots_take(&op[4], &b));
    assert_int_equal(slots_granted(&a) + slots_granted(&b), 0);
    assert_false(slots_try(s, &since_ns));

    slots_give(s, &a, 100); /* b has waited longer than a, who gave it */
    assert_int_equal(woken[1], 1);
    assert_int_equal(slots_granted(&b), 1);
    assert_int_equal(op[2].given_ns, 100);
    assert_int_equal(slots_granted(&b), 0);
    slots_give(s, &a, 200); /* its own: it is awake */
    assert_int_equal(woken[0], 0);
    assert_int_equal(slots_granted(&a), 1);
    assert_int_equal(op[3].given_ns, 200);
    slots_give(s, NULL, 300);
    assert_int_equal(slots_granted(&b), 1);
    assert_int_equal(op[4].given_ns, 300);
    assert_int_equal(free_slots(s), 0);
    slots_give(s, &b, 400);
    slots_give(s, &a, 500);
    assert_true(slots_try(s, &since_ns));
    assert_int_equal(since_ns, 400);
    assert_true(slots_take(&op[0], &b));
    assert_int_equal(op[0].given_ns, 500);
    slots_free(s);
    slots_free(NULL);
}

/* One who leaves gives on what he was given, and takes nothing with him. */
static void who_leaves_keeps_nothing(void **state)
{
    (void)state;
    struct slots *s = slots_create(1);
    unsigned woken = 0;
    struct slots_user a = {.wake = count_wake, .ctx = &woken}, b = a;
    struct tier_op op[4];

    for (int i = 0; i < 4; i++)
        op[i] = (struct tier_op){.slots = s};
    assert_true(slots_take(&op[0], &a));
    for (int i = 1; i < 4; i++)
        assert_false(slots_take(&op[i], i == 3 ? &b : &a));
    slots_leave(&op[2], &a); /* not given yet */
    slots_give(s, NULL, 10); /* to 1 */
    slots_leave(&op[1], &a); /* given: on to 3 */
    assert_int_equal(slots_granted(&a), 0);
    assert_int_equal(slots_granted(&b), 1);
    assert_int_equal(op[3].given_ns, 10);
    slots_give(s, &b, 20);
    assert_int_equal(free_slots(s), 1);
    assert_false(slots_take(&op[0], &a) && slots_take(&op[1], &a));
    slots_leave(&op[1], &a); /* the last of the line: others may follow it */
    assert_false(slots_take(&op[2], &b));
    slots_give(s, &a, 30);
    assert_int_equal(slots_granted(&b), 1);
    slots_free(s);
}

/* ---- threads ---- */

enum {
    THREADS = 4,
    SLOTS = 3,
    AT_ONCE = 8,
    ROUNDS = 3000
};

struct worker {
    pthread_t thread;
    struct slots *slots;
    struct slots_user user;
    struct bell *bell;
    atomic_uint *held, *most;
    struct tier_op op[AT_ONCE];
};

static void ring(void *ctx)
{
    bell_ring(ctx);
}

static void hold(struct worker *w)
{
    unsigned now = atomic_fetch_add(w->held, 1) + 1, most = atomic_load(w->most);

    while (now > most && !atomic_compare_exchange_weak(w->most, &most, now))
        ;
    atomic_fetch_sub(w->held, 1);
    slots_give(w->slots, &w->user, clock_now_ns());
}

/* Asks for all its operations, then has the slot of each for a moment. */
static void *work(void *arg)
{
    struct worker *w = arg;

    for (int round = 0; round < ROUNDS / AT_ONCE; round++) {
        unsigned waiting = 0;

        for (int i = 0; i < AT_ONCE; i++) {
            if (slots_take(&w->op[i], &w->user))
                hold(w);
            else
                waiting++;
        }
        while (waiting > 0) {
            uint32_t seen = bell_seen(w->bell);
            unsigned n = slots_granted(&w->user);

            for (unsigned i = 0; i < n; i++)
                hold(w);
            waiting -= n;
            if (n == 0)
                (void)bell_wait(w->bell, seen, INT64_MAX);
        }
    }
    return NULL;
}

static void threads_share(void **state)
{
    (void)state;
    static struct worker worker[THREADS];
    struct slots *s = slots_create(SLOTS);
    atomic_uint held = 0, most = 0;

    for (int i = 0; i < THREADS; i++) {
        struct worker *w = &worker[i];

        w->slots = s;
        w->bell = bell_create();
        w->user = (struct slots_user){.wake = ring, .ctx = w->bell};
        w->held = &held;
        w->most = &most;
        for (int k = 0; k < AT_ONCE; k++)
            w->op[k].slots = s;
        assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(worker[i].thread, NULL);
        bell_free(worker[i].bell);
    }
    assert_true(most >= 1 && most <= SLOTS);
    assert_int_equal(free_slots(s), SLOTS);
    slots_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(who_leaves_keeps_nothing),
        cmocka_unit_test(threads_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
