/* Figures of several runs together. Trials: the spread of each figure. --compare: takes the figures
 * that both sides have, finds the noise of each, and marks those whose change exceeds it, with the
 * correction for testing many. The arithmetic is in statistics.c. */
#include "kvstat/report/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/statistics.h"
#include "kvstat/report/cells.h"
#include "kvstat/report/settings.h"
#include "lib/base/units.h"
#include "lib/sort/ascending.h"
#include "lib/text/text.h"

#define NAME_WIDTH    26
#define CHANGED_WIDTH 36

/* ---- comparing ---- */

/* With one run on each side, from what happened within each. */
static double p_within(const struct compare_side *base, const struct compare_side *new,
                       const struct compare_figure *f)
{
    enum figure_statistic statistic = f->id->statistic;
    const struct statistics_side a = {figures_hist(base->figures, *f->id),
                                      figures_blocks(base->figures, f->id)};
    const struct statistics_side b = {figures_hist(new->figures, *f->id),
                                      figures_blocks(new->figures, f->id)};
    if (!a.series || !b.series)
        return NAN;
    double p = NAN;
    if (f->id->what == FIGURE_HIT_RATE || statistic == FIGURE_MEAN)
        p = statistics_series_mean(a.series, b.series);
    else if (a.values && b.values)
        p = statistics_series_percentile(&a, &b, hist_percentiles[statistic - FIGURE_P50].ppm);
    return p;
}

/* False when a side lacks the figure, or nobody looks at it. */
static bool compare_figure(struct compare_figure *f, const struct compare_side *base,
                           const struct compare_side *new, size_t column)
{
    *f = (struct compare_figure){.id = run_table_id(base->runs, column)};
    size_t other = run_table_find(new->runs, *f->id);
    if (!figure_headline(f->id) || other == run_table_columns(new->runs))
        return false;
    struct statistics_sample a = run_table_sample(base->runs, column);
    struct statistics_sample b = run_table_sample(new->runs, other);
    if (a.n == 0 || b.n == 0)
        return false;
    f->base = a.mean;
    f->new = b.mean;
    f->difference = a.mean != 0 ? (b.mean - a.mean) / fabs(a.mean) : NAN;
    bool within = base->figures && new->figures;
    f->p = within ? p_within(base, new, f) : statistics_welch(&a, &b);
    f->shows = within ? NAN : statistics_welch_shows(&a, &b, COMPARE_ALPHA) / fabs(a.mean);
    return true;
}

static int mark_changes(struct compare *c, struct err *e)
{
    double *p = malloc((c->count + 1) * sizeof(*p));
    if (!p)
        return err_nomem(e, "comparison");
    for (size_t i = 0; i < c->count; i++)
        if (!isnan(c->figure[i].p))
            p[c->tested++] = c->figure[i].p;
    double threshold = statistics_threshold(p, c->tested, COMPARE_ALPHA);
    for (size_t i = 0; i < c->count; i++) {
        struct compare_figure *f = &c->figure[i];
        int better = figure_headline(f->id)->better * (f->new > f->base ? 1 : -1);
        bool sure = !isnan(f->p) && f->p <= threshold;
        bool matters = !(fabs(f->difference) < c->matters); /* of nothing, any does */
        c->small += sure && !matters;
        if (!sure || !matters)
            f->change = COMPARE_NOT_CHANGED;
        else if (!c->result || better == 0) /* more of what a trace asks for is not better */
            f->change = COMPARE_DIFFERENT;
        else
            f->change = better > 0 ? COMPARE_BETTER : COMPARE_WORSE;
        c->changes[f->change]++;
    }
    free(p);
    return 0;
}

/* False when two runs are known to be of different traces. */
static bool one_load(const struct run_table *base, const struct run_table *new)
{
    const struct run_table *const side[2] = {base, new};
    const char *first = "";
    for (size_t s = 0; s < 2; s++)
        for (size_t run = 0; run < run_table_runs(side[s]); run++) {
            const char *digest =
                run_table_text(side[s], run, figure_id(FIGURE_OF_PROVENANCE, FIGURE_DIGEST));
            if (digest[0] && first[0] && strcmp(digest, first) != 0)
                return false;
            first = first[0] ? first : digest;
        }
    return true;
}

