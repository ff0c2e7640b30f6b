/* Reports a ladder, as text and as JSON. */
#include "kvstat/knee/ladder_report.h"

#include <math.h>

#include "kvstat/report/cells.h"

enum {
    ALIGNMENT = 4096 /* bytes, of direct I/O */
};

/* P50, P95 and P99 of the direction that P99 is of. */
static enum ladder_figure percentile(const struct ladder *l, unsigned i)
{
    return (enum ladder_figure)(l->p99 - 2 + i);
}

static double alignment(const struct ladder_step *s)
{
    double direct = s->figure[LADDER_DIRECT].mean;
    if (isnan(direct))
        return NAN;
    return direct >= 1 ? ALIGNMENT : 1;
}

/* ---- text ---- */

/* With so many digits behind the point; -1: with three in all. */
static void put_number(FILE *out, double v, int digits)
{
    char text[CELL] = "-";
    if (!isnan(v) && digits < 0)
        snprintf(text, sizeof(text), "%.3g", v);
    else if (!isnan(v))
        snprintf(text, sizeof(text), "%.*f", digits, v);
    fprintf(out, " %9s", text);
}

static void put_step(FILE *out, const struct ladder *l, const struct ladder_step *s)
{
    const struct ladder_value *rate = &s->figure[LADDER_RATE];
    char text[CELL] = "-";
    if (!isnan(rate->low))
        snprintf(text, sizeof(text), "%.3f (%.2f-%.2f)", rate->mean / 1e9, rate->low / 1e9,
                 rate->high / 1e9);
    else if (!isnan(rate->mean))
        snprintf(text, sizeof(text), "%.3f", rate->mean / 1e9);
    fprintf(out, "%9.0f %20s", s->in_flight, text);
    for (unsigned i = 0; i < 3; i++)
        put_number(out, s->figure[percentile(l, i)].mean / 1e3, -1);
    put_number(out, s->figure[LADDER_DEPTH].mean, 1);
    put_number(out, s->figure[LADDER_IO_BYTES].mean / 1024, 0);
    double aligned = alignment(s);
    fprintf(out, " %10s\n", isnan(aligned) ? "-" : aligned > 1 ? "4 KiB" : "no");
}

/* "4" or "4 to 8" */
static void put_range(FILE *out, double from, double to)
{
    if (from < to)
        fprintf(out, "%.0f to ", from);
    fprintf(out, "%.0f", to);
}

static void put_knee(FILE *out, const struct ladder *l)
{
    const double knee = isnan(l->knee_to) ? l->knee_from : l->knee_to;
    const struct ladder_step *s = &l->step[0];
    while (s < &l->step[l->steps - 1] && s->in_flight != knee)
        s++;
    const double rate = s->figure[LADDER_RATE].mean / 1e9;
    if (isnan(knee)) {
        fprintf(out, "gives more up to %.0f objects in flight (%.3g GB/s): no knee", s->in_flight,
                rate);
        return;
    }
    fputs("takes ", out);
    put_range(out, l->knee_from, knee);
    fprintf(out, " object%s in flight (%.3g GB/s, P99 of %s %.3g ms)", knee > 1 ? "s" : "", rate,
            l->p99 == LADDER_READ_P99 ? "reads" : "writes", s->figure[l->p99].mean / 1e3);
    fputs(isnan(l->knee_to) ? " or more: these rounds do not tell what twice as many give"
                            : ": twice as many give less than 5 % more",
          out);
}

static void put_cliff(FILE *out, const struct ladder *l)
{
    if (isnan(l->cliff_from)) {
        fputs("; P99 has no cliff.\n", out);
    } else if (isnan(l->cliff_to)) {
        fprintf(out, "; P99 may grow to more than 3 times at %.0f or beyond.\n", l->cliff_from);
    } else {
        fputs("; P99 grows to more than 3 times at ", out);
        put_range(out, l->cliff_from, l->cliff_to);
        fputs(".\n", out);
    }
}

