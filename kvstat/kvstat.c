/* kvstat: reports on traces and result files. Here is the order of work: options, then what is
 * asked of the inputs (a report, trials, a comparison, an answer, a table of runs, a reference, a
 * check, a picture), the outputs, and the exit status. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/answer/answer_report.h"
#include "kvstat/block_log.h"
#include "kvstat/document.h"
#include "kvstat/draw/page.h"
#include "kvstat/draw/plot.h"
#include "kvstat/inputs.h"
#include "kvstat/knee/ladder.h"
#include "kvstat/knee/ladder_report.h"
#include "kvstat/knee/point_report.h"
#include "kvstat/mlperf/compare_runs.h"
#include "kvstat/number_table.h"
#include "kvstat/options.h"
#include "kvstat/output.h"
#include "kvstat/report/compare.h"
#include "kvstat/report/long_csv.h"
#include "kvstat/report/reference.h"
#include "kvstat/report/report.h"
#include "kvstat/report/run_table.h"
#include "kvstat/report/xlsx.h"
#include "kvstat/reporter.h"
#include "kvstat/screen/screen.h"
#include "kvstat/verify.h"
#include "lib/base/clock.h"
#include "lib/base/descriptors.h"
#include "lib/base/progress.h"
#include "lib/base/stop.h"
#include "lib/conf/conf.h"
#include "lib/json/jsonout.h"

/* ---- files of rows: one report, or trials ---- */

static int report_files(struct reporter *r, const char *const *files, size_t n, struct err *e)
{
    if (r->options.merge)
        return reporter_add_pool(r, files, n, e);
    r->several = n > 1;
    if (!r->several)
        return reporter_add(r, files, n, NULL, e);
    if (r->json)
        jsonout_array(r->json, "reports");
    int rc = reporter_add(r, files, n, NULL, e);
    if (rc < 0)
        return rc;
    if (r->json) {
        jsonout_end(r->json);
        trials_json(r->json, r->runs);
    } else if (!r->options.csv && !r->options.full) {
        screen_trials(output_stream(r->text), r->runs, r->options.asked);
    } else if (!r->options.csv) {
        trials_text(output_stream(r->text), r->runs);
        if (verdict_is_asked(r->options.asked))
            verdict_last_words_of_runs(output_stream(r->text), r->runs, r->options.asked);
    }
    return 0;
}

/* ---- files of rows: the parts of one run ---- */

static int report_ranks(struct reporter *r, const struct inputs *in, struct err *e)
{
    const char **files = calloc(in->count + 1, sizeof(*files));
    size_t n = 0;
    r->ranks = parts_create();
    int rc = files && r->ranks ? 0 : err_nomem(e, "parts");
    for (size_t i = 0; i < in->count && rc == 0; i++) {
        const struct input *item = &in->item[i];
        if (!item->found && item->kind != INPUT_ROWS)
            rc = err_set(e, -EINVAL, ERR_INPUT, item->path, "--ranks takes result files");
        else if (!item->found || (item->kind == INPUT_ROWS && scan_is_result(item->path) &&
                                  !options_is_output(&r->options, item->path)))
            files[n++] = item->path;
    }
    if (rc == 0 && n == 0)
        rc = err_set(e, -ENOENT, ERR_INPUT, "--ranks", "no result file among the inputs");
    r->scan.part = true;
    if (rc == 0)
        rc = reporter_add_pool(r, files, n, e);
    if (rc == 0 && r->json)
        parts_json(r->json, r->ranks);
    else if (rc == 0 && r->options.full)
        parts_text(output_stream(r->text), r->ranks);
    if (rc == 0 && parts_missing(r->ranks) && r->status == 0)
        r->status = 2;
    parts_free(r->ranks);
    free(files);
    return rc;
}

/* ---- folders and documents: a table of runs ---- */

/* A folder may hold anything: a file that is no run, or is cut, is passed over. */
static int gather_document(struct run_table *runs, const struct input *in, struct err *e)
{
    const struct document_sink sink = {run_table_put, run_table_end, runs};
    int rc = document_read(in->path, &sink, e);
    if (rc == 0 || !in->found || e->class != ERR_INPUT)
        return rc;
    if (rc == -ENODATA) /* of a results tree, where it belongs */
        return 0;
    fprintf(stderr, "kvstat: %s: left out: %s\n", e->where, e->what);
    return 0;
}

