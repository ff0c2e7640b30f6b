/* autoscale.h - the search for the number of users that a target can serve: one served replay after
 * another, each over a trace made for its number. */
#ifndef KVREPLAY_AUTOSCALE_H
#define KVREPLAY_AUTOSCALE_H

#include "kvreplay/replay.h"
#include "lib/base/err.h"

/* As replay_run; in->trace, silent and what follows are not looked at. *status is 1 when rows
 * failed in a step, or not even one user keeps the limits. */
int autoscale_run(const struct replay_input *in, int *status, struct err *e);

#endif
