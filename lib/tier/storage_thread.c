/* Serves operations of the storage tier; storage.c spreads them over threads. All objects inside
 * take turns, a chunk each, as those of separate readers and writers would: none waits behind a
 * large one, and what a busy device makes them wait counts as device time. There are more buffers
 * than I/Os in flight, so the thread fills the next chunk while the device works, and checks a
 * chunk after the next I/O has taken its place at the device. An operation that has to take a slot
 * in flight has it for its I/O only: the next files are opened, and the last ones checked and
 * closed, beside those that have one. */
#include "lib/tier/storage_thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/layout/place.h"
#include "lib/thread/spsc.h"
#include "lib/thread/thread.h"

/* Buffers beyond the I/Os in flight. */
#define THREAD_AHEAD_MIN 2u
#define THREAD_AHEAD_MAX 64u
/* Objects open at once, however small: 4 for each I/O in flight, and these. */
#define THREAD_OBJECTS 64u

#define THREAD_BROKEN_NS 1000000 /* between two looks of a thread whose engine failed */
#define THREAD_REAP_MAX  64
/* Bytes filled or checked between two looks at the device: small chunks go in batches. */
#define THREAD_SLICE (128u << 10)
/* Operations begun between two looks at the device: the first files of a burst are moved while the
 * others are opened. */
#define THREAD_BEGINS 8

/* A buffer, and the I/O that moves it. */
struct chunk {
    struct io_req req;
    struct storage_object *object;
    uint64_t at; /* offset in the object */
    struct chunk *next;
};

/* First in, first out. */
struct chunk_list {
    struct chunk *head, **tail;
    unsigned count;
};

struct object_list {
    struct storage_object *head, **tail;
};

struct storage_thread {
    /* constant after the opening: */
    struct storage_thread_opts o;
    struct io *io;
    void *pool;
    size_t pool_bytes;
    unsigned chunk_count, object_count;
    struct chunk *chunks;
    struct storage_object *objects;
    bool file_slots; /* files to read are opened into slots of the engine's table */
    pthread_t thread;
    /* shared: */
    struct spsc *in, *done;
    atomic_bool stop;
    pthread_mutex_t stop_lock; /* whoever sets stop still needs the engine, to wake it */
    atomic_uint_least64_t ios;
    atomic_int_least64_t io_ns;
    atomic_bool torn; /* a failed write left a file that could not be removed */
    /* the tier's owner's: */
    bool pushed;
    /* the thread's: */
    struct chunk *free_chunks;
    struct chunk_list ready;   /* filled or to be read; waiting for the device */
    struct chunk_list arrived; /* read; waiting to be checked */
    struct storage_object *free_objects;
    struct object_list line;   /* opened; wait for a slot */
    struct object_list moving; /* with bytes to hand out, in turn */
    struct slots_user user;
    unsigned in_flight, calls;
    int64_t full_since_ns; /* when in_flight became the depth */
    int64_t full_ns;       /* all the time that in_flight was the depth, before that */
    int64_t line_since_ns; /* operations waited for a free object since then; INT64_MAX: none do */
    int64_t line_until_ns; /* until there was one again; INT64_MAX: they still do */
    bool queued;           /* the engine has something since the last kick */
    unsigned finished;     /* operations since the bell rang */
    int broken;            /* the engine failed: negative errno */
};

static void list_init(struct chunk_list *l)
{
    l->head = NULL;
    l->tail = &l->head;
    l->count = 0;
}

static void list_push(struct chunk_list *l, struct chunk *c)
{
    c->next = NULL;
    *l->tail = c;
    l->tail = &c->next;
    l->count++;
}

static struct chunk *list_pop(struct chunk_list *l)
{
    struct chunk *c = l->head;

    if (!c)
        return NULL;
    l->head = c->next;
    if (!l->head)
        l->tail = &l->head;
    l->count--;
    return c;
}

static void objects_push(struct object_list *l, struct storage_object *ob)
{
    ob->next = NULL;
    *l->tail = ob;
    l->tail = &ob->next;
}