static bool is_left_out(const struct input *in)
{
    struct err why = {0};
    if (!in->found || scan_is_readable(in->path))
        return false;
    err_set(&why, -EINVAL, ERR_INPUT, in->path, "left out: neither trace nor result");
    reporter_complain(&why);
    return true;
}

/* Adds one input to the table; rows get a report, and are judged by it. */
static int gather_input(struct reporter *r, const struct input *in, struct err *e)
{
    const struct verdict_asked asked = r->options.asked;
    size_t from = run_table_runs(r->runs);
    if (in->kind == INPUT_DOCUMENT) {
        int rc = gather_document(r->runs, in, e);
        /* Documents carry their verdicts, or none. */
        bool judge = r->options.check && verdict_is_asked(asked);
        for (size_t run = from; judge && run < run_table_runs(r->runs); run++)
            reporter_judged(r, verdict_of_run(r->runs, run, asked));
        return rc;
    }
    if (is_left_out(in))
        return 0;
    const struct figure name = {.id = run_table_name(), .form = FIGURE_FORM_TEXT, .text = in->path};
    const char *const files[] = {in->path};
    if (run_table_put(r->runs, &name) < 0)
        return err_nomem(e, "figures of runs");
    return reporter_add(r, files, 1, NULL, e);
}

static int report_table(struct reporter *r, const struct opt_parser *p, const struct inputs *in,
                        struct err *e)
{
    const struct opt_mode table = {.on = true,
                                   .refuses = OPTIONS_NOT_TABLE,
                                   .why = "means nothing with folders and JSON documents"};
    int rc = opt_check_modes(p, &table, 1, e);
    r->hidden = true;
    run_table_allow_mixed(r->runs);
    if (rc == 0 && (run_table_reserve(r->runs, run_table_name()) < 0 ||
                    run_table_reserve(r->runs, figure_id(FIGURE_OF_RUN, FIGURE_KIND)) < 0))
        rc = err_nomem(e, "figures of runs");
    for (size_t i = 0; i < in->count && rc == 0; i++) {
        const struct input *item = &in->item[i];
        /* A report that was written to the folder earlier is not one of the runs. */
        if (!item->found || !options_is_output(&r->options, item->path))
            rc = gather_input(r, item, e);
    }
    if (rc == 0 && run_table_runs(r->runs) == 0)
        rc = err_set(e, -ENOENT, ERR_INPUT, "", "no run in any of the files");
    if (rc < 0)
        return rc;
    if (r->json) {
        run_table_report_json(r->json, r->runs);
    } else if (!r->options.csv) {
        run_table_report_text(output_stream(r->text), r->runs);
        if (verdict_is_asked(r->options.asked))
            verdict_last_words_of_runs(output_stream(r->text), r->runs, r->options.asked);
    }
    return 0;
}

/* ---- a reference ---- */

/* Reads the runs of the reference into a table for the caller to free. */
static int read_reference(struct reporter *r, struct run_table **out, struct err *e)
{
    struct run_table *runs = run_table_create();
    const char *file = r->options.reference;
    struct inputs in = {0};
    int rc = runs ? inputs_add(&in, file, e) : err_nomem(e, "reference");
    if (rc < 0)
        goto out;
    run_table_allow_mixed(runs);
    for (size_t i = 0; i < in.count && rc == 0; i++) {
        const struct input *item = &in.item[i];
        if (item->kind == INPUT_DOCUMENT)
            rc = gather_document(runs, item, e);
        else if (!is_left_out(item))
            rc = reporter_gather(r, runs, item->path, e);
    }
    if (rc == 0 && run_table_runs(runs) == 0)
        rc = err_set(e, -ENOENT, ERR_INPUT, file, "holds no run");
out:
    inputs_free(&in);
    if (rc < 0)
        run_table_free(runs);
    else
        *out = runs;
    return rc;
}

