/* The last stage: a row of the simulation becomes a record of the trace. Keys and user names are
 * written from numbers here and nowhere else. lib/trace/trace.h formats and compresses; export.h
 * writes the formats of other tools. */
#include "kvgen/output.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"

enum {
    ROWS_PER_LOOK = 256, /* between two looks for signals and progress */
    NS_PER_US = 1000
};

enum {
    ENGINE_MAX_SUFFIX = 16 /* bytes of @eN */
};

struct output {
    struct output_opts o;
    const struct source *source;
    struct progress *progress;
    struct trace_writer *writer; /* NULL: no trace is written */
    struct export *export;       /* NULL: rows go to no other format */
    int64_t started_ns;
    uint64_t seen, written, flushed; /* rows */
    bool filtered;                   /* a row was left out by --only-tier or --ops */
    struct ident key_id;             /* whose key is in key: decode reads repeat it */
    uint32_t key_engine;             /* the same */
    uint64_t user_of;                /* number of the request whose user is in user */
    struct trace_row row;
    char key[IDENT_MAX_KEY + ENGINE_MAX_SUFFIX];
    char user[IDENT_MAX_USER_NAME];
};

int output_open(struct output **result, const struct output_opts *o, const struct source *source,
                struct progress *progress, struct err *e)
{
    struct output *out = calloc(1, sizeof(*out));
    if (!out)
        return err_nomem(e, "output");
    out->o = *o;
    out->source = source;
    out->progress = progress;
    out->started_ns = clock_now_ns();
    out->row = (struct trace_row){.status = TRACE_NO_STATUS,
                                  .due_ns = TRACE_NONE,
                                  .eligible_ns = TRACE_NONE,
                                  .start_ns = TRACE_NONE,
                                  .latency_ns = TRACE_NONE,
                                  .device_ns = TRACE_NONE};
    int rc = !o->path ? 0 : trace_create(&out->writer, o->path, &o->trace, e);
    if (rc == 0 && o->exported)
        rc = export_open(&out->export, o->format, &o->export, e);
    if (rc < 0) {
        output_free(out);
        out = NULL;
    }
    *result = out;
    return rc;
}

bool output_wants_rows(const struct output *out)
{
    return out->writer || out->export || out->o.limit > 0;
}

/* Whether the filters let such a row pass. If not, it is noted where that matters. */
static bool wanted(struct output *out, unsigned op, unsigned tier)
{
    unsigned tiers = out->o.tiers, ops = out->o.ops;
    if (!output_wants_rows(out))
        return false;
    if (out->o.no_deletes && op == TRACE_DELETE)
        return false;
    if ((tiers == 0 || (tier != TRACE_NO_TIER && (tiers >> tier & 1) != 0)) &&
        (ops == 0 || (ops >> op & 1) != 0))
        return true;
    out->filtered = true;
    if (out->export)
        export_skip(out->export, out->seen);
    return false;
}

/* r is NULL for what is written before the first request. Requests count from 1. */
static void set_user(struct output *out, const struct request *r)
{
    struct trace_row *t = &out->row;
    if (!r) {
        out->user_of = 0;
        t->user = (struct trace_str){0};
        t->request = t->arrival_ns = TRACE_NONE;
        t->qos = TRACE_NO_QOS;
        return;
    }
    if (out->user_of == r->number)
        return;
    out->user_of = r->number;
    t->user.p = out->user;
    t->user.len = (uint32_t)out->source->ops->user_name(out->source, r->user, out->user);
    t->request = (int64_t)r->number;
    t->qos = r->qos;
    t->arrival_ns = r->arrival_ns;
}

/* Copies of several engines are named by the engine, too: "KEY@eN". */
static void set_key(struct output *out, const struct hierarchy_op *op)
{
    const struct ident id = op->id;
    if (ident_equal(id, out->key_id) && op->owner == out->key_engine && out->row.key.len > 0)
        return;
    char name[IDENT_MAX_USER_NAME];
    size_t len = 0;
    if (ident_kind(id) == IDENT_TURN || ident_kind(id) == IDENT_REQUEST)
        len = out->source->ops->user_name(out->source, ident_user(id), name);
    out->row.key.p = out->key;
    out->row.key.len = (uint32_t)ident_key(id, name, len, out->key);
    if (out->o.trace.columns & TRACE_SERVED)
        out->row.key.len += (uint32_t)snprintf(out->key + out->row.key.len, ENGINE_MAX_SUFFIX,
                                               "@e%u", (unsigned)op->owner);
    out->key_id = id;
    out->key_engine = op->owner;
}

static void set_row(struct output *out, const struct sim_row *row)
{
    const struct hierarchy_op *op = &row->what;
    struct trace_row *t = &out->row;
    bool generate = op->op == TRACE_GENERATE;
    set_user(out, row->request);
    if (generate)
        t->key = (struct trace_str){0};
    else
        set_key(out, op);
    t->time_ns = row->time_ns;
    t->size = op->size;
    t->op = (uint8_t)op->op;
    t->tier = (uint8_t)op->tier;
    t->phase = (uint8_t)op->phase;
    t->class = (uint8_t)op->class;
    t->engine = out->o.trace.columns & TRACE_SERVED ? (int32_t)op->engine : -1;
    t->tokens = op->op == TRACE_MISS ? TRACE_NONE : (int64_t)op->tokens;
    t->duration_ns = generate ? row->duration_ns : TRACE_NONE;
}

/* The benchmark's trace has microseconds: a time, with the epoch, is rounded to them. Both are in
 * range together. */
