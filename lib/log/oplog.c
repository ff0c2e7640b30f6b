/* Reads logs of operations on objects in a store. Many clients write such a log, each operation
 * when it ends, but rows are wanted in order of start. So all operations are sorted before the
 * first is given. */
#include "lib/log/oplog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/keymap.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/log/iso_time.h"
#include "lib/log/layers.h"
#include "lib/log/lines.h"
#include "lib/log/row.h"
#include "lib/sort/temp_file.h"
#include "lib/sort/time_sort.h"
#include "lib/text/text.h"

static const char *const verbs[TRACE_OPS] = {
    [TRACE_READ] = "GET", [TRACE_WRITE] = "PUT", [TRACE_DELETE] = "DELETE"};

const char *oplog_verb(enum trace_op op)
{
    return verbs[op];
}

bool oplog_is_header(const char *line, size_t len)
{
    bool op = memmem(line, len, "\top\t", 4) || (len > 3 && memcmp(line, "op\t", 3) == 0);
    return op && memmem(line, len, "\tstart", 6);
}

enum {
    LOOK = 64 << 10, /* bytes in which the first line must end for oplog_look */
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
    int32_t status; /* of a failed one; else TRACE_OK */
    uint8_t op;
    bool first_at_end; /* its first byte came when it ended */
};
enum {
    MAX_PACKED = (int)sizeof(struct packed) + (int)TRACE_MAX_KEY + 2 * MAX_PLACE
};
#define HOLE_NS     INT64_C(1000000000)
#define SORT_MEMORY ((size_t)16 << 20) /* before a temporary file is used */
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

struct oplog_reader {
    struct lines *lines;
    size_t fields;   /* of a row */
    int at[COLUMNS]; /* -1: not there */
    struct skips skips;
    bool gives_failed;
    struct time_sort *sort;
    bool sorted, noted;     /* all rows are in sort; were given, and remarked upon */
    uint64_t layer_rows[3]; /* by enum layer */
    struct layers *layers;  /* NULL: the log has one layer only */
    struct oplog_apart apart[MAX_KINDS];
    bool begun;        /* a row was given, ... */
    int64_t first_ns;  /* ... the first one at this time */
    int64_t busy_ns;   /* until then one that was given was under way */
    bool first_at_end; /* of row, as in struct packed */
    struct {
        uint64_t known, at_end; /* GETs with a first byte; those whose it came at their end */
    } first_byte;
    struct {
        uint64_t count;
        int64_t ns, longest_ns;
    } hole;               /* times without an operation */
    struct keymap *sizes; /* by key, of the objects that were written or read and not deleted */
    struct trace_row row;
    struct trace_extra extra; /* of row */
    char packed[MAX_PACKED];
};

int oplog_look(struct frame_in *in, struct err *e)
{
    size_t len = 0;
    int64_t n = 1;
    const char *end = NULL;
    if (frame_in_whole_rows(in))
        return 0; /* only our own traces are marked so; their frames must not be read here */
    char *text = malloc(LOOK);
    if (!text)
        return err_nomem(e, "input");
    while (n > 0 && len < LOOK && !end) {
        n = frame_in_read(in, text + len, LOOK - len, NULL);
        end = n > 0 ? memchr(text + len, '\n', (size_t)n) : NULL;
        len += n > 0 ? (size_t)n : 0;
    }
    /* An error comes again when the rows are read. */
    size_t mark = text_mark(text, len);
    bool log = end && oplog_is_header(text + mark, (size_t)(end - text) - mark);
    int rc = 0;
    if (frame_in_can_rewind(in))
        rc = frame_in_rewind(in, e);
    else if (len > 0 && frame_in_unread(in, text, len) < 0)
        rc = err_nomem(e, "input");
    free(text);
    return rc < 0 ? rc : log;
}

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

/* Reads a time and its distance from the start; *ns stays if the column or the time is missing. */
static int read_distance(struct oplog_reader *r, const struct field *f, const char *name,
                         int64_t *ns, struct err *e)
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

