/* Behind autoscale.c. Capacity looks for the knee of throughput over users, qos for the most users
 * that keep the limits. Both bracket the answer in steps that grow with the number, then halve the
 * bracket until its ends are within 5 % of each other. */
#include "kvreplay/autoscale/search.h"

#include <stdarg.h>
#include <stdio.h>

#include "lib/base/units.h"

#define RISES  1.05 /* throughput rises when it is this much above the best */
#define LEVEL  0.97 /* the plateau is reached at this share of it */
#define WITHIN 1.05 /* the search ends when the ends of the bracket have this ratio */

void search_begin(struct search *s, const struct search_opts *o)
{
    *s = (struct search){.o = *o, .next = o->start, .action = "start"};
}

static void search_decide(struct search *s, const char *action, uint64_t next, const char *format,
                          ...) __attribute__((format(printf, 4, 5)));
static void search_decide(struct search *s, const char *action, uint64_t next, const char *format,
                          ...)
{
    va_list args;
    s->action = next == 0 || s->points == SEARCH_STEPS ? "stop" : action;
    s->next = s->points == SEARCH_STEPS ? 0 : next;
    va_start(args, format);
    vsnprintf(s->reason, sizeof(s->reason), format, args);
    va_end(args);
}

static uint64_t search_times(const struct search *s, uint64_t users, double factor)
{
    double next = (double)users * factor + 0.5;
    uint64_t n = next >= (double)s->o.max ? s->o.max : (uint64_t)next;
    return n > users || users == s->o.max ? n : users + 1;
}

/* 0: no fewer may be tried. */
static uint64_t search_fewer(const struct search *s, uint64_t users, double factor)
{
    uint64_t next = (uint64_t)((double)users * factor);
    if (next >= users)
        next = users - 1;
    return next >= s->o.min ? next : users > s->o.min ? s->o.min : 0;
}

/* A number between low and high; 0: they are within 5 % of each other. */
static uint64_t search_between(uint64_t low, uint64_t high)
{
    if (high - low <= 1 || (double)high <= WITHIN * (double)low)
        return 0;
    return low + (high - low) / 2;
}

/* ---- capacity ---- */

/* The next number above users, and below all that had no throughput; 0: there is none. */
static uint64_t search_up(const struct search *s, uint64_t users, double factor)
{
    uint64_t next = search_times(s, users, factor);
    for (unsigned i = 0; i < s->points; i++) {
        const struct search_point *p = &s->point[i];
        if (p->throughput <= 0 && p->users > users && p->users <= next)
            next = search_between(users, p->users);
    }
    return next;
}

static double search_best(const struct search *s, unsigned points)
{
    double best = 0;
    for (unsigned i = 0; i < points; i++)
        best = s->point[i].throughput > best ? s->point[i].throughput : best;
    return best;
}

/* The fewest users on the plateau. Its level is the mean of what comes near the highest throughput,
 * so that one lucky step does not set it. */
static const struct search_point *search_knee(const struct search *s)
{
    const struct search_point *knee = NULL;
    double best = search_best(s, s->points), sum = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < s->points; i++) {
        if (s->point[i].throughput * RISES >= best) {
            sum += s->point[i].throughput;
            n++; /* at least 1: the highest is among them */
        }
    }
    for (unsigned i = 0; i < s->points; i++) {
        const struct search_point *p = &s->point[i];
        if (p->throughput >= LEVEL * (sum / n) && (!knee || p->users < knee->users))
            knee = p;
    }
    return knee;
}

/* The most users measured that are fewer than users; 0: there are none. */
static uint64_t search_below(const struct search *s, uint64_t users)
{
    uint64_t below = 0;
    for (unsigned i = 0; i < s->points; i++) {
        if (s->point[i].users < users && s->point[i].users > below)
            below = s->point[i].users;
    }
    return below;
}

