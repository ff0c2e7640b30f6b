/* One of the last steps of kvstat: a replay's figures under the names, in the units and by the
 * definitions of the MLPerf Storage KV-cache benchmark. Its tools read a missing member as 0, so a
 * member is left out only where the benchmark leaves it out, or where the run does not tell it. */
#include "kvstat/mlperf/results.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/units.h"
#include "lib/trace/trace.h"

/* Values that members need and that are no figures of kvstat. NAN: unknown. */
struct values {
    const struct figures *f;
    const struct verdict_limits *limits;
    struct direct direct;
    const struct hist *storage; /* direct time of requests */
    struct mlperf_rank rank;
    double requests, requests_per_s, tokens, storage_s, generation_s;
    double ops[DIRECT_WAYS], write_ops;                             /* direct; with demotions */
    double bytes[TRACE_TIERS][DIRECT_WAYS], all_bytes[DIRECT_WAYS]; /* demotions are written too */
    double gbps[TRACE_TIERS][DIRECT_WAYS], demoted_bytes[TRACE_TIERS];
    double read_write_ratio, storage_tokens, prefix_misses, prefix_bytes;
    double listed;
    struct {
        const struct hist *end_to_end;
        double none, requests, target_ms, p95_ms, compliance, met;
    } qos;
};

/* ---- the map ---- */

static void put_health(struct jsonout *j, const char *name, const void *values);
static void put_qos(struct jsonout *j, const char *name, const void *values);
static void put_why_invalid(struct jsonout *j, const char *name, const void *values);

#define AT(f, field)      .form = MAP_##f, .at = offsetof(struct values, field)
#define TIMES(t, w, part) AT(TIMES, direct.tier[TRACE_##t][DIRECT_##w].time[DIRECT_##part])
#define GIB               .unit = (double)UNITS_GIB
#define P95               (1 << FIGURE_P95)
#define LATENCY           (1 << FIGURE_MEAN | 1 << FIGURE_P50 | P95 | 1 << FIGURE_P99)

