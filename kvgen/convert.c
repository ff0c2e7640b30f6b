/* convert.c - takes the place of the simulation when the source is a trace: its rows go to the
 * output, or its logical operations to a hierarchy whose operations do. Reading is trace_input.h's,
 * filters and formats are the output's. */
#include "kvgen/convert.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/keys.h"

enum {
    MAX_BROKEN = 1 << 16 /* requests of which that is remembered */
};

struct convert {
    struct convert_opts o;
    struct trace_input *trace;
    struct output *out;
    struct err *err; /* of the convert_run under way */
    int status;      /* of the output: 0, 1 (end here) or negative */
    int64_t first_ns;
    bool begun;
    struct sim_stats stats;
    /* With retier. */
    struct hierarchy *hierarchy;
    struct keys *keys;             /* of live objects */
    struct objects *broken;        /* requests of whose blocks one missed */
    const struct trace_row *cause; /* the row that is being done */
    struct ident id;               /* of its key */
    bool miss_waits;               /* of the object missed */
    struct ident missed;
    bool missed_refills;
};

static void note_time(struct convert *c, const struct trace_row *row)
{
    int64_t now_ns;
    if (!c->begun)
        c->first_ns = row->time_ns;
    c->begun = true;
    if (__builtin_sub_overflow(row->time_ns, c->first_ns, &now_ns))
        now_ns = row->time_ns > c->first_ns ? INT64_MAX : 0;
    if (now_ns > c->stats.now_ns)
        c->stats.now_ns = now_ns;
}

static void note_request(struct convert *c, const struct trace_row *row)
{
    c->stats.issued++;
    c->stats.served++;
    c->stats.completed++;
    if (row->qos < TRACE_QOSES)
        c->stats.completed_by_qos[row->qos]++;
    if (row->tokens != TRACE_NONE && row->tokens > 0)
        c->stats.generated_tokens += (uint64_t)row->tokens;
}

static void put(struct convert *c, const struct trace_row *row)
{
    if (c->status != 0)
        return;
    if (row->op == TRACE_GENERATE)
        note_request(c, row);
    c->status = output_record(c->out, row, c->err);
}

/* ---- as they are ---- */

/* Only what a row says by itself: a trace may begin or end anywhere. */
static void count(struct convert *c, const struct trace_row *row)
{
    struct row_counts *t = &c->stats.rows;
    struct row_count *n = &t->by[row->op][row->tier][row->phase];
    n->rows++;
    n->bytes += row->size;
    if (row->op == TRACE_MISS)
        t->misses[row->class]++;
    else if (row->op == TRACE_READ && row->phase != TRACE_EVICT)
        t->hits[row->class]++;
}

/* ---- through another hierarchy ---- */

static void fail(struct convert *c, int code)
{
    if (c->status >= 0)
        c->status = code;
}

static void hold(struct convert *c, const struct hierarchy_op *op, struct trace_str key)
{
    if (keys_hold(c->keys, op->id, key) < 0)
        fail(c, err_nomem(c->err, "keys of live objects"));
}

/* What was written before the first request moves others before it, too. */
static enum trace_class class_of(const struct convert *c, const struct hierarchy_op *op)
{
    uint8_t cause = c->cause->class;
    return cause == TRACE_INGEST || cause == TRACE_PREPOP ? (enum trace_class)cause : op->class;
}

/* The hierarchy's sink. Demotions and deletions are of the request that made them necessary. */
static void operation(void *ctx, const struct hierarchy_op *op)
{
    struct convert *c = ctx;
    struct trace_row row = *c->cause;
    bool own = ident_equal(op->id, c->id);
    row_counts_add(&c->stats.rows, op);
    row.key = own ? c->cause->key : keys_text(c->keys, op->id);
    row.op = (uint8_t)op->op;
    row.tier = (uint8_t)op->tier;
    row.phase = (uint8_t)op->phase;
    row.class = (uint8_t)class_of(c, op);
    row.size = op->size;
    row.tokens = op->op == TRACE_MISS || op->tokens == 0 ? TRACE_NONE : (int64_t)op->tokens;
    put(c, &row);
    if (op->op == TRACE_WRITE && op->phase == TRACE_PREFILL)
        hold(c, op, row.key);
    else if (op->op == TRACE_DELETE)
        keys_drop(c->keys, op->id);
}

static void write_object(struct convert *c)
{
    const struct trace_row *row = c->cause;
    int64_t tokens = row->tokens > 0 && row->tokens <= UINT32_MAX ? row->tokens : 0;
    if (hierarchy_write(c->hierarchy, c->id, row->size, (uint32_t)tokens,
                        (enum trace_class)row->class) < 0)
        fail(c, err_nomem(c->err, "live objects"));
}

/* Is an object that such a row looks up written when it is gone? */
static bool refills(const struct trace_row *row)
{
    return row->class != TRACE_MULTI_TURN && row->class != TRACE_RAG;
}

