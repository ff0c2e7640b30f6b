/* Beside survey, populate and scheduler: once a second, how far the replay is and how fast just
 * now. */
#include "kvreplay/progress_line.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"

void progress_line_began(struct progress_line *p, int64_t zero_ns)
{
    p->zero_ns = p->last_ns = zero_ns;
}

bool progress_line_due(struct progress_line *p)
{
    return progress_due(p->progress);
}

/* Share of the run that is done; 0: not known. A run with times goes by time, until it is behind.
 */
static double progress_line_share(const struct progress_line *p, const struct counts *n,
                                  int64_t elapsed_ns)
{
    uint64_t done = n->rows - n->head_rows, total = p->total_rows - n->head_rows;

    if (p->zero_ns == 0)
        return 0;
    if (p->total_ns > 0 && elapsed_ns < p->total_ns)
        return (double)elapsed_ns / (double)p->total_ns;
    return p->total_rows > n->head_rows ? (double)done / (double)total : 0;
}

void progress_line_show(struct progress_line *p, struct counts *n, size_t in_flight, size_t waiting)
{
    char text[256], json[400], brief[160], briefer[160], rows[32], left[16];
    char p99[32] = "-", p99_us[32] = "null", left_s[32] = "null";
    int64_t now = clock_now_ns(), elapsed = p->zero_ns ? now - p->zero_ns : 0;
    double seconds = (double)(now - p->last_ns) / 1e9, gib = (double)UNITS_GIB;
    uint64_t bytes = 0;

    for (unsigned i = 0; i < TRACE_TIERS; i++)
        bytes += n->read_bytes[i] + n->write_bytes[i];
    double per_s = p->last_ns && seconds > 0 ? (double)(bytes - p->last_bytes) / seconds : 0;
    double share = progress_line_share(p, n, elapsed);
    if (hist_count(n->recent) > 0) {
        int64_t ns = hist_percentile(n->recent, 990000);
        units_format_duration(p99, sizeof(p99), (double)ns);
        snprintf(p99_us, sizeof(p99_us), "%.3f", (double)ns / 1e3);
    }
    if (share > 0)
        snprintf(left_s, sizeof(left_s), "%.1f", (double)elapsed / 1e9 * (1 - share) / share);
    progress_time_left(left, share, elapsed);
    snprintf(
        text, sizeof(text), "%s row%s, %.2f GiB, %.2f GiB/s now, P99 %s now, queue %zu/%zu%s%s%s",
        units_format_count(rows, sizeof(rows), n->rows), units_plural(n->rows), (double)bytes / gib,
        per_s / gib, p99, in_flight, waiting, left[0] ? ", " : "", left, left[0] ? " left" : "");
    snprintf(
        json, sizeof(json),
        "{\"rows\": %llu, \"gib\": %.6f, \"gib_per_s_now\": %.6f, \"p99_now_us\": %s, "
        "\"queue\": {\"in_flight\": %zu, \"waiting\": %zu}, \"elapsed_s\": %.3f, \"left_s\": %s}",
        (unsigned long long)n->rows, (double)bytes / gib, per_s / gib, p99_us, in_flight, waiting,
        (double)elapsed / 1e9, left_s);
    progress_count(rows, n->rows);
    snprintf(brief, sizeof(brief), "%s%s%s rows, %.2f GiB, %.2f GiB/s, p99 %s, queue %zu/%zu", left,
             left[0] ? " left, " : "", rows, (double)bytes / gib, per_s / gib, p99, in_flight,
             waiting);
    snprintf(briefer, sizeof(briefer), "%s%s%s rows, %.2f GiB/s, p99 %s, queue %zu/%zu", left,
             left[0] ? " left, " : "", rows, per_s / gib, p99, in_flight, waiting);
    const struct progress_bar bar = {share > 0 ? share : NAN, brief, briefer};
    progress_show_bar(p->progress, &bar, text, json);
    counts_recent_reset(n);
    p->last_ns = now;
    p->last_bytes = bytes;
}

void progress_line_survey(struct progress *p, uint64_t rows)
{
    char text[96], json[96], count[32];

    if (!progress_due(p))
        return;
    snprintf(text, sizeof(text), "reading the trace: %s rows",
             units_format_count(count, sizeof(count), rows));
    snprintf(json, sizeof(json), "{\"phase\": \"survey\", \"rows\": %llu}",
             (unsigned long long)rows);
    progress_show(p, text, json);
}

void progress_line_populate(struct progress *p, uint64_t objects, uint64_t bytes,
                            uint64_t total_bytes, int64_t began_ns)
{
    char text[160], json[200], brief[120], count[32], left[16];
    double gib = (double)bytes / (double)UNITS_GIB, total = (double)total_bytes / (double)UNITS_GIB;
    int64_t elapsed = clock_now_ns() - began_ns;

    if (!progress_due(p))
        return;
    progress_time_left(left, total > 0 ? gib / total : 0, elapsed);
    snprintf(text, sizeof(text), "populating: %s objects, %.2f of %.2f GiB, %.2f GiB/s%s%s%s",
             units_format_count(count, sizeof(count), objects), gib, total,
             gib / ((double)elapsed / 1e9), left[0] ? ", " : "", left, left[0] ? " left" : "");
    snprintf(json, sizeof(json),
             "{\"phase\": \"populate\", \"objects\": %llu, \"gib\": %.6f, \"of_gib\": %.6f, "
             "\"elapsed_s\": %.3f}",
             (unsigned long long)objects, gib, total, (double)elapsed / 1e9);
    snprintf(brief, sizeof(brief), "populating: %s%s%.2f of %.2f GiB, %.2f GiB/s", left,
             left[0] ? " left, " : "", gib, total, gib / ((double)elapsed / 1e9));
    const struct progress_bar bar = {total > 0 ? gib / total : NAN, brief, NULL};
    progress_show_bar(p, &bar, text, json);
}
