/* test_taking.c - a folder on a file system without locks: its marker alone decides. Expected: of
 * several processes that take it at once one gets it; one that stopped or died while it took it
 * holds up nobody for ever; a run whose marker was replaced touches nothing, and one that lives
 * stops whoever is about to take its folder. A bug looked like two runs in one folder. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/io/target_dir.h"
#include "lib/owner/card.h"

int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
    (void)fd, (void)operation;
    errno = ENOLCK;
    return -1;
}

static char folder[] = "/tmp/kvtrace-taking.XXXXXX";

static int set_up(void **state)
{
    (void)state;
    setenv("KVTRACE_TEST_LEASE", "2", 1);
    strcpy(folder, "/tmp/kvtrace-taking.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder); /* whatever was left there is a failure */
}

static const char *in(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(in(name), "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static bool there(const char *name)
{
    return access(in(name), F_OK) == 0;
}

static void put_card(const char *name, const struct card *c)
{
    char text[OWNER_BYTES];

    card_format(c, text);
    put(name, text);
}

static int take(struct target_dir **t, struct err *e)
{
    const struct target_dir_opts o = {.path = folder, .program = "test"};

    *e = (struct err){0};
    return target_dir_open(t, &o, e);
}

static struct card elsewhere(void)
{
    struct card c;

    card_here(&c, "kvreplay");
    strcpy(c.host, "elsewhere");
    c.lease_s = 2;
    return c;
}

/* The card of a process that is gone. */
static struct card dead(void)
{
    struct card c;

    card_here(&c, "kvreplay");
    c.born--;
    c.lease_s = 2;
    return c;
}

static void one_at_a_time(void **state)
{
    (void)state;
    struct target_dir *t, *other;
    struct err e;

    assert_int_equal(take(&t, &e), 0);
    assert_int_equal(take(&other, &e), -EBUSY);
    assert_non_null(strstr(e.what, "in use by test (process"));
    assert_int_equal(target_dir_close(t, false, &e), 0);
    assert_false(there(".kvtrace"));
}

/* All of them find the marker of one that died. */
static void many_at_once(void **state)
{
    enum {
        MANY = 8,
        ROUNDS = 5
    };
    (void)state;

    for (int round = 0; round < ROUNDS; round++) {
        struct card c = dead();
        int go[2], taken = 0, status;
        char held[sizeof(folder) + 8];
        pid_t pid[MANY];

        put_card(".kvtrace", &c);
        put("slab.kv", "x");
        assert_int_equal(pipe(go), 0);
        snprintf(held, sizeof(held), "%s.held", folder);
        for (int i = 0; i < MANY; i++) {
            pid[i] = fork();
            if (pid[i] != 0)
                continue;
            struct target_dir *t;
            struct err e;
            char byte;
            close(go[1]);
            if (read(go[0], &byte, 1) != 0)
                _exit(3);
            int rc = take(&t, &e);
            if (rc < 0)
                _exit(rc == -EBUSY ? 1 : 2);
            if (open(held, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) < 0)
                _exit(4);                                     /* two at once */
            clock_sleep_until(clock_now_ns() + 300000000, 0); /* the others still try */
            rc = lease_confirm(target_dir_lease(t)) ? 0 : 5;
            unlink(held);
            _exit(rc);
        }
        close(go[0]);
        close(go[1]); /* now */
        for (int i = 0; i < MANY; i++) {
            assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
            taken += WEXITSTATUS(status) == 0;
        }
        assert_true(taken >= 1); /* another one may come after the first one's end */
        assert_false(there("slab.kv"));
    }
    struct target_dir *t;
    struct err e;
    assert_int_equal(take(&t, &e), 0);
    assert_int_equal(target_dir_close(t, false, &e), 0);
}

/* Nobody can tell: it is watched for its lease. */
static void from_another_host(void **state)
{
    (void)state;
    struct card c = elsewhere();
    struct target_dir *t;
    struct err e;

    put_card(".kvtrace", &c);
    put("fill-1.kv", "x");
    int64_t begun_ns = clock_boot_ns();
    assert_int_equal(take(&t, &e), 0);
    assert_true(clock_boot_ns() - begun_ns >= 2000000000);
    assert_false(there("fill-1.kv"));
    assert_int_equal(target_dir_close(t, false, &e), 0);
}

static void died_while_it_took(void **state)
{
    (void)state;
    struct card c = dead(), taker = dead();
    char name[32];
    struct target_dir *t;
    struct err e;

    /* Not watched: that would take the lease. */
    setenv("KVTRACE_TEST_LEASE", "60", 1);
    c.lease_s = taker.lease_s = 60;
    put_card(".kvtrace", &c);
    snprintf(name, sizeof(name), ".kvtrace-%08x", c.epoch);
    put_card(name, &taker);
    int64_t begun_ns = clock_boot_ns();
    assert_int_equal(take(&t, &e), 0);
    assert_true(clock_boot_ns() - begun_ns < 60000000000);
    assert_int_equal(target_dir_close(t, false, &e), 0);

    setenv("KVTRACE_TEST_LEASE", "2", 1);
    put_card(".kvtrace", &c);
    put(name, ""); /* before it wrote who it is */
    assert_int_equal(take(&t, &e), 0);
    assert_int_equal(target_dir_close(t, false, &e), 0);
    assert_false(there(name));
}

static void lives_after_all(void **state)
{
    (void)state;
    struct card c = elsewhere();
    struct target_dir *t;
    struct err e;
    char name[32];

    assert_int_equal(take(&t, &e), 0);
    snprintf(name, sizeof(name), ".kvtrace-%08x", target_dir_epoch(t));
    put_card(name, &c);
    for (int i = 0; i < 500 && there(name); i++)
        clock_sleep_until(clock_now_ns() + 20000000, 0);
    assert_false(there(name));
    assert_true(lease_valid(target_dir_lease(t)));
    assert_int_equal(target_dir_close(t, false, &e), 0);
}

static void replaced(void **state)
{
    (void)state;
    struct card c = elsewhere();
    struct target_dir *t;
    struct err e;
    char marker[256];

    assert_int_equal(take(&t, &e), 0);
    put("fill-1.kv", "the other's");
    put_card("new", &c);
    snprintf(marker, sizeof(marker), "%s/.kvtrace", folder);
    assert_int_equal(rename(in("new"), marker), 0);
    assert_false(lease_confirm(target_dir_lease(t)));
    assert_int_equal(target_dir_close(t, false, &e), -ESTALE);
    assert_int_equal(e.class, ERR_TARGET);
    assert_non_null(strstr(e.what, "taken over by kvreplay (process"));
    assert_true(there("fill-1.kv"));
    unlink(in("fill-1.kv"));
    assert_int_equal(unlink(marker), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_at_a_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(from_another_host, set_up, tear_down),
        cmocka_unit_test_setup_teardown(died_while_it_took, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lives_after_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replaced, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("taking", tests, NULL, NULL);
}
