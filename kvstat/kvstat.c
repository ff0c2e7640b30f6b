/* kvstat: reports on traces and result files. Here is only the order of work: options,
 * configuration, for every input scan -> run -> figures -> report, and the exit status. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/assess.h"
#include "kvstat/compare.h"
#include "kvstat/document.h"
#include "kvstat/figures.h"
#include "kvstat/hgrm.h"
#include "kvstat/inputs.h"
#include "kvstat/options.h"
#include "kvstat/output.h"
#include "kvstat/plot.h"
#include "kvstat/reference.h"
#include "kvstat/report.h"
#include "kvstat/reuse.h"
#include "kvstat/run.h"
#include "kvstat/runs.h"
#include "kvstat/scan.h"
#include "kvstat/verify.h"
#include "kvstat/xlsx.h"
#include "lib/clock.h"
#include "lib/conf.h"
#include "lib/jsonout.h"
#include "lib/progress.h"
#include "lib/stop.h"

struct kvstat {
    struct options options;
    struct scan_opts scan;
    struct figures_targets targets[TRACE_QOSES];
    struct assess_limits limits;
    struct jsonout *json; /* one of these two is used */
    struct output *text;
    struct runs *runs;   /* what reports are gathered in: for CSV, trials, comparisons, tables */
    struct runs *series; /* the intervals of one report, for CSV */
    bool several;        /* reports in one output */
    bool hidden;         /* reports are gathered only */
    int status;
};

/* Prints the error, once; the exit status that it has. */
static int complain(const struct err *e)
{
    char line[1100];
    err_format(e, "kvstat", line, sizeof(line));
    fprintf(stderr, "%s\n", line);
    return err_exit_status(e);
}

static int read_targets(struct kvstat *k, struct err *e)
{
    static const char *const percentiles[] = {"p95", "p99", "p999", "p9999"};
    struct conf *conf = NULL;
    const char *warning;
    int rc = conf_open(&conf, k->options.config, e);
    if (rc < 0)
        return rc;
    for (size_t i = 0; (warning = conf_warning(conf, i)) != NULL; i++)
        fprintf(stderr, "kvstat: %s\n", warning);
    for (unsigned q = 0; q < TRACE_QOSES; q++) {
        for (unsigned p = 0; p < 4; p++) {
            char path[96];
            snprintf(path, sizeof(path), "qos_profiles.%s.target_latency_%s_ms", trace_qos_text(q),
                     percentiles[p]);
            k->targets[q].ms[p] = conf_f64(conf, path);
        }
        k->scan.target_ns[q] = llround(k->targets[q].ms[0] * 1e6);
    }
    k->limits.write_device_p95_ms = conf_f64(conf, "storage_health.write_device_p95_ms");
    k->limits.read_device_p95_ms = conf_f64(conf, "storage_health.read_device_p95_ms");
    k->limits.cpu_p95_ms = conf_f64(conf, "storage_health.cpu_p95_ms");
    k->limits.hit_rate = conf_f64(conf, "storage_health.hit_rate");
    conf_free(conf);
    return 0;
}

static void judge(struct kvstat *k, struct figures *f, struct assess *verdict)
{
    if (k->options.profile == ASSESS_NONE)
        return;
    assess_figures(verdict, (enum assess_profile)k->options.profile, &k->limits, f);
    f->assess = verdict;
    if (k->options.check && verdict->verdict != ASSESS_PASS && k->status == 0)
        k->status = 1;
}

static int save_fio_job(const char *path, const struct figures *f, struct err *e)
{
    struct output *job = output_open();
    if (!job)
        return err_nomem(e, "fio job");
    int rc = report_fio(output_stream(job), f)
                 ? output_save(job, path, e)
                 : err_set(e, -EINVAL, ERR_INPUT, "--fio-job",
                           "%s holds no replayed reads or writes of Tier-2", f->files[0]);
    output_free(job);
    return rc;
}

static int save_mlperf(const char *path, const struct figures *f, struct err *e)
{
    struct jsonout *j = jsonout_create();
    if (!j)
        return err_nomem(e, "results");
    int rc = report_mlperf(j, f)
                 ? jsonout_save(j, path, e)
                 : err_set(e, -EINVAL, ERR_INPUT, "--mlperf",
                           "%s is a trace: results are those of a replay", f->files[0]);
    jsonout_free(j);
    return rc;
}

