/* intervals.h - the figures of each interval of a time series. */
#ifndef KVSTAT_REPORT_INTERVALS_H
#define KVSTAT_REPORT_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvstat/report/figure.h"

struct series;
struct provenance_queue;

struct intervals_source {
    const struct series *series;
    const struct provenance_queue *queue; /* TRACE_QOSES */
    int64_t end_ns;                       /* of a result: of its last operation, from its zero */
    int64_t warmup_ns;                    /* of the result file */
    bool used[TRACE_TIERS];
    bool misses_known;
};

struct intervals;
/* Takes nothing over; series need not live on. NULL: no memory. */
struct intervals *intervals_create(const struct intervals_source *s);
void intervals_free(struct intervals *s);

/* Whether the series was asked for; else it is there for pictures only. */
bool intervals_asked_for(const struct intervals *s);
double intervals_length_s(const struct intervals *s); /* of each */
size_t intervals_count(const struct intervals *s);
/* The figures of an interval: FIGURE_OF_RUN, FIGURE_OF_WARMUP, FIGURE_OF_DIRECTION, FIGURE_OF_TIER,
 * FIGURE_HITS of FIGURE_OF_ROWS; and of FIGURE_OF_QOS, in a served run, the requests let in
 * (FIGURE_REQUESTS), those in line at its end, and the mean wait of both. */
struct figure_part intervals_at(const struct intervals *s, size_t i);
/* A number among them; NAN when there is none. */
double intervals_number(const struct intervals *s, size_t i, struct figure_id id);

#endif
