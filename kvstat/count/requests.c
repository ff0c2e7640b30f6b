/* Second half of the request figures: takes pieces in file order and joins them in a bounded table
 * of open requests. The request that was silent longest leaves first, and is then counted into the
 * histograms of end-to-end, queue, storage and generation time. */
#include "kvstat/count/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/agg.h"
#include "kvstat/count/gaps.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/io/gap_line.h"

#define NOBODY  UINT32_MAX
#define BUCKETS REQUESTS_OPEN_MAX
#define CLOSED  ((size_t)1 << 21) /* closed requests remembered, by a hash of the number */

struct open {
    struct request_sums sums;
    uint64_t seen_row;       /* number of a row not before its last one */
    uint32_t older, newer;   /* by seen_row */
    uint32_t next_in_bucket; /* or in the list of free entries */
};

struct requests {
    bool result, follow, first_token, list;
    int64_t target_ns[TRACE_QOSES];
    const struct gaps *stops; /* of the process; NULL: not known */
    struct gap_line line[TRACE_NO_QOS + 1];
    struct requests_totals t;
    struct request_clock clock;
    uint64_t rows;
    struct open *open; /* REQUESTS_OPEN_MAX entries, touched as they are needed */
    uint32_t used, free_head, oldest, newest;
    uint32_t *bucket;
    uint32_t *closed; /* CLOSED entries */
};

struct requests *requests_create(bool result, const int64_t target_ns[TRACE_QOSES])
{
    struct requests *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->result = result;
    memcpy(r->target_ns, target_ns, sizeof(r->target_ns));
    r->clock = REQUEST_CLOCK_NONE;
    for (unsigned q = 0; q <= TRACE_NO_QOS; q++)
        r->line[q] = GAP_LINE_NEW;
    r->free_head = r->oldest = r->newest = NOBODY;
    r->open = malloc(REQUESTS_OPEN_MAX * sizeof(*r->open));
    r->bucket = malloc(BUCKETS * sizeof(*r->bucket));
    r->closed = calloc(CLOSED, sizeof(*r->closed));
    if (!r->open || !r->bucket || !r->closed) {
        requests_free(r);
        return NULL;
    }
    memset(r->bucket, 0xff, BUCKETS * sizeof(*r->bucket));
    return r;
}

void requests_follow(struct requests *r)
{
    r->follow = true;
}

void requests_take_gaps(struct requests *r, const struct gaps *gaps)
{
    r->stops = gaps_of_process(gaps);
    r->t.stops_known = r->stops;
}

const struct gaps *requests_stops(const struct requests *r)
{
    return r->stops;
}

void requests_follow_first_token(struct requests *r)
{
    r->first_token = true;
}

void requests_list(struct requests *r)
{
    r->list = true;
}

bool requests_lists(const struct requests *r)
{
    return r->list;
}

static void totals_release(struct requests_totals *t)
{
    free(t->list.item);
    hist_free(t->list.storage);
    for (unsigned m = 0; m < REQUESTS_METRICS; m++) {
        hist_free(t->metric[m]);
        for (unsigned q = 0; q <= TRACE_NO_QOS; q++)
            hist_free(t->qos[q].metric[m]);
    }
    hist_free(t->prompt);
    hist_free(t->ingest);
    hist_free(t->prompt_first_token);
    blocks_free(t->end_to_end);
    for (unsigned q = 0; q <= TRACE_NO_QOS; q++) {
        blocks_free(t->qos[q].end_to_end);
        blocks_free(t->qos[q].first_token);
    }
    *t = (struct requests_totals){0};
}

void requests_forget(struct requests *r)
{
    totals_release(&r->t);
}

void requests_free(struct requests *r)
{
    if (!r)
        return;
    totals_release(&r->t);
    free(r->open);
    free(r->bucket);
    free(r->closed);
    free(r);
}

/* Marks a request as counted. True when it is known to have been counted before. Two numbers share
 * a place only when they are far apart; the later one then takes it. */
static bool mark_closed(struct requests *r, int64_t id)
{
    uint64_t n = (uint64_t)id;
    uint32_t *place = &r->closed[(n ^ hash_mix(n / CLOSED)) % CLOSED];
    uint32_t mark = (uint32_t)(hash_mix(n) >> 32) | 1; /* 0: free */
    bool was = *place == mark;
    *place = mark;
    return was;
}

/* ---- counting a request ---- */

