/* engine.c - the steps of one engine. A step begins with what the scheduler decides (scheduler.c);
 * the cache says what it moves, which becomes rows (copy_rows.c) and transfers (transfers.c); its
 * time is that of what it computes (step_time.c). Asynchronous scheduling tells a step's outputs
 * after the next one was decided. Which engine a request goes to is decided in engine_run.c. */
#include "kvgen/serve/engine.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"

#define EMPTY_NS   INT64_C(1000000) /* least time of a step without tokens */
#define IDLE_STEPS 8                /* steps that change nothing, after which none ever will */
#define SECONDS    64 /* of a long time without steps: after so many the clock changes nothing */

struct engine {
    struct engine_world *w;
    uint32_t number;
    struct chain_numbers *numbers; /* NULL: nobody takes them */
    struct engine_cache cache;
    struct copy_rows *copies;
    struct transfers *transfers;
    struct scheduler *scheduler;
    struct decisions *decisions;      /* NULL: nobody wants them */
    int64_t lines;                    /* of decisions */
    struct engine_request *looked_up; /* found is what it waits to be admitted with; NULL: nobody */
    struct kv_found found;
    int64_t wake_ns;        /* the end of the step; INT64_MAX: there is none */
    int64_t computing_ns;   /* of the step, which has tokens */
    int64_t least_ns;       /* earliest end of the step, which has no tokens; INT64_MAX: it has */
    int64_t next_second_ns; /* when the cache hears that a second has passed */
    struct step last;       /* whose outputs are to be told; number 0: none */
    uint64_t step;          /* number of the one being decided or computed */
    uint64_t here, running;
    struct transfers_files files_told; /* that are counted in those of the run */
    uint64_t idle;                     /* steps in a row that changed nothing */
    bool asked;                        /* a slow tier was asked in this step */
    struct engine_share stats;
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

void engine_world_fail(struct engine_world *w)
{
    if (!w->rc)
        w->rc = err_nomem(w->clock->err, "the engine");
}

/* ---- a request's time ---- */

static void enter_phase(const struct engine *g, struct engine_request *q, enum engine_time phase)
{
    const int64_t now_ns = g->w->clock->now_ns;
    q->time_ns[q->phase] += now_ns - q->since_ns;
    q->since_ns = now_ns;
    q->phase = phase;
}

static void record(struct engine *g, struct hist *h, int64_t ns)
{
    if (hist_record(h, ns) < 0)
        engine_world_fail(g->w);
}

/* ---- what the cache says ---- */

/* The rows of a look-up go in front of what the admission of its request brings. */
static void put_look_up(struct engine *g, const struct kv_request *of)
{
    struct engine_request *q = g->looked_up;
    if (!q || of != &q->serve.kv)
        return;
    g->looked_up = NULL;
    copy_rows_looked_up(g->copies, &q->copies, &g->found);
}

static void on_event(void *ctx, const struct kv_event *e)
{
    struct engine *g = ctx;
    put_look_up(g, e->request);
    if (g->decisions)
        decisions_event(g->decisions, e);
    g->asked |= e->kind == KV_ASKED;
    copy_rows_event(g->copies, e);
}

static void on_transfer(void *ctx, const struct kv_transfer *t)
{
    struct engine *g = ctx;
    put_look_up(g, t->request);
    g->idle = 0;
    if (t->kind == KV_PROMOTE && t->from == TRACE_STORAGE && t->request)
        of_kv(t->request)->promoted_tokens += t->tokens;
    copy_rows_transfer(g->copies, t);
    if (g->decisions)
        decisions_transfer(g->decisions, t);
    if (transfers_begin(g->transfers, t, g->w->clock->now_ns, g->step))
        engine_world_fail(g->w);
}

static void on_flush(void *ctx, uint64_t id)
{
    struct engine *g = ctx;
    if (g->decisions)
        decisions_flush(g->decisions, id);
    transfers_flush(g->transfers, id, g->w->clock->now_ns, g->step);
}

/* ---- what the scheduler says ---- */

static void on_looked_up(void *ctx, const struct serve_request *s, enum kv_look answer_,
                         const struct kv_found *found)
{
    struct engine *g = ctx;
    struct engine_request *q = of_serve(s);
    g->w->own->look_ups++;
    if (g->decisions)
        decisions_looked_up(g->decisions, s, answer_, found);
    if (answer_ != KV_FOUND) {
        if (q->asked_ns < 0)
            q->asked_ns = g->w->clock->now_ns;
        return;
    }
    if (q->asked_ns >= 0 && q->answered_ns < 0)
        q->answered_ns = g->w->clock->now_ns;
    g->looked_up = q;
    g->found = *found;
}

/* Opens a Generate row that begins at begin_ns; the request has its number from then on. */
static void open_generate(struct engine *g, struct engine_request *q, enum trace_phase phase,
                          uint64_t tokens, int64_t begin_ns)
{
    const int64_t now_ns = g->w->clock->now_ns;
    const struct hierarchy_op what = {.op = TRACE_GENERATE,
                                      .tier = TRACE_NO_TIER,
                                      .phase = phase,
                                      .class = TRACE_NO_CLASS,
                                      .engine = g->number,
                                      .tokens =
                                          tokens < UINT32_MAX ? (uint32_t)tokens : UINT32_MAX};
    uint64_t *row = phase == TRACE_PREFILL ? &q->prefill_row : &q->decode_row;
    *row = 0;
    if (!g->w->rows)
        row_counts_add(&g->w->stats->rows, &what);
    else if (begin_ns > now_ns)
        held_rows_open_later(g->w->rows, begin_ns, &what, &q->held, row);
    else
        *row = held_rows_open(g->w->rows, now_ns, &what, &q->held);
}

/* Tokens of its answer here. */
static uint64_t answer_tokens(const struct engine *g, const struct engine_request *q)
{
    const uint64_t tokens = (uint64_t)q->held.r.generated_tokens;
    return g->w->o->prefill_only && tokens > 1 ? 1 : tokens;
}

static void close_generate(struct engine *g, const uint64_t *row)
{
    if (!g->w->rows)
        return;
    held_rows_pass(g->w->rows, g->w->clock->now_ns);
    held_rows_close(g->w->rows, *row, g->w->clock->now_ns);
}

/* The request runs from now on; found are the tokens that it need not compute. With loads in this
 * step its row begins when they are done. */
static void begin_prefill(struct engine *g, struct engine_request *q, uint64_t found, bool loads)
{
    const uint64_t tokens = q->prompt.tokens, fresh = tokens > found ? tokens - found : 1;
    enter_phase(g, q, ENGINE_PREFILL);
    if (q->prefill_row != ENGINE_NO_ROW)
        return; /* it was preempted before its first token */
    q->loads_tokens = loads ? fresh : 0;
    if (!loads)
        open_generate(g, q, TRACE_PREFILL, fresh, g->w->clock->now_ns);
    g->w->stats->prefill.requests++;
    g->w->stats->prefill.cached_tokens += found < tokens ? found : tokens - 1;
    g->w->stats->prefill.fresh_tokens += fresh;
}

static void on_admitted(void *ctx, const struct serve_request *s, enum admission_kind kind,
                        const struct kv_found *found)
{
    struct engine *g = ctx;
    struct engine_request *q = of_serve(s);
    put_look_up(g, &s->kv);
    g->w->own->admissions++;
    if (g->decisions)
        decisions_admitted(g->decisions, s, kind, found);
    g->idle = 0;
    if (kind != ADMITTED_LOADED)
        copy_rows_admitted(g->copies, &q->copies, found);
    uint64_t tokens = s->kv.computed_tokens;
    for (int t = 0; t < TRACE_TIERS; t++) {
        tokens += found->tokens[t];
        q->found_tokens[t] = q->admitted ? q->found_tokens[t] : found->tokens[t];
    }
    q->admitted = true;
    if (kind == ADMITTED_NEW || kind == ADMITTED_LOADED || kind == ADMITTED_AGAIN) {
        if (q->phase == ENGINE_WAITING || q->phase == ENGINE_LOADING)
            begin_prefill(g, q, tokens,
                          kind != ADMITTED_LOADED &&
                              found->tokens[TRACE_CPU] + found->tokens[TRACE_STORAGE] > 0);
    } else if (q->phase == ENGINE_WAITING) {
        enter_phase(g, q, ENGINE_LOADING);
    }
}

static void on_refused(void *ctx, const struct serve_request *s, bool running)
{
    struct engine *g = ctx;
    if (g->decisions)
        decisions_refused(g->decisions, s, running, g->cache.ops->room_free(g->cache.cache));
    g->looked_up = NULL;
    g->w->own->refused_admissions += !running;
}

static void on_preempted(void *ctx, const struct serve_request *s)
{
    struct engine *g = ctx;
    g->w->own->preemptions++;
    g->stats.preemptions++;
    if (g->decisions)
        decisions_preempted(g->decisions, s);
    enter_phase(g, of_serve(s), ENGINE_PREEMPTED);
}

/* Tells who listens; whether the run ends. */
static bool tell_done(const struct engine *g, struct engine_request *q)
{
    const uint64_t outputs = q->serve.output_tokens;
    const uint64_t brought = q->promoted_tokens < q->found_tokens[TRACE_CPU]
                                 ? q->promoted_tokens
                                 : q->found_tokens[TRACE_CPU];
    const int64_t asked_ns = q->answered_ns < 0 ? 0 : q->answered_ns - q->asked_ns;
    struct engine_done d = {
        .now_ns = g->w->clock->now_ns,
        .arrival_ns = q->held.r.arrival_ns,
        .first_token_ns = q->first_ns - q->held.r.arrival_ns,
        .token_ns = outputs > 1 ? (g->w->clock->now_ns - q->first_ns) / (int64_t)(outputs - 1) : -1,
        .qos = q->held.r.qos,
        .prompt_tokens = q->prompt.tokens,
        .output_tokens = outputs,
        .files_ns = asked_ns + q->time_ns[ENGINE_LOADING],
        .time_ns = q->time_ns,
        .here = g->w->here};
    for (int t = 0; t < TRACE_TIERS; t++)
        d.found_tokens[t] = q->found_tokens[t];
    d.found_tokens[TRACE_CPU] -= brought;
    d.found_tokens[TRACE_STORAGE] += brought;
    return g->w->o->done(g->w->o->done_ctx, &d);
}

void engine_count_files(struct engine *g)
{
    const struct transfers_files *now = transfers_files(g->transfers);
    struct transfers_files *all = &g->w->own->files, *told = &g->files_told;
    for (int i = 0; i < 2; i++) {
        all->bytes[i] += now->bytes[i] - told->bytes[i];
        all->objects[i] += now->objects[i] - told->objects[i];
        all->in_flight_ns[i] += now->in_flight_ns[i] - told->in_flight_ns[i];
    }
    *told = *now;
}

static void complete(struct engine *g, struct engine_request *q)
{
    const struct request *from = &q->held.r;
    struct sim_stats *st = g->w->stats;
    const int64_t now_ns = g->w->clock->now_ns;
    const uint64_t outputs = q->serve.output_tokens;
    close_generate(g, &q->decode_row);
    for (int i = 0; i < ENGINE_TIMES; i++)
        g->w->own->time_ns[i] += q->time_ns[i];
    record(g, st->time_ns[SIM_QUEUE], q->time_ns[ENGINE_WAITING]);
    record(g, st->time_ns[SIM_STORAGE], q->time_ns[ENGINE_LOADING]);
    record(g, st->time_ns[SIM_GENERATION],
           now_ns - from->arrival_ns - q->time_ns[ENGINE_WAITING] - q->time_ns[ENGINE_LOADING]);
    record(g, st->time_ns[SIM_END_TO_END], now_ns - from->arrival_ns);
    if (outputs > 1)
        record(g, g->w->own->token_ns[from->qos], (now_ns - q->first_ns) / (int64_t)(outputs - 1));
    g->w->leaving++;
    g->stats.completed++;
    st->completed++;
    st->completed_by_qos[from->qos]++;
    st->generated_tokens += answer_tokens(g, q);
    engine_count_files(g);
    if (g->w->o->done && tell_done(g, q))
        g->w->enough = true;
    g->w->answered(g->w->ctx, from);
}

static void on_output(void *ctx, const struct serve_request *s)
{
    struct engine *g = ctx;
    struct engine_request *q = of_serve(s);
    g->idle = 0;
    if (g->decisions)
        decisions_output(g->decisions, s);
    if (s->state != SERVE_PREEMPTED) /* else its output was computed before, and is told now */
        enter_phase(g, q, ENGINE_DECODE);
    if (s->outputs == 1) {
        q->first_ns = g->w->clock->now_ns;
        close_generate(g, &q->prefill_row);
        record(g, g->w->stats->prefill.first_token_ns[q->held.r.qos],
               g->w->clock->now_ns - q->held.r.arrival_ns);
        record(g, g->stats.first_token_ns, g->w->clock->now_ns - q->held.r.arrival_ns);
        open_generate(g, q, TRACE_DECODE, answer_tokens(g, q), q->first_ns);
        q->copies.decodes = true;
    }
    if (s->state == SERVE_DONE)
        complete(g, q);
}

static void on_gone(void *ctx, struct serve_request *s)
{
    struct engine *g = ctx;
    const struct copy_rows_request *q = &of_serve(s)->copies;
    g->here--;
    g->w->here--;
    g->w->leaving--;
    if (g->cache.numbers)
        chain_numbers_release(g->cache.numbers, q->key, q->blocks * g->cache.groups);
    g->w->gone(g->w->ctx, of_serve(s));
}

/* ---- a step ---- */

/* Transfers that are done: below the GPU, or those that a step's output reports. */
static void finish_transfers(struct engine *g, bool gpu, uint64_t step)
{
    struct transfer t;
    while (transfers_take(g->transfers, gpu, g->w->clock->now_ns, step, &t)) {
        g->idle = 0;
        g->asked |= gpu; /* the step of now did not know it: the next one may */
        if (g->decisions) {
            decisions_transfer_done(g->decisions, t.id);
            decisions_transfer_over(g->decisions, t.id);
        }
        g->cache.ops->transfer_done(g->cache.cache, t.id);
        if (t.kind != KV_LOAD || !t.request)
            continue;
        struct engine_request *q = of_kv(t.request);
        if (q->serve.state == SERVE_LOADING)
            scheduler_loaded(g->scheduler, &q->serve);
    }
}

static struct step_work work_of(const struct step_model *m, const struct step *step)
{
    struct step_work w = {0};
    for (uint64_t i = 0; i < step->parts; i++) {
        const struct step_part *p = &step->part[i];
        step_time_add(m, &w, p->before, p->tokens, p->decode);
        w.output |= p->output;
    }
    return w;
}

/* A step that computes for ns and has loads of its own. By layers, the load of one comes beside the
 * computing of the layer before, so that the step waits only for what is late. */
static int64_t with_loads_ns(const struct engine *g, int64_t ns)
{
    const struct transfers_waits *waits = transfers_waits(g->transfers);
    const int64_t layers = (int64_t)g->w->o->steps.model.layers;
    if (!g->w->o->by_layers || layers < 2)
        return ns + transfers_delay_ns(g->transfers);
    const int64_t longer_ns = ns > waits->loading_ns ? ns : waits->loading_ns;
    const int64_t shorter_ns = ns > waits->loading_ns ? waits->loading_ns : ns;
    const int64_t by_layers_ns =
        waits->own_ns - waits->loading_ns + longer_ns + shorter_ns / layers;
    const int64_t flushed_ns = waits->flush_ns + ns;
    return by_layers_ns > flushed_ns ? by_layers_ns : flushed_ns;
}

/* The step begins to compute only after wait_ns: requests that it loads for are prefilled from then
 * on. */
static void end_loads(struct engine *g, const struct step *step, int64_t wait_ns)
{
    for (uint64_t i = 0; i < step->parts; i++) {
        struct engine_request *q = of_serve(step->part[i].request);
        if (!q->loads_tokens)
            continue;
        q->time_ns[ENGINE_LOADING] += wait_ns;
        q->since_ns += wait_ns;
        open_generate(g, q, TRACE_PREFILL, q->loads_tokens, g->w->clock->now_ns + wait_ns);
        q->loads_tokens = 0;
    }
}

/* How long the step takes that begins now. One without tokens ends with the next transfer or
 * arrival; where the next step may find something new (soon), at once. */
static int64_t step_ns(struct engine *g, const struct step *step, bool soon)
{
    if (step->parts) {
        const struct step_work w = work_of(&g->w->o->steps.model, step);
        const int64_t ns = step_time_ns(&g->w->o->steps.model, &g->w->o->steps.gpu, &w);
        g->computing_ns = ns;
        g->w->own->busy_ns += ns;
        g->stats.busy_ns += ns;
        const int64_t all_ns = with_loads_ns(g, ns);
        end_loads(g, step, all_ns - ns);
        return all_ns;
    }
    g->w->own->empty_steps++;
    const int64_t least_ns = EMPTY_NS + transfers_delay_ns(g->transfers);
    g->least_ns = g->w->clock->now_ns + least_ns;
    if (soon || g->asked || transfers_since(g->transfers, g->step))
        return least_ns;
    const int64_t transfer_ns = transfers_next_ns(g->transfers, g->step);
    const int64_t request_ns = g->w->next_request_ns(g->w->ctx);
    int64_t next_ns = transfer_ns < request_ns ? transfer_ns : request_ns;
    if (g->cache.by_second && g->next_second_ns < next_ns)
        next_ns = g->next_second_ns;
    if (next_ns == INT64_MAX || next_ns - g->w->clock->now_ns < least_ns)
        return least_ns;
    return next_ns - g->w->clock->now_ns;
}

static void tell_outputs(struct engine *g, const struct step *step)
{
    scheduler_outputs(g->scheduler, step);
    finish_transfers(g, true, step->number);
}

/* The line of a step that is over. */
static void tell_decisions(struct engine *g)
{
    if (!g->decisions || g->w->rc)
        return;
    decisions_end(g->decisions, g->cache.offload, g->cache.ops->room_free(g->cache.cache));
    struct decision_line *l = decisions_line(g->decisions);
    const struct decision_text *text =
        decision_line_text(l, g->lines++, decisions_lone(g->decisions));
    if (text && !decisions_failed(g->decisions))
        g->w->rc = g->w->o->decided(g->w->o->decided_ctx, text, g->w->clock->err);
    else
        engine_world_fail(g->w);
    decision_line_clear(l);
}

/* Requests of it that run, now. */
static void count_running(struct engine *g)
{
    const uint64_t running = scheduler_running(g->scheduler);
    g->w->running += running - g->running;
    g->running = running;
    if (running > g->stats.running_peak)
        g->stats.running_peak = running;
    if (g->w->running > g->w->own->running_peak)
        g->w->own->running_peak = g->w->running;
}

static bool goes_on(const struct engine *g)
{
    return scheduler_has_work(g->scheduler) || g->last.number;
}

/* The scheduler decides; 0, or -EDEADLK, after which the engine may only be freed. */
static int schedule(struct engine *g, struct step *step)
{
    g->step++;
    const int rc = scheduler_schedule(g->scheduler, step);
    if (rc == -EDEADLK)
        return rc;
    if (rc)
        engine_world_fail(g->w);
    g->looked_up = NULL;
    if (g->decisions)
        decisions_step(g->decisions, step, g->scheduler, g->cache.ops->room_free(g->cache.cache));
    if (step->parts)
        g->idle = 0;
    g->w->own->steps++;
    g->stats.steps++;
    count_running(g);
    return 0;
}

void engine_step(struct engine *g)
{
    struct step step = {0};
    const bool has_work = scheduler_has_work(g->scheduler);
    if (!goes_on(g)) {
        engine_sleep(g);
        return;
    }
    g->asked = false;
    g->idle++;
    g->least_ns = INT64_MAX;
    finish_transfers(g, false, g->step);
    if (has_work && schedule(g, &step)) {
        g->w->own->stuck = g->w->here;
        return;
    }
    const struct step before = g->last;
    g->last = step;
    if (before.number)
        tell_outputs(g, &before);
    g->wake_ns = g->w->clock->now_ns + (has_work ? step_ns(g, &step, before.parts > 0) : 0);
    transfers_start(g->transfers, g->wake_ns);
    if (g->cache.scheduler.async || !has_work)
        tell_decisions(g);
    if (!goes_on(g))
        engine_sleep(g);
}

void engine_end_step(struct engine *g)
{
    const struct step step = g->last;
    if (g->cache.scheduler.async || !step.number)
        return;
    g->last = (struct step){0};
    tell_outputs(g, &step);
    tell_decisions(g);
}

/* ---- what the run asks ---- */

/* Somebody else has written that file. With numbers, its key is one. */
static bool file_written(struct engine *g, const struct kv_file *f)
{
    const bool written = g->cache.ops->file_written(g->cache.cache, f->key);
    if (written)
        copy_rows_file_written(g->copies, f);
    return written;
}

bool engine_file_written(struct engine *g, const struct kv_file *f)
{
    struct chain_numbers *numbers = g->cache.numbers;
    struct kv_file file = *f;

    if (!g->cache.ops->file_written)
        return false;
    if (numbers && chain_numbers_take_lone(numbers, &file.key)) {
        engine_world_fail(g->w);
        return false;
    }
    const bool written = file_written(g, &file);
    if (numbers)
        chain_numbers_release(numbers, &file.key, 1);
    return written;
}

/* The prefill node has written all of the prompt that fills a copy. */
static void bring_prompt(struct engine *g, const struct engine_request *q)
{
    const uint64_t in_chunk = g->cache.chunk_tokens / g->cache.block_tokens;
    const uint64_t blocks = q->prompt.tokens / g->cache.block_tokens;
    if (!g->cache.ops->file_written)
        return;
    for (uint32_t group = 0; group < g->cache.groups; group++)
        for (uint64_t end = in_chunk; end <= blocks; end += in_chunk)
            file_written(g,
                         &(struct kv_file){.key = q->copies.key[group * q->copies.blocks + end - 1],
                                           .in_group = g->cache.groups > 1 ? 1 + group : 0,
                                           .engine = g->number});
}

/* The keys of its chain become numbers, in each group. */
static int number_keys(const struct engine *g, const struct engine_request *q)
{
    int rc = 0;
    for (uint32_t group = 0; g->cache.numbers && !rc && group < g->cache.groups; group++)
        rc = chain_numbers_take(g->cache.numbers, q->copies.key + group * q->copies.blocks,
                                q->copies.blocks);
    return rc;
}

void engine_take(struct engine *g, struct engine_request *q)
{
    const int64_t now_ns = g->w->clock->now_ns;
    const int rc = number_keys(g, q);
    if (!rc && g->w->o->prompts_written)
        bring_prompt(g, q);
    q->serve.kv.number = q->copies.number = (uint32_t)g->stats.requests++;
    g->here++;
    g->w->here++;
    g->idle = 0;
    if (rc || scheduler_add(g->scheduler, &q->serve))
        engine_world_fail(g->w);
    if (g->decisions && decisions_name(g->decisions, &q->serve.kv, &q->ids))
        engine_world_fail(g->w);
    if (g->decisions)
        decisions_arrived(g->decisions, &q->serve.kv);
    /* It ends a step that only waits. */
    const int64_t at_ns = g->least_ns > now_ns ? g->least_ns : now_ns;
    if (g->wake_ns == INT64_MAX)
        g->wake_ns = now_ns;
    else if (g->least_ns < g->wake_ns && at_ns < g->wake_ns)
        g->wake_ns = at_ns;
}

void engine_cut(struct engine *g)
{
    const int64_t left_ns = g->wake_ns - g->w->clock->now_ns;
    if (g->wake_ns == INT64_MAX || g->least_ns != INT64_MAX || left_ns <= 0)
        return;
    const int64_t more_ns = left_ns < g->computing_ns ? left_ns : g->computing_ns;
    g->w->own->busy_ns -= more_ns;
    g->stats.busy_ns -= more_ns;
}

int64_t engine_wake_ns(const struct engine *g)
{
    return g->wake_ns;
}

void engine_pass_seconds(struct engine *g)
{
    const int64_t now_ns = g->w->clock->now_ns;
    int64_t passed = (now_ns - g->next_second_ns) / UNITS_NS_PER_S + 1;
    if (!g->cache.by_second || now_ns < g->next_second_ns)
        return;
    g->next_second_ns += passed * UNITS_NS_PER_S;
    if (passed > SECONDS)
        passed = SECONDS;
    while (passed--)
        g->cache.ops->second(g->cache.cache);
}

bool engine_is_stuck(const struct engine *g)
{
    return scheduler_is_stuck(g->scheduler) ||
           (g->idle > IDLE_STEPS && g->here && !scheduler_running(g->scheduler) &&
            !transfers_count(g->transfers));
}

void engine_sleep(struct engine *g)
{
    g->wake_ns = INT64_MAX;
}

uint64_t engine_requests(const struct engine *g)
{
    return g->here;
}

uint64_t engine_waiting(const struct engine *g)
{
    uint64_t waiting = 0;
    for (const struct serve_request *s = scheduler_waiting(g->scheduler); s; s = s->next)
        waiting += s->state == SERVE_WAITING;
    return waiting;
}

const struct engine_cache *engine_cache(const struct engine *g)
{
    return &g->cache;
}

const struct copy_rows *engine_copies(const struct engine *g)
{
    return g->copies;
}

const struct engine_share *engine_stats(const struct engine *g)
{
    return &g->stats;
}

/* ---- from beginning to end ---- */

static bool open_parts(struct engine *g)
{
    struct engine_world *w = g->w;
    const struct scheduler_listener listener = {
        g, on_looked_up, on_admitted, on_refused, on_preempted, on_output, on_gone};
    struct copy_rows_opts copies = {.block_tokens = g->cache.block_tokens,
                                    .block_bytes = g->cache.block_bytes,
                                    .chunk_tokens = g->cache.chunk_tokens,
                                    .chunk_bytes = g->cache.chunk_bytes,
                                    .groups = g->cache.groups,
                                    .anywhere = g->cache.anywhere,
                                    .single = g->cache.single,
                                    .rises = g->cache.rises,
                                    .engine = g->number,
                                    .numbers = g->cache.numbers,
                                    .shared = engine_choice_shares(w->o->cache),
                                    .with = w->shares ? w->shares->copies : NULL};
    memcpy(copies.window, g->cache.window, sizeof(copies.window));
    const struct transfers_opts transfers = {.link_bytes_s = w->o->link_bytes_s,
                                             .ranks = w->o->room.ranks,
                                             .load_ns = w->o->steps.host.load_ns,
                                             .chunk_bytes = g->cache.chunk_bytes,
                                             .files = w->o->files,
                                             .threads = {g->cache.threads[0], g->cache.threads[1]},
                                             .in_turn = g->cache.in_turn,
                                             .with = w->shares ? w->shares->transfers : NULL};
    const struct copy_rows_out out = {w->rows, &w->stats->rows, &w->clock->now_ns};
    g->scheduler = scheduler_create(&g->cache.scheduler, g->cache.ops, g->cache.cache, &listener);
    g->copies = copy_rows_create(&copies, &out, copy_rows_of);
    g->transfers = transfers_create(&transfers);
    g->stats.first_token_ns = hist_create();
    const struct decisions_opts decisions = {.block_tokens = g->cache.block_tokens,
                                             .groups = g->cache.groups,
                                             .connected = g->cache.offload != NULL};
    if (w->o->decided && !(g->decisions = decisions_create(&decisions)))
        return false;
    return g->scheduler && g->copies && g->transfers && g->stats.first_token_ns;
}

int engine_create(struct engine **out, struct engine_world *w, uint32_t number, struct err *e)
{
    struct engine *g = calloc(1, sizeof(*g));
    *out = NULL;
    if (!g)
        return err_nomem(e, "the engine");
    *g = (struct engine){.w = w,
                         .number = number,
                         .wake_ns = INT64_MAX,
                         .least_ns = INT64_MAX,
                         .next_second_ns = UNITS_NS_PER_S};
    const struct kv_listener listener = {g, on_event, on_transfer, on_flush};
    struct engine_room room = w->o->room;
    room.with = w->shares ? &w->shares->cache : NULL;
    /* Decisions name keys for longer than a number has one. */
    if (!w->o->decided) {
        g->numbers = w->shares ? chain_numbers_share(w->shares->numbers) : chain_numbers_create();
        if (!g->numbers) {
            engine_free(g);
            return err_nomem(e, "the engine");
        }
    }
    room.numbers = g->numbers;
    int rc = engine_cache_open(&g->cache, w->o->cache, &room, &listener, e);
    if (!rc && !open_parts(g))
        rc = err_nomem(e, "the engine");
    if (rc)
        engine_free(g);
    else
        *out = g;
    return rc;
}

void engine_free(struct engine *g)
{
    if (!g)
        return;
    scheduler_free(g->scheduler);
    if (g->cache.cache)
        g->cache.ops->free(g->cache.cache);
    copy_rows_free(g->copies);
    transfers_free(g->transfers);
    decisions_free(g->decisions);
    hist_free(g->stats.first_token_ns);
    chain_numbers_free(g->numbers);
    free(g);
}
