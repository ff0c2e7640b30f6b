/* The command of --each: its output is read with {N} replaced, a status other than 0 or a signal is
 * told, whatever it does it is ended, and where no pipe or process is to be had that is an error
 * and nothing is left. A bug here is a command that outlives kvreplay, or a failed one that counts
 * as a trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kvreplay/autoscale/step_command.h"
#include "lib/base/clock.h"
#include "lib/base/stop.h"

/* ---- calls that fail when a test wants them to ---- */

static int refuse_pipe;    /* errno; 0: there is one */
static int forks_until_no; /* forks that are granted before one is refused; negative: all */

int __real_pipe2(int fd[2], int flags);
int __wrap_pipe2(int fd[2], int flags);
int __wrap_pipe2(int fd[2], int flags)
{
    if (refuse_pipe) {
        errno = refuse_pipe;
        return -1;
    }
    return __real_pipe2(fd, flags);
}

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
    if (forks_until_no == 0) {
        errno = EAGAIN;
        return -1;
    }
    forks_until_no -= forks_until_no > 0;
    return __real_fork();
}

/* ---- one command ---- */

enum {
    SECOND = 1000000000
};

static void start(struct step_command *c, const char *command)
{
    struct err e = {0};

    *c = (struct step_command){.fd = -1};
    assert_int_equal(step_command_start(c, command, 12, &e), 0);
    assert_true(c->pid > 0 && c->fd >= 0);
}

/* The whole output of command, for 12 users, in text. */
static struct step_command done(const char *command, char *text, size_t size)
{
    struct step_command c;
    struct err e = {0};
    ssize_t n;
    size_t len = 0;

    start(&c, command);
    assert_int_equal(step_command_ready(&c, INT64_MAX, &e), 0);
    while ((n = read(c.fd, text + len, size - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    step_command_stop(&c, true);
    assert_int_equal(c.pid, 0);
    step_command_stop(&c, true);
    step_command_close(&c);
    assert_int_equal(c.fd, -1);
    return c;
}

static void its_output_is_read(void **state)
{
    (void)state;
    char text[64];
    assert_false(done("printf '{N} users, {N}{M}'; cat", text, sizeof(text)).failed);
    assert_string_equal(text, "12 users, 12{M}"); /* cat: standard input is empty */
}

static void its_status_is_told(void **state)
{
    (void)state;
    char text[64];
    struct step_command c = done("exit 3", text, sizeof(text));
    assert_true(c.failed && WEXITSTATUS(c.status) == 3);
    c = done("kill -9 $$", text, sizeof(text));
    assert_true(c.failed && WEXITSTATUS(c.status) == 128 + 9);
    c = done("/nonexistent 2>/dev/null", text, sizeof(text));
    assert_true(c.failed && WEXITSTATUS(c.status) == 127);
}

/* Milliseconds that ending it takes; nothing of its group is left. */
static int64_t end_ms(const char *command, bool patient)
{
    struct step_command c;
    struct err e = {0};

    start(&c, command);
    assert_int_equal(step_command_ready(&c, 60ll * SECOND, &e), 0);
    pid_t group = c.pid;
    int64_t began = clock_now_ns();
    step_command_stop(&c, patient);
    int64_t took = clock_now_ns() - began;
    assert_false(c.failed); /* that it was ended is no failure of its own */
    step_command_close(&c);
    for (int i = 0; i < 1000 && kill(-group, 0) == 0; i++) /* who is killed goes soon */
        usleep(10000);
    assert_int_equal(kill(-group, 0), -1);
    return took / 1000000;
}

static void whatever_it_does_it_is_ended(void **state)
{
    (void)state;
    int64_t soonest = INT64_MAX;
    for (int i = 0; i < 5 && soonest >= 1900; i++) { /* a busy machine takes long, now and then */
        int64_t ms = end_ms("echo; sleep 300", false);
        soonest = ms < soonest ? ms : soonest;
    }
    assert_true(soonest < 1900);
    /* It closes its output and works on: it gets a moment. */
    assert_true(end_ms("exec >&-; sleep 300", true) >= 2000);
    assert_true(end_ms("trap '' TERM; echo; sleep 300; sleep 300", false) >= 1900);
}

static void silence_ends(void **state)
{
    (void)state;
    struct step_command c;
    struct err e = {0};
    start(&c, "sleep 300");
    assert_int_equal(step_command_ready(&c, 1000000, &e), -ETIMEDOUT);
    assert_non_null(strstr(e.what, "has written nothing for 1.00 ms"));
    step_command_close(&c);
}

static void without_a_pipe_or_a_process(void **state)
{
    (void)state;
    struct step_command c;
    struct err e = {0};
    char text[64];
    refuse_pipe = EMFILE;
    assert_int_equal(step_command_start(&c, "echo", 1, &e), -EMFILE);
    refuse_pipe = 0;
    assert_true(c.pid == 0 && c.fd == -1);
    forks_until_no = 0;
    assert_int_equal(step_command_start(&c, "echo", 1, &e), -EAGAIN);
    assert_true(c.pid == 0 && c.fd == -1);
    step_command_close(&c);
    forks_until_no = 1; /* the guard has none for the shell */
    c = done("echo", text, sizeof(text));
    forks_until_no = -1;
    assert_true(c.failed && WEXITSTATUS(c.status) == 127);
}

/* The last test: the flag cannot be lowered again. */
static void a_signal_ends_the_wait(void **state)
{
    (void)state;
    struct step_command c;
    struct err e = {0};
    start(&c, "sleep 300");
    assert_int_equal(stop_install(NULL, &e), 0);
    raise(SIGINT);
    assert_int_equal(step_command_ready(&c, 60ll * SECOND, &e), -EINTR);
    step_command_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_output_is_read),           cmocka_unit_test(its_status_is_told),
        cmocka_unit_test(whatever_it_does_it_is_ended), cmocka_unit_test(silence_ends),
        cmocka_unit_test(without_a_pipe_or_a_process),  cmocka_unit_test(a_signal_ends_the_wait),
    };
    forks_until_no = -1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
