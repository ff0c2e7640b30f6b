/* lag.h - how far the replay is behind the trace's times. */
#ifndef KVREPLAY_SCHED_LAG_H
#define KVREPLAY_SCHED_LAG_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/sched/notices.h"
#include "kvreplay/sched/row.h"

struct lag {
    int64_t limit_ns;
    bool skips;      /* skip waits from the limit on until caught up */
    bool behind;     /* was beyond the limit */
    bool skip_waits; /* now */
};

/* A row with its Due was started. True: it is the first one beyond the limit, which is said. */
bool lag_started(struct lag *l, const struct row *r, struct notices *notices);

#endif
