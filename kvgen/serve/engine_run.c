/* engine_run.c - the loop over moments. A request comes from the source, costs the host its time,
 * is routed, and is its engine's (engine.c) until its last token. The engine whose step ends first
 * goes on first, so that rows and answers come in the order of time. */
#include "kvgen/serve/engine_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/serve/engine.h"
#include "kvgen/sim/emitter.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/sort/heap.h"

#define LOOK 256 /* moments between two calls of look */

struct engine_run {
    struct engine_run_opts o;
    struct virtual_clock clock;
    struct emitter *emitter; /* NULL: rows are only counted, */
    struct held_rows *rows;  /* and none is held */
    struct prompts *prompts;
    struct engine_world world;
    struct engine **engine;
    uint32_t engines, next;      /* next: whose turn it is, round robin */
    struct engine_request *here; /* all requests, in no order */
    struct heap at_host;         /* those that the host has, by ready_ns; item: place */
    struct engine_request **place;
    uint32_t *free_place, free_places, places;
    uint64_t bytes; /* of the requests that are here */
    uint64_t looks; /* times that look might have been called */
    struct sim_stats stats;
    struct engine_run_stats own;
    struct copy_rows_stats *copies; /* of all engines */
};

/* ---- requests come ---- */

static void request_free(struct held_request *h)
{
    struct engine_request *q = (struct engine_request *)h;
    prompt_free(&q->prompt);
    free((uint64_t *)q->ids.id);
    free(q->copies.key);
    free((uint8_t *)q->copies.class);
    free(q);
}

/* Tokens that a request may have. A prompt that is not cut must fit into one step. */
static uint64_t most_tokens(const struct engine_run *r)
{
    const struct engine_cache *cache = engine_run_cache(r);
    const struct scheduler_opts *s = &cache->scheduler;
    uint64_t most = cache->blocks / cache->groups * cache->block_tokens;
    if (s->max_tokens < most)
        most = s->max_tokens;
    return !s->chunks && s->step_tokens < most ? s->step_tokens : most;
}

/* The answer counts as far as the engine makes it: on a node that only prefills, one token. */
static bool fits(const struct engine_run *r, const struct engine_request *q)
{
    const uint64_t tokens =
        r->o.prefill_only ? q->prompt.tokens + 1 : chain_tokens(&q->prompt.chain);
    return tokens <= most_tokens(r);
}

/* Keys of the whole blocks of its chain in each group, and why each block is there. */
static int list_blocks(const struct engine_run *r, struct engine_request *q)
{
    const struct engine_cache *cache = engine_run_cache(r);
    const uint64_t tokens = cache->block_tokens;
    const uint64_t blocks = chain_tokens(&q->prompt.chain) / tokens;
    uint64_t *key = malloc((cache->groups * blocks + 1) * sizeof(*key));
    uint8_t *class = malloc(blocks + 1);
    q->copies.key = key;
    q->copies.class = class;
    q->copies.blocks = blocks;
    if (!key || !class)
        return -ENOMEM;
    for (uint32_t g = 0; g < cache->groups; g++) {
        struct chain_walk w = {.chain = &q->prompt.chain, .key = chain_root(g)};
        for (uint64_t i = 0; i < blocks; i++) {
            *key++ = chain_key(&w, (i + 1) * tokens);
            class[i] = q->prompt.class[w.piece];
        }
    }
    q->prompt.chain.key = q->copies.key;
    q->prompt.chain.keys = blocks;
    q->prompt.chain.key_tokens = tokens;
    q->prompt.chain.key_groups = cache->groups;
    return 0;
}

/* The names that its source has for its blocks. */
static int keep_ids(struct engine_request *q, const struct request *from)
{
    const size_t bytes = from->block_count * sizeof(*from->blocks);
    uint64_t *id = malloc(bytes + 1);
    if (!id)
        return -ENOMEM;
    if (bytes)
        memcpy(id, from->blocks, bytes);
    q->ids.id = id;
    q->ids.count = from->block_count;
    q->ids.tokens = from->block_tokens;
    return 0;
}

static uint64_t bytes_of(const struct engine_run *r, const struct engine_request *q)
{
    return sizeof(*q) + q->copies.blocks * (engine_run_cache(r)->groups * sizeof(uint64_t) + 1) +
           q->prompt.chain.count * (sizeof(struct chain_piece) + 1);
}

