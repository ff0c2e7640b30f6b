/* The figures for reading: the run and what bounds it first, then rates and requests, then tiers
 * and cache in detail. Sections without anything to say are left out; what is not known is a dash.
 */
#include <math.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "kvstat/report/report.h"
#include "kvstat/report/times.h"
#include "lib/base/units.h"

static void put_title(FILE *out, const struct figures *f)
{
    char rows[CELL], elapsed[CELL];
    for (size_t i = 0; i < f->file_count; i++)
        fprintf(out, "%s%s", i ? ", " : "",
                strcmp(f->files[i], "-") == 0 ? "standard input" : f->files[i]);
    fprintf(out, ": %s%s, %s over %s of %s time\n", f->file_count > 1 ? "pooled, " : "",
            f->result ? "replay results" : "trace", cell_rows(rows, f->totals->rows),
            cell_seconds(elapsed, f->elapsed_s), f->result ? "replay" : "simulated");
    if (f->scan->cut)
        fprintf(out, "The file is CUT: this is what stands before the cut.\n");
    if (f->scan->bad_rows > 0)
        fprintf(out, "%s bad row%s skipped.\n", cell_count(rows, f->scan->bad_rows),
                f->scan->bad_rows == 1 ? " was" : "s were");
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

static void put_kernel(FILE *out, const struct run *r)
{
    char read[CELL], written[CELL];
    if (r->device_read_bytes < 0 && r->device_write_bytes < 0)
        return;
    fprintf(out, "Device       %s read and %s written, by the kernel's count",
            cell_bytes(read, r->device_read_bytes < 0 ? NAN : (double)r->device_read_bytes),
            cell_bytes(written, r->device_write_bytes < 0 ? NAN : (double)r->device_write_bytes));
    if (!isnan(r->page_cache_share))
        fprintf(out, "; page cache holds %.1f %% of the objects", 100 * r->page_cache_share);
    fputc('\n', out);
}

static void put_autoscaling(FILE *out, const struct run_autoscaling *a)
{
    char users[CELL], rate[CELL];
    if (!a->known)
        return;
    fprintf(out, "Autoscaling  %s: ", a->mode);
    if (a->users < 0)
        fprintf(out, "no number of users found");
    else
        fprintf(out, "%s user%s", cell_count(users, (uint64_t)a->users),
                units_plural((uint64_t)a->users));
    if (!isnan(a->tokens_per_s))
        fprintf(out, ", %s tokens/s", cell_number(rate, a->tokens_per_s));
    fprintf(out, "%s%s\n", a->reason[0] ? "; " : "", a->reason);
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
            fprintf(out, "; %lld user%s", (long long)r->users, units_plural((uint64_t)r->users));
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
    put_kernel(out, r);
    put_autoscaling(out, &r->autoscaling);
}

/* " (CPU 4.3, host 9.2)": the shares beside the largest, in percent; empty when there are none. */
static void other_shares(char *buf, size_t size, const struct figures *f)
{
    static const char *const brief[REQUEST_PARTS] = {"queue", "GPU",    "CPU",
                                                     "host",  "device", "generation"};
    double other = 1;
    size_t len = 0;
    buf[0] = '\0';
    for (unsigned p = 0; p < REQUEST_PARTS; p++) {
        if (isnan(f->part_share[p]))
            continue;
        other -= f->part_share[p];
        if ((int)p == f->bottleneck || f->part_share[p] < 0.0005)
            continue;
        snprintf(buf + len, size - len, "%s%s %.1f", len ? ", " : "(", brief[p],
                 100 * f->part_share[p]);
        len = strlen(buf);
    }
    /* Waits between the rows of a request: for a slot, for room, for its dependencies. */
    if (other >= 0.0005)
        snprintf(buf + len, size - len, "%swaits between %.1f", len ? ", " : "(", 100 * other);
    len = strlen(buf);
    if (len > 0)
        snprintf(buf + len, size - len, ")");
}

static void put_bottleneck(FILE *out, const struct figures *f)
{
    static const char *const what[REQUEST_PARTS] = {"waiting in the queue", "GPU copies (Tier-0)",
                                                    "CPU copies (Tier-1)",  "storage, host time",
                                                    "storage, device time", "generation"};
    char others[256];
    if (f->bottleneck < 0)
        return;
    other_shares(others, sizeof(others), f);
    int column =
        fprintf(out, "%sBottleneck   %s: %.1f %% of end-to-end time", f->run->known ? "" : "\n",
                what[f->bottleneck], 100 * f->part_share[f->bottleneck]);
    bool fits = column + 1 + (int)strlen(others) <= CELL_COLUMNS;
    fprintf(out, "%s%s\n", !others[0] ? "" : fits ? " " : "\n             ", others);
}

static void put_failures(FILE *out, const struct figures *f)
{
    const struct agg_totals *t = f->totals;
    char a[CELL], b[CELL], c[CELL];
    if (t->absent + t->corrupt + t->failed > 0)
        fprintf(out, "Failed rows  %s absent, %s corrupt, %s with an I/O error\n",
                cell_count(a, t->absent), cell_count(b, t->corrupt), cell_count(c, t->failed));
    if (t->populated_rows > 0)
        fprintf(out, "Populating   %s, %s before the clock started; not counted below\n",
                cell_rows(a, t->populated_rows), cell_bytes(b, (double)t->populated_bytes));
    if (t->warmup_rows > 0)
        fprintf(out, "Warm-up      %s in the first %s; not counted below\n",
                cell_rows(a, t->warmup_rows), cell_seconds(b, (double)f->scan->warmup_ns / 1e9));
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
    times_heading(out, "Throughput", f->result ? "" : "in simulated time: what the load asks for");
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
    fprintf(out, "  %-*s %11s %11s %10s", cell_pad(label, width), label, cell_count(ops, g->ops),
            g->moved ? cell_bytes(bytes, (double)g->moved) : "-",
            cell_number(rate, figures_gib_per_s(f, g, by)));
    put_size_columns(out, g->metric[GROUP_SIZE]);
    if (g->failed > 0)
        fprintf(out, "  %s FAILED", cell_count(ops, g->failed));
    fputc('\n', out);
}

/* Generate and Miss rows move nothing: requests and cache tell of them. */
static bool is_shown(const struct group *g)
{
    return g->metric[GROUP_SIZE] || g->failed > 0;
}

/* What the groups of a table are, for its headings. */
struct table {
    const char *title, *label, *by;
    enum group_metric last; /* of those that have a table of times */
};

static void put_metric_table(FILE *out, struct groups *groups, enum group_metric m,
                             const struct table *t, int width)
{
    static const struct {
        const char *title, *note;
    } times[GROUP_METRICS] = {
        [GROUP_SERVICE] = {"Service time", "of a whole object, from its start to its completion"},
        [GROUP_WAIT] = {"Wait", "from when the schedule wanted it to its start"},
        [GROUP_RESPONSE] = {"Response time", "wait and service: what a user would have felt"},
        [GROUP_DEVICE] = {"Device time", "the part of service in which I/O or copy was in flight"}};
    size_t n = groups_sort(groups);
    unsigned by = groups_by(groups);
    uint64_t most = 0;
    bool any = false;
    for (size_t i = 0; i < n; i++)
        if (is_shown(groups_at(groups, i)))
            most = times_most(most, groups_at(groups, i)->metric[m]);
    for (size_t i = 0; i < n; i++) {
        const struct group *g = groups_at(groups, i);
        char label[LABEL];
        if (!g->metric[m] || !is_shown(g))
            continue;
        if (!any) {
            char title[64];
            snprintf(title, sizeof(title), "%s%s", times[m].title, t->by);
            times_heading(out, title, times[m].note);
            times_header(out, t->label, width, times_percentiles(most));
        }
        any = true;
        times_row(out, cell_label(label, &g->key, by), width, g->metric[m],
                  times_percentiles(most));
    }
}

static int label_width(struct groups *groups, const char *title)
{
    size_t n = groups_sort(groups);
    int width = (int)strlen(title);
    for (size_t i = 0; i < n; i++) {
        char label[LABEL];
        int columns =
            cell_columns(cell_label(label, &groups_at(groups, i)->key, groups_by(groups)));
        width = columns > width ? columns : width;
    }
    return width;
}

/* A table of volumes, and one of each metric's times. */
static void put_groups(FILE *out, const struct figures *f, struct groups *groups,
                       const struct table *t)
{
    size_t n = groups_sort(groups);
    unsigned by = groups_by(groups);
    int width = label_width(groups, t->label);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        const struct group *g = groups_at(groups, i);
        char label[LABEL];
        if (!is_shown(g))
            continue;
        if (!any) {
            times_heading(out, t->title, "");
            put_volume_header(out, t->label, width);
        }
        any = true;
        put_volume(out, f, cell_label(label, &g->key, by), width, g, by);
    }
    for (unsigned m = GROUP_SERVICE; any && m <= t->last; m++)
        put_metric_table(out, groups, (enum group_metric)m, t, width);
}

