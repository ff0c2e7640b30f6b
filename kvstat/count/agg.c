/* First half of kvstat's counting: every row of a thread's batches is measured here once and put
 * into the tables of groups. Rows with the same words are summed in one cell; when the file ends,
 * the cells become the totals. Nothing here depends on the order of rows: occupancy and requests
 * do. */
#include "kvstat/count/agg.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "kvstat/count/second.h"

/* Smaller differences between times of a result file are rounding: microseconds with three places,
 * seconds with nine. */
#define ROUNDED_NS 1000

enum outcome {
    DONE, /* no status, or "ok" */
    ABSENT,
    FAILED,
    OUTCOMES
};

/* Rows of the file being read with one operation, tier, phase, class and outcome. */
struct cell {
    uint64_t rows, bytes;
    uint64_t tokens, bare_rows, bare_bytes; /* bare: those without Tokens */
    bool over;                              /* a sum did not fit */
};

struct agg {
    uint32_t columns;
    bool result;
    int64_t warmup_ns; /* 0: none */
    struct cell cell[TRACE_OPS][TRACE_TIERS + 1][TRACE_PHASES + 1][TRACE_CLASSES + 1][OUTCOMES];
    struct agg_totals t;
    bool gaps; /* there are some */
    struct second *second;
    struct groups *base;    /* by tier, operation and phase, always */
    struct groups *groups;  /* as asked for; the same as base when that is asked for */
    struct groups *tier_op; /* from base, when the file ends */
    struct groups *phase;
    struct direct *direct; /* NULL: not asked for */
};

#define CELLS (sizeof(((struct agg *)0)->cell) / sizeof(struct cell))

bool agg_is_result(uint32_t columns)
{
    return columns & TRACE_BIT(TRACE_COL_START) && columns & TRACE_BIT(TRACE_COL_LATENCY);
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
    a->t.low_rank = INT64_MAX;
    a->t.high_rank = INT64_MIN;
    a->base = groups_create(GROUPS_DEFAULT);
    a->groups = by == GROUPS_DEFAULT ? a->base : groups_create(by);
    a->tier_op = groups_create(GROUPS_TIER | GROUPS_OP);
    a->phase = groups_create(GROUPS_PHASE);
    a->second = second_create();
    if (!a->second || !a->base || !a->groups || !a->tier_op || !a->phase) {
        agg_free(a);
        return NULL;
    }
    return a;
}

void agg_take_gaps(struct agg *a, const struct gaps *gaps)
{
    a->gaps = gaps != NULL;
    second_take_gaps(a->second, gaps);
}

int agg_take_direct(struct agg *a)
{
    a->direct = direct_create();
    return a->direct ? 0 : -ENOMEM;
}

void agg_leave_out(struct agg *a, int64_t warmup_ns)
{
    a->warmup_ns = warmup_ns;
}

