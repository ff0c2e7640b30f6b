/* One of the last steps of kvstat: a replay's figures under the names, in the units and by the
 * definitions of the MLPerf Storage KV-cache benchmark. Its tools read a missing member as 0, so a
 * member is left out only where the benchmark leaves it out, or where the run does not tell it. */
#include "kvstat/mlperf/results.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/units.h"
#include "lib/trace/trace.h"

/* The benchmark's names of the tiers. */
static const char *const tiers[TRACE_TIERS] = {"gpu", "cpu", "storage"};
static const char *const ways[DIRECT_WAYS] = {"read", "write"};

/* ---- percentiles ---- */

/* The value with that number in the order of size, counted from 0. */
static double value_at(const struct hist *h, uint64_t number)
{
    int64_t low, high;
    uint64_t n, below = 0;
    for (size_t pos = 0; hist_next(h, &pos, &low, &high, &n);) {
        below += n;
        if (below <= number)
            continue;
        double middle = (double)low + (double)(high - low) / 2;
        return fmin(fmax(middle, (double)hist_min(h)), (double)hist_max(h));
    }
    return (double)hist_max(h);
}

/* The percentile q (0..1) by linear interpolation between order statistics, as numpy has it by
 * default: within 0.1 %. NAN when empty. */
static double percentile(const struct hist *h, double q)
{
    uint64_t n = h ? hist_count(h) : 0;
    if (n == 0)
        return NAN;
    double place = q * (double)(n - 1), whole = floor(place);
    double low = value_at(h, (uint64_t)whole);
    return place > whole ? low + (place - whole) * (value_at(h, (uint64_t)whole + 1) - low) : low;
}

static const struct {
    const char *name;
    double q;
} percentiles[] = {{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}, {"p9999", 0.9999}};
enum {
    PERCENTILES = sizeof(percentiles) / sizeof(percentiles[0]),
    QOS_PERCENTILES = 3
};

#define P95 0.95

static double p95_ms(const struct hist *h)
{
    return percentile(h, P95) / 1e6;
}

/* "storage_read_device_p95_ms" and the others; none of an empty distribution. what: "device_". */
static void put_times(struct jsonout *j, const char *prefix, const char *what, const struct hist *h)
{
    char name[64];
    for (size_t i = 0; h && hist_count(h) > 0 && i < PERCENTILES; i++) {
        snprintf(name, sizeof(name), "%s_%s%s_ms", prefix, what, percentiles[i].name);
        jsonout_f64(j, name, percentile(h, percentiles[i].q) / 1e6);
    }
}

/* Mean and percentiles of requests; all 0 where nothing was measured. */
static void put_latency(struct jsonout *j, const char *key, const struct hist *h)
{
    bool any = h && hist_count(h) > 0;
    jsonout_object(j, key);
    jsonout_f64(j, "mean", any ? hist_mean(h) / 1e6 : 0);
    for (size_t i = 0; i < PERCENTILES; i++)
        jsonout_f64(j, percentiles[i].name, any ? percentile(h, percentiles[i].q) / 1e6 : 0);
    jsonout_end(j);
}

/* ---- what the members are made of ---- */

struct source {
    const struct figures *f;
    const struct direct *direct;
    const struct requests_list *list;
    double elapsed_s, tokens, storage_s;
    double written[TRACE_TIERS], read[TRACE_TIERS]; /* bytes; demotions count as written */
    double hit_rate;
};

static double sum_s(const struct hist *h)
{
    return h ? hist_sum(h) / 1e9 : 0;
}

static double gib(double bytes)
{
    return bytes / (double)UNITS_GIB;
}

static double per_s(const struct source *s, double amount)
{
    return s->elapsed_s > 0 ? amount / s->elapsed_s : 0;
}

/* NAN: the rows do not tell. Requests of which none came to its end have generated nothing. */
static double generated_tokens(const struct figures *f)
{
    double tokens = figures_number(f, figure_id(FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS));
    bool nothing = figures_request_list(f)->count > 0 &&
                   figures_count(f, figure_id(FIGURE_OF_ROWS, FIGURE_GENERATE_ROWS)) == 0;
    return isnan(tokens) && nothing ? 0 : tokens;
}

