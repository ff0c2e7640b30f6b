/* Reports the end of a run: the totals of the simulation and of the file, as text on standard error
 * and as JSON. Counting was done on the way, by the simulation and the output. */
#include "kvgen/summary.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kvgen/endurance.h"
#include "kvgen/meaning/reading.h"
#include "kvgen/provenance.h"
#include "lib/base/units.h"
#include "lib/drive/drive_model.h"
#include "lib/json/jsonout.h"

static bool is_estimated(const struct source *source)
{
    return source->ops->estimated && source->ops->estimated(source);
}

/* The rows of an operation in a tier, of all phases. */
static struct row_count sum_phases(const struct sim_stats *st, enum trace_op op, int tier)
{
    struct row_count sum = {0};
    for (int ph = 0; ph <= TRACE_PHASES; ph++) {
        sum.rows += st->rows.by[op][tier][ph].rows;
        if (__builtin_add_overflow(sum.bytes, st->rows.by[op][tier][ph].bytes, &sum.bytes))
            sum.bytes = UINT64_MAX;
    }
    return sum;
}

static struct hist *summary_first_token(const struct sim_stats *st)
{
    struct hist *all = hist_create();
    for (int q = 0; q < TRACE_QOSES && all; q++)
        if (hist_merge(all, st->prefill.first_token_ns[q]) < 0) {
            hist_free(all);
            return NULL;
        }
    return all;
}

/* The tier as the run had it; false: nothing was simulated. */
static bool tier_state(const struct summary *s, enum trace_tier tier,
                       struct hierarchy_tier_stats *t)
{
    *t = (struct hierarchy_tier_stats){0};
    if (s->hierarchy)
        hierarchy_stats(s->hierarchy, tier, t);
    else if (s->engine)
        *t = (struct hierarchy_tier_stats){.present = s->engine->capacity[tier] > 0,
                                           .capacity = engine_summary_capacity(s->engine, tier)};
    return s->hierarchy || s->engine;
}

/* ---- as text ---- */

/* A number as text, to be used within the expression that makes it. */
struct text {
    char s[40];
};

static struct text count(uint64_t n)
{
    struct text t = {""};
    units_format_count(t.s, sizeof(t.s), n);
    return t;
}

static struct text bytes(uint64_t n)
{
    struct text t = {""};
    units_format_bytes(t.s, sizeof(t.s), (double)n);
    return t;
}

static struct text duration(int64_t ns)
{
    struct text t = {""};
    units_format_duration(t.s, sizeof(t.s), (double)ns);
    return t;
}

/* In three digits: "1.23 M". */
static struct text brief(uint64_t n)
{
    struct text t = count(n);
    if (n >= 1000000)
        snprintf(t.s, sizeof(t.s), "%.3g %s", (double)n / (n < 1000000000 ? 1e6 : 1e9),
                 n < 1000000000 ? "M" : "G");
    return t;
}

static struct text brief_bytes(uint64_t n)
{
    struct text t = {""};
    units_format_size(t.s, sizeof(t.s), n);
    return t;
}

enum {
    LINES = 8, /* of the summary, of 80 columns */
    COLUMNS = 80
};

