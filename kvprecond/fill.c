/* A fill from the outside: starts its threads, watches over them in the caller's thread (progress,
 * the ends of rounds, a wish to stop), and adds up what they counted. The writing is worker.c's. */
#include "kvprecond/fill.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "kvprecond/worker.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"

#define FILL_AHEAD    (8u << 20)        /* bytes made ahead of a queue */
#define FILL_WATCH_NS INT64_C(20000000) /* between two looks at the threads */

struct fill {
    struct work work;
    struct worker **workers;
    pthread_t *threads;
    unsigned started;
    unsigned rounds; /* that have ended */
    struct fill_result *r;
};

unsigned fill_buffers(unsigned depth, uint32_t write_bytes)
{
    unsigned ahead = FILL_AHEAD / write_bytes;

    return depth + (ahead < 2 ? 2 : ahead);
}

/* ---- adding up ---- */

/* One tally of all threads; last_ns: of the last completion in it. */
static int gather(const struct fill *f, unsigned which, struct fill_span *span,
                  struct hist *service, int64_t *last_ns)
{
    int ret = 0;

    for (unsigned i = 0; i < f->work.o->threads && ret == 0; i++) {
        const struct tally *t = worker_tally(f->workers[i], which);

        span->bytes += t->bytes;
        span->writes += t->writes;
        if (t->last_ns > *last_ns)
            *last_ns = t->last_ns;
        ret = service ? hist_merge(service, t->service) : 0;
    }
    span->service = service;
    return ret;
}

static bool counted_to(const struct fill *f, int64_t ns)
{
    for (unsigned i = 0; i < f->work.o->threads; i++)
        if (worker_counted_to(f->workers[i]) < ns)
            return false;
    return true;
}

/* Tells of one round; true: of no more. */
static bool tell_round(struct fill *f, unsigned which)
{
    struct fill_span span = {.elapsed_ns = f->work.o->round_ns};
    struct hist *service = hist_create();
    struct err e = {0};
    int64_t last_ns = 0;
    bool end = true;

    if (!service || gather(f, which, &span, service, &last_ns) < 0)
        worker_fail(&f->work, err_nomem(&e, "histogram"), &e);
    else
        end = f->work.o->round(f->work.o->ctx, &span) || which == STEADY_ROUNDS;
    hist_free(service);
    return end;
}

/* ---- watching ---- */

static void watch_rounds(struct fill *f)
{
    const int64_t from_ns = atomic_load(&f->work.rounds_from_ns);

    while (f->work.o->round_ns > 0 && from_ns != 0 && !atomic_load(&f->work.stop) &&
           counted_to(f, from_ns + (f->rounds + 1) * f->work.o->round_ns)) {
        f->rounds++;
        if (tell_round(f, f->rounds))
            atomic_store(&f->work.stop, true);
    }
}

static void watch(struct fill *f)
{
    uint64_t bytes = 0;

    watch_rounds(f);
    for (unsigned i = 0; i < f->work.o->threads; i++)
        bytes += worker_bytes(f->workers[i]);
    if (!atomic_load(&f->work.stop) && f->work.o->tick(f->work.o->ctx, bytes)) {
        f->r->stopped = true;
        atomic_store(&f->work.stop, true);
    }
}

static void watch_all(struct fill *f)
{
    pthread_mutex_lock(&f->work.lock);
    while (f->work.running > 0) {
        int64_t until_ns = clock_now_ns() + FILL_WATCH_NS;
        struct timespec until = {.tv_sec = until_ns / UNITS_NS_PER_S,
                                 .tv_nsec = until_ns % UNITS_NS_PER_S};

        pthread_cond_timedwait(&f->work.ended, &f->work.lock, &until);
        pthread_mutex_unlock(&f->work.lock);
        watch(f);
        pthread_mutex_lock(&f->work.lock);
    }
    pthread_mutex_unlock(&f->work.lock);
}

/* ---- threads ---- */

/* Threads take no signals: those are for the program's main thread. */
static int start_threads(struct fill *f)
{
    sigset_t all, before;
    int ret = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (f->started < f->work.o->threads && ret == 0) {
        pthread_mutex_lock(&f->work.lock);
        f->work.running++;
        pthread_mutex_unlock(&f->work.lock);
        ret = pthread_create(&f->threads[f->started], NULL, worker_run, f->workers[f->started]);
        if (ret == 0)
            f->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (ret != 0) {
        struct err e = {0};

        pthread_mutex_lock(&f->work.lock);
        f->work.running--;
        pthread_mutex_unlock(&f->work.lock);
        worker_fail(
            &f->work,
            err_errno(&e, -ret, ERR_FAILED, "", "cannot start %u threads", f->work.o->threads), &e);
    }
    return -ret;
}

static int create_workers(struct fill *f)
{
    const unsigned n = f->work.o->threads;

    f->workers = calloc(n, sizeof(*f->workers));
    f->threads = calloc(n, sizeof(*f->threads));
    if (!f->workers || !f->threads)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        f->workers[i] = worker_create(&f->work, &f->work.o->queues[i]);
        if (!f->workers[i])
            return -ENOMEM;
    }
    return 0;
}

static void work_init(struct work *w, const struct fill_opts *o, struct err *e)
{
    pthread_condattr_t attr;

    w->o = o;
    w->e = e;
    atomic_init(&w->writes_left, o->plan->units * o->plan->writes_per_unit);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->ended, &attr);
    pthread_condattr_destroy(&attr);
}

static void run_threads(struct fill *f, struct hist *service)
{
    struct fill_span span = {0};
    int64_t start_ns = clock_now_ns(), last_ns = start_ns;
    struct err e = {0};

    start_threads(f);
    watch_all(f);
    for (unsigned i = 0; i < f->started; i++)
        pthread_join(f->threads[i], NULL);
    if (gather(f, WORKER_FILL, &span, service, &last_ns) < 0)
        worker_fail(&f->work, err_nomem(&e, "histogram"), &e);
    f->r->bytes = span.bytes;
    f->r->writes = span.writes;
    f->r->elapsed_ns = last_ns - start_ns;
    f->r->complete = atomic_load(&f->work.writes_left) == 0;
    for (unsigned i = 0; i < f->work.o->threads; i++)
        f->r->total_bytes += worker_bytes(f->workers[i]);
}

int fill_run(const struct fill_opts *o, struct fill_result *r, struct hist *service, struct err *e)
{
    struct fill f = {.r = r};
    int ret;

    *r = (struct fill_result){0};
    work_init(&f.work, o, e);
    ret = create_workers(&f);
    if (ret == 0)
        run_threads(&f, service);
    else
        err_nomem(e, "writes");
    for (unsigned i = 0; f.workers && i < o->threads; i++)
        worker_free(f.workers[i]);
    free(f.workers);
    free(f.threads);
    pthread_cond_destroy(&f.work.ended);
    pthread_mutex_destroy(&f.work.lock);
    return ret < 0 ? ret : f.work.failed;
}
