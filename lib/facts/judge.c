/* The rules that kvreplay applies at the end of a run and kvstat to the rows of any file. Who has
 * the evidence finds the shares; what they mean stands here. */
#include "lib/facts/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"

#define MOST 10 /* times the figure: it is most of it, or nothing else is left */

const struct judge_percentile judge_percentile[JUDGED] = {{500000, 50}, {950000, 95}, {990000, 99}};

static const char *const states[VALIDITY_STATES] = {
    [VALIDITY_GOOD] = "good", [VALIDITY_UNKNOWN] = "unknown", [VALIDITY_UNRELIABLE] = "unreliable"};

const char *validity_state_word(enum validity_state state)
{
    return states[state];
}

enum validity_state validity_state_of(const char *word)
{
    unsigned state = VALIDITY_GOOD;

    while (state < VALIDITY_STATES && (!word || strcmp(word, states[state]) != 0))
        state++;
    return state;
}

const char *validity_kind_word(enum validity_kind kind)
{
    static const char *const words[] = {[VALIDITY_SERVICE] = "service",
                                        [VALIDITY_DEVICE] = "device",
                                        [VALIDITY_RESPONSE] = "response",
                                        [VALIDITY_END_TO_END] = "end_to_end",
                                        [VALIDITY_STORAGE] = "storage",
                                        [VALIDITY_FIRST_TOKEN] = "first_token",
                                        [VALIDITY_ALL] = "all"};
    return words[kind];
}

enum validity_state judge_longer(double share)
{
    return share > JUDGE_MOVES ? VALIDITY_UNRELIABLE : VALIDITY_GOOD;
}

const char *judge_added(char buf[JUDGE_ADDED], const char *what, double share)
{
    if (share > MOST)
        snprintf(buf, JUDGE_ADDED, "%s is most of", what);
    else
        snprintf(buf, JUDGE_ADDED, "%s adds %.*f %% to", what, share < 0.1, 100 * share);
    return buf;
}

bool judge_confirms(double measured, double model)
{
    return fabs(measured - model) <= JUDGE_CONFIRMS * model;
}

struct judge_move judge_moved(const struct hist *as_was, const struct hist *without)
{
    struct judge_move m = {as_was, without, 0, judge_percentile};

    if (hist_count(without) == 0)
        m.share = hist_count(as_was) > 0 ? INFINITY : 0;
    for (unsigned i = 0; i < JUDGED && hist_count(without) > 0; i++) {
        const struct judge_percentile *p = &judge_percentile[i];
        double a = (double)hist_percentile(as_was, p->ppm);
        double b = (double)hist_percentile(without, p->ppm);
        double share = a > b ? (a - b) / (b > 1 ? b : 1) : 0;
        if (share > m.share && judge_enough(hist_count(as_was), p->ppm)) {
            m.share = share;
            m.of = p;
        }
    }
    return m;
}

const char *judge_told(char buf[JUDGE_TOLD], const char *what, const char *place,
                       const struct judge_move *m)
{
    char added[JUDGE_ADDED], a[32], b[32];

    units_format_duration(a, sizeof(a), (double)hist_percentile(m->as_was, m->of->ppm));
    units_format_duration(b, sizeof(b), (double)hist_percentile(m->without, m->of->ppm));
    snprintf(buf, JUDGE_TOLD, "%s %s%sp%u (%s instead of %s)", judge_added(added, what, m->share),
             place, place[0] ? " " : "", m->of->percent, a, b);
    return buf;
}

/* The share of the values above a limit. */
static double share_above(const struct hist *h, int64_t limit)
{
    size_t at = 0;
    int64_t low, high;
    uint64_t n, above = 0;

    while (hist_next(h, &at, &low, &high, &n))
        above += low > limit ? n : 0;
    return (double)above / (double)hist_count(h);
}

bool judge_slower(const struct hist *some, const struct hist *others, uint32_t ppm)
{
    double a = (double)hist_count(some), b = (double)hist_count(others);

    if (a < 1 || b < 1)
        return false;
    int64_t limit = hist_percentile(others, ppm);
    double above = share_above(some, limit), base = share_above(others, limit);
    double p = (above * a + base * b) / (a + b);
    return above - base > 2.326 * sqrt(p * (1 - p) * (1 / a + 1 / b));
}

struct hist *judge_without(const struct hist *all, const struct hist *some,
                           const struct hist *others)
{
    struct hist *h = hist_create();
    size_t at = 0, at_some = 0;
    int64_t low, high, low_some = 0, high_some;
    uint64_t n, n_some = 0;
    int rc = h ? 0 : -1, more = hist_next(some, &at_some, &low_some, &high_some, &n_some);

    while (rc == 0 && hist_next(all, &at, &low, &high, &n)) {
        if (more && low_some == low) {
            n -= n_some < n ? n_some : n;
            more = hist_next(some, &at_some, &low_some, &high_some, &n_some);
        }
        rc = hist_record_n(h, low + (high - low) / 2, n);
    }
    if (rc == 0)
        rc = hist_merge(h, others);
    if (rc == 0)
        return h;
    hist_free(h);
    return NULL;
}

bool judge_enough(uint64_t samples, uint32_t ppm)
{
    return (double)samples * (1000000.0 - ppm) >= 10e6;
}

uint64_t judge_samples(uint32_t ppm)
{
    return (uint64_t)ceil(log(0.05) / log((double)ppm / 1e6));
}
