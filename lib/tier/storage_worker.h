/* storage_worker.h - one thread of the storage tier with its own I/O engine and buffers: takes
 * whole objects to write, read or delete, and moves them in chunks. */
#ifndef KVTRACE_TIER_STORAGE_WORKER_H
#define KVTRACE_TIER_STORAGE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bell.h"
#include "lib/base/err.h"
#include "lib/io/io.h"
#include "lib/tier/storage_object.h"
#include "lib/tier/tier.h"

struct storage_worker;

struct storage_worker_opts {
    struct storage_policy policy; /* what it points to is the caller's; shared by workers */
    struct bell *bell;            /* rung when operations are done */
    enum io_engine engine;
    unsigned depth;    /* I/Os in flight at most */
    unsigned max_ops;  /* operations inside at most */
    unsigned max_open; /* objects open at once at most, of those that are files */
    bool sqpoll, iopoll;
};

/* Objects that a worker of that depth has open at once, if it may. */
unsigned storage_worker_objects(unsigned depth);
/* Takes memory and engine and starts the thread. */
int storage_worker_open(struct storage_worker **out, const struct storage_worker_opts *o,
                        struct err *e);
/* From one thread, the tier's owner: hands over an operation (false: max_ops inside), makes the
 * worker look, takes a finished one (NULL: none). */
bool storage_worker_push(struct storage_worker *w, struct tier_op *op);
void storage_worker_kick(struct storage_worker *w);
struct tier_op *storage_worker_pop(struct storage_worker *w);

/* The engine, for its name and notes; I/Os done and the sum of their times. Any thread. */
const struct io *storage_worker_io(const struct storage_worker *w);
uint64_t storage_worker_ios(const struct storage_worker *w, int64_t *io_ns);

/* Nothing may be inside. Stops the thread and frees all; a failure of the engine during the run is
 * in *e. */
int storage_worker_close(struct storage_worker *w, struct err *e);

#endif
