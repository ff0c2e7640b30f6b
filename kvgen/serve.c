/* serve.c - the request path: prefix, earlier turns, prefill, decode, generation, or the blocks of
 * a block-hash request, as steps that the event loop resumes. The operations themselves are in
 * verbs.c. */
#include "kvgen/serve.h"

#include "lib/hash.h"
#include "lib/units.h"

#define DECODE_STREAM UINT64_C(0x6465636f6465) /* of a request's draws: what it decodes */

enum {
    LOOK_AHEAD = 16,
    LOOK_AHEAD_OBJECT = 8
};

/* ---- steps of a request with an object of its own ---- */

void serve_stream(const struct sim *s, const struct request *r, uint64_t purpose, struct rng *rng)
{
    uint64_t name = r->document > 0 ? r->picks : hash_mix(r->object.hi ^ hash_mix(r->object.lo));
    rng_seed(rng, s->o.seed, hash_mix(name ^ purpose));
}

/* Does the request start with a shared system prompt? Queries and decode nodes write none. */
static bool has_prompt(const struct sim *s, const struct request *r)
{
    if (!s->o.prefix || r->prompt < 0)
        return false;
    return s->o.mlperf || (r->document == 0 && s->o.node != SIM_NODE_DECODE);
}

/* The benchmark's program looks a prompt up and never writes it. */
static enum serve_progress step_prompt(struct sim *s, struct job *j)
{
    if (!has_prompt(s, &j->r))
        return SERVE_ON;
    struct ident id = ident_system((uint32_t)j->r.prompt);
    int64_t tokens = s->o.workload->prompt_tokens[j->r.prompt];
    return s->o.mlperf ? serve_read(s, j, id, tokens, TRACE_SYSTEM)
                       : serve_fetch(s, j, id, tokens, TRACE_SYSTEM);
}

/* The benchmark's program looks up all other turns that it knows of, also those that still wait. */
static enum serve_progress step_other_turns(struct sim *s, struct job *j)
{
    const struct request *r = &j->r;
    const struct source_ops *ops = s->source->ops;
    uint32_t turns = ops->turns != NULL ? ops->turns(s->source, r) : r->turn;
    for (; j->round + 1 < turns; j->round++) {
        uint32_t turn = (uint32_t)j->round + 1;
        struct ident id = ident_other_turn(r->object, turn < r->turn ? turn : turn + 1);
        if (serve_read(s, j, id, 0, TRACE_MULTI_TURN) == SERVE_AGAIN)
            return SERVE_AGAIN;
    }
    return SERVE_ON;
}

static enum serve_progress step_earlier_turns(struct sim *s, struct job *j)
{
    const struct request *r = &j->r;
    if (r->turn <= 1)
        return SERVE_ON;
    if (s->o.mlperf)
        return step_other_turns(s, j);
    uint32_t first = s->o.workload->reload_all ? 1 : r->turn - 1;
    for (; first + j->round < r->turn; j->round++) {
        struct ident id = ident_other_turn(r->object, first + (uint32_t)j->round);
        if (serve_read(s, j, id, 0, TRACE_MULTI_TURN) == SERVE_AGAIN)
            return SERVE_AGAIN;
    }
    return SERVE_ON;
}

static enum serve_progress step_prefill(struct sim *s, struct job *j)
{
    return serve_store(s, j, j->r.object, j->tokens, TRACE_USER);
}

/* A long context leaves decoding to another node, but not on a node that only decodes: the
 * benchmark's program does nothing there. */
static bool is_prefill_only(const struct sim *s, const struct request *r)
{
    return r->context_tokens >= SIM_PREFILL_ONLY_TOKENS && r->document == 0 &&
           (s->o.mlperf || s->o.node != SIM_NODE_DECODE);
}

/* Once, and with batched decoding once more for each batch of generated tokens, at least once more.
 */
uint64_t serve_decode_reads(const struct sim *s, const struct request *r)
{
    if (s->o.decode_reads == SIM_DECODE_NONE || is_prefill_only(s, r))
        return 0;
    if (s->o.decode_reads == SIM_DECODE_ONCE)
        return 1;
    int64_t batch = s->o.workload->decode_batch;
    int64_t batches = (r->generated_tokens + batch - 1) / batch;
    return 1 + (uint64_t)(batches > 1 ? batches : 1);
}

/* When the benchmark's program misses and writes, it does not read what it wrote. */
static enum serve_progress step_decode(struct sim *s, struct job *j)
{
    uint64_t reads = serve_decode_reads(s, &j->r);
    enum trace_class class = j->r.document > 0 ? TRACE_RAG : TRACE_USER;
    for (; j->round < reads && !j->dropped && !(s->o.mlperf && j->absent); j->round++) {
        enum serve_progress p = j->round == 0 ? serve_fetch(s, j, j->r.object, j->tokens, class)
                                              : serve_read(s, j, j->r.object, j->tokens, class);
        if (p == SERVE_AGAIN)
            return SERVE_AGAIN;
    }
    return SERVE_ON;
}

