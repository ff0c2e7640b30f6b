/* The storage tier: objects as files in a directory or as extents of a slab. Its name gives each
 * object to one of several threads (storage_thread.c), which move the bytes. This file holds the
 * tier's table, gives out a slab's space, and finds out at the opening what target and host allow.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/descriptors.h"
#include "lib/base/units.h"
#include "lib/io/target_device.h"
#include "lib/layout/place.h"
#include "lib/layout/slab.h"
#include "lib/tier/storage_thread.h"
#include "lib/tier/storage_trim.h"
#include "lib/tier/stored.h"

#define STORAGE_CHUNK_MAX   ((uint64_t)64 << 20)
#define STORAGE_THREADS_MAX 64u
#define STORAGE_PROBE_NS    2000000000LL

struct tier_storage {
    struct tier tier;
    struct lease *lease;
    struct layout_files *files; /* or: */
    struct layout_slab *slab;
    struct extent_pool *space; /* of the slab */
    struct storage_trim *trim; /* NULL unless the slab is a device that takes discards */
    struct tier_op *ready;     /* completed without a thread */
    void *block;               /* one, for probing and adopting */
    uint32_t shape;
    unsigned inside, max_ops;
    unsigned threads, next_poll;
    struct storage_thread *thread[STORAGE_THREADS_MAX];
    struct tier_info info; /* all but the counts of I/Os */
};

/* ---- operations ---- */

/* Who completes an operation. */
enum route {
    ROUTE_NONE, /* it is complete, with op->status */
    ROUTE_THREAD,
    ROUTE_TRIM
};

static uint32_t list_of(const struct tier_op *op)
{
    return (uint32_t)(uintptr_t)op->place;
}

static void space_release(struct tier_storage *t, struct tier_op *op)
{
    extent_release(t->space, list_of(op));
    op->place = NULL;
}

/* The owner's part of an operation on a slab: its space. */
static enum route slab_route(struct tier_storage *t, struct tier_op *op)
{
    uint32_t list = list_of(op);
    uint64_t listed;

    op->status = 0;
    if (op->verb != TIER_READ || !op->place || op->drop)
        op->status = lease_valid(t->lease) ? layout_slab_use(t->slab) : -ESTALE;
    if (op->status < 0)
        return ROUTE_NONE;
    if (op->verb == TIER_WRITE) {
        if (!list) /* a kept object of that name gives its place: there are never two */
            list = layout_slab_adopt(t->slab, op->name, &listed);
        op->status = extent_resize(t->space, op->size, &list);
        op->place = (void *)(uintptr_t)list;
        return op->status < 0 ? ROUTE_NONE : ROUTE_THREAD;
    }
    if (!op->place)
        op->status = -ENOENT;
    else if (op->verb == TIER_READ && op->size > extent_bytes(t->space, list))
        op->status = -EINVAL;
    if (op->status < 0)
        return ROUTE_NONE;
    if (op->verb == TIER_READ)
        return ROUTE_THREAD;
    if (t->trim)
        return ROUTE_TRIM;
    space_release(t, op);
    return ROUTE_NONE;
}

static int storage_submit(struct tier *tier, struct tier_op *op)
{
    struct tier_storage *t = (struct tier_storage *)tier;

    if (t->inside == t->max_ops)
        return -EAGAIN;
    op->start_ns = clock_now_ns();
    op->part = (struct tier_parts){0};
    op->device_ns = op->ahead_ns = op->late_ns = 0;
    op->id.shape = t->shape;
    switch (t->slab ? slab_route(t, op) : ROUTE_THREAD) {
    case ROUTE_THREAD:
        storage_thread_push(t->thread[op->name.lo % t->threads], op);
        break;
    case ROUTE_TRIM:
        storage_trim_push(t->trim, op);
        break;
    case ROUTE_NONE:
        op->done_ns = clock_now_ns();
        op->next = t->ready;
        t->ready = op;
        break;
    }
    t->inside++;
    return 0;
}

static void storage_kick(struct tier *tier)
{
    struct tier_storage *t = (struct tier_storage *)tier;

    for (unsigned i = 0; i < t->threads; i++)
        storage_thread_kick(t->thread[i]);
}

/* A read that drops gives its space back; a failed one leaves it for a delete. True: the space is
 * to be discarded first, and op comes back when it is. */
static bool slab_drop(struct tier_storage *t, struct tier_op *op)
{
    if (!t->slab || op->verb != TIER_READ || !op->drop || op->status < 0)
        return false;
    if (t->trim)
        storage_trim_push(t->trim, op);
    else
        space_release(t, op);
    return t->trim != NULL;
}

