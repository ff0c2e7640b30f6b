/* --verify-trace: follows every object through the tiers as the rows tell it and notes what cannot
 * be. Unlike reports it keeps some 64 bytes for every key that was ever written. */
#include "kvstat/count/verify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/agg.h"
#include "kvstat/run.h"
#include "lib/base/hash.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/trace/read.h"

const char *const verify_kind_names[VERIFY_KINDS] = {"header", "order", "absent",
                                                     "tier",   "size",  "capacity"};

/* A key by its hash, and where its copies are. Not in use: never 0 in both words. */
struct object {
    struct hash128 key;
    uint64_t size;
    uint32_t tiers; /* bits of those that hold a copy */
};

struct table {
    struct object *slot;
    size_t mask, used; /* slots - 1 */
};

struct check {
    struct verify *v;
    struct table table;
    int64_t last_ns;
    bool over[TRACE_TIERS]; /* above its capacity since a row that was noted */
};

static struct object *probe(const struct table *t, struct hash128 key)
{
    size_t i = (size_t)key.lo & t->mask;
    while ((t->slot[i].key.lo | t->slot[i].key.hi) != 0 &&
           (t->slot[i].key.lo != key.lo || t->slot[i].key.hi != key.hi))
        i = (i + 1) & t->mask;
    return &t->slot[i];
}

static int grow(struct table *t)
{
    struct table next = {.mask = t->slot ? 2 * t->mask + 1 : 4095, .used = t->used};
    next.slot = calloc(next.mask + 1, sizeof(*next.slot));
    if (!next.slot)
        return -ENOMEM;
    for (size_t i = 0; t->slot && i <= t->mask; i++)
        if ((t->slot[i].key.lo | t->slot[i].key.hi) != 0)
            *probe(&next, t->slot[i].key) = t->slot[i];
    free(t->slot);
    *t = next;
    return 0;
}

static struct hash128 hash_of(const struct trace_row *row)
{
    struct hash128 h = hash_128(row->key.p, row->key.len);
    if ((h.lo | h.hi) == 0)
        h.lo = 1;
    return h;
}

static void note(struct check *c, enum verify_kind kind, uint64_t row, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void note(struct check *c, enum verify_kind kind, uint64_t row, const char *fmt, ...)
{
    struct verify *v = c->v;
    va_list args;
    v->findings++;
    if (v->count[kind]++ >= VERIFY_KEPT)
        return;
    struct verify_finding *f = &v->kept[v->kept_count++];
    f->kind = kind;
    f->row = row;
    va_start(args, fmt);
    vsnprintf(f->what, sizeof(f->what), fmt, args);
    va_end(args);
    for (char *p = f->what; *p; p++)
        if ((unsigned char)*p < 32 || *p == 127)
            *p = '?';
}

#define KEY_FMT "%.*s"
#define KEY_OF(row)                                                                                \
    (int)((row)->key.len < 80 ? (row)->key.len : 80), (row)->key.len ? (row)->key.p : ""

static void name_tiers(char *buf, size_t n, uint32_t tiers)
{
    buf[0] = '\0';
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        size_t len = strlen(buf);
        if (tiers & (1u << t))
            snprintf(buf + len, n - len, "%s%s", len ? " and " : "", trace_tier_text(t));
    }
}

static void drop(struct check *c, struct object *o, unsigned tier)
{
    struct verify *v = c->v;
    o->tiers &= ~(1u << tier);
    v->tier[tier].bytes -= o->size;
    v->tier[tier].objects--;
    if (v->tier[tier].capacity_bytes > 0 &&
        v->tier[tier].bytes <= (uint64_t)v->tier[tier].capacity_bytes)
        c->over[tier] = false;
}

static void check_capacity(struct check *c, const struct trace_row *row, uint64_t number)
{
    struct verify *v = c->v;
    uint64_t bytes = v->tier[row->tier].bytes;
    int64_t capacity = v->tier[row->tier].capacity_bytes;
    if (bytes > v->tier[row->tier].peak_bytes)
        v->tier[row->tier].peak_bytes = bytes;
    if (v->tier[row->tier].objects > v->tier[row->tier].peak_objects)
        v->tier[row->tier].peak_objects = v->tier[row->tier].objects;
    if (capacity <= 0 || bytes <= (uint64_t)capacity || c->over[row->tier])
        return;
    c->over[row->tier] = true; /* until it is within it again */
    note(c, VERIFY_CAPACITY, number, "%s holds %llu bytes of %lld after %s \"" KEY_FMT "\"",
         trace_tier_text(row->tier), (unsigned long long)bytes, (long long)capacity,
         trace_op_text(row->op), KEY_OF(row));
}

/* A copy appears, or is written anew, which replaces it. */
static int put(struct check *c, const struct trace_row *row, uint64_t number)
{
    struct verify *v = c->v;
    if (4 * (c->table.used + 1) > 3 * (c->table.mask + 1) || !c->table.slot)
        if (grow(&c->table) < 0)
            return -ENOMEM;
    struct hash128 key = hash_of(row);
    struct object *o = probe(&c->table, key);
    uint32_t bit = 1u << row->tier;
    if ((o->key.lo | o->key.hi) == 0) {
        o->key = key;
        c->table.used++;
    }
    if (o->tiers & ~bit && o->size != row->size)
        note(c, VERIFY_SIZE, number,
             "Write \"" KEY_FMT "\" with %llu bytes; its copy in another tier has %llu",
             KEY_OF(row), (unsigned long long)row->size, (unsigned long long)o->size);
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        if (o->tiers & (1u << t) && (t == row->tier || o->size != row->size))
            drop(c, o, t);
    o->size = row->size;
    o->tiers |= bit;
    if (__builtin_add_overflow(v->tier[row->tier].bytes, row->size, &v->tier[row->tier].bytes))
        return -EOVERFLOW;
    v->tier[row->tier].objects++;
    check_capacity(c, row, number);
    return 0;
}

