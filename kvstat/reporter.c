/* From a file to its report in every form that was asked for: scan, figures, verdict, then text or
 * JSON, and the tables, pictures and files made of the same figures. kvstat.c decides which files,
 * and what is said of several together. */
#include "kvstat/reporter.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/provenance.h"
#include "kvstat/count/reuse.h"
#include "kvstat/draw/page.h"
#include "kvstat/draw/plot.h"
#include "kvstat/mlperf/results.h"
#include "kvstat/report/exports.h"
#include "kvstat/report/report.h"
#include "kvstat/screen/screen.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/conf/conf.h"
#include "lib/facts/runs.h"

int reporter_complain(const struct err *e)
{
    char line[1100];
    err_format(e, "kvstat", line, sizeof(line));
    fprintf(stderr, "%s\n", line);
    return err_exit_status(e);
}

void reporter_judged(struct reporter *r, enum verdict_outcome outcome)
{
    bool free = r->status == 0 || r->status == REPORTER_INCONCLUSIVE;
    if (outcome == VERDICT_FAIL && free)
        r->status = 1;
    else if (outcome == VERDICT_INCONCLUSIVE && r->status == 0)
        r->status = REPORTER_INCONCLUSIVE;
}

void reporter_configure(struct reporter *r)
{
    static const char *const percentiles[FIGURES_TARGETS] = {"p95", "p99", "p999", "p9999"};
    const struct conf *conf = r->options.conf;
    for (unsigned q = 0; q < TRACE_QOSES; q++) {
        for (unsigned p = 0; p < FIGURES_TARGETS; p++) {
            char path[96];
            snprintf(path, sizeof(path), "qos_profiles.%s.target_latency_%s_ms", trace_qos_text(q),
                     percentiles[p]);
            r->targets[q].ms[p] = conf_f64(conf, path);
        }
        r->scan.target_ns[q] = llround(r->targets[q].ms[0] * 1e6);
    }
    r->limits.write_p95_ms = conf_f64(conf, "storage_health.write_device_p95_ms");
    r->limits.read_p95_ms = conf_f64(conf, "storage_health.read_device_p95_ms");
    r->limits.cpu_p95_ms = conf_f64(conf, "storage_health.cpu_p95_ms");
    r->limits.hit_rate = conf_f64(conf, "storage_health.hit_rate");
}

/* ---- from a file to its counts ---- */

/* Scans one file. A cut one, and one that a signal ended, is reported as far as it goes, and kept
 * in the exit status. */
static int scan_one(struct reporter *r, struct scan **out, const char *path, struct err *e)
{
    struct scan *s = NULL;
    int rc = 0;
    if (r->scan.warmup_ns == SCAN_WARMUP_AUTO && r->options.run) {
        struct provenance p; /* its warm-up is needed before the rows are read */
        rc = provenance_read(&p, r->options.run, NULL, NULL, e);
        if (rc == 0 && p.warmup_ns >= 0)
            r->scan.warmup_ns = p.warmup_ns;
        provenance_free(&p);
    }
    if (rc == 0)
        rc = scan_file(&s, path, &r->scan, e);
    if (r->scan.progress)
        progress_clear(r->scan.progress);
    if (s && (rc == -EBADMSG || rc == -EINTR)) {
        r->status = reporter_complain(e);
        rc = 0;
    }
    if (rc < 0)
        return rc;
    *out = s;
    if (s->bad_rows > 0)
        fprintf(stderr, "kvstat: %llu bad row%s skipped, the first: %s\n",
                (unsigned long long)s->bad_rows, units_plural(s->bad_rows),
                s->first_bad ? s->first_bad : "");
    if (s->odd_notes)
        fprintf(stderr, "kvstat: %s: %s\n", path, s->odd_notes);
    /* In a stream the summary comes after the rows, which have then been counted. */
    if (r->scan.warmup_ns == SCAN_WARMUP_AUTO && agg_result(s->agg) &&
        s->warmup_ns < provenance_warmup_ns(s->summary))
        fprintf(stderr,
                "kvstat: %s: the warm-up of %g s is included, because a stream states it after its "
                "rows: give --warmup\n",
                path, (double)provenance_warmup_ns(s->summary) / 1e9);
    return 0;
}

/* ---- from counts to a report ---- */

/* Rows have their times in microseconds at least. */
#define ENDED_S 10e-6

/* Reads the provenance of one file's rows. run: --run, or NULL; it must be of the run that made the
 * rows. *p is to be freed in any case. */
