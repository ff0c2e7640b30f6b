/* A buffer goes from empty to full to in flight and back. Fillers take empty ones and the number of
 * the next chunk together, so the lowest chunk that is not written always has a buffer, and chunks
 * begin in their order. With STREAM_DONTNEED a buffer stays busy until its chunk is on the device
 * and out of the page cache: then no more than the pool lies there. */
#include "kvprecond/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/data/data.h"
#include "lib/thread/thread.h"

#define STREAM_TICK_NS INT64_C(20000000) /* between two looks for a stop */
#define STREAM_BATCH   16

/* A buffer, and the chunk that it is for. */
struct chunk {
    struct io_req req;
    uint64_t unit;
    struct plan_part part;
    struct fill_file *file;
    int64_t service_ns; /* of its write */
    struct chunk *next;
};

struct stream {
    const struct stream_opts *o;
    struct stream_result *r;
    struct hist *service;
    struct chunk *chunks;
    pthread_t *fillers;
    unsigned started;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t freed; /* a buffer is empty again, or the stream stops */
    struct chunk *empty;  /* a stack */
    struct chunk *full;   /* in the order of their units */
    unsigned filling;     /* buffers that fillers have */
    uint64_t next_unit;   /* to be filled */
    bool stop;
    /* the writer's: */
    uint64_t next_begin; /* unit */
    unsigned in_flight;
    int64_t ticked_ns, last_ns;
    int failed; /* the first failure, which *e tells */
    struct err *e;
    struct gap_loop gaps;
};

/* ---- fillers ---- */

static void insert_full(struct stream *s, struct chunk *c)
{
    struct chunk **at = &s->full;

    while (*at && (*at)->unit < c->unit)
        at = &(*at)->next;
    c->next = *at;
    *at = c;
}

static void *filler_run(void *arg)
{
    struct stream *s = arg;
    struct gap_loop gaps;

    /* Gaps of a filler lengthen no write; what it waited may leave the target without work. */
    gap_loop_open(&gaps, s->o->gaps, GAPS_OF_MEMORY, "filler", 0);
    pthread_mutex_lock(&s->lock);
    for (;;) {
        struct chunk *c;

        while (!s->stop && !s->empty && s->next_unit < s->o->plan->units)
            pthread_cond_wait(&s->freed, &s->lock);
        if (s->stop || s->next_unit == s->o->plan->units)
            break;
        c = s->empty;
        s->empty = c->next;
        c->unit = s->next_unit++;
        s->filling++;
        pthread_mutex_unlock(&s->lock);
        c->part = plan_part(s->o->plan, c->unit, 0);
        data_fill(c->req.buf, c->part.len, &c->part.id, c->part.first_block);
        pthread_mutex_lock(&s->lock);
        s->filling--;
        insert_full(s, c);
        s->o->queue.io->ops->wake(s->o->queue.io);
    }
    pthread_mutex_unlock(&s->lock);
    gap_loop_close(&gaps);
    return NULL;
}

/* ---- the writer, in the caller's thread ---- */

static void stop_filling(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_broadcast(&s->freed);
    pthread_mutex_unlock(&s->lock);
}

static void stream_fail(struct stream *s, int code, const struct err *e)
{
    if (s->failed == 0) {
        s->failed = code;
        *s->e = *e;
    }
    stop_filling(s);
}

static void submit(struct stream *s, struct chunk *c)
{
    struct io *io = s->o->queue.io;
    struct err e = {0};
    int rc = io->ops->submit(io, &c->req);

    if (rc == 0) {
        s->in_flight++; /* the engine has it, whatever comes of the kick */
        rc = io->ops->kick(io);
    }
    if (rc < 0)
        stream_fail(s, err_errno(&e, rc, ERR_FAILED, "", "a write could not be started"), &e);
}

/* The chunk whose turn it is. NULL: it is not full yet, or the stream stops. */
static struct chunk *take_full(struct stream *s)
{
    struct chunk *c;

