/* arrival_times.c - arrivals from a trace's own times. Sources of files call it for each row, so
 * that all of them understand --trace-speedup and --replay-cycles in the same way. */
#include "kvgen/source/arrival_times.h"

#include <errno.h>

void pace_new_file(struct pace *p)
{
    p->new_file = true;
}

/* Sets the trace's clock: this row arrives together with the last one. */
static void set_clock(struct pace *p, int64_t time_ns)
{
    p->first_ns = time_ns;
    p->base_ns = p->arrival_ns;
    p->running = true;
}

int pace_row(struct pace *p, int64_t time_ns, int64_t *arrival_ns)
{
    if (time_ns > PACE_MAX_NS || time_ns < -PACE_MAX_NS)
        return -ERANGE;
    if (!p->running || (p->new_file && time_ns < p->last_ns))
        set_clock(p, time_ns);
    else if (time_ns < p->last_ns)
        return -EINVAL;
    uint64_t since_ns = (uint64_t)time_ns - (uint64_t)p->first_ns; /* 2^63 between the ends */
    double ns = (double)since_ns;
    if (p->o.speedup != 0 && ns / p->o.speedup > (double)(PACE_MAX_NS - p->base_ns))
        return -ERANGE;
    int64_t delta = p->o.speedup == 0   ? 0
                    : p->o.speedup == 1 ? (int64_t)since_ns
                                        : (int64_t)(ns / p->o.speedup + 0.5);
    p->new_file = false;
    p->last_ns = time_ns;
    p->arrival_ns = p->base_ns + delta;
    *arrival_ns = p->arrival_ns;
    return 0;
}

int pace_again(struct pace *p, const char *where, struct err *e)
{
    p->cycles++;
    if (!p->running || p->cycles == p->o.cycles)
        return 0;
    if (p->o.cycles == 0 && p->arrival_ns == p->cycle_ns)
        return err_set(e, -EINVAL, ERR_INPUT, where,
                       "all requests come at one time: --replay-cycles 0 would never end");
    p->cycle_ns = p->arrival_ns;
    p->running = false;
    return 1;
}