/* A line that is too long loses its end, and says so. */
static void put_line(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put_line(FILE *f, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    err_make_harmless(line); /* names of models and media come from files */
    if (strlen(line) > COLUMNS)
        fprintf(f, "%.*s...\n", COLUMNS - 3, line);
    else
        fprintf(f, "%s\n", line);
}

/* Whether the tier was in use. */
static bool print_tier(FILE *f, const struct summary *s, int tier)
{
    const struct row_counts_tier *rows = &s->stats->rows.tier[tier];
    struct row_count reads = sum_phases(s->stats, TRACE_READ, tier);
    struct row_count writes = sum_phases(s->stats, TRACE_WRITE, tier);
    struct hierarchy_tier_stats t;
    char peak[64] = "";
    const bool simulated = tier_state(s, (enum trace_tier)tier, &t);
    if (reads.rows + writes.rows == 0)
        return false;
    if (simulated && (t.capacity == HIERARCHY_UNLIMITED || t.capacity == 0))
        snprintf(peak, sizeof(peak), ", peak %s", brief_bytes(rows->peak_bytes).s);
    else if (simulated)
        snprintf(peak, sizeof(peak), ", peak %.0f %% of %s",
                 100.0 * (double)rows->peak_bytes / (double)t.capacity, brief_bytes(t.capacity).s);
    put_line(f, "%-10s %s read%s %s, %s write%s %s%s", trace_tier_text((enum trace_tier)tier),
             brief(reads.rows).s, units_plural(reads.rows), brief_bytes(reads.bytes).s,
             brief(writes.rows).s, units_plural(writes.rows), brief_bytes(writes.bytes).s, peak);
    return true;
}

/* Adds part to a line where it has room. */
static void add_part(char line[COLUMNS + 1], const char *separator, const char *part)
{
    size_t len = strlen(line);
    if (len + strlen(separator) + strlen(part) <= COLUMNS)
        snprintf(line + len, COLUMNS + 1 - len, "%s%s", separator, part);
}

/* "hit rate   99.6 % of 726 lookups: user 100.0 %, system 76.9 %". */
static bool print_hits(FILE *f, const struct sim_stats *st)
{
    char line[COLUMNS + 1], part[64];
    const char *separator = ": ";
    uint64_t hits = 0, lookups = 0;
    for (int c = 0; c <= TRACE_CLASSES; c++) {
        hits += st->rows.hits[c];
        lookups += st->rows.hits[c] + st->rows.misses[c];
    }
    if (lookups == 0)
        return false;
    snprintf(line, sizeof(line), "hit rate   %.1f %% of %s lookup%s",
             100.0 * (double)hits / (double)lookups, brief(lookups).s, units_plural(lookups));
    for (int c = 0; c < TRACE_CLASSES; c++) {
        uint64_t of_class = st->rows.hits[c] + st->rows.misses[c];
        if (of_class == 0)
            continue;
        snprintf(part, sizeof(part), "%s %.1f %%", trace_class_text((enum trace_class)c),
                 100.0 * (double)st->rows.hits[c] / (double)of_class);
        add_part(line, separator, part);
        separator = ", ";
    }
    fprintf(f, "%s\n", line);
    return true;
}

static bool print_dropped(FILE *f, const struct summary *s)
{
    uint64_t dropped = 0, dropped_bytes = 0;
    if (s->hierarchy)
        hierarchy_dropped(s->hierarchy, &dropped, &dropped_bytes);
    if (dropped == 0)
        return false;
    put_line(f, "dropped    %s object%s (%s) that no tier could hold", count(dropped).s,
             units_plural(dropped), bytes(dropped_bytes).s);
    return true;
}

static bool print_oversized(FILE *f, const struct summary *s)
{
    for (int t = 0; t < TRACE_TIERS && s->hierarchy; t++) {
        const struct row_counts_tier *rows = &s->stats->rows.tier[t];
        if (rows->oversized == 0)
            continue;
        put_line(f, "oversized  %s object%s larger than all of %s", count(rows->oversized).s,
                 rows->oversized == 1 ? " was" : "s were", trace_tier_text((enum trace_tier)t));
        return true;
    }
    return false;
}

static bool print_curve(FILE *f, const struct summary *s)
{
    const struct curve_result *r = s->curve;
    if (!r || r->knee == CURVE_NO_KNEE)
        return false;
    const struct curve_point *top = &r->point[r->points - 1], *knee = &r->point[r->knee];
    put_line(f, "curve      %s%s: knee %.4f at %s, ceiling %.4f from %s on", s->curve_policy,
             s->curve_sample < 1 ? " (sampled)" : "", (double)knee->hits / (double)r->lookups,
             bytes(knee->capacity).s, (double)top->hits / (double)r->lookups, bytes(r->need).s);
    return true;
}

/* Leaves out times that are all zero, such as those in tiers that take no time. */
static bool print_latencies(FILE *f, const struct summary *s)
{
    static const enum sim_time shown[] = {SIM_END_TO_END, SIM_QUEUE, SIM_STORAGE};
    static const char *const names[] = {"end to end", "in the queue", "in the tiers"};
    char line[COLUMNS + 1] = "latency    ", part[128];
    const char *separator = "";
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        const struct hist *h = s->stats->time_ns[shown[i]];
        if (!h || hist_max(h) == 0)
            continue;
        snprintf(part, sizeof(part), "%s p50 %s, p95 %s", names[i],
                 duration(hist_percentile(h, 500000)).s, duration(hist_percentile(h, 950000)).s);
        add_part(line, separator, part);
        separator = "; ";
    }
    if (separator[0] == '\0')
        return false;
    fprintf(f, "%s\n", line);
    return true;
}