static const struct map_row of_cache[] = {
    {"cache_hit_rate", "cache.lookups.all.hit_rate", .form = MAP_NUMBER, .place = 7},
    {"cache_hits", "cache.lookups.all.hits", .form = MAP_WHOLE},
    {"cache_misses", "cache.lookups.all.misses", .form = MAP_WHOLE},
    {"gpu_entries", "cache.tiers.Tier-0.final_objects", .form = MAP_WHOLE},
    {"cpu_entries", "cache.tiers.Tier-1.final_objects", .form = MAP_WHOLE},
    {"storage_entries", "cache.tiers.Tier-2.final_objects", .form = MAP_WHOLE, .place = 10},
    {"gpu_memory_used_gb", "cache.tiers.Tier-0.final_bytes", .form = MAP_NUMBER, GIB},
    {"cpu_memory_used_gb", "cache.tiers.Tier-1.final_bytes", .form = MAP_NUMBER, GIB},
    /* Objects that came to the tier, from requests or from above. */
    {"offloads_cpu", "cache.tiers.Tier-1.write_ops", .form = MAP_WHOLE},
    {"offloads_storage", "cache.tiers.Tier-2.write_ops", .form = MAP_WHOLE},
    {"storage_health", NULL, .form = MAP_OWN, .put = put_health},
    {"prefill_writes", NULL, AT(WHOLE, ops[DIRECT_WRITE])},
    {"decode_reads", NULL, AT(WHOLE, ops[DIRECT_READ])},
    {"tier_gpu_kv_bytes_written_gb", NULL, AT(NUMBER, bytes[TRACE_GPU][DIRECT_WRITE]), GIB},
    {"tier_cpu_kv_bytes_written_gb", NULL, AT(NUMBER, bytes[TRACE_CPU][DIRECT_WRITE]), GIB},
    {"tier_storage_kv_bytes_written_gb", NULL, AT(NUMBER, bytes[TRACE_STORAGE][DIRECT_WRITE]), GIB},
    {"tier_gpu_kv_bytes_read_gb", NULL, AT(NUMBER, bytes[TRACE_GPU][DIRECT_READ]), GIB},
    {"tier_cpu_kv_bytes_read_gb", NULL, AT(NUMBER, bytes[TRACE_CPU][DIRECT_READ]), GIB},
    {"tier_storage_kv_bytes_read_gb", NULL, AT(NUMBER, bytes[TRACE_STORAGE][DIRECT_READ]), GIB},
    {"tier_gpu_read_bandwidth_gbps", NULL, AT(NUMBER, gbps[TRACE_GPU][DIRECT_READ])},
    {"tier_gpu_write_bandwidth_gbps", NULL, AT(NUMBER, gbps[TRACE_GPU][DIRECT_WRITE])},
    {"tier_cpu_read_bandwidth_gbps", NULL, AT(NUMBER, gbps[TRACE_CPU][DIRECT_READ])},
    {"tier_cpu_write_bandwidth_gbps", NULL, AT(NUMBER, gbps[TRACE_CPU][DIRECT_WRITE])},
    {"tier_storage_read_bandwidth_gbps", "tiers.Tier-2.read.gib_per_elapsed_s",
     AT(NUMBER, gbps[TRACE_STORAGE][DIRECT_READ]), .place = 14},
    {"tier_storage_write_bandwidth_gbps", "tiers.Tier-2.write.gib_per_elapsed_s",
     AT(NUMBER, gbps[TRACE_STORAGE][DIRECT_WRITE]), .place = 17},
    {"system_prompt_hits", "cache.lookups.system.hits", .form = MAP_WHOLE},
    {"common_phrase_hits", NULL, .form = MAP_WHOLE}, /* 0: kvstat counts no such class */
    {"user_cache_hits", "cache.lookups.user.hits", .form = MAP_WHOLE},
    {"multi_turn_hits", "cache.lookups.multi_turn.hits", .form = MAP_WHOLE},
    {"total_read_bytes", NULL, AT(WHOLE, all_bytes[DIRECT_READ])},
    {"total_write_bytes", NULL, AT(WHOLE, all_bytes[DIRECT_WRITE])},
    {"total_read_gb", "throughput.decode_bytes_read", AT(NUMBER, all_bytes[DIRECT_READ]), GIB,
     .place = 6},
    {"decode_bytes_read_gb", "throughput.decode_bytes_read", .form = MAP_READ, GIB, .place = 6},
    {"total_write_gb", NULL, AT(NUMBER, all_bytes[DIRECT_WRITE]), GIB},
    {"read_write_ratio", "cache.read_write_ratio", AT(NUMBER, read_write_ratio), .place = 9},
    {"read_iops", NULL, AT(WHOLE, ops[DIRECT_READ])},
    {"write_iops", NULL, AT(WHOLE, write_ops)},
    {"storage_tokens_processed", NULL, AT(NUMBER, storage_tokens)},
    {"gpu_read_*_ms", NULL, TIMES(GPU, READ, SERVICE)},
    {"gpu_write_*_ms", NULL, TIMES(GPU, WRITE, SERVICE)},
    {"cpu_read_*_ms", NULL, TIMES(CPU, READ, SERVICE)},
    {"cpu_write_*_ms", NULL, TIMES(CPU, WRITE, SERVICE)},
    {"storage_read_*_ms", "tiers.Tier-2.read.service_us", TIMES(STORAGE, READ, SERVICE),
     .place = 15},
    {"storage_write_*_ms", "tiers.Tier-2.write.service_us", TIMES(STORAGE, WRITE, SERVICE),
     .place = 18},
    {"storage_read_device_*_ms", "tiers.Tier-2.read.device_us", TIMES(STORAGE, READ, DEVICE),
     .place = 16},
    {"storage_read_host_*_ms", NULL, TIMES(STORAGE, READ, HOST)},
    {"storage_write_device_*_ms", "tiers.Tier-2.write.device_us", TIMES(STORAGE, WRITE, DEVICE),
     .place = 19},
    {"storage_write_host_*_ms", NULL, TIMES(STORAGE, WRITE, HOST)},
    {.name = NULL}};

