/* Beside the scheduler: everything that decides when a row goes. The trace's clock gives a row its
 * due time. With --timing closed a user's next row comes a pause after the row before was done, so
 * a slow target slows its users down. Rows whose time has not come wait in the timers. All memory
 * is taken at the start. */
#include "kvreplay/wait/pace.h"

#include <assert.h>
#include <stdlib.h>

#include "kvreplay/wait/pool.h"

/* ---- the trace's clock ---- */

#define PACE_FAR_NS INT64_C(4000000000000000000)

int64_t pace_begins_ns(bool arrivals, const struct trace_row *t)
{
    bool arrives = arrivals && t->request != TRACE_NONE && t->arrival_ns != TRACE_NONE;
    return arrives ? t->arrival_ns : t->time_ns;
}

int64_t pace_scaled_ns(const struct pace_clock *c, double trace_ns)
{
    double ns = trace_ns / c->speed;
    return ns > (double)PACE_FAR_NS    ? PACE_FAR_NS
           : ns < -(double)PACE_FAR_NS ? -PACE_FAR_NS
                                       : (int64_t)ns;
}

int64_t pace_at_ns(const struct pace_clock *c, int64_t time_ns)
{
    int64_t after;

    if (c->speed != 1.0 || __builtin_sub_overflow(time_ns, c->zero_time_ns, &after))
        after = pace_scaled_ns(c, (double)time_ns - (double)c->zero_time_ns);
    if (after > PACE_FAR_NS)
        after = PACE_FAR_NS;
    return c->zero_ns + (after < -PACE_FAR_NS ? -PACE_FAR_NS : after);
}

int64_t pace_due_ns(const struct pace_clock *c, int64_t time_ns)
{
    int64_t due_ns = pace_at_ns(c, time_ns);

    return due_ns > c->zero_ns ? due_ns : c->zero_ns;
}

/* ---- users ---- */

enum {
    PACE_IDLE_USERS = 65536
};

struct user {
    struct pool_entry entry;
    struct user *older, *newer; /* in the list of idle users */
    struct row *head, *tail;    /* waiting */
    bool busy;                  /* a row of the user is on its way */
    int64_t ends_time_ns;       /* of the last row that entered, on the trace's clock */
    int64_t done_ns;            /* of the last row that was done */
};

struct pace_users {
    const struct pace_clock *clock;
    struct pool users;
    struct user *oldest, *newest; /* idle: no row inside, remembered for their next row */
};

struct pace_users *pace_users_create(const struct pace_clock *clock, size_t rows)
{
    struct pace_users *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->clock = clock;
    if (pool_init(&p->users, rows + PACE_IDLE_USERS, sizeof(struct user)) < 0) {
        pace_users_free(p);
        return NULL;
    }
    return p;
}

void pace_users_free(struct pace_users *p)
{
    if (!p)
        return;
    pool_release(&p->users);
    free(p);
}

/* Takes an idle user out of their list. */
static void user_unlink(struct pace_users *p, struct user *u)
{
    *(u->older ? &u->older->newer : &p->oldest) = u->newer;
    *(u->newer ? &u->newer->older : &p->newest) = u->older;
}

void pace_users_enter(struct pace_users *p, struct row *r)
{
    struct user *u = (struct user *)pool_find(&p->users, r->user);
    bool known = u;

    r->user_next = NULL;
    r->pause_ns = 0;
    if (!known) {
        if (pool_full(&p->users)) { /* then some users are idle: fewer rows than users are inside */
            struct user *forgotten = p->oldest;
            user_unlink(p, forgotten);
            pool_remove(&p->users, &forgotten->entry);
        }
        u = (struct user *)pool_add(&p->users, r->user);
        *u = (struct user){.entry = u->entry};
    } else {
        if (!u->busy)
            user_unlink(p, u);
        double pause = (double)r->t.time_ns - (double)u->ends_time_ns;
        r->pause_ns = pause > 0 ? pace_scaled_ns(p->clock, pause) : 0;
    }
    /* The time that a Generate row takes is no part of the pause behind it. */
    int64_t ends = r->t.time_ns;
    if (r->t.op == TRACE_GENERATE && r->t.duration_ns > 0 &&
        __builtin_add_overflow(ends, r->t.duration_ns, &ends))
        ends = r->t.time_ns;
    u->ends_time_ns = ends;
    if (!u->busy) {
        u->busy = true;
        r->t.due_ns = known ? u->done_ns + r->pause_ns : r->t.due_ns;
        return;
    }
    r->waits |= ROW_WAIT_USER;
    r->t.due_ns = TRACE_NONE;
    *(u->head ? &u->tail->user_next : &u->head) = r;
    u->tail = r;
}

