/* Beside scan: the other source of figures, runs that were reported before. A table for each kind
 * of document tells which of its members is which figure. kvtrace's own documents use kvstat's
 * names and give their other members too. */
#include "kvstat/document.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/mlperf/results.h"
#include "kvstat/mlperf/run_folder.h"
#include "lib/json/jsonin.h"
#include "lib/trace/frame.h"
#include "lib/trace/trace.h"

#define DOCUMENT_BYTES_MAX ((size_t)256 << 20)

/* `vllm bench throughput`: its tokens are those of prompts and answers together. */
static const struct map_row of_throughput[] = {
    {"elapsed_time", "elapsed_s", .unit = 1},
    {"num_requests", "requests.count", .unit = 1},
    {"requests_per_second", "requests_per_second", .unit = 1},
    {"tokens_per_second", "tokens_per_second", .unit = 1},
    {.name = NULL}};

/* Figures of the benchmark's comparison with LMCache: tokens are the generated ones. */
static const struct map_row of_lmcache[] = {
    {"elapsed_time", "elapsed_s", .unit = 1},
    {"num_prompts", "requests.count", .unit = 1},
    {"total_tokens", "throughput.wall.generated_tokens", .unit = 1},
    {"tokens_per_second", "throughput.wall.generated_tokens_per_s", .unit = 1},
    {"requests_per_second", "requests_per_second", .unit = 1},
    {.name = NULL}};

/* One seed of a measured run of that benchmark in trace mode. */
static const struct map_row of_sample[] = {
    {"rows", "rows", .unit = 1},
    {"tokens_generated", "throughput.wall.generated_tokens", .unit = 1},
    {"cache_hit_rate", "cache.lookups.all.hit_rate", .unit = 1},
    {"multi_turn_hit_rate", "cache.lookups.multi_turn.hit_rate", .unit = 1},
    {"requests_completed", "requests.count", .unit = 1},
    {"prefill_write_tokens.mean", "requests.context_tokens_mean", .unit = 1},
    {"end_to_end_ms.mean", "requests.end_to_end_ms.mean", .unit = 1},
    {"end_to_end_ms.p50", "requests.end_to_end_ms.p50", .unit = 1},
    {"end_to_end_ms.p95", "requests.end_to_end_ms.p95", .unit = 1},
    {.name = NULL}};

/* vLLM's `bench serve` (benchmark_serving.py) and SGLang's bench_serving.py, which has other names
 * for end-to-end latency. */
static const struct map_row of_engine[] = {
    {"duration", "elapsed_s", .unit = 1},
    {"total_output_tokens", "throughput.wall.generated_tokens", .unit = 1},
    {"output_throughput", "throughput.wall.generated_tokens_per_s", .unit = 1},
    {"completed", "requests.count", .unit = 1},
    {"mean_e2el_ms", "requests.end_to_end_ms.mean", .unit = 1},
    {"mean_e2e_latency_ms", "requests.end_to_end_ms.mean", .unit = 1},
    {"median_e2el_ms", "requests.end_to_end_ms.p50", .unit = 1},
    {"median_e2e_latency_ms", "requests.end_to_end_ms.p50", .unit = 1},
    {"p95_e2el_ms", "requests.end_to_end_ms.p95", .unit = 1},
    {"p95_e2e_latency_ms", "requests.end_to_end_ms.p95", .unit = 1},
    {"p99_e2el_ms", "requests.end_to_end_ms.p99", .unit = 1},
    {"p99_e2e_latency_ms", "requests.end_to_end_ms.p99", .unit = 1},
    {.name = NULL}};

static const struct map_row of_kvgen[] = {
    {"trace.simulated_s", "elapsed_s", .unit = 1},
    {"lookups.all.hit_rate", "cache.lookups.all.hit_rate", .unit = 1},
    {"lookups.multi_turn.hit_rate", "cache.lookups.multi_turn.hit_rate", .unit = 1},
    {"requests.served", "requests.count", .unit = 1},
    {.name = NULL}};

