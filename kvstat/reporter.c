/* From a file to its report in every form that was asked for: scan, run, figures, verdict, then
 * text or JSON, and the rows, pictures and files made of the same figures. Which files, and what is
 * said of several together, is the caller's. */
#include "kvstat/reporter.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/reuse.h"
#include "kvstat/report/hgrm.h"
#include "kvstat/report/plot.h"
#include "kvstat/report/report.h"
#include "lib/base/units.h"
#include "lib/conf/conf.h"

int answer_complain(const struct err *e)
{
    char line[1100];
    err_format(e, "kvstat", line, sizeof(line));
    fprintf(stderr, "%s\n", line);
    return err_exit_status(e);
}

int answer_configure(struct answer *a, struct err *e)
{
    static const char *const percentiles[] = {"p95", "p99", "p999", "p9999"};
    struct conf *conf = NULL;
    const char *warning;
    int rc = conf_open(&conf, a->options.config, e);
    if (rc < 0)
        return rc;
    for (size_t i = 0; (warning = conf_warning(conf, i)) != NULL; i++)
        fprintf(stderr, "kvstat: %s\n", warning);
    for (unsigned q = 0; q < TRACE_QOSES; q++) {
        for (unsigned p = 0; p < 4; p++) {
            char path[96];
            snprintf(path, sizeof(path), "qos_profiles.%s.target_latency_%s_ms", trace_qos_text(q),
                     percentiles[p]);
            a->targets[q].ms[p] = conf_f64(conf, path);
        }
        a->scan.target_ns[q] = llround(a->targets[q].ms[0] * 1e6);
    }
    a->limits.write_device_p95_ms = conf_f64(conf, "storage_health.write_device_p95_ms");
    a->limits.read_device_p95_ms = conf_f64(conf, "storage_health.read_device_p95_ms");
    a->limits.cpu_p95_ms = conf_f64(conf, "storage_health.cpu_p95_ms");
    a->limits.hit_rate = conf_f64(conf, "storage_health.hit_rate");
    conf_free(conf);
    return 0;
}