static void link_request(struct engine_run *r, struct engine_request *q)
{
    q->next = r->here;
    if (r->here)
        r->here->prev = q;
    r->here = q;
    r->bytes += bytes_of(r, q);
}

static void unlink_request(struct engine_run *r, struct engine_request *q)
{
    *(q->prev ? &q->prev->next : &r->here) = q->next;
    if (q->next)
        q->next->prev = q->prev;
    r->bytes -= bytes_of(r, q);
}

static int64_t priority_of(const struct request *q)
{
    if (q->ranked)
        return q->priority;
    return q->qos == TRACE_INTERACTIVE ? 0 : q->qos == TRACE_RESPONSIVE ? 1 : 2;
}

static struct engine_request *make_request(struct engine_run *r, const struct request *from)
{
    struct engine_request *q = calloc(1, sizeof(*q));
    if (!q)
        return NULL;
    const uint64_t output = from->generated_tokens > 0 ? (uint64_t)from->generated_tokens : 1;
    q->held = (struct held_request){.r = *from, .free = request_free};
    /* One that is refused may have any length. */
    if (prompts_take(r->prompts, from, output, &q->prompt) || (fits(r, q) && list_blocks(r, q)) ||
        (r->o.decided && from->blocks && keep_ids(q, from))) {
        request_free(&q->held);
        return NULL;
    }
    q->held.r.blocks = NULL; /* lent by the source until it is released */
    q->serve = (struct serve_request){
        .kv = {.chain = q->prompt.chain,
               .prompt_tokens = q->prompt.tokens,
               .max_load_tokens = KV_NO_LIMIT,
               .max_offload_tokens = KV_NO_LIMIT},
        .output_tokens = r->o.prefill_only ? 1 : output,
        .priority =
            engine_run_cache(r)->scheduler.policy == SCHEDULER_PRIORITY ? priority_of(from) : 0};
    q->copies.row = &q->held;
    q->copies.prompt = &q->prompt;
    q->prefill_row = q->decode_row = ENGINE_NO_ROW;
    q->since_ns = from->arrival_ns;
    q->asked_ns = q->answered_ns = -1;
    q->ready_ns = from->arrival_ns + r->o.steps.host.request_ns +
                  (int64_t)(q->prompt.tokens * (uint64_t)r->o.steps.host.token_ps / 1000);
    return q;
}

/* The host has it until its tokens are made of it; several at a time. */
static int give_to_host(struct engine_run *r, struct engine_request *q)
{
    if (!r->free_places) {
        const uint32_t more = r->places ? r->places : 64;
        if (memory_resize(&r->place, (r->places + more), sizeof(*r->place)) < 0 ||
            memory_resize(&r->free_place, (r->places + more), sizeof(*r->free_place)) < 0)
            return -ENOMEM;
        if (heap_reserve(&r->at_host, r->places + more))
            return -ENOMEM;
        for (uint32_t i = 0; i < more; i++)
            r->free_place[r->free_places++] = r->places + more - 1 - i;
        r->places += more;
    }
    const uint32_t at = r->free_place[--r->free_places];
    r->place[at] = q;
    heap_push(&r->at_host, (struct heap_event){q->ready_ns, q->held.r.number, at});
    return 0;
}

static int too_many_wait(struct engine_run *r)
{
    char bytes[32];
    return err_set(
        r->clock.err, -EFBIG, ERR_INPUT, "--config queue_memory",
        "%llu requests wait after %.0f s and take more than %s: more arrive than the "
        "engine serves (--arrival closed lets users wait for answers, --config queue_memory "
        "allows more)",
        (unsigned long long)(r->at_host.count + r->world.here),
        (double)r->clock.now_ns / (double)UNITS_NS_PER_S,
        units_format_bytes(bytes, sizeof(bytes), (double)r->o.queue_bytes));
}

static void answer(void *ctx, const struct request *q)
{
    struct engine_run *r = ctx;
    struct source *source = r->o.source;
    if (source->ops->done)
        source->ops->done(source, q, r->clock.now_ns);
}

/* Tells who listens of a request that gets no answer; whether the run ends. */
static bool tell_too_long(const struct engine_run *r, const struct engine_request *q)
{
    const struct engine_done d = {.now_ns = r->clock.now_ns,
                                  .arrival_ns = q->held.r.arrival_ns,
                                  .token_ns = -1,
                                  .qos = q->held.r.qos,
                                  .too_long = true,
                                  .prompt_tokens = q->prompt.tokens,
                                  .time_ns = q->time_ns,
                                  .here = r->world.here};
    return r->o.done(r->o.done_ctx, &d);
}

