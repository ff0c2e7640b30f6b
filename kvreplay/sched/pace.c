/* Beside order.c, for --timing closed: a user's next row comes a pause after the one before was
 * done, so a slow target slows its users down. A pause is what lies between two Timestamps of the
 * user, less the time that a Generate row took of it. Users without rows inside are remembered, the
 * latest ones, in a table that is taken at the start. */
#include "kvreplay/sched/pace.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
    PACE_IDLE_USERS = 65536
};

struct user {
    struct user *next;          /* in its bucket, or free list */
    struct user *older, *newer; /* idle ones */
    struct hash128 id;
    struct row *head, *tail; /* waiting */
    bool busy;               /* a row of it is on its way */
    int64_t ends_time_ns;    /* of the last row that entered, on the trace's clock */
    int64_t done_ns;         /* of the last row that was done */
};

struct pace {
    const struct schedule *schedule;
    struct user **bucket, *pool, *spare, *oldest, *newest;
    size_t mask;
};

struct pace *pace_create(const struct schedule *schedule, size_t rows)
{
    size_t users = rows + PACE_IDLE_USERS, buckets = 16;
    struct pace *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    while (buckets < users)
        buckets *= 2;
    p->schedule = schedule;
    p->mask = buckets - 1;
    p->bucket = calloc(buckets, sizeof(struct user *));
    p->pool = calloc(users, sizeof(*p->pool));
    if (!p->bucket || !p->pool) {
        pace_free(p);
        return NULL;
    }
    for (size_t i = 0; i < users; i++) {
        p->pool[i].next = p->spare;
        p->spare = &p->pool[i];
    }
    return p;
}

void pace_free(struct pace *p)
{
    if (!p)
        return;
    free(p->pool);
    free(p->bucket);
    free(p);
}

/* ---- users ---- */

static void user_unlink(struct pace *p, struct user *u)
{
    *(u->older ? &u->older->newer : &p->oldest) = u->newer;
    *(u->newer ? &u->newer->older : &p->newest) = u->older;
}

static void user_link_newest(struct pace *p, struct user *u)
{
    u->older = p->newest;
    u->newer = NULL;
    *(p->newest ? &p->newest->newer : &p->oldest) = u;
    p->newest = u;
}

/* The user that has been idle longest is forgotten. */
static void user_forget(struct pace *p)
{
    struct user *u = p->oldest, **at = &p->bucket[u->id.lo & p->mask];
    user_unlink(p, u);
    while (*at != u)
        at = &(*at)->next;
    *at = u->next;
    u->next = p->spare;
    p->spare = u;
}

static struct user *user_find(struct pace *p, struct hash128 id)
{
    struct user *u = p->bucket[id.lo & p->mask];
    while (u && (u->id.lo != id.lo || u->id.hi != id.hi))
        u = u->next;
    return u;
}

static struct user *user_add(struct pace *p, struct hash128 id)
{
    if (!p->spare) /* then idle ones are there: rows inside are fewer than users */
        user_forget(p);
    struct user *u = p->spare, **b = &p->bucket[id.lo & p->mask];
    p->spare = u->next;
    *u = (struct user){.id = id, .next = *b};
    *b = u;
    return u;
}

/* ---- rows ---- */

/* Pause between the user's row before and this one, in ns of the replay; times are untrusted. */
static int64_t pace_pause(const struct pace *p, const struct user *u, const struct row *r)
{
    double pause = (double)r->t.time_ns - (double)u->ends_time_ns;
    return pause > 0 ? schedule_scaled(p->schedule, pause) : 0;
}

static int64_t pace_ends(const struct trace_row *t)
{
    int64_t end;
    bool takes = t->op == TRACE_GENERATE && t->duration_ns > 0;
    return takes && !__builtin_add_overflow(t->time_ns, t->duration_ns, &end) ? end : t->time_ns;
}

void pace_enter(struct pace *p, struct row *r)
{
    struct user *u = user_find(p, r->user);
    bool known = u;

    if (!u)
        u = user_add(p, r->user);
    else if (!u->busy)
        user_unlink(p, u);
    r->user_next = NULL;
    r->pause_ns = known ? pace_pause(p, u, r) : 0;
    u->ends_time_ns = pace_ends(&r->t);
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

struct row *pace_leave(struct pace *p, struct row *r, int64_t done_ns)
{
    struct user *u = user_find(p, r->user);
    struct row *next = u->head;

    u->done_ns = done_ns;
    if (!next) {
        u->busy = false;
        user_link_newest(p, u);
        return NULL;
    }
    u->head = next->user_next;
    next->t.due_ns = done_ns + next->pause_ns;
    next->waits &= (uint8_t)~ROW_WAIT_USER;
    return next;
}
