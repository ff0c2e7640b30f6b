/* vllm.c - drives scheduler and cache through a scenario of vLLM, step by step: a step is a unit of
 * time, and a transfer takes the steps that config.json says. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/vllm.h"
#include "kvgen/cache/vllm_offload.h"
#include "kvgen/serve/decisions.h"
#include "kvgen/serve/scheduler.h"
#include "lib/base/memory.h"
#include "lib/json/jsontree.h"
#include "tests/engines/record.h"

/* A transfer under way. */
struct job {
    uint64_t id;
    enum kv_transfer_kind kind;
    struct serve_request *request;
    int64_t begun, due; /* steps: in which it began, and whose output says that it is done */
    bool reported, done;
};

static bool is_with_gpu(const struct job *j)
{
    return j->kind == KV_STORE || j->kind == KV_LOAD;
}

struct drive {
    const struct scenario *s;
    struct scenario_outcome *o;
    struct kv_cache *cache;
    struct kv_below *below; /* the cache's; NULL: there is none */
    const struct kv_cache_ops *ops;
    struct scheduler *scheduler;
    struct decisions *decisions;
    struct serve_request *request; /* by row */
    struct chain_piece *pieces;
    struct decision_line recorded;
    FILE *written; /* what comes out, in place of a comparison */
    bool async, connected, failed;
    int64_t t, load_steps, store_steps;
    struct job *job;
    uint64_t jobs, jobs_cap;
};

/* ---- what cache and scheduler say ---- */

static void on_event(void *ctx, const struct kv_event *e)
{
    struct drive *d = ctx;
    decisions_event(d->decisions, e);
}

static void on_transfer(void *ctx, const struct kv_transfer *t)
{
    struct drive *d = ctx;
    if (d->jobs == d->jobs_cap) {
        if (memory_resize(&d->job, 2 * d->jobs_cap + 64, sizeof(*d->job)) < 0) {
            d->failed = true;
            return;
        }
        d->jobs_cap = 2 * d->jobs_cap + 64;
    }
    struct job *j = &d->job[d->jobs++];
    *j = (struct job){.id = t->id, .kind = t->kind, .begun = d->t};
    j->request = t->request ? &d->request[t->request->number] : NULL;
    j->due = d->t + (t->kind == KV_STORE ? d->store_steps : t->in_step ? 0 : d->load_steps);
    decisions_transfer(d->decisions, t);
}

static void on_flush(void *ctx, uint64_t id)
{
    struct drive *d = ctx;
    for (uint64_t i = 0; i < d->jobs; i++)
        if (d->job[i].id == id)
            d->job[i].due = d->t;
    decisions_flush(d->decisions, id);
}

static void on_looked_up(void *ctx, const struct serve_request *r, enum kv_look answer,
                         const struct kv_found *found)
{
    const struct drive *d = ctx;
    decisions_looked_up(d->decisions, r, answer, found);
}

static void on_admitted(void *ctx, const struct serve_request *r, enum admission_kind kind,
                        const struct kv_found *found)
{
    const struct drive *d = ctx;
    decisions_admitted(d->decisions, r, kind, found);
}

static void on_refused(void *ctx, const struct serve_request *r, bool running)
{
    const struct drive *d = ctx;
    decisions_refused(d->decisions, r, running, d->ops->room_free(d->cache));
}

static void on_preempted(void *ctx, const struct serve_request *r)
{
    const struct drive *d = ctx;
    decisions_preempted(d->decisions, r);
}

static void on_output(void *ctx, const struct serve_request *r)
{
    const struct drive *d = ctx;
    decisions_output(d->decisions, r);
}

static void on_gone(void *ctx, struct serve_request *r)
{
    (void)ctx;
    (void)r;
}

/* ---- a step ---- */

/* The transfers of one side (with the GPU, or below it) that are due are done. */
static void finish_jobs(struct drive *d, bool gpu)
{
    for (uint64_t i = 0; i < d->jobs; i++) {
        const struct job j = d->job[i]; /* the cache may begin others, which moves the list */
        if (is_with_gpu(&j) != gpu || (gpu ? !j.reported : j.begun >= d->t))
            continue;
        if (!gpu)
            decisions_transfer_done(d->decisions, j.id);
        d->job[i].done = true;
        decisions_transfer_over(d->decisions, j.id);
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
        decisions_transfer_done(d->decisions, j->id);
    }
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
        decisions_step(d->decisions, &step, d->scheduler, d->ops->room_free(d->cache));
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
    decisions_end(d->decisions, d->below, d->ops->room_free(d->cache));
    return d->failed || decisions_failed(d->decisions) ? err_nomem(e, "a step") : 0;
}

