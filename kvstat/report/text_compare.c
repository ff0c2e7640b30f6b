/* What several runs tell together: the spread of each figure over trials, and a comparison of two
 * sides, as text and as JSON. */
#include <math.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "kvstat/report/compare.h"
#include "kvstat/report/headline.h"
#include "kvstat/report/report.h"
#include "kvstat/report/statistics.h"
#include "lib/base/units.h"

#define NAME_WIDTH    26
#define CHANGED_WIDTH 46
#define SENTENCE      1024

static const char *share(char *buf, double v)
{
    if (isnan(v))
        snprintf(buf, CELL, "-");
    else
        snprintf(buf, CELL, "%.1f %%", 100 * v);
    return buf;
}

/* A value of the figure, with its unit. */
static const char *cell(char *buf, const struct headline *h, double v)
{
    static const double scale[] = {[HEADLINE_BYTES] = 1,
                                   [HEADLINE_GIB] = 1024.0 * 1024 * 1024,
                                   [HEADLINE_US] = 1e3,
                                   [HEADLINE_MS] = 1e6};
    size_t len;
    if (h->kind == HEADLINE_SHARE)
        snprintf(buf, CELL, "%.2f %%", 100 * v);
    else if (h->kind == HEADLINE_NUMBER)
        cell_number(buf, v);
    else if (h->kind == HEADLINE_BYTES || h->kind == HEADLINE_GIB)
        cell_bytes(buf, v * scale[h->kind]);
    else
        cell_time(buf, v * scale[h->kind], true);
    if (!isfinite(v))
        snprintf(buf, CELL, "-");
    len = strlen(buf);
    if (isfinite(v))
        snprintf(buf + len, CELL - len, "%s", h->unit);
    return buf;
}

static double number_of(const struct runs *r, size_t run, const char *name)
{
    size_t figure = runs_find(r, name);
    return figure < runs_figures(r) ? runs_number(r, run, figure) : NAN;
}

static void put_runs(FILE *out, const struct runs *r)
{
    char rows[CELL], elapsed[CELL];
    for (size_t run = 0; run < runs_count(r); run++) {
        const char *status = runs_text_of(r, run, "assessment.status");
        const char *profile = runs_text_of(r, run, "assessment.profile");
        fprintf(out, "  %s: %s over %s", runs_text_of(r, run, "files"),
                cell_rows(rows, (uint64_t)number_of(r, run, "rows")),
                cell_seconds(elapsed, number_of(r, run, "elapsed_s")));
        if (profile[0])
            fprintf(out, "; %s: %s", profile, status[0] ? status : "NOT KNOWN");
        if (strcmp(runs_text_of(r, run, "cut"), "true") == 0)
            fprintf(out, "; CUT");
        if (strcmp(runs_text_of(r, run, "run.valid"), "false") == 0)
            fprintf(out, "; NOT VALID");
        fputc('\n', out);
    }
}

/* ---- trials ---- */

static void put_trials_header(FILE *out, const char *section)
{
    fprintf(out, "\n%-*s %6s %14s %14s %8s %28s\n", NAME_WIDTH + 2, section, "trials", "mean",
            "deviation", "cv", "95 % interval");
}

static void put_trial_figures(FILE *out, const struct runs *r, bool of_group)
{
    struct headline h = {0}, last = {0};
    char a[CELL], b[CELL], c[CELL], d[CELL], e[CELL];
    for (size_t i = 0; i < runs_figures(r); i++) {
        struct stats_sample s = runs_sample(r, i);
        if (!headline_is(runs_name(r, i)) || s.n == 0)
            continue;
        headline_of(&h, runs_name(r, i));
        if (h.of_group != of_group)
            continue;
        if (strcmp(last.section, h.section) != 0)
            put_trials_header(out, h.section);
        last = h;
        fprintf(out, "  %-*s %6zu %14s %14s %8s %13s  %13s\n", NAME_WIDTH, h.label, s.n,
                cell(a, &h, s.mean), cell(b, &h, s.sd), share(c, s.cv), cell(d, &h, s.low),
                cell(e, &h, s.high));
    }
}