static int put_report(struct kvstat *k, const struct figures *f, struct err *e)
{
    int rc = 0;
    if (k->json && !k->hidden && k->several)
        jsonout_object(k->json, NULL);
    if (k->json && !k->hidden)
        report_json(k->json, f);
    if (k->json && !k->hidden && k->several)
        jsonout_end(k->json);
    if (!k->json && !k->hidden && !k->several && !k->options.csv)
        report_text(output_stream(k->text), f);
    if (k->runs)
        rc = runs_add(k->runs, f, e);
    if (rc == 0 && k->series)
        rc = runs_add_series(k->series, f, e);
    if (rc == 0 && k->options.hgrm)
        rc = hgrm_save(k->options.hgrm, f, e);
    if (rc == 0 && k->options.plot)
        rc = plot_save(k->options.plot, f, e);
    if (rc == 0 && k->options.fio_job)
        rc = save_fio_job(k->options.fio_job, f, e);
    return rc == 0 && k->options.mlperf ? save_mlperf(k->options.mlperf, f, e) : rc;
}

/* A second pass over what the first has found readable; a cut was complained of then. */
static int add_reuse(const struct kvstat *k, struct reuse **reuse, const char *file, struct err *e)
{
    if (!k->options.reuse)
        return 0;
    int rc = reuse_file(reuse, file, k->options.skip_bad_rows, e);
    return rc == -EBADMSG && *reuse ? 0 : rc;
}

static int add_report(struct kvstat *k, const struct scan *scan, const char *const *files, size_t n,
                      struct err *e)
{
    struct figures f;
    struct assess verdict;
    struct reuse *reuse = NULL;
    struct run run;
    /* Pooled files were made by several runs: what one of them tells is not true of all. */
    bool one = scan->files == 1;
    int rc = run_read(&run, k->options.run, one ? scan->summary : NULL,
                      one ? scan->provenance : NULL, e);
    if (rc == 0)
        rc = add_reuse(k, &reuse, files[0], e);
    if (rc == 0) {
        figures_compute(&f, files, n, scan, &run, k->targets);
        judge(k, &f, &verdict);
        f.reuse = reuse;
        rc = put_report(k, &f, e);
    }
    reuse_free(reuse);
    run_free(&run);
    return rc;
}

static void tell_bad_rows(const struct scan *s)
{
    if (s->bad_rows > 0)
        fprintf(stderr, "kvstat: %llu bad rows skipped, the first: %s\n",
                (unsigned long long)s->bad_rows, s->first_bad ? s->first_bad : "");
}

/* Scans one file; a cut one is reported as far as it goes, and remembered in the exit status. */
static int scan_one(struct kvstat *k, struct scan **scan, const char *path, struct err *e)
{
    int rc = scan_file(scan, path, &k->scan, e);
    if (k->scan.progress)
        progress_clear(k->scan.progress);
    if (rc == -EBADMSG && *scan) {
        k->status = complain(e);
        rc = 0;
    }
    if (rc == 0)
        tell_bad_rows(*scan);
    return rc;
}

/* The scan of a file that is the only one goes to *only, unless that is NULL. */
static int report_each(struct kvstat *k, const char *const *files, size_t n, struct scan **only,
                       struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct scan *scan = NULL;
        rc = scan_one(k, &scan, files[i], e);
        if (rc == 0)
            rc = add_report(k, scan, &files[i], 1, e);
        if (rc == 0 && only && n == 1)
            *only = scan;
        else
            scan_free(scan);
    }
    return rc;
}

static int report_pooled(struct kvstat *k, const char *const *files, size_t n, struct err *e)
{
    struct scan *pool = NULL;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct scan *scan = NULL;
        rc = scan_one(k, &scan, files[i], e);
        if (rc == 0 && pool) {
            rc = scan_merge(pool, scan, e);
        } else if (rc == 0) {
            pool = scan;
            scan = NULL;
        }
        scan_free(scan);
    }
    if (rc == 0 && pool)
        rc = add_report(k, pool, files, n, e);
    scan_free(pool);
    return rc;
}

