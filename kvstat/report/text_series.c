/* The time series as a table of the text report, as JSON, and as documents of one interval each for
 * CSV. */
#include <math.h>

#include "kvstat/count/series.h"
#include "kvstat/report/cells.h"
#include "kvstat/report/report.h"

#define GIB ((double)((uint64_t)1 << 30))

static double seconds(const struct series *s)
{
    return (double)series_interval_ns(s) / 1e9;
}

/* An interval in which nothing happened. */
static const struct series_slot *slot_at(const struct series *s, size_t i)
{
    static const struct series_slot idle;
    const struct series_slot *slot = series_at(s, i);
    return slot ? slot : &idle;
}

static bool used(const struct series *s, unsigned tier, unsigned direction)
{
    for (size_t i = 0; i < series_count(s); i++)
        if (slot_at(s, i)->io[tier][direction].ops > 0)
            return true;
    return false;
}

/* Some of the interval is. */
static bool in_warmup(const struct figures *f, size_t i)
{
    return (double)i * seconds(f->scan->series) < (double)f->scan->warmup_ns / 1e9;
}

static double hit_rate(const struct series_slot *slot, const struct figures *f)
{
    double lookups = (double)slot->hits + (double)slot->misses;
    return f->lookup[FIGURES_ALL].known && lookups > 0 ? (double)slot->hits / lookups : NAN;
}

static void put_io(struct jsonout *j, const char *key, const struct series_io *io, double s)
{
    static const struct {
        const char *name;
        uint32_t ppm;
    } times[] = {{"p50", 500000}, {"p95", 950000}, {"p99", 990000}, {"max", 1000000}};
    jsonout_object(j, key);
    jsonout_u64(j, "ops", io->ops);
    jsonout_u64(j, "bytes", io->bytes);
    jsonout_f64(j, "gib_per_s", (double)io->bytes / GIB / s);
    jsonout_object(j, "service_us");
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        int64_t ns = series_percentile(io, times[i].ppm);
        jsonout_f64(j, times[i].name, ns < 0 ? NAN : (double)ns / 1e3);
    }
    jsonout_end(j);
    jsonout_end(j);
}

void report_series_interval(struct jsonout *j, const struct figures *f, size_t i,
                            int64_t contents[TRACE_TIERS])
{
    const struct series *s = f->scan->series;
    const struct series_slot *slot = slot_at(s, i);
    jsonout_f64(j, "t_s", (double)i * seconds(s));
    jsonout_bool(j, "warmup", in_warmup(f, i));
    jsonout_array(j, "tiers");
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        contents[t] += slot->change_bytes[t] + (i == 0 ? series_base_bytes(s, t) : 0);
        if (!f->tier[t].used)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "tier", trace_tier_text(t));
        put_io(j, "read", &slot->io[t][SERIES_READ], seconds(s));
        put_io(j, "write", &slot->io[t][SERIES_WRITE], seconds(s));
        jsonout_i64(j, "contents_bytes", contents[t]);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_u64(j, "lookups", slot->hits + slot->misses);
    jsonout_f64(j, "hit_rate", hit_rate(slot, f));
    jsonout_f64(j, "generated_tokens_per_s", (double)slot->generated_tokens / seconds(s));
    jsonout_u64(j, "failed", slot->failed);
}

void report_series_json(struct jsonout *j, const struct figures *f)
{
    int64_t contents[TRACE_TIERS] = {0};
    jsonout_object(j, "series");
    jsonout_f64(j, "interval_s", seconds(f->scan->series));
    jsonout_array(j, "intervals");
    for (size_t i = 0; i < series_count(f->scan->series); i++) {
        jsonout_object(j, NULL);
        report_series_interval(j, f, i, contents);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_end(j);
}

/* ---- text ---- */

static const char *const directions[SERIES_DIRECTIONS] = {"read", "write"};

static void put_titles(FILE *out, const struct series *s, const struct figures *f, bool first)
{
    fprintf(out, "  %10s", first ? "" : "from");
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        for (unsigned d = 0; d < SERIES_DIRECTIONS; d++)
            if (used(s, t, d))
                fprintf(out, " %9s", first ? trace_tier_text(t) : directions[d]);
    for (unsigned d = 0; d < SERIES_DIRECTIONS; d++)
        if (f->result && used(s, TRACE_STORAGE, d))
            fprintf(out, " %9s", first ? "P95" : directions[d]);
    fprintf(out, " %9s\n", first ? "" : "hit rate");
}

static void put_header(FILE *out, const struct series *s, const struct figures *f)
{
    fprintf(out, "\nEach %g s - GiB/s by tier%s\n", seconds(s),
            f->result ? ", at completion; P95 of the service times of Tier-2" : "");
    put_titles(out, s, f, true);
    put_titles(out, s, f, false);
}

static void put_row(FILE *out, const struct series *s, const struct figures *f, size_t i)
{
    const struct series_slot *slot = slot_at(s, i);
    char cell[CELL];
    fprintf(out, "  %8.6g s", (double)i * seconds(s));
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        for (unsigned d = 0; d < SERIES_DIRECTIONS; d++)
            if (used(s, t, d))
                fprintf(out, " %9s",
                        cell_number(cell, (double)slot->io[t][d].bytes / GIB / seconds(s)));
    for (unsigned d = 0; d < SERIES_DIRECTIONS; d++) {
        int64_t ns = series_percentile(&slot->io[TRACE_STORAGE][d], 950000);
        if (f->result && used(s, TRACE_STORAGE, d))
            fprintf(out, " %9s", ns < 0 ? "-" : cell_time(cell, (double)ns, true));
    }
    double rate = hit_rate(slot, f);
    if (isnan(rate))
        fprintf(out, " %9s", "-");
    else
        fprintf(out, " %7.2f %%", 100 * rate);
    fprintf(out, "%s\n", in_warmup(f, i) ? "  warm-up" : "");
}

void report_series_text(FILE *out, const struct figures *f)
{
    const struct series *s = f->scan->series;
    if (series_count(s) == 0)
        return;
    put_header(out, s, f);
    for (size_t i = 0; i < series_count(s); i++)
        put_row(out, s, f, i);
}
