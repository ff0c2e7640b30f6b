/* The part that all exports share: a row of the trace becomes an operation, waits if rows do not
 * come in order of time, and goes to its format. Remarks about rows are counted here for --lint.
 * What a file looks like is left to fio.c, oplog.c, cachesim.c and mlperf.c. */
#include "kvgen/format/export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/format/exporter.h"
#include "kvgen/format/output_file.h"
#include "lib/base/units.h"
#include "lib/sort/temp_file.h"
#include "lib/sort/time_sort.h"

struct note {
    uint64_t rows, first; /* how many, and the number of the first one */
    bool seen;            /* rows is 0 if it is about the file as a whole */
};

/* Bytes of an operation with its key. */
enum {
    PACKED = sizeof(struct export_op) + TRACE_MAX_KEY
};
_Static_assert((int)PACKED <= (int)TIME_SORT_RECORD, "an operation can be sorted");

struct whole {
    struct export x; /* first */
    struct export_opts o;
    struct output_file *file; /* NULL: nothing is written */
    char *folder;
    struct time_sort *order; /* rows wait here if they may not come in order; else NULL */
    char *packed;            /* PACKED bytes */
    struct note note[EXPORT_MAX_RULES];
};

static const struct exporter *const format_table[EXPORT_FORMATS] = {
    [EXPORT_MLPERF] = &export_mlperf, [EXPORT_SAI3] = &export_sai3,
    [EXPORT_WARP] = &export_warp,     [EXPORT_FIO] = &export_fio,
    [EXPORT_ORACLE] = &export_oracle, [EXPORT_LIBCACHESIM] = &export_libcachesim};

char *export_second_file(enum export_format format, const char *path)
{
    const struct exporter *f = format_table[format];
    return f->second_file ? f->second_file(path) : NULL;
}

static struct whole *whole_of(struct export *x)
{
    return (struct whole *)x;
}

/* ---- remarks ---- */

static const struct export_rule *rule_of(const struct export *x, unsigned rule)
{
    static const struct export_rule common[EXPORT_OWN_RULES] = {
        [EXPORT_FILTERED] = {EXPORT_REMARK, "filtered out (see --only-tier, --ops)"},
        [EXPORT_NO_IO] = {EXPORT_REMARK, "without I/O (Miss, Generate), left out"}};
    return rule < EXPORT_OWN_RULES ? &common[rule] : &x->format->rules[rule - EXPORT_OWN_RULES];
}

void export_note(struct export *x, unsigned rule, uint64_t number)
{
    struct note *note = &whole_of(x)->note[rule];
    if (!note->seen)
        note->first = number;
    note->seen = true;
    note->rows += number > 0;
}

int export_refuse(struct export *x, unsigned rule, const struct export_op *op, struct err *e)
{
    char where[64];
    export_note(x, rule, op->number);
    if (!whole_of(x)->file)
        return 0;
    snprintf(where, sizeof(where), "row %llu", (unsigned long long)op->number);
    return err_set(e, -EINVAL, ERR_INPUT, where, "cannot be written as %s: %s (key \"%.*s\")",
                   x->format->name, rule_of(x, rule)->what,
                   (int)(op->key.len < 80 ? op->key.len : 80), op->key.p ? op->key.p : "");
}

bool export_remark(const struct export *x, size_t i, char *buf, size_t n, bool *loss)
{
    const struct note *note = ((const struct whole *)x)->note;
    for (unsigned r = 0; r < EXPORT_OWN_RULES || rule_of(x, r)->what; r++) {
        if (!note[r].seen || i-- > 0)
            continue;
        const struct export_rule *rule = rule_of(x, r);
        char rows[32];
        *loss = rule->weight != EXPORT_REMARK;
        if (note[r].rows == 0)
            snprintf(buf, n, "%s: %s", x->format->name, rule->what);
        else
            snprintf(buf, n, "%s: %s row%s (first: %llu) %s", x->format->name,
                     units_format_count(rows, sizeof(rows), note[r].rows),
                     units_plural(note[r].rows), (unsigned long long)note[r].first, rule->what);
        return true;
    }
    return false;
}

bool export_notice(const struct export *x, char *buf, size_t n)
{
    return x->format->notice && x->format->notice(x, buf, n);
}

/* ---- operations in and out of a sort ---- */

int export_keep(struct export *x, struct time_sort *sort, int64_t time_ns,
                const struct export_op *op, struct err *e)
{
    char *packed = whole_of(x)->packed;
    struct export_op head = *op;
    head.key.p = NULL;
    memcpy(packed, &head, sizeof(head));
    if (op->key.len > 0)
        memcpy(packed + sizeof(head), op->key.p, op->key.len);
    return time_sort_add(sort, time_ns, packed, sizeof(head) + op->key.len, e);
}

