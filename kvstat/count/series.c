/* The time series of --interval and --plot. The contents of tiers come from signed changes, which
 * add up in any order. */
#include "kvstat/count/series.h"

#include <errno.h>
#include <stdlib.h>

#include "kvstat/count/agg.h"
#include "kvstat/count/coarse_hist.h"
#include "kvstat/count/occupancy.h"
#include "lib/base/memory.h"

struct series {
    bool result, chooses;
    bool served; /* a row of a request ran without a Due */
    size_t most;
    int64_t interval_ns;
    bool by_due;
    int64_t first; /* number of the first interval, in intervals from 0 */
    size_t count, room;
    struct series_slot **slot;
    int64_t base[TRACE_TIERS];
};

struct series *series_create(bool result, int64_t interval_ns)
{
    struct series *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->result = result;
    s->interval_ns = interval_ns;
    s->most = SERIES_MAX;
    return s;
}

struct series *series_create_auto(bool result)
{
    struct series *s = series_create(result, INT64_C(1000000));
    if (!s)
        return NULL;
    s->chooses = true;
    s->most = SERIES_AUTO_MAX;
    return s;
}

void series_by_due(struct series *s)
{
    s->by_due = true;
}

bool series_is_auto(const struct series *s)
{
    return s->chooses;
}

static void slot_free(struct series_slot *slot)
{
    if (!slot)
        return;
    for (size_t t = 0; t < TRACE_TIERS; t++)
        for (size_t d = 0; d < SERIES_DIRECTIONS; d++)
            for (size_t i = 0; i < SERIES_TIMES; i++)
                coarse_hist_free(slot->io[t][d].times[i]);
    free(slot);
}

void series_free(struct series *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        slot_free(s->slot[i]);
    free(s->slot);
    free(s);
}

/* ---- intervals ---- */

/* Wraps around: the sums over the whole file report what does not fit 64 bits. */
static void add_i64(int64_t *sum, int64_t v)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)v);
}

/* Makes room for count intervals, as many as before in front of those that are there. */
static int grow(struct series *s, size_t before, size_t count)
{
    if (count > s->room) {
        size_t room = count < 64 ? 64 : 2 * count;
        if (memory_resize(&s->slot, room, sizeof(*s->slot)) < 0)
            return -ENOMEM;
        s->room = room;
    }
    for (size_t i = s->count; i-- > 0;)
        s->slot[i + before] = s->slot[i];
    for (size_t i = 0; i < before; i++)
        s->slot[i] = NULL;
    for (size_t i = s->count + before; i < count; i++)
        s->slot[i] = NULL;
    s->first -= (int64_t)before;
    s->count = count;
    return 0;
}

/* The slot of the interval with that number, made when it is new. 0, -ENOMEM or -ERANGE. */
static int slot_of(struct series *s, int64_t number, struct series_slot **slot)
{
    int64_t first = s->first, last = s->first + ((int64_t)s->count - 1);
    if (s->count == 0) {
        first = s->first = s->result ? 0 : number;
        last = first;
    }
    first = number < first ? number : first;
    last = number > last ? number : last;
    /* Numbers are quotients of 63-bit times by at least 1: their difference may not fit. */
    if ((uint64_t)last - (uint64_t)first >= s->most)
        return -ERANGE;
    size_t count = (size_t)(last - first) + 1;
    if (count > s->count) {
        int rc = grow(s, (size_t)(s->first - first), count);
        if (rc < 0)
            return rc;
    }
    struct series_slot **at = &s->slot[number - s->first];
    if (!*at)
        *at = calloc(1, sizeof(**at));
    *slot = *at;
    return *at ? 0 : -ENOMEM;
}

