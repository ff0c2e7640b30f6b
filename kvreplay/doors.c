/* Judges the doors of a tier against each other. Which door a row went through is the engine's to
 * say; counts.c adds the rows up. */
#include "kvreplay/doors.h"

#include <stdlib.h>

#include "lib/base/units.h"
#include "lib/facts/judge.h"
#include "lib/sort/ascending.h"

#define SLOW_RATE     0.8 /* of the others' bytes a second, both while busy */
#define UNEVEN_FACTOR 1.5

static const char *const op_words[COUNTS_OPS] = {"reads", "writes", "deletes"};

static uint64_t bytes_of(const struct counts_door *c)
{
    return c->op[TRACE_READ].bytes + c->op[TRACE_WRITE].bytes;
}

double doors_imbalance(const struct doors *d, unsigned *busiest)
{
    double all = 0, most = -1;

    for (unsigned i = 0; i < d->count; i++)
        all += (double)bytes_of(&d->counts[i]);
    for (unsigned i = 0; i < d->count && all > 0; i++) {
        double times = (double)bytes_of(&d->counts[i]) / (all * d->share[i]);

        if (times > most && busiest)
            *busiest = i;
        most = times > most ? times : most;
    }
    return most;
}

/* Time of the device, or else of the whole service, for a byte; negative: too few rows. */
static double ns_for_byte(const struct counts_group *o)
{
    const struct hist *h = hist_count(o->device) ? o->device : o->service;

    if (o->ops < judge_samples(950000) || o->bytes == 0)
        return -1;
    return hist_sum(h) / (double)o->bytes;
}

/* Bytes a second while at least one row was there; negative: not known. */
static double rate_of(const struct counts_door *c)
{
    return c->busy_ns > 0 ? (double)c->busy_bytes * 1e9 / (double)c->busy_ns : -1;
}

/* value[i] by the median of the others; negative: not known. */
static double by_the_others(const double *value, unsigned count, unsigned i)
{
    double other[UINT8_MAX];
    unsigned n = 0;

    for (unsigned k = 0; k < count; k++) {
        if (k != i && value[k] > 0)
            other[n++] = value[k];
    }
    if (n == 0 || value[i] <= 0)
        return -1;
    qsort(other, n, sizeof(other[0]), ascending_f64);
    return value[i] / (n % 2 ? other[n / 2] : (other[n / 2 - 1] + other[n / 2]) / 2);
}

/* How many times as long as the others door i takes for a byte. 0: it is not slow: rows that wait
 * for each other take long too, where more went to one door than to the others for a while, and
 * then it moves as much in a second as they do, or more. */
static double slowness(const struct doors *d, unsigned op, unsigned i)
{
    double ns[UINT8_MAX], rate[UINT8_MAX], times, of_rate;

    for (unsigned k = 0; k < d->count; k++) {
        ns[k] = ns_for_byte(&d->counts[k].op[op]);
        rate[k] = rate_of(&d->counts[k]);
    }
    times = by_the_others(ns, d->count, i);
    of_rate = by_the_others(rate, d->count, i);
    return times >= JUDGE_SLOW && of_rate <= SLOW_RATE ? times : 0;
}

void doors_notes(const struct doors *d, struct notes *notes)
{
    unsigned at = 0;
    double times;

    if (d->count < 2)
        return;
    for (unsigned op = 0; op <= TRACE_WRITE; op++) {
        double most = 0;

        for (unsigned i = 0; i < d->count; i++) {
            times = slowness(d, op, i);
            if (times > most) {
                most = times;
                at = i;
            }
        }
        if (most > 0)
            notes_add(notes, "%s is slow: its %s took %.1f times as long for a byte as those of %s",
                      d->door[at].endpoint, op_words[op], most,
                      d->count == 2 ? "the other" : "the others (median)");
    }
    for (unsigned i = 0; i < d->count; i++) {
        uint64_t full = d->counts[i].full;

        if (full)
            notes_add(notes, "%s is full: %llu row%s ended there with ENOSPC", d->door[i].endpoint,
                      (unsigned long long)full, units_plural(full));
    }
    times = doors_imbalance(d, &at);
    if (times >= UNEVEN_FACTOR)
        notes_add(notes, "%s moved %.1f times its share of the bytes: the load is uneven",
                  d->door[at].endpoint, times);
}