static struct storage_object *objects_pop(struct object_list *l)
{
    struct storage_object *ob = l->head;

    l->head = ob->next;
    if (!l->head)
        l->tail = &l->head;
    return ob;
}

static void objects_init(struct object_list *l)
{
    l->head = NULL;
    l->tail = &l->head;
}

/* ---- the life of an object ---- */

static void op_finish(struct storage_thread *t, struct tier_op *op)
{
    op->done_ns = clock_now_ns();
    op->device_ns = tier_parts_device_ns(&op->part);
    spsc_push(t->done, op); /* has room for max_ops */
    t->finished++;
}

static void object_free(struct storage_thread *t, struct storage_object *ob)
{
    ob->op = NULL;
    ob->next = t->free_objects;
    t->free_objects = ob;
}

/* No index names the parts of a failed write in a slab. */
static void thread_tears(struct storage_thread *t)
{
    atomic_store_explicit(&t->torn, true, memory_order_relaxed);
}

/* The engine failed. What is in flight may still write to its buffer and use its descriptor: no
 * buffer and no object is used again, and files stay open until the engine is closed. */
static void thread_break(struct storage_thread *t, int status)
{
    t->broken = status;
    while (t->line.head)
        slots_leave(objects_pop(&t->line)->op, &t->user);
    t->free_chunks = NULL;
    t->free_objects = NULL;
    objects_init(&t->moving);
    list_init(&t->ready);
    list_init(&t->arrived);
    t->in_flight = t->calls = 0;
    for (unsigned i = 0; i < t->object_count; i++) {
        struct storage_object *ob = &t->objects[i];

        if (!ob->op)
            continue;
        if (ob->op->verb == TIER_WRITE && t->o.policy.files)
            thread_tears(t);
        if (ob->has_slot)
            slots_give(ob->op->slots, &t->user, clock_now_ns());
        ob->op->status = status;
        op_finish(t, ob->op);
        ob->op = NULL;
    }
}

/* For how long no I/O slot has been free, up to now_ns. */
static int64_t full_until(const struct storage_thread *t, int64_t now_ns)
{
    bool full = t->in_flight == t->o.depth && now_ns > t->full_since_ns;

    return full ? t->full_ns + now_ns - t->full_since_ns : t->full_ns;
}

/* ob had no I/O in flight until now_ns. A place may have become free before the thread heard of it,
 * and after ob began to wait: then it has not waited. */
static void add_slot_wait(const struct storage_thread *t, struct storage_object *ob, int64_t now_ns)
{
    int64_t waited_ns = full_until(t, now_ns) - ob->full_ns;

    if (waited_ns > 0)
        ob->op->part.slot_ns += waited_ns;
}

/* io_uring hands each open that creates a file to a worker thread of the kernel, which costs more
 * than the open of a small file. A large one may wait: others must not wait with it. */
static bool opens_here(const struct storage_thread *t, const struct storage_object *ob)
{
    return ob->stage == STORAGE_OPEN && ob->op->verb == TIER_WRITE &&
           ob->bytes <= t->o.policy.chunk_bytes && t->io->ops->engine == IO_URING;
}

/* Does the stage that ob has come to change the store? */
static bool changes(const struct storage_object *ob)
{
    return ob->stage == STORAGE_CLEAR || ob->stage == STORAGE_ALLOCATE ||
           ob->stage == STORAGE_REMOVE || (ob->stage == STORAGE_OPEN && ob->op->verb == TIER_WRITE);
}

/* Makes the call of ob's stage at once, or refuses it, if that is how it ends. */
static bool object_call(struct storage_thread *t, struct storage_object *ob)
{
    bool lost = changes(ob) && !lease_valid(t->o.lease);

    if (!lost && !opens_here(t, ob))
        return false;
    ob->call.start_ns = clock_now_ns();
    ob->call.result = lost ? -ESTALE : io_call_now(&ob->call);
    ob->call.done_ns = clock_now_ns();
    storage_object_called(ob);
    if (ob->op->status < 0)
        ob->issued = ob->bytes; /* nothing is moved */
    return true;
}

