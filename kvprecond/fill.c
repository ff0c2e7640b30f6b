/* Between the plan and the target: threads take units from one counter and write them, while the
 * caller's thread watches (progress, ends of rounds, a wish to stop) and adds up what they counted.
 * In each thread buffers go from empty to filled to in flight and back. Filled buffers wait for a
 * free place in the queue, so it stays full: data is made several times faster than a device takes
 * it. In a stream, other threads (fillers) make the data. A filler takes an empty buffer and the
 * next write together, so the first write that has not begun always has a buffer, and writes begin
 * in the order in which they were taken. */
#include "kvprecond/fill.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/data/data.h"
#include "lib/thread/thread.h"

#define FILL_AHEAD    (8u << 20)         /* bytes made ahead of a queue */
#define FILL_SLICE    (256u << 10)       /* bytes made between two looks at the queue */
#define FILL_WATCH_NS INT64_C(20000000)  /* between two looks at the threads */
#define FILL_WAIT_NS  INT64_C(100000000) /* how long a thread may miss a stop */
#define FILL_BATCH    64

/* Where a completion is counted: the fill, round k = 1, 2, ..., or what belongs to neither. */
enum {
    TALLY_FILL = 0,
    TALLY_REST = STEADY_ROUNDS + 1,
    TALLIES
};
struct tally {
    uint64_t bytes, writes;
    struct hist *service; /* NULL in TALLY_REST */
    int64_t last_ns;      /* of its last completion */
};

/* A buffer, and the write that it is for. */
struct write {
    struct io_req req;
    struct plan_part part;
    struct fill_file *file;
    bool of_fill;              /* else of a round */
    uint64_t order;            /* among those of its thread */
    int64_t start_ns, done_ns; /* of the transfer */
    struct write *next;
};

/* A thread. Others read only bytes and counted_to_ns, and the tallies behind counted_to_ns. */
struct writer {
    struct fill *fill;
    const struct fill_lane *lane;
    atomic_uint_fast64_t *next_unit; /* of the lane */
    pthread_t thread;
    struct io *io;
    struct write *writes;
    unsigned in_flight;
    uint64_t begun; /* writes */
    pthread_t *fillers;
    unsigned fillers_started;
    pthread_mutex_t lock;  /* with fillers, of what follows */
    pthread_cond_t freed;  /* a buffer is empty again, or no unit is left */
    struct write *empty;   /* a stack */
    struct write **filled; /* by order % bufs */
    unsigned filling;      /* buffers that fillers have */
    uint64_t taken;        /* writes */
    uint64_t unit, at;     /* the unit being made, and how far */
    bool in_unit, out_of_units;
    int64_t data_wait_ns, store_wait_ns;
    atomic_uint_fast64_t bytes;        /* written so far */
    atomic_int_fast64_t counted_to_ns; /* all completions before it are tallied; INT64_MAX: ended */
    struct tally tally[TALLIES];
    struct fill_held held; /* of the fill */
    struct gap_loop gaps;
};

/* Shared by all threads. */
struct fill {
    const struct fill_opts *o;
    unsigned threads;                   /* of all lanes */
    atomic_uint_fast64_t *next_unit;    /* of each lane */
    atomic_uint_fast64_t writes_left;   /* of the fill */
    atomic_int_fast64_t rounds_from_ns; /* 0 until the fill has ended */
    atomic_bool stop;                   /* begin no more writes */
    atomic_bool abandon;                /* and leave those that do not end soon */
    pthread_mutex_t lock;               /* of what follows */
    pthread_cond_t ended;               /* a thread has */
    unsigned running;
    int failed; /* the first failure, which *e tells */
    struct err *e;
    /* the caller's thread's: */
    struct fill_result *r;
    struct writer *writers;
    unsigned started, rounds; /* rounds that have ended */
    bool filled;              /* the caller has been told */
};

/* Adds a write from start_ns to done_ns to held, if its thread or the process was away meanwhile.
 * If gaps or held is NULL, nothing is watched. 0 or -ENOMEM. */