struct row *pace_users_leave(struct pace_users *p, struct row *r, int64_t done_ns)
{
    struct user *u = (struct user *)pool_find(&p->users, r->user);
    struct row *next = u->head;

    u->done_ns = done_ns;
    if (!next) {
        u->busy = false;
        u->older = p->newest;
        u->newer = NULL;
        *(p->newest ? &p->newest->newer : &p->oldest) = u;
        p->newest = u;
        return NULL;
    }
    u->head = next->user_next;
    next->t.due_ns = done_ns + next->pause_ns;
    next->waits &= (uint8_t)~ROW_WAIT_USER;
    return next;
}

/* ---- timers ---- */

struct timers {
    size_t count, room;
    /* ring of due times of rows that were admitted and have not come due */
    int64_t *expected;
    size_t expected_first, expected_count;
    uint64_t arrived;
    struct row *heap[]; /* binary heap, the earliest row first */
};

struct timers *timers_create(size_t rows)
{
    struct timers *t = malloc(sizeof(*t) + rows * sizeof(t->heap[0]));
    if (!t)
        return NULL;
    *t = (struct timers){.room = rows, .expected = calloc(rows, sizeof(*t->expected))};
    if (!t->expected) {
        free(t);
        return NULL;
    }
    return t;
}

void timers_free(struct timers *t)
{
    if (t)
        free(t->expected);
    free(t);
}

uint64_t timers_arrived(struct timers *t, int64_t now_ns)
{
    while (t->expected_count > 0 && t->expected[t->expected_first] <= now_ns) {
        t->expected_first = (t->expected_first + 1) % t->room;
        t->expected_count--;
        t->arrived++;
    }
    return t->arrived;
}

void timers_expect(struct timers *t, int64_t due_ns, int64_t now_ns)
{
    timers_arrived(t, now_ns);
    if (due_ns <= now_ns || t->expected_count == t->room) { /* full: the times are out of order */
        t->arrived++;
        return;
    }
    t->expected[(t->expected_first + t->expected_count++) % t->room] = due_ns;
}

static bool timers_before(const struct row *a, const struct row *b)
{
    return a->wake_ns != b->wake_ns ? a->wake_ns < b->wake_ns : a->number < b->number;
}

void timers_add(struct timers *t, struct row *r)
{
    assert(t->count < t->room);
    size_t i = t->count++;
    for (size_t up; i > 0 && timers_before(r, t->heap[up = (i - 1) / 2]); i = up)
        t->heap[i] = t->heap[up];
    t->heap[i] = r;
}

int64_t timers_next_ns(const struct timers *t)
{
    return t->count ? t->heap[0]->wake_ns : INT64_MAX;
}

struct row *timers_pop(struct timers *t, int64_t now_ns)
{
    if (timers_next_ns(t) > now_ns || t->count == 0)
        return NULL;
    struct row *top = t->heap[0], *last = t->heap[--t->count];
    size_t i = 0;
    for (size_t down; (down = 2 * i + 1) < t->count; i = down) {
        if (down + 1 < t->count && timers_before(t->heap[down + 1], t->heap[down]))
            down++;
        if (!timers_before(t->heap[down], last))
            break;
        t->heap[i] = t->heap[down];
    }
    t->heap[i] = last;
    return top;
}
