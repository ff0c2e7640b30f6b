/* criterion.c - judges the requests of a simulation as they get their last tokens. */
#include "kvgen/answer/criterion.h"

int64_t criterion_first_token_ns(const struct criterion *c, const struct step_setup *steps,
                                 uint64_t prompt_tokens)
{
    const int64_t alone_ns = step_setup_first_token_ns(steps, prompt_tokens);
    return alone_ns <= c->first_token_ns ? c->first_token_ns
                                         : alone_ns / 1000 * CRITERION_ALONE_PERMILLE;
}

/* Whether a first token comes in time after ns. Most do within the target, which takes no sum. */
static bool is_in_time(const struct criterion *c, const struct step_setup *steps, int64_t ns,
                       uint64_t prompt_tokens)
{
    return ns <= c->first_token_ns || ns <= criterion_first_token_ns(c, steps, prompt_tokens);
}

bool criterion_is_good(const struct criterion *c, const struct step_setup *steps,
                       const struct engine_done *d)
{
    return d->token_ns <= c->token_ns && is_in_time(c, steps, d->first_token_ns, d->prompt_tokens);
}

bool criterion_is_late(const struct criterion *c, const struct step_setup *steps,
                       const struct engine_pending *p)
{
    const int64_t since_ns = p->now_ns - (p->first_ns ? p->first_ns : p->arrival_ns);
    if (p->first_ns)
        return p->output_tokens > 1 && since_ns / (int64_t)(p->output_tokens - 1) > c->token_ns;
    return !is_in_time(c, steps, since_ns, p->prompt_tokens);
}

void criterion_count(struct criterion_tally *t, enum trace_qos qos, bool good)
{
    t->requests[qos]++;
    t->good[qos] += good;
}

static uint64_t sum(const uint64_t n[TRACE_QOSES])
{
    uint64_t all = 0;
    for (int q = 0; q < TRACE_QOSES; q++)
        all += n[q];
    return all;
}

uint64_t criterion_requests(const struct criterion_tally *t)
{
    return sum(t->requests);
}

double criterion_goodput(const struct criterion_tally *t)
{
    const uint64_t all = sum(t->requests);
    return all ? (double)sum(t->good) / (double)all : 0;
}

static bool has_share(const struct criterion *c, uint64_t good, uint64_t all)
{
    return (double)good >= c->goodput * (double)all;
}

bool criterion_is_decided(const struct criterion *c, const struct criterion_tally *t)
{
    const uint64_t all = sum(t->requests), bad = all - sum(t->good);
    if (all < CRITERION_REQUESTS)
        return !has_share(c, CRITERION_REQUESTS - bad, CRITERION_REQUESTS);
    if (all >= CRITERION_REQUESTS_MAX || !has_share(c, all - bad, all))
        return true;
    for (int q = 0; q < TRACE_QOSES; q++)
        if (t->requests[q] && t->requests[q] < CRITERION_CLASS_REQUESTS)
            return false;
    return true;
}

bool criterion_holds(const struct criterion *c, const struct criterion_tally *t)
{
    const uint64_t all = sum(t->requests);
    if (!all || !has_share(c, sum(t->good), all))
        return false;
    for (int q = 0; q < TRACE_QOSES; q++)
        if (t->requests[q] >= CRITERION_CLASS_REQUESTS && !has_share(c, t->good[q], t->requests[q]))
            return false;
    return true;
}
