/* Beside report/compare, which needs rows: takes the aggregated figures of whole runs, as the
 * benchmark's wrapper or run_folder.c wrote them. */
#include "kvstat/mlperf/compare_runs.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/inputs.h"
#include "kvstat/mlperf/run_folder.h"
#include "kvstat/report/cells.h"
#include "lib/json/jsonin.h"

enum {
    OPTIONS = 3,
    SUMMARY_BYTES_MAX = 16 << 20
};

/* The most figures of an option, and the most texts that describe how a run was measured. */
enum {
    COMPARED = 8,
    DESCRIPTIONS = 10
};

/* Only kvstat writes who measured. */
#define PYTHON "the benchmark's own program (Python)"

struct side {
    const char *path;
    char described[DESCRIPTIONS][96]; /* "": not known */
    struct {
        bool there;
        double value[COMPARED]; /* NAN: not known */
    } option[OPTIONS];
};

struct compare_runs {
    struct side side[2];
};

/* ---- reading ---- */

static bool is_summary(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strcmp(name, "summary.json") == 0 || strncmp(name, "kvcache_run_summary", 19) == 0;
}

/* The one summary among the files; NULL with *e. */
static const char *find_summary(const struct inputs *in, const char *path, struct err *e)
{
    const char *found = in->count == 1 && !in->item[0].found ? in->item[0].path : NULL;
    for (size_t i = 0; i < in->count; i++) {
        if (!in->item[i].found || !is_summary(in->item[i].path))
            continue;
        if (found) {
            err_set(e, -EINVAL, ERR_INPUT, path, "holds several runs (%s, %s): name one", found,
                    in->item[i].path);
            return NULL;
        }
        found = in->item[i].path;
    }
    if (!found)
        err_set(e, -ENOENT, ERR_INPUT, path,
                "holds no summary of a run of the MLPerf benchmark (summary.json)");
    return found;
}

static const struct map_row *figure_at(int i)
{
    return map_told(mlperf_option_map, (unsigned)i + 1);
}

static const struct map_row *description_at(int i)
{
    const struct map_row *m = map_told(mlperf_metadata_map, (unsigned)i + 1);
    return m ? m : map_told(mlperf_summary_map, (unsigned)i + 1);
}

/* Keeps the texts and numbers of a file that describe its run, where nothing is kept yet. */
static void describe(struct side *s, const struct map_row *members, const struct jsonin_v *root)
{
    for (int i = 0; i < DESCRIPTIONS; i++) {
        const struct map_row *m = map_told(members, (unsigned)i + 1);
        const struct jsonin_v *v = m ? jsonin_get(root, m->name) : NULL;
        const char *text = jsonin_text(v, NULL);
        char *to = s->described[i];
        double n;
        if (to[0])
            continue;
        if (text)
            snprintf(to, sizeof(s->described[i]), "%s", text);
        else if (jsonin_f64(v, &n) == 0)
            snprintf(to, sizeof(s->described[i]), "%.6g", n);
        jsonout_clean(to);
        err_make_harmless(to);
    }
}

static int take_summary(struct side *s, const char *path, const struct jsonin_v *root,
                        struct err *e)
{
    if (!jsonin_get(root, "options") || !jsonin_get(root, "schema_version"))
        return err_set(e, -EINVAL, ERR_INPUT, path,
                       "is no summary of a run of the MLPerf benchmark");
    describe(s, mlperf_summary_map, root);
    if (!s->described[0][0])
        snprintf(s->described[0], sizeof(s->described[0]), "%s", PYTHON);
    for (int i = 0; i < OPTIONS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "options.%d", i + 1);
        const struct jsonin_v *option = jsonin_get(root, name);
        s->option[i].there = option != NULL;
        for (int f = 0; f < COMPARED; f++) {
            s->option[i].value[f] = NAN;
            jsonin_f64(jsonin_get(option, figure_at(f)->name), &s->option[i].value[f]);
        }
    }
    return 0;
}

/* A published summary comes alone: then only it is told. */
static int take_metadata(struct side *s, const char *summary, struct err *e)
{
    const char *slash = strrchr(summary, '/');
    char pattern[4200];
    glob_t found = {0};
    struct jsonin *doc = NULL;
    snprintf(pattern, sizeof(pattern), "%.*s*_metadata.json",
             slash ? (int)(slash - summary) + 1 : 0, summary);
    int rc = 0;
    if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1)
        rc = jsonin_load(&doc, found.gl_pathv[0], SUMMARY_BYTES_MAX, e);
    if (doc)
        describe(s, mlperf_metadata_map, jsonin_root(doc));
    jsonin_free(doc);
    globfree(&found);
    return rc;
}

static int read_side(struct side *s, const char *path, struct err *e)
{
    struct inputs in = {0};
    struct jsonin *doc = NULL;
    s->path = path;
    int rc = inputs_add(&in, path, e);
    const char *summary = rc == 0 ? find_summary(&in, path, e) : NULL;
    if (rc == 0 && !summary)
        rc = e->code;
    if (rc == 0)
        rc = jsonin_load(&doc, summary, SUMMARY_BYTES_MAX, e);
    if (rc == 0)
        rc = take_summary(s, summary, jsonin_root(doc), e);
    if (rc == 0)
        rc = take_metadata(s, summary, e);
    jsonin_free(doc);
    inputs_free(&in);
    return rc;
}