static int read_provenance(struct provenance *p, const struct scan *s, const char *run,
                           struct err *e)
{
    const struct agg_totals *t = agg_totals(s->agg);
    bool whole = agg_result(s->agg) && !s->cut && s->bad_rows == 0;
    struct provenance given, carried;
    int rc = provenance_read(p, run, s->summary, s->provenance, e);
    if (rc == 0 && agg_result(s->agg))
        provenance_of_result(p, s->columns & TRACE_BIT(TRACE_COL_SLOT));
    if (rc < 0 || !run)
        return rc;
    rc = provenance_read(&given, run, NULL, NULL, e);
    if (rc == 0) {
        rc = provenance_read(&carried, NULL, s->summary, s->provenance, e);
        const char *digest = facts_text(&given.facts, FACT_DIGEST);
        const char *other = facts_text(&carried.facts, FACT_DIGEST);
        double elapsed_s = facts_number(&given.facts, FACT_ELAPSED_S);
        bool counted = whole && given.facts.of[FACT_ROWS].known;
        if (rc == 0 && digest[0] && other[0] && strcmp(digest, other) != 0)
            rc = err_set(e, -EINVAL, ERR_INPUT, run,
                         "is of another trace than the rows (digest %s, not %s)", digest, other);
        if (rc == 0 && counted && runs_rows(&given.facts) != t->rows)
            rc = err_set(e, -EINVAL, ERR_INPUT, run,
                         "is of another run: it counted %llu rows, the file has %llu",
                         (unsigned long long)runs_rows(&given.facts), (unsigned long long)t->rows);
        /* Runs of one length are told apart by when they ended. */
        if (rc == 0 && counted && t->end_ns > 0 &&
            fabs(elapsed_s - (double)t->end_ns / 1e9) > ENDED_S)
            rc = err_set(e, -EINVAL, ERR_INPUT, run,
                         "is of another run: that ended after %.6f s, the file's last row after "
                         "%.6f s",
                         elapsed_s, (double)t->end_ns / 1e9);
        provenance_free(&carried);
    }
    provenance_free(&given);
    return rc;
}

/* Creates the figures of source, to which the provenance is added (NULL: that of its one file).
 * run:
 * --run, or NULL. */
static int make_figures(struct figures **out, struct figures_source source,
                        const struct provenance *pooled, const char *run, struct err *e)
{
    struct provenance p;
    int rc = 0;
    provenance_clear(&p);
    if (source.scan->interrupted) /* nothing more is read */
        run = NULL;
    if (!pooled)
        rc = read_provenance(&p, source.scan, run, e);
    source.provenance = pooled ? pooled : &p;
    if (source.provenance->by_keys)
        requests_forget(source.scan->requests);
    if (rc == 0) {
        rc = figures_create(out, &source, e);
    } else {
        scan_free(source.scan);
        reuse_free(source.reuse);
    }
    provenance_free(&p);
    return rc;
}

static int save_fio_job(const char *path, const struct figures *f, struct err *e)
{
    struct output *job = output_open();
    size_t n;
    if (!job)
        return err_nomem(e, "fio job");
    int rc =
        export_fio_job(output_stream(job), f)
            ? output_save(job, path, e)
            : err_set(e, -EINVAL, ERR_INPUT, "--fio-job",
                      "%s holds no replayed reads or writes of Tier-2", figures_files(f, &n)[0]);
    output_free(job);
    return rc;
}

static int save_mlperf(const struct reporter *r, const struct figures *f, struct err *e)
{
    struct jsonout *j = jsonout_create();
    struct mlperf_rank rank;
    size_t n;
    if (!j)
        return err_nomem(e, "results");
    int rc = mlperf_results(j, f, &r->limits, &rank)
                 ? jsonout_save(j, r->options.mlperf, e)
                 : err_set(e, -EINVAL, ERR_INPUT, "--mlperf",
                           "%s is a trace: results are those of a replay", figures_files(f, &n)[0]);
    jsonout_free(j);
    return rc;
}

static int save_plot(const char *path, const struct figures *f, struct err *e)
{
    struct plot *plot = NULL;
    int rc = plot_open(&plot, f, NULL, e);
    if (rc == 0)
        rc = plot_save(path, plot, e);
    plot_close(plot);
    return rc;
}

/* Puts the report to all that takes one. verdict: NULL: not asked for. */
static int put_report(struct reporter *r, const struct figures *f, const struct verdict *verdict,
                      struct err *e)
{
    const struct options *o = &r->options;
    int rc = 0;
    size_t n;
    if (r->json && !r->hidden && r->several) {
        jsonout_object(r->json, NULL);
        report_json(r->json, f);
        jsonout_end(r->json);
    } else if (r->json && !r->hidden) {
        report_json(r->json, f);
    } else if (!r->hidden && !r->several && !o->csv) {
        if (o->full) {
            report_text(output_stream(r->text), f, verdict);
        } else {
            screen_run(output_stream(r->text), f, verdict);
            report_text_asked(output_stream(r->text), f);
        }
    }
    if (r->runs)
        rc = run_table_add(r->runs, f, e);
    if (rc == 0 && r->series)
        rc = run_table_add_series(r->series, f, e);
    if (rc == 0 && o->hgrm)
        rc = export_hgrm(o->hgrm, f, e);
    if (rc == 0 && o->plot && !r->hidden)
        rc = save_plot(o->plot, f, e);
    const struct page page = {.run = {f, NULL}, .argc = r->argc, .argv = r->argv};
    if (rc == 0 && o->html && !r->hidden)
        rc = page_save(o->html, &page, e);
    if (rc == 0 && o->fio_job)
        rc = save_fio_job(o->fio_job, f, e);
    if (rc == 0 && r->mlperf)
        rc = run_folder_add(r->mlperf, f, &r->limits, e);
    else if (rc == 0 && o->mlperf)
        rc = save_mlperf(r, f, e);
    if (rc == 0 && o->mlperf && !mlperf_knows_tokens(f))
        fprintf(stderr,
                "kvstat: --mlperf: %s tells no tokens: their rates are unknown and left out\n",
                figures_files(f, &n)[0]);
    return rc;
}

