/* Where the figures of several runs meet: of reports that are made now and of documents that were
 * read. Trials, comparisons, spreadsheets and tables of runs take them from here. Memory grows with
 * the figures and the number of runs, not with their rows. */
#include "kvstat/report/run_table.h"

#include <errno.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/report/intervals.h"
#include "kvstat/sheet/sheet.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

struct cell {
    enum figure_form form; /* neither a word nor a list nor a distribution */
    bool there;            /* the run has the figure, if only to say that it is unknown */
    union {
        double number;
        uint64_t count;
        int64_t level;
        bool truth;
        char *text; /* owned */
    };
};

struct column {
    struct figure_id id; /* its texts are owned */
    size_t index;
    struct cell *cell; /* of the runs 0..cells */
    size_t cells;
};

struct run_table {
    struct column **column;
    size_t columns, room;
    size_t runs;
    size_t next; /* the column after the one put last: figures mostly come in one order */
    void *tree;  /* columns by identity */
    bool result, mixed;
    double *sample; /* room for a value of every run */
};

struct run_table *run_table_create(void)
{
    return calloc(1, sizeof(struct run_table));
}

static void column_free(struct column *c)
{
    for (size_t i = 0; i < c->cells; i++)
        if (c->cell[i].form == FIGURE_FORM_TEXT)
            free(c->cell[i].text);
    free(c->cell);
    free((char *)(uintptr_t)c->id.label);
    free((char *)(uintptr_t)c->id.member);
    free(c);
}

static void keep_node(void *node)
{
    (void)node; /* the array of columns frees them */
}

void run_table_free(struct run_table *t)
{
    if (!t)
        return;
    tdestroy(t->tree, keep_node);
    for (size_t i = 0; i < t->columns; i++)
        column_free(t->column[i]);
    free(t->column);
    free(t->sample);
    free(t);
}

/* ---- filling it ---- */

static int by_id(const void *a, const void *b)
{
    return figure_id_compare(&((const struct column *)a)->id, &((const struct column *)b)->id);
}

static bool copy_text(const char **text)
{
    if (*text)
        *text = strdup(*text);
    else
        return true;
    return *text != NULL;
}

static struct column *new_column(struct run_table *t, const struct figure_id *id)
{
    if (memory_room(&t->column, &t->room, t->columns, sizeof(*t->column), 256) < 0)
        return NULL;
    struct column *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->id = *id;
    memset(c->id.text, 0, sizeof(c->id.text));
    c->index = t->columns;
    bool copied = copy_text(&c->id.label);
    copied &= copy_text(&c->id.member);
    if (!copied || !tsearch(c, &t->tree, by_id)) {
        column_free(c);
        return NULL;
    }
    t->column[t->columns++] = c;
    return c;
}

static struct column *find(const struct run_table *t, const struct figure_id *id)
{
    const struct column key = {.id = *id};
    struct column *const *found = tfind(&key, &t->tree, by_id);
    return found ? *found : NULL;
}

