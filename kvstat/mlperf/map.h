/* map.h - a map of another program's JSON over figures: one row for each member, from which it is
 * written, read and compared. The rows of an object stand in the order in which they are written.
 */
#ifndef KVSTAT_MLPERF_MAP_H
#define KVSTAT_MLPERF_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "kvstat/report/figure.h"
#include "lib/base/hist.h"
#include "lib/json/jsonin.h"
#include "lib/json/jsonout.h"

enum map_form {
    MAP_READ,  /* a number that is only read */
    MAP_WHOLE, /* this and the next two: a double of the writer's, or the figure */
    MAP_NUMBER,
    MAP_TRUTH,
    MAP_TEXT,   /* text, or one of the writer's, or the figure */
    MAP_TIMES,  /* statistics of a distribution in ns: a member of each in place of the "*", none
                   where it is empty; without one, an object, of 0 */
    MAP_OBJECT, /* of the rows in; left out where `at` is a NAN */
    MAP_LIST,   /* in s, of single requests: one of enum requests_listed, or none */
    MAP_OWN     /* put writes it */
};

enum {
    MAP_MEMBERS = 48 /* more than any map reads */
};

struct map_row {
    const char *name;   /* of the member; NULL: the end */
    const char *figure; /* what it is of a run, by kvstat's name; NULL: nothing */
    enum map_form form;
    size_t at;           /* of the value in the writer's struct; 0: the figure's */
    double unit;         /* of the member in the figure's; 0: 1, of statistics ms */
    bool if_known;       /* left out where unknown; else an unknown figure, or element, is 0 */
    unsigned statistics; /* of MAP_TIMES, (1 << FIGURE_P95); 0: mean and percentiles */
    unsigned place;      /* above 0: it is read, and figures come in the order of their places */
    unsigned reads;      /* of MAP_TIMES: those that are read; 0: P95 */
    unsigned listed;
    const char *text;
    const struct map_row *in;
    void (*put)(struct jsonout *j, const char *name, const void *values);
    unsigned told;     /* above 0: the place in a comparison of two files, */
    const char *label; /* and what it is called there */
};

/* Writes the rows into the open object. values: the writer's struct; it begins with a pointer to
 * the figures of the run. */
void map_put(struct jsonout *j, const struct map_row *rows, const void *values);
/* The figures of the rows that were read, so that no name is taken apart twice. Zero before use. */
struct map_names {
    size_t n;
    struct {
        const struct map_row *row;
        struct figure_id id;
    } of[MAP_MEMBERS];
};
/* Calls fn with each figure that the object has. 0, or what fn returned, which ends the calls when
 * it is not 0. */
int map_read(const struct map_row *rows, const struct jsonin_v *object, struct map_names *names,
             figure_fn fn, void *arg);
/* The row of that place in a comparison; NULL: there is none. */
const struct map_row *map_told(const struct map_row *rows, unsigned place);

/* The percentile q (0..1) in ms by linear interpolation between order statistics, as numpy has it
 * by default: within 0.1 %. NAN when empty. */
double map_percentile_ms(const struct hist *h, double q);

#endif
