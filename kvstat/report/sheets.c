/* The figures of runs as a spreadsheet: a sheet with a row a run, and for tiers, phases and groups
 * a sheet each with a row for each of them and each run. Writing the file is up to xlsx.c. */
#include <math.h>
#include <string.h>

#include "kvstat/count/statistics.h"
#include "kvstat/report/report.h"
#include "kvstat/report/run_table.h"
#include "kvstat/report/xlsx.h"
#include "kvstat/sheet/sheet.h"
#include "lib/base/keymap.h"

static void put_text(struct sheet *s, size_t row, size_t column, const char *text)
{
    s->rows = row;
    s->at = column;
    sheet_word(s, text);
}

/* A cell is put as a number where the figure is one. */
static void put_cell(struct sheet *s, size_t row, size_t column, const struct figure *f)
{
    char buf[FIGURE_TEXT];
    const char *text = figure_text(f, buf);
    const double v = figure_number(f);
    s->rows = row;
    s->at = column;
    if (!isnan(v))
        sheet_number(s, NULL, v, FIGURE_UNIT_NONE, NULL);
    else if (text[0])
        sheet_word(s, text);
}

/* ---- sheets with a row for each part of a run ---- */

struct section {
    const char *sheet, *part;
    enum figure_scope scope[2];
};
static const struct section sections[] = {{"tiers", "tier", {FIGURE_OF_DIRECTION, FIGURE_OF_TIER}},
                                          {"phases", "phase", {FIGURE_OF_PHASE, FIGURE_OF_PHASE}},
                                          {"groups", "group", {FIGURE_OF_GROUP, FIGURE_OF_GROUP}}};
enum {
    SECTIONS = sizeof(sections) / sizeof(sections[0])
};

/* The section that a figure is put to, with its path; NULL: it stands in the summary. */
static const struct section *section_of(const struct figure_id *id, struct figure_path *path)
{
    if (!figure_path(path, id) || path->steps < 2 || !path->step[1].element)
        return NULL;
    for (size_t i = 0; i < SECTIONS; i++)
        if (id->scope == sections[i].scope[0] || id->scope == sections[i].scope[1])
            return &sections[i];
    return NULL;
}

/* Where the name stands among those that were met; a new one comes last. SIZE_MAX: no memory. */
static size_t place_of(struct keymap *names, const char *name)
{
    const uint64_t *place = keymap_get(names, hash_128(name, strlen(name)), keymap_count(names));
    return place ? (size_t)*place : SIZE_MAX;
}

/* A sheet that is being filled. */
struct filling {
    struct sheet sheet;
    const struct run_table *table;
    const struct section *section;
    struct keymap *columns;
    size_t row;  /* the next free one */
    bool failed; /* memory ran out */
};

/* Puts the figures of one run that belong to the section: a row for each part. */
static void put_parts(struct filling *s, size_t run)
{
    struct keymap *parts = keymap_create();
    s->failed |= !parts;
    for (size_t i = 0; i < run_table_columns(s->table) && !s->failed; i++) {
        const struct figure f = run_table_cell(s->table, run, i);
        struct figure_path path;
        char buf[FIGURE_TEXT], name[FIGURE_NAME] = "";
        size_t len = 0;
        if (section_of(run_table_id(s->table, i), &path) != s->section ||
            (isnan(figure_number(&f)) && !figure_text(&f, buf)[0]))
            continue;
        for (size_t k = 2; k < path.steps && len < sizeof(name); k++)
            len += (size_t)snprintf(name + len, sizeof(name) - len, "%s%s", len ? "." : "",
                                    path.step[k].text);
        if (len == 0)
            continue;
        const size_t parts_before = keymap_count(parts), columns_before = keymap_count(s->columns);
        const size_t part = place_of(parts, path.step[1].text), column = place_of(s->columns, name);
        if (part == SIZE_MAX || column == SIZE_MAX) {
            s->failed = true;
            break;
        }
        const size_t row = s->row + part;
        if (part == parts_before) {
            put_text(&s->sheet, row, 0, run_table_label(s->table, run));
            put_text(&s->sheet, row, 1, path.step[1].text);
        }
        if (column == columns_before)
            put_text(&s->sheet, 0, column + 2, name);
        put_cell(&s->sheet, row, column + 2, &f);
    }
    s->row += parts ? keymap_count(parts) : 0;
    keymap_free(parts);
}

/* False: no memory. */
static bool put_section(struct xlsx *x, const struct run_table *t, const struct section *section)
{
    struct filling s = {.sheet = {.form = &sheet_xlsx, .out = x, .title = section->sheet},
                        .table = t,
                        .section = section,
                        .columns = keymap_create(),
                        .row = 1};
    s.failed = !s.columns;
    sheet_begin(&s.sheet);
    put_text(&s.sheet, 0, 0, "run");
    put_text(&s.sheet, 0, 1, section->part);
    for (size_t run = 0; run < run_table_runs(t) && !s.failed; run++)
        put_parts(&s, run);
    keymap_free(s.columns);
    return !s.failed;
}

/* ---- the others ---- */

/* A column for each figure, a row for each run. Figures with a section of their own may be left
 * out. */
static void put_runs(struct xlsx *x, const char *title, const struct run_table *t, bool all)
{
    struct sheet s = {.form = &sheet_xlsx, .out = x, .title = title};
    size_t column = 0;
    sheet_begin(&s);
    for (size_t i = 0; i < run_table_columns(t); i++) {
        struct figure_path path;
        char name[FIGURE_NAME];
        if (!all && section_of(run_table_id(t, i), &path))
            continue;
        put_text(&s, 0, column, figure_name(name, run_table_id(t, i)));
        for (size_t run = 0; run < run_table_runs(t); run++) {
            const struct figure f = run_table_cell(t, run, i);
            put_cell(&s, run + 1, column, &f);
        }
        column++;
    }
}

static void put_trials(struct xlsx *x, const struct run_table *t)
{
    static const struct sheet_column columns[] = {
        {"name", 0, 0, 0}, {"count", 0, 0, 0},    {"mean", 0, 0, 0},     {"sd", 0, 0, 0},
        {"cv", 0, 0, 0},   {"ci95_low", 0, 0, 0}, {"ci95_high", 0, 0, 0}};
    struct sheet sheet = {SHEET(sheet_xlsx, x, columns), .title = "trials"};
    sheet_begin(&sheet);
    for (size_t i = 0; i < run_table_columns(t); i++) {
        const struct statistics_sample s = run_table_sample(t, i);
        const double value[] = {(double)s.n, s.mean, s.sd, s.cv, s.low, s.high};
        char name[FIGURE_NAME];
        if (s.n == 0)
            continue;
        sheet_row(&sheet, figure_name(name, run_table_id(t, i)));
        for (size_t c = 0; c < sizeof(value) / sizeof(value[0]); c++)
            sheet_number(&sheet, NULL, value[c], FIGURE_UNIT_NONE, NULL);
    }
}

bool report_xlsx(struct xlsx *x, const struct run_table *t, const struct run_table *series,
                 bool trials)
{
    bool good = true;
    put_runs(x, "summary", t, false);
    for (size_t s = 0; s < SECTIONS && good; s++)
        for (size_t i = 0; i < run_table_columns(t); i++) {
            struct figure_path path;
            if (section_of(run_table_id(t, i), &path) != &sections[s])
                continue;
            good = put_section(x, t, &sections[s]);
            break;
        }
    if (trials)
        put_trials(x, t);
    if (series)
        put_runs(x, "series", series, true);
    return good;
}
