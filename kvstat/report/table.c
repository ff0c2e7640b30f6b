/* Runs of all kinds as a table, a line a run, and the section that holds runs against a reference:
 * what the figures gathered in runs.h look like when no scan stands behind them. */
#include <math.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "kvstat/report/reference.h"
#include "kvstat/report/report.h"
#include "lib/base/units.h"

#define NAME_WIDTH 24

/* A column of the table: the first of the figures that a run has. */
struct column {
    const char *title, *title2;
    int width;
    const char *figure[3];
    const char *(*cell)(char *buf, double v);
};

static const char *cell_share(char *buf, double v)
{
    snprintf(buf, CELL, "%.2f %%", 100 * v);
    return buf;
}

static const char *cell_s(char *buf, double s)
{
    return cell_time(buf, s * 1e9, true);
}

static const char *cell_us(char *buf, double us)
{
    return cell_time(buf, us * 1e3, true);
}

static const char *cell_ms(char *buf, double ms)
{
    return cell_time(buf, ms * 1e6, true);
}

static const struct column columns[] = {
    {"", "elapsed", 8, {"elapsed_s"}, cell_s},
    {"", "tokens/s", 9, {"throughput.wall.generated_tokens_per_s"}, cell_number},
    {"", "hit rate", 8, {"cache.lookups.all.hit_rate"}, cell_share},
    {"Tier-2", "rd GiB/s", 8, {"tiers.Tier-2.read.gib_per_s"}, cell_number},
    {"Tier-2", "wr GiB/s", 8, {"tiers.Tier-2.write.gib_per_s"}, cell_number},
    {"device",
     "rd P95",
     7,
     {"tiers.Tier-2.read.device_us.p95", "tiers.Tier-2.read.service_us.p95"},
     cell_us},
    {"device",
     "wr P95",
     7,
     {"tiers.Tier-2.write.device_us.p95", "tiers.Tier-2.write.service_us.p95"},
     cell_us},
    {"request", "P95", 7, {"requests.end_to_end_ms.p95"}, cell_ms},
};
enum {
    COLUMNS = sizeof(columns) / sizeof(columns[0])
};

static double value(const struct runs *r, size_t run, const struct column *c)
{
    for (size_t i = 0; i < 3 && c->figure[i]; i++) {
        size_t figure = runs_find(r, c->figure[i]);
        double v = figure < runs_figures(r) ? runs_number(r, run, figure) : NAN;
        if (!isnan(v))
            return v;
    }
    return NAN;
}

/* Columns that no run fills are left out. */
static bool filled(const struct runs *r, const struct column *c)
{
    for (size_t run = 0; run < runs_count(r); run++)
        if (!isnan(value(r, run, c)))
            return true;
    return false;
}

/* Length of the folders that all names begin with. */
static size_t common_folder(const struct runs *r)
{
    const char *first = runs_text_of(r, 0, "run");
    size_t len = strrchr(first, '/') ? (size_t)(strrchr(first, '/') - first) + 1 : 0;
    for (size_t run = 1; run < runs_count(r); run++)
        while (len > 0 && strncmp(first, runs_text_of(r, run, "run"), len) != 0)
            do
                len--;
            while (len > 0 && first[len - 1] != '/');
    return len;
}

/* The end of a path says most. */
static void put_name(FILE *out, const char *name)
{
    size_t len = strlen(name);
    char text[512];
    snprintf(text, sizeof(text), "%s", len > NAME_WIDTH ? name + len - NAME_WIDTH + 2 : name);
    err_make_harmless(text);
    fprintf(out, "%s%-*s", len > NAME_WIDTH ? ".." : "", len > NAME_WIDTH ? 0 : NAME_WIDTH, text);
}

static void put_row(FILE *out, const struct runs *r, size_t run, size_t folder,
                    const bool shown[COLUMNS])
{
    char cell[CELL], kind[16];
    put_name(out, runs_text_of(r, run, "run") + folder);
    snprintf(kind, sizeof(kind), "%s", runs_text_of(r, run, "kind"));
    err_make_harmless(kind);
    fprintf(out, " %-9s", kind);
    for (size_t i = 0; i < COLUMNS; i++) {
        double v = value(r, run, &columns[i]);
        if (shown[i])
            fprintf(out, " %*s", columns[i].width, isnan(v) ? "-" : columns[i].cell(cell, v));
    }
    if (strcmp(runs_text_of(r, run, "valid"), "false") == 0 ||
        strcmp(runs_text_of(r, run, "run.valid"), "false") == 0)
        fprintf(out, "  NOT VALID");
    fputc('\n', out);
}

