/* The storage tier: objects as files in a directory or as extents of a slab, each served by one of
 * several workers that its name chooses. Here stand the tier's table, the giving out of a slab's
 * space, and what is found out about the target at the start; storage_thread.c moves the bytes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/descriptors.h"
#include "lib/base/units.h"
#include "lib/io/target_device.h"
#include "lib/tier/layout_slab.h"
#include "lib/tier/storage_trim.h"
#include "lib/tier/storage_worker.h"

#define STORAGE_CHUNK_MAX   ((uint64_t)64 << 20)
#define STORAGE_THREADS_MAX 64u
#define STORAGE_PROBE_NS    2000000000LL

struct tier_storage {
    struct tier tier;
    struct layout_files *files; /* or: */
    struct layout_slab *slab;
    struct extent_pool *space; /* of the slab */
    struct storage_trim *trim; /* a slab on a device; else NULL */
    struct tier_op *ready;     /* completed without a worker */
    void *block;               /* for adopt */
    uint32_t shape;
    unsigned threads, next_poll;
    unsigned inside, max_ops;
    struct storage_worker *worker[STORAGE_THREADS_MAX];
    char target[256], device[160];
    struct notes fallbacks, flags;
};

/* ---- operations ---- */

static void complete_now(struct tier_storage *t, struct tier_op *op, int status)
{
    op->status = status;
    op->done_ns = clock_now_ns();
    op->device_ns = 0;
    op->next = t->ready;
    t->ready = op;
}

static uint32_t place_list(const struct tier_op *op)
{
    return (uint32_t)(uintptr_t)op->place;
}

static void space_release(struct tier_storage *t, struct tier_op *op)
{
    extent_release(t->space, place_list(op));
    op->place = NULL;
}

/* Space for a write: what the object has, if that is the size, else anew. */
static int space_make(struct tier_storage *t, struct tier_op *op)
{
    uint64_t need = op->size ? DATA_PADDED(op->size) : DATA_BLOCK;
    uint32_t list = place_list(op);
    int ret;

    if (list && extent_bytes(t->space, list) == need)
        return 0;
    space_release(t, op);
    ret = extent_alloc(t->space, need, &list);
    if (ret == 0)
        op->place = (void *)(uintptr_t)list;
    return ret;
}

/* 1: a worker must serve it, 2: it is to be discarded; else the status it completes with at once.
 */
static int slab_prepare(struct tier_storage *t, struct tier_op *op)
{
    int ret;

    if (op->verb == TIER_READ && op->place && !op->drop)
        return op->size > extent_bytes(t->space, place_list(op)) ? -EINVAL : 1;
    ret = layout_slab_use(t->slab);
    if (ret < 0)
        return ret;
    if (op->verb == TIER_WRITE) {
        ret = space_make(t, op);
        return ret < 0 ? ret : 1;
    }
    if (!op->place)
        return -ENOENT;
    if (op->verb == TIER_READ)
        return op->size > extent_bytes(t->space, place_list(op)) ? -EINVAL : 1;
    if (t->trim)
        return 2;
    space_release(t, op);
    return 0;
}

static int storage_submit(struct tier *tier, struct tier_op *op)
{
    struct tier_storage *t = (struct tier_storage *)tier;
    int how;

    if (t->inside == t->max_ops)
        return -EAGAIN;
    op->start_ns = clock_now_ns();
    op->device_ns = 0;
    op->id.shape = t->shape;
    how = t->slab ? slab_prepare(t, op) : 1;
    if (how == 1)
        storage_worker_push(t->worker[op->name.lo % t->threads], op); /* has room for max_ops */
    else if (how == 2)
        storage_trim_push(t->trim, op);
    else
        complete_now(t, op, how);
    t->inside++;
    return 0;
}

static void storage_kick(struct tier *tier)
{
    struct tier_storage *t = (struct tier_storage *)tier;

    for (unsigned i = 0; i < t->threads; i++)
        storage_worker_kick(t->worker[i]);
}

/* A read that drops gives its space back; one that failed leaves it for a delete. True: op is on
 * its way to be discarded first. */
static bool slab_finish(struct tier_storage *t, struct tier_op *op)
{
    if (!t->slab || op->verb != TIER_READ || !op->drop || op->status < 0)
        return false;
    if (t->trim)
        storage_trim_push(t->trim, op);
    else
        space_release(t, op);
    return t->trim != NULL;
}

static size_t poll_worker(struct tier_storage *t, struct storage_worker *w, struct tier_op **done,
                          size_t max)
{
    struct tier_op *op;
    size_t n = 0;

    while (n < max && (op = storage_worker_pop(w)) != NULL) {
        if (!slab_finish(t, op))
            done[n++] = op;
    }
    return n;
}

