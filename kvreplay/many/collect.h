/* collect.h - a run of several ranks that MPI started: each replays into a file of its own, the
 * spool, and rank 0 makes one result and one summary of all of them. */
#ifndef KVREPLAY_MANY_COLLECT_H
#define KVREPLAY_MANY_COLLECT_H

#include "kvreplay/replay.h"
#include "lib/base/err.h"
#include "lib/ranks/ranks.h"

/* As replay_run, which it is where there is one rank. All ranks call it, and get the same. Of a run
 * that is silent, or that accept refused, nothing is collected. */
int collect_run(struct ranks *ranks, const struct replay_input *in, int *status, struct err *e);

#endif
