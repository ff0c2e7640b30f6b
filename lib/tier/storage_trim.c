/* Discards the extents of deleted objects, beside the threads of a storage tier on a block device.
 * It has a thread of its own because one discard may take a device milliseconds. The tier
 * (storage.c) releases the space afterwards. */
#include "lib/tier/storage_trim.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "lib/base/clock.h"
#include "lib/thread/spsc.h"
#include "lib/thread/thread.h"

struct storage_trim {
    struct storage_trim_opts o;
    struct spsc *todo, *done;
    struct bell *work;
    atomic_bool stop;
    pthread_t thread;
};

static void trim_one(struct storage_trim *t, struct tier_op *op)
{
    int64_t start = clock_now_ns();
    struct extent x;

    op->status = 0;
    for (uint32_t pos = (uint32_t)(uintptr_t)op->place; extent_walk(t->o.space, &pos, &x);) {
        uint64_t range[2] = {t->o.begin + x.offset, x.len};

        if (!lease_valid(t->o.lease)) {
            op->status = -ESTALE;
            break;
        }
        if (ioctl(t->o.fd, BLKDISCARD, range) < 0)
            break;
    }
    if (op->verb != TIER_DELETE) /* a read that drops was done when its bytes had arrived */
        return;
    op->done_ns = clock_now_ns();
    op->part.meta_ns = op->device_ns = op->done_ns - start;
}

static void *trim_run(void *arg)
{
    struct storage_trim *t = arg;

    for (;;) {
        uint32_t seen = bell_seen(t->work);
        struct tier_op *op = spsc_pop(t->todo);

        if (op) {
            trim_one(t, op);
            spsc_push(t->done, op); /* has room for max_ops */
            bell_ring(t->o.bell);
        } else if (atomic_load_explicit(&t->stop, memory_order_acquire)) {
            return NULL;
        } else {
            bell_wait(t->work, seen, INT64_MAX);
        }
    }
}

static void trim_free(struct storage_trim *t)
{
    bell_free(t->work);
    spsc_free(t->todo);
    spsc_free(t->done);
    free(t);
}

int storage_trim_open(struct storage_trim **out, const struct storage_trim_opts *o, struct err *e)
{
    struct storage_trim *t = calloc(1, sizeof(*t));
    int rc;

    if (!t)
        return err_nomem(e, "discards");
    t->o = *o;
    t->todo = spsc_create(o->max_ops);
    t->done = spsc_create(o->max_ops);
    t->work = bell_create();
    rc = t->todo && t->done && t->work ? thread_start(&t->thread, trim_run, t) : -ENOMEM;
    if (rc < 0) {
        trim_free(t);
        return thread_refused(e, rc, "a thread for discards");
    }
    *out = t;
    return 0;
}

void storage_trim_push(struct storage_trim *t, struct tier_op *op)
{
    spsc_push(t->todo, op);
    bell_ring(t->work);
}

struct tier_op *storage_trim_pop(struct storage_trim *t)
{
    return spsc_pop(t->done);
}

void storage_trim_close(struct storage_trim *t)
{
    if (!t)
        return;
    atomic_store_explicit(&t->stop, true, memory_order_release);
    bell_ring(t->work);
    pthread_join(t->thread, NULL);
    trim_free(t);
}
