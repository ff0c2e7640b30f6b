/* Signals: the first SIGINT, SIGTERM or SIGHUP sets the flag and writes a line, the second of any
 * kind abandons, the third kills; one sent twice counts once, SIGPIPE and SIGXFSZ do nothing, and
 * the exit status tells which came first. Each case runs in a child, because the flag cannot be
 * lowered again. A bug here is a program that Ctrl-C cannot end, or one that loses its results to
 * the second. A line of text stands below what a terminal shows; a reader that is patient is so for
 * STOP_PATIENCE_MS. */
/* builds: plain address thread */
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

/* ---- calls that fail, and a time that goes on, when a test wants them to ---- */

static int handlers_until_no = -1; /* calls that are granted before one is refused; negative: all */
static time_t later_s;

int __real_sigaction(int sig, const struct sigaction *to, struct sigaction *from);
int __wrap_sigaction(int sig, const struct sigaction *to, struct sigaction *from);
int __wrap_sigaction(int sig, const struct sigaction *to, struct sigaction *from)
{
    if (handlers_until_no == 0) {
        errno = EINVAL;
        return -1;
    }
    handlers_until_no -= handlers_until_no > 0;
    return __real_sigaction(sig, to, from);
}

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int rc = __real_clock_gettime(clock, t);
    t->tv_sec += later_s;
    return rc;
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

static int hangup(void)
{
    struct err e = {0};
    signal(SIGHUP, SIG_DFL);
    if (stop_install(NULL, &e) || stop_signal_name())
        return 1;
    raise(SIGHUP);
    if (stop_signal() != SIGHUP || stop_exit_status(5) != 129 ||
        strcmp(stop_signal_name(), "SIGHUP") != 0)
        return 2;
    return 0;
}

/* As under nohup(1): a terminal that is closed does not end the run. */
static int ignored_hangup(void)
{
    struct err e = {0};
    signal(SIGHUP, SIG_IGN);
    if (stop_install(NULL, &e))
        return 1;
    raise(SIGHUP);
    if (stop_signal())
        return 2;
    raise(SIGTERM);
    return stop_exit_status(5) == 143 && strcmp(stop_signal_name(), "SIGTERM") == 0 ? 0 : 3;
}

static void a_hangup_counts_unless_it_is_ignored(void **state)
{
    (void)state;
    int status = in_child(hangup);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    status = in_child(ignored_hangup);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
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

enum {
    NO_TERMINAL = 77 /* a bare root has no /dev/pts */
};

/* "^C" and a progress line are there already. */
static int one_line_on_a_terminal(void)
{
    char text[32];
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal))
        return NO_TERMINAL;
    int other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    if (other < 0)
        return NO_TERMINAL;
    if (dup2(other, STDERR_FILENO) < 0 || stop_install("stopping\n", NULL))
        return 2;
    raise(SIGINT);
    ssize_t n = 0, more;
    while (n < 12 && (more = read(terminal, text + n, sizeof(text) - (size_t)n)) > 0)
        n += more;
    return n == 12 && memcmp(text, "\r\nstopping\r\n", 12) == 0 ? 0 : 3;
}

/* A terminal that is gone, a pipe that nobody reads: nobody is told, and that is all. */
static int nobody_reads(void)
{
    int fd[2];
    if (pipe(fd) || dup2(fd[1], STDERR_FILENO) < 0 || close(fd[0]) || close(fd[1]) ||
        stop_install("stopping\n", NULL))
        return 1;
    raise(SIGTERM);
    return stop_exit_status(0) == 143 ? 0 : 2;
}

static void a_terminal(void **state)
{
    (void)state;
    int status = in_child(one_line_on_a_terminal);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_TERMINAL)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void nobody(void **state)
{
    (void)state;
    int status = in_child(nobody_reads);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int patience(void)
{
    if (stop_install(NULL, NULL) || stop_ends_reading(true) || stop_ends_reading(false))
        return 1;
    raise(SIGINT);
    if (stop_ends_reading(true) || !stop_ends_reading(false))
        return 2;
    later_s = STOP_PATIENCE_MS / 1000 + 1;
    return stop_ends_reading(true) && !stop_abandons() ? 0 : 3;
}

static void patience_ends(void **state)
{
    (void)state;
    int status = in_child(patience);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int no_handler(void)
{
    signal(SIGHUP, SIG_DFL);
    for (int granted = 0; granted < 6; granted++) {
        struct err e = {0};
        handlers_until_no = granted;
        if (stop_install(NULL, &e) != -EINVAL || !strstr(e.what, "cannot install signal handlers"))
            return granted + 1;
    }
    return 0;
}

static void every_handler_is_needed(void **state)
{
    (void)state;
    int status = in_child(no_handler);
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
        cmocka_unit_test(the_first_sets_the_flag),
        cmocka_unit_test(sent_twice_is_one),
        cmocka_unit_test(the_third_kills),
        cmocka_unit_test(the_first_writes_a_line),
        cmocka_unit_test(a_blocked_read_returns),
        cmocka_unit_test(a_terminal),
        cmocka_unit_test(nobody),
        cmocka_unit_test(patience_ends),
        cmocka_unit_test(every_handler_is_needed),
        cmocka_unit_test(a_hangup_counts_unless_it_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
