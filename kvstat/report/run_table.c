/* Where reports meet: each run's JSON is made, flattened and kept as one column of cells, so that
 * memory grows with the figures and the number of runs, not with their rows. */
#include "kvstat/report/run_table.h"

#include <errno.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/report/json_leaves.h"
#include "kvstat/report/report.h"
#include "lib/json/jsonin.h"
#include "lib/json/jsonout.h"

struct cell {
    char *text;
    double number;
};

struct figure {
    char *name;
    size_t index;
    struct cell *cell; /* of the runs 0..cells */
    size_t cells;
};

struct runs {
    struct figure **figure;
    size_t figures, room;
    size_t count;
    void *tree; /* figures by name */
    bool result, mixed;
    double *sample; /* room for a value of every run */
};

struct runs *runs_create(void)
{
    return calloc(1, sizeof(struct runs));
}

static void keep_node(void *node)
{
    (void)node; /* the figures are freed by their array */
}

void runs_free(struct runs *r)
{
    if (!r)
        return;
    tdestroy(r->tree, keep_node);
    for (size_t i = 0; i < r->figures; i++) {
        for (size_t c = 0; c < r->figure[i]->cells; c++)
            free(r->figure[i]->cell[c].text);
        free(r->figure[i]->cell);
        free(r->figure[i]->name);
        free(r->figure[i]);
    }
    free(r->figure);
    free(r->sample);
    free(r);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct figure *)a)->name, ((const struct figure *)b)->name);
}

static struct figure *new_figure(struct runs *r, const char *name)
{
    if (r->figures == r->room) {
        size_t room = r->room ? 2 * r->room : 256;
        struct figure **grown = realloc(r->figure, room * sizeof(*grown));
        if (!grown)
            return NULL;
        r->figure = grown;
        r->room = room;
    }
    struct figure *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    f->name = strdup(name);
    f->index = r->figures;
    if (!f->name || !tsearch(f, &r->tree, by_name)) {
        free(f->name);
        free(f);
        return NULL;
    }
    r->figure[r->figures++] = f;
    return f;
}

static struct figure *find(const struct runs *r, const char *name)
{
    union {
        const char *in;
        char *out;
    } plain = {.in = name};
    const struct figure key = {.name = plain.out};
    struct figure *const *found = tfind(&key, &r->tree, by_name);
    return found ? *found : NULL;
}

/* Fills the cells up to the run that is being added. */
int runs_put(void *runs, const struct json_leaf *leaf)
{
    struct runs *r = runs;
    if (strncmp(leaf->path, "series.", 7) == 0) /* a row an interval: runs_add_series */
        return 0;
    struct figure *f = find(r, leaf->path);
    if (!f)
        f = new_figure(r, leaf->path);
    if (!f)
        return -ENOMEM;
    if (f->cells > r->count)
        return 0;
    struct cell *cell = realloc(f->cell, (r->count + 1) * sizeof(*cell));
    if (!cell)
        return -ENOMEM;
    f->cell = cell;
    while (f->cells <= r->count)
        cell[f->cells++] = (struct cell){NULL, NAN};
    cell[r->count].number = leaf->number;
    cell[r->count].text = strdup(leaf->text);
    return cell[r->count].text ? 0 : -ENOMEM;
}

int runs_end(void *runs)
{
    struct runs *r = runs;
    double *sample = realloc(r->sample, (r->count + 1) * sizeof(*sample));
    if (!sample)
        return -ENOMEM;
    r->sample = sample;
    r->count++;
    return 0;
}

int runs_reserve(struct runs *r, const char *name)
{
    return new_figure(r, name) ? 0 : -ENOMEM;
}

void runs_allow_mixed(struct runs *r)
{
    r->mixed = true;
}

/* Adds the document as a run, and frees it; NULL is one for which there was no memory. */
static int add_document(struct runs *r, struct jsonout *j, struct err *e)
{
    struct jsonin *doc = NULL;
    const char *text = j ? jsonout_text(j, false) : NULL;
    int rc = text ? jsonin_parse(&doc, text, strlen(text), "report", e) : err_nomem(e, "report");
    if (rc == 0 && (json_leaves_walk(jsonin_root(doc), runs_put, r) < 0 || runs_end(r) < 0))
        rc = err_nomem(e, "figures of runs");
    jsonin_free(doc);
    jsonout_free(j);
    return rc;
}

int runs_add(struct runs *r, const struct figures *f, struct err *e)
{
    if (r->count > 0 && !r->mixed && r->result != f->result)
        return err_set(e, -EINVAL, ERR_INPUT, f->files[0],
                       "is a %s, the files before are not: they are no trials of one load",
                       f->result ? "result file" : "trace");
    r->result = f->result;
    struct jsonout *j = jsonout_create();
    if (j)
        report_json(j, f);
    return add_document(r, j, e);
}

int runs_add_series(struct runs *r, const struct figures *f, struct err *e)
{
    int64_t contents[TRACE_TIERS] = {0};
    int rc = 0;
    for (size_t i = 0; i < series_count(f->scan->series) && rc == 0; i++) {
        struct jsonout *j = jsonout_create();
        if (j)
            report_series_interval(j, f, i, contents);
        rc = add_document(r, j, e);
    }
    return rc;
}

bool runs_is_result(const struct runs *r)
{
    return r->result;
}

size_t runs_count(const struct runs *r)
{
    return r->count;
}

size_t runs_figures(const struct runs *r)
{
    return r->figures;
}

const char *runs_name(const struct runs *r, size_t figure)
{
    return r->figure[figure]->name;
}

static const struct cell *cell_at(const struct runs *r, size_t run, size_t figure)
{
    static const struct cell none = {NULL, NAN};
    const struct figure *f = r->figure[figure];
    return run < f->cells ? &f->cell[run] : &none;
}

const char *runs_text(const struct runs *r, size_t run, size_t figure)
{
    const char *text = cell_at(r, run, figure)->text;
    return text ? text : "";
}

const char *runs_text_of(const struct runs *r, size_t run, const char *name)
{
    const struct figure *f = find(r, name);
    return f ? runs_text(r, run, f->index) : "";
}

double runs_number(const struct runs *r, size_t run, size_t figure)
{
    return cell_at(r, run, figure)->number;
}

struct stats_sample runs_sample(const struct runs *r, size_t figure)
{
    size_t n = 0;
    for (size_t run = 0; run < r->count; run++) {
        r->sample[n] = runs_number(r, run, figure);
        n += isnan(r->sample[n]) ? 0 : 1;
    }
    return stats_of(r->sample, n);
}

const char *runs_label(const struct runs *r, size_t run)
{
    const struct figure *own = find(r, "run"), *files = find(r, "files");
    const char *text = own ? runs_text(r, run, own->index) : "";
    return text[0] || !files ? text : runs_text(r, run, files->index);
}

bool runs_passed(const struct runs *r, size_t run, const char *profile)
{
    return strcmp(runs_text_of(r, run, "assessment.profile"), profile) == 0 &&
           strcmp(runs_text_of(r, run, "assessment.status"), "PASS") == 0 &&
           strcmp(runs_text_of(r, run, "run.valid"), "false") != 0;
}

size_t runs_find(const struct runs *r, const char *name)
{
    const struct figure *f = find(r, name);
    return f ? f->index : r->figures;
}
