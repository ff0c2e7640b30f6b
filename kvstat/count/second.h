/* second.h - times computed a second time, without what the tool and its processors added to them:
 * response times without the tool's own delays, service and device times without the gaps in which
 * the replay did not run, and without the rows of the burst after a stop. What differs is not to be
 * believed. */
#ifndef KVSTAT_COUNT_SECOND_H
#define KVSTAT_COUNT_SECOND_H

#include <stdint.h>

#include "kvstat/count/gaps.h"
#include "lib/base/hist.h"
#include "lib/trace/trace.h"

enum second_time {
    SECOND_SERVICE,
    SECOND_DEVICE,
    SECOND_RESPONSE,
    SECOND_TIMES
};

struct second;
struct second *second_create(void); /* NULL: no memory */
/* gaps: lent for as long as rows are added; NULL: none. */
void second_take_gaps(struct second *s, const struct gaps *gaps);
void second_free(struct second *s);
/* A Read or Write of a result that did not fail. Times in ns; TRACE_NONE: unknown. */
struct second_row {
    uint8_t tier, op;
    int64_t start_ns, end_ns;
    int64_t service_ns, device_ns, response_ns;
    int64_t delay_ns; /* the tool's own */
};
/* 0 or -ENOMEM. */
int second_add(struct second *s, const struct second_row *row);
int second_merge(struct second *into, const struct second *from);

/* Times of an operation in a tier. */
struct second_of {
    uint8_t tier, op;
    enum second_time time;
};
/* Their percentile ppm computed a second time; all: the times as they are, not empty. */
int64_t second_percentile(const struct second *s, struct second_of of, const struct hist *all,
                          uint32_t ppm);

#endif
