/* Buffers as an inference engine has them: one pool, written once from front to back, in which
 * objects take the first place that fits and stay until their room is needed. Where an object lies
 * decides into how many segments a device's I/O of it is cut. */
#ifndef KVREPLAY_LIKE_POOL_H
#define KVREPLAY_LIKE_POOL_H

#include <stddef.h>

#include "lib/io/io.h"

enum {
    LIKE_POOL_ALIGN = 4096,   /* of each object, as LMCache's allocator has it */
    LIKE_POOL_OBJECTS = 1024, /* in it at most; more would stay in an engine's */
    LIKE_POOL_IN_USE = LIKE_POOL_OBJECTS / 2
};

struct like_pool;

struct like_pool_opts {
    size_t before;       /* written before the pool, and kept; see like_pool_open */
    size_t bytes;        /* written at the opening; more is used only when objects in use need it */
    size_t largest;      /* object, bytes */
    unsigned in_use;     /* most objects in use at once, up to LIKE_POOL_IN_USE */
    enum io_pages pages; /* of all of it */
};

/* The kernel keeps pages that were freed one by one, and hands them out backwards: no two of them
 * are a run. An engine's process has used such pages up for its libraries and its heap when it
 * makes its pool, which is what o.before is for. 0; -EINVAL; -ENOMEM. close takes NULL; nothing may
 * be in use. */
int like_pool_open(struct like_pool **out, const struct like_pool_opts *o);
void like_pool_close(struct like_pool *p);

/* A place of so many bytes (up to o.largest) for the calling thread, aligned to LIKE_POOL_ALIGN:
 * the first that fits, after the objects that were given back first were forgotten one by one until
 * one does. Never NULL with up to o.in_use objects in use. Its contents are undefined. Any thread.
 */
void *like_pool_take(struct like_pool *p, size_t bytes);
/* Gives it back: the object stays there until its room is needed. Any thread; NULL does nothing. */
void like_pool_give(struct like_pool *p, const void *place);

/* The memory that was written at the opening: are its pages huge, and how many lie one behind the
 * other in physical memory, as of io_buffers_huge and io_buffers_run. */
int like_pool_huge(const struct like_pool *p);
double like_pool_run(const struct like_pool *p);

#endif