/* ob may be moved from now_ns on. */
static void object_moves(struct storage_thread *t, struct storage_object *ob, int64_t now_ns)
{
    ob->has_slot = ob->op->slots != NULL;
    ob->full_ns = full_until(t, now_ns);
    objects_push(&t->moving, ob);
}

/* ob has come to its I/O: it waits for a slot if none is free. */
static void object_opened(struct storage_thread *t, struct storage_object *ob)
{
    ob->line_since_ns = clock_now_ns();
    if (!ob->op->slots || slots_take(ob->op, &t->user))
        object_moves(t, ob, ob->line_since_ns);
    else
        objects_push(&t->line, ob);
}

/* The slot is the next one's as soon as ob has no more I/O. giver: as of slots_give. */
static void object_moved(struct storage_object *ob, const struct slots_user *giver, int64_t now_ns)
{
    if (!ob->has_slot || ob->unmoved > 0 || ob->issued < ob->bytes)
        return;
    ob->has_slot = false;
    slots_give(ob->op->slots, giver, now_ns);
}

/* On to the next thing that ob needs. */
static void object_go_on(struct storage_thread *t, struct storage_object *ob)
{
    enum storage_stage stage = storage_object_next(ob, &t->o.policy);
    int rc;

    while (object_call(t, ob))
        stage = storage_object_next(ob, &t->o.policy);
    switch (stage) {
    case STORAGE_MOVE:
        object_opened(t, ob);
        return;
    case STORAGE_DONE:
        if (ob->torn)
            thread_tears(t);
        op_finish(t, ob->op);
        object_free(t, ob);
        return;
    default:
        t->calls++;
        t->queued = true;
        rc = t->io->ops->submit(t->io, &ob->call);
        if (rc < 0)
            thread_break(t, rc);
        return;
    }
}

/* After a failed I/O no further chunk of ob is begun; those in flight are still awaited. */
static void object_fail(struct storage_thread *t, struct storage_object *ob, int status)
{
    struct storage_object **at = &t->moving.head;

    if (ob->op->status == 0 || ob->op->fault.kind) {
        ob->op->status = status;
        ob->op->fault.kind = DATA_FAULT_NONE;
    }
    if (ob->issued == ob->bytes)
        return;
    ob->issued = ob->bytes;
    while (*at && *at != ob)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = ob->next;
    if (!*at)
        t->moving.tail = at;
}

/* A read came to the end of the file. The trace is to blame when it asks for more than was stored,
 * else the store: it lost the end of the object. */
static void object_ends(struct storage_thread *t, struct storage_object *ob, const struct chunk *c)
{
    struct tier_op *op = ob->op;
    /* The place of a file is its length; what a slab's object holds was compared before. */
    uint64_t stored = t->o.policy.files ? place_bytes(op->place) : UINT64_MAX / 2;
    uint64_t at = c->at + c->req.moved;

    if (op->status < 0 && !op->fault.kind)
        return;
    object_fail(t, ob, ob->bytes > DATA_PADDED(stored) ? -EINVAL : -EBADMSG);
    if (op->status == -EBADMSG)
        op->fault =
            (struct data_fault){.kind = DATA_FAULT_END, .block = at / DATA_BLOCK, .offset = at};
}

/* The chunk's buffer is free; after the object's last chunk its next stage begins. */
static void chunk_free(struct storage_thread *t, struct chunk *c)
{
    struct storage_object *ob = c->object;

    c->next = t->free_chunks;
    t->free_chunks = c;
    ob->moving--;
    if (ob->issued < ob->bytes || ob->moving > 0)
        return;
    ob->stage = STORAGE_MOVE + 1;
    object_go_on(t, ob);
}

/* ---- steps of the thread; true: there was something to do ---- */

