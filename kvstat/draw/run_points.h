/* run_points.h - the time series of a run as the points of a picture: what happened in each. */
#ifndef KVSTAT_DRAW_RUN_POINTS_H
#define KVSTAT_DRAW_RUN_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvstat/report/figures.h"
#include "lib/trace/trace.h"

enum {
    POINTS_READ,
    POINTS_WRITE,
    POINTS_DIRECTIONS
};
extern const enum trace_op points_op[POINTS_DIRECTIONS];

/* Times over time. */
enum {
    POINTS_SERVICE,
    POINTS_RESPONSE,
    POINTS_WAIT,
    POINTS_LATENESS,
    POINTS_TIMES
};

/* Sums over the intervals of a point. */
struct point {
    size_t intervals;
    double length_s; /* of them */
    uint64_t ops[TRACE_TIERS][POINTS_DIRECTIONS], bytes[TRACE_TIERS][POINTS_DIRECTIONS];
    double contents[TRACE_TIERS]; /* bytes at the end */
    /* The greatest of the intervals, in the tier that is looked at; NAN: none. */
    double p95_us[POINTS_TIMES][POINTS_DIRECTIONS], max_us[POINTS_TIMES][POINTS_DIRECTIONS];
    uint64_t hits, lookups;
};

struct run_points {
    const struct figures *f; /* lent */
    unsigned tier;           /* that is looked at: Tier-2, or the last one with reads or writes */
    struct point *point;
    size_t points;
    double length_s; /* of all */
};

/* f has a time series. 0 or -ENOMEM with *e. Freed with free(p->point). */
int run_points_make(struct run_points *p, const struct figures *f, struct err *e);
/* Whether any point has such a time. */
bool run_points_have(const struct run_points *p, unsigned time, unsigned direction);

#endif