/* Compares the runs gathered so far with the reference. */
static void report_reference(struct reporter *r, const struct run_table *runs)
{
    const char *file = r->options.reference;
    struct reference result;
    reference_compare(&result, runs, r->runs);
    if (r->options.check && result.verdict != REFERENCE_WITHIN)
        reporter_judged(r, VERDICT_FAIL);
    if (r->json)
        reference_json(r->json, file, &result);
    else
        reference_text(output_stream(r->text), file, &result);
}

/* ---- a comparison ---- */

/* Comparisons need the noise, which rows tell and the figures of documents do not. */
static int check_rows(const char *const *path, size_t n, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct inputs in = {0};
        rc = inputs_add(&in, path[i], e);
        if (rc == 0 && in.table)
            rc = err_set(e, -EINVAL, ERR_INPUT, path[i],
                         "--compare takes traces and result files (--reference and tables of runs "
                         "take folders and JSON), or two runs of the MLPerf benchmark");
        inputs_free(&in);
    }
    return rc;
}

/* The runs of both sides, one each, in one picture. */
static int plot_both(const char *path, struct figures *const only[2], struct err *e)
{
    struct plot *plot = NULL;
    int rc = plot_open(&plot, only[0], only[1], e);
    if (rc == 0)
        rc = plot_save(path, plot, e);
    plot_close(plot);
    return rc;
}

/* Whether it is a folder or a document: then of a run of the MLPerf benchmark. */
static bool is_run(const char *path)
{
    struct inputs in = {0};
    struct err ignored = {0};
    bool run = inputs_add(&in, path, &ignored) < 0 || in.table;
    inputs_free(&in);
    return run;
}

static int report_runs(struct reporter *r, const char *base, const char *new, struct err *e)
{
    struct compare_runs *c = NULL;
    int rc = compare_runs_read(&c, base, new, e);
    if (rc < 0)
        return rc;
    if (r->options.check)
        reporter_judged(r, VERDICT_INCONCLUSIVE);
    if (r->json)
        compare_runs_json(r->json, c);
    else
        compare_runs_text(output_stream(r->text), c);
    compare_runs_free(c);
    return 0;
}

static int report_comparison(struct reporter *r, const char *const *files, size_t n, struct err *e)
{
    const struct opt_list *bases = &r->options.compare;
    if (bases->count == 1 && n == 1 && is_run(bases->item[0]) && is_run(files[0]))
        return report_runs(r, bases->item[0], files[0], e);
    struct run_table *runs[2] = {run_table_create(), run_table_create()};
    struct figures *only[2] = {NULL, NULL};
    struct compare *c = NULL;
    int rc = runs[0] && runs[1] ? 0 : err_nomem(e, "comparison");
    if (rc == 0)
        rc = check_rows(bases->item, bases->count, e);
    if (rc == 0)
        rc = check_rows(files, n, e);
    if (rc < 0)
        goto out;
    r->hidden = true;
    r->runs = runs[0];
    rc = reporter_add(r, bases->item, bases->count, &only[0], e);
    r->runs = runs[1];
    if (rc == 0)
        rc = reporter_add(r, files, n, &only[1], e);
    r->runs = NULL;
    if (rc < 0)
        goto out;
    const struct compare_side base = {runs[0], only[0]}, new = {runs[1], only[1]};
    rc = compare_sides(&c, &base, &new, r->options.min_change, e);
    if (rc == 0 && r->options.check)
        reporter_judged(r, c->changes[COMPARE_WORSE] > 0 ? VERDICT_FAIL
                           : c->tested == 0              ? VERDICT_INCONCLUSIVE
                                                         : VERDICT_PASS);
    if (rc == 0 && r->options.plot)
        rc = plot_both(r->options.plot, only, e);
    const struct page page = {.run = {only[0], only[1]},
                              .compare = c,
                              .base = runs[0],
                              .new = runs[1],
                              .argc = r->argc,
                              .argv = r->argv};
    if (rc == 0 && r->options.html)
        rc = page_save(r->options.html, &page, e);
    if (rc < 0)
        goto out;
    if (r->json) {
        compare_json(r->json, c, runs[0], runs[1]);
    } else if (r->options.csv) {
        long_csv_header(output_stream(r->text));
        long_csv_compare(output_stream(r->text), c, runs[0], runs[1]);
    } else if (r->options.full) {
        compare_text(output_stream(r->text), c, runs[0], runs[1]);
    } else {
        screen_comparison(output_stream(r->text), c, runs[0], runs[1]);
    }
out:
    free(c);
    for (int i = 0; i < 2; i++) {
        figures_free(only[i]);
        run_table_free(runs[i]);
    }
    return rc;
}

