/* Logs of operations on objects in a store, tab-separated with a header, both ways: the op-log of
 * s3dlio and sai3-bench, and the benchdata of MinIO warp. Many clients write such a log, each
 * operation when it ends, but rows are wanted in order of start. So both ways sort all operations
 * before they give the first. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/format/export.h"
#include "kvgen/format/exporter.h"
#include "kvgen/format/import.h"
#include "kvgen/format/layers.h"
#include "kvgen/format/lines.h"
#include "kvgen/format/output_file.h"
#include "kvgen/format/settle.h"
#include "kvgen/format/temp_file.h"
#include "kvgen/format/thread_numbers.h"
#include "kvgen/format/time_sort.h"
#include "kvgen/iso_time.h"
#include "lib/base/keymap.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"

static const char *const verbs[TRACE_OPS] = {
    [TRACE_READ] = "GET", [TRACE_WRITE] = "PUT", [TRACE_DELETE] = "DELETE"};

/* ---- import ---- */

enum {
    MAX_FIELDS = 64,
    MAX_PLACE = 512, /* bytes of an endpoint, of a thread */
    MAX_KINDS = 12,  /* of rows that are left out */
};

/* A row while it is sorted; key, endpoint and thread stand behind it. */
struct packed {
    int64_t time_ns, latency_ns, first_byte_ns;
    uint64_t size;
    uint32_t key_len;
    uint16_t endpoint_len, thread_len;
    uint8_t op;
};
enum {
    MAX_PACKED = (int)sizeof(struct packed) + (int)TRACE_MAX_KEY + 2 * MAX_PLACE
};
#define IMPORT_SORT_MEMORY ((size_t)16 << 20) /* before a temporary file is used */
_Static_assert(MAX_PACKED <= (int)TIME_SORT_RECORD, "a row can be sorted");

/* Columns by name. Those before ERROR must be there. With END or DURATION the log is a result.
 */
enum column {
    OP,
    BYTES,
    FILE_NAME,
    START,
    ERROR,
    END,
    DURATION,
    FIRST_BYTE,
    ENDPOINT,
    THREAD,
    CAT, /* warp has it; its fields may be in quotes */
    COLUMNS
};

/* Rows that are left out, by kind. */
struct left_out {
    char op[16]; /* as the log has it; "": the kinds that came after the first ones */
    bool failed;
    uint64_t rows;
};

struct reader {
    struct import base; /* first */
    struct lines *lines;
    size_t fields;   /* of a row */
    int at[COLUMNS]; /* -1: not there */
    struct source_skips skips;
    struct time_sort *sort;
    bool sorted;            /* all rows are in sort */
    uint64_t layer_rows[3]; /* by enum layer */
    struct layers *layers;  /* NULL: the log has one layer only */
    struct left_out left_out[MAX_KINDS];
    bool begun;           /* a row was given, ... */
    int64_t first_ns;     /* ... the first one at this time */
    struct keymap *sizes; /* by key, of the objects that were written or read and not deleted */
    struct trace_row row;
    struct trace_extra extra; /* of row */
    char packed[MAX_PACKED];
};

/* NUL-terminated, in the line. */
struct field {
    char *p;
    size_t len;
};

/* Splits a line at its tabs. Within quotes (if the file has them) a tab is part of the field, and a
 * quote is doubled. Returns how many fields there are; MAX_FIELDS + 1: more than fit. */
static size_t split(char *line, size_t len, bool quotes, struct field *field)
{
    char *end = line + len;
    size_t n = 0;
    for (char *first = line; n < MAX_FIELDS;) {
        char *p = first;
        if (quotes && p < end && *p == '"')
            for (p++; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++)
                p += *p == '"';
        char *tab = p < end ? memchr(p, '\t', (size_t)(end - p)) : NULL;
        field[n].p = first;
        field[n++].len = (size_t)((tab ? tab : end) - first);
        if (!tab)
            return n;
        *tab = '\0';
        first = tab + 1;
    }
    return MAX_FIELDS + 1;
}

/* Turns "a""b" into a"b. false: the quotes do not close, or something follows them. */
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

/* Counts a row that is skipped. Returns 0: no row. */
static int skip(struct reader *r, const struct field *verb, bool failed, const char *why,
                const char *what)
{
    struct left_out *kind = r->left_out, *last = &r->left_out[MAX_KINDS - 1];
    char op[sizeof(kind->op)];
    snprintf(op, sizeof(op), "%s", verb->p);
    while (kind < last && kind->rows > 0 && (strcmp(kind->op, op) != 0 || kind->failed != failed))
        kind++;
    if (kind < last) {
        memcpy(kind->op, op, sizeof(op));
        kind->failed = failed;
    }
    kind->rows++;
    if (r->skips.rows++ == 0)
        lines_bad(r->lines, &r->skips.first, "%s: %.60s", why, what);
    return 0;
}

