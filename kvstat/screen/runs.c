/* The one-screen reports on several runs: trials with the spread of their figures, and comparisons
 * with what changed. The figures of the whole run come first; those that have no room are counted.
 */
#include <math.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "kvstat/screen/lines.h"
#include "kvstat/screen/screen.h"
#include "lib/base/units.h"
#include "lib/facts/judge.h"
#include "lib/text/text.h"

enum {
    LABEL_WIDTH = 34,
    INTERVAL_WIDTH = 26,
    ENDING = 3 /* lines behind the table: an empty one, what is left out, what to do next */
};

/* At most 12 columns: three digits where cell_value has more. */
static const char *value(char buf[CELL], const struct figure_id *id, double v)
{
    static const struct {
        double unit;
        const char *letter;
    } large[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}};
    enum figure_unit unit = figure_unit(id->what);
    const char *ending = unit == FIGURE_UNIT_TOKENS_PER_S ? " tok/s" : "/s";
    if (unit == FIGURE_UNIT_BYTES_PER_S || unit == FIGURE_UNIT_GIB_PER_S) {
        cell_size(buf, unit == FIGURE_UNIT_GIB_PER_S ? v * (double)UNITS_GIB : v);
        text_append(buf, CELL, "%s", isfinite(v) ? "/s" : "");
        return buf;
    }
    bool rate = unit == FIGURE_UNIT_TOKENS_PER_S || unit == FIGURE_UNIT_PER_S;
    if (rate && v > 0 && v < 0.0005) {
        snprintf(buf, CELL, "<0.001%s", ending);
        return buf;
    }
    for (size_t i = 0; rate && isfinite(v) && i < sizeof(large) / sizeof(large[0]); i++)
        if (fabs(v) >= large[i].unit) {
            snprintf(buf, CELL, "%.3g %s%s", v / large[i].unit, large[i].letter, ending);
            return buf;
        }
    return cell_value(buf, unit, v);
}

static bool is_of_group(const struct figure_id *id)
{
    return id->scope == FIGURE_OF_GROUP;
}

/* "a.csv.zst (1,240 rows, 160 ms)". */
static void add_runs(struct lines_parts *p, const struct run_table *t)
{
    for (size_t run = 0; run < run_table_runs(t); run++) {
        double rows = run_table_number(t, run, figure_id(FIGURE_OF_RUN, FIGURE_ROWS));
        double elapsed_s = run_table_number(t, run, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED));
        char name[LINES_BYTES], a[CELL], b[CELL];
        lines_shorten(name, run_table_label(t, run), 44);
        lines_part(
            p, "%s (%s, %s%s)", name, cell_rows(a, (uint64_t)rows), cell_seconds(b, elapsed_s),
            run_table_is(t, run, figure_id(FIGURE_OF_RUN, FIGURE_CUT)) ? ", incomplete" : "");
    }
}

/* Whether the runs may be believed: those that may not, and why. */
static void add_validity(struct lines_parts *p, const struct run_table *t, const char *whose)
{
    size_t unknown = 0;
    for (size_t run = 0; run < run_table_runs(t); run++) {
        enum validity_state state = compare_state_of_run(t, run);
        char name[LINES_BYTES];
        unknown += state == VALIDITY_UNKNOWN;
        if (state == VALIDITY_UNRELIABLE)
            lines_part(p, "%s%s: %.500s", whose, lines_shorten(name, run_table_label(t, run), 44),
                       run_table_text(t, run, figure_id(FIGURE_OF_VALIDITY, FIGURE_VALIDITY_LINE)));
    }
    if (unknown == run_table_runs(t))
        lines_part(p, "%sunknown", whose);
    else if (unknown > 0)
        lines_part(p, "%sunknown for %zu of %zu runs", whose, unknown, run_table_runs(t));
}

/* Whether each run has the samples that a percentile takes; true of other figures. */
static bool has_samples(const struct run_table *t, const struct figure_id *id)
{
    const struct figure_id samples = figure_id_statistic(*id, FIGURE_COUNT);
    if (id->statistic < FIGURE_P50 || id->statistic > FIGURE_P9999)
        return true;
    for (size_t run = 0; run < run_table_runs(t); run++) {
        double n = run_table_number(t, run, samples);
        if (n >= 0 && (uint64_t)n < judge_samples(hist_percentiles[id->statistic - FIGURE_P50].ppm))
            return false;
    }
    return true;
}

