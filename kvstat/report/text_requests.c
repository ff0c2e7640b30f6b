/* The section of the text report that tells what requests went through, and by class how many of
 * them met their target. */
#include "kvstat/report/cells.h"
#include "kvstat/report/report.h"
#include "kvstat/report/times.h"
#include "lib/base/units.h"

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

/* The median, and the percentiles that have targets but the highest. */
static bool is_of_target(unsigned percentile)
{
    return percentile < HIST_PERCENTILES - 1 && hist_percentiles[percentile].ppm != 900000;
}

static void put_qos_header(FILE *out, unsigned percentiles)
{
    fprintf(out, "  %-13s %11s", "end to end by", "requests");
    for (unsigned i = 0; i < percentiles; i++)
        if (is_of_target(i))
            fprintf(out, " %8s", hist_percentiles[i].label);
    fprintf(out, " %8s %11s %10s\n", "max", "target p95", "within it");
}

static void put_class(FILE *out, const struct figures *f, unsigned q, unsigned percentiles)
{
    const struct hist *h = f->requests->qos[q].metric[REQUESTS_END_TO_END];
    char a[CELL];
    fprintf(out, "  %-13s %11s", trace_qos_text(q), cell_count(a, f->requests->qos[q].count));
    for (unsigned i = 0; i < percentiles; i++)
        if (is_of_target(i))
            fprintf(out, " %8s", h ? cell_percentile(a, h, hist_percentiles[i].ppm) : "-");
    fprintf(out, " %8s", h ? cell_time(a, (double)hist_max(h), true) : "-");
    put_sla_columns(out, f, q);
}

static void put_qos(FILE *out, const struct figures *f)
{
    bool any = false;
    uint64_t most = 0;
    for (unsigned q = 0; q < TRACE_QOSES; q++)
        most = times_most(most, f->requests->qos[q].metric[REQUESTS_END_TO_END]);
    for (unsigned q = 0; q < TRACE_QOSES; q++) {
        if (f->requests->qos[q].count == 0)
            continue;
        if (!any)
            put_qos_header(out, times_percentiles(most));
        any = true;
        put_class(out, f, q, times_percentiles(most));
    }
}

static void put_times(FILE *out, struct hist *const metric[REQUESTS_METRICS])
{
    static const char *const labels[REQUESTS_METRICS] = {"end to end", "queue", "storage",
                                                         "generation"};
    unsigned percentiles = times_percentiles(hist_count(metric[REQUESTS_END_TO_END]));
    times_header(out, "time", 13, percentiles);
    for (unsigned m = 0; m < REQUESTS_METRICS; m++)
        if (metric[m] && hist_max(metric[m]) > 0)
            times_row(out, labels[m], 13, metric[m], percentiles);
}

void report_requests_text(FILE *out, const struct figures *f)
{
    const struct requests_totals *t = f->requests;
    const struct hist *whole = t->metric[REQUESTS_END_TO_END];
    char a[CELL], b[CELL];
    if (!f->requests_known)
        return;
    times_heading(out, "Requests",
                  !f->result            ? "in simulated time, from arrival"
                  : t->with_arrival > 0 ? "from arrival, on the replay's clock"
                                        : "unscheduled: from their first start");
    if (whole && hist_max(whole) > 0)
        put_times(out, t->metric);
    else if (t->failed < t->count)
        fprintf(out, "  %s request%s, none of which takes any time here\n", cell_count(a, t->count),
                units_plural(t->count));
    if ((whole && hist_max(whole) > 0) || t->failed > 0)
        put_qos(out, f);
    if (t->failed > 0)
        fprintf(out, "  %s of %s request%s FAILED: in no time above, and within no target.\n",
                cell_count(a, t->failed), cell_count(b, t->count), units_plural(t->count));
    if (t->cut > 0)
        fprintf(out, "  %s request%s rows too far apart, counted in parts.\n",
                cell_count(a, t->cut), t->cut == 1 ? " has" : "s have");
}
