/* The figures for reading: the run and what bounds it first, then rates, tiers, cache and requests.
 * Sections without anything to say are left out; what is not known is a dash. */
#include <math.h>
#include <string.h>

#include "kvstat/report.h"
#include "kvstat/report_cells.h"
#include "lib/units.h"

static void heading(FILE *out, const char *title, const char *note)
{
    fprintf(out, "\n%s%s%s\n", title, note[0] ? " - " : "", note);
}

static void put_title(FILE *out, const struct figures *f)
{
    char rows[CELL], elapsed[CELL];
    for (size_t i = 0; i < f->file_count; i++)
        fprintf(out, "%s%s", i ? ", " : "",
                strcmp(f->files[i], "-") == 0 ? "standard input" : f->files[i]);
    fprintf(out, ": %s%s, %s rows over %s of %s time\n", f->file_count > 1 ? "pooled, " : "",
            f->result ? "replay results" : "trace", cell_count(rows, f->totals->rows),
            cell_seconds(elapsed, f->elapsed_s), f->result ? "replay" : "simulated");
    if (f->scan->cut)
        fprintf(out, "The file is CUT: this is what stands before the cut.\n");
    if (f->scan->bad_rows > 0)
        fprintf(out, "%s bad rows were skipped.\n", cell_count(rows, f->scan->bad_rows));
}

static void put_run_tiers(FILE *out, const struct run *r)
{
    const char *separator = "Tiers        ";
    char bytes[CELL];
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        if (r->capacity_bytes[t] <= 0 && r->simulated[t] != 1)
            continue;
        fprintf(out, "%s%s", separator, trace_tier_text(t));
        if (r->capacity_bytes[t] > 0)
            fprintf(out, " %s", cell_bytes(bytes, (double)r->capacity_bytes[t]));
        if (r->simulated[t] == 1)
            fprintf(out, " SIMULATED");
        separator = "; ";
    }
    if (separator[0] == ';')
        fputc('\n', out);
}

static void put_run(FILE *out, const struct run *r)
{
    if (!r->known)
        return;
    fputc('\n', out);
    if (r->model[0]) {
        fprintf(out, "Run          %s", r->model);
        if (r->bytes_per_token > 0)
            fprintf(out, ", %lld bytes a token", (long long)r->bytes_per_token);
        if (r->users >= 0)
            fprintf(out, "; %lld users", (long long)r->users);
        if (r->generation_mode[0])
            fprintf(out, "; generation %s", r->generation_mode);
        if (r->seed_known)
            fprintf(out, "; seed %llu", (unsigned long long)r->seed);
        fputc('\n', out);
    }
    put_run_tiers(out, r);
    if (r->valid >= 0)
        fprintf(out, "Validity     %s%s%s\n", r->valid ? "valid" : "NOT VALID",
                r->why_invalid[0] ? ": " : "", r->why_invalid);
}

static void put_bottleneck(FILE *out, const struct figures *f)
{
    static const char *const what[REQUESTS_PARTS] = {"waiting in the queue", "GPU copies (Tier-0)",
                                                     "CPU copies (Tier-1)",  "storage, host time",
                                                     "storage, device time", "generation"};
    static const char *const brief[REQUESTS_PARTS] = {"queue", "GPU",    "CPU",
                                                      "host",  "device", "generation"};
    const char *separator = "";
    double other = 1;
    if (f->bottleneck < 0)
        return;
    fprintf(out, "%sBottleneck   %s: %.1f %% of end-to-end time (", f->run->known ? "" : "\n",
            what[f->bottleneck], 100 * f->part_share[f->bottleneck]);
    for (unsigned p = 0; p < REQUESTS_PARTS; p++) {
        if (isnan(f->part_share[p]))
            continue;
        other -= f->part_share[p];
        if ((int)p == f->bottleneck || f->part_share[p] < 0.0005)
            continue;
        fprintf(out, "%s%s %.1f", separator, brief[p], 100 * f->part_share[p]);
        separator = ", ";
    }
    /* Waits between the rows of a request: for a slot, for room, for its dependencies. */
    if (other >= 0.0005)
        fprintf(out, "%swaits between %.1f", separator, 100 * other);
    fprintf(out, ")\n");
}

