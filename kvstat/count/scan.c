/* The middle of kvstat: each thread takes batches of rows from its cursor, counts them in its own
 * aggregate, and gives the sums that depend on the order of rows to file_order. At the end the
 * aggregates are merged. Figures are made of the counts in report/figures. */
#include "kvstat/count/scan.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/file_order.h"
#include "kvstat/count/provenance.h"
#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/json/jsonout.h"
#include "lib/log/oplog.h"
#include "lib/thread/thread.h"
#include "lib/trace/read.h"

enum {
    LOG_PIECE = 4096 /* rows of a log that are summed before they are appended in order */
};

struct worker {
    unsigned number;
    bool started;
    pthread_t thread;
    struct oplog_reader *log; /* of another client, read by one worker; NULL: a file of ours */
    struct trace_reader *reader;
    struct trace_cursor *cursor; /* all are open before any one reads: trace.h */
    struct file_order *order;
    struct progress *progress; /* the first worker's only */
    int64_t began_ns;
    struct agg *agg;       /* the first worker's are those of the scan */
    struct series *series; /* NULL: not asked for */
    int rc;
    struct err err;
};

static void show_progress(struct worker *w)
{
    uint64_t done, total;
    char text[96], json[96], brief[96], amount[32], all[32], left[16], rate[32];
    if (!w->progress || !progress_due(w->progress))
        return;
    trace_progress(w->reader, &done, &total);
    units_format_bytes(amount, sizeof(amount), (double)done);
    double share = total > 0 ? (double)done / (double)total : NAN;
    int64_t elapsed_ns = clock_now_ns() - w->began_ns;
    progress_time_left(left, share, elapsed_ns);
    units_format_rate(rate, sizeof(rate), (double)done * 1e9 / (double)(elapsed_ns + 1));
    if (total > 0)
        snprintf(brief, sizeof(brief), "%s%s%s of %s, %s", left, left[0] ? " left, " : "", amount,
                 units_format_bytes(all, sizeof(all), (double)total), rate);
    else
        snprintf(brief, sizeof(brief), "%s, %s", amount, rate);
    if (total > 0)
        snprintf(text, sizeof(text), "%.0f %% of the file, %s",
                 100.0 * (double)done / (double)total, amount);
    else
        snprintf(text, sizeof(text), "%s read", amount);
    snprintf(json, sizeof(json), "{\"read_bytes\": %llu, \"total_bytes\": %llu}",
             (unsigned long long)done, (unsigned long long)total);
    const struct progress_bar bar = {share, brief, NULL};
    progress_show_bar(w->progress, &bar, text, json);
}

static int count_rows(struct worker *w, struct file_order_piece *piece,
                      const struct trace_row *rows, size_t n)
{
    int rc = agg_add(w->agg, rows, n, &w->err);
    if (rc == 0)
        rc = file_order_add(piece, rows, n, &w->err);
    if (rc == 0 && w->series)
        rc = series_add(w->series, rows, n, &w->err);
    return rc;
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
        rc = count_rows(w, *piece, rows, n);
        if (rc < 0)
            return rc;
        show_progress(w);
    }
    return rc;
}

