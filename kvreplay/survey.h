/* survey.h - a first pass over a trace that can be read twice: what room each tier needs at its
 * peak, and which objects are read before they were written. Nothing is executed. */
#ifndef KVREPLAY_SURVEY_H
#define KVREPLAY_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/sched/objects.h"
#include "kvreplay/sched/room.h"
#include "kvreplay/sched/tier_map.h"
#include "kvreplay/sched/user_limit.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"
#include "lib/trace/read.h"

struct survey {
    struct objects
        *objects; /* entries with .initial: to be there, with .size bytes, before the first row,
                     or, without create, to be looked for in what an earlier run left */
    struct hash128 *gone;          /* its own: copies that were removed */
    struct room room[TRACE_TIERS]; /* peak and peak_objects are what the trace needs */
    uint64_t rows;                 /* in the trace, up to the limit */
    uint64_t run_rows;             /* of those, not left out by only_tier */
    int64_t span_ns; /* of the Timestamps, from the first row that is not prepop or ingest at the
                        head */
    uint64_t tier_rows[TRACE_TIERS];
    bool changes[TRACE_TIERS];     /* some row writes or removes an object */
    uint64_t largest[TRACE_TIERS]; /* object, bytes */
    uint64_t initial_objects[TRACE_TIERS], initial_bytes[TRACE_TIERS];
    uint64_t noted_objects, noted_bytes; /* without create: in Tier-2, if they are there; room
                                            knows nothing of them; UINT64_MAX: more */
};

/* Which rows will run. */
struct survey_opts {
    uint64_t limit, loops;         /* as the reader's */
    int only_tier;                 /* of the trace, or -1 */
    struct user_limit *user_limit; /* may be NULL */
    struct progress *progress;
    struct tier_map map;
    bool create; /* objects read before they were written are to be there at the start; false: they
                    are noted in Tier-2, for an earlier run may have left them */
    /* Times of the trace after the first row that is not at the head; INT64_MAX: no end. Rows that
     * are due later need no objects, and once as many of them as the run looks ahead were read, no
     * row behind them can run. */
    int64_t until_ns;
    bool served; /* by Arrival */
    size_t look_ahead;
};

/*
 * Reads the trace with a cursor of its own; rewind it afterwards. -EINTR: a signal came.
 * survey_release also after a failure.
 */
int survey_run(struct survey *s, struct trace_reader *trace, const struct survey_opts *o,
               struct err *e);
void survey_release(struct survey *s);

#endif
