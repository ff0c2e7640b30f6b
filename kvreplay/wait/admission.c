/* Behind order.c, for --timing served: says which request is let in next. Only the first row of a
 * request waits for that; the others wait for the row before them (order.c). A request holds its
 * worker until its Generate row, which ends it, is done, or until no further row of it is in sight.
 * All memory is taken at the start.
 *
 * Why no order of admission can deadlock. Rows wait for each other by key and by request, and only
 * for rows before them in the trace. So of the rows inside, the oldest that is not done waits for
 * no row: it waits for an operation, for a time, or for its request to be let in, or for room. When
 * nothing is outstanding, that is no operation in flight and no time to come, it waits for one of
 * the latter two. If for its request, it is the first row of it, and of all rows in line the
 * oldest: it is what admission_oldest returns. If for room, it is the oldest row in a line for
 * room. The scheduler then lets go the older of these two, without a worker and without room, so a
 * row that was not done ends, and this holds again for the next oldest. It needs nothing of what
 * the lines did before: not that they were in any order, nor that room or workers sufficed. The
 * window of rows does not matter either, because rows enter in the order of the trace and the
 * oldest is inside. */
#include "kvreplay/wait/admission.h"

#include <stdlib.h>

#include "kvreplay/wait/line.h"
#include "kvreplay/wait/order.h"
#include "kvreplay/wait/pool.h"

enum {
    TURN = 10,        /* each so-many-th admission is for the class that has waited longest */
    PASSED_MOST = 10, /* times that a request without room lets lower classes go first */
    LOOK_AHEAD_MOST = 32768
};

/* A request that has rows inside or holds a worker. */
struct request {
    struct pool_entry entry;
    struct request *before, *behind; /* in line, in the order of the trace */
    int64_t arrival_ns, entered_ns;
    struct row *first; /* waits for a worker; NULL: let in */
    size_t inside;     /* rows */
    uint64_t newest;   /* number of its last row */
    int64_t start_ns, done_ns;
    int64_t late_ns, line_ns; /* as of struct admission_ended */
    uint8_t qos;
    /* ADMISSION_QOS */
    uint8_t class;    /* of its line: its own, or that of a request that waits for it */
    uint8_t passed;   /* times that others went first because its room was not free */
    bool later;       /* in the line later: it has not arrived, or waits for one that has not */
    int64_t since_ns; /* it could not be let in before, for lack of room or another request */
    struct line_place place;
    struct request *raised; /* next whose blockers are to be raised */
    struct row *rows, *rows_end;
    struct room_claim claim[TRACE_TIERS];
};

struct admission {
    struct admission_opts o;
    struct pool requests;
    struct request *head, *tail; /* all in line, in the order of the trace */
    struct request *late;        /* ADMISSION_FIFO: first not counted in arrived; NULL: all are */
    size_t arrived;
    size_t busy;   /* workers; exceeds their number after admission_beyond */
    int64_t *idle; /* ring: since when each free worker is free */
    size_t idle_first, idle_count;
    struct request **lingering; /* no row inside, and more may come */
    size_t lingering_count;
    uint64_t look_ahead; /* rows without one of its own after which a request is over */
    /* ADMISSION_QOS: by class, in the order of the trace; later: by the time until when. */
    struct line line[TRACE_QOSES], later;
    size_t deferred; /* in later though they have arrived */
    uint64_t admitted;
};

struct admission *admission_create(const struct admission_opts *o)
{
    struct admission *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    a->o = *o;
    a->idle_count = o->workers;
    a->look_ahead = o->rows / 2 < LOOK_AHEAD_MOST ? o->rows / 2 : LOOK_AHEAD_MOST;
    int rc = pool_init(&a->requests, o->rows + o->workers, sizeof(struct request));
    a->idle = calloc(o->workers, sizeof(*a->idle));
    a->lingering = calloc(o->workers, sizeof(*a->lingering));
    if (o->rule == ADMISSION_QOS) {
        for (int i = 0; i < TRACE_QOSES && rc == 0; i++)
            rc = line_init(&a->line[i], o->rows);
        if (rc == 0)
            rc = line_init(&a->later, o->rows);
    }
    if (rc < 0 || !a->idle || !a->lingering) {
        admission_free(a);
        return NULL;
    }
    for (size_t i = 0; i < o->workers; i++)
        a->idle[i] = INT64_MIN;
    return a;
}