/* On a decode node: one of the objects written before the first request, until it is gone. */
static enum serve_progress step_decode_prepopulated(struct sim *s, struct job *j)
{
    struct rng rng;
    serve_stream(s, &j->r, DECODE_STREAM, &rng);
    struct ident id = ident_prepop(rng_below(&rng, s->o.prepopulated));
    uint64_t reads = serve_decode_reads(s, &j->r);
    for (; j->round < reads && !j->absent; j->round++)
        if (serve_read(s, j, id, SIM_PREPOP_TOKENS, TRACE_USER) == SERVE_AGAIN)
            return SERVE_AGAIN;
    return SERVE_ON;
}

/* ---- the step of a request of blocks ---- */

static struct ident block(const struct request *r, uint32_t i)
{
    return ident_scoped_block(r->block_scope, r->blocks[i]);
}

/* Tokens of block i: all of a block, unless the last is sized by what is left for it. */
static int64_t tokens_of_block(const struct sim *s, const struct request *r, uint32_t i)
{
    int64_t left = r->context_tokens - (int64_t)i * r->block_tokens;
    bool partial = s->o.partial_blocks && i + 1 == r->block_count;
    return partial && left > 0 && left < r->block_tokens ? left : r->block_tokens;
}

static bool put_block(struct sim *s, struct job *j, uint32_t i)
{
    const struct request *r = &j->r;
    uint64_t size = s->block_size;
    int64_t tokens = tokens_of_block(s, r, i);
    if (tokens < r->block_tokens && !serve_size(s, tokens, &size))
        return false;
    return serve_put(s, j, block(r, i), size, tokens, TRACE_BLOCK);
}

/* All blocks at once: requests that are served side by side do not mix in the curve. */
static void tell_curve_blocks(struct sim *s, const struct request *r)
{
    if (s->o.curve == NULL)
        return;
    curve_request(s->o.curve);
    for (uint32_t i = 0; i < r->block_count && s->status == 0; i++)
        serve_tell_curve(s, curve_lookup, block(r, i), tokens_of_block(s, r, i));
}

static void look_ahead(const struct sim *s, const struct request *r, uint32_t i)
{
    if (r->block_count > i + LOOK_AHEAD)
        hierarchy_prefetch(s->hierarchy, block(r, i + LOOK_AHEAD), 1);
    if (r->block_count > i + LOOK_AHEAD_OBJECT)
        hierarchy_prefetch(s->hierarchy, block(r, i + LOOK_AHEAD_OBJECT), 2);
}

/* Most sources have blocks of one size. */
static void set_block_size(struct sim *s, int64_t tokens)
{
    if (tokens != s->block_tokens && serve_size(s, tokens, &s->block_size))
        s->block_tokens = tokens;
}

/* Looks the block up; one behind another that was not there cannot hit (under prefix reuse): a
 * miss, whatever is there. */
static enum serve_look look_block(struct sim *s, struct job *j, struct ident id)
{
    if (!j->behind)
        return serve_look(s, j, id, TRACE_BLOCK);
    if (serve_has_to_wait(s, j))
        return SERVE_WAIT;
    hierarchy_miss(s->hierarchy, id, TRACE_BLOCK);
    return hierarchy_touch(s->hierarchy, id) ? SERVE_HIT : SERVE_MISS;
}

static enum serve_progress step_blocks(struct sim *s, struct job *j)
{
    const struct request *r = &j->r;
    set_block_size(s, r->block_tokens);
    for (; j->round < r->block_count; j->round++) {
        uint32_t i = (uint32_t)j->round;
        if (!j->missed) {
            look_ahead(s, r, i);
            enum serve_look found = look_block(s, j, block(r, i));
            if (found == SERVE_WAIT)
                return SERVE_AGAIN;
            if (i == 0)
                tell_curve_blocks(s, r);
            if (found == SERVE_HIT)
                continue;
            j->missed = true;
        }
        if (!put_block(s, j, i))
            return SERVE_AGAIN;
        j->missed = false;
        j->behind = !s->o.block_any;
    }
    return SERVE_ON;
}

/* ---- a request from its beginning to its generation ---- */

/* By enum sim_node. */
static const serve_step object_steps[][6] = {
    {step_prompt, step_earlier_turns, step_prefill, serve_step_retrieve, step_decode},
    {step_prompt, step_earlier_turns, step_prefill, serve_step_retrieve},
    {step_prompt, serve_step_retrieve, step_decode_prepopulated}};
static const serve_step query_steps[][2] = {{serve_step_query}, {NULL}, {serve_step_query}};
/* The benchmark's program takes the document of a query as one object. */
static const serve_step mlperf_query_steps[][4] = {
    {step_prompt, serve_step_retrieve, step_decode},
    {step_prompt, serve_step_retrieve},
    {step_prompt, serve_step_retrieve, step_decode_prepopulated}};
static const serve_step block_steps[] = {step_blocks, NULL};
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
    if (has_prompt(s, r)) {
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
