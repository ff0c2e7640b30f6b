/* vllm.c - drives scheduler and cache through a scenario of vLLM, step by step: a step is a unit of
 * time, and a transfer takes the steps that config.json says. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/id_table.h"
#include "kvgen/cache/vllm.h"
#include "kvgen/cache/vllm_host.h"
#include "kvgen/cache/vllm_offload.h"
#include "kvgen/serve/scheduler.h"
#include "lib/json/jsontree.h"
#include "tests/engines/record.h"

/* How a block is called: h<id>, or r<row>.b<block>, with @g<group> where there are several. */
struct block_name {
    bool is_id;
    uint64_t id, row, block;
    uint32_t group;
};

/* A transfer under way. */
struct job {
    uint64_t id, number; /* the cache's, and the recording's */
    enum kv_transfer_kind kind;
    struct serve_request *request;
    int64_t begun, due; /* steps: in which it began, and whose output says that it is done */
    bool reported, done;
};

static bool is_with_gpu(const struct job *j)
{
    return j->kind == KV_STORE || j->kind == KV_LOAD;
}

/* An entry [row,[names...]] that more names may follow; compact: [row,names]. */
struct entry {
    const struct kv_request *request; /* NULL: none is open */
    uint64_t names;
};

struct drive {
    const struct scenario *s;
    struct scenario_outcome *o;
    struct kv_cache *cache;
    struct kv_below *below; /* the cache's; NULL: there is none */
    const struct kv_cache_ops *ops;
    struct scheduler *scheduler;
    struct serve_request *request; /* by row */
    struct chain_piece *pieces;
    struct record now, recorded;
    struct id_table keys;    /* of blocks */
    struct block_name *name; /* by number of the key */
    uint64_t names_cap;
    uint32_t groups;
    bool compact, async, connected;
    int64_t t, load_steps, store_steps;
    struct job *job;
    uint64_t jobs, jobs_cap, numbers, tier_numbers;
    struct entry open[RECORD_KEYS]; /* of lists by request */
    uint64_t cached;                /* compact: blocks that became cached */
    struct record freed;            /* names of the call that frees blocks, under RECORD_FR */
    uint64_t freed_empty, freed_cached, freed_in_use;
    bool freeing, failed;
};

/* ---- names ---- */

static int add_names(struct drive *d, uint64_t row, uint64_t block_tokens, uint64_t id_tokens)
{
    const struct scenario_row *r = &d->s->row[row];
    const uint64_t blocks = (r->input_tokens + r->output_tokens) / block_tokens;
    for (uint32_t g = 0; g < d->groups; g++) {
        struct chain_walk w = {.chain = &d->request[row].kv.chain, .key = chain_root(g)};
        for (uint64_t b = 0; b < blocks; b++) {
            const uint64_t key = chain_key(&w, (b + 1) * block_tokens);
            if (id_table_find(&d->keys, key) != ID_NONE)
                continue;
            if (id_table_reserve(&d->keys, 1))
                return -ENOMEM;
            if (d->names_cap < d->keys.cap) {
                struct block_name *grown = realloc(d->name, d->keys.cap * sizeof(*grown));
                if (!grown)
                    return -ENOMEM;
                d->name = grown;
                d->names_cap = d->keys.cap;
            }
            const uint64_t id = b * block_tokens / id_tokens;
            const bool is_id = (id + 1) * id_tokens <= r->input_tokens;
            d->name[id_table_add(&d->keys, key)] =
                (struct block_name){is_id, is_id ? r->ids[id] : 0, row, b, g};
        }
    }
    return 0;
}

static void add_name(const struct drive *d, struct record *to, enum record_key k, uint64_t key,
                     const char *mark)
{
    const uint32_t n = id_table_find(&d->keys, key);
    char group[16] = "";
    record_comma(to, k);
    if (n == ID_NONE) {
        record_add(to, k, "\"?\"");
        return;
    }
    const struct block_name *b = &d->name[n];
    if (d->groups > 1)
        snprintf(group, sizeof(group), "@g%u", b->group);
    if (b->is_id)
        record_add(to, k, "\"h%llu%s%s\"", (unsigned long long)b->id, group, mark);
    else
        record_add(to, k, "\"r%llu.b%llu%s%s\"", (unsigned long long)b->row,
                   (unsigned long long)b->block, group, mark);
}

