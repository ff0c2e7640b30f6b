/* A stream: very large objects, one after the other, through a fixed pool of buffers, as a
 * checkpoint writer does. Threads fill buffers while the caller's thread writes those that are
 * full. */
#ifndef KVPRECOND_STREAM_H
#define KVPRECOND_STREAM_H

#include <stdint.h>

#include "kvprecond/fill.h"
#include "kvprecond/fill_target.h"
#include "kvprecond/plan.h"
#include "lib/base/err.h"
#include "lib/base/hist.h"

/* Advice to the kernel about the page cache, in the order of the choices of --config fadvise. */
enum stream_advice {
    STREAM_NONE,
    STREAM_SEQUENTIAL, /* POSIX_FADV_SEQUENTIAL as an object begins */
    STREAM_DONTNEED    /* each chunk is made durable and its pages are dropped */
};

struct stream_opts {
    const struct plan *plan;    /* PLAN_STREAM; a unit is a chunk */
    struct fill_target *target; /* NULL: the engine has objects in place of files */
    struct fill_queue queue;
    unsigned bufs;    /* of the queue */
    unsigned fillers; /* threads that fill buffers, 1 or more */
    unsigned depth;   /* most writes in flight; the engine's */
    enum stream_advice advice;
    struct gap_list *gaps;                               /* of its threads; NULL: not watched */
    struct fill_held *held;                              /* as in fill_opts */
    enum fill_wish (*tick)(void *ctx, uint64_t written); /* as in fill_opts */
    void *ctx;
};

struct stream_result {
    struct fill_result fill;
    int64_t data_wait_ns;  /* nothing was full and nothing in flight: the target had no work */
    int64_t store_wait_ns; /* no buffer was left to fill, or no data to make: only the target worked
                            */
};

/* Writes all chunks of the plan; their service times (ns) go into service. Returns as fill_run
 * does, with *r filled in every case. */
int stream_run(const struct stream_opts *o, struct stream_result *r, struct hist *service,
               struct err *e);

#endif
