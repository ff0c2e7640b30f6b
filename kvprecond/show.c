/* Progress of a run: how far the fill is, then which round it is, and the rate since the last line.
 * Says what it is given, and only when lib/progress.c wants a line. */
#include "kvprecond/show.h"

#include <stdio.h>

#include "lib/clock.h"
#include "lib/units.h"

#define SHOW_CAP 256

static void fill_text(const struct show *s, uint64_t written, int64_t now_ns, char *text)
{
    char left[16], done[32], size[32];
    double share = (double)written / (double)s->size;

    progress_time_left(left, share, now_ns - s->begun_ns);
    snprintf(text, SHOW_CAP, "%3.0f %%  %s of %s  %s%s", share * 100,
             units_format_bytes(done, sizeof done, (double)written),
             units_format_bytes(size, sizeof size, (double)s->size), left, *left ? " left" : "");
}

static void round_text(const struct show *s, char *text)
{
    char most[32];

    units_format_duration(most, sizeof most,
                          (double)(s->round_ns * (int64_t)(STEADY_ROUNDS - s->rounds->count)));
    snprintf(text, SHOW_CAP, "round %u of at most %d  %s left at most", s->rounds->count + 1,
             STEADY_ROUNDS, most);
}

void show_tick(struct show *s, uint64_t written)
{
    char text[SHOW_CAP], line[SHOW_CAP + 64], json[SHOW_CAP], rate[32];
    int64_t now_ns;
    double now_rate;

    if (!progress_due(s->progress))
        return;
    now_ns = clock_now_ns();
    now_rate = (double)(written - s->shown_bytes) * 1e9 / (double)(now_ns - s->shown_ns + 1);
    if (s->round_ns == 0 || written < s->size)
        fill_text(s, written, now_ns, text);
    else
        round_text(s, text);
    snprintf(line, sizeof line, "%s  %s", text, units_format_rate(rate, sizeof rate, now_rate));
    snprintf(json, sizeof json,
             "{\"written_bytes\": %llu, \"size_bytes\": %llu, \"rounds\": %u, \"gib_per_s\": %.3f, "
             "\"elapsed_s\": %.3f}",
             (unsigned long long)written, (unsigned long long)s->size, s->rounds->count,
             now_rate / (double)UNITS_GIB, (double)(now_ns - s->begun_ns) / 1e9);
    progress_show(s->progress, line, json);
    s->shown_ns = now_ns;
    s->shown_bytes = written;
}
