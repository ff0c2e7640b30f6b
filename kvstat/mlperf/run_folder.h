/* run_folder.h - the folder of a run as the MLPerf Storage benchmark's wrapper leaves it:
 * DIR/kv_cache/MODEL/run/YYYYMMDD_HHMMSS with metadata, summary, and the results file of each
 * option, trial and rank. */
#ifndef KVSTAT_MLPERF_RUN_FOLDER_H
#define KVSTAT_MLPERF_RUN_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "kvstat/mlperf/map.h"
#include "kvstat/report/figures.h"
#include "kvstat/report/verdict.h"
#include "lib/base/err.h"

/* Whether --mlperf names a folder: one that is there, or a name that ends in a slash. */
bool run_folder_is_meant(const char *path);

/* The members of a run's metadata, of its summary, and of one option there. */
extern const struct map_row mlperf_metadata_map[], mlperf_summary_map[], mlperf_option_map[];

struct run_folder;
/* dir is lent; now_wall_ns names the run. NULL: no memory. Nothing is written yet. */
struct run_folder *run_folder_create(const char *dir, int64_t now_wall_ns);
void run_folder_free(struct run_folder *r);

/* Writes the results file of one rank. Its option, trial and rank come from the name of its file,
 * "option_2...trial_0...rank_1"; without them it is the next trial of option 1, rank 0. The first
 * one makes the folder. 0, -EINVAL (a trace, or a second file of the same rank), -EEXIST (the run's
 * folder is there already), or another negative errno, with *e. */
int run_folder_add(struct run_folder *r, const struct figures *f,
                   const struct verdict_limits *limits, struct err *e);
/* Writes summary and metadata: bandwidths and rates are summed over ranks and averaged over trials,
 * P95s are the largest. 0 or a negative errno with *e. */
int run_folder_finish(struct run_folder *r, struct err *e);

#endif