static size_t storage_poll(struct tier *tier, struct tier_op **done, size_t max)
{
    struct tier_storage *t = (struct tier_storage *)tier;
    struct tier_op *op;
    size_t n = 0;

    for (; n < max && t->ready; t->ready = t->ready->next)
        done[n++] = t->ready;
    while (n < max && t->trim && (op = storage_trim_pop(t->trim)) != NULL) {
        space_release(t, op);
        done[n++] = op;
    }
    /* Another thread comes first each time, so that none waits behind a busy one. */
    for (unsigned i = 0; i < t->threads && n < max; i++) {
        struct storage_thread *thread = t->thread[(t->next_poll + i) % t->threads];

        while (n < max && (op = storage_thread_pop(thread)) != NULL) {
            if (!slab_drop(t, op))
                done[n++] = op;
        }
    }
    t->next_poll = (t->next_poll + 1) % t->threads;
    t->inside -= (unsigned)n;
    return n;
}

static int64_t storage_next_ns(struct tier *tier)
{
    return ((struct tier_storage *)tier)->ready ? 0 : INT64_MAX;
}

static int adopt_file(struct tier_storage *t, struct tier_op *op, uint64_t *size,
                      uint64_t *generation)
{
    struct data_id id = {.key = op->id.key, .shape = t->shape};
    void *place;
    int fd = layout_files_find(t->files, op->name, op->epoch, &place), rc;

    if (fd < 0)
        return fd;
    *size = place_bytes(place);
    rc = stored_generation(fd, 0, t->block, &id);
    *generation = id.generation;
    if (rc == 0 && op->verify != TIER_VERIFY_NONE)
        rc = *size % DATA_BLOCK ? -EBADMSG : stored_check_file(fd, 0, *size, &id, 0);
    close(fd);
    if (rc == 0)
        op->place = place;
    return rc;
}

static int adopt_extents(struct tier_storage *t, struct tier_op *op, uint64_t *size,
                         uint64_t *generation)
{
    struct data_id id = {.key = op->id.key, .shape = t->shape};
    int fd = layout_slab_fd(t->slab), rc = -ENOENT;
    uint64_t begin = layout_slab_begin(), block = 0, listed;
    uint32_t list = layout_slab_adopt(t->slab, op->name, &listed), pos = list;
    struct extent x;

    if (!extent_walk(t->space, &pos, &x))
        return -ENOENT;
    *size = extent_bytes(t->space, list);
    if (*size == DATA_PADDED(op->size))
        rc = stored_generation(fd, begin + x.offset, t->block, &id);
    *generation = id.generation;
    if (rc == 0 && listed && id.generation && id.generation != listed &&
        !layout_slab_unsure(t->slab)) {
        *generation = listed;
        rc = -ESTALE;
    }
    pos = list;
    while (rc == 0 && op->verify != TIER_VERIFY_NONE && extent_walk(t->space, &pos, &x)) {
        rc = stored_check_file(fd, begin + x.offset, x.len, &id, block);
        block += x.len / DATA_BLOCK;
    }
    if (rc < 0 && rc != -ESTALE)
        extent_release(t->space, list);
    else
        op->place = (void *)(uintptr_t)list;
    return rc;
}

static int storage_adopt(struct tier *tier, struct tier_op *op, uint64_t *size,
                         uint64_t *generation)
{
    struct tier_storage *t = (struct tier_storage *)tier;

    return t->files ? adopt_file(t, op, size, generation) : adopt_extents(t, op, size, generation);
}

static int storage_names(struct tier *tier, layout_files_found *found, void *ctx, struct err *e)
{
    const struct tier_storage *t = (const struct tier_storage *)tier;
    int rc = layout_files_each(t->files, found, ctx);

    return rc < 0 ? err_errno(e, rc, ERR_TARGET, t->info.target, "cannot be read") : 0;
}

static int storage_place(struct tier *tier, uint32_t epoch, uint64_t bytes, void **place)
{
    const struct tier_storage *t = (const struct tier_storage *)tier;

    return layout_files_place(t->files, epoch, bytes, place);
}

static void storage_describe(const struct tier *tier, struct tier_info *info)
{
    const struct tier_storage *t = (const struct tier_storage *)tier;

    *info = t->info;
    info->huge_pages = io_buffers_huge(storage_thread_buffers(t->thread[0]));
    if (info->huge_pages >= 0)
        notes_add(&info->flags, "buffers in %s pages", info->huge_pages ? "huge" : "small");
    for (unsigned i = 0; i < t->threads; i++) {
        int64_t io_ns;

        info->ios += storage_thread_ios(t->thread[i], &io_ns);
        info->io_ns += io_ns;
    }
}

