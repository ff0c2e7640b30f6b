/* tier_sim.c - a tier that takes the time of a device without having one: a GPU where there is
 * none, or any drive in planning. One server works off operations in order of submission; the
 * scheduler asks next_ns when the first will be done, so neither thread nor bell is needed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/clock.h"
#include "lib/tier.h"
#include "lib/units.h"

struct tier_sim {
    struct tier base;             /* first: the scheduler sees only this */
    struct tier_op *first, *last; /* inside, in order of done_ns: one server never overtakes */
    int64_t free_ns;              /* the server is busy until then */
    uint64_t bytes_per_s;
    int64_t latency_ns;
    char label[64];
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

static int sim_submit(struct tier *t, struct tier_op *op)
{
    struct tier_sim *s = self(t);
    int64_t now = clock_now_ns();
    op->status = 0;
    op->start_ns = s->free_ns > now ? s->free_ns : now;
    op->device_ns = service_ns(s, op);
    op->done_ns = s->free_ns = add_clamped(op->start_ns, op->device_ns);
    op->next = NULL;
    if (s->first)
        s->last->next = op;
    else
        s->first = op;
    s->last = op;
    return 0;
}

static void sim_kick(struct tier *t)
{
    (void)t;
}

static size_t sim_poll(struct tier *t, struct tier_op **done, size_t max)
{
    struct tier_sim *s = self(t);
    size_t count = 0;
    if (!s->first)
        return 0;
    int64_t now = clock_now_ns();
    while (count < max && s->first && s->first->done_ns <= now) {
        done[count++] = s->first;
        s->first = s->first->next;
    }
    return count;
}

static int64_t sim_next(struct tier *t)
{
    const struct tier_sim *s = self(t);
    return s->first ? s->first->done_ns : INT64_MAX;
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
    snprintf(info->target, sizeof info->target, "%s", s->label);
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
    (void)bell; /* completions come with time, not with work: see next_ns */
    if (o->latency_ns < 0)
        return err_set(e, -EINVAL, ERR_INPUT, o->label, "latency is negative");
    struct tier_sim *s = calloc(1, sizeof *s);
    if (!s)
        return err_nomem(e, "simulated tier");
    s->base.ops = &sim_ops;
    s->bytes_per_s = o->bytes_per_s;
    s->latency_ns = o->latency_ns;
    snprintf(s->label, sizeof s->label, "%s", o->label ? o->label : "simulated");
    *out = &s->base;
    return 0;
}
