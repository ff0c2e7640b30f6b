/* Beside the scheduler, sampled now and then by run.c: tells whether the target keeps up with a
 * load that has times of its own. */
#include "kvreplay/backlog.h"

#include "lib/facts/judge.h"

#define BACKLOG_EVERY_NS 10000000
#define BACKLOG_SAMPLES  50 /* half a second */
#define BACKLOG_LEAST    10 /* in line at the end; fewer come and go by chance */

bool backlog_due(const struct backlog *b, int64_t now_ns)
{
    return b->samples == 0 || now_ns - b->last_ns >= BACKLOG_EVERY_NS;
}

void backlog_add(struct backlog *b, int64_t now_ns, uint64_t in_line)
{
    if (b->samples++ == 0)
        b->first_ns = now_ns;
    b->last_ns = now_ns;
    b->last = (double)in_line;
    double t = (double)(now_ns - b->first_ns) / 1e9;
    b->t += t;
    b->tt += t * t;
    b->n += b->last;
    b->tn += t * b->last;
}

bool backlog_grows(const struct backlog *b, double offered_per_s, double *per_s)
{
    double samples = (double)b->samples, spread = samples * b->tt - b->t * b->t;

    *per_s = 0;
    if (b->samples < BACKLOG_SAMPLES || spread <= 0)
        return false;
    *per_s = (samples * b->tn - b->t * b->n) / spread;
    /* A line that came and went, or that stays at what it soon reached, has a mean near its end. */
    return *per_s > JUDGE_GROWS * offered_per_s && b->last >= BACKLOG_LEAST &&
           b->last > 1.5 * b->n / samples;
}