/* Reads a time and its distance from the start; *ns stays if the column or the time is missing. */
static int read_distance(struct reader *r, const struct field *f, const char *name, int64_t *ns,
                         struct err *e)
{
    int64_t time_ns;
    if (!f || f->len == 0)
        return 0;
    if (iso_time_parse(f->p, f->len, &time_ns) < 0)
        return lines_bad(r->lines, e, "%s is \"%.40s\", not a time", name, f->p);
    if (time_ns < r->row.time_ns)
        return lines_bad(r->lines, e, "%s is before start", name);
    *ns = time_ns - r->row.time_ns;
    return 0;
}

static int read_place(struct reader *r, const struct field *f, const char *name,
                      struct trace_str *place, struct err *e)
{
    if (!f || f->len == 0)
        return 0;
    if (f->len > MAX_PLACE)
        return lines_bad(r->lines, e, "%s is longer than %d bytes", name, MAX_PLACE);
    *place = (struct trace_str){.p = f->p, .len = (uint32_t)f->len};
    return 0;
}

/* NULL: the log has no such column. */
static const struct field *field_of(const struct reader *r, const struct field *field,
                                    enum column column)
{
    return r->at[column] >= 0 ? &field[r->at[column]] : NULL;
}

/* The duration is the client's own measurement, by a clock that nothing sets; start and end may be
 * by another. */
static int read_latency(struct reader *r, const struct field *field, struct err *e)
{
    const struct field *f = field_of(r, field, DURATION);
    uint64_t ns;
    int64_t end_ns;
    if (!f || f->len == 0)
        return read_distance(r, field_of(r, field, END), "end", &r->row.latency_ns, e);
    if (units_parse_digits(f->p, f->len, &ns) < 0 ||
        __builtin_add_overflow(r->row.time_ns, ns, &end_ns))
        return lines_bad(r->lines, e, "duration_ns is \"%.40s\", not a length of time", f->p);
    r->row.latency_ns = (int64_t)ns;
    return 0;
}

/* What the client measured: the columns of a result. 1 or negative errno. */
static int read_measured(struct reader *r, const struct field *field, struct err *e)
{
    const struct field *first = field_of(r, field, FIRST_BYTE);
    int rc;
    trace_extra_clear(&r->extra);
    r->row.extra = &r->extra;
    if ((rc = read_latency(r, field, e)) < 0 ||
        (rc = read_distance(r, first, "first_byte", &r->extra.first_byte_ns, e)) < 0 ||
        (rc = read_place(r, field_of(r, field, ENDPOINT), "endpoint", &r->extra.endpoint, e)) < 0 ||
        (rc = read_place(r, field_of(r, field, THREAD), "thread", &r->extra.thread, e)) < 0)
        return rc;
    r->layer_rows[layers_tell(r->extra.endpoint, r->row.key)]++;
    return 1;
}

/* 1 and r->row; 0: the row is skipped; negative errno. */
static int read_fields(struct reader *r, const struct field *field, struct err *e)
{
    const struct field *verb = &field[r->at[OP]], *file = &field[r->at[FILE_NAME]];
    const struct field *start = &field[r->at[START]], *size = &field[r->at[BYTES]];
    int64_t start_ns;
    uint64_t bytes = 0;
    int op = 0;
    while (op < TRACE_OPS && !(verbs[op] && strcmp(verb->p, verbs[op]) == 0))
        op++;
    if (op == TRACE_OPS)
        return skip(r, verb, false, "not GET, PUT or DELETE", verb->p);
    if (r->at[ERROR] >= 0 && field[r->at[ERROR]].len > 0)
        return skip(r, verb, true, "the operation failed", field[r->at[ERROR]].p);
    if (iso_time_parse(start->p, start->len, &start_ns) < 0)
        return lines_bad(r->lines, e, "start is \"%.40s\", not a time", start->p);
    if (file->len == 0 || file->len > TRACE_MAX_KEY)
        return lines_bad(r->lines, e, "file is empty or longer than 64 KiB");
    bool given = size->len > 0 || op != TRACE_DELETE;
    if (given && (units_parse_digits(size->p, size->len, &bytes) < 0 || bytes > INT64_MAX))
        return lines_bad(r->lines, e, "bytes is \"%.40s\", not a size", size->p);
    struct trace_str key = {.p = file->p, .len = (uint32_t)file->len};
    r->row = import_row((enum trace_op)op, start_ns, bytes, key);
    return read_measured(r, field, e);
}