/* The speed cannot be told from a shorter span. */
#define CLOCK_SPAN_NS 1000000

/* Seconds of the trace's clock in a second of the replay's, from the rows seen so far. */
static double speed_of(const struct request_clock *c)
{
    if (c->low_due_ns == TRACE_NONE || c->high_due_ns <= c->low_due_ns)
        return 1;
    /* In a closed replay most rows are late by the time that others took; some keep the times of
     * the trace, and only those tell the speed. At a speed below 1 all rows are late, the last one
     * most. */
    bool ahead = agg_add_ns(c->ahead_due_ns, -c->low_due_ns) >= CLOCK_SPAN_NS;
    int64_t due_ns = ahead ? c->ahead_due_ns : c->high_due_ns;
    double time = (double)(ahead ? c->ahead_time_ns : c->high_time_ns) - (double)c->low_time_ns;
    return time > 0 ? time / ((double)due_ns - (double)c->low_due_ns) : 1;
}

/* When the request arrived, on the clock of its first_ns; TRACE_NONE: unknown. */
static int64_t arrival_of(const struct requests *r, const struct request_sums *s)
{
    if (!r->result)
        return s->arrival_ns;
    if (s->due_ns == TRACE_NONE)
        return TRACE_NONE;
    if (s->arrival_ns == TRACE_NONE || r->clock.served)
        return s->due_ns;
    int64_t before_ns = agg_add_ns(s->due_time_ns, -s->arrival_ns);
    double speed = speed_of(&r->clock);
    /* A whole speed is the rule; dividing by exactly 1 keeps nanoseconds exact. */
    if (speed > 0.999999 && speed < 1.000001)
        return agg_add_ns(s->due_ns, -before_ns);
    double scaled_ns = (double)before_ns / speed;
    if (!(scaled_ns > -9e18 && scaled_ns < 9e18))
        return TRACE_NONE; /* no clock of a replay */
    return agg_add_ns(s->due_ns, -(int64_t)scaled_ns);
}