static const struct map_row of_targets[] = {{"target_p95_ms", NULL, AT(NUMBER, qos.target_ms)},
                                            {"actual_p95_ms", NULL, AT(NUMBER, qos.p95_ms)},
                                            {"compliance", NULL, AT(NUMBER, qos.compliance)},
                                            {"met", NULL, AT(TRUTH, qos.met)},
                                            {.name = NULL}};

static const struct map_row of_qos[] = {
    {"no_data", NULL, AT(TRUTH, qos.none), .if_known = true},
    {"total_requests", NULL, AT(WHOLE, qos.requests), .if_known = true},
    {"latency_ms", NULL, AT(TIMES, qos.end_to_end), .if_known = true,
     .statistics = LATENCY | 1 << FIGURE_MAX},
    {"sla", NULL, AT(OBJECT, qos.target_ms), .in = of_targets}, /* arrivals are known */
    {.name = NULL}};

static const struct map_row of_prompts[] = {
    {"prefix_hits", "cache.lookups.system.lookups", .form = MAP_WHOLE},
    {"prefix_misses", NULL, AT(WHOLE, prefix_misses)},
    {"system_prompt_reuse", "cache.lookups.system.lookups", .form = MAP_WHOLE},
    {"common_phrase_reuse", NULL, .form = MAP_WHOLE}, /* likewise */
    {"bytes_saved", NULL, AT(WHOLE, prefix_bytes)},
    {.name = NULL}};

static const struct map_row of_turns[] = {
    {"cache_hits", "cache.lookups.multi_turn.hits", .form = MAP_WHOLE},
    {"cache_misses", "cache.lookups.multi_turn.misses", .form = MAP_WHOLE},
    {"hit_rate", "cache.lookups.multi_turn.hit_rate", .form = MAP_NUMBER, .place = 8},
    {.name = NULL}};

static const struct map_row of_summary[] = {
    {"total_requests", "requests.count", AT(WHOLE, requests), .place = 11},
    {"total_tokens", "throughput.wall.generated_tokens", AT(WHOLE, tokens), .if_known = true,
     .place = 2},
    {"elapsed_time", "elapsed_s", .form = MAP_NUMBER, .place = 1},
    {"avg_throughput_tokens_per_sec", "throughput.wall.generated_tokens_per_s",
     AT(NUMBER, rank.tokens_per_s), .if_known = true, .place = 3},
    {"total_storage_io_time", "throughput.storage.busy_s", AT(NUMBER, storage_s), .place = 5},
    {"storage_throughput_tokens_per_sec", "throughput.storage.generated_tokens_per_s",
     AT(NUMBER, rank.storage_tokens_per_s), .if_known = true, .place = 4},
    {"requests_per_second", NULL, AT(NUMBER, requests_per_s)},
    {"end_to_end_latency_ms", "requests.end_to_end_ms", .form = MAP_TIMES, .place = 12,
     .reads = LATENCY},
    {"storage_io_latency_ms", "requests.storage_ms", AT(TIMES, storage), .place = 13,
     .reads = 1 << FIGURE_MEAN | P95},
    {"generation_latency_ms", "requests.generation_ms", .form = MAP_TIMES},
    {"cache_stats", NULL, .form = MAP_OBJECT, .in = of_cache},
    {"qos_metrics", NULL, .form = MAP_OWN, .put = put_qos},
    {"prefix_cache_stats", NULL, .form = MAP_OBJECT, .in = of_prompts},
    {"autoscaling_stats", NULL, .form = MAP_LIST, .listed = REQUESTS_LISTED},
    {"autoscaling_summary", NULL, .form = MAP_TEXT}, /* null there, too, without autoscaling */
    {"multi_turn_stats", NULL, .form = MAP_OBJECT, .in = of_turns},
    {.name = NULL}};

static const struct map_row of_demotions[] = {
    {"cpu_write_ops", "cache.tiers.Tier-1.offload_ops", .form = MAP_WHOLE},
    {"cpu_written_gb", NULL, AT(NUMBER, demoted_bytes[TRACE_CPU]), GIB},
    {"storage_write_ops", "cache.tiers.Tier-2.offload_ops", .form = MAP_WHOLE},
    {"storage_written_gb", NULL, AT(NUMBER, demoted_bytes[TRACE_STORAGE]), GIB},
    {.name = NULL}};

