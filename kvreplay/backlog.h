/* How the line of what is due and not done grows while load keeps coming: a target that keeps up
 * has one that stays. One thread. */
#ifndef KVREPLAY_BACKLOG_H
#define KVREPLAY_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

/* Zero it. Sums of a straight line through the samples, by least squares. */
struct backlog {
    int64_t first_ns, last_ns;
    uint64_t samples;
    double t, tt, n, tn; /* t: seconds since first_ns; n: in line */
    double last;
};

/* Is the next sample due? One every 10 ms is enough. */
bool backlog_due(const struct backlog *b, int64_t now_ns);
void backlog_add(struct backlog *b, int64_t now_ns, uint64_t in_line);
/* How many more are in line each second. False: the line does not grow by more than 5 % of
 * offered_per_s, or there is too little to tell. */
bool backlog_grows(const struct backlog *b, double offered_per_s, double *per_s);

#endif
