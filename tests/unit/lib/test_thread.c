/* test_thread.c - threads near a device: the processors of its NUMA node as sysfs lists them, as
 * far as they are allowed, and those of before again. A bug looked like a list whose last range was
 * left out, or threads that stayed on a node. */
/* builds: plain address thread */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "lib/thread/thread.h"

static char sysfs[] = "/tmp/kvtrace-test.XXXXXX";

/* A tree with the processors of a node. */
static void put_list(unsigned node, const char *list)
{
    static const char *const folder[] = {"/devices", "/devices/system", "/devices/system/node"};
    char path[256];
    FILE *f;

    for (size_t i = 0; i < sizeof(folder) / sizeof(folder[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", sysfs, folder[i]);
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
    }
    snprintf(path, sizeof(path), "%s/devices/system/node/node%u", sysfs, node);
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
    strcat(path, "/cpulist");
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(list, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int make_tree(void **state)
{
    (void)state;
    return mkdtemp(sysfs) ? 0 : -1;
}

static int remove_tree(void **state)
{
    char remove[64];

    (void)state;
    snprintf(remove, sizeof(remove), "rm -rf %s", sysfs);
    return system(remove);
}

static cpu_set_t now(void)
{
    cpu_set_t set;

    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof(set), &set), 0);
    return set;
}

/* A processor that this process may use. */
static unsigned one_of(const cpu_set_t *set)
{
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, set))
            return cpu;
    }
    fail();
    return 0;
}

static void test_lists(void **state)
{
    const cpu_set_t all = now();
    const unsigned mine = one_of(&all);
    cpu_set_t before, there;
    char list[64];

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        char range[24] = "";

        if (i % 2)
            snprintf(range, sizeof(range), "-%u", mine);
        snprintf(list, sizeof(list), "%s%u%s%s\n", i >= 2 ? "1020,1021-1022," : "", mine, range,
                 i == 3 ? ",1023" : "");
        put_list(3, list);
        assert_int_equal(thread_enter_node(sysfs, 3, &before), 0);
        there = now();
        assert_int_equal(CPU_COUNT(&there), 1);
        assert_true(CPU_ISSET(mine, &there));
        assert_true(CPU_EQUAL(&before, &all));
        thread_leave_node(&before);
        there = now();
        assert_true(CPU_EQUAL(&there, &all));
    }
}

/* The thread stays where it is. */
static void test_no_node(void **state)
{
    static const char *const none[] = {"", "\n", "1023\n", "9999999-99999999\n", "what\n"};
    const cpu_set_t all = now();
    cpu_set_t before, there;

    (void)state;
    assert_int_equal(thread_enter_node(sysfs, -1, &before), -ENOENT);
    assert_int_equal(thread_enter_node(sysfs, 9, &before), -ENOENT);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        put_list(4, none[i]);
        assert_int_equal(thread_enter_node(sysfs, 4, &before), -ENOENT);
        there = now();
        assert_true(CPU_EQUAL(&there, &all));
    }
}

static void *mask(void *set)
{
    pthread_sigmask(SIG_SETMASK, NULL, set);
    return NULL;
}

/* Signals are the main thread's. */
static void test_signals(void **state)
{
    sigset_t there, here;
    pthread_t thread;

    (void)state;
    assert_int_equal(thread_start(&thread, mask, &there), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    mask(&here);
    assert_true(sigismember(&there, SIGINT) && sigismember(&there, SIGTERM) &&
                sigismember(&there, SIGHUP));
    assert_false(sigismember(&here, SIGINT) || sigismember(&here, SIGTERM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_no_node),
        cmocka_unit_test(test_signals),
    };

    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
