/* The tier behind host.c and gpu.c. The scheduler's thread alone allocates and releases space, so
 * the extents need no lock, and it hands each operation to a thread of the part where the object
 * lies; those threads only copy. */
#include "lib/tier/arena.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/thread/spsc.h"
#include "lib/thread/thread.h"

#define ARENA_ENDLESS (UINT64_C(1) << 60)

struct arena_thread {
    struct arena *arena;
    unsigned part, index; /* index: within its part */
    struct spsc *todo;    /* from the scheduler */
    struct spsc *done;    /* to the scheduler */
    struct bell *bell;    /* rung by kick and close */
    bool kicked;          /* the scheduler's: something was queued since the last kick */
    struct gap_loop gaps; /* the thread's */
    pthread_t thread;
};

/* The scheduler's thread owns all of it but stop. */
struct arena {
    struct tier tier;
    struct arena_opts o;
    struct extent_pool *space;
    uint64_t part_bytes;       /* of space */
    uint64_t wrap_bytes;       /* of a part's memory when space never ends; 0: they are the same */
    struct tier_op *ready;     /* completed without a thread */
    unsigned threads, started; /* of all parts, one part's behind another's */
    unsigned inside;
    atomic_bool stop;
    struct arena_thread thread[];
};

uint64_t arena_bytes(uint64_t capacity, uint64_t max_objects, unsigned parts)
{
    uint64_t slack, sum;

    if (__builtin_mul_overflow(max_objects, (uint64_t)DATA_BLOCK, &slack) ||
        __builtin_add_overflow(capacity, slack + DATA_BLOCK, &sum))
        return UINT64_MAX / 2;
    return DATA_PADDED(sum / parts + (sum % parts != 0));
}

static uint32_t list_of(const struct tier_op *op)
{
    return (uint32_t)(uintptr_t)op->place;
}

/* Bytes that op moves. */
static uint64_t moved_bytes(const struct tier_op *op)
{
    return op->size ? DATA_PADDED(op->size) : DATA_BLOCK;
}

/* How many of these earlier threads have moved: op->state is the arena's. */
static uint64_t begins_at(const struct tier_op *op)
{
    return (uint64_t)(uintptr_t)op->state;
}

/* The part that holds op's object from begins_at on; returns up to where in the object. */
static uint64_t part_end(const struct arena *a, const struct tier_op *op, unsigned *part)
{
    uint32_t pos = list_of(op);
    uint64_t at = 0, from = begins_at(op);
    struct extent x;

    *part = 0;
    if (a->o.parts == 1)
        return UINT64_MAX;
    for (; extent_walk(a->space, &pos, &x); at += x.len) {
        unsigned in = (unsigned)(x.offset / a->part_bytes);

        if (at == from)
            *part = in;
        else if (at > from && in != *part)
            break;
    }
    return at;
}

/* ---- the thread's side ---- */

unsigned arena_thread_index(const struct arena_thread *t)
{
    return t->index;
}

unsigned arena_thread_part(const struct arena_thread *t)
{
    return t->part;
}

struct tier_op *arena_take(struct arena_thread *t)
{
    return spsc_pop(t->todo);
}

bool arena_stopping(const struct arena_thread *t)
{
    return atomic_load_explicit(&t->arena->stop, memory_order_acquire);
}

uint32_t arena_seen(const struct arena_thread *t)
{
    return bell_seen(t->bell);
}

void arena_sleep(struct arena_thread *t, uint32_t seen)
{
    (void)bell_wait(t->bell, seen, INT64_MAX);
}

void arena_done(struct arena_thread *t, struct tier_op *op)
{
    gap_loop_look(&t->gaps, op->start_ns, op->done_ns);
    (void)spsc_push(t->done, op); /* has room for max_ops */
    bell_ring(t->arena->o.bell);
}

void arena_walk_start(struct arena_walk *k, const struct arena_thread *t, const struct tier_op *op)
{
    const struct arena *a = t->arena;
    uint64_t skip = begins_at(op), all = moved_bytes(op);
    unsigned part;
    uint64_t end = part_end(a, op, &part);
    struct extent x;

    *k = (struct arena_walk){.block = skip / DATA_BLOCK,
                             .bytes = (end < all ? end : all) - skip,
                             .space = a->space,
                             .part_bytes = a->part_bytes,
                             .wrap_bytes = a->wrap_bytes,
                             .pos = list_of(op)};
    for (; skip && extent_walk(k->space, &k->pos, &x); skip -= x.len)
        ;
}

