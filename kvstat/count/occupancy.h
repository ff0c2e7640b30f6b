/* occupancy.h - live bytes and objects of the tiers over the rows, from signed row sizes alone: a
 * Write adds; a Delete and the Read of an eviction take away. Keeps no state per key. */
#ifndef KVSTAT_COUNT_OCCUPANCY_H
#define KVSTAT_COUNT_OCCUPANCY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/trace/trace.h"

/* Consecutive rows: the change from the first to the last, and the highest level on the way, both
 * relative to the level before them. Zeroed: no rows. Plain values. */
struct occupancy {
    struct occupancy_tier {
        int64_t bytes, peak_bytes;
        int64_t objects, peak_objects;
    } tier[TRACE_TIERS];
};

/* Adds the next rows. Rows that failed change nothing. 0, or -EOVERFLOW. */
int occupancy_add(struct occupancy *o, const struct trace_row *rows, size_t n);
/* Adds the consecutive rows that follow. 0, or -EOVERFLOW. */
int occupancy_append(struct occupancy *o, const struct occupancy *next);
/* Adds the rows of another part of the run, which ran beside it on a store of its own: the peaks
 * are added, at whatever times they were, since each store must have its room. 0, or -EOVERFLOW. */
int occupancy_beside(struct occupancy *o, const struct occupancy *part);

#endif
