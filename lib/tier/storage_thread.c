/* The thread of a storage worker. Calls that open and close objects go through the engine beside
 * the I/Os. All objects inside take turns, a chunk each, as those of separate readers and writers
 * would: none waits behind a large one, and what a busy device makes them wait is device time. More
 * buffers than I/O slots let it fill the next chunk while the device works and check the last one
 * after its slot is taken again. */
#include "lib/tier/storage_thread.h"

#include <errno.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define THREAD_BROKEN_NS 1000000
#define THREAD_REAP_MAX  64
/* Bytes filled or checked between two looks at the device: small chunks go in batches. */
#define THREAD_SLICE (128u << 10)

static void list_init(struct slot_list *l)
{
    l->head = NULL;
    l->tail = &l->head;
    l->count = 0;
}

static void list_push(struct slot_list *l, struct slot *s)
{
    s->next = NULL;
    *l->tail = s;
    l->tail = &s->next;
    l->count++;
}

static struct slot *list_pop(struct slot_list *l)
{
    struct slot *s = l->head;

    if (!s)
        return NULL;
    l->head = s->next;
    if (!l->head)
        l->tail = &l->head;
    l->count--;
    return s;
}

/* ---- the life of an object ---- */

static void op_finish(struct storage_worker *w, struct tier_op *op)
{
    op->done_ns = clock_now_ns();
    spsc_push(w->done, op); /* has room for max_ops */
    w->finished++;
}

static void object_free(struct storage_worker *w, struct storage_object *ob)
{
    ob->op = NULL;
    ob->next = w->free_objects;
    w->free_objects = ob;
}

/* The engine is gone: whatever is in flight may still write to its buffer and use its descriptor,
 * so no buffer and no object is used again, and files stay open until the engine is closed. */
static void worker_break(struct storage_worker *w, int status)
{
    w->broken = status;
    w->free_slots = NULL;
    w->free_objects = w->moving = NULL;
    list_init(&w->ready);
    list_init(&w->arrived);
    w->in_flight = w->calls = 0;
    for (unsigned i = 0; i < w->object_count; i++) {
        struct storage_object *ob = &w->objects[i];

        if (!ob->op)
            continue;
        ob->op->status = status;
        op_finish(w, ob->op);
        ob->op = NULL;
    }
}

/* Whose closing was not yet the broken engine's. */
static void worker_close_files(struct storage_worker *w)
{
    for (unsigned i = 0; i < w->object_count; i++) {
        const struct storage_object *ob = &w->objects[i];

        if (ob->opened && !ob->slot && ob->stage < STORAGE_CLOSE)
            close(ob->fd);
    }
}

static void moving_push(struct storage_worker *w, struct storage_object *ob)
{
    ob->next = NULL;
    if (w->moving)
        *w->moving_last = ob;
    else
        w->moving = ob;
    w->moving_last = &ob->next;
}

/* After an error, whosever turn it is. */
static void moving_remove(struct storage_worker *w, struct storage_object *ob)
{
    struct storage_object **at = &w->moving;

    while (*at && *at != ob)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = ob->next;
    if (!*at)
        w->moving_last = at;
}

/* On to the next thing that ob needs. */
static void object_go_on(struct storage_worker *w, struct storage_object *ob)
{
    int ret;

    switch (storage_object_next(ob, &w->o.policy)) {
    case STORAGE_MOVE:
        moving_push(w, ob);
        return;
    case STORAGE_DONE:
        op_finish(w, ob->op);
        object_free(w, ob);
        return;
    default:
        w->calls++;
        w->queued = true;
        ret = w->io->ops->submit(w->io, &ob->call);
        if (ret < 0)
            worker_break(w, ret);
        return;
    }
}

static void call_done(struct storage_worker *w, struct storage_object *ob)
{
    w->calls--;
    storage_object_called(ob);
    if (ob->op->status < 0)
        ob->issued = ob->bytes; /* nothing is moved */
    object_go_on(w, ob);
}