/* ---- what the cache says ---- */

/* Ends the entry of one call that frees blocks. */
static void end_freeing(struct drive *d)
{
    if (!d->freeing)
        return;
    d->freeing = false;
    const struct record_text *names = &d->freed.key[RECORD_FR];
    record_comma(&d->now, RECORD_FR);
    record_add(&d->now, RECORD_FR, "[%llu,", (unsigned long long)d->freed_empty);
    if (d->compact)
        record_add(&d->now, RECORD_FR, "%llu", (unsigned long long)d->freed_cached);
    else
        record_add(&d->now, RECORD_FR, "[%.*s]", (int)names->len, names->len ? names->text : "");
    record_add(&d->now, RECORD_FR, ",%llu]", (unsigned long long)d->freed_in_use);
}

static void close_entry(struct drive *d, enum record_key k)
{
    struct entry *e = &d->open[k];
    if (e->request && d->compact)
        record_add(&d->now, k, "%llu]", (unsigned long long)e->names);
    else if (e->request)
        record_add(&d->now, k, "]]");
    *e = (struct entry){0};
}

/* A name in the entry of its request. */
static void add_to_entry(struct drive *d, enum record_key k, const struct kv_event *ev)
{
    struct entry *e = &d->open[k];
    if (e->request != ev->request) {
        close_entry(d, k);
        e->request = ev->request;
        record_comma(&d->now, k);
        record_add(&d->now, k, d->compact ? "[%u," : "[%u,[", ev->request->number);
    }
    e->names++;
    if (!d->compact)
        add_name(d, &d->now, k, ev->key, "");
}

static void add_asked(struct drive *d, const struct kv_event *e, const char *answer)
{
    record_comma(&d->now, RECORD_TQ);
    record_add(&d->now, RECORD_TQ, "[%u", e->request->number);
    add_name(d, &d->now, RECORD_TQ, e->key, "");
    record_add(&d->now, RECORD_TQ, ",\"%s\"]", answer);
}

static void add_freed(struct drive *d, const struct kv_event *e)
{
    switch (e->kind) {
    case KV_FREEING:
        end_freeing(d);
        d->freeing = true;
        d->freed_empty = d->freed_cached = d->freed_in_use = 0;
        record_clear(&d->freed);
        break;
    case KV_FREED_EMPTY:
        d->freed_empty++;
        break;
    case KV_FREED_IN_USE:
        d->freed_in_use++;
        break;
    default:
        d->freed_cached++;
        add_name(d, &d->freed, RECORD_FR, e->key, "");
    }
}

static void on_event(void *ctx, const struct kv_event *e)
{
    struct drive *d = ctx;
    switch (e->kind) {
    case KV_CACHED:
        if (d->compact)
            d->cached++;
        else
            add_name(d, &d->now, RECORD_GC, e->key, "");
        break;
    case KV_DROPPED:
        if (e->tier != TRACE_STORAGE)
            add_name(d, &d->now, e->tier == TRACE_GPU ? RECORD_GEV : RECORD_CEV, e->key,
                     e->twin ? "*" : "");
        break;
    case KV_FREEING:
    case KV_FREED_EMPTY:
    case KV_FREED_IN_USE:
    case KV_FREED:
        add_freed(d, e);
        break;
    case KV_KNOWN:
        add_to_entry(d, RECORD_STSKIP, e);
        break;
    case KV_REFUSED:
        add_to_entry(d, RECORD_STFAIL, e);
        break;
    case KV_ASKED:
        add_asked(d, e, "RETRY");
        break;
    case KV_HIT:
        add_asked(d, e, "HIT");
        break;
    case KV_MISS:
        add_asked(d, e, "MISS");
        break;
    case KV_PROMOTED:
        add_to_entry(d, RECORD_PROMO, e);
        close_entry(d, RECORD_PROMO);
        break;
    case KV_NOT_PROMOTED:
        add_to_entry(d, RECORD_PROMOFAIL, e);
        close_entry(d, RECORD_PROMOFAIL);
        break;
    default:
        break;
    }
}