bool mlperf_knows_tokens(const struct figures *f)
{
    return !isnan(generated_tokens(f));
}

static void gather(struct source *s, const struct figures *f)
{
    *s = (struct source){.f = f, .direct = figures_direct(f), .list = figures_request_list(f)};
    s->elapsed_s = figures_number(f, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED));
    s->tokens = generated_tokens(f);
    s->hit_rate = figures_number(f, figure_id(FIGURE_OF_LOOKUPS, FIGURE_HIT_RATE));
    s->storage_s = sum_s(s->list->storage);
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        s->read[t] = (double)s->direct->tier[t][DIRECT_READ].bytes;
        s->written[t] =
            (double)figures_count(f, figure_id_tier(FIGURE_OF_CACHE_TIER, t, FIGURE_WRITE_BYTES));
    }
}

static const struct hist *request_hist(const struct source *s, enum figure_what what)
{
    return figures_hist(s->f, figure_id(FIGURE_OF_REQUESTS, what));
}

static uint64_t tier_count(const struct source *s, unsigned tier, enum figure_what what)
{
    return figures_count(s->f, figure_id_tier(FIGURE_OF_CACHE_TIER, tier, what));
}

/* The bytes or objects that the tier held at the end. */
static int64_t tier_level(const struct source *s, unsigned tier, enum figure_what what)
{
    const struct figure *f = figures_find(s->f, figure_id_tier(FIGURE_OF_CACHE_TIER, tier, what));
    return f && f->form == FIGURE_FORM_SIGNED ? f->level : 0;
}

static uint64_t class_count(const struct source *s, unsigned class, enum figure_what what)
{
    struct figure_id id = figure_id_class(class);
    id.what = (uint16_t)what;
    return figures_count(s->f, id);
}

static uint64_t ops_of(const struct source *s, enum direct_way way)
{
    uint64_t ops = 0;
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        ops += s->direct->tier[t][way].ops;
    return ops;
}

/* ---- single requests ---- */

static void put_list(struct jsonout *j, const char *key, const struct requests_list *l,
                     enum requests_listed which, bool zeros)
{
    jsonout_array(j, key);
    for (size_t i = 0; i < l->count; i++) {
        int64_t ns = l->item[i].ns[which];
        if (ns != TRACE_NONE || zeros)
            jsonout_f64(j, NULL, ns == TRACE_NONE ? 0 : (double)ns / 1e9);
    }
    jsonout_end(j);
}

static void put_root(struct jsonout *j, const struct source *s)
{
    const struct hist *generation = request_hist(s, FIGURE_GENERATION);
    const struct figure *seed = figures_find(s->f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_SEED));
    jsonout_u64(j, "requests_completed", s->list->storage ? hist_count(s->list->storage) : 0);
    if (isfinite(s->tokens))
        jsonout_u64(j, "total_tokens_generated", (uint64_t)s->tokens);
    jsonout_f64(j, "total_storage_io_latency", s->storage_s);
    jsonout_f64(j, "total_generation_latency", sum_s(generation));
    put_list(j, "end_to_end_latencies", s->list, REQUESTS_LISTED_END_TO_END, true);
    put_list(j, "storage_latencies", s->list, REQUESTS_LISTED_STORAGE, true);
    put_list(j, "generation_latencies", s->list, REQUESTS_LISTED_GENERATION, true);
    jsonout_array(j, "throughput_timeline");
    jsonout_end(j);
    put_list(j, "prefill_latencies", s->list, REQUESTS_LISTED_PREFILL, false);
    put_list(j, "decode_latencies", s->list, REQUESTS_LISTED_DECODE, false);
    jsonout_u64(j, "multi_turn_cache_hits", class_count(s, TRACE_MULTI_TURN, FIGURE_HITS));
    jsonout_u64(j, "multi_turn_cache_misses", class_count(s, TRACE_MULTI_TURN, FIGURE_MISSES));
    if (seed && seed->form == FIGURE_FORM_UNSIGNED)
        jsonout_u64(j, "seed", seed->count);
}