static int report_trials(struct kvstat *k, const char *const *files, size_t n, struct err *e)
{
    k->several = n > 1;
    if (k->json && k->several)
        jsonout_array(k->json, "reports");
    int rc = report_each(k, files, n, NULL, e);
    if (k->json && k->several) {
        jsonout_end(k->json);
        report_trials_json(k->json, k->runs);
    } else if (rc == 0 && k->several && !k->options.csv) {
        report_trials_text(output_stream(k->text), k->runs);
    }
    return rc;
}

static int put_comparison(struct kvstat *k, const struct compare_side *base,
                          const struct compare_side *new, struct err *e)
{
    struct compare *c = NULL;
    int rc = compare_sides(&c, base, new, e);
    if (rc == 0 && k->json)
        report_compare_json(k->json, c, base->runs, new->runs);
    if (rc == 0 && !k->json)
        report_compare_text(output_stream(k->text), c, base->runs, new->runs);
    free(c);
    return rc;
}

static int report_comparison(struct kvstat *k, const char *const *files, size_t n, struct err *e)
{
    const struct opt_list *bases = &k->options.compare;
    struct runs *base = runs_create(), *new = runs_create();
    struct scan *base_scan = NULL, *new_scan = NULL;
    int rc = base && new ? 0 : err_nomem(e, "comparison");
    k->hidden = true;
    k->runs = base;
    if (rc == 0)
        rc = report_each(k, bases->item, bases->count, &base_scan, e);
    k->runs = new;
    if (rc == 0)
        rc = report_each(k, files, n, &new_scan, e);
    k->runs = NULL;
    if (rc == 0)
        rc = put_comparison(k, &(struct compare_side){base, base_scan},
                            &(struct compare_side){new, new_scan}, e);
    scan_free(base_scan);
    scan_free(new_scan);
    runs_free(base);
    runs_free(new);
    return rc;
}

static int verify_each(struct kvstat *k, const char *const *files, size_t n, struct err *e)
{
    int rc = 0;
    struct verify *v = malloc(sizeof(*v));
    if (!v)
        return err_nomem(e, "findings");
    if (k->json)
        jsonout_array(k->json, "verify");
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = verify_file(v, files[i], k->options.run, k->options.skip_bad_rows, e);
        if (rc == -EBADMSG && v->cut) {
            k->status = complain(e);
            rc = 0;
        }
        if (rc == 0 && v->findings > 0 && k->status == 0)
            k->status = 1;
        if (rc == 0 && k->json)
            report_verify_json(k->json, files[i], v);
        if (rc == 0 && !k->json)
            report_verify_text(output_stream(k->text), files[i], v);
    }
    if (k->json)
        jsonout_end(k->json);
    free(v);
    return rc;
}

/* ---- folders and documents ---- */

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
    complain(&why);
    return true;
}

/* Documents carry their verdicts, or none; rows are judged as they are counted. */
static void check_documents(struct kvstat *k, size_t from)
{
    const char *profile = assess_profile_names[k->options.profile];
    if (!k->options.check || k->options.profile == ASSESS_NONE)
        return;
    for (size_t run = from; run < runs_count(k->runs); run++)
        if (strcmp(runs_text_of(k->runs, run, "assessment.profile"), profile) != 0 ||
            strcmp(runs_text_of(k->runs, run, "assessment.status"), "PASS") != 0)
            k->status = 1;
}

static int gather_rows(struct kvstat *k, const struct input *in, struct err *e)
{
    const struct leaf name = {"run", in->path, LEAF_TEXT, NAN};
    const char *const files[] = {in->path};
    if (runs_put(k->runs, &name) < 0)
        return err_nomem(e, "figures of runs");
    return report_each(k, files, 1, NULL, e);
}

static int report_table(struct kvstat *k, const struct opt_parser *p, const struct inputs *in,
                        struct err *e)
{
    int rc = opt_refuse(p, e, "means nothing with folders and JSON documents", "interval", "hgrm",
                        "plot", "fio-job", "mlperf", "merge", "run", NULL);
    k->hidden = true;
    runs_allow_mixed(k->runs);
    if (rc == 0 && (runs_reserve(k->runs, "run") < 0 || runs_reserve(k->runs, "kind") < 0))
        rc = err_nomem(e, "figures of runs");
    for (size_t i = 0; i < in->count && rc == 0; i++) {
        const struct input *item = &in->item[i];
        size_t from = runs_count(k->runs);
        /* The report of a run before this one is none of the runs. */
        if (item->found && options_is_output(&k->options, item->path))
            continue;
        if (item->kind == INPUT_DOCUMENT) {
            rc = gather_document(k->runs, item, e);
            check_documents(k, from);
        } else if (!is_left_out(item)) {
            rc = gather_rows(k, item, e);
        }
    }
    if (rc == 0 && runs_count(k->runs) == 0)
        rc = err_set(e, -ENOENT, ERR_INPUT, "", "no run in any of the files");
    if (rc == 0 && k->json)
        report_table_json(k->json, k->runs);
    if (rc == 0 && k->text && !k->options.csv)
        report_table_text(output_stream(k->text), k->runs);
    return rc;
}