static void on_transfer(void *ctx, const struct kv_transfer *t)
{
    struct drive *d = ctx;
    static const enum record_key keys[] = {[KV_STORE] = RECORD_ST,
                                           [KV_LOAD] = RECORD_LD,
                                           [KV_PROMOTE] = RECORD_TL,
                                           [KV_WRITE] = RECORD_TS};
    if (d->jobs == d->jobs_cap) {
        struct job *grown = realloc(d->job, (2 * d->jobs_cap + 64) * sizeof(*grown));
        if (!grown) {
            d->failed = true;
            return;
        }
        d->job = grown;
        d->jobs_cap = 2 * d->jobs_cap + 64;
    }
    const enum record_key k = keys[t->kind];
    struct job *j = &d->job[d->jobs++];
    *j = (struct job){.id = t->id, .kind = t->kind, .begun = d->t};
    const bool gpu = is_with_gpu(j);
    j->number = gpu ? d->numbers++ : d->tier_numbers++;
    j->request = t->request ? &d->request[t->request->number] : NULL;
    j->due = d->t + (t->kind == KV_STORE ? d->store_steps : t->in_step ? 0 : d->load_steps);
    record_comma(&d->now, k);
    record_add(&d->now, k, gpu ? "[%llu,%u,[" : "[0,%llu,[", (unsigned long long)j->number,
               t->request ? t->request->number : 0);
    for (uint64_t i = 0; i < t->count; i++)
        add_name(d, &d->now, k, t->keys[i], "");
    record_add(&d->now, k, t->in_step ? "],\"sync\"]" : "]]");
}

static void on_flush(void *ctx, uint64_t id)
{
    struct drive *d = ctx;
    for (uint64_t i = 0; i < d->jobs; i++) {
        if (d->job[i].id != id)
            continue;
        d->job[i].due = d->t;
        record_comma(&d->now, RECORD_FLUSH);
        record_add(&d->now, RECORD_FLUSH, "%llu", (unsigned long long)d->job[i].number);
    }
}

/* ---- what the scheduler says ---- */

static void on_looked_up(void *ctx, const struct serve_request *r, enum kv_look answer,
                         const struct kv_found *found)
{
    struct drive *d = ctx;
    if (!d->connected)
        return;
    record_comma(&d->now, RECORD_XQ);
    record_add(&d->now, RECORD_XQ, "[%u,%llu,", r->kv.number,
               (unsigned long long)found->tokens[TRACE_GPU]);
    if (answer == KV_FOUND)
        record_add(&d->now, RECORD_XQ, "%llu]",
                   (unsigned long long)(found->tokens[TRACE_CPU] + found->tokens[TRACE_STORAGE]));
    else
        record_add(&d->now, RECORD_XQ, answer == KV_OWN_TRANSFERS ? "\"busy\"]" : "\"defer\"]");
}

static void on_admitted(void *ctx, const struct serve_request *r, enum admission_kind kind,
                        const struct kv_found *found)
{
    struct drive *d = ctx;
    static const char *const kinds[] = {[ADMITTED_NEW] = "new",
                                        [ADMITTED_AGAIN] = "resume",
                                        [ADMITTED_TO_LOAD] = "load",
                                        [ADMITTED_LOADED] = "loaded"};
    record_comma(&d->now, RECORD_ADM);
    record_add(&d->now, RECORD_ADM, "[%u,\"%s\",%llu,%llu,%llu]", r->kv.number, kinds[kind],
               (unsigned long long)found->tokens[TRACE_GPU],
               (unsigned long long)(found->tokens[TRACE_CPU] + found->tokens[TRACE_STORAGE]),
               (unsigned long long)r->kv.computed_tokens);
}