static bool has_prefix(const struct convert *c, const struct trace_row *row)
{
    return !c->o.block_any && row->class == TRACE_BLOCK && row->request != TRACE_NONE;
}

static struct ident request_of(const struct trace_row *row)
{
    return ident_request(0, (uint64_t)row->request);
}

static bool is_broken(const struct convert *c, const struct trace_row *row)
{
    return has_prefix(c, row) && c->broken &&
           objects_find(c->broken, request_of(row)) != OBJECT_NONE;
}

static void break_prefix(struct convert *c, const struct trace_row *row)
{
    uint32_t number;
    if (!has_prefix(c, row))
        return;
    if (objects_count(c->broken) == MAX_BROKEN) { /* a trace without Generate rows */
        objects_free(c->broken);
        c->broken = objects_create();
    }
    if (!c->broken || objects_add(c->broken, request_of(row), &number) < 0)
        fail(c, err_nomem(c->err, "requests"));
}

static void check_curve(struct convert *c, int rc)
{
    if (rc < 0)
        fail(c, curve_failed(rc, c->err));
}

/* A lookup that missed waits for the write right behind it, which tells its size; where requests
 * mix, the write comes later. True: row is that write. */
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

/* A request that was answered looks nothing up any more. */
static void forget_request(struct convert *c, const struct trace_row *row)
{
    uint32_t number =
        row->request == TRACE_NONE ? OBJECT_NONE : objects_find(c->broken, request_of(row));
    if (number != OBJECT_NONE)
        objects_remove(c->broken, number);
    if (!c->o.curve || row->request == TRACE_NONE)
        return;
    settle_miss(c, NULL);
    curve_end_request(c->o.curve, row->request);
}

static void tell_curve(struct convert *c, const struct trace_row *row)
{
    if (!c->o.curve || settle_miss(c, row))
        return;
    /* What is no block of a request stands alone: no lookup before it decides whether it hits. */
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

static void look_up(struct convert *c, const struct trace_row *row)
{
    enum trace_class class = (enum trace_class)row->class;
    bool there;
    if (is_broken(c, row)) {
        hierarchy_miss(c->hierarchy, c->id, class);
        there = hierarchy_touch(c->hierarchy, c->id);
    } else {
        there = hierarchy_read(c->hierarchy, c->id, class);
        if (!there)
            break_prefix(c, row);
    }
    if (!there && row->op == TRACE_READ && refills(row) && c->status == 0)
        write_object(c);
}

static void redo(struct convert *c, const struct trace_row *row)
{
    if (row->op == TRACE_DELETE || row->phase == TRACE_EVICT)
        return;
    if (row->op == TRACE_GENERATE) {
        struct row_count *n = &c->stats.rows.by[TRACE_GENERATE][TRACE_NO_TIER][TRACE_NO_PHASE];
        n->rows++;
        forget_request(c, row);
        put(c, row);
        return;
    }
    c->cause = row;
    c->id = keys_ident(row->key);
    tell_curve(c, row);
    if (row->op != TRACE_WRITE)
        look_up(c, row);
    else if (!hierarchy_has(c->hierarchy, c->id))
        write_object(c);
}

/* ---- from its beginning to its end ---- */

static int prepare(struct convert *c, struct err *e)
{
    if (!c->o.retier)
        return 0;
    c->hierarchy = hierarchy_create(&c->o.tiers, operation, c);
    c->keys = keys_create();
    c->broken = objects_create();
    if (!c->hierarchy || !c->keys || !c->broken)
        return err_nomem(e, "hierarchy");
    for (int t = 0; t < TRACE_TIERS; t++)
        c->stats.rows.capacity[t] = c->o.tiers.capacity[t];
    return 0;
}

int convert_create(struct convert **result, const struct convert_opts *o, struct trace_input *trace,
                   struct output *out, struct err *e)
{
    struct convert *c = calloc(1, sizeof(*c));
    if (!c)
        return err_nomem(e, "conversion");
    c->o = *o;
    c->trace = trace;
    c->out = out;
    int rc = prepare(c, e);
    if (rc < 0) {
        convert_free(c);
        c = NULL;
    }
    *result = c;
    return rc;
}

void convert_free(struct convert *c)
{
    if (!c)
        return;
    hierarchy_free(c->hierarchy);
    keys_free(c->keys);
    objects_free(c->broken);
    free(c);
}

int convert_run(struct convert *c, struct err *e)
{
    const struct trace_row *row;
    int rc;
    c->err = e;
    while ((rc = trace_input_next(c->trace, &row, e)) > 0 && c->status == 0) {
        note_time(c, row);
        if (c->o.retier) {
            redo(c, row);
        } else {
            count(c, row);
            put(c, row);
        }
    }
    settle_miss(c, NULL);
    if (rc < 0)
        return rc;
    return c->status < 0 ? c->status : 0;
}

const struct sim_stats *convert_stats(const struct convert *c)
{
    return &c->stats;
}

const struct hierarchy *convert_hierarchy(const struct convert *c)
{
    return c->hierarchy;
}
