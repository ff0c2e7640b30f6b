/* The figures of runs as CSV, one a row, with what tells them apart in columns of their own. The
 * names and values are those of the JSON. */
#include "kvstat/report/long_csv.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A row but for its value. Lends its texts. */
struct row {
    const char *run;    /* "" in rows on several runs */
    const char *prefix; /* of the figure: "", "series.", "trials.", "compare." */
    const struct figure_id *id;
    const char *of; /* a statistic over runs, behind that of the figure; "" */
    const char *unit;
    double time_s; /* of an interval's begin; NAN: of the whole run */
};

static bool is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return end != text && *end == '\0';
}

/* Whether a spreadsheet would take a cell that begins so for a formula, and run it. The minus
 * alone, or with a slash behind it, is our own sign for an empty part. */
static bool begins_formula(const char *text)
{
    if (*text == '-')
        return text[1] != '\0' && text[1] != '/';
    return *text && strchr("=+@", *text);
}

/* A field and what stands behind it. Quotes as RFC 4180 has them. Texts come from files, and
 * whoever opens the CSV in a spreadsheet shall not run them: control characters become '?', and an
 * apostrophe stands before what would begin a formula, also behind what separates the fields in
 * other countries. */
static void put_field(FILE *out, const char *text, char end)
{
    bool begin = !is_number(text), quoted = strpbrk(text, ",\"\r\n") != NULL;

    if (quoted)
        fputc('"', out);
    for (; *text; text++) {
        if (begin && begins_formula(text))
            fputc('\'', out);
        begin = strchr(",;|", *text) && !is_number(text + 1);
        if (*text == '"')
            fputc('"', out);
        fputc((unsigned char)*text < ' ' || *text == '\x7f' ? '?' : *text, out);
    }
    if (quoted)
        fputc('"', out);
    fputc(end, out);
}

static void put_row(FILE *out, const struct row *row, const char *value)
{
    struct figure_key key;
    char family[FIGURE_NAME], name[FIGURE_NAME + 16], statistic[32], time[FIGURE_TEXT] = "";
    const char *word = figure_statistic_word(row->id->statistic);
    figure_key(&key, row->id);
    snprintf(name, sizeof(name), "%s%s", row->prefix, figure_family(family, row->id));
    snprintf(statistic, sizeof(statistic), "%s%s%s", word, word[0] && row->of[0] ? "." : "",
             row->of);
    if (!isnan(row->time_s))
        figure_format_number(time, row->time_s);
    const char *const field[] = {row->run,  name,  key.tier,  key.op, key.part,
                                 statistic, value, row->unit, time};
    const size_t n = sizeof(field) / sizeof(field[0]);
    for (size_t i = 0; i < n; i++)
        put_field(out, field[i], i + 1 < n ? ',' : '\n');
}

void long_csv_header(FILE *out)
{
    fprintf(out, "run,figure,tier,op,part,statistic,value,unit,time_s\n");
}

/* ---- runs ---- */

/* The values of a criterion have a unit of their own, which is one of its figures. */
static const char *unit_of(const struct run_table *t, size_t run, const struct figure_id *id)
{
    struct figure_id unit = *id;
    if (id->scope != FIGURE_OF_CRITERION)
        return figure_unit_word(id);
    unit.what = FIGURE_UNIT;
    switch (id->what) {
    case FIGURE_TARGET:
    case FIGURE_ACTUAL:
    case FIGURE_LOW:
    case FIGURE_HIGH:
    case FIGURE_SAME_OF_SERVICE:
    case FIGURE_SAME_OF_DEVICE:
        return run_table_text(t, run, unit);
    default:
        return "";
    }
}

/* The figures of one run of the table. row: what they have in common. */
static void put_run(FILE *out, const struct run_table *t, size_t run, struct row row)
{
    const struct figure_id name = run_table_name();
    for (size_t i = 0; i < run_table_columns(t); i++) {
        const struct figure f = run_table_cell(t, run, i);
        char text[FIGURE_TEXT];
        bool is_name = f.form == FIGURE_FORM_TEXT && figure_id_compare(&f.id, &name) == 0;
        if (!run_table_has(t, run, i) || is_name)
            continue;
        row.id = run_table_id(t, i);
        row.unit = unit_of(t, run, row.id);
        put_row(out, &row, figure_text(&f, text));
    }
}