/* The next row of the file: 1 and r->row; 0 at the end; negative errno. */
static int read_row(struct reader *r, struct err *e)
{
    struct field field[MAX_FIELDS];
    bool quotes = r->at[CAT] >= 0;
    char *line;
    size_t len;
    int rc;
    while ((rc = lines_next(r->lines, &line, &len, e)) > 0) {
        if (len == 0 || line[0] == '#')
            continue; /* warp's files end with such lines */
        size_t n = split(line, len, quotes, field);
        for (size_t i = 0; quotes && i < n && i < MAX_FIELDS; i++)
            if (!unquote(&field[i]))
                return lines_bad(r->lines, e, "field %zu: quotes that do not close", i + 1);
        if (n != r->fields)
            return lines_bad(r->lines, e, "%zu fields, the header has %zu", n, r->fields);
        rc = read_fields(r, field, e);
        if (rc != 0)
            return rc;
    }
    return rc;
}

/* Logs have no size of a DELETE: it is that of the last operation on the object. */
static int size_deletion(struct reader *r, struct err *e)
{
    const struct hash128 key = hash_128(r->row.key.p, r->row.key.len);
    uint64_t *size;
    if (r->row.op != TRACE_DELETE) {
        size = keymap_get(r->sizes, key, 0);
        if (!size)
            return err_nomem(e, "objects of the log");
        *size = r->row.size;
        return 0;
    }
    size = keymap_find(r->sizes, key);
    if (r->row.size == 0 && size)
        r->row.size = *size;
    else if (r->row.size == 0)
        r->skips.unsized++;
    keymap_remove(r->sizes, key);
    return 0;
}

/* ---- all rows, in order of start ---- */

static size_t pack(char *p, const struct trace_str *s)
{
    if (s->len > 0)
        memcpy(p, s->p, s->len);
    return s->len;
}

static int sort_row(struct reader *r, struct err *e)
{
    const struct packed head = {.time_ns = r->row.time_ns,
                                .latency_ns = r->row.latency_ns,
                                .first_byte_ns = r->extra.first_byte_ns,
                                .size = r->row.size,
                                .key_len = r->row.key.len,
                                .endpoint_len = (uint16_t)r->extra.endpoint.len,
                                .thread_len = (uint16_t)r->extra.thread.len,
                                .op = r->row.op};
    size_t len = sizeof(head);
    memcpy(r->packed, &head, sizeof(head));
    len += pack(r->packed + len, &r->row.key);
    len += pack(r->packed + len, &r->extra.endpoint);
    len += pack(r->packed + len, &r->extra.thread);
    return time_sort_add(r->sort, r->row.time_ns, r->packed, len, e);
}

/* Says by kind what is left out. */
static void remark_left_out(struct reader *r)
{
    char text[NOTES_CAP] = "";
    size_t len = 0;
    for (size_t i = 0; i < MAX_KINDS && r->left_out[i].rows > 0 && len < sizeof(text); i++) {
        const struct left_out *kind = &r->left_out[i];
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%llu %s%s", i > 0 ? ", " : "",
                                (unsigned long long)kind->rows, kind->failed ? "failed " : "",
                                *kind->op ? kind->op : "of other kinds");
    }
    err_make_harmless(text);
    if (len > 0)
        notes_add(&r->skips.remarks, "left out: %s", text);
}

/* Reads the whole log. A signal ends reading early; whoever takes the rows looks for signals too.
 */
static int sort_all(struct reader *r, struct err *e)
{
    int rc = time_sort_create(&r->sort, temp_file_folder(), IMPORT_SORT_MEMORY, e);
    while (rc == 0 && stop_signal() == 0 && (rc = read_row(r, e)) > 0)
        rc = sort_row(r, e);
    if (rc == 0)
        rc = time_sort_finish(r->sort, e);
    if (rc < 0)
        return rc;
    remark_left_out(r);
    if (r->layer_rows[LAYER_OUTER] > 0 && r->layer_rows[LAYER_INNER] > 0 &&
        !(r->layers = layers_create()))
        rc = err_nomem(e, "layers of the log");
    return rc;
}

/* 1 and r->row, whose strings are lent until the next call; 0 at the end; negative errno. */
static int next_sorted(struct reader *r, struct err *e)
{
    int64_t time_ns;
    const void *p;
    size_t len;
    int rc = time_sort_next(r->sort, &time_ns, &p, &len, e);
    if (rc <= 0)
        return rc;
    struct packed head;
    memcpy(&head, p, sizeof(head));
    const char *text = (const char *)p + sizeof(head);
    struct trace_str key = {.p = text, .len = head.key_len};
    r->row = import_row((enum trace_op)head.op, head.time_ns, head.size, key);
    r->row.latency_ns = head.latency_ns;
    r->row.status = head.latency_ns == TRACE_NONE ? TRACE_NO_STATUS : TRACE_OK;
    r->row.extra = &r->extra;
    text += head.key_len;
    trace_extra_clear(&r->extra);
    r->extra.first_byte_ns = head.first_byte_ns;
    r->extra.endpoint = (struct trace_str){.p = text, .len = head.endpoint_len};
    r->extra.thread = (struct trace_str){.p = text + head.endpoint_len, .len = head.thread_len};
    return 1;
}

