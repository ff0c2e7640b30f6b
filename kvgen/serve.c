/* serve.c - the request path: prefix, earlier turns, prefill, decode, generation, or the blocks of
 * a block-hash request, as steps that the event loop resumes. The operations themselves are in
 * verbs.c. */
#include "kvgen/serve.h"

#include "lib/units.h"

enum {
    LOOK_AHEAD = 16,
    LOOK_AHEAD_OBJECT = 8
};

/* ---- steps of a request with an object of its own ---- */

/* Does the request start with a shared system prompt? */
static bool has_prompt(const struct sim *s, const struct request *r)
{
    return s->o.prefix && r->prompt >= 0;
}

static enum serve_progress step_prompt(struct sim *s, struct job *j)
{
    if (!has_prompt(s, &j->r))
        return SERVE_ON;
    uint32_t prompt = (uint32_t)j->r.prompt;
    return serve_fetch(s, j, ident_system(prompt), s->o.workload->prompt_tokens[prompt],
                       TRACE_SYSTEM);
}

static enum serve_progress step_earlier_turns(struct sim *s, struct job *j)
{
    const struct request *r = &j->r;
    if (r->turn <= 1)
        return SERVE_ON;
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

/* How often the request's object is read: once, and with batched decoding once more for each batch
 * of generated tokens, at least once more. */
static uint64_t decode_reads(const struct sim *s, const struct request *r)
{
    if (s->o.decode_reads == SIM_DECODE_NONE || r->context_tokens >= SIM_PREFILL_ONLY_TOKENS)
        return 0;
    if (s->o.decode_reads == SIM_DECODE_ONCE)
        return 1;
    int64_t batch = s->o.workload->decode_batch;
    int64_t batches = (r->generated_tokens + batch - 1) / batch;
    return 1 + (uint64_t)(batches > 1 ? batches : 1);
}

static enum serve_progress step_decode(struct sim *s, struct job *j)
{
    uint64_t reads = decode_reads(s, &j->r);
    for (; j->round < reads && !j->dropped; j->round++) {
        enum serve_progress p = j->round == 0
                                    ? serve_fetch(s, j, j->r.object, j->tokens, TRACE_USER)
                                    : serve_read(s, j, j->r.object, j->tokens, TRACE_USER);
        if (p == SERVE_AGAIN)
            return SERVE_AGAIN;
    }
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

static const serve_step object_steps[] = {step_prompt, step_earlier_turns, step_prefill,
                                          step_decode, NULL};
static const serve_step block_steps[] = {step_blocks, NULL};
static const serve_step no_steps[] = {NULL};

static const serve_step *steps_of(const struct sim *s, const struct request *r)
{
    if (s->source->ops->blocks)
        return block_steps;
    return r->context_tokens > 0 ? object_steps
                                 : no_steps; /* BurstGPT has such: requests that failed */
}

void serve_begin(struct sim *s, struct job *j)
{
    const struct request *r = &j->r;
    j->step = steps_of(s, r);
    j->until_ns = s->stats.now_ns;
    j->round = 0;
    j->missed = j->behind = j->dropped = j->generating = false;
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
        j->missed = j->behind = j->dropped = false;
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
