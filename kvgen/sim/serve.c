/* One request from its beginning to its generation. The lists below say which steps it takes; the
 * steps follow in that order, then those of block-hash requests and of RAG queries. What an
 * operation of a step does to objects and rows, and how long it takes, is in cache.c. */
#include "kvgen/sim/serve.h"

#include <stddef.h>

#include "kvgen/curve/curve.h"
#include "kvgen/rng.h"
#include "lib/base/hash.h"
#include "lib/base/units.h"

/* Streams of random numbers of one request (stream_of): what it decodes, what it retrieves. */
#define DECODE_STREAM    UINT64_C(0x6465636f6465)
#define RETRIEVAL_STREAM UINT64_C(0x726574726965)

enum {
    PREPOPULATED_TOKENS = 2048, /* of an object that a decode node finds, or that fills storage */
    LOOK_AHEAD = SOURCE_AHEAD,  /* blocks: how far ahead their slots are fetched, ... */
    LOOK_AHEAD_OBJECT = 8       /* ... and the objects themselves */
};

/* ---- which steps a request takes ---- */

static enum cache_progress step_prompt(struct serving *s, struct job *j);
static enum cache_progress step_earlier_turns(struct serving *s, struct job *j);
static enum cache_progress step_prefill(struct serving *s, struct job *j);
static enum cache_progress step_retrieve(struct serving *s, struct job *j);
static enum cache_progress step_decode(struct serving *s, struct job *j);
static enum cache_progress step_decode_prepopulated(struct serving *s, struct job *j);
static enum cache_progress step_blocks(struct serving *s, struct job *j);
static enum cache_progress step_query(struct serving *s, struct job *j);
static enum cache_progress step_ingest(struct serving *s, struct job *j);

/* Requests with an object of their own. */
static const serve_step object_steps[][6] = {
    [SIM_NODE_BOTH] = {step_prompt, step_earlier_turns, step_prefill, step_retrieve, step_decode},
    [SIM_NODE_PREFILL] = {step_prompt, step_earlier_turns, step_prefill, step_retrieve},
    [SIM_NODE_DECODE] = {step_prompt, step_retrieve, step_decode_prepopulated},
};
/* Queries about a document. */
static const serve_step query_steps[][2] = {
    [SIM_NODE_BOTH] = {step_query},
    [SIM_NODE_PREFILL] = {NULL},
    [SIM_NODE_DECODE] = {step_query},
};
/* The same where the document is one object: compat.h, query_is_one_object. */
static const serve_step object_query_steps[][4] = {
    [SIM_NODE_BOTH] = {step_prompt, step_retrieve, step_decode},
    [SIM_NODE_PREFILL] = {step_prompt, step_retrieve},
    [SIM_NODE_DECODE] = {step_prompt, step_retrieve, step_decode_prepopulated},
};
static const serve_step block_steps[] = {step_blocks, NULL};
static const serve_step ingest_steps[] = {step_ingest, NULL};
static const serve_step no_steps[] = {NULL};

static const serve_step *steps_of(const struct serving *s, const struct request *r)
{
    enum sim_node node = s->o->node;
    if (s->o->source->ops->blocks)
        return block_steps;
    if (r->context_tokens == 0)
        return no_steps; /* BurstGPT has such: requests that failed */
    if (r->document == 0)
        return object_steps[node];
    if (r->ingest)
        return ingest_steps;
    return s->o->compat->query_is_one_object ? object_query_steps[node] : query_steps[node];
}

/* Does the request start with a shared text or system prompt? As a rule queries and decode nodes
 * have none.
 */
static bool has_prompt(const struct serving *s, const struct request *r)
{
    if (r->shared)
        return true;
    if (!s->o->prefix || r->prompt < 0)
        return false;
    return s->o->compat->prompt_everywhere || (r->document == 0 && s->o->node != SIM_NODE_DECODE);
}

static inline struct ident block_id(const struct request *r, uint32_t i)
{
    return ident_scoped_block(r->block_scope, r->blocks[i]);
}