void report_table_text(FILE *out, const struct runs *r)
{
    bool shown[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++)
        shown[i] = filled(r, &columns[i]);
    size_t folder = common_folder(r);
    char where[512];
    snprintf(where, sizeof(where), "%.*s", (int)(folder < 400 ? folder : 400),
             runs_text_of(r, 0, "run"));
    err_make_harmless(where);
    fprintf(out, "%zu run%s%s%s\n\n%-*s %-9s", runs_count(r), units_plural(runs_count(r)),
            folder ? " in " : "", where, NAME_WIDTH, "", "");
    for (size_t i = 0; i < COLUMNS; i++)
        if (shown[i])
            fprintf(out, " %*s", columns[i].width, columns[i].title);
    fprintf(out, "\n%-*s %-9s", NAME_WIDTH, "run", "kind");
    for (size_t i = 0; i < COLUMNS; i++)
        if (shown[i])
            fprintf(out, " %*s", columns[i].width, columns[i].title2);
    fputc('\n', out);
    for (size_t run = 0; run < runs_count(r); run++)
        put_row(out, r, run, folder, shown);
    fprintf(out,
            "\nP95 of device time where it is known, else of service time. All figures: --csv, "
            "--xlsx or --json.\n");
}

void report_table_json(struct jsonout *j, const struct runs *r)
{
    jsonout_array(j, "runs");
    for (size_t run = 0; run < runs_count(r); run++) {
        jsonout_object(j, NULL);
        for (size_t i = 0; i < runs_figures(r); i++) {
            const char *text = runs_text(r, run, i);
            if (!isnan(runs_number(r, run, i)))
                jsonout_raw(j, runs_name(r, i), text, strlen(text));
            else if (text[0])
                jsonout_text_value(j, runs_name(r, i), text);
        }
        jsonout_end(j);
    }
    jsonout_end(j);
}

/* ---- reference ---- */

static const char *difference(char *buf, double v)
{
    if (isnan(v))
        snprintf(buf, CELL, "-");
    else
        snprintf(buf, CELL, "%+.1f %%", fabs(v) < 0.0005 ? 0 : 100 * v);
    return buf;
}

static const char *value_of(char *buf, const struct reference_figure *f, double v)
{
    bool share = strcmp(f->name, "cache.lookups.all.hit_rate") == 0;
    return share && !isnan(v) ? cell_share(buf, v) : cell_number(buf, v);
}

static const char *word(enum reference_verdict v)
{
    static const char *const words[] = {
        [REFERENCE_OUTSIDE] = "NO", [REFERENCE_WITHIN] = "yes", [REFERENCE_UNKNOWN] = "not known"};
    return words[v];
}

void report_reference_text(FILE *out, const char *file, const struct reference *f)
{
    static const char *const labels[REFERENCE_FIGURES] = {
        "hit rate of all lookups", "bytes read / written", "context tokens a request",
        "generated tokens a request", "generated tokens a second"};
    char a[CELL], b[CELL], c[CELL];
    fprintf(out, "\nReference - %s\n  %-28s %14s %14s %12s  %s\n", file, "figure", "reference",
            "this", "difference", "within 5 %");
    for (int i = 0; i < REFERENCE_FIGURES; i++) {
        const struct reference_figure *g = &f->figure[i];
        fprintf(out, "  %-28s %14s %14s %12s  %s\n", labels[i], value_of(a, g, g->reference),
                value_of(b, g, g->actual), difference(c, g->difference), word(g->verdict));
    }
}

void report_reference_json(struct jsonout *j, const char *file, const struct reference *f)
{
    jsonout_object(j, "reference");
    jsonout_text_value(j, "file", file);
    jsonout_f64(j, "tolerance", REFERENCE_TOLERANCE);
    jsonout_array(j, "figures");
    for (int i = 0; i < REFERENCE_FIGURES; i++) {
        const struct reference_figure *g = &f->figure[i];
        jsonout_object(j, NULL);
        jsonout_text_value(j, "name", g->name);
        jsonout_f64(j, "reference", g->reference);
        jsonout_f64(j, "actual", g->actual);
        jsonout_f64(j, "difference", g->difference);
        if (g->verdict == REFERENCE_UNKNOWN)
            jsonout_null(j, "within");
        else
            jsonout_bool(j, "within", g->verdict == REFERENCE_WITHIN);
        jsonout_end(j);
    }
    jsonout_end(j);
    if (f->verdict == REFERENCE_UNKNOWN)
        jsonout_null(j, "within");
    else
        jsonout_bool(j, "within", f->verdict == REFERENCE_WITHIN);
    jsonout_end(j);
}