static int fill_hold(const struct gap_list *gaps, struct fill_held *held, int64_t start_ns,
                     int64_t done_ns)
{
    int64_t away_ns, stopped_ns, ns = done_ns - start_ns;

    if (!gaps || !held)
        return 0;
    away_ns = gap_list_overlap(gaps, start_ns, done_ns);
    stopped_ns = gap_list_stopped(gaps, start_ns, done_ns);
    away_ns = stopped_ns > away_ns ? stopped_ns : away_ns;
    if (away_ns == 0)
        return 0;
    int rc = hist_record(held->held, ns);
    return rc < 0 ? rc : hist_record(held->freed, ns > away_ns ? ns - away_ns : 0);
}

/* Notes a failure and stops all threads. Any thread. */
static void fill_fail(struct fill *f, int code, const struct err *e)
{
    pthread_mutex_lock(&f->lock);
    if (f->failed == 0) {
        f->failed = code;
        *f->e = *e;
    }
    pthread_mutex_unlock(&f->lock);
    atomic_store(&f->stop, true);
}

/* ---- a thread ---- */

static bool stopping(const struct writer *w)
{
    return atomic_load_explicit(&w->fill->stop, memory_order_relaxed);
}

/* True: there is a unit to make. With rounds, units never end. */
static bool next_unit(struct writer *w)
{
    if (!w->in_unit && !w->out_of_units) {
        w->unit = atomic_fetch_add_explicit(w->next_unit, 1, memory_order_relaxed);
        w->at = 0;
        w->in_unit = w->fill->o->round_ns > 0 || w->unit < w->lane->plan->units;
        w->out_of_units = !w->in_unit;
    }
    return w->in_unit;
}

static void hold(struct writer *w)
{
    if (w->fillers)
        pthread_mutex_lock(&w->lock);
}

static void release(struct writer *w)
{
    if (w->fillers)
        pthread_mutex_unlock(&w->lock);
}

/* Takes an empty buffer and the next write. NULL: there is no buffer, or no write. Hold the lock.
 */
static struct write *take_write(struct writer *w)
{
    struct write *s = w->empty;

    if (!s || !next_unit(w))
        return NULL;
    w->empty = s->next;
    s->order = w->taken++;
    s->part = plan_part(w->lane->plan, w->unit, w->at);
    s->of_fill = w->unit < w->lane->plan->units;
    w->at += s->part.len;
    w->in_unit = !s->part.last;
    return s;
}

static void make_data(const struct write *s)
{
    data_fill(s->req.buf, s->part.len, &s->part.id, s->part.first_block);
}

static struct write **place_of(struct writer *w, uint64_t order)
{
    return &w->filled[order % w->fill->o->bufs];
}

/* Fills empty buffers, for about as long as a completion may wait to be seen. */
static void make_blocks(struct writer *w)
{
    uint32_t made = 0;

    while (made < FILL_SLICE) {
        struct write *s = take_write(w);

        if (!s)
            return;
        make_data(s);
        *place_of(w, s->order) = s;
        made += s->part.len;
    }
}

static void *filler_run(void *arg)
{
    struct writer *w = arg;
    struct gap_loop gaps;

    /* Gaps of a filler lengthen no write. They may leave the target without work. */
    gap_loop_open(&gaps, w->fill->o->gaps, GAPS_OF_MEMORY, "filler", 0);
    pthread_mutex_lock(&w->lock);
    while (!stopping(w) && next_unit(w)) {
        struct write *s = take_write(w);

        if (!s) {
            pthread_cond_wait(&w->freed, &w->lock);
            continue;
        }
        w->filling++;
        pthread_mutex_unlock(&w->lock);
        make_data(s);
        pthread_mutex_lock(&w->lock);
        w->filling--;
        *place_of(w, s->order) = s;
        w->io->ops->wake(w->io);
    }
    pthread_mutex_unlock(&w->lock);
    gap_loop_close(&gaps);
    return NULL;
}

/* The filled write whose turn it is. NULL: its buffer is not full yet. */
static struct write *next_filled(struct writer *w)
{
    hold(w);
    struct write **place = place_of(w, w->begun), *s = *place;
    *place = NULL;
    w->begun += s != NULL;
    release(w);
    return s;
}

/* Sets the descriptor of the write's file, or the number of its object. */
static int find_place(struct writer *w, struct write *s, struct err *e)
{
    if (w->lane->target)
        return fill_target_begin(w->lane->target, &s->part, &s->file, &s->req.fd, e);
    s->req.fd = (int)s->part.file;
    return s->part.file <= INT_MAX ? 0 : err_set(e, EFBIG, ERR_FAILED, "", "too many objects");
}

