/* The rate of a drive at one point of kvtrace model. A run of kvreplay becomes ten parts and the
 * classes of its objects' times, and the runs of a step become its rate, with an interval. */
#include "kvstat/knee/point.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/scan.h"
#include "lib/base/memory.h"
#include "lib/facts/judge.h"
#include "lib/json/jsonin.h"
#include "lib/sort/ascending.h"
#include "lib/trace/read.h"

#define FLAT_PERCENT    105 /* of the rate of the step before: what a step must give beyond */
#define LIKE_MOST       0.9
#define STANDARD_ERRORS 2.1 /* of a 95 % interval, Student's t with 20 parts */

struct moved {
    double seconds, bytes, part_bytes_s[POINT_PARTS];
};

struct step {
    double in_flight, elapsed_s;
    struct moved *run;
    size_t runs, room;
    double objects[POINT_CLASSES];
};

struct points {
    size_t n;
    struct step step[POINT_STEPS_MAX];
};

/* As it is read back from text with so many digits. */
static double rounded(double v, int digits)
{
    char text[400];
    snprintf(text, sizeof(text), "%.*f", digits, v);
    return strtod(text, NULL);
}

/* ---- one run ---- */

static double edge(double from, double to, int part)
{
    return from + (to - from) * part / POINT_PARTS;
}

/* Spreads an object over the parts that it was in flight in. */
static void spread(double *moved, const struct point_object *o, double from, double to)
{
    double begin = o->start_s, end = begin + o->time_us / 1e6;
    if (end <= from || begin >= to)
        return;
    if (end <= begin)
        end = begin + 1e-9;
    int first = begin > from ? (int)((begin - from) / (to - from) * POINT_PARTS) : 0;
    for (int k = first; k < POINT_PARTS; k++) {
        double low = edge(from, to, k), high = edge(from, to, k + 1);
        if (low >= end)
            break;
        double both = fmin(end, high) - fmax(begin, low);
        if (both > 0)
            moved[k] += o->bytes * both / (end - begin);
    }
}

int point_run_of(struct point_run *run, double in_flight, const struct point_object *o, size_t n,
                 struct err *e)
{
    double moved[POINT_PARTS] = {0}, all = 0;
    double *start = malloc((n + 1) * sizeof(*start));
    if (!start)
        return err_nomem(e, "rows");
    run->in_flight = in_flight;
    run->seconds = NAN;
    memset(run->objects, 0, sizeof(run->objects));
    for (size_t i = 0; i < n; i++) {
        start[i] = o[i].start_s;
        run->objects[o[i].time_us > 1 ? (size_t)(100 * log(o[i].time_us)) : 0]++;
    }
    qsort(start, n, sizeof(*start), ascending_f64);
    double from = n == 0 ? 0 : start[in_flight < (double)n ? (size_t)in_flight - 1 : 0];
    double to = n == 0 ? 0 : start[n - 1];
    free(start);
    if (to <= from)
        return 0;
    for (size_t i = 0; i < n; i++)
        spread(moved, &o[i], from, to);
    for (int k = 0; k < POINT_PARTS; k++) {
        all += moved[k];
        run->part_bytes_s[k] = rounded(moved[k] * POINT_PARTS / (to - from), 0);
    }
    run->seconds = rounded(to - from, 6);
    run->bytes = rounded(all, 0);
    return 0;
}

struct objects {
    struct point_object *item;
    size_t n, room;
};

static int read_rows(struct objects *o, struct trace_cursor *cursor, struct err *e)
{
    const struct trace_row *rows;
    size_t n;
    int rc;

    while ((rc = trace_cursor_next(cursor, &rows, &n, e)) == 1)
        for (size_t i = 0; i < n; i++) {
            const struct trace_row *r = &rows[i];
            if ((r->op != TRACE_READ && r->op != TRACE_WRITE) || r->start_ns == TRACE_NONE ||
                r->latency_ns == TRACE_NONE)
                continue;
            if (memory_room(&o->item, &o->room, o->n, sizeof(*o->item), 4096) < 0)
                return err_nomem(e, "rows");
            o->item[o->n++] = (struct point_object){(double)r->start_ns / 1e9,
                                                    (double)r->latency_ns / 1e3, (double)r->size};
        }
    return rc;
}