/* The clients of the first two runs that were measured by different ones. */
static void find_clients(struct compare *c, const struct run_table *base,
                         const struct run_table *new)
{
    const struct figure_id id = figure_id(FIGURE_OF_PROVENANCE, FIGURE_CLIENT);
    for (size_t i = 0; i < run_table_runs(base); i++)
        for (size_t k = 0; k < run_table_runs(new); k++) {
            const char *a = run_table_text(base, i, id), *b = run_table_text(new, k, id);
            bool nobody_says = !a[0] || !b[0]; /* results of kvreplay may come without a summary */
            if (c->client[0] || strcmp(a, b) == 0 ||
                (nobody_says && (strcmp(a, "kvreplay") == 0 || strcmp(b, "kvreplay") == 0)))
                continue;
            c->client[0] = a[0] ? a : "not known";
            c->client[1] = b[0] ? b : "not known";
        }
}

/* The pages of the buffers of the first two runs whose drives were read into different ones. */
static void find_pages(struct compare *c, const struct run_table *base, const struct run_table *new)
{
    const struct figure_id id = figure_id_fact(FACT_PAGES);
    for (size_t i = 0; i < run_table_runs(base); i++)
        for (size_t k = 0; k < run_table_runs(new); k++) {
            const char *a = run_table_text(base, i, id), *b = run_table_text(new, k, id);
            if (c->pages[0] || !a[0] || !b[0] || strcmp(a, b) == 0)
                continue;
            c->pages[0] = a;
            c->pages[1] = b;
        }
}

/* "--timing served --workers 8 --speed 10"; "" when it is not known. */
static void tell_timing(char *buf, size_t n, const struct run_table *t, size_t run)
{
    const enum figure_scope of = FIGURE_OF_PROVENANCE;
    const char *timing = run_table_text(t, run, figure_id(of, FIGURE_TIMING));
    double speed = run_table_number(t, run, figure_id(of, FIGURE_SPEED));
    double workers = run_table_number(t, run, figure_id(of, FIGURE_WORKERS));
    snprintf(buf, n, "%s%s", timing[0] ? "--timing " : "", timing);
    if (timing[0] && workers > 0)
        text_append(buf, n, " --workers %.0f", workers);
    if (timing[0] && isfinite(speed) && speed != 1)
        text_append(buf, n, " --speed %g", speed);
}

/* The timing of the first two runs that kvreplay timed differently. */
static void find_timing(struct compare *c, const struct run_table *base,
                        const struct run_table *new)
{
    char a[sizeof(c->timing[0])], b[sizeof(c->timing[0])];
    for (size_t i = 0; i < run_table_runs(base); i++) {
        tell_timing(a, sizeof(a), base, i);
        for (size_t k = 0; a[0] && k < run_table_runs(new); k++) {
            tell_timing(b, sizeof(b), new, k);
            if (!b[0] || strcmp(a, b) == 0)
                continue;
            memcpy(c->timing[0], a, sizeof(a));
            memcpy(c->timing[1], b, sizeof(b));
            return;
        }
    }
}

/* The settings of the first two runs that differ in one. */
static void find_settings(struct compare *c, const struct run_table *base,
                          const struct run_table *new)
{
    for (size_t i = 0; i < run_table_runs(base); i++)
        for (size_t k = 0; k < run_table_runs(new); k++)
            if (settings_differ(c->settings, sizeof(c->settings), (struct settings_of){base, i},
                                (struct settings_of){new, k}))
                return;
}

enum validity_state compare_state_of_run(const struct run_table *t, size_t run)
{
    enum validity_state worst = VALIDITY_GOOD;
    for (unsigned kind = 0; kind < VALIDITY_KINDS; kind++) {
        struct figure_id id = figure_id(FIGURE_OF_VALIDITY_KIND, FIGURE_STATE);
        id.label = validity_kind_word(kind);
        const char *word = run_table_text(t, run, id);
        for (unsigned state = worst + 1; state < VALIDITY_STATES; state++)
            if (strcmp(word, validity_state_word(state)) == 0)
                worst = state;
    }
    return worst;
}