static int slot_merge(struct series_slot *into, const struct series_slot *from)
{
    int rc = 0;
    for (size_t t = 0; t < TRACE_TIERS; t++) {
        add_i64(&into->change_bytes[t], from->change_bytes[t]);
        for (size_t d = 0; d < SERIES_DIRECTIONS && rc == 0; d++) {
            into->io[t][d].ops += from->io[t][d].ops;
            into->io[t][d].bytes += from->io[t][d].bytes;
            for (size_t i = 0; i < SERIES_TIMES && rc == 0; i++)
                rc = coarse_hist_merge(&into->io[t][d].times[i], from->io[t][d].times[i]);
        }
    }
    for (size_t q = 0; q < TRACE_QOSES; q++) {
        struct series_queue *a = &into->queue[q];
        const struct series_queue *b = &from->queue[q];
        a->arrived += b->arrived;
        a->admitted += b->admitted;
        a->arrived_ns += b->arrived_ns;
        a->admitted_ns += b->admitted_ns;
        a->wait_ns += b->wait_ns;
    }
    into->hits += from->hits;
    into->misses += from->misses;
    into->generated_tokens += from->generated_tokens;
    into->failed += from->failed;
    return rc;
}

/* Doubles the length of the intervals: makes one of every two. */
static int coarsen(struct series *s)
{
    int64_t first = s->first >= 0 ? s->first / 2 : (s->first - 1) / 2;
    size_t odd = (size_t)(s->first - 2 * first), count = (s->count + odd + 1) / 2;
    if (s->interval_ns > INT64_MAX / 2)
        return -ERANGE;
    for (size_t i = 0; i < s->count; i++) {
        struct series_slot *slot = s->slot[i], **into = &s->slot[(i + odd) / 2];
        if (!slot || into == &s->slot[i])
            continue;
        s->slot[i] = NULL;
        if ((i + odd) % 2 == 0 || !*into) {
            *into = slot;
            continue;
        }
        int rc = slot_merge(*into, slot);
        slot_free(slot);
        if (rc < 0)
            return rc;
    }
    s->first = first;
    s->count = count < s->count ? count : s->count;
    s->interval_ns *= 2;
    return 0;
}

static int64_t number_of(const struct series *s, int64_t ns)
{
    int64_t q = ns / s->interval_ns;
    return ns % s->interval_ns < 0 ? q - 1 : q;
}

/* A row with a Due, which is the first of its request if the run was served: the request arrived
 * then, and was let in when the row started. */
static int add_queue(struct series *s, const struct trace_row *row)
{
    struct series_slot *slot;
    int rc = slot_of(s, number_of(s, row->due_ns > 0 ? row->due_ns : 0), &slot);
    if (rc < 0)
        return rc;
    slot->queue[row->qos].arrived++;
    slot->queue[row->qos].arrived_ns += (double)row->due_ns;
    rc = slot_of(s, number_of(s, row->start_ns > 0 ? row->start_ns : 0), &slot);
    if (rc < 0)
        return rc;
    slot->queue[row->qos].admitted++;
    slot->queue[row->qos].admitted_ns += (double)row->due_ns;
    slot->queue[row->qos].wait_ns += (double)row->start_ns - (double)row->due_ns;
    return 0;
}

static int add_times(struct series_io *io, const struct trace_row *row)
{
    int rc = 0;
    if (row->latency_ns != TRACE_NONE)
        rc = coarse_hist_record(&io->times[SERIES_SERVICE], row->latency_ns);
    if (rc < 0 || row->due_ns == TRACE_NONE)
        return rc;
    int64_t wait_ns = agg_add_ns(row->start_ns, -row->due_ns);
    rc = coarse_hist_record(&io->times[SERIES_WAIT], wait_ns);
    if (rc == 0 && row->latency_ns != TRACE_NONE)
        rc = coarse_hist_record(&io->times[SERIES_RESPONSE], agg_add_ns(wait_ns, row->latency_ns));
    if (rc == 0 && row->eligible_ns != TRACE_NONE)
        rc = coarse_hist_record(&io->times[SERIES_LATE], agg_client_delay_ns(row));
    return rc;
}

