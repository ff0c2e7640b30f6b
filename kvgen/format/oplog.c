/* export_oplog.c - logs of operations on objects, tab-separated, in order of start: the op-log of
 * s3dlio and sai3-bench, and MinIO warp's benchdata. An op-log is executed, so every object that is
 * read without having been written gets a PUT at the head; who that is shows only at the end, and
 * rows of results come in order of completion: operations are sorted before the file is written. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/format/exporter.h"
#include "kvgen/format/thread_numbers.h"
#include "kvgen/format/time_sort.h"
#include "kvgen/iso_time.h"
#include "lib/base/keymap.h"
#include "lib/base/units.h"

#define PRELOAD_TIME INT64_MIN  /* sorts before everything */
#define NOT_THERE    UINT64_MAX /* in place of the size of an object */

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
    SAI3_ABSENT,
    SAI3_UNDONE,
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
    {EXPORT_LOSS, "that read an object after its deletion: the GET fails"},
    {EXPORT_LOSS, "that read another size than was written: a GET fetches the whole object"},
    {EXPORT_LOSS, "that failed in the replay: they are executed anew"},
    {EXPORT_LOSS, "that delete an object that is not there: the DELETE fails"},
    {EXPORT_LOSS,
     "that start before the PUT of their object is done: sai3-bench waits for no other "
     "operation, so they fail (see --tier-model)"},
    {EXPORT_REMARK, "that read what was not written before: a PUT of it stands at the head"},
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
    struct keymap *objects; /* size of what is there, or NOT_THERE; NULL: not followed */
    struct keymap *done;    /* when its PUT is: int64_t ns */
    struct thread_numbers *threads;
    int64_t first_ns, last_ns; /* of all operations */
    char *packed;              /* EXPORT_PACKED bytes */
    char line[MAX_LINE];
};

/* ---- rows ---- */

static bool has_control(struct trace_str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return true;
    return false;
}

/* A component ".." of the path that endpoint and key become. */
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

static int keep(struct oplog *l, int64_t time_ns, const struct export_op *op, struct err *e)
{
    size_t len = export_pack(op, l->packed);
    return time_sort_add(l->sort, time_ns, l->packed, len, e);
}

/* The size that is there when op comes, NULL: no memory. */
static uint64_t *look_up(struct oplog *l, const struct export_op *op, bool *is_new)
{
    struct hash128 key = hash_128(op->key.p, op->key.len);
    uint64_t *size = keymap_find(l->objects, key);
    *is_new = !size;
    return size ? size : keymap_get(l->objects, key, op->size);
}

/* The PUT of op's object ends then. */
static int set_done(struct oplog *l, const struct export_op *op, int64_t end_ns, struct err *e)
{
    uint64_t *done = keymap_get(l->done, hash_128(op->key.p, op->key.len), 0);
    if (!done)
        return err_nomem(e, "objects of the export");
    *done = (uint64_t)end_ns;
    return 0;
}

static int preload(struct export *x, const struct export_op *op, struct err *e)
{
    struct oplog *l = x->state;
    struct export_op put = *op;
    put.op = TRACE_WRITE;
    put.status = TRACE_NO_STATUS;
    put.latency_ns = TRACE_NONE;
    export_note(x, SAI3_PRELOAD, op->number);
    int rc = set_done(l, op, l->first_ns + 1, e);
    return rc == 0 ? keep(l, PRELOAD_TIME, &put, e) : rc;
}

/* What was not measured takes the least time there is. */
static int64_t end_of(const struct export_op *op)
{
    int64_t end_ns, latency_ns = op->latency_ns > 0 ? op->latency_ns : 1;
    return __builtin_add_overflow(op->time_ns, latency_ns, &end_ns) ? INT64_MAX : end_ns;
}

static void note_undone(struct export *x, const struct export_op *op)
{
    const struct oplog *l = x->state;
    const uint64_t *done = keymap_find(l->done, hash_128(op->key.p, op->key.len));
    if (done && op->time_ns < (int64_t)*done)
        export_note(x, SAI3_UNDONE, op->number);
}

/* size: NULL of an object not seen before. */
static void note_failing(struct export *x, const struct export_op *op, const uint64_t *size)
{
    bool there = size && *size != NOT_THERE;
    if (op->status > TRACE_OK)
        export_note(x, SAI3_FAILED, op->number);
    if (op->op == TRACE_DELETE && !there)
        export_note(x, SAI3_ABSENT, op->number);
    if (op->op == TRACE_READ && size && !there)
        export_note(x, SAI3_DELETED, op->number);
    if (op->op == TRACE_READ && there && *size != op->size)
        export_note(x, SAI3_SIZE, op->number);
}

