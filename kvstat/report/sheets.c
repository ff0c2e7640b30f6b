/* The figures of runs as a spreadsheet: a sheet for each section, a row a run, and where a section
 * has parts (tiers, phases, groups) a row for each part of each run. */
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/report/report.h"
#include "kvstat/report/run_table.h"
#include "kvstat/report/statistics.h"
#include "kvstat/report/xlsx.h"

static void put_cell(struct xlsx *x, uint32_t row, uint32_t column, const struct runs *r,
                     size_t run, size_t figure)
{
    double v = runs_number(r, run, figure);
    if (!isnan(v))
        xlsx_number(x, row, column, v);
    else if (runs_text(r, run, figure)[0])
        xlsx_text(x, row, column, runs_text(r, run, figure));
}

/* ---- sections with parts ---- */

struct section {
    const char *name, *prefix, *part;
};
static const struct section sections[] = {
    {"tiers", "tiers.", "tier"}, {"phases", "phases.", "phase"}, {"groups", "groups.", "group"}};
enum {
    SECTIONS = sizeof(sections) / sizeof(sections[0])
};

static const struct section *section_of(const char *name)
{
    for (size_t i = 0; i < SECTIONS; i++)
        if (strncmp(name, sections[i].prefix, strlen(sections[i].prefix)) == 0)
            return &sections[i];
    return NULL;
}

/* Where the part's name ends: at the member of a group, whose users may have dots in their names;
 * else at the first dot. */
static const char *part_end(const struct section *s, const char *part)
{
    static const char *const members[] = {".ops",       ".failed",      ".bytes",
                                          ".gib_per_s", ".size_bytes",  ".service_us",
                                          ".wait_us",   ".response_us", ".device_us"};
    const char *end = NULL;
    for (size_t i = 0; s == &sections[2] && i < sizeof(members) / sizeof(members[0]); i++)
        for (const char *p = part; (p = strstr(p, members[i])) != NULL; p++) {
            char next = p[strlen(members[i])];
            if ((next == '\0' || next == '.') && (!end || p > end))
                end = p;
        }
    return end ? end : strchr(part, '.');
}

/* A list of names in the order in which they were met. */
struct names {
    char **name;
    size_t count, room;
    void *tree; /* of struct place */
    bool failed;
};
struct place {
    const char *name;
    size_t index;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->name, ((const struct place *)b)->name);
}

static struct place *add_name(struct names *n, const char *name)
{
    struct place *p = malloc(sizeof(*p));
    if (n->count == n->room && p) {
        size_t room = n->room ? 2 * n->room : 64;
        char **grown = realloc(n->name, room * sizeof(*grown));
        if (grown) {
            n->name = grown;
            n->room = room;
        }
    }
    char *copy = n->count < n->room ? strdup(name) : NULL;
    if (p)
        *p = (struct place){copy, n->count};
    if (!p || !copy || !tsearch(p, &n->tree, by_name)) {
        n->failed = true;
        free(copy);
        free(p);
        return NULL;
    }
    n->name[n->count++] = copy;
    return p;
}

/* SIZE_MAX: no memory. */
static size_t place_of(struct names *n, const char *name)
{
    const struct place key = {name, 0};
    struct place **found = tfind(&key, &n->tree, by_name);
    const struct place *p = found ? *found : add_name(n, name);
    return p ? p->index : SIZE_MAX;
}

static void free_names(struct names *n)
{
    tdestroy(n->tree, free);
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
}

static void put_part(struct xlsx *x, const struct runs *r, size_t run, size_t figure,
                     const struct section *s, struct names *parts, struct names *columns,
                     uint32_t first_row)
{
    const char *part = runs_name(r, figure) + strlen(s->prefix), *end = part_end(s, part);
    char name[2048];
    if (!end || (isnan(runs_number(r, run, figure)) && !runs_text(r, run, figure)[0]))
        return;
    snprintf(name, sizeof(name), "%.*s", (int)(end - part), part);
    size_t before = parts->count, row = place_of(parts, name);
    size_t column = place_of(columns, end + 1);
    if (row == SIZE_MAX || column == SIZE_MAX)
        return;
    if (parts->count > before) {
        xlsx_text(x, first_row + (uint32_t)row, 0, runs_label(r, run));
        xlsx_text(x, first_row + (uint32_t)row, 1, name);
    }
    put_cell(x, first_row + (uint32_t)row, (uint32_t)column + 2, r, run, figure);
}

static bool has_section(const struct runs *r, const struct section *s)
{
    for (size_t i = 0; i < runs_figures(r); i++)
        if (section_of(runs_name(r, i)) == s)
            return true;
    return false;
}

/* False: no memory. */
static bool put_section(struct xlsx *x, const struct runs *r, const struct section *s)
{
    struct names columns = {0};
    uint32_t row = 1;
    bool good = true;
    xlsx_sheet(x, s->name);
    xlsx_header(x, 0, "run");
    xlsx_header(x, 1, s->part);
    for (size_t run = 0; run < runs_count(r) && good; run++) {
        struct names parts = {0};
        for (size_t i = 0; i < runs_figures(r); i++)
            if (section_of(runs_name(r, i)) == s)
                put_part(x, r, run, i, s, &parts, &columns, row);
        row += (uint32_t)parts.count;
        good = !parts.failed && !columns.failed;
        free_names(&parts);
    }
    for (size_t i = 0; i < columns.count; i++)
        xlsx_header(x, (uint32_t)i + 2, columns.name[i]);
    free_names(&columns);
    return good;
}

/* ---- the others ---- */

/* What stands in no section of its own. */
static void put_runs(struct xlsx *x, const char *sheet, const struct runs *r)
{
    uint32_t column = 0;
    xlsx_sheet(x, sheet);
    for (size_t i = 0; i < runs_figures(r); i++) {
        if (section_of(runs_name(r, i)))
            continue;
        xlsx_header(x, column, runs_name(r, i));
        for (size_t run = 0; run < runs_count(r); run++)
            put_cell(x, (uint32_t)run + 1, column, r, run, i);
        column++;
    }
}

static void put_trials(struct xlsx *x, const struct runs *r)
{
    static const char *const titles[] = {"name", "count",    "mean",     "sd",
                                         "cv",   "ci95_low", "ci95_high"};
    uint32_t row = 1;
    xlsx_sheet(x, "trials");
    for (uint32_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        xlsx_header(x, i, titles[i]);
    for (size_t i = 0; i < runs_figures(r); i++) {
        struct stats_sample s = runs_sample(r, i);
        const double value[] = {(double)s.n, s.mean, s.sd, s.cv, s.low, s.high};
        if (s.n == 0)
            continue;
        xlsx_text(x, row, 0, runs_name(r, i));
        for (uint32_t c = 0; c < sizeof(value) / sizeof(value[0]); c++)
            xlsx_number(x, row, c + 1, value[c]);
        row++;
    }
}

bool report_xlsx(struct xlsx *x, const struct runs *r, const struct runs *series, bool trials)
{
    bool good = true;
    put_runs(x, "summary", r);
    for (size_t i = 0; i < SECTIONS && good; i++)
        if (has_section(r, &sections[i]))
            good = put_section(x, r, &sections[i]);
    if (trials)
        put_trials(x, r);
    if (series)
        put_runs(x, "series", series);
    return good;
}
