/* Judges the places of a tier against each other. Which place served a row is the engine's to say;
 * counts.c adds the rows up. */
#include "kvreplay/sched/endpoints.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/units.h"

#define SLOW_FACTOR   1.5
#define SLOW_RATE     0.8 /* of the others' bytes a second, both while busy */
#define UNEVEN_FACTOR 1.5
#define ENOUGH_ROWS   59u /* so many samples bound a 95th percentile (judgement of a drive) */

static const char *const op_key[COUNTS_OPS] = {"read", "write", "delete"};
static const char *const op_words[COUNTS_OPS] = {"reads", "writes", "deletes"};

static uint64_t bytes_of(const struct counts_endpoint *c)
{
    return c->op[TRACE_READ].bytes + c->op[TRACE_WRITE].bytes;
}

double endpoints_imbalance(const struct endpoints *p, unsigned *busiest)
{
    double all = 0, most = -1;

    for (unsigned i = 0; i < p->count; i++)
        all += (double)bytes_of(&p->counts[i]);
    for (unsigned i = 0; i < p->count && all > 0; i++) {
        double times = (double)bytes_of(&p->counts[i]) / (all * p->share[i]);

        if (times > most && busiest)
            *busiest = i;
        most = times > most ? times : most;
    }
    return most;
}

/* Time of the device, or else of the whole service, for a byte; negative: too few rows. */
static double ns_for_byte(const struct counts_endpoint_op *o)
{
    const struct hist *h = hist_count(o->device) ? o->device : o->service;

    if (o->ops < ENOUGH_ROWS || o->bytes == 0)
        return -1;
    return hist_sum(h) / (double)o->bytes;
}

/* Bytes a second while at least one row was there; negative: not known. */
static double rate_of(const struct counts_endpoint *c)
{
    return c->busy_ns > 0 ? (double)c->busy_bytes * 1e9 / (double)c->busy_ns : -1;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
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
    qsort(other, n, sizeof(other[0]), by_value);
    return value[i] / (n % 2 ? other[n / 2] : (other[n / 2 - 1] + other[n / 2]) / 2);
}

/* How many times as long as the others place i takes for a byte. 0: it is not slow: rows that wait
 * for each other take long too, where more went to one place than to the others for a while, and
 * then it moves as much in a second as they do, or more. */
static double slowness(const struct endpoints *p, unsigned op, unsigned i)
{
    double ns[UINT8_MAX], rate[UINT8_MAX], times, of_rate;

    for (unsigned k = 0; k < p->count; k++) {
        ns[k] = ns_for_byte(&p->counts[k].op[op]);
        rate[k] = rate_of(&p->counts[k]);
    }
    times = by_the_others(ns, p->count, i);
    of_rate = by_the_others(rate, p->count, i);
    return times >= SLOW_FACTOR && of_rate <= SLOW_RATE ? times : 0;
}

void endpoints_notes(const struct endpoints *p, struct notes *notes)
{
    unsigned at = 0;
    double times;

    for (unsigned op = 0; op <= TRACE_WRITE; op++) {
        double most = 0;

        for (unsigned i = 0; i < p->count; i++) {
            times = slowness(p, op, i);
            if (times > most) {
                most = times;
                at = i;
            }
        }
        if (most > 0)
            notes_add(notes, "%s is slow: its %s took %.1f times as long for a byte as those of %s",
                      p->name[at], op_words[op], most,
                      p->count == 2 ? "the other target" : "the other targets (median)");
    }
    for (unsigned i = 0; i < p->count; i++) {
        uint64_t full = p->counts[i].full;

        if (full)
            notes_add(notes, "%s is full: %llu row%s ended there with ENOSPC", p->name[i],
                      (unsigned long long)full, units_plural(full));
    }
    times = endpoints_imbalance(p, &at);
    if (times >= UNEVEN_FACTOR)
        notes_add(notes, "%s moved %.1f times its share of the bytes: the targets are uneven",
                  p->name[at], times);
}

void endpoints_json(struct jsonout *j, const struct endpoints *p)
{
    double times = endpoints_imbalance(p, NULL);

    jsonout_f64(j, "imbalance", times >= 0 && p->count > 1 ? times : NAN);
    jsonout_array(j, "endpoints");
    for (unsigned i = 0; i < p->count; i++) {
        const struct counts_endpoint *c = &p->counts[i];

        jsonout_object(j, NULL);
        jsonout_text_value(j, "endpoint", p->name[i]);
        jsonout_text_value(j, "device", p->device[i]);
        jsonout_f64(j, "share", p->share[i]);
        jsonout_u64(j, "full", c->full);
        for (unsigned op = 0; op < COUNTS_OPS; op++) {
            const struct counts_endpoint_op *o = &c->op[op];

            jsonout_object(j, op_key[op]);
            jsonout_u64(j, "ops", o->ops);
            jsonout_u64(j, "bytes", o->bytes);
            jsonout_u64(j, "not_ok", o->failed);
            jsonout_f64(j, "gib_per_s", o->ops ? counts_endpoint_rate(o) / (double)UNITS_GIB : NAN);
            jsonout_hist(j, "service_us", o->service, 1e3);
            jsonout_hist(j, "device_us", o->device, 1e3);
            jsonout_end(j);
        }
        jsonout_end(j);
    }
    jsonout_end(j);
}

void endpoints_text(FILE *out, const struct endpoints *p)
{
    double times = endpoints_imbalance(p, NULL);

    for (unsigned i = 0; i < p->count; i++) {
        const struct counts_endpoint *c = &p->counts[i];
        const struct counts_endpoint_op *read = &c->op[TRACE_READ], *write = &c->op[TRACE_WRITE];
        char a[32], b[32], x[32], y[32];

        fprintf(out, "  %s%s%s%s: %.1f %% of the objects", p->name[i], p->device[i] ? " (" : "",
                p->device[i] ? p->device[i] : "", p->device[i] ? ")" : "", 100 * p->share[i]);
        if (read->ops)
            fprintf(
                out, "; read %s, device P50 %s, P99 %s",
                units_format_bytes(a, sizeof(a), (double)read->bytes),
                units_format_duration(x, sizeof(x), (double)hist_percentile(read->device, 500000)),
                units_format_duration(y, sizeof(y), (double)hist_percentile(read->device, 990000)));
        if (write->ops)
            fprintf(
                out, "; wrote %s, device P50 %s, P99 %s",
                units_format_bytes(b, sizeof(b), (double)write->bytes),
                units_format_duration(x, sizeof(x), (double)hist_percentile(write->device, 500000)),
                units_format_duration(y, sizeof(y),
                                      (double)hist_percentile(write->device, 990000)));
        fputc('\n', out);
    }
    if (p->count > 1 && times >= 0)
        fprintf(out, "  imbalance: the busiest moved %.2f times its share of the bytes\n", times);
}