/* Without an arrival there is a next step. */
static bool goes_on(const struct drive *d, const struct step *last)
{
    return scheduler_has_work(d->scheduler) || (d->async && last->number);
}

/* The next recorded step, held against what came out. 1; 0: it was another one; or a negative errno
 * with *e. */
static int compare_step(struct drive *d, struct jsonin_stream *in, struct err *e)
{
    const struct jsonin_v *line;
    const int rc = jsonin_stream_next(in, &line, e);
    int64_t t = -1;
    if (rc < 0)
        return rc;
    if (rc)
        jsonin_i64(jsonin_get(line, "t"), &t);
    d->o->steps++;
    if (t != d->t) {
        scenario_differs(d->o, "step %lld took place, the recording has step %lld", (long long)d->t,
                         (long long)t);
        return 0;
    }
    record_read(&d->recorded, line);
    record_compare(&d->recorded, decisions_line(d->decisions), d->t, d->o);
    return 1;
}

/* The same where there is no recording: it is written. */
static int write_step(struct drive *d, struct err *e)
{
    struct decision_line *l = decisions_line(d->decisions);
    const struct decision_text *text = decision_line_text(l, d->t, decisions_lone(d->decisions));
    if (!text)
        return err_nomem(e, "a step");
    d->o->steps++;
    fwrite(text->text, 1, text->len, d->written);
    return 1;
}

/* Steps until all rows are served. in: the recording; NULL: they are written. */
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
        decision_line_clear(decisions_line(d->decisions));
        for (; row < d->s->rows && d->s->row[row].timestamp <= d->t; row++) {
            decisions_arrived(d->decisions, &d->request[row].kv);
            if (scheduler_add(d->scheduler, &d->request[row]))
                return err_nomem(e, "a request");
        }
        rc = run_step(d, &last, e);
        if (!rc)
            rc = in ? compare_step(d, in, e) : write_step(d, e);
        if (rc <= 0)
            return rc;
        d->t++;
    }
    rc = in ? jsonin_stream_next(in, &line, e) : 0;
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

/* Opens the connector of config.json, below the cache that o describes. */
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

static int make_requests(struct drive *d, uint64_t id_tokens, struct err *e)
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
        q->kv.chain =
            (struct chain){.pieces = at, .count = scenario_pieces(s, i, id_tokens, true, at)};
        at += q->kv.chain.count;
        q->kv.prompt_tokens = r->input_tokens;
        q->kv.max_load_tokens = r->max_load_tokens;
        q->kv.max_offload_tokens = r->max_offload_tokens;
        q->output_tokens = r->output_tokens;
        q->priority = r->priority;
        const struct decisions_ids ids = {r->ids, r->id_count, id_tokens};
        if (decisions_name(d->decisions, &q->kv, &ids))
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
    const struct decisions_opts dopts = {.block_tokens = block_tokens,
                                         .groups = o.groups,
                                         .compact =
                                             !strcmp(scenario_text(s, "detail", "full"), "compact"),
                                         .connected = d->connected};
    d->decisions = decisions_create(&dopts);
    if (!d->decisions)
        return err_nomem(e, "names");
    rc = make_requests(d, scenario_u64(s, "tokens_per_hash_id", block_tokens), e);
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
    d.connected = jsonin_get(jsonin_root(s->config), "connector");
    d.load_steps = (int64_t)scenario_u64(s, "load_latency_steps", 1);
    d.store_steps = (int64_t)scenario_u64(s, "store_latency_steps", 1);
    int rc = open_engine(&d, e);
    if (!rc && s->writes)
        rc = scenario_create(s, "steps.jsonl", &d.written, e);
    if (!rc && !s->writes)
        rc = scenario_file(s, "steps.jsonl", &file, e);
    if (!rc && file)
        rc = jsonin_stream_open(&in, file, 1 << 26, e);
    if (!rc)
        rc = run_steps(&d, in, e);
    if (d.written && fclose(d.written) && !rc)
        rc = err_set(e, -EIO, ERR_OUTPUT, s->folder, "steps.jsonl cannot be written");
    jsonin_stream_close(in);
    frame_in_close(file);
    scheduler_free(d.scheduler);
    if (d.cache)
        d.ops->free(d.cache);
    decisions_free(d.decisions);
    decision_line_free(&d.recorded);
    free(d.job);
    free(d.pieces);
    free(d.request);
    return rc;
}
