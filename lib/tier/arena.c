/* The shared half of the memory engines: the scheduler's thread allocates and releases space (so
 * the extents need no lock) and hands operations to the workers of the part where the object lies
 * over bounded queues; workers only copy. */
#include "lib/tier/arena.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/spsc.h"
#include "lib/base/thread.h"

#define ARENA_ENDLESS (UINT64_C(1) << 60)

struct arena_worker {
    struct arena *arena;
    unsigned part, index; /* index: in its part */
    struct spsc *todo;    /* scheduler to worker */
    struct spsc *done;    /* worker to scheduler */
    struct bell *bell;    /* rung by kick and close */
    bool kicked;          /* scheduler's: something was queued since the last kick */
    pthread_t thread;
};

/* Owned by the scheduler's thread, but for stop. */
struct arena {
    struct tier tier;
    const struct arena_engine *engine;
    void *state;
    struct extent_pool *space;
    uint64_t part_bytes; /* of space */
    uint64_t wrap_bytes; /* of a part's memory when space has no end; 0: space is the memory */
    struct bell *bell;
    struct tier_op *ready;             /* completed without a worker */
    unsigned parts, per_part, workers; /* workers: of all parts, one part's behind another's */
    unsigned inside, max_ops;
    atomic_bool stop;
    struct arena_worker worker[];
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

/* Of those, the ones that the workers before this one have moved: op->state is the arena's. */
static uint64_t begins_at(const struct tier_op *op)
{
    return (uint64_t)(uintptr_t)op->state;
}

/* How much of op's object is behind once the part it lies in from begins_at on has been walked
 * through, and that part. */
static uint64_t part_end(const struct arena *a, const struct tier_op *op, unsigned *part)
{
    uint32_t pos = list_of(op);
    uint64_t at = 0, from = begins_at(op);
    struct extent x;
    *part = 0;
    if (a->parts == 1)
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

/* ---- the worker's side ---- */

unsigned arena_worker_index(const struct arena_worker *w)
{
    return w->index;
}

unsigned arena_worker_part(const struct arena_worker *w)
{
    return w->part;
}

struct tier_op *arena_take(struct arena_worker *w)
{
    return spsc_pop(w->todo);
}

bool arena_stopping(const struct arena_worker *w)
{
    return atomic_load_explicit(&w->arena->stop, memory_order_acquire);
}

uint32_t arena_seen(const struct arena_worker *w)
{
    return bell_seen(w->bell);
}

void arena_sleep(struct arena_worker *w, uint32_t seen)
{
    (void)bell_wait(w->bell, seen, INT64_MAX);
}

void arena_done(struct arena_worker *w, struct tier_op *op)
{
    /* The queue has room for all that may be inside. */
    (void)spsc_push(w->done, op);
    bell_ring(w->arena->bell);
}

void arena_walk_start(struct arena_walk *k, const struct arena_worker *w, const struct tier_op *op)
{
    const struct arena *a = w->arena;
    uint64_t skip = begins_at(op), all = moved_bytes(op);
    unsigned part;
    uint64_t end = part_end(a, op, &part);
    *k = (struct arena_walk){.block = skip / DATA_BLOCK,
                             .bytes = (end < all ? end : all) - skip,
                             .space = a->space,
                             .part_bytes = a->part_bytes,
                             .wrap_bytes = a->wrap_bytes,
                             .pos = list_of(op)};
    struct extent x;
    for (; skip && extent_walk(k->space, &k->pos, &x); skip -= x.len)
        ;
}

uint64_t arena_walk_next(struct arena_walk *k, uint64_t max, uint64_t *offset)
{
    if (k->at.len == 0 && !extent_walk(k->space, &k->pos, &k->at))
        return 0;
    uint64_t len = k->at.len < max ? k->at.len : max;
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

static void *worker_main(void *arg)
{
    struct arena_worker *w = arg;
    w->arena->engine->run(w, w->arena->state);
    return NULL;
}

/* ---- the scheduler's side ---- */

static void complete_now(struct arena *a, struct tier_op *op, int status)
{
    op->status = status;
    op->done_ns = clock_now_ns();
    op->device_ns = 0;
    op->next = a->ready;
    a->ready = op;
}

static void release(struct arena *a, struct tier_op *op)
{
    extent_release(a->space, list_of(op));
    op->place = NULL;
}

/* Space for a write: what the object has, if that is the size, else anew. */
static int make_room(struct arena *a, struct tier_op *op)
{
    uint32_t list = list_of(op);
    uint64_t need = moved_bytes(op);
    if (list && extent_bytes(a->space, list) == need)
        return 0;
    release(a, op);
    int rc = extent_alloc(a->space, need, &list);
    if (rc == 0)
        op->place = (void *)(uintptr_t)list;
    return rc;
}

/* 1: a worker must serve it; else the status it completes with at once. */
static int prepare(struct arena *a, struct tier_op *op)
{
    if (op->verb == TIER_WRITE) {
        int rc = make_room(a, op);
        return rc ? rc : 1;
    }
    if (!op->place)
        return -ENOENT;
    if (op->verb == TIER_READ)
        return op->size > extent_bytes(a->space, list_of(op)) ? -EINVAL : 1;
    release(a, op);
    return 0;
}

/* To a worker of the part where its object lies from begins_at on. */
static struct arena_worker *hand_on(struct arena *a, struct tier_op *op)
{
    unsigned part;
    (void)part_end(a, op, &part);
    struct arena_worker *w =
        &a->worker[part * a->per_part + a->engine->choose(op, a->per_part, a->state)];
    (void)spsc_push(w->todo, op); /* has room for max_ops */
    return w;
}

/* The rest of an object that lies in several parts is for a worker of the next one. */
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

static int arena_submit(struct tier *t, struct tier_op *op)
{
    struct arena *a = (struct arena *)t;
    if (a->inside == a->max_ops)
        return -EAGAIN;
    a->inside++;
    op->start_ns = clock_now_ns();
    op->status = 0;
    op->device_ns = 0;
    op->state = NULL;
    int rc = prepare(a, op);
    if (rc <= 0) {
        complete_now(a, op, rc);
        return 0;
    }
    hand_on(a, op)->kicked = true;
    return 0;
}

static void arena_kick(struct tier *t)
{
    struct arena *a = (struct arena *)t;
    for (unsigned i = 0; i < a->workers; i++) {
        if (a->worker[i].kicked)
            bell_ring(a->worker[i].bell);
        a->worker[i].kicked = false;
    }
}

static size_t arena_poll(struct tier *t, struct tier_op **done, size_t max)
{
    struct arena *a = (struct arena *)t;
    size_t n = 0;
    for (; n < max && a->ready; n++) {
        done[n] = a->ready;
        a->ready = a->ready->next;
    }
    for (unsigned i = 0; i < a->workers; i++) {
        struct tier_op *op;
        while (n < max && (op = spsc_pop(a->worker[i].done))) {
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

static int64_t arena_next_ns(struct tier *t)
{
    return ((struct arena *)t)->ready ? 0 : INT64_MAX;
}

static int arena_adopt(struct tier *t, struct tier_op *op, uint64_t *size, uint64_t *generation)
{
    (void)t, (void)op, (void)size, (void)generation;
    return -ENOENT; /* memory keeps nothing from an earlier run */
}

static void arena_describe(const struct tier *t, struct tier_info *info)
{
    const struct arena *a = (const struct arena *)t;
    *info = (struct tier_info){.verifies = !a->wrap_bytes, .threads = a->workers};
    a->engine->describe(a->state, info);
}

static void stop_workers(struct arena *a, unsigned started)
{
    atomic_store_explicit(&a->stop, true, memory_order_release);
    for (unsigned i = 0; i < started; i++)
        bell_ring(a->worker[i].bell);
    for (unsigned i = 0; i < started; i++)
        pthread_join(a->worker[i].thread, NULL);
}

static void arena_free(struct arena *a)
{
    for (unsigned i = 0; i < a->workers; i++) {
        spsc_free(a->worker[i].todo);
        spsc_free(a->worker[i].done);
        bell_free(a->worker[i].bell);
    }
    extent_pool_free(a->space);
    free(a);
}

static int arena_close(struct tier *t, struct err *e)
{
    struct arena *a = (struct arena *)t;
    (void)e;
    stop_workers(a, a->workers);
    a->engine->close(a->state);
    arena_free(a);
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

static int start_workers(struct arena *a, struct err *e)
{
    for (unsigned i = 0; i < a->workers; i++) {
        struct arena_worker *w = &a->worker[i];
        int rc = thread_start(&w->thread, worker_main, w);
        if (rc) {
            stop_workers(a, i);
            return err_errno(e, rc, ERR_FAILED, "", "cannot start a memory thread");
        }
    }
    return 0;
}

static int make_queues(struct arena *a)
{
    for (unsigned i = 0; i < a->workers; i++) {
        struct arena_worker *w = &a->worker[i];
        w->arena = a;
        w->part = i / a->per_part;
        w->index = i % a->per_part;
        w->todo = spsc_create(a->max_ops);
        w->done = spsc_create(a->max_ops);
        w->bell = bell_create();
        if (!w->todo || !w->done || !w->bell)
            return -ENOMEM;
    }
    return 0;
}

int arena_open(struct tier **out, const struct arena_opts *o, const struct arena_engine *engine,
               void *state, struct bell *bell, struct err *e)
{
    unsigned parts = o->parts,
             per_part = o->workers < ARENA_MAX_WORKERS ? o->workers : ARENA_MAX_WORKERS;
    struct arena *a = calloc(1, sizeof(*a) + parts * per_part * sizeof(a->worker[0]));
    if (!a)
        return err_nomem(e, "memory tier");
    a->tier.ops = &arena_ops;
    a->engine = engine;
    a->state = state;
    a->bell = bell;
    a->parts = parts;
    a->per_part = per_part;
    a->workers = parts * per_part;
    a->max_ops = o->max_ops ? o->max_ops : 1;
    a->wrap_bytes = o->wrap ? o->bytes : 0;
    a->part_bytes = o->wrap ? ARENA_ENDLESS / parts / DATA_BLOCK * DATA_BLOCK : o->bytes;
    a->space = extent_pool_create_parts(a->part_bytes, parts, DATA_BLOCK);
    int rc = a->space && make_queues(a) == 0 ? 0 : err_nomem(e, "memory tier");
    if (rc == 0)
        rc = start_workers(a, e);
    if (rc < 0) {
        arena_free(a);
        return rc;
    }
    *out = &a->tier;
    return 0;
}
