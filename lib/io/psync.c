/* I/O engine of last resort: a pool of threads that make plain calls (pread, pwrite, openat), for
 * kernels and containers that refuse io_uring. Same behaviour as uring.c behind the same table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/thread.h"
#include "lib/io/io.h"

#define PSYNC_THREADS_MAX 64u
#define PSYNC_NS_PER_S    1000000000LL

/* Requests in order of arrival, linked by next. */
struct psync_queue {
    struct io_req *head, **tail;
};

struct psync {
    struct io io;
    unsigned depth, in_flight; /* owner's */
    struct psync_queue batch;  /* owner's: submitted, not yet kicked */
    unsigned batched;          /* owner's */
    pthread_mutex_t lock;      /* of everything below */
    pthread_cond_t work, ready;
    struct psync_queue todo, done;
    bool woken, stop;
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

static void queue_append(struct psync_queue *q, struct psync_queue *more)
{
    if (!more->head)
        return;
    *q->tail = more->head;
    q->tail = more->tail;
    queue_init(more);
}

/* Moves the whole request; 0 or negative errno. */
static int psync_transfer(struct io_req *r)
{
    while (r->moved < r->len) {
        char *buf = (char *)r->buf + r->moved;
        size_t len = r->len - r->moved;
        off_t at = (off_t)(r->offset + r->moved);
        ssize_t n = r->write ? pwrite(r->fd, buf, len, at) : pread(r->fd, buf, len, at);

        if (n > 0)
            r->moved += (uint32_t)n;
        else if (n == 0)
            return r->write ? -EIO : -ENODATA;
        else if (errno == EINVAL && !r->write && r->moved % 512 != 0)
            return -ENODATA; /* O_DIRECT refuses to go on from the odd end of a file */
        else if (errno != EINTR && errno != EAGAIN)
            return -errno;
    }
    return 0;
}

static void *psync_run(void *arg)
{
    struct psync *p = arg;

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
        r->start_ns = clock_now_ns();
        r->result = r->call == IO_TRANSFER ? psync_transfer(r) : io_call_now(r);
        r->done_ns = clock_now_ns();
        pthread_mutex_lock(&p->lock);
        queue_push(&p->done, r);
        pthread_cond_signal(&p->ready);
    }
    pthread_mutex_unlock(&p->lock);
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

static int psync_start(struct psync *p, unsigned threads)
{
    int ret = 0;

    while (p->threads < threads && ret == 0) {
        ret = thread_start(&p->thread[p->threads], psync_run, p);
        if (ret == 0)
            p->threads++;
    }
    return ret;
}

static int psync_open(struct io **out, const struct io_opts *o, struct err *e)
{
    struct psync *p = calloc(1, sizeof *p);
    unsigned threads = o->depth < PSYNC_THREADS_MAX ? o->depth : PSYNC_THREADS_MAX;
    pthread_condattr_t attr;
    int ret;

    if (!p)
        return err_nomem(e, "I/O threads");
    p->io.ops = &io_psync_ops;
    p->depth = o->depth;
    queue_init(&p->batch);
    queue_init(&p->todo);
    queue_init(&p->done);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->ready, &attr);
    pthread_condattr_destroy(&attr);
    ret = psync_start(p, threads);
    if (ret < 0) {
        psync_close(&p->io);
        return err_errno(e, ret, ERR_FAILED, "", "cannot start %u I/O threads", threads);
    }
    notes_add(&p->io.flags, "%u threads", threads);
    if (threads < (o->data ? o->data : o->depth))
        notes_add(&p->io.fallbacks, "%u I/Os at the device at most", threads);
    *out = &p->io;
    return 0;
}

static int psync_submit(struct io *io, struct io_req *r)
{
    struct psync *p = (struct psync *)io;

    if (p->in_flight == p->depth)
        return -EAGAIN;
    r->moved = 0;
    queue_push(&p->batch, r);
    p->batched++;
    p->in_flight++;
    return 0;
}

static int psync_kick(struct io *io)
{
    struct psync *p = (struct psync *)io;

    if (p->batched == 0)
        return 0;
    pthread_mutex_lock(&p->lock);
    queue_append(&p->todo, &p->batch);
    for (unsigned i = 0; i < p->batched && i < p->threads; i++)
        pthread_cond_signal(&p->work);
    pthread_mutex_unlock(&p->lock);
    p->batched = 0;
    return 0;
}

/* With the lock held: until a completion or a wake is there, or until_ns is over. */
static void psync_wait(struct psync *p, int64_t until_ns)
{
    struct timespec at = {.tv_sec = until_ns / PSYNC_NS_PER_S,
                          .tv_nsec = until_ns % PSYNC_NS_PER_S};
    int ret = until_ns == 0 ? ETIMEDOUT : 0;

    while (!p->done.head && !p->woken && ret != ETIMEDOUT) {
        if (until_ns == INT64_MAX)
            ret = pthread_cond_wait(&p->ready, &p->lock);
        else
            ret = pthread_cond_timedwait(&p->ready, &p->lock, &at);
    }
}

static int psync_reap(struct io *io, struct io_req **done, int max, int64_t until_ns)
{
    struct psync *p = (struct psync *)io;
    int n = 0;

    psync_kick(io);
    pthread_mutex_lock(&p->lock);
    psync_wait(p, until_ns);
    while (n < max && p->done.head)
        done[n++] = queue_pop(&p->done);
    /* Only a call that waited consumes the wake. */
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
