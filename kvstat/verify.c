/* --verify-trace: follows every object through the tiers by the rows, notes what cannot have
 * happened, and prints the findings. Unlike reports it keeps some 90 bytes for every key that was
 * written. */
#include "kvstat/verify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/agg.h"
#include "kvstat/count/provenance.h"
#include "kvstat/count/scan.h"
#include "kvstat/report/cells.h"
#include "lib/base/hash.h"
#include "lib/base/units.h"
#include "lib/trace/read.h"

static const char *const kinds[VERIFY_KINDS] = {"header", "order", "absent",
                                                "tier",   "size",  "capacity"};

/* A key by its hash, and where its copies are. A slot is free when both words of the hash are 0. */
struct object {
    struct hash128 key;
    uint64_t size[TRACE_TIERS];
    uint32_t tiers; /* bits of those that hold a copy */
    bool copied;    /* by an engine, whose copies below may be of several blocks */
};

struct table {
    struct object *slot;
    size_t mask, used; /* slots - 1 */
};

struct check {
    struct verify *v;
    struct table table;
    int64_t last_ns;
    bool over[TRACE_TIERS]; /* above its capacity, since a row that was noted */
};

static bool is_free(const struct object *o)
{
    return (o->key.lo | o->key.hi) == 0;
}

static struct object *probe(const struct table *t, struct hash128 key)
{
    size_t i = (size_t)key.lo & t->mask;
    while (!is_free(&t->slot[i]) && !hash128_equal(t->slot[i].key, key))
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
        if (!is_free(&t->slot[i]))
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

/* The copy in that tier is gone. */
static void drop(struct check *c, struct object *o, unsigned tier)
{
    struct verify *v = c->v;
    o->tiers &= ~(1u << tier);
    v->tier[tier].bytes -= o->size[tier];
    v->tier[tier].objects--;
    if (v->tier[tier].capacity_bytes > 0 &&
        v->tier[tier].bytes <= (uint64_t)v->tier[tier].capacity_bytes)
        c->over[tier] = false;
}

/* Whether the copy in tier t is none of what the row writes, by its size. A block has one size; an
 * engine's copy below has that of one block or of several. */
static bool differs(const struct object *o, const struct trace_row *row, unsigned t)
{
    const uint64_t more = o->size[t] > row->size ? o->size[t] : row->size;
    const uint64_t less = o->size[t] > row->size ? row->size : o->size[t];
    return t != row->tier && o->tiers & (1u << t) && more != less &&
           (!o->copied || less == 0 || more % less != 0);
}

/* A copy appears, or is written anew, which replaces it. 0, -ENOMEM or -EOVERFLOW. */
static int put(struct check *c, const struct trace_row *row, uint64_t number)
{
    struct verify *v = c->v;
    if (4 * (c->table.used + 1) > 3 * (c->table.mask + 1) || !c->table.slot)
        if (grow(&c->table) < 0)
            return -ENOMEM;
    struct hash128 key = hash_of(row);
    struct object *o = probe(&c->table, key);
    uint32_t bit = 1u << row->tier;
    if (is_free(o)) {
        o->key = key;
        c->table.used++;
    }
    o->copied |=
        row->class == TRACE_STORE || row->class == TRACE_LOAD || row->class == TRACE_PROMOTE;
    for (unsigned t = 0, found = 0; t < TRACE_TIERS; t++) {
        if (!differs(o, row, t))
            continue;
        if (!found++)
            note(c, VERIFY_SIZE, number,
                 "Write \"" KEY_FMT "\" with %llu bytes; its copy in another tier has %llu",
                 KEY_OF(row), (unsigned long long)row->size, (unsigned long long)o->size[t]);
        drop(c, o, t);
    }
    if (o->tiers & bit)
        drop(c, o, row->tier);
    o->size[row->tier] = row->size;
    o->tiers |= bit;

    uint64_t *bytes = &v->tier[row->tier].bytes, *objects = &v->tier[row->tier].objects;
    int64_t capacity = v->tier[row->tier].capacity_bytes;
    if (__builtin_add_overflow(*bytes, row->size, bytes))
        return -EOVERFLOW;
    ++*objects;
    if (*bytes > v->tier[row->tier].peak_bytes)
        v->tier[row->tier].peak_bytes = *bytes;
    if (*objects > v->tier[row->tier].peak_objects)
        v->tier[row->tier].peak_objects = *objects;
    if (capacity <= 0 || *bytes <= (uint64_t)capacity || c->over[row->tier])
        return 0;
    c->over[row->tier] = true; /* until it is within it again */
    note(c, VERIFY_CAPACITY, number, "%s holds %llu bytes of %lld after %s \"" KEY_FMT "\"",
         trace_tier_text(row->tier), (unsigned long long)*bytes, (long long)capacity,
         trace_op_text(row->op), KEY_OF(row));
    return 0;
}

static void use(struct check *c, const struct trace_row *row, uint64_t number)
{
    struct object *o = c->table.slot ? probe(&c->table, hash_of(row)) : NULL;
    uint32_t bit = 1u << row->tier;
    char tiers[64] = "";
    if (!o || is_free(o)) {
        note(c, VERIFY_ABSENT, number, "%s \"" KEY_FMT "\" in %s, which was never written",
             trace_op_text(row->op), KEY_OF(row), trace_tier_text(row->tier));
        return;
    }
    if (!(o->tiers & bit)) {
        for (unsigned t = 0; t < TRACE_TIERS; t++) {
            size_t len = strlen(tiers);
            if (o->tiers & (1u << t))
                snprintf(tiers + len, sizeof(tiers) - len, "%s%s", len ? " and " : "",
                         trace_tier_text(t));
        }
        note(c, o->tiers ? VERIFY_TIER : VERIFY_ABSENT, number,
             "%s \"" KEY_FMT "\" in %s, which is %s%s", trace_op_text(row->op), KEY_OF(row),
             trace_tier_text(row->tier), o->tiers ? "in " : "gone", tiers);
        return;
    }
    if (o->size[row->tier] != row->size)
        note(c, VERIFY_SIZE, number, "%s \"" KEY_FMT "\" with %llu bytes; written were %llu",
             trace_op_text(row->op), KEY_OF(row), (unsigned long long)row->size,
             (unsigned long long)o->size[row->tier]);
    if (row->op == TRACE_DELETE || row->phase == TRACE_EVICT)
        drop(c, o, row->tier);
}

/* 0, -ENOMEM or -EOVERFLOW. */
static int check_row(struct check *c, const struct trace_row *row, uint64_t number)
{
    if (row->time_ns < c->last_ns) {
        char now[25], before[25];
        now[units_put_decimal(now, row->time_ns, 9, 6)] = '\0';
        before[units_put_decimal(before, c->last_ns, 9, 6)] = '\0';
        note(c, VERIFY_ORDER, number, "Timestamp %s is before that of the row before, %s", now,
             before);
    }
    c->last_ns = row->time_ns;
    if (row->tier >= TRACE_TIERS)
        return 0;
    if (row->op == TRACE_WRITE)
        return put(c, row, number);
    if (row->op == TRACE_READ || row->op == TRACE_DELETE)
        use(c, row, number);
    return 0;
}

static int check_rows(struct check *c, struct trace_cursor *cursor, const char *name, struct err *e)
{
    const struct trace_row *rows;
    size_t n;
    int rc;
    while ((rc = trace_cursor_next(cursor, &rows, &n, e)) == 1) {
        for (size_t i = 0; i < n; i++) {
            rc = check_row(c, &rows[i], ++c->v->rows);
            if (rc == -ENOMEM)
                return err_nomem(e, "keys");
            if (rc < 0)
                return err_set(e, rc, ERR_INPUT, name,
                               "the sums of the rows exceed 64 bits: not a valid trace");
        }
    }
    return rc;
}

static int check_file(struct check *c, struct trace_reader *reader, const char *summary,
                      struct err *e)
{
    static const char core[] = "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase";
    struct trace_str header = trace_header(reader);
    struct trace_cursor *cursor = NULL;
    struct provenance p;
    if (agg_is_result(trace_columns(reader)))
        return err_set(e, -EINVAL, ERR_INPUT, trace_name(reader),
                       "is a result file: its rows stand in the order of completion; "
                       "--verify-trace checks traces");
    int rc = provenance_read(&p, summary, trace_summary(reader), trace_provenance(reader), e);
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        c->v->tier[t].capacity_bytes = p.capacity_bytes[t];
    provenance_free(&p);
    if (rc < 0)
        return rc;
    if (header.len < sizeof(core) - 1 || memcmp(header.p, core, sizeof(core) - 1) != 0)
        note(c, VERIFY_HEADER, 0, "the first six columns must be the core columns, in their order");
    rc = trace_cursor_open(&cursor, reader, e);
    if (rc == 0)
        rc = check_rows(c, cursor, trace_name(reader), e);
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
                TRACE_BIT(TRACE_COL_PHASE) | TRACE_BIT(TRACE_COL_CLASS),
        .skip_bad_rows = skip_bad_rows,
        .patient = true};
    struct trace_reader *reader = NULL;
    struct check c = {.v = v, .last_ns = INT64_MIN};
    *v = (struct verify){0};
    int rc = scan_open_trace(&reader, path, &read, "--verify-trace", e);
    if (rc == 0)
        rc = check_file(&c, reader, summary, e);
    free(c.table.slot);
    trace_close(reader);
    return rc;
}