/* Fetches from memory, behind serve_look_ahead, the objects that the request looks up first. */
static void look_at_first(const struct serving *s, const struct request *r)
{
    if (r->turn > 1)
        hierarchy_prefetch(s->hierarchy, ident_other_turn(r->object, r->turn - 1), 2);
    for (uint32_t i = 0; i < r->block_count && i < LOOK_AHEAD_OBJECT; i++)
        hierarchy_prefetch(s->hierarchy, block_id(r, i), 2);
}

void serve_look_ahead(const struct serving *s)
{
    struct source *source = s->o->source;
    struct ident id[SOURCE_AHEAD];
    size_t n = source->ops->ahead ? source->ops->ahead(source, id) : 0;
    for (size_t i = 0; i < n; i++)
        hierarchy_prefetch(s->hierarchy, id[i], 1);
}

void serve_begin(const struct serving *s, struct job *j, uint32_t worker)
{
    const struct request *r = &j->r;
    int64_t now_ns = s->clock->now_ns;
    look_at_first(s, r);
    j->step = steps_of(s, r);
    j->access = (struct cache_access){
        .request = r, .job = {.until_ns = now_ns, .request = r->number, .worker = worker}};
    j->round = 0;
    j->hit_tokens = 0;
    j->behind = j->generating = false;
    j->taken_ns = now_ns;
    j->tokens =
        workload_own_tokens(s->o->workload, r->context_tokens, has_prompt(s, r) ? r->prompt : -1);
}

/* The operations are over: from now on the worker generates. A document generates nothing. */
static void generate(struct serving *s, struct job *j)
{
    j->generating = true;
    j->served_ns = j->access.job.until_ns = s->clock->now_ns;
    if (j->r.ingest)
        return;
    uint64_t busy_ns;
    if (units_mul((uint64_t)j->r.generated_tokens, (uint64_t)s->o->token_ns, &busy_ns) < 0 ||
        busy_ns > VIRTUAL_CLOCK_LAST_NS)
        busy_ns = VIRTUAL_CLOCK_LAST_NS; /* the event loop refuses to go there */
    struct sim_row row = {.time_ns = s->clock->now_ns,
                          .request = &j->r,
                          .what = {.op = TRACE_GENERATE,
                                   .tier = TRACE_NO_TIER,
                                   .phase = TRACE_NO_PHASE,
                                   .class = TRACE_NO_CLASS,
                                   .tokens = (uint32_t)j->r.generated_tokens},
                          .duration_ns = (int64_t)busy_ns};
    emitter_row(s->emitter, &row);
    j->access.job.until_ns += row.duration_ns;
}

bool serve_go_on(struct serving *s, struct job *j)
{
    const struct source_ops *ops = s->o->source->ops;
    if (!j->generating) {
        for (; *j->step; j->step++) {
            if ((*j->step)(s, j) == CACHE_WAIT)
                return true;
            j->round = 0;
            j->behind = j->access.missed = j->access.absent = j->access.dropped = false;
        }
        if (cache_busy(s->cache, &j->access))
            return true;
        generate(s, j);
        if (ops->release)
            ops->release(s->o->source, &j->r);
    }
    return j->access.job.until_ns > s->clock->now_ns;
}

/* ---- a request with an object of its own: prompt, earlier turns, prefill, decode ---- */

/* A stream of the run's seed for one request and purpose, the same whoever serves it and when. */
static void stream_of(const struct serving *s, const struct request *r, uint64_t purpose,
                      struct rng *rng)
{
    uint64_t name = r->document > 0 ? r->picks : hash_mix(r->object.hi ^ hash_mix(r->object.lo));
    rng_seed(rng, s->o->seed, hash_mix(name ^ purpose));
}