static const struct map_row of_kvtrace[] = {
    {"demotions", NULL, .form = MAP_OBJECT, .in = of_demotions},
    {"storage_all_writes_device_*_ms", "tiers.Tier-2.write.device_us", .form = MAP_TIMES},
    {"listed_requests", NULL, AT(WHOLE, listed)},
    {.name = NULL}};

const struct map_row mlperf_results_map[] = {
    {"requests_completed", NULL, AT(WHOLE, requests)},
    {"total_tokens_generated", NULL, AT(WHOLE, tokens), .if_known = true},
    {"total_storage_io_latency", NULL, AT(NUMBER, storage_s)},
    {"total_generation_latency", NULL, AT(NUMBER, generation_s)},
    {"end_to_end_latencies", NULL, .form = MAP_LIST, .listed = REQUESTS_LISTED_END_TO_END},
    {"storage_latencies", NULL, .form = MAP_LIST, .listed = REQUESTS_LISTED_STORAGE},
    {"generation_latencies", NULL, .form = MAP_LIST, .listed = REQUESTS_LISTED_GENERATION},
    {"throughput_timeline", NULL, .form = MAP_LIST, .listed = REQUESTS_LISTED},
    {"prefill_latencies", NULL, .form = MAP_LIST, .listed = REQUESTS_LISTED_PREFILL,
     .if_known = true},
    {"decode_latencies", NULL, .form = MAP_LIST, .listed = REQUESTS_LISTED_DECODE,
     .if_known = true},
    {"multi_turn_cache_hits", "cache.lookups.multi_turn.hits", .form = MAP_WHOLE},
    {"multi_turn_cache_misses", "cache.lookups.multi_turn.misses", .form = MAP_WHOLE},
    {"seed", "run.seed", .form = MAP_WHOLE, .if_known = true},
    {"summary", NULL, .form = MAP_OBJECT, .in = of_summary},
    /* Members of our own. */
    {"note", NULL, .form = MAP_TEXT,
     .text = "written by kvstat from a replay: not an official MLPerf result"},
    {"valid", "run.valid", .form = MAP_TRUTH, .if_known = true, .place = 20},
    {"why_invalid", NULL, .form = MAP_OWN, .put = put_why_invalid},
    {"kvtrace", NULL, .form = MAP_OBJECT, .in = of_kvtrace},
    {.name = NULL}};

/* ---- what the members are made of ---- */

static double gib(double bytes)
{
    return bytes / (double)UNITS_GIB;
}

static double p95_ms(const struct hist *h)
{
    return map_percentile_ms(h, 0.95);
}

static double per_s(double amount, double seconds)
{
    return seconds > 0 ? amount / seconds : 0;
}

/* NAN: the rows do not tell. Requests of which none came to its end have generated nothing. */
static double generated_tokens(const struct figures *f)
{
    double tokens = figures_number_of(f, FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS);
    bool nothing = figures_request_list(f)->count > 0 &&
                   figures_count_of(f, FIGURE_OF_ROWS, FIGURE_GENERATE_ROWS) == 0;
    return isnan(tokens) && nothing ? 0 : tokens;
}

bool mlperf_knows_tokens(const struct figures *f)
{
    return !isnan(generated_tokens(f));
}

/* Tokens whose KV crossed the storage tier. Where the size of a token is not known, the tokens that
 * rows have. */
static double storage_tokens(const struct values *v, double elapsed_s)
{
    double token_bytes = figures_number_of(v->f, FIGURE_OF_PROVENANCE, FIGURE_BYTES_PER_TOKEN);
    double told = figures_number_of(v->f, FIGURE_OF_TIER2, FIGURE_TOKENS_PER_S);
    const double *bytes = v->bytes[TRACE_STORAGE];
    if (token_bytes > 0)
        return floor((bytes[DIRECT_READ] + bytes[DIRECT_WRITE]) / token_bytes);
    return isfinite(told) ? round(told * elapsed_s) : 0;
}