void report_trials_text(FILE *out, const struct runs *r)
{
    fprintf(out, "%zu trial%s\n", runs_count(r), units_plural(runs_count(r)));
    put_runs(out, r);
    put_trial_figures(out, r, false);
    put_trial_figures(out, r, true);
    fprintf(out,
            "\nMean, standard deviation, coefficient of variation and 95 %% confidence interval "
            "of the mean over trials.\nAll figures: --json.\n");
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
            "\n%zu of %zu figure%s that could be tested changed by more than the noise (99 %%, "
            "corrected for their number).\n",
            changed, c->tested, units_plural(c->tested));
    if (c->base_runs == 1 && c->new_runs == 1)
        fprintf(
            out,
            "One run on each side: the noise is that of the operations within it, and that of "
            "rates is not known.\nRuns of one load often differ more: give three to five trials "
            "of each, the base's by repeating --compare.\n");
}

/* The whole run's figures say more than those of a group. */
static const struct compare_figure *foremost(const struct compare *c, int better)
{
    const struct compare_figure *first = NULL;
    for (size_t i = 0; i < c->count; i++) {
        struct headline h;
        if (!c->figure[i].changed || c->figure[i].better != better)
            continue;
        headline_of(&h, c->figure[i].name);
        if (!h.of_group)
            return &c->figure[i];
        first = first ? first : &c->figure[i];
    }
    return first;
}

/* "Tier-2 Read Decode service, p95 is 21.3 % lower (12.0 ms, was 15.2 ms)". */
static void add_foremost(char *buf, size_t size, const struct compare *c, int better)
{
    const struct compare_figure *f = foremost(c, better);
    struct headline h;
    char a[CELL], b[CELL], by[CELL] = "";
    size_t len = strlen(buf);
    headline_of(&h, f->name);
    if (!isnan(f->change))
        snprintf(by, sizeof(by), "%.1f %% ", 100 * fabs(f->change));
    snprintf(buf + len, size - len, "%s%s%s is %s%s (%s, was %s)", h.of_group ? h.section : "",
             h.of_group ? " " : "", h.label, by, f->new > f->base ? "higher" : "lower",
             cell(a, &h, f->new), cell(b, &h, f->base));
}

static void add_others(char *buf, size_t size, size_t count, const char *what)
{
    size_t len = strlen(buf);
    if (count > 0)
        snprintf(buf + len, size - len, ", and %zu more figure%s %s %s", count, units_plural(count),
                 count == 1 ? "is" : "are", what);
}

static void add(char *buf, size_t size, const char *text)
{
    size_t len = strlen(buf);
    snprintf(buf + len, size - len, "%s", text);
}

static const char *outcome(const struct compare *c)
{
    return c->tested == 0          ? NULL
           : c->better && c->worse ? "mixed"
           : c->better             ? "better"
           : c->worse              ? "worse"
           : c->neither            ? "different"
                                   : "same";
}

/* The answer in a sentence, SENTENCE bytes. */
static void sentence(char *buf, const struct compare *c)
{
    buf[0] = '\0';
    if (c->better && c->worse) {
        snprintf(buf, SENTENCE, "new is better than base in %zu figure%s: ", c->better,
                 units_plural(c->better));
        add_foremost(buf, SENTENCE, c, 1);
        size_t len = strlen(buf);
        snprintf(buf + len, SENTENCE - len, "; and worse in %zu: ", c->worse);
        add_foremost(buf, SENTENCE, c, -1);
    } else if (c->better || c->worse) {
        const char *than = c->better ? "better" : "worse";
        snprintf(buf, SENTENCE, "new is %s than base: ", than);
        add_foremost(buf, SENTENCE, c, c->better ? 1 : -1);
        add_others(buf, SENTENCE, c->better + c->worse - 1, than);
        add(buf, SENTENCE, c->better ? "; none is worse" : "; none is better");
    } else if (c->neither) {
        snprintf(buf, SENTENCE, "new differs from base: ");
        add_foremost(buf, SENTENCE, c, 0);
        add_others(buf, SENTENCE, c->neither - 1, "different");
    } else if (c->tested) {
        add(buf, SENTENCE, "no difference between new and base exceeds the noise");
    } else {
        add(buf, SENTENCE, "not known: no figure could be tested against the noise");
    }
    add(buf, SENTENCE, ".");
    if (c->base_runs == 1 && c->new_runs == 1)
        add(buf, SENTENCE, " It rests on one run of each.");
    if (!c->one_load)
        add(buf, SENTENCE, " The runs are of different traces.");
    if (!c->valid)
        add(buf, SENTENCE, " At least one of the runs is NOT VALID.");
}

