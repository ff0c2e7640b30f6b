/* Behind the scheduler, fed by ledger.c: every finished row is counted here once, for the summary,
 * the progress line and autoscale. */
#include "kvreplay/sched/counts.h"
#include "lib/base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int group_init(struct counts_group *g, unsigned tier, unsigned op, unsigned phase)
{
    *g = (struct counts_group){.tier = (enum trace_tier)tier,
                               .op = (enum trace_op)op,
                               .phase = (enum trace_phase)phase,
                               .first_start_ns = INT64_MAX,
                               .last_done_ns = INT64_MIN};
    g->service = hist_create();
    g->wait = hist_create();
    g->response = hist_create();
    g->device = hist_create();
    int rc = g->service && g->wait && g->response && g->device ? 0 : -ENOMEM;
    for (unsigned i = 0; i < COUNTS_PARTS; i++)
        if (!(g->part[i] = hist_create()))
            rc = -ENOMEM;
    for (unsigned i = 0; i < COUNTS_HELD; i++)
        if (!(g->held[i] = hist_create()) || !(g->freed[i] = hist_create()))
            rc = -ENOMEM;
    return rc;
}

void counts_group_release(struct counts_group *g)
{
    hist_free(g->service);
    hist_free(g->wait);
    hist_free(g->response);
    hist_free(g->device);
    for (unsigned i = 0; i < COUNTS_PARTS; i++)
        hist_free(g->part[i]);
    for (unsigned i = 0; i < COUNTS_HELD; i++) {
        hist_free(g->held[i]);
        hist_free(g->freed[i]);
    }
}

static int beside_init(struct counts_beside *b)
{
    int rc = 0;

    for (unsigned i = 0; i < COUNTS_HELD; i++)
        if (!(b->pending[i] = hist_create()) || !(b->calm[i] = hist_create()) ||
            !(b->shared[i] = hist_create()))
            rc = -ENOMEM;
    return rc;
}

static void beside_release(struct counts_beside *b)
{
    for (unsigned i = 0; i < COUNTS_HELD; i++) {
        hist_free(b->pending[i]);
        hist_free(b->calm[i]);
        hist_free(b->shared[i]);
    }
}

int counts_init(struct counts *s)
{
    int rc = 0;
    memset(s, 0, sizeof(*s));
    s->foreign_ns = INT64_MIN;
    for (unsigned op = TRACE_READ; op <= TRACE_WRITE; op++)
        if (beside_init(&s->beside[op]) < 0)
            rc = -ENOMEM;
    for (unsigned tier = 0; tier < TRACE_TIERS; tier++)
        for (unsigned op = 0; op < COUNTS_OPS; op++)
            for (unsigned phase = 0; phase < COUNTS_PHASES; phase++)
                if (group_init(&s->group[counts_group_at(tier, op, phase)], tier, op, phase) < 0)
                    rc = -ENOMEM;
    s->lateness = hist_create();
    s->recent = hist_create();
    s->lookup = hist_create();
    s->both.alone = hist_create();
    s->both.beside = hist_create();
    rc = s->both.alone && s->both.beside ? rc : -ENOMEM;
    s->queue = hist_create();
    s->last_done_ns = s->from_ns = s->last_due_ns = INT64_MIN;
    s->until_ns = s->first_due_ns = INT64_MAX;
    for (unsigned i = 0; i < 2; i++) {
        s->response[i] = hist_create();
        s->whole[i] = hist_create();
        rc = s->response[i] && s->whole[i] ? rc : -ENOMEM;
    }
    for (unsigned i = 0; i <= TRACE_QOSES; i++) {
        s->end_to_end[i] = hist_create();
        s->first_token[i] = hist_create();
        s->queued[i] = hist_create();
        rc = s->end_to_end[i] && s->first_token[i] && s->queued[i] ? rc : -ENOMEM;
    }
    return s->lateness && s->recent && s->lookup && s->queue ? rc : -ENOMEM;
}

static void doors_release(struct counts *s, unsigned tier)
{
    for (unsigned i = 0; i < s->doors[tier] * COUNTS_OPS; i++)
        counts_group_release(&s->door[tier][i / COUNTS_OPS].op[i % COUNTS_OPS]);
    free(s->door[tier]);
}