static void put_failures(FILE *out, const struct figures *f)
{
    const struct agg_totals *t = f->totals;
    char a[CELL], b[CELL], c[CELL];
    if (t->absent + t->corrupt + t->failed > 0)
        fprintf(out, "Failed rows  %s absent, %s corrupt, %s with an I/O error\n",
                cell_count(a, t->absent), cell_count(b, t->corrupt), cell_count(c, t->failed));
    if (t->populated_rows > 0)
        fprintf(out, "Populating   %s rows, %s before the clock started; not counted below\n",
                cell_count(a, t->populated_rows), cell_bytes(b, (double)t->populated_bytes));
}

static void rate_line(FILE *out, const char *what, double per_s, const char *note)
{
    char rate[CELL];
    if (!isnan(per_s))
        fprintf(out, "  %-28s %14s tokens/s  %s\n", what, cell_number(rate, per_s), note);
}

static void put_throughput(FILE *out, const struct figures *f)
{
    const struct agg_totals *t = f->totals;
    const char *clock = f->result ? "elapsed" : "simulated";
    char a[CELL], b[CELL], c[CELL], note[96];
    if (t->io_ops == 0 && t->generate_rows == 0)
        return;
    heading(out, "Throughput", f->result ? "" : "in simulated time: what the load asks for");
    fprintf(out, "  %-28s %14s/s         %s read, %s written\n", "bytes moved",
            cell_bytes(a, f->bytes_per_s), cell_bytes(b, (double)t->read_bytes),
            cell_bytes(c, (double)t->write_bytes));
    fprintf(out, "  %-28s %14s/s         %s reads and writes\n", "operations",
            cell_number(a, f->ops_per_s), cell_count(b, t->io_ops));
    snprintf(note, sizeof(note), "%s tokens over %s time", cell_number(a, f->generated_tokens),
             clock);
    rate_line(out, "generated, wall clock", f->generated_tokens_per_s, note);
    snprintf(note, sizeof(note), "over %s of summed service time of the requests",
             cell_seconds(a, f->busy_s));
    rate_line(out, "generated, storage time", f->storage_tokens_per_s, note);
    snprintf(note, sizeof(note), "tokens' worth read and written, over %s time", clock);
    rate_line(out, "KV through Tier-2", f->tier2_tokens_per_s, note);
    fprintf(out, "  %-28s %14s           read in phase Decode\n", "decode bytes",
            cell_bytes(a, (double)t->decode_bytes));
}

static void put_size_columns(FILE *out, const struct hist *size)
{
    char a[CELL], b[CELL], c[CELL], d[CELL];
    if (!size || hist_count(size) == 0) {
        fprintf(out, " %10s %10s %10s %10s", "-", "-", "-", "-");
        return;
    }
    fprintf(out, " %10s %10s %10s %10s", cell_bytes(a, (double)hist_min(size)),
            cell_bytes(b, hist_mean(size)), cell_bytes(c, (double)hist_percentile(size, 950000)),
            cell_bytes(d, (double)hist_max(size)));
}

static void put_volume_header(FILE *out, const char *label, int width)
{
    fprintf(out, "  %-*s %11s %11s %10s %10s %10s %10s %10s\n", width, label, "ops", "moved",
            "GiB/s", "size min", "mean", "p95", "max");
}

