/* Tier-1 for real: objects live in an arena of host memory. A write generates its data in a small
 * cached buffer and copies it into the arena, a read copies it out and checks it there, so that the
 * copy (device time) and the making and checking of data (host time) are told apart. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/base/thread.h"
#include "lib/tier/arena.h"

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

/* Fits the L2 cache with room to spare: what is measured is the arena's memory, not this. */
enum {
    STAGE_BYTES = 256 * 1024
};
/* Touched at a time, and how far ahead of the highest byte in use where the arena is not touched as
 * a whole. */
#define HOST_STEP_BYTES  ((uint64_t)32 << 20)
#define HOST_AHEAD_BYTES ((uint64_t)256 << 20)

struct host {
    unsigned char *base;
    uint64_t bytes;
    unsigned char *stage; /* STAGE_BYTES for each worker */
    unsigned workers;
    bool huge;
    /* touching ahead of use */
    bool growing, can_populate;
    pthread_t grower;
    struct bell *grow; /* rung when used comes near touched, and to stop */
    atomic_bool stop;
    atomic_uint_least64_t used, touched; /* bytes from the start of the arena */
    atomic_uint_least64_t late;          /* bytes written before they were touched */
};

/* For the worker that writes there. Space is given out from the start of the arena on. */
static void host_use(struct host *h, uint64_t offset, uint64_t len)
{
    uint64_t end = offset + len, used = atomic_load_explicit(&h->used, memory_order_relaxed);
    if (end <= used)
        return;
    uint64_t touched = atomic_load_explicit(&h->touched, memory_order_relaxed);
    if (end > touched)
        atomic_fetch_add_explicit(&h->late, end - (offset > touched ? offset : touched),
                                  memory_order_relaxed);
    while (end > used && !atomic_compare_exchange_weak(&h->used, &used, end))
        ;
    if (h->growing && touched < end + HOST_AHEAD_BYTES && touched < h->bytes)
        bell_ring(h->grow);
}

static void write_piece(unsigned char *at, unsigned char *stage, size_t len, struct tier_op *op,
                        uint64_t block)
{
    data_fill(stage, len, &op->id, block);
    int64_t begin = clock_now_ns();
    memcpy(at, stage, len);
    op->device_ns += clock_now_ns() - begin;
}

static int read_piece(const unsigned char *at, unsigned char *stage, size_t len, struct tier_op *op,
                      uint64_t block)
{
    int64_t begin = clock_now_ns();
    memcpy(stage, at, len);
    op->device_ns += clock_now_ns() - begin;
    if (op->verify == TIER_VERIFY_FULL)
        return data_check_full(stage, len, &op->id, block, &op->fault);
    if (op->verify == TIER_VERIFY_HEADER)
        return data_check_headers(stage, len, &op->id, block, &op->fault);
    return 0;
}

static void copy_object(struct arena_worker *w, struct host *h, struct tier_op *op)
{
    unsigned char *stage = h->stage + (size_t)arena_worker_index(w) * STAGE_BYTES;
    uint64_t left = DATA_PADDED(op->size), block = 0, offset, len;
    struct arena_walk walk;
    arena_walk_start(&walk, w, op);
    while (left &&
           (len = arena_walk_next(&walk, left < STAGE_BYTES ? left : STAGE_BYTES, &offset)) != 0) {
        if (op->verb == TIER_WRITE) {
            host_use(h, offset, len);
            write_piece(h->base + offset, stage, len, op, block);
        } else {
            int rc = read_piece(h->base + offset, stage, len, op, block);
            if (rc && !op->status)
                op->status = rc;
            if (rc)
                break;
        }
        block += len / DATA_BLOCK;
        left -= len;
    }
}

static void host_run(struct arena_worker *w, void *state)
{
    for (;;) {
        uint32_t seen = arena_seen(w);
        struct tier_op *op = arena_take(w);
        if (op) {
            copy_object(w, state, op);
            op->done_ns = clock_now_ns();
            arena_done(w, op);
        } else if (arena_stopping(w)) {
            return;
        } else {
            arena_sleep(w, seen);
        }
    }
}

static unsigned host_choose(const struct tier_op *op, unsigned n, void *state)
{
    (void)state;
    return (unsigned)(op->name.lo % n);
}

static void host_describe(void *state, struct tier_info *info)
{
    const struct host *h = state;
    info->engine = "memory";
    strcpy(info->target, "host memory");
    if (h->huge)
        notes_add(&info->flags, "huge pages");
    else
        notes_add(&info->fallbacks, "no huge pages");
    uint64_t late = atomic_load(&h->late);
    if (late > 0)
        notes_add(&info->fallbacks,
                  "page faults of %.2f GiB within latencies (its size was not known beforehand)",
                  (double)late / 1073741824.0);
}