static bool matters_of_group(const struct figure_id *id)
{
    return (id->what == FIGURE_SERVICE && id->statistic == FIGURE_P95) ||
           id->what == FIGURE_GIB_PER_S;
}

static void put_validity(struct lines *l, struct lines_parts *p, const struct run_table *t)
{
    static const struct {
        enum figure_what what;
        const char *word;
    } stand_ins[] = {{FIGURE_EMPTY, "NOT EXECUTED (empty engine)"},
                     {FIGURE_SIMULATED, "SIMULATED"}};
    const char *tiers = "", *word = "";
    if (!run_table_is_result(t))
        return;
    if (p->count == 0)
        lines_part(p, "good");
    for (size_t i = 0; i < sizeof(stand_ins) / sizeof(stand_ins[0]); i++)
        for (size_t run = 0; run < run_table_runs(t) && !tiers[0]; run++) {
            tiers = run_table_text(t, run, figure_id(FIGURE_OF_PROVENANCE, stand_ins[i].what));
            word = stand_ins[i].word;
        }
    if (tiers[0])
        lines_part(p, "%.60s %s", tiers, word);
    lines_paragraph(l, "Validity", p, "; ", 3);
}

static void put_left_out(struct lines *l, size_t left_out)
{
    if (left_out > 0)
        lines_add(l, "%zu more figure%s: --full", left_out, units_plural(left_out));
    lines_gap(l);
}

/* ---- trials ---- */

/* 0: of the whole run; 1: what matters most of a group; 2: the rest, for which --full is. */
static int trial_rank(const struct run_table *t, const struct figure_id *id)
{
    if (!has_samples(t, id))
        return 2;
    return !is_of_group(id) ? 0 : matters_of_group(id) ? 1 : 2;
}

/* At most 5 columns: "0.3 %", "141 %". */
static const char *spread(char buf[CELL], double cv)
{
    if (isnan(cv))
        snprintf(buf, CELL, "-");
    else
        snprintf(buf, CELL, "%.*f %%", cv < 0.0995, 100 * cv);
    return buf;
}

static void put_trial(struct lines *l, const struct figure_id *id, struct statistics_sample s)
{
    char whole[200], label[LINES_BYTES], a[CELL], b[CELL], c[CELL], d[CELL], interval[2 * CELL];
    snprintf(interval, sizeof(interval), "%s to %s", value(b, id, s.low), value(c, id, s.high));
    if (strlen(interval) > INTERVAL_WIDTH)
        snprintf(interval, sizeof(interval), "%s to %s", cell_number(b, s.low),
                 cell_number(c, s.high));
    if (strlen(interval) > INTERVAL_WIDTH)
        snprintf(interval, sizeof(interval), "%.3g to %.3g", s.low, s.high);
    compare_label(whole, sizeof(whole), id);
    lines_shorten(label, whole, LABEL_WIDTH);
    lines_add(l, "%-*s %12s %*s %5s", cell_pad(label, LABEL_WIDTH), label, value(a, id, s.mean),
              INTERVAL_WIDTH, s.n > 1 ? interval : "-", spread(d, s.cv));
}

void screen_trials(FILE *out, const struct run_table *t, struct verdict_asked asked)
{
    struct lines l = {0};
    struct lines_parts runs = {0}, verdict = {0}, validity = {0};
    char sentence[VERDICT_SENTENCE];
    size_t n = run_table_runs(t), left_out = 0;
    add_runs(&runs, t);
    lines_add(&l, "%zu trial%s", n, units_plural(n));
    lines_paragraph(&l, "Runs", &runs, ", ", 3);
    lines_gap(&l);
    if (verdict_is_asked(asked)) {
        lines_part(&verdict, "%.680s", verdict_sentence_of_runs(sentence, t, asked));
        lines_paragraph(&l, "Verdict", &verdict, "; ", 3);
    }
    add_validity(&validity, t, "");
    put_validity(&l, &validity, t);
    lines_gap(&l);
    lines_add(&l, "%-*s %12s %*s %5s", LABEL_WIDTH, "", "mean", INTERVAL_WIDTH,
              "95 % interval of the mean", "cv");
    for (int rank = 0; rank < 3; rank++)
        for (size_t i = 0; i < run_table_columns(t); i++) {
            const struct figure_id *id = run_table_id(t, i);
            struct statistics_sample s = run_table_sample(t, i);
            if (!figure_headline(id) || s.n == 0 || trial_rank(t, id) != rank)
                continue;
            if (rank < 2 && l.count < LINES_MOST - ENDING)
                put_trial(&l, id, s);
            else
                left_out++;
        }
    put_left_out(&l, left_out);
    lines_add(&l, "More: kvstat --full FILE...; kvstat --merge FILE... pools them");
    lines_put(out, &l);
}

