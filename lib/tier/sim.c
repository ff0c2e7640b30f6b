/* A tier that takes the time of a device without having one: a GPU on a host without GPUs, any
 * drive in planning, a drive that stands still for a while in tests. Each of its servers serves
 * operations in the order of submission. next_ns tells when the first one is done, so it needs
 * neither thread nor bell. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/tier/tier.h"

struct sim_server {
    struct tier_op *first, *last; /* inside, by done_ns: a server's operations never overtake */
    int64_t free_ns;              /* busy until then */
};

struct tier_sim {
    struct tier base; /* first: all that the scheduler sees */
    struct tier_sim_opts o;
    int64_t stall_begin_ns; /* monotonic; INT64_MAX: no stall, or no operation yet */
    char label[64];
    unsigned servers;
    struct sim_server server[];
};

static int64_t add_clamped(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* latency + size / bandwidth. A delete takes no time: it is bookkeeping of the host. */
static int64_t service_ns(const struct tier_sim *s, const struct tier_op *op)
{
    unsigned __int128 transfer = 0;

    if (op->verb == TIER_DELETE)
        return 0;
    if (s->o.bytes_per_s)
        transfer = (unsigned __int128)op->size * (uint64_t)UNITS_NS_PER_S / s->o.bytes_per_s;
    return add_clamped(transfer > INT64_MAX ? INT64_MAX : (int64_t)transfer, s->o.latency_ns);
}

/* The end of work that begins at start_ns. During the stall the tier neither begins nor goes on. */
static int64_t end_ns(const struct tier_sim *s, int64_t start_ns, int64_t work_ns)
{
    int64_t stall_end = add_clamped(s->stall_begin_ns, s->o.stall_ns);
    int64_t end = add_clamped(start_ns, work_ns);

    if (end < s->stall_begin_ns || start_ns >= stall_end)
        return end;
    return start_ns < s->stall_begin_ns ? add_clamped(end, s->o.stall_ns)
                                        : add_clamped(stall_end, work_ns);
}

static int sim_submit(struct tier *t, struct tier_op *op)
{
    struct tier_sim *s = (struct tier_sim *)t;
    struct sim_server *v = &s->server[0]; /* the one that is free first */
    int64_t now = clock_now_ns();

    for (unsigned i = 1; i < s->servers; i++) {
        if (s->server[i].free_ns < v->free_ns)
            v = &s->server[i];
    }
    if (s->stall_begin_ns == INT64_MAX && s->o.stall_ns > 0)
        s->stall_begin_ns = add_clamped(now, s->o.stall_at_ns);
    op->status = 0;
    op->start_ns = v->free_ns > now ? v->free_ns : now;
    op->done_ns = v->free_ns = end_ns(s, op->start_ns, service_ns(s, op));
    op->device_ns = op->done_ns - op->start_ns;
    op->part = (struct tier_parts){.slot_ns = op->start_ns - now, .io_ns = op->device_ns};
    op->next = NULL;
    if (v->first)
        v->last->next = op;
    else
        v->first = op;
    v->last = op;
    return 0;
}

/* The server whose operation is done first; NULL: nothing is inside. */
static struct sim_server *first_done(struct tier *t)
{
    struct tier_sim *s = (struct tier_sim *)t;
    struct sim_server *best = NULL;

    for (unsigned i = 0; i < s->servers; i++) {
        struct sim_server *v = &s->server[i];

        if (v->first && (!best || v->first->done_ns < best->first->done_ns))
            best = v;
    }
    return best;
}

static size_t sim_poll(struct tier *t, struct tier_op **done, size_t max)
{
    struct sim_server *v = first_done(t);
    size_t count = 0;
    int64_t now;

    if (!v)
        return 0;
    now = clock_now_ns();
    for (; count < max && v && v->first->done_ns <= now; v = first_done(t)) {
        done[count++] = v->first;
        v->first = v->first->next;
    }
    return count;
}

static int64_t sim_next(struct tier *t)
{
    const struct sim_server *v = first_done(t);

    return v ? v->first->done_ns : INT64_MAX;
}

static void sim_describe(const struct tier *t, struct tier_info *info)
{
    const struct tier_sim *s = (const struct tier_sim *)t;

    *info = (struct tier_info){
        .engine = "simulated", .simulated = true, .huge_pages = -1, .registered = -1, .direct = -1};
    snprintf(info->target, sizeof(info->target), "%s", s->label);
}

static int sim_close(struct tier *t, struct err *e)
{
    (void)e;
    free(t);
    return 0;
}

static const struct tier_ops sim_ops = {.submit = sim_submit,
                                        .kick = tier_kick_nothing,
                                        .poll = sim_poll,
                                        .next_ns = sim_next,
                                        .adopt = tier_adopt_nothing,
                                        .describe = sim_describe,
                                        .close = sim_close};

int tier_sim_open(struct tier **out, const struct tier_sim_opts *o, struct bell *bell,
                  struct err *e)
{
    unsigned servers = o->servers ? o->servers : 1;
    struct tier_sim *s;

    (void)bell; /* completions come with time: see next_ns */
    if (o->latency_ns < 0 || o->stall_at_ns < 0 || o->stall_ns < 0)
        return err_set(e, -EINVAL, ERR_INPUT, o->label, "a time is negative");
    if (servers > TIER_SIM_SERVERS_MAX)
        return err_set(e, -EINVAL, ERR_INPUT, o->label, "more than %d servers",
                       TIER_SIM_SERVERS_MAX);
    s = calloc(1, sizeof(*s) + servers * sizeof(struct sim_server));
    if (!s)
        return err_nomem(e, "simulated tier");
    s->base.ops = &sim_ops;
    s->o = *o;
    s->stall_begin_ns = INT64_MAX;
    s->servers = servers;
    snprintf(s->label, sizeof(s->label), "%s", o->label ? o->label : "simulated");
    s->o.label = s->label;
    *out = &s->base;
    return 0;
}
