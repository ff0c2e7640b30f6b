/* First half of kvstat's counting: every row of a thread's batches comes here, is valued once and
 * put into the tables of groups. Nothing here depends on the order of rows; what does is in
 * occupancy and requests. */
#include "kvstat/agg.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct agg {
    uint32_t columns;
    bool result;
    int64_t warmup_ns; /* 0: none */
    struct agg_totals t;
    struct groups *base;    /* by tier, operation and phase, always */
    struct groups *groups;  /* as asked for; the same as base when that is asked for */
    struct groups *tier_op; /* from base, when the file ends */
    struct groups *phase;
};

bool agg_is_result(uint32_t columns)
{
    return columns & TRACE_BIT(TRACE_COL_START) && columns & TRACE_BIT(TRACE_COL_LATENCY);
}

bool agg_is_populating(bool result, const struct trace_row *row)
{
    return result && row->start_ns != TRACE_NONE && row->start_ns < 0;
}

int64_t agg_add_ns(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > 0 ? INT64_MAX : INT64_MIN + 1; /* INT64_MIN is TRACE_NONE */
}

struct agg *agg_create(unsigned by, uint32_t columns)
{
    struct agg *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->columns = columns;
    a->result = agg_is_result(columns);
    a->t.first_ns = INT64_MAX;
    a->t.last_ns = INT64_MIN;
    a->base = groups_create(GROUPS_DEFAULT);
    a->groups = by == GROUPS_DEFAULT ? a->base : groups_create(by);
    a->tier_op = groups_create(GROUPS_TIER | GROUPS_OP);
    a->phase = groups_create(GROUPS_PHASE);
    if (!a->base || !a->groups || !a->tier_op || !a->phase) {
        agg_free(a);
        return NULL;
    }
    return a;
}

void agg_leave_out(struct agg *a, int64_t warmup_ns)
{
    a->warmup_ns = warmup_ns;
}

void agg_free(struct agg *a)
{
    if (!a)
        return;
    if (a->groups != a->base)
        groups_free(a->groups);
    groups_free(a->base);
    groups_free(a->tier_op);
    groups_free(a->phase);
    free(a);
}

static bool add_u64(uint64_t *sum, uint64_t v)
{
    return __builtin_add_overflow(*sum, v, sum);
}

static void count_status(struct agg_totals *t, int32_t status)
{
    if (status == TRACE_OK)
        t->ok++;
    else if (status == TRACE_ABSENT)
        t->absent++;
    else if (status == TRACE_CORRUPT)
        t->corrupt++;
    else if (status != TRACE_NO_STATUS)
        t->failed++;
}

static void count_lookup(struct agg_totals *t, const struct trace_row *row)
{
    if (row->op == TRACE_MISS || (row->op == TRACE_READ && row->status == TRACE_ABSENT))
        t->misses[row->class]++;
    else
        t->hits[row->class]++;
}

/* True when a sum overflowed. */
static bool count_read(struct agg_totals *t, const struct trace_row *row)
{
    bool over = add_u64(&t->read_bytes, row->size);
    t->io_ops++;
    if (row->phase == TRACE_DECODE)
        over |= add_u64(&t->decode_bytes, row->size);
    if (row->phase == TRACE_EVICT)
        t->evict_ops[row->tier] += row->class != TRACE_PROMOTE;
    else if (row->tokens == TRACE_NONE)
        t->reads_without_tokens++;
    else
        over |= add_u64(&t->read_tokens, (uint64_t)row->tokens);
    /* Each block of a prompt is looked up once; other objects are read again while decoding. */
    if (row->class == TRACE_BLOCK && row->phase != TRACE_EVICT && row->tokens != TRACE_NONE)
        over |= add_u64(&t->context_tokens, (uint64_t)row->tokens);
    return over;
}