static void on_refused(void *ctx, const struct serve_request *r, bool running)
{
    struct drive *d = ctx;
    record_comma(&d->now, RECORD_NOFIT);
    record_add(&d->now, RECORD_NOFIT, "[%u,\"%s\",%llu]", r->kv.number, running ? "r" : "w",
               (unsigned long long)d->ops->room_free(d->cache));
}

static void on_preempted(void *ctx, const struct serve_request *r)
{
    struct drive *d = ctx;
    record_comma(&d->now, RECORD_PRE);
    record_add(&d->now, RECORD_PRE, "[%u,%llu,%llu]", r->kv.number,
               (unsigned long long)r->kv.computed_tokens, (unsigned long long)r->outputs);
}

static void add_number(struct drive *d, enum record_key k, uint64_t n)
{
    record_comma(&d->now, k);
    record_add(&d->now, k, "%llu", (unsigned long long)n);
}

static void on_output(void *ctx, const struct serve_request *r)
{
    struct drive *d = ctx;
    if (r->outputs == 1)
        add_number(d, RECORD_FIRST, r->kv.number);
    if (r->state == SERVE_DONE)
        add_number(d, RECORD_FIN, r->kv.number);
}

static void on_gone(void *ctx, struct serve_request *r)
{
    (void)ctx;
    (void)r;
}

/* ---- a step ---- */

static void add_step(struct drive *d, const struct step *step)
{
    for (uint64_t i = 0; i < step->parts; i++) {
        const struct step_part *p = &step->part[i];
        if (d->compact && p->tokens == 1 && p->before >= p->request->kv.prompt_tokens) {
            add_number(d, RECORD_DEC, p->request->kv.number);
            continue;
        }
        record_comma(&d->now, RECORD_SCH);
        record_add(&d->now, RECORD_SCH, "[%u,%llu,%llu]", p->request->kv.number,
                   (unsigned long long)p->tokens, (unsigned long long)p->before);
    }
    add_number(d, RECORD_FREE, d->ops->room_free(d->cache));
    add_number(d, RECORD_RUN, scheduler_running(d->scheduler));
    uint64_t waiting = 0;
    for (const struct serve_request *r = scheduler_waiting(d->scheduler); r; r = r->next, waiting++)
        if (!d->compact)
            add_number(d, RECORD_WAIT, r->kv.number);
    if (d->compact)
        add_number(d, RECORD_WAIT, waiting);
    for (const struct serve_request *r = scheduler_holding(d->scheduler); r; r = r->next)
        add_number(d, RECORD_HOLD, r->kv.number);
}

/* The transfers of one side (with the GPU, or below it) that are due are done. */
static void finish_jobs(struct drive *d, bool gpu)
{
    for (uint64_t i = 0; i < d->jobs; i++) {
        const struct job j = d->job[i]; /* the cache may begin others, which moves the list */
        if (is_with_gpu(&j) != gpu || (gpu ? !j.reported : j.begun >= d->t))
            continue;
        if (!gpu) {
            record_comma(&d->now, RECORD_TD);
            record_add(&d->now, RECORD_TD, "[0,%llu,true]", (unsigned long long)j.number);
        }
        d->job[i].done = true;
        d->ops->transfer_done(d->cache, j.id);
        if (j.kind == KV_LOAD && j.request->state == SERVE_LOADING)
            scheduler_loaded(d->scheduler, j.request);
    }
    uint64_t left = 0;
    for (uint64_t i = 0; i < d->jobs; i++)
        if (!d->job[i].done)
            d->job[left++] = d->job[i];
    d->jobs = left;
}

/* The output of this step says which transfers with the GPU are done. */
static void report_jobs(struct drive *d)
{
    for (uint64_t i = 0; i < d->jobs; i++) {
        struct job *j = &d->job[i];
        if (!is_with_gpu(j) || j->reported || j->due > d->t)
            continue;
        j->reported = true;
        record_comma(&d->now, RECORD_XD);
        record_add(&d->now, RECORD_XD, "[%llu,\"%c\"]", (unsigned long long)j->number,
                   j->kind == KV_STORE ? 's' : 'l');
    }
}

