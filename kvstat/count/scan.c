/* The middle of kvstat: each thread takes batches of rows from its cursor, counts them in its own
 * aggregate and hands the order-dependent sums to order; in the end the aggregates are merged. */
#include "kvstat/count/scan.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/file_order.h"
#include "kvstat/run.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/trace/read.h"

struct worker {
    unsigned number;
    bool started;
    pthread_t thread;
    struct trace_reader *reader;
    struct trace_cursor *cursor; /* all are open before one reads: trace.h */
    struct order *order;
    struct progress *progress; /* the first worker's only */
    struct agg *agg;
    struct series *series; /* NULL: not asked for */
    int rc;
    struct err err;
};

static void show_progress(struct worker *w)
{
    uint64_t done, total;
    char text[96], json[96], amount[32];
    if (!w->progress || !progress_due(w->progress))
        return;
    trace_progress(w->reader, &done, &total);
    units_format_bytes(amount, sizeof(amount), (double)done);
    if (total > 0)
        snprintf(text, sizeof(text), "%.0f %% of the file, %s",
                 100.0 * (double)done / (double)total, amount);
    else
        snprintf(text, sizeof(text), "%s read", amount);
    snprintf(json, sizeof(json), "{\"read_bytes\": %llu, \"total_bytes\": %llu}",
             (unsigned long long)done, (unsigned long long)total);
    progress_show(w->progress, text, json);
}

static int count_batches(struct worker *w, struct order_run **run)
{
    const struct trace_row *rows;
    uint64_t piece = UINT64_MAX;
    size_t n;
    int rc;
    while ((rc = trace_cursor_next(w->cursor, &rows, &n, &w->err)) == 1) {
        if (stop_signal())
            return -EINTR;
        if (trace_cursor_piece(w->cursor) != piece) {
            piece = trace_cursor_piece(w->cursor);
            *run = order_next(w->order, w->number, *run, piece);
            if (!*run)
                return err_nomem(&w->err, "requests");
        }
        rc = agg_add(w->agg, rows, n, &w->err);
        if (rc == 0)
            rc = order_run_add(*run, rows, n, &w->err);
        if (rc == 0 && w->series)
            rc = series_add(w->series, rows, n, &w->err);
        if (rc < 0)
            return rc;
        show_progress(w);
    }
    return rc;
}

static void *worker_run(void *arg)
{
    struct worker *w = arg;
    struct order_run *run = NULL;
    w->rc = count_batches(w, &run);
    order_next(w->order, w->number, run, UINT64_MAX);
    trace_cursor_close(w->cursor);
    w->cursor = NULL;
    return NULL;
}

static void run_workers(struct worker *w, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        w[i].started = pthread_create(&w[i].thread, NULL, worker_run, &w[i]) == 0;
        if (!w[i].started) /* the others do its work */
            order_next(w[i].order, i, NULL, UINT64_MAX);
    }
    worker_run(&w[0]);
    for (unsigned i = 1; i < n; i++)
        if (w[i].started)
            pthread_join(w[i].thread, NULL);
}

/* The workers' first error, but a cut only when there is no other. */
static int first_error(const struct worker *w, unsigned n, struct err *e)
{
    const struct worker *worst = NULL;
    for (unsigned i = 0; i < n; i++)
        if (w[i].rc < 0 && (!worst || (worst->rc == -EBADMSG && w[i].rc != -EBADMSG)))
            worst = &w[i];
    if (!worst)
        return 0;
    *e = worst->err;
    return worst->rc;
}

static struct series *new_series(const struct scan_opts *o, bool result)
{
    if (o->interval_ns == 0)
        return NULL;
    return o->interval_ns < 0 ? series_create_auto(result) : series_create(result, o->interval_ns);
}

static int create_workers(struct worker *w, const struct scan_opts *o, const struct scan *s,
                          struct trace_reader *reader, struct order *order, struct err *e)
{
    for (unsigned i = 0; i < o->threads; i++) {
        w[i].number = i;
        w[i].reader = reader;
        w[i].order = order;
        w[i].progress = i == 0 ? o->progress : NULL;
        w[i].agg = i == 0 ? s->agg : agg_create(o->by, s->columns);
        if (!w[i].agg)
            return err_nomem(e, "groups");
        agg_leave_out(w[i].agg, s->warmup_ns);
        int rc = trace_cursor_open(&w[i].cursor, reader, e);
        if (rc < 0)
            return rc;
        if (!s->series)
            continue;
        w[i].series = i == 0 ? s->series : new_series(o, agg_is_result(s->columns));
        if (!w[i].series)
            return err_nomem(e, "time series");
    }
    return 0;
}

static void free_workers(struct worker *w, unsigned n)
{
    for (unsigned i = 0; w && i < n; i++) {
        trace_cursor_close(w[i].cursor);
        if (i == 0)
            continue;
        agg_free(w[i].agg);
        series_free(w[i].series);
    }
    free(w);
}

/* What the file's rows are counted into; NULL: no memory. */
static struct order *create_counters(struct scan *s, const struct scan_opts *o)
{
    bool result = agg_is_result(s->columns);

    s->agg = agg_create(o->by, s->columns);
    s->requests = requests_create(result, o->target_ns);
    s->series = new_series(o, result);
    if (!s->agg || !s->requests || (o->interval_ns && !s->series))
        return NULL;
    return order_create(o->threads, result, s->requests);
}