/* ---- the benchmark's verdict ---- */

struct criterion {
    const char *name, *unit;
    double target, actual; /* actual NAN: nothing to judge */
    bool above;
};

static void put_health(struct jsonout *j, const struct source *s,
                       const struct verdict_limits *limits)
{
    const struct hist *const *write =
        (const struct hist *const *)s->direct->tier[TRACE_STORAGE][DIRECT_WRITE].time;
    const struct hist *const *read =
        (const struct hist *const *)s->direct->tier[TRACE_STORAGE][DIRECT_READ].time;
    const struct hist *cpu = s->direct->tier[TRACE_CPU][DIRECT_READ].time[DIRECT_SERVICE];
    char names[4][64];
    snprintf(names[0], sizeof(names[0]), "Storage Tier Write Device P95 < %gms",
             limits->write_p95_ms);
    snprintf(names[1], sizeof(names[1]), "Storage Tier Read Device P95 < %gms",
             limits->read_p95_ms);
    snprintf(names[2], sizeof(names[2]), "CPU RAM P95 < %gms", limits->cpu_p95_ms);
    snprintf(names[3], sizeof(names[3]), "Cache Hit Rate > %g%%", 100 * limits->hit_rate);
    const struct criterion all[] = {
        {names[0], "ms", limits->write_p95_ms, p95_ms(write[DIRECT_DEVICE]), false},
        {names[1], "ms", limits->read_p95_ms, p95_ms(read[DIRECT_DEVICE]), false},
        {names[2], "ms", limits->cpu_p95_ms, p95_ms(cpu), false},
        {names[3], "ratio", limits->hit_rate, s->hit_rate, true}};
    int64_t passed = 0, total = 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        total += isfinite(all[i].actual);
        passed += all[i].above ? all[i].actual > all[i].target : all[i].actual < all[i].target;
    }
    jsonout_object(j, "storage_health");
    jsonout_text_value(j, "overall_status", passed == total ? "PASS" : "FAIL");
    jsonout_array(j, "criteria");
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const struct criterion *c = &all[i];
        if (!isfinite(c->actual))
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "name", c->name);
        jsonout_f64(j, "target", c->target);
        jsonout_f64(j, "actual", c->actual);
        jsonout_text_value(j, "unit", c->unit);
        jsonout_bool(j, "passed", c->above ? c->actual > c->target : c->actual < c->target);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_i64(j, "passed_count", passed);
    jsonout_i64(j, "total_count", total);
    jsonout_end(j);
}

/* ---- the cache ---- */

/* One member for each tier: "tier_gpu_read_bandwidth_gbps". */
static void put_tiers(struct jsonout *j, const char *what, const double amount[TRACE_TIERS])
{
    char name[64];
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        snprintf(name, sizeof(name), "tier_%s_%s", tiers[t], what);
        jsonout_f64(j, name, gib(amount[t]));
    }
}

static void put_bandwidths(struct jsonout *j, const struct source *s)
{
    char name[64];
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        snprintf(name, sizeof(name), "tier_%s_read_bandwidth_gbps", tiers[t]);
        jsonout_f64(j, name, per_s(s, gib(s->read[t])));
        snprintf(name, sizeof(name), "tier_%s_write_bandwidth_gbps", tiers[t]);
        jsonout_f64(j, name, per_s(s, gib(s->written[t])));
    }
}

static void put_percentiles(struct jsonout *j, const struct source *s)
{
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        for (unsigned w = 0; w < DIRECT_WAYS; w++) {
            char prefix[32];
            snprintf(prefix, sizeof(prefix), "%s_%s", tiers[t], ways[w]);
            put_times(j, prefix, "", s->direct->tier[t][w].time[DIRECT_SERVICE]);
        }
    for (unsigned w = 0; w < DIRECT_WAYS; w++) {
        char prefix[32];
        snprintf(prefix, sizeof(prefix), "storage_%s", ways[w]);
        put_times(j, prefix, "device_", s->direct->tier[TRACE_STORAGE][w].time[DIRECT_DEVICE]);
        put_times(j, prefix, "host_", s->direct->tier[TRACE_STORAGE][w].time[DIRECT_HOST]);
    }
}

