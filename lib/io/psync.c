/* The I/O engine for kernels and containers that refuse io_uring: a pool of threads that make plain
 * calls (pread, pwrite, openat). It behaves as uring.c does behind the same table. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/io/io.h"
#include "lib/thread/thread.h"

#define PSYNC_THREADS_MAX 64u
#define PSYNC_SECTOR      512u

/* Requests in order of arrival, linked by next. */
struct psync_queue {
    struct io_req *head, **tail;
};

struct psync {
    struct io io;
    /* the owner's: */
    unsigned depth, in_flight;
    struct psync_queue batch; /* submitted, not yet kicked */
    unsigned batched;
    /* under the lock: */
    pthread_mutex_t lock;
    pthread_cond_t work, ready;
    struct psync_queue todo, done;
    bool woken, stop;
    struct gap_list *gaps;
    unsigned named; /* threads that have a number */
    unsigned threads;
    pthread_t thread[PSYNC_THREADS_MAX];
};

static void queue_init(struct psync_queue *q)
{
    q->head = NULL;
    q->tail = &q->head;
}

static void queue_push(struct psync_queue *q, struct io_req *r)
{
    r->next = NULL;
    *q->tail = r;
    q->tail = &r->next;
}

static struct io_req *queue_pop(struct psync_queue *q)
{
    struct io_req *r = q->head;

    if (!r)
        return NULL;
    q->head = r->next;
    if (!q->head)
        q->tail = &q->head;
    return r;
}

/* Moves the whole request; returns its result. */
static int psync_transfer(struct io_req *r)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    while (r->moved < r->len) {
        char *buf = (char *)r->buf + r->moved;
        size_t len = r->len - r->moved;
        off_t at = (off_t)(r->offset + r->moved);
        ssize_t n = r->write ? pwrite(r->fd, buf, len, at) : pread(r->fd, buf, len, at);

        if (n > 0) {
            r->moved += (uint32_t)n;
            r->again_ns = 0;
        } else if (n == 0)
            return r->write ? -EIO : IO_PAST_END;
        else if (errno == EINVAL && !r->write && r->moved % PSYNC_SECTOR != 0)
            return IO_PAST_END; /* a file with an odd end: O_DIRECT cannot go on from there */
        else if (errno == EAGAIN && io_again(r))
            nanosleep(&moment, NULL);
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

static void *psync_run(void *arg)
{
    struct psync *p = arg;
    struct gap_loop gaps;

    pthread_mutex_lock(&p->lock);
    unsigned number = p->named++;
    pthread_mutex_unlock(&p->lock);
    gap_loop_open(&gaps, p->gaps, GAPS_OF_ENGINE, "I/O", number);
    pthread_mutex_lock(&p->lock);
    for (;;) {
        struct io_req *r = queue_pop(&p->todo);

        if (!r && p->stop)
            break;
        if (!r) {
            pthread_cond_wait(&p->work, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        if (r->call == IO_TRANSFER)
            r->start_ns = clock_now_ns();
        r->result = r->call == IO_TRANSFER ? psync_transfer(r) : io_call_now(r);
        r->done_ns = clock_now_ns();
        gap_loop_look(&gaps, r->start_ns, r->done_ns);
        pthread_mutex_lock(&p->lock);
        queue_push(&p->done, r);
        pthread_cond_signal(&p->ready);
    }
    pthread_mutex_unlock(&p->lock);
    gap_loop_close(&gaps);
    return NULL;
}

static void psync_close(struct io *io)
{
    struct psync *p = (struct psync *)io;

    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->threads; i++)
        pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->ready);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static int psync_open(struct io **out, const struct io_opts *o, struct err *e)
{
    struct psync *p = calloc(1, sizeof(*p));
    unsigned threads = o->depth < PSYNC_THREADS_MAX ? o->depth : PSYNC_THREADS_MAX;
    pthread_condattr_t attr;

    if (!p)
        return err_nomem(e, "I/O threads");
    p->io.ops = &io_psync_ops;
    p->depth = o->depth;
    p->gaps = o->gaps;
    queue_init(&p->batch);
    queue_init(&p->todo);
    queue_init(&p->done);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->ready, &attr);
    pthread_condattr_destroy(&attr);
    while (p->threads < threads) {
        int rc = thread_start(&p->thread[p->threads], psync_run, p);

        if (rc < 0) {
            psync_close(&p->io);
            return thread_refused(e, rc, "%u I/O threads", threads);
        }
        p->threads++;
    }
    p->io.at_once = threads;
    notes_add(&p->io.flags, "%u threads", threads);
    if (threads < (o->data ? o->data : o->depth))
        notes_add(&p->io.fallbacks, "at most %u I/Os in flight", threads);
    *out = &p->io;
    return 0;
}

static int psync_submit(struct io *io, struct io_req *r)
{
    struct psync *p = (struct psync *)io;

    if (p->in_flight == p->depth)
        return -EAGAIN;
    r->moved = 0;
    r->again_ns = 0;
    queue_push(&p->batch, r);
    p->batched++;
    p->in_flight++;
    return 0;
}

static int psync_kick(struct io *io)
{
    struct psync *p = (struct psync *)io;
    int64_t now;

    if (p->batched == 0)
        return 0;
    now = clock_now_ns();
    for (struct io_req *r = p->batch.head; r; r = r->next)
        r->start_ns = now;
    pthread_mutex_lock(&p->lock);
    *p->todo.tail = p->batch.head;
    p->todo.tail = p->batch.tail;
    queue_init(&p->batch);
    for (unsigned i = 0; i < p->batched && i < p->threads; i++)
        pthread_cond_signal(&p->work);
    pthread_mutex_unlock(&p->lock);
    p->batched = 0;
    return 0;
}

static int psync_reap(struct io *io, struct io_req **done, int max, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / UNITS_NS_PER_S,
                             .tv_nsec = until_ns % UNITS_NS_PER_S};
    struct psync *p = (struct psync *)io;
    bool over = until_ns == 0;
    int n = 0;

    psync_kick(io);
    pthread_mutex_lock(&p->lock);
    while (!p->done.head && !p->woken && !over) {
        if (until_ns == INT64_MAX)
            pthread_cond_wait(&p->ready, &p->lock);
        else
            over = pthread_cond_timedwait(&p->ready, &p->lock, &until) == ETIMEDOUT;
    }
    while (n < max && p->done.head)
        done[n++] = queue_pop(&p->done);
    /* Only a call that waited uses up the wake. */
    if (until_ns != 0)
        p->woken = false;
    pthread_mutex_unlock(&p->lock);
    p->in_flight -= (unsigned)n;
    return n;
}

static void psync_wake(struct io *io)
{
    struct psync *p = (struct psync *)io;

    pthread_mutex_lock(&p->lock);
    p->woken = true;
    pthread_cond_signal(&p->ready);
    pthread_mutex_unlock(&p->lock);
}

const struct io_ops io_psync_ops = {
    .engine = IO_PSYNC,
    .name = "psync",
    .open = psync_open,
    .submit = psync_submit,
    .kick = psync_kick,
    .reap = psync_reap,
    .wake = psync_wake,
    .close = psync_close,
};
