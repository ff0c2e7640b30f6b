/* serve_objects.c - the part of the request path of requests with an object of their own: prompt,
 * earlier turns, prefill and decode, as steps of entries' verbs (entries.c). Which request takes
 * which is in serve.c. */
#include "kvgen/sim/serve.h"
#include "lib/base/hash.h"

#define DECODE_STREAM UINT64_C(0x6465636f6465) /* of a request's draws: what it decodes */

void serve_stream(const struct sim *s, const struct request *r, uint64_t purpose, struct rng *rng)
{
    uint64_t name = r->document > 0 ? r->picks : hash_mix(r->object.hi ^ hash_mix(r->object.lo));
    rng_seed(rng, s->o.seed, hash_mix(name ^ purpose));
}

bool serve_has_prompt(const struct sim *s, const struct request *r)
{
    if (!s->o.prefix || r->prompt < 0)
        return false;
    return s->o.mlperf || (r->document == 0 && s->o.node != SIM_NODE_DECODE);
}

/* The benchmark's program looks a prompt up and never writes it. */
enum serve_progress serve_step_prompt(struct sim *s, struct job *j)
{
    if (!serve_has_prompt(s, &j->r))
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

enum serve_progress serve_step_earlier_turns(struct sim *s, struct job *j)
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

enum serve_progress serve_step_prefill(struct sim *s, struct job *j)
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
enum serve_progress serve_step_decode(struct sim *s, struct job *j)
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
enum serve_progress serve_step_decode_prepopulated(struct sim *s, struct job *j)
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