/* Sets the operations, bytes and bandwidths. */
static void gather_moves(struct values *v, double elapsed_s)
{
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        const struct figure_id ops = figure_id_tier(FIGURE_OF_CACHE_TIER, t, FIGURE_WRITE_OPS);
        const struct figure_id bytes = figure_id_tier(FIGURE_OF_CACHE_TIER, t, FIGURE_WRITE_BYTES);
        v->write_ops += (double)figures_count(v->f, ops);
        v->bytes[t][DIRECT_READ] = (double)v->direct.tier[t][DIRECT_READ].bytes;
        v->bytes[t][DIRECT_WRITE] = (double)figures_count(v->f, bytes);
        v->demoted_bytes[t] =
            v->bytes[t][DIRECT_WRITE] - (double)v->direct.tier[t][DIRECT_WRITE].bytes;
        for (unsigned w = 0; w < DIRECT_WAYS; w++) {
            v->ops[w] += (double)v->direct.tier[t][w].ops;
            v->all_bytes[w] += v->bytes[t][w];
            v->gbps[t][w] = per_s(gib(v->bytes[t][w]), elapsed_s);
        }
    }
    v->read_write_ratio =
        v->all_bytes[DIRECT_WRITE] > 0 ? v->all_bytes[DIRECT_READ] / v->all_bytes[DIRECT_WRITE] : 0;
    v->storage_tokens = storage_tokens(v, elapsed_s);
}

static void gather_rank(struct values *v, double elapsed_s)
{
    bool skipped = figures_is(v->f, figure_id(FIGURE_OF_WALL, FIGURE_GENERATION_SKIPPED));
    struct hist *const *read = v->direct.tier[TRACE_STORAGE][DIRECT_READ].time;
    v->rank = (struct mlperf_rank){
        .read_gbps = v->gbps[TRACE_STORAGE][DIRECT_READ],
        .write_gbps = v->gbps[TRACE_STORAGE][DIRECT_WRITE],
        .tokens_per_s = skipped || isnan(v->tokens) ? NAN : per_s(v->tokens, elapsed_s),
        .storage_tokens_per_s = v->storage_s > 0 ? v->tokens / v->storage_s : 0 * v->tokens,
        .request_p95_ms = p95_ms(v->storage),
        .read_p95_ms = p95_ms(read[DIRECT_SERVICE]),
        .read_device_p95_ms = p95_ms(read[DIRECT_DEVICE]),
        .write_device_p95_ms =
            p95_ms(v->direct.tier[TRACE_STORAGE][DIRECT_WRITE].time[DIRECT_DEVICE]),
        .cpu_tier =
            figures_number(v->f, figure_id_tier(FIGURE_OF_CAPACITY, TRACE_CPU, FIGURE_ITSELF)) > 0};
}

static void gather(struct values *v)
{
    const struct requests_list *list = figures_request_list(v->f);
    const struct hist *generation =
        figures_hist(v->f, figure_id(FIGURE_OF_REQUESTS, FIGURE_GENERATION));
    double elapsed_s = figures_number_of(v->f, FIGURE_OF_RUN, FIGURE_ELAPSED);
    struct figure_id begun = figure_id_class(TRACE_SYSTEM);
    begun.what = FIGURE_LOOKUPS;
    v->direct = *figures_direct(v->f);
    v->storage = list->storage;
    v->requests = list->storage ? (double)hist_count(list->storage) : 0;
    v->requests_per_s = per_s(v->requests, elapsed_s);
    v->tokens = generated_tokens(v->f);
    v->storage_s = list->storage ? hist_sum(list->storage) / 1e9 : 0;
    v->generation_s = generation ? hist_sum(generation) / 1e9 : 0;
    v->prefix_misses = fmax(v->requests - (double)figures_count(v->f, begun), 0);
    v->prefix_bytes = (double)v->direct.prefix_bytes;
    v->listed = (double)list->count;
    gather_moves(v, elapsed_s);
    gather_rank(v, elapsed_s);
}

/* ---- the benchmark's verdict ---- */

