/* The figures of runs as a spreadsheet: a sheet with a row a run, and for tiers, phases and groups
 * a sheet each with a row for each of them and each run. Writing the file is up to xlsx.c. */
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/statistics.h"
#include "kvstat/report/report.h"
#include "kvstat/report/run_table.h"
#include "kvstat/report/xlsx.h"
#include "lib/base/memory.h"

/* A cell is put as a number where the figure is one. */
static void put_cell(struct xlsx *x, uint32_t row, uint32_t column, const struct figure *f)
{
    char buf[FIGURE_TEXT];
    double v = figure_number(f);
    const char *text = figure_text(f, buf);
    if (!isnan(v))
        xlsx_number(x, row, column, v);
    else if (text[0])
        xlsx_text(x, row, column, text);
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

/* A list of names in the order in which they were met. */
struct names {
    char **name;
    size_t count, room;
    void *tree; /* of struct place */
};
struct place {
    const char *name;
    size_t index;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->name, ((const struct place *)b)->name);
}

/* The index of the name, which is added when it is new. SIZE_MAX: no memory. */
static size_t place_of(struct names *n, const char *name)
{
    const struct place key = {name, 0};
    struct place **found = tfind(&key, &n->tree, by_name);
    if (found)
        return (*found)->index;
    if (memory_room(&n->name, &n->room, n->count, sizeof(*n->name), 64) < 0)
        return SIZE_MAX;
    struct place *p = malloc(sizeof(*p));
    char *copy = strdup(name);
    if (p)
        *p = (struct place){copy, n->count};
    if (!p || !copy || !tsearch(p, &n->tree, by_name)) {
        free(copy);
        free(p);
        return SIZE_MAX;
    }
    n->name[n->count] = copy;
    return n->count++;
}

static void free_names(struct names *n)
{
    tdestroy(n->tree, free);
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
}

/* A sheet that is being filled. */
struct sheet {
    struct xlsx *xlsx;
    const struct run_table *table;
    const struct section *section;
    struct names columns;
    uint32_t row; /* the next free one */
    bool failed;  /* memory ran out */
};

/* Puts the figures of one run that belong to the section: a row for each part. */
static void put_parts(struct sheet *sheet, size_t run)
{
    struct names parts = {0};
    for (size_t i = 0; i < run_table_columns(sheet->table); i++) {
        const struct figure f = run_table_cell(sheet->table, run, i);
        struct figure_path path;
        char buf[FIGURE_TEXT], name[FIGURE_NAME] = "";
        size_t len = 0;
        if (section_of(run_table_id(sheet->table, i), &path) != sheet->section ||
            (isnan(figure_number(&f)) && !figure_text(&f, buf)[0]))
            continue;
        for (size_t k = 2; k < path.steps && len < sizeof(name); k++)
            len += (size_t)snprintf(name + len, sizeof(name) - len, "%s%s", len ? "." : "",
                                    path.step[k].text);
        if (len == 0)
            continue;
        size_t before = parts.count, part = place_of(&parts, path.step[1].text);
        size_t column = place_of(&sheet->columns, name);
        if (part == SIZE_MAX || column == SIZE_MAX) {
            sheet->failed = true;
            break;
        }
        uint32_t row = sheet->row + (uint32_t)part;
        if (parts.count > before) {
            xlsx_text(sheet->xlsx, row, 0, run_table_label(sheet->table, run));
            xlsx_text(sheet->xlsx, row, 1, path.step[1].text);
        }
        put_cell(sheet->xlsx, row, (uint32_t)column + 2, &f);
    }
    sheet->row += (uint32_t)parts.count;
    free_names(&parts);
}

/* False: no memory. */
static bool put_section(struct xlsx *x, const struct run_table *t, const struct section *s)
{
    struct sheet sheet = {.xlsx = x, .table = t, .section = s, .row = 1};
    xlsx_sheet(x, s->sheet);
    xlsx_header(x, 0, "run");
    xlsx_header(x, 1, s->part);
    for (size_t run = 0; run < run_table_runs(t) && !sheet.failed; run++)
        put_parts(&sheet, run);
    for (size_t i = 0; i < sheet.columns.count; i++)
        xlsx_header(x, (uint32_t)i + 2, sheet.columns.name[i]);
    free_names(&sheet.columns);
    return !sheet.failed;
}

/* ---- the others ---- */

/* A column for each figure, a row for each run. Figures with a section of their own may be left
 * out. */
static void put_runs(struct xlsx *x, const char *sheet, const struct run_table *t, bool all)
{
    uint32_t column = 0;
    xlsx_sheet(x, sheet);
    for (size_t i = 0; i < run_table_columns(t); i++) {
        struct figure_path path;
        char name[FIGURE_NAME];
        if (!all && section_of(run_table_id(t, i), &path))
            continue;
        xlsx_header(x, column, figure_name(name, run_table_id(t, i)));
        for (size_t run = 0; run < run_table_runs(t); run++) {
            const struct figure f = run_table_cell(t, run, i);
            put_cell(x, (uint32_t)run + 1, column, &f);
        }
        column++;
    }
}

static void put_trials(struct xlsx *x, const struct run_table *t)
{
    static const char *const titles[] = {"name", "count",    "mean",     "sd",
                                         "cv",   "ci95_low", "ci95_high"};
    uint32_t row = 1;
    xlsx_sheet(x, "trials");
    for (uint32_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        xlsx_header(x, i, titles[i]);
    for (size_t i = 0; i < run_table_columns(t); i++) {
        struct statistics_sample s = run_table_sample(t, i);
        const double value[] = {(double)s.n, s.mean, s.sd, s.cv, s.low, s.high};
        char name[FIGURE_NAME];
        if (s.n == 0)
            continue;
        xlsx_text(x, row, 0, figure_name(name, run_table_id(t, i)));
        for (uint32_t c = 0; c < sizeof(value) / sizeof(value[0]); c++)
            xlsx_number(x, row, c + 1, value[c]);
        row++;
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
