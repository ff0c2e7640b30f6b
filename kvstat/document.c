/* Beside scan: the other source of figures, runs that were reported before. A table for each kind
 * of document tells which of its members is which figure. kvtrace's own documents use kvstat's
 * names and give their other members too. */
#include "kvstat/document.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/report/reference.h"
#include "lib/base/units.h"
#include "lib/json/jsonin.h"
#include "lib/trace/frame.h"
#include "lib/trace/trace.h"

#define DOCUMENT_BYTES_MAX ((size_t)256 << 20)

/* A figure, the member that it is, and the factor to the figure's unit. The first row whose member
 * is there counts. */
struct same {
    struct figure_id id;
    const char *member;
    double factor;
};
#define FIGURE(of, is)                                                                             \
    {                                                                                              \
        .scope = of, .what = is                                                                    \
    }
#define TIMES(is, s)                                                                               \
    {                                                                                              \
        .scope = FIGURE_OF_REQUESTS, .what = is, .statistic = s                                    \
    }
#define STORAGE(to, is, s)                                                                         \
    {                                                                                              \
        .scope = FIGURE_OF_DIRECTION, .what = is, .statistic = s, .by = GROUPS_TIER | GROUPS_OP,   \
        .tier = TRACE_STORAGE, .op = to                                                            \
    }
#define TOKENS FIGURE(FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS)
#define RATE   FIGURE(FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS_PER_S)
#define HITS   FIGURE(FIGURE_OF_LOOKUPS, FIGURE_HIT_RATE)
#define HITS_TURNS                                                                                 \
    {                                                                                              \
        .scope = FIGURE_OF_LOOKUPS, .what = FIGURE_HIT_RATE, .by = GROUPS_CLASS,                   \
        .class = TRACE_MULTI_TURN                                                                  \
    }
#define ELAPSED FIGURE(FIGURE_OF_RUN, FIGURE_ELAPSED)
#define COUNT   FIGURE(FIGURE_OF_REQUESTS, FIGURE_REQUESTS)

/* kv-cache.py's results, mid-2026: `gb` and `gbps` there are powers of two. Files of January 2026
 * call the storage tier nvme, those before it have decode_bytes_read_gb. */
