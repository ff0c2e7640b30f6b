/* Takes the place of the simulation when the source is a trace: hands its rows to the output, or
 * its logical operations to a hierarchy, whose operations go to the output. trace_input.h reads the
 * rows; the output filters and formats them. */
#include "kvgen/convert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/format/import.h"
#include "kvgen/sim/objects.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"

enum {
    MAX_BROKEN = 1 << 16 /* requests that are remembered as broken */
};

/* The keys of live objects. The hierarchy knows identities only, but rows about an object that is
 * moved or deleted need its key. Memory is that of the keys held. */
struct keys {
    struct objects *objects;
    struct trace_str *text; /* by number in objects; owned */
    size_t cap;
};

struct convert {
    struct convert_opts o;
    struct trace_input *trace;
    struct output *out;
    struct err *err; /* of the convert_run under way */
    int status;      /* of the output: 0, 1 (end here) or negative */
    struct sim_stats stats;
    /* With retier: */
    struct hierarchy *hierarchy;
    struct keys keys;
    struct objects *broken;        /* requests with a block that missed: later blocks miss too */
    const struct trace_row *cause; /* the row that is being done */
    struct ident id;               /* of its key */
    bool miss_waits;               /* a lookup that missed was not told to the curve yet */
    struct ident missed;
    bool missed_refills;
};

static void fail(struct convert *c, int code)
{
    if (c->status >= 0)
        c->status = code;
}

static void put(struct convert *c, const struct trace_row *row)
{
    if (c->status != 0)
        return;
    if (row->op == TRACE_GENERATE) {
        c->stats.issued++;
        c->stats.served++;
        c->stats.completed++;
        if (row->qos < TRACE_QOSES)
            c->stats.completed_by_qos[row->qos]++;
        if (row->tokens != TRACE_NONE && row->tokens > 0)
            c->stats.generated_tokens += (uint64_t)row->tokens;
    }
    c->status = output_record(c->out, row, c->err);
}

/* ---- keys of live objects ---- */

/* Keeps a copy of the key of id, which is not held yet. 0 or -ENOMEM. */
static int keys_hold(struct keys *k, struct ident id, struct trace_str key)
{
    uint32_t number;
    char *copy = malloc((size_t)key.len + 1);
    if (!copy || objects_add(k->objects, id, &number) < 0) {
        free(copy);
        return -ENOMEM;
    }
    if (number >= k->cap) {
        size_t cap = k->cap * 2 > number ? k->cap * 2 : (size_t)number + 1024;
        if (memory_resize(&k->text, cap, sizeof(*k->text)) < 0) {
            objects_remove(k->objects, number);
            free(copy);
            return -ENOMEM;
        }
        memset(k->text + k->cap, 0, (cap - k->cap) * sizeof(*k->text));
        k->cap = cap;
    }
    if (key.len > 0)
        memcpy(copy, key.p, key.len);
    k->text[number] = (struct trace_str){.p = copy, .len = key.len};
    return 0;
}

/* Lent until the key is dropped; empty: it is not held. */
static struct trace_str keys_text(const struct keys *k, struct ident id)
{
    uint32_t number = objects_find(k->objects, id);
    struct trace_str none = {0};
    return number == OBJECT_NONE ? none : k->text[number];
}

static void keys_drop(struct keys *k, struct ident id)
{
    uint32_t number = objects_find(k->objects, id);
    free((char *)(uintptr_t)k->text[number].p);
    k->text[number] = (struct trace_str){0};
    objects_remove(k->objects, number);
}

/* ---- what the hierarchy does ---- */

/* The hierarchy's sink. A demotion or deletion gets the time and request of the row that made it
 * necessary. */