uint64_t arena_walk_next(struct arena_walk *k, uint64_t max, uint64_t *offset)
{
    uint64_t len;

    if (k->at.len == 0 && !extent_walk(k->space, &k->pos, &k->at))
        return 0;
    len = k->at.len < max ? k->at.len : max;
    *offset = k->at.offset % k->part_bytes;
    if (k->wrap_bytes) {
        *offset %= k->wrap_bytes;
        if (len > k->wrap_bytes - *offset)
            len = k->wrap_bytes - *offset;
    }
    k->at.offset += len;
    k->at.len -= len;
    return len;
}

static void *thread_main(void *arg)
{
    struct arena_thread *t = arg;

    gap_loop_open(&t->gaps, t->arena->o.gaps, t->arena->o.of, t->arena->o.name,
                  (unsigned)(t - t->arena->thread));
    t->arena->o.engine->run(t, t->arena->o.state);
    gap_loop_close(&t->gaps);
    return NULL;
}

/* ---- the scheduler's side ---- */

static void release(struct arena *a, struct tier_op *op)
{
    extent_release(a->space, list_of(op));
    op->place = NULL;
}

/* The scheduler's part of op: its space. True: a thread must serve it. False: it is complete, with
 * op->status. */
static bool needs_thread(struct arena *a, struct tier_op *op)
{
    uint32_t list = list_of(op);

    if (op->verb == TIER_WRITE) {
        op->status = extent_resize(a->space, op->size, &list);
        op->place = (void *)(uintptr_t)list;
        return op->status == 0;
    }
    if (!op->place)
        op->status = -ENOENT;
    else if (op->verb == TIER_DELETE)
        release(a, op);
    else if (op->size <= extent_bytes(a->space, list))
        return true;
    else
        op->status = -EINVAL;
    return false;
}

/* Hands op to a thread of the part that holds its object from begins_at on. */
static struct arena_thread *hand_on(struct arena *a, struct tier_op *op)
{
    struct arena_thread *t;
    unsigned part;

    (void)part_end(a, op, &part);
    t = &a->thread[part * a->o.threads + a->o.engine->choose(op, a->o.threads, a->o.state)];
    (void)spsc_push(t->todo, op); /* has room for max_ops */
    return t;
}

static int arena_submit(struct tier *tier, struct tier_op *op)
{
    struct arena *a = (struct arena *)tier;

    if (a->inside == a->o.max_ops)
        return -EAGAIN;
    a->inside++;
    op->start_ns = clock_now_ns();
    op->status = 0;
    op->part = (struct tier_parts){0};
    op->device_ns = 0;
    op->state = NULL;
    if (needs_thread(a, op)) {
        hand_on(a, op)->kicked = true;
    } else {
        op->done_ns = clock_now_ns();
        op->next = a->ready;
        a->ready = op;
    }
    return 0;
}

static void arena_kick(struct tier *tier)
{
    struct arena *a = (struct arena *)tier;

    for (unsigned i = 0; i < a->threads; i++) {
        if (a->thread[i].kicked)
            bell_ring(a->thread[i].bell);
        a->thread[i].kicked = false;
    }
}

/* When an object lies in several parts, a thread of the next part copies the rest. */
static bool goes_on(struct arena *a, struct tier_op *op)
{
    unsigned part;
    uint64_t end = part_end(a, op, &part);

    if (op->status || end >= moved_bytes(op))
        return false;
    op->state = (void *)(uintptr_t)end;
    bell_ring(hand_on(a, op)->bell);
    return true;
}