static void put_counts(struct jsonout *j, const struct source *s)
{
    jsonout_f64(j, "cache_hit_rate", isfinite(s->hit_rate) ? s->hit_rate : 0);
    jsonout_u64(j, "cache_hits", figures_count(s->f, figure_id(FIGURE_OF_LOOKUPS, FIGURE_HITS)));
    jsonout_u64(j, "cache_misses",
                figures_count(s->f, figure_id(FIGURE_OF_LOOKUPS, FIGURE_MISSES)));
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        char name[32];
        snprintf(name, sizeof(name), "%s_entries", tiers[t]);
        jsonout_i64(j, name, tier_level(s, t, FIGURE_FINAL_OBJECTS));
    }
    jsonout_f64(j, "gpu_memory_used_gb", gib((double)tier_level(s, TRACE_GPU, FIGURE_FINAL_BYTES)));
    jsonout_f64(j, "cpu_memory_used_gb", gib((double)tier_level(s, TRACE_CPU, FIGURE_FINAL_BYTES)));
    /* Objects that came to the tier, from requests or from above. */
    jsonout_u64(j, "offloads_cpu", tier_count(s, TRACE_CPU, FIGURE_WRITE_OPS));
    jsonout_u64(j, "offloads_storage", tier_count(s, TRACE_STORAGE, FIGURE_WRITE_OPS));
}

/* Tokens whose KV crossed the storage tier; where the size of one is not known, those that the rows
 * tell. */
static double storage_tokens(const struct source *s)
{
    double token_bytes =
        figures_number(s->f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_BYTES_PER_TOKEN));
    double told = figures_number(s->f, figure_id(FIGURE_OF_TIER2, FIGURE_TOKENS_PER_S));
    if (token_bytes > 0)
        return floor((s->read[TRACE_STORAGE] + s->written[TRACE_STORAGE]) / token_bytes);
    return isfinite(told) ? round(told * s->elapsed_s) : 0;
}

static void put_cache(struct jsonout *j, const struct source *s,
                      const struct verdict_limits *limits)
{
    double read = 0, written = 0;
    uint64_t write_ops = 0;
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        read += s->read[t];
        written += s->written[t];
        write_ops += tier_count(s, t, FIGURE_WRITE_OPS);
    }
    jsonout_object(j, "cache_stats");
    put_counts(j, s);
    put_health(j, s, limits);
    jsonout_u64(j, "prefill_writes", ops_of(s, DIRECT_WRITE));
    jsonout_u64(j, "decode_reads", ops_of(s, DIRECT_READ));
    put_tiers(j, "kv_bytes_written_gb", s->written);
    put_tiers(j, "kv_bytes_read_gb", s->read);
    put_bandwidths(j, s);
    jsonout_u64(j, "system_prompt_hits", class_count(s, TRACE_SYSTEM, FIGURE_HITS));
    jsonout_u64(j, "common_phrase_hits", class_count(s, TRACE_COMMON, FIGURE_HITS));
    jsonout_u64(j, "user_cache_hits", class_count(s, TRACE_USER, FIGURE_HITS));
    jsonout_u64(j, "multi_turn_hits", class_count(s, TRACE_MULTI_TURN, FIGURE_HITS));
    jsonout_u64(j, "total_read_bytes", (uint64_t)read);
    jsonout_u64(j, "total_write_bytes", (uint64_t)written);
    jsonout_f64(j, "total_read_gb", gib(read));
    jsonout_f64(j, "total_write_gb", gib(written));
    jsonout_f64(j, "read_write_ratio", written > 0 ? read / written : 0);
    jsonout_u64(j, "read_iops", ops_of(s, DIRECT_READ));
    jsonout_u64(j, "write_iops", write_ops);
    jsonout_f64(j, "storage_tokens_processed", storage_tokens(s));
    put_percentiles(j, s);
    jsonout_end(j);
}

/* ---- requests by class, shared prompts, turns ---- */

