/* survey.h - a first pass over a trace that can be read twice: what room each tier needs at its
 * peak, and which objects are read before they were written. Nothing is executed. */
#ifndef KVREPLAY_SURVEY_H
#define KVREPLAY_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/gate.h"
#include "kvreplay/objects.h"
#include "kvreplay/plan.h"
#include "lib/err.h"
#include "lib/trace.h"

struct survey {
    struct objects
        *objects; /* entries with .initial: to be there, with .size bytes, before the first row */
    struct room room[TRACE_TIERS]; /* peak and peak_objects are what the trace needs */
    uint64_t rows;                 /* in the trace, up to the limit */
    uint64_t run_rows;             /* of those, not left out by only_tier */
    int64_t span_ns; /* of the Timestamps, from the first row that is not prepop or ingest at the
                        head */
    uint64_t tier_rows[TRACE_TIERS];
    uint64_t largest[TRACE_TIERS]; /* object, bytes */
    uint64_t initial_objects[TRACE_TIERS], initial_bytes[TRACE_TIERS];
};

/*
 * Reads the whole trace (limit rows; only_tier or -1; gate may be NULL) with a cursor of its own;
 * rewind it afterwards. create: objects read before they were written are to be there at the start.
 * -EINTR: a signal came. survey_release also after a failure.
 */
int survey_run(struct survey *s, struct trace_reader *trace, uint64_t limit, int only_tier,
               struct gate *gate, bool create, struct err *e);
void survey_release(struct survey *s);

#endif
