/* point.h - how fast a drive is with so many objects in flight: what the runs of kvtrace model tell
 * of each step, and how well the rate is known. */
#ifndef KVSTAT_KNEE_POINT_H
#define KVSTAT_KNEE_POINT_H

#include <stdbool.h>
#include <stddef.h>

#include "kvstat/number_table.h"
#include "lib/base/err.h"

enum {
    POINT_PARTS = 10,
    POINT_CLASSES = 4096, /* beyond the longest time */
    POINT_STEPS_MAX = 64
};

/* A row of a result. */
struct point_object {
    double start_s, time_us, bytes;
};

/* One run. The parts are of the time in which all objects were in flight: from the start that takes
 * the last place to the last start. What an object moves is spread over its time. Classes of times
 * are 1 % apart. */
struct point_run {
    double in_flight, elapsed_s;
    double seconds, bytes; /* seconds NAN: too short */
    double part_bytes_s[POINT_PARTS];
    double objects[POINT_CLASSES]; /* whose time is in the class */
};

/* From n objects in the order of a result, of a run with in_flight. elapsed_s stays as it is. 0 or
 * -ENOMEM with *e. Numbers are rounded as point_run_csv writes them. */
int point_run_of(struct point_run *run, double in_flight, const struct point_object *o, size_t n,
                 struct err *e);
/* Reads a result of kvreplay. 0, or a negative errno with *e: it does not say how many objects were
 * in flight or how long it took, and others. */
int point_run_read(struct point_run *run, const char *path, struct err *e);

/*
 * What the runs of a step give together: their bytes by their seconds. Its interval is as wide as
 * the larger of two: 2.1 standard errors of the parts, sqrt((1 + r) / (1 - r)) times as wide for
 * their correlation r with the part before, 0.9 at most; and half of what runs differ by. The rate
 * is known when there are two runs and the interval ends within 5 % of it. All is rounded as
 * reports show it. NAN: no run was long enough.
 */
struct point_step {
    double in_flight;
    double rate, low, high; /* bytes/s */
    double p50_us, p95_us, p99_us;
    double seconds, elapsed_s; /* elapsed_s: of the last run */
    unsigned runs;             /* that were long enough */
    bool known;
    double known_to; /* percent, the next whole number */
    bool flat;       /* at most 5 % more than the step before */
};

struct points;
struct points *points_create(void); /* NULL: no memory */
void points_free(struct points *p);
/* Steps come in ascending order. 0; -EINVAL: they do not, or are more than the most; -ENOMEM. */
int points_add(struct points *p, const struct point_run *run, struct err *e);
/* Adds the runs of a table that point_run_csv wrote; with -EINVAL for one that is not. */
int points_add_table(struct points *p, const struct number_table *t, struct err *e);
size_t points_count(const struct points *p);
struct point_step points_step(const struct points *p, size_t i);

/* Whether a table has runs, and not the rounds of kvtrace knee. */
bool points_are_in(const struct number_table *t);

#endif