void admission_free(struct admission *a)
{
    if (!a)
        return;
    for (int i = 0; i < TRACE_QOSES; i++)
        line_release(&a->line[i]);
    line_release(&a->later);
    free(a->lingering);
    free(a->idle);
    pool_release(&a->requests);
    free(a);
}

static bool by_class(const struct admission *a)
{
    return a->o.rule == ADMISSION_QOS;
}

/* ---- the lines by class ---- */

static struct request *request_at(struct line_place *p)
{
    return p ? (struct request *)((char *)p - offsetof(struct request, place)) : NULL;
}

static struct request *first_of(const struct admission *a, int class)
{
    return request_at(line_first(&a->line[class]));
}

/* Requests of no class go with the lowest. */
static uint8_t own_class(const struct request *q)
{
    return q->qos < TRACE_QOSES ? q->qos : TRACE_QOSES - 1;
}

static void stand_in_line(struct admission *a, struct request *q)
{
    q->later = false;
    line_add(&a->line[q->class], &q->place, (int64_t)q->first->number);
}

static void stand_later(struct admission *a, struct request *q, int64_t until_ns)
{
    q->later = true;
    line_add(&a->later, &q->place, until_ns);
}

static void leave_line(struct admission *a, struct request *q)
{
    a->deferred -= q->later && q->place.key > q->arrival_ns;
    line_remove(q->later ? &a->later : &a->line[q->class], &q->place);
}

/* ---- who waits for whom ---- */

/* Requests of a lower class that are found go to class. */
struct raising {
    struct admission *a;
    uint8_t class;
    struct request *found; /* what they wait for is still to be raised */
};

static void raise_one(void *ctx, struct row *blocker)
{
    struct raising *up = ctx;
    struct request *q = blocker->request;

    if (q->class <= up->class)
        return;
    bool in_line = q->first && !q->later;
    if (in_line)
        leave_line(up->a, q);
    q->class = up->class;
    if (in_line)
        stand_in_line(up->a, q);
    q->raised = up->found;
    up->found = q;
}

/* Rows that those of first and behind it wait for, directly or not, are served with the class
 * of their request. A request is raised at most once for each class above its own, so this is paid
 * once for each row and class. */
static void raise_blockers(struct admission *a, const struct row *first)
{
    struct raising up = {.a = a, .class = first->request->class};

    if (up.class == TRACE_QOSES - 1)
        return;
    for (const struct row *r = first; r;) {
        order_blockers(r, raise_one, &up);
        r = r->request_behind;
        while (!r && up.found) {
            r = up.found->rows;
            up.found = up.found->raised;
        }
    }
}

/* Requests whose time has come join the line of their class. Only now does somebody wait for what
 * they wait for. */
static void arrive(struct admission *a, int64_t now_ns)
{
    struct request *q;

    while ((q = request_at(line_first(&a->later))) && q->place.key <= now_ns) {
        leave_line(a, q);
        stand_in_line(a, q);
        raise_blockers(a, q->rows);
    }
}

/* A request in line that one waits for, and that is older. */
struct search {
    const struct request *waits;
    struct request *found; /* the oldest; or one that is not there before a later time */
};

static void find_older(void *ctx, struct row *blocker)
{
    struct search *s = ctx;
    struct request *q = blocker->request;

    if (!q->first || q->first->number >= s->waits->first->number || (s->found && s->found->later))
        return;
    if (!s->found || q->later || q->first->number < s->found->first->number)
        s->found = q;
}

/* NULL: there is none. */
static struct request *older_needed(const struct request *q)
{
    struct search s = {.waits = q};

    for (const struct row *w = q->rows; w; w = w->request_behind)
        order_blockers(w, find_older, &s);
    return s.found;
}

/* The request of the class that goes next: the first of its line, or the older one that it waits
 * for, whatever its class. It would only hold a worker before that one. For the same reason it
 * waits with one that has not arrived. NULL: the line is empty. */
static struct request *leader(struct admission *a, int class)
{
    struct request *q, *older;

    while ((q = first_of(a, class))) {
        while ((older = older_needed(q)) && !older->later)
            q = older;
        if (!older)
            return q;
        leave_line(a, q);
        stand_later(a, q, older->place.key);
        q->since_ns = older->place.key;
        a->deferred++;
    }
    return NULL;
}

/* ---- whose turn it is ---- */

