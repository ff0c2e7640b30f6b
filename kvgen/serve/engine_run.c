/* engine_run.c - the loop over steps. A request comes from the source, costs the host its time, and
 * is the scheduler's (scheduler.c) until its last token. A step begins with what the scheduler
 * decides; the cache says what it moves, which becomes rows (copy_rows.c) and transfers
 * (transfers.c); its time is that of what it computes (step_time.c). Asynchronous scheduling tells
 * a step's outputs after the next one was decided. */
#include "kvgen/serve/engine_run.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/serve/decisions.h"
#include "kvgen/serve/held_rows.h"
#include "kvgen/serve/prompts.h"
#include "kvgen/serve/scheduler.h"
#include "kvgen/serve/transfers.h"
#include "kvgen/sim/emitter.h"
#include "kvgen/sim/virtual_clock.h"
#include "lib/base/units.h"
#include "lib/sort/heap.h"

#define EMPTY_NS   INT64_C(1000000) /* least time of a step without tokens */
#define NO_ROW     UINT64_MAX
#define IDLE_STEPS 8   /* steps that change nothing, after which none ever will */
#define LOOK       256 /* steps between two calls of look */
#define SECONDS    64  /* of a long time without steps: after so many the clock changes nothing */

/* A request in the engine. */
struct engine_request {
    struct held_request held; /* first: held.r is the request */
    struct serve_request serve;
    struct copy_rows_request copies;
    struct prompt prompt;
    struct decisions_ids ids; /* where decisions are wanted: its own copy */
    int64_t ready_ns;         /* the host is done with it */
    int64_t since_ns;         /* it has been in its phase */
    int64_t first_ns;         /* its first token */
    int64_t asked_ns;         /* its look-up had to wait for the first time; -1: none had */
    int64_t answered_ns;
    uint64_t found_tokens[TRACE_TIERS], promoted_tokens;
    bool admitted; /* at least once */
    int64_t time_ns[ENGINE_TIMES];
    enum engine_time phase;
    uint64_t prefill_row, decode_row;
    struct engine_request *prev, *next; /* of all requests that are here */
};

struct engine_run {
    struct engine_run_opts o;
    struct virtual_clock clock;
    struct emitter *emitter; /* NULL: rows are only counted, */
    struct held_rows *rows;  /* and none is held */
    struct prompts *prompts;
    struct engine_cache cache;
    struct copy_rows *copies;
    struct transfers *transfers;
    struct scheduler *scheduler;
    struct decisions *decisions; /* NULL: nobody wants them */
    int64_t lines;               /* of decisions */
    struct engine_request *here; /* all requests, in no order */
    struct heap at_host;         /* those that the host has, by ready_ns; item: place */
    struct engine_request **place;
    uint32_t *free_place, free_places, places;
    uint64_t bytes;                   /* of the requests that are here */
    struct engine_request *looked_up; /* found is what it waits to be admitted with; NULL: nobody */
    struct kv_found found;
    int64_t next_second_ns; /* when the cache hears that a second has passed */
    struct step last;       /* whose outputs are to be told; number 0: none */
    uint64_t step;          /* number of the one being decided or computed */
    uint64_t in_engine, added;
    uint64_t idle;  /* steps in a row that changed nothing */
    uint64_t looks; /* times that look might have been called */
    bool asked;     /* a slow tier was asked in this step */
    bool enough;    /* who listens has heard all: the rows so far are still told */
    int rc;         /* why the run fails; 0: it does not */
    struct sim_stats stats;
    struct engine_run_stats own;
};

static struct engine_request *of_serve(const struct serve_request *s)
{
    return (struct engine_request *)((const char *)s - offsetof(struct engine_request, serve));
}

static struct engine_request *of_kv(const struct kv_request *r)
{
    return of_serve(
        (const struct serve_request *)((const char *)r - offsetof(struct serve_request, kv)));
}

static struct copy_rows_request *copy_rows_of(const struct kv_request *r)
{
    return r ? &of_kv(r)->copies : NULL;
}