/* The same, of another client's log. */
static int count_log(struct worker *w, struct file_order_piece **piece)
{
    const struct trace_row *row;
    int rc;
    for (uint64_t i = 0; (rc = oplog_reader_next(w->log, &row, &w->err)) == 1; i++) {
        if (stop_asks())
            return -EINTR;
        if (i % LOG_PIECE == 0) {
            *piece = file_order_next(w->order, w->number, *piece, i / LOG_PIECE);
            if (!*piece)
                return err_nomem(&w->err, "requests");
        }
        rc = count_rows(w, *piece, row, 1);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static void *worker_run(void *arg)
{
    struct worker *w = arg;
    struct file_order_piece *piece = NULL;
    w->rc = w->log ? count_log(w, &piece) : count_batches(w, &piece);
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
    struct series *s = o->interval_ns == SCAN_SERIES_AUTO ? series_create_auto(result)
                                                          : series_create(result, o->interval_ns);
    if (s && o->series_by_due)
        series_by_due(s);
    return s;
}

/* Gives each worker what it counts into; the reader and the order are set. */
static int open_workers(struct worker *w, const struct scan_opts *o, struct scan *s, struct err *e)
{
    for (unsigned i = 0; i < o->threads; i++) {
        w[i].number = i;
        w[i].progress = i == 0 ? o->progress : NULL;
        w[i].began_ns = clock_now_ns();
        w[i].agg = i == 0 ? s->agg : agg_create(o->by, s->columns);
        if (!w[i].agg)
            return err_nomem(e, "groups");
        if (o->most_groups > 0)
            agg_limit(w[i].agg, o->most_groups);
        agg_leave_out(w[i].agg, s->warmup_ns);
        agg_take_gaps(w[i].agg, s->gaps);
        if (o->direct && agg_take_direct(w[i].agg) < 0)
            return err_nomem(e, "operations");
        int rc = w[i].log ? 0 : trace_cursor_open(&w[i].cursor, w[i].reader, e);
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
    if (rc == 0 && !s->part)
        rc = agg_end_file(s->agg, e);
    if (rc == 0 && requests_end_file(s->requests) < 0)
        rc = err_nomem(e, "requests");
    return rc;
}

/* The reader of a file's rows: one of the two. */
struct input {
    struct trace_reader *reader;
    struct oplog_reader *log; /* of another client */
};

static int count_file(struct scan *s, const struct input *in, const struct scan_opts *o,
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
        s->sequences = sequences_create(o->by & ~(unsigned)GROUPS_TEXT);
    if (s->requests && s->sequences)
        requests_follow(s->requests);
    if (s->requests && o->direct)
        requests_list(s->requests);
    if (s->requests)
        requests_take_gaps(s->requests, s->gaps);
    if (s->requests && o->first_token && result)
        requests_follow_first_token(s->requests);
    if (s->requests)
        order = file_order_create(o->threads, result, s->warmup_ns, s->requests, s->sequences);
    if (!w || !s->agg || !order || (o->follow && result && !s->sequences) ||
        (o->interval_ns != SCAN_NO_SERIES && !s->series)) {
        err_nomem(e, "counters");
        goto out;
    }
    for (unsigned i = 0; i < o->threads; i++) {
        w[i].reader = in->reader;
        w[i].log = in->log;
        w[i].order = order;
    }
    rc = open_workers(w, o, s, e);
    if (rc < 0)
        goto out;
    rc = run_workers(w, o->threads, e);
    if (rc < 0 && (rc != -EBADMSG || in->log) && rc != -EINTR)
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

    /* A file that others compressed was not cut by a kill. */
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

/* Opens the log of another client, or else a trace or result. */
static int open_input(struct input *in, const char *path, const struct scan_opts *o, struct err *e)
{
    struct trace_read_opts read = {
        .want = AGG_COLUMNS, .skip_bad_rows = o->skip_bad_rows, .patient = true};
    const struct frame_in_opts patient = {.patient = true};
    struct frame_in *file;
    if (o->by & GROUPS_USER)
        read.want |= TRACE_BIT(TRACE_COL_USER);
    if (o->by & GROUPS_ENDPOINT)
        read.want |= TRACE_BIT(TRACE_COL_ENDPOINT);
    if (o->by & GROUPS_THREAD)
        read.want |= TRACE_BIT(TRACE_COL_THREAD);
    if (o->by & GROUPS_ENGINE)
        read.want |= TRACE_BIT(TRACE_COL_ENGINE);
    int rc = frame_in_open(&file, path, &patient, e);
    if (rc < 0)
        return rc;
    int log = oplog_look(file, e);
    if (log == 0)
        return trace_open_in(&in->reader, file, &read, e);
    if (log > 0 && !o->skip_bad_rows) {
        rc = oplog_reader_open(&in->log, file, e);
        if (rc == 0 && agg_is_result(oplog_reader_columns(in->log)))
            oplog_reader_give_failed(in->log);
        return rc;
    }
    frame_in_close(file);
    return log < 0 ? log
                   : err_set(e, -EINVAL, ERR_INPUT, "--skip-bad-rows",
                             "does not apply to %s, a log of another program", path);
}

int scan_open_trace(struct trace_reader **out, const char *path, const struct trace_read_opts *read,
                    const char *option, struct err *e)
{
    const struct frame_in_opts patient = {.patient = read->patient};
    struct frame_in *file;
    int rc = frame_in_open(&file, path, &patient, e);
    if (rc < 0)
        return rc;
    int log = oplog_look(file, e);
    if (log == 0)
        return trace_open_in(out, file, read, e);
    frame_in_close(file);
    return log < 0
               ? log
               : err_set(e, -EINVAL, ERR_INPUT, option,
                         "%s is a log of another client: give the copy that kvgen --input makes "
                         "of it",
                         path);
}

static void close_input(struct input *in)
{
    trace_close(in->reader);
    oplog_reader_close(in->log);
}

/* "318 STAT are counted apart: latency 4339.051 us on average, 29013.2 us at most". */
static void note_apart(struct notes *notes, const struct oplog_apart *kind)
{
    const char *failed = kind->failed ? "failed " : "", *op = *kind->op ? kind->op : "others";
    unsigned long long rows = kind->rows;
    if (kind->timed > 0)
        notes_add(notes, "%llu %s%s counted apart: latency %.3f us on average, %.3f us at most",
                  rows, failed, op, kind->mean_ns / 1e3, (double)kind->max_ns / 1e3);
    else
        notes_add(notes, "%llu %s%s counted apart", rows, failed, op);
}

/* The same as figures. */
static void put_apart(struct jsonout *j, const struct oplog_apart *kind)
{
    char op[sizeof(kind->op) + 16];
    snprintf(op, sizeof(op), "%s%s", kind->failed ? "failed " : "",
             *kind->op ? kind->op : "others");
    jsonout_object(j, NULL);
    jsonout_text_value(j, "op", op);
    jsonout_u64(j, "ops", kind->rows);
    jsonout_f64(j, "mean_us", kind->timed > 0 ? kind->mean_ns / 1e3 : NAN);
    jsonout_f64(j, "max_us", kind->timed > 0 ? (double)kind->max_ns / 1e3 : NAN);
    jsonout_end(j);
}

/* Facts of a log about its run after all rows were read, as JSON for provenance.h: the client,
 * and the operations that are counted apart. malloc'ed; NULL: no memory. */
static char *log_provenance(const struct oplog_reader *log)
{
    const struct oplog_apart *kind;
    const struct skips *skips = oplog_reader_skips(log);
    struct notes notes = {0};
    struct jsonout *j = jsonout_create();
    if (!j)
        return NULL;
    size_t kinds = oplog_reader_apart(log, &kind);
    for (size_t i = 0; i < kinds; i++)
        note_apart(&notes, &kind[i]);
    if (oplog_reader_joined(log) > 0)
        notes_add(&notes, "%llu operations were logged by two layers: each counts once",
                  (unsigned long long)oplog_reader_joined(log));
    if (skips->unsized > 0)
        notes_add(&notes, "%llu deletions of objects that were neither written nor read before",
                  (unsigned long long)skips->unsized);
    oplog_reader_note(log, &notes);
    jsonout_text_value(j, "client", oplog_reader_client(log));
    jsonout_notes(j, "notes", &notes);
    jsonout_array(j, "apart");
    for (size_t i = 0; i < kinds; i++)
        put_apart(j, &kind[i]);
    jsonout_end(j);
    const char *text = jsonout_text(j, false);
    char *copy = text ? strdup(text) : NULL;
    jsonout_free(j);
    return copy;
}

/* Keeps what the file says of its run. */
static int keep_texts(struct scan *s, const struct input *in, struct err *e)
{
    const char *first_bad = NULL;
    if (in->log) {
        s->provenance = log_provenance(in->log);
        return s->provenance ? 0 : err_nomem(e, "text of the log");
    }
    s->odd_notes = s->cut || s->interrupted ? NULL : odd_notes(trace_notes(in->reader));
    s->bad_rows = trace_bad_rows(in->reader, &first_bad);
    int rc = copy_text(&s->first_bad, s->bad_rows ? first_bad : NULL, e);
    if (rc == 0)
        rc = copy_text(&s->provenance, trace_provenance(in->reader), e);
    return rc == 0 ? copy_text(&s->summary, trace_summary(in->reader), e) : rc;
}

int scan_file(struct scan **out, const char *path, const struct scan_opts *given, struct err *e)
{
    struct scan_opts opts = *given, *o = &opts;
    struct input in = {0};
    struct err late = {0};
    struct scan *s = calloc(1, sizeof(*s));
    if (!s)
        return err_nomem(e, "counters");
    int rc = open_input(&in, path, o, e);
    if (rc < 0)
        goto out;
    s->files = 1;
    s->part = o->part;
    s->columns = in.log ? oplog_reader_columns(in.log) : trace_columns(in.reader);
    const char *summary = in.log ? NULL : trace_summary(in.reader);
    if (in.log)
        o->threads = 1;
    if (agg_is_result(s->columns)) {
        /* Only a file with a seek table has its summary before its rows. */
        s->warmup_ns =
            o->warmup_ns == SCAN_WARMUP_AUTO ? provenance_warmup_ns(summary) : o->warmup_ns;
        /* A stream has its gaps after the rows: then the replay's judgement of them counts. */
        rc = gaps_read(&s->gaps, o->run, summary, e);
        if (rc < 0)
            goto out;
    } else if (o->warmup_ns > 0) {
        rc = err_set(e, -EINVAL, ERR_INPUT, "--warmup",
                     "%s is a trace, not a result: it has no warmup", path);
        goto out;
    }
    rc = count_file(s, &in, o, e);
    if (rc == -EOVERFLOW && !e->where[0]) { /* of several files, which one? */
        struct err inner = *e;
        err_set(e, rc, inner.class, in.log ? path : trace_name(in.reader), "%s", inner.what);
    }
    s->interrupted = rc == -EINTR && agg_totals(s->agg)->rows > 0;
    if (rc < 0 && !s->cut && !s->interrupted)
        goto out;
    if (s->cut)
        explain_cut(s, in.reader, e);
    int kept = keep_texts(s, &in, &late);
    if (kept < 0) {
        rc = kept;
        *e = late;
    }
out:
    close_input(&in);
    if (rc == 0 || (rc == -EBADMSG && s->cut) || (rc == -EINTR && s->interrupted))
        *out = s;
    else
        scan_free(s);
    return rc;
}

/* The columns of the file at path. Negative errno: it is no trace, result or log. */
static int look_at_columns(const char *path, uint32_t *columns)
{
    const struct scan_opts any = {0};
    struct input in = {0};
    int rc = open_input(&in, path, &any, NULL);
    if (rc == 0)
        *columns = in.log ? oplog_reader_columns(in.log) : trace_columns(in.reader);
    close_input(&in);
    return rc;
}

bool scan_is_readable(const char *path)
{
    uint32_t columns;
    return look_at_columns(path, &columns) == 0;
}

bool scan_is_result(const char *path)
{
    uint32_t columns;
    return look_at_columns(path, &columns) == 0 && agg_is_result(columns);
}

int scan_merge(struct scan *into, const struct scan *from, struct err *e)
{
    if (agg_result(into->agg) != agg_result(from->agg))
        return err_set(e, -EINVAL, ERR_INPUT, "--merge",
                       "traces and result files cannot be pooled: their times differ");
    int rc = agg_merge(into->agg, from->agg, e);
    if (rc == 0 && requests_merge(into->requests, from->requests) < 0)
        rc = err_nomem(e, "requests");
    if (rc == 0 && into->part && into->series && from->series)
        rc = series_merge(into->series, from->series, e);
    if (rc == 0 && into->sequences && sequences_merge(into->sequences, from->sequences) < 0)
        rc = err_nomem(e, "series");
    if (rc < 0)
        return rc;
    if (into->part && occupancy_beside(&into->occupancy, &from->occupancy) < 0)
        return err_set(e, -EOVERFLOW, ERR_INPUT, "", "live bytes of a tier do not fit 63 bits");
    for (size_t i = 0; i < TRACE_TIERS && !into->part; i++) {
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

int scan_end_run(struct scan *s, struct err *e)
{
    return agg_end_file(s->agg, e);
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
