/* A thread of the storage tier. Chunks of the oldest object go first, those of the next ones fill
 * up the device's queue; more buffers than I/O slots let it fill the next chunk while the device
 * works and check the last one after its slot is taken again. tier_storage.c spreads operations
 * over workers. */
#include "lib/storage_worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/spsc.h"
#include "lib/storage_place.h"

#define WORKER_TEXT_CAP  320
#define WORKER_BROKEN_NS 1000000
#define WORKER_REAP_MAX  64
/* Buffers beyond the I/O slots, so that filling and checking never leave a slot empty. */
#define WORKER_AHEAD_MIN 2u
#define WORKER_AHEAD_MAX 64u

/* A chunk's buffer and its I/O. */
struct slot {
    struct io_req req;
    struct object *object;
    uint64_t at; /* offset in the object */
    struct slot *next;
};

/* First in, first out. */
struct slot_list {
    struct slot *head, **tail;
    unsigned count;
};

/* An operation being served. */
struct object {
    struct tier_op *op;
    struct layout_place place;
    uint64_t bytes;  /* to move, whole blocks */
    uint64_t issued; /* of those, given to a slot */
    unsigned slots;  /* that it holds now */
    unsigned in_flight;
    int64_t busy_since_ns;
    struct object *next;
};

struct storage_worker {
    /* constant after open */
    struct storage_worker_opts o;
    struct io *io;
    void *pool;
    size_t pool_bytes;
    unsigned slot_count;
    struct slot *slots;
    struct object *objects;
    char fallbacks[WORKER_TEXT_CAP];
    pthread_t thread;
    /* between threads */
    struct spsc *in, *done;
    atomic_bool stop;
    pthread_mutex_t
        stop_lock; /* held while the engine is woken to see stop: it must still be there */
    atomic_uint_least64_t ios;
    atomic_int_least64_t io_ns;
    /* the tier's owner's */
    bool pushed;
    /* the thread's */
    struct slot *free_slots;
    struct slot_list ready;   /* filled or to be read, waiting for the device */
    struct slot_list arrived; /* read, waiting to be checked */
    struct object *free_objects;
    struct object *first, **last; /* active, oldest first */
    struct object *cursor;        /* the oldest with bytes not issued */
    unsigned in_flight;
    unsigned finished; /* operations since the bell was rung */
    int broken;        /* the engine failed: negative errno */
};

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

/* ---- an operation's end ---- */

static void op_finish(struct storage_worker *w, struct tier_op *op)
{
    op->done_ns = clock_now_ns();
    spsc_push(w->done, op); /* has room for max_ops */
    w->finished++;
}

/* The first fault in the object wins, in whatever order chunks are checked. */
static void op_fault(struct tier_op *op, const struct data_fault *fault)
{
    if (op->status == -EBADMSG && op->fault.offset <= fault->offset)
        return;
    if (op->status == 0 || op->status == -EBADMSG) {
        op->status = -EBADMSG;
        op->fault = *fault;
    }
}

static void object_unlink(struct storage_worker *w, struct object *ob)
{
    struct object **p = &w->first;

    while (*p != ob)
        p = &(*p)->next;
    *p = ob->next;
    if (!*p)
        w->last = p;
    ob->next = w->free_objects;
    w->free_objects = ob;
}

/* Finishes ob if nothing of it is left to do. */
static void object_check_end(struct storage_worker *w, struct object *ob)
{
    struct storage_place_end how = {.buffered = w->o.buffered, .sync = w->o.sync_objects};
    struct tier_op *op = ob->op;

    if (ob->issued < ob->bytes || ob->slots > 0)
        return;
    op->status = storage_place_end(w->o.layout, op, &ob->place, how, op->status);
    op_finish(w, op);
    object_unlink(w, ob);
}

/* After an error nothing more of the object is moved. */
static void object_fail(struct storage_worker *w, struct object *ob, int status)
{
    if (ob->op->status == 0 || ob->op->status == -EBADMSG)
        ob->op->status = status;
    ob->issued = ob->bytes;
    if (w->cursor == ob)
        w->cursor = ob->next;
}

/* ---- an operation's begin ---- */

/* Takes op up: what moves no bytes is finished here. */
static void op_begin(struct storage_worker *w, struct tier_op *op)
{
    struct object *ob = w->free_objects;

    op->status = w->broken;
    op->device_ns = 0;
    if (op->status == 0 && op->verb == TIER_DELETE)
        op->status = w->o.layout->ops->remove(w->o.layout, op->name);
    if (op->status < 0 || op->verb == TIER_DELETE) {
        op_finish(w, op);
        return;
    }
    *ob = (struct object){.op = op, .bytes = DATA_PADDED(op->size), .next = ob->next};
    op->status = storage_place_begin(w->o.layout, op, &ob->place);
    if (op->status < 0) {
        op_finish(w, op);
        return;
    }
    w->free_objects = ob->next;
    ob->next = NULL;
    *w->last = ob;
    w->last = &ob->next;
    if (!w->cursor)
        w->cursor = ob;
    while (w->cursor && w->cursor->issued == w->cursor->bytes)
        w->cursor = w->cursor->next;
    object_check_end(w, ob);
}

