/* The rules that kvreplay applies at the end of a run and kvstat to the rows of any file. Who has
 * the evidence finds the shares; what they mean stands here. */
#include "lib/facts/judge.h"

#include <math.h>
#include <stdio.h>

#define MOST 10 /* times the figure: it is most of it, or nothing else is left */

const struct judge_percentile judge_percentile[JUDGED] = {{500000, 50}, {950000, 95}, {990000, 99}};

const char *validity_state_word(enum validity_state state)
{
    static const char *const words[] = {[VALIDITY_GOOD] = "good",
                                        [VALIDITY_UNKNOWN] = "unknown",
                                        [VALIDITY_UNRELIABLE] = "unreliable"};
    return words[state];
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

bool judge_enough(uint64_t samples, uint32_t ppm)
{
    return (double)samples * (1000000.0 - ppm) >= 10e6;
}

uint64_t judge_samples(uint32_t ppm)
{
    return (uint64_t)ceil(log(0.05) / log((double)ppm / 1e6));
}
