/* kvstat: reports on traces and result files. Here is only the order of work: options, then what is
 * asked of the inputs (reports, trials, a comparison, a table, checks, a picture), the outputs, and
 * the exit status. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/answer.h"
#include "kvstat/count/scan.h"
#include "kvstat/count/verify.h"
#include "kvstat/inputs.h"
#include "kvstat/options.h"
#include "kvstat/output.h"
#include "kvstat/report/compare.h"
#include "kvstat/report/plot.h"
#include "kvstat/report/report.h"
#include "kvstat/report/runs.h"
#include "kvstat/report/xlsx.h"
#include "kvstat/run_tables.h"
#include "lib/base/clock.h"
#include "lib/base/progress.h"
#include "lib/base/stop.h"
#include "lib/json/jsonout.h"

/* ---- several files ---- */

static int report_trials(struct answer *a, const char *const *files, size_t n, struct err *e)
{
    a->several = n > 1;
    if (a->json && a->several)
        jsonout_array(a->json, "reports");
    int rc = answer_add(a, files, n, NULL, e);
    if (a->json && a->several) {
        jsonout_end(a->json);
        report_trials_json(a->json, a->runs);
    } else if (rc == 0 && a->several && !a->options.csv) {
        report_trials_text(output_stream(a->text), a->runs);
        answer_verdict(a);
    }
    return rc;
}

static int put_comparison(struct answer *a, const struct compare_side *base,
                          const struct compare_side *new, struct err *e)
{
    struct compare *c = NULL;
    int rc = compare_sides(&c, base, new, e);
    if (rc == 0 && a->json)
        report_compare_json(a->json, c, base->runs, new->runs);
    if (rc == 0 && !a->json)
        report_compare_text(output_stream(a->text), c, base->runs, new->runs);
    free(c);
    return rc;
}

/* Comparisons need the noise, which rows tell and figures do not. */
static int check_rows(const char *const *path, size_t n, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct inputs in = {0};
        rc = inputs_add(&in, path[i], e);
        if (rc == 0 && in.table)
            rc = err_set(e, -EINVAL, ERR_INPUT, path[i],
                         "--compare takes traces and result files (--reference and tables of runs "
                         "take folders and JSON)");
        inputs_free(&in);
    }
    return rc;
}

static int report_comparison(struct answer *a, const char *const *files, size_t n, struct err *e)
{
    const struct opt_list *bases = &a->options.compare;
    struct runs *base = runs_create(), *new = runs_create();
    struct scan *base_scan = NULL, *new_scan = NULL;
    int rc = base && new ? 0 : err_nomem(e, "comparison");
    if (rc == 0)
        rc = check_rows(bases->item, bases->count, e);
    if (rc == 0)
        rc = check_rows(files, n, e);
    a->hidden = true;
    a->runs = base;
    if (rc == 0)
        rc = answer_add(a, bases->item, bases->count, &base_scan, e);
    a->runs = new;
    if (rc == 0)
        rc = answer_add(a, files, n, &new_scan, e);
    a->runs = NULL;
    if (rc == 0)
        rc = put_comparison(a, &(struct compare_side){base, base_scan},
                            &(struct compare_side){new, new_scan}, e);
    scan_free(base_scan);
    scan_free(new_scan);
    runs_free(base);
    runs_free(new);
    return rc;
}

static int verify_each(struct answer *a, const char *const *files, size_t n, struct err *e)
{
    int rc = 0;
    struct verify *v = malloc(sizeof(*v));
    if (!v)
        return err_nomem(e, "findings");
    if (a->json)
        jsonout_array(a->json, "verify");
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = verify_file(v, files[i], a->options.run, a->options.skip_bad_rows, e);
        if (rc == -EBADMSG && v->cut) {
            a->status = answer_complain(e);
            rc = 0;
        }
        if (rc == 0 && v->findings > 0 && a->status == 0)
            a->status = 1;
        if (rc == 0 && a->json)
            report_verify_json(a->json, files[i], v);
        if (rc == 0 && !a->json)
            report_verify_text(output_stream(a->text), files[i], v);
    }
    if (a->json)
        jsonout_end(a->json);
    free(v);
    return rc;
}

/* ---- spreadsheet ---- */

static int save_csv_instead(struct answer *a, struct err *e)
{
    struct output *csv = output_open();
    char *path = options_csv_path(a->options.xlsx);
    int rc = csv && path ? 0 : err_nomem(e, "report");
    if (rc == 0) {
        report_csv(output_stream(csv), a->series ? a->series : a->runs);
        rc = output_save(csv, path, e);
    }
    if (rc == 0)
        fprintf(stderr, "kvstat: --xlsx: this build has no libxlsxwriter: %s is CSV instead\n",
                path);
    free(path);
    output_free(csv);
    return rc;
}

