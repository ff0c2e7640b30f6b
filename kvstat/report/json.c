/* The figures as JSON, under the names that kvstat(1) documents. Not known is null, never 0. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kvstat/count/reuse.h"
#include "kvstat/report/cells.h"
#include "kvstat/report/report.h"

/* {count, mean, min, p50 ... p9999, max, few_samples} with values divided by unit; null when empty.
 */
static void put_hist(struct jsonout *j, const char *key, const struct hist *h, double unit)
{
    if (!h || hist_count(h) == 0) {
        jsonout_null(j, key);
        return;
    }
    jsonout_object(j, key);
    jsonout_hist_members(j, h, unit);
    jsonout_array(j, "few_samples");
    for (unsigned i = 0; i < HIST_PERCENTILES; i++)
        if (!figures_supported(h, hist_percentiles[i].ppm))
            jsonout_text_value(j, NULL, hist_percentiles[i].name);
    jsonout_end(j);
    jsonout_end(j);
}

static void put_word(struct jsonout *j, const char *key, const char *text)
{
    jsonout_text_value(j, key, text && text[0] ? text : NULL);
}

static void put_user(struct jsonout *j, const struct trace_str *user)
{
    char text[1024];
    put_word(j, "user", cell_user(text, sizeof(text), user));
}

static void put_key(struct jsonout *j, const struct group_key *k, unsigned by)
{
    jsonout_object(j, "by");
    if (by & GROUPS_TIER)
        put_word(j, "tier", trace_tier_text(k->tier));
    if (by & GROUPS_OP)
        put_word(j, "op", trace_op_text(k->op));
    if (by & GROUPS_PHASE)
        put_word(j, "phase", trace_phase_text(k->phase));
    if (by & GROUPS_QOS)
        put_word(j, "qos", trace_qos_text(k->qos));
    if (by & GROUPS_CLASS)
        put_word(j, "class", trace_class_text(k->class));
    if (by & GROUPS_USER)
        put_user(j, &k->user);
    if (by & GROUPS_STATUS)
        put_word(j, "status", k->status == TRACE_NO_STATUS ? NULL : trace_status_text(k->status));
    jsonout_end(j);
}

/* What is counted and measured of a group, as members of the object that is open. */
static void put_group(struct jsonout *j, const struct figures *f, const struct group *g,
                      unsigned by)
{
    jsonout_u64(j, "ops", g->ops);
    jsonout_u64(j, "failed", g->failed);
    jsonout_u64(j, "bytes", g->bytes);
    jsonout_f64(j, "gib_per_s", figures_gib_per_s(f, g, by));
    put_hist(j, "size_bytes", g->metric[GROUP_SIZE], 1);
    put_hist(j, "service_us", g->metric[GROUP_SERVICE], 1e3);
    put_hist(j, "wait_us", g->metric[GROUP_WAIT], 1e3);
    put_hist(j, "response_us", g->metric[GROUP_RESPONSE], 1e3);
    put_hist(j, "device_us", g->metric[GROUP_DEVICE], 1e3);
}

