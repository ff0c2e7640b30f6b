/* results.h - the figures of a run as a results file of the MLPerf Storage KV-cache benchmark: its
 * members, names, units and definitions. */
#ifndef KVSTAT_MLPERF_RESULTS_H
#define KVSTAT_MLPERF_RESULTS_H

#include <stdbool.h>

#include "kvstat/mlperf/map.h"
#include "kvstat/report/figures.h"
#include "kvstat/report/verdict.h"
#include "lib/json/jsonout.h"

/* The figures that the benchmark's aggregators take from the file of a rank. NAN: it has none. */
struct mlperf_rank {
    double read_gbps, write_gbps; /* GiB/s of the storage tier */
    double tokens_per_s, storage_tokens_per_s;
    double request_p95_ms; /* storage time of a request */
    double read_p95_ms;    /* service time of a read of storage */
    double read_device_p95_ms, write_device_p95_ms;
    bool cpu_tier; /* it had one */
};

/* The members of a results file. */
extern const struct map_row mlperf_results_map[];

/* Adds the members of a results file. f was counted with scan_opts.direct. False, and nothing
 * added, when f is no result file. *rank: what aggregators take from it. */
bool mlperf_results(struct jsonout *j, const struct figures *f, const struct verdict_limits *limits,
                    struct mlperf_rank *rank);

/* Whether the rows tell tokens; without them their rates are left out. f: as above. */
bool mlperf_knows_tokens(const struct figures *f);

#endif
