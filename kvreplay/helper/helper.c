/* kvtrace-trace - the kernel's block events for kvreplay --device-times as a user who is not root.
 * It has one capability where it was installed so, and takes nothing from its user but the numbers
 * of devices: no environment, no file, no path. Standard input is a pipe of which the first byte
 * begins the recording and the end ends it; standard output is a pipe that takes the events
 * (lib/drive/block_events.h).
 *
 * A second process removes the instance if this one is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kvreplay/helper/request.h"
#include "kvreplay/helper/rights.h"
#include "lib/drive/block_events.h"

enum {
    TRACE_LOOK_MS = 20, /* between two looks at the buffers */
    PIPE_BYTES = 1 << 20,
    BATCH = 2048
};

/* Events on their way to standard output. */
struct batch {
    size_t count;
    struct request_event event[BATCH];
};

static int write_all(const void *bytes, size_t len)
{
    for (const char *at = bytes; len > 0;) {
        ssize_t n = write(STDOUT_FILENO, at, len);
        if (n < 0 && errno != EINTR)
            return -errno;
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int flush(struct batch *b)
{
    int rc = write_all(b->event, b->count * sizeof(b->event[0]));

    b->count = 0;
    return rc;
}

static int pass_on(void *ctx, const struct request_event *event)
{
    struct batch *b = ctx;

    memcpy(&b->event[b->count++], event, sizeof(*event));
    return b->count == BATCH ? flush(b) : 0;
}

static int mark(struct batch *b, enum block_mark kind, int64_t time_ns)
{
    struct request_event event;

    memset(&event, 0, sizeof(event));
    event.kind = (uint8_t)kind;
    event.time_ns = time_ns;
    int rc = pass_on(b, &event);
    return rc == 0 ? flush(b) : rc;
}

/* Waits for a byte or the end of standard input. 1: a byte; 0: the end, or nobody reads what is
 * written; -EAGAIN: neither in this time (-1: any time). */
static int wait_for_word(int ms)
{
    struct pollfd at[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = STDOUT_FILENO}};
    char byte;

    if (poll(at, 2, ms) <= 0)
        return -EAGAIN;
    if (at[1].revents)
        return 0;
    return read(STDIN_FILENO, &byte, 1) == 1;
}

static int record(struct block_events *events, struct batch *b, struct err *e)
{
    struct block_events_counts counts;
    int64_t until_ns;
    int word, rc = mark(b, BLOCK_MARK_READY, 0);

    do {
        word = wait_for_word(-1);
    } while (word == -EAGAIN);
    if (rc < 0 || word == 0)
        return rc;
    rights_use(true);
    rc = block_events_begin(events, e);
    rights_use(false);
    if (rc == 0)
        rc = mark(b, BLOCK_MARK_UNTIL, 0); /* it records */
    while (rc == 0 && (word = wait_for_word(TRACE_LOOK_MS)) != 0) {
        rc = block_events_read(events, pass_on, b, &until_ns);
        if (rc == 0)
            rc = mark(b, BLOCK_MARK_UNTIL, until_ns);
    }
    rights_use(true);
    block_events_stop(events);
    rights_use(false);
    if (rc == 0)
        rc = block_events_read(events, pass_on, b, &until_ns);
    memset(&counts, 0, sizeof(counts));
    rights_use(true);
    block_events_count(events, &counts);
    rights_use(false);
    if (rc == 0)
        rc = mark(b, BLOCK_MARK_END, 0);
    return rc == 0 ? write_all(&counts, sizeof(counts)) : rc;
}

/* Waits until the other end of the pipe is closed, which it is when that process has ended, and
 * removes its instance, if that is still there. */
static _Noreturn void keep(int held, pid_t pid)
{
    char byte;

    setsid();
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null < 0 || dup2(null, fd) < 0)
            _exit(EXIT_FAILURE);
        close(null);
    }
    while (read(held, &byte, 1) < 0 && errno == EINTR)
        ;
    rights_use(true);
    block_events_remove(pid);
    _exit(EXIT_SUCCESS);
}

static int start_keeper(pid_t *keeper, struct err *e)
{
    int held[2];
    pid_t self = getpid();

    if (pipe2(held, O_CLOEXEC) < 0)
        return err_errno(e, -errno, ERR_FAILED, "", "cannot make a pipe");
    *keeper = fork();
    if (*keeper < 0) {
        int rc = -errno;
        close(held[0]);
        close(held[1]);
        return err_errno(e, rc, ERR_FAILED, "", "cannot start a process");
    }
    if (*keeper == 0) {
        close(held[1]);
        keep(held[0], self);
    }
    close(held[0]);
    return held[1];
}

static bool is_pipe(int fd)
{
    struct stat is;

    return fstat(fd, &is) == 0 && S_ISFIFO(is.st_mode);
}

static int check_pipes(struct err *e)
{
    if (is_pipe(STDIN_FILENO) && is_pipe(STDOUT_FILENO))
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, "",
                   "standard input and output must be pipes: kvreplay --device-times starts this");
}

static int serve(const struct trace_request *request, struct err *e)
{
    static struct batch batch;
    struct block_events *events = NULL;
    pid_t keeper = 0, owner = getppid();
    int rc = rights_limit();

    if (rc < 0)
        return err_errno(e, rc, ERR_FAILED, "", "cannot give up rights");
    int held = start_keeper(&keeper, e);
    if (held < 0)
        return held;
    (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
    rights_use(true);
    rc = block_events_open(&events, request->device, request->devices, owner, e);
    rights_use(false);
    if (rc == 0)
        rc = record(events, &batch, e);
    if (rc < 0 && e->code == 0)
        err_errno(e, rc, ERR_OUTPUT, "", "cannot pass events on");
    rights_use(true);
    block_events_close(events);
    rights_use(false);
    close(held);
    while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
        ;
    return rc;
}

int main(int argc, char **argv)
{
    struct trace_request request;
    struct err e = {0};
    char line[1024];

    clearenv();
    signal(SIGPIPE, SIG_IGN);
    /* A file that is opened must not take the place of one that is written to. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            e.code = -EBADF;
    if (e.code < 0)
        err_set(&e, e.code, ERR_INPUT, "", "a standard descriptor is closed");
    if (e.code < 0 || trace_request_parse(&request, argc, argv, &e) < 0 || check_pipes(&e) < 0 ||
        serve(&request, &e) < 0) {
        err_format(&e, "kvtrace-trace", line, sizeof(line));
        dprintf(STDERR_FILENO, "%s\n", line);
        return err_exit_status(&e);
    }
    return 0;
}