/* ---- a check ---- */

static int verify_files(struct reporter *r, const char *const *files, size_t n, struct err *e)
{
    int rc = 0;
    struct verify *v = malloc(sizeof(*v));
    if (!v)
        return err_nomem(e, "findings");
    if (r->json)
        jsonout_array(r->json, "verify");
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = verify_file(v, files[i], r->options.run, r->options.skip_bad_rows, e);
        if ((rc == -EBADMSG && v->cut) || (rc == -EINTR && v->rows > 0)) {
            r->status = reporter_complain(e);
            rc = 0;
        }
        if (rc < 0)
            break;
        if (v->findings > 0 && r->status == 0)
            r->status = 1;
        if (r->json)
            verify_json(r->json, files[i], v);
        else
            verify_text(output_stream(r->text), files[i], v);
    }
    if (r->json)
        jsonout_end(r->json);
    free(v);
    return rc;
}

/* ---- the drive's own times, recorded beside a run ---- */

static int report_block_logs(struct reporter *r, const char *const *files, size_t n, struct err *e)
{
    int rc = 0;

    if (r->json)
        jsonout_array(r->json, "blktrace");
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct block_log *b;
        rc = block_log_read(&b, files[i], e);
        if (rc == -EBADMSG) {
            r->status = reporter_complain(e);
            rc = 0;
        }
        if (rc == 0 && r->json)
            block_log_json(r->json, files[i], b);
        else if (rc == 0)
            block_log_text(output_stream(r->text), files[i], b);
        block_log_free(b);
    }
    if (r->json)
        jsonout_end(r->json);
    return rc;
}

/* ---- the runs of kvtrace model ---- */

static void report_points(struct reporter *r, const struct points *p)
{
    if (r->json)
        points_json(r->json, p);
    else if (r->options.csv)
        points_csv(output_stream(r->text), p);
    else
        points_text(output_stream(r->text), p);
}

static int report_steps(struct reporter *r, const struct number_table *runs, struct err *e)
{
    struct points *p = points_create();
    int rc = p ? points_add_table(p, runs, e) : err_nomem(e, "runs");
    if (rc == 0)
        report_points(r, p);
    points_free(p);
    return rc;
}

/* A result is one run. As CSV it is lines of a table of runs. */
static int report_run(struct reporter *r, const char *file, struct err *e)
{
    struct points *p = points_create();
    struct point_run *run = malloc(sizeof(*run));
    int rc = p && run ? point_run_read(run, file, e) : err_nomem(e, "runs");
    if (rc == 0 && r->options.csv)
        point_run_csv(output_stream(r->text), run);
    else if (rc == 0 && (rc = points_add(p, run, e)) == 0)
        report_points(r, p);
    points_free(p);
    free(run);
    return rc;
}

/* ---- the rounds of kvtrace knee ---- */

static int report_ladder(struct reporter *r, const struct number_table *rounds, struct err *e)
{
    struct ladder *l = malloc(sizeof(*l));
    int rc = l ? ladder_of(l, rounds, e) : err_nomem(e, "rounds");
    if (rc == 0 && r->json)
        ladder_json(r->json, l);
    else if (rc == 0 && r->options.csv)
        ladder_csv(output_stream(r->text), l);
    else if (rc == 0)
        ladder_text(output_stream(r->text), l);
    free(l);
    return rc;
}