int export_take(struct time_sort *sort, int64_t *time_ns, struct export_op *op, struct err *e)
{
    const void *p;
    size_t len;
    int rc = time_sort_next(sort, time_ns, &p, &len, e);
    if (rc <= 0)
        return rc;
    memcpy(op, p, sizeof(*op));
    op->key.p = (const char *)p + sizeof(*op);
    return 1;
}

/* ---- rows in, a file out ---- */

int export_put(struct export *x, const void *p, size_t len, struct err *e)
{
    struct output_file *file = whole_of(x)->file;
    return file ? output_file_put(file, p, len, e) : 0;
}

char *export_put_text(char *p, const char *text, size_t len)
{
    memcpy(p, text, len);
    return p + len;
}

/* Temporary files lie beside the output, where there is room for a file as large, or in the usual
 * folder if there is no output file. */
static char *folder_of(const char *path)
{
    if (!path || strcmp(path, "-") == 0)
        return strdup(temp_file_folder());
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int export_open(struct export **out, enum export_format format, const struct export_opts *o,
                struct err *e)
{
    int rc = 0;
    struct whole *w = calloc(1, sizeof(*w));
    if (!w)
        return err_nomem(e, "export");
    w->o = *o;
    w->folder = folder_of(o->path);
    w->packed = malloc(PACKED);
    w->x = (struct export){.format = format_table[format], .o = &w->o, .folder = w->folder};
    if (!w->folder || !w->packed) {
        rc = err_nomem(e, "export");
        goto out;
    }
    if (o->reorder && !w->x.format->sorts &&
        (rc = time_sort_create(&w->order, w->folder, EXPORT_SORT_MEMORY, e)) < 0)
        goto out;
    if (w->x.format->open && (rc = w->x.format->open(&w->x, e)) < 0)
        goto out;
    if (o->path)
        rc = output_file_open(&w->file, o->path, o->zstd, o->level, e);
out:
    if (rc < 0)
        export_free(&w->x);
    else
        *out = &w->x;
    return rc;
}

static bool has_io(const struct trace_row *row)
{
    return row->op != TRACE_MISS && row->op != TRACE_GENERATE;
}

int export_row(struct export *x, const struct trace_row *row, uint64_t number, struct err *e)
{
    if (!has_io(row)) {
        export_note(x, EXPORT_NO_IO, number);
        return 0;
    }
    bool started = x->format->started && row->start_ns != TRACE_NONE;
    int64_t time_ns = started ? row->start_ns : row->time_ns;
    int64_t epoch_ns = started ? x->o->start_epoch_ns : x->o->epoch_ns;
    if (__builtin_add_overflow(time_ns, epoch_ns, &time_ns) || time_ns == INT64_MIN)
        time_ns = INT64_MAX;
    struct export_op op = {.time_ns = time_ns,
                           .latency_ns = started ? row->latency_ns : TRACE_NONE,
                           .first_byte_ns =
                               started && row->extra ? row->extra->first_byte_ns : TRACE_NONE,
                           .size = row->size,
                           .number = number,
                           .key = row->key,
                           .status = row->status,
                           .op = row->op,
                           .tier = row->tier,
                           .phase = row->phase};
    struct time_sort *order = whole_of(x)->order;
    return order ? export_keep(x, order, op.time_ns, &op, e) : x->format->row(x, &op, e);
}

bool export_writes(const struct export *x, const struct trace_row *row)
{
    return has_io(row) && (!x->format->writes || x->format->writes(row->op, row->phase, row->size));
}

void export_skip(struct export *x, uint64_t number)
{
    export_note(x, EXPORT_FILTERED, number);
}

int export_finish(struct export *x, struct trace_totals *totals, struct err *e)
{
    struct whole *w = whole_of(x);
    struct export_op op;
    int64_t time_ns;
    int rc = w->order ? time_sort_finish(w->order, e) : 0;
    while (rc == 0 && w->order && (rc = export_take(w->order, &time_ns, &op, e)) > 0)
        rc = x->format->row(x, &op, e);
    if (rc == 0)
        rc = x->format->finish(x, e);
    *totals = (struct trace_totals){.rows = w->file ? x->rows : 0};
    if (rc < 0 || !w->file)
        return rc;
    struct output_file *file = w->file;
    w->file = NULL;
    return output_file_close(file, totals, e);
}

void export_free(struct export *x)
{
    if (!x)
        return;
    struct whole *w = whole_of(x);
    if (x->format->free)
        x->format->free(x);
    output_file_abandon(w->file);
    time_sort_free(w->order);
    free(w->packed);
    free(w->folder);
    free(w);
}