static int record(struct requests_totals *t, uint8_t qos, enum requests_metric m, int64_t ns)
{
    struct hist **h[2] = {&t->metric[m], &t->qos[qos].metric[m]};
    for (unsigned i = 0; i < 2; i++) {
        if (!*h[i] && !(*h[i] = hist_create()))
            return -ENOMEM;
        int rc = hist_record(*h[i], ns);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Adds the parts of a request, which together are its end-to-end time: operations that overlap
 * share the time that they took together, and what none of them took was spent waiting for other
 * rows. The queue that stops of the process made is the tool's. */
static void count_parts(struct requests_totals *t, const struct request_sums *s,
                        double end_to_end_ns, double queue_by_stops_ns)
{
    double held_ns = end_to_end_ns - (double)s->part_ns[REQUEST_PART_QUEUE], sum_ns = 0;
    for (unsigned part = REQUEST_PART_GENERATION; part < REQUEST_PART_ROWS; part++)
        sum_ns += (double)s->part_ns[part];
    double scale = sum_ns > held_ns && sum_ns > 0 ? held_ns / sum_ns : 1;
    t->end_to_end_ns += end_to_end_ns;
    t->part_ns[REQUEST_PART_QUEUE] += (double)s->part_ns[REQUEST_PART_QUEUE] - queue_by_stops_ns;
    t->part_ns[REQUEST_PART_TOOL] += queue_by_stops_ns;
    for (unsigned part = REQUEST_PART_GENERATION; part < REQUEST_PART_ROWS; part++)
        t->part_ns[part] += scale * (double)s->part_ns[part];
    t->part_ns[REQUEST_PART_ROWS] += scale < 1 ? 0 : held_ns - sum_ns;
}

static int follow(struct blocks **b, int64_t ns)
{
    if (!*b)
        *b = blocks_create();
    return *b ? blocks_add(*b, ns) : -ENOMEM;
}

/* Records a time without the tool's own delays. Delays of operations side by side are counted each:
 * the time may become too short, not too long. */
static int record_prompt(struct hist **h, int64_t ns, int64_t delay_ns)
{
    if (!*h && !(*h = hist_create()))
        return -ENOMEM;
    return hist_record(*h, agg_add_ns(ns, -delay_ns));
}

/* How much of the request's queue is a line that stops of the process made. Where rows keep the
 * times of the trace, what was queued before its first Due is none of this run. */
static int64_t line_of_stops(struct requests *r, const struct request_sums *s, int64_t queue_ns)
{
    if (!r->stops || queue_ns == TRACE_NONE || s->due_ns == TRACE_NONE)
        return 0;
    int64_t ns = gaps_line_add_ns(&r->line[s->qos], r->stops, s->due_ns, s->first_ns);
    return ns < queue_ns ? ns : queue_ns;
}

/* The time that the tool added to a request until until_ns: its delays, or the line and the stops,
 * in which delays may lie. */
static int64_t added_ns(const struct requests *r, const struct request_sums *s, int64_t until_ns,
                        int64_t line_ns, int64_t client_ns)
{
    int64_t stops_ns = line_ns;
    if (r->stops && until_ns > s->first_ns)
        stops_ns += gaps_overlap_ns(r->stops, s->first_ns, until_ns);
    return client_ns > stops_ns ? client_ns : stops_ns;
}

/* The end-to-end time of a replayed request and its part before the first token: without the tool's
 * delays, and in the order of time. */
static int count_prompt(struct requests *r, const struct request_sums *s,
                        const int64_t value[REQUESTS_METRICS], int64_t line_ns)
{
    struct requests_totals *t = &r->t;
    int64_t whole_ns = value[REQUESTS_END_TO_END], first_ns = value[REQUESTS_FIRST_TOKEN];
    int rc = record_prompt(&t->prompt, whole_ns, added_ns(r, s, s->last_ns, line_ns, s->client_ns));
    if (rc == 0 && r->first_token)
        rc = record_prompt(&t->prompt_first_token, first_ns,
                           added_ns(r, s, s->read_end_ns, line_ns, s->read_client_ns));
    if (rc == 0 && r->follow)
        rc = follow(&t->end_to_end, whole_ns);
    if (rc == 0 && r->follow)
        rc = follow(&t->qos[s->qos].end_to_end, whole_ns);
    return rc == 0 && r->first_token ? follow(&t->qos[s->qos].first_token, first_ns) : rc;
}

/* Adds the request to the list; value: by enum requests_metric. */
static int list_request(struct requests_list *l, const struct request_sums *s, const int64_t *value)
{
    int64_t storage_ns = value[REQUESTS_STORAGE];
    if (storage_ns != TRACE_NONE)
        storage_ns = agg_add_ns(storage_ns, -s->evict_ns);
    if (!l->storage && !(l->storage = hist_create()))
        return -ENOMEM;
    int rc = hist_record(l->storage, storage_ns == TRACE_NONE ? 0 : storage_ns);
    if (rc < 0 || l->count == REQUESTS_LIST_MAX)
        return rc;
    if (memory_room(&l->item, &l->room, l->count, sizeof(*l->item), 1024) < 0)
        return -ENOMEM;
    int64_t *ns = l->item[l->count++].ns;
    ns[REQUESTS_LISTED_END_TO_END] = value[REQUESTS_END_TO_END];
    ns[REQUESTS_LISTED_STORAGE] = storage_ns;
    ns[REQUESTS_LISTED_GENERATION] = value[REQUESTS_GENERATION];
    ns[REQUESTS_LISTED_PREFILL] = s->wrote ? s->prefill_ns : TRACE_NONE;
    ns[REQUESTS_LISTED_DECODE] = s->read ? s->decode_ns : TRACE_NONE;
    return 0;
}

/* Nobody waits for a document: it has times of its own. */
static int count_document(struct requests_totals *t, const struct request_sums *s,
                          int64_t arrival_ns)
{
    t->ingested++;
    t->ingest_failed += s->failed;
    if (s->failed || s->last_ns < s->first_ns)
        return 0;
    if (!t->ingest && !(t->ingest = hist_create()))
        return -ENOMEM;
    return hist_record(
        t->ingest, agg_add_ns(s->last_ns, -(arrival_ns != TRACE_NONE ? arrival_ns : s->first_ns)));
}

static int count_request(struct requests *r, struct request_sums *s)
{
    struct requests_totals *t = &r->t;
    int64_t arrival = arrival_of(r, s), value[REQUESTS_METRICS];
    for (unsigned m = 0; m < REQUESTS_METRICS; m++)
        value[m] = TRACE_NONE;
    bool again = mark_closed(r, s->id);
    if (s->warm)
        return 0;
    if (s->ingest)
        return count_document(t, s, arrival);
    t->count++;
    t->cut += again;
    t->qos[s->qos].count++;
    t->with_arrival += arrival != TRACE_NONE;
    t->failed += s->failed;
    if (s->failed || s->last_ns < s->first_ns)
        return 0; /* nothing reached the user, or none of its rows was started */
    t->unanswered += !s->generated;

    if (arrival != TRACE_NONE) {
        value[REQUESTS_QUEUE] = s->first_ns > arrival ? agg_add_ns(s->first_ns, -arrival) : 0;
        s->part_ns[REQUEST_PART_QUEUE] = value[REQUESTS_QUEUE];
    }
    value[REQUESTS_END_TO_END] =
        agg_add_ns(s->last_ns, -(arrival != TRACE_NONE ? arrival : s->first_ns));
    if (s->served) {
        value[REQUESTS_STORAGE] = 0;
        for (unsigned part = REQUEST_PART_GPU; part <= REQUEST_PART_TOOL; part++)
            value[REQUESTS_STORAGE] = agg_add_ns(value[REQUESTS_STORAGE], s->part_ns[part]);
    }
    if (s->generated)
        value[REQUESTS_GENERATION] = s->part_ns[REQUEST_PART_GENERATION];
    if (r->first_token && r->result)
        value[REQUESTS_FIRST_TOKEN] =
            agg_add_ns(s->read_end_ns > s->first_ns ? s->read_end_ns : s->first_ns,
                       -(arrival != TRACE_NONE ? arrival : s->first_ns));

    if (s->token_ns != TRACE_NONE && arrival != TRACE_NONE)
        value[REQUESTS_TTFT] = agg_add_ns(s->token_ns, -arrival);
    if (s->token_ns != TRACE_NONE && s->last_token_ns != TRACE_NONE && s->tokens > 1 &&
        s->last_token_ns >= s->token_ns)
        value[REQUESTS_TPOT] = agg_add_ns(s->last_token_ns, -s->token_ns) / (s->tokens - 1);

    int64_t line_ns = line_of_stops(r, s, value[REQUESTS_QUEUE]);
    count_parts(t, s, (double)value[REQUESTS_END_TO_END], (double)line_ns);
    if (s->qos < TRACE_QOSES && arrival != TRACE_NONE)
        t->qos[s->qos].within_target += value[REQUESTS_END_TO_END] <= r->target_ns[s->qos];
    int rc = 0;
    for (unsigned m = 0; m < REQUESTS_METRICS && rc == 0; m++)
        if (value[m] != TRACE_NONE)
            rc = record(t, s->qos, m, value[m]);
    if (rc == 0 && r->list)
        rc = list_request(&t->list, s, value);
    return rc < 0 || !r->result ? rc : count_prompt(r, s, value, line_ns);
}

/* ---- the table ---- */

/* Consecutive numbers lie beside each other, which saves a cache miss for each request. */
static uint32_t *bucket_of(struct requests *r, int64_t id)
{
    return &r->bucket[((uint64_t)id ^ hash_mix((uint64_t)id / BUCKETS)) % BUCKETS];
}

static void unlink_age(struct requests *r, uint32_t i)
{
    struct open *o = &r->open[i];
    *(o->older == NOBODY ? &r->oldest : &r->open[o->older].newer) = o->newer;
    *(o->newer == NOBODY ? &r->newest : &r->open[o->newer].older) = o->older;
}

static int close_oldest(struct requests *r)
{
    uint32_t i = r->oldest;
    struct open *o = &r->open[i];
    uint32_t *link = bucket_of(r, o->sums.id);
    while (*link != i)
        link = &r->open[*link].next_in_bucket;
    *link = o->next_in_bucket;
    unlink_age(r, i);
    o->next_in_bucket = r->free_head;
    r->free_head = i;
    return count_request(r, &o->sums);
}

/* Takes a free entry; when there is none, the oldest request leaves. */
static int take_entry(struct requests *r, uint32_t *out)
{
    int rc = 0;
    if (r->free_head == NOBODY && r->used == REQUESTS_OPEN_MAX)
        rc = close_oldest(r);
    if (r->free_head != NOBODY) {
        *out = r->free_head;
        r->free_head = r->open[*out].next_in_bucket;
    } else {
        *out = r->used++;
    }
    return rc;
}

static int add_sums(struct requests *r, const struct request_sums *s)
{
    uint32_t *bucket = bucket_of(r, s->id), i = *bucket;
    while (i != NOBODY && r->open[i].sums.id != s->id)
        i = r->open[i].next_in_bucket;
    int rc = 0;
    if (i != NOBODY) {
        request_sums_merge(&r->open[i].sums, s);
        unlink_age(r, i);
    } else {
        rc = take_entry(r, &i);
        r->open[i].sums = *s;
        r->open[i].next_in_bucket = *bucket;
        *bucket = i;
    }
    r->open[i].seen_row = r->rows;
    r->open[i].older = r->newest;
    r->open[i].newer = NOBODY;
    *(r->newest == NOBODY ? &r->oldest : &r->open[r->newest].newer) = i;
    r->newest = i;
    return rc;
}

static int by_last_row(const void *a, const void *b)
{
    const struct request_sums *const *x = a, *const *y = b;
    return ((*x)->last_row > (*y)->last_row) - ((*x)->last_row < (*y)->last_row);
}

/* Adds them in the order of their last rows, so that requests leave in that order however the file
 * is cut into pieces: what follows them, one after the other, depends on it. */
static int add_in_order(struct requests *r, const struct request_sums *item, size_t n)
{
    const struct request_sums **order = malloc((n ? n : 1) * sizeof(*order));
    int rc = 0;
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        order[i] = &item[i];
    qsort(order, n, sizeof(*order), by_last_row);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = add_sums(r, order[i]);
    free(order);
    return rc;
}

int requests_append(struct requests *r, const struct request_piece *piece, uint64_t rows)
{
    size_t n;
    const struct request_sums *item = request_piece_items(piece, &n);
    int rc = 0;
    r->rows += rows;
    request_clock_merge(&r->clock, request_piece_clock(piece));
    if (r->follow || r->first_token || r->stops)
        rc = add_in_order(r, item, n);
    else
        for (size_t i = 0; i < n && rc == 0; i++)
            rc = add_sums(r, &item[i]);
    while (rc == 0 && r->oldest != NOBODY &&
           r->open[r->oldest].seen_row + REQUESTS_WINDOW_ROWS < r->rows)
        rc = close_oldest(r);
    return rc;
}

int requests_end_file(struct requests *r)
{
    int rc = 0;
    while (rc == 0 && r->oldest != NOBODY)
        rc = close_oldest(r);
    return rc;
}

static int merge_hist(struct hist **into, const struct hist *from)
{
    if (!from)
        return 0;
    if (!*into && !(*into = hist_create()))
        return -ENOMEM;
    return hist_merge(*into, from);
}

int requests_merge(struct requests *into, const struct requests *from)
{
    struct requests_totals *t = &into->t;
    const struct requests_totals *f = &from->t;
    t->count += f->count;
    t->cut += f->cut;
    t->unanswered += f->unanswered;
    t->failed += f->failed;
    t->with_arrival += f->with_arrival;
    t->ingested += f->ingested;
    t->ingest_failed += f->ingest_failed;
    t->stops_known |= f->stops_known;
    t->end_to_end_ns += f->end_to_end_ns;
    for (unsigned part = 0; part < REQUEST_PARTS; part++)
        t->part_ns[part] += f->part_ns[part];
    int rc = merge_hist(&t->ingest, f->ingest);
    for (unsigned m = 0; m < REQUESTS_METRICS && rc == 0; m++)
        rc = merge_hist(&t->metric[m], f->metric[m]);
    if (rc == 0)
        rc = merge_hist(&t->prompt, f->prompt);
    if (rc == 0)
        rc = merge_hist(&t->prompt_first_token, f->prompt_first_token);
    if (rc == 0)
        rc = blocks_merge(&t->end_to_end, f->end_to_end);
    for (unsigned q = 0; q <= TRACE_NO_QOS; q++) {
        if (rc == 0)
            rc = blocks_merge(&t->qos[q].end_to_end, f->qos[q].end_to_end);
        if (rc == 0)
            rc = blocks_merge(&t->qos[q].first_token, f->qos[q].first_token);
        t->qos[q].count += f->qos[q].count;
        t->qos[q].within_target += f->qos[q].within_target;
        for (unsigned m = 0; m < REQUESTS_METRICS && rc == 0; m++)
            rc = merge_hist(&t->qos[q].metric[m], f->qos[q].metric[m]);
    }
    return rc;
}

const struct requests_totals *requests_totals(const struct requests *r)
{
    return &r->t;
}
