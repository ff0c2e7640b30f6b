/* summary.c - the end of a run: totals of the simulation and of the file as JSON and as provenance.
 * Counting was done on the way; text for people is in summary_text.c. */
#include "kvgen/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/json/jsonin.h"

static double seconds(int64_t ns)
{
    return (double)ns / (double)UNITS_NS_PER_S;
}

static void put_text(struct jsonout *j, const char *key, const char *text)
{
    jsonout_text_value(j, key, text[0] != '\0' ? text : NULL);
}

/* What made the rows; null for both where that was not done here. */
static void put_origin(struct jsonout *j, uint64_t seed, const struct model *m)
{
    if (!m) {
        jsonout_null(j, "seed");
        jsonout_null(j, "model");
        return;
    }
    jsonout_u64(j, "seed", seed);
    jsonout_object(j, "model");
    jsonout_text_value(j, "name", m->id);
    jsonout_u64(j, "bytes_per_token", model_bytes_per_token(m));
    jsonout_end(j);
}

static uint64_t rows_of(const struct sim_stats *st)
{
    uint64_t n = 0;
    for (int op = 0; op < TRACE_OPS; op++)
        for (int t = 0; t <= TRACE_TIERS; t++)
            for (int ph = 0; ph <= TRACE_PHASES; ph++)
                n += st->rows.by[op][t][ph].rows;
    return n;
}

static void put_trace(struct jsonout *j, const struct summary *s)
{
    double wall_s = seconds(s->wall_ns);
    jsonout_object(j, "trace");
    jsonout_u64(j, "rows", s->trace->rows);
    put_text(j, "digest", s->trace->digest);
    jsonout_f64(j, "simulated_s", seconds(s->stats->now_ns));
    jsonout_f64(j, "wall_s", wall_s);
    jsonout_f64(j, "rows_per_s", wall_s > 0 ? (double)rows_of(s->stats) / wall_s : 0);
    jsonout_end(j);
}

static bool is_estimated(const struct source *source)
{
    return source->ops->estimated && source->ops->estimated(source);
}

static void put_latencies(struct jsonout *j, const struct sim_stats *st)
{
    jsonout_hist(j, "end_to_end_ms", st->time_ns[SIM_END_TO_END], 1e6);
    jsonout_hist(j, "queue_ms", st->time_ns[SIM_QUEUE], 1e6);
    jsonout_hist(j, "storage_ms", st->time_ns[SIM_STORAGE], 1e6);
    jsonout_hist(j, "generation_ms", st->time_ns[SIM_GENERATION], 1e6);
}

static void put_requests(struct jsonout *j, const struct sim_stats *st, const struct source *source)
{
    const struct source_skips *skips = source->ops->skips ? source->ops->skips(source) : NULL;
    jsonout_object(j, "requests");
    jsonout_u64(j, "issued", st->issued);
    jsonout_u64(j, "served", st->served);
    jsonout_u64(j, "completed", st->completed);
    jsonout_u64(j, "waiting", st->waiting);
    jsonout_u64(j, "skipped_rows", skips ? skips->rows : 0);
    jsonout_u64(j, "context_tokens", st->context_tokens);
    jsonout_u64(j, "generated_tokens", st->generated_tokens);
    jsonout_bool(j, "tokens_estimated", is_estimated(source));
    jsonout_object(j, "by_qos");
    for (int q = 0; q < TRACE_QOSES; q++)
        jsonout_u64(j, trace_qos_text((enum trace_qos)q), st->completed_by_qos[q]);
    jsonout_end(j);
    put_latencies(j, st);
    jsonout_end(j);
}