/* The same, of a log with two layers. */
static int next_joined(struct reader *r, struct err *e)
{
    const struct trace_row *row;
    int rc = 1;
    while (!(row = layers_take(r->layers)) && rc > 0) {
        rc = next_sorted(r, e);
        if (rc == 0)
            layers_end(r->layers);
        else if (rc > 0 && layers_add(r->layers, &r->row) < 0)
            rc = err_nomem(e, "layers of the log");
    }
    if (!row && rc == 0)
        row = layers_take(r->layers);
    if (!row) {
        uint64_t joined = layers_joined(r->layers);
        if (rc == 0 && joined > 0)
            notes_add(&r->skips.remarks, "%llu operation%s logged by two layers: each is one row",
                      (unsigned long long)joined, joined == 1 ? " was" : "s were");
        return rc;
    }
    r->row = *row;
    return 1;
}

static int reader_next(struct import *base, const struct trace_row **row, struct err *e)
{
    struct reader *r = (struct reader *)base;
    int rc = r->sorted ? 0 : sort_all(r, e);
    r->sorted = true;
    if (rc == 0)
        rc = r->layers ? next_joined(r, e) : next_sorted(r, e);
    if (rc <= 0)
        return rc;
    if (!r->begun)
        r->first_ns = r->row.time_ns;
    r->begun = true;
    if (r->row.latency_ns != TRACE_NONE)
        r->row.start_ns = r->row.time_ns - r->first_ns;
    *row = &r->row;
    rc = size_deletion(r, e);
    return rc < 0 ? rc : 1;
}

static const struct source_skips *reader_skips(const struct import *base)
{
    return &((const struct reader *)base)->skips;
}

static uint32_t reader_columns(const struct import *base)
{
    const struct reader *r = (const struct reader *)base;
    uint32_t columns = TRACE_CORE | TRACE_RESULT;
    if (r->at[END] < 0 && r->at[DURATION] < 0)
        return TRACE_CORE;
    if (r->at[FIRST_BYTE] >= 0)
        columns |= TRACE_BIT(TRACE_COL_FIRST_BYTE);
    if (r->at[ENDPOINT] >= 0)
        columns |= TRACE_BIT(TRACE_COL_ENDPOINT);
    if (r->at[THREAD] >= 0)
        columns |= TRACE_BIT(TRACE_COL_THREAD);
    return columns;
}

static void reader_close(struct import *base)
{
    struct reader *r = (struct reader *)base;
    lines_free(r->lines);
    time_sort_free(r->sort);
    keymap_free(r->sizes);
    layers_free(r->layers);
    free(r);
}

static const struct import_ops reader_ops = {
    .next = reader_next, .skips = reader_skips, .columns = reader_columns, .close = reader_close};

int import_oplog_open(struct import **out, struct frame_in *file, struct err *e)
{
    static const char *const names[COLUMNS] = {"op",       "bytes",  "file",        "start",
                                               "error",    "end",    "duration_ns", "first_byte",
                                               "endpoint", "thread", "cat"};
    struct field field[MAX_FIELDS];
    char *line;
    size_t len;
    int rc;
    struct reader *r = calloc(1, sizeof(*r));
    if (!r) {
        frame_in_close(file);
        return err_nomem(e, "import");
    }
    r->base.ops = &reader_ops;
    r->sizes = keymap_create();
    r->lines = lines_create(file);
    if (!r->lines || !r->sizes) {
        rc = err_nomem(e, "import");
        goto out;
    }
    rc = lines_next(r->lines, &line, &len, e);
    if (rc == 0)
        rc = err_set(e, -EINVAL, ERR_INPUT, lines_name(r->lines), "empty");
    if (rc < 0)
        goto out;
    r->fields = split(line, len, false, field);
    if (r->fields > MAX_FIELDS) {
        rc = lines_bad(r->lines, e, "more than %d columns", MAX_FIELDS);
        goto out;
    }
    for (int c = 0; c < COLUMNS; c++) {
        r->at[c] = -1;
        for (size_t i = 0; i < r->fields; i++)
            if (strcmp(field[i].p, names[c]) == 0)
                r->at[c] = (int)i;
        if (c < ERROR && r->at[c] < 0) {
            rc = lines_bad(r->lines, e, "not an op-log: no column %s", names[c]);
            goto out;
        }
    }
out:
    if (rc < 0)
        reader_close(&r->base);
    else
        *out = &r->base;
    return rc < 0 ? rc : 0;
}

/* ---- export: rows ---- */