static void take_request(struct engine_run *r)
{
    struct source *source = r->o.source;
    struct request from;
    source->ops->take(source, &from);
    r->stats.issued++;
    struct engine_request *q = NULL;
    if (from.context_tokens > 0 && !(q = make_request(r, &from)))
        engine_world_fail(&r->world);
    if (source->ops->release)
        source->ops->release(source, &from);
    if (q && q->prompt.tokens > r->own.longest_prompt)
        r->own.longest_prompt = q->prompt.tokens;
    if (q && fits(r, q)) {
        r->own.prompt_tokens += q->prompt.tokens;
        link_request(r, q);
        if (give_to_host(r, q))
            engine_world_fail(&r->world);
        if (!r->world.rc && r->o.queue_bytes > 0 && r->bytes > r->o.queue_bytes)
            r->world.rc = too_many_wait(r);
        return;
    }
    /* One that failed has no tokens; one that is too long is refused. */
    r->own.too_long += q != NULL;
    r->stats.completed += q == NULL;
    r->stats.completed_by_qos[from.qos] += q == NULL;
    r->stats.served++;
    if (q && r->o.done && tell_too_long(r, q))
        r->world.enough = true;
    if (q)
        held_rows_leave(&q->held);
    from.blocks = NULL;
    answer(r, &from);
}

/* The next arrival: 1; 0: there is none, now or because of a limit; negative errno. */
static int peek(struct engine_run *r, int64_t *arrival_ns)
{
    struct source *source = r->o.source;
    if (r->o.max_requests > 0 && r->stats.issued >= r->o.max_requests)
        return 0;
    return source->ops->peek(source, arrival_ns, r->clock.err);
}

/* ---- routing ---- */

static uint32_t of_user(const struct engine_run *r, const struct request *q)
{
    char name[IDENT_MAX_USER_NAME];
    const size_t len = r->o.source->ops->user_name(r->o.source, q->user, name);
    return (uint32_t)(hash_128(name, len).lo % r->engines);
}

/* The engine with the longest prefix; of several the one with the fewest requests. */
static uint32_t of_prefix(const struct engine_run *r, const struct engine_request *q)
{
    uint32_t best = 0;
    uint64_t most = 0, fewest = UINT64_MAX;
    for (uint32_t i = 0; i < r->engines; i++) {
        const uint64_t tokens = copy_rows_prefix(engine_copies(r->engine[i]), &q->copies);
        const uint64_t requests = engine_requests(r->engine[i]);
        if (tokens < most || (tokens == most && requests >= fewest))
            continue;
        best = i;
        most = tokens;
        fewest = requests;
    }
    return best;
}

static struct engine *route(struct engine_run *r, const struct engine_request *q)
{
    if (r->engines == 1)
        return r->engine[0];
    switch (r->o.route) {
    case ENGINE_ROUTE_USER:
        return r->engine[of_user(r, &q->held.r)];
    case ENGINE_ROUTE_PREFIX:
        return r->engine[of_prefix(r, q)];
    case ENGINE_ROUTE_ROUND_ROBIN:
        break;
    }
    return r->engine[r->next++ % r->engines];
}

/* All that has arrived by now; those that the host is done with go to an engine. */
static void take_arrivals(struct engine_run *r)
{
    int64_t arrival_ns;
    int rc;
    while (!r->world.rc && (rc = peek(r, &arrival_ns)) != 0) {
        if (rc < 0)
            r->world.rc = rc;
        if (rc < 0 || arrival_ns > r->clock.now_ns)
            break;
        take_request(r);
    }
    const struct heap_event *ready;
    while (!r->world.rc && (ready = heap_top(&r->at_host)) && ready->time_ns <= r->clock.now_ns) {
        const uint32_t at = heap_pop(&r->at_host).item;
        struct engine_request *q = r->place[at];
        r->free_place[r->free_places++] = at;
        r->stats.served++;
        r->stats.context_tokens += q->prompt.tokens;
        engine_take(route(r, q), q);
        if (r->world.here > r->own.waiting_peak)
            r->own.waiting_peak = r->world.here;
    }
}