static int report_knee(struct reporter *r, const char *const *files, size_t n, struct err *e)
{
    struct number_table *t = NULL;
    if (n > 1)
        return err_set(e, -EINVAL, ERR_INPUT, "--knee", "takes one file, not %zu", n);
    /* Standard input is read once: it is no result. */
    if (strcmp(files[0], "-") != 0 && scan_is_result(files[0]))
        return report_run(r, files[0], e);
    int rc = number_table_load(&t, files[0], e);
    if (rc == 0)
        rc = points_are_in(t) ? report_steps(r, t, e) : report_ladder(r, t, e);
    number_table_free(t);
    return rc;
}

/* ---- a picture of a file that is no trace ---- */

static int plot_numbers(struct reporter *r, const struct opt_parser *p, const char *file,
                        enum number_table_kind kind, struct err *e)
{
    struct number_table *t = NULL;
    const struct opt_mode drawing = {.on = true,
                                     .refuses = OPTIONS_NOT_DRAWING,
                                     .why = "means nothing with --plot of a curve or rounds"};
    int rc = opt_check_modes(p, &drawing, 1, e);
    if (rc == 0)
        rc = number_table_load(&t, file, e);
    if (rc == 0)
        rc = plot_save_numbers(r->options.plot, t, kind, e);
    number_table_free(t);
    return rc;
}

/* ---- outputs ---- */

static int save_xlsx(struct reporter *r, struct err *e)
{
    struct xlsx *x = NULL;
    int rc = xlsx_create(&x, r->options.xlsx, e);
    if (rc < 0)
        return rc;
    rc = report_xlsx(x, r->runs, r->series, r->several) ? xlsx_save(x, e)
                                                        : err_nomem(e, "spreadsheet");
    xlsx_free(x);
    return rc;
}

static void put_csv(FILE *out, const struct reporter *r)
{
    long_csv_header(out);
    long_csv_runs(out, r->runs);
    if (r->series)
        long_csv_series(out, r->series, run_table_label(r->runs, 0));
    if (r->several)
        long_csv_trials(out, r->runs);
}

/* Writes CSV for --xlsx in a build without libxlsxwriter. */
static int save_csv_instead(struct reporter *r, struct err *e)
{
    struct output *csv = output_open();
    char *path = options_csv_path(r->options.xlsx);
    int rc = csv && path ? 0 : err_nomem(e, "report");
    if (rc == 0) {
        put_csv(output_stream(csv), r);
        rc = output_save(csv, path, e);
    }
    if (rc == 0)
        fprintf(stderr, "kvstat: --xlsx: this %s has no libxlsxwriter: %s is CSV instead\n",
                xlsx_is_built() ? "machine" : "build", path);
    free(path);
    output_free(csv);
    return rc;
}

static int report_inputs(struct reporter *r, const struct opt_parser *p, const char *const *files,
                         size_t n, struct err *e)
{
    const struct options *o = &r->options;
    struct run_table *reference = NULL;
    struct inputs in = {0};
    /* The reference comes first: the rows may be those of a run that takes hours. */
    int rc = o->reference ? read_reference(r, &reference, e) : 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = inputs_add(&in, files[i], e);
    if (rc == 0 && o->ranks) {
        in.table = false;
        n = 1;
    }
    if (rc == 0 && (n > 1 || in.table || o->csv || o->xlsx || o->reference)) {
        r->runs = run_table_create();
        rc = r->runs ? 0 : err_nomem(e, "report");
    }
    if (rc == 0 && o->ranks)
        rc = report_ranks(r, &in, e);
    else if (rc == 0)
        rc = in.table ? report_table(r, p, &in, e) : report_files(r, files, n, e);
    if (rc == 0 && reference)
        report_reference(r, reference);
    if (rc == 0 && o->xlsx)
        rc = xlsx_is_here() ? save_xlsx(r, e) : save_csv_instead(r, e);
    if (rc == 0 && o->csv)
        put_csv(output_stream(r->text), r);
    run_table_free(reference);
    inputs_free(&in);
    return rc;
}

