/* export.c - what all exports have in common: a row of the trace becomes an operation, waits for
 * its turn when rows come in another order than that of time, and goes to its format. Remarks about
 * rows are counted here for --lint. */
#include "kvgen/format/export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/format/exporter.h"
#include "kvgen/format/time_sort.h"
#include "lib/base/units.h"

static const struct export_ops *const formats[EXPORT_FORMATS] = {
    [EXPORT_MLPERF] = &export_mlperf, [EXPORT_SAI3] = &export_sai3,
    [EXPORT_WARP] = &export_warp,     [EXPORT_FIO] = &export_fio,
    [EXPORT_ORACLE] = &export_oracle, [EXPORT_LIBCACHESIM] = &export_libcachesim};

static const struct export_rule common[EXPORT_OWN_RULES] = {
    [EXPORT_FILTERED] = {EXPORT_REMARK, "filtered out (see --only-tier, --ops)"},
    [EXPORT_NO_IO] = {EXPORT_REMARK, "without I/O (Miss, Generate), left out"}};

static const struct export_rule *rule_of(const struct export *x, unsigned rule)
{
    return rule < EXPORT_OWN_RULES ? &common[rule] : &x->ops->rules[rule - EXPORT_OWN_RULES];
}

void export_note(struct export *x, unsigned rule, uint64_t number)
{
    struct export_note *note = &x->note[rule];
    if (!note->seen)
        note->first = number;
    note->seen = true;
    note->rows += number > 0;
}

int export_refuse(struct export *x, unsigned rule, const struct export_op *op, struct err *e)
{
    char where[64];
    export_note(x, rule, op->number);
    if (!x->file)
        return 0;
    snprintf(where, sizeof(where), "row %llu", (unsigned long long)op->number);
    return err_set(e, -EINVAL, ERR_INPUT, where, "cannot be written as %s: %s (key \"%.*s\")",
                   x->ops->name, rule_of(x, rule)->what, (int)(op->key.len < 80 ? op->key.len : 80),
                   op->key.p ? op->key.p : "");
}

int export_put(struct export *x, const void *p, size_t len, struct err *e)
{
    return x->file ? output_file_put(x->file, p, len, e) : 0;
}

/* ---- operations as bytes ---- */

size_t export_pack(const struct export_op *op, char *dst)
{
    struct export_op head = *op;
    head.key.p = NULL;
    memcpy(dst, &head, sizeof(head));
    if (op->key.len > 0)
        memcpy(dst + sizeof(head), op->key.p, op->key.len);
    return sizeof(head) + op->key.len;
}

void export_unpack(struct export_op *op, const char *src)
{
    memcpy(op, src, sizeof(*op));
    op->key.p = src + sizeof(*op);
}
_Static_assert(sizeof(struct export_op) + TRACE_MAX_KEY <= EXPORT_PACKED, "an operation fits");
_Static_assert((int)EXPORT_PACKED <= (int)TIME_SORT_RECORD, "and can be sorted");

/* ---- rows in, a file out ---- */

/* Temporary files lie beside the output, where there is room for one as large; without one, where
 * such files go. */