static void put_conversations(struct jsonout *j, const struct source *source)
{
    uint64_t count, turns;
    source->ops->conversations(source, &count, &turns);
    jsonout_object(j, "conversations");
    jsonout_u64(j, "count", count);
    if (count > 0)
        jsonout_f64(j, "turns_mean", (double)turns / (double)count);
    else
        jsonout_null(j, "turns_mean");
    jsonout_end(j);
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
                put_text(j, "tier", trace_tier_text((enum trace_tier)t));
                put_text(j, "phase", trace_phase_text((enum trace_phase)ph));
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
    if (hits + misses > 0)
        jsonout_f64(j, "hit_rate", (double)hits / (double)(hits + misses));
    else
        jsonout_null(j, "hit_rate");
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

static void put_capacity(struct jsonout *j, uint64_t capacity)
{
    if (capacity == HIERARCHY_UNLIMITED)
        jsonout_null(j, "capacity_bytes");
    else
        jsonout_u64(j, "capacity_bytes", capacity);
}

static struct row_count sum_phases(const struct sim_stats *st, enum trace_op op, int tier)
{
    struct row_count sum = {0};
    for (int ph = 0; ph <= TRACE_PHASES; ph++) {
        sum.rows += st->rows.by[op][tier][ph].rows;
        sum.bytes += st->rows.by[op][tier][ph].bytes;
    }
    return sum;
}

/* What a tier's operations took, where they take time. */
static void put_use(struct jsonout *j, const char *key, const struct tier_server_use *use,
                    int64_t elapsed_ns)
{
    if (!use) {
        jsonout_null(j, key);
        return;
    }
    jsonout_object(j, key);
    jsonout_hist(j, "latency_us", use->latency_ns, 1e3);
    if (elapsed_ns > 0)
        jsonout_f64(j, "busy_share", (double)use->transfer_ns / (double)elapsed_ns);
    else
        jsonout_null(j, "busy_share");
    jsonout_end(j);
}

static void put_tier(struct jsonout *j, const struct summary *s, int tier)
{
    struct hierarchy_tier_stats t;
    hierarchy_stats(s->hierarchy, (enum trace_tier)tier, &t);
    if (!t.present)
        return;
    const struct row_counts_tier *rows = &s->stats->rows.tier[tier];
    struct row_count reads = sum_phases(s->stats, TRACE_READ, tier);
    struct row_count writes = sum_phases(s->stats, TRACE_WRITE, tier);
    jsonout_object(j, NULL);
    jsonout_text_value(j, "tier", trace_tier_text((enum trace_tier)tier));
    put_capacity(j, t.capacity);
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
    if (s->timing) {
        int64_t ns = s->stats->now_ns;
        put_use(j, "read", tier_servers_reads(s->timing, (enum trace_tier)tier), ns);
        put_use(j, "write", tier_servers_writes(s->timing, (enum trace_tier)tier), ns);
    }
    jsonout_end(j);
}

static void put_tiers(struct jsonout *j, const struct summary *s)
{
    uint64_t writes, bytes;
    jsonout_array(j, "tiers");
    for (int t = 0; t < TRACE_TIERS && s->hierarchy; t++)
        put_tier(j, s, t);
    jsonout_end(j);
    if (!s->hierarchy) {
        jsonout_null(j, "dropped");
        return;
    }
    hierarchy_dropped(s->hierarchy, &writes, &bytes);
    jsonout_object(j, "dropped");
    jsonout_u64(j, "writes", writes);
    jsonout_u64(j, "bytes", bytes);
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
    put_origin(j, s->seed, s->model);
    put_trace(j, s);
    put_requests(j, s->stats, s->source);
    put_conversations(j, s->source);
    put_rows_by(j, s->stats);
    put_all_lookups(j, s->stats);
    put_tiers(j, s);
    put_curve(j, s);
    int rc = jsonout_save(j, path, e);
    jsonout_free(j);
    return rc;
}

static void put_path(struct jsonout *j, const char *key, const struct tier_model_path *path)
{
    jsonout_object(j, key);
    jsonout_u64(j, "bytes_per_s", path->bytes_per_s);
    jsonout_i64(j, "latency_ns", path->latency_ns);
    jsonout_end(j);
}

static void put_place(struct jsonout *j, int tier, uint64_t capacity,
                      const struct tier_model *speed)
{
    jsonout_object(j, NULL);
    jsonout_text_value(j, "tier", trace_tier_text((enum trace_tier)tier));
    put_capacity(j, capacity);
    if (speed->given) {
        put_path(j, "read", &speed->read);
        put_path(j, "write", &speed->write);
    }
    jsonout_end(j);
}

/* The members that each provenance begins with; NULL: no memory. */
static struct jsonout *provenance_begin(uint64_t seed, const struct model *model)
{
    struct jsonout *j = jsonout_create();
    if (!j)
        return NULL;
    jsonout_text_value(j, "program", "kvgen");
    jsonout_text_value(j, "version", KVTRACE_VERSION);
    jsonout_u64(j, "format", TRACE_FORMAT_VERSION);
    put_origin(j, seed, model);
    return j;
}

struct jsonout *summary_provenance(const struct opt_parser *p, uint64_t seed,
                                   const struct model *model, const uint64_t capacity[TRACE_TIERS],
                                   const struct tier_model speed[TRACE_TIERS], const char *input)
{
    struct jsonout *j = provenance_begin(seed, model);
    if (!j)
        return NULL;
    jsonout_object(j, "options");
    jsonout_options(j, p);
    jsonout_end(j);
    jsonout_array(j, "tiers");
    for (int t = 0; t < TRACE_TIERS; t++)
        if (capacity[t] != HIERARCHY_ABSENT)
            put_place(j, t, capacity[t], &speed[t]);
    jsonout_end(j);
    if (input && jsonout_raw(j, "input", input, strlen(input)) < 0)
        jsonout_null(j, "input");
    return j;
}

/* Root members of a provenance that a copy can be added to. */
static bool can_add(const char *input)
{
    struct jsonin *d;
    if (!input || jsonin_parse(&d, input, strlen(input), "", NULL) < 0)
        return false;
    const char *first;
    const struct jsonin_v *root = jsonin_root(d);
    bool can = jsonin_member(root, 0, &first) && !jsonin_get(root, "converted");
    jsonin_free(d);
    return can;
}

static void put_request(struct jsonout *j, const struct opt_parser *p)
{
    jsonout_text_value(j, "version", KVTRACE_VERSION);
    jsonout_object(j, "options");
    jsonout_options(j, p);
    jsonout_end(j);
}

/* Of a log that says nothing of itself: nothing is known but that it was copied. The options are no
 * origin, for most of them say how rows would be made. */
static char *copied_anew(const struct opt_parser *p, const char *input)
{
    struct jsonout *j = provenance_begin(0, NULL);
    if (!j)
        return NULL;
    jsonout_array(j, "tiers");
    jsonout_end(j);
    if (input && jsonout_raw(j, "input", input, strlen(input)) < 0)
        jsonout_null(j, "input");
    jsonout_object(j, "converted");
    put_request(j, p);
    jsonout_end(j);
    const char *text = jsonout_text(j, false);
    char *copy = text ? strdup(text) : NULL;
    jsonout_free(j);
    return copy;
}

static char *copied_on(const struct opt_parser *p, const char *input)
{
    struct jsonout *j = jsonout_create();
    char *text = NULL;
    if (!j)
        return NULL;
    put_request(j, p);
    const char *own = jsonout_text(j, false);
    int old = (int)(strrchr(input, '}') - input);
    if (own && asprintf(&text, "%.*s,\"converted\":%s}", old, input, own) < 0)
        text = NULL;
    jsonout_free(j);
    return text;
}

char *summary_copied(const struct opt_parser *p, const char *input)
{
    return can_add(input) ? copied_on(p, input) : copied_anew(p, input);
}