static const struct map_row of_kvprecond[] = {
    {"gib_per_s", "tiers.Tier-2.write.gib_per_s", .unit = 1},
    {"service_us.p95", "tiers.Tier-2.write.service_us.p95", .unit = 1},
    {.name = NULL}};

/* A document being read. After an error nothing more is put. */
struct reading {
    const struct document_sink *sink;
    char name[320]; /* of the run */
    int rc;
    char path[FIGURE_NAME];  /* of the member being visited */
    double tokens, requests; /* of a run that a map reads; NAN: not told */
    struct map_names names;  /* of all documents of a file */
};

static void put(struct reading *r, const struct figure *f)
{
    if (r->rc == 0)
        r->rc = r->sink->put(r->sink->arg, f);
}

static void put_text(struct reading *r, struct figure_id id, const char *text)
{
    put(r, &(struct figure){.id = id, .form = FIGURE_FORM_TEXT, .text = text});
}

/* Unknown values are left out. */
static void put_number(struct reading *r, struct figure_id id, double v)
{
    if (isfinite(v))
        put(r, &(struct figure){.id = id, .form = FIGURE_FORM_NUMBER, .number = v});
}

static void begin_run(struct reading *r, const char *kind)
{
    put_text(r, figure_id(FIGURE_OF_PROVENANCE, FIGURE_ITSELF), r->name);
    put_text(r, figure_id(FIGURE_OF_RUN, FIGURE_KIND), kind);
}