static void search_refine(struct search *s)
{
    uint64_t knee = search_knee(s)->users, below = search_below(s, knee);

    s->phase = SEARCH_REFINE;
    search_decide(s, "refine", search_between(below, knee),
                  "the peak is reached with %llu user%s, not with %llu", (unsigned long long)knee,
                  units_plural(knee), (unsigned long long)below);
}

static void search_capacity(struct search *s, const struct search_point *p)
{
    double before = search_best(s, s->points - 1);
    uint64_t up = search_up(s, p->users, s->phase == SEARCH_DOUBLE ? 2 : 1.5);
    uint64_t between = search_between(search_below(s, p->users), p->users);

    if (search_best(s, s->points) <= 0) {
        search_decide(s, "halve", search_fewer(s, p->users, 0.5), "nothing was served");
    } else if (s->phase == SEARCH_REFINE || (!s->flattened && up == 0)) {
        search_refine(s);
    } else if (!s->flattened && p->users == s->o.max) {
        search_decide(s, "stop", 0, "throughput still rose at the most users allowed");
    } else if (p->throughput <= 0 && between > 0) {
        search_decide(s, "bisect", between, "nothing was served");
    } else if (s->points == 1) {
        search_decide(s, "double", up, "there is more to try");
    } else if (!s->flattened) {
        const char *action = s->phase == SEARCH_DOUBLE ? "double" : "scale by 1.5";
        if (before > 0)
            search_decide(s, action, up, "throughput rose by %.1f %%",
                          100 * (p->throughput / before - 1));
        else
            search_decide(s, action, up, "more users were not served");
    } else if (s->phase == SEARCH_DOUBLE) {
        uint64_t below = search_below(s, p->users), next = search_times(s, below, 1.5);
        s->phase = SEARCH_HALF_MORE;
        if (below == 0 || next >= p->users)
            search_refine(s);
        else
            search_decide(s, "scale by 1.5", next, "throughput rose no more");
    } else {
        search_refine(s);
    }
}

/* ---- qos ---- */

static void search_qos(struct search *s, bool within)
{
    uint64_t low = 0, high = 0;

    for (unsigned i = 0; i < s->points; i++) {
        const struct search_point *at = &s->point[i];
        if (at->within && at->users > low)
            low = at->users;
        if (!at->within && (high == 0 || at->users < high))
            high = at->users;
    }
    const char *limits = within ? "the limits are kept" : "a limit is passed";
    if (high == 0 && low == s->o.max)
        search_decide(s, "stop", 0, "%s at the most users allowed", limits);
    else if (high == 0)
        search_decide(s, "scale up", search_times(s, low, s->o.scale_up), "%s", limits);
    else if (low == 0)
        search_decide(s, "scale down", search_fewer(s, high, s->o.scale_down), "%s", limits);
    else
        search_decide(s, "bisect", low < high ? search_between(low, high) : 0, "%s", limits);
}

void search_take(struct search *s, double throughput, bool within)
{
    struct search_point *p = &s->point[s->points];
    double before = search_best(s, s->points);

    *p = (struct search_point){.users = s->next, .throughput = throughput, .within = within};
    s->flattened = s->points > 0 && throughput < RISES * before;
    s->points++;
    if (s->o.mode == SEARCH_CAPACITY)
        search_capacity(s, p);
    else
        search_qos(s, p->within);
}

void search_reject(struct search *s, uint64_t users)
{
    for (unsigned i = 0; i < s->points; i++)
        s->point[i].within &= s->point[i].users < users;
    search_qos(s, false);
}

const struct search_point *search_answer(const struct search *s)
{
    const struct search_point *answer = NULL;

    if (s->o.mode == SEARCH_CAPACITY)
        return search_best(s, s->points) > 0 ? search_knee(s) : NULL;
    for (unsigned i = 0; i < s->points; i++) {
        const struct search_point *p = &s->point[i];
        if (p->within && (!answer || p->users > answer->users))
            answer = p;
    }
    return answer;
}