/* An op-log is executed, so every object that is read without having been written gets a PUT at the
 * head of the log. Which objects these are is known only after the last row. */
#define PRELOAD_TIME INT64_MIN /* sorts before everything */

enum {
    MAX_ENDPOINT = 1024,
    MAX_LINE = TRACE_MAX_KEY + MAX_ENDPOINT + 512,
    MAX_THREAD = 65535 /* warp: 16 bits */
};

enum {
    RULE_CONTROL = EXPORT_OWN_RULES,
    RULE_EMPTY,
    RULE_TIME,
    SAI3_PATH,
    SAI3_DELETED,
    SAI3_SIZE,
    SAI3_FAILED,
    SAI3_UNUSABLE,
    SAI3_ABSENT,
    SAI3_UNDONE,
    SAI3_PUT_100MS,
    SAI3_PUT_1S,
    SAI3_PUT_10S,
    SAI3_PRELOAD,
    SAI3_KEPT,
    WARP_QUOTE = SAI3_PATH,
    WARP_LATENCY,
    WARP_THREADS,
    WARP_FEW
};
static const struct export_rule sai3_rules[] = {
    {EXPORT_REFUSED, "with a tab, newline or other control character in the key: fields have no "
                     "quotes"},
    {EXPORT_REFUSED, "without a key"},
    {EXPORT_REFUSED, "at a time outside the years 1970 to 2199"},
    {EXPORT_REFUSED, "with a key that leaves the endpoint's folder (\"..\")"},
    {EXPORT_LOSS, "that read an object after its deletion: the GET fails"},
    {EXPORT_LOSS, "that read another size than was written: a GET fetches the whole object"},
    {EXPORT_LOSS, "that failed in the run: left out"},
    {EXPORT_LOSS, "that need an object whose PUT failed: left out"},
    {EXPORT_LOSS, "that delete an object that is not there: the DELETE fails"},
    {EXPORT_LOSS,
     "that start before the PUT of their object is done: sai3-bench waits for no other "
     "operation, so they fail (see --tier-model)"},
    {EXPORT_LOSS, "that would fail on a target whose PUT takes 0.1 s (see --settle)"},
    {EXPORT_LOSS, "that would fail on a target whose PUT takes 1 s (see --settle)"},
    {EXPORT_REMARK, "that would fail on a target whose PUT takes 10 s (see --settle)"},
    {EXPORT_REMARK, "that read what was not written before: a PUT of it stands at the head"},
    {EXPORT_REMARK, "that delete what is used again, or was never read: left out (--preload)"},
    {EXPORT_REMARK, NULL}};
static const struct export_rule warp_rules[] = {
    {EXPORT_REFUSED, "with a tab, newline or other control character in the key: fields have no "
                     "quotes"},
    {EXPORT_REFUSED, "without a key"},
    {EXPORT_REFUSED, "at a time outside the years 1970 to 2199"},
    {EXPORT_REFUSED, "with a quote in the key: warp ends there, or reads the field as quoted"},
    {EXPORT_REFUSED, "without latency: warp's data are measurements (give a result of kvreplay)"},
    {EXPORT_REFUSED, "with more than 65,535 operations in flight: a thread has 16 bits"},
    {EXPORT_LOSS, "fewer than two seconds or ten rows: not enough for time segments"},
    {EXPORT_REMARK, NULL}};

struct oplog {
    struct time_sort *sort;
    struct settle *settle; /* sai3, else NULL */
    bool heads;            /* PUTs stand at the head */
    char *preload_path;    /* sai3 with preload */
    struct output_file *preload;
    uint64_t preload_rows, preload_bytes; /* PUTs in it */
    struct thread_numbers *threads;
    int64_t first_ns, last_ns; /* of all operations */
    char line[MAX_LINE];
};

static bool is_sai3(const struct export *x)
{
    return x->format == &export_sai3;
}

static bool has_control(const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)p[i] < ' ' || p[i] == 0x7f)
            return true;
    return false;
}

/* Whether the key has a component "..". Endpoint and key become a path. */
static bool leaves_folder(struct trace_str s)
{
    for (uint32_t from = 0, i = 0; i <= s.len; i++) {
        if (i < s.len && s.p[i] != '/')
            continue;
        if (i - from == 2 && s.p[from] == '.' && s.p[from + 1] == '.')
            return true;
        from = i + 1;
    }
    return false;
}

static char *put_field(char *p, const char *text)
{
    p = export_put_text(p, text, strlen(text));
    *p++ = '\t';
    return p;
}

static char *put_number(char *p, uint64_t n)
{
    p += units_put_u64(p, n);
    *p++ = '\t';
    return p;
}

static char *put_time(char *p, int64_t ns)
{
    p += iso_time_put(p, ns);
    *p++ = '\t';
    return p;
}