/* How the run was asked for, and its length: from the summary at the end of the result. */
static int read_summary(struct point_run *run, double *in_flight, const struct trace_reader *reader,
                        struct err *e)
{
    const char *text = trace_summary(reader);
    struct jsonin *d = NULL;
    int rc = text ? jsonin_parse(&d, text, strlen(text), trace_name(reader), e) : 0;
    *in_flight = run->elapsed_s = NAN;
    if (rc == 0 && d) {
        const struct jsonin_v *root = jsonin_root(d);
        (void)jsonin_f64(jsonin_get(root, "options.inflight"), in_flight);
        (void)jsonin_f64(jsonin_get(root, "elapsed_s"), &run->elapsed_s);
    }
    jsonin_free(d);
    if (rc == 0 && !(*in_flight >= 1 && *in_flight <= 1e9 && run->elapsed_s >= 0))
        rc = err_set(e, -EINVAL, ERR_INPUT, trace_name(reader),
                     "does not say how many objects were in flight (kvreplay --inflight), or how "
                     "long it took");
    return rc;
}

int point_run_read(struct point_run *run, const char *path, struct err *e)
{
    const struct trace_read_opts read = {.want = TRACE_CORE | TRACE_RESULT};
    struct trace_reader *reader = NULL;
    struct trace_cursor *cursor = NULL;
    struct objects o = {0};
    double in_flight = NAN;

    int rc = scan_open_trace(&reader, path, &read, "--knee", e);
    if (rc == 0)
        rc = trace_cursor_open(&cursor, reader, e);
    if (rc == 0)
        rc = read_rows(&o, cursor, e);
    trace_cursor_close(cursor);
    if (rc == 0)
        rc = read_summary(run, &in_flight, reader, e);
    if (rc == 0)
        rc = point_run_of(run, in_flight, o.item, o.n, e);
    trace_close(reader);
    free(o.item);
    return rc;
}

/* ---- the runs of each step ---- */

struct points *points_create(void)
{
    return calloc(1, sizeof(struct points));
}

void points_free(struct points *p)
{
    for (size_t i = 0; p && i < p->n; i++)
        free(p->step[i].run);
    free(p);
}

int points_add(struct points *p, const struct point_run *run, struct err *e)
{
    if (p->n == 0 || p->step[p->n - 1].in_flight != run->in_flight) {
        if (p->n == POINT_STEPS_MAX || (p->n > 0 && p->step[p->n - 1].in_flight > run->in_flight))
            return err_set(e, -EINVAL, ERR_INPUT, "runs",
                           "In_Flight is not in ascending order, or has more than %d steps",
                           POINT_STEPS_MAX);
        p->step[p->n++].in_flight = run->in_flight;
    }
    struct step *s = &p->step[p->n - 1];
    s->elapsed_s = run->elapsed_s;
    for (size_t i = 0; i < POINT_CLASSES; i++)
        s->objects[i] += run->objects[i];
    if (!(run->seconds > 0))
        return 0;
    if (memory_room(&s->run, &s->room, s->runs, sizeof(*s->run), 16) < 0)
        return err_nomem(e, "runs");
    s->run[s->runs] = (struct moved){.seconds = run->seconds, .bytes = run->bytes};
    memcpy(s->run[s->runs++].part_bytes_s, run->part_bytes_s, sizeof(run->part_bytes_s));
    return 0;
}

bool points_are_in(const struct number_table *t)
{
    return number_table_rows(t) > 0 && !isnan(number_table_at(t, 0, "Elapsed_s")) &&
           isnan(number_table_at(t, 0, "Round"));
}

