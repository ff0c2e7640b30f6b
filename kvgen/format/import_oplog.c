/* import_oplog.c - logs of operations on objects in a store, tab-separated with a header: s3dlio's
 * op-log and warp's benchdata, whose columns are found by name. Many clients write such a log, each
 * operation when it ends: rows are put in order of their start before the first is handed on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/format/import.h"
#include "kvgen/format/lines.h"
#include "kvgen/format/output_file.h"
#include "kvgen/format/time_sort.h"
#include "kvgen/iso_time.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"

enum {
    MAX_FIELDS = 64,
    MAX_PACKED = (int)sizeof(struct trace_row) + (int)TRACE_MAX_KEY
};
#define SORT_MEMORY ((size_t)16 << 20) /* before a temporary file is used */
_Static_assert(MAX_PACKED <= (int)TIME_SORT_RECORD, "a row can be sorted");

enum column {
    COL_OP,
    COL_BYTES,
    COL_FILE,
    COL_START,
    COL_ERROR,
    COL_CAT, /* warp's: it takes fields in quotes */
    COLUMNS
};
static const char *const names[COLUMNS] = {"op", "bytes", "file", "start", "error", "cat"};
enum {
    COLUMNS_NEEDED = COL_ERROR
};

struct oplog {
    struct import base;
    struct lines *lines;
    size_t fields;
    int at[COLUMNS]; /* -1: not there */
    struct source_skips skips;
    struct time_sort *sort;
    bool sorted; /* all rows are in sort */
    struct trace_row row;
    char packed[MAX_PACKED];
};

struct field {
    char *p;
    size_t len;
};

/* Behind the field that begins at p: its tab, NULL: the end. In quotes a tab is part of it. */
static char *field_end(char *p, char *end, bool quotes)
{
    if (quotes && p < end && *p == '"')
        for (p++; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++)
            p += *p == '"';
    return p < end ? memchr(p, '\t', (size_t)(end - p)) : NULL;
}

static size_t split(char *line, size_t len, bool quotes, struct field *field)
{
    char *end = line + len;
    size_t n = 0;
    for (char *p = line; n < MAX_FIELDS; p++) {
        char *tab = field_end(p, end, quotes);
        field[n].p = p;
        field[n++].len = (size_t)((tab ? tab : end) - p);
        if (!tab)
            return n;
        *tab = '\0';
        p = tab;
    }
    return MAX_FIELDS + 1;
}

static bool is_word(const struct field *f, const char *word)
{
    return strcmp(f->p, word) == 0;
}

/* "a""b" becomes a"b; false: no end, or something behind it. */
static bool unquote(struct field *f)
{
    size_t to = 0, i = 1;
    if (f->len == 0 || f->p[0] != '"')
        return true;
    for (; i < f->len && (f->p[i] != '"' || (i + 1 < f->len && f->p[i + 1] == '"')); i++) {
        i += f->p[i] == '"';
        f->p[to++] = f->p[i];
    }
    bool whole = i + 1 == f->len;
    f->p[to] = '\0';
    f->len = to;
    return whole;
}

static int read_header(struct oplog *o, struct err *e)
{
    struct field field[MAX_FIELDS];
    char *line;
    size_t len;
    int rc = lines_next(o->lines, &line, &len, e);
    if (rc <= 0)
        return rc < 0 ? rc : err_set(e, -EINVAL, ERR_INPUT, lines_name(o->lines), "empty");
    o->fields = split(line, len, false, field);
    if (o->fields > MAX_FIELDS)
        return lines_bad(o->lines, e, "more than %d columns", MAX_FIELDS);
    for (int c = 0; c < COLUMNS; c++) {
        o->at[c] = -1;
        for (size_t i = 0; i < o->fields; i++)
            if (is_word(&field[i], names[c]))
                o->at[c] = (int)i;
        if (c < COLUMNS_NEEDED && o->at[c] < 0)
            return lines_bad(o->lines, e, "not an op-log: no column %s", names[c]);
    }
    return 0;
}

/* TRACE_OPS: none that means something here. */
static enum trace_op op_of(const struct field *f)
{
    return is_word(f, "GET")      ? TRACE_READ
           : is_word(f, "PUT")    ? TRACE_WRITE
           : is_word(f, "DELETE") ? TRACE_DELETE
                                  : TRACE_OPS;
}

/* Counts it: no row. */
static int skip(struct oplog *o, const char *why, const char *what)
{
    if (o->skips.rows++ == 0)
        lines_bad(o->lines, &o->skips.first, "%s: %.60s", why, what);
    return 0;
}

static int read_size(const struct oplog *o, const struct field *f, enum trace_op op,
                     uint64_t *bytes, struct err *e)
{
    *bytes = 0;
    if (f->len == 0 && op == TRACE_DELETE)
        return 0;
    if (units_parse_digits(f->p, f->len, bytes) < 0 || *bytes > (uint64_t)INT64_MAX)
        return lines_bad(o->lines, e, "bytes is \"%.40s\", not a size", f->p);
    return 0;
}

