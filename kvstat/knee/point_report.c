/* Reports the steps of kvtrace model, and writes a run as the table that they are read from. */
#include "kvstat/knee/point_report.h"

#include <math.h>

#include "kvstat/report/cells.h"

/* ---- text ---- */

void points_text(FILE *out, const struct points *p)
{
    fprintf(out, "%9s %22s %9s %9s %9s %5s %9s\n", "in flight", "GB/s (95 %)", "P50 ms", "P95 ms",
            "P99 ms", "runs", "known to");
    for (size_t i = 0; i < points_count(p); i++) {
        const struct point_step s = points_step(p, i);
        char rate[CELL] = "-", known[CELL] = "-";
        if (!isnan(s.rate)) {
            snprintf(rate, sizeof(rate), "%.3f (%.3f-%.3f)", s.rate / 1e9, s.low / 1e9,
                     s.high / 1e9);
            snprintf(known, sizeof(known), "%.0f %%", s.known_to);
        }
        fprintf(out, "%9.0f %22s %9.3g %9.3g %9.3g %5u %9s%s\n", s.in_flight, rate, s.p50_us / 1e3,
                s.p95_us / 1e3, s.p99_us / 1e3, s.runs, known,
                s.flat ? " no more than the step before" : "");
    }
}

/* ---- JSON ---- */

void points_json(struct jsonout *j, const struct points *p)
{
    jsonout_array(j, "points");
    for (size_t i = 0; i < points_count(p); i++) {
        const struct point_step s = points_step(p, i);
        jsonout_object(j, NULL);
        jsonout_f64(j, "in_flight", s.in_flight);
        jsonout_f64(j, "bytes_per_s", s.rate);
        jsonout_f64(j, "low", s.low);
        jsonout_f64(j, "high", s.high);
        jsonout_f64(j, "p50_us", s.p50_us);
        jsonout_f64(j, "p95_us", s.p95_us);
        jsonout_f64(j, "p99_us", s.p99_us);
        jsonout_f64(j, "seconds", s.seconds);
        jsonout_u64(j, "runs", s.runs);
        jsonout_f64(j, "last_run_s", s.elapsed_s);
        jsonout_bool(j, "known", s.known);
        jsonout_f64(j, "known_to_percent", s.known_to);
        jsonout_bool(j, "flat", s.flat);
        jsonout_end(j);
    }
    jsonout_end(j);
}

/* ---- CSV ---- */

static void put(FILE *out, double v, int digits)
{
    if (isnan(v))
        putc(',', out);
    else
        fprintf(out, ",%.*f", digits, v);
}

void points_csv(FILE *out, const struct points *p)
{
    fputs("In_Flight,Bytes_Per_s,Bytes_Per_s_Low,Bytes_Per_s_High,P50_us,P95_us,P99_us,Seconds,"
          "Runs,Last_Run_ms,Known,Known_To_Percent,Flat\n",
          out);
    for (size_t i = 0; i < points_count(p); i++) {
        const struct point_step s = points_step(p, i);
        fprintf(out, "%.0f", s.in_flight);
        put(out, s.rate, 0);
        put(out, s.low, 0);
        put(out, s.high, 0);
        put(out, s.p50_us, 1);
        put(out, s.p95_us, 1);
        put(out, s.p99_us, 1);
        put(out, s.seconds, 3);
        fprintf(out, ",%u", s.runs);
        put(out, s.elapsed_s * 1000, 0);
        fprintf(out, ",%d", s.known);
        put(out, s.known_to, 0);
        fprintf(out, ",%d\n", s.flat);
    }
}

void point_run_csv(FILE *out, const struct point_run *run)
{
    const bool moved = run->seconds > 0;
    fputs("In_Flight,Elapsed_s,Seconds,Bytes", out);
    for (int k = 0; k < POINT_PARTS; k++)
        fprintf(out, ",Bytes_Per_s_%d", k + 1);
    fprintf(out, ",Class,Objects\n%.0f,%.9f", run->in_flight, run->elapsed_s);
    put(out, moved ? run->seconds : NAN, 6);
    put(out, moved ? run->bytes : NAN, 0);
    for (int k = 0; k < POINT_PARTS; k++)
        put(out, moved ? run->part_bytes_s[k] : NAN, 0);
    fputs(",,\n", out);
    for (size_t i = 0; i < POINT_CLASSES; i++)
        if (run->objects[i] > 0)
            fprintf(out, "%.0f,,,,,,,,,,,,,,%zu,%.0f\n", run->in_flight, i, run->objects[i]);
}
