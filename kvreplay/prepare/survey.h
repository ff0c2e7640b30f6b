/* A first pass over a trace that can be read twice: how much room each tier needs at its peak, and
 * which objects are read before they are written. Nothing is executed. One thread. */
#ifndef KVREPLAY_PREPARE_SURVEY_H
#define KVREPLAY_PREPARE_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/selection.h"
#include "kvreplay/wait/objects.h"
#include "kvreplay/wait/room.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"
#include "lib/trace/read.h"

/* Arrays are by the tier that executes the rows. */
struct survey {
    /* Entries with .initial are objects, of .size bytes, that the trace reads before it writes
     * them. With create they are to be written before the run; without, an earlier run may have
     * left them in Tier-2. */
    struct objects *objects;
    struct hash128 *gone;                   /* internal: copies that the trace has removed */
    int64_t *recent;                        /* internal: numbers of requests seen lately */
    struct room room[TRACE_TIERS];          /* peak and peak_objects are what the trace needs */
    uint64_t rows;                          /* in the trace, up to the limit, all loops */
    uint64_t due_requests[TRACE_QOSES + 1]; /* by QoS, with arrivals: those that arrive before the
                                               end of the run, in the first pass */
    uint64_t run_rows;                      /* of those, rows that --only-tier leaves in */
    int64_t span_ns; /* of the Timestamps, from the first row behind the head (prepop, ingest) */
    uint64_t tier_rows[TRACE_TIERS];
    bool changes[TRACE_TIERS];     /* some row writes or removes an object */
    uint64_t largest[TRACE_TIERS]; /* object, bytes */
    /* Bytes of all objects ever stored, those that must be there at the start included: no order of
     * the rows needs more. */
    uint64_t stored_bytes[TRACE_TIERS];
    uint64_t initial_objects[TRACE_TIERS], initial_bytes[TRACE_TIERS]; /* create */
    /* Without create: objects in Tier-2 that may be there. The peak does not count them. Bytes are
     * UINT64_MAX when they are more. */
    uint64_t noted_objects, noted_bytes;
};

struct survey_opts {
    struct selection select;
    struct progress *progress; /* may be NULL */
    bool create;               /* write objects that are read before they are written */
    /* The run ends until_ns of the trace's time after the first row behind the head; INT64_MAX: it
     * does not. Rows due later need no objects. Once as many of them as the run looks ahead were
     * read, no row behind them can run, and the survey ends. */
    int64_t until_ns;
    bool arrivals;     /* rows are due at the Arrival of their request (--timing served) */
    size_t look_ahead; /* rows */
    /* The parts that the targets of Tier-2 have, when there are several: the peak of each is in
     * room[TRACE_STORAGE].target. Lent until survey_release. */
    const struct target_part *part;
    unsigned targets;
};

/* Reads the trace with a cursor of its own; rewind the trace afterwards. Negative errno with *e
 * (-EINTR: a signal came); survey_release also then. */
int survey_run(struct survey *s, struct trace_reader *trace, const struct survey_opts *o,
               struct err *e);
/* How often an object of the tier is written or read at most, before the run and in it. */
uint64_t survey_moves(const struct survey *s, enum trace_tier tier);
void survey_release(struct survey *s);

#endif
