/* Beside scan: where runs come from that were reported before. A table for each kind of document
 * says which of its members are which of kvstat's figures; kvtrace's own documents have their
 * members in kvstat's form and give the others too. */
#include "kvstat/document.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/jsonin.h"
#include "lib/trace/frame.h"

#define DOCUMENT_BYTES_MAX ((size_t)256 << 20)
#define GIB                1073741824.0

/* A figure, the member that it is, and what a member's unit is worth. The first row that is there
 * counts. */
struct same {
    const char *figure, *member;
    double unit;
};

/* kv-cache.py's results, mid-2026: `gb` and `gbps` there are powers of two. */
static const struct same of_mlperf[] = {
    {"elapsed_s", "summary.elapsed_time", 1},
    {"throughput.wall.generated_tokens", "summary.total_tokens", 1},
    {"throughput.wall.generated_tokens_per_s", "summary.avg_throughput_tokens_per_sec", 1},
    {"throughput.storage.generated_tokens_per_s", "summary.storage_throughput_tokens_per_sec", 1},
    {"throughput.storage.busy_s", "summary.total_storage_io_time", 1},
    {"throughput.decode_bytes_read", "summary.cache_stats.decode_bytes_read_gb", GIB},
    {"cache.lookups.all.hit_rate", "summary.cache_stats.cache_hit_rate", 1},
    {"cache.lookups.multi_turn.hit_rate", "summary.multi_turn_stats.hit_rate", 1},
    {"cache.read_write_ratio", "summary.cache_stats.read_write_ratio", 1},
    {"cache.tiers.Tier-2.final_objects", "summary.cache_stats.storage_entries", 1},
    {"requests.count", "summary.total_requests", 1},
    {"requests.end_to_end_ms.mean", "summary.end_to_end_latency_ms.mean", 1},
    {"requests.end_to_end_ms.p50", "summary.end_to_end_latency_ms.p50", 1},
    {"requests.end_to_end_ms.p95", "summary.end_to_end_latency_ms.p95", 1},
    {"requests.end_to_end_ms.p99", "summary.end_to_end_latency_ms.p99", 1},
    {"requests.storage_ms.mean", "summary.storage_io_latency_ms.mean", 1},
    {"requests.storage_ms.p95", "summary.storage_io_latency_ms.p95", 1},
    {"tiers.Tier-2.read.gib_per_s", "summary.cache_stats.tier_storage_read_bandwidth_gbps", 1},
    {"tiers.Tier-2.read.service_us.p95", "summary.cache_stats.storage_read_p95_ms", 1e3},
    {"tiers.Tier-2.read.device_us.p95", "summary.cache_stats.storage_read_device_p95_ms", 1e3},
    {"tiers.Tier-2.write.gib_per_s", "summary.cache_stats.tier_storage_write_bandwidth_gbps", 1},
    {"tiers.Tier-2.write.service_us.p95", "summary.cache_stats.storage_write_p95_ms", 1e3},
    {"tiers.Tier-2.write.device_us.p95", "summary.cache_stats.storage_write_device_p95_ms", 1e3},
    {NULL, NULL, 0}};

/* One seed of a measured run of that benchmark in trace mode. */
static const struct same of_sample[] = {
    {"rows", "rows", 1},
    {"throughput.wall.generated_tokens", "tokens_generated", 1},
    {"cache.lookups.all.hit_rate", "cache_hit_rate", 1},
    {"cache.lookups.multi_turn.hit_rate", "multi_turn_hit_rate", 1},
    {"requests.count", "requests_completed", 1},
    {"requests.context_tokens_mean", "prefill_write_tokens.mean", 1},
    {"requests.end_to_end_ms.mean", "end_to_end_ms.mean", 1},
    {"requests.end_to_end_ms.p50", "end_to_end_ms.p50", 1},
    {"requests.end_to_end_ms.p95", "end_to_end_ms.p95", 1},
    {NULL, NULL, 0}};

/* vLLM's `bench serve` (benchmark_serving.py) and SGLang's bench_serving.py, which has other names
 * for end-to-end latency. */