static bool storage_torn(const struct tier *tier)
{
    const struct tier_storage *t = (const struct tier_storage *)tier;

    for (unsigned i = 0; i < t->threads; i++) {
        if (storage_thread_torn(t->thread[i]))
            return true;
    }
    return false;
}

static bool storage_lost(const struct tier *tier)
{
    return lease_lost(((const struct tier_storage *)tier)->lease);
}

static int storage_close(struct tier *tier, struct err *e)
{
    struct tier_storage *t = (struct tier_storage *)tier;
    int rc = 0;

    if (!t)
        return 0;
    for (unsigned i = 0; i < t->threads; i++) {
        int one = storage_thread_close(t->thread[i], rc == 0 ? e : NULL);

        if (rc == 0)
            rc = one;
    }
    storage_trim_close(t->trim);
    layout_files_close(t->files);
    free(t->block);
    free(t);
    return rc;
}

static const struct tier_ops storage_ops = {
    .submit = storage_submit,
    .kick = storage_kick,
    .poll = storage_poll,
    .next_ns = storage_next_ns,
    .adopt = storage_adopt,
    .names = storage_names, /* of files; a slab has an index */
    .place = storage_place,
    .describe = storage_describe,
    .torn = storage_torn,
    .lost = storage_lost,
    .close = storage_close,
};

/* ---- opening: what target and host allow ---- */

static int check_opts(const struct tier_storage_opts *o, struct err *e)
{
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

    if (o->chunk_bytes < DATA_BLOCK || o->chunk_bytes > STORAGE_CHUNK_MAX ||
        o->chunk_bytes % DATA_BLOCK != 0)
        return err_set(e, EINVAL, ERR_INPUT, "chunk-size",
                       "not a multiple of 4 KiB from 4 KiB to 64 MiB");
    if (o->iodepth < 1 || o->iodepth > 4096)
        return err_set(e, EINVAL, ERR_INPUT, "iodepth", "not within 1..4096");
    if (o->threads > STORAGE_THREADS_MAX)
        return err_set(e, EINVAL, ERR_INPUT, "threads", "more than %u rings", STORAGE_THREADS_MAX);
    if (!o->slab && o->epoch == 0)
        return err_set(e, EINVAL, ERR_INPUT, "epoch", "must not be 0");
    if (o->max_ops < 1)
        return err_set(e, EINVAL, ERR_INPUT, "inflight", "must be at least 1");
    /* Better refused now than killed for it later. */
    if (o->chunk_bytes * o->iodepth > memory / 4)
        return err_set(e, ENOMEM, ERR_INPUT, "",
                       "buffers for %u I/Os of %llu KiB need more than a quarter of memory",
                       o->iodepth, (unsigned long long)o->chunk_bytes / 1024);
    return 0;
}

/* Most bytes of one I/O. A buffer is cleared and pinned when it is made: one that no object
 * fills would cost a short run more than its I/O does. Objects that turn out to be larger, as of a
 * kept store, are moved in more of them. */
static uint32_t chunk_for(const struct tier_storage_opts *o)
{
    uint64_t largest = DATA_PADDED(o->largest_bytes);

    return (uint32_t)(largest > 0 && largest < o->chunk_bytes ? largest : o->chunk_bytes);
}

/* How many I/Os move all objects of the run; 0: not known. */
static uint64_t ios_for(const struct tier_storage_opts *o)
{
    uint64_t each = o->largest_bytes / chunk_for(o) + 1, all;

    return __builtin_mul_overflow(o->moves, each, &all) ? 0 : all;
}

/* Moves the block on a polled ring. 0 or why it failed. */
static int probe_move(struct tier_storage *t, struct io *ring, int fd, bool write)
{
    struct io_req r = {
        .fd = fd, .write = write, .buf = t->block, .len = DATA_BLOCK, .buf_index = -1};
    struct io_req *done[1];
    int rc = ring->ops->submit(ring, &r);

    if (rc == 0)
        rc = ring->ops->reap(ring, done, 1, clock_now_ns() + STORAGE_PROBE_NS);
    if (rc < 0)
        return rc;
    return rc == 1 ? r.result : -ETIMEDOUT;
}

/* 0: polled I/O works on the target; else the errno of the refusal. Devices without polled queues
 * refuse single I/Os, so a block goes there and back before the run: the slab's first block, or one
 * of a scratch file. The first write to a new block works everywhere; the read of it tells. */
