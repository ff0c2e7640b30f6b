/* Opens and closes one target of a run. fill.c writes to it. */
#include "kvprecond/lane.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/units.h"
#include "lib/thread/thread.h"

/* Targets on the file system of this one, itself included. */
static unsigned sharers(const struct lane *l)
{
    dev_t mine, other;
    unsigned n = 1;

    if (target_file_system(l->at->path, &mine) < 0)
        return 1;
    for (unsigned i = 0; i < l->o->target_count; i++)
        n += i != l->number && target_file_system(l->o->targets[i].path, &other) == 0 &&
             other == mine;
    return n;
}

static int take_target(struct lane *l, struct notes *fallbacks, struct err *e)
{
    const struct fill_target_opts o = {.path = l->at->path,
                                       .kind = l->at->kind,
                                       .reserve_share = l->o->reserve_share,
                                       .keep = l->o->keep,
                                       .data_seed = l->o->seed,
                                       .destroy_data = l->o->destroy_data,
                                       .buffered = l->o->buffered,
                                       .targets = l->o->target_count,
                                       .sharers = sharers(l) + l->others};
    int rc = fill_target_open(&l->target, &o, e);

    if (rc < 0)
        return rc;
    l->capacity = fill_target_capacity(l->target);
    l->direct = fill_target_direct(l->target);
    if (!l->direct && !l->o->buffered &&
        !notes_has(fallbacks, "O_DIRECT refused by the file system"))
        notes_add(fallbacks, "O_DIRECT refused by the file system");
    target_device_find(fill_target_fd(l->target), &l->device);
    l->node = target_device_node(l->device.name);
    return 0;
}

/* Buffers of a queue, the same for all lanes: no more than a fill that ends has writes, since the
 * rest would be cleared and pinned in vain. */
static unsigned buffers_needed(const struct options *o, uint32_t write_bytes)
{
    unsigned bufs = fill_buffers((unsigned)o->iodepth, write_bytes);
    uint64_t file = o->file_bytes > 0 && o->file_bytes < o->size ? o->file_bytes : o->size;
    uint64_t writes;

    if (o->size == 0 || o->mode == PLAN_KV || o->until_steady)
        return bufs;
    writes = (o->size + file - 1) / file * ((file + write_bytes - 1) / write_bytes);
    return writes < bufs ? (unsigned)writes : bufs;
}

/* The region is the whole device, or as much of a directory or file as was asked for. */
static int make_plan(struct lane *l, struct err *e)
{
    const struct options *o = l->o;
    const uint64_t object = DATA_PADDED(o->object_bytes), capacity = l->capacity;
    struct plan_opts p = {.mode = o->mode,
                          .region = capacity ? capacity : o->size,
                          .volume = o->size ? o->size : 2 * capacity,
                          .object_bytes = object,
                          .file_per_object = l->at->kind == TARGET_DIR,
                          .write_bytes = (uint32_t)o->block_bytes,
                          /* Drives behind one deduplicating store must not look alike. */
                          .seed = l->number ? hash_mix(o->seed + l->number) : o->seed};

    if (p.mode == PLAN_KV) {
        if (capacity && capacity < object)
            return err_set(e, ENOSPC, ERR_TARGET, l->at->path, "is smaller than an object of %s",
                           o->model.id);
        p.region =
            capacity ? capacity / object * object : (p.volume + object - 1) / object * object;
        p.volume = o->size ? p.volume : 2 * p.region;
    }
    p.file_bytes = l->at->kind == TARGET_DIR ? o->file_bytes : p.region;
    l->depth = (unsigned)o->iodepth;
    l->bufs = buffers_needed(o, p.write_bytes);
    l->queue_count = (unsigned)o->threads;
    if (p.mode == PLAN_STREAM) {
        l->bufs = (unsigned)o->buffers;
        l->depth = l->depth < l->bufs ? l->depth : l->bufs;
        l->queue_count = 1;
    }
    plan_init(&l->plan, &p);
    l->size_bytes = plan_volume_bytes(&l->plan);
    l->pool_bytes = (size_t)l->bufs * o->block_bytes;
    if (l->o->remote)
        return 0;
    return fill_target_plan(l->target, &l->plan, (l->bufs + 1) * l->queue_count, e);
}

static int take_remote(struct lane *l, struct err *e)
{
    const struct remote_stream_opts o = {.uri = &l->o->uri,
                                         .keep = l->o->keep,
                                         .destroy_data = l->o->destroy_data,
                                         .data_seed = l->o->seed,
                                         .timeout_ns = l->o->timeout_ns,
                                         .retries = (unsigned)l->o->retries,
                                         .plan = &l->plan,
                                         .depth = l->depth};

    return remote_stream_open(&l->remote, &o, e);
}

int lane_open(struct lane *l, struct notes *fallbacks, struct err *e)
{
    int rc = 0;

    l->node = -1;
    if (!l->o->remote)
        rc = take_target(l, fallbacks, e);
    if (rc == 0)
        rc = make_plan(l, e);
    return rc == 0 && l->o->remote ? take_remote(l, e) : rc;
}

uint64_t lane_buffer_bytes(const struct lane *l)
{
    return (uint64_t)l->pool_bytes * l->queue_count;
}

static int open_queue(struct lane *l, struct fill_queue *q, struct notes *fallbacks, struct err *e)
{
    struct io_opts o = {.depth = l->depth, .buf_bytes = l->o->block_bytes, .bufs = l->bufs};
    int rc;

    q->pool = o.pool =
        io_buffers_map(l->pool_bytes, l->o->small_pages ? IO_PAGES_SMALL : IO_PAGES_HUGE);
    if (!q->pool)
        return err_nomem(e, "buffers");
    if (l->remote)
        q->io = remote_stream_io(l->remote);
    rc = l->remote ? 0 : io_open(&q->io, l->o->engine, &o, e);
    if (rc < 0)
        return rc;
    /* A later queue may lack what the first could have: descriptors, memory to lock. */
    notes_merge(fallbacks, &q->io->fallbacks);
    l->engine = q->io->ops->name;
    return 0;
}

int lane_open_queues(struct lane *l, struct notes *fallbacks, struct err *e)
{
    cpu_set_t cpus;
    bool near;
    int rc = 0;

    l->queues = calloc(l->queue_count, sizeof(*l->queues));
    l->service = hist_create();
    if (!l->queues || !l->service)
        return err_nomem(e, "buffers");
    near = thread_enter_node("/sys", l->node, &cpus) == 0;
    for (unsigned i = 0; i < l->queue_count && rc == 0; i++)
        rc = open_queue(l, &l->queues[i], fallbacks, e);
    if (near)
        thread_leave_node(&cpus);
    return rc;
}

int lane_close(struct lane *l, bool keep, struct err *e)
{
    int rc = remote_stream_close(l->remote, keep, e);

    for (unsigned i = 0; l->queues && i < l->queue_count; i++) {
        if (l->queues[i].io && !l->remote)
            l->queues[i].io->ops->close(l->queues[i].io);
        io_buffers_unmap(l->queues[i].pool, l->pool_bytes);
    }
    free(l->queues);
    if (!l->o->remote)
        rc = fill_target_close(l->target, keep, e);
    hist_free(l->service);
    l->target = NULL;
    l->remote = NULL;
    return rc;
}
