/* In the place of lib/drive/block_events.c for a user who may not use tracefs. */
#include "kvreplay/device/trace_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "kvreplay/device/event_pipe.h"

#define HELPER "kvtrace-trace"

enum {
    PATH_BYTES = 4096
};

struct trace_helper {
    pid_t pid;  /* 0: it was not started */
    int to;     /* its standard input; negative: closed */
    int errors; /* its standard error */
    struct event_pipe from;
};

/* Beside the program that runs. Whether there is a file of that name. */
static bool find(char path[PATH_BYTES])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_BYTES - sizeof(HELPER));

    if (n <= 0)
        return false;
    path[n] = '\0';
    char *name = strrchr(path, '/');
    if (!name)
        return false;
    memcpy(name + 1, HELPER, sizeof(HELPER));
    return access(path, X_OK) == 0;
}

static int spawn(struct trace_helper *h, char *path, const uint32_t *device, unsigned n)
{
    char text[BLOCK_EVENTS_DEVICES][24], *argv[BLOCK_EVENTS_DEVICES + 2] = {path};
    char *const environment[] = {NULL};
    int in[2] = {-1, -1}, out[2] = {-1, -1}, errors[2] = {-1, -1}, rc = 0;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;

    for (unsigned i = 0; i < n; i++) {
        snprintf(text[i], sizeof(text[i]), "%u:%u", device[i] / BLOCK_EVENTS_MINORS,
                 device[i] % BLOCK_EVENTS_MINORS);
        argv[1 + i] = text[i];
    }
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0) {
        rc = -errno;
        goto out;
    }
    rc = -posix_spawn_file_actions_init(&files);
    if (rc < 0)
        goto out;
    rc = -posix_spawnattr_init(&how);
    if (rc < 0) {
        posix_spawn_file_actions_destroy(&files);
        goto out;
    }
    /* A group of its own: what interrupts this run at a terminal must not end the helper before it
     * has told what the last rows need. */
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
    rc = -posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
    if (rc == 0)
        rc = -posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
    if (rc == 0)
        rc = -posix_spawn_file_actions_adddup2(&files, errors[1], STDERR_FILENO);
    if (rc == 0)
        rc = -posix_spawn(&h->pid, path, &files, &how, argv, environment);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    if (rc < 0)
        goto out;
    h->to = in[1];
    h->from.fd = out[0];
    h->errors = errors[0];
    in[1] = out[0] = errors[0] = -1;
out:
    for (unsigned i = 0; i < 2; i++) {
        int of[] = {in[i], out[i], errors[i]};
        for (unsigned k = 0; k < 3; k++)
            if (of[k] >= 0)
                close(of[k]);
    }
    return rc;
}

static void close_pipe(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Why it is not ready, or does not record: its own line. With its input and output closed it ends,
 * whatever it was about to do. */
static int said(struct trace_helper *h, struct err *e)
{
    char line[512];
    size_t len = 0;
    ssize_t n;

    close_pipe(&h->to);
    close_pipe(&h->from.fd);
    while (len < sizeof(line) - 1 && (n = read(h->errors, line + len, sizeof(line) - 1 - len)) > 0)
        len += (size_t)n;
    line[len] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return err_set(e, -EIO, ERR_TARGET, "", "%s", line[0] ? line : HELPER " ended");
}

static int no_event(void *ctx, const struct request_event *event)
{
    (void)ctx;
    (void)event;
    return -EBADMSG;
}

int trace_helper_start(struct trace_helper **out, const uint32_t *device, unsigned n, struct err *e)
{
    char path[PATH_BYTES];
    int64_t ready_ns;

    if (!find(path))
        return err_set(e, -EPERM, ERR_TARGET, "",
                       "not permitted: run as root, or install " HELPER
                       " beside kvreplay with its capability (make install WITH_SETCAP=1)");
    if (getxattr(path, "security.capability", NULL, 0) <= 0)
        return err_set(e, -EPERM, ERR_TARGET, "",
                       "not permitted: run as root, or give " HELPER
                       " its capability (setcap cap_dac_override=ep %s)",
                       path);
    struct trace_helper *h = calloc(1, sizeof(*h));
    if (!h)
        return err_nomem(e, HELPER);
    h->to = h->from.fd = h->errors = -1;
    int rc = spawn(h, path, device, n);
    if (rc < 0)
        err_errno(e, rc, ERR_TARGET, path, "cannot start it");
    else if (event_pipe_read(&h->from, no_event, NULL, &ready_ns) != BLOCK_MARK_READY)
        rc = said(h, e);
    if (rc < 0)
        trace_helper_close(h);
    else
        *out = h;
    return rc;
}

int trace_helper_begin(struct trace_helper *h, struct err *e)
{
    int64_t begun_ns;

    if (write(h->to, "b", 1) == 1 &&
        event_pipe_read(&h->from, no_event, NULL, &begun_ns) == BLOCK_MARK_UNTIL)
        return 0;
    return said(h, e);
}

int trace_helper_read(struct trace_helper *h,
                      int (*take)(void *ctx, const struct request_event *event), void *ctx,
                      int64_t *until_ns)
{
    int mark = event_pipe_read(&h->from, take, ctx, until_ns);

    return mark < 0 ? mark : mark == BLOCK_MARK_END;
}

void trace_helper_stop(struct trace_helper *h)
{
    close_pipe(&h->to);
}

void trace_helper_count(const struct trace_helper *h, struct block_events_counts *c)
{
    *c = h->from.counts;
}

void trace_helper_close(struct trace_helper *h)
{
    if (!h)
        return;
    /* With its input and output closed it ends, and has removed its instance then. */
    close_pipe(&h->to);
    close_pipe(&h->from.fd);
    close_pipe(&h->errors);
    while (h->pid > 0 && waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    free(h);
}
