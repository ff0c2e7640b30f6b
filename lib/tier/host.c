/* Tier-1 for real: objects in an arena of host memory. A write makes its data in a small cached
 * buffer and copies it into the arena; a read copies it out and checks it there. So the copy
 * (device time) is told apart from the making and checking of data (host time). */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/thread/thread.h"
#include "lib/tier/arena.h"

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

/* Fits the L2 cache with room to spare: the arena's memory is measured, not this. */
enum {
    STAGE_BYTES = 256 * 1024
};
/* Memory is touched in steps of this, and this far ahead of the highest byte in use. */
#define HOST_STEP_BYTES  ((uint64_t)32 << 20)
#define HOST_AHEAD_BYTES ((uint64_t)256 << 20)

struct host {
    unsigned char *base;
    uint64_t bytes;
    unsigned char *stage; /* STAGE_BYTES for each thread */
    unsigned threads;
    bool huge;
    /* a thread that touches memory ahead of its use, where not all is touched at the start: */
    bool growing;
    pthread_t grower;
    struct bell *grow; /* rung when used comes near touched, and to stop */
    atomic_bool stop;
    atomic_uint_least64_t used, touched; /* bytes from the start of the arena */
    atomic_uint_least64_t late;          /* bytes written before they were touched */
};

/* ---- copying ---- */

/* Tells that bytes are about to be written there. The arena is given out from its start. */
static void host_use(struct host *h, uint64_t offset, uint64_t len)
{
    uint64_t end = offset + len, used = atomic_load_explicit(&h->used, memory_order_relaxed);
    uint64_t touched;

    if (end <= used)
        return;
    touched = atomic_load_explicit(&h->touched, memory_order_relaxed);
    if (end > touched)
        atomic_fetch_add_explicit(&h->late, end - (offset > touched ? offset : touched),
                                  memory_order_relaxed);
    while (end > used && !atomic_compare_exchange_weak(&h->used, &used, end))
        ;
    if (h->growing && touched < end + HOST_AHEAD_BYTES && touched < h->bytes)
        bell_ring(h->grow);
}

static void copy_object(struct arena_thread *t, struct host *h, struct tier_op *op)
{
    unsigned char *stage = h->stage + (size_t)arena_thread_index(t) * STAGE_BYTES;
    uint64_t left = DATA_PADDED(op->size), block = 0, offset, len;
    bool write = op->verb == TIER_WRITE;
    struct arena_walk walk;

    arena_walk_start(&walk, t, op);
    while (left &&
           (len = arena_walk_next(&walk, left < STAGE_BYTES ? left : STAGE_BYTES, &offset)) != 0) {
        int64_t begin_ns;
        int rc = 0;

        if (write) {
            host_use(h, offset, len);
            data_fill(stage, len, &op->id, block);
        }
        begin_ns = clock_now_ns();
        if (write)
            memcpy(h->base + offset, stage, len);
        else
            memcpy(stage, h->base + offset, len);
        op->part.io_ns += clock_now_ns() - begin_ns;
        if (!write && op->verify == TIER_VERIFY_FULL)
            rc = data_check_full(stage, len, &op->id, block, &op->fault);
        else if (!write && op->verify == TIER_VERIFY_HEADER)
            rc = data_check_headers(stage, len, &op->id, block, &op->fault);
        if (rc < 0) {
            op->status = rc;
            return;
        }
        block += len / DATA_BLOCK;
        left -= len;
    }
}