/* "first token p50 1.2 s, p95 3.4 s (by calculation); interactive p95 2.0 s". */
static bool print_first_token(FILE *f, const struct summary *s)
{
    char line[COLUMNS + 1] = "first token ", part[128];
    struct hist *all = s->compute ? summary_first_token(s->stats) : NULL;
    if (!all || hist_count(all) == 0) {
        hist_free(all);
        return false;
    }
    snprintf(part, sizeof(part), "p50 %s, p95 %s (%s)", duration(hist_percentile(all, 500000)).s,
             duration(hist_percentile(all, 950000)).s,
             s->compute->time.measured ? "prefill measured" : "by calculation");
    add_part(line, "", part);
    hist_free(all);
    for (int q = 0; q < TRACE_QOSES; q++) {
        const struct hist *h = s->stats->prefill.first_token_ns[q];
        if (hist_count(h) == 0)
            continue;
        snprintf(part, sizeof(part), "; %s p95 %s", trace_qos_text((enum trace_qos)q),
                 duration(hist_percentile(h, 950000)).s);
        add_part(line, "", part);
    }
    fprintf(f, "%s\n", line);
    return true;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* The hit rates of the cache that was recorded and of the one that was simulated. */
static bool print_recorded(FILE *f, const struct summary *s)
{
    struct source_recorded r;
    if (!s->source->ops->recorded)
        return false;
    s->source->ops->recorded(s->source, &r);
    put_line(f, "tokens hit recorded hit rate %.3f, simulated %.3f",
             share(r.cached_tokens, r.input_tokens),
             share(s->stats->hit_tokens, s->stats->context_tokens));
    return true;
}

/* The times of the service that was recorded; the simulated ones are the latency. */
static bool print_recorded_times(FILE *f, const struct summary *s)
{
    struct source_recorded r = {0};
    if (s->source->ops->recorded)
        s->source->ops->recorded(s->source, &r);
    if (!r.end_to_end_ns || hist_count(r.end_to_end_ns) == 0)
        return false;
    put_line(f, "recorded   p50 and p95: end to end %s, %s; 1st token %s, %s",
             duration(hist_percentile(r.end_to_end_ns, 500000)).s,
             duration(hist_percentile(r.end_to_end_ns, 950000)).s,
             duration(hist_percentile(r.first_token_ns, 500000)).s,
             duration(hist_percentile(r.first_token_ns, 950000)).s);
    return true;
}

/* Adds a number, unless it is 0. */
static void add_count(char line[COLUMNS + 1], const char *separator, uint64_t n, const char *what)
{
    char part[64];
    snprintf(part, sizeof(part), "%s%s%s", count(n).s, what[0] ? " " : "", what);
    if (n > 0)
        add_part(line, separator, part);
}

/* Prints what was recorded, and what was not. Returns the number of lines. */
static int print_recording(FILE *f, const struct summary *s)
{
    const struct source_recording *r = s->source->ops->recording(s->source);
    char line[COLUMNS + 1];
    int lines = 2;
    snprintf(line, sizeof(line), "recording  %s messages", count(r->messages).s);
    add_count(line, " of ", r->owners, r->owners == 1 ? "rank" : "ranks");
    add_count(line, "; ", r->missing, "missing");
    add_count(line, "; ", r->restarts, r->restarts == 1 ? "restart" : "restarts");
    if (r->cut)
        add_part(line, "; ", "the file is cut");
    fprintf(f, "%s\n", line);
    snprintf(line, sizeof(line), "blocks     %s stored", count(r->stored).s);
    add_count(line, " (", r->stored_again, "again)");
    add_count(line, ", ", r->removed, "removed");
    add_count(line, " (", r->removed_unknown, "not known)");
    add_count(line, ", ", r->dropped_by_clear + r->dropped_by_restart, "cleared");
    add_count(line, ", ", r->moves, "moved down");
    fprintf(f, "%s\n", line);
    if (r->possible_loads > 0 || r->reads > 0) {
        snprintf(line, sizeof(line), "reads      %s", count(r->reads).s);
        add_count(line, " (", r->reads_unsized, "of unknown size)");
        add_count(line, "; possible loads from lower tiers: ", r->possible_loads, "");
        fprintf(f, "%s\n", line);
        lines++;
    }
    if (r->requests > 0) {
        put_line(f, "requests   %s paired, %s refused; %s tokens read, as recorded in %s",
                 count(r->requests - r->requests_refused).s, count(r->requests_refused).s,
                 count(r->read_tokens).s, count(r->requests_exact).s);
        lines++;
    }
    if (!r->has_reads || !r->has_times || r->unrecorded) {
        put_line(f, "not in it  %s%s%s%s%s", r->has_reads ? "" : "reads (writes only)",
                 !r->has_reads && !r->has_times ? ", " : "",
                 r->has_times ? "" : "times (order only)",
                 (!r->has_reads || !r->has_times) && r->unrecorded ? ", " : "",
                 r->unrecorded ? r->unrecorded : "");
        lines++;
    }
    return lines;
}

/* Which measurement the times of a tier come from, and whether it may be believed. */
static bool print_drive(FILE *f, const struct summary *s)
{
    for (int t = TRACE_TIERS - 1; t >= 0; t--) {
        const struct drive_model *drive = s->speed ? s->speed[t].drive : NULL;
        if (!drive)
            continue;
        const struct drive_model_facts *facts = drive_model_facts(drive);
        char validity[NOTES_CAP];
        drive_model_validity(drive, validity, sizeof(validity));
        put_line(f, "drive      %s: simulated from %s (%s)", trace_tier_text((enum trace_tier)t),
                 facts->device[0] ? facts->device : facts->file, validity);
        return true;
    }
    return false;
}

/* ---- what a drive under Tier-2 would have to endure ---- */

/* false: no time went by, or there is no Tier-2. */
static bool find_endurance(const struct summary *s, struct endurance *e)
{
    struct hierarchy_tier_stats t;
    if (!tier_state(s, TRACE_STORAGE, &t) || !t.present || s->stats->now_ns <= 0)
        return false;
    double days = (double)s->stats->now_ns / (double)UNITS_NS_PER_S / 86400;
    /* With an engine the tier is a rank's share of the host's. */
    double ranks = s->compute ? s->compute->host_ranks : 1;
    double written = ranks * (double)sum_phases(s->stats, TRACE_WRITE, TRACE_STORAGE).bytes;
    double capacity = t.capacity != HIERARCHY_UNLIMITED ? ranks * (double)t.capacity : 0;
    *e = endurance_of(written / days, capacity, s->tbw);
    return true;
}

/* Only where the drive's rating was told: else it is in the JSON. */
static bool print_endurance(FILE *f, const struct summary *s)
{
    struct endurance e;
    char writes[48] = "", years[48] = "";
    if (!(s->tbw > 0) || !find_endurance(s, &e))
        return false;
    if (!isnan(e.drive_writes_per_day))
        snprintf(writes, sizeof(writes), ", %.3g drive writes a day", e.drive_writes_per_day);
    if (!isnan(e.years))
        snprintf(years, sizeof(years), ", %.3g years", e.years);
    put_line(f, "endurance  %.4g TB a day%s%s", e.bytes_per_day / 1e12, writes, years);
    return true;
}

/* Prints the format that the input was taken for. */
static void print_reading(FILE *f, const struct summary *s)
{
    char line[READING_LINE];
    if (s->reading)
        put_line(f, "input      %s", reading_line(s->reading, line));
}

/* Every request that was issued is in one of the numbers. */
static void print_requests(FILE *f, const struct sim_stats *st)
{
    char waiting[64] = "";
    if (st->waiting > 0)
        snprintf(waiting, sizeof(waiting), ", %s waiting", count(st->waiting).s);
    put_line(f, "requests   %s issued in %s: %s completed, %s in progress%s", count(st->issued).s,
             duration(st->now_ns).s, count(st->completed).s, count(st->in_progress).s, waiting);
}

void summary_print(FILE *f, const struct summary *s)
{
    /* In the order of what a user must know; what has no room is in the JSON. */
    static bool (*const optional[])(FILE *, const struct summary *) = {
        print_first_token, print_dropped, print_oversized, print_recorded,      print_drive,
        print_endurance,   print_curve,   print_latencies, print_recorded_times};
    const struct sim_stats *st = s->stats;
    const char *digest = s->trace->digest;
    uint64_t state = s->model ? model_state_bytes(s->model) : 0;
    bool recording = s->source->ops->recording != NULL; /* it names no requests */
    int lines = (recording ? 0 : 2) + (digest[0] != '\0');
    print_reading(f, s); /* a line more */
    if (recording)
        lines += print_recording(f, s);
    else
        print_requests(f, st);
    if (!s->model && !recording)
        put_line(f, "tokens     %s generated", brief(st->generated_tokens).s);
    else if (!recording)
        put_line(f, "tokens     %s of context, %s generated%s; %s, %s a token%s%s",
                 brief(st->context_tokens).s, brief(st->generated_tokens).s,
                 is_estimated(s->source) ? " (estimated)" : "", s->model->name,
                 bytes(model_bytes_per_token(s->model)).s,
                 state > 0 ? ", state of a sequence " : "", state > 0 ? bytes(state).s : "");
    for (int t = 0; t < TRACE_TIERS; t++)
        lines += print_tier(f, s, t);
    lines += s->engine || print_hits(f, st); /* an engine's hits are of tokens */
    char line[ENGINE_SUMMARY_TEXT];
    for (size_t i = 0; s->engine && i < ENGINE_SUMMARY_LINES; i++)
        if (engine_summary_line(s->engine, i, line))
            put_line(f, "%s", line);
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]) && lines < LINES; i++)
        lines += optional[i](f, s);
    if (digest[0] != '\0')
        fprintf(f, "trace      %s row%s, digest %s\n", count(s->trace->rows).s,
                units_plural(s->trace->rows), digest);
    if (s->worth)
        worth_print(f, s->worth);
}