/* Writes a line to l->line; returns its length. */
static size_t put_line(const struct export *x, uint64_t number, unsigned thread,
                       const struct export_op *op, int64_t start_ns)
{
    struct oplog *l = x->state;
    int64_t latency_ns = op->latency_ns == TRACE_NONE ? 0 : op->latency_ns;
    int64_t end_ns = start_ns + latency_ns;
    char *p = put_number(l->line, number);
    p = put_number(p, thread);
    p = put_field(p, verbs[op->op]);
    p = put_field(p, "kvtrace");
    p = put_number(p, 1);
    p = put_number(p, op->op == TRACE_DELETE ? 0 : op->size);
    p = put_field(p, x->o->endpoint);
    p = export_put_text(p, op->key.p, op->key.len);
    *p++ = '\t';
    p = put_field(p, op->status > TRACE_OK ? trace_status_text(op->status) : "");
    p = put_time(p, start_ns);
    *p++ = '\t'; /* the time of the first byte is not known */
    if (!is_sai3(x))
        p = put_time(p, end_ns);
    p = put_time(p, end_ns);
    p += units_put_u64(p, (uint64_t)latency_ns);
    if (!is_sai3(x))
        p = export_put_text(p, "\t0", 2);
    *p++ = '\n';
    return (size_t)(p - l->line);
}

static int64_t shift_of(const struct oplog *l)
{
    return l->first_ns < 0 ? -l->first_ns : 0; /* rows before a replay's zero have negative times */
}

static int keep(struct export *x, const struct export_op *op, int64_t start_ns, struct err *e)
{
    struct oplog *l = x->state;
    if (start_ns < l->first_ns)
        l->first_ns = start_ns;
    if (start_ns > l->last_ns)
        l->last_ns = start_ns;
    x->rows++;
    return export_keep(x, l->sort, start_ns, op, e);
}

/* What stands beside op in the log: a PUT of its object at the head, or a DELETE after it. */
static struct export_op beside(const struct export_op *op, enum trace_op what)
{
    struct export_op other = *op;
    other.op = (uint8_t)what;
    other.status = TRACE_NO_STATUS;
    other.latency_ns = TRACE_NONE;
    return other;
}

/* A PUT of op's object into the log that is replayed first, at 1 GB/s: a byte a ns. */
static int put_preload(struct export *x, const struct export_op *op, struct err *e)
{
    struct oplog *l = x->state;
    struct export_op put_op = beside(op, TRACE_WRITE);
    int64_t start_ns;
    if (__builtin_add_overflow(l->first_ns + shift_of(l), (int64_t)l->preload_bytes, &start_ns) ||
        start_ns < 0 || start_ns > ISO_TIME_MAX)
        return export_refuse(x, RULE_TIME, op, e);
    size_t len = put_line(x, l->preload_rows++, 0, &put_op, start_ns);
    if (__builtin_add_overflow(l->preload_bytes, op->size, &l->preload_bytes) ||
        l->preload_bytes > INT64_MAX)
        l->preload_bytes = INT64_MAX;
    return l->preload ? output_file_put(l->preload, l->line, len, e) : 0;
}

/* Where all that is read is there, a DELETE waits for the end: it may not be the last on its
 * object. */
static int keep_preloaded(struct export *x, const struct export_op *op,
                          const struct settle_step *step, struct err *e)
{
    struct oplog *l = x->state;
    int rc = 0;
    if (op->op != TRACE_DELETE)
        rc = keep(x, op, op->time_ns, e);
    if (rc == 0 && step->leave > 0) {
        struct export_op delete_op = beside(op, TRACE_DELETE);
        delete_op.latency_ns = op->op == TRACE_DELETE ? op->latency_ns : TRACE_NONE;
        delete_op.leave = step->leave;
        rc = export_keep(x, l->sort, step->leave_ns, &delete_op, e);
    }
    return rc == 0 && step->unwritten ? put_preload(x, op, e) : rc;
}

/* Follows what is stored, so that a replay finds what it reads, and notes operations that will
 * fail. Rows come in order of start. */