static int submit(struct writer *w, struct write *s, struct err *e)
{
    int rc = w->io->ops->submit(w->io, &s->req);

    w->in_flight += rc == 0;
    return rc < 0 ? err_errno(e, rc, ERR_FAILED, "", "a write could not be queued") : 0;
}

static void kick(struct writer *w)
{
    struct err e = {0};
    int rc = w->io->ops->kick(w->io);

    if (rc < 0)
        fill_fail(w->fill, err_errno(&e, rc, ERR_FAILED, "", "writes could not be started"), &e);
}

static void begin_filled(struct writer *w)
{
    struct err e = {0};
    struct write *s;
    bool any = false;
    int rc = 0;

    while (rc == 0 && w->in_flight < w->fill->o->depth && (s = next_filled(w)) != NULL) {
        rc = find_place(w, s, &e);
        if (rc < 0)
            break;
        if (w->fill->o->advice == FILL_SEQUENTIAL && s->part.offset == 0)
            posix_fadvise(s->req.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
        s->req.call = IO_TRANSFER;
        s->req.offset = s->part.offset;
        s->req.len = s->part.len;
        rc = submit(w, s, &e);
        any |= rc == 0;
    }
    if (rc < 0)
        fill_fail(w->fill, rc, &e);
    if (any)
        kick(w);
}

/* 0; -ENOMEM: the histogram has no memory. */
static int count_write(struct writer *w, const struct write *s, int64_t now_ns)
{
    struct fill *f = w->fill;
    const int64_t from_ns = atomic_load(&f->rounds_from_ns);
    int64_t which = TALLY_FILL;
    struct tally *t;

    /* A round is a span of time: its number is arithmetic, the same for every thread. */
    if (!s->of_fill)
        which = from_ns != 0 && now_ns >= from_ns ? (now_ns - from_ns) / f->o->round_ns + 1
                                                  : TALLY_REST;
    t = &w->tally[which < TALLY_REST ? which : TALLY_REST];
    t->bytes += s->part.len;
    t->writes++;
    t->last_ns = now_ns;
    atomic_fetch_add_explicit(&w->bytes, s->part.len, memory_order_relaxed);
    if (s->of_fill && atomic_fetch_sub(&f->writes_left, 1) == 1)
        atomic_store(&f->rounds_from_ns, now_ns);
    if (!t->service)
        return 0;
    int rc = s->of_fill
                 ? fill_hold(f->o->gaps, f->o->held ? &w->held : NULL, s->start_ns, s->done_ns)
                 : 0;
    return rc < 0 ? rc : hist_record(t->service, s->done_ns - s->start_ns);
}

/* One step of a write has ended: its transfer, or after it the sync and the drop of its pages. */
static void end_write(struct writer *w, struct write *s, int64_t now_ns)
{
    const enum io_call call = s->req.call;
    struct err e = {0};
    int rc = s->req.result;

    w->in_flight--;
    if (call == IO_TRANSFER) {
        s->start_ns = s->req.start_ns;
        s->done_ns = s->req.done_ns;
    }
    if (rc < 0) {
        err_errno(&e, rc, ERR_FAILED, w->lane->name, "%s of %u bytes at offset %llu of file %llu",
                  call == IO_TRANSFER ? "write" : "sync", s->part.len,
                  (unsigned long long)s->part.offset, (unsigned long long)s->part.file);
    } else if (w->fill->o->advice == FILL_DONTNEED && call != IO_DROP) {
        s->req.call = call == IO_TRANSFER ? IO_SYNC : IO_DROP;
        rc = submit(w, s, &e);
        if (rc == 0) {
            kick(w);
            return;
        }
    } else {
        rc = w->lane->target ? fill_target_done(w->lane->target, s->file, s->part.len, &e) : 0;
        if (rc == 0 && count_write(w, s, now_ns) < 0)
            rc = err_nomem(&e, "histogram");
    }
    if (rc < 0)
        fill_fail(w->fill, rc, &e);
    hold(w);
    s->next = w->empty;
    w->empty = s;
    if (w->fillers)
        pthread_cond_signal(&w->freed);
    release(w);
}

/* Whether this thread can make more data now. */
static bool more_to_make(struct writer *w)
{
    return !w->fillers && !stopping(w) && w->empty && next_unit(w);
}

/* Whether all writes have begun. */
static bool all_begun(struct writer *w)
{
    hold(w);
    bool all = w->taken == w->begun && !next_unit(w);
    release(w);
    return all;
}

/* Where the time of a wait goes. Fillers change neither state without a completion or a wake, which
 * ends the wait. */
static int64_t *waits_for(struct writer *w)
{
    hold(w);
    bool idle = w->filling == 0 && (!w->empty || !next_unit(w));
    release(w);
    return w->in_flight == 0 ? &w->data_wait_ns : idle || stopping(w) ? &w->store_wait_ns : NULL;
}

static void start_fillers(struct writer *w)
{
    const unsigned n = w->fill->o->fillers;
    struct err e = {0};
    int rc = 0;

    while (w->fillers_started < n && rc == 0) {
        rc = thread_start(&w->fillers[w->fillers_started], filler_run, w);
        w->fillers_started += rc == 0;
    }
    if (rc < 0)
        fill_fail(w->fill, thread_refused(&e, rc, "%u threads", n), &e);
}

static void end_fillers(struct writer *w)
{
    hold(w);
    w->in_unit = false;
    w->out_of_units = true;
    if (w->fillers)
        pthread_cond_broadcast(&w->freed);
    release(w);
    for (unsigned i = 0; i < w->fillers_started; i++)
        pthread_join(w->fillers[i], NULL);
}

static void *writer_run(void *arg)
{
    struct writer *w = arg;
    struct fill *f = w->fill;
    struct io_req *done[FILL_BATCH];
    int64_t turn_ns;
    int n = 0;

    gap_loop_open(&w->gaps, f->o->gaps, GAPS_OF_ENGINE, "writer", (unsigned)(w - f->writers));
    turn_ns = clock_now_ns();
    start_fillers(w);
    while (n >= 0) {
        int64_t now_ns, from_ns = 0, *wait = NULL;

        if (!stopping(w) && !w->fillers)
            make_blocks(w);
        if (!stopping(w))
            begin_filled(w);
        if (w->in_flight == 0 && (stopping(w) || all_begun(w)))
            break;
        if (w->in_flight == 0 && !w->fillers)
            continue;
        if (w->fillers) {
            wait = waits_for(w);
            from_ns = clock_now_ns();
        }
        n = w->io->ops->reap(w->io, done, FILL_BATCH,
                             more_to_make(w) ? 0 : clock_now_ns() + FILL_WAIT_NS);
        if (n == 0 && atomic_load(&f->abandon))
            break;
        now_ns = clock_now_ns();
        if (wait)
            *wait += now_ns - from_ns;
        gap_loop_look(&w->gaps, turn_ns, now_ns);
        turn_ns = now_ns;
        for (int i = 0; i < n; i++)
            end_write(w, done[i]->owner, now_ns);
        atomic_store(&w->counted_to_ns, now_ns);
        if (n < 0) {
            struct err e = {0};

            fill_fail(f, err_errno(&e, n, ERR_FAILED, "", "completions cannot be had"), &e);
        }
    }
    end_fillers(w);
    gap_loop_close(&w->gaps);
    atomic_store(&w->counted_to_ns, INT64_MAX);
    pthread_mutex_lock(&f->lock);
    f->running--;
    pthread_cond_signal(&f->ended);
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* ---- the caller's thread: watching ---- */

/* Adds up one tally of all threads. *last_ns becomes its last completion, if that is later. */
static int gather(const struct fill *f, unsigned which, struct fill_span *span,
                  struct hist *service, int64_t *last_ns)
{
    int rc = 0;

    for (unsigned i = 0; i < f->threads && rc == 0; i++) {
        const struct tally *t = &f->writers[i].tally[which];

        span->bytes += t->bytes;
        span->writes += t->writes;
        if (t->last_ns > *last_ns)
            *last_ns = t->last_ns;
        rc = service ? hist_merge(service, t->service) : 0;
    }
    span->service = service;
    return rc;
}

static uint64_t written_bytes(const struct fill *f)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < f->threads; i++)
        bytes += atomic_load_explicit(&f->writers[i].bytes, memory_order_relaxed);
    return bytes;
}