static bool take_operations(struct storage_thread *t)
{
    int64_t now = t->line_since_ns == INT64_MAX ? 0 : clock_now_ns();
    int64_t until = now < t->line_until_ns ? now : t->line_until_ns;
    unsigned begun = 0;

    for (; t->free_objects && begun < THREAD_BEGINS; begun++) {
        struct storage_object *ob = t->free_objects;
        struct tier_op *op = spsc_pop(t->in);
        int slot;

        if (!op) {
            t->line_since_ns = t->line_until_ns = INT64_MAX;
            break;
        }
        int64_t since = op->start_ns > t->line_since_ns ? op->start_ns : t->line_since_ns;
        if (since < until) /* it may have come after now was taken */
            op->part.slot_ns += until - since;
        if ((op->verb != TIER_READ || op->drop) && !lease_valid(t->o.lease)) {
            op->status = -ESTALE;
            op_finish(t, op);
            continue;
        }
        t->free_objects = ob->next;
        /* A write gets a descriptor: the kernel tells failed writes when one is closed
         * (network file systems, FUSE), and never when a slot is. */
        bool plain = op->verb == TIER_WRITE;
        if (op->where.wanted) { /* a descriptor is asked, too, where the bytes lie */
            const struct tier_op *next = spsc_peek(t->in); /* its entry comes meanwhile */
            if (next && t->o.policy.where)
                storage_where_ahead(t->o.policy.where, next->name);
            storage_object_recall(op, &t->o.policy);
            plain |= !op->where.known;
        }
        slot = t->file_slots && !plain ? (int)(ob - t->objects) : -1;
        storage_object_begin(ob, &t->o.policy, op, slot);
        if (op->status < 0)
            ob->issued = ob->bytes;
        object_go_on(t, ob);
    }
    if (!t->free_objects && t->line_since_ns == INT64_MAX)
        t->line_since_ns = clock_now_ns();
    /* Operations left in line wait for their turn now, and no longer for an object. */
    t->line_until_ns = t->free_objects && t->line_since_ns != INT64_MAX ? until : INT64_MAX;
    return begun > 0;
}

/* Objects that waited for a slot and have it. */
static bool take_slots(struct storage_thread *t)
{
    unsigned n = slots_granted(&t->user);
    int64_t now = n > 0 ? clock_now_ns() : 0;
    bool any = n > 0;

    for (; n > 0; n--) {
        struct storage_object *ob = objects_pop(&t->line);
        struct tier_op *op = ob->op;

        op->ahead_ns = now - ob->line_since_ns;
        op->late_ns = now - op->given_ns; /* a completion may be older than the question */
        op->late_ns = op->late_ns < op->ahead_ns ? op->late_ns : op->ahead_ns;
        object_moves(t, ob, now);
    }
    return any;
}

/* Gives buffers to the next chunks, an object a turn. Reads cost nothing before they are sent: they
 * get all empty places at the device at once. Writes are filled here, also ahead of what the device
 * takes; without fills, the first of them ends it. */
static bool prepare_chunks(struct storage_thread *t, bool fills)
{
    uint32_t filled = 0;
    bool any = false;

    while (t->moving.head && t->free_chunks && filled < THREAD_SLICE) {
        struct storage_object *ob = t->moving.head;
        struct chunk *c = t->free_chunks;
        bool write = ob->op->verb == TIER_WRITE;

        if (write ? !fills : t->in_flight + t->ready.count >= t->o.depth)
            break;
        t->free_chunks = c->next;
        c->object = ob;
        c->at = ob->issued;
        storage_object_chunk(ob, &t->o.policy, &c->req);
        ob->moving++;
        ob->unmoved++;
        objects_pop(&t->moving);
        if (ob->issued < ob->bytes)
            objects_push(&t->moving, ob);
        if (write) {
            data_fill(c->req.buf, c->req.len, &ob->op->id, c->at / DATA_BLOCK);
            filled +=
                t->o.policy.chunk_bytes < THREAD_SLICE ? t->o.policy.chunk_bytes : THREAD_SLICE;
        }
        list_push(&t->ready, c);
        any = true;
    }
    return any;
}

