/* warm.c - compares windows. A share is a ratio of sums over requests, so that its error is that of
 * a ratio (W. Cochran, Sampling Techniques, 3rd edition, section 6.4): a difference below two
 * standard errors may be chance. */
#include "kvgen/answer/warm.h"

#include <math.h>

/* The window that begins there. */
static void begin_window(struct warm *w, int64_t begin_ns)
{
    const int64_t last_ns = w->from_ns + WARM_HORIZON_NS;
    const int64_t end_ns = begin_ns + (begin_ns - w->from_ns) / 2;
    w->now = (struct warm_window){0};
    w->begin_ns = begin_ns;
    w->end_ns = end_ns < last_ns ? end_ns : last_ns;
}

void warm_begin(struct warm *w, int64_t from_ns, uint64_t most)
{
    *w = (struct warm){.from_ns = from_ns, .most = most};
    begin_window(w, from_ns + WARM_FIRST_NS);
}

/* Share of the tokens of a window that came from there; 0 without tokens. */
static double warm_share(const struct warm_window *w, enum warm_origin o)
{
    return w->tokens > 0 ? w->of[o] / w->tokens : 0;
}

/* Variance of the share. */
static double variance(const struct warm_window *w, enum warm_origin o)
{
    const double share = warm_share(w, o);
    const double sum = w->of_squares[o] - 2 * share * w->products[o] + share * share * w->squares;
    return sum > 0 ? sum / (w->tokens * w->tokens) : 0;
}

static bool is_settled(const struct warm *w)
{
    const struct warm_window *a = &w->before, *b = &w->now;
    if (a->requests < WARM_REQUESTS || b->requests < WARM_REQUESTS)
        return false;
    for (enum warm_origin o = 0; o < WARM_ORIGINS; o++) {
        const double change = fabs(warm_share(b, o) - warm_share(a, o));
        if (change >= WARM_CHANGE &&
            change * change > WARM_ERRORS * WARM_ERRORS * (variance(a, o) + variance(b, o)))
            return false;
    }
    return true;
}

static void add(struct warm_window *w, const uint64_t tokens[WARM_ORIGINS], bool good)
{
    double all = 0;
    for (int o = 0; o < WARM_ORIGINS; o++)
        all += (double)tokens[o];
    w->requests++;
    w->good += good;
    w->tokens += all;
    w->squares += all * all;
    for (int o = 0; o < WARM_ORIGINS; o++) {
        const double n = (double)tokens[o];
        w->of[o] += n;
        w->products[o] += n * all;
        w->of_squares[o] += n * n;
    }
}

bool warm_add(struct warm *w, int64_t now_ns, const uint64_t tokens[WARM_ORIGINS], bool good)
{
    while (now_ns >= w->end_ns) {
        w->settled = is_settled(w);
        if (w->settled || w->end_ns >= w->from_ns + WARM_HORIZON_NS)
            return true;
        w->before = w->now;
        begin_window(w, w->end_ns);
    }
    if (++w->requests >= w->most)
        return true;
    if (now_ns >= w->begin_ns)
        add(&w->now, tokens, good);
    return false;
}

static bool has_few_good(const struct warm_window *w)
{
    return w->requests >= WARM_REQUESTS && w->good < w->requests / 2;
}

bool warm_is_hopeless(const struct warm *w)
{
    const struct warm_window *a = &w->before, *b = &w->now;
    return has_few_good(a) && has_few_good(b) && b->requests >= a->requests &&
           b->good * a->requests <= a->good * b->requests;
}
