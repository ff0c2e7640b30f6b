/* The loop of one thread: buffers go from empty to filled to in flight and back. The queue stays
 * full because filled buffers wait for a place in it: a block is made several times faster than a
 * device takes it. Which writes are whose is decided by a counter that all threads share. */
#include "kvprecond/worker.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/data/data.h"

#define WORKER_BATCH   64
#define WORKER_WAIT_NS 100000000    /* how long a stop may go unseen */
#define WORKER_SLICE   (256u << 10) /* bytes made between two looks at the queue */

struct slot {
    struct io_req req;
    struct plan_part part;
    struct fill_file *file;
    bool of_fill; /* else of a round */
    struct slot *next;
};

struct worker {
    struct work *work;
    struct io *io;
    struct slot *slots;
    struct slot *empty;                /* a stack */
    struct slot *filled, **filled_end; /* in the order of their making */
    uint64_t unit, at;                 /* the unit that is being made, and how far */
    bool in_unit, out_of_units;
    unsigned in_flight;
    atomic_uint_fast64_t bytes;
    atomic_int_fast64_t counted_to_ns;
    struct tally tally[WORKER_TALLIES]; /* published by counted_to_ns */
};

void worker_fail(struct work *work, int code, const struct err *e)
{
    pthread_mutex_lock(&work->lock);
    if (work->failed == 0) {
        work->failed = code;
        *work->e = *e;
    }
    pthread_mutex_unlock(&work->lock);
    atomic_store(&work->stop, true);
}

static bool stopping(const struct worker *w)
{
    return atomic_load_explicit(&w->work->stop, memory_order_relaxed);
}

/* ---- buffers are filled ---- */

static bool next_unit(struct worker *w)
{
    if (!w->in_unit && !w->out_of_units) {
        w->unit = atomic_fetch_add_explicit(&w->work->next_unit, 1, memory_order_relaxed);
        w->at = 0;
        w->in_unit = w->work->o->round_ns > 0 || w->unit < w->work->o->plan->units;
        w->out_of_units = !w->in_unit;
    }
    return w->in_unit;
}

/* Fills empty buffers, for about as long as a completion may wait to be seen. */
static void make_blocks(struct worker *w)
{
    uint32_t made = 0;

    while (w->empty && made < WORKER_SLICE && next_unit(w)) {
        struct slot *s = w->empty;

        w->empty = s->next;
        s->part = plan_part(w->work->o->plan, w->unit, w->at);
        s->of_fill = w->unit < w->work->o->plan->units;
        data_fill(s->req.buf, s->part.len, &s->part.id, s->part.first_block);
        w->at += s->part.len;
        w->in_unit = !s->part.last;
        made += s->part.len;
        s->next = NULL;
        *w->filled_end = s;
        w->filled_end = &s->next;
    }
}

/* ---- writes begin ---- */

static int begin_one(struct worker *w, struct slot *s, struct err *e)
{
    int ret = fill_target_begin(w->work->o->target, &s->part, &s->file, &s->req.fd, e);

    if (ret < 0)
        return ret;
    s->req.offset = s->part.offset;
    s->req.len = s->part.len;
    ret = w->io->ops->submit(w->io, &s->req);
    return ret < 0 ? err_errno(e, ret, ERR_FAILED, "", "a write could not be queued") : 0;
}

static void begin_filled(struct worker *w)
{
    struct err e = {0};
    bool any = false;
    int ret = 0;

    while (w->filled && w->in_flight < w->work->o->depth) {
        struct slot *s = w->filled;

        ret = begin_one(w, s, &e);
        if (ret < 0)
            break;
        w->filled = s->next;
        if (!w->filled)
            w->filled_end = &w->filled;
        w->in_flight++;
        any = true;
    }
    if (ret < 0)
        worker_fail(w->work, ret, &e);
    ret = any ? w->io->ops->kick(w->io) : 0;
    if (ret < 0)
        worker_fail(w->work, err_errno(&e, ret, ERR_FAILED, "", "writes could not be started"), &e);
}

/* ---- writes end ---- */

/* A round is a span of time: its number is plain arithmetic, the same for every thread. */
static struct tally *tally_at(struct worker *w, const struct slot *s, int64_t now_ns)
{
    const int64_t from_ns = atomic_load(&w->work->rounds_from_ns);
    int64_t round;

    if (s->of_fill)
        return &w->tally[WORKER_FILL];
    round = from_ns != 0 && now_ns >= from_ns ? (now_ns - from_ns) / w->work->o->round_ns + 1
                                              : WORKER_REST;
    return &w->tally[round < WORKER_REST ? round : WORKER_REST];
}

