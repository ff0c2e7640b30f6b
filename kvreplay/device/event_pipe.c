/* Between kvtrace-trace, which trace_helper.c starts, and block_trace.c, which joins the events. */
#include "kvreplay/device/event_pipe.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The next len bytes, which may be more than one read gives. */
static int take_bytes(struct event_pipe *p, void *to, size_t len)
{
    while (p->len - p->at < len) {
        memmove(p->bytes, p->bytes + p->at, p->len - p->at);
        p->len -= p->at;
        p->at = 0;
        ssize_t n = read(p->fd, p->bytes + p->len, sizeof(p->bytes) - p->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EPIPE;
        p->len += (size_t)n;
    }
    memcpy(to, p->bytes + p->at, len);
    p->at += len;
    return 0;
}

int event_pipe_read(struct event_pipe *p, int (*take)(void *ctx, const struct request_event *event),
                    void *ctx, int64_t *until_ns)
{
    struct request_event event;
    int rc;

    while ((rc = take_bytes(p, &event, sizeof(event))) == 0) {
        switch (event.kind) {
        case REQUEST_ISSUED:
        case REQUEST_COMPLETED:
        case REQUEST_REQUEUED:
            rc = event.what > REQUEST_OTHER ? -EBADMSG : take(ctx, &event);
            break;
        case BLOCK_MARK_READY:
        case BLOCK_MARK_UNTIL:
            *until_ns = event.time_ns;
            return event.kind;
        case BLOCK_MARK_END:
            *until_ns = INT64_MAX;
            rc = take_bytes(p, &p->counts, sizeof(p->counts));
            p->ended = rc == 0;
            return rc < 0 ? rc : BLOCK_MARK_END;
        default:
            rc = -EBADMSG;
        }
        if (rc < 0)
            break;
    }
    return rc;
}