/* ---- as JSON ---- */

static double seconds(int64_t ns)
{
    return (double)ns / (double)UNITS_NS_PER_S;
}

/* null if there is nothing to divide by. */
static void put_ratio(struct jsonout *j, const char *key, double part, double whole)
{
    jsonout_f64(j, key, whole > 0 ? part / whole : NAN);
}

static void put_trace(struct jsonout *j, const struct summary *s)
{
    double wall_s = seconds(s->wall_ns);
    uint64_t rows = 0; /* written or not */
    for (int op = 0; op < TRACE_OPS; op++)
        for (int t = 0; t <= TRACE_TIERS; t++)
            rows += sum_phases(s->stats, (enum trace_op)op, t).rows;
    jsonout_object(j, "trace");
    jsonout_u64(j, "rows", s->trace->rows);
    jsonout_text_known(j, "digest", s->trace->digest);
    jsonout_f64(j, "simulated_s", seconds(s->stats->now_ns));
    jsonout_f64(j, "wall_s", wall_s);
    jsonout_f64(j, "rows_per_s", wall_s > 0 ? (double)rows / wall_s : 0);
    jsonout_end(j);
}

/* Queues of all requests that arrived, with those that wait at the end; null where tiers take no
 * time. */
static void put_queues(struct jsonout *j, const struct sim_stats *st)
{
    if (!st->queued_ns[0]) {
        jsonout_null(j, "queue_by_qos_ms");
        jsonout_null(j, "waiting_by_qos");
        return;
    }
    jsonout_object(j, "queue_by_qos_ms");
    for (int q = 0; q < TRACE_QOSES; q++)
        jsonout_hist(j, trace_qos_text((enum trace_qos)q), st->queued_ns[q], 1e6);
    jsonout_end(j);
    jsonout_object(j, "waiting_by_qos");
    for (int q = 0; q < TRACE_QOSES; q++)
        jsonout_u64(j, trace_qos_text((enum trace_qos)q), st->waiting_by_qos[q]);
    jsonout_end(j);
}