static int keep_settled(struct export *x, const struct export_op *op, struct err *e)
{
    struct oplog *l = x->state;
    struct settle_step step;
    if (settle_next(l->settle, op, &step) < 0)
        return err_nomem(e, "objects of the export");
    if (op->status > TRACE_OK || step.unusable) {
        export_note(x, step.unusable ? SAI3_UNUSABLE : SAI3_FAILED, op->number);
        return 0;
    }
    if (x->o->preload)
        return keep_preloaded(x, op, &step, e);
    if (step.gone)
        export_note(x, op->op == TRACE_DELETE ? SAI3_ABSENT : SAI3_DELETED, op->number);
    else if (op->op == TRACE_READ && step.size != op->size)
        export_note(x, SAI3_SIZE, op->number);
    if (step.early)
        export_note(x, SAI3_UNDONE, op->number);
    int rc = keep(x, op, step.start_ns, e);
    if (rc == 0 && step.unwritten) {
        struct export_op put_op = beside(op, TRACE_WRITE);
        export_note(x, SAI3_PRELOAD, op->number);
        l->heads = true;
        rc = export_keep(x, l->sort, PRELOAD_TIME, &put_op, e);
    }
    if (rc == 0 && step.leave > 0) {
        struct export_op delete_op = beside(op, TRACE_DELETE);
        delete_op.leave = step.leave;
        rc = export_keep(x, l->sort, step.leave_ns, &delete_op, e);
    }
    return rc;
}

static int oplog_row(struct export *x, const struct export_op *op, struct err *e)
{
    const struct trace_str *key = &op->key;
    if (has_control(key->p, key->len))
        return export_refuse(x, RULE_CONTROL, op, e);
    if (key->len == 0)
        return export_refuse(x, RULE_EMPTY, op, e);
    if (is_sai3(x) && leaves_folder(*key))
        return export_refuse(x, SAI3_PATH, op, e);
    if (!is_sai3(x) && memchr(key->p, '"', key->len))
        return export_refuse(x, WARP_QUOTE, op, e);
    if (!is_sai3(x) && op->latency_ns == TRACE_NONE)
        return export_refuse(x, WARP_LATENCY, op, e);

    return is_sai3(x) ? keep_settled(x, op, e) : keep(x, op, op->time_ns, e);
}

/* ---- export: lines ---- */

/* Writes the line of op number x->rows, from start_ns to end_ns. */
static int write_op(struct export *x, const struct export_op *op, int64_t start_ns, struct err *e)
{
    struct oplog *l = x->state;
    unsigned thread;
    int64_t end_ns, latency_ns = op->latency_ns == TRACE_NONE ? 0 : op->latency_ns;
    if (__builtin_add_overflow(start_ns, latency_ns, &end_ns) || start_ns < 0 ||
        end_ns < start_ns || end_ns > ISO_TIME_MAX)
        return export_refuse(x, RULE_TIME, op, e);
    /* Operations that overlap belong to different threads. */
    if (thread_numbers_take(l->threads, start_ns, end_ns, &thread) < 0)
        return err_nomem(e, "threads of the export");
    if (!is_sai3(x) && thread > MAX_THREAD)
        return export_refuse(x, WARP_THREADS, op, e);
    return export_put(x, l->line, put_line(x, x->rows, thread, op, start_ns), e);
}

/* Which operations fail where a PUT takes long. */
static int note_failures(struct export *x, const struct export_op *op, int64_t start_ns,
                         struct err *e)
{
    const struct oplog *l = x->state;
    int fails = settle_count(l->settle, op, start_ns);
    if (fails < 0)
        return err_nomem(e, "objects of the export");
    for (unsigned i = 0; i < SETTLE_PUTS; i++)
        if ((fails >> i & 1) != 0)
            export_note(x, SAI3_PUT_100MS + i, op->number);
    return 0;
}

static const char header_of_sai3[] =
    "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte"
    "\tend\tduration_ns\n";

static int oplog_finish(struct export *x, struct err *e)
{
    static const char warp[] =
        "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte"
        "\tlast_byte\tend\tduration_ns\tcat\n";
    const char *header = is_sai3(x) ? header_of_sai3 : warp;
    struct oplog *l = x->state;
    uint64_t span_ns = (uint64_t)l->last_ns - (uint64_t)l->first_ns;
    if (!is_sai3(x) && (x->rows < 10 || span_ns < 2 * UNITS_NS_PER_S))
        export_note(x, WARP_FEW, 0);
    int rc = time_sort_finish(l->sort, e);
    if (rc == 0)
        rc = export_put(x, header, strlen(header), e);
    if (rc < 0)
        return rc;

    int64_t shift_ns = shift_of(l);
    int64_t behind_heads_ns = l->heads ? x->o->settle_ns : 0;
    struct export_op op;
    int64_t time_ns;
    x->rows = 0;
    while ((rc = export_take(l->sort, &time_ns, &op, e)) > 0) {
        int64_t start_ns;
        bool preloaded = time_ns == PRELOAD_TIME;
        if (op.leave > 0 && !settle_leaves(l->settle, op.leave)) {
            if (x->o->preload)
                export_note(x, SAI3_KEPT, op.number);
            continue;
        }
        if (__builtin_add_overflow(preloaded ? l->first_ns : time_ns, shift_ns, &start_ns) ||
            (!preloaded && __builtin_add_overflow(start_ns, behind_heads_ns, &start_ns)))
            start_ns = -1;
        /* If the first row cannot be written, it is refused itself, not what is put before it. */
        if (preloaded && (start_ns < 0 || start_ns > ISO_TIME_MAX))
            continue;
        if (is_sai3(x) && (rc = note_failures(x, &op, start_ns, e)) < 0)
            return rc;
        rc = write_op(x, &op, start_ns, e);
        if (rc < 0)
            return rc;
        x->rows++;
    }
    if (rc == 0 && l->preload) {
        struct trace_totals totals = {0};
        struct output_file *file = l->preload;
        l->preload = NULL;
        rc = output_file_close(file, &totals, e);
    }
    return rc;
}