void agg_free(struct agg *a)
{
    if (!a)
        return;
    second_free(a->second);
    direct_free(a->direct);
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

/* The words that the rows of a cell share. */
struct kind {
    enum trace_op op;
    enum trace_tier tier;
    enum trace_phase phase;
    enum trace_class class;
    enum outcome outcome;
};

/* Moves a cell into the totals. True when a sum overflowed. */
static bool count_cell(struct agg_totals *t, const struct kind *k, const struct cell *c)
{
    bool read = k->op == TRACE_READ, moved = k->phase == TRACE_EVICT, over = false;
    /* A copy that is made looks nothing up, and what it writes was computed before. */
    bool copied = k->class == TRACE_STORE || (k->class == TRACE_PROMOTE && !moved);

    if (k->op == TRACE_MISS || (read && !moved && !copied && k->outcome == ABSENT))
        t->misses[k->class] += c->rows;
    else if (read && !moved && !copied)
        t->hits[k->class] += c->rows;
    if (k->outcome != DONE)
        return false;

    if (k->op == TRACE_GENERATE && k->phase == TRACE_PREFILL)
        return false; /* its tokens are read, not generated */
    if (k->op == TRACE_GENERATE) {
        t->generate_rows += c->rows;
        return c->over | add_u64(&t->generated_tokens, c->tokens);
    }
    if (k->tier == TRACE_NO_TIER || (!read && k->op != TRACE_WRITE))
        return false;

    t->io_ops += c->rows;
    over |= c->over;
    if (read) {
        over |= add_u64(&t->read_bytes, c->bytes);
        if (k->phase == TRACE_DECODE)
            over |= add_u64(&t->decode_bytes, c->bytes);
        if (moved) {
            t->evict_ops[k->tier] += k->class != TRACE_PROMOTE ? c->rows : 0;
        } else if (!copied) {
            t->reads_without_tokens += c->bare_rows;
            over |= add_u64(&t->read_tokens, c->tokens);
            /* Each block of a prompt is looked up once; other objects are read again in decoding.
             */
            if (k->class == TRACE_BLOCK)
                over |= add_u64(&t->context_tokens, c->tokens);
        }
    } else {
        over |= add_u64(&t->write_bytes, c->bytes);
        if (moved && k->class == TRACE_PROMOTE)
            t->promote_ops[k->tier] += c->rows;
        else if (moved)
            t->offload_ops[k->tier] += c->rows;
        if (k->phase == TRACE_PREFILL && !copied && k->class != TRACE_INGEST &&
            k->class != TRACE_LOAD)
            over |= add_u64(&t->context_tokens, c->tokens);
    }
    if (k->tier == TRACE_STORAGE) {
        over |= add_u64(&t->tier2_bare_bytes, c->bare_bytes);
        over |= add_u64(&t->tier2_tokens, c->tokens);
    }
    return over;
}

static struct cell *cell_at(struct agg *a, size_t i)
{
    return &a->cell[0][0][0][0][0] + i;
}

static struct kind kind_at(size_t i)
{
    struct kind k = {.outcome = (enum outcome)(i % OUTCOMES)};
    i /= OUTCOMES;
    k.class = (enum trace_class)(i % (TRACE_CLASSES + 1));
    i /= TRACE_CLASSES + 1;
    k.phase = (enum trace_phase)(i % (TRACE_PHASES + 1));
    i /= TRACE_PHASES + 1;
    k.tier = (enum trace_tier)(i % (TRACE_TIERS + 1));
    k.op = (enum trace_op)(i / (TRACE_TIERS + 1));
    return k;
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
    s->metrics = GROUP_FIRST_BYTE;
    s->value[GROUP_WAIT] = s->value[GROUP_RESPONSE] = TRACE_NONE;
    s->start_ns = s->end_ns = row->start_ns;
    if (row->latency_ns != TRACE_NONE)
        s->end_ns = agg_add_ns(row->start_ns, row->latency_ns);
    s->value[GROUP_SERVICE] = row->latency_ns;
    s->value[GROUP_DEVICE] = row->device_ns;
    if (a->columns & AGG_EXTRA_TIMES && row->extra) {
        s->metrics = GROUP_METRICS;
        s->value[GROUP_FIRST_BYTE] = row->extra->first_byte_ns;
        s->value[GROUP_QUEUE] = row->extra->queue_ns;
        s->value[GROUP_DRIVE] = row->extra->drive_ns;
    }
    if (row->due_ns != TRACE_NONE) {
        s->value[GROUP_WAIT] = agg_add_ns(row->start_ns, -row->due_ns);
        if (row->latency_ns != TRACE_NONE)
            s->value[GROUP_RESPONSE] = agg_add_ns(s->value[GROUP_WAIT], row->latency_ns);
    }
}

static int count_twice(struct agg *a, const struct trace_row *row,
                       const struct group_sample *sample)
{
    const struct second_row second = {.tier = row->tier,
                                      .op = row->op,
                                      .start_ns = sample->start_ns,
                                      .end_ns = sample->end_ns,
                                      .service_ns = row->latency_ns,
                                      .device_ns = row->device_ns,
                                      .response_ns = sample->value[GROUP_RESPONSE],
                                      .delay_ns = agg_client_delay_ns(row)};
    return second_add(a->second, &second);
}

/* Counts a row. 1: it belongs to the groups, with *sample; 0: it does not; or a negative errno. */
static int value_row(struct agg *a, const struct trace_row *row, struct group_sample *sample)
{
    struct agg_totals *t = &a->t;
    t->rows++;
    if (row->time_ns < t->first_ns)
        t->first_ns = row->time_ns;
    if (row->time_ns > t->last_ns)
        t->last_ns = row->time_ns;
    if (a->columns & TRACE_BIT(TRACE_COL_RANK) && row->extra && row->extra->rank != TRACE_NONE) {
        int64_t rank = row->extra->rank;
        t->low_rank = rank < t->low_rank ? rank : t->low_rank;
        t->high_rank = rank > t->high_rank ? rank : t->high_rank;
    }
    if (row->status == TRACE_OK)
        t->ok++;
    else if (row->status == TRACE_ABSENT)
        t->absent++;
    else if (trace_status_corrupt(row->status)) {
        t->corrupt++;
        t->corrupt_of[row->tier]++;
        t->stale[row->tier] += row->status == TRACE_STALE;
        t->wrong[row->tier] += row->status == TRACE_WRONG;
    } else if (row->status != TRACE_NO_STATUS)
        t->failed++;
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
    enum outcome outcome = sample->ok ? DONE : row->status == TRACE_ABSENT ? ABSENT : FAILED;
    struct cell *c = &a->cell[row->op][row->tier][row->phase][row->class][outcome];
    bool bare = row->tokens == TRACE_NONE;
    bool over = add_u64(&c->bytes, row->size);
    c->rows++;
    over |= add_u64(&c->tokens, bare ? 0 : (uint64_t)row->tokens);
    c->bare_rows += bare;
    c->bare_bytes += bare ? row->size : 0; /* not more than bytes */
    c->over |= over;
    if (a->direct && sample->ok) {
        int rc = direct_add(a->direct, row);
        if (rc < 0)
            return rc;
    }

    if (!a->result)
        return 1;
    t->device_over +=
        row->latency_ns != TRACE_NONE && row->device_ns > agg_add_ns(row->latency_ns, ROUNDED_NS);
    if ((row->due_ns != TRACE_NONE || a->gaps) && row->start_ns != TRACE_NONE) {
        t->early += agg_add_ns(row->start_ns, ROUNDED_NS) < row->due_ns;
        if (sample->ok && row->tier != TRACE_NO_TIER &&
            (row->op == TRACE_READ || row->op == TRACE_WRITE) && count_twice(a, row, sample) < 0)
            return -ENOMEM;
    }
    if (row->op == TRACE_GENERATE && row->phase != TRACE_PREFILL)
        t->skipped_generations += row->duration_ns > 0 && row->latency_ns == 0;
    if (sample->end_ns != TRACE_NONE && sample->end_ns > t->end_ns)
        t->end_ns = sample->end_ns;
    if (row->request != TRACE_NONE && row->tier != TRACE_NO_TIER && row->latency_ns > 0 &&
        row->phase != TRACE_EVICT && add_u64(&t->busy_ns, (uint64_t)row->latency_ns))
        return -EOVERFLOW;
    return 1;
}

static int fail(int rc, struct err *e)
{
    if (rc == -ENOMEM)
        return err_nomem(e, "groups");
    if (rc == -EFBIG)
        return err_set(e, rc, ERR_INPUT, "--by",
                       "the rows make too many groups by user, endpoint, thread or engine "
                       "(--config max_groups "
                       "allows more, some 25 KB each)");
    return err_set(e, rc, ERR_INPUT, "", "the sums of the rows exceed 64 bits: not a valid trace");
}

void agg_limit(struct agg *a, size_t most_groups)
{
    groups_limit(a->groups, most_groups);
}

int agg_add(struct agg *a, const struct trace_row *rows, size_t n, struct err *e)
{
    for (size_t from = 0; from < n; from += GROUPS_BLOCK) {
        struct group_sample sample[GROUPS_BLOCK];
        size_t to = n - from < GROUPS_BLOCK ? n : from + GROUPS_BLOCK, count = 0;
        int rc = 0;
        for (size_t i = from; i < to && rc >= 0; i++) {
            rc = value_row(a, &rows[i], &sample[count]);
            count += rc > 0;
        }
        if (rc >= 0)
            rc = groups_add(a->base, sample, count);
        if (rc == 0 && a->groups != a->base)
            rc = groups_add(a->groups, sample, count);
        if (rc < 0)
            return fail(rc, e);
    }
    return 0;
}

/* The counters, from rows to the first time, are added as an array. */
static bool totals_merge(struct agg_totals *into, const struct agg_totals *from)
{
    bool over = false;
    static_assert(offsetof(struct agg_totals, rows) == 0, "counters come first");
    uint64_t *x = (uint64_t *)into;
    const uint64_t *y = (const uint64_t *)from;
    size_t n = offsetof(struct agg_totals, first_ns) / sizeof(*x);
    for (size_t i = 0; i < n; i++)
        over |= add_u64(&x[i], y[i]);
    over |= add_u64(&into->elapsed_ns, from->elapsed_ns);
    if (from->first_ns < into->first_ns)
        into->first_ns = from->first_ns;
    if (from->last_ns > into->last_ns)
        into->last_ns = from->last_ns;
    if (from->end_ns > into->end_ns)
        into->end_ns = from->end_ns;
    if (from->low_rank < into->low_rank)
        into->low_rank = from->low_rank;
    if (from->high_rank > into->high_rank)
        into->high_rank = from->high_rank;
    return over;
}

int agg_merge(struct agg *into, const struct agg *from, struct err *e)
{
    bool over = totals_merge(&into->t, &from->t);
    const struct cell *cell = &from->cell[0][0][0][0][0];
    for (size_t i = 0; i < CELLS; i++) {
        struct cell *c = cell_at(into, i);
        if (!cell[i].rows)
            continue;
        c->rows += cell[i].rows;
        c->bare_rows += cell[i].bare_rows;
        c->bare_bytes += cell[i].bare_bytes;
        c->over |= cell[i].over;
        c->over |= add_u64(&c->bytes, cell[i].bytes);
        c->over |= add_u64(&c->tokens, cell[i].tokens);
    }
    int rc = over ? -EOVERFLOW : groups_merge(into->base, from->base);
    if (rc == 0)
        rc = second_merge(into->second, from->second);
    if (rc == 0 && into->direct && from->direct)
        rc = direct_merge(into->direct, from->direct);
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
    bool over = false;
    if (a->result && t->end_ns > a->warmup_ns)
        t->elapsed_ns = (uint64_t)t->end_ns - (uint64_t)a->warmup_ns;
    else if (!a->result && t->last_ns > t->first_ns)
        t->elapsed_ns = (uint64_t)t->last_ns - (uint64_t)t->first_ns;
    for (size_t i = 0; i < CELLS; i++) {
        struct cell *c = cell_at(a, i);
        struct kind k = kind_at(i);
        if (c->rows > 0)
            over |= count_cell(t, &k, c);
        *c = (struct cell){0};
    }
    int rc = over ? -EOVERFLOW : groups_merge(a->tier_op, a->base);
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

const struct second *agg_second(const struct agg *a)
{
    return a->second;
}

const struct direct *agg_direct(const struct agg *a)
{
    return a->direct;
}

bool agg_result(const struct agg *a)
{
    return a->result;
}

struct groups *agg_groups(const struct agg *a)
{
    return a->groups;
}

struct groups *agg_make_tier_op(const struct agg *a)
{
    struct groups *g = groups_create(GROUPS_TIER | GROUPS_OP);

    if (g && groups_merge(g, a->base) == 0)
        return g;
    groups_free(g);
    return NULL;
}

struct groups *agg_by_tier_op(const struct agg *a)
{
    return a->tier_op;
}

struct groups *agg_by_phase(const struct agg *a)
{
    return a->phase;
}