static bool check_chunks(struct storage_thread *t)
{
    uint32_t checked = 0;
    struct chunk *c;

    while (checked < THREAD_SLICE && (c = list_pop(&t->arrived))) {
        checked += c->req.len;
        storage_object_check(c->object, &c->req, c->at);
        chunk_free(t, c);
    }
    return checked > 0;
}

static void submit_chunks(struct storage_thread *t)
{
    int64_t now = 0;
    int rc = 0;

    while (t->in_flight < t->o.depth && t->ready.head && rc == 0) {
        struct chunk *c = list_pop(&t->ready);

        if (c->object->op->verb == TIER_WRITE && !lease_valid(t->o.lease)) {
            c->object->unmoved--;
            object_fail(t, c->object, -ESTALE);
            object_moved(c->object, NULL, clock_now_ns());
            chunk_free(t, c);
            continue;
        }
        if (now == 0)
            now = clock_now_ns();
        if (c->object->in_flight++ == 0) {
            c->object->busy_since_ns = now;
            if (now < c->object->op->where.first_ns)
                c->object->op->where.first_ns = now;
            add_slot_wait(t, c->object, now);
        }
        if (++t->in_flight == t->o.depth)
            t->full_since_ns = now;
        t->queued = true;
        rc = t->io->ops->submit(t->io, &c->req);
    }
    if (rc == 0 && t->queued)
        rc = t->io->ops->kick(t->io);
    t->queued = false;
    if (rc < 0)
        thread_break(t, rc);
}

static void chunk_arrived(struct storage_thread *t, struct chunk *c)
{
    struct storage_object *ob = c->object;

    t->full_ns = full_until(t, c->req.done_ns);
    t->in_flight--;
    ob->unmoved--;
    if (--ob->in_flight == 0) {
        ob->op->part.io_ns += c->req.done_ns - ob->busy_since_ns;
        ob->full_ns = t->full_ns;
    }
    atomic_fetch_add_explicit(&t->io_ns, c->req.done_ns - c->req.start_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&t->ios, 1, memory_order_relaxed);
    if (c->req.result == IO_PAST_END)
        object_ends(t, ob, c);
    else if (c->req.result < 0)
        object_fail(t, ob, c->req.result);
    object_moved(ob, &t->user, c->req.done_ns);
    if (ob->op->verb == TIER_READ && ob->op->verify != TIER_VERIFY_NONE && c->req.result == 0)
        list_push(&t->arrived, c);
    else
        chunk_free(t, c);
}

static void call_returned(struct storage_thread *t, struct storage_object *ob)
{
    t->calls--;
    storage_object_called(ob);
    if (ob->op->status < 0)
        ob->issued = ob->bytes; /* nothing is moved */
    object_go_on(t, ob);
}

/* Takes the completions that are there; with wait, sleeps until one comes or the engine is woken.
 */
static void reap(struct storage_thread *t, bool wait)
{
    struct io_req *done[THREAD_REAP_MAX];
    int n = t->io->ops->reap(t->io, done, THREAD_REAP_MAX, wait ? INT64_MAX : 0);

    if (n < 0 && t->broken == 0)
        thread_break(t, n);
    for (int i = 0; i < n && t->broken == 0; i++) {
        if (done[i]->call == IO_TRANSFER)
            chunk_arrived(t, done[i]->owner);
        else
            call_returned(t, done[i]->owner);
    }
}

static void ring_bell(struct storage_thread *t)
{
    if (t->finished == 0)
        return;
    t->finished = 0;
    bell_ring(t->o.bell);
}

/* One round of the loop. It looks at the device after every piece of its own work: no place there
 * stays empty for longer than it takes to fill or check a chunk. */
static bool serve(struct storage_thread *t)
{
    bool any;

    if (t->in_flight + t->calls > 0)
        reap(t, false);
    any = take_slots(t);
    any |= prepare_chunks(t, false);
    if (t->ready.head)
        submit_chunks(
            t);   /* those filled ahead, before others are woken, files opened, more filled */
    ring_bell(t); /* before filling, which takes up to a millisecond */
    any |= take_operations(t);
    any |= prepare_chunks(t, true);
    submit_chunks(t);
    any |= check_chunks(t);
    return any;
}