/* When the next request comes to an engine, or may; INT64_MAX: none will. */
static int64_t next_request_ns(void *ctx)
{
    struct engine_run *r = ctx;
    const struct heap_event *ready = heap_top(&r->at_host);
    int64_t arrival_ns, next_ns = ready ? ready->time_ns : INT64_MAX;
    const int rc = peek(r, &arrival_ns);
    if (rc < 0 && !r->world.rc)
        r->world.rc = rc;
    return rc > 0 && arrival_ns < next_ns ? arrival_ns : next_ns;
}

static void gone(void *ctx, struct engine_request *q)
{
    unlink_request(ctx, q);
    held_rows_leave(&q->held);
}

/* ---- the clock ---- */

/* The engine that goes on first; of several the one with the lowest number. */
static struct engine *first_engine(const struct engine_run *r)
{
    struct engine *first = r->engine[0];
    for (uint32_t i = 1; i < r->engines; i++)
        if (engine_wake_ns(r->engine[i]) < engine_wake_ns(first))
            first = r->engine[i];
    return first;
}

/* The next moment at which anything happens; INT64_MAX: nothing ever will. One engine hears of
 * requests when its step ends; of several another may be idle. */
static int64_t next_moment_ns(struct engine_run *r)
{
    for (;;) {
        struct engine *g = first_engine(r);
        const int64_t wake_ns = engine_wake_ns(g);
        if (wake_ns != INT64_MAX && r->engines == 1 && !engine_is_stuck(g))
            return wake_ns;
        const int64_t request_ns = next_request_ns(r);
        if (wake_ns == INT64_MAX || request_ns != INT64_MAX || !engine_is_stuck(g))
            return r->engines > 1 && request_ns < wake_ns ? request_ns
                   : wake_ns == INT64_MAX                 ? request_ns
                                                          : wake_ns;
        engine_sleep(g);
    }
}

/* false: nothing will ever happen again, or the run's time is over. */
static bool advance(struct engine_run *r)
{
    const int64_t next_ns = next_moment_ns(r);
    if (next_ns == INT64_MAX) {
        r->own.stuck = r->world.here;
        return false;
    }
    if (next_ns > r->clock.now_ns)
        r->clock.now_ns = next_ns;
    if (r->o.duration_ns > 0 && r->clock.now_ns >= r->o.duration_ns) {
        r->clock.now_ns = r->o.duration_ns;
        return false;
    }
    if (r->clock.now_ns >= VIRTUAL_CLOCK_LAST_NS)
        r->world.rc = err_set(r->clock.err, -EOVERFLOW, ERR_INPUT, "",
                              "virtual time is limited to 146 years");
    return !r->world.rc;
}

/* Tells how far the run is, now and then. */
static void look(struct engine_run *r)
{
    if (!r->o.look || r->looks++ % LOOK)
        return;
    if (r->o.look(r->o.look_ctx, r->clock.now_ns, row_counts_rows(&r->stats.rows)))
        r->clock.ended = 1;
}

/* Does what happens now: a step ends, requests come, and the next step begins. */
static void do_moment(struct engine_run *r)
{
    struct engine *g = first_engine(r);
    if (engine_wake_ns(g) <= r->clock.now_ns)
        engine_end_step(g);
    take_arrivals(r);
    g = first_engine(r);
    for (uint32_t i = 0; i < r->engines; i++)
        if (r->engine[i] == g || engine_wake_ns(r->engine[i]) == INT64_MAX)
            engine_pass_seconds(r->engine[i]);
    if (!r->world.rc && engine_wake_ns(g) <= r->clock.now_ns) {
        engine_end_step(g); /* one that only waited, and that a request has ended */
        engine_step(g);
    }
    if (copy_rows_failed(engine_copies(g)))
        engine_world_fail(&r->world);
}