static void end_run(struct reading *r)
{
    if (r->rc == 0)
        r->rc = r->sink->end(r->sink->arg);
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

/* Puts a figure into the run, and keeps the numbers from which means are made. */
static int take_figure(void *reading, const struct figure *f)
{
    const struct figure_id tokens = figure_id(FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS);
    const struct figure_id requests = figure_id(FIGURE_OF_REQUESTS, FIGURE_REQUESTS);
    struct reading *r = reading;
    if (figure_id_compare(&f->id, &tokens) == 0)
        r->tokens = f->number;
    if (figure_id_compare(&f->id, &requests) == 0)
        r->requests = f->number;
    put(r, f);
    return r->rc;
}

static void put_mapped(struct reading *r, const struct jsonin_v *v, const struct map_row *map)
{
    r->tokens = r->requests = NAN;
    if (r->rc == 0)
        r->rc = map_read(map, v, &r->names, take_figure, r);
}

static void put_token_means(struct reading *r, double context, double generated, double requests)
{
    put_number(r, figure_id(FIGURE_OF_REQUESTS, FIGURE_CONTEXT_TOKENS_MEAN),
               ratio(context, requests));
    put_number(r, figure_id(FIGURE_OF_REQUESTS, FIGURE_GENERATED_TOKENS_MEAN),
               ratio(generated, requests));
}

static void put_rate(struct reading *r, double tokens, double seconds)
{
    put_number(r, figure_id(FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS_PER_S), ratio(tokens, seconds));
}

/* ---- kvtrace's own documents: every member under its own name ---- */

static bool is_object(const struct jsonin_v *v)
{
    const char *key = NULL;
    jsonin_member(v, 0, &key);
    return key != NULL;
}

/* A scalar; buf keeps nothing, texts are lent by the document. */
static struct figure scalar(const struct jsonin_v *v)
{
    struct figure f = {.form = FIGURE_FORM_UNKNOWN};
    const char *text = jsonin_text(v, NULL);
    if (text) {
        f.form = FIGURE_FORM_TEXT;
        f.text = text;
    } else if (jsonin_bool(v, &f.truth) == 0) {
        f.form = FIGURE_FORM_TRUTH;
    } else if (jsonin_i64(v, &f.level) == 0) {
        f.form = FIGURE_FORM_SIGNED;
    } else if (jsonin_u64(v, &f.count) == 0) {
        f.form = FIGURE_FORM_UNSIGNED;
    } else if (jsonin_f64(v, &f.number) == 0) {
        f.form = FIGURE_FORM_NUMBER;
    }
    return f;
}

/* Joins what the steps, or the words of a label, are called. */
static void append(char *buf, size_t n, const char *separator, const char *text)
{
    size_t len = strlen(buf);
    snprintf(buf + len, n - len, "%s%s", len ? separator : "", text);
}

/* The name of an element of an array: the text of its first member, or the texts of that member's
 * members. False when nothing does. */
static bool label_of(const struct jsonin_v *element, char *buf, size_t n)
{
    const char *key = NULL;
    const struct jsonin_v *first = jsonin_member(element, 0, &key);
    buf[0] = '\0';
    if (!is_object(first)) {
        const struct figure f = scalar(first);
        if (f.form == FIGURE_FORM_TEXT)
            snprintf(buf, n, "%s", f.text);
        return f.form == FIGURE_FORM_TEXT;
    }
    for (size_t i = 0;; i++) {
        char number_text[FIGURE_TEXT], part[512];
        key = NULL;
        const struct figure f = scalar(jsonin_member(first, i, &key));
        if (!key)
            return true;
        figure_cut_text(part, sizeof(part), figure_text(&f, number_text));
        append(buf, n, "/", part[0] ? part : "-");
    }
}

static void visit(struct reading *r, const struct jsonin_v *v);

static void visit_members(struct reading *r, const struct jsonin_v *object, size_t from)
{
    size_t len = strlen(r->path);
    for (size_t i = from; r->rc == 0; i++) {
        const char *key = NULL;
        const struct jsonin_v *v = jsonin_member(object, i, &key);
        if (!key)
            break;
        append(r->path, sizeof(r->path), ".", key);
        visit(r, v);
        r->path[len] = '\0';
    }
}

/* Puts a value under the name of its path, but for what tells which program ran where and when. */
static void put_leaf(struct reading *r, struct figure f)
{
    static const char *const identity[] = {"program", "version", "command", "started"};
    static const char *const sections[] = {"host.", "series."};
    char scratch[FIGURE_NAME + 2];
    for (size_t i = 0; i < sizeof(identity) / sizeof(identity[0]); i++)
        if (strcmp(r->path, identity[i]) == 0)
            return;
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        if (strncmp(r->path, sections[i], strlen(sections[i])) == 0)
            return;
    f.id = figure_parse(r->path, scratch);
    put(r, &f);
}

/* An array of scalars. */
static void put_texts(struct reading *r, const struct jsonin_v *array)
{
    size_t n = jsonin_count(array);
    const char **item = calloc(n, sizeof(*item));
    char(*numbers)[FIGURE_TEXT] = calloc(n, sizeof(*numbers));
    if (!item || !numbers)
        r->rc = -ENOMEM;
    for (size_t i = 0; i < n && r->rc == 0; i++) {
        const struct figure f = scalar(jsonin_at(array, i));
        item[i] = figure_text(&f, numbers[i]);
    }
    if (r->rc == 0)
        put_leaf(r, (struct figure){.form = FIGURE_FORM_TEXTS, .list = {item, n}});
    free(item);
    free(numbers);
}

static void visit(struct reading *r, const struct jsonin_v *v)
{
    size_t n = jsonin_count(v), len = strlen(r->path);
    if (n == 0 && is_object(v)) {
        visit_members(r, v, 0);
    } else if (n == 0) {
        put_leaf(r, scalar(v));
    } else if (!is_object(jsonin_at(v, 0))) {
        put_texts(r, v);
    } else {
        for (size_t i = 0; i < n && r->rc == 0; i++) {
            const struct jsonin_v *element = jsonin_at(v, i);
            char label[FIGURE_NAME];
            bool named = label_of(element, label, sizeof(label));
            if (!named)
                snprintf(label, sizeof(label), "%zu", i);
            append(r->path, sizeof(r->path), ".", label);
            visit_members(r, element, named);
            r->path[len] = '\0';
        }
    }
}

/* ---- the kinds ---- */

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

/* Each seed is a run. Only the arguments say how long they lasted. */
static void read_samples(struct reading *r, const struct jsonin_v *root)
{
    const struct jsonin_v *seeds = jsonin_get(root, "seeds");
    const char *arguments = jsonin_text(jsonin_get(root, "arguments"), NULL);
    const char *duration = arguments ? strstr(arguments, "--duration ") : NULL;
    double seconds = duration ? strtod(duration + strlen("--duration "), NULL) : NAN;
    size_t len = strlen(r->name);
    for (size_t i = 0; r->rc == 0; i++) {
        const char *seed = NULL;
        const struct jsonin_v *v = jsonin_member(seeds, i, &seed);
        const struct jsonin_v *bytes = jsonin_get(v, "bytes_by_op_tier_phase");
        if (!seed)
            break;
        snprintf(r->name + len, sizeof(r->name) - len, " seed %s", seed);
        begin_run(r, "mlperf");
        put_number(r, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED), seconds);
        put_mapped(r, v, of_sample);
        put_rate(r, r->tokens, seconds);
        put_number(r, figure_id(FIGURE_OF_CACHE, FIGURE_READ_WRITE_RATIO),
                   ratio(sum_of(bytes, "Read"), sum_of(bytes, "Write")));
        put_token_means(r, NAN, r->tokens, r->requests);
        end_run(r);
    }
}

