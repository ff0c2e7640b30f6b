/* The progress of a run for kvprecond.c: how far the fill is, then which round it is, and the rate
 * since the last line. lib/base/progress.c decides when and how a line is shown. */
#include "kvprecond/run_progress.h"

#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"

#define LINE_CAP 256

void run_progress_tick(struct run_progress *p, uint64_t written)
{
    char text[LINE_CAP], line[LINE_CAP + 64], brief[LINE_CAP + 64], json[LINE_CAP];
    char left[32], done[32], size[32], rate[32];
    int64_t now_ns;
    double now_rate, share;

    if (!progress_due(p->progress))
        return;
    now_ns = clock_now_ns();
    now_rate = (double)(written - p->shown_bytes) * 1e9 / (double)(now_ns - p->shown_ns + 1);
    if (p->round_ns == 0 || written < p->size) {
        share = (double)written / (double)p->size;
        progress_time_left(left, share, now_ns - p->begun_ns);
        snprintf(text, sizeof(text), "%3.0f %%  %s of %s  %s%s", share * 100,
                 units_format_bytes(done, sizeof(done), (double)written),
                 units_format_bytes(size, sizeof(size), (double)p->size), left,
                 *left ? " left" : "");
    } else {
        unsigned more = STEADY_ROUNDS - p->rounds->count;

        share = (double)p->rounds->count / STEADY_ROUNDS;
        snprintf(text, sizeof(text), "round %u of at most %d  %s left at most",
                 p->rounds->count + 1, STEADY_ROUNDS,
                 units_format_duration(left, sizeof(left), (double)(p->round_ns * more)));
    }
    snprintf(line, sizeof(line), "%s  %s", text, units_format_rate(rate, sizeof(rate), now_rate));
    snprintf(json, sizeof(json),
             "{\"written_bytes\": %llu, \"size_bytes\": %llu, \"rounds\": %u, \"gib_per_s\": %.3f, "
             "\"elapsed_s\": %.3f}",
             (unsigned long long)written, (unsigned long long)p->size, p->rounds->count,
             now_rate / (double)UNITS_GIB, (double)(now_ns - p->begun_ns) / 1e9);
    units_format_rate(rate, sizeof(rate), now_rate);
    snprintf(brief, sizeof(brief), "%s, %s", text, rate);
    const struct progress_bar bar = {share, brief, NULL};
    progress_show_bar(p->progress, &bar, line, json);
    p->shown_ns = now_ns;
    p->shown_bytes = written;
}
