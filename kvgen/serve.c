/* serve.c - the request path: prefix, earlier turns, prefill, decode, generation, or the blocks of
 * a block-hash request. All of it happens at the instant at which a worker takes the request. */
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
    const struct hierarchy_op *op = &row->what;
    if (s->status != 0)
        return;
    struct sim_count *c = &s->stats.by[op->op][op->tier][op->phase];
    c->rows++;
    c->bytes += op->size;
    if (op->op == TRACE_MISS)
        s->stats.misses[op->class]++;
    else if (op->op == TRACE_READ && op->phase != TRACE_EVICT)
        s->stats.hits[op->class]++;
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

/* The shared system prompt that the request starts with; returns the tokens that remain. */
static int64_t serve_prompt(struct sim *s, const struct request *r)
{
    if (!s->o.prefix || r->prompt < 0)
        return r->context_tokens;
    struct ident id = ident_system((uint32_t)r->prompt);
    int64_t tokens = s->o.workload->prompt_tokens[r->prompt];
    if (!hierarchy_read(s->hierarchy, id, TRACE_SYSTEM))
        write_object(s, id, tokens, TRACE_SYSTEM);
    return r->context_tokens > tokens ? r->context_tokens - tokens : 1;
}

static void serve_earlier_turns(struct sim *s, const struct request *r)
{
    if (r->turn <= 1)
        return;
    uint32_t first = s->o.workload->reload_all ? 1 : r->turn - 1;
    for (uint32_t turn = first; turn < r->turn; turn++)
        hierarchy_read(s->hierarchy, ident_other_turn(r->object, turn), TRACE_MULTI_TURN);
}

/* How often the request's object is read: once, and with batched decoding once more for each batch
 * of generated tokens, at least once more. */
static int64_t decode_reads(const struct sim *s, const struct request *r)
{
    if (s->o.decode_reads == SIM_DECODE_NONE)
        return 0;
    if (s->o.decode_reads == SIM_DECODE_ONCE)
        return 1;
    int64_t batch = s->o.workload->decode_batch;
    int64_t batches = (r->generated_tokens + batch - 1) / batch;
    return 1 + (batches > 1 ? batches : 1);
}

static void serve_decode(struct sim *s, const struct request *r, int64_t tokens)
{
    int64_t reads = decode_reads(s, r);
    if (reads == 0)
        return;
    if (!hierarchy_read(s->hierarchy, r->object, TRACE_USER) &&
        !write_object(s, r->object, tokens, TRACE_USER))
        return;
    for (int64_t i = 1; i < reads && s->status == 0; i++)
        hierarchy_read(s->hierarchy, r->object, TRACE_USER);
}

static void serve_object(struct sim *s, const struct request *r)
{
    if (r->context_tokens == 0)
        return; /* BurstGPT has such: requests that failed */
    int64_t tokens = serve_prompt(s, r);
    serve_earlier_turns(s, r);
    if (!hierarchy_has(s->hierarchy, r->object))
        write_object(s, r->object, tokens, TRACE_USER);
    if (r->context_tokens < SIM_PREFILL_ONLY_TOKENS)
        serve_decode(s, r, tokens);
}

static struct ident block(const struct request *r, uint32_t i)
{
    return ident_scoped_block(r->block_scope, r->blocks[i]);
}

/* Block i of the request is not there: all of a block, unless the last is sized by its tokens. */
static void write_block(struct sim *s, const struct request *r, uint32_t i)
{
    struct ident id = block(r, i);
    int64_t left = r->context_tokens - (int64_t)i * r->block_tokens;
    if (s->o.partial_blocks && i + 1 == r->block_count && left > 0 && left < r->block_tokens)
        write_object(s, id, left, TRACE_BLOCK);
    else
        write_sized(s, id, s->block_size, r->block_tokens, TRACE_BLOCK);
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

static void serve_blocks(struct sim *s, const struct request *r)
{
    set_block_size(s, r->block_tokens);
    bool may_hit = true; /* under prefix reuse: while every earlier block hit */
    for (uint32_t i = 0; i < r->block_count && s->status == 0; i++) {
        struct ident id = block(r, i);
        look_ahead(s, r, i);
        if (may_hit) {
            if (hierarchy_read(s->hierarchy, id, TRACE_BLOCK))
                continue;
            may_hit = s->o.block_any;
            write_block(s, r, i);
        } else {
            hierarchy_miss(s->hierarchy, id, TRACE_BLOCK);
            if (!hierarchy_touch(s->hierarchy, id))
                write_block(s, r, i);
        }
    }
}

static int64_t generation_ns(const struct sim *s, const struct request *r)
{
    uint64_t ns;
    int rc = units_mul((uint64_t)r->generated_tokens, (uint64_t)s->o.token_ns, &ns);
    return rc < 0 || ns > SIM_LAST_NS ? SIM_LAST_NS : (int64_t)ns;
}

int64_t serve_request(struct sim *s, const struct request *r)
{
    int64_t busy_ns = generation_ns(s, r);
    s->serving = r;
    if (s->source->ops->blocks)
        serve_blocks(s, r);
    else
        serve_object(s, r);
    struct sim_row generate = {.time_ns = s->stats.now_ns,
                               .request = r,
                               .what = {.op = TRACE_GENERATE,
                                        .tier = TRACE_NO_TIER,
                                        .phase = TRACE_NO_PHASE,
                                        .class = TRACE_NO_CLASS,
                                        .tokens = (uint32_t)r->generated_tokens},
                               .duration_ns = busy_ns};
    emit(s, &generate);
    s->serving = NULL;
    return busy_ns;
}