static void put_requests(struct jsonout *j, const struct sim_stats *st, const struct source *source)
{
    const struct skips *skips = source->ops->skips ? source->ops->skips(source) : NULL;
    uint64_t conversations, turns;
    jsonout_object(j, "requests");
    jsonout_u64(j, "issued", st->issued);
    jsonout_u64(j, "served", st->served);
    jsonout_u64(j, "completed", st->completed);
    jsonout_u64(j, "in_progress", st->in_progress);
    jsonout_u64(j, "waiting", st->waiting);
    jsonout_u64(j, "waiting_documents", st->waiting_documents);
    jsonout_u64(j, "skipped_rows", skips ? skips->rows : 0);
    jsonout_u64(j, "context_tokens", st->context_tokens);
    jsonout_u64(j, "generated_tokens", st->generated_tokens);
    jsonout_bool(j, "tokens_estimated", is_estimated(source));
    jsonout_object(j, "by_qos");
    for (int q = 0; q < TRACE_QOSES; q++)
        jsonout_u64(j, trace_qos_text((enum trace_qos)q), st->completed_by_qos[q]);
    jsonout_end(j);
    jsonout_hist(j, "end_to_end_ms", st->time_ns[SIM_END_TO_END], 1e6);
    jsonout_hist(j, "queue_ms", st->time_ns[SIM_QUEUE], 1e6);
    put_queues(j, st);
    jsonout_hist(j, "storage_ms", st->time_ns[SIM_STORAGE], 1e6);
    jsonout_hist(j, "generation_ms", st->time_ns[SIM_GENERATION], 1e6);
    if (st->time_ns[SIM_INGEST] && hist_count(st->time_ns[SIM_INGEST]) > 0)
        jsonout_hist(j, "ingest_ms", st->time_ns[SIM_INGEST], 1e6);
    jsonout_end(j);

    source->ops->conversations(source, &conversations, &turns);
    jsonout_object(j, "conversations");
    jsonout_u64(j, "count", conversations);
    put_ratio(j, "turns_mean", (double)turns, (double)conversations);
    jsonout_end(j);
}

