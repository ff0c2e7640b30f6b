/* The kernel's own account of the requests at block devices: a thread that reads their issues and
 * completions and joins them. Needs the rights to use tracefs (root), or kvtrace-trace, which has
 * them. */
#ifndef KVREPLAY_DEVICE_BLOCK_TRACE_H
#define KVREPLAY_DEVICE_BLOCK_TRACE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/drive/block_events.h"
#include "lib/drive/request_join.h"

enum {
    BLOCK_TRACE_NAME = 32
};
struct block_trace_device {
    char name[BLOCK_TRACE_NAME]; /* "nvme0n1" */
    uint32_t number;             /* as of struct request_event */
};
/* Who takes what was read; called by the reading thread. */
struct block_trace_sink {
    void *ctx;
    /* A read or write that was completed, in order of completion. 0 or -ENOMEM. */
    int (*request)(void *ctx, const struct request *r);
    /* All that were completed before that time were given; INT64_MAX: no more come. */
    void (*until)(void *ctx, int64_t until_ns);
};
struct block_trace_figures {
    struct block_events_counts events;
    struct request_counts requests;
    int failed; /* negative errno: the reading came to an end */
};

/* The number of the disk of that name. 0 or negative errno. */
int block_trace_number(const char *name, uint32_t *number);

struct block_trace;
/* Makes ready for the recording. Class ERR_TARGET: -EPERM, not permitted, and what to do; others as
 * of block_events_open and trace_helper_start. n: at most BLOCK_EVENTS_DEVICES. */
int block_trace_open(struct block_trace **out, const struct block_trace_device *device, unsigned n,
                     const struct block_trace_sink *sink, struct err *e);
/* Records from now on. 0 or negative errno with *e. */
int block_trace_begin(struct block_trace *t, struct err *e);
/* Records no more, and waits until all has been read. Only once; block_trace_close does it, too. */
void block_trace_end(struct block_trace *t);
/* After the end. */
void block_trace_count(const struct block_trace *t, struct block_trace_figures *f);
/* t may be NULL. */
void block_trace_close(struct block_trace *t);

#endif
