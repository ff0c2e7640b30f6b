/* The storage tier: objects as files in a directory, each served by one of several workers that its
 * name chooses. Here stand the tier's table and what is found out about the target at the start;
 * storage_worker.c moves the bytes. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/storage_worker.h"
#include "lib/target.h"

#define STORAGE_CHUNK_MAX   ((uint64_t)64 << 20)
#define STORAGE_THREADS_MAX 64u
#define STORAGE_PROBE_NS    2000000000LL

struct tier_storage {
    struct tier tier;
    struct layout *layout;
    void *block; /* for adopt */
    unsigned threads, next_poll;
    unsigned inside, max_ops;
    struct storage_worker *worker[STORAGE_THREADS_MAX];
    char target[256], device[160], fallbacks[512];
};

static void storage_note(struct tier_storage *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void storage_note(struct tier_storage *t, const char *fmt, ...)
{
    size_t len = strlen(t->fallbacks);
    va_list ap;

    len += (size_t)snprintf(t->fallbacks + len, sizeof t->fallbacks - len, "%s", len ? "; " : "");
    if (len >= sizeof t->fallbacks)
        return;
    va_start(ap, fmt);
    vsnprintf(t->fallbacks + len, sizeof t->fallbacks - len, fmt, ap);
    va_end(ap);
}

/* ---- operations ---- */

static int storage_submit(struct tier *tier, struct tier_op *op)
{
    struct tier_storage *t = (struct tier_storage *)tier;

    if (t->inside == t->max_ops)
        return -EAGAIN;
    op->start_ns = clock_now_ns();
    if (!storage_worker_push(t->worker[op->name.lo % t->threads], op))
        return -EAGAIN;
    t->inside++;
    return 0;
}

static void storage_kick(struct tier *tier)
{
    struct tier_storage *t = (struct tier_storage *)tier;

    for (unsigned i = 0; i < t->threads; i++)
        storage_worker_kick(t->worker[i]);
}

static size_t storage_poll(struct tier *tier, struct tier_op **done, size_t max)
{
    struct tier_storage *t = (struct tier_storage *)tier;
    size_t n = 0;

    /* Begins with another worker each time, so that none waits behind a busy one. */
    for (unsigned i = 0; i < t->threads && n < max; i++) {
        struct storage_worker *w = t->worker[(t->next_poll + i) % t->threads];

        while (n < max && (done[n] = storage_worker_pop(w)) != NULL)
            n++;
    }
    t->next_poll = (t->next_poll + 1) % t->threads;
    t->inside -= (unsigned)n;
    return n;
}

static int64_t storage_next_ns(struct tier *tier)
{
    (void)tier;
    return INT64_MAX;
}

static uint64_t storage_generation(struct tier_storage *t, const struct layout_place *p,
                                   const struct tier_op *op)
{
    struct data_id id;
    uint64_t index;

    if (pread(p->fd, t->block, DATA_BLOCK, (off_t)p->offset) != (ssize_t)DATA_BLOCK ||
        data_identify(t->block, &id, &index) < 0 || index != 0 || id.key.lo != op->id.key.lo ||
        id.key.hi != op->id.key.hi)
        return 0;
    return id.generation;
}

static int storage_adopt(struct tier *tier, struct tier_op *op, uint64_t *size,
                         uint64_t *generation)
{
    struct tier_storage *t = (struct tier_storage *)tier;
    struct layout_place p;
    int ret = t->layout->ops->open(t->layout, op->name, &p, size);

    if (ret < 0)
        return ret;
    *generation = *size >= DATA_BLOCK ? storage_generation(t, &p, op) : 0;
    return t->layout->ops->release(t->layout, &p, false);
}

static void storage_describe(const struct tier *tier, struct tier_info *info)
{
    const struct tier_storage *t = (const struct tier_storage *)tier;

    *info = (struct tier_info){.engine = storage_worker_engine(t->worker[0]), .verifies = true};
    memcpy(info->target, t->target, sizeof t->target);
    memcpy(info->device, t->device, sizeof t->device);
    memcpy(info->fallbacks, t->fallbacks, sizeof t->fallbacks);
    for (unsigned i = 0; i < t->threads; i++) {
        int64_t io_ns;

        info->ios += storage_worker_ios(t->worker[i], &io_ns);
        info->io_ns += io_ns;
    }
}

static int storage_close(struct tier *tier, struct err *e)
{
    struct tier_storage *t = (struct tier_storage *)tier;
    int ret = 0;

    if (!t)
        return 0;
    for (unsigned i = 0; i < t->threads; i++) {
        int one = storage_worker_close(t->worker[i], ret == 0 ? e : NULL);

        if (ret == 0)
            ret = one;
    }
    if (t->layout)
        t->layout->ops->close(t->layout);
    free(t->block);
    free(t);
    return ret;
}

static const struct tier_ops storage_ops = {
    .submit = storage_submit,
    .kick = storage_kick,
    .poll = storage_poll,
    .next_ns = storage_next_ns,
    .adopt = storage_adopt,
    .describe = storage_describe,
    .close = storage_close,
};

/* ---- opening ---- */

static int storage_check_opts(const struct tier_storage_opts *o, struct err *e)
{
    if (o->chunk_bytes < DATA_BLOCK || o->chunk_bytes > STORAGE_CHUNK_MAX ||
        o->chunk_bytes % DATA_BLOCK != 0)
        return err_set(e, EINVAL, ERR_INPUT, "chunk-size",
                       "not a multiple of 4 KiB from 4 KiB to 64 MiB");
    if (o->iodepth < 1 || o->iodepth > 4096)
        return err_set(e, EINVAL, ERR_INPUT, "iodepth", "not within 1..4096");
    if (o->threads > STORAGE_THREADS_MAX)
        return err_set(e, EINVAL, ERR_INPUT, "threads", "more than %u rings", STORAGE_THREADS_MAX);
    if (o->max_ops < 1)
        return err_set(e, EINVAL, ERR_INPUT, "inflight", "not even one operation");
    return 0;
}

/* Buffers that would take most of the memory are refused now rather than killed for later. */
static int storage_check_memory(const struct tier_storage_opts *o, struct err *e)
{
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t pool = o->chunk_bytes * o->iodepth;

    if (pool > memory / 4)
        return err_set(e, ENOMEM, ERR_INPUT, "",
                       "buffers for %u I/Os of %llu KiB take more than a quarter of the memory",
                       o->iodepth, (unsigned long long)o->chunk_bytes / 1024);
    return 0;
}

static void storage_name_device(struct tier_storage *t, int dirfd)
{
    struct target_device d;

    target_device(dirfd, &d);
    if (d.model[0])
        snprintf(t->device, sizeof t->device, "%s (%s)", d.model, d.name);
    else
        snprintf(t->device, sizeof t->device, "%s", d.name);
}

static int storage_layout(struct tier_storage *t, const struct tier_storage_opts *o, bool direct,
                          struct err *e)
{
    if (posix_memalign(&t->block, DATA_BLOCK, DATA_BLOCK) != 0) {
        t->block = NULL;
        return err_nomem(e, "storage tier");
    }
    return layout_files_open(&t->layout, o->dirfd, direct, e);
}

static int probe_move(struct tier_storage *t, struct io *ring, const struct layout_place *p,
                      bool write)
{
    struct io_req r = {.fd = p->fd,
                       .write = write,
                       .buf = t->block,
                       .len = DATA_BLOCK,
                       .buf_index = -1,
                       .offset = p->offset};
    struct io_req *done[1];
    int ret = ring->ops->submit(ring, &r);

    if (ret == 0)
        ret = ring->ops->reap(ring, done, 1, clock_now_ns() + STORAGE_PROBE_NS);
    if (ret < 0)
        return ret;
    return ret == 1 ? r.result : -ETIMEDOUT;
}

/* A block there and back through an engine of its own: the first write to a new block is not polled
 * and works everywhere, the read tells. 0 or why it failed. */
static int storage_probe(struct tier_storage *t, const struct layout_place *p)
{
    struct io_opts io = {.depth = 1, .iopoll = true};
    struct io *ring;
    int ret = io_open(&ring, IO_URING, &io, NULL, 0, NULL);

    if (ret < 0)
        return ret;
    ret = probe_move(t, ring, p, true);
    if (ret == 0)
        ret = probe_move(t, ring, p, false);
    ring->ops->close(ring);
    return ret;
}

/* Devices without polled queues refuse polled I/O one by one: found out before the run. */
static bool storage_iopoll_works(struct tier_storage *t)
{
    const struct hash128 name = hash_128("iopoll", sizeof "iopoll");
    struct layout_place p;
    int ret = t->layout->ops->create(t->layout, name, DATA_BLOCK, &p);

    if (ret == 0) {
        memset(t->block, 0, DATA_BLOCK);
        ret = storage_probe(t, &p);
        t->layout->ops->release(t->layout, &p, false);
        t->layout->ops->remove(t->layout, name);
    }
    if (ret < 0)
        storage_note(t, "no iopoll (%s)", err_errno_name(-ret) ? err_errno_name(-ret) : "refused");
    return ret == 0;
}

/* Settles what the target and the host allow of what o asks. */
static int storage_prepare(struct tier_storage *t, const struct tier_storage_opts *o,
                           struct storage_worker_opts *w, struct err *e)
{
    bool direct = !o->buffered && target_direct_io(o->dirfd);
    int ret = storage_layout(t, o, direct, e);

    if (ret < 0)
        return ret;
    if (!direct && !o->buffered)
        storage_note(t, "no O_DIRECT: buffered I/O, page cache dropped after each object");
    *w = (struct storage_worker_opts){.engine = (enum io_engine)o->engine,
                                      .chunk_bytes = (uint32_t)o->chunk_bytes,
                                      .layout = t->layout,
                                      .max_ops = o->max_ops,
                                      .buffered = !direct,
                                      .sync_objects = o->sync_objects};
    if (o->engine == IO_PSYNC) {
        if (o->sqpoll || o->iopoll)
            storage_note(t, "no sqpoll, no iopoll (psync)");
        return 0;
    }
    w->sqpoll = o->sqpoll;
    if (o->iopoll && !direct)
        storage_note(t, "no iopoll (needs O_DIRECT)");
    else if (o->iopoll)
        w->iopoll = storage_iopoll_works(t);
    return 0;
}

/* The I/O slots are split among the workers, never more than iodepth in all. */
static int storage_start(struct tier_storage *t, const struct tier_storage_opts *o,
                         struct storage_worker_opts *w, struct err *e)
{
    unsigned threads = o->threads ? o->threads : 1;
    const char *more;

    if (threads > o->iodepth)
        threads = o->iodepth;
    while (t->threads < threads) {
        int ret;

        w->depth = o->iodepth / threads + (t->threads < o->iodepth % threads);
        ret = storage_worker_open(&t->worker[t->threads], w, e);
        if (ret < 0)
            return ret;
        t->threads++;
    }
    more = storage_worker_fallbacks(t->worker[0]);
    if (more[0])
        storage_note(t, "%s", more);
    return 0;
}

int tier_storage_open(struct tier **out, const struct tier_storage_opts *o, struct bell *bell,
                      struct err *e)
{
    struct tier_storage *t = NULL;
    struct storage_worker_opts w;
    int ret = storage_check_opts(o, e);

    if (ret == 0)
        ret = storage_check_memory(o, e);
    if (ret < 0)
        return ret;
    t = calloc(1, sizeof *t);
    if (!t)
        return err_nomem(e, "storage tier");
    t->tier.ops = &storage_ops;
    t->max_ops = o->max_ops;
    snprintf(t->target, sizeof t->target, "%s", o->path ? o->path : "");
    storage_name_device(t, o->dirfd);
    ret = storage_prepare(t, o, &w, e);
    w.bell = bell;
    if (ret == 0)
        ret = storage_start(t, o, &w, e);
    if (ret < 0) {
        storage_close(&t->tier, NULL);
        return ret;
    }
    *out = &t->tier;
    return 0;
}