/* All rows were read, or all before a cut: what the threads counted becomes one. */
static int merge_workers(struct scan *s, struct worker *w, unsigned n, struct order *order,
                         struct err *e)
{
    int rc = order_finish(order, &s->occupancy, e);

    for (unsigned i = 1; i < n && rc == 0; i++)
        rc = agg_merge(s->agg, w[i].agg, e);
    for (unsigned i = 1; i < n && rc == 0 && s->series; i++)
        rc = series_merge(s->series, w[i].series, e);
    if (rc == 0)
        rc = agg_end_file(s->agg, e);
    if (rc == 0 && requests_end_file(s->requests) < 0)
        rc = err_nomem(e, "requests");
    return rc;
}

static int count_file(struct scan *s, struct trace_reader *reader, const struct scan_opts *o,
                      struct err *e)
{
    struct err late = {0};
    struct worker *w = calloc(o->threads, sizeof(*w));
    struct order *order = create_counters(s, o);
    int rc = -ENOMEM;

    if (!w || !order) {
        err_nomem(e, "counters");
        goto out;
    }
    order_leave_out(order, s->warmup_ns);
    rc = create_workers(w, o, s, reader, order, e);
    if (rc < 0)
        goto out;
    run_workers(w, o->threads);
    rc = first_error(w, o->threads, e);
    if (rc < 0 && rc != -EBADMSG)
        goto out;
    s->cut = rc == -EBADMSG;
    int end = merge_workers(s, w, o->threads, order, &late);
    if (end < 0) {
        rc = end;
        *e = late;
    }
out:
    order_free(order);
    free_workers(w, o->threads);
    return rc;
}

static int copy_text(char **out, const char *text, struct err *e)
{
    *out = text ? strdup(text) : NULL;
    return text && !*out ? err_nomem(e, "text of the file's frames") : 0;
}

static int keep_frames(struct scan *s, const struct trace_reader *reader, struct err *e)
{
    const char *first = NULL;
    s->bad_rows = trace_bad_rows(reader, &first);
    int rc = copy_text(&s->first_bad, s->bad_rows ? first : NULL, e);
    if (rc == 0)
        rc = copy_text(&s->provenance, trace_provenance(reader), e);
    if (rc == 0)
        rc = copy_text(&s->summary, trace_summary(reader), e);
    return rc;
}

/* The summary is known before the rows only of a file with a seek table. */
static int set_warmup(struct scan *s, const char *path, const struct scan_opts *o,
                      const char *summary, struct err *e)
{
    bool result = agg_is_result(s->columns);
    if (!result && o->warmup_ns > 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--warmup", "%s is a trace: nothing ran", path);
    if (result)
        s->warmup_ns = o->warmup_ns >= 0 ? o->warmup_ns : run_warmup_ns(summary);
    return 0;
}

int scan_file(struct scan **out, const char *path, const struct scan_opts *o, struct err *e)
{
    struct trace_read_opts read = {.want = AGG_COLUMNS, .skip_bad_rows = o->skip_bad_rows};
    struct trace_reader *reader = NULL;
    struct err late = {0};
    if (o->by & GROUPS_USER)
        read.want |= TRACE_BIT(TRACE_COL_USER);
    struct scan *s = calloc(1, sizeof(*s));
    if (!s)
        return err_nomem(e, "counters");
    int rc = trace_open(&reader, path, &read, e);
    if (rc < 0)
        goto out;
    s->files = 1;
    s->columns = trace_columns(reader);
    rc = set_warmup(s, path, o, trace_summary(reader), e);
    if (rc == 0)
        rc = count_file(s, reader, o, e);
    if ((rc == 0 || rc == -EBADMSG) && s->requests && keep_frames(s, reader, &late) < 0) {
        rc = late.code;
        *e = late;
    }
out:
    trace_close(reader);
    if (rc == 0 || (rc == -EBADMSG && s->cut))
        *out = s;
    else
        scan_free(s);
    return rc;
}

bool scan_is_readable(const char *path)
{
    struct trace_read_opts read = {.want = AGG_COLUMNS};
    struct trace_reader *reader = NULL;
    if (trace_open(&reader, path, &read, NULL) < 0)
        return false;
    trace_close(reader);
    return true;
}

int scan_merge(struct scan *into, const struct scan *from, struct err *e)
{
    if (agg_result(into->agg) != agg_result(from->agg))
        return err_set(e, -EINVAL, ERR_INPUT, "--merge",
                       "traces and result files cannot be pooled: their times differ");
    int rc = agg_merge(into->agg, from->agg, e);
    if (rc == 0 && requests_merge(into->requests, from->requests) < 0)
        rc = err_nomem(e, "requests");
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < TRACE_TIERS; i++) {
        if (from->occupancy.tier[i].peak_bytes > into->occupancy.tier[i].peak_bytes)
            into->occupancy.tier[i].peak_bytes = from->occupancy.tier[i].peak_bytes;
        if (from->occupancy.tier[i].peak_objects > into->occupancy.tier[i].peak_objects)
            into->occupancy.tier[i].peak_objects = from->occupancy.tier[i].peak_objects;
    }
    into->files += from->files;
    into->columns &= from->columns;
    into->cut |= from->cut;
    into->bad_rows += from->bad_rows;
    return 0;
}

void scan_free(struct scan *s)
{
    if (!s)
        return;
    agg_free(s->agg);
    series_free(s->series);
    requests_free(s->requests);
    free(s->first_bad);
    free(s->provenance);
    free(s->summary);
    free(s);
}