static bool counted_to(const struct fill *f, int64_t ns)
{
    for (unsigned i = 0; i < f->threads; i++)
        if (atomic_load(&f->writers[i].counted_to_ns) < ns)
            return false;
    return true;
}

/* Tells the caller of the rounds that have ended since the last look. */
static void watch_rounds(struct fill *f)
{
    const int64_t from_ns = atomic_load(&f->rounds_from_ns);

    if (f->o->round_ns > 0 && from_ns != 0 && !f->filled) {
        f->filled = true;
        if (f->o->filled)
            f->o->filled(f->o->ctx);
    }
    while (f->o->round_ns > 0 && from_ns != 0 && !atomic_load(&f->stop) &&
           counted_to(f, from_ns + (f->rounds + 1) * f->o->round_ns)) {
        struct fill_span span = {.elapsed_ns = f->o->round_ns};
        struct hist *service = hist_create();
        struct err e = {0};
        int64_t last_ns = 0;

        f->rounds++;
        if (!service || gather(f, f->rounds, &span, service, &last_ns) < 0)
            fill_fail(f, err_nomem(&e, "histogram"), &e);
        else if (f->o->round(f->o->ctx, &span) || f->rounds == STEADY_ROUNDS)
            atomic_store(&f->stop, true);
        hist_free(service);
    }
}