/* Follows what is stored, so that a replay finds what it reads: rows come in order of start. */
static int follow(struct export *x, const struct export_op *op, struct err *e)
{
    struct oplog *l = x->state;
    bool is_new;
    uint64_t *size = look_up(l, op, &is_new);
    if (!size)
        return err_nomem(e, "objects of the export");
    note_failing(x, op, is_new ? NULL : size);
    if (op->op != TRACE_READ)
        *size = op->op == TRACE_DELETE ? NOT_THERE : op->size;
    if (op->op == TRACE_WRITE)
        return set_done(l, op, end_of(op), e);
    int rc = op->op == TRACE_READ && is_new ? preload(x, op, e) : 0;
    note_undone(x, op);
    return rc;
}

static bool is_sai3(const struct export *x)
{
    return x->ops == &export_sai3;
}

/* The rule of the row's format that it breaks, 0: none. */
static unsigned broken_rule(const struct export *x, const struct export_op *op)
{
    if (has_control(op->key))
        return RULE_CONTROL;
    if (op->key.len == 0)
        return RULE_EMPTY;
    if (is_sai3(x))
        return leaves_folder(op->key) ? SAI3_PATH : 0;
    if (memchr(op->key.p, '"', op->key.len))
        return WARP_QUOTE;
    return op->latency_ns == TRACE_NONE ? WARP_LATENCY : 0;
}

static int oplog_row(struct export *x, const struct export_op *op, struct err *e)
{
    struct oplog *l = x->state;
    unsigned rule = broken_rule(x, op);
    if (rule != 0)
        return export_refuse(x, rule, op, e);
    if (op->time_ns < l->first_ns)
        l->first_ns = op->time_ns;
    if (op->time_ns > l->last_ns)
        l->last_ns = op->time_ns;
    int rc = l->objects ? follow(x, op, e) : 0;
    x->rows++;
    return rc == 0 ? keep(l, op->time_ns, op, e) : rc;
}

/* ---- lines ---- */

static const char *const columns[] = {
    "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tend\t"
    "duration_ns\n",
    "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\t"
    "last_byte\tend\tduration_ns\tcat\n"};

static char *put_text(char *p, const char *text, size_t len)
{
    memcpy(p, text, len);
    return p + len;
}

