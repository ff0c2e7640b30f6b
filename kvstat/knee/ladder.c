/* The statistics of a ladder: by step and round there is one value of each figure. */
#include "kvstat/knee/ladder.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "kvstat/count/statistics.h"

#define KNEE_GIVES  1.05 /* throughput that a doubling must give below the knee */
#define CLIFF_TIMES 3.0  /* P99 that a doubling may have before the cliff */
#define LIKE_MOST   0.9

/* The figures that stand in a column as they are. */
static const char *const column[LADDER_FIGURES] = {
    [LADDER_RATE] = "Bytes_Per_s",       [LADDER_READ_P50] = "Read_P50_us",
    [LADDER_READ_P95] = "Read_P95_us",   [LADDER_READ_P99] = "Read_P99_us",
    [LADDER_WRITE_P50] = "Write_P50_us", [LADDER_WRITE_P95] = "Write_P95_us",
    [LADDER_WRITE_P99] = "Write_P99_us", [LADDER_DIRECT] = "Direct",
};

struct rounds {
    struct ladder *l;
    double *value; /* by figure, step and round; NAN: none */
};

static double *at(const struct rounds *r, size_t figure, size_t step, size_t round)
{
    return &r->value[(figure * LADDER_STEPS_MAX + step) * LADDER_ROUNDS_MAX + round];
}

/* ---- the table ---- */

static double figure_of(const struct number_table *t, size_t row, enum ladder_figure figure)
{
    double ios, bytes;

    switch (figure) {
    case LADDER_DEPTH:
        return number_table_at(t, row, "IO_s") / number_table_at(t, row, "Elapsed_s");
    case LADDER_IO_BYTES:
        ios = number_table_at(t, row, "Device_Read_IOs") +
              number_table_at(t, row, "Device_Write_IOs");
        bytes = number_table_at(t, row, "Device_Read_Bytes") +
                number_table_at(t, row, "Device_Write_Bytes");
        return ios > 0 ? bytes / ios : NAN;
    default:
        return number_table_at(t, row, column[figure]);
    }
}

/* Finds the steps, ascending. */
static int find_step(struct ladder *l, const struct number_table *t, size_t row, struct err *e)
{
    double in_flight = number_table_at(t, row, "In_Flight"),
           round = number_table_at(t, row, "Round");
    size_t s = 0;

    if (!(in_flight >= 1 && round >= 1 && round <= LADDER_ROUNDS_MAX && round == floor(round)))
        return err_set(e, -EINVAL, ERR_INPUT, number_table_file(t),
                       "line %zu is no round of kvtrace knee: In_Flight and Round are numbers from "
                       "1, Round is at most %d",
                       row + 2, LADDER_ROUNDS_MAX);
    if (round > l->rounds)
        l->rounds = (unsigned)round;
    while (s < l->steps && l->step[s].in_flight < in_flight)
        s++;
    if (s < l->steps && l->step[s].in_flight == in_flight)
        return 0;
    if (l->steps == LADDER_STEPS_MAX)
        return err_set(e, -EINVAL, ERR_INPUT, number_table_file(t), "has more than %d steps",
                       LADDER_STEPS_MAX);
    for (size_t i = l->steps++; i > s; i--)
        l->step[i].in_flight = l->step[i - 1].in_flight;
    l->step[s].in_flight = in_flight;
    return 0;
}

static void take_row(const struct rounds *r, const struct number_table *t, size_t row)
{
    double in_flight = number_table_at(t, row, "In_Flight");
    size_t round = (size_t)number_table_at(t, row, "Round"), s = 0;

    while (r->l->step[s].in_flight < in_flight)
        s++;
    for (size_t i = 0; i < LADDER_FIGURES; i++) {
        double v = figure_of(t, row, (enum ladder_figure)i);
        *at(r, i, s, round - 1) = isfinite(v) ? v : NAN;
    }
}

/* ---- one step ---- */

/* Values of a step that are known, into v; returns their number. */
static size_t known(const struct rounds *r, size_t figure, size_t step, double *v)
{
    size_t n = 0;
    for (unsigned k = 0; k < r->l->rounds; k++)
        if (!isnan(*at(r, figure, step, k)))
            v[n++] = *at(r, figure, step, k);
    return n;
}

/* How much wider an interval is for rounds that are like those before them. Deviations are shares
 * of the mean of a step. */
static double wider(const struct rounds *r, size_t figure, double *v)
{
    double all = 0, both = 0;
    for (size_t s = 0; s < r->l->steps; s++) {
        double mean = statistics_of(v, known(r, figure, s, v)).mean, last = NAN;
        if (!(mean > 0))
            continue;
        for (unsigned k = 0; k < r->l->rounds; k++) {
            double d = *at(r, figure, s, k) / mean - 1;
            all += isnan(d) ? 0 : d * d;
            both += isnan(d * last) ? 0 : d * last;
            last = d;
        }
    }
    double like = all > 0 && both > 0 ? fmin(both / all, LIKE_MOST) : 0;
    return sqrt((1 + like) / (1 - like));
}

static void find_figure(const struct rounds *r, size_t figure, double *v)
{
    double wide = wider(r, figure, v);
    for (size_t s = 0; s < r->l->steps; s++) {
        const struct statistics_sample of = statistics_of(v, known(r, figure, s, v));
        /* statistics_of gives t s / sqrt(n). */
        double half = (of.high - of.mean) * sqrt(2) * wide;
        r->l->step[s].figure[figure] = (struct ladder_value){
            of.mean, isnan(half) ? NAN : fmax(of.mean - half, 0), of.mean + half};
    }
}