static int report_all(struct reporter *r, const struct opt_parser *p, struct err *e)
{
    static const char *const standard_input[] = {"-"};
    const char *const *files;
    size_t n = opt_operands(p, &files);
    if (r->options.answer)
        return answer_report(r, files, n, e);
    if (n == 0) {
        files = standard_input;
        n = 1;
    }
    enum number_table_kind kind =
        r->options.plot ? number_table_kind_of(files[0]) : NUMBER_TABLE_NONE;
    if (kind != NUMBER_TABLE_NONE)
        return plot_numbers(r, p, files[0], kind, e);
    if (r->options.verify_trace)
        return verify_files(r, files, n, e);
    if (r->options.knee)
        return report_knee(r, files, n, e);
    if (r->options.blktrace)
        return report_block_logs(r, files, n, e);
    if (r->options.compare.count > 0)
        return report_comparison(r, files, n, e);
    return report_inputs(r, p, files, n, e);
}

/* ---- the program ---- */

static int run(struct reporter *r, const struct opt_parser *p, int argc, char **argv, struct err *e)
{
    const struct options *o = &r->options;
    int64_t started = clock_wall_ns();
    int rc = 0;
    reporter_configure(r);
    r->scan.by = o->by;
    r->scan.most_groups = o->max_groups;
    r->scan.interval_ns =
        (o->plot || o->html) && o->interval_ns == 0 ? SCAN_SERIES_AUTO : o->interval_ns;
    r->scan.warmup_ns = o->warmup_ns;
    r->scan.threads = (unsigned)o->threads;
    r->scan.skip_bad_rows = o->skip_bad_rows;
    r->scan.run = o->run;
    r->scan.follow = verdict_is_asked(o->asked) || o->compare.count > 0;
    r->scan.first_token = o->asked.slo;
    r->scan.direct = o->mlperf != NULL;
    r->scan.progress =
        progress_open(stderr, "kvstat", (enum progress_mode)o->progress, INT64_C(1000000000));
    r->argc = argc;
    r->argv = argv;
    r->text = o->json ? NULL : output_open();
    r->json = o->json ? jsonout_create() : NULL;
    bool series = (o->csv || o->xlsx) && o->interval_ns > 0;
    r->series = series ? run_table_create() : NULL;
    bool folder = o->mlperf && run_folder_is_meant(o->mlperf);
    r->mlperf = folder ? run_folder_create(o->mlperf, started) : NULL;
    if ((folder && !r->mlperf) || !r->scan.progress || (!r->text && !r->json) ||
        (series && !r->series)) {
        rc = err_nomem(e, "report");
        goto out;
    }
    if (r->json && !(o->answer && o->view != VIEW_COMPARE)) /* one answer has its own */
        jsonout_identity(r->json, "kvstat", argc, argv, started);
    rc = report_all(r, p, e);
    if (rc == 0 && r->mlperf)
        rc = run_folder_finish(r->mlperf, e);
    if (rc == 0)
        rc =
            r->json ? jsonout_save(r->json, o->output, e) : output_save_text(r->text, o->output, e);
out:
    jsonout_free(r->json);
    output_free(r->text);
    run_table_free(r->runs);
    run_table_free(r->series);
    run_folder_free(r->mlperf);
    progress_close(r->scan.progress);
    return rc;
}

int main(int argc, char **argv)
{
    struct reporter r = {0};
    struct err e = {0};
    descriptors_open_standard();
    struct opt_parser *p = options_open(&r.options);
    int rc = p ? options_parse(p, &r.options, argc, argv, &e) : err_nomem(&e, "options");
    if (rc == 1)
        rc = opt_print_answer(p, &e) < 0 ? -EIO : 1;
    if (rc == 0)
        rc = stop_install("kvstat: stopping: reporting on what arrives; again to report now\n", &e);
    if (rc == 0)
        rc = run(&r, p, argc, argv, &e);
    if (p)
        opt_tell_place(p, &e);
    if (rc < 0 && !(rc == -EINTR && stop_signal()))
        r.status = reporter_complain(&e);
    conf_free(r.options.conf);
    opt_close(p);
    if (fflush(stdout) != 0 && r.status == 0) {
        fprintf(stderr, "kvstat: standard output: %s\n", strerror(errno));
        r.status = 1;
    }
    return stop_exit_status(r.status);
}
