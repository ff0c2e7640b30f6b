/* A worker of the storage tier: takes memory and an I/O engine, starts the thread that serves
 * operations (storage_thread.c), and hands these over and back. storage.c spreads operations
 * over workers. */
#include "lib/tier/storage_worker.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/thread.h"
#include "lib/tier/storage_thread.h"

/* Buffers beyond the I/O slots, so that filling and checking never leave a slot empty. */
#define WORKER_AHEAD_MIN 2u
#define WORKER_AHEAD_MAX 64u
/* Objects open at once, however small: 4 an I/O slot, and these. */
#define WORKER_OBJECTS 64u

unsigned storage_worker_objects(unsigned depth)
{
    return depth * 4 + WORKER_OBJECTS;
}

static int worker_memory(struct storage_worker *w)
{
    unsigned ahead = w->o.depth * 3 / 4;
    uint32_t chunk_bytes = w->o.policy.chunk_bytes;

    if (ahead < WORKER_AHEAD_MIN)
        ahead = WORKER_AHEAD_MIN;
    if (ahead > WORKER_AHEAD_MAX)
        ahead = WORKER_AHEAD_MAX;
    w->slot_count = w->o.depth + ahead;
    w->object_count = storage_worker_objects(w->o.depth);
    if (w->object_count > w->o.max_ops)
        w->object_count = w->o.max_ops;
    if (w->o.policy.files && w->object_count > w->o.max_open)
        w->object_count = w->o.max_open;
    w->pool_bytes = (size_t)w->slot_count * chunk_bytes;
    w->pool = io_buffers_map(w->pool_bytes);
    w->slots = calloc(w->slot_count, sizeof(*w->slots));
    w->objects = calloc(w->object_count, sizeof(*w->objects));
    w->in = spsc_create(w->o.max_ops);
    w->done = spsc_create(w->o.max_ops);
    return w->pool && w->slots && w->objects && w->in && w->done ? 0 : -ENOMEM;
}

static int worker_engine(struct storage_worker *w, struct err *e)
{
    const struct storage_policy *p = &w->o.policy;
    struct io_opts io = {.depth = w->o.depth + w->object_count,
                         .data = w->o.depth,
                         .pool = w->pool,
                         .buf_bytes = p->chunk_bytes,
                         .bufs = w->slot_count,
                         .file = p->files ? NULL : &p->slab_fd,
                         .slots = p->files ? w->object_count : 0,
                         .sqpoll = w->o.sqpoll,
                         .iopoll = w->o.iopoll};
    int ret = io_open(&w->io, w->o.engine, &io, e);

    if (ret < 0)
        return ret;
    w->file_slots = w->io->slots >= w->object_count;
    return 0;
}

static void worker_free(struct storage_worker *w)
{
    pthread_mutex_destroy(&w->stop_lock);
    spsc_free(w->done);
    spsc_free(w->in);
    free(w->objects);
    free(w->slots);
    io_buffers_unmap(w->pool, w->pool_bytes);
    free(w);
}

int storage_worker_open(struct storage_worker **out, const struct storage_worker_opts *o,
                        struct err *e)
{
    struct storage_worker *w = calloc(1, sizeof(*w));
    int ret;

    if (!w)
        return err_nomem(e, "storage thread");
    w->o = *o;
    pthread_mutex_init(&w->stop_lock, NULL);
    if (worker_memory(w) < 0) {
        ret = err_nomem(e, "storage buffers");
        goto fail;
    }
    storage_thread_prepare(w);
    ret = worker_engine(w, e);
    if (ret < 0)
        goto fail;
    ret = thread_start(&w->thread, storage_thread_run, w);
    if (ret < 0) {
        w->io->ops->close(w->io);
        err_errno(e, ret, ERR_FAILED, "", "cannot start a storage thread");
        goto fail;
    }
    *out = w;
    return 0;
fail:
    worker_free(w);
    return ret;
}

bool storage_worker_push(struct storage_worker *w, struct tier_op *op)
{
    if (!spsc_push(w->in, op))
        return false;
    w->pushed = true;
    return true;
}

void storage_worker_kick(struct storage_worker *w)
{
    if (!w->pushed)
        return;
    w->pushed = false;
    w->io->ops->wake(w->io);
}

struct tier_op *storage_worker_pop(struct storage_worker *w)
{
    return spsc_pop(w->done);
}

const struct io *storage_worker_io(const struct storage_worker *w)
{
    return w->io;
}

uint64_t storage_worker_ios(const struct storage_worker *w, int64_t *io_ns)
{
    *io_ns = atomic_load_explicit(&w->io_ns, memory_order_relaxed);
    return atomic_load_explicit(&w->ios, memory_order_relaxed);
}

int storage_worker_close(struct storage_worker *w, struct err *e)
{
    int broken;

    if (!w)
        return 0;
    pthread_mutex_lock(&w->stop_lock);
    atomic_store_explicit(&w->stop, true, memory_order_release);
    w->io->ops->wake(w->io);
    pthread_mutex_unlock(&w->stop_lock);
    pthread_join(w->thread, NULL);
    broken = w->broken;
    worker_free(w);
    if (broken < 0)
        return err_errno(e, broken, ERR_FAILED, "", "the I/O engine failed");
    return 0;
}