static const struct same of_engine[] = {
    {"elapsed_s", "duration", 1},
    {"throughput.wall.generated_tokens", "total_output_tokens", 1},
    {"throughput.wall.generated_tokens_per_s", "output_throughput", 1},
    {"requests.count", "completed", 1},
    {"requests.end_to_end_ms.mean", "mean_e2el_ms", 1},
    {"requests.end_to_end_ms.mean", "mean_e2e_latency_ms", 1},
    {"requests.end_to_end_ms.p50", "median_e2el_ms", 1},
    {"requests.end_to_end_ms.p50", "median_e2e_latency_ms", 1},
    {"requests.end_to_end_ms.p95", "p95_e2el_ms", 1},
    {"requests.end_to_end_ms.p95", "p95_e2e_latency_ms", 1},
    {"requests.end_to_end_ms.p99", "p99_e2el_ms", 1},
    {"requests.end_to_end_ms.p99", "p99_e2e_latency_ms", 1},
    {NULL, NULL, 0}};

static const struct same of_kvgen[] = {
    {"elapsed_s", "trace.simulated_s", 1},
    {"cache.lookups.all.hit_rate", "lookups.all.hit_rate", 1},
    {"cache.lookups.multi_turn.hit_rate", "lookups.multi_turn.hit_rate", 1},
    {"requests.count", "requests.served", 1},
    {NULL, NULL, 0}};

static const struct same of_kvprecond[] = {
    {"tiers.Tier-2.write.gib_per_s", "gib_per_s", 1},
    {"tiers.Tier-2.write.service_us.p95", "service_us.p95", 1},
    {NULL, NULL, 0}};

static const struct same of_none[] = {{NULL, NULL, 0}};

struct reading {
    const struct document_sink *sink;
    char name[320]; /* of the run */
};

static int put_text(const struct reading *r, const char *figure, const char *text)
{
    const struct json_leaf leaf = {figure, text, JSON_LEAF_TEXT, NAN};
    return r->sink->leaf(r->sink->arg, &leaf);
}

/* What is not known is left out. */
static int put_number(const struct reading *r, const char *figure, double v)
{
    char text[JSON_LEAF_NUMBER_LEN];
    if (!isfinite(v))
        return 0;
    json_leaf_format_number(text, v);
    const struct json_leaf leaf = {figure, text, JSON_LEAF_NUMBER, v};
    return r->sink->leaf(r->sink->arg, &leaf);
}

