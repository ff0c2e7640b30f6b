/* First half of the request figures: each thread sums the rows of its piece by request. requests.c
 * joins the parts of requests that lie in several pieces, in the order of the file, so that it does
 * not matter where pieces end. */
#include "kvstat/count/request_piece.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/agg.h"
#include "kvstat/count/gaps.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"

#define FIRST_ITEMS ((size_t)1024)
#define RECENT      256u
/* Smaller differences between times of a result file are rounding. */
#define CLOCK_ROUNDED_NS 1000

struct request_piece {
    bool result, direct;
    int64_t warmup_ns;        /* 0: none */
    const struct gaps *stops; /* of the process; NULL: not known */
    struct request_clock clock;
    struct request_sums *item;
    uint32_t *index; /* hash table of 2 x cap places: item number + 1, 0: free */
    size_t count, cap;
    uint32_t recent[RECENT]; /* items found last, by the low bits of their ids */
    uint32_t rows;
};

struct request_piece *request_piece_create(bool result, int64_t warmup_ns)
{
    struct request_piece *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->result = result;
    p->warmup_ns = warmup_ns;
    p->clock = REQUEST_CLOCK_NONE;
    p->cap = FIRST_ITEMS;
    p->item = malloc(p->cap * sizeof(*p->item));
    p->index = calloc(p->cap * 2, sizeof(*p->index));
    if (!p->item || !p->index) {
        request_piece_free(p);
        return NULL;
    }
    return p;
}

void request_piece_take_stops(struct request_piece *p, const struct gaps *stops)
{
    p->stops = stops;
}

void request_piece_take_direct(struct request_piece *p)
{
    p->direct = true;
}

void request_piece_free(struct request_piece *p)
{
    if (!p)
        return;
    free(p->item);
    free(p->index);
    free(p);
}

void request_piece_clear(struct request_piece *p)
{
    memset(p->index, 0, p->cap * 2 * sizeof(*p->index));
    memset(p->recent, 0, sizeof(p->recent));
    p->count = 0;
    p->clock = REQUEST_CLOCK_NONE;
    p->rows = 0;
}

static size_t place_of(const struct request_piece *p, int64_t id)
{
    size_t mask = p->cap * 2 - 1, i = (size_t)hash_mix((uint64_t)id) & mask;
    while (p->index[i] != 0 && p->item[p->index[i] - 1].id != id)
        i = (i + 1) & mask;
    return i;
}

static int grow(struct request_piece *p)
{
    if (memory_resize(&p->item, p->cap * 2, sizeof(*p->item)) < 0)
        return -ENOMEM;
    uint32_t *index = calloc(p->cap * 4, sizeof(*index));
    if (!index)
        return -ENOMEM;
    free(p->index);
    p->index = index;
    p->cap *= 2;
    for (size_t i = 0; i < p->count; i++)
        index[place_of(p, p->item[i].id)] = (uint32_t)i + 1;
    return 0;
}

/* The sums of the request, made when it is new; NULL: no memory. */
static struct request_sums *item_of(struct request_piece *p, int64_t id)
{
    /* Rows of one request mostly follow each other, or stand among those of a few others. */
    uint32_t *recent = &p->recent[(uint64_t)id % RECENT];
    if (*recent < p->count && p->item[*recent].id == id)
        return &p->item[*recent];
    if (p->count == p->cap && grow(p) < 0)
        return NULL;
    size_t i = place_of(p, id);
    if (p->index[i] == 0) {
        p->item[p->count] = (struct request_sums){.id = id,
                                                  .arrival_ns = TRACE_NONE,
                                                  .first_ns = INT64_MAX,
                                                  .last_ns = INT64_MIN,
                                                  .read_end_ns = INT64_MIN,
                                                  .token_ns = TRACE_NONE,
                                                  .last_token_ns = TRACE_NONE,
                                                  .due_ns = TRACE_NONE,
                                                  .due_time_ns = TRACE_NONE,
                                                  .qos = TRACE_NO_QOS};
        p->index[i] = (uint32_t)++p->count;
    }
    *recent = p->index[i] - 1;
    return &p->item[*recent];
}

static void add_part(struct request_sums *s, enum request_part part, int64_t ns)
{
    s->part_ns[part] = agg_add_ns(s->part_ns[part], ns);
}

/* The ends of prefill and decode, in which the row's time was kept: the first and the last token.
 */
static void add_tokens(struct request_sums *s, const struct trace_row *row, int64_t first_ns,
                       int64_t length_ns)
{
    bool kept = row->duration_ns == TRACE_NONE || row->duration_ns == 0 || length_ns > 0;
    if (row->op != TRACE_GENERATE || !kept || first_ns == TRACE_NONE)
        return;
    if (row->phase == TRACE_PREFILL) {
        s->token_ns = agg_add_ns(first_ns, length_ns);
    } else if (row->phase == TRACE_DECODE && row->tokens != TRACE_NONE) {
        s->last_token_ns = agg_add_ns(first_ns, length_ns);
        s->tokens = row->tokens;
    }
}