static const struct same of_mlperf[] = {
    {ELAPSED, "summary.elapsed_time", 1},
    {TOKENS, "summary.total_tokens", 1},
    {RATE, "summary.avg_throughput_tokens_per_sec", 1},
    {FIGURE(FIGURE_OF_STORAGE_TIME, FIGURE_GENERATED_TOKENS_PER_S),
     "summary.storage_throughput_tokens_per_sec", 1},
    {FIGURE(FIGURE_OF_STORAGE_TIME, FIGURE_BUSY), "summary.total_storage_io_time", 1},
    {FIGURE(FIGURE_OF_THROUGHPUT, FIGURE_DECODE_BYTES_READ), "summary.cache_stats.total_read_gb",
     (double)UNITS_GIB},
    {FIGURE(FIGURE_OF_THROUGHPUT, FIGURE_DECODE_BYTES_READ),
     "summary.cache_stats.decode_bytes_read_gb", (double)UNITS_GIB},
    {HITS, "summary.cache_stats.cache_hit_rate", 1},
    {HITS_TURNS, "summary.multi_turn_stats.hit_rate", 1},
    {FIGURE(FIGURE_OF_CACHE, FIGURE_READ_WRITE_RATIO), "summary.cache_stats.read_write_ratio", 1},
    {{.scope = FIGURE_OF_CACHE_TIER,
      .what = FIGURE_FINAL_OBJECTS,
      .by = GROUPS_TIER,
      .tier = TRACE_STORAGE},
     "summary.cache_stats.storage_entries",
     1},
    {{.scope = FIGURE_OF_CACHE_TIER,
      .what = FIGURE_FINAL_OBJECTS,
      .by = GROUPS_TIER,
      .tier = TRACE_STORAGE},
     "summary.cache_stats.nvme_entries",
     1},
    {COUNT, "summary.total_requests", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_MEAN), "summary.end_to_end_latency_ms.mean", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_P50), "summary.end_to_end_latency_ms.p50", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_P95), "summary.end_to_end_latency_ms.p95", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_P99), "summary.end_to_end_latency_ms.p99", 1},
    {TIMES(FIGURE_STORAGE, FIGURE_MEAN), "summary.storage_io_latency_ms.mean", 1},
    {TIMES(FIGURE_STORAGE, FIGURE_P95), "summary.storage_io_latency_ms.p95", 1},
    {STORAGE(TRACE_READ, FIGURE_GIB_PER_ELAPSED_S, FIGURE_VALUE),
     "summary.cache_stats.tier_storage_read_bandwidth_gbps", 1},
    {STORAGE(TRACE_READ, FIGURE_SERVICE, FIGURE_P95), "summary.cache_stats.storage_read_p95_ms",
     1e3},
    {STORAGE(TRACE_READ, FIGURE_DEVICE, FIGURE_P95),
     "summary.cache_stats.storage_read_device_p95_ms", 1e3},
    {STORAGE(TRACE_WRITE, FIGURE_GIB_PER_ELAPSED_S, FIGURE_VALUE),
     "summary.cache_stats.tier_storage_write_bandwidth_gbps", 1},
    {STORAGE(TRACE_WRITE, FIGURE_SERVICE, FIGURE_P95), "summary.cache_stats.storage_write_p95_ms",
     1e3},
    {STORAGE(TRACE_WRITE, FIGURE_DEVICE, FIGURE_P95),
     "summary.cache_stats.storage_write_device_p95_ms", 1e3},
    {STORAGE(TRACE_READ, FIGURE_GIB_PER_ELAPSED_S, FIGURE_VALUE),
     "summary.cache_stats.tier_nvme_read_bandwidth_gbps", 1},
    {STORAGE(TRACE_READ, FIGURE_SERVICE, FIGURE_P95), "summary.cache_stats.nvme_read_p95_ms", 1e3},
    {STORAGE(TRACE_READ, FIGURE_DEVICE, FIGURE_P95), "summary.cache_stats.nvme_read_device_p95_ms",
     1e3},
    {STORAGE(TRACE_WRITE, FIGURE_GIB_PER_ELAPSED_S, FIGURE_VALUE),
     "summary.cache_stats.tier_nvme_write_bandwidth_gbps", 1},
    {STORAGE(TRACE_WRITE, FIGURE_SERVICE, FIGURE_P95), "summary.cache_stats.nvme_write_p95_ms",
     1e3},
    {STORAGE(TRACE_WRITE, FIGURE_DEVICE, FIGURE_P95),
     "summary.cache_stats.nvme_write_device_p95_ms", 1e3},
    {.member = NULL}};

/* One option in the summary of a whole run; each of its versions has other P95s. */
static const struct same of_option[] = {
    {RATE, "aggregated_avg_throughput_tokens_per_sec", 1},
    {FIGURE(FIGURE_OF_STORAGE_TIME, FIGURE_GENERATED_TOKENS_PER_S),
     "aggregated_storage_throughput_tokens_per_sec", 1},
    {TIMES(FIGURE_STORAGE, FIGURE_P95), "aggregated_p95_latency_ms", 1},
    {STORAGE(TRACE_READ, FIGURE_GIB_PER_ELAPSED_S, FIGURE_VALUE), "aggregated_read_bandwidth_gbps",
     1},
    {STORAGE(TRACE_READ, FIGURE_SERVICE, FIGURE_P95), "aggregated_storage_read_p95_ms", 1e3},
    {STORAGE(TRACE_READ, FIGURE_DEVICE, FIGURE_P95), "aggregated_device_read_p95_ms", 1e3},
    {STORAGE(TRACE_WRITE, FIGURE_GIB_PER_ELAPSED_S, FIGURE_VALUE),
     "aggregated_write_bandwidth_gbps", 1},
    {STORAGE(TRACE_WRITE, FIGURE_DEVICE, FIGURE_P95), "aggregated_device_write_p95_ms", 1e3},
    {.member = NULL}};

