/* The result of a run as a screen of text. Only formats: every figure was taken by kvprecond.c,
 * fill.c and rounds.c. */
#include <errno.h>

#include "kvprecond/report.h"
#include "lib/base/units.h"

#define TEXT_CAP 64

double report_bytes_per_s(const struct report *r)
{
    if (r->fill.elapsed_ns <= 0)
        return 0;
    return (double)r->fill.bytes * (double)UNITS_NS_PER_S / (double)r->fill.elapsed_ns;
}

double report_cpu_s_per_gib(const struct report *r)
{
    double gib = (double)r->fill.total_bytes / (double)UNITS_GIB;

    return gib > 0 ? (double)r->cpu_ns / (double)UNITS_NS_PER_S / gib : 0;
}

const char *report_mode(const struct report *r)
{
    static const char *const names[] = {"sequential", "random", "kv"};

    return names[r->o->mode];
}

static void text_mode(const struct report *r, FILE *out)
{
    char a[TEXT_CAP], b[TEXT_CAP];

    fprintf(out, "  mode        %s, ", report_mode(r));
    if (r->o->mode == PLAN_KV)
        fprintf(out, "objects of %s (%s, %d tokens), ",
                units_format_bytes(b, sizeof(b), (double)r->o->object_bytes), r->o->model.id,
                OPTIONS_OBJECT_TOKENS);
    fprintf(out, "%s at a time, up to %llu in flight",
            units_format_bytes(a, sizeof(a), (double)r->o->block_bytes),
            (unsigned long long)r->o->iodepth);
    if (r->o->threads > 1)
        fprintf(out, " of each of %llu threads", (unsigned long long)r->o->threads);
    fputc('\n', out);
    if (r->o->purge && r->purge_failed)
        fprintf(out, "  purge       not possible (%s)\n", r->purge_failed);
    else if (r->o->purge)
        fprintf(out, "  purge       %s discarded before\n",
                units_format_bytes(a, sizeof(a), (double)r->purged_bytes));
}

static void text_written(const struct report *r, FILE *out)
{
    char a[TEXT_CAP], b[TEXT_CAP], c[TEXT_CAP];

    fprintf(out, "  written     %s of %s", units_format_bytes(a, sizeof(a), (double)r->fill.bytes),
            units_format_bytes(b, sizeof(b), (double)r->size_bytes));
    if (r->capacity)
        fprintf(out, ", %.2f times the device", (double)r->fill.bytes / (double)r->capacity);
    if (!r->fill.complete && r->why_short)
        fprintf(out, ", ended by %s", r->why_short);
    fprintf(out, "\n  bandwidth   %s (%.3f GB/s) over %s, then %s to make it durable\n",
            units_format_rate(a, sizeof(a), report_bytes_per_s(r)), report_bytes_per_s(r) / 1e9,
            units_format_duration(b, sizeof(b), (double)r->fill.elapsed_ns),
            units_format_duration(c, sizeof(c), (double)r->sync_ns));
    fprintf(out, "  a write     p50 %s, p99 %s, max %s\n",
            units_format_duration(a, sizeof(a), (double)hist_percentile(r->service, 500000)),
            units_format_duration(b, sizeof(b), (double)hist_percentile(r->service, 990000)),
            units_format_duration(c, sizeof(c), (double)hist_max(r->service)));
}

static void text_device(const struct report *r, FILE *out)
{
    char a[TEXT_CAP], fallbacks[NOTES_JOINED_CAP];

    fprintf(out, "  processor   %.3f s per GiB\n", report_cpu_s_per_gib(r));
    fprintf(out, "  engine      %s, %s%s%s\n", r->engine, r->direct ? "O_DIRECT" : "buffered",
            r->fallbacks.count > 0 ? "; " : "",
            notes_join(&r->fallbacks, "; ", fallbacks, sizeof(fallbacks)));
    if (r->device.counted)
        fprintf(out, "  device      %s%s%s: %s written by the kernel's count\n", r->device.name,
                *r->device.model ? " " : "", r->device.model,
                units_format_bytes(a, sizeof(a), (double)r->device_write_bytes));
}