static void add_times(struct request_sums *s, int64_t first_ns, int64_t last_ns)
{
    if (first_ns < s->first_ns)
        s->first_ns = first_ns;
    if (last_ns > s->last_ns)
        s->last_ns = last_ns;
}

/* Where the service time of a row of Tier-2 was spent, but for stopped_ns of it. */
static void add_storage_row(struct request_sums *s, const struct trace_row *row, int64_t stopped_ns)
{
    int64_t left_ns = row->latency_ns - stopped_ns;
    int64_t slot_ns = row->extra ? row->extra->slot_ns : TRACE_NONE;
    if (row->device_ns == TRACE_NONE) {
        add_part(s, REQUEST_PART_STORAGE, left_ns);
    } else {
        /* The device's part of a stop is taken first: I/O goes on meanwhile, but who waits for it
         * does not hear of its end. */
        int64_t device_ns = row->device_ns > stopped_ns ? row->device_ns - stopped_ns : 0;
        device_ns = device_ns < left_ns ? device_ns : left_ns;
        left_ns -= device_ns;
        slot_ns = slot_ns == TRACE_NONE || slot_ns < left_ns ? slot_ns : left_ns;
        add_part(s, REQUEST_PART_DEVICE, device_ns);
        add_part(s, REQUEST_PART_SLOT, slot_ns == TRACE_NONE ? 0 : slot_ns);
        add_part(s, slot_ns == TRACE_NONE ? REQUEST_PART_STORAGE : REQUEST_PART_HOST,
                 left_ns - (slot_ns == TRACE_NONE ? 0 : slot_ns));
    }
}

/* Whether a request moved the object for itself. */
static void add_direct(struct request_sums *s, const struct trace_row *row)
{
    if (row->phase == TRACE_EVICT) {
        s->evict_ns = agg_add_ns(s->evict_ns, row->latency_ns);
    } else if (row->op == TRACE_WRITE) {
        s->prefill_ns = agg_add_ns(s->prefill_ns, row->latency_ns);
        s->wrote = true;
    } else if (row->op == TRACE_READ && row->class != TRACE_MULTI_TURN) {
        s->decode_ns = agg_add_ns(s->decode_ns, row->latency_ns);
        s->read = true;
    }
}

/* Times of a row of a result file: when it ran, where its service time was spent, and its Due. */
static void add_result_row(struct request_piece *p, struct request_sums *s,
                           const struct trace_row *row)
{
    int64_t length_ns = row->latency_ns == TRACE_NONE ? 0 : row->latency_ns;
    int64_t end_ns = TRACE_NONE;
    bool served = row->tier != TRACE_NO_TIER && row->latency_ns != TRACE_NONE;
    if (row->start_ns != TRACE_NONE) {
        end_ns = agg_add_ns(row->start_ns, length_ns);
        add_times(s, row->start_ns, end_ns);
    }

    int64_t delay_ns = agg_client_delay_ns(row);
    s->client_ns = agg_add_ns(s->client_ns, delay_ns);
    if (!s->generated) {
        s->read_client_ns = agg_add_ns(s->read_client_ns, delay_ns);
        if (row->op == TRACE_READ && end_ns > s->read_end_ns)
            s->read_end_ns = end_ns;
    }
    add_tokens(s, row, row->start_ns, length_ns);
    if (row->op == TRACE_GENERATE) {
        add_part(s, REQUEST_PART_GENERATION, length_ns);
    } else if (served) {
        int64_t stopped_ns =
            p->stops && end_ns != TRACE_NONE ? gaps_overlap_ns(p->stops, row->start_ns, end_ns) : 0;
        s->served = true;
        add_part(s, REQUEST_PART_TOOL, stopped_ns);
        if (p->direct)
            add_direct(s, row);
        if (row->tier == TRACE_GPU)
            add_part(s, REQUEST_PART_GPU, length_ns - stopped_ns);
        else if (row->tier == TRACE_CPU)
            add_part(s, REQUEST_PART_CPU, length_ns - stopped_ns);
        else
            add_storage_row(s, row, stopped_ns);
    }

    if (row->due_ns == TRACE_NONE) {
        p->clock.served |= row->start_ns != TRACE_NONE;
        return;
    }
    if (s->due_ns == TRACE_NONE || row->due_ns < s->due_ns) {
        s->due_ns = row->due_ns;
        s->due_time_ns = row->time_ns;
    }
    request_clock_merge(&p->clock,
                        &(struct request_clock){row->due_ns, row->time_ns, row->due_ns,
                                                row->time_ns, row->due_ns, row->time_ns, false});
}

/* Ranks count their requests each from 0. */
static int64_t id_of(const struct trace_row *row)
{
    if (!row->extra || row->extra->rank == TRACE_NONE)
        return row->request;
    uint64_t rank = hash_mix((uint64_t)row->extra->rank + 1);
    return (int64_t)(hash_mix((uint64_t)row->request ^ rank) >> 1);
}