static void put_hit_rates(FILE *out, const struct figures *f)
{
    static const char *const labels[FIGURES_LOOKUPS] = {
        "all lookups", "user", "multi-turn", "system prefix", "RAG document", "block"};
    char a[CELL], b[CELL], c[CELL];
    if (f->lookup[FIGURES_ALL].lookups == 0)
        return;
    times_heading(out, "Cache hits",
                  f->lookup[FIGURES_ALL].known
                      ? "reads that are no eviction, and misses"
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

static void put_ratios(FILE *out, const struct figures *f)
{
    char a[CELL];
    if (!isnan(f->read_write_ratio))
        fprintf(out, "  read/write ratio %s (bytes)", cell_number(a, f->read_write_ratio));
    if (!isnan(f->read_amplification))
        fprintf(out, "; read amplification %s tokens read per token generated",
                cell_number(a, f->read_amplification));
    if (!isnan(f->read_write_ratio) || !isnan(f->read_amplification))
        fputc('\n', out);
}

enum {
    MOVED_DOWN,
    TAKEN_IN,
    MOVED_UP,
    DELETED,
    MOVES
};

static uint64_t moves_of(const struct figures *f, unsigned tier, unsigned move)
{
    const struct agg_totals *t = f->totals;
    return move == MOVED_DOWN ? t->evict_ops[tier]
           : move == TAKEN_IN ? t->offload_ops[tier]
           : move == MOVED_UP ? t->promote_ops[tier]
                              : f->tier[tier].delete_ops;
}

static bool has_contents(const struct figures *f, unsigned tier)
{
    bool any = f->scan->occupancy.tier[tier].peak_objects > 0;
    for (unsigned m = 0; m < MOVES; m++)
        any |= moves_of(f, tier, m) > 0;
    return f->tier[tier].used && any;
}

/* Columns of moves that no tier saw are left out. */
static void put_tiers(FILE *out, const struct figures *f)
{
    static const char *const titles[MOVES] = {"moved down", "taken in", "promoted in", "deleted"};
    uint64_t moves[MOVES] = {0};
    char a[CELL], b[CELL], c[CELL], d[CELL];
    bool any = false;
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        for (unsigned m = 0; m < MOVES; m++)
            moves[m] += moves_of(f, t, m);
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        if (!has_contents(f, t))
            continue;
        if (!any) {
            times_heading(out, "Tier contents",
                          "from the sizes of rows: writes less deletions and moves");
            fprintf(out, "  %-8s %11s %11s %11s %12s", "tier", "capacity", "peak", "at the end",
                    "objects peak");
            for (unsigned m = 0; m < MOVES; m++)
                if (moves[m])
                    fprintf(out, " %11s", titles[m]);
            fputc('\n', out);
        }
        any = true;
        fprintf(out, "  %-8s %11s %11s %11s %12s", trace_tier_text(t),
                cell_bytes(a, f->tier[t].capacity_bytes),
                cell_bytes(b, (double)f->scan->occupancy.tier[t].peak_bytes),
                cell_bytes(c, f->tier[t].final_bytes),
                cell_count(d, (uint64_t)f->scan->occupancy.tier[t].peak_objects));
        for (unsigned m = 0; m < MOVES; m++)
            if (moves[m])
                fprintf(out, " %11s", cell_count(a, moves_of(f, t, m)));
        fputc('\n', out);
    }
    put_ratios(out, f);
}

static void put_legend(FILE *out, const struct figures *f)
{
    if (f->totals->rows == 0)
        return;
    fprintf(out, "\nSizes are powers of two (1 GiB = 2^30 bytes).%s\n",
            f->result ? " Latencies are of whole objects, whose sizes stand above them." : "");
    if (f->result || f->requests_known)
        fprintf(
            out,
            "* fewer than ten samples lie above this percentile; - none does: it is the max.\n");
}

void report_text(FILE *out, const struct figures *f)
{
    static const struct table operations = {"Tiers and operations", "operation", "", GROUP_DEVICE},
                              phases = {"Phases", "phase", " by phase", GROUP_SERVICE},
                              groups = {"Groups of --by", "group", " by group", GROUP_DEVICE};
    struct groups *asked = agg_groups(f->scan->agg);
    put_title(out, f);
    put_run(out, f->run);
    put_bottleneck(out, f);
    put_failures(out, f);
    if (f->assess)
        report_assess_text(out, f->assess);
    put_throughput(out, f);
    report_requests_text(out, f);
    put_groups(out, f, agg_by_tier_op(f->scan->agg), &operations);
    put_hit_rates(out, f);
    put_tiers(out, f);
    if (f->reuse)
        report_reuse_text(out, f->reuse);
    put_groups(out, f, agg_by_phase(f->scan->agg), &phases);
    if (groups_by(asked) != GROUPS_DEFAULT)
        put_groups(out, f, asked, &groups);
    if (f->scan->series && !series_is_auto(f->scan->series))
        report_series_text(out, f);
    put_legend(out, f);
    if (f->assess)
        report_assess_verdict(out, f->assess);
}
