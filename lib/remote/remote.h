/* The half that the engines of remote stores share (resp.c): operations go to a thread of the
 * engine and come back over bounded queues, another thread renews the marker that says whose the
 * store is, and closing leaves the store as asked. */
#ifndef KVTRACE_REMOTE_REMOTE_H
#define KVTRACE_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/owner/owner.h"
#include "lib/tier/tier.h"

struct remote;

/* The functions of an engine. state is its own. */
struct remote_engine {
    const char *name; /* of its thread */
    /* The whole life of the thread, in that thread: takes operations (remote_take) and completes
     * them (remote_done), until remote_stopping. */
    void (*run)(struct remote *r, void *state);
    void (*wake)(void *state); /* makes run look again; any thread */
    void (*describe)(void *state, struct tier_info *info);
    uint64_t (*room)(void *state); /* bytes that are free; UINT64_MAX: not known */
    unsigned (*doors)(void *state, struct tier_door door[TIER_DOORS_MAX]); /* any thread */
    void (*close)(void *state); /* after the threads have ended; frees state */
};

/* Questions beside the path of an operation. Calls wait for their answers and exclude each
 * other; ctx is the store's. */
struct remote_control {
    struct owner_store store;
    /* Adoption: the first block of op's object (zeros where it has none), and its size. -ENOENT: it
     * is not there. */
    int (*first)(void *ctx, const struct tier_op *op, void *block, uint64_t *size);
    /* Up to len bytes at offset at of it, as stored_reads. */
    ssize_t (*blocks)(void *ctx, const struct tier_op *op, uint64_t at, void *buf, size_t len);
    /* Where the run counts what it has stored and not removed (else NULL): so much came or went;
     * what is left, as far as is known. */
    void (*stored)(void *ctx, int objects, int64_t bytes);
    void (*left)(const void *ctx, uint64_t *objects, uint64_t *bytes);
};

struct remote_parts {
    const struct remote_engine *engine;
    void *state; /* the engine's */
    const struct remote_control *control;
};
/* Opens the tier over state, which it takes over also when it fails. The store is taken first. */
int remote_open(struct tier **out, const struct remote_parts *p, const struct tier_remote_opts *o,
                struct bell *bell, struct err *e);

/* The epoch in the name of an object at place; with NULL, of what this run writes. Any thread. */
uint32_t remote_name_epoch(const struct remote *r, const void *place);

/* For the engine's thread. */
struct tier_op *remote_take(struct remote *r); /* NULL: nothing to do now */
bool remote_stopping(const struct remote *r);
/* For lease_valid, before each request that puts or deletes. Without it: -ESTALE. */
struct lease *remote_lease(const struct remote *r);
/* A part of the object of a failed operation may be left in the store. Before its remote_done. */
void remote_tears(struct remote *r);
/* op's outputs but done_ns are set; at_ns is the time now. */
void remote_done(struct remote *r, struct tier_op *op, int64_t at_ns);

/* How long to wait before the attempt number (from 1 on) of an operation: twice as long each time,
 * and not all at once. In ns. */
int64_t remote_pause_ns(const struct tier_op *op, unsigned attempt);

#endif