static int probe_iopoll(struct tier_storage *t)
{
    struct io_opts o = {.depth = 1, .iopoll = true};
    struct layout_name n;
    struct io *ring;
    int fd, rc;

    if (t->slab) {
        fd = layout_slab_fd(t->slab);
        if (pread(fd, t->block, DATA_BLOCK, 0) != (ssize_t)DATA_BLOCK)
            return -EIO;
    } else {
        rc = layout_files_name(t->files, hash_128("iopoll", sizeof("iopoll")), NULL, true, &n);
        if (rc < 0)
            return rc;
        fd = openat(n.dirfd, n.text, layout_files_flags(t->files, LAYOUT_FILES_CUT) | O_CLOEXEC,
                    0644);
        if (fd < 0)
            return -errno;
        memset(t->block, 0, DATA_BLOCK);
    }
    rc = io_open(&ring, IO_URING, &o, NULL);
    if (rc == 0) {
        rc = probe_move(t, ring, fd, true);
        if (rc == 0)
            rc = probe_move(t, ring, fd, false);
        ring->ops->close(ring);
    }
    if (!t->slab) {
        close(fd);
        unlinkat(n.dirfd, n.text, 0);
    }
    return rc;
}

/* What the threads have to do without, which the tier tells. */
static void settle_engine(struct tier_storage *t, const struct tier_storage_opts *o, bool direct,
                          struct storage_thread_opts *w)
{
    if (!direct && !o->buffered)
        notes_add(&t->info.fallbacks,
                  "no O_DIRECT: buffered I/O, page cache dropped after each object");
    if (o->engine == IO_PSYNC) {
        if (o->sqpoll || o->iopoll)
            notes_add(&t->info.fallbacks, "no sqpoll, no iopoll (psync)");
        return;
    }
    w->sqpoll = o->sqpoll;
    if (o->iopoll && !direct) {
        notes_add(&t->info.fallbacks, "no iopoll (needs O_DIRECT)");
    } else if (o->iopoll) {
        int rc = probe_iopoll(t);
        w->iopoll = rc == 0;
        if (rc < 0)
            notes_add(&t->info.fallbacks, "no iopoll (%s)",
                      err_errno_name(-rc) ? err_errno_name(-rc) : "refused");
    }
}

/* Opens the layout and decides how threads shall do their I/O. */
static int prepare(struct tier_storage *t, const struct tier_storage_opts *o,
                   struct storage_thread_opts *w, struct err *e)
{
    int fd = o->slab ? layout_slab_fd(o->slab) : o->dirfd, rc;
    bool direct =
        !o->buffered && (o->slab ? (fcntl(fd, F_GETFL) & O_DIRECT) != 0 : target_direct_io(fd));
    struct target_device d;

    target_device_find(fd, &d);
    if (d.model[0])
        snprintf(t->info.device, sizeof(t->info.device), "%s (%s)", d.model, d.name);
    else
        snprintf(t->info.device, sizeof(t->info.device), "%s", d.name);
    if (posix_memalign(&t->block, DATA_BLOCK, DATA_BLOCK) != 0) {
        t->block = NULL;
        return err_nomem(e, "storage tier");
    }
    *w = (struct storage_thread_opts){.engine = o->engine,
                                      .max_ops = o->max_ops,
                                      .ios = ios_for(o),
                                      .pages = o->pages,
                                      .gaps = o->gaps,
                                      .lease = o->lease,
                                      .policy = {.chunk_bytes = chunk_for(o),
                                                 .buffered = !direct,
                                                 .sync_objects = o->sync_objects}};
    disk_map_find(fd, &w->policy.map);
    if (o->slab) {
        t->slab = o->slab;
        t->space = layout_slab_pool(o->slab);
        w->policy.space = t->space;
        w->policy.slab_fd = fd;
        w->policy.slab_begin = layout_slab_begin();
    } else {
        const struct layout_files_opts files = {.dirfd = fd, .direct = direct, .epoch = o->epoch};

        rc = layout_files_open(&t->files, &files, e);
        if (rc < 0)
            return rc;
        w->policy.files = t->files;
        if (o->objects >= LAYOUT_FILES_FOLDERS) /* nearly all folders will be needed */
            layout_files_prepare(t->files);
    }
    settle_engine(t, o, direct, w);
    return 0;
}

/* ---- opening: threads ---- */

