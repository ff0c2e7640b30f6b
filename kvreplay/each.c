/* Before a step of autoscale: runs the user's command and lends its output to the trace reader. The
 * step may end long before the command does, which is no failure; then it is ended by a signal. */
#include "kvreplay/each.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"

enum {
    EACH_MOMENT_NS = 2000000000, /* for a command to end by itself, or by SIGTERM */
    EACH_LOOK_NS = 2000000
};

extern char **environ;

/* command with every {N} replaced; the caller frees it. */
static char *each_command(const char *command, uint64_t users)
{
    char number[24], *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    snprintf(number, sizeof(number), "%" PRIu64, users);
    for (const char *at; (at = strstr(command, "{N}")); command = at + 3)
        fprintf(out, "%.*s%s", (int)(at - command), command, number);
    fputs(command, out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* The shell in a group of its own, with the signals that we ignore or block back in place. */
static int each_spawn(pid_t *pid, char *text, int output)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, text, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t usual, none;

    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGTERM);
    int rc = posix_spawn_file_actions_init(&files);
    if (rc)
        return -rc;
    rc = posix_spawnattr_init(&how);
    if (rc) {
        posix_spawn_file_actions_destroy(&files);
        return -rc;
    }
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                       POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setsigmask(&how, &none);
    rc = posix_spawn(pid, "/bin/sh", &files, &how, argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return -rc;
}

int each_start(struct each *c, const char *command, uint64_t users, struct err *e)
{
    int ends[2];
    char *text = each_command(command, users);

    *c = (struct each){.fd = -1};
    if (!text)
        return err_nomem(e, "command");
    if (pipe2(ends, O_CLOEXEC) < 0) {
        free(text);
        return err_errno(e, -errno, ERR_FAILED, "--each", "cannot make a pipe");
    }
    int rc = each_spawn(&c->pid, text, ends[1]);
    free(text);
    close(ends[1]);
    if (rc < 0) {
        close(ends[0]);
        c->pid = 0;
        return err_errno(e, rc, ERR_FAILED, "--each", "cannot start a shell");
    }
    c->fd = ends[0];
    snprintf(c->path, sizeof(c->path), "/dev/fd/%d", c->fd);
    return 0;
}

/* Has it ended within that time? */
static bool each_wait(struct each *c, int64_t ns)
{
    const struct timespec look = {.tv_nsec = EACH_LOOK_NS};
    int64_t until = clock_now_ns() + ns;
    pid_t pid;

    while ((pid = waitpid(c->pid, &c->status, WNOHANG)) == 0 || (pid < 0 && errno == EINTR)) {
        if (clock_now_ns() >= until)
            return false;
        nanosleep(&look, NULL);
    }
    return true;
}

void each_stop(struct each *c, bool patient)
{
    if (c->pid <= 0)
        return;
    if (patient && each_wait(c, EACH_MOMENT_NS)) {
        c->failed = !WIFEXITED(c->status) || WEXITSTATUS(c->status) != 0;
    } else {
        kill(-c->pid, SIGTERM);
        if (!each_wait(c, EACH_MOMENT_NS)) {
            kill(-c->pid, SIGKILL);
            each_wait(c, INT64_MAX / 2);
        }
    }
    c->pid = 0;
}

void each_close(struct each *c)
{
    each_stop(c, false);
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}