void long_csv_runs(FILE *out, const struct run_table *t)
{
    for (size_t run = 0; run < run_table_runs(t); run++) {
        const struct row row = {
            .run = run_table_label(t, run), .prefix = "", .of = "", .time_s = NAN};
        put_run(out, t, run, row);
    }
}

void long_csv_series(FILE *out, const struct run_table *series, const char *run)
{
    struct row row = {.run = run, .prefix = "series.", .of = ""};
    for (size_t i = 0; i < run_table_runs(series); i++) {
        row.time_s = run_table_number(series, i, figure_id(FIGURE_OF_RUN, FIGURE_TIME));
        put_run(out, series, i, row);
    }
}

/* ---- several runs ---- */

static void put_number(FILE *out, struct row *row, const char *of, double v)
{
    char text[FIGURE_TEXT] = "";
    row->of = of;
    if (isfinite(v))
        figure_format_number(text, v);
    put_row(out, row, text);
}

void long_csv_trials(FILE *out, const struct run_table *t)
{
    for (size_t i = 0; i < run_table_columns(t); i++) {
        const struct statistics_sample s = run_table_sample(t, i);
        struct row row = {
            .run = "", .prefix = "trials.", .id = run_table_id(t, i), .unit = "", .time_s = NAN};
        if (s.n == 0)
            continue;
        put_number(out, &row, "count", (double)s.n);
        put_number(out, &row, "cv", s.cv);
        row.unit = figure_unit_word(row.id);
        put_number(out, &row, "mean", s.mean);
        put_number(out, &row, "sd", s.sd);
        put_number(out, &row, "ci95_low", s.low);
        put_number(out, &row, "ci95_high", s.high);
    }
}

/* A row of the whole comparison. */
static void put_text(FILE *out, const char *figure, const char *value)
{
    fprintf(out, ",compare.%s,,,,,", figure);
    put_field(out, value ? value : "", ',');
    fputs(",\n", out);
}

static void put_truth(FILE *out, struct row *row, const char *of, bool known, bool truth)
{
    row->of = of;
    put_row(out, row, !known ? "" : truth ? "true" : "false");
}

static void put_runs(FILE *out, const char *side, const struct run_table *t)
{
    for (size_t run = 0; run < run_table_runs(t); run++)
        put_text(out, side, run_table_text(t, run, figure_id(FIGURE_OF_RUN, FIGURE_FILES)));
}

static void put_compared(FILE *out, const struct compare_figure *f)
{
    struct row row = {.run = "", .prefix = "compare.", .id = f->id, .unit = "", .time_s = NAN};
    bool better = f->change == COMPARE_BETTER;
    row.unit = figure_unit_word(f->id);
    put_number(out, &row, "base", f->base);
    put_number(out, &row, "new", f->new);
    row.unit = "";
    put_number(out, &row, "change", f->difference);
    put_number(out, &row, "p_value", f->p);
    put_number(out, &row, "would_show", f->shows);
    put_truth(out, &row, "changed", !isnan(f->p), f->change != COMPARE_NOT_CHANGED);
    put_truth(out, &row, "better", better || f->change == COMPARE_WORSE, better);
}

void long_csv_compare(FILE *out, const struct compare *c, const struct run_table *base,
                      const struct run_table *new)
{
    char number[FIGURE_TEXT] = "", sentence[COMPARE_SENTENCE];
    put_runs(out, "base", base);
    put_runs(out, "new", new);
    figure_format_number(number, 1 - COMPARE_ALPHA);
    put_text(out, "confidence", number);
    figure_format_number(number, c->matters);
    put_text(out, "min_change", number);
    figure_format_number(number, (double)c->tested);
    put_text(out, "tested", number);
    for (size_t i = 0; i < c->count; i++)
        put_compared(out, &c->figure[i]);
    put_text(out, "verdict", compare_answer(c));
    put_text(out, "clients_differ", c->client[0] ? "true" : "false");
    put_text(out, "pages_differ", c->pages[0] ? "true" : "false");
    put_text(out, "timings_differ", c->timing[0][0] ? "true" : "false");
    put_text(out, "settings_differ", c->settings);
    number[0] = '\0';
    if (isfinite(c->shows))
        figure_format_number(number, c->shows);
    put_text(out, "would_show", number);
    put_text(out, "unreliable", c->unreliable ? "true" : "false");
    put_text(out, "device", c->device);
    put_text(out, "sentence", compare_sentence(sentence, c));
}