/* One more operation, if what the active ones have left may not keep the device busy. */
static bool work_begin(struct storage_worker *w)
{
    uint64_t left = 0, enough = (uint64_t)w->o.depth * w->o.chunk_bytes;
    struct tier_op *op;

    for (struct object *ob = w->cursor; ob && left < enough; ob = ob->next)
        left += ob->bytes - ob->issued;
    if (left >= enough || !w->free_objects)
        return false;
    op = spsc_pop(w->in);
    if (!op)
        return false;
    op_begin(w, op);
    return true;
}

/* ---- chunks ---- */

static void slot_release(struct storage_worker *w, struct slot *s)
{
    struct object *ob = s->object;

    s->next = w->free_slots;
    w->free_slots = s;
    ob->slots--;
    object_check_end(w, ob);
}

/* Gives the next chunk a buffer; to write, it is filled here. */
static bool work_prepare(struct storage_worker *w)
{
    struct object *ob = w->cursor;
    struct slot *s = w->free_slots;
    uint64_t left;

    if (!ob || !s)
        return false;
    w->free_slots = s->next;
    left = ob->bytes - ob->issued;
    s->object = ob;
    s->at = ob->issued;
    s->req.fd = ob->place.fd;
    s->req.write = ob->op->verb == TIER_WRITE;
    s->req.offset = ob->place.offset + s->at;
    s->req.len = left < w->o.chunk_bytes ? (uint32_t)left : w->o.chunk_bytes;
    ob->issued += s->req.len;
    ob->slots++;
    while (w->cursor && w->cursor->issued == w->cursor->bytes)
        w->cursor = w->cursor->next;
    if (s->req.write)
        data_fill(s->req.buf, s->req.len, &ob->op->id, s->at / DATA_BLOCK);
    list_push(&w->ready, s);
    return true;
}

static bool work_check(struct storage_worker *w)
{
    struct slot *s = list_pop(&w->arrived);
    struct data_fault fault;
    struct tier_op *op;
    int ret;

    if (!s)
        return false;
    op = s->object->op;
    ret = op->verify == TIER_VERIFY_FULL
              ? data_check_full(s->req.buf, s->req.len, &op->id, s->at / DATA_BLOCK, &fault)
              : data_check_headers(s->req.buf, s->req.len, &op->id, s->at / DATA_BLOCK, &fault);
    if (ret < 0)
        op_fault(op, &fault);
    slot_release(w, s);
    return true;
}

/* The engine is gone: whatever is in flight may still write to its buffer, so no buffer is used
 * again. */
static void worker_break(struct storage_worker *w, int status)
{
    w->broken = status;
    w->free_slots = NULL;
    w->cursor = NULL;
    list_init(&w->ready);
    list_init(&w->arrived);
    w->in_flight = 0;
    while (w->first) {
        struct object *ob = w->first;

        ob->op->status = status;
        ob->issued = ob->bytes;
        ob->slots = 0;
        object_check_end(w, ob);
    }
}

static void work_submit(struct storage_worker *w)
{
    int64_t now = 0;
    int ret;

    while (w->in_flight < w->o.depth && w->ready.head) {
        struct slot *s = list_pop(&w->ready);

        if (now == 0)
            now = clock_now_ns();
        if (s->object->in_flight++ == 0)
            s->object->busy_since_ns = now;
        w->in_flight++;
        ret = w->io->ops->submit(w->io, &s->req);
        if (ret < 0) {
            worker_break(w, ret);
            return;
        }
    }
    if (now == 0)
        return;
    ret = w->io->ops->kick(w->io);
    if (ret < 0)
        worker_break(w, ret);
}

static void count(struct storage_worker *w, const struct io_req *r)
{
    int64_t ns = atomic_load_explicit(&w->io_ns, memory_order_relaxed) + r->done_ns - r->start_ns;
    uint64_t ios = atomic_load_explicit(&w->ios, memory_order_relaxed) + 1;

    atomic_store_explicit(&w->io_ns, ns, memory_order_relaxed);
    atomic_store_explicit(&w->ios, ios, memory_order_relaxed);
}

static void slot_done(struct storage_worker *w, struct slot *s)
{
    struct object *ob = s->object;

    w->in_flight--;
    if (--ob->in_flight == 0)
        ob->op->device_ns += s->req.done_ns - ob->busy_since_ns;
    count(w, &s->req);
    if (s->req.result < 0)
        object_fail(w, ob, s->req.result);
    if (ob->op->verb == TIER_READ && ob->op->verify != TIER_VERIFY_NONE && s->req.result == 0)
        list_push(&w->arrived, s);
    else
        slot_release(w, s);
}