static bool count_write(struct agg_totals *t, const struct trace_row *row)
{
    t->io_ops++;
    if (row->phase == TRACE_EVICT && row->class == TRACE_PROMOTE)
        t->promote_ops[row->tier]++;
    else if (row->phase == TRACE_EVICT)
        t->offload_ops[row->tier]++;
    bool over = add_u64(&t->write_bytes, row->size);
    if (row->phase == TRACE_PREFILL && row->class != TRACE_INGEST && row->tokens != TRACE_NONE)
        over |= add_u64(&t->context_tokens, (uint64_t)row->tokens);
    return over;
}

static bool count_ok(struct agg_totals *t, const struct trace_row *row)
{
    bool over = false;
    if (row->op == TRACE_GENERATE) {
        t->generate_rows++;
        if (row->tokens != TRACE_NONE)
            over = add_u64(&t->generated_tokens, (uint64_t)row->tokens);
        return over;
    }
    if (row->tier == TRACE_NO_TIER || (row->op != TRACE_READ && row->op != TRACE_WRITE))
        return false;
    over = row->op == TRACE_READ ? count_read(t, row) : count_write(t, row);
    if (row->tier == TRACE_STORAGE)
        over |= row->tokens == TRACE_NONE ? add_u64(&t->tier2_bare_bytes, row->size)
                                          : add_u64(&t->tier2_tokens, (uint64_t)row->tokens);
    return over;
}

static void sample_of(const struct agg *a, const struct trace_row *row, struct group_sample *s)
{
    s->row = row;
    s->ok = row->status == TRACE_OK || row->status == TRACE_NO_STATUS;
    s->start_ns = s->end_ns = TRACE_NONE;
    s->value[GROUP_SIZE] = TRACE_NONE;
    if (row->tier != TRACE_NO_TIER)
        s->value[GROUP_SIZE] = row->size > INT64_MAX ? INT64_MAX : (int64_t)row->size;
    s->metrics = GROUP_SIZE + 1;
    if (!a->result || row->start_ns == TRACE_NONE)
        return;
    s->metrics = GROUP_METRICS;
    s->value[GROUP_WAIT] = s->value[GROUP_RESPONSE] = TRACE_NONE;
    s->start_ns = s->end_ns = row->start_ns;
    if (row->latency_ns != TRACE_NONE)
        s->end_ns = agg_add_ns(row->start_ns, row->latency_ns);
    s->value[GROUP_SERVICE] = row->latency_ns;
    s->value[GROUP_DEVICE] = row->device_ns;
    if (row->due_ns != TRACE_NONE) {
        s->value[GROUP_WAIT] = agg_add_ns(row->start_ns, -row->due_ns);
        if (row->latency_ns != TRACE_NONE)
            s->value[GROUP_RESPONSE] = agg_add_ns(s->value[GROUP_WAIT], row->latency_ns);
    }
}

/* Counts what is no group's: 1 and the sample for the groups, 0: none, negative errno. */
static int value_row(struct agg *a, const struct trace_row *row, struct group_sample *sample)
{
    struct agg_totals *t = &a->t;
    t->rows++;
    if (row->time_ns < t->first_ns)
        t->first_ns = row->time_ns;
    if (row->time_ns > t->last_ns)
        t->last_ns = row->time_ns;
    count_status(t, row->status);
    if (agg_is_populating(a->result, row)) {
        bool done = row->status == TRACE_OK || row->status == TRACE_NO_STATUS;
        t->populated_rows++;
        return done && add_u64(&t->populated_bytes, row->size) ? -EOVERFLOW : 0;
    }
    if (a->warmup_ns > 0 && row->start_ns != TRACE_NONE && row->start_ns < a->warmup_ns) {
        t->warmup_rows++;
        return 0;
    }
    sample_of(a, row, sample);
    bool over = false;
    if (row->op == TRACE_MISS || (row->op == TRACE_READ && row->phase != TRACE_EVICT))
        count_lookup(t, row);
    if (sample->ok)
        over = count_ok(t, row);
    if (sample->end_ns != TRACE_NONE && sample->end_ns > t->end_ns)
        t->end_ns = sample->end_ns;
    if (a->result && row->request != TRACE_NONE && row->tier != TRACE_NO_TIER &&
        row->latency_ns > 0)
        over |= add_u64(&t->busy_ns, (uint64_t)row->latency_ns);
    return over ? -EOVERFLOW : 1;
}

