/* The search for the number of users that a target can serve: one served replay after another, each
 * over a trace made for its number. The main thread. */
#ifndef KVREPLAY_AUTOSCALE_AUTOSCALE_H
#define KVREPLAY_AUTOSCALE_AUTOSCALE_H

#include "kvreplay/replay.h"
#include "lib/base/err.h"
#include "lib/ranks/ranks.h"

/* As replay_run; in->trace, silent and the members behind it are not used. *status is 1 when rows
 * failed in a step, or when not even the fewest users allowed keep the limits. All ranks call it:
 * a number of users is that of all of them, at least one each. */
int autoscale_run(struct ranks *ranks, const struct replay_input *in, int *status, struct err *e);

#endif
