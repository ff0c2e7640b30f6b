/* Between the hierarchy, which knows no time, and the rows: the servers of the tiers with what
 * waits for them, the objects in flight, and the space that is still to become free. The model and
 * its rules are in the header. */
#include "kvgen/sim/tier_servers.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/heap.h"
#include "kvgen/sim/objects.h"
#include "kvgen/sim/virtual_clock.h"
#include "lib/base/units.h"

struct server {
    struct tier_model_path path;
    int64_t free_ns; /* all that was told so far is transferred by then */
    struct tier_server_use use;
};

struct tier {
    bool given;
    struct server read, write;
    int64_t room_ns; /* all that was told to leave so far has left by then */
};

struct tier_servers {
    struct tier tier[TRACE_TIERS];
    struct objects *flying; /* objects in flight; .size is the time until which they are, in ns */
    struct heap landings; /* item: number in flying. Counts only if its time is that of the object:
                             an object may have been sent off again. */
    uint64_t told;
};

struct tier_servers *tier_servers_create(const struct tier_model model[TRACE_TIERS])
{
    struct tier_servers *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->flying = objects_create();
    bool ok = t->flying && heap_init(&t->landings, 64) == 0;
    for (int i = 0; i < TRACE_TIERS; i++) {
        struct tier *tier = &t->tier[i];
        tier->given = model[i].given;
        tier->read.path = model[i].read;
        tier->write.path = model[i].write;
        tier->read.use.latency_ns = hist_create();
        tier->write.use.latency_ns = hist_create();
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
    }
    objects_free(t->flying);
    heap_free(&t->landings);
    free(t);
}

/* ---- one server ---- */

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

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

static int serve(struct server *s, int64_t issue_ns, uint64_t size, struct tier_server_span *span)
{
    int64_t ns = transfer_ns(s, size), transferred_ns = issue_ns;
    if (s->path.bytes_per_s > 0)
        transferred_ns = s->free_ns = sum(later_of(issue_ns, s->free_ns), ns);
    s->use.transfer_ns = sum(s->use.transfer_ns, ns);
    *span = (struct tier_server_span){.issue_ns = issue_ns,
                                      .complete_ns = sum(transferred_ns, s->path.latency_ns)};
    return hist_record(s->use.latency_ns, span->complete_ns - issue_ns);
}

/* ---- objects in flight ---- */

static void land_due(struct tier_servers *t, int64_t now_ns)
{
    const struct heap_event *next;
    while ((next = heap_top(&t->landings)) != NULL && next->time_ns <= now_ns) {
        struct heap_event e = heap_pop(&t->landings);
        if (objects_at(t->flying, e.item)->size == (uint64_t)e.time_ns)
            objects_remove(t->flying, e.item);
    }
}

int64_t tier_servers_ready_ns(struct tier_servers *t, struct ident id, int64_t now_ns)
{
    land_due(t, now_ns);
    uint32_t number = objects_find(t->flying, id);
    return number == OBJECT_NONE ? now_ns : (int64_t)objects_at(t->flying, number)->size;
}

/* Nothing else touches the object until then. Later calls never name an earlier time. */
static int fly(struct tier_servers *t, struct ident id, int64_t now_ns, int64_t until_ns)
{
    if (until_ns <= now_ns)
        return 0;
    uint32_t number = objects_find(t->flying, id);
    if (number == OBJECT_NONE) {
        if (objects_add(t->flying, id, &number) < 0)
            return -ENOMEM;
    } else if (objects_at(t->flying, number)->size == (uint64_t)until_ns) {
        return 0;
    }
    objects_at(t->flying, number)->size = (uint64_t)until_ns;
    if (heap_reserve(&t->landings, t->landings.count + 1) < 0)
        return -ENOMEM;
    heap_push(&t->landings,
              (struct heap_event){.time_ns = until_ns, .tie = t->told, .item = number});
    return 0;
}

/* ---- operations ---- */

static int schedule_read(struct tier *tier, const struct hierarchy_op *op, int64_t issue_ns,
                         struct tier_server_span *span)
{
    int rc = serve(&tier->read, issue_ns, op->size, span);
    if (rc == 0 && op->class == TRACE_PROMOTE)
        tier->room_ns = later_of(tier->room_ns, span->complete_ns);
    return rc;
}

static int schedule_write(struct tier_servers *t, const struct hierarchy_op *op, int64_t ready_ns,
                          struct tier_server_span *span)
{
    struct tier *tier = &t->tier[op->tier];
    int rc = serve(&tier->write, later_of(ready_ns, tier->room_ns), op->size, span);
    if (rc == 0 && op->phase == TRACE_EVICT && op->class != TRACE_PROMOTE) {
        struct tier *from = &t->tier[op->from];
        from->room_ns = later_of(from->room_ns, span->complete_ns);
    }
    return rc;
}

int tier_servers_schedule(struct tier_servers *t, const struct hierarchy_op *op, int64_t now_ns,
                          struct tier_server_span *span)
{
    int64_t ready_ns = tier_servers_ready_ns(t, op->id, now_ns);
    struct tier *tier = &t->tier[op->tier];
    int rc = 0;
    t->told++;
    switch (op->op) {
    case TRACE_READ:
        if (op->phase != TRACE_EVICT)
            return schedule_read(tier, op, now_ns, span); /* the reader has waited until ready_ns */
        rc = schedule_read(tier, op, ready_ns, span);
        break;
    case TRACE_WRITE:
        rc = schedule_write(t, op, ready_ns, span);
        break;
    case TRACE_DELETE:
        tier->room_ns = later_of(ready_ns, tier->room_ns);
        *span = (struct tier_server_span){.issue_ns = tier->room_ns, .complete_ns = tier->room_ns};
        break;
    default:
        *span = (struct tier_server_span){.issue_ns = now_ns, .complete_ns = now_ns};
        return 0;
    }
    return rc < 0 ? rc : fly(t, op->id, now_ns, span->complete_ns);
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
