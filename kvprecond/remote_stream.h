/* A stream to a remote store: the same chunks in the same buffers, as objects of a tier. To
 * fill.c it looks like an I/O engine whose descriptors are numbers of objects. */
#ifndef KVPRECOND_REMOTE_STREAM_H
#define KVPRECOND_REMOTE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "kvprecond/plan.h"
#include "lib/base/err.h"
#include "lib/io/io.h"
#include "lib/tier/tier.h"
#include "lib/tier/uri.h"

struct remote_stream_opts {
    const struct uri *uri; /* lent until remote_stream_close */
    bool keep;             /* what is written is to stay */
    bool destroy_data;     /* what an earlier run kept may be removed */
    uint64_t data_seed;    /* for the marker */
    int64_t timeout_ns;
    unsigned retries;
    const struct plan *plan; /* PLAN_STREAM; lent. Objects are its files, parts its writes */
    unsigned depth;          /* most chunks in flight, and connections unless the URI says */
};

struct remote_stream;

/* Takes the store, with its rules. Class ERR_INPUT: it cannot hold such objects or parts. */
int remote_stream_open(struct remote_stream **out, const struct remote_stream_opts *o,
                       struct err *e);
/* Writes only, in the order of offsets in each object. It has no close: remote_stream_close. */
struct io *remote_stream_io(struct remote_stream *r);
/* After the last write: an object that is not whole is given up, and the engine leaves the buffers
 * alone. */
void remote_stream_finish(struct remote_stream *r);
/* The store's answer when a write failed: "S3:SlowDown: its words"; "": none. */
const char *remote_stream_said(const struct remote_stream *r);
/* Describes the tier, and counts what went through its doors. Returns their number. */
unsigned remote_stream_describe(struct remote_stream *r, struct tier_info *info,
                                struct tier_door door[TIER_DOORS_MAX]);
uint64_t remote_stream_objects(const struct remote_stream *r); /* begun so far */
/* Finishes. keep: leaves the objects, else removes them. Frees r, also after a failure. */
int remote_stream_close(struct remote_stream *r, bool keep, struct err *e);

#endif
