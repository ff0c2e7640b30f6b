/* The summary for people, on standard error: what was asked of each tier, how fast it was, and what
 * to distrust. */
#include "kvreplay/summary.h"
#include "lib/base/units.h"

static const char *text_time(char *buf, const struct hist *h, uint32_t ppm)
{
    return hist_count(h) ? units_format_duration(buf, 32, (double)hist_percentile(h, ppm)) : "-";
}

static void text_group(FILE *out, const struct stats_group *g)
{
    double mean = g->ops ? (double)g->bytes / (double)g->ops : 0;
    char count[32], bytes[32], size[32], rate[32], p50[32], p99[32], max[32], device[32],
        response[32];

    fprintf(out, "  %-7s%-7s%-8s%12s %11s %11s %13s %10s %10s %10s %10s %10s",
            trace_tier_text(g->tier), trace_op_text(g->op), trace_phase_text(g->phase),
            units_format_count(count, sizeof(count), g->ops),
            units_format_bytes(bytes, sizeof(bytes), (double)g->bytes),
            units_format_bytes(size, sizeof(size), mean),
            units_format_rate(rate, sizeof(rate), stats_rate(g)),
            text_time(p50, g->service, 500000), text_time(p99, g->service, 990000),
            text_time(max, g->service, 1000000), text_time(device, g->device, 990000),
            text_time(response, g->response, 990000));
    if (g->failed)
        fprintf(out, "  %llu not ok", (unsigned long long)g->failed);
    fputc('\n', out);
}

static void text_groups(FILE *out, const struct stats *st)
{
    fprintf(out, "  %-7s%-7s%-8s%12s %11s %11s %13s %10s %10s %10s %10s %10s\n", "tier", "op",
            "phase", "ops", "bytes", "mean object", "rate", "P50", "P99", "max", "device P99",
            "resp. P99");
    for (unsigned i = 0; i < STATS_GROUPS; i++)
        if (st->group[i].ops + st->group[i].failed > 0)
            text_group(out, &st->group[i]);
}

static void text_tiers(FILE *out, const struct tiers *t)
{
    char notes[NOTES_JOINED_CAP];

    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        const struct tier_info *info = &t->info[i];
        if (!info->engine)
            continue;
        if (info->simulated) {
            bool why = info->fallbacks.count > 0;
            fprintf(out, "%s: %s, nothing was moved or verified%s%s%s\n",
                    trace_tier_text((enum trace_tier)i), info->target, why ? " (" : "",
                    notes_join(&info->fallbacks, "; ", notes, sizeof(notes)), why ? ")" : "");
            continue;
        }
        fprintf(out, "%s: %s%s%s%s%s%s\n", trace_tier_text((enum trace_tier)i), info->engine,
                info->target[0] ? ", " : "", info->target, info->device[0] ? ", " : "",
                info->device, info->verifies ? "" : ", reads not verified");
        if (info->flags.count > 0)
            fprintf(out, "  in force: %s\n", notes_join(&info->flags, "; ", notes, sizeof(notes)));
        if (info->fallbacks.count > 0)
            fprintf(out, "  fallbacks: %s\n",
                    notes_join(&info->fallbacks, "; ", notes, sizeof(notes)));
    }
}

static void text_rows(FILE *out, const struct summary *s)
{
    const struct stats *st = s->stats;
    char rows[32], took[32], bytes[32];
    double per_s = summary_rows_per_s(s);

    fprintf(out, "%s row%s in %s (%.0f rows/s): %llu ok, %llu absent, %llu corrupt, %llu failed",
            units_format_count(rows, sizeof(rows), st->rows), units_plural(st->rows),
            units_format_duration(took, sizeof(took), (double)s->elapsed_ns),
            per_s >= 0 ? per_s : 0.0, (unsigned long long)st->ok, (unsigned long long)st->absent,
            (unsigned long long)st->corrupt, (unsigned long long)st->failed);
    if (s->skipped)
        fprintf(out, ", %llu left out", (unsigned long long)s->skipped);
    if (s->bad_rows)
        fprintf(out, ", %llu bad row%s skipped", (unsigned long long)s->bad_rows,
                units_plural(s->bad_rows));
    fprintf(out, "; reads before their write: %llu%s\n", (unsigned long long)st->reads_before_write,
            s->by_duration ? "; ended by --duration" : "");
    if (st->head_rows)
        fprintf(out, "before the clock: %llu row%s of prepop and ingest, %s\n",
                (unsigned long long)st->head_rows, units_plural(st->head_rows),
                units_format_bytes(bytes, sizeof(bytes), (double)st->head_bytes));
    if (s->warmup_ns)
        fprintf(out, "left out of what follows: %llu row%s that started in the first %s\n",
                (unsigned long long)st->warmup_rows, units_plural(st->warmup_rows),
                units_format_duration(took, sizeof(took), (double)s->warmup_ns));
    if (s->populated.objects + s->populated.adopted_objects)
        fprintf(out, "populated: %llu object%s written, %s; %llu adopted from an earlier run\n",
                (unsigned long long)s->populated.objects, units_plural(s->populated.objects),
                units_format_bytes(bytes, sizeof(bytes), (double)s->populated.bytes),
                (unsigned long long)s->populated.adopted_objects);
    if (st->created_objects)
        fprintf(out, "created during the run: %llu object%s, %s (the trace came from a pipe)\n",
                (unsigned long long)st->created_objects, units_plural(st->created_objects),
                units_format_bytes(bytes, sizeof(bytes), (double)st->created_bytes));
    if (st->unverified_reads)
        fprintf(out, "reads not verified: %llu\n", (unsigned long long)st->unverified_reads);
}