static void watch_writers(struct fill *f)
{
    pthread_mutex_lock(&f->lock);
    while (f->running > 0) {
        int64_t until_ns = clock_now_ns() + FILL_WATCH_NS;
        struct timespec until = {.tv_sec = until_ns / UNITS_NS_PER_S,
                                 .tv_nsec = until_ns % UNITS_NS_PER_S};

        pthread_cond_timedwait(&f->ended, &f->lock, &until);
        pthread_mutex_unlock(&f->lock);
        watch_rounds(f);
        enum fill_wish wish = f->o->tick(f->o->ctx, written_bytes(f));
        if (wish != FILL_GO_ON && !atomic_load(&f->stop)) {
            f->r->stopped = true;
            atomic_store(&f->stop, true);
        }
        if (wish == FILL_ABANDON)
            atomic_store(&f->abandon, true);
        pthread_mutex_lock(&f->lock);
    }
    pthread_mutex_unlock(&f->lock);
}

/* ---- the caller's thread: starting and ending ---- */

/* Number i of all threads: those of a lane follow each other. */
static int writer_init(struct writer *w, struct fill *f, unsigned i)
{
    const struct fill_opts *o = f->o;
    const struct fill_lane *lane = &o->lanes[i / o->threads];
    const struct fill_queue *queue = &lane->queues[i % o->threads];
    const unsigned last = o->round_ns > 0 ? STEADY_ROUNDS : TALLY_FILL;

    w->fill = f;
    w->lane = lane;
    w->next_unit = &f->next_unit[i / o->threads];
    w->io = queue->io;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->freed, NULL);
    w->fillers = o->fillers ? calloc(o->fillers, sizeof(*w->fillers)) : NULL;
    w->filled = calloc(o->bufs, sizeof(*w->filled));
    w->writes = calloc(o->bufs, sizeof(*w->writes));
    if (!w->writes || !w->filled || (o->fillers && !w->fillers))
        return -ENOMEM;
    if (o->held && (!(w->held.held = hist_create()) || !(w->held.freed = hist_create())))
        return -ENOMEM;
    for (unsigned k = 0; k <= last; k++) {
        w->tally[k].service = hist_create();
        if (!w->tally[k].service)
            return -ENOMEM;
    }
    for (unsigned k = o->bufs; k-- > 0;) {
        struct write *s = &w->writes[k];

        s->req = (struct io_req){.fd = -1, .write = true, .buf_index = (int)k, .owner = s};
        s->req.buf = (char *)queue->pool + (size_t)k * lane->plan->o.write_bytes;
        s->next = w->empty;
        w->empty = s;
    }
    return 0;
}

/* stuck: engines may still use writes, so they are not freed. */
static void writer_release(struct writer *w, bool stuck)
{
    for (unsigned k = 0; k < TALLIES; k++)
        hist_free(w->tally[k].service);
    hist_free(w->held.held);
    hist_free(w->held.freed);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->freed);
    free(w->fillers);
    free(w->filled);
    if (!stuck)
        free(w->writes);
}