    pthread_mutex_lock(&s->lock);
    c = s->full && s->full->unit == s->next_begin && !s->stop ? s->full : NULL;
    if (c) {
        s->full = c->next;
        s->next_begin++;
    }
    pthread_mutex_unlock(&s->lock);
    return c;
}

/* Sets the descriptor of the chunk's file, or the number of its object. */
static int begin_chunk(struct stream *s, struct chunk *c, struct err *e)
{
    if (s->o->target)
        return fill_target_begin(s->o->target, &c->part, &c->file, &c->req.fd, e);
    c->req.fd = (int)c->part.file;
    return c->part.file <= INT_MAX ? 0 : err_set(e, EFBIG, ERR_FAILED, "", "too many objects");
}

static void begin_full(struct stream *s)
{
    struct chunk *c;

    while (s->in_flight < s->o->depth && (c = take_full(s)) != NULL) {
        struct err e = {0};
        int rc = begin_chunk(s, c, &e);

        if (rc < 0) {
            stream_fail(s, rc, &e);
            return;
        }
        if (s->o->advice == STREAM_SEQUENTIAL && c->part.offset == 0)
            posix_fadvise(c->req.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
        c->req.call = IO_TRANSFER;
        c->req.offset = c->part.offset;
        c->req.len = c->part.len;
        submit(s, c);
    }
}

static void free_buffer(struct stream *s, struct chunk *c)
{
    pthread_mutex_lock(&s->lock);
    c->next = s->empty;
    s->empty = c;
    pthread_cond_signal(&s->freed);
    pthread_mutex_unlock(&s->lock);
}

/* One step of a chunk has ended: its write, or after it the sync and the drop of its pages. */
static void end_step(struct stream *s, struct chunk *c, int64_t now_ns)
{
    const enum io_call call = c->req.call;
    struct err e = {0};
    int rc = c->req.result;

    s->in_flight--;
    if (call == IO_TRANSFER)
        c->service_ns = c->req.done_ns - c->req.start_ns;
    if (rc < 0) {
        stream_fail(s,
                    err_errno(&e, rc, ERR_FAILED, "", "%s of %u bytes at offset %llu of file %llu",
                              call == IO_TRANSFER ? "write" : "sync", c->part.len,
                              (unsigned long long)c->part.offset, (unsigned long long)c->part.file),
                    &e);
        return;
    }
    if (s->o->advice == STREAM_DONTNEED && call != IO_DROP) {
        c->req.call = call == IO_TRANSFER ? IO_SYNC : IO_DROP;
        submit(s, c);
        return;
    }
    if (s->o->target)
        rc = fill_target_done(s->o->target, c->file, c->part.len, &e);
    if (rc == 0 && (hist_record(s->service, c->service_ns) < 0 ||
                    fill_hold(s->o->gaps, s->o->held, now_ns - c->service_ns, now_ns) < 0))
        rc = err_nomem(&e, "histogram");
    if (rc < 0) {
        stream_fail(s, rc, &e);
        return;
    }
    s->r->fill.bytes += c->part.len;
    s->r->fill.writes++;
    s->last_ns = now_ns;
    free_buffer(s, c);
}

/* Where the time of a wait goes. Fillers change neither state without a completion or a wake, which
 * ends the wait. */
static int64_t *waits_for(struct stream *s)
{
    int64_t *what = NULL;
    bool idle;

    pthread_mutex_lock(&s->lock);
    idle = s->filling == 0 && (!s->empty || s->next_unit == s->o->plan->units);
    if (s->in_flight == 0)
        what = &s->r->data_wait_ns;
    else if (idle || s->stop)
        what = &s->r->store_wait_ns;
    pthread_mutex_unlock(&s->lock);
    return what;
}

static void look_for_stop(struct stream *s, bool *abandon)
{
    const int64_t now_ns = clock_now_ns();
    enum fill_wish wish;

    if (now_ns - s->ticked_ns < STREAM_TICK_NS)
        return;
    s->ticked_ns = now_ns;
    wish = s->o->tick(s->o->ctx, s->r->fill.bytes);
    if (wish != FILL_GO_ON && !s->r->fill.stopped) {
        s->r->fill.stopped = true;
        stop_filling(s);
    }
    *abandon = wish == FILL_ABANDON;
}

static void write_all(struct stream *s)
{
    struct io *io = s->o->queue.io;
    struct io_req *done[STREAM_BATCH];
    bool abandon = false;
    int64_t turn_ns = clock_now_ns();

    for (;;) {
        int64_t from_ns, now_ns, *wait;
        int n;

        begin_full(s);
        if (s->in_flight == 0 && (s->stop || s->next_begin == s->o->plan->units))
            return;
        wait = waits_for(s);
        from_ns = clock_now_ns();
        n = io->ops->reap(io, done, STREAM_BATCH, from_ns + STREAM_TICK_NS);
        now_ns = clock_now_ns();
        if (wait)
            *wait += now_ns - from_ns;
        gap_loop_look(&s->gaps, turn_ns, now_ns);
        turn_ns = now_ns;
        for (int i = 0; i < n; i++)
            end_step(s, done[i]->owner, now_ns);
        if (n < 0) {
            struct err e = {0};

            stream_fail(s, err_errno(&e, n, ERR_FAILED, "", "completions cannot be had"), &e);
            return;
        }
        look_for_stop(s, &abandon);
        if (n == 0 && abandon)
            return;
    }
}

/* ---- starting and ending ---- */

static int stream_open(struct stream *s)
{
    const struct stream_opts *o = s->o;

    s->chunks = calloc(o->bufs, sizeof(*s->chunks));
    s->fillers = calloc(o->fillers, sizeof(*s->fillers));
    if (!s->chunks || !s->fillers)
        return err_nomem(s->e, "buffers");
    for (unsigned i = o->bufs; i-- > 0;) {
        struct chunk *c = &s->chunks[i];

        c->req = (struct io_req){.fd = -1, .write = true, .buf_index = (int)i, .owner = c};
        c->req.buf = (char *)o->queue.pool + (size_t)i * o->plan->o.write_bytes;
        c->next = s->empty;
        s->empty = c;
    }
    return 0;
}

static void start_fillers(struct stream *s)
{
    struct err e = {0};
    int rc = 0;

    while (s->started < s->o->fillers && rc == 0) {
        rc = thread_start(&s->fillers[s->started], filler_run, s);
        s->started += rc == 0;
    }
    if (rc < 0)
        stream_fail(s, thread_refused(&e, rc, "%u threads", s->o->fillers), &e);
}

int stream_run(const struct stream_opts *o, struct stream_result *r, struct hist *service,
               struct err *e)
{
    struct stream s = {.o = o, .r = r, .service = service, .e = e};
    int64_t start_ns;
    int rc;

    *r = (struct stream_result){0};
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.freed, NULL);
    rc = stream_open(&s);
    if (rc < 0)
        goto out;
    start_ns = s.last_ns = s.ticked_ns = clock_now_ns();
    start_fillers(&s);
    gap_loop_open(&s.gaps, o->gaps, GAPS_OF_ENGINE, "writer", 0);
    write_all(&s);
    gap_loop_close(&s.gaps);
    stop_filling(&s);
    for (unsigned i = 0; i < s.started; i++)
        pthread_join(s.fillers[i], NULL);
    r->fill.stuck = s.in_flight > 0;
    r->fill.total_bytes = r->fill.bytes;
    r->fill.elapsed_ns = s.last_ns - start_ns;
    r->fill.complete = r->fill.writes == o->plan->units;
    rc = s.failed;
out:
    if (!r->fill.stuck) /* the engine may look at them until the process ends */
        free(s.chunks);
    free(s.fillers);
    pthread_cond_destroy(&s.freed);
    pthread_mutex_destroy(&s.lock);
    return rc;
}
