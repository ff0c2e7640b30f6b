/* The pipe in which kvtrace-trace gives block events: records of one size
 * (lib/drive/block_events.h) that are cut anywhere by a read, and marks among them. */
#ifndef KVREPLAY_DEVICE_EVENT_PIPE_H
#define KVREPLAY_DEVICE_EVENT_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/drive/block_events.h"

enum {
    EVENT_PIPE_BYTES = 65536
};
struct event_pipe {
    int fd;
    size_t at, len; /* of bytes */
    bool ended;
    struct block_events_counts counts; /* after the end */
    unsigned char bytes[EVENT_PIPE_BYTES];
};

/* Gives events until a mark has come. The mark (*until_ns: its time), or negative errno: -EPIPE,
 * the pipe was closed before its end; -EBADMSG, no such record; what take returned. */
int event_pipe_read(struct event_pipe *p, int (*take)(void *ctx, const struct request_event *event),
                    void *ctx, int64_t *until_ns);

#endif
