/* pool.h - the figures of one step of autoscale, of all ranks together. */
#ifndef KVREPLAY_MANY_POOL_H
#define KVREPLAY_MANY_POOL_H

#include "kvreplay/replay.h"
#include "lib/base/err.h"
#include "lib/ranks/ranks.h"

/* All ranks call it, each with what came of its run: rc and *e, its figures and the times behind
 * them. All get the same: the error of the first rank that failed, or the figures of all. Sums are
 * added up; seconds are the longest and least_s the shortest of the ranks; each P95 is that of the
 * times of all ranks, not a mean of theirs. Ranks that were lost count as nothing. */
int pool_figures(struct ranks *ranks, int rc, struct replay_figures *f,
                 const struct replay_times *times, struct err *e);

#endif