static char *folder_of(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (!path || strcmp(path, "-") == 0)
        return strdup(export_temp_folder());
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int export_open(struct export **out, enum export_format format, const struct export_opts *o,
                struct err *e)
{
    struct export *x = calloc(1, sizeof(*x));
    if (!x)
        return err_nomem(e, "export");
    x->ops = formats[format];
    x->o = *o;
    x->folder = folder_of(o->path);
    x->packed = malloc(EXPORT_PACKED);
    int rc = !x->folder || !x->packed ? err_nomem(e, "export") : 0;
    if (rc == 0 && o->reorder && !x->ops->sorts)
        rc = time_sort_create(&x->order, x->folder, EXPORT_SORT_MEMORY, e);
    if (rc == 0)
        rc = x->ops->open(x, e);
    if (rc == 0 && o->path)
        rc = output_file_open(&x->file, o->path, o->zstd, o->level, e);
    if (rc < 0) {
        export_free(x);
        return rc;
    }
    *out = x;
    return 0;
}

static struct export_op op_of(const struct export *x, const struct trace_row *row, uint64_t number)
{
    bool started = x->ops->started && row->start_ns != TRACE_NONE;
    int64_t time_ns = started ? row->start_ns : row->time_ns;
    if (__builtin_add_overflow(time_ns, started ? x->o.start_epoch_ns : x->o.epoch_ns, &time_ns) ||
        time_ns == INT64_MIN)
        time_ns = INT64_MAX;
    return (struct export_op){.time_ns = time_ns,
                              .latency_ns = started ? row->latency_ns : TRACE_NONE,
                              .size = row->size,
                              .number = number,
                              .key = row->key,
                              .status = row->status,
                              .op = row->op,
                              .tier = row->tier,
                              .phase = row->phase};
}

int export_row(struct export *x, const struct trace_row *row, uint64_t number, struct err *e)
{
    struct export_op op = op_of(x, row, number);
    if (row->op == TRACE_MISS || row->op == TRACE_GENERATE) {
        export_note(x, EXPORT_NO_IO, number);
        return 0;
    }
    if (!x->order)
        return x->ops->row(x, &op, e);
    size_t len = export_pack(&op, x->packed);
    return time_sort_add(x->order, op.time_ns, x->packed, len, e);
}

bool export_writes(const struct export *x, const struct trace_row *row)
{
    if (row->op == TRACE_MISS || row->op == TRACE_GENERATE)
        return false;
    return !x->ops->writes || x->ops->writes(row->op, row->phase, row->size);
}

void export_skip(struct export *x, uint64_t number)
{
    export_note(x, EXPORT_FILTERED, number);
}

static int drain_order(struct export *x, struct err *e)
{
    const void *p;
    size_t len;
    int64_t time_ns;
    int rc = time_sort_finish(x->order, e), more = 0;
    while (rc == 0 && (more = time_sort_next(x->order, &time_ns, &p, &len, e)) > 0) {
        struct export_op op;
        export_unpack(&op, p);
        rc = x->ops->row(x, &op, e);
    }
    return rc < 0 ? rc : more;
}

int export_finish(struct export *x, struct trace_totals *totals, struct err *e)
{
    int rc = x->order ? drain_order(x, e) : 0;
    if (rc == 0)
        rc = x->ops->finish(x, e);
    *totals = (struct trace_totals){.rows = x->file ? x->rows : 0};
    if (rc < 0 || !x->file)
        return rc;
    struct output_file *file = x->file;
    x->file = NULL;
    return output_file_close(file, totals, e);
}

void export_free(struct export *x)
{
    if (!x)
        return;
    x->ops->free(x);
    output_file_abandon(x->file);
    time_sort_free(x->order);
    free(x->packed);
    free(x->folder);
    free(x);
}

/* ---- remarks ---- */

static unsigned rules_of(const struct export *x)
{
    unsigned n = 0;
    while (x->ops->rules[n].what)
        n++;
    return n + EXPORT_OWN_RULES;
}

bool export_remark(const struct export *x, size_t i, char *buf, size_t n, bool *loss)
{
    for (unsigned r = 0; r < rules_of(x); r++) {
        const struct export_note *note = &x->note[r];
        char rows[32];
        if (!note->seen || i-- > 0)
            continue;
        *loss = rule_of(x, r)->weight != EXPORT_REMARK;
        if (note->rows == 0)
            snprintf(buf, n, "%s: %s", x->ops->name, rule_of(x, r)->what);
        else
            snprintf(buf, n, "%s: %s row%s (first: %llu) %s", x->ops->name,
                     units_format_count(rows, sizeof(rows), note->rows), units_plural(note->rows),
                     (unsigned long long)note->first, rule_of(x, r)->what);
        return true;
    }
    return false;
}
