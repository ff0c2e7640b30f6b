/* summary_text.c - the end of a run, for people, on standard error. The same numbers in full are in
 * the JSON of summary.c. */
#include "kvgen/summary.h"
#include "lib/base/units.h"

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

static void print_requests(FILE *f, const struct summary *s)
{
    const struct sim_stats *st = s->stats;
    fprintf(f, "requests   %s issued, %s completed, %s waiting at the end\n", count(st->issued).s,
            count(st->completed).s, count(st->waiting).s);
    const struct source_ops *ops = s->source->ops;
    if (!s->model) {
        fprintf(f, "tokens     %s generated\n", count(st->generated_tokens).s);
        return;
    }
    fprintf(f, "tokens     %s of context, %s generated%s; %s, %s a token\n",
            count(st->context_tokens).s, count(st->generated_tokens).s,
            ops->estimated && ops->estimated(s->source) ? " (estimated)" : "", s->model->name,
            bytes(model_bytes_per_token(s->model)).s);
}

static void print_tier(FILE *f, const struct summary *s, int tier)
{
    struct hierarchy_tier_stats t = {0};
    const struct row_counts_tier *rows = &s->stats->rows.tier[tier];
    struct row_count reads = {0}, writes = {0};
    for (int ph = 0; ph <= TRACE_PHASES; ph++) {
        reads.rows += s->stats->rows.by[TRACE_READ][tier][ph].rows;
        reads.bytes += s->stats->rows.by[TRACE_READ][tier][ph].bytes;
        writes.rows += s->stats->rows.by[TRACE_WRITE][tier][ph].rows;
        writes.bytes += s->stats->rows.by[TRACE_WRITE][tier][ph].bytes;
    }
    if (!s->hierarchy) {
        fprintf(f, "%-10s %12s %12s %12s %12s\n", trace_tier_text((enum trace_tier)tier),
                count(reads.rows).s, bytes(reads.bytes).s, count(writes.rows).s,
                bytes(writes.bytes).s);
        return;
    }
    hierarchy_stats(s->hierarchy, (enum trace_tier)tier, &t);
    if (!t.present)
        return;
    fprintf(f, "%-10s %12s %12s %12s %12s %11s %11s %12s %12s\n",
            trace_tier_text((enum trace_tier)tier), count(reads.rows).s, bytes(reads.bytes).s,
            count(writes.rows).s, bytes(writes.bytes).s, count(rows->evicted).s,
            count(rows->deleted).s, bytes(rows->peak_bytes).s,
            t.capacity == HIERARCHY_UNLIMITED ? "-" : bytes(t.capacity).s);
    if (rows->oversized > 0)
        fprintf(f, "           %s object%s larger than all of %s; most over its capacity: %s\n",
                count(rows->oversized).s, rows->oversized == 1 ? " was" : "s were",
                trace_tier_text((enum trace_tier)tier), bytes(rows->peak_bytes - t.capacity).s);
}

static void print_hits(FILE *f, const struct sim_stats *st)
{
    const char *separator = "hit rates  ";
    for (int c = 0; c < TRACE_CLASSES; c++) {
        uint64_t lookups = st->rows.hits[c] + st->rows.misses[c];
        if (lookups == 0)
            continue;
        fprintf(f, "%s%s %.4f of %s", separator, trace_class_text((enum trace_class)c),
                (double)st->rows.hits[c] / (double)lookups, count(lookups).s);
        separator = ", ";
    }
    if (separator[0] == ',')
        fputc('\n', f);
}

static void print_curve(FILE *f, const struct summary *s)
{
    const struct curve_result *r = s->curve;
    if (!r || r->knee == CURVE_NO_KNEE)
        return;
    const struct curve_point *top = &r->point[r->points - 1], *knee = &r->point[r->knee];
    fprintf(f, "curve      %s: knee %.4f at %s, ceiling %.4f from %s on%s\n", s->curve_policy,
            (double)knee->hits / (double)r->lookups, bytes(knee->capacity).s,
            (double)top->hits / (double)r->lookups, bytes(r->need).s,
            s->curve_sample < 1 ? " (sampled)" : "");
}

/* Times that are zero throughout, as those in tiers that take none, are left out. */
static void print_latencies(FILE *f, const struct sim_stats *st)
{
    static const char *const name[] = {[SIM_END_TO_END] = "end to end",
                                       [SIM_QUEUE] = "in the queue",
                                       [SIM_STORAGE] = "in the tiers"};
    const char *before = "latency    ";
    for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
        const struct hist *h = st->time_ns[i];
        if (!name[i] || !h || hist_max(h) == 0)
            continue;
        fprintf(f, "%s%s P50 %s, P95 %s, P99 %s", before, name[i],
                duration(hist_percentile(h, 500000)).s, duration(hist_percentile(h, 950000)).s,
                duration(hist_percentile(h, 990000)).s);
        before = "; ";
    }
    if (before[0] == ';')
        fputc('\n', f);
}

void summary_print(FILE *f, const struct summary *s)
{
    uint64_t dropped = 0, dropped_bytes = 0;
    print_requests(f, s);
    fprintf(f, "%-10s %12s %12s %12s %12s", "tier", "reads", "bytes", "writes", "bytes");
    if (s->hierarchy)
        fprintf(f, " %11s %11s %12s %12s", "demoted", "deleted", "peak", "capacity");
    fputc('\n', f);
    for (int t = 0; t < TRACE_TIERS; t++)
        print_tier(f, s, t);
    if (s->hierarchy)
        hierarchy_dropped(s->hierarchy, &dropped, &dropped_bytes);
    if (dropped > 0)
        fprintf(f, "dropped    %s object%s (%s) that no tier could hold\n", count(dropped).s,
                units_plural(dropped), bytes(dropped_bytes).s);
    print_hits(f, s->stats);
    print_curve(f, s);
    print_latencies(f, s->stats);
    fprintf(f, "time       %s simulated in %s\n", duration(s->stats->now_ns).s,
            duration(s->wall_ns).s);
    if (s->trace->digest[0] != '\0')
        fprintf(f, "trace      %s row%s, digest %s\n", count(s->trace->rows).s,
                units_plural(s->trace->rows), s->trace->digest);
}