/* At most GROUPS_BLOCK rows. */
static int add_rows(struct agg *a, const struct trace_row *rows, size_t n)
{
    struct group_sample sample[GROUPS_BLOCK];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        int rc = value_row(a, &rows[i], &sample[count]);
        if (rc < 0)
            return rc;
        count += (size_t)rc;
    }
    int rc = groups_add(a->base, sample, count);
    return rc < 0 || a->groups == a->base ? rc : groups_add(a->groups, sample, count);
}

static int fail(int rc, struct err *e)
{
    if (rc == -ENOMEM)
        return err_nomem(e, "groups");
    return err_set(e, rc, ERR_INPUT, "",
                   "sums of the rows do not fit 64 bits: the values are no trace's");
}

int agg_add(struct agg *a, const struct trace_row *rows, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i += GROUPS_BLOCK) {
        int rc = add_rows(a, rows + i, n - i < GROUPS_BLOCK ? n - i : GROUPS_BLOCK);
        if (rc < 0)
            return fail(rc, e);
    }
    return 0;
}

/* The totals that simply add up, as an array: all from rows to the first time. */
static bool totals_merge(struct agg_totals *into, const struct agg_totals *from)
{
    bool over = false;
    static_assert(offsetof(struct agg_totals, rows) == 0, "counters come first");
    uint64_t *x = (uint64_t *)into;
    const uint64_t *y = (const uint64_t *)from;
    size_t n = offsetof(struct agg_totals, first_ns) / sizeof(uint64_t);
    for (size_t i = 0; i < n; i++)
        over |= add_u64(&x[i], y[i]);
    over |= add_u64(&into->elapsed_ns, from->elapsed_ns);
    if (from->first_ns < into->first_ns)
        into->first_ns = from->first_ns;
    if (from->last_ns > into->last_ns)
        into->last_ns = from->last_ns;
    if (from->end_ns > into->end_ns)
        into->end_ns = from->end_ns;
    return over;
}

int agg_merge(struct agg *into, const struct agg *from, struct err *e)
{
    int rc = totals_merge(&into->t, &from->t) ? -EOVERFLOW : 0;
    if (rc == 0)
        rc = groups_merge(into->base, from->base);
    if (rc == 0 && into->groups != into->base)
        rc = groups_merge(into->groups, from->groups);
    if (rc == 0)
        rc = groups_merge(into->tier_op, from->tier_op);
    if (rc == 0)
        rc = groups_merge(into->phase, from->phase);
    return rc < 0 ? fail(rc, e) : 0;
}

int agg_end_file(struct agg *a, struct err *e)
{
    struct agg_totals *t = &a->t;
    if (a->result && t->end_ns > a->warmup_ns)
        t->elapsed_ns = (uint64_t)t->end_ns - (uint64_t)a->warmup_ns;
    else if (!a->result && t->last_ns > t->first_ns)
        t->elapsed_ns = (uint64_t)t->last_ns - (uint64_t)t->first_ns;
    int rc = groups_merge(a->tier_op, a->base);
    if (rc == 0)
        rc = groups_merge(a->phase, a->base);
    if (rc < 0)
        return fail(rc, e);
    groups_end_file(a->base);
    if (a->groups != a->base)
        groups_end_file(a->groups);
    groups_end_file(a->tier_op);
    groups_end_file(a->phase);
    return 0;
}

const struct agg_totals *agg_totals(const struct agg *a)
{
    return &a->t;
}

bool agg_result(const struct agg *a)
{
    return a->result;
}

struct groups *agg_groups(const struct agg *a)
{
    return a->groups;
}

struct groups *agg_by_tier_op(const struct agg *a)
{
    return a->tier_op;
}

struct groups *agg_by_phase(const struct agg *a)
{
    return a->phase;
}