static void end_lists(struct drive *d)
{
    end_freeing(d);
    for (int k = 0; k < RECORD_KEYS; k++)
        close_entry(d, (enum record_key)k);
    if (d->compact && d->cached)
        add_number(d, RECORD_GC, d->cached);
    d->cached = 0;
}

/* Chunks in host memory; of ARC its four lists and its target. */
static void add_host(struct drive *d)
{
    struct vllm_host_counts n;
    if (!d->below)
        return;
    vllm_offload_count(d->below, &n);
    if (!n.arc) {
        add_number(d, RECORD_CPU, n.chunks);
        return;
    }
    for (int i = 0; i < 4; i++)
        add_number(d, RECORD_CPU, n.list[i]);
    char text[40];
    int len = snprintf(text, sizeof(text), "%.6f", n.target); /* as it was rounded there */
    while (text[len - 1] == '0')
        len--;
    record_add(&d->now, RECORD_CPU, ",%.*s", text[len - 1] == '.' ? len - 1 : len, text);
}

/* One step. Asynchronous: the outputs of the step before (in *last) are told after its schedule;
 * the last ones of all when nothing is left to be scheduled. */
static int run_step(struct drive *d, struct step *last, struct err *e)
{
    struct step step = {0};
    const bool has_work = scheduler_has_work(d->scheduler);
    finish_jobs(d, false);
    if (has_work) {
        if (scheduler_schedule(d->scheduler, &step))
            return err_nomem(e, "a step");
        add_step(d, &step);
    }
    const struct step outputs = d->async ? *last : step;
    *last = step;
    if (!d->async)
        report_jobs(d);
    if (outputs.number)
        scheduler_outputs(d->scheduler, &outputs);
    finish_jobs(d, true);
    if (d->async)
        report_jobs(d);
    add_number(d, RECORD_FREE_END, d->ops->room_free(d->cache));
    add_host(d);
    end_lists(d);
    return d->failed || d->now.failed ? err_nomem(e, "a step") : 0;
}

/* Without an arrival there is a next step. */
static bool goes_on(const struct drive *d, const struct step *last)
{
    return scheduler_has_work(d->scheduler) || (d->async && last->number);
}

/* Steps until all rows are served, each held against its line of the recording. */
static int run_steps(struct drive *d, struct jsonin_stream *in, struct err *e)
{
    const struct jsonin_v *line;
    struct step last = {0};
    uint64_t row = 0;
    int rc;
    d->t = d->s->rows ? d->s->row[0].timestamp : 0;
    while (row < d->s->rows || goes_on(d, &last)) {
        if (!goes_on(d, &last) && d->s->row[row].timestamp > d->t)
            d->t = d->s->row[row].timestamp;
        record_clear(&d->now);
        for (; row < d->s->rows && d->s->row[row].timestamp <= d->t; row++) {
            add_number(d, RECORD_ARR, row);
            if (scheduler_add(d->scheduler, &d->request[row]))
                return err_nomem(e, "a request");
        }
        rc = run_step(d, &last, e);
        if (rc)
            return rc;
        rc = jsonin_stream_next(in, &line, e);
        if (rc < 0)
            return rc;
        int64_t t = -1;
        if (rc)
            jsonin_i64(jsonin_get(line, "t"), &t);
        d->o->steps++;
        if (t != d->t) {
            scenario_differs(d->o, "step %lld took place, the recording has step %lld",
                             (long long)d->t, (long long)t);
            return 0;
        }
        record_read(&d->recorded, line);
        record_compare(&d->recorded, &d->now, d->t, d->o);
        d->t++;
    }
    rc = jsonin_stream_next(in, &line, e);
    if (rc > 0)
        scenario_differs(d->o, "the simulation ends before step %lld, the recording does not",
                         (long long)d->t);
    return rc < 0 ? rc : 0;
}

/* ---- a scenario ---- */