static bool any_unreliable(const struct run_table *t)
{
    for (size_t run = 0; run < run_table_runs(t); run++)
        if (compare_state_of_run(t, run) == VALIDITY_UNRELIABLE)
            return true;
    return false;
}

/* Fills in the device that all runs of both sides used, on one host. */
static void find_device(struct compare *c, const struct run_table *base,
                        const struct run_table *new)
{
    const struct run_table *const side[2] = {base, new};
    const char *first_device = NULL, *first_host = NULL;
    for (size_t s = 0; s < 2; s++)
        for (size_t run = 0; run < run_table_runs(side[s]); run++) {
            const char *device = run_table_text(
                side[s], run, figure_id(FIGURE_OF_PROVENANCE, FIGURE_SAME_OF_DEVICE));
            const char *host =
                run_table_text(side[s], run, figure_id(FIGURE_OF_PROVENANCE, FIGURE_HOST));
            if (!device[0] || !host[0] || (first_device && strcmp(device, first_device) != 0) ||
                (first_host && strcmp(host, first_host) != 0))
                return;
            first_device = device;
            first_host = host;
        }
    if (first_device)
        snprintf(c->device, sizeof(c->device), "%s", first_device);
}

/* The median over the figures of what the trials would have shown. */
static int find_shows(struct compare *c, struct err *e)
{
    double *shows = malloc((c->count + 1) * sizeof(*shows));
    size_t n = 0;
    if (!shows)
        return err_nomem(e, "comparison");
    for (size_t i = 0; i < c->count; i++)
        if (isfinite(c->figure[i].shows))
            shows[n++] = c->figure[i].shows;
    qsort(shows, n, sizeof(*shows), ascending_f64);
    c->shows = n > 0 ? shows[n / 2] : NAN;
    free(shows);
    return 0;
}

int compare_sides(struct compare **out, const struct compare_side *base,
                  const struct compare_side *new, double matters, struct err *e)
{
    size_t n = run_table_columns(base->runs);
    if (run_table_is_result(base->runs) != run_table_is_result(new->runs))
        return err_set(e, -EINVAL, ERR_INPUT, "--compare",
                       "a trace and a result file cannot be compared: their times differ");
    struct compare *c = calloc(1, sizeof(*c) + n * sizeof(c->figure[0]));
    if (!c)
        return err_nomem(e, "comparison");
    c->matters = matters;
    c->base_runs = run_table_runs(base->runs);
    c->new_runs = run_table_runs(new->runs);
    c->result = run_table_is_result(new->runs);
    c->one_load = one_load(base->runs, new->runs);
    c->unreliable = any_unreliable(base->runs) || any_unreliable(new->runs);
    find_clients(c, base->runs, new->runs);
    find_pages(c, base->runs, new->runs);
    find_timing(c, base->runs, new->runs);
    find_settings(c, base->runs, new->runs);
    find_device(c, base->runs, new->runs);
    for (size_t i = 0; i < n; i++)
        c->count += compare_figure(&c->figure[c->count], base, new, i);
    int rc = mark_changes(c, e);
    if (rc == 0)
        rc = find_shows(c, e);
    if (rc < 0) {
        free(c);
        return rc;
    }
    *out = c;
    return 0;
}

/* ---- what both texts have ---- */

static bool is_of_group(const struct figure_id *id)
{
    return id->scope == FIGURE_OF_GROUP;
}

/* Figures of one group, of the requests, and all others share a section. last: NULL: none came
 * before. */
static bool same_section(const struct figure_id *last, const struct figure_id *id)
{
    if (!last || last->scope != id->scope) {
        bool other = last && !is_of_group(last) && last->scope != FIGURE_OF_REQUESTS;
        return other && !is_of_group(id) && id->scope != FIGURE_OF_REQUESTS;
    }
    if (!is_of_group(id))
        return true;
    struct figure_id group = *id;
    group.what = last->what;
    group.statistic = last->statistic;
    return figure_id_compare(&group, last) == 0;
}