void engine_run_pending(const struct engine_run *r,
                        void (*each)(void *ctx, const struct engine_pending *p), void *ctx)
{
    const int64_t now_ns = r->clock.now_ns;
    for (const struct engine_request *q = r->here; q; q = q->next) {
        const int64_t until_ns = q->answered_ns < 0 ? now_ns : q->answered_ns;
        const int64_t asked_ns = q->asked_ns < 0 ? 0 : until_ns - q->asked_ns;
        const bool in_files = (q->asked_ns >= 0 && q->answered_ns < 0) || q->promoted_tokens > 0 ||
                              q->found_tokens[TRACE_STORAGE] > 0;
        const int64_t loading_ns = q->phase == ENGINE_LOADING ? now_ns - q->since_ns : 0;
        const struct engine_pending p = {
            .now_ns = now_ns,
            .arrival_ns = q->held.r.arrival_ns,
            .first_ns = q->first_ns,
            .files_ns = in_files ? asked_ns + q->time_ns[ENGINE_LOADING] + loading_ns : 0,
            .qos = q->held.r.qos,
            .prompt_tokens = q->prompt.tokens,
            .output_tokens = q->serve.output_tokens};
        if (q->serve.state != SERVE_DONE)
            each(ctx, &p);
    }
}

/* Sums of all engines. */
static void end_stats(struct engine_run *r)
{
    r->stats.in_progress = r->world.here - r->world.leaving;
    r->stats.waiting = r->at_host.count;
    for (uint32_t i = 0; i < r->engines; i++) {
        const uint64_t waiting = engine_waiting(r->engine[i]);
        r->stats.waiting += waiting;
        r->stats.in_progress -= waiting;
        engine_count_files(r->engine[i]);
        engine_cut(r->engine[i]);
    }
    r->stats.prefill.busy_ns = r->own.busy_ns;
    r->stats.now_ns = r->clock.now_ns;
    const struct engine_cache *cache = engine_run_cache(r);
    r->own.room_tokens = cache->blocks / cache->groups * cache->block_tokens;
    r->own.most_tokens = most_tokens(r);
}

int engine_run(struct engine_run *r, struct err *e)
{
    r->clock.err = e;
    while (r->clock.ended == 0 && !r->world.enough && advance(r)) {
        do_moment(r);
        look(r);
        if (r->own.stuck)
            break;
    }
    if (r->rows) {
        held_rows_end(r->rows, r->clock.now_ns);
        r->own.held_rows = held_rows_most(r->rows);
    }
    end_stats(r);
    if (r->world.rc)
        return r->world.rc;
    return r->clock.ended < 0 ? r->clock.ended : 0;
}

/* ---- from beginning to end ---- */

static bool open_stats(struct engine_run *r)
{
    bool ok = true;
    for (int i = 0; i < SIM_TIMES; i++)
        ok = (r->stats.time_ns[i] = hist_create()) != NULL && ok;
    for (int i = 0; i < TRACE_QOSES; i++) {
        ok = (r->stats.prefill.first_token_ns[i] = hist_create()) != NULL && ok;
        ok = (r->own.token_ns[i] = hist_create()) != NULL && ok;
    }
    return ok;
}

static bool open_parts(struct engine_run *r, sim_sink sink, void *ctx)
{
    if (sink && (!(r->emitter = emitter_create(&r->clock, &r->stats.rows, sink, ctx)) ||
                 !(r->rows = held_rows_create(r->emitter))))
        return false;
    r->prompts = prompts_create(r->o.workload, r->o.shared_prompts, r->o.apart);
    r->engine = calloc(r->engines, sizeof(struct engine *));
    r->copies = calloc(1, sizeof(*r->copies));
    return !heap_init(&r->at_host, 1) && r->prompts && r->engine && r->copies && open_stats(r);
}

/* The engines, and what they share. */
static int open_engines(struct engine_run *r, struct err *e)
{
    r->world = (struct engine_world){.o = &r->o,
                                     .clock = &r->clock,
                                     .rows = r->rows,
                                     .stats = &r->stats,
                                     .own = &r->own,
                                     .ctx = r,
                                     .next_request_ns = next_request_ns,
                                     .answered = answer,
                                     .gone = gone};
    int rc = 0;
    for (uint32_t i = 0; i < r->engines && !rc; i++) {
        rc = engine_create(&r->engine[i], &r->world, i, e);
        if (engine_choice_shares(r->o.cache))
            r->world.shares = r->engine[0];
    }
    if (rc)
        return rc;
    const struct engine_cache *cache = engine_run_cache(r);
    r->o.steps.step_tokens = cache->scheduler.step_tokens;
    r->o.steps.gpu.async = cache->scheduler.async;
    return 0;
}

/* Takes the files that another run left, which all engines share. Where each has a part of them,
 * those of an engine of that run are in the part of the one with the same number. */