static void operation(void *ctx, const struct hierarchy_op *op)
{
    struct convert *c = ctx;
    struct trace_row row = *c->cause;
    if (c->status == 0)
        row_counts_add(&c->stats.rows, op);
    row.key = ident_equal(op->id, c->id) ? c->cause->key : keys_text(&c->keys, op->id);
    row.op = (uint8_t)op->op;
    row.tier = (uint8_t)op->tier;
    row.phase = (uint8_t)op->phase;
    /* Rows written before the first request also move other objects before it. */
    if (row.class != TRACE_INGEST && row.class != TRACE_PREPOP)
        row.class = (uint8_t)op->class;
    row.size = op->size;
    row.tokens = op->op == TRACE_MISS || op->tokens == 0 ? TRACE_NONE : (int64_t)op->tokens;
    put(c, &row);
    if (op->op == TRACE_WRITE && op->phase == TRACE_PREFILL) {
        if (keys_hold(&c->keys, op->id, row.key) < 0)
            fail(c, err_nomem(c->err, "keys of live objects"));
    } else if (op->op == TRACE_DELETE) {
        keys_drop(&c->keys, op->id);
    }
}

static void write_object(struct convert *c, const struct trace_row *row)
{
    int64_t tokens = row->tokens > 0 && row->tokens <= UINT32_MAX ? row->tokens : 0;
    if (hierarchy_write(c->hierarchy, c->id, row->size, (uint32_t)tokens,
                        (enum trace_class)row->class) < 0)
        fail(c, err_nomem(c->err, "live objects"));
}

/* Whether the object that the row looks up is written if it is gone. */
static bool refills(const struct trace_row *row)
{
    return row->class != TRACE_MULTI_TURN && row->class != TRACE_RAG;
}

/* Whether the row is a block that can hit only while earlier blocks of its request hit. */
static bool has_prefix(const struct convert *c, const struct trace_row *row)
{
    return c->o.block_reuse == SIM_REUSE_PREFIX && row->class == TRACE_BLOCK &&
           row->request != TRACE_NONE;
}

static struct ident request_of(const struct trace_row *row)
{
    return ident_request(0, (uint64_t)row->request);
}

static void look_up(struct convert *c, const struct trace_row *row)
{
    enum trace_class class = (enum trace_class)row->class;
    bool prefix = has_prefix(c, row), there;
    if (prefix && objects_find(c->broken, request_of(row)) != OBJECT_NONE) {
        hierarchy_miss(c->hierarchy, c->id, class);
        there = hierarchy_touch(c->hierarchy, c->id);
    } else {
        there = hierarchy_read(c->hierarchy, c->id, class);
        if (!there && prefix) {
            uint32_t number;
            /* A trace without Generate rows never ends its requests. */
            if (objects_count(c->broken) == MAX_BROKEN) {
                objects_free(c->broken);
                c->broken = objects_create();
            }
            if (!c->broken || objects_add(c->broken, request_of(row), &number) < 0)
                fail(c, err_nomem(c->err, "requests"));
        }
    }
    if (!there && row->op == TRACE_READ && refills(row) && c->status == 0)
        write_object(c, row);
}

/* ---- what the curve is told ---- */

static void check_curve(struct convert *c, int rc)
{
    if (rc < 0)
        fail(c, curve_failed(rc, c->err));
}

/* A lookup that missed waits for the next row. If that is the write of its object, it tells the
 * size of the object; true then. Where requests mix, the write comes later. */
static bool settle_miss(struct convert *c, const struct trace_row *row)
{
    if (!c->miss_waits)
        return false;
    c->miss_waits = false;
    bool stored = row && row->op == TRACE_WRITE && ident_equal(c->missed, c->id);
    check_curve(c, stored              ? curve_lookup(c->o.curve, c->missed, row->size)
                   : c->missed_refills ? curve_await(c->o.curve, c->missed)
                                       : curve_probe(c->o.curve, c->missed));
    return stored;
}

static void tell_curve(struct convert *c, const struct trace_row *row)
{
    if (!c->o.curve || settle_miss(c, row))
        return;
    /* Whether a row that is no block of a request hits does not depend on lookups before it. */
    if (has_prefix(c, row))
        check_curve(c, curve_resume(c->o.curve, row->request));
    else
        curve_request(c->o.curve);
    if (row->op == TRACE_MISS) {
        c->miss_waits = true;
        c->missed = c->id;
        c->missed_refills = refills(row);
        return;
    }
    check_curve(c, row->op == TRACE_WRITE ? curve_write(c->o.curve, c->id, row->size)
                   : refills(row)         ? curve_lookup(c->o.curve, c->id, row->size)
                                          : curve_probe(c->o.curve, c->id));
}

/* ---- rows ---- */

