/* requests_run.h - what is summed of one request: between the two halves of requests.h only. */
#ifndef KVSTAT_COUNT_REQUEST_PIECE_H
#define KVSTAT_COUNT_REQUEST_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvstat/count/requests.h"

/* Every field is a minimum, a maximum or a sum: rows may be added in any order and grouping. */
struct requests_sums {
    int64_t id;
    int64_t arrival_ns;              /* least; TRACE_NONE: unknown */
    int64_t first_ns, last_ns;       /* first start, last end; INT64_MAX, INT64_MIN: none */
    int64_t due_ns, due_time_ns;     /* least Due and the Timestamp of its row; TRACE_NONE: none */
    int64_t part_ns[REQUESTS_PARTS]; /* the queue's is computed at the end */
    uint8_t qos;
    bool generated, served; /* has a Generate row; has an operation with a latency */
    bool warm;              /* a row started during the warm-up */
    bool failed;            /* a row is corrupt or has an errno */
};

/* The rows with the least Due, the greatest one, and one that came in time: they tell how the
 * trace's clock maps to the replay's (its speed). TRACE_NONE: no row with Due. */
struct requests_clock {
    int64_t low_due_ns, low_time_ns, high_due_ns, high_time_ns;
    int64_t ahead_due_ns, ahead_time_ns; /* of the rows that are least behind their Timestamps, the
                                            last */
    bool served; /* rows of requests ran without a Due: only a request's first row has one, its
                    arrival (kvreplay --timing served) */
};

void requests_sums_merge(struct requests_sums *into, const struct requests_sums *from);
/* The requests of a run in the order of their first rows. */
const struct requests_sums *requests_run_items(const struct requests_run *r, size_t *n);
const struct requests_clock *requests_run_clock(const struct requests_run *r);
void requests_clock_merge(struct requests_clock *into, const struct requests_clock *from);

#endif