static void use(struct check *c, const struct trace_row *row, uint64_t number)
{
    struct object *o = c->table.slot ? probe(&c->table, hash_of(row)) : NULL;
    uint32_t bit = 1u << row->tier;
    char tiers[64];
    if (!o || (o->key.lo | o->key.hi) == 0) {
        note(c, VERIFY_ABSENT, number, "%s \"" KEY_FMT "\" in %s, which was never written",
             trace_op_text(row->op), KEY_OF(row), trace_tier_text(row->tier));
        return;
    }
    if (!(o->tiers & bit)) {
        name_tiers(tiers, sizeof(tiers), o->tiers);
        note(c, o->tiers ? VERIFY_TIER : VERIFY_ABSENT, number,
             "%s \"" KEY_FMT "\" in %s, which is %s%s", trace_op_text(row->op), KEY_OF(row),
             trace_tier_text(row->tier), o->tiers ? "in " : "gone", tiers);
        return;
    }
    if (o->size != row->size)
        note(c, VERIFY_SIZE, number, "%s \"" KEY_FMT "\" with %llu bytes; written were %llu",
             trace_op_text(row->op), KEY_OF(row), (unsigned long long)row->size,
             (unsigned long long)o->size);
    if (row->op == TRACE_DELETE || row->phase == TRACE_EVICT)
        drop(c, o, row->tier);
}

static void note_order(struct check *c, int64_t time_ns, uint64_t number)
{
    char now[25], before[25];
    now[units_put_decimal(now, time_ns, 9, 6)] = '\0';
    before[units_put_decimal(before, c->last_ns, 9, 6)] = '\0';
    note(c, VERIFY_ORDER, number, "Timestamp %s is before that of the row before, %s", now, before);
}

static int check_row(struct check *c, const struct trace_row *row, uint64_t number)
{
    if (row->time_ns < c->last_ns)
        note_order(c, row->time_ns, number);
    c->last_ns = row->time_ns;
    if (row->tier >= TRACE_TIERS)
        return 0;
    if (row->op == TRACE_WRITE)
        return put(c, row, number);
    if (row->op == TRACE_READ || row->op == TRACE_DELETE)
        use(c, row, number);
    return 0;
}

static int check_rows(struct check *c, struct trace_cursor *cursor, struct err *e)
{
    const struct trace_row *rows;
    size_t n;
    int rc;
    while ((rc = trace_cursor_next(cursor, &rows, &n, e)) == 1) {
        if (stop_signal())
            return -EINTR;
        for (size_t i = 0; i < n; i++) {
            rc = check_row(c, &rows[i], ++c->v->rows);
            if (rc == -ENOMEM)
                return err_nomem(e, "keys");
            if (rc < 0)
                return err_set(e, rc, ERR_INPUT, "",
                               "sums of the rows do not fit 64 bits: the values are no trace's");
        }
    }
    return rc;
}

static void check_header(struct check *c, const struct trace_reader *reader)
{
    static const char core[] = "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase";
    struct trace_str header = trace_header(reader);
    if (header.len < sizeof(core) - 1 || memcmp(header.p, core, sizeof(core) - 1) != 0)
        note(c, VERIFY_HEADER, 0, "the six core columns are not the first, in their order");
}

static int read_capacities(struct verify *v, const struct trace_reader *reader, const char *summary,
                           struct err *e)
{
    struct run run;
    int rc = run_read(&run, summary, trace_summary(reader), trace_provenance(reader), e);
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        v->tier[t].capacity_bytes = run.capacity_bytes[t];
    return rc;
}

static int check_file(struct check *c, struct trace_reader *reader, const char *summary,
                      struct err *e)
{
    struct trace_cursor *cursor = NULL;
    if (agg_is_result(trace_columns(reader)))
        return err_set(e, -EINVAL, ERR_INPUT, trace_name(reader),
                       "is a result file: its rows stand in the order of completion; "
                       "--verify-trace checks traces");
    int rc = read_capacities(c->v, reader, summary, e);
    if (rc < 0)
        return rc;
    check_header(c, reader);
    rc = trace_cursor_open(&cursor, reader, e);
    if (rc == 0)
        rc = check_rows(c, cursor, e);
    trace_cursor_close(cursor);
    c->v->cut = rc == -EBADMSG;
    c->v->keys = c->table.used;
    c->v->bad_rows = trace_bad_rows(reader, NULL);
    return rc;
}

int verify_file(struct verify *v, const char *path, const char *summary, bool skip_bad_rows,
                struct err *e)
{
    const struct trace_read_opts read = {
        .want = TRACE_BIT(TRACE_COL_TIMESTAMP) | TRACE_BIT(TRACE_COL_OPERATION) |
                TRACE_BIT(TRACE_COL_SIZE) | TRACE_BIT(TRACE_COL_TIER) | TRACE_BIT(TRACE_COL_KEY) |
                TRACE_BIT(TRACE_COL_PHASE),
        .skip_bad_rows = skip_bad_rows};
    struct trace_reader *reader = NULL;
    struct check c = {.v = v, .last_ns = INT64_MIN};
    *v = (struct verify){0};
    int rc = trace_open(&reader, path, &read, e);
    if (rc == 0)
        rc = check_file(&c, reader, summary, e);
    free(c.table.slot);
    trace_close(reader);
    return rc;
}