static void read_scheduler(const struct scenario *s, struct scheduler_opts *o)
{
    *o = (struct scheduler_opts){
        .step_tokens = scenario_u64(s, "scheduler.max_num_batched_tokens", 2048),
        .max_running = scenario_u64(s, "scheduler.max_num_seqs", 128),
        .max_tokens = scenario_u64(s, "max_model_len", KV_NO_LIMIT),
        .async = scenario_bool(s, "scheduler.async_scheduling", false),
        .whole_prompts = scenario_bool(s, "scheduler.scheduler_reserve_full_isl", true),
        .chunks = scenario_bool(s, "scheduler.enable_chunked_prefill", true),
        .long_tokens = scenario_u64(s, "scheduler.long_prefill_token_threshold", 0),
        .adaptive = scenario_bool(s, "scheduler.long_prefill_token_threshold_adaptive", false),
        .prefill_interval = scenario_u64(s, "scheduler.prefill_schedule_interval", 1),
        .watermark = scenario_f64(s, "scheduler.watermark", 0)};
    o->step_tokens = scenario_u64(s, "scheduler.max_num_scheduled_tokens", o->step_tokens);
    if (!strcmp(scenario_text(s, "scheduler.policy", "fcfs"), "priority"))
        o->policy = SCHEDULER_PRIORITY;
}

static int read_groups(const struct scenario *s, struct vllm_opts *o, struct err *e)
{
    const struct jsonin_v *groups = jsonin_get(jsonin_root(s->config), "groups");
    o->groups = groups ? (uint32_t)jsonin_count(groups) : 1;
    if (o->groups > VLLM_GROUPS)
        return err_set(e, 0, ERR_INPUT, s->folder, "there are more than %d groups", VLLM_GROUPS);
    for (uint32_t g = 0; groups && g < o->groups; g++) {
        const char *kind = jsonin_text(jsonin_at(groups, g), NULL);
        unsigned long long window = 0;
        if (!kind || (strcmp(kind, "full") && sscanf(kind, "swa%llu", &window) != 1))
            return err_set(e, 0, ERR_INPUT, s->folder, "group %u is of no known kind", g);
        o->window[g] = window;
    }
    /* Absent is 0, null is "all along". */
    const struct jsonin_v *cache = jsonin_get(jsonin_root(s->config), "cache");
    for (size_t i = 0; i < jsonin_members(cache); i++) {
        const char *key;
        const struct jsonin_v *v = jsonin_member(cache, i, &key);
        if (!strcmp(key, "prefix_cache_retention_interval"))
            o->all_windows = !v || v->type == JSONTREE_NULL;
    }
    return 0;
}

/* What the connector of config.json is, below the cache that o describes. */
static int open_below(const struct scenario *s, struct vllm_opts *o, const struct kv_listener *l,
                      struct err *e)
{
    struct vllm_offload_opts oo = {
        .gpu_blocks = o->blocks,
        .block_tokens = o->block_tokens,
        .groups = o->groups,
        .window = o->window,
        .chunks = scenario_u64(s, "connector.cpu_chunks", 1),
        .chunk_blocks = scenario_u64(s, "connector.extra_config.blocks_per_chunk", 1),
        .arc = !strcmp(scenario_text(s, "connector.extra_config.eviction_policy", "lru"), "arc"),
        .prompt_only = scenario_bool(s, "connector.extra_config.offload_prompt_only", true),
        .store_threshold = scenario_u64(s, "connector.extra_config.store_threshold", 0),
        .max_tracker_size = scenario_u64(s, "connector.extra_config.max_tracker_size", 64000),
        .sync_load_bytes = scenario_u64(s, "connector.extra_config.sync_load_budget_bytes", 0),
        .chunk_bytes = 4096};
    const struct jsonin_v *tiers =
        jsonin_get(jsonin_root(s->config), "connector.extra_config.secondary_tiers");
    const char *type = jsonin_text(jsonin_get(jsonin_at(tiers, 0), "type"), NULL);
    if (jsonin_count(tiers) > 1 || (tiers && !type))
        return err_set(e, 0, ERR_INPUT, s->folder, "it has not one tier below host memory");
    if (type && !strcmp(type, "fs"))
        oo.lower = VLLM_FILES;
    else if (type && !strcmp(type, "example"))
        oo.lower = VLLM_EXAMPLE;
    else if (type)
        return err_set(e, 0, ERR_INPUT, s->folder, "a tier \"%s\" is not ours", type);
    o->below_ops = &vllm_offload_ops;
    o->below = vllm_offload_create(&oo, l);
    return o->below ? 0 : err_nomem(e, "the connector");
}

