/* Behind order.c, for --timing served: requests stand in line in the order of the trace. One is let
 * in when it has arrived and a worker is free. Only its first row waits for that; the others wait
 * for the row before them (order.c). A request holds its worker until its Generate row, which ends
 * it, is done, or until no further row of it is in sight. All memory is taken at the start. */
#include "kvreplay/sched/admission.h"

#include <stdlib.h>

#include "kvreplay/sched/pool.h"

/* A request that has rows inside or holds a worker. */
struct request {
    struct pool_entry entry;
    struct request *behind; /* in line */
    int64_t arrival_ns, entered_ns;
    struct row *first; /* waits for a worker; NULL: let in */
    size_t inside;     /* rows */
    uint64_t newest;   /* number of its last row */
    int64_t done_ns;
    int64_t late_ns; /* how late the tool itself was with its rows, in all */
    uint8_t qos;
};

struct admission {
    struct pool requests;
    struct request *head, *tail; /* the line */
    struct request *late;        /* first in line that is not in arrived; NULL: all are */
    size_t arrived;
    size_t workers, busy; /* busy exceeds workers after admission_beyond */
    int64_t *idle;        /* ring: since when each free worker is free */
    size_t idle_first, idle_count;
    struct request **lingering; /* no row inside, and more may come */
    size_t lingering_count;
    uint64_t look_ahead; /* rows without one of its own after which a request is over */
    admission_ended_fn ended;
    void *ctx;
};

struct admission *admission_create(unsigned workers, size_t rows, admission_ended_fn ended,
                                   void *ctx)
{
    struct admission *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    a->workers = a->idle_count = workers;
    a->look_ahead = rows / 2;
    a->ended = ended;
    a->ctx = ctx;
    int rc = pool_init(&a->requests, rows + workers, sizeof(struct request));
    a->idle = calloc(workers, sizeof(*a->idle));
    a->lingering = calloc(workers, sizeof(*a->lingering));
    if (rc < 0 || !a->idle || !a->lingering) {
        admission_free(a);
        return NULL;
    }
    for (size_t i = 0; i < workers; i++)
        a->idle[i] = INT64_MIN;
    return a;
}

void admission_free(struct admission *a)
{
    if (!a)
        return;
    free(a->lingering);
    free(a->idle);
    pool_release(&a->requests);
    free(a);
}

/* ---- the line ---- */

void admission_enter(struct admission *a, struct row *r, int64_t arrival_ns, int64_t now_ns)
{
    struct hash128 id = pool_request_id(r->t.request);
    struct request *q = (struct request *)pool_find(&a->requests, id);

    r->t.due_ns = TRACE_NONE;
    if (!q) { /* each request has a row inside or a worker, so an entry is spare */
        q = (struct request *)pool_add(&a->requests, id);
        *q = (struct request){.entry = q->entry,
                              .arrival_ns = arrival_ns,
                              .entered_ns = now_ns,
                              .first = r,
                              .qos = r->t.qos};
        r->t.due_ns = arrival_ns;
        r->waits |= ROW_WAIT_WORKER;
        *(a->tail ? &a->tail->behind : &a->head) = q;
        a->tail = q;
        a->late = a->late ? a->late : q;
    } else if (q->inside == 0) { /* it seemed to be over, and is not */
        size_t i = 0;
        while (a->lingering[i] != q)
            i++;
        a->lingering[i] = a->lingering[--a->lingering_count];
    }
    r->request = q;
    q->inside++;
    q->newest = r->number;
}

/* Lets the head of the line in, on a worker that is free since free_ns. */
static struct row *admission_let_in(struct admission *a, int64_t free_ns, int64_t *when_ns)
{
    struct request *q = a->head;
    struct row *r = q->first;

    a->head = q->behind;
    a->tail = a->head ? a->tail : NULL;
    if (a->late == q)
        a->late = q->behind;
    else
        a->arrived--;
    a->busy++;
    q->first = NULL;
    *when_ns = q->arrival_ns > q->entered_ns ? q->arrival_ns : q->entered_ns;
    *when_ns = free_ns > *when_ns ? free_ns : *when_ns;
    r->waits &= (uint8_t)~ROW_WAIT_WORKER;
    return r;
}

struct row *admission_next(struct admission *a, int64_t now_ns, int64_t *when_ns)
{
    if (admission_next_ns(a) > now_ns)
        return NULL;
    int64_t free_ns = a->idle[a->idle_first];
    a->idle_first = (a->idle_first + 1) % a->workers;
    a->idle_count--;
    return admission_let_in(a, free_ns, when_ns);
}

struct row *admission_beyond(struct admission *a, int64_t now_ns, int64_t *when_ns)
{
    if (!a->head || a->busy < a->workers || a->head->arrival_ns > now_ns)
        return NULL;
    return admission_let_in(a, now_ns, when_ns);
}

int64_t admission_next_ns(const struct admission *a)
{
    return a->head && a->busy < a->workers ? a->head->arrival_ns : INT64_MAX;
}

size_t admission_waiting(struct admission *a, int64_t now_ns)
{
    for (; a->late && a->late->arrival_ns <= now_ns; a->late = a->late->behind)
        a->arrived++;
    return a->arrived;
}

/* ---- the end of a request ---- */

/* Ends the request and frees its worker. */
static void admission_end(struct admission *a, struct request *q)
{
    a->ended(a->ctx, q->qos, q->arrival_ns, q->done_ns, q->late_ns);
    if (a->busy <= a->workers)
        a->idle[(a->idle_first + a->idle_count++) % a->workers] = q->done_ns;
    a->busy--;
    pool_remove(&a->requests, &q->entry);
}

void admission_leave(struct admission *a, struct row *r, int64_t done_ns)
{
    struct request *q = r->request;

    if (!q)
        return;
    r->request = NULL;
    q->done_ns = done_ns;
    q->late_ns += row_late_ns(r);
    if (--q->inside > 0)
        return;
    if (r->t.op == TRACE_GENERATE || a->busy > a->workers)
        admission_end(a, q);
    else
        a->lingering[a->lingering_count++] = q;
}

bool admission_expects(const struct admission *a)
{
    return a->late != NULL;
}

bool admission_settle(struct admission *a, uint64_t newest, bool no_more)
{
    size_t kept = 0, was = a->lingering_count;

    for (size_t i = 0; i < was; i++) {
        struct request *q = a->lingering[i];
        if (no_more || newest - q->newest >= a->look_ahead)
            admission_end(a, q);
        else
            a->lingering[kept++] = q;
    }
    a->lingering_count = kept;
    return kept < was;
}

bool admission_lingers(const struct admission *a)
{
    return a->lingering_count > 0;
}