static int read_place(struct oplog_reader *r, const struct field *f, const char *name,
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
static const struct field *field_of(const struct oplog_reader *r, const struct field *field,
                                    enum column column)
{
    return r->at[column] >= 0 ? &field[r->at[column]] : NULL;
}

/* The duration is the client's own measurement, by a clock that nothing sets; start and end may be
 * by another. */
static int read_latency(struct oplog_reader *r, const struct field *field, struct err *e)
{
    const struct field *f = field_of(r, field, DURATION);
    uint64_t ns;
    int64_t end_ns;
    if (!f || f->len == 0)
        return read_distance(r, field_of(r, field, END), "end", &r->row.latency_ns, e);
    if (units_parse_digits(f->p, f->len, &ns) < 0 ||
        __builtin_add_overflow(r->row.time_ns, ns, &end_ns))
        return lines_bad(r->lines, e, "duration_ns is \"%.40s\", not a duration", f->p);
    r->row.latency_ns = (int64_t)ns;
    return 0;
}

/* Counts a row that is skipped, with its latency if the row has a good one. Returns 0: no row. */
static int skip(struct oplog_reader *r, const struct field *field, bool failed, const char *why)
{
    const struct field *verb = &field[r->at[OP]], *start = &field[r->at[START]];
    struct oplog_apart *kind = r->apart, *last = &r->apart[MAX_KINDS - 1];
    char op[sizeof(kind->op)];
    snprintf(op, sizeof(op), "%s", verb->p);
    err_make_harmless(op);
    while (kind < last && kind->rows > 0 && (strcmp(kind->op, op) != 0 || kind->failed != failed))
        kind++;
    if (kind < last) {
        memcpy(kind->op, op, sizeof(op));
        kind->failed = failed;
    }
    kind->rows++;
    if (r->skips.rows++ == 0)
        lines_bad(r->lines, &r->skips.first, "%s: %.60s", why,
                  failed ? field[r->at[ERROR]].p : verb->p);
    r->row.latency_ns = TRACE_NONE;
    if (iso_time_parse(start->p, start->len, &r->row.time_ns) == 0 &&
        read_latency(r, field, NULL) == 0 && r->row.latency_ns != TRACE_NONE) {
        kind->timed++;
        kind->mean_ns += ((double)r->row.latency_ns - kind->mean_ns) / (double)kind->timed;
        if (r->row.latency_ns > kind->max_ns)
            kind->max_ns = r->row.latency_ns;
    }
    return 0;
}

/* The columns of a result: the client's own times. 1 or negative errno. */
static int read_measured(struct oplog_reader *r, const struct field *field, struct err *e)
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
    /* Some clients note the start of a PUT as its first byte, some the end of a GET. */
    int64_t *first_ns = &r->extra.first_byte_ns, end_ns = TRACE_NONE;
    if (r->row.op != TRACE_READ && *first_ns == 0)
        *first_ns = TRACE_NONE;
    if ((rc = read_distance(r, field_of(r, field, END), "end", &end_ns, e)) < 0)
        return rc;
    bool reads = r->row.op == TRACE_READ && *first_ns != TRACE_NONE && r->row.latency_ns > 0;
    r->first_at_end = reads && *first_ns >= (end_ns != TRACE_NONE ? end_ns : r->row.latency_ns);
    r->first_byte.known += reads;
    r->first_byte.at_end += r->first_at_end;
    r->layer_rows[layers_tell(r->extra.endpoint, r->row.key)]++;
    return 1;
}

/* Clients write the text of an error as they like: the code of S3 in it, or what it says, as a
 * Status. */
