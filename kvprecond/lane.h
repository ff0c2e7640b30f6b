/* One target of a run with all that it takes to write to it: its plan, its queues, and afterwards
 * its figures. A run has one for each target. */
#ifndef KVPRECOND_LANE_H
#define KVPRECOND_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvprecond/fill.h"
#include "kvprecond/fill_target.h"
#include "kvprecond/options.h"
#include "kvprecond/plan.h"
#include "kvprecond/remote_stream.h"
#include "lib/base/err.h"
#include "lib/base/hist.h"
#include "lib/base/notes.h"
#include "lib/io/target_device.h"

/* Plain state, filled by the verbs below and by the caller. Zero it and set the first four. */
struct lane {
    const struct options *o;
    const struct options_target *at;
    unsigned number;              /* among the targets; decides its contents */
    unsigned others;              /* targets of other ranks on its file system */
    struct fill_target *target;   /* NULL: a store behind a network */
    struct remote_stream *remote; /* NULL: a path */
    struct plan plan;
    struct fill_queue *queues; /* queue_count of them */
    unsigned queue_count;      /* one, or one of each thread */
    unsigned bufs;             /* of each */
    unsigned depth;            /* most writes in flight of each */
    size_t pool_bytes;         /* of each */
    int node;                  /* NUMA node of its device; negative: not known */
    const char *engine;        /* name of the I/O engine */
    struct hist *service;      /* ns, of the writes of the fill */
    /* figures */
    uint64_t capacity; /* of a device, else 0 */
    uint64_t size_bytes;
    bool direct;
    struct target_device device;
    uint64_t bytes, writes; /* of the fill */
    int64_t elapsed_ns;
    uint64_t files, purged_bytes, cached_bytes;
    bool cached_known;
    const char *purge_failed; /* name of an errno; NULL: purged, or not asked for */
};

/* Takes the target and makes the plan. Class ERR_TARGET, ERR_INPUT. */
int lane_open(struct lane *l, struct notes *fallbacks, struct err *e);
/* Bytes of the buffers of all its queues. */
uint64_t lane_buffer_bytes(const struct lane *l);
/* Opens the queues; what they had to do without goes into fallbacks. */
int lane_open_queues(struct lane *l, struct notes *fallbacks, struct err *e);
/* Releases everything; what was written is removed unless it is to be kept. */
int lane_close(struct lane *l, bool keep, struct err *e);

#endif