/* ---- a comparison ---- */

static const char *change_word(const struct compare_figure *f)
{
    static const char *const words[COMPARE_CHANGES] = {[COMPARE_NOT_CHANGED] = "noise",
                                                       [COMPARE_BETTER] = "better",
                                                       [COMPARE_WORSE] = "WORSE",
                                                       [COMPARE_DIFFERENT] = "differs"};
    return isnan(f->p) ? "no test" : words[f->change];
}

static void put_change(struct lines *l, const struct compare_figure *f)
{
    char whole[200], label[LINES_BYTES], a[CELL], b[CELL], change[CELL] = "-";
    compare_label(whole, sizeof(whole), f->id);
    lines_shorten(label, whole, LABEL_WIDTH);
    if (fabs(f->difference) >= 100)
        snprintf(change, sizeof(change), "x %.3g", f->new / f->base);
    else if (!isnan(f->difference))
        snprintf(change, sizeof(change), "%+.1f %%",
                 fabs(f->difference) < 0.0005 ? 0 : 100 * f->difference);
    lines_add(l, "%-*s %12s %12s %9s  %s", cell_pad(label, LABEL_WIDTH), label,
              value(a, f->id, f->base), value(b, f->id, f->new), change, change_word(f));
}

enum {
    RANK_CHANGED,
    RANK_GROUP_CHANGED,
    RANK_TESTED,
    RANK_GROUP_TESTED,
    RANK_NOT_TESTED,
    RANK_LEFT_OUT /* for --full */
};

static int change_rank(const struct compare_figure *f, const struct run_table *base,
                       const struct run_table *new)
{
    bool group = is_of_group(f->id);
    if (!has_samples(base, f->id) || !has_samples(new, f->id))
        return RANK_LEFT_OUT;
    if (f->change != COMPARE_NOT_CHANGED)
        return group ? RANK_GROUP_CHANGED : RANK_CHANGED;
    if (group)
        return matters_of_group(f->id) && !isnan(f->p) ? RANK_GROUP_TESTED : RANK_LEFT_OUT;
    return isnan(f->p) ? RANK_NOT_TESTED : RANK_TESTED;
}

void screen_comparison(FILE *out, const struct compare *c, const struct run_table *base,
                       const struct run_table *new)
{
    struct lines l = {0};
    struct lines_parts side[2] = {{0}, {0}}, verdict = {0}, validity = {0};
    char sentence[COMPARE_SENTENCE];
    size_t left_out = 0;
    bool any = false, untested = false;
    add_runs(&side[0], base);
    add_runs(&side[1], new);
    lines_paragraph(&l, "Base", &side[0], ", ", 2);
    lines_paragraph(&l, "New", &side[1], ", ", 2);
    lines_gap(&l);
    lines_part(&verdict, "%.680s", compare_sentence(sentence, c));
    lines_paragraph(&l, "Verdict", &verdict, "; ", 5);
    add_validity(&validity, base, "base: ");
    add_validity(&validity, new, "new: ");
    put_validity(&l, &validity, new);
    lines_gap(&l);
    for (int rank = 0; rank <= RANK_LEFT_OUT; rank++)
        for (size_t i = 0; i < c->count; i++) {
            const struct compare_figure *f = &c->figure[i];
            if (change_rank(f, base, new) != rank)
                continue;
            if (!any)
                lines_add(&l, "%-*s %12s %12s %9s", LABEL_WIDTH, "", "base", "new", "change");
            any = true;
            if (rank == RANK_LEFT_OUT || l.count >= LINES_MOST - ENDING - 1) {
                left_out++;
                continue;
            }
            put_change(&l, f);
            untested |= isnan(f->p);
        }
    if (untested)
        lines_add(&l,
                  "not tested: too few operations to know the noise; run longer, or 3 to 5 a side");
    put_left_out(&l, left_out);
    lines_add(&l, "More: kvstat --full --compare BASE NEW");
    lines_put(out, &l);
}
