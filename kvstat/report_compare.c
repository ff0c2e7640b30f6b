/* What several runs tell together: the spread of each figure over trials, and a comparison of two
 * sides, as text and as JSON. */
#include <math.h>
#include <string.h>

#include "kvstat/compare.h"
#include "kvstat/headline.h"
#include "kvstat/report.h"
#include "kvstat/report_cells.h"
#include "kvstat/stats.h"

#define NAME_WIDTH 46

static const char *share(char *buf, double v)
{
    if (isnan(v))
        snprintf(buf, CELL, "-");
    else
        snprintf(buf, CELL, "%.1f %%", 100 * v);
    return buf;
}

static const char *text_of(const struct runs *r, size_t run, const char *name)
{
    size_t figure = runs_find(r, name);
    return figure < runs_figures(r) ? runs_text(r, run, figure) : "";
}

static void put_runs(FILE *out, const struct runs *r)
{
    for (size_t run = 0; run < runs_count(r); run++) {
        const char *status = text_of(r, run, "assessment.status");
        const char *profile = text_of(r, run, "assessment.profile");
        fprintf(out, "  %s: %s rows over %s s%s%s%s%s%s%s\n", text_of(r, run, "files"),
                text_of(r, run, "rows"), text_of(r, run, "elapsed_s"), profile[0] ? "; " : "",
                profile, profile[0] ? ": " : "",
                status[0]    ? status
                : profile[0] ? "NOT KNOWN"
                             : "",
                strcmp(text_of(r, run, "cut"), "true") == 0 ? "; CUT" : "",
                strcmp(text_of(r, run, "run.valid"), "false") == 0 ? "; NOT VALID" : "");
    }
}

void report_trials_text(FILE *out, const struct runs *r)
{
    char a[CELL], b[CELL], c[CELL], d[CELL], e[CELL];
    fprintf(out, "%zu trials\n", runs_count(r));
    put_runs(out, r);
    fprintf(out, "\n%-*s %6s %11s %10s %8s %23s\n", NAME_WIDTH, "figure", "trials", "mean",
            "deviation", "cv", "95 % interval");
    for (size_t i = 0; i < runs_figures(r); i++) {
        struct stats_sample s = runs_sample(r, i);
        if (!headline_is(runs_name(r, i)) || s.n == 0)
            continue;
        fprintf(out, "%-*s %6zu %11s %10s %8s %11s %11s\n", NAME_WIDTH, runs_name(r, i), s.n,
                cell_number(a, s.mean), cell_number(b, s.sd), share(c, s.cv), cell_number(d, s.low),
                cell_number(e, s.high));
    }
    fprintf(out,
            "\nMean, standard deviation, coefficient of variation and 95 %% confidence interval "
            "of the mean over trials.\nThe unit is in the name; all figures: --json.\n");
}

void report_trials_json(struct jsonout *j, const struct runs *r)
{
    jsonout_object(j, "trials");
    jsonout_u64(j, "count", runs_count(r));
    jsonout_array(j, "figures");
    for (size_t i = 0; i < runs_figures(r); i++) {
        struct stats_sample s = runs_sample(r, i);
        if (s.n == 0)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "name", runs_name(r, i));
        jsonout_u64(j, "count", s.n);
        jsonout_f64(j, "mean", s.mean);
        jsonout_f64(j, "sd", s.sd);
        jsonout_f64(j, "cv", s.cv);
        jsonout_f64(j, "ci95_low", s.low);
        jsonout_f64(j, "ci95_high", s.high);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_end(j);
}

/* ---- comparison ---- */

static const char *verdict(const struct compare_figure *f)
{
    return isnan(f->p) ? "not known" : f->changed ? "CHANGED" : "noise";
}

static void put_conclusion(FILE *out, const struct compare *c)
{
    size_t changed = 0;
    for (size_t i = 0; i < c->count; i++)
        changed += c->figure[i].changed;
    fprintf(out,
            "\n%zu of %zu figures that could be tested changed by more than the noise (99 %%, "
            "corrected for their number).\n",
            changed, c->tested);
    if (c->base_runs == 1 && c->new_runs == 1)
        fprintf(
            out,
            "One run on each side: the noise is that of the operations within it, and that of "
            "rates is not known.\nRuns of one load often differ more: give three to five trials "
            "of each, the base's by repeating --compare.\n");
}

void report_compare_text(FILE *out, const struct compare *c, const struct runs *base,
                         const struct runs *new)
{
    char a[CELL], b[CELL], d[CELL], p[CELL];
    fprintf(out, "Base:\n");
    put_runs(out, base);
    fprintf(out, "New:\n");
    put_runs(out, new);
    fprintf(out, "\n%-*s %12s %12s %10s %9s  %s\n", NAME_WIDTH, "figure", "base", "new", "change",
            "p", "verdict");
    for (size_t i = 0; i < c->count; i++) {
        const struct compare_figure *f = &c->figure[i];
        fprintf(out, "%-*s %12s %12s %10s %9s  %s\n", NAME_WIDTH, f->name, cell_number(a, f->base),
                cell_number(b, f->new), share(d, f->change), cell_number(p, f->p), verdict(f));
    }
    put_conclusion(out, c);
}

static void put_files(struct jsonout *j, const char *key, const struct runs *r)
{
    jsonout_array(j, key);
    for (size_t run = 0; run < runs_count(r); run++)
        jsonout_text_value(j, NULL, text_of(r, run, "files"));
    jsonout_end(j);
}

void report_compare_json(struct jsonout *j, const struct compare *c, const struct runs *base,
                         const struct runs *new)
{
    jsonout_object(j, "compare");
    put_files(j, "base", base);
    put_files(j, "new", new);
    jsonout_f64(j, "confidence", 1 - COMPARE_ALPHA);
    jsonout_u64(j, "tested", c->tested);
    jsonout_array(j, "figures");
    for (size_t i = 0; i < c->count; i++) {
        const struct compare_figure *f = &c->figure[i];
        jsonout_object(j, NULL);
        jsonout_text_value(j, "name", f->name);
        jsonout_f64(j, "base", f->base);
        jsonout_f64(j, "new", f->new);
        jsonout_f64(j, "change", f->change);
        jsonout_f64(j, "p_value", f->p);
        if (isnan(f->p))
            jsonout_null(j, "changed");
        else
            jsonout_bool(j, "changed", f->changed);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_end(j);
}