/* ---- what was found ---- */

void verify_text(FILE *out, const char *file, const struct verify *v)
{
    char a[CELL], b[CELL], c[CELL], d[CELL];
    fprintf(out, "%s: %s, %s key%s: %s%s\n", file, cell_rows(a, v->rows), cell_count(b, v->keys),
            units_plural(v->keys), v->findings ? "FAIL" : "PASS", v->cut ? ", CUT" : "");
    fprintf(out, "  %-8s %12s %12s %12s %14s\n", "tier", "capacity", "peak", "at the end",
            "objects peak");
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        if (v->tier[t].peak_objects > 0)
            fprintf(out, "  %-8s %12s %12s %12s %14s\n", trace_tier_text(t),
                    v->tier[t].capacity_bytes > 0 ? cell_bytes(a, (double)v->tier[t].capacity_bytes)
                                                  : "-",
                    cell_bytes(b, (double)v->tier[t].peak_bytes),
                    cell_bytes(c, (double)v->tier[t].bytes),
                    cell_count(d, v->tier[t].peak_objects));
    for (unsigned k = 0; k < VERIFY_KINDS; k++)
        if (v->count[k] > 0)
            fprintf(out, "  %-8s %s finding%s%s\n", kinds[k], cell_count(a, v->count[k]),
                    units_plural(v->count[k]), v->count[k] > VERIFY_KEPT ? ", the first 20:" : ":");
    for (size_t i = 0; i < v->kept_count; i++) {
        const struct verify_finding *f = &v->kept[i];
        if (f->row)
            fprintf(out, "  row %llu: %s: ", (unsigned long long)f->row, kinds[f->kind]);
        else
            fprintf(out, "  header: ");
        fprintf(out, "%s\n", f->what);
    }
}

