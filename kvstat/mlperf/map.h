/* map.h - maps members of another program's JSON to figures. One row says how a member is written,
 * read and compared. The rows of an object stand in the order in which they are written. */
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
    MAP_WHOLE, /* this and the next two: a double of the writer's struct, or the figure */
    MAP_NUMBER,
    MAP_TRUTH,
    MAP_TEXT,   /* the row's text, or a text of the writer's struct, or the figure */
    MAP_TIMES,  /* statistics of a distribution in ns. A name with "*": a member for each, none if
                   it is empty; else: one object, with zeros if it is empty */
    MAP_OBJECT, /* an object of the rows in; left out if the value at `at` is NAN */
    MAP_LIST,   /* a time of every request, in s; listed: which (enum requests_listed) */
    MAP_OWN     /* put writes it */
};

enum {
    MAP_MEMBERS = 48 /* more than any map reads */
};

struct map_row {
    const char *name;   /* of the member; NULL: the end */
    const char *figure; /* kvstat's name of its figure; NULL: it is none */
    enum map_form form;
    size_t at;           /* offset of the value in the writer's struct; 0: take the figure */
    double unit;         /* one of the member's in the figure's unit; 0: 1, for statistics ms */
    bool if_known;       /* left out where unknown; else 0 is written */
    unsigned statistics; /* of MAP_TIMES: bits, such as 1 << FIGURE_P95; 0: mean and percentiles */
    unsigned place;      /* above 0: it is read; figures come in the order of their places */
    unsigned reads;      /* of MAP_TIMES: the statistics that are read; 0: P95 */
    unsigned listed;
    const char *text;
    const struct map_row *in;
    void (*put)(struct jsonout *j, const char *name, const void *values);
    unsigned told;     /* above 0: its place in a comparison of two files */
    const char *label; /* its name there */
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