/* Takes the scan of source. pooled: of several files, else NULL. The figures go to *keep unless
 * keep is NULL. */
static int add_report(struct reporter *r, struct figures_source *source,
                      const struct provenance *pooled, struct figures **keep, struct err *e)
{
    const struct verdict_asked asked = r->options.asked;
    struct figures *f = NULL;
    struct verdict verdict;
    int rc = 0;
    source->targets = r->targets;
    if (r->options.reuse)
        rc = reuse_file(&source->reuse, source->files[0], r->options.skip_bad_rows, e);
    /* The scan has complained of a cut, or of a signal. */
    if (rc < 0 && !(rc == -EBADMSG && source->reuse) && !source->scan->interrupted) {
        scan_free(source->scan);
        return rc;
    }
    rc = make_figures(&f, *source, pooled, r->options.run, e);
    if (rc < 0)
        return rc;
    verdict_judge(&verdict, asked, &r->limits, f);
    if (figures_failed(f)) {
        rc = err_nomem(e, "figures");
        goto out;
    }
    if (verdict_is_asked(asked) && r->options.check)
        reporter_judged(r, verdict.outcome);
    rc = put_report(r, f, verdict_is_asked(asked) ? &verdict : NULL, e);
out:
    if (rc == 0 && keep)
        *keep = f;
    else
        figures_free(f);
    return rc;
}

int reporter_add(struct reporter *r, const char *const *files, size_t n, struct figures **only,
                 struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct figures_source source = {.files = &files[i], .file_count = 1};
        rc = scan_one(r, &source.scan, files[i], e);
        if (rc == -EINTR && stop_signal() && i > 0) /* the report is on the files before */
            return 0;
        if (rc == 0)
            rc = add_report(r, &source, NULL, n == 1 ? only : NULL, e);
    }
    return rc;
}

/* Takes what came with a file, which may be the only one, into what is true of all. 1: the file is
 * left out. */
static int pool_provenance(struct reporter *r, struct provenance *all, const struct scan *s,
                           bool only, const char *path, struct err *e)
{
    struct provenance p;
    int rc = read_provenance(&p, s, NULL, e);
    if (rc == 0 && r->ranks)
        rc = parts_take(r->ranks, path, s, &p, e);
    if (rc == 0 && only) {
        *all = p;
        return 0;
    }
    if (rc == 0)
        rc = provenance_pool(all, &p, path, e);
    provenance_free(&p);
    return rc;
}

int reporter_add_pool(struct reporter *r, const char *const *files, size_t n, struct err *e)
{
    struct figures_source pool = {.files = files, .file_count = n, .parts = r->ranks != NULL};
    struct provenance all;
    int rc = 0;
    if (n == 1 && !r->ranks)
        return reporter_add(r, files, n, NULL, e);
    provenance_clear(&all);
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct scan *scan = NULL;
        rc = scan_one(r, &scan, files[i], e);
        if (rc == 0)
            rc = pool_provenance(r, &all, scan, n == 1, files[i], e);
        if (rc > 0) {
            rc = 0;
        } else if (rc == 0 && pool.scan) {
            rc = scan_merge(pool.scan, scan, e);
        } else if (rc == 0) {
            pool.scan = scan;
            scan = NULL;
        }
        scan_free(scan);
    }
    if (rc == 0 && !pool.scan)
        rc = err_set(e, -ENODATA, ERR_INPUT, "--ranks", "no part has any row");
    if (rc == 0 && r->ranks) {
        parts_settle(r->ranks, &all);
        rc = scan_end_run(pool.scan, e);
    }
    if (rc == 0 && pool.scan)
        rc = add_report(r, &pool, &all, NULL, e);
    else
        scan_free(pool.scan);
    provenance_free(&all);
    return rc;
}

int reporter_gather(struct reporter *r, struct run_table *runs, const char *file, struct err *e)
{
    const char *const files[] = {file};
    struct figures_source source = {.files = files, .file_count = 1, .targets = r->targets};
    struct scan_opts opts = r->scan;
    struct figures *f = NULL;
    opts.interval_ns = SCAN_NO_SERIES;
    int rc = scan_file(&source.scan, file, &opts, e);
    if (r->scan.progress)
        progress_clear(r->scan.progress);
    if (rc < 0) {
        scan_free(source.scan);
        return rc;
    }
    rc = make_figures(&f, source, NULL, NULL, e);
    if (rc == 0)
        rc = run_table_add(runs, f, e);
    figures_free(f);
    return rc;
}
