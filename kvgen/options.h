/* options.h - the options of kvgen, parsed and checked. */
#ifndef KVGEN_OPTIONS_H
#define KVGEN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/curve/curve.h"
#include "kvgen/sim/hierarchy.h"
#include "kvgen/tier_model.h"
#include "lib/base/err.h"
#include "lib/model/model.h"
#include "lib/opt/opt.h"

/* Most that --gpu-mem-gb (all GPUs together) and --cpu-mem-gb can be. */
#define OPTIONS_GPU_GIB 65536.0
#define OPTIONS_CPU_GIB 131072.0

enum options_source {
    OPTIONS_AUTO,
    OPTIONS_USERS,
    OPTIONS_MOONCAKE,
    OPTIONS_BURST,
    OPTIONS_AZURE,
    OPTIONS_BAILIAN,
    OPTIONS_LMCACHE,
    OPTIONS_AGENTIC,
    OPTIONS_SHAREGPT,
    OPTIONS_TRACE,
    OPTIONS_SOURCES
};
enum options_mla_tp {
    OPTIONS_MLA_SHARD,
    OPTIONS_MLA_REPLICATE
};
enum options_compat {
    OPTIONS_COMPAT_NONE,
    OPTIONS_COMPAT_MLPERF
};
enum options_format {
    OPTIONS_KVTRACE,
    OPTIONS_MLPERF,
    OPTIONS_SAI3,
    OPTIONS_WARP,
    OPTIONS_FIO,
    OPTIONS_LIBCACHESIM,
    OPTIONS_ORACLE
};

/* Fields in the order of the table in option_table.c; enums are indices into its choices. */
struct options {
    int source;
    const char *input, *burst_trace_path, *dataset_path;
    uint64_t max_conversations;
    double chars_per_token;
    bool use_burst_trace, qos_given;
    double trace_speedup;
    uint64_t replay_cycles;
    uint64_t num_users, max_requests, seed, workers;
    const char *users_file, *dump_users;
    int arrival;
    double request_rate;
    int64_t duration_ns;
    bool disable_multi_turn, disable_prefix_caching, partial_blocks;
    bool enable_rag, prefill_only, decode_only;
    uint64_t rag_num_docs, input_len, output_len;
    int block_reuse, qos, generation_mode, decode_reads, compat, mla_tp;
    const char *model, *kv_dtype, *config;
    uint64_t tensor_parallel, num_gpus;
    double gpu_mem_gb, cpu_mem_gb;
    const char *storage_capacity_gb;
    int eviction, promote;
    const char *granularity, *ops;
    struct opt_list tier_model;
    uint64_t max_concurrent_allocs;
    const char *output, *summary, *only_tier, *curve, *curve_sizes;
    double curve_sample;
    bool curve_optimal;
    int format, frames, progress;
    bool zstd;
    bool lint;
    uint64_t level, limit, threads, segment_bytes;
    const char *epoch, *endpoint;
    bool list_models, show_model, print_config, retier;
};

/* Every option, ended by an empty row (option_table.c). */
extern const struct opt options_table[];

/* The parser over *o, with defaults set; NULL: no memory. Close with opt_close. */
struct opt_parser *options_open(struct options *o);
/* Settles what is read (--input or what stands for it); before the source is known. */
int options_check_input(struct options *o, const struct opt_parser *p, struct err *e);
/* Refuses what does not go together; o->source is not OPTIONS_AUTO any more. */
int options_check(struct options *o, const struct opt_parser *p, struct err *e);
/* Capacities in bytes of the tiers that the options give. */
int options_capacities(const struct options *o, uint64_t capacity[TRACE_TIERS], struct err *e);
/* --granularity in tokens of a block, 0: request. */
int options_granularity(const struct options *o, int64_t *tokens, struct err *e);
/* Operations that --ops names as a mask of bits (1 << operation), 0: all. */
int options_ops(const struct options *o, unsigned *mask, struct err *e);
/* What --tier-model says of the tiers, none of it about one that is absent. */
int options_speed(const struct options *o, const uint64_t capacity[TRACE_TIERS],
                  struct tier_model speed[TRACE_TIERS], struct err *e);
/* Tiers that --only-tier names as a mask of bits (1 << tier), or the default of the format; 0: all.
 */
int options_tiers(const struct options *o, unsigned *mask, struct err *e);
/* Capacities that --curve-sizes names, rising, each once: *count of at most CURVE_MAX_SIZES; 0:
 * none are named. */
int options_curve_sizes(const struct options *o, uint64_t *size, size_t *count, struct err *e);
/* Is the output one zstd stream or a trace in zstd frames? */
bool options_write_zstd(const struct options *o);
bool options_is_mlperf(const struct options *o); /* --compat */
/* --epoch in ns, or the default of the format. */
int options_epoch(const struct options *o, int64_t *epoch_ns, struct err *e);

#endif