static void put_sentence(FILE *out, const struct compare *c)
{
    char text[SENTENCE];
    sentence(text, c);
    cell_verdict(out, text);
}

static void put_figure_header(FILE *out, const char *section, int width)
{
    fprintf(out, "\n%-*s %14s %14s %10s %9s  %s\n", width + 2, section, "base", "new", "change",
            "p", "verdict");
}

static void put_figure(FILE *out, const struct compare_figure *f, const struct headline *h,
                       const char *label, int width)
{
    char a[CELL], b[CELL], d[CELL], p[CELL];
    fprintf(out, "  %-*.*s %14s %14s %10s %9s  %s\n", width, width, label, cell(a, h, f->base),
            cell(b, h, f->new), share(d, f->change), cell_number(p, f->p), verdict(f));
}

/* What a reader looks for, in one place. */
static void put_changed(FILE *out, const struct compare *c)
{
    bool any = false;
    for (size_t i = 0; i < c->count; i++) {
        struct headline h;
        char label[sizeof(h.section) + sizeof(h.label) + 2];
        if (!c->figure[i].changed)
            continue;
        if (!any)
            put_figure_header(out, "Changed", CHANGED_WIDTH);
        any = true;
        headline_of(&h, c->figure[i].name);
        snprintf(label, sizeof(label), "%s: %s", h.section, h.label);
        put_figure(out, &c->figure[i], &h, label, CHANGED_WIDTH);
    }
}

static void put_figures(FILE *out, const struct compare *c, bool of_group)
{
    struct headline h = {0}, last = {0};
    for (size_t i = 0; i < c->count; i++) {
        headline_of(&h, c->figure[i].name);
        if (h.of_group != of_group)
            continue;
        if (strcmp(last.section, h.section) != 0)
            put_figure_header(out, h.section, NAME_WIDTH);
        last = h;
        put_figure(out, &c->figure[i], &h, h.label, NAME_WIDTH);
    }
}

void report_compare_text(FILE *out, const struct compare *c, const struct runs *base,
                         const struct runs *new)
{
    fprintf(out, "Base:\n");
    put_runs(out, base);
    fprintf(out, "New:\n");
    put_runs(out, new);
    put_conclusion(out, c);
    put_changed(out, c);
    put_figures(out, c, false);
    put_figures(out, c, true);
    put_sentence(out, c);
}

static void put_better(struct jsonout *j, const struct compare_figure *f)
{
    if (f->better == 0)
        jsonout_null(j, "better");
    else
        jsonout_bool(j, "better", f->better > 0);
}

static void put_files(struct jsonout *j, const char *key, const struct runs *r)
{
    jsonout_array(j, key);
    for (size_t run = 0; run < runs_count(r); run++)
        jsonout_text_value(j, NULL, runs_text_of(r, run, "files"));
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
        put_better(j, f);
        jsonout_end(j);
    }
    jsonout_end(j);
    char text[SENTENCE];
    sentence(text, c);
    jsonout_text_value(j, "verdict", outcome(c));
    jsonout_text_value(j, "sentence", text);
    jsonout_end(j);
}
