/* The middle of kvstat: each thread takes batches of rows from its cursor, counts them in its own
 * aggregate, and gives the sums that depend on the order of rows to file_order. At the end the
 * aggregates are merged. Figures are made of the counts in report/figures. */
#include "kvstat/count/scan.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/file_order.h"
#include "kvstat/count/provenance.h"
#include "lib/base/thread.h"
#include "lib/base/units.h"
#include "lib/trace/read.h"

struct worker {
    unsigned number;
    bool started;
    pthread_t thread;
    struct trace_reader *reader;
    struct trace_cursor *cursor; /* all are open before any one reads: trace.h */
    struct file_order *order;
    struct progress *progress; /* the first worker's only */
    struct agg *agg;           /* the first worker's are those of the scan */
    struct series *series;     /* NULL: not asked for */
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

/* Counts the rows of the worker's cursor. *piece is the one that is being filled at the end. */
static int count_batches(struct worker *w, struct file_order_piece **piece)
{
    const struct trace_row *rows;
    uint64_t number = UINT64_MAX;
    size_t n;
    int rc;
    while ((rc = trace_cursor_next(w->cursor, &rows, &n, &w->err)) == 1) {
        if (trace_cursor_piece(w->cursor) != number) {
            number = trace_cursor_piece(w->cursor);
            *piece = file_order_next(w->order, w->number, *piece, number);
            if (!*piece)
                return err_nomem(&w->err, "requests");
        }
        rc = agg_add(w->agg, rows, n, &w->err);
        if (rc == 0)
            rc = file_order_add(*piece, rows, n, &w->err);
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
    struct file_order_piece *piece = NULL;
    w->rc = count_batches(w, &piece);
    file_order_next(w->order, w->number, piece, UINT64_MAX);
    trace_cursor_close(w->cursor);
    w->cursor = NULL;
    return NULL;
}

/* Runs the workers to their end. Returns their first error, but a cut file's only when there is no
 * other. */
static int run_workers(struct worker *w, unsigned n, struct err *e)
{
    const struct worker *worst = NULL;
    for (unsigned i = 1; i < n; i++) {
        w[i].started = thread_start(&w[i].thread, worker_run, &w[i]) == 0;
        if (!w[i].started) /* the others do its work */
            file_order_next(w[i].order, i, NULL, UINT64_MAX);
    }
    worker_run(&w[0]);
    for (unsigned i = 1; i < n; i++)
        if (w[i].started)
            pthread_join(w[i].thread, NULL);
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
    return o->interval_ns == SCAN_SERIES_AUTO ? series_create_auto(result)
                                              : series_create(result, o->interval_ns);
}

/* Gives each worker what it counts into; the reader and the order are set. */
static int open_workers(struct worker *w, const struct scan_opts *o, struct scan *s, struct err *e)
{
    for (unsigned i = 0; i < o->threads; i++) {
        w[i].number = i;
        w[i].progress = i == 0 ? o->progress : NULL;
        w[i].agg = i == 0 ? s->agg : agg_create(o->by, s->columns);
        if (!w[i].agg)
            return err_nomem(e, "groups");
        if (o->most_groups > 0)
            agg_limit(w[i].agg, o->most_groups);
        agg_leave_out(w[i].agg, s->warmup_ns);
        agg_take_gaps(w[i].agg, s->gaps);
        int rc = trace_cursor_open(&w[i].cursor, w[i].reader, e);
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

/* All rows were read, or all before a cut: merges the counts of the threads. */
static int merge_workers(struct scan *s, struct worker *w, unsigned n, struct err *e)
{
    int rc = file_order_finish(w[0].order, &s->occupancy, e);

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
    bool result = agg_is_result(s->columns);
    struct err late = {0};
    struct file_order *order = NULL;
    struct worker *w = calloc(o->threads, sizeof(*w));
    int rc = -ENOMEM;

    s->agg = agg_create(o->by, s->columns);
    s->requests = requests_create(result, o->target_ns);
    if (o->interval_ns != SCAN_NO_SERIES)
        s->series = new_series(o, result);
    if (o->follow && result)
        s->sequences = sequences_create(o->by & ~(unsigned)GROUPS_USER);
    if (s->requests && s->sequences)
        requests_follow(s->requests);
    if (s->requests)
        order = file_order_create(o->threads, result, s->warmup_ns, s->requests, s->sequences);
    if (!w || !s->agg || !order || (o->follow && result && !s->sequences) ||
        (o->interval_ns != SCAN_NO_SERIES && !s->series)) {
        err_nomem(e, "counters");
        goto out;
    }
    for (unsigned i = 0; i < o->threads; i++) {
        w[i].reader = reader;
        w[i].order = order;
    }
    rc = open_workers(w, o, s, e);
    if (rc < 0)
        goto out;
    rc = run_workers(w, o->threads, e);
    if (rc < 0 && rc != -EBADMSG && rc != -EINTR)
        goto out;
    s->cut = rc == -EBADMSG;
    s->interrupted = rc == -EINTR;
    int end = merge_workers(s, w, o->threads, &late);
    if (end < 0) {
        rc = end;
        *e = late;
    }
out:
    file_order_free(order);
    for (unsigned i = 0; w && i < o->threads; i++) {
        trace_cursor_close(w[i].cursor);
        if (i > 0) {
            agg_free(w[i].agg);
            series_free(w[i].series);
        }
    }
    free(w);
    return rc;
}

/* A result whose end is missing: how long the run had lasted, and what is left of it. */
static void explain_cut(const struct scan *s, const struct trace_reader *reader, struct err *e)
{
    const struct agg_totals *t = agg_totals(s->agg);
    enum trace_end end = trace_end(reader);
    char lasted[48], rows[32];
    struct err inner = *e;

    /* What others compressed was not cut by a kill. */
    if (!agg_is_result(s->columns) || end == TRACE_END_DAMAGED ||
        (end == TRACE_END_CUT && !trace_is_own(reader)))
        return;
    units_format_duration(lasted, sizeof(lasted), (double)(t->end_ns > 0 ? t->end_ns : 0));
    units_format_count(rows, sizeof(rows), t->rows);
    if (end == TRACE_END_UNFINISHED)
        err_set(e, inner.code, inner.class, inner.where,
                "incomplete: the run was killed after %s; %s row%s recovered",
                t->rows ? lasted : "its start", rows, units_plural(t->rows));
    else
        err_set(e, inner.code, inner.class, inner.where,
                "incomplete: the run was killed after %s, or the file was cut there: %s",
                t->rows ? lasted : "its start", inner.what);
}

static int copy_text(char **out, const char *text, struct err *e)
{
    *out = text ? strdup(text) : NULL;
    return text && !*out ? err_nomem(e, "text of the file's frames") : 0;
}

/* A file of ours begins and ends with a Note, and has no others. NULL: it is so, or it has none. */
static const char *odd_notes(struct trace_notes n)
{
    if (n.count == 0 || (n.count == 2 && n.first && n.last))
        return NULL;
    if (!n.first)
        return "its first row is missing, or its rows are not in their order";
    if (n.count == 1)
        return "its last row is missing: it is cut, or was still being written";
    return "it is made of several files, or its rows are not in their order";
}

int scan_file(struct scan **out, const char *path, const struct scan_opts *o, struct err *e)
{
    struct trace_read_opts read = {
        .want = AGG_COLUMNS, .skip_bad_rows = o->skip_bad_rows, .patient = true};
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
    if (agg_is_result(s->columns)) {
        /* Only a file with a seek table has its summary before its rows. */
        s->warmup_ns = o->warmup_ns == SCAN_WARMUP_AUTO
                           ? provenance_warmup_ns(trace_summary(reader))
                           : o->warmup_ns;
    } else if (o->warmup_ns > 0) {
        rc = err_set(e, -EINVAL, ERR_INPUT, "--warmup", "%s is a trace: nothing ran", path);
        goto out;
    }
    if (agg_is_result(s->columns)) {
        /* Of a stream, the gaps come after the rows: then what the replay says of them counts. */
        rc = gaps_read(&s->gaps, o->run, trace_summary(reader), e);
        if (rc < 0)
            goto out;
    }
    rc = count_file(s, reader, o, e);
    if (rc == -EOVERFLOW && !e->where[0]) { /* of several files, which one? */
        struct err inner = *e;
        err_set(e, rc, inner.class, trace_name(reader), "%s", inner.what);
    }
    s->interrupted = rc == -EINTR && agg_totals(s->agg)->rows > 0;
    if (rc < 0 && !s->cut && !s->interrupted)
        goto out;
    if (s->cut)
        explain_cut(s, reader, e);
    s->odd_notes = s->cut || s->interrupted ? NULL : odd_notes(trace_notes(reader));
    const char *first_bad = NULL;
    s->bad_rows = trace_bad_rows(reader, &first_bad);
    int kept = copy_text(&s->first_bad, s->bad_rows ? first_bad : NULL, &late);
    if (kept == 0)
        kept = copy_text(&s->provenance, trace_provenance(reader), &late);
    if (kept == 0)
        kept = copy_text(&s->summary, trace_summary(reader), &late);
    if (kept < 0) {
        rc = kept;
        *e = late;
    }
out:
    trace_close(reader);
    if (rc == 0 || (rc == -EBADMSG && s->cut) || (rc == -EINTR && s->interrupted))
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
    if (rc == 0 && into->sequences && sequences_merge(into->sequences, from->sequences) < 0)
        rc = err_nomem(e, "series");
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < TRACE_TIERS; i++) {
        struct occupancy_tier *t = &into->occupancy.tier[i];
        const struct occupancy_tier *f = &from->occupancy.tier[i];
        t->peak_bytes = f->peak_bytes > t->peak_bytes ? f->peak_bytes : t->peak_bytes;
        t->peak_objects = f->peak_objects > t->peak_objects ? f->peak_objects : t->peak_objects;
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
    sequences_free(s->sequences);
    gaps_free(s->gaps);
    free(s->first_bad);
    free(s->provenance);
    free(s->summary);
    free(s);
}
