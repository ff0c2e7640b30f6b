/* run.h - the state of one replay, and the functions of run_ranks.c and run_report.c, which run.c
 * calls. */
#ifndef KVREPLAY_RUN_H
#define KVREPLAY_RUN_H

#include "kvreplay/backlog.h"
#include "kvreplay/device/drive_times.h"
#include "kvreplay/evidence.h"
#include "kvreplay/prepare/populate.h"
#include "kvreplay/prepare/tiers.h"
#include "kvreplay/progress_line.h"
#include "kvreplay/replay.h"
#include "kvreplay/sched/sched.h"
#include "kvreplay/summary.h"
#include "lib/base/hash.h"
#include "lib/ranks/claims.h"

struct replay {
    const struct replay_input *in;
    struct options *o;
    struct selection select;
    bool timed; /* rows have times to keep */
    bool by_class;
    size_t window; /* rows inside at most */
    struct trace_reader *trace;
    struct bell *bell;
    struct progress *progress;
    struct progress_line progress_line;
    struct survey survey;
    bool surveyed;
    bool steps;                  /* the trace is of engines that serve steps */
    struct threads_opts threads; /* of these engines */
    struct tiers tiers;
    struct objects *objects;
    struct populate populate;
    struct trace_writer *writer; /* NULL: no result rows are wanted */
    struct results *results;
    struct counts counts;
    struct ledger ledger;
    struct sched_outcome outcome;
    struct evidence evidence;
    struct drive_times *drive_times; /* NULL: not asked for */
    struct backlog backlog;
    struct summary_start start;
    struct hash128 trace_hash; /* of what the trace holds; see replay_hash_trace */
    bool joined;               /* this rank came to the start of all ranks */
    int64_t listen_ns;         /* when to look next for news of other ranks */
    uint64_t skipped;
    int64_t started_wall_ns, cpu_ns, sync_ns;
    uint64_t data_seed;
    struct storage_list targets; /* the paths under Tier-2 */
    struct target_part part[SPREAD_MAX];
    struct claim_others others[SPREAD_MAX]; /* on the file system of each */
    bool reader_stuck; /* the reader's thread still hangs in a read of the trace, or a tier still
                        * has rows of it */
    bool tiers_stuck;  /* operations were abandoned while tiers still work on them, here or, in a
                        * shared store, at another rank */
};

/* ---- run_ranks.c: these do nothing in a run of one process ---- */

/* Exchanges the result of a step, rc and *e. Returns the result of all ranks, the same for each. */
int replay_agree(const struct replay *r, int rc, struct err *e);
/* Compares the settings that must not differ between ranks. */
int replay_check_ranks(const struct replay *r, struct err *e);
/* Tells the other ranks what this one needs of its file systems, and learns what they do. */
int replay_compare_claims(struct replay *r, struct err *e);
/* Sets trace_hash: of the digest, if the survey has read all rows; else of the file's size and
 * ends. */
void replay_hash_trace(struct replay *r);
/* All ranks wait here for each other, then start at one instant. stopping: this one cannot. */
int replay_start_with_others(struct replay *r, bool stopping, int64_t *zero_ns, struct err *e);
/* Once a second: looks whether another rank has ended the run, and which ranks are lost. */
void replay_listen(struct replay *r, struct sched *s, int64_t now);

/* ---- run_report.c ---- */

/* Whether the tier is a store over the network. */
bool replay_is_remote(const struct replay *r, unsigned tier);
/* Returns rc, or after if rc is 0. If both are failures, prints the second one, *later. */
int replay_first(int rc, int after, const struct err *later);
/* Fills the figures that the caller wants; with several ranks, the figures of all. Returns rc, or
 * the result of all ranks. */
int replay_measure(struct replay *r, int rc, struct err *e);
/* rc: the result of the run. Writes the end of the results, the summary file, and, last and in any
 * case, the text. Returns the first failure. */
int replay_report(struct replay *r, int rc, struct err *e);

#endif