static void text_fate(const struct report *r, FILE *out)
{
    if (r->o->kind == TARGET_DIR)
        fprintf(out, "  files       %llu, %s\n", (unsigned long long)r->files,
                r->kept ? "kept" : "removed (--keep leaves them)");
    else if (r->o->kind == TARGET_FILE)
        fprintf(out, "  file        %s\n",
                r->kept ? "kept" : "cut to its former length (--keep leaves it)");
}

/* ---- rounds ---- */

static void text_round(unsigned number, const struct round *round, FILE *out)
{
    char mean[TEXT_CAP], p99[TEXT_CAP], rate[TEXT_CAP], iops[TEXT_CAP];

    fprintf(out, "  %5u  %11s  %10s  %10s  %10s", number,
            units_format_rate(rate, sizeof(rate), round->bytes_per_s),
            units_format_count(iops, sizeof(iops), (uint64_t)(round->iops + 0.5)),
            units_format_duration(mean, sizeof(mean), round->mean_ns),
            units_format_duration(p99, sizeof(p99), (double)round->p99_ns));
    if (round->verdict.average > 0)
        fprintf(out, "  %5.1f %%  %5.1f %%", round->verdict.range_share * 100,
                round->verdict.slope_share * 100);
    fprintf(out, "%s\n", round->verdict.steady ? "  steady" : "");
}

static void text_verdict(const struct report *r, FILE *out)
{
    const struct rounds *all = &r->rounds;
    const char *track = rounds_track_name(all->track);
    const struct steady *last = &all->round[all->count - 1].verdict;

    if (last->average > 0)
        fprintf(
            out,
            "  steady      %s: over rounds %u to %u the range of %s is %.1f %% of its average "
            "(%.0f %% allowed),\n              the rise of its line %.1f %% (%.0f %% allowed)\n",
            last->steady ? "yes" : "no", all->count - STEADY_WINDOW + 1, all->count, track,
            last->range_share * 100, STEADY_RANGE_MAX * 100, last->slope_share * 100,
            STEADY_SLOPE_MAX * 100);
    else
        fprintf(out, "  steady      no: %u round%s of %d\n", all->count, units_plural(all->count),
                STEADY_WINDOW);
    if (!r->fill.complete || !r->why_short)
        return;
    fprintf(out, "              ended by %s\n", r->why_short);
}

static void text_rounds(const struct report *r, FILE *out)
{
    char a[TEXT_CAP];

    if (!r->o->until_steady)
        return;
    if (r->rounds.count == 0) {
        fprintf(out, "  steady      no: no round has ended%s%s\n",
                r->why_short ? "; ended by " : "", r->why_short ? r->why_short : "");
        return;
    }
    fprintf(out, "rounds of %s, by %s\n",
            units_format_duration(a, sizeof(a), (double)r->o->round_ns),
            rounds_track_name(r->rounds.track));
    fprintf(out, "  %5s  %11s  %10s  %10s  %10s  %7s  %7s\n", "round", "bandwidth", "writes/s",
            "mean", "p99", "range", "slope");
    for (unsigned i = 0; i < r->rounds.count; i++)
        text_round(i + 1, &r->rounds.round[i], out);
    text_verdict(r, out);
}

int report_text(const struct report *r, FILE *out, struct err *e)
{
    fprintf(out, "kvprecond: %s\n", r->o->path);
    text_mode(r, out);
    text_written(r, out);
    text_device(r, out);
    text_fate(r, out);
    text_rounds(r, out);
    if (fflush(out) != 0 || ferror(out))
        return err_errno(e, errno ? -errno : -EIO, ERR_OUTPUT, "standard output",
                         "cannot be written");
    return 0;
}
