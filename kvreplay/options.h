/* The command line of kvreplay, and its sections of the configuration file, as plain values. */
#ifndef KVREPLAY_OPTIONS_H
#define KVREPLAY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/autoscale/search.h"
#include "kvreplay/device/drive_times.h"
#include "kvreplay/prepare/storage.h"
#include "kvreplay/prepare/tiers.h"
#include "kvreplay/sched/ledger.h"
#include "kvreplay/sched/sched.h"
#include "kvreplay/wait/order.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"
#include "lib/io/io.h"
#include "lib/opt/opt.h"
#include "lib/opt/rows.h"
#include "lib/ranks/part.h"
#include "lib/tier/spread.h"
#include "lib/tier/tier.h"
#include "lib/tier/uri.h"

/* --only-tier, in the order of its choices. */
enum options_only_tier {
    ONLY_ALL,
    ONLY_TIER_0,
    ONLY_TIER_1,
    ONLY_TIER_2
};

/* --config admit, in the order of its choices. */
enum options_admit {
    ADMIT_AUTO, /* ADMIT_QOS when the trace has the column */
    ADMIT_QOS,
    ADMIT_FIFO
};

/* --on-full, in the order of its choices. */
enum options_on_full {
    OPTIONS_FULL_FAIL,
    OPTIONS_FULL_EVICT
};

/* --config priority, in the order of its choices. */
enum options_priority {
    PRIORITY_NONE,
    PRIORITY_LOADS
};

/* --split, in the order of its choices. */
enum options_split {
    SPLIT_NONE, /* every part runs its whole trace */
    SPLIT_KEYS  /* every part runs the rows of its keys */
};

/* Marks of options that have no meaning in a mode (opt_check_modes). */
enum options_marks {
    OPTIONS_ROWS_ONLY = 1 << 0, /* result rows are written */
    OPTIONS_AUTOSCALE_ONLY = 1 << 1,
    OPTIONS_NOT_AUTOSCALE = 1 << 2,
    OPTIONS_NOT_ASAP = 1 << 3,
    OPTIONS_TRACE_TIMING_ONLY = 1 << 4,
    OPTIONS_SERVED_ONLY = 1 << 5,
    OPTIONS_SIMULATED_GPU_ONLY = 1 << 6,
    OPTIONS_NOT_NULL = 1 << 7,
    OPTIONS_PATH_ONLY = 1 << 8, /* a target that is a path */
    OPTIONS_URING_ONLY = 1 << 9,
    OPTIONS_DIRECT_ONLY = 1 << 10,
    OPTIONS_COMPRESSED_ONLY = 1 << 11,
    OPTIONS_PLAIN_ONLY = 1 << 12,
    OPTIONS_STORE_ONLY = 1 << 13, /* a path or a remote store */
    OPTIONS_REMOTE_ONLY = 1 << 14,
    OPTIONS_PARTS_ONLY = 1 << 15,
    OPTIONS_NOT_LIKE = 1 << 16, /* a target in kvtrace's own way, without like= */
    OPTIONS_RANKS_ONLY = 1 << 17,
    OPTIONS_NOT_RANKS = 1 << 18,
    OPTIONS_SEVERAL_ONLY = 1 << 19, /* several paths */
    OPTIONS_NOT_SEARCH = 1 << 20
};

struct options {
    const char *output, *summary, *ceiling, *gpu, *spin, *lateness_budget;
    struct opt_list config; /* files and settings */
    struct conf *conf;      /* read from them */
    double gpu_mem_gb, cpu_mem_gb, storage_gb, speed, reserve_share, compress_ratio, dedup_ratio;
    const char *reserve;
    uint64_t only_users, workers, gpu_bandwidth, chunk_bytes, level, inflight, iodepth, rings,
        limit, threads, max_writes, loops;
    bool full;
    int64_t warmup_ns, duration_ns, gpu_latency_ns, lag_limit_ns;
    int64_t timeout_ns; /* of remote stores, as the next */
    uint64_t retries;
    int64_t spin_ns;            /* of --config spin: a time, or IDLE_SPIN_AUTO */
    int64_t lateness_budget_ns; /* VALIDITY_BUDGET_NONE unless given */
    enum opt_frames frames;
    enum progress_mode progress;
    enum sched_timing timing;
    enum order_mode order;
    enum options_admit admit;
    enum options_priority priority;
    enum storage_layout layout;
    enum storage_sync sync;
    enum drive_times_wish device_times;
    enum options_only_tier only_tier;
    enum tiers_overflow overflow;
    enum ledger_on_error on_error;
    enum options_on_full on_full;
    enum io_engine ioengine;
    enum tier_verify verify;
    uint64_t data_seed; /* 0: a random one, which the run sets */
    enum ledger_on_absent on_absent;
    enum ledger_on_lag on_lag;
    bool zstd, notes, keep, destroy_data, sqpoll, iopoll, buffered, null, skip_bad_rows,
        long_window, cold;
    struct opt_list tier_engine, tier_map, targets;
    /* of --target, by tier (of several paths the first); path: the paths under Tier-2 */
    struct uri target[TRACE_TIERS];
    bool has_target[TRACE_TIERS];
    const char *path[SPREAD_MAX]; /* in expanded */
    unsigned paths;
    enum storage_spread spread;

    /* one of several parts of a run */
    const char *part_text, *start_at;
    enum options_split split;
    struct part part;
    int64_t start_wall_ns; /* of --start-at, since 1970; 0: at once */
    const char *spool;     /* folder */
    bool shared_target;
    int64_t lost_after_ns;
    bool collected;                              /* rank 0 makes one result of all */
    bool own_traces, own_results, own_summaries; /* {rank} is in the name */
    char run_id[HASH_HEX_LEN + 1]; /* the same in all parts of a run; "": there are no parts */
    /* texts with {rank} and so on replaced, and paths without their parameters; owned */
    char *expanded[2 * OPT_LIST_MAX + 5];
    size_t expanded_count;

    /* --autoscale; the last four come from the configuration. */
    enum search_mode autoscale;
    const char *each;
    int64_t each_timeout_ns;
    int64_t step_warmup_ns, step_duration_ns, search_time_ns, storage_p95_ns;
    uint64_t start_users, max_users;
    double target_saturation;
    bool saturation_limits; /* --target-saturation was given */
    struct opt_list qos_p95;
    uint64_t min_users, queue_limit;
    double scale_up, scale_down;
    int64_t write_p95_ns;
};

/* The name of this program: kvreplay, or kvreplay-mpi. */
const char *options_program(void);
/* The parser over *o, with defaults set; NULL: no memory. Close with opt_close. */
struct opt_parser *options_open(struct options *o);
/* Reads the configuration (its warnings are printed), settles what "auto" means,
 * and refuses options that contradict each other or have no meaning in the mode. *trace is the
 * operand, "-" without one. 0, -EINVAL, or conf_open's errors. */
int options_check(struct opt_parser *p, struct options *o, const char **trace, struct err *e);
/* Before options_check: this process is one of several that MPI started. */
void options_set_rank(struct options *o, unsigned rank, unsigned count, const char *host);
/* Frees what options_check made. */
void options_release(struct options *o);
/* Where result rows go: a file, "-" for standard output, NULL for nowhere. */
const char *options_results(const struct options *o);
/* I/Os that the storage tier may have in flight, 1 to 1024. By default one for each worker: with
 * fewer, a worker's wait for an I/O slot would count as the host's time. At least 32, at most 256;
 * buffers take at most 256 MiB. */
unsigned options_iodepth(const struct options *o);

#endif