/* Not there without an engine. */
static void put_prefill(struct jsonout *j, const struct summary *s)
{
    const struct prefill_stats *p = &s->stats->prefill;
    struct hist *all = s->compute ? summary_first_token(s->stats) : NULL;
    if (!s->compute)
        return;
    provenance_put_compute(j, s->compute, s->gpu);
    jsonout_object(j, "prefill");
    jsonout_u64(j, "requests", p->requests);
    jsonout_u64(j, "cached_tokens", p->cached_tokens);
    jsonout_u64(j, "new_tokens", p->fresh_tokens);
    jsonout_f64(j, "engine_s", seconds(p->busy_ns));
    jsonout_f64(j, "gpu_s", seconds(p->busy_ns) * s->compute->tensor_parallel);
    put_ratio(j, "busy_share", seconds(p->busy_ns),
              seconds(s->stats->now_ns) * s->compute->engines);
    jsonout_object(j, "first_token_ms");
    if (all)
        jsonout_hist(j, "all", all, 1e6);
    for (int q = 0; q < TRACE_QOSES; q++)
        jsonout_hist(j, trace_qos_text((enum trace_qos)q), p->first_token_ns[q], 1e6);
    jsonout_end(j);
    jsonout_end(j);
    hist_free(all);
}

static void put_rows_by(struct jsonout *j, const struct sim_stats *st)
{
    jsonout_array(j, "rows_by");
    for (int op = 0; op < TRACE_OPS; op++)
        for (int t = 0; t <= TRACE_TIERS; t++)
            for (int ph = 0; ph <= TRACE_PHASES; ph++) {
                const struct row_count *c = &st->rows.by[op][t][ph];
                if (c->rows == 0)
                    continue;
                jsonout_object(j, NULL);
                jsonout_text_value(j, "op", trace_op_text((enum trace_op)op));
                jsonout_text_known(j, "tier", trace_tier_text((enum trace_tier)t));
                jsonout_text_known(j, "phase", trace_phase_text((enum trace_phase)ph));
                jsonout_u64(j, "rows", c->rows);
                jsonout_u64(j, "bytes", c->bytes);
                jsonout_end(j);
            }
    jsonout_end(j);
}

static void put_lookups(struct jsonout *j, const char *key, uint64_t hits, uint64_t misses)
{
    jsonout_object(j, key);
    jsonout_u64(j, "lookups", hits + misses);
    jsonout_u64(j, "hits", hits);
    jsonout_u64(j, "misses", misses);
    put_ratio(j, "hit_rate", (double)hits, (double)(hits + misses));
    jsonout_end(j);
}

/* Rates of tokens of context; null where nothing was recorded. */
static void put_recorded(struct jsonout *j, const struct summary *s)
{
    struct source_recorded r;
    if (!s->source->ops->recorded) {
        jsonout_null(j, "recorded");
        return;
    }
    s->source->ops->recorded(s->source, &r);
    jsonout_object(j, "recorded");
    jsonout_u64(j, "input_tokens", r.input_tokens);
    jsonout_u64(j, "cached_tokens", r.cached_tokens);
    put_ratio(j, "hit_rate", (double)r.cached_tokens, (double)r.input_tokens);
    jsonout_u64(j, "simulated_cached_tokens", s->stats->hit_tokens);
    put_ratio(j, "simulated_hit_rate", (double)s->stats->hit_tokens,
              (double)s->stats->context_tokens);
    jsonout_hist(j, "end_to_end_ms", r.end_to_end_ns, 1e6);
    jsonout_hist(j, "first_token_ms", r.first_token_ns, 1e6);
    jsonout_end(j);
}

