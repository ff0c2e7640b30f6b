/* The engines' lines: who computes when. How long a prefill takes is in prefill_time.c, which
 * requests have one in serve.c. */
#include "kvgen/sim/engines.h"

#include <stdlib.h>

#include "lib/base/hash.h"

struct line {
    struct sleeper *first, *last;
};

struct engine {
    bool busy;
    int64_t since_ns; /* while it is busy */
    struct line line[TRACE_QOSES];
};

struct engines {
    struct virtual_clock *clock;
    uint8_t order[TRACE_QOSES]; /* classes, the highest priority first */
    uint32_t count;
    int64_t busy_ns; /* of busy times that are over */
    struct engine engine[];
};

int64_t prefill_model_ns(const struct prefill_model *p, uint64_t cached, uint64_t fresh, bool below,
                         uint64_t below_bytes)
{
    int64_t ns = prefill_time_ns(&p->time, cached, fresh);
    if (!below)
        return ns;
    if (p->link_bytes_per_s > 0)
        ns += (int64_t)((double)below_bytes * p->host_ranks / p->link_bytes_per_s * 1e9 + 0.5);
    return ns + p->load_overhead_ns;
}

uint32_t prefill_engine_of(uint32_t engines, const char *user, size_t len)
{
    return engines > 1 ? (uint32_t)(hash_128(user, len).lo % engines) : 0;
}

struct engines *engines_create(uint32_t count, const int64_t priority[TRACE_QOSES],
                               struct virtual_clock *clock)
{
    struct engines *e = calloc(1, sizeof(*e) + count * sizeof(e->engine[0]));
    if (!e)
        return NULL;
    e->clock = clock;
    e->count = count;
    for (uint8_t q = 0; q < TRACE_QOSES; q++) { /* insertion; equal ones keep their order */
        uint8_t at = q;
        for (; at > 0 && priority[e->order[at - 1]] < priority[q]; at--)
            e->order[at] = e->order[at - 1];
        e->order[at] = q;
    }
    return e;
}

void engines_free(struct engines *e)
{
    free(e);
}

bool engines_take(struct engines *e, uint32_t engine, uint8_t qos, struct sleeper *job)
{
    struct engine *g = &e->engine[engine];
    if (!g->busy) {
        g->busy = true;
        g->since_ns = e->clock->now_ns;
        return true;
    }
    struct line *line = &g->line[qos];
    job->until_ns = SLEEPER_PARKED;
    job->next = NULL;
    if (line->first)
        line->last->next = job;
    else
        line->first = job;
    line->last = job;
    return false;
}

void engines_give(struct engines *e, uint32_t engine)
{
    struct engine *g = &e->engine[engine];
    for (int i = 0; i < TRACE_QOSES; i++) {
        struct line *line = &g->line[e->order[i]];
        struct sleeper *job = line->first;
        if (!job)
            continue;
        line->first = job->next;
        virtual_clock_wake(e->clock, job, e->clock->now_ns);
        return;
    }
    g->busy = false;
    e->busy_ns += e->clock->now_ns - g->since_ns;
}

int64_t engines_busy_ns(const struct engines *e)
{
    int64_t ns = e->busy_ns;
    for (uint32_t i = 0; i < e->count; i++)
        ns += e->engine[i].busy ? e->clock->now_ns - e->engine[i].since_ns : 0;
    return ns;
}