static int32_t status_of(const struct field *error, const struct field *endpoint)
{
    static const struct {
        const char *says, *status;
    } known[] = {{"does not exist", "S3:NoSuchKey"},
                 {"not found", "S3:NoSuchKey"},
                 {"ccess denied", "S3:AccessDenied"},
                 {"request rate", "S3:SlowDown"},
                 {"internal error", "S3:InternalError"},
                 {"timed out", "ETIMEDOUT"},
                 {"timeout", "ETIMEDOUT"},
                 {"deadline exceeded", "ETIMEDOUT"},
                 {"onnection refused", "ECONNREFUSED"},
                 {"onnection reset", "ECONNRESET"},
                 {"o space left", "ENOSPC"}};
    const char *of_s3 = "S3:Other";
    bool files = endpoint && strncmp(endpoint->p, "file:", 5) == 0;
    int other, status;
    trace_status_parse(of_s3, strlen(of_s3), &other);
    for (const char *p = error->p; *p;) {
        size_t len = strcspn(p, " \t,;:.()[]{}<>\"'=/");
        char code[64];
        int n = snprintf(code, sizeof(code), "S3:%.*s", (int)(len < 48 ? len : 48), p);
        if (len > 0 && trace_status_parse(code, (size_t)n, &status) == 0 && status != other)
            return status;
        p += len + (p[len] != '\0');
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strstr(error->p, known[i].says) &&
            trace_status_parse(known[i].status, strlen(known[i].status), &status) == 0)
            return status;
    return files ? EIO : other;
}

/* A failed operation, as far as the log tells of it: 1 and r->row; 0: it is counted apart. */
static int read_failed(struct oplog_reader *r, const struct field *field, enum trace_op op)
{
    const struct field *file = &field[r->at[FILE_NAME]], *start = &field[r->at[START]];
    const struct field *size = &field[r->at[BYTES]];
    struct trace_str key = {.p = file->p, .len = (uint32_t)file->len};
    uint64_t bytes = 0;
    int64_t start_ns;
    if (file->len == 0 || file->len > TRACE_MAX_KEY ||
        iso_time_parse(start->p, start->len, &start_ns) < 0)
        return skip(r, field, true, "the operation failed");
    if (units_parse_digits(size->p, size->len, &bytes) < 0 || bytes > INT64_MAX)
        bytes = 0;
    r->row = log_row(op, start_ns, bytes, key);
    if (read_measured(r, field, NULL) < 0)
        return skip(r, field, true, "the operation failed");
    r->row.status = status_of(&field[r->at[ERROR]], field_of(r, field, ENDPOINT));
    return 1;
}

/* 1 and r->row; 0: the row is skipped; negative errno. */
static int read_fields(struct oplog_reader *r, const struct field *field, struct err *e)
{
    const struct field *verb = &field[r->at[OP]], *file = &field[r->at[FILE_NAME]];
    const struct field *start = &field[r->at[START]], *size = &field[r->at[BYTES]];
    int64_t start_ns;
    uint64_t bytes = 0;
    int op = 0;
    while (op < TRACE_OPS && !(verbs[op] && strcmp(verb->p, verbs[op]) == 0))
        op++;
    if (op == TRACE_OPS)
        return skip(r, field, false, "not GET, PUT or DELETE");
    if (r->at[ERROR] >= 0 && field[r->at[ERROR]].len > 0 && r->gives_failed)
        return read_failed(r, field, (enum trace_op)op);
    if (r->at[ERROR] >= 0 && field[r->at[ERROR]].len > 0)
        return skip(r, field, true, "the operation failed");
    if (iso_time_parse(start->p, start->len, &start_ns) < 0)
        return lines_bad(r->lines, e, "start is \"%.40s\", not a time", start->p);
    if (file->len == 0 || file->len > TRACE_MAX_KEY)
        return lines_bad(r->lines, e, "file is empty or longer than 64 KiB");
    bool given = size->len > 0 || op != TRACE_DELETE;
    if (given && (units_parse_digits(size->p, size->len, &bytes) < 0 || bytes > INT64_MAX))
        return lines_bad(r->lines, e, "bytes is \"%.40s\", not a size", size->p);
    struct trace_str key = {.p = file->p, .len = (uint32_t)file->len};
    r->row = log_row((enum trace_op)op, start_ns, bytes, key);
    r->row.status = TRACE_OK;
    return read_measured(r, field, e);
}