static int add_row(struct series *s, const struct trace_row *row)
{
    struct occupancy change = {0};
    struct series_slot *slot;
    int64_t at = row->time_ns;
    if (occupancy_add(&change, row, 1) < 0)
        return 0; /* the sums over all rows report it */
    if (agg_is_populating(s->result, row)) {
        if (row->tier < TRACE_TIERS)
            add_i64(&s->base[row->tier], change.tier[row->tier].bytes);
        return 0;
    }
    if (s->result && row->start_ns == TRACE_NONE)
        return 0; /* it never ran */
    if (s->result && s->by_due && row->due_ns != TRACE_NONE)
        at = row->due_ns;
    else if (s->result)
        at = row->latency_ns == TRACE_NONE ? row->start_ns
                                           : agg_add_ns(row->start_ns, row->latency_ns);
    int rc = slot_of(s, number_of(s, at), &slot);
    while (rc == -ERANGE && s->chooses) {
        rc = coarsen(s);
        if (rc == 0)
            rc = slot_of(s, number_of(s, at), &slot);
    }
    if (rc == 0 && s->result && !s->chooses && row->request != TRACE_NONE) {
        s->served |= row->due_ns == TRACE_NONE;
        if (row->due_ns != TRACE_NONE && row->qos < TRACE_QOSES)
            rc = add_queue(s, row);
    }
    if (rc < 0)
        return rc;

    bool ok = row->status == TRACE_OK || row->status == TRACE_NO_STATUS;
    bool lookup = row->op == TRACE_READ && row->phase != TRACE_EVICT;
    if (row->op == TRACE_MISS || (lookup && row->status == TRACE_ABSENT))
        slot->misses++;
    else if (lookup)
        slot->hits++;
    slot->failed += !ok;
    if (!ok)
        return 0;
    if (row->op == TRACE_GENERATE && row->phase != TRACE_PREFILL && row->tokens > 0)
        slot->generated_tokens += (uint64_t)row->tokens;
    if (row->tier >= TRACE_TIERS)
        return 0;
    add_i64(&slot->change_bytes[row->tier], change.tier[row->tier].bytes);
    if (row->op != TRACE_READ && row->op != TRACE_WRITE)
        return 0;
    struct series_io *io =
        &slot->io[row->tier][row->op == TRACE_WRITE ? SERIES_WRITE : SERIES_READ];
    io->ops++;
    io->bytes += row->size;
    return s->result ? add_times(io, row) : 0;
}

static int fail(const struct series *s, int rc, struct err *e)
{
    if (rc == -ENOMEM)
        return err_nomem(e, "time series");
    return err_set(e, rc, ERR_INPUT, "--interval",
                   "%.9g s makes more than %d intervals of this file: choose a longer one",
                   (double)s->interval_ns / 1e9, SERIES_MAX);
}

int series_add(struct series *s, const struct trace_row *rows, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        int rc = add_row(s, &rows[i]);
        if (rc < 0)
            return fail(s, rc, e);
    }
    return 0;
}

/* Adds slot i of a series whose intervals have the same length, or are shorter by a power of two.
 */
static int merge_slot(struct series *into, const struct series *from, size_t i)
{
    struct series_slot *slot = NULL;
    int64_t number = from->first + (int64_t)i;
    int rc = -ERANGE;
    while (rc == -ERANGE) {
        int64_t longer = into->interval_ns / from->interval_ns;
        int64_t at = number / longer - (number % longer < 0);
        rc = slot_of(into, at, &slot);
        if (rc == -ERANGE && (!into->chooses || coarsen(into) < 0))
            return rc;
    }
    return rc < 0 ? rc : slot_merge(slot, from->slot[i]);
}

int series_merge(struct series *into, const struct series *from, struct err *e)
{
    int rc = 0;
    while (into->interval_ns < from->interval_ns && rc == 0)
        rc = coarsen(into);
    into->served |= from->served;
    for (size_t t = 0; t < TRACE_TIERS; t++)
        add_i64(&into->base[t], from->base[t]);
    for (size_t i = 0; i < from->count && rc == 0; i++)
        if (from->slot[i])
            rc = merge_slot(into, from, i);
    return rc < 0 ? fail(into, rc, e) : 0;
}

bool series_served(const struct series *s)
{
    return s->served;
}

int64_t series_interval_ns(const struct series *s)
{
    return s->interval_ns;
}

size_t series_count(const struct series *s)
{
    return s->count;
}

const struct series_slot *series_at(const struct series *s, size_t i)
{
    return s->slot[i];
}

int64_t series_percentile(const struct series_io *io, enum series_time time, uint32_t ppm)
{
    return coarse_hist_percentile(io->times[time], ppm);
}

int64_t series_base_bytes(const struct series *s, enum trace_tier tier)
{
    return s->base[tier];
}
