/* Before a step of autoscale: runs the user's command and lends its output to the trace reader. The
 * step may be over long before the command is; then a signal ends the command, which is no failure.
 */
#include "kvreplay/autoscale/step_command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"

enum {
    STEP_COMMAND_MOMENT_NS = 2000000000, /* for a command to end by itself, or by SIGTERM */
    STEP_COMMAND_LOOK_NS = 2000000,
    STEP_COMMAND_POLL_MS = 100
};

/* command with every {N} replaced, which the caller frees; NULL: no memory. */
static char *step_command_text(const char *command, uint64_t users)
{
    char number[24], *text = NULL;
    size_t size;
    FILE *out = memory_stream(&text, &size);

    if (!out)
        return NULL;
    snprintf(number, sizeof(number), "%" PRIu64, users);
    for (const char *at; (at = strstr(command, "{N}")); command = at + 3)
        fprintf(out, "%.*s%s", (int)(at - command), command, number);
    fputs(command, out);
    bool whole = !ferror(out);
    if (fclose(out) != 0 || !whole) {
        free(text);
        return NULL;
    }
    return text;
}

/* The signals that kvreplay ignores or blocks are back to normal in the shell. */
static _Noreturn void step_command_shell(const char *text)
{
    sigset_t none;

    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execl("/bin/sh", "sh", "-c", text, (char *)NULL);
    _exit(127);
}

/* The child of kvreplay: leads the group of the shell, waits for it, and ends it when it is told
 * to, or when kvreplay is gone, which could not do so itself when it was killed. Runs between fork
 * and exec of a program with threads: plain system calls only. */
static _Noreturn void step_command_guard(const char *text, int output, pid_t parent)
{
    const struct timespec moment = {.tv_sec = STEP_COMMAND_MOMENT_NS / UNITS_NS_PER_S};
    int status, input = open("/dev/null", O_RDONLY);
    sigset_t set;

    setpgid(0, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0)
        _exit(127);
    close_range(STDERR_FILENO + 1, ~0U, 0); /* targets and their locks are not the command's */
    pid_t shell = fork();
    if (shell == 0)
        step_command_shell(text);
    if (shell < 0)
        _exit(127);
    close(STDOUT_FILENO); /* the shell's is the only one: when it is closed, the trace ends */
    while (waitpid(shell, &status, WNOHANG) == 0) {
        int told = sigwaitinfo(&set, NULL);
        if (told < 0 || told == SIGCHLD)
            continue;
        signal(SIGTERM, SIG_IGN); /* the guard is in the group too */
        sigdelset(&set, SIGTERM);
        sigprocmask(SIG_SETMASK, &set, NULL);
        kill(0, SIGTERM);
        sigtimedwait(&set, NULL, &moment);
        if (waitpid(shell, &status, WNOHANG) == 0)
            kill(0, SIGKILL);
        break;
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int step_command_start(struct step_command *c, const char *command, uint64_t users, struct err *e)
{
    int ends[2];
    char *text = step_command_text(command, users);

    *c = (struct step_command){.fd = -1};
    if (!text)
        return err_nomem(e, "command");
    if (pipe2(ends, O_CLOEXEC) < 0) {
        free(text);
        return err_errno(e, -errno, ERR_FAILED, "--each", "cannot make a pipe");
    }
    pid_t self = getpid();
    c->pid = fork();
    if (c->pid == 0)
        step_command_guard(text, ends[1], self);
    int rc = c->pid < 0 ? -errno : 0;
    free(text);
    close(ends[1]);
    if (rc < 0) {
        close(ends[0]);
        c->pid = 0;
        return err_errno(e, rc, ERR_FAILED, "--each", "cannot start a shell");
    }
    setpgid(c->pid, c->pid); /* the child does it too: it must be done whoever comes first */
    c->fd = ends[0];
    snprintf(c->path, sizeof(c->path), STEP_COMMAND_FOLDER "%d", c->fd);
    return 0;
}

int step_command_ready(const struct step_command *c, int64_t silent_ns, struct err *e)
{
    struct pollfd fd = {.fd = c->fd, .events = POLLIN};
    int64_t now_ns = clock_now_ns(), until_ns;
    char limit[32];

    if (__builtin_add_overflow(now_ns, silent_ns, &until_ns))
        until_ns = INT64_MAX;
    while (poll(&fd, 1, STEP_COMMAND_POLL_MS) <= 0) {
        if (stop_signal())
            return err_set(e, -EINTR, ERR_FAILED, "--each", "interrupted");
        if (clock_now_ns() >= until_ns)
            return err_set(
                e, -ETIMEDOUT, ERR_FAILED, "--each",
                "the command has written nothing for %s (--config each_timeout allows more)",
                units_format_duration(limit, sizeof(limit), (double)silent_ns));
    }
    return 0;
}

/* True: it ended within that time. */
static bool step_command_wait(struct step_command *c, int64_t ns)
{
    const struct timespec look = {.tv_nsec = STEP_COMMAND_LOOK_NS};
    int64_t until = clock_now_ns() + ns;
    pid_t pid;

    while ((pid = waitpid(c->pid, &c->status, WNOHANG)) == 0 || (pid < 0 && errno == EINTR)) {
        if (clock_now_ns() >= until)
            return false;
        nanosleep(&look, NULL);
    }
    return true;
}

void step_command_stop(struct step_command *c, bool patient)
{
    if (c->pid <= 0)
        return;
    if (patient && step_command_wait(c, STEP_COMMAND_MOMENT_NS)) {
        c->failed = !WIFEXITED(c->status) || WEXITSTATUS(c->status) != 0;
    } else {
        kill(-c->pid, SIGTERM);
        if (!step_command_wait(c, STEP_COMMAND_MOMENT_NS)) {
            kill(-c->pid, SIGKILL);
            step_command_wait(c, INT64_MAX / 2);
        }
    }
    c->pid = 0;
}

void step_command_close(struct step_command *c)
{
    step_command_stop(c, false);
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}