int compare_runs_read(struct compare_runs **out, const char *base, const char *new, struct err *e)
{
    struct compare_runs *c = calloc(1, sizeof(*c));
    bool both = false;
    if (!c)
        return err_nomem(e, "comparison");
    int rc = read_side(&c->side[0], base, e);
    if (rc == 0)
        rc = read_side(&c->side[1], new, e);
    for (int i = 0; i < OPTIONS; i++)
        both |= c->side[0].option[i].there && c->side[1].option[i].there;
    if (rc == 0 && !both)
        rc = err_set(e, -EINVAL, ERR_INPUT, new, "has no option that %s has too", base);
    if (rc < 0)
        compare_runs_free(c);
    else
        *out = c;
    return rc;
}

void compare_runs_free(struct compare_runs *c)
{
    free(c);
}

/* ---- telling ---- */

static bool in_both(const struct compare_runs *c, int option)
{
    return c->side[0].option[option].there && c->side[1].option[option].there;
}

static bool is_known(const struct compare_runs *c, int option, int figure)
{
    return isfinite(c->side[0].option[option].value[figure]) &&
           isfinite(c->side[1].option[option].value[figure]);
}

static double difference(const struct compare_runs *c, int option, int figure)
{
    double a = c->side[0].option[option].value[figure];
    double b = c->side[1].option[option].value[figure];
    return a != 0 ? (b - a) / fabs(a) : NAN;
}

static bool differs(const struct compare_runs *c, int what)
{
    return strcmp(c->side[0].described[what], c->side[1].described[what]) != 0;
}

static const char *or_unknown(const char *text)
{
    return text[0] ? text : "not known";
}

void compare_runs_text(FILE *out, const struct compare_runs *c)
{
    char path[2][512];
    for (int s = 0; s < 2; s++) {
        snprintf(path[s], sizeof(path[s]), "%s", c->side[s].path);
        err_make_harmless(path[s]);
    }
    fprintf(out, "base: %s\nnew:  %s\n", path[0], path[1]);
    for (int i = 0; i < OPTIONS; i++) {
        char name[16];
        if (!in_both(c, i))
            continue;
        snprintf(name, sizeof(name), "Option %d", i + 1);
        fprintf(out, "\n%-36s %14s %14s %10s\n", name, "base", "new", "change");
        for (int f = 0; f < COMPARED; f++) {
            char a[CELL], b[CELL], change[CELL] = "-";
            double d = difference(c, i, f);
            if (!is_known(c, i, f))
                continue;
            if (isfinite(d))
                snprintf(change, sizeof(change), "%+.1f %%", 100 * d);
            fprintf(out, "  %-34s %14s %14s %10s\n", figure_at(f)->label,
                    cell_number(a, c->side[0].option[i].value[f]),
                    cell_number(b, c->side[1].option[i].value[f]), change);
        }
    }
    fprintf(out, "\n%-22s %36s %36s\n", "Measured differently", "base", "new");
    bool any = false;
    for (int what = 0; what < DESCRIPTIONS; what++)
        if (differs(c, what)) {
            fprintf(out, "  %-20s %36s %36s\n", description_at(what)->label,
                    or_unknown(c->side[0].described[what]), or_unknown(c->side[1].described[what]));
            any = true;
        }
    if (!any)
        fprintf(out, "  nothing that the files tell\n");
    if (differs(c, 0))
        fprintf(out, "The Python client takes time of its own for each object, which its figures "
                     "hold: a faster run\nis not only the drive's.\n");
    fprintf(out, "Summaries have no trials: whether a change is more than noise is not known.\n");
}

void compare_runs_json(struct jsonout *j, const struct compare_runs *c)
{
    jsonout_object(j, "compare_runs");
    jsonout_text_value(j, "base", c->side[0].path);
    jsonout_text_value(j, "new", c->side[1].path);
    jsonout_array(j, "options");
    for (int i = 0; i < OPTIONS; i++) {
        if (!in_both(c, i))
            continue;
        jsonout_object(j, NULL);
        jsonout_i64(j, "option", i + 1);
        jsonout_array(j, "figures");
        for (int f = 0; f < COMPARED; f++) {
            if (!is_known(c, i, f))
                continue;
            jsonout_object(j, NULL);
            jsonout_text_value(j, "name", figure_at(f)->name);
            jsonout_f64(j, "base", c->side[0].option[i].value[f]);
            jsonout_f64(j, "new", c->side[1].option[i].value[f]);
            jsonout_f64(j, "difference", difference(c, i, f));
            jsonout_end(j);
        }
        jsonout_end(j);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_array(j, "measured_differently");
    for (int what = 0; what < DESCRIPTIONS; what++) {
        const char *const text[2] = {c->side[0].described[what], c->side[1].described[what]};
        if (!differs(c, what))
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "what", description_at(what)->label);
        jsonout_text_value(j, "base", text[0][0] ? text[0] : NULL);
        jsonout_text_value(j, "new", text[1][0] ? text[1] : NULL);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_end(j);
}