static bool stopping(const struct storage_thread *t)
{
    return atomic_load_explicit(&t->stop, memory_order_acquire);
}

static void *thread_run(void *arg)
{
    struct storage_thread *t = arg;
    struct gap_loop gaps;
    int64_t turn_ns, now;

    gap_loop_open(&gaps, t->o.gaps, GAPS_OF_ENGINE, "storage", t->o.number);
    for (turn_ns = clock_now_ns(); !stopping(t) && t->broken == 0; turn_ns = now) {
        bool any = serve(t);

        ring_bell(t);
        if (!any && !stopping(t) && t->broken == 0) {
            reap(t, true);
            ring_bell(t);
        }
        now = clock_now_ns();
        gap_loop_look(&gaps, turn_ns, now);
    }
    /* A broken engine serves nothing and cannot be waited for. */
    while (!stopping(t)) {
        struct tier_op *op = spsc_pop(t->in);

        if (op) {
            op->status = t->broken;
            op_finish(t, op);
            ring_bell(t);
        } else {
            clock_sleep_until(clock_now_ns() + THREAD_BROKEN_NS, 0);
        }
    }
    gap_loop_close(&gaps);
    pthread_mutex_lock(&t->stop_lock);
    pthread_mutex_unlock(&t->stop_lock);
    t->io->ops->close(t->io); /* here: a ring belongs to the thread that used it */
    for (unsigned i = 0; t->broken < 0 && i < t->object_count; i++) {
        const struct storage_object *ob = &t->objects[i];

        if (ob->opened && !ob->slot && ob->stage < STORAGE_CLOSE)
            close(ob->fd); /* its close never reached the broken engine */
    }
    return NULL;
}

/* ---- the owner's side ---- */

unsigned storage_thread_objects(unsigned depth)
{
    return depth * 4 + THREAD_OBJECTS;
}

static int take_memory(struct storage_thread *t)
{
    unsigned ahead = t->o.depth * 3 / 4;

    if (ahead < THREAD_AHEAD_MIN)
        ahead = THREAD_AHEAD_MIN;
    if (ahead > THREAD_AHEAD_MAX)
        ahead = THREAD_AHEAD_MAX;
    t->chunk_count = t->o.depth + ahead;
    if (t->o.ios > 0 && t->o.ios < t->chunk_count)
        t->chunk_count = (unsigned)t->o.ios; /* the rest would be cleared and pinned in vain */
    t->object_count = storage_thread_objects(t->o.depth);
    if (t->object_count > t->o.max_ops)
        t->object_count = t->o.max_ops;
    if (t->o.policy.files && t->object_count > t->o.max_open)
        t->object_count = t->o.max_open;
    t->pool_bytes = (size_t)t->chunk_count * t->o.policy.chunk_bytes;
    t->pool = io_buffers_map(t->pool_bytes, t->o.pages);
    t->chunks = calloc(t->chunk_count, sizeof(*t->chunks));
    t->objects = calloc(t->object_count, sizeof(*t->objects));
    t->in = spsc_create(t->o.max_ops);
    t->done = spsc_create(t->o.max_ops);
    if (!t->pool || !t->chunks || !t->objects || !t->in || !t->done)
        return -ENOMEM;
    if (t->o.policy.map.kind == DISK_MAP_FILES && !(t->o.policy.where = storage_where_create()))
        return -ENOMEM;

    t->line_since_ns = t->line_until_ns = INT64_MAX;
    list_init(&t->ready);
    list_init(&t->arrived);
    objects_init(&t->line);
    objects_init(&t->moving);
    for (unsigned i = t->chunk_count; i-- > 0;) {
        struct chunk *c = &t->chunks[i];

        c->req.buf = (char *)t->pool + (size_t)i * t->o.policy.chunk_bytes;
        c->req.buf_index = (int)i;
        c->req.owner = c;
        c->next = t->free_chunks;
        t->free_chunks = c;
    }
    for (unsigned i = t->object_count; i-- > 0;)
        object_free(t, &t->objects[i]);
    return 0;
}