static void put_health(struct jsonout *j, const char *name, const void *values)
{
    const struct values *v = values;
    const struct verdict_limits *l = v->limits;
    const struct hist *cpu = v->direct.tier[TRACE_CPU][DIRECT_READ].time[DIRECT_SERVICE];
    double hit_rate = figures_number_of(v->f, FIGURE_OF_LOOKUPS, FIGURE_HIT_RATE);
    const struct {
        const char *what, *unit;
        double target, actual; /* actual NAN: nothing to judge */
        bool above;
    } all[] = {
        {"Storage Tier Write Device P95 <", "ms", l->write_p95_ms, v->rank.write_device_p95_ms,
         false},
        {"Storage Tier Read Device P95 <", "ms", l->read_p95_ms, v->rank.read_device_p95_ms, false},
        {"CPU RAM P95 <", "ms", l->cpu_p95_ms, p95_ms(cpu), false},
        {"Cache Hit Rate >", "ratio", l->hit_rate, hit_rate, true}};
    enum {
        CRITERIA = sizeof(all) / sizeof(all[0])
    };
    bool met[CRITERIA];
    int64_t passed = 0, total = 0;
    for (int i = 0; i < CRITERIA; i++) {
        met[i] = all[i].above ? all[i].actual > all[i].target : all[i].actual < all[i].target;
        total += isfinite(all[i].actual);
        passed += met[i];
    }
    jsonout_object(j, name);
    jsonout_text_value(j, "overall_status", passed == total ? "PASS" : "FAIL");
    jsonout_array(j, "criteria");
    for (int i = 0; i < CRITERIA; i++) {
        char text[64];
        if (!isfinite(all[i].actual))
            continue;
        snprintf(text, sizeof(text), "%s %g%s", all[i].what,
                 all[i].target * (all[i].above ? 100 : 1), all[i].above ? "%" : "ms");
        jsonout_object(j, NULL);
        jsonout_text_value(j, "name", text);
        jsonout_f64(j, "target", all[i].target);
        jsonout_f64(j, "actual", all[i].actual);
        jsonout_text_value(j, "unit", all[i].unit);
        jsonout_bool(j, "passed", met[i]);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_i64(j, "passed_count", passed);
    jsonout_i64(j, "total_count", total);
    jsonout_end(j);
}

/* ---- requests by class ---- */

static void gather_qos(struct values *v, unsigned qos)
{
    struct figure_id id = {
        .scope = FIGURE_OF_QOS, .by = GROUPS_QOS, .qos = (uint8_t)qos, .what = FIGURE_END_TO_END};
    const struct hist *h = figures_hist(v->f, id);
    v->qos.end_to_end = h;
    v->qos.none = h ? NAN : 1;
    v->qos.requests = h ? (double)hist_count(h) : NAN;
    v->qos.p95_ms = p95_ms(h);
    id.scope = FIGURE_OF_TARGETS;
    id.what = FIGURE_TARGET_P95;
    v->qos.target_ms = h ? figures_number(v->f, id) : NAN;
    id.what = FIGURE_COMPLIANCE;
    v->qos.compliance = figures_number(v->f, id);
    v->qos.met = v->qos.compliance >= FIGURES_COMPLIANCE;
}

static void put_qos(struct jsonout *j, const char *name, const void *values)
{
    struct values v = *(const struct values *)values;
    jsonout_object(j, name);
    for (unsigned qos = 0; qos < TRACE_QOSES; qos++) {
        gather_qos(&v, qos);
        jsonout_object(j, trace_qos_text(qos));
        map_put(j, of_qos, &v);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static void put_why_invalid(struct jsonout *j, const char *name, const void *values)
{
    const struct values *v = values;
    size_t n;
    const char *const *why = figures_why_invalid(v->f, &n);
    jsonout_array(j, name);
    for (size_t i = 0; i < n; i++)
        jsonout_text_value(j, NULL, why[i]);
    jsonout_end(j);
}

bool mlperf_results(struct jsonout *j, const struct figures *f, const struct verdict_limits *limits,
                    struct mlperf_rank *rank)
{
    struct values v = {.f = f, .limits = limits};
    if (!figures_is_result(f) || !figures_direct(f))
        return false;
    gather(&v);
    *rank = v.rank;
    map_put(j, mlperf_results_map, &v);
    return true;
}
