/* Exports of logs of operations on objects in a store, tab-separated with a header: the op-log of
 * s3dlio and sai3-bench, and the benchdata of MinIO warp. Rows may come in any order, and are
 * wanted in order of start, so all operations are sorted before the first is written. lib/log/oplog
 * reads such logs. */
#include <errno.h>
#include <limits.h>
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
     "operation, so they fail (--tier-model gives a simulation times; replay an existing trace and "
     "export the result)"},
    {EXPORT_LOSS, "that would fail on a target whose PUT takes 0.1 s (see --settle)"},
    {EXPORT_LOSS, "that would fail on a target whose PUT takes 1 s (see --settle)"},
    {EXPORT_REMARK, "that would fail on a target whose PUT takes 10 s (see --settle)"},
    {EXPORT_REMARK, "that read what was not written before: a PUT is added at the beginning"},
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

/* What stands beside op in the log: a PUT of its object at the head, or a DELETE after it. */
static struct export_op beside(const struct export_op *op, enum trace_op what)
{
    struct export_op other = *op;
    other.op = (uint8_t)what;
    other.status = TRACE_NO_STATUS;
    other.latency_ns = other.first_byte_ns = TRACE_NONE;
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