/* ---- reference ---- */

static int gather_reference(struct kvstat *k, struct runs *runs, const struct input *in,
                            struct err *e)
{
    struct scan_opts opts = k->scan;
    struct scan *scan = NULL;
    struct figures f;
    struct run run;
    const char *const files[] = {in->path};
    if (is_left_out(in))
        return 0;
    opts.interval_ns = 0;
    int rc = scan_file(&scan, in->path, &opts, e);
    if (k->scan.progress)
        progress_clear(k->scan.progress);
    if (rc < 0) {
        scan_free(rc == -EBADMSG ? scan : NULL);
        return rc;
    }
    rc = run_read(&run, NULL, scan->summary, scan->provenance, e);
    if (rc == 0) {
        figures_compute(&f, files, 1, scan, &run, k->targets);
        rc = runs_add(runs, &f, e);
    }
    run_free(&run);
    scan_free(scan);
    return rc;
}

/* Holds what was gathered against the reference. */
static int report_reference(struct kvstat *k, struct err *e)
{
    struct runs *runs = runs_create();
    struct inputs in = {0};
    struct reference result;
    int rc = runs ? inputs_add(&in, k->options.reference, e) : err_nomem(e, "reference");
    if (rc == 0)
        runs_allow_mixed(runs);
    for (size_t i = 0; i < in.count && rc == 0; i++)
        rc = in.item[i].kind == INPUT_DOCUMENT ? gather_document(runs, &in.item[i], e)
                                               : gather_reference(k, runs, &in.item[i], e);
    if (rc == 0 && runs_count(runs) == 0)
        rc = err_set(e, -ENOENT, ERR_INPUT, k->options.reference, "holds no run");
    if (rc == 0) {
        reference_compare(&result, runs, k->runs);
        if (k->options.check && result.verdict != REFERENCE_WITHIN && k->status == 0)
            k->status = 1;
        if (k->json)
            report_reference_json(k->json, k->options.reference, &result);
        else
            report_reference_text(output_stream(k->text), k->options.reference, &result);
    }
    inputs_free(&in);
    runs_free(runs);
    return rc;
}

/* ---- spreadsheet ---- */

static int save_csv_instead(struct kvstat *k, struct err *e)
{
    struct output *csv = output_open();
    char *path = options_csv_path(k->options.xlsx);
    int rc = csv && path ? 0 : err_nomem(e, "report");
    if (rc == 0) {
        report_csv(output_stream(csv), k->series ? k->series : k->runs);
        rc = output_save(csv, path, e);
    }
    if (rc == 0)
        fprintf(stderr, "kvstat: --xlsx: this build has no libxlsxwriter: %s is CSV instead\n",
                path);
    free(path);
    output_free(csv);
    return rc;
}

static int save_xlsx(struct kvstat *k, struct err *e)
{
    struct xlsx *x = NULL;
    if (!xlsx_is_built())
        return save_csv_instead(k, e);
    int rc = xlsx_create(&x, k->options.xlsx, e);
    if (rc < 0)
        return rc;
    rc = report_xlsx(x, k->runs, k->series, k->several) ? xlsx_save(x, e)
                                                        : err_nomem(e, "spreadsheet");
    xlsx_free(x);
    return rc;
}

static int report_inputs(struct kvstat *k, const struct opt_parser *p, const char *const *files,
                         size_t n, struct err *e)
{
    struct inputs in = {0};
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = inputs_add(&in, files[i], e);
    k->runs = runs_create();
    if (rc == 0 && !k->runs)
        rc = err_nomem(e, "report");
    if (rc == 0 && in.table)
        rc = report_table(k, p, &in, e);
    else if (rc == 0)
        rc = k->options.merge ? report_pooled(k, files, n, e) : report_trials(k, files, n, e);
    if (rc == 0 && k->options.reference)
        rc = report_reference(k, e);
    if (rc == 0 && k->options.xlsx)
        rc = save_xlsx(k, e);
    inputs_free(&in);
    return rc;
}

