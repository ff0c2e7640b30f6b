/* arrival_times.h - from the times of a trace to arrivals: files one behind the other, sped up,
 * repeated. */
#ifndef KVGEN_SOURCE_ARRIVAL_TIMES_H
#define KVGEN_SOURCE_ARRIVAL_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

/* Times of a trace must lie within these, in ns on a clock of its own. */
#define PACE_MAX_NS (INT64_C(1) << 62)

struct pace_opts {
    double speedup;  /* times are divided by it; 0: no time between requests */
    uint64_t cycles; /* how often the input is read; 0: without end */
};

/* A plain value; zero it and set o. */
struct pace {
    struct pace_opts o;
    bool running;              /* a row of this cycle was paced */
    bool new_file;             /* the next row is the first of its file */
    int64_t first_ns, base_ns; /* time of a row on the trace's clock, and its arrival */
    int64_t last_ns;           /* of the last row, on the trace's clock */
    int64_t arrival_ns;        /* of the last row */
    int64_t cycle_ns;          /* arrival at which this cycle began */
    uint64_t cycles;           /* complete */
};

/* The next row begins a file: its time goes on from that of the file before, or, where it lies
 * before that, arrives together with the last row. */
void pace_new_file(struct pace *p);
/* Arrival of a row at time_ns of the trace's clock. -EINVAL: it goes back within a file; -ERANGE:
 * after the end of virtual time. */
int pace_row(struct pace *p, int64_t time_ns, int64_t *arrival_ns);
/* All files were read: 1 when they are to be read again, from the last arrival on; 0: the end;
 * -EINVAL with *e when that would go on for ever without time passing. */
int pace_again(struct pace *p, const char *where, struct err *e);

#endif
