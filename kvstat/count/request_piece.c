/* First half of the request figures: a thread sums the rows of its run by request here. Requests
 * spread over several runs are put together by requests.c; all sums commute, so it does not matter
 * where runs end. */
#include "kvstat/count/request_piece.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/agg.h"
#include "lib/base/hash.h"

#define FIRST_ITEMS ((size_t)1024)

struct requests_run {
    bool result;
    int64_t warmup_ns; /* 0: none */
    struct requests_clock clock;
    struct requests_sums *item;
    uint32_t *index; /* 2 x cap places, item number + 1, 0: free */
    size_t count, cap, last;
};

#define CLOCK_ROUNDED_NS 1000

static const struct requests_clock clock_none = {TRACE_NONE, TRACE_NONE, TRACE_NONE, TRACE_NONE,
                                                 TRACE_NONE, TRACE_NONE, false};

struct requests_run *requests_run_create(bool result)
{
    struct requests_run *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->result = result;
    r->clock = clock_none;
    r->cap = FIRST_ITEMS;
    r->item = malloc(r->cap * sizeof(*r->item));
    r->index = calloc(r->cap * 2, sizeof(*r->index));
    if (!r->item || !r->index) {
        requests_run_free(r);
        return NULL;
    }
    return r;
}

void requests_run_leave_out(struct requests_run *r, int64_t warmup_ns)
{
    r->warmup_ns = warmup_ns;
}

void requests_run_free(struct requests_run *r)
{
    if (!r)
        return;
    free(r->item);
    free(r->index);
    free(r);
}

void requests_run_clear(struct requests_run *r)
{
    memset(r->index, 0, r->cap * 2 * sizeof(*r->index));
    r->count = r->last = 0;
    r->clock = clock_none;
}

static size_t place_of(const struct requests_run *r, int64_t id)
{
    size_t mask = r->cap * 2 - 1, i = (size_t)hash_mix((uint64_t)id) & mask;
    while (r->index[i] != 0 && r->item[r->index[i] - 1].id != id)
        i = (i + 1) & mask;
    return i;
}

static int grow(struct requests_run *r)
{
    struct requests_sums *item = realloc(r->item, r->cap * 2 * sizeof(*item));
    if (!item)
        return -ENOMEM;
    r->item = item;
    uint32_t *index = calloc(r->cap * 4, sizeof(*index));
    if (!index)
        return -ENOMEM;
    free(r->index);
    r->index = index;
    r->cap *= 2;
    for (size_t i = 0; i < r->count; i++)
        index[place_of(r, item[i].id)] = (uint32_t)i + 1;
    return 0;
}

static struct requests_sums *item_of(struct requests_run *r, int64_t id)
{
    /* Rows of one request mostly follow each other. */
    if (r->last < r->count && r->item[r->last].id == id)
        return &r->item[r->last];
    if (r->count == r->cap && grow(r) < 0)
        return NULL;
    size_t i = place_of(r, id);
    if (r->index[i] == 0) {
        r->item[r->count] = (struct requests_sums){.id = id,
                                                   .arrival_ns = TRACE_NONE,
                                                   .first_ns = INT64_MAX,
                                                   .last_ns = INT64_MIN,
                                                   .due_ns = TRACE_NONE,
                                                   .due_time_ns = TRACE_NONE,
                                                   .qos = TRACE_NO_QOS};
        r->index[i] = (uint32_t)++r->count;
    }
    r->last = r->index[i] - 1;
    return &r->item[r->last];
}

static void add_part(struct requests_sums *s, enum requests_part part, int64_t ns)
{
    s->part_ns[part] = agg_add_ns(s->part_ns[part], ns);
}

/* Service time by where it was spent. */
static void add_service(struct requests_sums *s, const struct trace_row *row)
{
    int64_t device = row->device_ns == TRACE_NONE ? 0 : row->device_ns;
    s->served = true;
    if (row->tier == TRACE_GPU) {
        add_part(s, REQUESTS_PART_GPU, row->latency_ns);
    } else if (row->tier == TRACE_CPU) {
        add_part(s, REQUESTS_PART_CPU, row->latency_ns);
    } else {
        add_part(s, REQUESTS_PART_DEVICE, device);
        add_part(s, REQUESTS_PART_HOST, agg_add_ns(row->latency_ns, -device));
    }
}