void ladder_text(FILE *out, const struct ladder *l)
{
    fprintf(out, "%9s %20s %9s %9s %9s %9s %9s %10s\n", "in flight", "GB/s (rerun, 95 %)", "P50 ms",
            "P95 ms", "P99 ms", "depth", "I/O KiB", "aligned");
    for (size_t s = 0; s < l->steps; s++)
        put_step(out, l, &l->step[s]);
    if (l->changed)
        fprintf(out,
                "The drive itself changed: of %u rounds the fastest gave %.3g %% more than the "
                "slowest, beyond chance.\n",
                l->rounds, 100 * l->rounds_differ);
    fputs("This drive ", out);
    if (l->rounds < 2) {
        fputs("was measured in one round, which tells neither knee nor cliff (--trials).\n", out);
        return;
    }
    put_knee(out, l);
    put_cliff(out, l);
}

/* ---- JSON ---- */

static const char *const names[LADDER_FIGURES] = {
    [LADDER_RATE] = "bytes_per_s",       [LADDER_READ_P50] = "read_p50_us",
    [LADDER_READ_P95] = "read_p95_us",   [LADDER_READ_P99] = "read_p99_us",
    [LADDER_WRITE_P50] = "write_p50_us", [LADDER_WRITE_P95] = "write_p95_us",
    [LADDER_WRITE_P99] = "write_p99_us", [LADDER_DEPTH] = "device_depth",
    [LADDER_IO_BYTES] = "io_bytes",
};

static void value_json(struct jsonout *j, const char *name, const struct ladder_value *v)
{
    jsonout_object(j, name);
    jsonout_f64(j, "mean", v->mean);
    jsonout_f64(j, "low", v->low);
    jsonout_f64(j, "high", v->high);
    jsonout_end(j);
}

/* Both ends, and the step itself where they are one. */
static void range_json(struct jsonout *j, const char *const name[3], double from, double to)
{
    jsonout_f64(j, name[0], from == to ? from : NAN);
    jsonout_f64(j, name[1], from);
    jsonout_f64(j, name[2], to);
}

void ladder_json(struct jsonout *j, const struct ladder *l)
{
    static const char *const knee[] = {"knee", "knee_from", "knee_to"};
    static const char *const cliff[] = {"cliff", "cliff_from", "cliff_to"};
    range_json(j, knee, l->knee_from, l->knee_to);
    range_json(j, cliff, l->cliff_from, l->cliff_to);
    jsonout_f64(j, "rounds_differ", l->rounds_differ);
    jsonout_bool_if(j, "drive_changed", !isnan(l->rounds_differ), l->changed);
    jsonout_array(j, "points");
    for (size_t i = 0; i < l->steps; i++) {
        const struct ladder_step *s = &l->step[i];
        jsonout_object(j, NULL);
        jsonout_f64(j, "in_flight", s->in_flight);
        for (size_t f = 0; f < LADDER_FIGURES; f++)
            if (names[f])
                value_json(j, names[f], &s->figure[f]);
        jsonout_f64(j, "alignment_bytes", alignment(s));
        value_json(j, "next_bytes_per_s_ratio", &s->next_rate);
        value_json(j, "next_p99_ratio", &s->next_p99);
        jsonout_end(j);
    }
    jsonout_end(j);
}

/* ---- CSV ---- */

static void put_fields(FILE *out, const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(v[i]))
            putc(',', out);
        else
            fprintf(out, ",%.10g", v[i]);
}

void ladder_csv(FILE *out, const struct ladder *l)
{
    fputs("In_Flight,Bytes_Per_s,Bytes_Per_s_Low,Bytes_Per_s_High,P50_us,P50_us_Low,P50_us_High,"
          "P95_us,P95_us_Low,P95_us_High,P99_us,P99_us_Low,P99_us_High,Device_Depth,IO_Bytes,"
          "Alignment_Bytes,Knee\n",
          out);
    for (size_t i = 0; i < l->steps; i++) {
        const struct ladder_step *s = &l->step[i];
        fprintf(out, "%.0f", s->in_flight);
        for (unsigned f = 0; f < 4; f++) {
            const struct ladder_value *v = &s->figure[f == 0 ? LADDER_RATE : percentile(l, f - 1)];
            put_fields(out, (const double[]){v->mean, v->low, v->high}, 3);
        }
        put_fields(out,
                   (const double[]){s->figure[LADDER_DEPTH].mean, s->figure[LADDER_IO_BYTES].mean,
                                    alignment(s)},
                   3);
        fprintf(out, ",%d\n", s->in_flight >= l->knee_from && s->in_flight <= l->knee_to);
    }
}