static char *put_field(char *p, const char *text)
{
    p = put_text(p, text, strlen(text));
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

static const char *verb_of(const struct export_op *op)
{
    return op->op == TRACE_READ ? "GET" : op->op == TRACE_WRITE ? "PUT" : "DELETE";
}

static size_t make_line(struct export *x, const struct export_op *op, uint64_t index,
                        unsigned thread, int64_t start_ns)
{
    struct oplog *l = x->state;
    int64_t latency_ns = op->latency_ns == TRACE_NONE ? 0 : op->latency_ns;
    char *p = put_number(l->line, index);
    p = put_number(p, thread);
    p = put_field(p, verb_of(op));
    p = put_field(p, "kvtrace");
    p = put_number(p, 1);
    p = put_number(p, op->op == TRACE_DELETE ? 0 : op->size);
    p = put_field(p, x->o.endpoint);
    p = put_text(p, op->key.p, op->key.len);
    *p++ = '\t';
    p = put_field(p, op->status > TRACE_OK ? trace_status_text(op->status) : "");
    p = put_time(p, start_ns);
    *p++ = '\t'; /* when the first byte came is not known */
    if (!is_sai3(x))
        p = put_time(p, start_ns + latency_ns);
    p = put_time(p, start_ns + latency_ns);
    p += units_put_u64(p, (uint64_t)latency_ns);
    if (!is_sai3(x))
        p = put_text(p, "\t0", 2);
    *p++ = '\n';
    return (size_t)(p - l->line);
}

static int write_op(struct export *x, const struct export_op *op, int64_t start_ns, uint64_t index,
                    struct err *e)
{
    struct oplog *l = x->state;
    unsigned thread;
    int64_t end_ns;
    bool measured = op->latency_ns != TRACE_NONE;
    if (__builtin_add_overflow(start_ns, measured ? op->latency_ns : 0, &end_ns) || start_ns < 0 ||
        end_ns < start_ns || end_ns > ISO_TIME_MAX)
        return export_refuse(x, RULE_TIME, op, e);
    /* Operations that overlap are of different threads; what was not measured takes no time. */
    if (thread_numbers_take(l->threads, start_ns, end_ns, &thread) < 0)
        return err_nomem(e, "threads of the export");
    if (!is_sai3(x) && thread > MAX_THREAD)
        return export_refuse(x, WARP_THREADS, op, e);
    return export_put(x, l->line, make_line(x, op, index, thread, start_ns), e);
}

static int write_all(struct export *x, struct err *e)
{
    struct oplog *l = x->state;
    /* Rows before the start of a replay have negative times. */
    int64_t shift_ns = l->first_ns < 0 ? -l->first_ns : 0;
    const char *header = columns[is_sai3(x) ? 0 : 1];
    int rc = export_put(x, header, strlen(header), e);
    const void *p;
    size_t len;
    int64_t time_ns;
    int more = 0;
    x->rows = 0;
    while (rc == 0 && (more = time_sort_next(l->sort, &time_ns, &p, &len, e)) > 0) {
        struct export_op op;
        int64_t start_ns;
        export_unpack(&op, p);
        if (__builtin_add_overflow(time_ns == PRELOAD_TIME ? l->first_ns : time_ns, shift_ns,
                                   &start_ns))
            start_ns = -1;
        /* When the first row cannot be written, it is refused, not what comes before it. */
        if (time_ns == PRELOAD_TIME && (start_ns < 0 || start_ns > ISO_TIME_MAX))
            continue;
        rc = write_op(x, &op, start_ns, x->rows++, e);
    }
    return rc < 0 ? rc : more;
}

static int oplog_finish(struct export *x, struct err *e)
{
    struct oplog *l = x->state;
    uint64_t span_ns = (uint64_t)l->last_ns - (uint64_t)l->first_ns;
    if (!is_sai3(x) && (x->rows < 10 || span_ns < 2 * UNITS_NS_PER_S))
        export_note(x, WARP_FEW, 0);
    int rc = time_sort_finish(l->sort, e);
    return rc == 0 ? write_all(x, e) : rc;
}

/* ---- open and close ---- */

static int oplog_open(struct export *x, struct err *e)
{
    struct oplog *l = calloc(1, sizeof(*l));
    x->state = l;
    if (!l)
        return err_nomem(e, "export");
    bool quoted = !is_sai3(x) && strchr(x->o.endpoint, '"');
    struct trace_str endpoint = {.p = x->o.endpoint, .len = (uint32_t)strlen(x->o.endpoint)};
    if (has_control(endpoint) || quoted || endpoint.len > MAX_ENDPOINT)
        return err_set(e, -EINVAL, ERR_INPUT, "--endpoint",
                       "longer than %d bytes, or with a tab, newline or other control character%s",
                       MAX_ENDPOINT, quoted ? ", or a quote" : "");
    l->first_ns = INT64_MAX;
    l->last_ns = INT64_MIN;
    l->packed = malloc(EXPORT_PACKED);
    l->threads = thread_numbers_create();
    l->objects = is_sai3(x) ? keymap_create() : NULL;
    l->done = is_sai3(x) ? keymap_create() : NULL;
    bool followed = l->objects && l->done;
    if (!l->packed || !l->threads || (is_sai3(x) && !followed))
        return err_nomem(e, "export");
    return time_sort_create(&l->sort, x->folder, EXPORT_SORT_MEMORY, e);
}

static void oplog_free(struct export *x)
{
    struct oplog *l = x->state;
    if (!l)
        return;
    time_sort_free(l->sort);
    keymap_free(l->objects);
    keymap_free(l->done);
    thread_numbers_free(l->threads);
    free(l->packed);
    free(l);
}

const struct export_ops export_sai3 = {.name = "sai3",
                                       .rules = sai3_rules,
                                       .started = true,
                                       .open = oplog_open,
                                       .row = oplog_row,
                                       .finish = oplog_finish,
                                       .free = oplog_free};
const struct export_ops export_warp = {.name = "warp",
                                       .rules = warp_rules,
                                       .started = true,
                                       .sorts = true,
                                       .open = oplog_open,
                                       .row = oplog_row,
                                       .finish = oplog_finish,
                                       .free = oplog_free};
