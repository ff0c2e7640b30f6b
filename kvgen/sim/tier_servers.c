/* Between the hierarchy, which knows no time, and the rows: the servers of the tiers, and the
 * operations that are under way or wait for others. The model and its rules are in the header.
 *
 * When an operation is issued, all those that its server will transfer before it have been issued,
 * so that its end is known at once. It happens then, as an event in the order of time: the
 * operation lets the next one on its object begin, and, when an object has left a tier, the writes
 * into that tier. A job therefore knows the end of its operation only when that is issued. With a
 * shared server what comes later counts too: the job is parked until the end. */
#include "kvgen/sim/tier_servers.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/sim/objects.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/drive/share_server.h"
#include "lib/sort/heap.h"

#define NONE UINT32_MAX

struct server {
    struct tier_model_path path;
    int64_t free_ns; /* all that was issued so far is transferred by then */
    struct tier_server_use use;
};

/* The effect of an operation on the space of a tier. */
enum role {
    ENTERS, /* it may be issued when all in front of it have left */
    LEAVES, /* it has left when it is complete */
    ROLES
};

/* The operations that need or make space in a tier, in the order in which they were told. A Delete
 * does both and stands here as LEAVES. */
struct line {
    uint32_t first, last; /* place, NONE: empty */
    enum role first_role, last_role;
};

struct tier {
    bool given;
    uint32_t ranks;
    struct server read, write;
    struct share_server *shared; /* in place of both; tag: place. NULL: none */
    struct line line;
};

/* An operation that is not complete, or has others in front of it in a line. */
struct under_way {
    struct sleeper *lookups; /* jobs that wait for its object; of the last operation on it */
    uint32_t object;         /* number in flying; OBJECT_NONE: nothing can wait for it */
    uint32_t next_on_object; /* place; NONE: it is the last one on its object */
    uint32_t next_in_line[ROLES];
    enum role next_role[ROLES];
    enum trace_tier left; /* that its object leaves with it; TRACE_NO_TIER: none */
    uint8_t holds;        /* the lines that it is in, and 1 until it is complete */
    bool object_waits, space_waits, complete;
    uint32_t next_free;
    /* Until it is issued, if it has to wait: */
    struct sleeper *job; /* waits for its end, and is told it then; NULL: none */
    struct sim_row row;  /* its request is the one below, unless it is NULL */
    struct request request;
};

struct tier_servers {
    struct virtual_clock *clock;
    struct emitter *emitter;
    struct tier tier[TRACE_TIERS];
    struct objects *flying; /* objects in flight; .size is the place of the last operation on it */
    struct heap ends;       /* of operations under way; item: place; has room for all of them */
    struct under_way *place;
    uint32_t used, cap, live;
    uint32_t free; /* chain of places given back; NONE: empty */
    uint64_t issued;
    bool woke, any_shared;
};

struct tier_servers *tier_servers_create(const struct tier_model model[TRACE_TIERS],
                                         struct virtual_clock *clock, struct emitter *emitter)
{
    struct tier_servers *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->clock = clock;
    t->emitter = emitter;
    t->free = NONE;
    t->flying = objects_create();
    bool ok = t->flying && heap_init(&t->ends, 64) == 0;
    for (int i = 0; i < TRACE_TIERS; i++) {
        struct tier *tier = &t->tier[i];
        tier->given = model[i].given;
        tier->ranks = model[i].ranks > 1 ? model[i].ranks : 1;
        tier->read.path = model[i].read;
        tier->write.path = model[i].write;
        tier->read.use.latency_ns = hist_create();
        tier->write.use.latency_ns = hist_create();
        tier->line.first = NONE;
        if (model[i].drive)
            ok = (tier->shared = share_server_create(model[i].drive, 64)) != NULL && ok;
        t->any_shared = t->any_shared || tier->shared;
        ok = ok && tier->read.use.latency_ns && tier->write.use.latency_ns;
    }
    if (!ok) {
        tier_servers_free(t);
        return NULL;
    }
    return t;
}

void tier_servers_free(struct tier_servers *t)
{
    if (!t)
        return;
    for (int i = 0; i < TRACE_TIERS; i++) {
        hist_free(t->tier[i].read.use.latency_ns);
        hist_free(t->tier[i].write.use.latency_ns);
        share_server_free(t->tier[i].shared);
    }
    objects_free(t->flying);
    heap_free(&t->ends);
    free(t->place);
    free(t);
}

static void no_memory(struct tier_servers *t)
{
    virtual_clock_fail(t->clock, err_nomem(t->clock->err, "operations under way"));
}

