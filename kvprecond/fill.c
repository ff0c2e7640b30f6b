/* Between the plan and the target: threads take units from one counter and write them, while the
 * caller's thread watches (progress, ends of rounds, a wish to stop) and adds up what they counted.
 * In each thread buffers go from empty to filled to in flight and back. Filled buffers wait for a
 * free place in the queue, so it stays full: data is made several times faster than a device takes
 * it. */
#include "kvprecond/fill.h"

#include <errno.h>
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
    bool of_fill; /* else of a round */
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
    struct write *empty;                /* a stack */
    struct write *filled, **filled_end; /* in the order of their making */
    uint64_t unit, at;                  /* the unit being made, and how far */
    bool in_unit, out_of_units;
    unsigned in_flight;
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

int fill_hold(const struct gap_list *gaps, struct fill_held *held, int64_t start_ns,
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

/* Fills empty buffers, for about as long as a completion may wait to be seen. */
static void make_blocks(struct writer *w)
{
    uint32_t made = 0;

    while (w->empty && made < FILL_SLICE && next_unit(w)) {
        struct write *s = w->empty;

        w->empty = s->next;
        s->part = plan_part(w->lane->plan, w->unit, w->at);
        s->of_fill = w->unit < w->lane->plan->units;
        data_fill(s->req.buf, s->part.len, &s->part.id, s->part.first_block);
        w->at += s->part.len;
        w->in_unit = !s->part.last;
        made += s->part.len;
        s->next = NULL;
        *w->filled_end = s;
        w->filled_end = &s->next;
    }
}

static void begin_filled(struct writer *w)
{
    const struct fill_opts *o = w->fill->o;
    struct err e = {0};
    bool any = false;
    int rc = 0;

    while (w->filled && w->in_flight < o->depth) {
        struct write *s = w->filled;

        rc = fill_target_begin(w->lane->target, &s->part, &s->file, &s->req.fd, &e);
        if (rc < 0)
            break;
        s->req.offset = s->part.offset;
        s->req.len = s->part.len;
        rc = w->io->ops->submit(w->io, &s->req);
        if (rc < 0) {
            err_errno(&e, rc, ERR_FAILED, "", "a write could not be queued");
            break;
        }
        w->filled = s->next;
        if (!w->filled)
            w->filled_end = &w->filled;
        w->in_flight++;
        any = true;
    }
    if (rc < 0)
        fill_fail(w->fill, rc, &e);
    rc = any ? w->io->ops->kick(w->io) : 0;
    if (rc < 0)
        fill_fail(w->fill, err_errno(&e, rc, ERR_FAILED, "", "writes could not be started"), &e);
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
    int rc = s->of_fill ? fill_hold(f->o->gaps, f->o->held ? &w->held : NULL, s->req.start_ns,
                                    s->req.done_ns)
                        : 0;
    return rc < 0 ? rc : hist_record(t->service, s->req.done_ns - s->req.start_ns);
}

static void end_write(struct writer *w, struct write *s, int64_t now_ns)
{
    struct err e = {0};
    int rc = s->req.result;

    w->in_flight--;
    if (rc < 0) {
        err_errno(&e, rc, ERR_FAILED, w->lane->name,
                  "write of %u bytes at offset %llu of file %llu", s->part.len,
                  (unsigned long long)s->part.offset, (unsigned long long)s->part.file);
    } else {
        rc = fill_target_done(w->lane->target, s->file, s->part.len, &e);
        if (rc == 0 && count_write(w, s, now_ns) < 0)
            rc = err_nomem(&e, "histogram");
    }
    if (rc < 0)
        fill_fail(w->fill, rc, &e);
    s->next = w->empty;
    w->empty = s;
}

static bool more_to_make(struct writer *w)
{
    return !stopping(w) && w->empty && next_unit(w);
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
    while (n >= 0 && (w->in_flight > 0 || w->filled || more_to_make(w))) {
        int64_t now_ns;

        if (!stopping(w))
            make_blocks(w);
        if (!stopping(w))
            begin_filled(w);
        if (w->in_flight == 0 && stopping(w))
            break;
        if (w->in_flight == 0)
            continue;
        n = w->io->ops->reap(w->io, done, FILL_BATCH,
                             more_to_make(w) ? 0 : clock_now_ns() + FILL_WAIT_NS);
        if (n == 0 && atomic_load(&f->abandon))
            break;
        now_ns = clock_now_ns();
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
    w->filled_end = &w->filled;
    w->writes = calloc(o->bufs, sizeof(*w->writes));
    if (!w->writes)
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
    for (unsigned i = 0; i < f.started; i++)
        r->stuck |= f.writers[i].in_flight > 0;
    if (gather(&f, TALLY_FILL, &span, service, &last_ns) < 0 || gather_lanes(&f, start_ns) < 0)
        fill_fail(&f, err_nomem(&late, "histogram"), &late);
    r->bytes = span.bytes;
    r->writes = span.writes;
    r->elapsed_ns = last_ns - start_ns;
    r->complete = atomic_load(&f.writes_left) == 0;
    r->total_bytes = written_bytes(&f);
    rc = f.failed;
out:
    for (unsigned i = 0; f.writers && i < f.threads; i++) {
        for (unsigned k = 0; k < TALLIES; k++)
            hist_free(f.writers[i].tally[k].service);
        hist_free(f.writers[i].held.held);
        hist_free(f.writers[i].held.freed);
        if (!r->stuck) /* engines may look at them until the process ends */
            free(f.writers[i].writes);
    }
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