/* Reads a file of the MLPerf benchmark, or one option of a run. */
static void read_mlperf(struct reading *r, const struct map_row *map, const struct jsonin_v *v)
{
    begin_run(r, "mlperf");
    put_mapped(r, v, map);
    put_token_means(r, NAN, r->tokens, r->requests);
    end_run(r);
}

/* Each option is a run: "DIR/summary option 1". */
static void read_options(struct reading *r, const struct jsonin_v *root)
{
    const struct jsonin_v *options = jsonin_get(root, "options");
    char *slash = strrchr(r->name, '/'), *file = slash ? slash + 1 : r->name;
    if (strncmp(file, "kvcache_run_summary", 19) == 0 || strcmp(file, "summary.json") == 0)
        snprintf(file, sizeof(r->name) - (size_t)(file - r->name), "summary");
    size_t len = strlen(r->name);
    for (size_t i = 0; r->rc == 0; i++) {
        const char *number = NULL;
        const struct jsonin_v *v = jsonin_member(options, i, &number);
        if (!number)
            break;
        snprintf(r->name + len, sizeof(r->name) - len, " option %s", number);
        read_mlperf(r, mlperf_option_map, v);
    }
}

/* --validation-trace of the benchmark: an object for each request. */
static void read_requests(struct reading *r, const struct jsonin_v *root)
{
    static const char *const names[] = {"cache_hit",      "read_bytes",        "write_bytes",
                                        "context_tokens", "generation_tokens", "timestamp"};
    enum {
        HIT,
        READ,
        WRITTEN,
        CONTEXT,
        GENERATED,
        TIME,
        MEMBERS
    };
    double sum[MEMBERS] = {0}, known[MEMBERS] = {0}, first = INFINITY, last = -INFINITY;
    for (size_t i = 0; i < jsonin_count(root); i++)
        for (int m = 0; m < MEMBERS; m++) {
            const struct jsonin_v *v = jsonin_get(jsonin_at(root, i), names[m]);
            bool hit;
            double n;
            if (jsonin_bool(v, &hit) == 0)
                n = hit;
            else if (jsonin_f64(v, &n) < 0)
                continue;
            sum[m] += n;
            known[m]++;
            first = m == TIME ? fmin(first, n) : first;
            last = m == TIME ? fmax(last, n) : last;
        }
    begin_run(r, "requests");
    put_number(r, figure_id(FIGURE_OF_REQUESTS, FIGURE_REQUESTS), (double)jsonin_count(root));
    put_number(r, figure_id(FIGURE_OF_LOOKUPS, FIGURE_HIT_RATE), ratio(sum[HIT], known[HIT]));
    put_number(r, figure_id(FIGURE_OF_CACHE, FIGURE_READ_WRITE_RATIO),
               ratio(sum[READ], sum[WRITTEN]));
    put_number(r, figure_id(FIGURE_OF_REQUESTS, FIGURE_CONTEXT_TOKENS_MEAN),
               ratio(sum[CONTEXT], known[CONTEXT]));
    put_number(r, figure_id(FIGURE_OF_REQUESTS, FIGURE_GENERATED_TOKENS_MEAN),
               ratio(sum[GENERATED], known[GENERATED]));
    if (known[GENERATED] > 0)
        put_rate(r, sum[GENERATED], last - first);
    end_run(r);
}