/* The class whose first request arrived first; the lowest of several. -1: nobody is in line. */
static int longest_waiting(const struct admission *a)
{
    int longest = -1;

    for (int i = 0; i < TRACE_QOSES; i++) {
        const struct request *q = first_of(a, i);
        if (q && (longest < 0 || q->arrival_ns <= first_of(a, longest)->arrival_ns))
            longest = i;
    }
    return longest;
}

static bool fits(const struct admission *a, const struct request *q)
{
    for (int i = 0; i < TRACE_TIERS; i++) {
        const struct room *room = &a->o.room[i];
        bool owes = q->claim[i].bytes.owed || q->claim[i].objects.owed;
        if (owes && (room->line > 0 || !room_claim_fits(room, &q->claim[i])))
            return false;
    }
    return true;
}

/* Tries the class first, then the others from the highest on. NULL: nobody is there whose room is
 * free, or one has let the others go first often enough. */
static struct request *choose(struct admission *a, int first, int64_t now_ns)
{
    struct request *passed[TRACE_QOSES];
    size_t count = 0;

    for (int i = -1; i < TRACE_QOSES; i++) {
        struct request *q = i < 0 ? leader(a, first) : i != first ? leader(a, i) : NULL;
        if (!q)
            continue;
        if (fits(a, q)) {
            while (count > 0)
                passed[--count]->passed++;
            return q;
        }
        q->since_ns = now_ns;
        if (q->passed >= PASSED_MOST)
            return NULL;
        passed[count++] = q;
    }
    return NULL;
}

static struct request *choose_by_class(struct admission *a, int64_t now_ns, bool *in_turn)
{
    int highest = 0, first;

    arrive(a, now_ns);
    while (highest < TRACE_QOSES && !first_of(a, highest))
        highest++;
    if (highest == TRACE_QOSES)
        return NULL;
    first = a->admitted % TURN == TURN - 1 ? longest_waiting(a) : highest;
    struct request *q = choose(a, first, now_ns);
    *in_turn = q && q->class > highest && q->class == first;
    return q;
}

/* ---- into the line and out of it ---- */

/* The request stands at the end of the line. */
static void line_up(struct admission *a, struct request *q, int64_t now_ns)
{
    q->before = a->tail;
    *(a->tail ? &a->tail->behind : &a->head) = q;
    a->tail = q;
    if (!by_class(a)) {
        a->late = a->late ? a->late : q;
        return;
    }
    q->class = own_class(q);
    if (q->arrival_ns <= now_ns)
        stand_in_line(a, q);
    else
        stand_later(a, q, q->arrival_ns);
}

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
                              .since_ns = INT64_MIN,
                              .first = r,
                              .qos = r->t.qos};
        r->t.due_ns = arrival_ns;
        r->waits |= ROW_WAIT_WORKER;
        line_up(a, q, now_ns);
    } else if (q->inside == 0) { /* it seemed to be over, and is not */
        size_t i = 0;
        while (a->lingering[i] != q)
            i++;
        a->lingering[i] = a->lingering[--a->lingering_count];
    }
    r->request = q;
    q->inside++;
    q->newest = r->number;
    if (!by_class(a))
        return;
    r->request_behind = NULL;
    *(q->rows ? &q->rows_end->request_behind : &q->rows) = r;
    q->rows_end = r;
    if (r->t.tier != TRACE_NO_TIER)
        room_claim_enter(&q->claim[r->t.tier], &r->effect);
    if (!q->first || !q->later)
        raise_blockers(a, r);
}

/* Lets a request in line in, on a worker that is free since free_ns. */
static struct row *let_in(struct admission *a, struct request *q, int64_t free_ns,
                          struct admission_way *way)
{
    struct row *r = q->first;
    int64_t when_ns = q->arrival_ns > q->entered_ns ? q->arrival_ns : q->entered_ns;

    *(q->before ? &q->before->behind : &a->head) = q->behind;
    *(q->behind ? &q->behind->before : &a->tail) = q->before;
    when_ns = q->since_ns > when_ns ? q->since_ns : when_ns;
    way->when_ns = free_ns > when_ns ? free_ns : when_ns;
    if (by_class(a)) {
        leave_line(a, q);
        way->inherited = q->class < own_class(q);
        for (int i = 0; i < TRACE_TIERS; i++) {
            way->beyond_room |= !room_claim_fits(&a->o.room[i], &q->claim[i]);
            room_claim_reserve(&a->o.room[i], &q->claim[i]);
        }
    } else if (a->late == q) {
        a->late = q->behind;
    } else {
        a->arrived--;
    }
    a->busy++;
    a->admitted++;
    q->first = NULL;
    r->waits &= (uint8_t)~ROW_WAIT_WORKER;
    return r;
}

