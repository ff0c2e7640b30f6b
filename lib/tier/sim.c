/* sim.c - a tier that takes the time of a device without having one: a GPU where there is
 * none, any drive in planning, a drive that stops for a while in tests. Each of its servers works
 * off operations in order of submission; the scheduler asks next_ns when the first will be done, so
 * neither thread nor bell is needed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/tier/tier.h"

struct sim_server {
    struct tier_op *first, *last; /* inside, in order of done_ns: a server never overtakes */
    int64_t free_ns;              /* busy until then */
};

struct tier_sim {
    struct tier base; /* first: the scheduler sees only this */
    uint64_t bytes_per_s;
    int64_t latency_ns, stall_at_ns, stall_ns;
    int64_t
        stall_begin_ns; /* monotonic; INT64_MAX before the first operation, or without a stall */
    char label[64];
    unsigned servers;
    struct sim_server server[];
};

static struct tier_sim *self(struct tier *t)
{
    return (struct tier_sim *)t;
}

static int64_t add_clamped(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* latency + size / bandwidth. Deleting is bookkeeping of the host: it takes no time. */
static int64_t service_ns(const struct tier_sim *s, const struct tier_op *op)
{
    unsigned __int128 transfer = 0;
    if (op->verb == TIER_DELETE)
        return 0;
    if (s->bytes_per_s)
        transfer = (unsigned __int128)op->size * (uint64_t)UNITS_NS_PER_S / s->bytes_per_s;
    return add_clamped(transfer > INT64_MAX ? INT64_MAX : (int64_t)transfer, s->latency_ns);
}

/* The end of work that begins at start_ns: while it stalls, the tier neither begins nor goes on. */
static int64_t end_ns(const struct tier_sim *s, int64_t start_ns, int64_t work_ns)
{
    int64_t stall_end = add_clamped(s->stall_begin_ns, s->stall_ns);
    int64_t end = add_clamped(start_ns, work_ns);

    if (end < s->stall_begin_ns || start_ns >= stall_end)
        return end;
    return start_ns < s->stall_begin_ns ? add_clamped(end, s->stall_ns)
                                        : add_clamped(stall_end, work_ns);
}

static struct sim_server *first_free(struct tier_sim *s)
{
    struct sim_server *best = &s->server[0];
    for (unsigned i = 1; i < s->servers; i++) {
        if (s->server[i].free_ns < best->free_ns)
            best = &s->server[i];
    }
    return best;
}

/* The server whose operation is done first; NULL: nothing is inside. */
static struct sim_server *first_done(struct tier_sim *s)
{
    struct sim_server *best = NULL;
    for (unsigned i = 0; i < s->servers; i++) {
        struct sim_server *v = &s->server[i];
        if (v->first && (!best || v->first->done_ns < best->first->done_ns))
            best = v;
    }
    return best;
}

static int sim_submit(struct tier *t, struct tier_op *op)
{
    struct tier_sim *s = self(t);
    struct sim_server *v = first_free(s);
    int64_t now = clock_now_ns();

    if (s->stall_begin_ns == INT64_MAX && s->stall_ns > 0)
        s->stall_begin_ns = add_clamped(now, s->stall_at_ns);
    op->status = 0;
    op->start_ns = v->free_ns > now ? v->free_ns : now;
    op->done_ns = v->free_ns = end_ns(s, op->start_ns, service_ns(s, op));
    op->device_ns = op->done_ns - op->start_ns;
    op->next = NULL;
    if (v->first)
        v->last->next = op;
    else
        v->first = op;
    v->last = op;
    return 0;
}

static void sim_kick(struct tier *t)
{
    (void)t;
}

static size_t sim_poll(struct tier *t, struct tier_op **done, size_t max)
{
    struct sim_server *v = first_done(self(t));
    size_t count = 0;
    if (!v)
        return 0;
    int64_t now = clock_now_ns();
    for (; count < max && v && v->first->done_ns <= now; v = first_done(self(t))) {
        done[count++] = v->first;
        v->first = v->first->next;
    }
    return count;
}

static int64_t sim_next(struct tier *t)
{
    const struct sim_server *v = first_done(self(t));
    return v ? v->first->done_ns : INT64_MAX;
}

static int sim_adopt(struct tier *t, struct tier_op *op, uint64_t *size, uint64_t *generation)
{
    (void)t, (void)op, (void)size, (void)generation;
    return -ENOENT;
}

static void sim_describe(const struct tier *t, struct tier_info *info)
{
    const struct tier_sim *s = (const struct tier_sim *)t;
    *info = (struct tier_info){.engine = "simulated", .simulated = true, .verifies = false};
    snprintf(info->target, sizeof(info->target), "%s", s->label);
}

static int sim_close(struct tier *t, struct err *e)
{
    (void)e;
    free(self(t));
    return 0;
}

static const struct tier_ops sim_ops = {.submit = sim_submit,
                                        .kick = sim_kick,
                                        .poll = sim_poll,
                                        .next_ns = sim_next,
                                        .adopt = sim_adopt,
                                        .describe = sim_describe,
                                        .close = sim_close};

int tier_sim_open(struct tier **out, const struct tier_sim_opts *o, struct bell *bell,
                  struct err *e)
{
    unsigned servers = o->servers ? o->servers : 1;
    (void)bell; /* completions come with time, not with work: see next_ns */
    if (o->latency_ns < 0 || o->stall_at_ns < 0 || o->stall_ns < 0)
        return err_set(e, -EINVAL, ERR_INPUT, o->label, "a time is negative");
    if (servers > TIER_SIM_SERVERS_MAX)
        return err_set(e, -EINVAL, ERR_INPUT, o->label, "more than %d servers",
                       TIER_SIM_SERVERS_MAX);
    struct tier_sim *s = calloc(1, sizeof(*s) + servers * sizeof(struct sim_server));
    if (!s)
        return err_nomem(e, "simulated tier");
    s->base.ops = &sim_ops;
    s->bytes_per_s = o->bytes_per_s;
    s->latency_ns = o->latency_ns;
    s->stall_at_ns = o->stall_at_ns;
    s->stall_ns = o->stall_ns;
    s->stall_begin_ns = INT64_MAX;
    s->servers = servers;
    snprintf(s->label, sizeof(s->label), "%s", o->label ? o->label : "simulated");
    *out = &s->base;
    return 0;
}
