/* storage_thread.h - private to storage_worker.c and storage_thread.c: what a worker of the storage
 * tier consists of, and what its thread does. Fields say whose they are. */
#ifndef KVTRACE_TIER_STORAGE_THREAD_H
#define KVTRACE_TIER_STORAGE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "lib/base/spsc.h"
#include "lib/tier/storage_worker.h"

/* A chunk's buffer and its I/O. */
struct slot {
    struct io_req req;
    struct storage_object *object;
    uint64_t at; /* offset in the object */
    struct slot *next;
};

/* First in, first out. */
struct slot_list {
    struct slot *head, **tail;
    unsigned count;
};

struct storage_worker {
    /* constant after open */
    struct storage_worker_opts o;
    struct io *io;
    void *pool;
    size_t pool_bytes;
    unsigned slot_count, object_count;
    struct slot *slots;
    struct storage_object *objects;
    bool file_slots; /* objects are opened into slots of the engine's table */
    pthread_t thread;
    /* between threads */
    struct spsc *in, *done;
    atomic_bool stop;
    pthread_mutex_t
        stop_lock; /* held while the engine is woken to see stop: it must still be there */
    atomic_uint_least64_t ios;
    atomic_int_least64_t io_ns;
    /* the tier's owner's */
    bool pushed;
    /* the thread's */
    struct slot *free_slots;
    struct slot_list ready;   /* filled or to be read, waiting for the device */
    struct slot_list arrived; /* read, waiting to be checked */
    struct storage_object *free_objects;
    struct storage_object *moving, **moving_last; /* with bytes not issued, by turn */
    unsigned in_flight, calls;
    bool queued;       /* something for the engine since the last kick */
    unsigned finished; /* operations since the bell was rung */
    int broken;        /* the engine failed: negative errno */
};

/* Slots, with their buffers, and objects become free: once, before the thread starts. */
void storage_thread_prepare(struct storage_worker *w);
/* Of the thread; its argument is the worker. Ends when stop is set, and closes the engine. */
void *storage_thread_run(void *arg);

#endif