/* Since when the worker is free that the next request gets. */
static int64_t take_worker(struct admission *a)
{
    int64_t free_ns = a->idle[a->idle_first];

    a->idle_first = (a->idle_first + 1) % a->o.workers;
    a->idle_count--;
    return free_ns;
}

struct row *admission_next(struct admission *a, int64_t now_ns, struct admission_way *way)
{
    *way = (struct admission_way){0};
    if (admission_full(a))
        return NULL;
    struct request *q = a->head;
    if (by_class(a))
        q = choose_by_class(a, now_ns, &way->in_turn);
    else if (q && q->arrival_ns > now_ns)
        q = NULL;
    return q ? let_in(a, q, take_worker(a), way) : NULL;
}

const struct row *admission_oldest(const struct admission *a, int64_t now_ns)
{
    return a->head && a->head->arrival_ns <= now_ns ? a->head->first : NULL;
}

struct row *admission_beyond(struct admission *a, int64_t now_ns, struct admission_way *way)
{
    *way = (struct admission_way){.beyond_workers = admission_full(a)};
    if (!way->beyond_workers)
        take_worker(a);
    for (int i = 0; i < TRACE_QOSES; i++) { /* others may free the room that they wait for */
        if (first_of(a, i))
            first_of(a, i)->passed = 0;
    }
    return let_in(a, a->head, now_ns, way);
}

struct room_claim *admission_claim(const struct row *r)
{
    return r->request->first ? NULL : &r->request->claim[r->t.tier];
}

bool admission_full(const struct admission *a)
{
    return a->busy >= a->o.workers;
}

int64_t admission_next_ns(const struct admission *a)
{
    if (admission_full(a))
        return INT64_MAX;
    if (!by_class(a))
        return admission_oldest_ns(a);
    return a->later.count ? line_first(&a->later)->key : INT64_MAX;
}

int64_t admission_oldest_ns(const struct admission *a)
{
    return a->head ? a->head->arrival_ns : INT64_MAX;
}

size_t admission_waiting(struct admission *a, int64_t now_ns)
{
    if (by_class(a)) {
        arrive(a, now_ns);
        size_t n = a->deferred;
        for (int i = 0; i < TRACE_QOSES; i++)
            n += a->line[i].count;
        return n;
    }
    for (; a->late && a->late->arrival_ns <= now_ns; a->late = a->late->behind)
        a->arrived++;
    return a->arrived;
}

void admission_each_waiting(const struct admission *a, int64_t now_ns, admission_waits_fn waits,
                            void *ctx)
{
    for (const struct request *q = a->head; q; q = q->behind) {
        if (q->arrival_ns <= now_ns)
            waits(ctx, q->qos, q->arrival_ns, now_ns - q->arrival_ns);
    }
}

/* ---- the end of a request ---- */

/* Ends the request and frees its worker. */
static void admission_end(struct admission *a, struct request *q)
{
    a->o.ended(a->o.ctx, &(struct admission_ended){.qos = q->qos,
                                                   .arrival_ns = q->arrival_ns,
                                                   .start_ns = q->start_ns,
                                                   .done_ns = q->done_ns,
                                                   .late_ns = q->late_ns,
                                                   .line_ns = q->line_ns});
    if (a->busy <= a->o.workers)
        a->idle[(a->idle_first + a->idle_count++) % a->o.workers] = q->done_ns;
    a->busy--;
    pool_remove(&a->requests, &q->entry);
}

void admission_started(struct row *r, int64_t start_ns, int64_t line_ns)
{
    r->request->start_ns = start_ns;
    r->request->line_ns = line_ns;
}

void admission_leave(struct admission *a, struct row *r, int64_t done_ns)
{
    struct request *q = r->request;

    if (!q)
        return;
    r->request = NULL;
    q->done_ns = done_ns;
    q->rows = by_class(a) ? r->request_behind : NULL; /* its rows end in their order */
    q->late_ns += row_late_ns(r);
    if (--q->inside > 0)
        return;
    bool generated = r->t.op == TRACE_GENERATE && r->t.phase != TRACE_PREFILL;
    if (generated || a->busy > a->o.workers)
        admission_end(a, q);
    else
        a->lingering[a->lingering_count++] = q;
}

bool admission_expects(const struct admission *a)
{
    return by_class(a) ? a->later.count > a->deferred : a->late != NULL;
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