static int count_one(struct worker *w, const struct slot *s, int64_t now_ns)
{
    struct tally *t = tally_at(w, s, now_ns);

    t->bytes += s->part.len;
    t->writes++;
    t->last_ns = now_ns;
    atomic_fetch_add_explicit(&w->bytes, s->part.len, memory_order_relaxed);
    if (s->of_fill && atomic_fetch_sub(&w->work->writes_left, 1) == 1)
        atomic_store(&w->work->rounds_from_ns, now_ns);
    return t->service ? hist_record(t->service, s->req.done_ns - s->req.start_ns) : 0;
}

static void end_one(struct worker *w, struct slot *s, int64_t now_ns)
{
    struct err e = {0};
    int ret = s->req.result;

    w->in_flight--;
    if (ret < 0) {
        err_errno(&e, ret, ERR_FAILED, "", "write of %u bytes at offset %llu of file %llu",
                  s->part.len, (unsigned long long)s->part.offset,
                  (unsigned long long)s->part.file);
    } else {
        ret = fill_target_done(w->work->o->target, s->file, s->part.len, &e);
        if (ret == 0 && count_one(w, s, now_ns) < 0)
            ret = err_nomem(&e, "histogram");
    }
    if (ret < 0)
        worker_fail(w->work, ret, &e);
    s->next = w->empty;
    w->empty = s;
}

static int end_some(struct worker *w, int64_t until_ns)
{
    struct io_req *done[WORKER_BATCH];
    struct err e = {0};
    int n = w->io->ops->reap(w->io, done, WORKER_BATCH, until_ns);
    int64_t now_ns = clock_now_ns();

    for (int i = 0; i < n; i++)
        end_one(w, done[i]->owner, now_ns);
    atomic_store(&w->counted_to_ns, now_ns);
    if (n < 0)
        worker_fail(w->work, err_errno(&e, n, ERR_FAILED, "", "completions cannot be had"), &e);
    return n < 0 ? n : 0;
}

static bool more_to_make(struct worker *w)
{
    return !stopping(w) && w->empty && next_unit(w);
}

static void write_all(struct worker *w)
{
    int ret = 0;

    while (ret == 0 && (w->in_flight > 0 || w->filled || more_to_make(w))) {
        if (!stopping(w))
            make_blocks(w);
        if (!stopping(w))
            begin_filled(w);
        if (w->in_flight > 0)
            ret = end_some(w, more_to_make(w) ? 0 : clock_now_ns() + WORKER_WAIT_NS);
        else if (stopping(w))
            break;
    }
}

void *worker_run(void *arg)
{
    struct worker *w = arg;

    write_all(w);
    atomic_store(&w->counted_to_ns, INT64_MAX);
    pthread_mutex_lock(&w->work->lock);
    w->work->running--;
    pthread_cond_signal(&w->work->ended);
    pthread_mutex_unlock(&w->work->lock);
    return NULL;
}

/* ---- making and counting ---- */

struct worker *worker_create(struct work *work, const struct fill_queue *queue)
{
    const struct fill_opts *o = work->o;
    struct worker *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->work = work;
    w->io = queue->io;
    w->filled_end = &w->filled;
    w->slots = calloc(o->bufs, sizeof(*w->slots));
    for (unsigned i = 0; i <= (o->round_ns > 0 ? STEADY_ROUNDS : 0) && w->slots; i++)
        if (!(w->tally[i].service = hist_create()))
            break;
    if (!w->slots || !w->tally[o->round_ns > 0 ? STEADY_ROUNDS : 0].service) {
        worker_free(w);
        return NULL;
    }
    for (unsigned i = o->bufs; i-- > 0;) {
        struct slot *s = &w->slots[i];

        s->req = (struct io_req){.fd = -1, .write = true, .buf_index = (int)i, .owner = s};
        s->req.buf = (char *)queue->pool + (size_t)i * o->plan->o.write_bytes;
        s->next = w->empty;
        w->empty = s;
    }
    return w;
}

void worker_free(struct worker *w)
{
    if (!w)
        return;
    for (unsigned i = 0; i < WORKER_TALLIES; i++)
        hist_free(w->tally[i].service);
    free(w->slots);
    free(w);
}

uint64_t worker_bytes(const struct worker *w)
{
    return atomic_load_explicit(&w->bytes, memory_order_relaxed);
}

int64_t worker_counted_to(const struct worker *w)
{
    return atomic_load(&w->counted_to_ns);
}

const struct tally *worker_tally(const struct worker *w, unsigned which)
{
    return &w->tally[which];
}