void counts_release(struct counts *s)
{
    for (unsigned i = 0; i < COUNTS_GROUPS; i++)
        counts_group_release(&s->group[i]);
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        doors_release(s, i);
    for (unsigned op = TRACE_READ; op <= TRACE_WRITE; op++)
        beside_release(&s->beside[op]);
    hist_free(s->lateness);
    hist_free(s->queue);
    hist_free(s->recent);
    hist_free(s->lookup);
    hist_free(s->both.alone);
    hist_free(s->both.beside);
    for (unsigned i = 0; i < 2; i++) {
        hist_free(s->response[i]);
        hist_free(s->whole[i]);
    }
    for (unsigned i = 0; i <= TRACE_QOSES; i++) {
        hist_free(s->end_to_end[i]);
        hist_free(s->first_token[i]);
        hist_free(s->queued[i]);
        free(s->waiting_since[i].requests);
    }
}

int counts_doors(struct counts *s, unsigned tier, unsigned doors)
{
    if (doors == 0)
        return 0;
    s->door[tier] = calloc(doors, sizeof(*s->door[tier]));
    if (!s->door[tier])
        return -ENOMEM;
    s->doors[tier] = doors;
    for (unsigned i = 0; i < doors; i++)
        for (unsigned op = 0; op < COUNTS_OPS; op++)
            if (group_init(&s->door[tier][i].op[op], tier, op, TRACE_NO_PHASE) < 0)
                return -ENOMEM;
    return 0;
}

void counts_recent_reset(struct counts *s)
{
    struct hist *empty = hist_create();
    if (!empty) { /* then the figure covers more than the last second */
        s->errors = -ENOMEM;
        return;
    }
    hist_free(s->recent);
    s->recent = empty;
}

static void counts_record(struct counts *s, struct hist *h, int64_t value)
{
    if (hist_record(h, value) < 0)
        s->errors = -ENOMEM;
}

void counts_looked_up(struct counts *s, int64_t took_ns, bool found)
{
    s->looked_up++;
    s->found += found;
    counts_record(s, s->lookup, took_ns);
}

void counts_admitted(struct counts *s, uint8_t qos, int64_t arrival_ns,
                     const struct admission_way *way)
{
    s->admitted_beyond += way->beyond_workers;
    s->capacity_exceeded += way->beyond_room;
    s->inherited += way->inherited;
    s->in_turn += way->in_turn;
    if (way->when_ns < s->from_ns)
        return;
    counts_record(s, s->queue, way->when_ns - arrival_ns);
    counts_record(s, s->queued[qos], way->when_ns - arrival_ns);
}

void counts_first_token(struct counts *s, const struct row *r, int64_t arrival_ns)
{
    if (r->t.start_ns >= s->from_ns)
        counts_record(s, s->first_token[r->t.qos], r->t.start_ns + r->t.latency_ns - arrival_ns);
}

void counts_waited(struct counts *s, uint8_t qos, int64_t since_ns, int64_t wait_ns)
{
    struct counts_seconds *in = &s->waiting_since[qos];
    size_t second = since_ns > 0 ? (size_t)(since_ns / 1000000000) : 0;

    s->waiting[qos]++;
    counts_record(s, s->queued[qos], wait_ns);
    second = second < COUNTS_SECONDS_MAX ? second : COUNTS_SECONDS_MAX - 1;
    if (second >= in->count) {
        if (memory_resize(&in->requests, second + 1, sizeof(*in->requests)) < 0) {
            s->errors = -ENOMEM;
            return;
        }
        memset(in->requests + in->count, 0, (second + 1 - in->count) * sizeof(*in->requests));
        in->count = second + 1;
    }
    in->requests[second]++;
}

void counts_ended(struct counts *s, uint8_t qos, int64_t arrival_ns, int64_t done_ns,
                  int64_t added_ns)
{
    if (done_ns < s->from_ns)
        return;
    counts_record(s, s->end_to_end[qos], done_ns - arrival_ns);
    counts_record(s, s->whole[0], done_ns - arrival_ns);
    counts_record(s, s->whole[1], done_ns - arrival_ns - added_ns);
}