static void put_volume(FILE *out, const struct figures *f, const char *label, int width,
                       const struct group *g, unsigned by)
{
    char ops[CELL], bytes[CELL], rate[CELL];
    fprintf(out, "  %-*s %11s %11s %10s", width, label, cell_count(ops, g->ops),
            g->moved ? cell_bytes(bytes, (double)g->moved) : "-",
            cell_number(rate, figures_gib_per_s(f, g, by)));
    put_size_columns(out, g->metric[GROUP_SIZE]);
    if (g->failed > 0)
        fprintf(out, "  %s FAILED", cell_count(ops, g->failed));
    fputc('\n', out);
}

/* Percentiles of a table whose longest row has so many samples: the higher ones would be dashes. */
static unsigned told_percentiles(uint64_t most)
{
    unsigned n = 1;
    while (n < FIGURES_PERCENTILES &&
           (double)most * (1000000.0 - figures_percentiles[n].ppm) >= 1e6)
        n++;
    return n;
}

static uint64_t more(uint64_t most, const struct hist *h)
{
    return h && hist_count(h) > most ? hist_count(h) : most;
}

static void put_times_header(FILE *out, const char *label, int width, unsigned percentiles)
{
    fprintf(out, "  %-*s %11s %8s %8s", width, label, "samples", "mean", "min");
    for (unsigned i = 0; i < percentiles; i++)
        fprintf(out, " %8s", figures_percentiles[i].label);
    fprintf(out, " %8s\n", "max");
}

static void put_times(FILE *out, const char *label, int width, const struct hist *h,
                      unsigned percentiles)
{
    char a[CELL], b[CELL], c[CELL];
    if (!h || hist_count(h) == 0)
        return;
    if (hist_max(h) == 0) {
        fprintf(out, "  %-*s %11s %8s\n", width, label, cell_count(a, hist_count(h)), "all 0");
        return;
    }
    fprintf(out, "  %-*s %11s %8s %8s", width, label, cell_count(a, hist_count(h)),
            cell_time(b, hist_mean(h), true), cell_time(c, (double)hist_min(h), true));
    for (unsigned i = 0; i < percentiles; i++)
        fprintf(out, " %8s", cell_percentile(a, h, figures_percentiles[i].ppm));
    fprintf(out, " %8s\n", cell_time(a, (double)hist_max(h), true));
}

/* Generate and Miss rows move nothing: requests and cache tell of them. */
static bool is_shown(const struct group *g)
{
    return g->metric[GROUP_SIZE] || g->failed > 0;
}

static void put_metric_table(FILE *out, struct groups *groups, enum group_metric m,
                             const char *title, int width)
{
    size_t n = groups_sort(groups);
    unsigned by = groups_by(groups);
    uint64_t most = 0;
    bool any = false;
    for (size_t i = 0; i < n; i++)
        if (is_shown(groups_at(groups, i)))
            most = more(most, groups_at(groups, i)->metric[m]);
    for (size_t i = 0; i < n; i++) {
        const struct group *g = groups_at(groups, i);
        char label[LABEL];
        if (!g->metric[m] || !is_shown(g))
            continue;
        if (!any)
            put_times_header(out, title, width, told_percentiles(most));
        any = true;
        put_times(out, cell_label(label, &g->key, by), width, g->metric[m], told_percentiles(most));
    }
}

static int label_width(struct groups *groups, const char *title)
{
    size_t n = groups_sort(groups), width = strlen(title);
    for (size_t i = 0; i < n; i++) {
        char label[LABEL];
        size_t len = strlen(cell_label(label, &groups_at(groups, i)->key, groups_by(groups)));
        width = len > width ? len : width;
    }
    return (int)width;
}

