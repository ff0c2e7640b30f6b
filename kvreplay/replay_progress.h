/* replay_progress.h - the progress line of a replay. */
#ifndef KVREPLAY_REPLAY_PROGRESS_H
#define KVREPLAY_REPLAY_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/counts.h"
#include "lib/base/progress.h"

/* Zero it, then set progress and what is known of the end. */
struct replay_progress {
    struct progress *progress;
    uint64_t total_rows; /* that will run; 0: not known */
    int64_t
        total_ns; /* that the schedule takes from zero on; 0: not known, or as fast as possible */
    int64_t zero_ns; /* 0: the clock has not started */
    int64_t last_ns;
    uint64_t last_bytes;
};

void replay_progress_began(struct replay_progress *p, int64_t zero_ns);
/* True when a line is due: then replay_progress_line must follow. */
bool replay_progress_due(struct replay_progress *p);
/* Shows the line and resets st->recent. in_flight, waiting: of sched_queue. */
void replay_progress_line(struct replay_progress *p, struct stats *st, size_t in_flight,
                          size_t waiting);

/* Before the clock starts, if a line is due: rows that the first pass has read; objects that were
 * populated, their bytes of how many, and since when. */
void replay_progress_survey(struct progress *p, uint64_t rows);
void replay_progress_populate(struct progress *p, uint64_t objects, uint64_t bytes,
                              uint64_t total_bytes, int64_t began_ns);

#endif