static int take_files(struct engine_run *r, struct err *e)
{
    const struct kv_files *f = r->o.files_there;
    const uint64_t bytes = engine_run_cache(r)->chunk_bytes;
    if (!f)
        return 0;
    if (f->bytes != bytes)
        return err_set(e, -EINVAL, ERR_INPUT, "--files-from",
                       "its copies have %llu bytes, those of this run %llu: model, "
                       "--tensor-parallel and the settings of --cache must be the same",
                       (unsigned long long)f->bytes, (unsigned long long)bytes);
    const uint32_t groups = engine_run_cache(r)->groups > 1 ? engine_run_cache(r)->groups : 0;
    for (size_t i = 0; i < f->count; i++) {
        if (groups ? f->file[i].in_group < 1 || f->file[i].in_group > groups
                   : f->file[i].in_group != 0)
            return err_set(e, -EINVAL, ERR_INPUT, "--files-from",
                           "its copies are of other groups of layers than those of this run: the "
                           "model must be the same");
        const uint32_t of = engine_choice_limits_each(r->o.cache) ? f->file[i].engine : 0;
        if (of >= r->engines)
            return err_set(e, -EINVAL, ERR_INPUT, "--files-from",
                           "engine %u wrote some of its files: with share= each engine has those "
                           "of its number, so there must be as many (--config engines=%u)",
                           of, of + 1);
        r->own.files_left_out += !engine_file_written(r->engine[of], &f->file[i]);
    }
    return r->world.rc || copy_rows_failed(engine_copies(r->engine[0])) ? err_nomem(e, "the engine")
                                                                        : 0;
}

int engine_run_create(struct engine_run **out, const struct engine_run_opts *o, sim_sink sink,
                      void *ctx, struct err *e)
{
    struct engine_run *r = calloc(1, sizeof(*r));
    *out = NULL;
    if (!r)
        return err_nomem(e, "the engine");
    r->o = *o;
    r->engines = o->engines ? o->engines : 1;
    r->clock.err = e;
    for (int t = 0; t < TRACE_TIERS; t++)
        r->stats.rows.capacity[t] = o->room.capacity[t];
    int rc = open_parts(r, sink, ctx) ? 0 : err_nomem(e, "the engine");
    if (!rc)
        rc = open_engines(r, e);
    if (!rc)
        rc = take_files(r, e);
    if (rc) {
        engine_run_free(r);
        return rc;
    }
    *out = r;
    return 0;
}

void engine_run_free(struct engine_run *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; r->engine && i < r->engines; i++)
        engine_free(r->engine[i]);
    free(r->engine);
    free(r->copies);
    held_rows_free(r->rows);
    prompts_free(r->prompts);
    emitter_free(r->emitter);
    while (r->here) {
        struct engine_request *q = r->here;
        r->here = q->next;
        held_rows_leave(&q->held);
    }
    heap_free(&r->at_host);
    free(r->place);
    free(r->free_place);
    for (int i = 0; i < SIM_TIMES; i++)
        hist_free(r->stats.time_ns[i]);
    for (int i = 0; i < TRACE_QOSES; i++) {
        hist_free(r->stats.prefill.first_token_ns[i]);
        hist_free(r->own.token_ns[i]);
    }
    free(r);
}

const struct sim_stats *engine_run_sim_stats(const struct engine_run *r)
{
    return &r->stats;
}

const struct engine_run_stats *engine_run_stats(const struct engine_run *r)
{
    return &r->own;
}

const struct copy_rows_stats *engine_run_copies(const struct engine_run *r)
{
    if (r->engines == 1)
        return engine_run_share_copies(r, 0);
    *r->copies = (struct copy_rows_stats){0};
    for (uint32_t i = 0; i < r->engines; i++)
        copy_rows_stats_add(r->copies, engine_run_share_copies(r, i));
    return r->copies;
}

const struct engine_cache *engine_run_cache(const struct engine_run *r)
{
    return engine_cache(r->engine[0]);
}

uint32_t engine_run_engines(const struct engine_run *r)
{
    return r->engines;
}

const struct engine_share *engine_run_share(const struct engine_run *r, uint32_t number)
{
    return engine_stats(r->engine[number]);
}

const struct copy_rows_stats *engine_run_share_copies(const struct engine_run *r, uint32_t number)
{
    return copy_rows_stats(engine_copies(r->engine[number]));
}