static void host_close(void *state)
{
    struct host *h = state;
    if (h->growing) {
        atomic_store(&h->stop, true);
        bell_ring(h->grow);
        pthread_join(h->grower, NULL);
    }
    bell_free(h->grow);
    if (h->base)
        munmap(h->base, h->bytes);
    free(h->stage);
    free(h);
}

static const struct arena_engine host_engine = {
    .run = host_run,
    .choose = host_choose,
    .describe = host_describe,
    .close = host_close,
};

/* Pages of the next step, without changing what is in them. 0 or negative errno. */
static int touch_step(struct host *h)
{
    uint64_t at = atomic_load(&h->touched), left = h->bytes - at;
    uint64_t step = left < HOST_STEP_BYTES ? left : HOST_STEP_BYTES;
    if (madvise(h->base + at, step, MADV_POPULATE_WRITE) < 0)
        return -errno;
    atomic_store(&h->touched, at + step);
    return 0;
}

static void *grow_main(void *arg)
{
    struct host *h = arg;
    int rc = 0;
    while (rc == 0 && !atomic_load(&h->stop)) {
        uint32_t seen = bell_seen(h->grow);
        uint64_t touched = atomic_load(&h->touched);
        if (touched == h->bytes)
            break;
        if (touched < atomic_load(&h->used) + HOST_AHEAD_BYTES)
            rc = touch_step(h);
        else
            bell_wait(h->grow, seen, INT64_MAX);
    }
    return NULL;
}

static int grow_start(struct host *h, struct err *e)
{
    h->grow = bell_create();
    if (!h->grow)
        return err_nomem(e, "host memory tier");
    int rc = thread_start(&h->grower, grow_main, h);
    h->growing = rc == 0;
    return rc ? err_errno(e, rc, ERR_FAILED, "", "cannot start a memory thread") : 0;
}

/* Before anything is stored: to the end, or as far as the first operations may reach. Older kernels
 * do not know how to populate: there pages are touched by hand, and only now. */
static int host_touch(struct host *h, uint64_t until, struct err *e)
{
    int rc = 0;
    while (rc == 0 && atomic_load(&h->touched) < until) {
        if (stop_signal())
            return err_set(e, -EINTR, ERR_FAILED, "", "interrupted");
        rc = touch_step(h);
    }
    if (rc == 0 || rc == -EINVAL)
        h->can_populate = rc == 0;
    else
        return err_errno(e, rc, ERR_TARGET, "", "cannot get %llu bytes of host memory",
                         (unsigned long long)h->bytes);
    for (uint64_t i = atomic_load(&h->touched); rc < 0 && i < until; i += DATA_BLOCK) {
        h->base[i] = 0;
        atomic_store(&h->touched, i + DATA_BLOCK);
    }
    return 0;
}

static int host_map(struct host *h, bool prefault, struct err *e)
{
    uint64_t until = prefault || h->bytes < HOST_AHEAD_BYTES ? h->bytes : HOST_AHEAD_BYTES;
    h->base = mmap(NULL, h->bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (h->base == MAP_FAILED) {
        h->base = NULL;
        return err_errno(e, errno, ERR_TARGET, "", "cannot map %llu bytes of host memory",
                         (unsigned long long)h->bytes);
    }
    h->huge = madvise(h->base, h->bytes, MADV_HUGEPAGE) == 0;
    int rc = host_touch(h, until, e);
    return rc == 0 && until < h->bytes && h->can_populate ? grow_start(h, e) : rc;
}

int tier_host_open(struct tier **out, const struct tier_host_opts *o, struct bell *bell,
                   struct err *e)
{
    struct host *h = calloc(1, sizeof(*h));
    if (!h)
        return err_nomem(e, "host memory tier");
    h->workers = o->threads ? o->threads : 1;
    if (h->workers > ARENA_MAX_WORKERS)
        h->workers = ARENA_MAX_WORKERS;
    h->bytes = arena_bytes(o->capacity, o->max_objects, 1);
    h->stage = aligned_alloc(DATA_BLOCK, (size_t)h->workers * STAGE_BYTES);
    int rc = h->stage ? host_map(h, o->prefault, e) : err_nomem(e, "host memory tier");
    if (rc == 0)
        rc = arena_open(out,
                        &(struct arena_opts){.bytes = h->bytes,
                                             .parts = 1,
                                             .wrap = o->wrap,
                                             .workers = h->workers,
                                             .max_ops = o->max_ops},
                        &host_engine, h, bell, e);
    if (rc < 0)
        host_close(h);
    return rc;
}