/* "DIR/option_1/trial_0/rank_0/kvcache_results_20261122_152151.json" goes by its folder. */
static void name_rank(struct reading *r)
{
    char *slash = strrchr(r->name, '/');
    char *folder = slash ? memrchr(r->name, '/', (size_t)(slash - r->name)) : NULL;
    if (slash && strncmp(slash, "/kvcache_results_", 17) == 0 &&
        strncmp(folder ? folder + 1 : r->name, "rank_", 5) == 0)
        *slash = '\0';
}

static double bytes_of(const struct jsonin_v *rows_by, const char *op)
{
    double sum = 0;
    for (size_t i = 0; i < jsonin_count(rows_by); i++) {
        const struct jsonin_v *v = jsonin_at(rows_by, i);
        const char *its = jsonin_text(jsonin_get(v, "op"), NULL);
        if (its && strcmp(its, op) == 0)
            sum += jsonin_number(v, "bytes");
    }
    return sum;
}

static void put_kvgen(struct reading *r, const struct jsonin_v *v)
{
    const struct jsonin_v *rows = jsonin_get(v, "rows_by");
    /* The summary counts tokens when a request is done, a trace when its generation begins. */
    bool all_done = jsonin_number(v, "requests.completed") == jsonin_number(v, "requests.served");
    double generated = all_done ? jsonin_number(v, "requests.generated_tokens") : NAN;
    put_mapped(r, v, of_kvgen);
    put_number(r, figure_id(FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS), generated);
    put_rate(r, generated, jsonin_number(v, "trace.simulated_s"));
    put_number(
        r, figure_id(FIGURE_OF_REQUESTS, FIGURE_CONTEXT_TOKENS_MEAN),
        ratio(jsonin_number(v, "requests.context_tokens"), jsonin_number(v, "requests.served")));
    put_number(r, figure_id(FIGURE_OF_REQUESTS, FIGURE_GENERATED_TOKENS_MEAN),
               ratio(generated, jsonin_number(v, "requests.completed")));
    put_number(r, figure_id(FIGURE_OF_CACHE, FIGURE_READ_WRITE_RATIO),
               ratio(bytes_of(rows, "Read"), bytes_of(rows, "Write")));
}

/* kvstat's own report: its kind stands among its members. */
static void read_report(struct reading *r, const struct jsonin_v *v)
{
    const char *name = jsonin_text(jsonin_get(v, "run"), NULL);
    put_text(r, figure_id(FIGURE_OF_PROVENANCE, FIGURE_ITSELF), name ? name : r->name);
    visit_members(r, v, 0);
    end_run(r);
}

static void read_reports(struct reading *r, const struct jsonin_v *list)
{
    size_t len = strlen(r->name);
    for (size_t i = 0; i < jsonin_count(list) && r->rc == 0; i++) {
        snprintf(r->name + len, sizeof(r->name) - len, " %zu", i + 1);
        read_report(r, jsonin_at(list, i));
    }
}

/* ---- which it is ---- */

static bool has_members(const struct jsonin_v *v, const char *const *members, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!jsonin_get(v, members[i]))
            return false;
    return true;
}