/* 1: a row; 0: skipped; negative errno. */
static int read_fields(struct oplog *o, struct field *field, struct err *e)
{
    const struct field *op_field = &field[o->at[COL_OP]], *file = &field[o->at[COL_FILE]];
    const struct field *start = &field[o->at[COL_START]];
    enum trace_op op = op_of(op_field);
    int64_t start_ns;
    uint64_t bytes;
    if (op == TRACE_OPS)
        return skip(o, "not GET, PUT or DELETE", op_field->p);
    if (o->at[COL_ERROR] >= 0 && field[o->at[COL_ERROR]].len > 0)
        return skip(o, "the operation failed", field[o->at[COL_ERROR]].p);
    if (iso_time_parse(start->p, start->len, &start_ns) < 0)
        return lines_bad(o->lines, e, "start is \"%.40s\", not a time", start->p);
    if (file->len == 0 || file->len > TRACE_MAX_KEY)
        return lines_bad(o->lines, e, "file is empty or longer than 64 KiB");
    int rc = read_size(o, &field[o->at[COL_BYTES]], op, &bytes, e);
    if (rc < 0)
        return rc;
    o->row = import_row(op, start_ns, bytes, file->p, file->len);
    return 1;
}

/* 1: the next row of the file is in o->row; 0: the end; negative errno. */
static int read_row(struct oplog *o, struct err *e)
{
    struct field field[MAX_FIELDS];
    char *line;
    size_t len;
    int rc;
    while ((rc = lines_next(o->lines, &line, &len, e)) > 0) {
        if (len == 0 || line[0] == '#')
            continue; /* warp ends with such */
        bool quotes = o->at[COL_CAT] >= 0;
        size_t n = split(line, len, quotes, field);
        for (size_t i = 0; quotes && i < n && i < MAX_FIELDS; i++)
            if (!unquote(&field[i]))
                return lines_bad(o->lines, e, "field %zu: quotes that do not close", i + 1);
        if (n != o->fields)
            return lines_bad(o->lines, e, "%zu fields, the header has %zu", n, o->fields);
        rc = read_fields(o, field, e);
        if (rc != 0)
            return rc;
    }
    return rc;
}

/* ---- rows in order ---- */

static int keep_row(struct oplog *o, struct err *e)
{
    const struct trace_str key = o->row.key;
    memcpy(o->packed, &o->row, sizeof(o->row));
    memcpy(o->packed + sizeof(o->row), key.p, key.len);
    return time_sort_add(o->sort, o->row.time_ns, o->packed, sizeof(o->row) + key.len, e);
}

/* A signal ends it early: whoever takes the rows looks for that, too. */
static int sort_rows(struct oplog *o, struct err *e)
{
    int rc = time_sort_create(&o->sort, export_temp_folder(), SORT_MEMORY, e);
    while (rc == 0 && stop_signal() == 0 && (rc = read_row(o, e)) > 0)
        rc = keep_row(o, e);
    o->sorted = true;
    return rc == 0 ? time_sort_finish(o->sort, e) : rc;
}

static int oplog_next(struct import *base, const struct trace_row **row, struct err *e)
{
    struct oplog *o = (struct oplog *)base;
    int64_t time_ns;
    const void *p;
    size_t len;
    int rc = o->sorted ? 0 : sort_rows(o, e);
    if (rc == 0)
        rc = time_sort_next(o->sort, &time_ns, &p, &len, e);
    if (rc <= 0)
        return rc;
    memcpy(&o->row, p, sizeof(o->row));
    o->row.key.p = (const char *)p + sizeof(o->row);
    *row = &o->row;
    return 1;
}

static const struct source_skips *oplog_skips(const struct import *base)
{
    return &((const struct oplog *)base)->skips;
}

static void oplog_close(struct import *base)
{
    struct oplog *o = (struct oplog *)base;
    lines_free(o->lines);
    time_sort_free(o->sort);
    free(o);
}

static const struct import_ops oplog_ops = {
    .name = "op-log", .next = oplog_next, .skips = oplog_skips, .close = oplog_close};

int import_oplog_open(struct import **out, struct frame_in *file, struct err *e)
{
    struct oplog *o = calloc(1, sizeof(*o));
    if (!o) {
        frame_in_close(file);
        return err_nomem(e, "import");
    }
    o->base.ops = &oplog_ops;
    o->lines = lines_create(file);
    int rc = !o->lines ? err_nomem(e, "import") : read_header(o, e);
    if (rc < 0) {
        oplog_close(&o->base);
        return rc;
    }
    *out = &o->base;
    return 0;
}
