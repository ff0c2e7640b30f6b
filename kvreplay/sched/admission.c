/* Beside order.c, for --timing served: requests stand in line in the order of the trace and are let
 * in when they have arrived and a worker is free; the first row of a request waits for that, the
 * others wait for it (order). A request holds its worker until its Generate row, which ends it, is
 * done, or no further row of it is in sight. All memory is taken at the start. */
#include "kvreplay/sched/admission.h"

#include <stdlib.h>

#include "lib/base/hash.h"

struct request {
    struct request *next; /* in its bucket, or free list */
    struct request *behind;
    int64_t id, arrival_ns, entered_ns;
    struct row *first; /* waits for a worker; NULL: let in */
    size_t inside;
    uint64_t newest; /* number of its last row */
    int64_t done_ns;
    uint8_t qos;
};

struct admission {
    struct request **bucket, *pool, *spare;
    size_t mask;
    struct request *head, *tail; /* the line */
    struct request *late;        /* first in line that was not counted as arrived; NULL: all were */
    size_t arrived;
    size_t workers, busy;
    int64_t *idle; /* ring of workers - busy moments since when a worker is free */
    size_t idle_first, idle_count;
    struct request **lingering;
    size_t lingering_count;
    uint64_t look_ahead; /* rows */
    admission_ended_fn ended;
    void *ctx;
};

struct admission *admission_create(unsigned workers, size_t rows, admission_ended_fn ended,
                                   void *ctx)
{
    size_t entries = rows + workers, buckets = 16;
    struct admission *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    while (buckets < entries)
        buckets *= 2;
    a->mask = buckets - 1;
    a->workers = a->idle_count = workers;
    a->look_ahead = rows / 2;
    a->ended = ended;
    a->ctx = ctx;
    a->bucket = calloc(buckets, sizeof(struct request *));
    a->pool = calloc(entries, sizeof(*a->pool));
    a->idle = calloc(workers, sizeof(*a->idle));
    a->lingering = calloc(workers, sizeof(struct request *));
    if (!a->bucket || !a->pool || !a->idle || !a->lingering) {
        admission_free(a);
        return NULL;
    }
    for (size_t i = 0; i < workers; i++)
        a->idle[i] = INT64_MIN;
    for (size_t i = 0; i < entries; i++) {
        a->pool[i].next = a->spare;
        a->spare = &a->pool[i];
    }
    return a;
}

void admission_free(struct admission *a)
{
    if (!a)
        return;
    free(a->lingering);
    free(a->idle);
    free(a->pool);
    free(a->bucket);
    free(a);
}

/* ---- requests that have rows inside or hold a worker ---- */

static struct request **admission_bucket(struct admission *a, int64_t id)
{
    return &a->bucket[hash_mix((uint64_t)id) & a->mask];
}

static struct request *admission_find(struct admission *a, int64_t id)
{
    struct request *s = *admission_bucket(a, id);
    while (s && s->id != id)
        s = s->next;
    return s;
}

static struct request *admission_add(struct admission *a, int64_t id)
{
    struct request **b = admission_bucket(a, id);
    struct request *s = a->spare; /* each has a row inside or a worker: there is always one */
    a->spare = s->next;
    *s = (struct request){.id = id, .next = *b};
    *b = s;
    return s;
}

/* Ends the request; its worker is free. */
static void admission_end(struct admission *a, struct request *s)
{
    struct request **at = admission_bucket(a, s->id);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    a->ended(a->ctx, s->qos, s->arrival_ns, s->done_ns);
    if (a->busy <= a->workers)
        a->idle[(a->idle_first + a->idle_count++) % a->workers] = s->done_ns;
    a->busy--;
    s->next = a->spare;
    a->spare = s;
}

/* Another row of a request that seemed to be over has come. */
static void admission_resume(struct admission *a, const struct request *s)
{
    size_t i = 0;
    while (a->lingering[i] != s)
        i++;
    a->lingering[i] = a->lingering[--a->lingering_count];
}

/* ---- the line ---- */

void admission_enter(struct admission *a, struct row *r, int64_t arrival_ns, int64_t now_ns)
{
    struct request *s = admission_find(a, r->t.request);

    r->t.due_ns = TRACE_NONE;
    if (!s) {
        s = admission_add(a, r->t.request);
        s->arrival_ns = r->t.due_ns = arrival_ns;
        s->entered_ns = now_ns;
        s->qos = r->t.qos;
        s->first = r;
        r->waits |= ROW_WAIT_WORKER;
        *(a->tail ? &a->tail->behind : &a->head) = s;
        a->tail = s;
        a->late = a->late ? a->late : s;
    } else if (s->inside == 0) {
        admission_resume(a, s);
    }
    r->served = s;
    s->inside++;
    s->newest = r->number;
}

static struct row *admission_let_in(struct admission *a, int64_t free_ns, int64_t *when_ns)
{
    struct request *s = a->head;
    struct row *r = s->first;

    a->head = s->behind;
    a->tail = a->head ? a->tail : NULL;
    if (a->late == s)
        a->late = s->behind;
    else
        a->arrived--;
    a->busy++;
    s->first = NULL;
    *when_ns = s->arrival_ns > s->entered_ns ? s->arrival_ns : s->entered_ns;
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

void admission_leave(struct admission *a, struct row *r, int64_t done_ns)
{
    struct request *s = r->served;

    if (!s)
        return;
    r->served = NULL;
    s->done_ns = done_ns;
    if (--s->inside > 0)
        return;
    if (r->t.op == TRACE_GENERATE || a->busy > a->workers)
        admission_end(a, s);
    else
        a->lingering[a->lingering_count++] = s;
}

bool admission_settle(struct admission *a, uint64_t newest, bool no_more)
{
    size_t kept = 0, was = a->lingering_count;

    for (size_t i = 0; i < was; i++) {
        struct request *s = a->lingering[i];
        if (no_more || newest - s->newest >= a->look_ahead)
            admission_end(a, s);
        else
            a->lingering[kept++] = s;
    }
    a->lingering_count = kept;
    return kept < was;
}

bool admission_lingers(const struct admission *a)
{
    return a->lingering_count > 0;
}