/* A chunk of ob has left its buffer: was it the last? */
static void object_moved(struct storage_worker *w, struct storage_object *ob)
{
    ob->moving--;
    if (ob->issued < ob->bytes || ob->moving > 0)
        return;
    ob->stage = STORAGE_MOVE + 1;
    object_go_on(w, ob);
}

static void object_fail(struct storage_worker *w, struct storage_object *ob, int status)
{
    if (ob->op->status == 0 || ob->op->status == -EBADMSG)
        ob->op->status = status;
    if (ob->issued < ob->bytes)
        moving_remove(w, ob);
    ob->issued = ob->bytes;
}

static bool work_begin(struct storage_worker *w)
{
    bool any = false;

    while (w->free_objects) {
        struct storage_object *ob = w->free_objects;
        struct tier_op *op = spsc_pop(w->in);

        if (!op)
            break;
        any = true;
        w->free_objects = ob->next;
        storage_object_begin(ob, &w->o.policy, op, w->file_slots ? (int)(ob - w->objects) : -1);
        if (op->status < 0)
            ob->issued = ob->bytes;
        object_go_on(w, ob);
    }
    return any;
}

/* ---- chunks ---- */

static void slot_release(struct storage_worker *w, struct slot *s)
{
    s->next = w->free_slots;
    w->free_slots = s;
    object_moved(w, s->object);
}

/* Gives the next chunk of the object whose turn it is a buffer; to write, it is filled here. */
static void slot_prepare(struct storage_worker *w)
{
    struct storage_object *ob = w->moving;
    struct slot *s = w->free_slots;

    w->free_slots = s->next;
    s->object = ob;
    s->at = ob->issued;
    storage_object_chunk(ob, &w->o.policy, &s->req);
    ob->moving++;
    w->moving = ob->next;
    if (ob->issued < ob->bytes)
        moving_push(w, ob);
    if (s->req.write)
        storage_object_fill(ob, &s->req, s->at);
    list_push(&w->ready, s);
}

/* Reads cost nothing before they are sent: all empty places at the device at once. Writes are
 * filled, ahead of what the device takes too. */
static bool work_prepare(struct storage_worker *w)
{
    uint32_t filled = 0;
    bool any = false;

    while (w->moving && w->free_slots && filled < THREAD_SLICE) {
        bool write = w->moving->op->verb == TIER_WRITE;

        if (!write && w->in_flight + w->ready.count >= w->o.depth)
            break;
        slot_prepare(w);
        if (write)
            filled +=
                w->o.policy.chunk_bytes < THREAD_SLICE ? w->o.policy.chunk_bytes : THREAD_SLICE;
        any = true;
    }
    return any;
}

static bool work_check(struct storage_worker *w)
{
    uint32_t checked = 0;
    struct slot *s;

    while (checked < THREAD_SLICE && (s = list_pop(&w->arrived))) {
        checked += s->req.len;
        storage_object_check(s->object, &s->req, s->at);
        slot_release(w, s);
    }
    return checked > 0;
}

static void ring_bell(struct storage_worker *w)
{
    if (w->finished == 0)
        return;
    w->finished = 0;
    bell_ring(w->o.bell);
}

static void work_submit(struct storage_worker *w)
{
    int64_t now = 0;
    int ret = 0;

    while (w->in_flight < w->o.depth && w->ready.head && ret == 0) {
        struct slot *s = list_pop(&w->ready);

        if (now == 0)
            now = clock_now_ns();
        if (s->object->in_flight++ == 0)
            s->object->busy_since_ns = now;
        w->in_flight++;
        w->queued = true;
        ret = w->io->ops->submit(w->io, &s->req);
    }
    if (ret == 0 && w->queued)
        ret = w->io->ops->kick(w->io);
    w->queued = false;
    if (ret < 0)
        worker_break(w, ret);
}

