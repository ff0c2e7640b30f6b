/* Beside the scheduler: once a second, how far the replay is and how fast just now. */
#include "kvreplay/show.h"

#include "lib/clock.h"
#include "lib/units.h"

void show_began(struct show *s, int64_t zero_ns)
{
    s->zero_ns = s->last_ns = zero_ns;
}

static uint64_t show_bytes(const struct stats *st)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        bytes += st->read_bytes[i] + st->write_bytes[i];
    return bytes;
}

void show_tick(struct show *s, const struct trace_reader *trace, const struct stats *st)
{
    char text[200], json[300], rows[32], moved[32], rate[32], left[16];
    uint64_t consumed, total;

    if (!progress_due(s->progress))
        return;
    int64_t now = clock_now_ns();
    uint64_t bytes = show_bytes(st);
    double seconds = (double)(now - s->last_ns) / 1e9;
    double per_s = s->last_ns && seconds > 0 ? (double)(bytes - s->last_bytes) / seconds : 0;
    trace_progress(trace, &consumed, &total);
    double share = total ? (double)consumed / (double)total : 0;
    progress_time_left(left, share, s->zero_ns ? now - s->zero_ns : 0);
    snprintf(text, sizeof(text), "%s rows, %s, %s now%s%s%s",
             units_format_count(rows, sizeof(rows), st->rows),
             units_format_bytes(moved, sizeof(moved), (double)bytes),
             units_format_rate(rate, sizeof(rate), per_s), left[0] ? ", " : "", left,
             left[0] ? " left" : "");
    snprintf(json, sizeof(json),
             "{\"rows\": %llu, \"bytes\": %llu, \"bytes_per_s_now\": %.0f, \"elapsed_s\": %.3f, "
             "\"done_share\": %.4f}",
             (unsigned long long)st->rows, (unsigned long long)bytes, per_s,
             s->zero_ns ? (double)(now - s->zero_ns) / 1e9 : 0.0, share);
    progress_show(s->progress, text, json);
    s->last_ns = now;
    s->last_bytes = bytes;
}