/* What completed without a worker. */
static size_t poll_others(struct tier_storage *t, struct tier_op **done, size_t max)
{
    struct tier_op *op;
    size_t n = 0;

    for (; n < max && t->ready; t->ready = t->ready->next)
        done[n++] = t->ready;
    while (n < max && t->trim && (op = storage_trim_pop(t->trim)) != NULL) {
        op->status = 0;
        space_release(t, op);
        done[n++] = op;
    }
    return n;
}

static size_t storage_poll(struct tier *tier, struct tier_op **done, size_t max)
{
    struct tier_storage *t = (struct tier_storage *)tier;
    size_t n = poll_others(t, done, max);

    /* Begins with another worker each time, so that none waits behind a busy one. */
    for (unsigned i = 0; i < t->threads && n < max; i++)
        n += poll_worker(t, t->worker[(t->next_poll + i) % t->threads], done + n, max - n);
    t->next_poll = (t->next_poll + 1) % t->threads;
    t->inside -= (unsigned)n;
    return n;
}

static int64_t storage_next_ns(struct tier *tier)
{
    return ((struct tier_storage *)tier)->ready ? 0 : INT64_MAX;
}

/* 0 with the generation of the object that begins at offset, 0 if it is not that; -ENOENT: it is of
 * another shape, so that it must be written anew. */
static int read_generation(struct tier_storage *t, int fd, uint64_t offset,
                           const struct tier_op *op, uint64_t *generation)
{
    struct data_id id;
    uint64_t index;

    *generation = 0;
    if (pread(fd, t->block, DATA_BLOCK, (off_t)offset) != (ssize_t)DATA_BLOCK ||
        data_identify(t->block, &id, &index) < 0 || index != 0 || id.key.lo != op->id.key.lo ||
        id.key.hi != op->id.key.hi)
        return 0;
    if (id.shape != t->shape)
        return -ENOENT;
    *generation = id.generation;
    return 0;
}

static int adopt_file(struct tier_storage *t, struct tier_op *op, uint64_t *size,
                      uint64_t *generation)
{
    int fd = layout_files_find(t->files, op->name, size), ret;

    if (fd < 0)
        return fd;
    ret = read_generation(t, fd, 0, op, generation);
    close(fd);
    if (ret == 0)
        op->place = (void *)(uintptr_t)*size;
    return ret;
}

static int adopt_extents(struct tier_storage *t, struct tier_op *op, uint64_t *size,
                         uint64_t *generation)
{
    uint32_t list = layout_slab_adopt(t->slab, op->name), pos = list;
    struct extent first;
    int ret;

    if (!extent_walk(t->space, &pos, &first))
        return -ENOENT;
    *size = extent_bytes(t->space, list);
    ret = *size != DATA_PADDED(op->size)
              ? -ENOENT
              : read_generation(t, layout_slab_fd(t->slab), layout_slab_begin() + first.offset, op,
                                generation);
    if (ret < 0)
        extent_release(t->space, list);
    else
        op->place = (void *)(uintptr_t)list;
    return ret;
}

static int storage_adopt(struct tier *tier, struct tier_op *op, uint64_t *size,
                         uint64_t *generation)
{
    struct tier_storage *t = (struct tier_storage *)tier;

    return t->files ? adopt_file(t, op, size, generation) : adopt_extents(t, op, size, generation);
}

