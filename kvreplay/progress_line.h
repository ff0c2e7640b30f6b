/* The progress line of a replay: survey, populate and run. The main thread. */
#ifndef KVREPLAY_PROGRESS_LINE_H
#define KVREPLAY_PROGRESS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/counts.h"
#include "lib/base/progress.h"

/* The progress of a run. Zero it, then set progress and what is known of the end. */
struct progress_line {
    struct progress *progress;
    uint64_t total_rows; /* that will run; 0: not known */
    int64_t total_ns;    /* how long the run takes by its times; 0: not known, or it has none */
    int64_t zero_ns;     /* 0: the clock has not started */
    int64_t last_ns;
    uint64_t last_bytes;
};

/* The clock has started. */
void progress_line_began(struct progress_line *p, int64_t zero_ns);
/* True: a line is due, and progress_line_show must follow. */
bool progress_line_due(struct progress_line *p);
/* Shows the line and resets n->recent. in_flight and waiting are of sched_queue. */
void progress_line_show(struct progress_line *p, struct counts *n, size_t in_flight,
                        size_t waiting);

/* Before the clock starts, when a line is due. rows: read by the survey. */
void progress_line_survey(struct progress *p, uint64_t rows);
/* objects and bytes: written since began_ns (monotonic), of total_bytes. */
void progress_line_populate(struct progress *p, uint64_t objects, uint64_t bytes,
                            uint64_t total_bytes, int64_t began_ns);

#endif
