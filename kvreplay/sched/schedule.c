/* Beside the scheduler: when a moment of the trace comes in the replay. */
#include "kvreplay/sched/schedule.h"

#define SCHEDULE_FAR_NS INT64_C(4000000000000000000)

int64_t schedule_scaled(const struct schedule *s, double trace_ns)
{
    double ns = trace_ns / s->speed;
    return ns > (double)SCHEDULE_FAR_NS    ? SCHEDULE_FAR_NS
           : ns < -(double)SCHEDULE_FAR_NS ? -SCHEDULE_FAR_NS
                                           : (int64_t)ns;
}

int64_t schedule_begins_ns(const struct schedule *s, const struct trace_row *t)
{
    bool arrives = s->served && t->request != TRACE_NONE && t->arrival_ns != TRACE_NONE;
    return arrives ? t->arrival_ns : t->time_ns;
}

int64_t schedule_at(const struct schedule *s, int64_t time_ns)
{
    int64_t after;

    if (s->speed != 1.0 || __builtin_sub_overflow(time_ns, s->zero_time_ns, &after))
        after = schedule_scaled(s, (double)time_ns - (double)s->zero_time_ns);
    if (after > SCHEDULE_FAR_NS)
        after = SCHEDULE_FAR_NS;
    return s->zero_ns + (after < -SCHEDULE_FAR_NS ? -SCHEDULE_FAR_NS : after);
}
