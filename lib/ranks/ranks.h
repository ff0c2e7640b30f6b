/* ranks.h - the processes of a run that were started together by MPI, or the one process there is:
 * which of the two is decided by the object file that is linked (ranks_one.c, ranks_mpi.c). Who
 * waits here sleeps between looks: a busy wait would take the processors that are measured. One
 * thread.
 *
 * The functions marked "all" are called by all ranks, in the same order. Each returns the same on
 * all of them; -ETIMEDOUT: a rank did not come, and a signal asked this one to end. */
#ifndef KVTRACE_RANKS_RANKS_H
#define KVTRACE_RANKS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"

struct ranks;

/* All. Takes MPI's own arguments out of argv. 0 or a negative errno with *e. */
int ranks_open(struct ranks **out, int *argc, char ***argv, struct err *e);
/* Takes NULL. All, unless one of them failed with -ETIMEDOUT: that ends the others. status: of the
 * process. */
void ranks_close(struct ranks *r, int status);
unsigned ranks_rank(const struct ranks *r);
unsigned ranks_count(const struct ranks *r);
/* The name of the host that a rank runs on. Lent. */
const char *ranks_host(const struct ranks *r, unsigned rank);

/* All. Each gives what came of its last step: rc and *e. 0 when all did well; else the error of the
 * first rank that failed, with its number and host. */
int ranks_agree(struct ranks *r, int rc, struct err *e);
/* All. -EINVAL with *e unless all give the same; what: "the trace", "the options". */
int ranks_same(struct ranks *r, struct hash128 h, const char *what, struct err *e);

/* What this rank's clock shows (clock_now_ns) less what rank 0's shows at the same time: measured
 * with the exchange of least round trip of 100, half of which is the most it can be wrong by. */
struct ranks_offset {
    int64_t offset_ns, round_trip_ns;
};
/* All. */
int ranks_measure(struct ranks *r, struct ranks_offset *o, struct err *e);
/* All. The instant on this rank's clock at which all are to start, a moment ahead, by offsets just
 * measured. */
int ranks_choose_start(struct ranks *r, const struct ranks_offset *o, int64_t *at_ns,
                       struct err *e);

/* From here on a rank that is waited for longer than this counts as lost (-ETIMEDOUT): a host was
 * cut off. 0: waits have no end, as when ranks may need any time. */
void ranks_limit_waits(struct ranks *r, int64_t most_ns);
/* Tells all others that the run is over. Returns at once. */
void ranks_stop(struct ranks *r);
/* Whether another rank has said so. *by: which. */
bool ranks_stopped(struct ranks *r, unsigned *by);

/* All. Rank 0 gets len bytes of each rank, in the order of ranks: *all is malloc'ed, with a final
 * NUL behind each; len[i]: ranks_count numbers, malloc'ed. Others get NULL. */
int ranks_gather(struct ranks *r, const void *p, size_t len, char **all, size_t **lens,
                 struct err *e);
/* Rank 0 receives what another one sends, one after another; path is written, or read. */
int ranks_send_file(struct ranks *r, const char *path, struct err *e);
int ranks_receive_file(struct ranks *r, unsigned from, const char *path, struct err *e);

#endif