static void part_add(struct counts *s, struct counts_group *g, enum counts_part part, int64_t ns)
{
    if (ns == 0)
        g->zeros[part]++;
    else if (ns != TIER_UNKNOWN_NS)
        counts_record(s, g->part[part], ns);
}

/* Where in the row a gap lay is not known: the device's part of it is as large as that of the row.
 */
static int64_t device_away_ns(const struct row *r)
{
    double share = r->t.latency_ns > 0 ? (double)r->t.device_ns / (double)r->t.latency_ns : 0;

    return (int64_t)((double)r->away_ns * (share < 1 ? share : 1));
}

/* A row that gaps made longer, or that a stop of the process moved. */
static void held_add(struct counts *s, struct counts_group *g, enum counts_held what,
                     const struct row *r)
{
    bool service = what == COUNTS_HELD_SERVICE;
    int64_t ns = service ? r->t.latency_ns : r->t.device_ns;

    if (ns == TRACE_NONE)
        return;
    counts_record(s, g->held[what], ns);
    if (!r->in_burst)
        counts_record(s, g->freed[what], ns - (service ? r->away_ns : device_away_ns(r)));
}

/* A row that began in an interval with others' traffic ran beside it; of one that began later, the
 * end of this interval tells. */
static void beside_add(struct counts *s, const struct trace_row *t)
{
    struct counts_beside *b = &s->beside[t->op];
    struct hist *const *into = t->start_ns < s->foreign_ns ? b->shared : b->pending;

    counts_record(s, into[COUNTS_HELD_SERVICE], t->latency_ns);
    if (t->device_ns != TRACE_NONE)
        counts_record(s, into[COUNTS_HELD_DEVICE], t->device_ns);
}

void counts_beside_ended(struct counts *s, int64_t now_ns, bool foreign)
{
    for (unsigned op = TRACE_READ; op <= TRACE_WRITE; op++)
        for (unsigned i = 0; i < COUNTS_HELD; i++) {
            struct counts_beside *b = &s->beside[op];
            if (hist_count(b->pending[i]) == 0)
                continue;
            struct hist *empty = hist_create();
            if (!empty || hist_merge(foreign ? b->shared[i] : b->calm[i], b->pending[i]) < 0) {
                hist_free(empty);
                s->errors = -ENOMEM;
                return;
            }
            hist_free(b->pending[i]);
            b->pending[i] = empty;
        }
    if (foreign)
        s->foreign_ns = now_ns;
}

/* What a group and a door have of every row. false: it did not end ok. */
static bool sums_add(struct counts *s, struct counts_group *g, const struct trace_row *t)
{
    if (t->status != TRACE_OK) {
        g->failed++;
        return false;
    }
    g->ops++;
    g->bytes += t->op == TRACE_DELETE ? 0 : t->size;
    if (t->start_ns < g->first_start_ns)
        g->first_start_ns = t->start_ns;
    if (t->start_ns + t->latency_ns > g->last_done_ns)
        g->last_done_ns = t->start_ns + t->latency_ns;
    counts_record(s, g->service, t->latency_ns);
    if (t->device_ns != TRACE_NONE)
        counts_record(s, g->device, t->device_ns);
    return true;
}

static void group_add(struct counts *s, struct counts_group *g, const struct row *r)
{
    const struct trace_row *t = &r->t;
    bool whole = r->part.slot_ns != TIER_UNKNOWN_NS && t->device_ns != TRACE_NONE;

    if (!sums_add(s, g, t))
        return;
    if (r->away_ns > 0 || r->in_burst) {
        held_add(s, g, COUNTS_HELD_SERVICE, r);
        held_add(s, g, COUNTS_HELD_DEVICE, r);
        g->burst += r->in_burst;
    }
    if (t->tier == TRACE_STORAGE && t->op <= TRACE_WRITE)
        beside_add(s, t);
    part_add(s, g, COUNTS_SLOT, r->part.slot_ns);
    part_add(s, g, COUNTS_META, r->part.meta_ns);
    part_add(s, g, COUNTS_IO, r->part.io_ns);
    part_add(s, g, COUNTS_FLUSH, r->part.flush_ns);
    part_add(s, g, COUNTS_HOST,
             whole ? t->latency_ns - r->part.slot_ns - t->device_ns : TIER_UNKNOWN_NS);
    if (t->due_ns != TRACE_NONE) {
        counts_record(s, g->wait, t->start_ns - t->due_ns);
        counts_record(s, g->response, t->start_ns + t->latency_ns - t->due_ns);
        counts_record(s, s->response[0], t->start_ns + t->latency_ns - t->due_ns);
        counts_record(s, s->response[1],
                      t->start_ns + t->latency_ns - t->due_ns - row_late_ns(r) - r->stopped_ns);
    }
}