static void slot_done(struct storage_worker *w, struct slot *s)
{
    struct storage_object *ob = s->object;

    w->in_flight--;
    if (--ob->in_flight == 0)
        ob->op->device_ns += s->req.done_ns - ob->busy_since_ns;
    atomic_fetch_add_explicit(&w->io_ns, s->req.done_ns - s->req.start_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&w->ios, 1, memory_order_relaxed);
    if (s->req.result < 0) /* past the end of a file: more was asked than is stored */
        object_fail(w, ob, s->req.result == -ENODATA ? -EINVAL : s->req.result);
    if (ob->op->verb == TIER_READ && ob->op->verify != TIER_VERIFY_NONE && s->req.result == 0)
        list_push(&w->arrived, s);
    else
        slot_release(w, s);
}

/* Completions that are there, or, with wait, the first that comes. */
static void work_reap(struct storage_worker *w, bool wait)
{
    struct io_req *done[THREAD_REAP_MAX];
    int n = w->io->ops->reap(w->io, done, THREAD_REAP_MAX, wait ? INT64_MAX : 0);

    if (n < 0 && w->broken == 0)
        worker_break(w, n);
    for (int i = 0; i < n && w->broken == 0; i++) {
        if (done[i]->call == IO_TRANSFER)
            slot_done(w, done[i]->owner);
        else
            call_done(w, done[i]->owner);
    }
}

/* A broken engine serves nothing any more. */
static bool worker_refuse(struct storage_worker *w)
{
    struct tier_op *op = spsc_pop(w->in);

    if (!op)
        return false;
    op->status = w->broken;
    op->device_ns = 0;
    op_finish(w, op);
    return true;
}

/*
 * One step of whatever is to do, the device first: its slots are refilled after every piece of work
 * of ours, so none stays empty for longer than a chunk takes to fill or check.
 */
static bool worker_step(struct storage_worker *w)
{
    bool any;

    if (w->broken < 0)
        return worker_refuse(w);
    if (w->in_flight + w->calls > 0)
        work_reap(w, false);
    ring_bell(w);      /* filling a chunk and handing I/Os to the device take up to a millisecond */
    if (w->ready.head) /* what was filled ahead, before more is */
        work_submit(w);
    any = work_begin(w);
    any |= work_prepare(w);
    work_submit(w);
    return work_check(w) || any;
}

/* For a completion or for more to do. A broken engine cannot wait. */
static void worker_wait(struct storage_worker *w)
{
    if (w->broken < 0)
        clock_sleep_until(clock_now_ns() + THREAD_BROKEN_NS, 0);
    else
        work_reap(w, true);
}

void *storage_thread_run(void *arg)
{
    struct storage_worker *w = arg;

    while (!atomic_load_explicit(&w->stop, memory_order_acquire)) {
        bool busy = worker_step(w);

        ring_bell(w);
        if (!busy && !atomic_load_explicit(&w->stop, memory_order_acquire)) {
            worker_wait(w);
            ring_bell(w);
        }
    }
    pthread_mutex_lock(&w->stop_lock);
    pthread_mutex_unlock(&w->stop_lock);
    w->io->ops->close(w->io); /* here: a ring belongs to the thread that used it */
    if (w->broken < 0)
        worker_close_files(w);
    return NULL;
}

void storage_thread_prepare(struct storage_worker *w)
{
    list_init(&w->ready);
    list_init(&w->arrived);
    for (unsigned i = w->slot_count; i-- > 0;) {
        struct slot *s = &w->slots[i];

        s->req.buf = (char *)w->pool + (size_t)i * w->o.policy.chunk_bytes;
        s->req.buf_index = (int)i;
        s->req.owner = s;
        s->next = w->free_slots;
        w->free_slots = s;
    }
    for (unsigned i = w->object_count; i-- > 0;)
        object_free(w, &w->objects[i]);
}
