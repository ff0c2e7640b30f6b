/* Signals: the first SIGINT or SIGTERM sets the flag and writes a line, the second of either kind
 * abandons, the third kills; one sent twice counts once, SIGPIPE and SIGXFSZ do nothing, and the
 * exit status tells which came first. Each case runs in a child, because the flag cannot be lowered
 * again. A bug here is a program that Ctrl-C cannot end, or one that loses its results to the
 * second. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/stop.h"

/* Wait status of a child that runs body; body's result is its exit status. */
static int in_child(int (*body)(void))
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(300);
        _exit(body());
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int first_signal(void)
{
    struct err e = {0};
    if (stop_install(NULL, &e) || stop_signal() != 0 || stop_exit_status(5) != 5)
        return 1;
    raise(SIGPIPE);
    raise(SIGXFSZ);
    if (stop_signal() != 0)
        return 2;
    raise(SIGTERM);
    if (stop_signal() != SIGTERM || stop_exit_status(5) != 143)
        return 3;
    return 0;
}

static void the_first_sets_the_flag(void **state)
{
    (void)state;
    int status = in_child(first_signal);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Longer than what is taken for one signal sent twice. */
static void pause_a_while(void)
{
    nanosleep(&(struct timespec){.tv_nsec = (STOP_TWICE_MS + 20) * 1000000L}, NULL);
}

/* As timeout(1) does: to the child, then to its group. A machine that was busy elsewhere in between
 * makes two of it, now and then. */
static int sent_twice(void)
{
    if (stop_install(NULL, NULL))
        return 1;
    raise(SIGTERM);
    raise(SIGTERM);
    raise(SIGINT);
    return stop_exit_status(0) == 143 ? 0 : 2;
}

static void sent_twice_is_one(void **state)
{
    (void)state;
    int status = 0;
    for (int i = 0; i < 10 && (i == 0 || !WIFEXITED(status)); i++)
        status = in_child(sent_twice);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int int_then_term(void)
{
    if (stop_install(NULL, NULL))
        return 1;
    raise(SIGINT);
    if (stop_exit_status(0) != 130 || stop_abandons() || !stop_ends_reading(false) ||
        stop_ends_reading(true))
        return 2;
    pause_a_while();
    raise(SIGTERM);
    if (stop_exit_status(0) != 130 || !stop_abandons() || !stop_ends_reading(true))
        return 3;
    pause_a_while();
    raise(SIGTERM);
    return 4;
}

static int term_thrice(void)
{
    if (stop_install(NULL, NULL))
        return 1;
    for (int i = 0; i < 3; i++) {
        raise(SIGTERM);
        pause_a_while();
    }
    return 3;
}

static void the_third_kills(void **state)
{
    (void)state;
    int status = in_child(int_then_term);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
    status = in_child(term_thrice);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

static int one_line(void)
{
    char text[32];
    int fd[2];
    if (pipe(fd) || dup2(fd[1], STDERR_FILENO) < 0 || stop_install("stopping\n", NULL))
        return 1;
    raise(SIGINT);
    pause_a_while();
    raise(SIGINT);
    ssize_t n = read(fd[0], text, sizeof(text));
    return n == 9 && memcmp(text, "stopping\n", 9) == 0 ? 0 : 2;
}

static void the_first_writes_a_line(void **state)
{
    (void)state;
    int status = in_child(one_line);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int blocked_read(void)
{
    int fd[2];
    char c;
    if (pipe(fd) || stop_install(NULL, NULL))
        return 1;
    pid_t me = getpid();
    pid_t killer = fork();
    if (killer == 0) {
        struct timespec ts = {.tv_nsec = 50000000};
        nanosleep(&ts, NULL);
        _exit(kill(me, SIGINT) != 0);
    }
    if (killer < 0)
        return 2;
    /* once the flag is set there is nothing to wait for, so a signal before the read is no failure
     */
    if (!stop_signal() && (read(fd[0], &c, 1) != -1 || errno != EINTR))
        return 3;
    return stop_exit_status(4);
}

static void a_blocked_read_returns(void **state)
{
    (void)state;
    int status = in_child(blocked_read);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_sets_the_flag), cmocka_unit_test(sent_twice_is_one),
        cmocka_unit_test(the_third_kills),         cmocka_unit_test(the_first_writes_a_line),
        cmocka_unit_test(a_blocked_read_returns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