/* The row that begins a run has its length; those behind it have the classes of its times. */
int points_add_table(struct points *p, const struct number_table *t, struct err *e)
{
    struct point_run *run = calloc(1, sizeof(*run));
    int rc = run ? 0 : err_nomem(e, "runs");

    for (size_t row = 0; rc == 0 && row < number_table_rows(t); row++) {
        double elapsed_s = number_table_at(t, row, "Elapsed_s");
        double class = number_table_at(t, row, "Class");
        if (!isnan(elapsed_s)) {
            if (row > 0)
                rc = points_add(p, run, e);
            *run = (struct point_run){.in_flight = number_table_at(t, row, "In_Flight"),
                                      .elapsed_s = elapsed_s,
                                      .seconds = number_table_at(t, row, "Seconds"),
                                      .bytes = number_table_at(t, row, "Bytes")};
            for (int k = 0; k < POINT_PARTS; k++) {
                char name[32];
                snprintf(name, sizeof(name), "Bytes_Per_s_%d", k + 1);
                run->part_bytes_s[k] = number_table_at(t, row, name);
            }
        } else if (class >= 0 && class < POINT_CLASSES) {
            run->objects[(size_t) class] += number_table_at(t, row, "Objects");
        }
        if (rc == 0 && !(run->in_flight >= 1))
            rc = err_set(e, -EINVAL, ERR_INPUT, number_table_file(t),
                         "line %zu is no run of kvtrace model: In_Flight is a number from 1",
                         row + 2);
    }
    if (rc == 0)
        rc = points_add(p, run, e);
    free(run);
    return rc;
}

size_t points_count(const struct points *p)
{
    return p->n;
}

/* ---- one step ---- */

static double percentile(const struct step *s, double share)
{
    double all = 0, below = 0;
    size_t last = 0, class;
    for (size_t i = 0; i < POINT_CLASSES; i++) {
        all += s->objects[i];
        if (s->objects[i] > 0)
            last = i;
    }
    for (class = 0; class < last; class ++) {
        below += s->objects[class];
        if (below >= share * all)
            break;
    }
    return rounded(exp(((double)class + 0.5) / 100), 1);
}

/* Half of the interval that the parts of all runs give. */
static double half_of_parts(const struct step *s)
{
    double sum = 0, square = 0, product = 0, count = (double)(s->runs * POINT_PARTS);
    for (size_t r = 0; r < s->runs; r++)
        for (int k = 0; k < POINT_PARTS; k++)
            sum += s->run[r].part_bytes_s[k];
    const double mean = sum / count;
    for (size_t r = 0; r < s->runs; r++)
        for (int k = 0; k < POINT_PARTS; k++) {
            double d = s->run[r].part_bytes_s[k] - mean;
            square += d * d;
            if (k > 0)
                product += d * (s->run[r].part_bytes_s[k - 1] - mean);
        }
    double like = square > 0 ? fmin(fmax(product / square, 0), LIKE_MOST) : 0;
    return STANDARD_ERRORS * sqrt(square / (count - 1) / count * (1 + like) / (1 - like));
}

/* The rate, without what it is beside the step before. */
static struct point_step rate_of(const struct step *s)
{
    struct point_step of = {.in_flight = s->in_flight,
                            .rate = NAN,
                            .low = NAN,
                            .high = NAN,
                            .p50_us = percentile(s, 0.5),
                            .p95_us = percentile(s, 0.95),
                            .p99_us = percentile(s, 0.99),
                            .seconds = 0,
                            .elapsed_s = s->elapsed_s,
                            .runs = (unsigned)s->runs,
                            .known_to = NAN};
    double bytes = 0, least = INFINITY, most = 0;
    if (s->runs == 0)
        return of;
    for (size_t r = 0; r < s->runs; r++) {
        double mean = s->run[r].bytes / s->run[r].seconds;
        of.seconds += s->run[r].seconds;
        bytes += s->run[r].bytes;
        least = fmin(least, mean);
        most = fmax(most, mean);
    }
    const double rate = bytes / of.seconds, half = fmax(half_of_parts(s), (most - least) / 2);
    of.rate = rounded(rate, 0);
    of.low = rounded(fmax(rate - half, 0), 0);
    of.high = rounded(rate + half, 0);
    of.seconds = rounded(of.seconds, 3);
    of.known = s->runs > 1 && half <= JUDGE_AGREES * rate;
    of.known_to = of.rate > 0 ? ceil((of.high - of.low) * 50 / of.rate) : 100;
    return of;
}

struct point_step points_step(const struct points *p, size_t i)
{
    struct point_step of = rate_of(&p->step[i]);
    if (i > 0)
        of.flat = of.rate * 100 <= rate_of(&p->step[i - 1]).rate * FLAT_PERCENT;
    return of;
}