static void add_times(struct requests_sums *s, int64_t first_ns, int64_t length_ns)
{
    int64_t last_ns = agg_add_ns(first_ns, length_ns);
    if (first_ns < s->first_ns)
        s->first_ns = first_ns;
    if (last_ns > s->last_ns)
        s->last_ns = last_ns;
}

static void clock_add(struct requests_clock *c, int64_t due_ns, int64_t time_ns)
{
    requests_clock_merge(
        c, &(struct requests_clock){due_ns, time_ns, due_ns, time_ns, due_ns, time_ns, false});
}

static void add_result_row(struct requests_run *r, struct requests_sums *s,
                           const struct trace_row *row)
{
    int64_t length_ns = row->latency_ns == TRACE_NONE ? 0 : row->latency_ns;
    if (row->start_ns != TRACE_NONE)
        add_times(s, row->start_ns, length_ns);
    if (row->op == TRACE_GENERATE)
        add_part(s, REQUESTS_PART_GENERATION, length_ns);
    else if (row->tier != TRACE_NO_TIER && row->latency_ns != TRACE_NONE)
        add_service(s, row);
    if (row->due_ns == TRACE_NONE) {
        r->clock.served |= row->start_ns != TRACE_NONE;
        return;
    }
    if (s->due_ns == TRACE_NONE || row->due_ns < s->due_ns) {
        s->due_ns = row->due_ns;
        s->due_time_ns = row->time_ns;
    }
    clock_add(&r->clock, row->due_ns, row->time_ns);
}

static void add_trace_row(struct requests_sums *s, const struct trace_row *row)
{
    int64_t length_ns = 0;
    if (row->op == TRACE_GENERATE && row->duration_ns != TRACE_NONE)
        length_ns = row->duration_ns;
    add_times(s, row->time_ns, length_ns);
    add_part(s, REQUESTS_PART_GENERATION, length_ns);
}

int requests_run_add(struct requests_run *r, const struct trace_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct trace_row *row = &rows[i];
        if (row->request == TRACE_NONE || agg_is_populating(r->result, row))
            continue;
        struct requests_sums *s = item_of(r, row->request);
        if (!s)
            return -ENOMEM;
        if (row->qos != TRACE_NO_QOS)
            s->qos = row->qos;
        if (row->arrival_ns != TRACE_NONE &&
            (s->arrival_ns == TRACE_NONE || row->arrival_ns < s->arrival_ns))
            s->arrival_ns = row->arrival_ns;
        s->generated |= row->op == TRACE_GENERATE;
        s->failed |= row->status != TRACE_OK && row->status != TRACE_ABSENT &&
                     row->status != TRACE_NO_STATUS;
        s->warm |= row->start_ns != TRACE_NONE && row->start_ns < r->warmup_ns;
        if (r->result)
            add_result_row(r, s, row);
        else
            add_trace_row(s, row);
    }
    return 0;
}

void requests_sums_merge(struct requests_sums *into, const struct requests_sums *from)
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
    for (unsigned p = 0; p < REQUESTS_PARTS; p++)
        add_part(into, p, from->part_ns[p]);
    if (from->qos != TRACE_NO_QOS)
        into->qos = from->qos;
    into->generated |= from->generated;
    into->served |= from->served;
    into->failed |= from->failed;
    into->warm |= from->warm;
}

/* Rounding aside, or of two that are as far ahead the later one. */
static bool clock_is_ahead(const struct requests_clock *c, const struct requests_clock *of)
{
    int64_t c_ns = agg_add_ns(c->ahead_time_ns, -c->ahead_due_ns);
    int64_t of_ns = agg_add_ns(of->ahead_time_ns, -of->ahead_due_ns);
    int64_t more_ns = agg_add_ns(c_ns, -of_ns);

    if (more_ns > -CLOCK_ROUNDED_NS && more_ns < CLOCK_ROUNDED_NS)
        return c->ahead_due_ns > of->ahead_due_ns;
    return more_ns > 0;
}

void requests_clock_merge(struct requests_clock *into, const struct requests_clock *from)
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

const struct requests_sums *requests_run_items(const struct requests_run *r, size_t *n)
{
    *n = r->count;
    return r->item;
}

const struct requests_clock *requests_run_clock(const struct requests_run *r)
{
    return &r->clock;
}