static void text_honesty(FILE *out, const struct summary *s)
{
    const struct stats *st = s->stats;
    char a[32], b[32], c[32];
    double per_gib = summary_cpu_per_gib(s);

    if (s->counted) {
        fprintf(
            out, "device %s: read %s, wrote %s", s->tiers->storage.device.name,
            units_format_bytes(a, sizeof(a), (double)(s->after.read_bytes - s->before.read_bytes)),
            units_format_bytes(b, sizeof(b),
                               (double)(s->after.write_bytes - s->before.write_bytes)));
        fprintf(out, " (Tier-2 asked for %s and %s)\n",
                units_format_bytes(a, sizeof(a), (double)st->read_bytes[TRACE_STORAGE]),
                units_format_bytes(b, sizeof(b), (double)st->write_bytes[TRACE_STORAGE]));
    }
    if (s->sync_ns >= 0)
        fprintf(out, "data forced to the device in %s after the run\n",
                units_format_duration(a, sizeof(a), (double)s->sync_ns));
    if (s->resident_share >= 0)
        fprintf(out, "page cache holds %.2f %% of the objects\n", 100 * s->resident_share);
    fprintf(out, "client lateness P50 %s, P99 %s, max %s", text_time(a, st->lateness, 500000),
            text_time(b, st->lateness, 990000), text_time(c, st->lateness, 1000000));
    if (s->timed && !s->workers)
        fprintf(out, "; furthest behind %s",
                units_format_duration(a, sizeof(a), (double)st->lag_max_ns));
    fprintf(out, "; CPU %.2f s", (double)s->cpu_ns / 1e9);
    if (s->spun_ns > 0)
        fprintf(out, " (%.2f s of it spun until rows were due)", (double)s->spun_ns / 1e9);
    if (per_gib >= 0)
        fprintf(out, ", %.3f s/GiB%s", per_gib, s->spun_ns > 0 ? " without that" : "");
    fputc('\n', out);
    for (unsigned i = 0; i < s->notes; i++)
        fprintf(out, "note: %s\n", s->note[i]);
    for (unsigned i = 0; i < s->whys; i++)
        fprintf(out, "%s%s\n", i ? "         " : "INVALID: ", s->why[i]);
}

static void text_served(FILE *out, const struct summary *s)
{
    const struct hist *queue = s->stats->queue;
    char a[32], b[32], c[32];

    if (!s->workers)
        return;
    fprintf(out, "%llu request%s let in to %llu worker%s", (unsigned long long)hist_count(queue),
            hist_count(queue) == 1 ? " was" : "s were", (unsigned long long)s->workers,
            units_plural(s->workers));
    if (hist_count(queue))
        fprintf(out, "; queue wait P50 %s, P95 %s, max %s", text_time(a, queue, 500000),
                text_time(b, queue, 950000), text_time(c, queue, 1000000));
    fputc('\n', out);
    if (s->stats->admitted_beyond)
        fprintf(out,
                "%llu of them beyond the workers, which all waited for rows of later requests\n",
                (unsigned long long)s->stats->admitted_beyond);
}

void summary_text(const struct summary *s, FILE *out)
{
    text_rows(out, s);
    text_tiers(out, s->tiers);
    text_groups(out, s->stats);
    text_served(out, s);
    text_honesty(out, s);
}