static struct cache_entry prompt_entry(const struct serving *s, const struct request *r)
{
    if (r->shared)
        return (struct cache_entry){
            .id = ident_system(r->shared - 1), .tokens = r->shared_tokens, .class = TRACE_SYSTEM};
    return (struct cache_entry){.id = ident_system((uint32_t)r->prompt),
                                .tokens = s->o->workload->prompt_tokens[r->prompt],
                                .class = TRACE_SYSTEM};
}

static enum cache_progress step_prompt(struct serving *s, struct job *j)
{
    if (!has_prompt(s, &j->r))
        return CACHE_DONE;
    struct cache_entry prompt = prompt_entry(s, &j->r);
    return s->o->compat->prompt_never_written ? cache_read(s->cache, &j->access, &prompt)
                                              : cache_fetch(s->cache, &j->access, &prompt);
}

static enum cache_progress step_earlier_turns(struct serving *s, struct job *j)
{
    const struct request *r = &j->r;
    const struct source_ops *ops = s->o->source->ops;
    if (r->turn <= 1)
        return CACHE_DONE;
    uint32_t first = s->o->workload->reload_all ? 1 : r->turn - 1, end = r->turn;
    if (s->o->compat->all_other_turns) {
        first = 1;
        end = ops->turns ? ops->turns(s->o->source, r) : r->turn;
    }
    /* Turn number first + round; behind the request's own, which is left out, one more. */
    for (; first + j->round < end; j->round++) {
        uint32_t turn = first + (uint32_t)j->round;
        struct cache_entry entry = {
            .id = ident_other_turn(r->object, turn < r->turn ? turn : turn + 1),
            .class = TRACE_MULTI_TURN};
        if (cache_read(s->cache, &j->access, &entry) == CACHE_WAIT)
            return CACHE_WAIT;
    }
    return CACHE_DONE;
}

/* The request's own object; of a query the document. */
static struct cache_entry own_entry(const struct job *j)
{
    return (struct cache_entry){.id = j->r.object,
                                .tokens = j->tokens,
                                .class = j->r.document > 0 ? TRACE_RAG : TRACE_USER};
}

static enum cache_progress step_prefill(struct serving *s, struct job *j)
{
    struct cache_entry entry = own_entry(j);
    return cache_store(s->cache, &j->access, &entry);
}

/* How often the request reads while it decodes. */
static uint64_t decode_reads(const struct serving *s, const struct request *r)
{
    bool decodes_elsewhere = r->context_tokens >= SIM_PREFILL_ONLY_TOKENS && r->document == 0;
    if (s->o->node == SIM_NODE_DECODE && !s->o->compat->long_context_never_decodes)
        decodes_elsewhere = false;
    if (s->o->decode_reads == SIM_DECODE_NONE || decodes_elsewhere)
        return 0;
    if (s->o->decode_reads == SIM_DECODE_ONCE)
        return 1;
    /* Once, and once more for each batch of generated tokens, at least once more. */
    int64_t batch = s->o->workload->decode_batch;
    int64_t batches = (r->generated_tokens + batch - 1) / batch;
    return 1 + (uint64_t)(batches > 1 ? batches : 1);
}

static enum cache_progress step_decode(struct serving *s, struct job *j)
{
    uint64_t reads = decode_reads(s, &j->r);
    struct cache_entry entry = own_entry(j);
    for (; j->round < reads && !j->access.dropped; j->round++) {
        if (j->access.absent && s->o->compat->fill_ends_decode)
            break;
        enum cache_progress p = j->round == 0 ? cache_fetch(s->cache, &j->access, &entry)
                                              : cache_read(s->cache, &j->access, &entry);
        if (p == CACHE_WAIT)
            return CACHE_WAIT;
    }
    return CACHE_DONE;
}

/* On a decode node: reads one of the objects written before the first request, until it is gone. */
static enum cache_progress step_decode_prepopulated(struct serving *s, struct job *j)
{
    struct rng rng;
    stream_of(s, &j->r, DECODE_STREAM, &rng);
    struct cache_entry entry = {.id = ident_prepop(rng_below(&rng, s->o->prepopulated)),
                                .tokens = PREPOPULATED_TOKENS,
                                .class = TRACE_USER};
    uint64_t reads = decode_reads(s, &j->r);
    for (; j->round < reads && !j->access.absent; j->round++)
        if (cache_read(s->cache, &j->access, &entry) == CACHE_WAIT)
            return CACHE_WAIT;
    return CACHE_DONE;
}