int request_piece_add(struct request_piece *p, const struct trace_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct trace_row *row = &rows[i];
        p->rows++;
        if (row->request == TRACE_NONE || agg_is_populating(p->result, row))
            continue;
        struct request_sums *s = item_of(p, id_of(row));
        if (!s)
            return -ENOMEM;
        s->last_row = p->rows;
        if (row->qos != TRACE_NO_QOS)
            s->qos = row->qos;
        if (row->arrival_ns != TRACE_NONE &&
            (s->arrival_ns == TRACE_NONE || row->arrival_ns < s->arrival_ns))
            s->arrival_ns = row->arrival_ns;
        s->generated |= row->op == TRACE_GENERATE;
        s->ingest |= row->class == TRACE_INGEST && row->phase == TRACE_PREFILL;
        s->failed |= row->status != TRACE_OK && row->status != TRACE_ABSENT &&
                     row->status != TRACE_NO_STATUS;
        s->warm |= row->start_ns != TRACE_NONE && row->start_ns < p->warmup_ns;
        if (p->result) {
            add_result_row(p, s, row);
        } else {
            bool generates = row->op == TRACE_GENERATE && row->duration_ns != TRACE_NONE;
            int64_t length_ns = generates ? row->duration_ns : 0;
            add_times(s, row->time_ns, agg_add_ns(row->time_ns, length_ns));
            add_tokens(s, row, row->time_ns, length_ns);
            add_part(s, REQUEST_PART_GENERATION, length_ns);
        }
    }
    return 0;
}

void request_sums_merge(struct request_sums *into, const struct request_sums *from)
{
    if (from->arrival_ns != TRACE_NONE &&
        (into->arrival_ns == TRACE_NONE || from->arrival_ns < into->arrival_ns))
        into->arrival_ns = from->arrival_ns;
    if (from->first_ns < into->first_ns)
        into->first_ns = from->first_ns;
    if (from->last_ns > into->last_ns)
        into->last_ns = from->last_ns;
    if (from->due_ns != TRACE_NONE && (into->due_ns == TRACE_NONE || from->due_ns < into->due_ns)) {
        into->due_ns = from->due_ns;
        into->due_time_ns = from->due_time_ns;
    }
    into->client_ns = agg_add_ns(into->client_ns, from->client_ns);
    if (!into->generated) {
        into->read_client_ns = agg_add_ns(into->read_client_ns, from->read_client_ns);
        if (from->read_end_ns > into->read_end_ns)
            into->read_end_ns = from->read_end_ns;
    }
    if (from->token_ns != TRACE_NONE)
        into->token_ns = from->token_ns;
    if (from->last_token_ns != TRACE_NONE) {
        into->last_token_ns = from->last_token_ns;
        into->tokens = from->tokens;
    }
    into->evict_ns = agg_add_ns(into->evict_ns, from->evict_ns);
    into->prefill_ns = agg_add_ns(into->prefill_ns, from->prefill_ns);
    into->decode_ns = agg_add_ns(into->decode_ns, from->decode_ns);
    into->wrote |= from->wrote;
    into->read |= from->read;
    for (unsigned part = 0; part < REQUEST_PARTS; part++)
        add_part(into, part, from->part_ns[part]);
    if (from->qos != TRACE_NO_QOS)
        into->qos = from->qos;
    into->generated |= from->generated;
    into->served |= from->served;
    into->failed |= from->failed;
    into->warm |= from->warm;
    into->ingest |= from->ingest;
}

/* Is the row of c less behind its Timestamp than the row of other? Of two that are as far behind,
 * apart from rounding, the later one counts. */
static bool clock_is_ahead(const struct request_clock *c, const struct request_clock *other)
{
    int64_t c_ns = agg_add_ns(c->ahead_time_ns, -c->ahead_due_ns);
    int64_t other_ns = agg_add_ns(other->ahead_time_ns, -other->ahead_due_ns);
    int64_t more_ns = agg_add_ns(c_ns, -other_ns);

    if (more_ns > -CLOCK_ROUNDED_NS && more_ns < CLOCK_ROUNDED_NS)
        return c->ahead_due_ns > other->ahead_due_ns;
    return more_ns > 0;
}

void request_clock_merge(struct request_clock *into, const struct request_clock *from)
{
    into->served |= from->served;
    if (from->low_due_ns == TRACE_NONE)
        return;
    if (into->low_due_ns == TRACE_NONE || from->low_due_ns < into->low_due_ns) {
        into->low_due_ns = from->low_due_ns;
        into->low_time_ns = from->low_time_ns;
    }
    if (into->high_due_ns == TRACE_NONE || from->high_due_ns > into->high_due_ns) {
        into->high_due_ns = from->high_due_ns;
        into->high_time_ns = from->high_time_ns;
    }
    if (into->ahead_due_ns == TRACE_NONE || clock_is_ahead(from, into)) {
        into->ahead_due_ns = from->ahead_due_ns;
        into->ahead_time_ns = from->ahead_time_ns;
    }
}

const struct request_sums *request_piece_items(const struct request_piece *p, size_t *n)
{
    *n = p->count;
    return p->item;
}

const struct request_clock *request_piece_clock(const struct request_piece *p)
{
    return &p->clock;
}
