/* progress_line.h - the progress line of a replay. */
#ifndef KVREPLAY_PROGRESS_LINE_H
#define KVREPLAY_PROGRESS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/counts.h"
#include "lib/base/progress.h"

/* Zero it, then set progress and what is known of the end. */
struct progress_line {
    struct progress *progress;
    uint64_t total_rows; /* that will run; 0: not known */
    int64_t
        total_ns; /* that the schedule takes from zero on; 0: not known, or as fast as possible */
    int64_t zero_ns; /* 0: the clock has not started */
    int64_t last_ns;
    uint64_t last_bytes;
};

void progress_line_began(struct progress_line *p, int64_t zero_ns);
/* True when a line is due: then progress_line_show must follow. */
bool progress_line_due(struct progress_line *p);
/* Shows the line and resets st->recent. in_flight, waiting: of sched_queue. */
void progress_line_show(struct progress_line *p, struct counts *st, size_t in_flight,
                        size_t waiting);

/* Before the clock starts, if a line is due: rows that the first pass has read; objects that were
 * populated, their bytes of how many, and since when. */
void progress_line_survey(struct progress *p, uint64_t rows);
void progress_line_populate(struct progress *p, uint64_t objects, uint64_t bytes,
                            uint64_t total_bytes, int64_t began_ns);

#endif