/* ---- one server ---- */

/* Both are at most the clock's last time, and so is the sum: a run that gets there fails. */
static int64_t sum(int64_t a, int64_t b)
{
    return a + b < VIRTUAL_CLOCK_LAST_NS ? a + b : VIRTUAL_CLOCK_LAST_NS;
}

/* size / bandwidth, rounded up. */
static int64_t transfer_ns(const struct server *s, uint64_t size)
{
    uint64_t rate = s->path.bytes_per_s;
    if (rate == 0)
        return 0;
    unsigned __int128 ns = ((unsigned __int128)size * (uint64_t)UNITS_NS_PER_S + rate - 1) / rate;
    return ns < (uint64_t)VIRTUAL_CLOCK_LAST_NS ? (int64_t)ns : VIRTUAL_CLOCK_LAST_NS;
}

static struct server *server_of(struct tier *tier, const struct hierarchy_op *op)
{
    return op->op == TRACE_READ ? &tier->read : &tier->write;
}

static bool is_shared(const struct tier_servers *t, const struct hierarchy_op *op)
{
    return t->tier[op->tier].shared && op->op != TRACE_DELETE;
}

/* Issues the operation of a row at now_ns, of a tier that is not shared; returns its end. */
static int64_t serve(struct tier_servers *t, const struct hierarchy_op *op, int64_t now_ns)
{
    struct tier *tier = &t->tier[op->tier];
    if (op->op == TRACE_DELETE)
        return now_ns;
    struct server *s = server_of(tier, op);
    int64_t ns = transfer_ns(s, op->size * tier->ranks), transferred_ns = now_ns;
    if (s->path.bytes_per_s > 0)
        transferred_ns = s->free_ns = sum(now_ns > s->free_ns ? now_ns : s->free_ns, ns);
    s->use.transfer_ns = sum(s->use.transfer_ns, ns);
    int64_t end_ns = sum(transferred_ns, s->path.latency_ns);
    if (hist_record(s->use.latency_ns, end_ns - now_ns) < 0)
        no_memory(t);
    return end_ns;
}

/* ---- places for operations under way ---- */

static struct under_way *at(struct tier_servers *t, uint32_t place)
{
    return &t->place[place];
}

/* A free place, and room for its end; false: no memory. */
static bool take_place(struct tier_servers *t, uint32_t *place)
{
    if (t->free == NONE && t->used == t->cap) {
        uint32_t cap = t->cap > 0 ? t->cap * 2 : 64;
        if (t->cap >= NONE / 2 || memory_resize(&t->place, cap, sizeof(*t->place)) < 0)
            return false;
        t->cap = cap;
    }
    if (heap_reserve(&t->ends, t->live + 1) < 0)
        return false;
    *place = t->free;
    if (*place != NONE)
        t->free = at(t, *place)->next_free;
    else
        *place = t->used++;
    t->live++;
    return true;
}

static void let_go(struct tier_servers *t, uint32_t place)
{
    struct under_way *u = at(t, place);
    if (--u->holds > 0)
        return;
    u->next_free = t->free;
    t->free = place;
    t->live--;
}

/* ---- what an operation waits for ---- */

static void wake(struct tier_servers *t, struct sleeper *job, int64_t at_ns)
{
    virtual_clock_wake(t->clock, job, at_ns);
    t->woke = true;
}

static void push_end(struct tier_servers *t, uint32_t place, int64_t end_ns)
{
    heap_push(&t->ends, (struct heap_event){.time_ns = end_ns, .tie = t->issued++, .item = place});
}

/* Issues an operation at now_ns whose end is known when it is there. */
static void share(struct tier_servers *t, uint32_t place, int64_t now_ns)
{
    const struct hierarchy_op *op = &at(t, place)->row.what;
    if (share_server_add(t->tier[op->tier].shared, now_ns, op->size * t->tier[op->tier].ranks,
                         op->op == TRACE_READ, place) < 0)
        no_memory(t);
}

/* Issues an operation that has waited, unless it still does. */
static void go_on(struct tier_servers *t, uint32_t place, int64_t now_ns)
{
    struct under_way *u = at(t, place);
    if (u->object_waits || u->space_waits || t->clock->ended != 0)
        return;
    if (u->row.request)
        u->row.request = &u->request;
    u->row.time_ns = t->clock->now_ns = now_ns;
    if (is_shared(t, &u->row.what)) {
        emitter_row(t->emitter, &u->row);
        share(t, place, now_ns);
        return;
    }
    int64_t end_ns = serve(t, &u->row.what, now_ns);
    emitter_row(t->emitter, &u->row);
    if (u->job)
        wake(t, u->job, end_ns);
    push_end(t, place, end_ns);
}