/* A table of volumes, and one of times for each metric up to last. */
static void put_groups(FILE *out, const struct figures *f, struct groups *groups, const char *title,
                       enum group_metric last)
{
    static const char *const times[] = {[GROUP_SERVICE] = "service",
                                        [GROUP_WAIT] = "wait",
                                        [GROUP_RESPONSE] = "response",
                                        [GROUP_DEVICE] = "device"};
    size_t n = groups_sort(groups);
    unsigned by = groups_by(groups);
    int width = label_width(groups, "response");
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        const struct group *g = groups_at(groups, i);
        char label[LABEL];
        if (!is_shown(g))
            continue;
        if (!any) {
            heading(out, title, "");
            put_volume_header(out, "volume", width);
        }
        any = true;
        put_volume(out, f, cell_label(label, &g->key, by), width, g, by);
    }
    for (unsigned m = GROUP_SERVICE; any && m <= last; m++)
        put_metric_table(out, groups, (enum group_metric)m, times[m], width);
}

static void put_hit_rates(FILE *out, const struct figures *f)
{
    static const char *const labels[FIGURES_LOOKUPS] = {
        "all lookups", "user", "multi-turn", "system prefix", "RAG document", "block"};
    char a[CELL], b[CELL], c[CELL];
    if (f->lookup[FIGURES_ALL].lookups == 0)
        return;
    heading(out, "Cache hits",
            f->lookup[FIGURES_ALL].known ? "reads that are no eviction, and misses"
                                         : "the file records no misses: hit rates are not known");
    fprintf(out, "  %-16s %13s %13s %13s %10s\n", "class", "lookups", "hits", "misses", "hit rate");
    for (unsigned i = 0; i < FIGURES_LOOKUPS; i++) {
        if (f->lookup[i].lookups == 0)
            continue;
        fprintf(out, "  %-16s %13s %13s %13s ", labels[i], cell_count(a, f->lookup[i].lookups),
                cell_count(b, f->lookup[i].hits),
                f->lookup[i].known ? cell_count(c, f->lookup[i].misses) : "-");
        if (isnan(f->lookup[i].hit_rate))
            fprintf(out, "%10s\n", "-");
        else
            fprintf(out, "%8.2f %%\n", 100 * f->lookup[i].hit_rate);
    }
}

static void put_tiers(FILE *out, const struct figures *f)
{
    char a[CELL], b[CELL], c[CELL], d[CELL], e[CELL], g[CELL], h[CELL];
    bool any = false;
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        if (!f->tier[t].used)
            continue;
        if (!any) {
            heading(out, "Tier contents",
                    "from the sizes of rows: writes less deletions and moves");
            fprintf(out, "  %-8s %11s %11s %11s %12s %12s %12s %12s\n", "tier", "capacity", "peak",
                    "at the end", "objects peak", "moved down", "taken in", "deleted");
        }
        any = true;
        fprintf(out, "  %-8s %11s %11s %11s %12s %12s %12s %12s\n", trace_tier_text(t),
                cell_bytes(a, f->tier[t].capacity_bytes),
                cell_bytes(b, (double)f->scan->occupancy.tier[t].peak_bytes),
                cell_bytes(c, f->tier[t].final_bytes),
                cell_count(d, (uint64_t)f->scan->occupancy.tier[t].peak_objects),
                cell_count(e, f->totals->evict_ops[t]), cell_count(g, f->totals->offload_ops[t]),
                cell_count(h, f->tier[t].delete_ops));
    }
    if (!isnan(f->read_write_ratio))
        fprintf(out, "  read/write ratio %s (bytes)", cell_number(a, f->read_write_ratio));
    if (!isnan(f->read_amplification))
        fprintf(out, "; read amplification %s tokens read per token generated",
                cell_number(a, f->read_amplification));
    if (!isnan(f->read_write_ratio) || !isnan(f->read_amplification))
        fputc('\n', out);
}

static void put_sla_columns(FILE *out, const struct figures *f, unsigned q)
{
    double count = (double)f->requests->qos[q].count;
    double share = (double)f->requests->qos[q].within_target / count;
    if (f->requests->with_arrival < f->requests->count)
        fprintf(out, " %11s %10s  %s\n", "-", "-", "not known");
    else
        fprintf(out, " %8.0f ms %8.2f %%  %s\n", f->targets[q].ms[0], 100 * share,
                share >= FIGURES_COMPLIANCE ? "met" : "NOT MET");
}