/* Every open file takes a descriptor, every folder keeps one and every ring two. */
static int limit_files(const struct tier_storage *t, const struct tier_storage_opts *o,
                       unsigned threads, struct storage_thread_opts *w, struct err *e)
{
    unsigned kept = LAYOUT_FILES_FOLDERS + (o->engine == IO_PSYNC ? 0 : 2 * threads);
    unsigned engines = o->engines ? o->engines : 1;
    uint64_t each = storage_thread_objects(o->iodepth / threads + 1), can;

    can = descriptors_want((kept + threads * (each < o->max_ops ? each : o->max_ops)) * engines) /
          engines;
    if (!t->files) /* a slab needs few; without enough for rings, psync serves */
        return 0;
    if (can < kept + threads)
        return err_set(
            e, EMFILE, ERR_TARGET, t->info.target,
            "the run needs %u open files, directories and rings besides those of the program, "
            "but the limit is %llu in all (ulimit -n); --layout slab needs only one",
            (kept + threads) * engines, (unsigned long long)descriptors_limit());
    w->max_open = (unsigned)(can - kept) / threads;
    return 0;
}

/* One note for all that an engine had to do without. */
static void note_engine(struct tier_storage *t, const struct storage_thread *thread)
{
    char text[NOTES_CAP];

    notes_join(&storage_thread_io(thread)->fallbacks, ", ", text, sizeof(text));
    if (text[0] && !notes_has(&t->info.fallbacks, text))
        notes_add(&t->info.fallbacks, "%s", text);
}

/* Starts the threads, which share the iodepth I/Os. Results name one engine: when the host has
 * memory or descriptors for some rings only, all threads take psync. */
static int start_threads(struct tier_storage *t, const struct tier_storage_opts *o,
                         struct storage_thread_opts *w, struct err *e)
{
    unsigned threads = o->threads < o->iodepth ? o->threads : o->iodepth;
    unsigned noted = t->info.fallbacks.count;
    int rc;

    threads = threads ? threads : 1;
    rc = limit_files(t, o, threads, w, e);
    if (rc < 0)
        return rc;
    while (t->threads < threads) {
        struct storage_thread **new = &t->thread[t->threads];

        w->number = o->first + t->threads;
        w->depth = o->iodepth / threads + (t->threads < o->iodepth % threads);
        rc = storage_thread_open(new, w, e);
        if (rc < 0)
            return rc;
        t->threads++;
        if (storage_thread_io(*new)->ops->engine == storage_thread_io(t->thread[0])->ops->engine) {
            note_engine(t, *new);
            continue;
        }
        t->info.fallbacks.count = noted;
        note_engine(t, *new);
        while (t->threads > 0)
            storage_thread_close(t->thread[--t->threads], NULL);
        w->engine = IO_PSYNC;
    }
    return 0;
}

int tier_storage_open(struct tier **out, const struct tier_storage_opts *o, struct bell *bell,
                      struct err *e)
{
    struct storage_trim_opts trim = {.lease = o->lease, .max_ops = o->max_ops, .bell = bell};
    struct tier_storage *t = NULL;
    struct storage_thread_opts w;
    const struct io *io;
    int rc = check_opts(o, e);

    if (rc < 0)
        return rc;
    t = calloc(1, sizeof(*t));
    if (!t)
        return err_nomem(e, "storage tier");
    t->tier.ops = &storage_ops;
    t->max_ops = o->max_ops;
    t->lease = o->lease;
    t->shape = o->shape;
    snprintf(t->info.target, sizeof(t->info.target), "%s", o->path ? o->path : "");
    rc = prepare(t, o, &w, e);
    if (rc < 0)
        goto out;
    if (t->slab && target_device_discards(layout_slab_fd(t->slab))) {
        trim.fd = layout_slab_fd(t->slab);
        trim.space = t->space;
        trim.begin = layout_slab_begin();
        rc = storage_trim_open(&t->trim, &trim, e);
        if (rc < 0)
            goto out;
    }
    w.bell = bell;
    rc = start_threads(t, o, &w, e);
    if (rc < 0)
        goto out;

    io = storage_thread_io(t->thread[0]);
    t->info.engine = io->ops->name;
    t->info.verifies = t->info.takes_slots = true;
    t->info.registered = io->registered;
    t->info.direct = !w.policy.buffered;
    t->info.threads = t->threads;
    notes_add(&t->info.flags, "%s", w.policy.buffered ? "buffered" : "O_DIRECT");
    notes_add(&t->info.flags, "%u I/Os of %u KiB", o->iodepth, (unsigned)(o->chunk_bytes / 1024));
    notes_add(&t->info.flags, "%u ring%s", t->threads, units_plural(t->threads));
    notes_merge(&t->info.flags, &io->flags);
    if (o->sync_objects)
        notes_add(&t->info.flags, "objects synced");
out:
    if (rc < 0)
        storage_close(&t->tier, NULL);
    else
        *out = &t->tier;
    return rc;
}