const char *compare_section(char buf[COMPARE_SECTION], const struct figure_id *id)
{
    if (!is_of_group(id))
        return id->scope == FIGURE_OF_REQUESTS ? "Requests" : "Throughput and cache";
    snprintf(buf, COMPARE_SECTION, "%s", id->label);
    for (char *p = buf; *p; p++)
        if (*p == '/')
            *p = ' ';
    return buf;
}

const char *compare_label(char *buf, size_t n, const struct figure_id *id)
{
    char section[COMPARE_SECTION];
    bool of_group = is_of_group(id);
    snprintf(buf, n, "%s%s%s", of_group ? compare_section(section, id) : "", of_group ? " " : "",
             figure_headline(id)->label);
    return buf;
}

static const char *cell(char *buf, const struct figure_id *id, double v)
{
    return cell_value(buf, figure_unit(id->what), v);
}

static void put_runs(FILE *out, const struct run_table *t)
{
    for (size_t run = 0; run < run_table_runs(t); run++) {
        const char *profile = run_table_text(t, run, figure_id(FIGURE_OF_VERDICT, FIGURE_PROFILE));
        const char *verdict = run_table_text(t, run, figure_id(FIGURE_OF_VERDICT, FIGURE_VERDICT));
        double rows = run_table_number(t, run, figure_id(FIGURE_OF_RUN, FIGURE_ROWS));
        double elapsed_s = run_table_number(t, run, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED));
        char a[CELL], b[CELL];
        fprintf(out, "  %s: %s over %s",
                run_table_text(t, run, figure_id(FIGURE_OF_RUN, FIGURE_FILES)),
                cell_rows(a, (uint64_t)rows), cell_seconds(b, elapsed_s));
        if (profile[0])
            fprintf(out, "; %s: %s", profile, verdict[0] ? verdict : "NOT KNOWN");
        if (run_table_is(t, run, figure_id(FIGURE_OF_RUN, FIGURE_CUT)))
            fprintf(out, "; CUT");
        if (compare_state_of_run(t, run) == VALIDITY_UNKNOWN)
            fprintf(out, "; validity unknown");
        else if (compare_state_of_run(t, run) == VALIDITY_UNRELIABLE)
            fprintf(out, "\n    %s",
                    run_table_text(t, run, figure_id(FIGURE_OF_VALIDITY, FIGURE_VALIDITY_LINE)));
        fputc('\n', out);
    }
}

/* ---- trials ---- */

static void put_trial_figures(FILE *out, const struct run_table *t, bool of_groups)
{
    const struct figure_id *last = NULL;
    char section[COMPARE_SECTION], a[CELL], b[CELL], c[CELL], d[CELL], e[CELL];
    for (size_t i = 0; i < run_table_columns(t); i++) {
        const struct figure_id *id = run_table_id(t, i);
        const struct figure_headline *headline = figure_headline(id);
        struct statistics_sample s = run_table_sample(t, i);
        if (!headline || s.n == 0 || is_of_group(id) != of_groups)
            continue;
        if (!same_section(last, id))
            fprintf(out, "\n%-*s %6s %13s %13s %8s %27s\n", NAME_WIDTH + 2,
                    compare_section(section, id), "trials", "mean", "deviation", "cv",
                    "95 % interval");
        last = id;
        fprintf(out, "  %-*s %6zu %13s %13s %8s %12s  %13s\n", NAME_WIDTH, headline->label, s.n,
                cell(a, id, s.mean), cell(b, id, s.sd), cell_percent(c, s.cv), cell(d, id, s.low),
                cell(e, id, s.high));
    }
}

void trials_text(FILE *out, const struct run_table *t)
{
    fprintf(out, "%zu trial%s\n", run_table_runs(t), units_plural(run_table_runs(t)));
    put_runs(out, t);
    put_trial_figures(out, t, false);
    put_trial_figures(out, t, true);
    fprintf(out,
            "\nMean, standard deviation, coefficient of variation and 95 %% confidence interval "
            "of the mean.\nAll figures: --json.\n");
}