static void put_qos(FILE *out, const struct figures *f)
{
    bool any = false;
    for (unsigned q = 0; q < TRACE_QOSES; q++) {
        const struct hist *h = f->requests->qos[q].metric[REQUESTS_END_TO_END];
        char a[CELL];
        if (!h)
            continue;
        if (!any)
            fprintf(out, "  %-13s %11s %8s %8s %8s %8s %8s %11s %10s\n", "end to end by",
                    "requests", "p50", "p95", "p99", "p99.9", "max", "target p95", "within it");
        any = true;
        fprintf(out, "  %-13s %11s", trace_qos_text(q), cell_count(a, hist_count(h)));
        for (unsigned i = 0; i < FIGURES_PERCENTILES - 1; i++) {
            uint32_t ppm = figures_percentiles[i].ppm;
            if (ppm != 900000)
                fprintf(out, " %8s", cell_percentile(a, h, ppm));
        }
        fprintf(out, " %8s", cell_time(a, (double)hist_max(h), true));
        put_sla_columns(out, f, q);
    }
}

static void put_requests(FILE *out, const struct figures *f)
{
    static const char *const labels[REQUESTS_METRICS] = {"end to end", "queue", "storage",
                                                         "generation"};
    char a[CELL];
    if (!f->requests_known)
        return;
    heading(out, "Requests",
            !f->result                      ? "in simulated time, from arrival"
            : f->requests->with_arrival > 0 ? "from arrival, on the replay's clock"
                                            : "unscheduled: from their first start");
    const struct hist *whole = f->requests->metric[REQUESTS_END_TO_END];
    if (!whole || hist_max(whole) == 0) {
        fprintf(out, "  %s requests, none of which takes any time here\n",
                cell_count(a, f->requests->count));
        return;
    }
    unsigned percentiles = told_percentiles(hist_count(whole));
    put_times_header(out, "time", 13, percentiles);
    for (unsigned m = 0; m < REQUESTS_METRICS; m++)
        if (f->requests->metric[m] && hist_max(f->requests->metric[m]) > 0)
            put_times(out, labels[m], 13, f->requests->metric[m], percentiles);
    put_qos(out, f);
    if (f->requests->cut > 0)
        fprintf(out, "  %s requests had rows too far apart and are counted in parts.\n",
                cell_count(a, f->requests->cut));
}

static void put_legend(FILE *out, const struct figures *f)
{
    if (f->totals->rows == 0)
        return;
    fprintf(out, "\nSizes are powers of two (1 GiB = 2^30 bytes).%s\n",
            f->result ? " Latencies cover whole objects: their sizes stand beside." : "");
    if (f->result || f->requests_known)
        fprintf(
            out,
            "* fewer than ten samples lie above this percentile; - none does: it is the max.\n");
}

void report_text(FILE *out, const struct figures *f)
{
    struct groups *asked = agg_groups(f->scan->agg);
    put_title(out, f);
    put_run(out, f->run);
    put_bottleneck(out, f);
    put_failures(out, f);
    if (f->assess)
        report_assess_text(out, f->assess);
    put_throughput(out, f);
    put_groups(out, f, agg_by_tier_op(f->scan->agg), "Tiers and operations", GROUP_DEVICE);
    put_groups(out, f, agg_by_phase(f->scan->agg), "Phases", GROUP_SERVICE);
    if (groups_by(asked) != GROUPS_DEFAULT)
        put_groups(out, f, asked, "Groups of --by", GROUP_DEVICE);
    put_hit_rates(out, f);
    put_tiers(out, f);
    if (f->reuse)
        report_reuse_text(out, f->reuse);
    put_requests(out, f);
    if (f->scan->series && !series_is_auto(f->scan->series))
        report_series_text(out, f);
    put_legend(out, f);
}