/* null for what is no recording of events. */
static void put_recording(struct jsonout *j, const struct summary *s)
{
    const struct source_recording *r =
        s->source->ops->recording ? s->source->ops->recording(s->source) : NULL;
    if (!r) {
        jsonout_null(j, "recording");
        return;
    }
    const struct {
        const char *name;
        uint64_t n;
    } counts[] = {{"messages", r->messages},
                  {"missing", r->missing},
                  {"restarts", r->restarts},
                  {"publishers_and_ranks", r->owners},
                  {"stored", r->stored},
                  {"stored_again", r->stored_again},
                  {"removed", r->removed},
                  {"removed_not_known", r->removed_unknown},
                  {"cleared", r->cleared},
                  {"dropped_by_clear", r->dropped_by_clear},
                  {"dropped_by_restart", r->dropped_by_restart},
                  {"moves", r->moves},
                  {"moves_up", r->moves_up},
                  {"possible_loads", r->possible_loads},
                  {"reads", r->reads},
                  {"reads_of_unknown_size", r->reads_unsized},
                  {"requests", r->requests},
                  {"requests_refused", r->requests_refused},
                  {"requests_exact", r->requests_exact},
                  {"read_tokens", r->read_tokens},
                  {"tokens", r->tokens},
                  {"late", r->late},
                  {"unknown_fields", r->unknown_fields},
                  {"unknown_events", r->unknown_events},
                  {"unknown_media", r->unknown_media},
                  {"damaged", r->damaged},
                  {"unsized", r->unsized}};
    jsonout_object(j, "recording");
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
        jsonout_u64(j, counts[i].name, counts[i].n);
    jsonout_array(j, "resident");
    for (size_t i = 0; i < r->media; i++) {
        jsonout_object(j, NULL);
        jsonout_text_value(j, "medium", r->medium[i].name);
        jsonout_u64(j, "blocks", r->resident[i]);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_bool(j, "writes_only", !r->has_reads);
    jsonout_bool(j, "times", r->has_times);
    jsonout_bool(j, "cut", r->cut);
    jsonout_end(j);
}

static void put_all_lookups(struct jsonout *j, const struct sim_stats *st)
{
    static const enum trace_class shown[] = {TRACE_USER, TRACE_MULTI_TURN, TRACE_SYSTEM, TRACE_RAG,
                                             TRACE_BLOCK};
    uint64_t hits = 0, misses = 0;
    for (int c = 0; c <= TRACE_CLASSES; c++) {
        hits += st->rows.hits[c];
        misses += st->rows.misses[c];
    }
    jsonout_object(j, "lookups");
    put_lookups(j, "all", hits, misses);
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
        put_lookups(j, trace_class_text(shown[i]), st->rows.hits[shown[i]],
                    st->rows.misses[shown[i]]);
    jsonout_end(j);
}

/* The times of a tier's operations; null if they take none. */
static void put_use(struct jsonout *j, const char *key, const struct tier_server_use *use,
                    int64_t elapsed_ns)
{
    if (!use) {
        jsonout_null(j, key);
        return;
    }
    jsonout_object(j, key);
    jsonout_hist(j, "latency_us", use->latency_ns, 1e3);
    put_ratio(j, "busy_share", (double)use->transfer_ns, (double)elapsed_ns);
    jsonout_end(j);
}

static void put_tier(struct jsonout *j, const struct summary *s, enum trace_tier tier)
{
    struct hierarchy_tier_stats t;
    if (!tier_state(s, tier, &t) || !t.present)
        return;
    const struct row_counts_tier *rows = &s->stats->rows.tier[tier];
    struct row_count reads = sum_phases(s->stats, TRACE_READ, (int)tier);
    struct row_count writes = sum_phases(s->stats, TRACE_WRITE, (int)tier);
    jsonout_object(j, NULL);
    jsonout_text_value(j, "tier", trace_tier_text(tier));
    provenance_put_capacity(j, t.capacity);
    jsonout_u64(j, "read_ops", reads.rows);
    jsonout_u64(j, "read_bytes", reads.bytes);
    jsonout_u64(j, "write_ops", writes.rows);
    jsonout_u64(j, "write_bytes", writes.bytes);
    jsonout_u64(j, "evict_ops", rows->evicted);
    jsonout_u64(j, "delete_ops", rows->deleted);
    jsonout_u64(j, "promote_ops", rows->promoted);
    jsonout_u64(j, "peak_bytes", rows->peak_bytes);
    jsonout_u64(j, "final_bytes", rows->bytes);
    jsonout_u64(j, "final_objects", rows->objects);
    jsonout_u64(j, "oversized_objects", rows->oversized);
    jsonout_u64(j, "excess_bytes",
                rows->peak_bytes > t.capacity ? rows->peak_bytes - t.capacity : 0);
    if (s->speed && s->speed[tier].drive)
        provenance_put_drive(j, s->speed[tier].drive);
    if (s->servers) {
        put_use(j, "read", tier_servers_reads(s->servers, tier), s->stats->now_ns);
        put_use(j, "write", tier_servers_writes(s->servers, tier), s->stats->now_ns);
    }
    jsonout_end(j);
}

static void put_tiers(struct jsonout *j, const struct summary *s)
{
    uint64_t writes, dropped_bytes;
    jsonout_array(j, "tiers");
    for (int t = 0; t < TRACE_TIERS; t++)
        put_tier(j, s, (enum trace_tier)t);
    jsonout_end(j);
    if (!s->hierarchy) {
        jsonout_null(j, "dropped");
        return;
    }
    hierarchy_dropped(s->hierarchy, &writes, &dropped_bytes);
    jsonout_object(j, "dropped");
    jsonout_u64(j, "writes", writes);
    jsonout_u64(j, "bytes", dropped_bytes);
    jsonout_end(j);
}

static void put_endurance(struct jsonout *j, const struct summary *s)
{
    struct endurance e;
    if (!find_endurance(s, &e)) {
        jsonout_null(j, "endurance");
        return;
    }
    jsonout_object(j, "endurance");
    jsonout_text_value(j, "tier", trace_tier_text(TRACE_STORAGE));
    jsonout_f64(j, "write_bytes_per_day", e.bytes_per_day);
    jsonout_f64(j, "drive_writes_per_day", e.drive_writes_per_day);
    jsonout_f64(j, "tbw", s->tbw > 0 ? s->tbw : NAN);
    jsonout_f64(j, "years", e.years);
    jsonout_end(j);
}

static void put_point(struct jsonout *j, const char *key, const struct summary *s, size_t i)
{
    const struct curve_result *r = s->curve;
    const struct curve_point *p = &r->point[i];
    jsonout_object(j, key);
    jsonout_u64(j, "capacity_bytes", i + 1 == r->points ? r->need : p->capacity);
    jsonout_u64(j, "hits", p->hits);
    jsonout_f64(j, "object_hit_rate", (double)p->hits / (double)r->lookups);
    jsonout_f64(j, "byte_hit_rate", (double)p->hit_bytes / (double)r->lookup_bytes);
    if (s->curve_optimal) {
        jsonout_u64(j, "optimal_hits", p->optimal_hits);
        jsonout_f64(j, "optimal_object_hit_rate", (double)p->optimal_hits / (double)r->lookups);
        jsonout_f64(j, "optimal_byte_hit_rate",
                    (double)p->optimal_hit_bytes / (double)r->lookup_bytes);
    }
    jsonout_end(j);
}

static void put_curve(struct jsonout *j, const struct summary *s)
{
    if (!s->curve) {
        jsonout_null(j, "curve");
        return;
    }
    jsonout_object(j, "curve");
    jsonout_text_value(j, "eviction", s->curve_policy);
    jsonout_f64(j, "sample", s->curve_sample);
    jsonout_u64(j, "lookups", s->curve->lookups);
    jsonout_u64(j, "lookup_bytes", s->curve->lookup_bytes);
    put_point(j, "ceiling", s, s->curve->points - 1);
    if (s->curve->knee != CURVE_NO_KNEE)
        put_point(j, "knee", s, s->curve->knee);
    else
        jsonout_null(j, "knee");
    jsonout_end(j);
}

int summary_save(const struct summary *s, const char *path, struct err *e)
{
    struct jsonout *j = jsonout_create();
    if (!j)
        return err_nomem(e, "summary");
    jsonout_identity(j, "kvgen", s->argc, s->argv, s->started_wall_ns);
    jsonout_text_value(j, "source", s->source->ops->name);
    reading_put(j, s->reading);
    provenance_put_origin(j, s->seed, s->model);
    if (s->model)
        provenance_put_configuration(j, s->conf);
    put_trace(j, s);
    put_requests(j, s->stats, s->source);
    put_prefill(j, s);
    if (s->engine) {
        engine_summary_put(j, s->engine);
        provenance_put_steps(j, s->engine->steps);
    }
    if (s->worth)
        worth_put(j, s->worth);
    put_rows_by(j, s->stats);
    put_all_lookups(j, s->stats);
    put_recorded(j, s);
    put_recording(j, s);
    put_tiers(j, s);
    put_endurance(j, s);
    put_curve(j, s);
    int rc = jsonout_save(j, path, e);
    jsonout_free(j);
    return rc;
}
