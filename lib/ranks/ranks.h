/* ranks.h - the processes of a run that were started together by MPI, or the one process there is:
 * which of the two is decided by the object file that is linked (ranks_one.c, ranks_mpi.c). Who
 * waits here sleeps between looks: a busy wait would take the processors that are measured. One
 * thread calls all of it; another one, of this module, tells once a second that this rank is there.
 *
 * The functions marked "all" are called by all ranks, in the same order. Each returns the same on
 * all of them; -ETIMEDOUT: a rank was lost, or did not come and a signal asked this one to end. A
 * rank that is heard of for too long no more is lost: that ends all, until ranks_go_on. */
#ifndef KVTRACE_RANKS_RANKS_H
#define KVTRACE_RANKS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"

struct ranks;

/* The end of the names of programs that MPI starts: "-mpi"; "" in the others. */
const char *ranks_suffix(void);

/* All. Takes MPI's own arguments out of argv. 0 or a negative errno with *e. */
int ranks_open(struct ranks **out, int *argc, char ***argv, struct err *e);
/* Takes NULL. All, unless one of them failed with -ETIMEDOUT. Ends the process, with its status,
 * after such a failure, and where a rank was lost: rank 0 then ends the others too, which have
 * nothing left to do. */
void ranks_close(struct ranks *r, int status);
unsigned ranks_rank(const struct ranks *r);
unsigned ranks_count(const struct ranks *r);
/* The name of the host that a rank runs on. Lent. */
const char *ranks_host(const struct ranks *r, unsigned rank);
/* Puts the number and the host of a rank before the place of an error. A process that is no rank of
 * MPI leaves it. */
void ranks_name(const struct ranks *r, unsigned rank, struct err *e);

/* All. Each gives what came of its last step: rc and *e. 0 when all did well; else the error of the
 * first rank that failed, with its number and host. */
int ranks_agree(struct ranks *r, int rc, struct err *e);
/* All. -EINVAL with *e unless all give the same; what: "the trace", "the options". */
int ranks_same(struct ranks *r, struct hash128 h, const char *what, struct err *e);

/* All. n bytes of rank 0 go to all others. */
int ranks_spread(struct ranks *r, void *p, size_t n, struct err *e);

/* This rank's clock (clock_now_ns) less rank 0's at the same time, by the exchange of least round
 * trip of up to 100 in up to a second, half of which is the most that it can be wrong by. */
struct ranks_offset {
    int64_t offset_ns, round_trip_ns;
};
/* All. */
int ranks_measure(struct ranks *r, struct ranks_offset *o, struct err *e);
/* All. The instant on this rank's clock at which all are to start, a moment ahead, by offsets just
 * measured. */
int ranks_choose_start(struct ranks *r, const struct ranks_offset *o, int64_t *at_ns,
                       struct err *e);

/* A rank that is silent for longer is lost. */
#define RANKS_SILENT_NS INT64_C(30000000000)
/* Another limit than that. */
void ranks_set_silence(struct ranks *r, int64_t most_ns);
/* From here on rank 0 and the others do without those that are lost. Without rank 0 nothing is left
 * to do together: what waits for it returns -ETIMEDOUT. */
void ranks_go_on(struct ranks *r);
/* Whether rank 0 has lost this rank, or this rank has lost rank 0. For good. */
bool ranks_lost(struct ranks *r, unsigned rank);
/* Gives each lost rank once. */
bool ranks_next_lost(struct ranks *r, unsigned *rank);
/* Tells all others, by way of rank 0, that the run is over. Returns at once. */
void ranks_stop(struct ranks *r);
/* Whether another rank has said so. *by: which. */
bool ranks_stopped(struct ranks *r, unsigned *by);

/* All. Rank 0 gets len bytes of each rank, in the order of ranks: *all is malloc'ed, with a final
 * NUL behind each; lens: ranks_count numbers, malloc'ed; 0 for a lost rank. Others get NULL. */
int ranks_gather(struct ranks *r, const void *p, size_t len, char **all, size_t **lens,
                 struct err *e);
/* Rank 0 receives what another one sends, one after another; path is written, or read. */
int ranks_send_file(struct ranks *r, const char *path, struct err *e);
int ranks_receive_file(struct ranks *r, unsigned from, const char *path, struct err *e);

#endif