static void start_writers(struct fill *f)
{
    int rc = 0;

    f->running = f->threads;
    while (f->started < f->threads && rc == 0) {
        struct writer *w = &f->writers[f->started];
        cpu_set_t cpus;
        bool near = thread_enter_node("/sys", w->lane->node, &cpus) == 0;

        rc = thread_start(&w->thread, writer_run, w);
        if (near)
            thread_leave_node(&cpus);
        f->started += rc == 0;
    }
    if (rc < 0) {
        struct err e = {0};

        pthread_mutex_lock(&f->lock);
        f->running -= f->threads - f->started;
        pthread_mutex_unlock(&f->lock);
        fill_fail(f, thread_refused(&e, rc, "%u threads", f->threads), &e);
    }
}

/* Adds up the writes of each target. */
static int gather_lanes(const struct fill *f, int64_t start_ns)
{
    const struct fill_opts *o = f->o;
    int rc = 0;

    for (unsigned i = 0; i < f->threads && rc == 0; i++) {
        const struct tally *t = &f->writers[i].tally[TALLY_FILL];
        struct fill_lane *lane = &o->lanes[i / o->threads];

        lane->bytes += t->bytes;
        lane->writes += t->writes;
        if (t->last_ns - start_ns > lane->elapsed_ns)
            lane->elapsed_ns = t->last_ns - start_ns;
        rc = lane->service ? hist_merge(lane->service, t->service) : 0;
        if (rc == 0 && o->held)
            rc = hist_merge(o->held->held, f->writers[i].held.held);
        if (rc == 0 && o->held)
            rc = hist_merge(o->held->freed, f->writers[i].held.freed);
    }
    return rc;
}

int fill_run(const struct fill_opts *o, struct fill_result *r, struct hist *service, struct err *e)
{
    struct fill f = {.o = o, .r = r, .e = e, .threads = o->threads * o->lane_count};
    struct fill_span span = {0};
    int64_t start_ns, last_ns;
    pthread_condattr_t attr;
    struct err late = {0};
    uint64_t writes = 0;
    int rc;

    *r = (struct fill_result){0};
    for (unsigned i = 0; i < o->lane_count; i++)
        writes += o->lanes[i].plan->units * o->lanes[i].plan->writes_per_unit;
    atomic_init(&f.writes_left, writes);
    pthread_mutex_init(&f.lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f.ended, &attr);
    pthread_condattr_destroy(&attr);
    f.writers = calloc(f.threads, sizeof(*f.writers));
    f.next_unit = calloc(o->lane_count, sizeof(*f.next_unit));
    rc = f.writers && f.next_unit ? 0 : -ENOMEM;
    for (unsigned i = 0; i < f.threads && rc == 0; i++)
        rc = writer_init(&f.writers[i], &f, i);
    if (rc < 0) {
        err_nomem(e, "writes");
        goto out;
    }

    start_ns = last_ns = clock_now_ns();
    start_writers(&f);
    watch_writers(&f);
    for (unsigned i = 0; i < f.started; i++)
        pthread_join(f.writers[i].thread, NULL);
    for (unsigned i = 0; i < f.started; i++) {
        r->stuck |= f.writers[i].in_flight > 0;
        r->data_wait_ns += f.writers[i].data_wait_ns;
        r->store_wait_ns += f.writers[i].store_wait_ns;
    }
    if (gather(&f, TALLY_FILL, &span, service, &last_ns) < 0 || gather_lanes(&f, start_ns) < 0)
        fill_fail(&f, err_nomem(&late, "histogram"), &late);
    r->bytes = span.bytes;
    r->writes = span.writes;
    r->elapsed_ns = last_ns - start_ns;
    r->complete = atomic_load(&f.writes_left) == 0;
    r->total_bytes = written_bytes(&f);
    rc = f.failed;
out:
    for (unsigned i = 0; f.writers && i < f.threads; i++)
        writer_release(&f.writers[i], r->stuck);
    free(f.writers);
    free(f.next_unit);
    pthread_cond_destroy(&f.ended);
    pthread_mutex_destroy(&f.lock);
    return rc;
}

unsigned fill_buffers(unsigned depth, uint32_t write_bytes)
{
    unsigned ahead = FILL_AHEAD / write_bytes;

    return depth + (ahead < 2 ? 2 : ahead);
}