static double number(const struct jsonin_v *v, const char *member)
{
    double n = NAN;
    jsonin_f64(jsonin_get(v, member), &n);
    return n;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static int begin(const struct reading *r, const char *kind)
{
    int rc = put_text(r, "run", r->name);
    return rc < 0 ? rc : put_text(r, "kind", kind);
}

static int put_same(const struct reading *r, const struct jsonin_v *v, const struct same *table)
{
    int rc = 0;
    for (; table->figure && rc == 0; table++)
        rc = put_number(r, table->figure, number(v, table->member) * table->unit);
    return rc;
}

static int put_token_means(const struct reading *r, double context, double generated,
                           double requests)
{
    int rc = put_number(r, "requests.context_tokens_mean", ratio(context, requests));
    return rc < 0 ? rc
                  : put_number(r, "requests.generated_tokens_mean", ratio(generated, requests));
}

static int put_rate(const struct reading *r, double tokens, double seconds)
{
    return put_number(r, "throughput.wall.generated_tokens_per_s", ratio(tokens, seconds));
}

/* ---- the kinds ---- */

static int read_mlperf(const struct reading *r, const struct jsonin_v *v)
{
    int rc = begin(r, "mlperf");
    if (rc == 0)
        rc = put_same(r, v, of_mlperf);
    return rc < 0 ? rc
                  : put_token_means(r, NAN, number(v, "summary.total_tokens"),
                                    number(v, "summary.total_requests"));
}

static int read_engine(const struct reading *r, const struct jsonin_v *v)
{
    int rc = begin(r, "engine");
    if (rc == 0)
        rc = put_same(r, v, of_engine);
    return rc < 0 ? rc
                  : put_token_means(r, number(v, "total_input_tokens"),
                                    number(v, "total_output_tokens"), number(v, "completed"));
}

/* Members are named OPERATION/TIER/PHASE. */
static double sum_of(const struct jsonin_v *object, const char *operation)
{
    const char *key = NULL;
    double sum = 0, v;
    size_t len = strlen(operation);
    for (size_t i = 0;; i++, key = NULL) {
        const struct jsonin_v *member = jsonin_member(object, i, &key);
        if (!key)
            return sum;
        if (strncmp(key, operation, len) == 0 && key[len] == '/' && jsonin_f64(member, &v) == 0)
            sum += v;
    }
}

static int read_sample(const struct reading *r, const struct jsonin_v *v, double seconds)
{
    const struct jsonin_v *bytes = jsonin_get(v, "bytes_by_op_tier_phase");
    double generated = number(v, "tokens_generated");
    int rc = begin(r, "mlperf");
    if (rc == 0)
        rc = put_number(r, "elapsed_s", seconds);
    if (rc == 0)
        rc = put_same(r, v, of_sample);
    if (rc == 0)
        rc = put_rate(r, generated, seconds);
    if (rc == 0)
        rc = put_number(r, "cache.read_write_ratio",
                        ratio(sum_of(bytes, "Read"), sum_of(bytes, "Write")));
    return rc < 0 ? rc : put_token_means(r, NAN, generated, number(v, "requests_completed"));
}

/* Each seed is a run; how long they lasted stands in the arguments only. */
static int read_samples(struct reading *r, const struct jsonin_v *root)
{
    const struct jsonin_v *seeds = jsonin_get(root, "seeds");
    const char *arguments = jsonin_text(jsonin_get(root, "arguments"), NULL);
    const char *duration = arguments ? strstr(arguments, "--duration ") : NULL;
    double seconds = duration ? strtod(duration + strlen("--duration "), NULL) : NAN;
    size_t len = strlen(r->name);
    int rc = 0;
    for (size_t i = 0; rc == 0; i++) {
        const char *seed = NULL;
        const struct jsonin_v *v = jsonin_member(seeds, i, &seed);
        if (!seed)
            break;
        snprintf(r->name + len, sizeof(r->name) - len, " seed %s", seed);
        rc = read_sample(r, v, seconds);
        if (rc == 0)
            rc = r->sink->end(r->sink->arg);
    }
    return rc;
}

/* What says which program ran where and when, and not how. */
static int own_leaf(void *arg, const struct json_leaf *leaf)
{
    static const char *const identity[] = {"program", "version", "command", "started"};
    const struct reading *r = arg;
    for (size_t i = 0; i < sizeof(identity) / sizeof(identity[0]); i++)
        if (strcmp(leaf->path, identity[i]) == 0)
            return 0;
    if (strncmp(leaf->path, "host.", 5) == 0 || strncmp(leaf->path, "series.", 7) == 0)
        return 0;
    return r->sink->leaf(r->sink->arg, leaf);
}

static double bytes_of(const struct jsonin_v *rows_by, const char *op)
{
    double sum = 0;
    for (size_t i = 0; i < jsonin_count(rows_by); i++) {
        const struct jsonin_v *v = jsonin_at(rows_by, i);
        const char *its = jsonin_text(jsonin_get(v, "op"), NULL);
        if (its && strcmp(its, op) == 0)
            sum += number(v, "bytes");
    }
    return sum;
}

static int derive_kvgen(const struct reading *r, const struct jsonin_v *v)
{
    const struct jsonin_v *rows = jsonin_get(v, "rows_by");
    /* Counted when they are done, in a trace when they begin. */
    bool all_done = number(v, "requests.completed") == number(v, "requests.served");
    double generated = all_done ? number(v, "requests.generated_tokens") : NAN;
    int rc = put_number(r, "throughput.wall.generated_tokens", generated);
    if (rc == 0)
        rc = put_rate(r, generated, number(v, "trace.simulated_s"));
    if (rc == 0)
        rc = put_number(r, "requests.context_tokens_mean",
                        ratio(number(v, "requests.context_tokens"), number(v, "requests.served")));
    if (rc == 0)
        rc = put_number(r, "requests.generated_tokens_mean",
                        ratio(generated, number(v, "requests.completed")));
    return rc < 0 ? rc
                  : put_number(r, "cache.read_write_ratio",
                               ratio(bytes_of(rows, "Read"), bytes_of(rows, "Write")));
}

static int read_own(struct reading *r, const struct jsonin_v *v, const char *program)
{
    bool kvgen = strcmp(program, "kvgen") == 0;
    int rc = begin(r, program);
    if (rc == 0)
        rc = put_same(r, v,
                      kvgen                               ? of_kvgen
                      : strcmp(program, "kvprecond") == 0 ? of_kvprecond
                                                          : of_none);
    if (rc == 0 && kvgen)
        rc = derive_kvgen(r, v);
    return rc < 0 ? rc : json_leaves_walk(v, own_leaf, r);
}

/* kvstat's own: its kind stands among its members. */
static int read_report(struct reading *r, const struct jsonin_v *v)
{
    const char *name = jsonin_text(jsonin_get(v, "run"), NULL);
    int rc = put_text(r, "run", name ? name : r->name);
    if (rc == 0)
        rc = json_leaves_walk(v, own_leaf, r);
    return rc < 0 ? rc : r->sink->end(r->sink->arg);
}

static int read_reports(struct reading *r, const struct jsonin_v *list)
{
    size_t len = strlen(r->name);
    int rc = 0;
    for (size_t i = 0; i < jsonin_count(list) && rc == 0; i++) {
        snprintf(r->name + len, sizeof(r->name) - len, " %zu", i + 1);
        rc = read_report(r, jsonin_at(list, i));
    }
    return rc;
}

/* ---- which it is ---- */

static bool is_member(const struct jsonin_v *v, const char *const *members, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!jsonin_get(v, members[i]))
            return false;
    return true;
}

