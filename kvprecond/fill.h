/* A fill: writes the units of each target's plan with several threads, each with a full queue at
 * the device, and then writes on in rounds of equal time if asked to. A stream is a fill of large
 * objects, one after the other, through a fixed pool of buffers, as a checkpoint writer does: other
 * threads (fillers) make the data. */
#ifndef KVPRECOND_FILL_H
#define KVPRECOND_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include "kvprecond/fill_target.h"
#include "kvprecond/plan.h"
#include "kvprecond/steady.h"
#include "lib/base/err.h"
#include "lib/base/hist.h"
#include "lib/io/gap_list.h"
#include "lib/io/io.h"

/* The engine and buffers of a thread; the caller's. The engine is open, with pool registered. */
struct fill_queue {
    struct io *io;
    void *pool; /* bufs buffers of plan->o.write_bytes, 4 KiB aligned */
};

/* Writes in a span of time. */
struct fill_span {
    uint64_t bytes, writes; /* completed */
    int64_t elapsed_ns;
    const struct hist *service; /* ns from hand-over to completion of a write; lent */
};

/* Times of writes that gaps of their thread, or of the process, lengthened: as they were, and
 * without it. The caller's. */
struct fill_held {
    struct hist *held, *freed; /* ns */
};

/* The caller's wish, from one look to the next. */
enum fill_wish {
    FILL_GO_ON,
    FILL_STOP,   /* begin no more writes, and await those in flight */
    FILL_ABANDON /* await them for a moment only */
};

/* Advice to the kernel about the page cache, in the order of the choices of --config fadvise. */
enum fill_advice {
    FILL_NO_ADVICE,
    FILL_SEQUENTIAL, /* POSIX_FADV_SEQUENTIAL as an object begins */
    FILL_DONTNEED    /* each write is made durable, and its pages are dropped, before its buffer
                        is used again: the page cache never holds more than the buffers */
};

/* One target of a fill. */
struct fill_lane {
    /* in */
    const struct plan *plan;
    struct fill_target *target; /* ready for plan; NULL: the engine has objects in place of files */
    const struct fill_queue *queues;
    const char *name;     /* of the target, for errors; "" */
    int node;             /* NUMA node of its threads; negative: any */
    struct hist *service; /* ns, of the writes of its fill, which are added; NULL: not wanted */
    /* out: of the fill, completed there */
    uint64_t bytes, writes;
    int64_t elapsed_ns; /* from the first write of all targets to its last completion */
};

struct fill_opts {
    struct fill_lane *lanes;
    unsigned lane_count;
    unsigned threads; /* of each lane: number of its queues */
    unsigned bufs;    /* of each queue */
    unsigned depth;   /* writes in flight of each queue; the other bufs are filled ahead */
    unsigned fillers; /* threads that make the data of each queue; 0: the writing thread does */
    enum fill_advice advice;
    /* Above 0: the same writes go on after the fill. Each span of this length is a round, until
     * round returns true, STEADY_ROUNDS at most. */
    int64_t round_ns;
    struct gap_list *gaps;  /* of its threads; NULL: not watched */
    struct fill_held *held; /* of the writes of the fill, which are added; NULL: not wanted */
    /* Called when the fill is over and the first round has begun, in the caller's thread; may be
     * NULL. */
    void (*filled)(void *ctx);
    /* Called after each round, in order, in the caller's thread. True ends the run. */
    bool (*round)(void *ctx, const struct fill_span *span);
    /* Called several times a second in the caller's thread, with the bytes written so far, rounds
     * included. */
    enum fill_wish (*tick)(void *ctx, uint64_t written);
    void *ctx;
};

struct fill_result {
    uint64_t bytes, writes; /* of the fill: completed */
    uint64_t total_bytes;   /* with the rounds and what fell between them */
    int64_t elapsed_ns;     /* of the fill: from the first write to its last completion */
    /* With fillers: nothing was full and nothing in flight, so the target had no work; no buffer
     * was left to fill, or no data to make, so only the target worked. */
    int64_t data_wait_ns, store_wait_ns;
    bool complete; /* the whole fill was written */
    bool stopped;  /* by tick */
    bool stuck; /* abandoned writes are still in flight: queues and target must stay as they are */
};

/* Runs the fill; its service times (ns) go into service. 0, also when stopped. -ENOSPC, -EIO... of
 * class ERR_FAILED when a write failed: no more are begun, and those in flight are awaited. *r is
 * filled in every case. */
int fill_run(const struct fill_opts *o, struct fill_result *r, struct hist *service, struct err *e);

/* Buffers for a queue that keeps depth writes of write_bytes in flight while others are filled. */
unsigned fill_buffers(unsigned depth, uint32_t write_bytes);

#endif