void verify_json(struct jsonout *j, const char *file, const struct verify *v)
{
    jsonout_object(j, NULL);
    jsonout_text_value(j, "file", file);
    jsonout_text_value(j, "status", v->findings ? "FAIL" : "PASS");
    jsonout_u64(j, "rows", v->rows);
    jsonout_u64(j, "keys", v->keys);
    jsonout_u64(j, "bad_rows", v->bad_rows);
    jsonout_bool(j, "cut", v->cut);
    jsonout_array(j, "tiers");
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        if (v->tier[t].peak_objects == 0)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "tier", trace_tier_text(t));
        jsonout_u64_if(j, "capacity_bytes", v->tier[t].capacity_bytes > 0,
                       (uint64_t)v->tier[t].capacity_bytes);
        jsonout_u64(j, "peak_bytes", v->tier[t].peak_bytes);
        jsonout_u64(j, "peak_objects", v->tier[t].peak_objects);
        jsonout_u64(j, "final_bytes", v->tier[t].bytes);
        jsonout_u64(j, "final_objects", v->tier[t].objects);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_object(j, "counts");
    for (unsigned k = 0; k < VERIFY_KINDS; k++)
        jsonout_u64(j, kinds[k], v->count[k]);
    jsonout_end(j);
    jsonout_array(j, "findings");
    for (size_t i = 0; i < v->kept_count; i++) {
        jsonout_object(j, NULL);
        jsonout_u64(j, "row", v->kept[i].row);
        jsonout_text_value(j, "kind", kinds[v->kept[i].kind]);
        jsonout_text_value(j, "what", v->kept[i].what);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_end(j);
}