static void storage_describe(const struct tier *tier, struct tier_info *info)
{
    const struct tier_storage *t = (const struct tier_storage *)tier;

    *info = (struct tier_info){.engine = storage_worker_io(t->worker[0])->ops->name,
                               .verifies = true,
                               .threads = t->threads,
                               .fallbacks = t->fallbacks,
                               .flags = t->flags};
    memcpy(info->target, t->target, sizeof(t->target));
    memcpy(info->device, t->device, sizeof(t->device));
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
    storage_trim_close(t->trim);
    layout_files_close(t->files);
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

static void storage_name_device(struct tier_storage *t, int fd)
{
    struct target_device d;

    target_device_find(fd, &d);
    if (d.model[0])
        snprintf(t->device, sizeof(t->device), "%s (%s)", d.model, d.name);
    else
        snprintf(t->device, sizeof(t->device), "%s", d.name);
}

static int storage_layout(struct tier_storage *t, const struct tier_storage_opts *o, bool direct,
                          struct err *e)
{
    if (posix_memalign(&t->block, DATA_BLOCK, DATA_BLOCK) != 0) {
        t->block = NULL;
        return err_nomem(e, "storage tier");
    }
    if (!o->slab)
        return layout_files_open(&t->files, o->dirfd, direct, e);
    t->slab = o->slab;
    t->space = layout_slab_pool(o->slab);
    return 0;
}

/* A block there and back on a polled ring of its own: the first write to a new block is not polled
 * and works everywhere, the read tells. 0 or why it failed. */
static int probe_move(struct tier_storage *t, struct io *ring, int fd, bool write)
{
    struct io_req r = {
        .fd = fd, .write = write, .buf = t->block, .len = DATA_BLOCK, .buf_index = -1};
    struct io_req *done[1];
    int ret = ring->ops->submit(ring, &r);

    if (ret == 0)
        ret = ring->ops->reap(ring, done, 1, clock_now_ns() + STORAGE_PROBE_NS);
    if (ret < 0)
        return ret;
    return ret == 1 ? r.result : -ETIMEDOUT;
}

static int storage_probe(struct tier_storage *t, int fd)
{
    struct io_opts io = {.depth = 1, .iopoll = true};
    struct io *ring;
    int ret = io_open(&ring, IO_URING, &io, NULL);

    if (ret < 0)
        return ret;
    ret = probe_move(t, ring, fd, true);
    if (ret == 0)
        ret = probe_move(t, ring, fd, false);
    ring->ops->close(ring);
    return ret;
}

static int probe_file(struct tier_storage *t)
{
    struct layout_name n;
    int ret = layout_files_name(t->files, hash_128("iopoll", sizeof("iopoll")), true, &n), fd;

    if (ret < 0)
        return ret;
    fd = openat(n.dirfd, n.text, layout_files_flags(t->files, true, true) | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    memset(t->block, 0, DATA_BLOCK);
    ret = storage_probe(t, fd);
    close(fd);
    unlinkat(n.dirfd, n.text, 0);
    return ret;
}

/* The first block, whatever it is: what was never written is read without the device. */
static int probe_slab(struct tier_storage *t)
{
    int fd = layout_slab_fd(t->slab);

    if (pread(fd, t->block, DATA_BLOCK, 0) != (ssize_t)DATA_BLOCK)
        return -EIO;
    return storage_probe(t, fd);
}

/* Devices without polled queues refuse polled I/O one by one: found out before the run. */
static bool storage_iopoll_works(struct tier_storage *t)
{
    int ret = t->slab ? probe_slab(t) : probe_file(t);

    if (ret < 0)
        notes_add(&t->fallbacks, "no iopoll (%s)",
                  err_errno_name(-ret) ? err_errno_name(-ret) : "refused");
    return ret == 0;
}

static bool storage_is_direct(const struct tier_storage_opts *o)
{
    if (o->buffered)
        return false;
    return o->slab ? fcntl(layout_slab_fd(o->slab), F_GETFL) & O_DIRECT
                   : target_direct_io(o->dirfd);
}

/* Devices without discards need none. */
static int storage_open_trim(struct tier_storage *t, const struct tier_storage_opts *o,
                             struct bell *bell, struct err *e)
{
    struct storage_trim_opts trim = {.max_ops = o->max_ops, .space = t->space, .bell = bell};

    if (!o->slab || !target_device_discards(layout_slab_fd(o->slab)))
        return 0;
    trim.fd = layout_slab_fd(o->slab);
    trim.begin = layout_slab_begin();
    return storage_trim_open(&t->trim, &trim, e);
}

/* Settles what the target and the host allow of what o asks. */
static int storage_prepare(struct tier_storage *t, const struct tier_storage_opts *o,
                           struct storage_worker_opts *w, struct err *e)
{
    bool direct = storage_is_direct(o);
    int ret = storage_layout(t, o, direct, e);

    if (ret < 0)
        return ret;
    if (!direct && !o->buffered)
        notes_add(&t->fallbacks, "no O_DIRECT: buffered I/O, page cache dropped after each object");
    *w = (struct storage_worker_opts){.engine = (enum io_engine)o->engine,
                                      .max_ops = o->max_ops,
                                      .policy = {.files = t->files,
                                                 .space = t->space,
                                                 .chunk_bytes = (uint32_t)o->chunk_bytes,
                                                 .buffered = !direct,
                                                 .sync_objects = o->sync_objects}};
    if (t->slab) {
        w->policy.slab_fd = layout_slab_fd(t->slab);
        w->policy.slab_begin = layout_slab_begin();
    }
    if (o->engine == IO_PSYNC) {
        if (o->sqpoll || o->iopoll)
            notes_add(&t->fallbacks, "no sqpoll, no iopoll (psync)");
        return 0;
    }
    w->sqpoll = o->sqpoll;
    if (o->iopoll && !direct)
        notes_add(&t->fallbacks, "no iopoll (needs O_DIRECT)");
    else if (o->iopoll)
        w->iopoll = storage_iopoll_works(t);
    return 0;
}

static void storage_set_flags(struct tier_storage *t, const struct tier_storage_opts *o,
                              const struct storage_worker_opts *w)
{
    notes_add(&t->flags, "%s", w->policy.buffered ? "buffered" : "O_DIRECT");
    notes_add(&t->flags, "%u I/Os of %u KiB", o->iodepth, w->policy.chunk_bytes / 1024);
    notes_add(&t->flags, "%u ring%s", t->threads, units_plural(t->threads));
    notes_merge(&t->flags, &storage_worker_io(t->worker[0])->flags);
    if (o->sync_objects)
        notes_add(&t->flags, "objects synced");
}

/* Each file takes a descriptor while it is open, each folder one and each ring two for good. */
static int storage_descriptors(struct tier_storage *t, const struct tier_storage_opts *o,
                               unsigned threads, struct storage_worker_opts *w, struct err *e)
{
    unsigned kept = LAYOUT_FILES_FOLDERS + (o->engine == IO_PSYNC ? 0 : 2 * threads);
    uint64_t each = storage_worker_objects(o->iodepth / threads + 1), can;

    can = descriptors_want(kept + threads * (each < o->max_ops ? each : o->max_ops));
    if (!t->files) /* with too few for rings there are threads */
        return 0;
    if (can < kept + threads)
        return err_set(e, EMFILE, ERR_TARGET, t->target,
                       "%u files, folders and rings must be open at once beside others, and %llu "
                       "can be (ulimit -n); --layout slab needs one",
                       kept + threads, (unsigned long long)can);
    w->max_open = (unsigned)(can - kept) / threads;
    return 0;
}

/* What one engine had to do without is one note. */
static void note_engine(struct tier_storage *t, const struct storage_worker *w)
{
    char text[NOTES_CAP];

    notes_join(&storage_worker_io(w)->fallbacks, ", ", text, sizeof(text));
    if (text[0] && !notes_has(&t->fallbacks, text))
        notes_add(&t->fallbacks, "%s", text);
}

/* There was memory to lock, or descriptors, for some rings only: none then, since one engine is
 * named in results. said: as long is what was known before. */
static void storage_leave_rings(struct tier_storage *t, struct storage_worker_opts *w,
                                unsigned said)
{
    t->fallbacks.count = said;
    note_engine(t, t->worker[t->threads - 1]);
    while (t->threads > 0)
        storage_worker_close(t->worker[--t->threads], NULL);
    w->engine = IO_PSYNC;
}

/* The I/O slots are split among the workers, never more than iodepth in all. */
static int storage_start(struct tier_storage *t, const struct tier_storage_opts *o,
                         struct storage_worker_opts *w, struct err *e)
{
    unsigned threads = o->threads < o->iodepth ? o->threads : o->iodepth;
    unsigned said = t->fallbacks.count;
    int ret;

    threads = threads ? threads : 1;
    ret = storage_descriptors(t, o, threads, w, e);
    while (ret == 0 && t->threads < threads) {
        struct storage_worker *worker;

        w->depth = o->iodepth / threads + (t->threads < o->iodepth % threads);
        ret = storage_worker_open(&worker, w, e);
        if (ret < 0)
            return ret;
        t->worker[t->threads++] = worker;
        if (storage_worker_io(worker)->ops->engine != storage_worker_io(t->worker[0])->ops->engine)
            storage_leave_rings(t, w, said);
        else
            note_engine(t, worker);
    }
    if (ret == 0)
        storage_set_flags(t, o, w);
    return ret;
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
    t = calloc(1, sizeof(*t));
    if (!t)
        return err_nomem(e, "storage tier");
    t->tier.ops = &storage_ops;
    t->max_ops = o->max_ops;
    t->shape = o->shape;
    snprintf(t->target, sizeof(t->target), "%s", o->path ? o->path : "");
    storage_name_device(t, o->slab ? layout_slab_fd(o->slab) : o->dirfd);
    ret = storage_prepare(t, o, &w, e);
    w.bell = bell;
    if (ret == 0)
        ret = storage_open_trim(t, o, bell, e);
    if (ret == 0)
        ret = storage_start(t, o, &w, e);
    if (ret < 0) {
        storage_close(&t->tier, NULL);
        return ret;
    }
    *out = &t->tier;
    return 0;
}