static size_t arena_poll(struct tier *tier, struct tier_op **done, size_t max)
{
    struct arena *a = (struct arena *)tier;
    size_t n = 0;

    for (; n < max && a->ready; n++) {
        done[n] = a->ready;
        a->ready = a->ready->next;
    }
    for (unsigned i = 0; i < a->threads; i++) {
        struct tier_op *op;

        while (n < max && (op = spsc_pop(a->thread[i].done))) {
            if (goes_on(a, op))
                continue;
            if (op->verb == TIER_READ && op->drop)
                release(a, op);
            done[n++] = op;
        }
    }
    a->inside -= (unsigned)n;
    return n;
}

static int64_t arena_next_ns(struct tier *tier)
{
    return ((struct arena *)tier)->ready ? 0 : INT64_MAX;
}

static int arena_adopt(struct tier *tier, struct tier_op *op, uint64_t *size, uint64_t *generation)
{
    (void)tier, (void)op, (void)size, (void)generation;
    return -ENOENT; /* memory keeps nothing from an earlier run */
}

static void arena_describe(const struct tier *tier, struct tier_info *info)
{
    const struct arena *a = (const struct arena *)tier;

    *info = (struct tier_info){.verifies = !a->wrap_bytes,
                               .threads = a->threads,
                               .loops = a->o.of,
                               .huge_pages = -1,
                               .registered = -1,
                               .direct = -1};
    a->o.engine->describe(a->o.state, info);
}

/* Ends the threads that were started, and frees all but the engine's state. */
static void arena_free(struct arena *a)
{
    atomic_store_explicit(&a->stop, true, memory_order_release);
    for (unsigned i = 0; i < a->started; i++)
        bell_ring(a->thread[i].bell);
    for (unsigned i = 0; i < a->started; i++)
        pthread_join(a->thread[i].thread, NULL);
    for (unsigned i = 0; i < a->threads; i++) {
        spsc_free(a->thread[i].todo);
        spsc_free(a->thread[i].done);
        bell_free(a->thread[i].bell);
    }
    extent_pool_free(a->space);
    free(a);
}

static int arena_close(struct tier *tier, struct err *e)
{
    struct arena *a = (struct arena *)tier;
    struct arena_opts o = a->o;

    (void)e;
    arena_free(a);
    o.engine->close(o.state);
    return 0;
}

static const struct tier_ops arena_ops = {
    .submit = arena_submit,
    .kick = arena_kick,
    .poll = arena_poll,
    .next_ns = arena_next_ns,
    .adopt = arena_adopt,
    .describe = arena_describe,
    .close = arena_close,
};

int arena_open(struct tier **out, const struct arena_opts *o, struct err *e)
{
    unsigned per_part = o->threads < ARENA_MAX_THREADS ? o->threads : ARENA_MAX_THREADS;
    unsigned threads = o->parts * per_part;
    struct arena *a = calloc(1, sizeof(*a) + threads * sizeof(a->thread[0]));
    int rc = 0;

    if (!a)
        return err_nomem(e, "memory tier");
    a->tier.ops = &arena_ops;
    a->o = *o;
    a->o.threads = per_part;
    a->o.max_ops = o->max_ops ? o->max_ops : 1;
    a->threads = threads;
    a->wrap_bytes = o->wrap ? o->bytes : 0;
    a->part_bytes = o->wrap ? ARENA_ENDLESS / o->parts / DATA_BLOCK * DATA_BLOCK : o->bytes;
    a->space = extent_pool_create_parts(a->part_bytes, o->parts, DATA_BLOCK);
    if (!a->space)
        rc = err_nomem(e, "memory tier");
    for (unsigned i = 0; rc == 0 && i < threads; i++) {
        struct arena_thread *t = &a->thread[i];

        t->arena = a;
        t->part = i / per_part;
        t->index = i % per_part;
        t->todo = spsc_create(a->o.max_ops);
        t->done = spsc_create(a->o.max_ops);
        t->bell = bell_create();
        if (!t->todo || !t->done || !t->bell)
            rc = err_nomem(e, "memory tier");
    }
    while (rc == 0 && a->started < threads) {
        struct arena_thread *t = &a->thread[a->started];

        rc = thread_start(&t->thread, thread_main, t);
        if (rc < 0)
            thread_refused(e, rc, "a memory thread");
        else
            a->started++;
    }
    if (rc < 0)
        arena_free(a);
    else
        *out = &a->tier;
    return rc;
}