/* `vllm bench throughput`: its tokens are those of prompts and answers together. */
static const struct same of_throughput[] = {{ELAPSED, "elapsed_time", 1},
                                            {COUNT, "num_requests", 1},
                                            {REFERENCE_REQUESTS_PER_S, "requests_per_second", 1},
                                            {REFERENCE_ALL_TOKENS_PER_S, "tokens_per_second", 1},
                                            {.member = NULL}};

/* Figures of the benchmark's comparison with LMCache: tokens are the generated ones. */
static const struct same of_lmcache[] = {{ELAPSED, "elapsed_time", 1},
                                         {COUNT, "num_prompts", 1},
                                         {TOKENS, "total_tokens", 1},
                                         {RATE, "tokens_per_second", 1},
                                         {REFERENCE_REQUESTS_PER_S, "requests_per_second", 1},
                                         {.member = NULL}};

/* One seed of a measured run of that benchmark in trace mode. */
static const struct same of_sample[] = {
    {FIGURE(FIGURE_OF_RUN, FIGURE_ROWS), "rows", 1},
    {TOKENS, "tokens_generated", 1},
    {HITS, "cache_hit_rate", 1},
    {HITS_TURNS, "multi_turn_hit_rate", 1},
    {COUNT, "requests_completed", 1},
    {FIGURE(FIGURE_OF_REQUESTS, FIGURE_CONTEXT_TOKENS_MEAN), "prefill_write_tokens.mean", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_MEAN), "end_to_end_ms.mean", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_P50), "end_to_end_ms.p50", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_P95), "end_to_end_ms.p95", 1},
    {.member = NULL}};

/* vLLM's `bench serve` (benchmark_serving.py) and SGLang's bench_serving.py, which has other names
 * for end-to-end latency. */
static const struct same of_engine[] = {
    {ELAPSED, "duration", 1},
    {TOKENS, "total_output_tokens", 1},
    {RATE, "output_throughput", 1},
    {COUNT, "completed", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_MEAN), "mean_e2el_ms", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_MEAN), "mean_e2e_latency_ms", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_P50), "median_e2el_ms", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_P50), "median_e2e_latency_ms", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_P95), "p95_e2el_ms", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_P95), "p95_e2e_latency_ms", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_P99), "p99_e2el_ms", 1},
    {TIMES(FIGURE_END_TO_END, FIGURE_P99), "p99_e2e_latency_ms", 1},
    {.member = NULL}};

static const struct same of_kvgen[] = {{ELAPSED, "trace.simulated_s", 1},
                                       {HITS, "lookups.all.hit_rate", 1},
                                       {HITS_TURNS, "lookups.multi_turn.hit_rate", 1},
                                       {COUNT, "requests.served", 1},
                                       {.member = NULL}};

static const struct same of_kvprecond[] = {
    {STORAGE(TRACE_WRITE, FIGURE_GIB_PER_S, FIGURE_VALUE), "gib_per_s", 1},
    {STORAGE(TRACE_WRITE, FIGURE_SERVICE, FIGURE_P95), "service_us.p95", 1},
    {.member = NULL}};

/* A document being read. After an error nothing more is put. */
struct reading {
    const struct document_sink *sink;
    char name[320]; /* of the run */
    int rc;
    char path[FIGURE_NAME]; /* of the member being visited */
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

static void put_same(struct reading *r, const struct jsonin_v *v, const struct same *table)
{
    for (; table->member; table++)
        put_number(r, table->id, number(v, table->member) * table->factor);
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
        double generated = number(v, "tokens_generated");
        if (!seed)
            break;
        snprintf(r->name + len, sizeof(r->name) - len, " seed %s", seed);
        begin_run(r, "mlperf");
        put_number(r, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED), seconds);
        put_same(r, v, of_sample);
        put_rate(r, generated, seconds);
        put_number(r, figure_id(FIGURE_OF_CACHE, FIGURE_READ_WRITE_RATIO),
                   ratio(sum_of(bytes, "Read"), sum_of(bytes, "Write")));
        put_token_means(r, NAN, generated, number(v, "requests_completed"));
        end_run(r);
    }
}

