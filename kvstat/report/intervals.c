/* The time series of --interval and --plot as figures, beside those of the whole run in figures.c.
 * Contents of tiers are summed from the changes of the intervals. */
#include "kvstat/report/intervals.h"

#include <math.h>
#include <stdlib.h>

#include "kvstat/count/provenance.h"
#include "kvstat/count/series.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

struct intervals {
    bool asked_for, failed;
    double length_s;
    struct figure *figure;
    size_t figures, room;
    size_t *begin; /* where each interval begins in figure, and the end of the last */
    size_t count;
};

static void put(struct intervals *s, const struct figure *f)
{
    if (memory_room(&s->figure, &s->room, s->figures, sizeof(*s->figure), 512) < 0) {
        s->failed = true;
        return;
    }
    s->figure[s->figures++] = *f;
}

static void put_number(struct intervals *s, struct figure_id id, double v)
{
    put(s, &(struct figure){.id = id, .form = FIGURE_FORM_NUMBER, .number = v});
}

static void put_count(struct intervals *s, struct figure_id id, uint64_t v)
{
    put(s, &(struct figure){.id = id, .form = FIGURE_FORM_UNSIGNED, .count = v});
}

static void put_io(struct intervals *s, unsigned tier, unsigned op, const struct series_io *io)
{
    static const struct {
        enum figure_statistic statistic;
        uint32_t ppm;
    } times[] = {
        {FIGURE_P50, 500000}, {FIGURE_P95, 950000}, {FIGURE_P99, 990000}, {FIGURE_MAX, 1000000}};
    put_count(s, figure_id_direction(tier, op, FIGURE_OPS), io->ops);
    put_count(s, figure_id_direction(tier, op, FIGURE_BYTES), io->bytes);
    put_number(s, figure_id_direction(tier, op, FIGURE_GIB_PER_S),
               (double)io->bytes / (double)UNITS_GIB / s->length_s);
    static const enum figure_what whats[SERIES_TIMES] = {[SERIES_SERVICE] = FIGURE_SERVICE,
                                                         [SERIES_RESPONSE] = FIGURE_RESPONSE,
                                                         [SERIES_WAIT] = FIGURE_WAIT,
                                                         [SERIES_LATE] = FIGURE_LATENESS};
    for (unsigned time = 0; time < SERIES_TIMES; time++)
        for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
            struct figure_id id = figure_id_direction(tier, op, whats[time]);
            int64_t ns = series_percentile(io, time, times[i].ppm);
            put_number(s, figure_id_statistic(id, times[i].statistic),
                       ns < 0 ? NAN : (double)ns / figure_scale(id.what));
        }
}

/* ---- queues ---- */

/* Who was in the line of a class. */
struct waiting {
    bool any; /* the class is in the file */
    double requests;
    double arrivals_ns; /* sum of their arrivals */
};

/* Adds those of interval i that were never let in, which no row tells of. They arrived in the
 * middle of their second. */
static void add_left_waiting(struct waiting *w, const struct provenance_queue *queue,
                             double begin_s, double end_s)
{
    for (size_t k = 0; k < queue->since_count; k++) {
        double at_s = (double)queue->since[k].second + 0.5, n = (double)queue->since[k].requests;
        if (at_s < begin_s || at_s >= end_s)
            continue;
        w->requests += n;
        w->arrivals_ns += n * at_s * 1e9;
    }
}

/* line: who was in it before the interval; moved on to its end. */
static void put_queues(struct intervals *s, const struct intervals_source *source,
                       const struct series_slot *slot, size_t i, struct waiting line[TRACE_QOSES])
{
    double begin_s = (double)i * s->length_s, end_s = begin_s + s->length_s;
    bool last = i + 1 == series_count(source->series);
    for (unsigned q = 0; q < TRACE_QOSES; q++) {
        const struct series_queue *in = &slot->queue[q];
        struct figure_id id = {.scope = FIGURE_OF_QOS, .by = GROUPS_QOS, .qos = (uint8_t)q};
        struct waiting *w = &line[q];
        if (!w->any)
            continue;
        w->requests += (double)in->arrived - (double)in->admitted;
        w->arrivals_ns += in->arrived_ns - in->admitted_ns;
        add_left_waiting(w, &source->queue[q], begin_s, last ? INFINITY : end_s);
        double until_ns = last ? (double)source->end_ns : end_s * 1e9;
        double so_far_ns = w->requests > 0 ? w->requests * until_ns - w->arrivals_ns : 0;
        double n = (double)in->admitted + w->requests;
        id.what = FIGURE_REQUESTS;
        put_count(s, id, in->admitted);
        id.what = FIGURE_QUEUE_MEAN;
        put_number(s, id, n > 0 ? (in->wait_ns + fmax(so_far_ns, 0)) / n / 1e6 : NAN);
        id.what = FIGURE_WAITING;
        put_count(s, id, w->requests > 0 ? (uint64_t)(w->requests + 0.5) : 0);
    }
}