void trials_json(struct jsonout *j, const struct run_table *t)
{
    jsonout_object(j, "trials");
    jsonout_u64(j, "count", run_table_runs(t));
    jsonout_array(j, "figures");
    for (size_t i = 0; i < run_table_columns(t); i++) {
        struct statistics_sample s = run_table_sample(t, i);
        char name[FIGURE_NAME];
        if (s.n == 0)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "name", figure_name(name, run_table_id(t, i)));
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

/* ---- the comparison in words ---- */

static bool single_runs(const struct compare *c)
{
    return c->base_runs == 1 && c->new_runs == 1;
}

/* Whether the figure is of a tier of memory: the question is about the drive. */
static bool is_of_memory(const struct figure_id *id)
{
    return is_of_group(id) && (id->by & GROUPS_TIER) && id->tier != TRACE_STORAGE;
}

/* Does a change say more than another? Those of the drive and the run before those of memory, and
 * the larger one first: from nothing, it is larger than any. */
static bool says_more(const struct compare_figure *a, const struct compare_figure *b)
{
    double x = isnan(a->difference) ? INFINITY : fabs(a->difference);
    double y = isnan(b->difference) ? INFINITY : fabs(b->difference);

    return is_of_memory(a->id) != is_of_memory(b->id) ? is_of_memory(b->id) : x > y;
}

/* "Tier-2 Read Decode service, p95 is 21.3 % lower (12.0 ms, was 15.2 ms)": the largest change of
 * that kind. */
static void add_foremost(char *buf, const struct compare *c, enum compare_change change)
{
    size_t first = c->count;
    char a[CELL], b[CELL], by[CELL] = "", label[COMPARE_SECTION + 64];
    for (size_t i = 0; i < c->count; i++)
        if (c->figure[i].change == change &&
            (first == c->count || says_more(&c->figure[i], &c->figure[first])))
            first = i;
    const struct compare_figure *f = &c->figure[first];
    if (!isnan(f->difference))
        snprintf(by, sizeof(by), "%.1f %% ", 100 * fabs(f->difference));
    text_append(buf, COMPARE_SENTENCE, "%s is %s%s (%s, was %s)",
                compare_label(label, sizeof(label), f->id), by,
                f->new > f->base ? "higher" : "lower", cell(a, f->id, f->new),
                cell(b, f->id, f->base));
}

static void add_others(char *buf, size_t count, const char *what)
{
    if (count > 0)
        text_append(buf, COMPARE_SENTENCE, ", and %zu more figure%s %s %s", count,
                    units_plural(count), count == 1 ? "is" : "are", what);
}

const char *compare_sentence(char buf[COMPARE_SENTENCE], const struct compare *c)
{
    size_t better = c->changes[COMPARE_BETTER], worse = c->changes[COMPARE_WORSE];
    buf[0] = '\0';
    if (c->settings[0])
        snprintf(buf, COMPARE_SENTENCE, "settings differ: %s: ", c->settings);
    if (c->timing[0][0])
        text_append(buf, COMPARE_SENTENCE,
                    "the loads differ, by their timing (base: %s; new: %s): ", c->timing[0],
                    c->timing[1]);
    if (better && worse) {
        text_append(buf, COMPARE_SENTENCE, "new is better than base in %zu figure%s: ", better,
                    units_plural(better));
        add_foremost(buf, c, COMPARE_BETTER);
        text_append(buf, COMPARE_SENTENCE, "; and worse in %zu: ", worse);
        add_foremost(buf, c, COMPARE_WORSE);
    } else if (better || worse) {
        const char *than = better ? "better" : "worse";
        text_append(buf, COMPARE_SENTENCE, "new is %s than base: ", than);
        add_foremost(buf, c, better ? COMPARE_BETTER : COMPARE_WORSE);
        add_others(buf, better + worse - 1, than);
        text_append(buf, COMPARE_SENTENCE, "%s", better ? "; none is worse" : "; none is better");
    } else if (c->changes[COMPARE_DIFFERENT]) {
        text_append(buf, COMPARE_SENTENCE, "new differs from base: ");
        add_foremost(buf, c, COMPARE_DIFFERENT);
        add_others(buf, c->changes[COMPARE_DIFFERENT] - 1, "different");
    } else if (c->tested) {
        text_append(buf, COMPARE_SENTENCE, "no difference between new and base exceeds the noise");
        if (c->small)
            text_append(buf, COMPARE_SENTENCE, " by %.4g %% or more", 100 * c->matters);
        if (!single_runs(c) && c->shows > 0)
            text_append(
                buf, COMPARE_SENTENCE,
                "; with these %zu and %zu trials a change under %.2g %% would not show in half "
                "of the figures",
                c->base_runs, c->new_runs, 100 * c->shows);
    } else {
        text_append(buf, COMPARE_SENTENCE,
                    "not known: no figure could be tested against the noise");
        text_append(buf, COMPARE_SENTENCE, "%s", single_runs(c) ? "; run several trials" : "");
    }
    text_append(buf, COMPARE_SENTENCE, ".");
    if (single_runs(c))
        text_append(buf, COMPARE_SENTENCE, " Each side has only one run.");
    if (!c->one_load)
        text_append(buf, COMPARE_SENTENCE, " The runs are of different traces.");
    if (c->client[0]) {
        text_append(buf, COMPARE_SENTENCE,
                    " The clients differ (base: %s, new: %s): part of a difference may be theirs.",
                    c->client[0], c->client[1]);
    }
    if (c->pages[0]) {
        text_append(buf, COMPARE_SENTENCE,
                    " Buffers were in other pages (base: %s, new: %s): part of a difference may be "
                    "theirs.",
                    c->pages[0], c->pages[1]);
    }
    if (c->unreliable)
        text_append(buf, COMPARE_SENTENCE, " Figures of at least one of the runs are unreliable.");
    if (c->device[0]) {
        text_append(buf, COMPARE_SENTENCE, " All runs used one device, ");
        text_append(buf, COMPARE_SENTENCE, "%s", c->device);
        text_append(buf, COMPARE_SENTENCE, ".");
    }
    return buf;
}

/* ---- the comparison as text ---- */

static void put_figure_header(FILE *out, const char *section, int width)
{
    fprintf(out, "\n%-*s %14s %14s %10s %9s  %s\n", width + 2, section, "base", "new", "change",
            "p", "verdict");
}

static void put_figure(FILE *out, const struct compare_figure *f, const char *label, int width)
{
    char a[CELL], b[CELL], d[CELL], p[CELL];
    fprintf(out, "  %-*.*s %14s %14s %10s %9s  %s\n", width, width, label, cell(a, f->id, f->base),
            cell(b, f->id, f->new), cell_percent(d, f->difference), cell_number(p, f->p),
            isnan(f->p)                        ? "not known"
            : f->change != COMPARE_NOT_CHANGED ? "CHANGED"
                                               : "noise");
}

static void put_figures(FILE *out, const struct compare *c, bool of_groups)
{
    const struct figure_id *last = NULL;
    char section[COMPARE_SECTION];
    for (size_t i = 0; i < c->count; i++) {
        const struct figure_id *id = c->figure[i].id;
        if (is_of_group(id) != of_groups)
            continue;
        if (!same_section(last, id))
            put_figure_header(out, compare_section(section, id), NAME_WIDTH);
        last = id;
        put_figure(out, &c->figure[i], figure_headline(id)->label, NAME_WIDTH);
    }
}

void compare_text(FILE *out, const struct compare *c, const struct run_table *base,
                  const struct run_table *new)
{
    size_t changed = c->count - c->changes[COMPARE_NOT_CHANGED];
    char text[COMPARE_SENTENCE], section[COMPARE_SECTION], label[COMPARE_SECTION + 64];
    bool any = false;
    fprintf(out, "Base:\n");
    put_runs(out, base);
    fprintf(out, "New:\n");
    put_runs(out, new);
    if (c->timing[0][0])
        fprintf(out, "Timing differs, so figures are of different loads:\n  base: %s\n  new: %s\n",
                c->timing[0], c->timing[1]);
    fprintf(out,
            "\n%zu of %zu figure%s that could be tested changed by more than the noise (99 %%, "
            "corrected for their number).\n",
            changed, c->tested, units_plural(c->tested));
    if (single_runs(c))
        fprintf(
            out,
            "One run on each side: the noise is that between blocks of the operations within it, "
            "and that\nof rates is not known. Runs of one load often differ more: give three to "
            "five trials of each,\nthe base's by repeating --compare.\n");
    for (size_t i = 0; i < c->count; i++) {
        const struct compare_figure *f = &c->figure[i];
        if (f->change == COMPARE_NOT_CHANGED)
            continue;
        if (!any)
            put_figure_header(out, "Changed", CHANGED_WIDTH);
        any = true;
        snprintf(label, sizeof(label), "%s: %s", compare_section(section, f->id),
                 figure_headline(f->id)->label);
        put_figure(out, f, label, CHANGED_WIDTH);
    }
    put_figures(out, c, false);
    put_figures(out, c, true);
    cell_verdict(out, compare_sentence(text, c));
}

/* ---- the comparison as JSON ---- */

static void put_files(struct jsonout *j, const char *key, const struct run_table *t)
{
    jsonout_array(j, key);
    for (size_t run = 0; run < run_table_runs(t); run++)
        jsonout_text_value(j, NULL, run_table_text(t, run, figure_id(FIGURE_OF_RUN, FIGURE_FILES)));
    jsonout_end(j);
}

const char *compare_answer(const struct compare *c)
{
    size_t better = c->changes[COMPARE_BETTER], worse = c->changes[COMPARE_WORSE];
    return c->tested == 0                  ? NULL
           : better && worse               ? "mixed"
           : better                        ? "better"
           : worse                         ? "worse"
           : c->changes[COMPARE_DIFFERENT] ? "different"
                                           : "same";
}

void compare_json(struct jsonout *j, const struct compare *c, const struct run_table *base,
                  const struct run_table *new)
{
    char text[COMPARE_SENTENCE];
    jsonout_object(j, "compare");
    put_files(j, "base", base);
    put_files(j, "new", new);
    jsonout_f64(j, "confidence", 1 - COMPARE_ALPHA);
    jsonout_f64(j, "min_change", c->matters);
    jsonout_u64(j, "tested", c->tested);
    jsonout_array(j, "figures");
    for (size_t i = 0; i < c->count; i++) {
        const struct compare_figure *f = &c->figure[i];
        char name[FIGURE_NAME];
        jsonout_object(j, NULL);
        jsonout_text_value(j, "name", figure_name(name, f->id));
        jsonout_f64(j, "base", f->base);
        jsonout_f64(j, "new", f->new);
        jsonout_f64(j, "change", f->difference);
        jsonout_f64(j, "p_value", f->p);
        jsonout_f64(j, "would_show", f->shows);
        jsonout_bool_if(j, "changed", !isnan(f->p), f->change != COMPARE_NOT_CHANGED);
        jsonout_bool_if(j, "better", f->change == COMPARE_BETTER || f->change == COMPARE_WORSE,
                        f->change == COMPARE_BETTER);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_text_value(j, "verdict", compare_answer(c));
    jsonout_text_known(j, "settings_differ", c->settings);
    jsonout_bool(j, "clients_differ", c->client[0]);
    jsonout_bool(j, "pages_differ", c->pages[0]);
    jsonout_bool(j, "timings_differ", c->timing[0][0] != '\0');
    jsonout_f64(j, "would_show", c->shows);
    jsonout_bool(j, "unreliable", c->unreliable);
    jsonout_text_known(j, "device", c->device);
    jsonout_text_value(j, "sentence", compare_sentence(text, c));
    jsonout_end(j);
}
