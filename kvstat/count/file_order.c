/* Between the threads that read and the figures that need rows in file order. A run waits in a
 * short sorted list until no thread can still hand in an earlier one; since each thread's pieces
 * only grow, that is known from the piece that each is at. */
#include "kvstat/count/file_order.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct order_run {
    uint64_t piece, rows;
    struct occupancy occupancy;
    struct requests_run *requests;
    struct order_run *next; /* in a list: waiting by piece, or free */
};

struct order {
    bool result;
    int64_t warmup_ns;
    unsigned threads;
    pthread_mutex_t lock; /* guards all below; requests and occupancy are used under it */
    pthread_cond_t moved; /* an entry of at[] changed */
    struct order_run *waiting, *free;
    unsigned waiting_count;
    int rc;
    struct requests *requests;
    struct occupancy occupancy;
    uint64_t at[]; /* by thread: no earlier piece will come from it */
};

struct order *order_create(unsigned threads, bool result, struct requests *requests)
{
    struct order *o = calloc(1, sizeof(*o) + threads * sizeof(o->at[0]));
    if (!o)
        return NULL;
    o->result = result;
    o->threads = threads;
    o->requests = requests;
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->moved, NULL);
    return o;
}

void order_leave_out(struct order *o, int64_t warmup_ns)
{
    o->warmup_ns = warmup_ns;
}

static void run_free(struct order_run *run)
{
    requests_run_free(run->requests);
    free(run);
}

static void list_free(struct order_run *run)
{
    while (run) {
        struct order_run *next = run->next;
        run_free(run);
        run = next;
    }
}

void order_free(struct order *o)
{
    if (!o)
        return;
    list_free(o->waiting);
    list_free(o->free);
    pthread_cond_destroy(&o->moved);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

int order_run_add(struct order_run *run, const struct trace_row *rows, size_t n, struct err *e)
{
    run->rows += n;
    if (occupancy_add(&run->occupancy, rows, n) < 0)
        return err_set(e, -EOVERFLOW, ERR_INPUT, "", "live bytes of a tier do not fit 63 bits");
    return requests_run_add(run->requests, rows, n) < 0 ? err_nomem(e, "requests") : 0;
}

static struct order_run *run_create(const struct order *o)
{
    struct order_run *run = calloc(1, sizeof(*run));
    if (!run)
        return NULL;
    run->requests = requests_run_create(o->result);
    if (!run->requests) {
        free(run);
        return NULL;
    }
    requests_run_leave_out(run->requests, o->warmup_ns);
    return run;
}

static struct order_run *run_reuse(struct order *o)
{
    struct order_run *run = o->free;
    if (!run)
        return run_create(o);
    o->free = run->next;
    run->rows = 0;
    run->occupancy = (struct occupancy){0};
    run->next = NULL;
    requests_run_clear(run->requests);
    return run;
}

static uint64_t earliest_possible(const struct order *o)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < o->threads; i++)
        least = o->at[i] < least ? o->at[i] : least;
    return least;
}

static void append_ready(struct order *o)
{
    uint64_t before = earliest_possible(o);
    while (o->waiting && o->waiting->piece < before) {
        struct order_run *run = o->waiting;
        o->waiting = run->next;
        o->waiting_count--;
        if (o->rc == 0)
            o->rc = occupancy_append(&o->occupancy, &run->occupancy);
        if (o->rc == 0)
            o->rc = requests_append(o->requests, run->requests, run->rows);
        run->next = o->free;
        o->free = run;
    }
}

static void insert(struct order *o, struct order_run *run)
{
    struct order_run **link = &o->waiting;
    while (*link && (*link)->piece < run->piece)
        link = &(*link)->next;
    run->next = *link;
    *link = run;
    o->waiting_count++;
}

struct order_run *order_next(struct order *o, unsigned thread, struct order_run *filled,
                             uint64_t piece)
{
    pthread_mutex_lock(&o->lock);
    if (filled)
        insert(o, filled);
    o->at[thread] = piece;
    append_ready(o);
    pthread_cond_broadcast(&o->moved);
    /* The thread at the earliest piece never waits here, so the list always gets shorter. */
    while (piece != UINT64_MAX && o->waiting_count > o->threads * 2 &&
           earliest_possible(o) != piece)
        pthread_cond_wait(&o->moved, &o->lock);
    struct order_run *run = piece == UINT64_MAX ? NULL : run_reuse(o);
    if (run)
        run->piece = piece;
    pthread_mutex_unlock(&o->lock);
    return run;
}

int order_finish(struct order *o, struct occupancy *occupancy, struct err *e)
{
    *occupancy = o->occupancy;
    if (o->rc == -EOVERFLOW)
        return err_set(e, o->rc, ERR_INPUT, "", "live bytes of a tier do not fit 63 bits");
    return o->rc < 0 ? err_nomem(e, "requests") : 0;
}
