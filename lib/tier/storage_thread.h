/* A thread of the storage tier with an I/O engine and buffers of its own. It takes whole objects to
 * write, read or delete, and moves them in chunks. */
#ifndef KVTRACE_TIER_STORAGE_THREAD_H
#define KVTRACE_TIER_STORAGE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/io/io.h"
#include "lib/owner/lease.h"
#include "lib/thread/bell.h"
#include "lib/tier/storage_object.h"
#include "lib/tier/tier.h"

struct storage_thread;

struct storage_thread_opts {
    struct storage_policy policy; /* the threads of a tier share what it points to; the caller's */
    struct bell *bell;            /* rings when operations are done */
    struct lease *lease;          /* asked before each change; the caller's; NULL: none */
    enum io_engine engine;
    unsigned depth;    /* most I/Os in flight */
    uint64_t ios;      /* about as many in all; 0: not known */
    unsigned max_ops;  /* most operations inside */
    unsigned max_open; /* most files open at once; not for a slab */
    bool sqpoll, iopoll;
    enum io_pages pages;   /* of the buffers */
    struct gap_list *gaps; /* the caller's; may be NULL */
    unsigned number;       /* among the threads of the tier */
};

/* How many objects a thread of that depth likes to have open at once. */
unsigned storage_thread_objects(unsigned depth);
/* Takes memory, opens the engine and starts the thread. */
int storage_thread_open(struct storage_thread **out, const struct storage_thread_opts *o,
                        struct err *e);
/* The next three belong to one thread, the tier's owner. push hands over an operation; no more than
 * max_ops may be inside. kick makes the thread look for it. pop takes a finished one; NULL: none.
 */
void storage_thread_push(struct storage_thread *t, struct tier_op *op);
void storage_thread_kick(struct storage_thread *t);
struct tier_op *storage_thread_pop(struct storage_thread *t);

/* The engine, for its name and notes. Any thread. */
const struct io *storage_thread_io(const struct storage_thread *t);
/* The buffers. */
const void *storage_thread_buffers(const struct storage_thread *t);
/* I/Os finished so far, and the sum of their times. Any thread. */
uint64_t storage_thread_ios(const struct storage_thread *t, int64_t *io_ns);

/* A write failed and left a file that may hold a part of its object. Any thread, once the write's
 * operation has come back. */
bool storage_thread_torn(const struct storage_thread *t);

/* Stops the thread and frees everything; nothing may be inside. If the engine failed during the
 * run, its errno is returned, with *e. t may be NULL. */
int storage_thread_close(struct storage_thread *t, struct err *e);

#endif