/* ---- from one step to the next ---- */

static struct ladder_value ratio(const struct rounds *r, size_t figure, size_t step, double *v)
{
    size_t n = 0;
    for (unsigned k = 0; k < r->l->rounds; k++) {
        double d = *at(r, figure, step + 1, k) / *at(r, figure, step, k);
        if (d > 0 && isfinite(d))
            v[n++] = log(d);
    }
    const struct statistics_sample of = statistics_of(v, n);
    return (struct ladder_value){exp(of.mean), exp(of.low), exp(of.high)};
}

double ladder_knee_below(double in_flight, double next_in_flight)
{
    return pow(KNEE_GIVES, log2(next_in_flight / in_flight));
}

static void find_steps(const struct rounds *r, double *v)
{
    struct ladder *l = r->l;
    l->knee_from = l->knee_to = l->cliff_from = l->cliff_to = NAN;
    for (size_t s = 0; s < l->steps; s++) {
        const struct ladder_value none = {NAN, NAN, NAN};
        struct ladder_step *here = &l->step[s];
        here->next_rate = here->next_p99 = none;
        if (s + 1 == l->steps)
            break;
        double next = l->step[s + 1].in_flight;
        double gives = ladder_knee_below(here->in_flight, next);
        double times = pow(CLIFF_TIMES, log2(next / here->in_flight));
        here->next_rate = ratio(r, LADDER_RATE, s, v);
        here->next_p99 = ratio(r, l->p99, s, v);
        if (isnan(l->knee_from) && !(here->next_rate.low >= gives))
            l->knee_from = here->in_flight;
        if (isnan(l->knee_to) && here->next_rate.high < gives)
            l->knee_to = here->in_flight;
        if (isnan(l->cliff_from) && !(here->next_p99.high <= times))
            l->cliff_from = next;
        if (isnan(l->cliff_to) && here->next_p99.low > times)
            l->cliff_to = next;
    }
}

/* ---- from round to round ---- */

/* Studentized ranges of 2 and more means, 95 %, for 10 degrees of freedom (Harter, Annals of
 * Mathematical Statistics 31(4), 1960): with more degrees of freedom they are smaller. */
static double tukey(unsigned means)
{
    static const double q[] = {3.15, 3.88, 4.33, 4.65, 4.91, 5.12, 5.30, 5.46, 5.60, 5.72,
                               5.83, 5.93, 6.03, 6.11, 6.19, 6.27, 6.34, 6.40, 6.47};
    const unsigned most = sizeof(q) / sizeof(q[0]);
    return means - 2 < most ? q[means - 2] : 8.5;
}

/* means: one for each round. Where a round of a step is missing nothing is told. */
static void find_change(const struct rounds *r, double *means)
{
    struct ladder *l = r->l;
    double of_step[LADDER_STEPS_MAX] = {0}, all = 0, rest = 0;
    const unsigned rounds = l->rounds, steps = (unsigned)l->steps;

    l->rounds_differ = NAN;
    for (unsigned k = 0; k < rounds; k++) {
        means[k] = 0;
        for (unsigned s = 0; s < steps; s++) {
            double m = log(*at(r, LADDER_RATE, s, k));
            of_step[s] += m / rounds;
            means[k] += m / steps;
            all += m / (steps * rounds);
        }
    }
    if (rounds < 2 || !isfinite(all))
        return;
    double least = means[0], most = means[0];
    for (unsigned k = 0; k < rounds; k++) {
        for (unsigned s = 0; s < steps; s++)
            rest += pow(log(*at(r, LADDER_RATE, s, k)) - of_step[s] - means[k] + all, 2);
        least = fmin(least, means[k]);
        most = fmax(most, means[k]);
    }
    unsigned freedom = (steps - 1) * (rounds - 1);
    l->rounds_differ = exp(most - least) - 1;
    l->changed = freedom >= 10 && most - least > tukey(rounds) * sqrt(rest / freedom / steps);
}

int ladder_of(struct ladder *l, const struct number_table *rounds, struct err *e)
{
    const size_t values = (size_t)LADDER_FIGURES * LADDER_STEPS_MAX * LADDER_ROUNDS_MAX;
    struct rounds r = {.l = l, .value = malloc(values * sizeof(*r.value))};
    double *v = malloc(LADDER_ROUNDS_MAX * sizeof(*v));
    int rc = r.value && v ? 0 : err_nomem(e, "rounds");

    *l = (struct ladder){.p99 = LADDER_WRITE_P99};
    for (size_t i = 0; rc == 0 && i < values; i++)
        r.value[i] = NAN;
    for (size_t row = 0; rc == 0 && row < number_table_rows(rounds); row++)
        rc = find_step(l, rounds, row, e);
    for (size_t row = 0; rc == 0 && row < number_table_rows(rounds); row++)
        take_row(&r, rounds, row);
    if (rc == 0 && l->steps == 0)
        rc = err_set(e, -EINVAL, ERR_INPUT, number_table_file(rounds), "has no rounds");
    if (rc == 0) {
        for (size_t s = 0; s < l->steps; s++)
            if (known(&r, LADDER_READ_P99, s, v) > 0)
                l->p99 = LADDER_READ_P99;
        for (size_t i = 0; i < LADDER_FIGURES; i++)
            find_figure(&r, i, v);
        find_steps(&r, v);
        find_change(&r, v);
    }
    free(r.value);
    free(v);
    return rc;
}