static void fail(struct engine_run *r)
{
    if (!r->rc)
        r->rc = err_nomem(r->clock.err, "the engine");
}

/* Requests are there, and nothing will ever come of them. */
static bool is_stuck(const struct engine_run *r)
{
    return scheduler_is_stuck(r->scheduler) ||
           (r->idle > IDLE_STEPS && r->in_engine && !scheduler_running(r->scheduler) &&
            !transfers_count(r->transfers));
}

/* ---- a request's time ---- */

static void enter_phase(struct engine_run *r, struct engine_request *q, enum engine_time phase)
{
    q->time_ns[q->phase] += r->clock.now_ns - q->since_ns;
    q->since_ns = r->clock.now_ns;
    q->phase = phase;
}

static void record(struct engine_run *r, struct hist *h, int64_t ns)
{
    if (hist_record(h, ns) < 0)
        fail(r);
}

/* ---- requests come ---- */

static void request_free(struct held_request *h)
{
    struct engine_request *q = (struct engine_request *)h;
    prompt_free(&q->prompt);
    free((uint64_t *)q->ids.id);
    free((uint64_t *)q->copies.key);
    free((uint8_t *)q->copies.class);
    free(q);
}

/* Keys of the whole blocks of its chain in each group, and why each block is there. */
static int list_blocks(const struct engine_run *r, struct engine_request *q)
{
    const uint64_t tokens = r->cache.block_tokens;
    const uint64_t blocks = chain_tokens(&q->prompt.chain) / tokens;
    uint64_t *key = malloc((r->cache.groups * blocks + 1) * sizeof(*key));
    uint8_t *class = malloc(blocks + 1);
    q->copies.key = key;
    q->copies.class = class;
    q->copies.blocks = blocks;
    if (!key || !class)
        return -ENOMEM;
    for (uint32_t g = 0; g < r->cache.groups; g++) {
        struct chain_walk w = {.chain = &q->prompt.chain, .key = chain_root(g)};
        for (uint64_t i = 0; i < blocks; i++) {
            *key++ = chain_key(&w, (i + 1) * tokens);
            class[i] = q->prompt.class[w.piece];
        }
    }
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
    q->ids = (struct decisions_ids){id, from->block_count, from->block_tokens};
    return 0;
}

static uint64_t bytes_of(const struct engine_run *r, const struct engine_request *q)
{
    return sizeof(*q) + q->copies.blocks * (r->cache.groups * sizeof(uint64_t) + 1) +
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
    return q->qos == TRACE_INTERACTIVE ? 0 : q->qos == TRACE_RESPONSIVE ? 1 : 2;
}

static struct engine_request *make_request(struct engine_run *r, const struct request *from)
{
    struct engine_request *q = calloc(1, sizeof(*q));
    if (!q)
        return NULL;
    const uint64_t output = from->generated_tokens > 0 ? (uint64_t)from->generated_tokens : 1;
    q->held = (struct held_request){.r = *from, .free = request_free};
    if (prompts_take(r->prompts, from, output, &q->prompt) || list_blocks(r, q) ||
        (r->decisions && from->blocks && keep_ids(q, from))) {
        request_free(&q->held);
        return NULL;
    }
    q->held.r.blocks = NULL; /* lent by the source until it is released */
    q->serve = (struct serve_request){
        .kv = {.chain = q->prompt.chain,
               .prompt_tokens = q->prompt.tokens,
               .max_load_tokens = KV_NO_LIMIT,
               .max_offload_tokens = KV_NO_LIMIT},
        .output_tokens = output,
        .priority = r->cache.scheduler.policy == SCHEDULER_PRIORITY ? priority_of(from) : 0};
    q->copies.row = &q->held;
    q->copies.prompt = &q->prompt;
    q->prefill_row = q->decode_row = NO_ROW;
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
        struct engine_request **place =
            realloc(r->place, (r->places + more) * sizeof(struct engine_request *));
        if (!place)
            return -ENOMEM;
        r->place = place;
        uint32_t *spare = realloc(r->free_place, (r->places + more) * sizeof(*spare));
        if (!spare)
            return -ENOMEM;
        r->free_place = spare;
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
    return err_set(r->clock.err, -EFBIG, ERR_INPUT, "--queue-memory",
                   "%llu requests wait after %.0f s and take more than %s: more arrive than the "
                   "engine serves (--arrival closed lets users wait for answers, --queue-memory "
                   "allows more)",
                   (unsigned long long)(r->at_host.count + r->in_engine),
                   (double)r->clock.now_ns / (double)UNITS_NS_PER_S,
                   units_format_bytes(bytes, sizeof(bytes), (double)r->o.queue_bytes));
}