static bool sai3_notice(const struct export *x, char *buf, size_t n)
{
    const struct oplog *l = x->state;
    const struct settle_moved *m = settle_moved(l->settle);
    char moved[32], of[32], mean[32], most[32], longer[64] = "";
    double mean_ns = m->ops > 0 ? (double)m->sum_ns / (double)m->ops : 0;
    if (x->o->preload) {
        units_format_bytes(most, sizeof(most), (double)l->preload_bytes);
        units_format_count(of, sizeof(of), l->preload_rows);
        snprintf(buf, n, "--preload: %s PUTs, %s, in %s, to be replayed to its end first", of, most,
                 l->preload_path ? l->preload_path : "no file");
        return true;
    }
    if (m->ops == 0)
        return false;
    if (l->heads)
        snprintf(longer, sizeof(longer), "; all start after the PUTs at the head");
    units_format_count(moved, sizeof(moved), m->ops);
    units_format_count(of, sizeof(of), m->of);
    units_format_duration(mean, sizeof(mean), mean_ns);
    units_format_duration(most, sizeof(most), (double)m->most_ns);
    snprintf(buf, n, "--settle: %s of %s operations start later, by %s on average and %s at most%s",
             moved, of, mean, most, longer);
    return true;
}

/* X.tsv.zst has X.preload.tsv.zst beside it. */
static int open_preload(struct export *x, struct err *e)
{
    struct oplog *l = x->state;
    const char *path = x->o->path, *end = strstr(path, ".tsv");
    for (const char *more; end && (more = strstr(end + 1, ".tsv"));)
        end = more;
    int stem = end ? (int)(end - path) : (int)strlen(path);
    if (asprintf(&l->preload_path, "%.*s.preload%s", stem, path, path + stem) < 0) {
        l->preload_path = NULL;
        return err_nomem(e, "export");
    }
    int rc = output_file_open(&l->preload, l->preload_path, x->o->zstd, x->o->level, e);
    return rc < 0 ? rc : output_file_put(l->preload, header_of_sai3, strlen(header_of_sai3), e);
}

static int oplog_open(struct export *x, struct err *e)
{
    const char *endpoint = x->o->endpoint;
    size_t endpoint_len = strlen(endpoint);
    struct oplog *l = calloc(1, sizeof(*l));
    x->state = l;
    if (!l)
        return err_nomem(e, "export");
    bool quoted = !is_sai3(x) && strchr(endpoint, '"');
    if (has_control(endpoint, endpoint_len) || quoted || endpoint_len > MAX_ENDPOINT)
        return err_set(e, -EINVAL, ERR_INPUT, "--endpoint",
                       "longer than %d bytes, or with a tab, newline or other control character%s",
                       MAX_ENDPOINT, quoted ? ", or a quote" : "");
    l->first_ns = INT64_MAX;
    l->last_ns = INT64_MIN;
    l->threads = thread_numbers_create();
    if (is_sai3(x))
        l->settle = settle_create(x->o->settle_ns, x->o->preload);
    if (!l->threads || (is_sai3(x) && !l->settle))
        return err_nomem(e, "export");
    int rc = x->o->preload && x->o->path ? open_preload(x, e) : 0;
    if (rc < 0)
        return rc;
    return time_sort_create(&l->sort, x->folder, EXPORT_SORT_MEMORY, e);
}

static void oplog_free(struct export *x)
{
    struct oplog *l = x->state;
    if (!l)
        return;
    time_sort_free(l->sort);
    settle_free(l->settle);
    output_file_abandon(l->preload);
    free(l->preload_path);
    thread_numbers_free(l->threads);
    free(l);
}

const struct exporter export_sai3 = {.name = "sai3",
                                     .rules = sai3_rules,
                                     .started = true,
                                     .open = oplog_open,
                                     .row = oplog_row,
                                     .finish = oplog_finish,
                                     .notice = sai3_notice,
                                     .free = oplog_free};
const struct exporter export_warp = {.name = "warp",
                                     .rules = warp_rules,
                                     .started = true,
                                     .sorts = true,
                                     .open = oplog_open,
                                     .row = oplog_row,
                                     .finish = oplog_finish,
                                     .free = oplog_free};