/* The next row of the file: 1 and r->row; 0 at the end; negative errno. */
static int read_row(struct oplog_reader *r, struct err *e)
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
                return lines_bad(r->lines, e, "field %zu: quote is not closed", i + 1);
        if (n != r->fields)
            return lines_bad(r->lines, e, "%zu fields, the header has %zu", n, r->fields);
        rc = read_fields(r, field, e);
        if (rc != 0)
            return rc;
    }
    return rc;
}

/* Logs have no size of a DELETE: it is that of the last operation on the object. */
static int size_deletion(struct oplog_reader *r, struct err *e)
{
    const struct hash128 key = hash_128(r->row.key.p, r->row.key.len);
    uint64_t *size;
    if (r->row.status != TRACE_OK && r->row.status != TRACE_NO_STATUS)
        return 0; /* it failed */
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

static int sort_row(struct oplog_reader *r, struct err *e)
{
    const struct packed head = {.time_ns = r->row.time_ns,
                                .latency_ns = r->row.latency_ns,
                                .first_byte_ns = r->extra.first_byte_ns,
                                .size = r->row.size,
                                .status = r->row.status,
                                .key_len = r->row.key.len,
                                .endpoint_len = (uint16_t)r->extra.endpoint.len,
                                .thread_len = (uint16_t)r->extra.thread.len,
                                .op = r->row.op,
                                .first_at_end = r->first_at_end};
    size_t len = sizeof(head);
    memcpy(r->packed, &head, sizeof(head));
    len += pack(r->packed + len, &r->row.key);
    len += pack(r->packed + len, &r->extra.endpoint);
    len += pack(r->packed + len, &r->extra.thread);
    return time_sort_add(r->sort, r->row.time_ns, r->packed, len, e);
}

/* More GETs than not have their first byte at their end: the client did not see it. A few may be
 * so short. */
static bool invents_first_bytes(const struct oplog_reader *r)
{
    return 2 * r->first_byte.at_end > r->first_byte.known;
}

void oplog_reader_note(const struct oplog_reader *r, struct notes *notes)
{
    char all[32], longest[32];
    if (invents_first_bytes(r))
        notes_add(notes,
                  "the log puts the first byte of %llu of %llu GETs at their end: when it came is "
                  "not known",
                  (unsigned long long)r->first_byte.at_end,
                  (unsigned long long)r->first_byte.known);
    if (r->hole.count > 0)
        notes_add(notes,
                  "nothing was under way for %s, the longest time %s (%llu hole%s of 1 s or more): "
                  "rates over the whole time include that",
                  units_format_duration(all, sizeof(all), (double)r->hole.ns),
                  units_format_duration(longest, sizeof(longest), (double)r->hole.longest_ns),
                  (unsigned long long)r->hole.count, units_plural(r->hole.count));
}

/* Takes note of the row's time: rows come in order of their start. */
static void look_for_hole(struct oplog_reader *r)
{
    int64_t until_ns = r->row.time_ns, idle_ns;
    if (r->row.latency_ns == TRACE_NONE)
        return;
    if (__builtin_add_overflow(until_ns, r->row.latency_ns, &until_ns))
        until_ns = INT64_MAX;
    if (r->begun && !__builtin_sub_overflow(r->row.time_ns, r->busy_ns, &idle_ns) &&
        idle_ns >= HOLE_NS) {
        r->hole.count++;
        if (__builtin_add_overflow(r->hole.ns, idle_ns, &r->hole.ns))
            r->hole.ns = INT64_MAX;
        r->hole.longest_ns = idle_ns > r->hole.longest_ns ? idle_ns : r->hole.longest_ns;
    }
    r->busy_ns = !r->begun || until_ns > r->busy_ns ? until_ns : r->busy_ns;
}

/* Says by kind what is left out. */
static void remark_left_out(struct oplog_reader *r)
{
    char text[NOTES_CAP] = "";
    size_t len = 0;
    for (size_t i = 0; i < MAX_KINDS && r->apart[i].rows > 0 && len < sizeof(text); i++) {
        const struct oplog_apart *kind = &r->apart[i];
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%llu %s%s", i > 0 ? ", " : "",
                                (unsigned long long)kind->rows, kind->failed ? "failed " : "",
                                *kind->op ? kind->op : "of other kinds");
    }
    if (len > 0)
        notes_add(&r->skips.remarks, "left out: %s", text);
}

