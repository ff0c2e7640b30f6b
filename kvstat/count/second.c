/* Most rows are the same in both computations, so only those that differ are kept: what they were
 * and what they would have been. */
#include "kvstat/count/second.h"

#include <errno.h>
#include <stdlib.h>

/* Histograms tell values apart down to 0.1 %. */
#define SAME_PARTS 1000

struct moved {
    struct hist *from, *to; /* NULL: none differs */
};

struct second {
    const struct gaps *gaps;
    struct moved moved[TRACE_TIERS][2][SECOND_TIMES];
};

struct second *second_create(void)
{
    return calloc(1, sizeof(struct second));
}

void second_take_gaps(struct second *s, const struct gaps *gaps)
{
    s->gaps = gaps;
}

void second_free(struct second *s)
{
    struct moved *m = s ? &s->moved[0][0][0] : NULL;
    for (size_t i = 0; s && i < sizeof(s->moved) / sizeof(*m); i++) {
        hist_free(m[i].from);
        hist_free(m[i].to);
    }
    free(s);
}

/* The values of all of it: the row is left out. */
#define WHOLE INT64_MAX

static int move(struct moved *m, int64_t ns, int64_t less_ns)
{
    if (ns <= 0 || less_ns <= ns / SAME_PARTS)
        return 0;
    if (!m->from)
        m->from = hist_create();
    if (!m->to)
        m->to = hist_create();
    if (!m->from || !m->to || hist_record(m->from, ns) < 0)
        return -ENOMEM;
    if (less_ns == WHOLE)
        return 0;
    return hist_record(m->to, less_ns < ns ? ns - less_ns : 0);
}

/* The time that the tool added to a response: its own delay just before the start, and the stops of
 * the process before and after it. In a line that a stop made, rows wait for workers that it held.
 */
static int64_t added_to_response(const struct second *s, const struct second_row *row)
{
    const struct gaps *stops = gaps_of_process(s->gaps);
    int64_t due_ns, ready_ns;
    if (!stops || row->response_ns <= 0 ||
        __builtin_sub_overflow(row->end_ns, row->response_ns, &due_ns) ||
        __builtin_sub_overflow(row->start_ns, row->delay_ns, &ready_ns))
        return row->delay_ns;
    return row->delay_ns + gaps_overlap_ns(stops, due_ns, ready_ns) +
           gaps_overlap_ns(stops, row->start_ns, row->end_ns);
}

/* Due before the end of a stop of the process and started after it: rows that came all at once,
 * which no trace asked for. */
static bool is_of_burst(const struct second *s, const struct second_row *row)
{
    const struct gaps *stops = gaps_of_process(s->gaps);
    int64_t due_ns;

    return stops && row->response_ns > 0 &&
           !__builtin_sub_overflow(row->end_ns, row->response_ns, &due_ns) &&
           gaps_overlap_ns(stops, due_ns, row->start_ns) > 0;
}

int second_add(struct second *s, const struct second_row *row)
{
    struct moved *m = s->moved[row->tier][row->op == TRACE_WRITE];
    int64_t gap_ns = is_of_burst(s, row) ? WHOLE
                     : s->gaps           ? gaps_overlap_ns(s->gaps, row->start_ns, row->end_ns)
                                         : 0;
    int rc = 0;
    if (gap_ns > 0)
        rc = move(&m[SECOND_SERVICE], row->service_ns, gap_ns);
    if (rc == 0 && gap_ns > 0)
        rc = move(&m[SECOND_DEVICE], row->device_ns, gap_ns);
    int64_t added_ns = added_to_response(s, row);
    if (rc == 0 && added_ns > 0)
        rc = move(&m[SECOND_RESPONSE], row->response_ns, added_ns);
    return rc;
}

static int merge(struct hist **into, const struct hist *from)
{
    if (!from)
        return 0;
    if (!*into)
        *into = hist_create();
    return *into ? hist_merge(*into, from) : -ENOMEM;
}

int second_merge(struct second *into, const struct second *from)
{
    struct moved *m = &into->moved[0][0][0];
    const struct moved *n = &from->moved[0][0][0];
    int rc = 0;
    for (size_t i = 0; i < sizeof(into->moved) / sizeof(*m) && rc == 0; i++) {
        rc = merge(&m[i].from, n[i].from);
        if (rc == 0)
            rc = merge(&m[i].to, n[i].to);
    }
    return rc;
}

/* The buckets of all less those of from and with those of to, upwards. */
struct walk {
    const struct hist *hist;
    size_t pos;
    int64_t low, high;
    uint64_t count;
    bool more;
};

static void step(struct walk *w)
{
    w->more = w->hist && hist_next(w->hist, &w->pos, &w->low, &w->high, &w->count);
}

int64_t second_percentile(const struct second *s, struct second_of of, const struct hist *all,
                          uint32_t ppm)
{
    const struct moved *m = &s->moved[of.tier][of.op == TRACE_WRITE][of.time];
    struct walk walk[] = {{.hist = all}, {.hist = m->from}, {.hist = m->to}};
    if (!m->from || hist_count(all) + hist_count(m->to) <= hist_count(m->from))
        return hist_percentile(all, ppm); /* nothing was moved, or nothing is left */
    uint64_t left = hist_count(all) + hist_count(m->to) - hist_count(m->from);
    unsigned __int128 parts = (unsigned __int128)left * ppm;
    int64_t rank = (int64_t)((parts + 999999) / 1000000), seen = 0;
    for (size_t i = 0; i < 3; i++)
        step(&walk[i]);
    while (walk[0].more || walk[1].more || walk[2].more) {
        int64_t low = INT64_MAX, high = 0;
        for (size_t i = 0; i < 3; i++)
            if (walk[i].more && walk[i].low <= low) {
                low = walk[i].low;
                high = walk[i].high;
            }
        for (size_t i = 0; i < 3; i++)
            if (walk[i].more && walk[i].low == low) {
                seen += i == 1 ? -(int64_t)walk[i].count : (int64_t)walk[i].count;
                step(&walk[i]);
            }
        if (seen >= rank)
            return low + (high - low) / 2;
    }
    return hist_max(all);
}