static void join(struct tier_servers *t, enum trace_tier tier, uint32_t place, enum role role)
{
    struct line *line = &t->tier[tier].line;
    struct under_way *u = at(t, place);
    u->next_in_line[role] = NONE;
    u->holds++;
    if (line->first == NONE) {
        line->first = place;
        line->first_role = role;
    } else {
        at(t, line->last)->next_in_line[line->last_role] = place;
        at(t, line->last)->next_role[line->last_role] = role;
    }
    line->last = place;
    line->last_role = role;
}

/* Operations in front of the line that have left make room for those behind them. */
static void move_up(struct tier_servers *t, enum trace_tier tier, int64_t now_ns)
{
    struct line *line = &t->tier[tier].line;
    while (line->first != NONE) {
        uint32_t place = line->first;
        enum role role = line->first_role;
        struct under_way *u = at(t, place);
        if (u->space_waits && (role == ENTERS || u->row.what.op == TRACE_DELETE)) {
            u->space_waits = false;
            go_on(t, place, now_ns);
        }
        if (role == LEAVES && !u->complete)
            return;
        line->first = u->next_in_line[role];
        line->first_role = u->next_role[role];
        let_go(t, place);
    }
}

/* The tier that the operation's object leaves; TRACE_NO_TIER: none. A promoted object leaves with
 * its read. */
static enum trace_tier left_by(const struct hierarchy_op *op)
{
    if (op->op == TRACE_DELETE || (op->op == TRACE_READ && op->class == TRACE_PROMOTE))
        return op->tier;
    if (op->op == TRACE_WRITE && op->phase == TRACE_EVICT && op->class != TRACE_PROMOTE)
        return op->from;
    return TRACE_NO_TIER;
}

static void complete(struct tier_servers *t, uint32_t place, int64_t now_ns)
{
    struct under_way *u = at(t, place);
    u->complete = true;
    if (u->object == OBJECT_NONE) {
        let_go(t, place);
        return;
    }
    if (u->next_on_object != NONE) {
        at(t, u->next_on_object)->object_waits = false;
        go_on(t, u->next_on_object, now_ns);
    } else {
        objects_remove(t->flying, u->object);
        for (struct sleeper *next, *job = u->lookups; job; job = next) {
            next = job->next;
            wake(t, job, now_ns);
        }
    }
    if (u->left != TRACE_NO_TIER)
        move_up(t, u->left, now_ns);
    let_go(t, place);
}

/* The tier whose shared server has the next end, up to *until_ns, which becomes its time; NULL:
 * none.
 */
static struct tier *next_shared(struct tier_servers *t, int64_t *until_ns)
{
    struct tier *found = NULL;
    for (int i = 0; i < TRACE_TIERS; i++) {
        struct tier *tier = &t->tier[i];
        int64_t next_ns = tier->shared ? share_server_next_ns(tier->shared) : INT64_MAX;
        if (next_ns < *until_ns || (!found && next_ns == *until_ns && next_ns != INT64_MAX)) {
            *until_ns = next_ns;
            found = tier;
        }
    }
    return found;
}

/* Completes the first operation of a shared server. */
static void complete_shared(struct tier_servers *t, struct tier *tier, int64_t now_ns)
{
    struct share_server_end end;
    if (!share_server_take(tier->shared, now_ns, &end))
        return;
    uint32_t place = (uint32_t)end.tag;
    struct under_way *u = at(t, place);
    if (hist_record(server_of(tier, &u->row.what)->use.latency_ns, now_ns - end.begin_ns) < 0)
        no_memory(t);
    if (u->job)
        wake(t, u->job, now_ns);
    complete(t, place, now_ns);
}

bool tier_servers_advance(struct tier_servers *t, int64_t until_ns)
{
    t->woke = false;
    while (!t->woke && t->clock->ended == 0) {
        const struct heap_event *next = heap_top(&t->ends);
        int64_t next_ns = next && next->time_ns <= until_ns ? next->time_ns : until_ns;
        struct tier *shared = t->any_shared ? next_shared(t, &next_ns) : NULL;
        if (shared) {
            complete_shared(t, shared, next_ns);
        } else if (next && next->time_ns <= until_ns) {
            struct heap_event e = heap_pop(&t->ends);
            complete(t, e.item, e.time_ns);
        } else {
            break;
        }
    }
    return t->woke;
}

