/* The lines at the engines. The rows that stand in them are ready but for an engine; the scheduler
 * holds the one that has it for its time (sched.c). */
#include "kvreplay/sched/engines.h"

#include <stdlib.h>

struct engine {
    bool busy;
    struct row_list line[TRACE_NO_QOS + 1];
};

struct engines {
    bool steps;
    uint32_t count;
    uint8_t order[TRACE_NO_QOS + 1]; /* classes, the highest priority first; no class is last */
    struct engine engine[];
};

struct engines *engines_create(const struct engines_opts *o)
{
    uint32_t count = o->count > 0 ? o->count : 1;
    struct engines *e = calloc(1, sizeof(*e) + count * sizeof(e->engine[0]));
    if (!e)
        return NULL;
    e->count = count;
    e->steps = o->steps;
    for (uint8_t q = 0; q < TRACE_QOSES; q++) { /* insertion; equal ones keep their order */
        uint8_t at = q;
        for (; at > 0 && o->priority[e->order[at - 1]] < o->priority[q]; at--)
            e->order[at] = e->order[at - 1];
        e->order[at] = q;
    }
    e->order[TRACE_QOSES] = TRACE_NO_QOS;
    return e;
}

void engines_free(struct engines *e)
{
    free(e);
}

bool engines_runs(const struct row *r)
{
    return r->t.op == TRACE_GENERATE && r->t.phase == TRACE_PREFILL;
}

/* kvgen gives a user's requests to the same one. */
static struct engine *engine_of(struct engines *e, const struct row *r)
{
    return &e->engine[r->user.lo % e->count];
}

bool engines_take(struct engines *e, struct row *r)
{
    struct engine *g = engine_of(e, r);
    if (e->steps)
        return true;
    if (g->busy) {
        row_list_append(&g->line[r->t.qos < TRACE_QOSES ? r->t.qos : TRACE_NO_QOS], r);
        return false;
    }
    g->busy = true;
    return true;
}

struct row *engines_give(struct engines *e, const struct row *r)
{
    struct engine *g = engine_of(e, r);
    for (unsigned i = 0; i <= TRACE_QOSES; i++)
        if (g->line[e->order[i]].head)
            return row_list_pop(&g->line[e->order[i]]);
    g->busy = false;
    return NULL;
}