static char *join(const char *const *item, size_t n)
{
    char *text = NULL;
    size_t len;
    FILE *out = memory_stream(&text, &len);
    for (size_t i = 0; out && i < n; i++)
        fprintf(out, "%s%s", i ? "; " : "", item[i]);
    if (out && fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* False: no memory. */
static bool fill(struct cell *c, const struct figure *f)
{
    *c = (struct cell){.form = f->form, .there = true};
    switch (f->form) {
    case FIGURE_FORM_NUMBER:
        c->number = f->number;
        break;
    case FIGURE_FORM_UNSIGNED:
        c->count = f->count;
        break;
    case FIGURE_FORM_SIGNED:
        c->level = f->level;
        break;
    case FIGURE_FORM_TRUTH:
        c->truth = f->truth;
        break;
    case FIGURE_FORM_TEXT:
    case FIGURE_FORM_WORD:
    case FIGURE_FORM_TEXTS: {
        bool list = f->form == FIGURE_FORM_TEXTS;
        char *text = list                          ? join(f->list.item, f->list.n)
                     : f->form == FIGURE_FORM_TEXT ? strdup(f->text)
                                                   : strdup(f->list.item[f->list.n]);
        if (text)
            jsonout_clean(text);
        c->form = text ? FIGURE_FORM_TEXT : FIGURE_FORM_UNKNOWN;
        c->text = text;
        return text != NULL;
    }
    case FIGURE_FORM_UNKNOWN:
    case FIGURE_FORM_DISTRIBUTION:
        c->form = FIGURE_FORM_UNKNOWN;
        break;
    }
    return true;
}

int run_table_put(void *table, const struct figure *f)
{
    struct run_table *t = table;
    struct figure_path path;
    if (!figure_path(&path, &f->id))
        return 0;
    struct column *c = t->next < t->columns ? t->column[t->next] : NULL;
    if (!c || figure_id_compare(&c->id, &f->id) != 0)
        c = find(t, &f->id);
    if (!c)
        c = new_column(t, &f->id);
    if (!c)
        return -ENOMEM;
    t->next = c->index + 1;
    if (c->cells > t->runs)
        return 0;
    if (memory_resize(&c->cell, t->runs + 1, sizeof(*c->cell)) < 0)
        return -ENOMEM;
    while (c->cells < t->runs)
        c->cell[c->cells++] = (struct cell){.form = FIGURE_FORM_UNKNOWN};
    c->cells++;
    return fill(&c->cell[t->runs], f) ? 0 : -ENOMEM;
}

int run_table_end(void *table)
{
    struct run_table *t = table;
    if (memory_resize(&t->sample, t->runs + 1, sizeof(*t->sample)) < 0)
        return -ENOMEM;
    t->runs++;
    t->next = 0;
    return 0;
}

int run_table_reserve(struct run_table *t, struct figure_id id)
{
    return new_column(t, &id) ? 0 : -ENOMEM;
}

void run_table_allow_mixed(struct run_table *t)
{
    t->mixed = true;
}

/* Adds the figures as a run. */
static int add_run(struct run_table *t, const struct figure *figure, size_t n,
                   const struct figure *last)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = figure_expand(&figure[i], run_table_put, t);
    if (rc == 0 && last)
        rc = run_table_put(t, last);
    return rc < 0 ? rc : run_table_end(t);
}

int run_table_add(struct run_table *t, const struct figures *f, struct err *e)
{
    const struct figure no_series = {.id = figure_id(FIGURE_OF_SERIES, FIGURE_ITSELF)};
    const struct intervals *series = figures_intervals(f);
    bool asked_for = series && intervals_asked_for(series), result = figures_is_result(f);
    size_t n, files;
    const struct figure *figure = figures_list(f, &n);
    if (t->runs > 0 && !t->mixed && t->result != result)
        return err_set(e, -EINVAL, ERR_INPUT, figures_files(f, &files)[0],
                       "is a %s, unlike the files before: they are not trials of one load",
                       result ? "result file" : "trace");
    t->result = result;
    /* A series has a table of its own. */
    return add_run(t, figure, n, asked_for ? NULL : &no_series) < 0
               ? err_nomem(e, "figures of runs")
               : 0;
}

int run_table_add_series(struct run_table *t, const struct figures *f, struct err *e)
{
    const struct intervals *series = figures_intervals(f);
    for (size_t i = 0; i < intervals_count(series); i++) {
        const struct figure_part part = intervals_at(series, i);
        if (add_run(t, part.figure, part.count, NULL) < 0)
            return err_nomem(e, "figures of runs");
    }
    return 0;
}

/* ---- reading it ---- */

bool run_table_is_result(const struct run_table *t)
{
    return t->result;
}

size_t run_table_runs(const struct run_table *t)
{
    return t->runs;
}

size_t run_table_columns(const struct run_table *t)
{
    return t->columns;
}

const struct figure_id *run_table_id(const struct run_table *t, size_t column)
{
    return &t->column[column]->id;
}

size_t run_table_find(const struct run_table *t, struct figure_id id)
{
    const struct column *c = find(t, &id);
    return c ? c->index : t->columns;
}

struct figure run_table_cell(const struct run_table *t, size_t run, size_t column)
{
    struct figure f = {.form = FIGURE_FORM_UNKNOWN};
    if (column >= t->columns)
        return f;
    const struct column *c = t->column[column];
    f.id = c->id;
    if (run >= c->cells)
        return f;
    const struct cell *cell = &c->cell[run];
    f.form = cell->form;
    if (f.form == FIGURE_FORM_NUMBER)
        f.number = cell->number;
    else if (f.form == FIGURE_FORM_UNSIGNED)
        f.count = cell->count;
    else if (f.form == FIGURE_FORM_SIGNED)
        f.level = cell->level;
    else if (f.form == FIGURE_FORM_TRUTH)
        f.truth = cell->truth;
    else if (f.form == FIGURE_FORM_TEXT)
        f.text = cell->text;
    return f;
}

bool run_table_has(const struct run_table *t, size_t run, size_t column)
{
    const struct column *c = t->column[column];
    return run < c->cells && c->cell[run].there;
}

static struct figure cell_of(const struct run_table *t, size_t run, struct figure_id id)
{
    return run_table_cell(t, run, run_table_find(t, id));
}

double run_table_number(const struct run_table *t, size_t run, struct figure_id id)
{
    const struct figure f = cell_of(t, run, id);
    return figure_number(&f);
}

const char *run_table_text(const struct run_table *t, size_t run, struct figure_id id)
{
    const struct figure f = cell_of(t, run, id);
    return f.form == FIGURE_FORM_TEXT ? f.text : "";
}

bool run_table_is(const struct run_table *t, size_t run, struct figure_id id)
{
    const struct figure f = cell_of(t, run, id);
    return f.form == FIGURE_FORM_TRUTH && f.truth;
}

bool run_table_is_not(const struct run_table *t, size_t run, struct figure_id id)
{
    const struct figure f = cell_of(t, run, id);
    return f.form == FIGURE_FORM_TRUTH && !f.truth;
}

const char *run_table_label(const struct run_table *t, size_t run)
{
    const char *name = run_table_text(t, run, run_table_name());
    return name[0] ? name : run_table_text(t, run, figure_id(FIGURE_OF_RUN, FIGURE_FILES));
}

struct statistics_sample run_table_sample(const struct run_table *t, size_t column)
{
    size_t n = 0;
    for (size_t run = 0; run < t->runs; run++) {
        const struct figure f = run_table_cell(t, run, column);
        t->sample[n] = figure_number(&f);
        n += isnan(t->sample[n]) ? 0 : 1;
    }
    return statistics_of(t->sample, n);
}

/* ---- text ---- */

#define NAME_WIDTH 24

/* The columns of the text behind name and kind. Each shows the first of its figures that a run has.
 */
static const struct shown {
    uint8_t scope, op, statistic;
    uint16_t what[2];
} shown[] = {{FIGURE_OF_RUN, 0, 0, {FIGURE_ELAPSED, 0}},
             {FIGURE_OF_WALL, 0, 0, {FIGURE_GENERATED_TOKENS_PER_S, 0}},
             {FIGURE_OF_LOOKUPS, 0, 0, {FIGURE_HIT_RATE, 0}},
             {FIGURE_OF_DIRECTION, TRACE_READ, 0, {FIGURE_GIB_PER_ELAPSED_S, FIGURE_GIB_PER_S}},
             {FIGURE_OF_DIRECTION, TRACE_WRITE, 0, {FIGURE_GIB_PER_ELAPSED_S, FIGURE_GIB_PER_S}},
             {FIGURE_OF_DIRECTION, TRACE_READ, FIGURE_P95, {FIGURE_DEVICE, FIGURE_SERVICE}},
             {FIGURE_OF_DIRECTION, TRACE_WRITE, FIGURE_P95, {FIGURE_DEVICE, FIGURE_SERVICE}},
             {FIGURE_OF_REQUESTS, 0, FIGURE_P95, {FIGURE_END_TO_END, 0}}};

static double shown_value(const struct run_table *t, size_t run, const struct shown *s)
{
    double v = NAN;
    for (unsigned i = 0; i < 2 && s->what[i] && isnan(v); i++) {
        const struct figure_id id = s->scope == FIGURE_OF_DIRECTION
                                        ? figure_id_direction(TRACE_STORAGE, s->op, s->what[i])
                                        : figure_id(s->scope, s->what[i]);
        v = run_table_number(t, run, figure_id_statistic(id, s->statistic));
    }
    return v;
}

/* Length of the folders that all names begin with. */
static size_t common_folder(const struct run_table *t)
{
    const char *first = run_table_text(t, 0, run_table_name());
    size_t len = strrchr(first, '/') ? (size_t)(strrchr(first, '/') - first) + 1 : 0;
    for (size_t run = 1; run < t->runs; run++)
        while (len > 0 && strncmp(first, run_table_text(t, run, run_table_name()), len) != 0)
            do
                len--;
            while (len > 0 && first[len - 1] != '/');
    return len;
}

static void put_row(struct sheet *s, const struct run_table *t, size_t run, size_t folder)
{
    const char *name = run_table_text(t, run, run_table_name()) + folder;
    const size_t len = strlen(name);
    char kind[16], text[512];
    /* The end of a path says most. */
    snprintf(text, sizeof(text), "%s%s", len > NAME_WIDTH ? ".." : "",
             len > NAME_WIDTH ? name + len - NAME_WIDTH + 2 : name);
    err_make_harmless(text);
    sheet_row(s, text);
    snprintf(kind, sizeof(kind), "%s",
             run_table_text(t, run, figure_id(FIGURE_OF_RUN, FIGURE_KIND)));
    err_make_harmless(kind);
    sheet_word(s, kind);
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        sheet_number(s, NULL, shown_value(t, run, &shown[i]), figure_unit(shown[i].what[0]), NULL);
    if (run_table_is_not(t, run, figure_id(FIGURE_OF_RUN, FIGURE_VALID)) ||
        run_table_is_not(t, run, figure_id(FIGURE_OF_PROVENANCE, FIGURE_VALID)))
        sheet_word(s, " NOT VALID");
}

void run_table_report_text(FILE *out, const struct run_table *t)
{
    static const char *const above[] = {"",       "",       "",       "",       "",
                                        "Tier-2", "Tier-2", "device", "device", "request"};
    static const struct sheet_column columns[] = {{"run                     ", 0, 0, SHEET_LEFT},
                                                  {"kind     ", 0, 0, SHEET_LEFT},
                                                  {" elapsed", 0, 0, SHEET_OPTIONAL},
                                                  {" tokens/s", 0, 0, SHEET_OPTIONAL},
                                                  {"hit rate", 0, 0, SHEET_OPTIONAL},
                                                  {"rd GiB/s", 0, 0, SHEET_OPTIONAL},
                                                  {"wr GiB/s", 0, 0, SHEET_OPTIONAL},
                                                  {" rd P95", 0, 0, SHEET_OPTIONAL},
                                                  {" wr P95", 0, 0, SHEET_OPTIONAL},
                                                  {"    P95", 0, 0, SHEET_OPTIONAL},
                                                  {"", 0, 0, SHEET_LEFT}};
    struct sheet s = {SHEET(sheet_text, out, columns), .above = above};
    const size_t folder = common_folder(t);
    char where[512];
    snprintf(where, sizeof(where), "%.*s", (int)(folder < 400 ? folder : 400),
             run_table_text(t, 0, run_table_name()));
    err_make_harmless(where);
    fprintf(out, "%zu run%s%s%s\n\n", t->runs, units_plural(t->runs), folder ? " in " : "", where);
    while (sheet_pass(&s))
        for (size_t run = 0; run < t->runs; run++)
            put_row(&s, t, run, folder);
    fprintf(out,
            "\nP95 of device time where it is known, else of service time. All figures: --csv, "
            "--xlsx or --json.\n");
}

/* ---- JSON ---- */

void run_table_report_json(struct jsonout *j, const struct run_table *t)
{
    jsonout_array(j, "runs");
    for (size_t run = 0; run < t->runs; run++) {
        jsonout_object(j, NULL);
        for (size_t i = 0; i < t->columns; i++) {
            char name[FIGURE_NAME], buf[FIGURE_TEXT];
            const struct figure f = run_table_cell(t, run, i);
            const char *text = figure_text(&f, buf);
            if (!text[0])
                continue;
            figure_name(name, &f.id);
            if (!isnan(figure_number(&f)))
                jsonout_raw(j, name, text, strlen(text));
            else
                jsonout_text_value(j, name, text);
        }
        jsonout_end(j);
    }
    jsonout_end(j);
}