/* ---- operations are told ---- */

static uint32_t flying(const struct tier_servers *t, struct ident id)
{
    return objects_count(t->flying) > 0 ? objects_find(t->flying, id) : OBJECT_NONE;
}

/* Behind the operation that was told last on the object, which has that number in flying, or none
 * yet. */
static bool follow(struct tier_servers *t, uint32_t place, struct ident id, uint32_t object)
{
    struct under_way *u = at(t, place);
    u->object = object;
    u->next_on_object = NONE;
    u->lookups = NULL;
    if (object == OBJECT_NONE) {
        if (objects_add(t->flying, id, &u->object) < 0)
            return false;
        u->object_waits = false;
    } else {
        struct under_way *before = at(t, (uint32_t)objects_at(t->flying, u->object)->size);
        before->next_on_object = place;
        u->lookups = before->lookups;
        before->lookups = NULL;
        u->object_waits = true;
    }
    objects_at(t->flying, u->object)->size = place;
    return true;
}

static bool needs_space(const struct hierarchy_op *op)
{
    return op->op != TRACE_READ;
}

void tier_servers_schedule(struct tier_servers *t, const struct sim_row *row, struct sleeper *job)
{
    const struct hierarchy_op *op = &row->what;
    bool reads_only = op->op == TRACE_READ && op->phase != TRACE_EVICT; /* not while in flight */
    uint32_t object = reads_only ? OBJECT_NONE : flying(t, op->id);
    bool in_line = needs_space(op) && t->tier[op->tier].line.first != NONE;
    bool now = object == OBJECT_NONE && !in_line, shared = is_shared(t, op);
    int64_t now_ns = t->clock->now_ns, end_ns = 0;
    uint32_t place;
    if (now && !shared) {
        end_ns = serve(t, op, now_ns);
        emitter_row(t->emitter, row);
        if (job)
            job->until_ns = end_ns;
        if (reads_only || end_ns == now_ns)
            return;
    }
    if (!take_place(t, &place)) {
        no_memory(t);
        return;
    }
    struct under_way *u = at(t, place);
    u->holds = 1;
    u->complete = false;
    u->left = left_by(op);
    u->object = OBJECT_NONE;
    if (!reads_only && !follow(t, place, op->id, object)) {
        no_memory(t);
        return;
    }
    u->space_waits = !now && needs_space(op);
    if (u->space_waits && u->left != op->tier)
        join(t, op->tier, place, ENTERS);
    if (u->left != TRACE_NO_TIER)
        join(t, u->left, place, LEAVES);
    if (now && !shared) {
        push_end(t, place, end_ns);
        return;
    }
    u->row = *row;
    if (row->request)
        u->request = *row->request;
    u->job = job;
    if (job)
        job->until_ns = SLEEPER_PARKED;
    if (now) {
        emitter_row(t->emitter, row);
        share(t, place, now_ns);
        return;
    }
    if (needs_space(op))
        move_up(t, op->tier, now_ns); /* it may be in front */
}

bool tier_servers_in_flight(struct tier_servers *t, struct ident id, struct sleeper *job)
{
    uint32_t number = flying(t, id);
    if (number == OBJECT_NONE)
        return false;
    struct under_way *last = at(t, (uint32_t)objects_at(t->flying, number)->size);
    job->until_ns = SLEEPER_PARKED;
    job->next = last->lookups;
    last->lookups = job;
    return true;
}

/* A server that is not shared works without a pause from now on until it is free: that much of what
 * it was given lies behind the end. */
static void end_at(struct server *s, int64_t now_ns)
{
    if (s->free_ns > now_ns)
        s->use.transfer_ns -= s->free_ns - now_ns;
}

void tier_servers_end(struct tier_servers *t)
{
    int64_t now_ns = t->clock->now_ns;
    for (int i = 0; i < TRACE_TIERS; i++) {
        struct tier *tier = &t->tier[i];
        end_at(&tier->read, now_ns);
        end_at(&tier->write, now_ns);
        if (tier->shared)
            tier->read.use.transfer_ns = tier->write.use.transfer_ns =
                share_server_busy_ns(tier->shared, now_ns);
    }
}

const struct tier_server_use *tier_servers_reads(const struct tier_servers *t, enum trace_tier tier)
{
    return t->tier[tier].given ? &t->tier[tier].read.use : NULL;
}

const struct tier_server_use *tier_servers_writes(const struct tier_servers *t,
                                                  enum trace_tier tier)
{
    return t->tier[tier].given ? &t->tier[tier].write.use : NULL;
}