#define HAS(v, ...)                                                                                \
    has_members(v, (const char *const[]){__VA_ARGS__},                                             \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* The metadata of a run of the benchmark, and what its wrapper collected about the hosts. */
static bool is_of_no_run(const struct jsonin_v *v)
{
    return HAS(v, "benchmark_type", "run_datetime") || HAS(v, "cluster_information") ||
           HAS(v, "num_hosts", "host_info_list") || HAS(v, "hostname", "cpu_info", "meminfo") ||
           HAS(v, "_metadata", "hosts");
}

/* -ENOTSUP: it is none of these; -ENODATA: it is known to have no figures. */
static int read_root(struct reading *r, const struct jsonin_v *v)
{
    const char *program = jsonin_text(jsonin_get(v, "program"), NULL);
    bool kvgen = program && strcmp(program, "kvgen") == 0;
    bool kvprecond = program && strcmp(program, "kvprecond") == 0;
    if (program && strcmp(program, "kvstat") == 0) {
        if (jsonin_get(v, "reports"))
            read_reports(r, jsonin_get(v, "reports"));
        else if (jsonin_get(v, "runs"))
            read_reports(r, jsonin_get(v, "runs"));
        else if (HAS(v, "files", "throughput"))
            read_report(r, v);
        else
            return -ENOTSUP;
    } else if (kvgen || kvprecond || (program && strcmp(program, "kvreplay") == 0)) {
        begin_run(r, program);
        if (kvgen)
            put_kvgen(r, v);
        else if (kvprecond)
            put_mapped(r, v, of_kvprecond);
        visit_members(r, v, 0);
        end_run(r);
    } else if (HAS(v, "summary.avg_throughput_tokens_per_sec") ||
               HAS(v, "summary.cache_stats", "summary.elapsed_time")) {
        name_rank(r);
        read_mlperf(r, mlperf_results_map, v);
    } else if (HAS(v, "schema_version", "options", "trials_per_option")) {
        read_options(r, v);
    } else if (jsonin_is_array(v) && HAS(jsonin_at(v, 0), "cache_hit")) {
        read_requests(r, v);
    } else if (HAS(v, "elapsed_time", "num_requests", "total_num_tokens")) {
        begin_run(r, "engine");
        put_mapped(r, v, of_throughput);
        end_run(r);
    } else if (HAS(v, "elapsed_time", "num_prompts", "total_tokens", "tokens_per_second")) {
        begin_run(r, "engine");
        put_mapped(r, v, of_lmcache);
        put_token_means(r, NAN, r->tokens, r->requests);
        end_run(r);
    } else if (is_of_no_run(v)) {
        return -ENODATA;
    } else if (HAS(v, "config", "seeds")) {
        read_samples(r, v);
    } else if (HAS(v, "duration", "completed", "total_output_tokens")) {
        begin_run(r, "engine");
        put_mapped(r, v, of_engine);
        put_token_means(r, jsonin_number(v, "total_input_tokens"), r->tokens, r->requests);
        end_run(r);
    } else {
        return -ENOTSUP;
    }
    return r->rc;
}

/* Reads one document; r has its name. */
static int read_document(struct reading *r, const char *where, const struct jsonin_v *v,
                         struct err *e)
{
    if (HAS(v, "answer", "users.this", "variants"))
        return err_set(e, -ENODATA, ERR_INPUT, where, "is an answer: --answer shows it");
    int rc = read_root(r, v);
    if (rc == -ENOTSUP)
        return err_set(e, rc, ERR_INPUT, where,
                       "is JSON, but no report, summary or benchmark result that kvstat knows");
    if (rc == -ENODATA)
        return err_set(e, rc, ERR_INPUT, where,
                       "tells about a run of the MLPerf benchmark and has no figures");
    return rc == -ENOMEM ? err_nomem(e, "figures of runs") : rc;
}

static int read_lines(const char *path, const struct document_sink *sink, struct err *e)
{
    struct jsonin_stream *s = NULL;
    struct frame_in *in = NULL;
    const struct jsonin_v *v;
    struct reading r = {.sink = sink};
    int rc = frame_in_open(&in, path, NULL, e);
    if (rc == 0)
        rc = jsonin_stream_open(&s, in, DOCUMENT_BYTES_MAX, e);
    while (rc == 0 && (rc = jsonin_stream_next(s, &v, e)) == 1) {
        snprintf(r.name, sizeof(r.name), "%s:%llu", path,
                 (unsigned long long)jsonin_stream_line(s));
        rc = read_document(&r, r.name, v, e);
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
    rc = read_document(&r, path, jsonin_root(doc), e);
    jsonin_free(doc);
    return rc;
}