/* ---- a block-hash request: block after block is looked up, and written when it is not there ----
 */

/* Block i. It has all the tokens of a block, unless the last one is sized by what is left for it.
 */
static inline struct cache_entry block(const struct serving *s, const struct request *r, uint32_t i)
{
    int64_t tokens = r->block_tokens;
    if (s->o->partial_blocks && i + 1 == r->block_count) {
        int64_t left = r->context_tokens - (int64_t)i * tokens;
        if (left > 0 && left < tokens)
            tokens = left;
    }
    return (struct cache_entry){
        .id = block_id(r, i), .tokens = tokens, .class = TRACE_BLOCK, .later = i > 0};
}

/* Fetches from memory what the lookups of later blocks need: that hides most cache misses. */
static void look_ahead(const struct serving *s, const struct request *r, uint32_t i)
{
    if (r->block_count > i + LOOK_AHEAD)
        hierarchy_prefetch(s->hierarchy, block_id(r, i + LOOK_AHEAD), 1);
    if (r->block_count > i + LOOK_AHEAD_OBJECT)
        hierarchy_prefetch(s->hierarchy, block_id(r, i + LOOK_AHEAD_OBJECT), 2);
}

/* The curve is told all blocks at once, so that requests served side by side do not mix in it. */
static void tell_curve(const struct serving *s, const struct request *r)
{
    if (!s->o->curve)
        return;
    curve_request(s->o->curve);
    for (uint32_t i = 0; i < r->block_count && s->clock->ended == 0; i++) {
        struct cache_entry b = block(s, r, i);
        cache_tell_lookup(s->cache, &b);
    }
}

static enum cache_progress step_blocks(struct serving *s, struct job *j)
{
    const struct request *r = &j->r;
    struct cache_access *a = &j->access;
    for (; j->round < r->block_count; j->round++) {
        uint32_t i = (uint32_t)j->round;
        struct cache_entry b = block(s, r, i);
        if (!a->missed) {
            look_ahead(s, r, i);
            enum cache_look found =
                j->behind ? cache_look_past(s->cache, a, &b) : cache_look_up(s->cache, a, &b);
            if (found == CACHE_LOOK_WAIT)
                return CACHE_WAIT;
            if (i == 0)
                tell_curve(s, r);
            if (found == CACHE_HIT) {
                j->hit_tokens += b.tokens;
                continue;
            }
            a->missed = true;
        }
        if (cache_write(s->cache, a, &b) == CACHE_WAIT)
            return CACHE_WAIT;
        a->missed = false;
        j->behind = s->o->block_reuse == SIM_REUSE_PREFIX;
    }
    return CACHE_DONE;
}

/* ---- documents: a request retrieves chunks of one, a query decodes over the chunks of one ---- */

static struct cache_entry chunk(const struct serving *s, uint32_t document, uint32_t i,
                                enum trace_class class)
{
    return (struct cache_entry){.id = ident_chunk(document, i),
                                .tokens = rag_chunk_tokens(s->o->rag, document, i),
                                .class = class};
}

static enum cache_progress step_retrieve(struct serving *s, struct job *j)
{
    struct rng rng;
    if (!s->o->rag)
        return CACHE_DONE;
    stream_of(s, &j->r, RETRIEVAL_STREAM, &rng);
    if (!rag_chance(s->o->rag, &rng))
        return CACHE_DONE;
    const uint32_t *picked;
    uint32_t document = rag_document(s->o->rag, &rng);
    uint32_t count = rag_pick(s->o->rag, document, rng_u64(&rng), &picked);
    for (; j->round < count; j->round++) {
        struct cache_entry entry = chunk(s, document, picked[j->round], TRACE_RAG);
        if (cache_read(s->cache, &j->access, &entry) == CACHE_WAIT)
            return CACHE_WAIT;
    }
    return CACHE_DONE;
}

