/* Exports of logs of operations on objects in a store, tab-separated with a header: the op-log of
 * s3dlio and sai3-bench, and the benchdata of MinIO warp. Rows may come in any order, and are
 * wanted in order of start, so all operations are sorted before the first is written. lib/log/oplog
 * reads such logs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/format/export.h"
#include "kvgen/format/exporter.h"
#include "kvgen/format/output_file.h"
#include "kvgen/format/settle.h"
#include "kvgen/format/thread_numbers.h"
#include "lib/base/units.h"
#include "lib/log/iso_time.h"
#include "lib/log/oplog.h"
#include "lib/sort/time_sort.h"

/* ---- rows ---- */

/* An op-log is executed, so every object that is read without having been written gets a PUT at the
 * head of the log. Which objects these are is known only after the last row. */
#define PRELOAD_TIME INT64_MIN /* sorts before everything */

enum {
    MAX_ENDPOINT = 1024,
    MAX_NAME = TRACE_MAX_KEY + 40,
    MAX_LINE = MAX_NAME + MAX_ENDPOINT + 512,
    MAX_THREAD = 65535 /* warp: 16 bits */
};

enum {
    RULE_CONTROL = EXPORT_OWN_RULES,
    RULE_EMPTY,
    RULE_TIME,
    SAI3_PATH,
    SAI3_NAME,
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
    {EXPORT_REFUSED, "with a key that ends in .put-N or .delete-N, as names of --preload do"},
    {EXPORT_LOSS, "that read an object after its deletion: the GET fails"},
    {EXPORT_LOSS, "that read another size than was written: a GET fetches the whole object"},
    {EXPORT_LOSS, "that failed in the run: left out"},
    {EXPORT_LOSS, "that need an object whose PUT failed: left out"},
    {EXPORT_LOSS, "that delete an object that is not there: the DELETE fails"},
    {EXPORT_LOSS,
     "that start before the PUT of their object is done, or write beside a GET: "
     "sai3-bench waits for "
     "no other operation, so they can fail (--tier-model gives a simulation times; replay "
     "an existing trace and "
     "export the result)"},
    {EXPORT_LOSS, "that would fail on a target whose PUT takes 0.1 s (see --settle)"},
    {EXPORT_LOSS, "that would fail on a target whose PUT takes 1 s (see --settle)"},
    {EXPORT_REMARK, "that would fail on a target whose PUT takes 10 s (see --settle)"},
    {EXPORT_REMARK, "that read what was not written before: a PUT is added at the beginning"},
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
    uint64_t put_bytes;                   /* of PUTs in the log itself */
    struct thread_numbers *threads;
    int64_t first_ns, last_ns; /* of all operations */
    char line[MAX_LINE], name[MAX_NAME];
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
    p = put_field(p, oplog_verb(op->op));
    p = put_field(p, "kvtrace");
    p = put_number(p, 1);
    p = put_number(p, op->op == TRACE_DELETE ? 0 : op->size);
    p = put_field(p, x->o->endpoint);
    p = export_put_text(p, op->key.p, op->key.len);
    *p++ = '\t';
    p = put_field(p, op->status > TRACE_OK ? trace_status_text(op->status) : "");
    p = put_time(p, start_ns);
    if (op->first_byte_ns >= 0 && op->first_byte_ns <= latency_ns)
        p = put_time(p, start_ns + op->first_byte_ns);
    else
        *p++ = '\t'; /* not known */
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

/* The operation beside op in the log: a PUT of its object at the head, or a DELETE after it. */
static struct export_op beside(const struct export_op *op, enum trace_op what)
{
    struct export_op other = *op;
    other.op = (uint8_t)what;
    other.status = TRACE_NO_STATUS;
    other.latency_ns = other.first_byte_ns = TRACE_NONE;
    return other;
}

/* ---- names with --preload ---- */

static const char *const own_names[TRACE_OPS] = {
    [TRACE_WRITE] = ".put-", [TRACE_DELETE] = ".delete-"};

/* op with the name that its object has in the log. Where all that is read is there before, each PUT
 * makes an object of its own and each DELETE takes one: a target may truncate an object while it is
 * written, and no operation waits. Lent until the next call. */
static struct export_op named(const struct export *x, const struct export_op *op)
{
    struct oplog *l = x->state;
    struct export_op with = *op;
    const char *own = own_names[op->op];
    if (!x->o->preload || !own)
        return with;
    char *p = export_put_text(l->name, op->key.p, op->key.len);
    p = export_put_text(p, own, strlen(own));
    p += units_put_u64(p, op->number);
    with.key = (struct trace_str){.p = l->name, .len = (uint32_t)(p - l->name)};
    return with;
}

/* Whether a key could be the name of another object. */
static bool is_own_name(struct trace_str key)
{
    uint32_t digits = 0;
    while (digits < key.len && key.p[key.len - 1 - digits] >= '0' &&
           key.p[key.len - 1 - digits] <= '9')
        digits++;
    for (int op = 0; op < TRACE_OPS && digits > 0; op++) {
        size_t len = own_names[op] ? strlen(own_names[op]) : key.len;
        if (len < key.len - digits &&
            memcmp(key.p + key.len - digits - len, own_names[op], len) == 0)
            return true;
    }
    return false;
}

/* A PUT of op's object into the log that is replayed first, at 1 GB/s: a byte a ns. */
static int put_preload(struct export *x, const struct export_op *op, struct err *e)
{
    struct oplog *l = x->state;
    struct export_op with = named(x, op), put_op = beside(&with, TRACE_WRITE);
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
    if (step.gone)
        export_note(x, op->op == TRACE_DELETE ? SAI3_ABSENT : SAI3_DELETED, op->number);
    else if (op->op == TRACE_READ && step.size != op->size)
        export_note(x, SAI3_SIZE, op->number);
    if (step.early)
        export_note(x, SAI3_UNDONE, op->number);
    int rc = keep(x, op, step.start_ns, e);
    if (rc == 0 && step.unwritten && x->o->preload) {
        rc = put_preload(x, op, e);
    } else if (rc == 0 && step.unwritten) {
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
    if (x->o->preload && is_own_name(*key))
        return export_refuse(x, SAI3_NAME, op, e);
    if (!is_sai3(x) && memchr(key->p, '"', key->len))
        return export_refuse(x, WARP_QUOTE, op, e);
    if (!is_sai3(x) && op->latency_ns == TRACE_NONE)
        return export_refuse(x, WARP_LATENCY, op, e);

    return is_sai3(x) ? keep_settled(x, op, e) : keep(x, op, op->time_ns, e);
}

/* ---- lines ---- */

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
    struct export_op with = named(x, op);
    return export_put(x, l->line, put_line(x, x->rows, thread, &with, start_ns), e);
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
        if (op.leave > 0 && !settle_leaves(l->settle, op.leave))
            continue;
        if (__builtin_add_overflow(preloaded ? l->first_ns : time_ns, shift_ns, &start_ns) ||
            (!preloaded && __builtin_add_overflow(start_ns, behind_heads_ns, &start_ns)))
            start_ns = -1;
        /* If the first row cannot be written, it is refused itself, not what is put before it. */
        if (preloaded && (start_ns < 0 || start_ns > ISO_TIME_MAX))
            continue;
        if (is_sai3(x) && (rc = note_failures(x, &op, start_ns, e)) < 0)
            return rc;
        if (x->o->preload && op.op == TRACE_DELETE && (rc = put_preload(x, &op, e)) < 0)
            return rc;
        rc = write_op(x, &op, start_ns, e);
        if (rc < 0)
            return rc;
        l->put_bytes += op.op == TRACE_WRITE ? op.size : 0;
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

static void preload_notice(const struct oplog *l, char *buf, size_t n)
{
    char of[32], bytes[32], more[32];
    units_format_count(of, sizeof(of), l->preload_rows);
    units_format_bytes(bytes, sizeof(bytes), (double)l->preload_bytes);
    units_format_bytes(more, sizeof(more), (double)l->put_bytes);
    snprintf(
        buf, n,
        "--preload: %s PUTs, %s, in %s, to be replayed to its end first; PUTs of the log itself "
        "add %s",
        of, bytes, l->preload_path ? l->preload_path : "no file", more);
}

/* How long the slowest operation took whose object another one needs, up to a tenth of a second. */
static size_t needed_notice(const struct settle_moved *m, char *buf, size_t n)
{
    const int64_t tenth_ns = UNITS_NS_PER_S / 10;
    char took[32];
    if (m->needed_ns <= 0)
        return 0;
    int64_t tenths = m->needed_ns / tenth_ns + (m->needed_ns % tenth_ns > 0);
    units_format_duration(took, sizeof(took), (double)m->needed_ns);
    return (size_t)snprintf(buf, n,
                            "operations took up to %s in this result: its target needs --settle "
                            "%lld.%llds or more",
                            took, (long long)(tenths / 10), (long long)(tenths % 10));
}

static bool sai3_notice(const struct export *x, char *buf, size_t n)
{
    const struct oplog *l = x->state;
    const struct settle_moved *m = settle_moved(l->settle);
    char moved[32], of[32], mean[32], most[32], needed[160];
    double mean_ns = m->ops > 0 ? (double)m->sum_ns / (double)m->ops : 0;
    if (x->o->preload) {
        preload_notice(l, buf, n);
        return true;
    }
    bool known = needed_notice(m, needed, sizeof(needed)) > 0;
    if (m->ops == 0) {
        snprintf(buf, n, "--settle: %s", known ? needed : "");
        return known;
    }
    units_format_count(moved, sizeof(moved), m->ops);
    units_format_count(of, sizeof(of), m->of);
    units_format_duration(mean, sizeof(mean), mean_ns);
    units_format_duration(most, sizeof(most), (double)m->most_ns);
    snprintf(buf, n,
             "--settle: %s of %s operations start later, by %s on average and %s at most%s%s%s",
             moved, of, mean, most, l->heads ? "; all start after the PUTs at the head" : "",
             known ? "; " : "", known ? needed : "");
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
        return err_set(e, -EINVAL, ERR_INPUT, "--config endpoint",
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