static void judge(struct answer *a, struct figures *f, struct assess *verdict)
{
    if (a->options.profile == ASSESS_NONE)
        return;
    assess_figures(verdict, (enum assess_profile)a->options.profile, &a->limits, f);
    f->assess = verdict;
    if (a->options.check && !assess_passed(verdict) && a->status == 0)
        a->status = 1;
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

static int put_report(struct answer *a, const struct figures *f, struct err *e)
{
    int rc = 0;
    if (a->json && !a->hidden && a->several)
        jsonout_object(a->json, NULL);
    if (a->json && !a->hidden)
        report_json(a->json, f);
    if (a->json && !a->hidden && a->several)
        jsonout_end(a->json);
    if (!a->json && !a->hidden && !a->several && !a->options.csv)
        report_text(output_stream(a->text), f);
    if (a->runs)
        rc = runs_add(a->runs, f, e);
    if (rc == 0 && a->series)
        rc = runs_add_series(a->series, f, e);
    if (rc == 0 && a->options.hgrm)
        rc = hgrm_save(a->options.hgrm, f, e);
    if (rc == 0 && a->options.plot)
        rc = plot_save(a->options.plot, f, e);
    if (rc == 0 && a->options.fio_job)
        rc = save_fio_job(a->options.fio_job, f, e);
    return rc == 0 && a->options.mlperf ? save_mlperf(a->options.mlperf, f, e) : rc;
}

/* A second pass over what the first has found readable; a cut was complained of then. */
static int add_reuse(const struct answer *a, struct reuse **reuse, const char *file, struct err *e)
{
    if (!a->options.reuse)
        return 0;
    int rc = reuse_file(reuse, file, a->options.skip_bad_rows, e);
    return rc == -EBADMSG && *reuse ? 0 : rc;
}

static int add_report(struct answer *a, const struct scan *scan, const char *const *files, size_t n,
                      struct err *e)
{
    struct figures f;
    struct assess verdict;
    struct reuse *reuse = NULL;
    struct run run;
    /* Pooled files were made by several runs: what one of them tells is not true of all. */
    bool one = scan->files == 1;
    int rc = run_read(&run, a->options.run, one ? scan->summary : NULL,
                      one ? scan->provenance : NULL, e);
    if (rc == 0)
        rc = add_reuse(a, &reuse, files[0], e);
    if (rc == 0) {
        figures_compute(&f, files, n, scan, &run, a->targets);
        judge(a, &f, &verdict);
        f.reuse = reuse;
        rc = put_report(a, &f, e);
    }
    reuse_free(reuse);
    return rc;
}

static void tell_bad_rows(const struct scan *s)
{
    if (s->bad_rows > 0)
        fprintf(stderr, "kvstat: %llu bad row%s skipped, the first: %s\n",
                (unsigned long long)s->bad_rows, units_plural(s->bad_rows),
                s->first_bad ? s->first_bad : "");
}

/* Of a stream the summary comes after the rows, when they have been counted. */
static void tell_warmup(const struct answer *a, const struct scan *s, const char *path)
{
    if (a->scan.warmup_ns < 0 && agg_result(s->agg) &&
        s->warmup_ns < provenance_warmup_ns(s->summary))
        fprintf(stderr,
                "kvstat: %s: its warm-up of %g s is counted, for that is told after the rows: "
                "give --warmup\n",
                path, (double)provenance_warmup_ns(s->summary) / 1e9);
}

/* --run tells of a warm-up before the rows are read. */
static int set_warmup(struct answer *a, struct err *e)
{
    struct run run;
    if (a->scan.warmup_ns >= 0 || !a->options.run)
        return 0;
    int rc = run_read(&run, a->options.run, NULL, NULL, e);
    if (rc == 0 && run.warmup_ns >= 0)
        a->scan.warmup_ns = run.warmup_ns;
    return rc;
}

/* Scans one file; a cut one is reported as far as it goes, and remembered in the exit status. */
static int scan_one(struct answer *a, struct scan **scan, const char *path, struct err *e)
{
    int rc = set_warmup(a, e);
    if (rc == 0)
        rc = scan_file(scan, path, &a->scan, e);
    if (a->scan.progress)
        progress_clear(a->scan.progress);
    if (rc == -EBADMSG && *scan) {
        a->status = answer_complain(e);
        rc = 0;
    }
    if (rc == 0)
        tell_bad_rows(*scan);
    if (rc == 0)
        tell_warmup(a, *scan, path);
    return rc;
}

/* The scan of a file that is the only one goes to *only, unless that is NULL. */
int answer_add(struct answer *a, const char *const *files, size_t n, struct scan **only,
               struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct scan *scan = NULL;
        rc = scan_one(a, &scan, files[i], e);
        if (rc == 0)
            rc = add_report(a, scan, &files[i], 1, e);
        if (rc == 0 && only && n == 1)
            *only = scan;
        else
            scan_free(scan);
    }
    return rc;
}

int answer_add_pool(struct answer *a, const char *const *files, size_t n, struct err *e)
{
    struct scan *pool = NULL;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct scan *scan = NULL;
        rc = scan_one(a, &scan, files[i], e);
        if (rc == 0 && pool) {
            rc = scan_merge(pool, scan, e);
        } else if (rc == 0) {
            pool = scan;
            scan = NULL;
        }
        scan_free(scan);
    }
    if (rc == 0 && pool)
        rc = add_report(a, pool, files, n, e);
    scan_free(pool);
    return rc;
}

void answer_verdict(const struct answer *a)
{
    if (a->options.profile != ASSESS_NONE)
        report_assess_runs(output_stream(a->text), a->runs,
                           assess_profile_names[a->options.profile]);
}