/* Reads the whole log. A signal ends reading early; whoever takes the rows looks for signals too.
 */
static int sort_all(struct oplog_reader *r, struct err *e)
{
    int rc = time_sort_create(&r->sort, temp_file_folder(), SORT_MEMORY, e);
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
static int next_sorted(struct oplog_reader *r, struct err *e)
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
    r->row = log_row((enum trace_op)head.op, head.time_ns, head.size, key);
    r->row.latency_ns = head.latency_ns;
    r->row.status =
        head.latency_ns == TRACE_NONE && head.status == TRACE_OK ? TRACE_NO_STATUS : head.status;
    r->row.extra = &r->extra;
    text += head.key_len;
    trace_extra_clear(&r->extra);
    bool unseen = head.first_at_end && invents_first_bytes(r);
    r->extra.first_byte_ns = unseen ? TRACE_NONE : head.first_byte_ns;
    r->extra.endpoint = (struct trace_str){.p = text, .len = head.endpoint_len};
    r->extra.thread = (struct trace_str){.p = text + head.endpoint_len, .len = head.thread_len};
    return 1;
}

/* The same, of a log with two layers. */
static int next_joined(struct oplog_reader *r, struct err *e)
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

int oplog_reader_next(struct oplog_reader *r, const struct trace_row **row, struct err *e)
{
    int rc = r->sorted ? 0 : sort_all(r, e);
    r->sorted = true;
    if (rc == 0)
        rc = r->layers ? next_joined(r, e) : next_sorted(r, e);
    if (rc == 0 && !r->noted)
        oplog_reader_note(r, &r->skips.remarks);
    r->noted |= rc == 0;
    if (rc <= 0)
        return rc;
    look_for_hole(r);
    if (!r->begun)
        r->first_ns = r->row.time_ns;
    r->begun = true;
    if (r->row.latency_ns != TRACE_NONE)
        r->row.start_ns = r->row.time_ns - r->first_ns;
    *row = &r->row;
    rc = size_deletion(r, e);
    return rc < 0 ? rc : 1;
}

const char *oplog_reader_client(const struct oplog_reader *r)
{
    return r->at[CAT] >= 0 ? "warp" : "s3dlio or sai3-bench";
}

size_t oplog_reader_apart(const struct oplog_reader *r, const struct oplog_apart **list)
{
    size_t n = 0;
    while (n < MAX_KINDS && r->apart[n].rows > 0)
        n++;
    *list = r->apart;
    return n;
}

uint64_t oplog_reader_joined(const struct oplog_reader *r)
{
    return r->layers ? layers_joined(r->layers) : 0;
}

const struct skips *oplog_reader_skips(const struct oplog_reader *r)
{
    return &r->skips;
}

uint32_t oplog_reader_columns(const struct oplog_reader *r)
{
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

void oplog_reader_give_failed(struct oplog_reader *r)
{
    r->gives_failed = true;
}

void oplog_reader_close(struct oplog_reader *r)
{
    if (!r)
        return;
    lines_free(r->lines);
    time_sort_free(r->sort);
    keymap_free(r->sizes);
    layers_free(r->layers);
    free(r);
}

int oplog_reader_open(struct oplog_reader **out, struct frame_in *file, struct err *e)
{
    static const char *const names[COLUMNS] = {"op",       "bytes",  "file",        "start",
                                               "error",    "end",    "duration_ns", "first_byte",
                                               "endpoint", "thread", "cat"};
    struct field field[MAX_FIELDS];
    char *line;
    size_t len;
    int rc;
    struct oplog_reader *r = calloc(1, sizeof(*r));
    if (!r) {
        frame_in_close(file);
        return err_nomem(e, "import");
    }
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
        oplog_reader_close(r);
    else
        *out = r;
    return rc < 0 ? rc : 0;
}