static void put_qos(struct jsonout *j, const struct source *s, unsigned qos)
{
    struct figure_id id = {.scope = FIGURE_OF_QOS, .by = GROUPS_QOS, .qos = (uint8_t)qos};
    id.what = FIGURE_END_TO_END;
    const struct hist *h = figures_hist(s->f, id);
    jsonout_object(j, trace_qos_text(qos));
    if (!h) {
        jsonout_bool(j, "no_data", true);
        jsonout_end(j);
        return;
    }
    jsonout_u64(j, "total_requests", hist_count(h));
    jsonout_object(j, "latency_ms");
    jsonout_f64(j, "mean", hist_mean(h) / 1e6);
    for (size_t i = 0; i < QOS_PERCENTILES; i++)
        jsonout_f64(j, percentiles[i].name, percentile(h, percentiles[i].q) / 1e6);
    jsonout_f64(j, "max", (double)hist_max(h) / 1e6);
    jsonout_end(j);
    id.scope = FIGURE_OF_TARGETS;
    id.what = FIGURE_TARGET_P95;
    double target = figures_number(s->f, id);
    if (isfinite(target)) { /* arrivals are known */
        jsonout_object(j, "sla");
        jsonout_f64(j, "target_p95_ms", target);
        jsonout_f64(j, "actual_p95_ms", p95_ms(h));
        id.what = FIGURE_COMPLIANCE;
        double share = figures_number(s->f, id);
        jsonout_f64(j, "compliance", share);
        jsonout_bool(j, "met", share >= FIGURES_COMPLIANCE);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static void put_prompts(struct jsonout *j, const struct source *s)
{
    uint64_t requests = s->list->storage ? hist_count(s->list->storage) : 0;
    uint64_t begun = class_count(s, TRACE_SYSTEM, FIGURE_LOOKUPS);
    jsonout_object(j, "prefix_cache_stats");
    jsonout_u64(j, "prefix_hits", begun);
    jsonout_u64(j, "prefix_misses", requests > begun ? requests - begun : 0);
    jsonout_u64(j, "system_prompt_reuse", begun);
    jsonout_u64(j, "common_phrase_reuse", class_count(s, TRACE_COMMON, FIGURE_LOOKUPS));
    jsonout_u64(j, "bytes_saved", s->direct->prefix_bytes);
    jsonout_end(j);
}

static void put_turns(struct jsonout *j, const struct source *s)
{
    uint64_t hits = class_count(s, TRACE_MULTI_TURN, FIGURE_HITS);
    uint64_t misses = class_count(s, TRACE_MULTI_TURN, FIGURE_MISSES);
    jsonout_object(j, "multi_turn_stats");
    jsonout_u64(j, "cache_hits", hits);
    jsonout_u64(j, "cache_misses", misses);
    jsonout_f64(j, "hit_rate",
                hits + misses > 0 ? (double)hits / ((double)hits + (double)misses) : 0);
    jsonout_end(j);
}

static void put_summary(struct jsonout *j, const struct source *s,
                        const struct verdict_limits *limits, const struct mlperf_rank *rank)
{
    uint64_t requests = s->list->storage ? hist_count(s->list->storage) : 0;
    jsonout_object(j, "summary");
    jsonout_u64(j, "total_requests", requests);
    if (isfinite(s->tokens))
        jsonout_u64(j, "total_tokens", (uint64_t)s->tokens);
    jsonout_f64(j, "elapsed_time", s->elapsed_s);
    if (isfinite(rank->tokens_per_s))
        jsonout_f64(j, "avg_throughput_tokens_per_sec", rank->tokens_per_s);
    jsonout_f64(j, "total_storage_io_time", s->storage_s);
    if (isfinite(rank->storage_tokens_per_s))
        jsonout_f64(j, "storage_throughput_tokens_per_sec", rank->storage_tokens_per_s);
    jsonout_f64(j, "requests_per_second", per_s(s, (double)requests));
    put_latency(j, "end_to_end_latency_ms", request_hist(s, FIGURE_END_TO_END));
    put_latency(j, "storage_io_latency_ms", s->list->storage);
    put_latency(j, "generation_latency_ms", request_hist(s, FIGURE_GENERATION));
    put_cache(j, s, limits);
    jsonout_object(j, "qos_metrics");
    for (unsigned qos = 0; qos < TRACE_QOSES; qos++)
        put_qos(j, s, qos);
    jsonout_end(j);
    put_prompts(j, s);
    jsonout_array(j, "autoscaling_stats");
    jsonout_end(j);
    jsonout_null(j, "autoscaling_summary"); /* null there, too, without autoscaling */
    put_turns(j, s);
    jsonout_end(j);
}

/* ---- members of our own ---- */

static void put_own(struct jsonout *j, const struct source *s)
{
    const struct figure_id valid = figure_id(FIGURE_OF_PROVENANCE, FIGURE_VALID);
    const struct figure_id device = figure_id_direction(TRACE_STORAGE, TRACE_WRITE, FIGURE_DEVICE);
    const struct hist *all_writes = figures_hist(s->f, device);
    size_t n;
    const char *const *why = figures_why_invalid(s->f, &n);
    jsonout_text_value(j, "note", "written by kvstat from a replay: not an official MLPerf result");
    if (figures_is(s->f, valid) || figures_is_not(s->f, valid))
        jsonout_bool(j, "valid", figures_is(s->f, valid));
    jsonout_array(j, "why_invalid");
    for (size_t i = 0; i < n; i++)
        jsonout_text_value(j, NULL, why[i]);
    jsonout_end(j);
    jsonout_object(j, "kvtrace");
    jsonout_object(j, "demotions");
    for (unsigned t = TRACE_CPU; t < TRACE_TIERS; t++) {
        const struct figure_id id = figure_id_tier(FIGURE_OF_CACHE_TIER, t, FIGURE_OFFLOAD_OPS);
        char name[64];
        snprintf(name, sizeof(name), "%s_write_ops", tiers[t]);
        jsonout_u64(j, name, figures_count(s->f, id));
        snprintf(name, sizeof(name), "%s_written_gb", tiers[t]);
        jsonout_f64(j, name, gib(s->written[t] - (double)s->direct->tier[t][DIRECT_WRITE].bytes));
    }
    jsonout_end(j);
    put_times(j, "storage_all_writes", "device_", all_writes);
    jsonout_u64(j, "listed_requests", s->list->count);
    jsonout_end(j);
}

bool mlperf_results(struct jsonout *j, const struct figures *f, const struct verdict_limits *limits,
                    struct mlperf_rank *rank)
{
    struct source s;
    if (!figures_is_result(f) || !figures_direct(f))
        return false;
    gather(&s, f);
    bool skipped = figures_is(f, figure_id(FIGURE_OF_WALL, FIGURE_GENERATION_SKIPPED));
    *rank = (struct mlperf_rank){
        .read_gbps = per_s(&s, gib(s.read[TRACE_STORAGE])),
        .write_gbps = per_s(&s, gib(s.written[TRACE_STORAGE])),
        .tokens_per_s = skipped || isnan(s.tokens) ? NAN : per_s(&s, s.tokens),
        .storage_tokens_per_s = s.storage_s > 0 ? s.tokens / s.storage_s : 0 * s.tokens,
        .request_p95_ms = p95_ms(s.list->storage),
        .read_p95_ms = p95_ms(s.direct->tier[TRACE_STORAGE][DIRECT_READ].time[DIRECT_SERVICE]),
        .read_device_p95_ms =
            p95_ms(s.direct->tier[TRACE_STORAGE][DIRECT_READ].time[DIRECT_DEVICE]),
        .write_device_p95_ms =
            p95_ms(s.direct->tier[TRACE_STORAGE][DIRECT_WRITE].time[DIRECT_DEVICE]),
        .cpu_tier =
            figures_number(f, figure_id_tier(FIGURE_OF_CAPACITY, TRACE_CPU, FIGURE_ITSELF)) > 0};
    put_root(j, &s);
    put_summary(j, &s, limits, rank);
    put_own(j, &s);
    return true;
}
