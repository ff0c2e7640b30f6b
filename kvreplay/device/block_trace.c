/* Takes events from tracefs or from kvtrace-trace, once every few milliseconds, and puts those of
 * all processors in order of time: a request is issued on one and often completed on another. What
 * a request means for a run, drive_times.c knows.
 */
#include "kvreplay/device/block_trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvreplay/device/trace_helper.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/thread/thread.h"

enum {
    TRACE_LOOK_NS = 40000000, /* between two looks at the buffers */
    WAITING_FIRST = 4096      /* events */
};

struct block_trace {
    struct block_trace_sink sink;
    struct block_events *events; /* one of the two is there */
    struct trace_helper *helper;
    pthread_t thread;
    bool runs;
    atomic_bool stop;
    /* the thread's: */
    struct request_join *join;
    struct request_event *waiting; /* read, and not yet in order */
    struct request_event *spare;   /* as much room, to merge into */
    size_t count, room, spare_room;
    struct block_trace_figures figures;
};

int block_trace_number(const char *name, uint32_t *number)
{
    char path[128];
    unsigned major, minor;
    int rc = -ENODEV;

    snprintf(path, sizeof(path), "/sys/block/%s/dev", name);
    FILE *f = fopen(path, "re");
    if (!f)
        return -errno;
    if (fscanf(f, "%u:%u", &major, &minor) == 2 && major < 4096 && minor < 1u << 20) {
        *number = major << 20 | minor;
        rc = 0;
    }
    fclose(f);
    return rc;
}

int block_trace_open(struct block_trace **out, const struct block_trace_device *device, unsigned n,
                     const struct block_trace_sink *sink, struct err *e)
{
    struct block_trace *t = calloc(1, sizeof(*t));
    uint32_t number[BLOCK_EVENTS_DEVICES];

    if (!t || !(t->join = request_join_create())) {
        block_trace_close(t);
        return err_nomem(e, "block trace");
    }
    t->sink = *sink;
    for (unsigned i = 0; i < n; i++)
        number[i] = device[i].number;
    int rc = block_events_open(&t->events, number, n, getpid(), e);
    if (rc == -EPERM || rc == -EACCES)
        rc = trace_helper_start(&t->helper, number, n, e);
    if (rc < 0)
        block_trace_close(t);
    else
        *out = t;
    return rc;
}

/* ---- reading ---- */

static int take_event(void *ctx, const struct request_event *event)
{
    struct block_trace *t = ctx;
    if (memory_room(&t->waiting, &t->room, t->count, sizeof(*t->waiting), WAITING_FIRST) < 0)
        return -ENOMEM;
    t->waiting[t->count++] = *event;
    return 0;
}

static bool is_before(const struct request_event *x, const struct request_event *y)
{
    return x->time_ns != y->time_ns ? x->time_ns < y->time_ns : x->kind < y->kind;
}

/* The end of the run in order that begins at i. */
static size_t run_end(const struct request_event *e, size_t i, size_t n)
{
    do
        i++;
    while (i < n && !is_before(&e[i], &e[i - 1]));
    return i;
}

/* Waiting events are one ordered run for each processor, behind one that is left: neighbours are
 * merged until one is left (Knuth, The Art of Computer Programming 3, 5.2.4, natural merging). */
static int put_in_order(struct block_trace *t)
{
    struct request_event *from = t->waiting, *to;

    if (t->spare_room < t->room) {
        if (memory_resize(&t->spare, t->room, sizeof(*t->spare)) < 0)
            return -ENOMEM;
        t->spare_room = t->room;
    }
    while (t->count > 0 && run_end(from, 0, t->count) < t->count) {
        to = t->spare;
        for (size_t i = 0; i < t->count;) {
            size_t middle = run_end(from, i, t->count), k = middle;
            size_t end = middle < t->count ? run_end(from, middle, t->count) : middle;
            while (i < middle || k < end)
                *to++ = k == end || (i < middle && !is_before(&from[k], &from[i])) ? from[i++]
                                                                                   : from[k++];
            i = end;
        }
        t->waiting = t->spare;
        t->spare = from;
        from = t->waiting;
        size_t room = t->room;
        t->room = t->spare_room;
        t->spare_room = room;
    }
    return 0;
}

/* Joins what happened before that time, after which nothing earlier is read any more. */
static int join_until(struct block_trace *t, int64_t until_ns)
{
    struct request r;
    size_t i = 0;
    int rc = put_in_order(t);

    for (; i < t->count && t->waiting[i].time_ns < until_ns && rc == 0; i++) {
        rc = request_join_take(t->join, &t->waiting[i], &r);
        if (rc > 0)
            rc = t->sink.request(t->sink.ctx, &r);
    }
    t->count -= i;
    if (i > 0 && t->count > 0)
        memmove(t->waiting, t->waiting + i, t->count * sizeof(*t->waiting));
    return rc;
}

/* Takes all that has been recorded since the last time. 0: more come; 1: these were the last. */
static int take_all(struct block_trace *t, int64_t *until_ns)
{
    if (t->helper)
        return trace_helper_read(t->helper, take_event, t, until_ns);
    bool last = atomic_load_explicit(&t->stop, memory_order_acquire);
    int rc = block_events_read(t->events, take_event, t, until_ns);
    if (rc == 0 && last)
        *until_ns = INT64_MAX;
    return rc < 0 ? rc : last;
}

static void *read_all(void *arg)
{
    struct block_trace *t = arg;
    int64_t until_ns;
    int more;

    for (;;) {
        more = take_all(t, &until_ns);
        int rc = more < 0 ? more : join_until(t, until_ns);
        if (rc < 0) {
            t->figures.failed = rc;
            break;
        }
        if (more == 1)
            break;
        t->sink.until(t->sink.ctx, until_ns);
        if (!t->helper)
            clock_sleep_until(clock_now_ns() + TRACE_LOOK_NS, 0);
    }
    t->sink.until(t->sink.ctx, INT64_MAX);
    return NULL;
}

/* ---- the recording ---- */

int block_trace_begin(struct block_trace *t, struct err *e)
{
    int rc = t->helper ? trace_helper_begin(t->helper, e) : block_events_begin(t->events, e);

    if (rc == 0)
        rc = thread_start(&t->thread, read_all, t);
    t->runs = rc == 0;
    if (rc < 0 && e->code == 0)
        err_errno(e, rc, ERR_TARGET, "", "cannot record the requests of block devices");
    return rc;
}

void block_trace_end(struct block_trace *t)
{
    if (!t->runs)
        return;
    if (t->helper)
        trace_helper_stop(t->helper);
    else
        block_events_stop(t->events);
    atomic_store_explicit(&t->stop, true, memory_order_release);
    pthread_join(t->thread, NULL);
    t->runs = false;
    if (t->helper)
        trace_helper_count(t->helper, &t->figures.events);
    else
        block_events_count(t->events, &t->figures.events);
    request_join_count(t->join, &t->figures.requests);
}

void block_trace_count(const struct block_trace *t, struct block_trace_figures *f)
{
    *f = t->figures;
}

void block_trace_close(struct block_trace *t)
{
    if (!t)
        return;
    block_trace_end(t);
    block_events_close(t->events);
    trace_helper_close(t->helper);
    request_join_free(t->join);
    free(t->waiting);
    free(t->spare);
    free(t);
}
