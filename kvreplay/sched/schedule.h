/* schedule.h - from the trace's clock to the replay's. */
#ifndef KVREPLAY_SCHED_SCHEDULE_H
#define KVREPLAY_SCHED_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/trace/trace.h"

struct schedule {
    double speed;
    bool served; /* requests come when they arrive, not rows at their Timestamps */
    int64_t zero_ns, zero_time_ns; /* the same moment: monotonic; of the trace */
};

/* ns of the trace in ns of the replay, within 126 years: times are untrusted. */
int64_t schedule_scaled(const struct schedule *s, double trace_ns);
/* When the row, or the request that it belongs to, comes on the trace's clock. */
int64_t schedule_begins_ns(const struct schedule *s, const struct trace_row *t);
/* When time_ns of the trace comes in the replay. */
int64_t schedule_at(const struct schedule *s, int64_t time_ns);

#endif
