/* Any bytes from the pipe of kvtrace-trace: it gives events and marks of known kinds, no more than
 * the bytes hold, and then an end or an error. */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "kvreplay/device/event_pipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check(void *ctx, const struct request_event *event)
{
    size_t *events = ctx;

    if (event->kind > REQUEST_REQUEUED || event->what > REQUEST_OTHER)
        abort();
    ++*events;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct event_pipe p;
    size_t events = 0, marks = 0;
    int64_t until_ns;
    int fd[2], mark;

    if (size > EVENT_PIPE_BYTES) /* what an empty pipe takes at once */
        size = EVENT_PIPE_BYTES;
    if (pipe(fd) < 0 || write(fd[1], data, size) != (ssize_t)size || close(fd[1]) < 0)
        abort();
    p = (struct event_pipe){.fd = fd[0]};
    do {
        mark = event_pipe_read(&p, check, &events, &until_ns);
        marks += mark > 0;
    } while (mark > 0 && mark != BLOCK_MARK_END);
    if (p.ended != (mark == BLOCK_MARK_END) ||
        (events + marks) * sizeof(struct request_event) > size)
        abort();
    close(fd[0]);
    return 0;
}