static void put_groups(struct jsonout *j, const struct figures *f)
{
    struct groups *groups = agg_groups(f->scan->agg);
    unsigned by = groups_by(groups);
    size_t n = groups_sort(groups);
    jsonout_array(j, "groups");
    for (size_t i = 0; i < n; i++) {
        const struct group *g = groups_at(groups, i);
        jsonout_object(j, NULL);
        put_key(j, &g->key, by);
        put_group(j, f, g, by);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static void put_direction(struct jsonout *j, const struct figures *f, const char *name,
                          unsigned tier, enum trace_op op)
{
    const struct group *g = groups_find(agg_by_tier_op(f->scan->agg), (uint8_t)tier, (uint8_t)op);
    if (!g) {
        jsonout_null(j, name);
        return;
    }
    jsonout_object(j, name);
    put_group(j, f, g, GROUPS_TIER | GROUPS_OP);
    jsonout_end(j);
}

/* All phases together: the shape and names of kvreplay's summary. */
static void put_directions(struct jsonout *j, const struct figures *f)
{
    jsonout_array(j, "tiers");
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        if (!f->tier[t].used)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "tier", trace_tier_text(t));
        put_direction(j, f, "read", t, TRACE_READ);
        put_direction(j, f, "write", t, TRACE_WRITE);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static void put_phases(struct jsonout *j, const struct figures *f)
{
    struct groups *phases = agg_by_phase(f->scan->agg);
    size_t n = groups_sort(phases);
    jsonout_array(j, "phases");
    for (size_t i = 0; i < n; i++) {
        const struct group *g = groups_at(phases, i);
        if (g->key.phase == TRACE_NO_PHASE)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "phase", trace_phase_text(g->key.phase));
        put_group(j, f, g, GROUPS_PHASE);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static void put_known(struct jsonout *j, const char *key, int64_t v)
{
    if (v < 0)
        jsonout_null(j, key);
    else
        jsonout_i64(j, key, v);
}

static void put_run_tiers(struct jsonout *j, const struct run *r)
{
    jsonout_object(j, "capacities");
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        put_known(j, trace_tier_text(t), r->capacity_bytes[t]);
    jsonout_end(j);
    bool known = false;
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        known |= r->simulated[t] >= 0;
    if (!known) { /* a trace's run: nothing was executed */
        jsonout_null(j, "simulated");
        return;
    }
    jsonout_array(j, "simulated");
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        if (r->simulated[t] == 1)
            jsonout_text_value(j, NULL, trace_tier_text(t));
    jsonout_end(j);
}

static void put_kernel(struct jsonout *j, const struct run *r)
{
    if (r->device_read_bytes < 0 && r->device_write_bytes < 0 && isnan(r->page_cache_share)) {
        jsonout_null(j, "kernel");
        return;
    }
    jsonout_object(j, "kernel");
    put_known(j, "device_read_bytes", r->device_read_bytes);
    put_known(j, "device_write_bytes", r->device_write_bytes);
    jsonout_f64(j, "page_cache_resident_share", r->page_cache_share);
    jsonout_end(j);
}

static void put_autoscaling(struct jsonout *j, const struct run_autoscaling *a)
{
    if (!a->known) {
        jsonout_null(j, "autoscaling");
        return;
    }
    jsonout_object(j, "autoscaling");
    put_word(j, "mode", a->mode);
    put_known(j, "users", a->users);
    jsonout_f64(j, "throughput_tokens_per_s", a->tokens_per_s);
    put_word(j, "reason", a->reason);
    jsonout_end(j);
}

static void put_run(struct jsonout *j, const struct run *r)
{
    if (!r->known) {
        jsonout_null(j, "run");
        return;
    }
    jsonout_object(j, "run");
    if (r->seed_known)
        jsonout_u64(j, "seed", r->seed);
    else
        jsonout_null(j, "seed");
    put_word(j, "model", r->model);
    put_word(j, "digest", r->digest);
    put_known(j, "bytes_per_token", r->bytes_per_token);
    put_known(j, "users", r->users);
    put_known(j, "tensor_parallel", r->tensor_parallel);
    put_known(j, "num_gpus", r->num_gpus);
    put_word(j, "generation_mode", r->generation_mode);
    put_run_tiers(j, r);
    if (r->valid < 0)
        jsonout_null(j, "valid");
    else
        jsonout_bool(j, "valid", r->valid == 1);
    put_word(j, "why_invalid", r->why_invalid);
    put_kernel(j, r);
    put_autoscaling(j, &r->autoscaling);
    jsonout_end(j);
}

static void put_throughput(struct jsonout *j, const struct figures *f)
{
    jsonout_object(j, "throughput");
    jsonout_text_value(j, "clock", f->result ? "replay" : "simulated");
    jsonout_object(j, "wall");
    jsonout_f64(j, "generated_tokens", f->generated_tokens);
    jsonout_f64(j, "generated_tokens_per_s", f->generated_tokens_per_s);
    jsonout_f64(j, "bytes_per_s", f->bytes_per_s);
    jsonout_f64(j, "ops_per_s", f->ops_per_s);
    jsonout_end(j);
    jsonout_object(j, "storage");
    jsonout_f64(j, "generated_tokens_per_s", f->storage_tokens_per_s);
    jsonout_f64(j, "busy_s", f->busy_s);
    jsonout_end(j);
    jsonout_object(j, "tier2");
    jsonout_f64(j, "tokens_per_s", f->tier2_tokens_per_s);
    jsonout_end(j);
    jsonout_u64(j, "decode_bytes_read", f->totals->decode_bytes);
    jsonout_end(j);
}

static void put_bottleneck(struct jsonout *j, const struct figures *f)
{
    if (f->bottleneck < 0) {
        jsonout_null(j, "bottleneck");
        return;
    }
    jsonout_object(j, "bottleneck");
    jsonout_text_value(j, "what", figures_part_names[f->bottleneck]);
    jsonout_f64(j, "share", f->part_share[f->bottleneck]);
    jsonout_object(j, "shares");
    for (unsigned p = 0; p < REQUEST_PARTS; p++)
        jsonout_f64(j, figures_part_names[p], f->part_share[p]);
    jsonout_end(j);
    jsonout_end(j);
}

static void put_lookup(struct jsonout *j, const struct figures *f, unsigned i)
{
    jsonout_object(j, figures_lookup_names[i]);
    if (i == FIGURES_ALL || f->lookup[i].known) {
        jsonout_u64(j, "lookups", f->lookup[i].lookups);
        jsonout_u64(j, "hits", f->lookup[i].hits);
    } else {
        jsonout_null(j, "lookups");
        jsonout_null(j, "hits");
    }
    if (f->lookup[i].known)
        jsonout_u64(j, "misses", f->lookup[i].misses);
    else
        jsonout_null(j, "misses");
    jsonout_f64(j, "hit_rate", f->lookup[i].hit_rate);
    jsonout_end(j);
}

static void put_tier(struct jsonout *j, const struct figures *f, unsigned t)
{
    jsonout_object(j, NULL);
    jsonout_text_value(j, "tier", trace_tier_text(t));
    put_known(j, "capacity_bytes",
              isnan(f->tier[t].capacity_bytes) ? -1 : f->run->capacity_bytes[t]);
    jsonout_u64(j, "read_ops", f->tier[t].read_ops);
    jsonout_u64(j, "read_bytes", f->tier[t].read_bytes);
    jsonout_u64(j, "write_ops", f->tier[t].write_ops);
    jsonout_u64(j, "write_bytes", f->tier[t].write_bytes);
    jsonout_u64(j, "evict_ops", f->totals->evict_ops[t]);
    jsonout_u64(j, "offload_ops", f->totals->offload_ops[t]);
    jsonout_u64(j, "promote_ops", f->totals->promote_ops[t]);
    jsonout_u64(j, "delete_ops", f->tier[t].delete_ops);
    jsonout_i64(j, "peak_bytes", f->scan->occupancy.tier[t].peak_bytes);
    jsonout_i64(j, "peak_objects", f->scan->occupancy.tier[t].peak_objects);
    if (isnan(f->tier[t].final_bytes)) {
        jsonout_null(j, "final_bytes");
        jsonout_null(j, "final_objects");
    } else {
        jsonout_i64(j, "final_bytes", f->scan->occupancy.tier[t].bytes);
        jsonout_i64(j, "final_objects", f->scan->occupancy.tier[t].objects);
    }
    jsonout_end(j);
}

static void put_cache(struct jsonout *j, const struct figures *f)
{
    jsonout_object(j, "cache");
    jsonout_object(j, "lookups");
    for (unsigned i = 0; i < FIGURES_LOOKUPS; i++)
        put_lookup(j, f, i);
    jsonout_end(j);
    jsonout_f64(j, "read_write_ratio", f->read_write_ratio);
    jsonout_f64(j, "read_amplification", f->read_amplification);
    jsonout_array(j, "tiers");
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        if (f->tier[t].used)
            put_tier(j, f, t);
    jsonout_end(j);
    jsonout_end(j);
}

static void put_request_times(struct jsonout *j, struct hist *const metric[REQUESTS_METRICS])
{
    put_hist(j, "end_to_end_ms", metric[REQUESTS_END_TO_END], 1e6);
    put_hist(j, "queue_ms", metric[REQUESTS_QUEUE], 1e6);
    put_hist(j, "storage_ms", metric[REQUESTS_STORAGE], 1e6);
    put_hist(j, "generation_ms", metric[REQUESTS_GENERATION], 1e6);
}

static void put_sla(struct jsonout *j, const struct figures *f, unsigned q)
{
    static const char *const names[] = {"target_p95_ms", "target_p99_ms", "target_p999_ms",
                                        "target_p9999_ms"};
    uint64_t count = f->requests->qos[q].count;
    double share = (double)f->requests->qos[q].within_target / (double)count;
    if (f->requests->with_arrival < f->requests->count) {
        jsonout_null(j, "sla");
        return;
    }
    jsonout_object(j, "sla");
    for (unsigned i = 0; i < 4; i++)
        jsonout_f64(j, names[i], f->targets[q].ms[i]);
    jsonout_f64(j, "compliance", share);
    jsonout_bool(j, "met", share >= FIGURES_COMPLIANCE);
    jsonout_end(j);
}

static void put_by_qos(struct jsonout *j, const struct figures *f)
{
    jsonout_object(j, "by_qos");
    for (unsigned q = 0; q < TRACE_QOSES; q++) {
        if (f->requests->qos[q].count == 0) {
            jsonout_null(j, trace_qos_text(q));
            continue;
        }
        jsonout_object(j, trace_qos_text(q));
        jsonout_u64(j, "count", f->requests->qos[q].count);
        put_request_times(j, f->requests->qos[q].metric);
        put_sla(j, f, q);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static void put_requests(struct jsonout *j, const struct figures *f)
{
    if (!f->requests_known) {
        jsonout_null(j, "requests");
        return;
    }
    jsonout_object(j, "requests");
    jsonout_u64(j, "count", f->requests->count);
    jsonout_u64(j, "failed", f->requests->failed);
    jsonout_u64(j, "counted_in_parts", f->requests->cut);
    jsonout_text_value(j, "end_to_end_from", f->requests->with_arrival ? "arrival" : "first_start");
    jsonout_f64(j, "context_tokens_mean", f->context_tokens_mean);
    jsonout_f64(j, "generated_tokens_mean", f->generated_tokens_mean);
    put_request_times(j, f->requests->metric);
    put_by_qos(j, f);
    jsonout_end(j);
}

static void put_reuse(struct jsonout *j, const struct reuse *r)
{
    if (!r) {
        jsonout_null(j, "reuse");
        return;
    }
    jsonout_object(j, "reuse");
    jsonout_u64(j, "keys", r->keys);
    jsonout_u64(j, "bytes", r->bytes);
    jsonout_u64(j, "uses", r->uses);
    jsonout_u64(j, "reuses", r->reuses);
    put_hist(j, "distance_bytes", r->bytes_hist, 1);
    put_hist(j, "distance_objects", r->objects_hist, 1);
    put_hist(j, "time_s", r->time_ns, 1e9);
    jsonout_end(j);
}

static void put_rows(struct jsonout *j, const struct figures *f)
{
    const struct agg_totals *t = f->totals;
    jsonout_u64(j, "rows", t->rows);
    jsonout_bool(j, "cut", f->scan->cut);
    jsonout_u64(j, "bad_rows", f->scan->bad_rows);
    if (f->result && f->scan->columns & TRACE_BIT(TRACE_COL_STATUS)) {
        jsonout_object(j, "status");
        jsonout_u64(j, "ok", t->ok);
        jsonout_u64(j, "absent", t->absent);
        jsonout_u64(j, "corrupt", t->corrupt);
        jsonout_u64(j, "failed", t->failed);
        jsonout_end(j);
    } else {
        jsonout_null(j, "status");
    }
    if (f->result) {
        jsonout_object(j, "populated");
        jsonout_u64(j, "rows", t->populated_rows);
        jsonout_u64(j, "bytes", t->populated_bytes);
        jsonout_end(j);
        jsonout_object(j, "warmup");
        jsonout_f64(j, "seconds", (double)f->scan->warmup_ns / 1e9);
        jsonout_u64(j, "rows", t->warmup_rows);
        jsonout_end(j);
    } else {
        jsonout_null(j, "populated");
        jsonout_null(j, "warmup");
    }
}

void report_json(struct jsonout *j, const struct figures *f)
{
    jsonout_array(j, "files");
    for (size_t i = 0; i < f->file_count; i++)
        jsonout_text_value(j, NULL, f->files[i]);
    jsonout_end(j);
    jsonout_text_value(j, "kind", f->result ? "result" : "trace");
    jsonout_f64(j, "elapsed_s", f->elapsed_s);
    put_rows(j, f);
    put_run(j, f->run);
    put_throughput(j, f);
    put_bottleneck(j, f);
    put_groups(j, f);
    put_cache(j, f);
    put_requests(j, f);
    put_directions(j, f);
    put_phases(j, f);
    put_reuse(j, f->reuse);
    if (f->assess)
        report_assess_json(j, f->assess);
    else
        jsonout_null(j, "assessment");
    if (f->scan->series && !series_is_auto(f->scan->series))
        report_series_json(j, f);
    else
        jsonout_null(j, "series");
}