/* Which classes have a line. */
static void find_lines(const struct intervals_source *source, struct waiting line[TRACE_QOSES])
{
    for (unsigned q = 0; q < TRACE_QOSES; q++)
        line[q] = (struct waiting){.any = source->queue[q].since_count > 0};
    for (size_t i = 0; i < series_count(source->series); i++) {
        const struct series_slot *slot = series_at(source->series, i);
        for (unsigned q = 0; slot && q < TRACE_QOSES; q++)
            line[q].any |= series_served(source->series) && slot->queue[q].arrived > 0;
    }
}

/* ---- intervals ---- */

/* contents: bytes in the tiers before the interval; moved on to its end. */
static void put_interval(struct intervals *s, const struct intervals_source *source, size_t i,
                         int64_t contents[TRACE_TIERS], struct waiting line[TRACE_QOSES])
{
    static const struct series_slot idle;
    const struct series_slot *slot = series_at(source->series, i);
    double begin_s = (double)i * s->length_s, hit_rate = NAN;
    bool any = false;
    if (!slot)
        slot = &idle;
    if (source->misses_known && slot->hits + slot->misses > 0)
        hit_rate = (double)slot->hits / ((double)slot->hits + (double)slot->misses);

    put_number(s, figure_id(FIGURE_OF_RUN, FIGURE_TIME), begin_s);
    put(s, &(struct figure){.id = figure_id(FIGURE_OF_WARMUP, FIGURE_ITSELF),
                            .form = FIGURE_FORM_TRUTH,
                            .truth = begin_s < (double)source->warmup_ns / 1e9});
    put_queues(s, source, slot, i, line);
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        contents[t] += slot->change_bytes[t];
        if (!source->used[t])
            continue;
        any = true;
        put_io(s, t, TRACE_READ, &slot->io[t][SERIES_READ]);
        put_io(s, t, TRACE_WRITE, &slot->io[t][SERIES_WRITE]);
        put(s, &(struct figure){.id = figure_id_tier(FIGURE_OF_TIER, t, FIGURE_CONTENTS_BYTES),
                                .form = FIGURE_FORM_SIGNED,
                                .level = contents[t]});
    }
    if (!any)
        put(s, &(struct figure){.id = figure_id(FIGURE_OF_DIRECTION, FIGURE_ITSELF),
                                .form = FIGURE_FORM_TEXTS});
    put_count(s, figure_id(FIGURE_OF_RUN, FIGURE_LOOKUPS), slot->hits + slot->misses);
    put_number(s, figure_id(FIGURE_OF_RUN, FIGURE_HIT_RATE), hit_rate);
    put_number(s, figure_id(FIGURE_OF_RUN, FIGURE_GENERATED_TOKENS_PER_S),
               (double)slot->generated_tokens / s->length_s);
    put_count(s, figure_id(FIGURE_OF_RUN, FIGURE_FAILED), slot->failed);
    put_count(s, figure_id(FIGURE_OF_ROWS, FIGURE_HITS), slot->hits);
}

struct intervals *intervals_create(const struct intervals_source *source)
{
    int64_t contents[TRACE_TIERS];
    struct waiting line[TRACE_QOSES];
    size_t n = series_count(source->series);
    struct intervals *s = calloc(1, sizeof(*s));
    if (s)
        s->begin = calloc(n + 1, sizeof(*s->begin));
    if (!s || !s->begin) {
        free(s);
        return NULL;
    }
    s->asked_for = !series_is_auto(source->series);
    s->length_s = (double)series_interval_ns(source->series) / 1e9;
    s->count = n;
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        contents[t] = series_base_bytes(source->series, t);
    find_lines(source, line);
    for (size_t i = 0; i < n; i++) {
        put_interval(s, source, i, contents, line);
        s->begin[i + 1] = s->figures;
    }
    if (!s->failed)
        return s;
    intervals_free(s);
    return NULL;
}

void intervals_free(struct intervals *s)
{
    if (!s)
        return;
    free(s->figure);
    free(s->begin);
    free(s);
}

bool intervals_asked_for(const struct intervals *s)
{
    return s->asked_for;
}

double intervals_length_s(const struct intervals *s)
{
    return s->length_s;
}

size_t intervals_count(const struct intervals *s)
{
    return s->count;
}

struct figure_part intervals_at(const struct intervals *s, size_t i)
{
    return (struct figure_part){s->figure + s->begin[i], s->begin[i + 1] - s->begin[i]};
}

double intervals_number(const struct intervals *s, size_t i, struct figure_id id)
{
    for (size_t k = s->begin[i]; k < s->begin[i + 1]; k++)
        if (figure_id_compare(&s->figure[k].id, &id) == 0)
            return figure_number(&s->figure[k]);
    return NAN;
}
