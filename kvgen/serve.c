/* serve.c - the request path: prefix, earlier turns, prefill, decode, generation, or the blocks of
 * a block-hash request, as steps that the event loop resumes. What an operation does to the tiers
 * is the hierarchy's. */
#include "kvgen/serve.h"

#include <errno.h>

#include "lib/units.h"

enum {
    LOOK_AHEAD = 16,
    LOOK_AHEAD_OBJECT = 8
};

/* Counts a row and hands it on, until the sink has ended the run. */
static void emit(struct sim *s, const struct sim_row *row)
{
    if (s->status != 0)
        return;
    tally_row(&s->stats.rows, &row->what);
    s->status = s->sink(s->ctx, row, s->err);
}

void serve_operation(void *ctx, const struct hierarchy_op *op)
{
    struct sim *s = ctx;
    struct sim_row row = {.time_ns = s->stats.now_ns, .request = s->serving, .what = *op};
    emit(s, &row);
}

static int object_size(const struct sim *s, int64_t tokens, uint64_t *size)
{
    int rc = model_bytes(s->o.model, (uint64_t)tokens, size);
    if (rc == 0 && *size <= (uint64_t)INT64_MAX) {
        *size /= s->o.tensor_parallel;
        return 0;
    }
    return err_set(s->err, -EOVERFLOW, ERR_INPUT, s->o.model->id,
                   "an object of %lld tokens does not fit 63 bits of bytes", (long long)tokens);
}

static void fail(struct sim *s, int code)
{
    if (s->status >= 0)
        s->status = code;
}

/* Writes an object of tokens tokens; true when a tier took it. */
static bool write_sized(struct sim *s, struct ident id, uint64_t size, int64_t tokens,
                        enum trace_class class)
{
    int rc = hierarchy_write(s->hierarchy, id, size, (uint32_t)tokens, class);
    if (rc < 0)
        fail(s, err_nomem(s->err, "live objects"));
    return rc > 0;
}

static bool write_object(struct sim *s, struct ident id, int64_t tokens, enum trace_class class)
{
    uint64_t size;
    int rc = object_size(s, tokens, &size);
    if (rc < 0) {
        fail(s, rc);
        return false;
    }
    return write_sized(s, id, size, tokens, class);
}

/* ---- what the curve is told: what a request looks up and writes in a cache of any size ---- */

static void check_curve(struct sim *s, int rc)
{
    if (rc < 0)
        fail(s, curve_failed(rc, s->err));
}

/* by: curve_lookup or curve_write. */
static void tell_curve(struct sim *s, int (*by)(struct curve *, struct ident, uint64_t),
                       struct ident id, int64_t tokens)
{
    uint64_t size;
    if (s->o.curve == NULL)
        return;
    int rc = object_size(s, tokens, &size);
    if (rc < 0)
        fail(s, rc);
    else
        check_curve(s, by(s->o.curve, id, size));
}

/* Has the job to wait before its next operation? For ever, once the run has ended. */
static bool has_to_wait(const struct sim *s, const struct job *j)
{
    return j->until_ns > s->stats.now_ns || s->status != 0;
}

/* ---- verbs ---- */

enum serve_progress serve_read(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                               enum trace_class class)
{
    (void)tokens;
    if (has_to_wait(s, j))
        return SERVE_AGAIN;
    if (s->o.curve != NULL)
        check_curve(s, curve_probe(s->o.curve, id));
    hierarchy_read(s->hierarchy, id, class);
    return SERVE_ON;
}

enum serve_progress serve_fetch(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                                enum trace_class class)
{
    if (has_to_wait(s, j))
        return SERVE_AGAIN;
    tell_curve(s, curve_lookup, id, tokens);
    if (!hierarchy_read(s->hierarchy, id, class) && !write_object(s, id, tokens, class))
        j->dropped = true;
    return SERVE_ON;
}

enum serve_progress serve_store(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                                enum trace_class class)
{
    if (has_to_wait(s, j))
        return SERVE_AGAIN;
    tell_curve(s, curve_write, id, tokens);
    if (!hierarchy_has(s->hierarchy, id) && !write_object(s, id, tokens, class))
        j->dropped = true;
    return SERVE_ON;
}

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

static void write_block(struct sim *s, const struct request *r, uint32_t i)
{
    struct ident id = block(r, i);
    int64_t tokens = tokens_of_block(s, r, i);
    if (tokens < r->block_tokens)
        write_object(s, id, tokens, TRACE_BLOCK);
    else
        write_sized(s, id, s->block_size, tokens, TRACE_BLOCK);
}

/* All blocks at once: requests that are served side by side do not mix in the curve. */
static void tell_curve_blocks(struct sim *s, const struct request *r)
{
    if (s->o.curve == NULL)
        return;
    curve_request(s->o.curve);
    for (uint32_t i = 0; i < r->block_count && s->status == 0; i++)
        tell_curve(s, curve_lookup, block(r, i), tokens_of_block(s, r, i));
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
    if (tokens == s->block_tokens)
        return;
    int rc = object_size(s, tokens, &s->block_size);
    if (rc < 0)
        fail(s, rc);
    s->block_tokens = tokens;
}

/* A block behind one that was not there cannot hit (under prefix reuse): a miss, whatever is there.
 */
static enum serve_progress step_blocks(struct sim *s, struct job *j)
{
    const struct request *r = &j->r;
    set_block_size(s, r->block_tokens);
    for (; j->round < r->block_count; j->round++) {
        if (has_to_wait(s, j))
            return SERVE_AGAIN;
        uint32_t i = (uint32_t)j->round;
        struct ident id = block(r, i);
        if (i == 0)
            tell_curve_blocks(s, r);
        look_ahead(s, r, i);
        if (!j->missed) {
            if (hierarchy_read(s->hierarchy, id, TRACE_BLOCK))
                continue;
            j->missed = !s->o.block_any;
            write_block(s, r, i);
        } else {
            hierarchy_miss(s->hierarchy, id, TRACE_BLOCK);
            if (!hierarchy_touch(s->hierarchy, id))
                write_block(s, r, i);
        }
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
    j->missed = j->dropped = j->generating = false;
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
    emit(s, &row);
    j->generating = true;
    j->until_ns = s->stats.now_ns + busy_ns;
}

/* Runs the job's steps as far as they go now; false: they are over. */
static bool run_steps(struct sim *s, struct job *j)
{
    for (; *j->step != NULL; j->step++) {
        if ((*j->step)(s, j) == SERVE_AGAIN)
            return true;
        j->round = 0;
        j->missed = j->dropped = false;
    }
    return has_to_wait(s, j);
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