/* A store overlaps a load when it is there at the load's start, or begins before its end. */
static void both_started(struct counts_both *b, struct row *r)
{
    r->is_store = r->t.tier == TRACE_STORAGE && r->t.op == TRACE_WRITE;
    r->beside_store = b->stores > 0;
    r->stores_before = b->begun;
    b->stores += r->is_store;
    b->begun += r->is_store;
}

static void both_add(struct counts *s, const struct row *r)
{
    struct counts_both *b = &s->both;
    bool overlapped = r->beside_store || b->begun > r->stores_before;

    if (r->t.status != TRACE_OK || r->t.tier != TRACE_STORAGE)
        return;
    if (r->t.op == TRACE_WRITE)
        b->store_ns += (double)r->t.latency_ns;
    if (r->t.op != TRACE_READ)
        return;
    b->load_ns += (double)r->t.latency_ns;
    counts_record(s, overlapped ? b->beside : b->alone, r->t.latency_ns);
}

void counts_started(struct counts *s, struct row *r)
{
    struct counts_door *d;

    both_started(&s->both, r);

    if (r->t.tier == TRACE_NO_TIER || r->effect.target >= s->doors[r->t.tier])
        return;
    d = &s->door[r->t.tier][r->effect.target];
    if (d->in_flight++ == 0)
        d->busy_since_ns = r->t.start_ns;
}

static void door_left(struct counts_door *d, const struct row *r)
{
    int64_t done_ns = r->t.start_ns + r->t.latency_ns;

    d->busy_bytes += r->t.status == TRACE_OK && r->t.op != TRACE_DELETE ? r->t.size : 0;
    if (d->in_flight == 0)
        return;
    d->in_flight--;
    if (done_ns > d->busy_since_ns) {
        d->busy_ns += done_ns - d->busy_since_ns;
        d->busy_since_ns = done_ns; /* if others are there still */
    }
}

static void add_differing(struct counts_differing *d, int status)
{
    d->corrupt += trace_status_corrupt(status);
    d->stale += status == TRACE_STALE;
    d->wrong += status == TRACE_WRONG;
}

/* How late the row began, and how far behind its due time. */
static void add_lateness(struct counts *s, const struct row *r)
{
    const struct trace_row *t = &r->t;

    if (t->tier != TRACE_NO_TIER) {
        counts_record(s, s->lateness, row_late_ns(r));
        if (t->due_ns != TRACE_NONE) {
            s->due_rows++;
            s->first_due_ns = t->due_ns < s->first_due_ns ? t->due_ns : s->first_due_ns;
            s->last_due_ns = t->due_ns > s->last_due_ns ? t->due_ns : s->last_due_ns;
        }
    }
    if (t->due_ns != TRACE_NONE && t->start_ns - t->due_ns > s->lag_max_ns) {
        s->lag_max_ns = t->start_ns - t->due_ns;
        s->lag_late_ns = row_late_ns(r);
    }
}