static int save_xlsx(struct answer *a, struct err *e)
{
    struct xlsx *x = NULL;
    if (!xlsx_is_built())
        return save_csv_instead(a, e);
    int rc = xlsx_create(&x, a->options.xlsx, e);
    if (rc < 0)
        return rc;
    rc = report_xlsx(x, a->runs, a->series, a->several) ? xlsx_save(x, e)
                                                        : err_nomem(e, "spreadsheet");
    xlsx_free(x);
    return rc;
}

static int report_inputs(struct answer *a, const struct opt_parser *p, const char *const *files,
                         size_t n, struct err *e)
{
    struct inputs in = {0};
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = inputs_add(&in, files[i], e);
    a->runs = runs_create();
    if (rc == 0 && !a->runs)
        rc = err_nomem(e, "report");
    if (rc == 0 && in.table)
        rc = run_tables_report(a, p, &in, e);
    else if (rc == 0)
        rc = a->options.merge ? answer_add_pool(a, files, n, e) : report_trials(a, files, n, e);
    if (rc == 0 && a->options.reference)
        rc = run_tables_compare(a, e);
    if (rc == 0 && a->options.xlsx)
        rc = save_xlsx(a, e);
    inputs_free(&in);
    return rc;
}

/* A file that is no trace but can be drawn: the picture is all there is of it. */
static int plot_columns(struct answer *a, const struct opt_parser *p, const char *file,
                        enum columns_kind kind, struct err *e)
{
    struct columns *c = NULL;
    const struct opt_mode drawing = {.on = true,
                                     .refuses = OPTIONS_NOT_DRAWING,
                                     .why = "means nothing with --plot of a curve or rounds"};
    int rc = opt_check_modes(p, &drawing, 1, e);
    if (rc == 0)
        rc = columns_load(&c, file, e);
    if (rc == 0)
        rc = plot_save_columns(a->options.plot, c, kind, e);
    columns_free(c);
    return rc;
}

static int report_all(struct answer *a, const struct opt_parser *p, struct err *e)
{
    static const char *const standard_input[] = {"-"};
    const char *const *files;
    size_t n = opt_operands(p, &files);
    if (n == 0) {
        files = standard_input;
        n = 1;
    }
    enum columns_kind kind = a->options.plot ? columns_kind_of(files[0]) : COLUMNS_NONE;
    if (kind != COLUMNS_NONE)
        return plot_columns(a, p, files[0], kind, e);
    if (a->options.verify_trace)
        return verify_each(a, files, n, e);
    if (a->options.compare.count > 0)
        return report_comparison(a, files, n, e);
    return report_inputs(a, p, files, n, e);
}

static int run(struct answer *a, const struct opt_parser *p, int argc, char **argv, struct err *e)
{
    int64_t started = clock_wall_ns();
    int rc = answer_configure(a, e);
    if (rc < 0)
        return rc;
    a->scan.by = a->options.by;
    a->scan.interval_ns = a->options.interval_ns;
    a->scan.warmup_ns = a->options.warmup_ns;
    if (a->options.plot && a->scan.interval_ns == 0)
        a->scan.interval_ns = -1;
    a->scan.threads = (unsigned)a->options.threads;
    a->scan.skip_bad_rows = a->options.skip_bad_rows;
    a->scan.progress = progress_open(stderr, "kvstat", (enum progress_mode)a->options.progress,
                                     INT64_C(1000000000));
    a->text = a->options.json ? NULL : output_open();
    a->json = a->options.json ? jsonout_create() : NULL;
    bool series = (a->options.csv || a->options.xlsx) && a->options.interval_ns > 0;
    a->series = series ? runs_create() : NULL;
    if (!a->scan.progress || (!a->text && !a->json) || (series && !a->series)) {
        rc = err_nomem(e, "report");
        goto out;
    }
    if (a->json)
        jsonout_identity(a->json, "kvstat", argc, argv, started);
    rc = report_all(a, p, e);
    if (rc == 0 && a->options.csv)
        report_csv(output_stream(a->text), a->series ? a->series : a->runs);
    if (rc == 0)
        rc = a->json ? jsonout_save(a->json, a->options.output, e)
                     : output_save(a->text, a->options.output, e);
out:
    jsonout_free(a->json);
    output_free(a->text);
    runs_free(a->runs);
    runs_free(a->series);
    progress_close(a->scan.progress);
    return rc;
}

int main(int argc, char **argv)
{
    struct answer a = {0};
    struct err e = {0};
    struct opt_parser *p = options_open(&a.options);
    int rc = p ? options_parse(p, &a.options, argc, argv, &e) : err_nomem(&e, "options");
    if (rc == 1)
        rc = opt_print_answer(p, &e) < 0 ? -EIO : 1;
    if (rc == 0)
        rc = stop_install(&e);
    if (rc == 0)
        rc = run(&a, p, argc, argv, &e);
    if (rc < 0 && !(rc == -EINTR && stop_signal()))
        a.status = answer_complain(&e);
    opt_close(p);
    if (fflush(stdout) != 0 && a.status == 0) {
        fprintf(stderr, "kvstat: standard output: %s\n", strerror(errno));
        a.status = 1;
    }
    return stop_exit_status(a.status);
}