/* Counts what the row says by itself: a trace may begin or end anywhere, so what the tiers hold is
 * not known. */
static void copy_row(struct convert *c, const struct trace_row *row)
{
    struct row_counts *t = &c->stats.rows;
    struct row_count *n = &t->by[row->op][row->tier][row->phase];
    n->rows++;
    if (__builtin_add_overflow(n->bytes, row->size, &n->bytes))
        n->bytes = UINT64_MAX; /* sizes are whatever a recording says */
    if (row->op == TRACE_MISS)
        t->misses[row->class]++;
    else if (row->op == TRACE_READ && row->phase != TRACE_EVICT)
        t->hits[row->class]++;
    put(c, row);
}

static void redo_row(struct convert *c, const struct trace_row *row)
{
    if (row->op == TRACE_DELETE || row->phase == TRACE_EVICT)
        return;
    if (row->op == TRACE_GENERATE) {
        c->stats.rows.by[TRACE_GENERATE][TRACE_NO_TIER][TRACE_NO_PHASE].rows++;
        if (row->request != TRACE_NONE) { /* it was answered: it looks nothing up any more */
            uint32_t number = objects_find(c->broken, request_of(row));
            if (number != OBJECT_NONE)
                objects_remove(c->broken, number);
            if (c->o.curve) {
                settle_miss(c, NULL);
                curve_end_request(c->o.curve, row->request);
            }
        }
        put(c, row);
        return;
    }
    /* The identity of a key is 124 bits of its hash (XXH3). */
    struct hash128 hash = hash_128(row->key.p, row->key.len);
    c->cause = row;
    c->id = ident_text(hash.hi, hash.lo);
    tell_curve(c, row);
    if (row->op != TRACE_WRITE)
        look_up(c, row);
    else if (!hierarchy_has(c->hierarchy, c->id))
        write_object(c, row);
}

int convert_run(struct convert *c, struct err *e)
{
    const struct trace_row *row;
    int64_t first_ns = 0;
    bool begun = false;
    int rc;
    c->err = e;
    while ((rc = trace_input_next(c->trace, &row, e)) > 0 && c->status == 0) {
        int64_t now_ns;
        if (rc == IMPORT_NONE_NOW) {
            output_flush(c->out);
            continue;
        }
        if (!begun)
            first_ns = row->time_ns;
        begun = true;
        if (__builtin_sub_overflow(row->time_ns, first_ns, &now_ns))
            now_ns = row->time_ns > first_ns ? INT64_MAX : 0;
        if (now_ns > c->stats.now_ns)
            c->stats.now_ns = now_ns;
        if (c->o.retier)
            redo_row(c, row);
        else
            copy_row(c, row);
    }
    settle_miss(c, NULL);
    if (rc < 0)
        return rc;
    return c->status < 0 ? c->status : 0;
}

int convert_create(struct convert **result, const struct convert_opts *o, struct trace_input *trace,
                   struct output *out, struct err *e)
{
    *result = NULL;
    struct convert *c = calloc(1, sizeof(*c));
    if (!c)
        return err_nomem(e, "conversion");
    c->o = *o;
    c->trace = trace;
    c->out = out;
    if (o->retier) {
        c->hierarchy = hierarchy_create(&c->o.tiers, operation, c);
        c->keys.objects = objects_create();
        c->broken = objects_create();
        if (!c->hierarchy || !c->keys.objects || !c->broken) {
            convert_free(c);
            return err_nomem(e, "hierarchy");
        }
        memcpy(c->stats.rows.capacity, o->tiers.capacity, sizeof(c->stats.rows.capacity));
    }
    *result = c;
    return 0;
}

void convert_free(struct convert *c)
{
    if (!c)
        return;
    hierarchy_free(c->hierarchy);
    for (size_t i = 0; i < c->keys.cap; i++)
        free((char *)(uintptr_t)c->keys.text[i].p);
    free(c->keys.text);
    objects_free(c->keys.objects);
    objects_free(c->broken);
    free(c);
}

const struct sim_stats *convert_stats(const struct convert *c)
{
    return &c->stats;
}

const struct hierarchy *convert_hierarchy(const struct convert *c)
{
    return c->hierarchy;
}
