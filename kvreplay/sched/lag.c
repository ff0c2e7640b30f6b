/* Beside the scheduler, with --timing trace: says once when the target is slower than the trace,
 * and knows whether pauses are to be skipped until the replay has caught up. */
#include "kvreplay/sched/lag.h"

enum {
    LAG_CAUGHT_UP_NS = 5000000
};

bool lag_started(struct lag *l, const struct row *r, struct notices *notices)
{
    int64_t lag_ns = r->t.start_ns - r->t.due_ns;

    if (lag_ns < LAG_CAUGHT_UP_NS)
        l->skip_waits = false;
    if (lag_ns <= l->limit_ns)
        return false;
    l->skip_waits = l->skips;
    if (l->behind)
        return false;
    l->behind = true;
    notices_line(notices, "row %llu is %.3f s behind its time: the target is slower than the trace",
                 (unsigned long long)r->number + 1, (double)lag_ns / 1e9);
    return true;
}