/* Files that kvstat wrote tell whether the replay was valid. */
static void put_valid(struct reading *r, const struct jsonin_v *v)
{
    bool valid;
    if (jsonin_bool(jsonin_get(v, "valid"), &valid) == 0)
        put(r, &(struct figure){.id = figure_id(FIGURE_OF_PROVENANCE, FIGURE_VALID),
                                .form = FIGURE_FORM_TRUTH,
                                .truth = valid});
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
        begin_run(r, "mlperf");
        put_same(r, v, of_option);
        end_run(r);
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
    put_number(r, (struct figure_id)COUNT, (double)jsonin_count(root));
    put_number(r, (struct figure_id)HITS, ratio(sum[HIT], known[HIT]));
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
            sum += number(v, "bytes");
    }
    return sum;
}

static void put_kvgen(struct reading *r, const struct jsonin_v *v)
{
    const struct jsonin_v *rows = jsonin_get(v, "rows_by");
    /* The summary counts tokens when a request is done, a trace when its generation begins. */
    bool all_done = number(v, "requests.completed") == number(v, "requests.served");
    double generated = all_done ? number(v, "requests.generated_tokens") : NAN;
    put_same(r, v, of_kvgen);
    put_number(r, figure_id(FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS), generated);
    put_rate(r, generated, number(v, "trace.simulated_s"));
    put_number(r, figure_id(FIGURE_OF_REQUESTS, FIGURE_CONTEXT_TOKENS_MEAN),
               ratio(number(v, "requests.context_tokens"), number(v, "requests.served")));
    put_number(r, figure_id(FIGURE_OF_REQUESTS, FIGURE_GENERATED_TOKENS_MEAN),
               ratio(generated, number(v, "requests.completed")));
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
            put_same(r, v, of_kvprecond);
        visit_members(r, v, 0);
        end_run(r);
    } else if (HAS(v, "summary.avg_throughput_tokens_per_sec") ||
               HAS(v, "summary.cache_stats", "summary.elapsed_time")) {
        name_rank(r);
        begin_run(r, "mlperf");
        put_same(r, v, of_mlperf);
        put_valid(r, v);
        put_token_means(r, NAN, number(v, "summary.total_tokens"),
                        number(v, "summary.total_requests"));
        end_run(r);
    } else if (HAS(v, "schema_version", "options", "trials_per_option")) {
        read_options(r, v);
    } else if (jsonin_is_array(v) && HAS(jsonin_at(v, 0), "cache_hit")) {
        read_requests(r, v);
    } else if (HAS(v, "elapsed_time", "num_requests", "total_num_tokens")) {
        begin_run(r, "engine");
        put_same(r, v, of_throughput);
        end_run(r);
    } else if (HAS(v, "elapsed_time", "num_prompts", "total_tokens", "tokens_per_second")) {
        begin_run(r, "engine");
        put_same(r, v, of_lmcache);
        put_token_means(r, NAN, number(v, "total_tokens"), number(v, "num_prompts"));
        end_run(r);
    } else if (is_of_no_run(v)) {
        return -ENODATA;
    } else if (HAS(v, "config", "seeds")) {
        read_samples(r, v);
    } else if (HAS(v, "duration", "completed", "total_output_tokens")) {
        begin_run(r, "engine");
        put_same(r, v, of_engine);
        put_token_means(r, number(v, "total_input_tokens"), number(v, "total_output_tokens"),
                        number(v, "completed"));
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
    int rc = frame_in_open(&in, path, NULL, e);
    if (rc == 0)
        rc = jsonin_stream_open(&s, in, DOCUMENT_BYTES_MAX, e);
    while (rc == 0 && (rc = jsonin_stream_next(s, &v, e)) == 1) {
        struct reading r = {.sink = sink};
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