static int write_six_columns(struct output *out, const struct trace_row *row, struct err *e)
{
    int64_t over = (row->time_ns + out->o.trace.epoch_ns) % NS_PER_US;
    struct trace_row rounded = *row;
    if (over < 0)
        over += NS_PER_US;
    if (over < NS_PER_US / 2 || row->time_ns > INT64_MAX - out->o.trace.epoch_ns - NS_PER_US)
        rounded.time_ns -= over;
    else
        rounded.time_ns += NS_PER_US - over;
    return trace_write(out->writer, &rounded, e);
}

static int write_record(struct output *out, const struct trace_row *row, struct err *e)
{
    bool traced =
        out->writer && (!out->o.six_columns || row->op == TRACE_READ || row->op == TRACE_WRITE);
    int rc = out->export ? export_row(out->export, row, out->seen, e) : 0;
    out->written += traced || (!out->writer && (!out->export || export_writes(out->export, row)));
    if (rc == 0 && traced)
        rc = out->o.six_columns ? write_six_columns(out, row, e) : trace_write(out->writer, row, e);
    return rc < 0 ? rc : out->o.limit > 0 && out->written >= out->o.limit;
}

/* Shows progress when it is due; true: a signal wants the end. */
static bool look(struct output *out, int64_t virtual_ns)
{
    if (out->progress && progress_due(out->progress)) {
        char text[160], json[160], brief[160], simulated[32], rows[32], short_rows[16], left[16];
        int64_t real_ns = clock_now_ns() - out->started_ns;
        double rate = (double)out->seen * 1e9 / (double)(real_ns > 0 ? real_ns : 1);
        snprintf(text, sizeof(text), "%s simulated, %s rows, %.2f million a second",
                 units_format_duration(simulated, sizeof(simulated), (double)virtual_ns),
                 units_format_count(rows, sizeof(rows), out->seen), rate / 1e6);
        snprintf(json, sizeof(json), "{\"simulated_s\":%.3f,\"rows\":%llu,\"rows_per_s\":%.0f}",
                 (double)virtual_ns / 1e9, (unsigned long long)out->seen, rate);
        double share = out->o.limit > 0 ? (double)out->written / (double)out->o.limit : NAN;
        if (out->o.end_ns > 0)
            share = fmax(isnan(share) ? 0 : share, (double)virtual_ns / (double)out->o.end_ns);
        progress_time_left(left, share, real_ns);
        snprintf(brief, sizeof(brief), "%s%s%s rows, %.2f M rows/s, %s simulated", left,
                 left[0] ? " left, " : "", progress_count(short_rows, out->seen), rate / 1e6,
                 simulated);
        const struct progress_bar bar = {share, brief, NULL};
        progress_show_bar(out->progress, &bar, text, json);
    }
    return out->o.patient ? stop_abandons() : stop_asks();
}

/* Counts a row; true: a signal wants the end. */
static bool count_row(struct output *out, int64_t virtual_ns)
{
    return out->seen++ % ROWS_PER_LOOK == 0 && look(out, virtual_ns);
}

bool output_look(void *ctx, int64_t virtual_ns, uint64_t rows)
{
    struct output *out = ctx;
    out->seen = rows;
    return look(out, virtual_ns);
}

int output_row(void *ctx, const struct sim_row *row, struct err *e)
{
    struct output *out = ctx;
    if (count_row(out, row->time_ns))
        return 1;
    if (!wanted(out, row->what.op, row->what.tier))
        return 0;
    set_row(out, row);
    return write_record(out, &out->row, e);
}

int output_record(struct output *out, const struct trace_row *row, struct err *e)
{
    int64_t sum, epoch_ns = out->o.trace.epoch_ns;
    if (count_row(out, row->time_ns))
        return 1;
    if (!wanted(out, row->op, row->tier))
        return 0;
    /* Unlike times of the simulation, those that were read may be anything. */
    if (out->writer && (__builtin_add_overflow(row->time_ns, epoch_ns, &sum) ||
                        (row->arrival_ns != TRACE_NONE &&
                         __builtin_add_overflow(row->arrival_ns, epoch_ns, &sum)))) {
        char where[64];
        snprintf(where, sizeof(where), "row %llu", (unsigned long long)out->seen);
        return err_set(e, -ERANGE, ERR_INPUT, where,
                       "its time and the epoch (--epoch) are together out of range");
    }
    return write_record(out, row, e);
}

void output_flush(struct output *out)
{
    if (out->writer && out->written > out->flushed)
        trace_flush(out->writer);
    out->flushed = out->written;
}

int output_finish(struct output *out, struct trace_totals *totals, struct err *e)
{
    struct trace_writer *writer = out->writer;
    *totals = (struct trace_totals){0};
    int rc = out->export ? export_finish(out->export, totals, e) : 0;
    if (rc < 0 || !writer)
        return rc;
    out->writer = NULL;
    return trace_finish(writer, NULL, totals, e);
}

bool output_is_filtered_out(const struct output *out)
{
    return out->written == 0 && out->filtered;
}

bool output_remark(const struct output *out, size_t i, char *buf, size_t n, bool *loss)
{
    return out->export && export_remark(out->export, i, buf, n, loss);
}

bool output_notice(const struct output *out, char *buf, size_t n)
{
    return out->export && export_notice(out->export, buf, n);
}

void output_free(struct output *out)
{
    if (!out)
        return;
    if (out->writer)
        trace_abandon(out->writer);
    export_free(out->export);
    free(out);
}
