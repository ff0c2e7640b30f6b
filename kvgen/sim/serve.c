/* serve.c - one request from its beginning to its generation: the steps that it takes, which the
 * event loop resumes. What the steps do is in serve_objects.c, serve_rag.c and serve_blocks.c, on
 * entries (entries.c) and objects (verbs.c) of the cache: each calls only those behind it. */
#include "kvgen/sim/serve.h"

#include "lib/base/units.h"

/* By enum sim_node. */
static const serve_step object_steps[][6] = {
    {serve_step_prompt, serve_step_earlier_turns, serve_step_prefill, serve_step_retrieve,
     serve_step_decode},
    {serve_step_prompt, serve_step_earlier_turns, serve_step_prefill, serve_step_retrieve},
    {serve_step_prompt, serve_step_retrieve, serve_step_decode_prepopulated}};
static const serve_step query_steps[][2] = {{serve_step_query}, {NULL}, {serve_step_query}};
/* The benchmark's program takes the document of a query as one object. */
static const serve_step mlperf_query_steps[][4] = {
    {serve_step_prompt, serve_step_retrieve, serve_step_decode},
    {serve_step_prompt, serve_step_retrieve},
    {serve_step_prompt, serve_step_retrieve, serve_step_decode_prepopulated}};
static const serve_step block_steps[] = {serve_step_blocks, NULL};
static const serve_step no_steps[] = {NULL};

static const serve_step *steps_of(const struct sim *s, const struct request *r)
{
    if (s->source->ops->blocks)
        return block_steps;
    if (r->context_tokens == 0)
        return no_steps; /* BurstGPT has such: requests that failed */
    if (r->document == 0)
        return object_steps[s->o.node];
    return s->o.mlperf ? mlperf_query_steps[s->o.node] : query_steps[s->o.node];
}

void serve_begin(struct sim *s, struct job *j)
{
    const struct request *r = &j->r;
    j->step = steps_of(s, r);
    j->until_ns = s->stats.now_ns;
    j->round = j->part = 0;
    j->missed = j->behind = j->absent = j->dropped = j->generating = false;
    j->place = SERVE_NO_PLACE;
    j->taken_ns = s->stats.now_ns;
    j->tokens = r->context_tokens;
    if (serve_has_prompt(s, r)) {
        int64_t tokens = s->o.workload->prompt_tokens[r->prompt];
        j->tokens = r->context_tokens > tokens ? r->context_tokens - tokens : 1;
    }
}

static int64_t generation_ns(const struct sim *s, const struct request *r)
{
    uint64_t ns;
    int rc = units_mul((uint64_t)r->generated_tokens, (uint64_t)s->o.token_ns, &ns);
    return rc < 0 || ns > SIM_LAST_NS ? SIM_LAST_NS : (int64_t)ns;
}

static void generate(struct sim *s, struct job *j)
{
    int64_t busy_ns = generation_ns(s, &j->r);
    struct sim_row row = {.time_ns = s->stats.now_ns,
                          .request = &j->r,
                          .what = {.op = TRACE_GENERATE,
                                   .tier = TRACE_NO_TIER,
                                   .phase = TRACE_NO_PHASE,
                                   .class = TRACE_NO_CLASS,
                                   .tokens = (uint32_t)j->r.generated_tokens},
                          .duration_ns = busy_ns};
    serve_row(s, &row);
    j->generating = true;
    j->served_ns = s->stats.now_ns;
    j->until_ns = s->stats.now_ns + busy_ns;
}

/* Runs the job's steps as far as they go now; false: they are over. */
static bool run_steps(struct sim *s, struct job *j)
{
    for (; *j->step != NULL; j->step++) {
        if ((*j->step)(s, j) == SERVE_AGAIN)
            return true;
        j->round = 0;
        j->missed = j->behind = j->absent = j->dropped = false;
    }
    return serve_has_to_wait(s, j);
}

bool serve_go_on(struct sim *s, struct job *j)
{
    if (!j->generating) {
        s->serving = &j->r;
        bool waits = run_steps(s, j);
        s->serving = NULL;
        if (waits)
            return true;
        generate(s, j);
        if (s->source->ops->release)
            s->source->ops->release(s->source, &j->r);
    }
    return j->until_ns > s->stats.now_ns;
}