/* Goes through the chunks as often as a request reads its object. In the first pass a node that
 * also prefills writes what is not there. */
static enum cache_progress step_query(struct serving *s, struct job *j)
{
    const uint32_t *picked;
    uint32_t document = j->r.document - 1;
    uint32_t count = rag_pick(s->o->rag, document, j->r.picks, &picked);
    uint64_t reads = count * decode_reads(s, &j->r);
    for (; j->round < reads && !j->access.dropped; j->round++) {
        struct cache_entry entry = chunk(s, document, picked[j->round % count], TRACE_RAG);
        bool fetches = s->o->node == SIM_NODE_BOTH && j->round < count;
        enum cache_progress p = fetches ? cache_fetch(s->cache, &j->access, &entry)
                                        : cache_read(s->cache, &j->access, &entry);
        if (p == CACHE_WAIT)
            return CACHE_WAIT;
    }
    return CACHE_DONE;
}

/* A document whose chunks are written while others are served. */
static enum cache_progress step_ingest(struct serving *s, struct job *j)
{
    uint32_t document = j->r.document - 1, count = rag_chunks(s->o->rag, document);
    for (; j->round < count; j->round++) {
        struct cache_entry entry = chunk(s, document, (uint32_t)j->round, TRACE_INGEST);
        if (cache_store(s->cache, &j->access, &entry) == CACHE_WAIT)
            return CACHE_WAIT;
    }
    return CACHE_DONE;
}

/* ---- before the first request ---- */

static uint64_t bytes_held(const struct serving *s)
{
    uint64_t bytes = 0;
    for (int t = 0; t < TRACE_TIERS; t++) {
        struct hierarchy_tier_stats tier;
        hierarchy_stats(s->hierarchy, (enum trace_tier)t, &tier);
        bytes += tier.present ? tier.bytes : 0;
    }
    return bytes;
}

static void populate_object(struct serving *s, uint64_t i)
{
    struct cache_entry entry = {
        .id = ident_prepop(i), .tokens = PREPOPULATED_TOKENS, .class = TRACE_PREPOP};
    cache_populate(s->cache, &entry);
}

/* Writes objects that nobody reads, from number first on, until one makes room for itself: then all
 * tiers hold what they can. They are older than what requests bring, and so leave before it. */
static void fill_storage(struct serving *s, uint64_t first)
{
    uint64_t before, after = bytes_held(s);
    do {
        before = after;
        populate_object(s, first++);
        after = bytes_held(s);
    } while (after > before && s->clock->ended == 0);
}

void serve_populate(struct serving *s)
{
    uint64_t objects = s->o->node == SIM_NODE_DECODE ? s->o->prepopulated : 0;
    if (s->o->fill_storage)
        fill_storage(s, objects);
    const struct rag *rag = s->o->rag;
    const int *ended = &s->clock->ended;
    uint32_t documents = rag && !s->o->rag_timed ? rag_documents(rag) : 0;
    uint32_t kept = rag ? rag_kept(rag) : 0;
    for (uint32_t d = 0; d < documents && *ended == 0; d++) {
        /* The oldest document makes room first: there are never more than are kept. */
        for (uint32_t i = 0; d >= kept && i < rag_chunks(rag, d - kept) && *ended == 0; i++) {
            struct cache_entry old = chunk(s, d - kept, i, TRACE_INGEST);
            cache_remove(s->cache, &old);
        }
        for (uint32_t i = 0; i < rag_chunks(rag, d) && *ended == 0; i++) {
            struct cache_entry new = chunk(s, d, i, TRACE_INGEST);
            cache_populate(s->cache, &new);
        }
    }
    for (uint64_t i = 0; i < objects && *ended == 0; i++)
        populate_object(s, i);
}