static void answer(struct engine_run *r, const struct request *q)
{
    struct source *source = r->o.source;
    if (source->ops->done)
        source->ops->done(source, q, r->clock.now_ns);
}

static bool fits(const struct engine_run *r, const struct engine_request *q)
{
    const uint64_t tokens = chain_tokens(&q->prompt.chain);
    return tokens <= r->cache.blocks / r->cache.groups * r->cache.block_tokens &&
           tokens <= r->cache.scheduler.max_tokens;
}

static void take_request(struct engine_run *r)
{
    struct source *source = r->o.source;
    struct request from;
    source->ops->take(source, &from);
    r->stats.issued++;
    struct engine_request *q = NULL;
    if (from.context_tokens > 0 && !(q = make_request(r, &from)))
        fail(r);
    if (source->ops->release)
        source->ops->release(source, &from);
    if (q && fits(r, q)) {
        r->own.prompt_tokens += q->prompt.tokens;
        link_request(r, q);
        if (give_to_host(r, q))
            fail(r);
        if (!r->rc && r->o.queue_bytes > 0 && r->bytes > r->o.queue_bytes)
            r->rc = too_many_wait(r);
        return;
    }
    /* One that failed has no tokens; one that is too long is refused. */
    r->own.too_long += q != NULL;
    r->stats.completed += q == NULL;
    r->stats.completed_by_qos[from.qos] += q == NULL;
    r->stats.served++;
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

/* All that has arrived by now; those that the host is done with are the scheduler's. */
static void take_arrivals(struct engine_run *r)
{
    int64_t arrival_ns;
    int rc;
    while (!r->rc && (rc = peek(r, &arrival_ns)) != 0) {
        if (rc < 0)
            r->rc = rc;
        if (rc < 0 || arrival_ns > r->clock.now_ns)
            break;
        take_request(r);
    }
    const struct heap_event *ready;
    while (!r->rc && (ready = heap_top(&r->at_host)) && ready->time_ns <= r->clock.now_ns) {
        const uint32_t at = heap_pop(&r->at_host).item;
        struct engine_request *q = r->place[at];
        r->free_place[r->free_places++] = at;
        q->serve.kv.number = q->copies.number = (uint32_t)r->added++;
        r->in_engine++;
        if (r->in_engine > r->own.waiting_peak)
            r->own.waiting_peak = r->in_engine;
        r->stats.served++;
        r->stats.context_tokens += q->prompt.tokens;
        r->idle = 0;
        if (scheduler_add(r->scheduler, &q->serve))
            fail(r);
        if (!r->decisions)
            continue;
        if (decisions_name(r->decisions, &q->serve.kv, &q->ids))
            fail(r);
        decisions_arrived(r->decisions, &q->serve.kv);
    }
}

/* When the next request comes to the scheduler, or may; INT64_MAX: none will. */
static int64_t next_request_ns(struct engine_run *r)
{
    const struct heap_event *ready = heap_top(&r->at_host);
    int64_t arrival_ns, next_ns = ready ? ready->time_ns : INT64_MAX;
    const int rc = peek(r, &arrival_ns);
    if (rc < 0 && !r->rc)
        r->rc = rc;
    return rc > 0 && arrival_ns < next_ns ? arrival_ns : next_ns;
}

/* ---- what the cache says ---- */

/* The rows of a look-up go in front of what the admission of its request brings. */
static void put_look_up(struct engine_run *r, const struct kv_request *of)
{
    struct engine_request *q = r->looked_up;
    if (!q || of != &q->serve.kv)
        return;
    r->looked_up = NULL;
    copy_rows_looked_up(r->copies, &q->copies, &r->found);
}

static void on_event(void *ctx, const struct kv_event *e)
{
    struct engine_run *r = ctx;
    put_look_up(r, e->request);
    if (r->decisions)
        decisions_event(r->decisions, e);
    r->asked |= e->kind == KV_ASKED;
    copy_rows_event(r->copies, e);
}

static void on_transfer(void *ctx, const struct kv_transfer *t)
{
    struct engine_run *r = ctx;
    put_look_up(r, t->request);
    r->idle = 0;
    if (t->kind == KV_PROMOTE && t->from == TRACE_STORAGE && t->request)
        of_kv(t->request)->promoted_tokens += t->tokens;
    copy_rows_transfer(r->copies, t);
    if (r->decisions)
        decisions_transfer(r->decisions, t);
    if (transfers_begin(r->transfers, t, r->clock.now_ns, r->step))
        fail(r);
}

static void on_flush(void *ctx, uint64_t id)
{
    struct engine_run *r = ctx;
    if (r->decisions)
        decisions_flush(r->decisions, id);
    transfers_flush(r->transfers, id, r->clock.now_ns, r->step);
}

/* ---- what the scheduler says ---- */

static void on_looked_up(void *ctx, const struct serve_request *s, enum kv_look answer_,
                         const struct kv_found *found)
{
    struct engine_run *r = ctx;
    struct engine_request *q = of_serve(s);
    r->own.look_ups++;
    if (r->decisions)
        decisions_looked_up(r->decisions, s, answer_, found);
    if (answer_ != KV_FOUND) {
        if (q->asked_ns < 0)
            q->asked_ns = r->clock.now_ns;
        return;
    }
    if (q->answered_ns < 0)
        q->answered_ns = r->clock.now_ns;
    r->looked_up = q;
    r->found = *found;
}

static uint64_t open_generate(struct engine_run *r, struct engine_request *q,
                              enum trace_phase phase, uint64_t tokens)
{
    const struct hierarchy_op what = {.op = TRACE_GENERATE,
                                      .tier = TRACE_NO_TIER,
                                      .phase = phase,
                                      .class = TRACE_NO_CLASS,
                                      .tokens =
                                          tokens < UINT32_MAX ? (uint32_t)tokens : UINT32_MAX};
    if (r->rows)
        return held_rows_open(r->rows, r->clock.now_ns, &what, &q->held);
    row_counts_add(&r->stats.rows, &what);
    return 0;
}

static void close_generate(struct engine_run *r, uint64_t row)
{
    if (r->rows)
        held_rows_close(r->rows, row, r->clock.now_ns);
}

/* It runs from now on; found tokens are those that it need not compute. */
static void begin_prefill(struct engine_run *r, struct engine_request *q, uint64_t found)
{
    const uint64_t tokens = q->prompt.tokens;
    enter_phase(r, q, ENGINE_PREFILL);
    if (q->prefill_row != NO_ROW)
        return; /* it was preempted before its first token */
    q->prefill_row = open_generate(r, q, TRACE_PREFILL, tokens > found ? tokens - found : 1);
    r->stats.prefill.requests++;
    r->stats.prefill.cached_tokens += found < tokens ? found : tokens - 1;
    r->stats.prefill.fresh_tokens += tokens > found ? tokens - found : 1;
}

static void on_admitted(void *ctx, const struct serve_request *s, enum admission_kind kind,
                        const struct kv_found *found)
{
    struct engine_run *r = ctx;
    struct engine_request *q = of_serve(s);
    put_look_up(r, &s->kv);
    r->own.admissions++;
    if (r->decisions)
        decisions_admitted(r->decisions, s, kind, found);
    r->idle = 0;
    if (kind != ADMITTED_LOADED)
        copy_rows_admitted(r->copies, &q->copies, found);
    uint64_t tokens = s->kv.computed_tokens;
    for (int t = 0; t < TRACE_TIERS; t++) {
        tokens += found->tokens[t];
        q->found_tokens[t] = q->admitted ? q->found_tokens[t] : found->tokens[t];
    }
    q->admitted = true;
    if (kind == ADMITTED_NEW || kind == ADMITTED_LOADED || kind == ADMITTED_AGAIN) {
        if (q->phase == ENGINE_WAITING || q->phase == ENGINE_LOADING)
            begin_prefill(r, q, tokens);
    } else if (q->phase == ENGINE_WAITING) {
        enter_phase(r, q, ENGINE_LOADING);
    }
}

static void on_refused(void *ctx, const struct serve_request *s, bool running)
{
    struct engine_run *r = ctx;
    if (r->decisions)
        decisions_refused(r->decisions, s, running, r->cache.ops->room_free(r->cache.cache));
    r->looked_up = NULL;
    r->own.refused_admissions += !running;
}

static void on_preempted(void *ctx, const struct serve_request *s)
{
    struct engine_run *r = ctx;
    r->own.preemptions++;
    if (r->decisions)
        decisions_preempted(r->decisions, s);
    enter_phase(r, of_serve(s), ENGINE_PREEMPTED);
}

/* Tells who listens; whether the run ends. */
static bool tell_done(const struct engine_run *r, struct engine_request *q)
{
    const uint64_t outputs = q->serve.output_tokens;
    const uint64_t brought = q->promoted_tokens < q->found_tokens[TRACE_CPU]
                                 ? q->promoted_tokens
                                 : q->found_tokens[TRACE_CPU];
    const int64_t asked_ns = q->asked_ns < 0 ? 0 : q->answered_ns - q->asked_ns;
    struct engine_done d = {
        .now_ns = r->clock.now_ns,
        .arrival_ns = q->held.r.arrival_ns,
        .first_token_ns = q->first_ns - q->held.r.arrival_ns,
        .token_ns = outputs > 1 ? (r->clock.now_ns - q->first_ns) / (int64_t)(outputs - 1) : -1,
        .qos = q->held.r.qos,
        .prompt_tokens = q->prompt.tokens,
        .output_tokens = outputs,
        .files_ns = asked_ns + q->time_ns[ENGINE_LOADING],
        .time_ns = q->time_ns,
        .here = r->in_engine};
    for (int t = 0; t < TRACE_TIERS; t++)
        d.found_tokens[t] = q->found_tokens[t];
    d.found_tokens[TRACE_CPU] -= brought;
    d.found_tokens[TRACE_STORAGE] += brought;
    return r->o.done(r->o.done_ctx, &d);
}

static void complete(struct engine_run *r, struct engine_request *q)
{
    const struct request *from = &q->held.r;
    struct sim_stats *st = &r->stats;
    const int64_t now_ns = r->clock.now_ns;
    const uint64_t outputs = q->serve.output_tokens;
    close_generate(r, q->decode_row);
    for (int i = 0; i < ENGINE_TIMES; i++)
        r->own.time_ns[i] += q->time_ns[i];
    record(r, st->time_ns[SIM_QUEUE], q->time_ns[ENGINE_WAITING]);
    record(r, st->time_ns[SIM_STORAGE], q->time_ns[ENGINE_LOADING]);
    record(r, st->time_ns[SIM_GENERATION],
           now_ns - from->arrival_ns - q->time_ns[ENGINE_WAITING] - q->time_ns[ENGINE_LOADING]);
    record(r, st->time_ns[SIM_END_TO_END], now_ns - from->arrival_ns);
    if (outputs > 1)
        record(r, r->own.token_ns[from->qos], (now_ns - q->first_ns) / (int64_t)(outputs - 1));
    st->completed++;
    st->completed_by_qos[from->qos]++;
    st->generated_tokens += (uint64_t)from->generated_tokens;
    r->own.files = *transfers_files(r->transfers);
    if (r->o.done && tell_done(r, q))
        r->enough = true;
    answer(r, from);
}

static void on_output(void *ctx, const struct serve_request *s)
{
    struct engine_run *r = ctx;
    struct engine_request *q = of_serve(s);
    r->idle = 0;
    if (r->decisions)
        decisions_output(r->decisions, s);
    enter_phase(r, q, ENGINE_DECODE);
    if (s->outputs == 1) {
        q->first_ns = r->clock.now_ns;
        close_generate(r, q->prefill_row);
        record(r, r->stats.prefill.first_token_ns[q->held.r.qos],
               r->clock.now_ns - q->held.r.arrival_ns);
        q->decode_row = open_generate(r, q, TRACE_DECODE, (uint64_t)q->held.r.generated_tokens);
        q->copies.decodes = true;
    }
    if (s->state == SERVE_DONE)
        complete(r, q);
}

static void on_gone(void *ctx, struct serve_request *s)
{
    struct engine_run *r = ctx;
    r->in_engine--;
    unlink_request(r, of_serve(s));
    held_rows_leave(&of_serve(s)->held);
}

/* ---- a step ---- */

/* Transfers that are done: below the GPU, or those that a step's output reports. */
static void finish_transfers(struct engine_run *r, bool gpu, uint64_t step)
{
    struct transfer t;
    while (transfers_take(r->transfers, gpu, r->clock.now_ns, step, &t)) {
        r->idle = 0;
        r->asked |= gpu; /* the step of now did not know it: the next one may */
        if (r->decisions) {
            decisions_transfer_done(r->decisions, t.id);
            decisions_transfer_over(r->decisions, t.id);
        }
        r->cache.ops->transfer_done(r->cache.cache, t.id);
        if (t.kind != KV_LOAD || !t.request)
            continue;
        struct engine_request *q = of_kv(t.request);
        if (q->serve.state == SERVE_LOADING)
            scheduler_loaded(r->scheduler, &q->serve);
    }
}

static struct step_work work_of(const struct step *step)
{
    struct step_work w = {0};
    for (uint64_t i = 0; i < step->parts; i++) {
        const struct step_part *p = &step->part[i];
        w.tokens += p->tokens;
        w.output |= p->output;
        if (p->tokens == 1)
            w.read += p->before + 1;
        else
            w.pairs += p->tokens * p->before + p->tokens * (p->tokens + 1) / 2;
    }
    return w;
}

/* How long the step takes that begins now. One without tokens ends with the next transfer or
 * arrival; where the next step may find something new (soon), at once. */
static int64_t step_ns(struct engine_run *r, const struct step *step, bool soon)
{
    if (step->parts) {
        const struct step_work w = work_of(step);
        const int64_t ns = step_time_ns(&r->o.steps.model, &r->o.steps.gpu, &w);
        r->own.busy_ns += ns;
        return ns + transfers_delay_ns(r->transfers);
    }
    r->own.empty_steps++;
    const int64_t least_ns = EMPTY_NS + transfers_delay_ns(r->transfers);
    if (soon || r->asked || transfers_since(r->transfers, r->step))
        return least_ns;
    const int64_t transfer_ns = transfers_next_ns(r->transfers, r->step);
    const int64_t request_ns = next_request_ns(r);
    int64_t next_ns = transfer_ns < request_ns ? transfer_ns : request_ns;
    if (r->cache.by_second && r->next_second_ns < next_ns)
        next_ns = r->next_second_ns;
    if (next_ns == INT64_MAX || next_ns - r->clock.now_ns < least_ns)
        return least_ns;
    return next_ns - r->clock.now_ns;
}

static void tell_outputs(struct engine_run *r, const struct step *step)
{
    scheduler_outputs(r->scheduler, step);
    finish_transfers(r, true, step->number);
}

/* The line of a step that is over. */
static void tell_decisions(struct engine_run *r)
{
    if (!r->decisions || r->rc)
        return;
    decisions_end(r->decisions, r->cache.offload, r->cache.ops->room_free(r->cache.cache));
    struct decision_line *l = decisions_line(r->decisions);
    const struct decision_text *text =
        decision_line_text(l, r->lines++, decisions_lone(r->decisions));
    if (text && !decisions_failed(r->decisions))
        r->rc = r->o.decided(r->o.decided_ctx, text, r->clock.err);
    else
        fail(r);
    decision_line_clear(l);
}

/* The scheduler decides a step; its outputs, or those of the one before, are told. */
static void do_step(struct engine_run *r)
{
    struct step step = {0};
    const bool has_work = scheduler_has_work(r->scheduler);
    r->asked = false;
    r->idle++;
    finish_transfers(r, false, r->step);
    if (has_work) {
        r->step++;
        const int rc = scheduler_schedule(r->scheduler, &step);
        if (rc == -EDEADLK) { /* it may only be freed now */
            r->own.stuck = r->in_engine;
            return;
        }
        if (rc)
            fail(r);
        r->looked_up = NULL;
        if (r->decisions)
            decisions_step(r->decisions, &step, r->scheduler,
                           r->cache.ops->room_free(r->cache.cache));
        if (step.parts)
            r->idle = 0;
        r->own.steps++;
        if (scheduler_running(r->scheduler) > r->own.running_peak)
            r->own.running_peak = scheduler_running(r->scheduler);
    }
    const bool async = r->cache.scheduler.async;
    const struct step before = r->last;
    r->last = step;
    if (async && before.number)
        tell_outputs(r, &before);
    const int64_t end_ns = r->clock.now_ns + (has_work ? step_ns(r, &step, before.parts > 0) : 0);
    transfers_start(r->transfers, end_ns);
    r->clock.now_ns = end_ns;
    if (!async) {
        r->last = (struct step){0};
        tell_outputs(r, &step);
    }
    tell_decisions(r);
}

/* ---- the clock ---- */

static bool goes_on(const struct engine_run *r)
{
    return scheduler_has_work(r->scheduler) || r->last.number;
}

/* The engine's clock: what it does once a second. */
static void pass_seconds(struct engine_run *r)
{
    int64_t passed = (r->clock.now_ns - r->next_second_ns) / UNITS_NS_PER_S + 1;
    if (!r->cache.by_second || r->clock.now_ns < r->next_second_ns)
        return;
    r->next_second_ns += passed * UNITS_NS_PER_S;
    if (passed > SECONDS)
        passed = SECONDS;
    while (passed--)
        r->cache.ops->second(r->cache.cache);
}

/* false: nothing will ever happen again, or the run's time is over. */
static bool advance(struct engine_run *r)
{
    if (!goes_on(r)) {
        const int64_t next_ns = next_request_ns(r);
        if (next_ns == INT64_MAX)
            return false;
        if (next_ns > r->clock.now_ns)
            r->clock.now_ns = next_ns;
    }
    if (is_stuck(r) && next_request_ns(r) == INT64_MAX) {
        r->own.stuck = r->in_engine;
        return false;
    }
    if (r->o.duration_ns > 0 && r->clock.now_ns >= r->o.duration_ns) {
        r->clock.now_ns = r->o.duration_ns;
        return false;
    }
    if (r->clock.now_ns >= VIRTUAL_CLOCK_LAST_NS)
        r->rc = err_set(r->clock.err, -EOVERFLOW, ERR_INPUT, "",
                        "virtual time is limited to 146 years");
    return !r->rc;
}

/* Tells how far the run is, now and then. */
static void look(struct engine_run *r)
{
    if (!r->o.look || r->looks++ % LOOK)
        return;
    if (r->o.look(r->o.look_ctx, r->clock.now_ns, row_counts_rows(&r->stats.rows)))
        r->clock.ended = 1;
}

int engine_run(struct engine_run *r, struct err *e)
{
    r->clock.err = e;
    while (r->clock.ended == 0 && !r->enough && advance(r)) {
        take_arrivals(r);
        pass_seconds(r);
        if (!r->rc && goes_on(r))
            do_step(r);
        look(r);
        if (r->own.stuck)
            break;
        if (copy_rows_failed(r->copies))
            fail(r);
    }
    if (r->rows) {
        held_rows_end(r->rows, r->clock.now_ns);
        r->own.held_rows = held_rows_most(r->rows);
    }
    r->stats.in_progress = r->in_engine;
    r->stats.waiting = r->at_host.count;
    for (const struct serve_request *s = scheduler_waiting(r->scheduler); s; s = s->next)
        if (s->state == SERVE_WAITING) {
            r->stats.waiting++;
            r->stats.in_progress--;
        }
    r->stats.prefill.busy_ns = r->own.busy_ns;
    r->stats.now_ns = r->clock.now_ns;
    r->own.files = *transfers_files(r->transfers);
    r->own.room_tokens = r->cache.blocks / r->cache.groups * r->cache.block_tokens;
    if (r->rc)
        return r->rc;
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
    const struct scheduler_listener listener = {
        r, on_looked_up, on_admitted, on_refused, on_preempted, on_output, on_gone};
    struct copy_rows_opts copies = {.block_tokens = r->cache.block_tokens,
                                    .block_bytes = r->cache.block_bytes,
                                    .chunk_tokens = r->cache.chunk_tokens,
                                    .chunk_bytes = r->cache.chunk_bytes,
                                    .groups = r->cache.groups};
    memcpy(copies.window, r->cache.window, sizeof(copies.window));
    const struct transfers_opts transfers = {.link_bytes_s = r->o.link_bytes_s,
                                             .ranks = r->o.room.ranks,
                                             .load_ns = r->o.load_ns,
                                             .chunk_bytes = r->cache.chunk_bytes,
                                             .files = r->o.files};
    if (sink && (!(r->emitter = emitter_create(&r->clock, &r->stats.rows, sink, ctx)) ||
                 !(r->rows = held_rows_create(r->emitter))))
        return false;
    const struct copy_rows_out out = {r->rows, &r->stats.rows, &r->clock.now_ns};
    r->prompts = prompts_create(r->o.workload, r->o.shared_prompts, r->o.apart);
    r->scheduler = scheduler_create(&r->cache.scheduler, r->cache.ops, r->cache.cache, &listener);
    if (heap_init(&r->at_host, 1) || !r->prompts || !r->scheduler ||
        !(r->copies = copy_rows_create(&copies, &out, copy_rows_of)) ||
        !(r->transfers = transfers_create(&transfers)))
        return false;
    const struct decisions_opts decisions = {.block_tokens = r->cache.block_tokens,
                                             .groups = r->cache.groups,
                                             .connected = r->cache.offload != NULL};
    if (r->o.decided && !(r->decisions = decisions_create(&decisions)))
        return false;
    return open_stats(r);
}

int engine_run_create(struct engine_run **out, const struct engine_run_opts *o, sim_sink sink,
                      void *ctx, struct err *e)
{
    struct engine_run *r = calloc(1, sizeof(*r));
    *out = NULL;
    if (!r)
        return err_nomem(e, "the engine");
    r->o = *o;
    r->clock.err = e;
    r->next_second_ns = UNITS_NS_PER_S;
    const struct kv_listener listener = {r, on_event, on_transfer, on_flush};
    int rc = engine_cache_open(&r->cache, o->cache, &o->room, &listener, e);
    if (rc) {
        engine_run_free(r);
        return rc;
    }
    r->o.steps.step_tokens = r->cache.scheduler.step_tokens;
    r->o.steps.gpu.async = r->cache.scheduler.async;
    for (int t = 0; t < TRACE_TIERS; t++)
        r->stats.rows.capacity[t] = o->room.capacity[t];
    if (!open_parts(r, sink, ctx)) {
        engine_run_free(r);
        return err_nomem(e, "the engine");
    }
    *out = r;
    return 0;
}

void engine_run_free(struct engine_run *r)
{
    if (!r)
        return;
    scheduler_free(r->scheduler);
    if (r->cache.cache)
        r->cache.ops->free(r->cache.cache);
    held_rows_free(r->rows);
    copy_rows_free(r->copies);
    transfers_free(r->transfers);
    decisions_free(r->decisions);
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
    return copy_rows_stats(r->copies);
}

const struct engine_cache *engine_run_cache(const struct engine_run *r)
{
    return &r->cache;
}
