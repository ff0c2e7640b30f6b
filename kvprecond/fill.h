/* fill.h - writes a place from its first byte to its last, with the device's queue kept full. */
#ifndef KVTRACE_KVPRECOND_FILL_H
#define KVTRACE_KVPRECOND_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include "kvprecond/place.h"
#include "lib/err.h"
#include "lib/hist.h"
#include "lib/io.h"

struct fill_opts {
    struct io *io; /* open, with pool registered */
    struct place *place;
    void *pool; /* bufs buffers of block_bytes, 4 KiB aligned */
    unsigned bufs;
    unsigned depth; /* writes in flight; bufs beyond it are filled ahead */
    uint64_t size;
    uint32_t block_bytes;
    /* Called between writes, several times a second: true ends the fill early. */
    bool (*tick)(void *ctx, uint64_t written);
    void *ctx;
};

struct fill_result {
    uint64_t bytes, writes; /* completed */
    int64_t elapsed_ns;     /* from the first write to the last completion */
    bool stopped;           /* by tick */
};

/* Fills; service times (ns) go into service. Returns 0, also when stopped; -ENOSPC, -EIO... with *e
 * of class ERR_FAILED when a write failed: no more are then begun, and those in flight are awaited.
 * *r is filled in every case. */
int fill_run(const struct fill_opts *o, struct fill_result *r, struct hist *service, struct err *e);

/* Buffers that keep depth writes of block_bytes in flight while others are filled. */
unsigned fill_buffers(unsigned depth, uint32_t block_bytes);

#endif