/* A file that is no trace but can be drawn: the picture is all there is of it. */
static int plot_columns(struct kvstat *k, const struct opt_parser *p, const char *file,
                        enum columns_kind kind, struct err *e)
{
    struct columns *c = NULL;
    int rc =
        opt_refuse(p, e, "means nothing with --plot of a curve or rounds", "json", "csv", "xlsx",
                   "interval", "hgrm", "fio-job", "mlperf", "by", "merge", "reuse", "reference",
                   "profile", "check", "run", "output", "config", "skip-bad-rows", NULL);
    if (rc == 0)
        rc = columns_load(&c, file, e);
    if (rc == 0)
        rc = plot_save_columns(k->options.plot, c, kind, e);
    columns_free(c);
    return rc;
}

static int report_all(struct kvstat *k, const struct opt_parser *p, struct err *e)
{
    static const char *const standard_input[] = {"-"};
    const char *const *files;
    size_t n = opt_operands(p, &files);
    if (n == 0) {
        files = standard_input;
        n = 1;
    }
    enum columns_kind kind = k->options.plot ? columns_kind_of(files[0]) : COLUMNS_NONE;
    if (kind != COLUMNS_NONE)
        return plot_columns(k, p, files[0], kind, e);
    if (k->options.verify_trace)
        return verify_each(k, files, n, e);
    if (k->options.compare.count > 0)
        return report_comparison(k, files, n, e);
    return report_inputs(k, p, files, n, e);
}

static int run(struct kvstat *k, const struct opt_parser *p, int argc, char **argv, struct err *e)
{
    int64_t started = clock_wall_ns();
    int rc = read_targets(k, e);
    if (rc < 0)
        return rc;
    k->scan.by = k->options.by;
    k->scan.interval_ns = k->options.interval_ns;
    if (k->options.plot && k->scan.interval_ns == 0)
        k->scan.interval_ns = -1;
    k->scan.threads = (unsigned)k->options.threads;
    k->scan.skip_bad_rows = k->options.skip_bad_rows;
    k->scan.progress = progress_open(stderr, "kvstat", (enum progress_mode)k->options.progress,
                                     INT64_C(1000000000));
    k->text = k->options.json ? NULL : output_open();
    k->json = k->options.json ? jsonout_create() : NULL;
    bool series = (k->options.csv || k->options.xlsx) && k->options.interval_ns > 0;
    k->series = series ? runs_create() : NULL;
    if (!k->scan.progress || (!k->text && !k->json) || (series && !k->series)) {
        rc = err_nomem(e, "report");
        goto out;
    }
    if (k->json)
        jsonout_identity(k->json, "kvstat", argc, argv, started);
    rc = report_all(k, p, e);
    if (rc == 0 && k->options.csv)
        report_csv(output_stream(k->text), k->series ? k->series : k->runs);
    if (rc == 0)
        rc = k->json ? jsonout_save(k->json, k->options.output, e)
                     : output_save(k->text, k->options.output, e);
out:
    jsonout_free(k->json);
    output_free(k->text);
    runs_free(k->runs);
    runs_free(k->series);
    progress_close(k->scan.progress);
    return rc;
}

int main(int argc, char **argv)
{
    struct kvstat k = {0};
    struct err e = {0};
    struct opt_parser *p = options_open(&k.options);
    int rc = p ? options_parse(p, &k.options, argc, argv, &e) : err_nomem(&e, "options");
    if (rc == 1)
        fputs(opt_answer(p), stdout);
    if (rc == 0)
        rc = stop_install(&e);
    if (rc == 0)
        rc = run(&k, p, argc, argv, &e);
    if (rc < 0 && !(rc == -EINTR && stop_signal()))
        k.status = complain(&e);
    opt_close(p);
    if (fflush(stdout) != 0 && k.status == 0) {
        fprintf(stderr, "kvstat: standard output: %s\n", strerror(errno));
        k.status = 1;
    }
    return stop_exit_status(k.status);
}
