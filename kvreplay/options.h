/* options.h - the one table of kvreplay's options, and the checks that need no input. */
#ifndef KVREPLAY_OPTIONS_H
#define KVREPLAY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/opt/opt.h"

enum {
    TIMING_ASAP,
    TIMING_TRACE,
    TIMING_SERVED,
    TIMING_CLOSED
};
enum {
    LAYOUT_AUTO,
    LAYOUT_FILES,
    LAYOUT_SLAB
};
enum {
    SYNC_NONE,
    SYNC_END,
    SYNC_OBJECT
};
enum {
    ONLY_ALL,
    ONLY_TIER_0,
    ONLY_TIER_1,
    ONLY_TIER_2
};
enum {
    OVERFLOW_FAIL,
    OVERFLOW_WRAP
};
enum {
    AUTOSCALE_OFF
}; /* then enum search_mode + 1 */

struct options {
    const char *nvme, *output, *summary, *ceiling, *gpu, *spin, *lateness_budget, *config;
    double gpu_mem_gb, cpu_mem_gb, storage_gb, speed, reserve_percent, compress_ratio, dedup_ratio;
    uint64_t users, workers, gpu_bandwidth, chunk_bytes, level, inflight, iodepth, rings, limit,
        threads;
    int64_t warmup_ns, duration_ns, gpu_latency_ns, lag_limit_ns;
    int64_t spin_ns;            /* of --spin: TIME, or IDLE_SPIN_AUTO */
    int64_t lateness_budget_ns; /* TIME, or VALIDITY_BUDGET_AUTO */
    int frames, timing, order, verify, on_absent, on_error, ioengine, layout, sync, only_tier,
        on_lag, progress;
    bool zstd, keep, destroy_data, sqpoll, iopoll, buffered, null, skip_bad_rows, long_window;
    struct opt_list tier_engine, tier_map;
    int overflow;
    uint64_t max_writes, loops;
    int autoscale;
    const char *each;
    int64_t step_warmup_ns, step_duration_ns, storage_p95_ns;
    uint64_t start_users, max_users;
    double target_saturation;
    /* of the configuration (config.c) */
    uint64_t min_users, queue_limit;
    double scale_up, scale_down;
    int64_t write_p95_ns;
    struct opt_list qos_p95;
};

extern const struct opt options_table[];

/* The parser over options_table; NULL: no memory. */
struct opt_parser *options_open(struct options *o);
/* Options that contradict each other or have no meaning in the mode: -EINVAL. *trace: the operand.
 */
/* Where result rows go: a file, "-" for standard output, NULL: nowhere. */
const char *options_results(const struct options *o);
int options_check(const struct opt_parser *p, struct options *o, const char **trace, struct err *e);
/* I/Os that the storage tier may have in flight, 1 to 1024. Unless told: where more than 32 workers
 * serve, each one's object can have an I/O in flight, or its wait for one would stand as the host's
 * time; buffers take 256 MiB at most. */
unsigned options_iodepth(const struct options *o);

#endif