static void thread_free(struct storage_thread *t)
{
    pthread_mutex_destroy(&t->stop_lock);
    spsc_free(t->done);
    spsc_free(t->in);
    free(t->objects);
    free(t->chunks);
    storage_where_free(t->o.policy.where);
    io_buffers_unmap(t->pool, t->pool_bytes);
    free(t);
}

static void wake(void *ctx)
{
    struct storage_thread *t = ctx;

    t->io->ops->wake(t->io);
}

int storage_thread_open(struct storage_thread **out, const struct storage_thread_opts *o,
                        struct err *e)
{
    struct storage_thread *t = calloc(1, sizeof(*t));
    struct io_opts io;
    int rc;

    if (!t)
        return err_nomem(e, "storage thread");
    t->o = *o;
    t->user = (struct slots_user){.wake = wake, .ctx = t};
    pthread_mutex_init(&t->stop_lock, NULL);
    if (take_memory(t) < 0) {
        rc = err_nomem(e, "storage buffers");
        goto out;
    }
    io = (struct io_opts){.depth = o->depth + t->object_count,
                          .data = o->depth,
                          .pool = t->pool,
                          .buf_bytes = o->policy.chunk_bytes,
                          .bufs = t->chunk_count,
                          .file = o->policy.files ? NULL : &t->o.policy.slab_fd,
                          .slots = o->policy.files ? t->object_count : 0,
                          .gaps = o->gaps,
                          .sqpoll = o->sqpoll,
                          .iopoll = o->iopoll};
    rc = io_open(&t->io, o->engine, &io, e);
    if (rc < 0)
        goto out;
    if (t->io->at_once < o->depth)
        t->o.depth = t->io->at_once; /* more would wait in the engine, and count as I/O time */
    t->file_slots = t->io->slots >= t->object_count;
    rc = thread_start(&t->thread, thread_run, t);
    if (rc < 0) {
        t->io->ops->close(t->io);
        thread_refused(e, rc, "a storage thread");
    }
out:
    if (rc < 0)
        thread_free(t);
    else
        *out = t;
    return rc;
}

void storage_thread_push(struct storage_thread *t, struct tier_op *op)
{
    spsc_push(t->in, op); /* has room for max_ops */
    t->pushed = true;
}

void storage_thread_kick(struct storage_thread *t)
{
    if (!t->pushed)
        return;
    t->pushed = false;
    t->io->ops->wake(t->io);
}

struct tier_op *storage_thread_pop(struct storage_thread *t)
{
    return spsc_pop(t->done);
}

const struct io *storage_thread_io(const struct storage_thread *t)
{
    return t->io;
}

const void *storage_thread_buffers(const struct storage_thread *t)
{
    return t->pool;
}

uint64_t storage_thread_ios(const struct storage_thread *t, int64_t *io_ns)
{
    *io_ns = atomic_load_explicit(&t->io_ns, memory_order_relaxed);
    return atomic_load_explicit(&t->ios, memory_order_relaxed);
}

bool storage_thread_torn(const struct storage_thread *t)
{
    return atomic_load_explicit(&t->torn, memory_order_relaxed);
}

int storage_thread_close(struct storage_thread *t, struct err *e)
{
    int broken;

    if (!t)
        return 0;
    pthread_mutex_lock(&t->stop_lock);
    atomic_store_explicit(&t->stop, true, memory_order_release);
    t->io->ops->wake(t->io);
    pthread_mutex_unlock(&t->stop_lock);
    pthread_join(t->thread, NULL);
    broken = t->broken;
    thread_free(t);
    if (broken < 0)
        return err_errno(e, broken, ERR_FAILED, "", "the I/O engine failed");
    return 0;
}