static int make_requests(struct drive *d, uint64_t block_tokens, uint64_t id_tokens, struct err *e)
{
    const struct scenario *s = d->s;
    uint64_t pieces = 0;
    for (uint64_t i = 0; i < s->rows; i++)
        pieces += s->row[i].id_count + 2;
    d->request = calloc(s->rows + 1, sizeof(*d->request));
    d->pieces = malloc((pieces + 1) * sizeof(*d->pieces));
    if (!d->request || !d->pieces)
        return err_nomem(e, "requests");
    struct chain_piece *at = d->pieces;
    for (uint64_t i = 0; i < s->rows; i++) {
        const struct scenario_row *r = &s->row[i];
        struct serve_request *q = &d->request[i];
        q->kv.number = (uint32_t)i;
        q->kv.chain = (struct chain){at, scenario_pieces(s, i, id_tokens, true, at)};
        at += q->kv.chain.count;
        q->kv.prompt_tokens = r->input_tokens;
        q->kv.max_load_tokens = r->max_load_tokens;
        q->kv.max_offload_tokens = r->max_offload_tokens;
        q->output_tokens = r->output_tokens;
        q->priority = r->priority;
        if (add_names(d, i, block_tokens, id_tokens))
            return err_nomem(e, "names");
    }
    return 0;
}

static int open_engine(struct drive *d, struct err *e)
{
    const struct scenario *s = d->s;
    const uint64_t block_tokens = scenario_u64(s, "block_size", 16);
    struct vllm_opts o = {.blocks = scenario_u64(s, "num_gpu_blocks", 2) - 1,
                          .block_tokens = block_tokens};
    struct scheduler_opts so;
    read_scheduler(s, &so);
    d->async = so.async;
    so.connector = d->connected;
    int rc = read_groups(s, &o, e);
    if (rc)
        return rc;
    d->groups = o.groups;
    rc = make_requests(d, block_tokens, scenario_u64(s, "tokens_per_hash_id", block_tokens), e);
    if (rc)
        return rc;
    const struct kv_listener l = {d, on_event, on_transfer, on_flush};
    const struct scheduler_listener sl = {
        d, on_looked_up, on_admitted, on_refused, on_preempted, on_output, on_gone};
    d->ops = &vllm_cache_ops;
    if (d->connected && (rc = open_below(s, &o, &l, e)))
        return rc;
    d->below = o.below;
    d->cache = vllm_create(&o, &l);
    if (d->cache)
        d->scheduler = scheduler_create(&so, d->ops, d->cache, &sl);
    return d->scheduler ? 0 : err_nomem(e, "the engine");
}

int drive_vllm(const struct scenario *s, struct scenario_outcome *o, struct err *e)
{
    struct drive d = {.s = s, .o = o};
    struct frame_in *file = NULL;
    struct jsonin_stream *in = NULL;
    d.compact = !strcmp(scenario_text(s, "detail", "full"), "compact");
    d.connected = jsonin_get(jsonin_root(s->config), "connector");
    d.load_steps = (int64_t)scenario_u64(s, "load_latency_steps", 1);
    d.store_steps = (int64_t)scenario_u64(s, "store_latency_steps", 1);
    int rc = open_engine(&d, e);
    if (!rc)
        rc = scenario_file(s, "steps.jsonl", &file, e);
    if (!rc)
        rc = jsonin_stream_open(&in, file, 1 << 26, e);
    if (!rc)
        rc = run_steps(&d, in, e);
    jsonin_stream_close(in);
    frame_in_close(file);
    scheduler_free(d.scheduler);
    if (d.cache)
        d.ops->free(d.cache);
    record_release(&d.now);
    record_release(&d.recorded);
    record_release(&d.freed);
    id_table_free(&d.keys);
    free(d.name);
    free(d.job);
    free(d.pieces);
    free(d.request);
    return rc;
}