#define HAS(v, ...)                                                                                \
    is_member(v, (const char *const[]){__VA_ARGS__},                                               \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static int end_run(const struct reading *r, int rc)
{
    return rc < 0 ? rc : r->sink->end(r->sink->arg);
}

/* 1: it is none of these. */
static int read_root(struct reading *r, const struct jsonin_v *v)
{
    static const char *const programs[] = {"kvgen", "kvreplay", "kvprecond"};
    const char *program = jsonin_text(jsonin_get(v, "program"), NULL);
    if (program && strcmp(program, "kvstat") == 0) {
        if (jsonin_get(v, "reports"))
            return read_reports(r, jsonin_get(v, "reports"));
        if (jsonin_get(v, "runs"))
            return read_reports(r, jsonin_get(v, "runs"));
        return HAS(v, "files", "throughput") ? read_report(r, v) : 1;
    }
    for (size_t i = 0; program && i < sizeof(programs) / sizeof(programs[0]); i++)
        if (strcmp(program, programs[i]) == 0)
            return end_run(r, read_own(r, v, programs[i]));
    if (HAS(v, "summary.avg_throughput_tokens_per_sec"))
        return end_run(r, read_mlperf(r, v));
    if (HAS(v, "config", "seeds"))
        return read_samples(r, v);
    if (HAS(v, "duration", "completed", "total_output_tokens"))
        return end_run(r, read_engine(r, v));
    return 1;
}

static int failed(const char *where, int rc, struct err *e)
{
    if (rc == 1)
        return err_set(e, -ENOTSUP, ERR_INPUT, where,
                       "is JSON, but no report, summary or benchmark result that kvstat knows");
    return rc == -ENOMEM ? err_nomem(e, "figures of runs") : rc;
}

static int read_lines(const char *path, const struct document_sink *sink, struct err *e)
{
    struct jsonin_stream *s = NULL;
    struct frame_in *in = NULL;
    const struct jsonin_v *v;
    int rc = frame_in_open(&in, path, NULL, e);
    if (rc == 0)
        rc = jsonin_stream_open(&s, in, DOCUMENT_BYTES_MAX, e);
    while (rc == 0 && (rc = jsonin_stream_next(s, &v, e)) == 1) {
        struct reading r = {.sink = sink};
        snprintf(r.name, sizeof(r.name), "%s:%llu", path,
                 (unsigned long long)jsonin_stream_line(s));
        rc = failed(r.name, read_root(&r, v), e);
    }
    jsonin_stream_close(s);
    frame_in_close(in);
    return rc;
}

int document_read(const char *path, const struct document_sink *sink, struct err *e)
{
    struct reading r = {.sink = sink};
    struct jsonin *doc = NULL;
    size_t len = strlen(path);
    if (len > 6 && strcmp(path + len - 6, ".jsonl") == 0)
        return read_lines(path, sink, e);
    int rc = jsonin_load(&doc, path, DOCUMENT_BYTES_MAX, e);
    if (rc < 0)
        return rc;
    snprintf(r.name, sizeof(r.name), "%s", path);
    rc = failed(path, read_root(&r, jsonin_root(doc)), e);
    jsonin_free(doc);
    return rc;
}
