/* Turns what fill.c measured of each round into figures, a verdict (steady.c) and a table. A run
 * has 25 rounds at most, so all are kept. */
#include "kvprecond/rounds.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/hist.h"
#include "lib/base/save.h"
#include "lib/base/units.h"

#define ROUNDS_LINE_CAP 192
#define ROUNDS_HEADER                                                                              \
    "Round,Start_s,Seconds,Bytes,Bandwidth_GiB_s,IOPS,Latency_mean_us,Latency_p99_us,Steady,"      \
    "Disturbed\n"

const char *rounds_track_name(enum rounds_track track)
{
    static const char *const names[] = {
        [ROUNDS_BANDWIDTH] = "bandwidth", [ROUNDS_IOPS] = "iops", [ROUNDS_LATENCY] = "latency"};

    return names[track];
}

bool rounds_add(struct rounds *r, const struct fill_span *span, const char *disturbed)
{
    const double seconds = (double)span->elapsed_ns / (double)UNITS_NS_PER_S;
    struct round *round = &r->round[r->count];

    *round = (struct round){.elapsed_ns = span->elapsed_ns,
                            .bytes = span->bytes,
                            .writes = span->writes,
                            .bytes_per_s = (double)span->bytes / seconds,
                            .iops = (double)span->writes / seconds,
                            .mean_ns = hist_mean(span->service),
                            .p99_ns = hist_percentile(span->service, 990000)};
    if (r->count > 0)
        round->start_ns = round[-1].start_ns + round[-1].elapsed_ns;
    snprintf(round->disturbed, sizeof(round->disturbed), "%s", disturbed);
    if (!disturbed[0]) {
        r->number[r->judged] = r->count;
        r->value[r->judged++] = r->track == ROUNDS_LATENCY ? round->mean_ns
                                : r->track == ROUNDS_IOPS  ? round->iops
                                                           : round->bytes_per_s;
        round->verdict = steady_judge(r->value, r->judged);
    }
    r->count++;
    return round->verdict.steady;
}

const struct round *rounds_last(const struct rounds *r)
{
    return r->judged > 0 ? &r->round[r->number[r->judged - 1]] : NULL;
}

bool rounds_steady(const struct rounds *r)
{
    return r->count > 0 && r->round[r->count - 1].verdict.steady;
}

int rounds_save(const struct rounds *r, const char *path, struct err *e)
{
    char text[sizeof(ROUNDS_HEADER) + STEADY_ROUNDS * ROUNDS_LINE_CAP] = ROUNDS_HEADER;
    size_t len = strlen(text);

    for (unsigned i = 0; i < r->count; i++) {
        const struct round *round = &r->round[i];
        int n =
            snprintf(text + len, ROUNDS_LINE_CAP, "%u,%.3f,%.3f,%llu,%.6f,%.3f,%.3f,%.3f,%d,%d\n",
                     i + 1, (double)round->start_ns / 1e9, (double)round->elapsed_ns / 1e9,
                     (unsigned long long)round->bytes, round->bytes_per_s / (double)UNITS_GIB,
                     round->iops, round->mean_ns / 1e3, (double)round->p99_ns / 1e3,
                     round->verdict.steady, round->disturbed[0] != '\0');

        len += n < ROUNDS_LINE_CAP ? (size_t)n : ROUNDS_LINE_CAP - 1;
    }
    return save_text(path, text, len, e);
}