/* Completions that are there, or, with wait, the first that comes. */
static void work_reap(struct storage_worker *w, bool wait)
{
    struct io_req *done[WORKER_REAP_MAX];
    int n = w->io->ops->reap(w->io, done, WORKER_REAP_MAX, wait ? INT64_MAX : 0);

    if (n < 0 && w->broken == 0)
        worker_break(w, n);
    for (int i = 0; i < n && w->broken == 0; i++)
        slot_done(w, done[i]->owner);
}

static void ring_bell(struct storage_worker *w)
{
    if (w->finished == 0)
        return;
    w->finished = 0;
    bell_ring(w->o.bell);
}

/*
 * One step of whatever is to do, the device first: its slots are refilled after every piece of work
 * of ours, so none stays empty for longer than a chunk takes to fill or check.
 */
static bool worker_step(struct storage_worker *w)
{
    if (w->in_flight > 0)
        work_reap(w, false);
    /* Reads cost nothing before they are sent: all empty slots at once. */
    while (w->cursor && w->cursor->op->verb == TIER_READ &&
           w->in_flight + w->ready.count < w->o.depth && work_prepare(w))
        ;
    work_submit(w);
    if (w->in_flight < w->o.depth) {
        /* A slot is empty: a chunk for it, of the active objects or a new one. */
        if (work_prepare(w) || work_begin(w))
            return true;
        return work_check(w);
    }
    return work_check(w) || work_begin(w) || work_prepare(w);
}

/* For a completion or for more to do. A broken engine cannot wait. */
static void worker_wait(struct storage_worker *w)
{
    if (w->broken < 0)
        clock_sleep_until(clock_now_ns() + WORKER_BROKEN_NS, 0);
    else
        work_reap(w, true);
}

static void *worker_run(void *arg)
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
    return NULL;
}

/* ---- opening and closing, the owner's side ---- */

static int worker_memory(struct storage_worker *w)
{
    unsigned ahead = w->o.depth * 3 / 4;

    if (ahead < WORKER_AHEAD_MIN)
        ahead = WORKER_AHEAD_MIN;
    if (ahead > WORKER_AHEAD_MAX)
        ahead = WORKER_AHEAD_MAX;
    w->slot_count = w->o.depth + ahead;
    w->pool_bytes = (size_t)w->slot_count * w->o.chunk_bytes;
    w->pool = io_buffers_map(w->pool_bytes);
    w->slots = calloc(w->slot_count, sizeof *w->slots);
    w->objects = calloc(w->slot_count, sizeof *w->objects);
    w->in = spsc_create(w->o.max_ops);
    w->done = spsc_create(w->o.max_ops);
    return w->pool && w->slots && w->objects && w->in && w->done ? 0 : -ENOMEM;
}

static void worker_lists(struct storage_worker *w)
{
    list_init(&w->ready);
    list_init(&w->arrived);
    w->last = &w->first;
    for (unsigned i = w->slot_count; i-- > 0;) {
        struct slot *s = &w->slots[i];

        s->req.buf = (char *)w->pool + (size_t)i * w->o.chunk_bytes;
        s->req.buf_index = (int)i;
        s->req.owner = s;
        s->next = w->free_slots;
        w->free_slots = s;
        w->objects[i].next = w->free_objects;
        w->free_objects = &w->objects[i];
    }
}

static int worker_engine(struct storage_worker *w, struct err *e)
{
    struct io_opts io = {.depth = w->o.depth,
                         .pool = w->pool,
                         .buf_bytes = w->o.chunk_bytes,
                         .bufs = w->slot_count,
                         .sqpoll = w->o.sqpoll,
                         .iopoll = w->o.iopoll};
    char why[WORKER_TEXT_CAP / 2];
    const char *more;
    int ret = io_open(&w->io, w->o.engine, &io, why, sizeof why, e);

    if (ret < 0)
        return ret;
    more = w->io->ops->fallbacks(w->io);
    snprintf(w->fallbacks, sizeof w->fallbacks, "%s%s%.*s", why, why[0] && more[0] ? ", " : "",
             WORKER_TEXT_CAP / 2 - 4, more);
    return 0;
}

/* Threads take no signals: those are for the program's main thread. */
static int worker_start(struct storage_worker *w)
{
    sigset_t all, before;
    int ret;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ret = pthread_create(&w->thread, NULL, worker_run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -ret;
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
    struct storage_worker *w = calloc(1, sizeof *w);
    int ret;

    if (!w)
        return err_nomem(e, "storage thread");
    w->o = *o;
    pthread_mutex_init(&w->stop_lock, NULL);
    if (worker_memory(w) < 0) {
        ret = err_nomem(e, "storage buffers");
        goto fail;
    }
    worker_lists(w);
    ret = worker_engine(w, e);
    if (ret < 0)
        goto fail;
    ret = worker_start(w);
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

const char *storage_worker_engine(const struct storage_worker *w)
{
    return w->io->ops->name;
}

const char *storage_worker_fallbacks(const struct storage_worker *w)
{
    return w->fallbacks;
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