void counts_add(struct counts *s, const struct row *r)
{
    const struct trace_row *t = &r->t;
    bool ok = t->status == TRACE_OK, has_tier = t->tier != TRACE_NO_TIER;
    bool read = t->op == TRACE_READ, write = t->op == TRACE_WRITE;
    int64_t done_ns = t->start_ns + t->latency_ns;

    s->rows++;
    s->ok += ok;
    s->absent += t->status == TRACE_ABSENT;
    s->removed_misses += read && row_was_removed(r);
    s->full_writes +=
        t->tier == TRACE_STORAGE && !r->found_full && (t->status == ENOSPC || t->status == EDQUOT);
    add_differing(&s->differing, t->status);
    if (has_tier)
        add_differing(&s->differing_of[t->tier], t->status);
    s->lost += t->status == TRACE_LOST;
    s->failed += t->status > 0 && t->status != TRACE_ABSENT && !trace_status_corrupt(t->status);
    if (ok && has_tier) {
        s->read_bytes[t->tier] += read ? t->size : 0;
        s->write_bytes[t->tier] += write ? t->size : 0;
        counts_record(s, s->recent, t->latency_ns);
    }
    s->both.stores -= r->is_store;
    if (done_ns > s->last_done_ns)
        s->last_done_ns = done_ns;
    if (has_tier && r->effect.target < s->doors[t->tier])
        door_left(&s->door[t->tier][r->effect.target], r);
    if (r->head) {
        s->head_rows++;
        s->head_bytes += ok ? t->size : 0;
        return;
    }
    /* Work that ended from from_ns to until_ns counts, whenever it began. */
    if (ok && done_ns >= s->from_ns && done_ns <= s->until_ns) {
        bool generated = t->op == TRACE_GENERATE && t->phase != TRACE_PREFILL;
        s->tokens += generated && t->tokens > 0 ? (uint64_t)t->tokens : 0;
        s->done_bytes += read || write ? t->size : 0;
    }
    if (t->start_ns < s->from_ns) {
        s->warmup_rows++;
        return;
    }
    both_add(s, r);
    add_lateness(s, r);
    if (has_tier && t->op < COUNTS_OPS)
        group_add(s, &s->group[counts_group_at(t->tier, t->op, t->phase)], r);
    if (has_tier && t->op < COUNTS_OPS && r->door < s->doors[t->tier]) {
        struct counts_door *d = &s->door[t->tier][r->door];
        d->full += t->status == ENOSPC;
        sums_add(s, &d->op[t->op], t);
    }
}

void counts_settle(struct counts *s)
{
    for (unsigned i = 0; i < COUNTS_GROUPS; i++) {
        struct counts_group *g = &s->group[i];
        for (unsigned k = 0; k < COUNTS_PARTS; k++) {
            if (hist_record_n(g->part[k], 0, g->zeros[k]) < 0)
                s->errors = -ENOMEM;
            g->zeros[k] = 0;
        }
    }
}

int counts_sum(const struct counts *s, unsigned tier, unsigned op, struct counts_group *sum)
{
    int rc = group_init(sum, tier, op, TRACE_NO_PHASE);
    for (unsigned phase = 0; rc == 0 && phase < COUNTS_PHASES; phase++) {
        const struct counts_group *g = &s->group[counts_group_at(tier, op, phase)];
        sum->ops += g->ops;
        sum->bytes += g->bytes;
        sum->failed += g->failed;
        sum->burst += g->burst;
        if (g->first_start_ns < sum->first_start_ns)
            sum->first_start_ns = g->first_start_ns;
        if (g->last_done_ns > sum->last_done_ns)
            sum->last_done_ns = g->last_done_ns;
        if (hist_merge(sum->service, g->service) < 0 || hist_merge(sum->wait, g->wait) < 0 ||
            hist_merge(sum->response, g->response) < 0 || hist_merge(sum->device, g->device) < 0)
            rc = -ENOMEM;
        for (unsigned i = 0; i < COUNTS_HELD; i++)
            if (hist_merge(sum->held[i], g->held[i]) < 0 ||
                hist_merge(sum->freed[i], g->freed[i]) < 0)
                rc = -ENOMEM;
        for (unsigned i = 0; i < COUNTS_PARTS; i++)
            if (hist_merge(sum->part[i], g->part[i]) < 0 ||
                hist_record_n(sum->part[i], 0, g->zeros[i]) < 0)
                rc = -ENOMEM;
    }
    return rc;
}

double counts_rate(const struct counts_group *g)
{
    return g->last_done_ns > g->first_start_ns
               ? (double)g->bytes * 1e9 / (double)(g->last_done_ns - g->first_start_ns)
               : 0;
}
