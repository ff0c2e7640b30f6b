/* Folders, JSON documents and the reference: runs that were reported before, or are told by other
 * programs, gathered beside those that are counted now. Each becomes one row of figures. */
#include "kvstat/run_tables.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kvstat/document.h"
#include "kvstat/report/reference.h"
#include "kvstat/report/report.h"
#include "kvstat/report/runs.h"

/* A file in a folder may be anything: what is no run, or is cut, is passed over. */
static int gather_document(struct runs *runs, const struct input *in, struct err *e)
{
    const struct document_sink sink = {runs_put, runs_end, runs};
    int rc = document_read(in->path, &sink, e);
    if (rc == 0 || !in->found || e->class != ERR_INPUT)
        return rc;
    fprintf(stderr, "kvstat: %s: left out: %s\n", e->where, e->what);
    return 0;
}

static bool is_left_out(const struct input *in)
{
    struct err why = {0};
    if (!in->found || scan_is_readable(in->path))
        return false;
    err_set(&why, -EINVAL, ERR_INPUT, in->path, "left out: neither trace nor result");
    answer_complain(&why);
    return true;
}

/* Documents carry their verdicts, or none; rows are judged as they are counted. */
static void check_documents(struct answer *a, size_t from)
{
    const char *profile = assess_profile_names[a->options.profile];
    if (!a->options.check || a->options.profile == ASSESS_NONE)
        return;
    for (size_t run = from; run < runs_count(a->runs); run++)
        if (!runs_passed(a->runs, run, profile))
            a->status = 1;
}

static int gather_rows(struct answer *a, const struct input *in, struct err *e)
{
    const struct json_leaf name = {"run", in->path, JSON_LEAF_TEXT, NAN};
    const char *const files[] = {in->path};
    if (runs_put(a->runs, &name) < 0)
        return err_nomem(e, "figures of runs");
    return answer_add(a, files, 1, NULL, e);
}

int run_tables_report(struct answer *a, const struct opt_parser *p, const struct inputs *in,
                      struct err *e)
{
    const struct opt_mode table = {.on = true,
                                   .refuses = OPTIONS_NOT_TABLE,
                                   .why = "means nothing with folders and JSON documents"};
    int rc = opt_check_modes(p, &table, 1, e);
    a->hidden = true;
    runs_allow_mixed(a->runs);
    if (rc == 0 && (runs_reserve(a->runs, "run") < 0 || runs_reserve(a->runs, "kind") < 0))
        rc = err_nomem(e, "figures of runs");
    for (size_t i = 0; i < in->count && rc == 0; i++) {
        const struct input *item = &in->item[i];
        size_t from = runs_count(a->runs);
        /* The report of a run before this one is none of the runs. */
        if (item->found && options_is_output(&a->options, item->path))
            continue;
        if (item->kind == INPUT_DOCUMENT) {
            rc = gather_document(a->runs, item, e);
            check_documents(a, from);
        } else if (!is_left_out(item)) {
            rc = gather_rows(a, item, e);
        }
    }
    if (rc == 0 && runs_count(a->runs) == 0)
        rc = err_set(e, -ENOENT, ERR_INPUT, "", "no run in any of the files");
    if (rc == 0 && a->json)
        report_table_json(a->json, a->runs);
    if (rc == 0 && a->text && !a->options.csv)
        report_table_text(output_stream(a->text), a->runs);
    if (rc == 0 && a->text && !a->options.csv)
        answer_verdict(a);
    return rc;
}

/* ---- reference ---- */

static int gather_reference(struct answer *a, struct runs *runs, const struct input *in,
                            struct err *e)
{
    struct scan_opts opts = a->scan;
    struct scan *scan = NULL;
    struct figures f;
    struct run run;
    const char *const files[] = {in->path};
    if (is_left_out(in))
        return 0;
    opts.interval_ns = 0;
    int rc = scan_file(&scan, in->path, &opts, e);
    if (a->scan.progress)
        progress_clear(a->scan.progress);
    if (rc < 0) {
        scan_free(rc == -EBADMSG ? scan : NULL);
        return rc;
    }
    rc = run_read(&run, NULL, scan->summary, scan->provenance, e);
    if (rc == 0) {
        figures_compute(&f, files, 1, scan, &run, a->targets);
        rc = runs_add(runs, &f, e);
    }
    scan_free(scan);
    return rc;
}

/* Holds what was gathered against the reference. */
int run_tables_compare(struct answer *a, struct err *e)
{
    struct runs *runs = runs_create();
    struct inputs in = {0};
    struct reference result;
    int rc = runs ? inputs_add(&in, a->options.reference, e) : err_nomem(e, "reference");
    if (rc == 0)
        runs_allow_mixed(runs);
    for (size_t i = 0; i < in.count && rc == 0; i++)
        rc = in.item[i].kind == INPUT_DOCUMENT ? gather_document(runs, &in.item[i], e)
                                               : gather_reference(a, runs, &in.item[i], e);
    if (rc == 0 && runs_count(runs) == 0)
        rc = err_set(e, -ENOENT, ERR_INPUT, a->options.reference, "holds no run");
    if (rc == 0) {
        reference_compare(&result, runs, a->runs);
        if (a->options.check && result.verdict != REFERENCE_WITHIN && a->status == 0)
            a->status = 1;
        if (a->json)
            report_reference_json(a->json, a->options.reference, &result);
        else
            report_reference_text(output_stream(a->text), a->options.reference, &result);
    }
    inputs_free(&in);
    runs_free(runs);
    return rc;
}