static void host_run(struct arena_thread *t, void *state)
{
    for (;;) {
        uint32_t seen = arena_seen(t);
        struct tier_op *op = arena_take(t);

        if (op) {
            op->part.slot_ns = clock_now_ns() - op->start_ns; /* its thread copied others */
            copy_object(t, state, op);
            op->done_ns = clock_now_ns();
            op->device_ns = op->part.io_ns;
            arena_done(t, op);
        } else if (arena_stopping(t)) {
            return;
        } else {
            arena_sleep(t, seen);
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
    uint64_t late = atomic_load(&h->late);
    char bytes[32];

    info->engine = "memory";
    snprintf(info->target, sizeof(info->target), "%s%s of host memory", h->growing ? "up to " : "",
             units_format_bytes(bytes, sizeof(bytes), (double)h->bytes));
    info->huge_pages = h->huge;
    if (h->huge)
        notes_add(&info->flags, "huge pages");
    else
        notes_add(&info->fallbacks, "no huge pages");
    if (late > 0)
        notes_add(&info->fallbacks,
                  "latencies include page faults of %.2f GiB (the size was not known in advance)",
                  (double)late / (double)UNITS_GIB);
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

/* ---- opening: memory that is touched before it is used ---- */

/* Gets the pages of the next step, without changing what is in them. 0 or negative errno. */
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

/* Maps the arena and touches it before anything is stored: all of it with prefault, else as far as
 * the first operations may reach, with a thread for the rest. */
static int host_map(struct host *h, bool prefault, struct err *e)
{
    uint64_t until = prefault || h->bytes < HOST_AHEAD_BYTES ? h->bytes : HOST_AHEAD_BYTES;
    int rc = 0;

    h->base = mmap(NULL, h->bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (h->base == MAP_FAILED) {
        h->base = NULL;
        return err_errno(e, errno, ERR_TARGET, "", "cannot map %llu bytes of host memory",
                         (unsigned long long)h->bytes);
    }
    h->huge = madvise(h->base, h->bytes, MADV_HUGEPAGE) == 0;

    while (rc == 0 && atomic_load(&h->touched) < until) {
        if (stop_signal())
            return err_set(e, -EINTR, ERR_FAILED, "", "interrupted");
        rc = touch_step(h);
    }
    if (rc == -EINVAL) { /* an older kernel: pages are touched by hand, and only now */
        for (uint64_t i = atomic_load(&h->touched); i < until; i += DATA_BLOCK) {
            h->base[i] = 0;
            atomic_store(&h->touched, i + DATA_BLOCK);
        }
        return 0;
    }
    if (rc < 0)
        return err_errno(e, rc, ERR_TARGET, "", "cannot get %llu bytes of host memory",
                         (unsigned long long)h->bytes);
    if (until == h->bytes)
        return 0;

    h->grow = bell_create();
    if (!h->grow)
        return err_nomem(e, "host memory tier");
    rc = thread_start(&h->grower, grow_main, h);
    h->growing = rc == 0;
    return rc < 0 ? thread_refused(e, rc, "a memory thread") : 0;
}

int tier_host_open(struct tier **out, const struct tier_host_opts *o, struct bell *bell,
                   struct err *e)
{
    struct host *h = calloc(1, sizeof(*h));
    struct arena_opts arena;
    int rc;

    if (!h)
        return err_nomem(e, "host memory tier");
    h->threads = o->threads ? o->threads : 1;
    if (h->threads > ARENA_MAX_THREADS)
        h->threads = ARENA_MAX_THREADS;
    h->bytes = arena_bytes(o->capacity, o->max_objects, 1);
    h->stage = aligned_alloc(DATA_BLOCK, (size_t)h->threads * STAGE_BYTES);
    rc = h->stage ? host_map(h, o->prefault, e) : err_nomem(e, "host memory tier");
    if (rc < 0)
        goto out;
    arena = (struct arena_opts){.engine = &host_engine,
                                .state = h,
                                .bell = bell,
                                .bytes = h->bytes,
                                .parts = 1,
                                .wrap = o->wrap,
                                .threads = h->threads,
                                .max_ops = o->max_ops,
                                .gaps = o->gaps,
                                .name = "memory",
                                .of = GAPS_OF_MEMORY};
    rc = arena_open(out, &arena, e);
out:
    if (rc < 0)
        host_close(h);
    return rc;
}
