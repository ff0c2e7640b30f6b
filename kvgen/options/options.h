/* The command line of kvgen as plain values. */
#ifndef KVGEN_OPTIONS_OPTIONS_H
#define KVGEN_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/curve/curve.h"
#include "kvgen/meaning/stamps.h"
#include "kvgen/people/mix.h"
#include "kvgen/serve/engine_caches.h"
#include "kvgen/serve/serving.h"
#include "kvgen/sim/hierarchy.h"
#include "kvgen/sim/sim.h"
#include "kvgen/source/users.h"
#include "kvgen/speed/tier_model.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"
#include "lib/model/model.h"
#include "lib/opt/opt.h"
#include "lib/opt/rows.h"

/* Upper limits of --gpu-mem (all GPUs together) and --cpu-mem. */
#define OPTIONS_GPU_GIB 65536.0
#define OPTIONS_CPU_GIB 131072.0

/* Whether a step computes while it loads. */
enum options_overlap {
    OPTIONS_OVERLAP_NONE,
    OPTIONS_OVERLAP_LAYERS
};
/* Choices of the options, in the table's order. */
enum options_source {
    OPTIONS_AUTO,
    OPTIONS_USERS,
    OPTIONS_MOONCAKE,
    OPTIONS_BURST,
    OPTIONS_AZURE,
    OPTIONS_BAILIAN,
    OPTIONS_LMCACHE,
    OPTIONS_DYNAMO,
    OPTIONS_SATF,
    OPTIONS_AGENTIC,
    OPTIONS_SHAREGPT,
    OPTIONS_KV_EVENTS,
    OPTIONS_TRTLLM,
    OPTIONS_DYNAMO_KV,
    OPTIONS_LCT,
    OPTIONS_STRACE,
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

/* When documents are written. */
enum options_rag_ingest {
    OPTIONS_RAG_BEFORE,
    OPTIONS_RAG_TIMED
};

/* The type of a model's weights in the GPU. */
enum options_weights {
    OPTIONS_WEIGHTS_AUTO, /* as the model's file says */
    OPTIONS_WEIGHTS_BF16,
    OPTIONS_WEIGHTS_FP8
};

/* The fate of a write to files that finds no room. */
enum options_on_full {
    OPTIONS_FULL_FAIL,
    OPTIONS_FULL_EVICT
};

/* Texts point into argv. */
struct options {
    enum options_source source;
    struct opt_list medium;
    uint64_t object_bytes;
    int64_t reorder_ns;
    const char *capture, *bind, *gap_endpoint, *requests;
    uint64_t message_bytes;
    struct opt_list inputs;
    const char *input; /* the first of them, from options_apply_compat on; NULL: there is none */
    const char *names, *dataset_path;
    uint64_t input_memory, queue_memory; /* bytes */
    uint64_t max_conversations;
    double chars_per_token;
    bool use_burst_trace, qos_given;
    double speed;
    enum stamps_unit time_unit;
    double sample; /* share of the sessions */
    int64_t max_gap_ns;
    uint64_t max_context; /* tokens; 0: no limit */
    uint64_t block_size;  /* tokens; 0: not given */
    uint64_t clients;     /* 0: requests come at their times */
    uint64_t replay_cycles;
    uint64_t users, max_requests, seed, workers;
    const char *users_file, *dump_users, *population;
    struct people_mix mix; /* what population says, from options_check on */
    enum source_users_arrival arrival;
    double request_rate, arrival_cv;
    int64_t duration_ns;
    bool disable_multi_turn, disable_prefix_caching, partial_blocks;
    bool enable_rag, prefill_only, decode_only, fill_storage;
    enum options_rag_ingest rag_ingest;
    uint64_t rag_num_docs, input_len, output_len;
    int qos; /* enum trace_qos */
    enum sim_block_reuse block_reuse;
    enum workload_generation generation_mode;
    enum sim_decode_reads decode_reads;
    enum options_compat compat;
    enum options_mla_tp mla_tp;
    const char *model, *kv_dtype;
    struct opt_list config; /* files and settings */
    uint64_t tensor_parallel, pipeline_parallel, context_parallel, num_gpus;
    double gpu_mem_gb, cpu_mem_gb; /* gpu_mem_gb: OPT_AUTO_GIB until it is known */
    const char *storage_capacity;
    enum options_on_full on_full;
    const char *decisions, *files_from;
    enum policy_number eviction;
    enum hierarchy_promote promote;
    const char *granularity, *ops;
    struct opt_list tier_model;
    uint64_t max_concurrent_allocs;
    const char *cache;
    struct engine_choice engine; /* what cache says, from options_check on */
    const char *gpu_profile, *prefill, *prefill_rate, *decode_rate;
    enum options_weights weights;
    bool gpu_assumed; /* gpu_profile is not given: an engine's cache needs one */
    double params;
    bool worth;
    struct opt_list ttft_target;
    const char *price;
    const char *answer; /* NULL: not asked for */
    int64_t ttft_ns, tpot_ns, answer_window_ns;
    double goodput;
    uint64_t seeds;
    uint64_t engines;
    enum engine_route route;
    double spec_tokens;
    enum scheduler_policy engine_order;
    enum options_overlap overlap;
    double tbw; /* 0: not given */
    const char *output, *summary, *only_tier, *curve, *curve_sizes;
    double curve_sample;
    bool curve_optimal;
    enum options_format format;
    enum opt_frames frames;
    enum progress_mode progress;
    bool zstd, notes;
    bool lint, preload;
    uint64_t level, limit, threads, segment_bytes;
    const char *epoch, *endpoint;
    int64_t settle_ns;
    bool list_models, show_model, force_model, print_config, dry_run, retier;
};

/* The parser over *o, with defaults set; NULL: no memory. Close with opt_close. */
struct opt_parser *options_open(struct options *o);
/* Gives the options that are not on the command line the defaults of --compat, and of live sources.
 * Call it first. */
int options_apply_compat(struct options *o, struct opt_parser *p, struct err *e);
/* Settles what is read: --input, or an option that stands for it. Call it before the source is
 * known. 0 or -EINVAL, as the other checks. */
int options_check_input(struct options *o, const struct opt_parser *p, struct err *e);
/* Checks options against each other. o->source must not be OPTIONS_AUTO any more. */
int options_check(struct options *o, const struct opt_parser *p, struct err *e);
/* Whether --cache is waterfall. */
bool options_is_waterfall(const struct options *o);
/* Whether an engine serves the requests, which --gpu-profile and --prefill ask for; with --cache of
 * an engine options_check sets gpu_profile. */
bool options_computes(const struct options *o);
/* Refuses options that have no meaning for the model. */
int options_check_model(const struct opt_parser *p, const struct model *m, struct err *e);
/* Refuses more ranks than GPUs, when the model's file may have named them. 0 or -EINVAL. */
int options_check_ranks(const struct options *o, struct err *e);

/* Whether the source is the events of an engine, whose rows come as they were recorded. */
bool options_is_recording(const struct options *o);
/* Whether the requests of an existing trace are served anew, by an engine's cache. */
bool options_redoes(const struct options *o);
/* Whether the events come from engines that run now, not from files. */
bool options_is_live(const struct options *o);
/* Whether the source is requests that have times and wait for none, but for turns of agents, which
 * an input of OPTIONS_MOONCAKE may hold. */
bool options_has_times(const struct options *o);
/* Where the trace goes; NULL: nowhere (-o none). */
const char *options_output(const struct options *o);
/* Whether the format is of another tool, and no trace. */
bool options_is_foreign(const struct options *o);
/* Returns whether the output is a zstd stream, or a trace in zstd frames. */
bool options_write_zstd(const struct options *o);
/* The behaviours that --compat asks for. */
const struct compat *options_compat(const struct options *o);

/* Values of options whose text is more than a number. 0, or a negative errno with *e. */

/* Capacities of the tiers in bytes. */
int options_capacities(const struct options *o, uint64_t capacity[TRACE_TIERS], struct err *e);
/* Tokens of a block of --granularity; 0: request. */
int options_granularity(const struct options *o, int64_t *tokens, struct err *e);
/* Operations of --ops as bits (1 << operation); 0: all. */
int options_ops(const struct options *o, unsigned *mask, struct err *e);
/* Speeds of the tiers by --tier-model, which must not name an absent tier. */
int options_speed(const struct options *o, const uint64_t capacity[TRACE_TIERS],
                  struct tier_model speed[TRACE_TIERS], struct err *e);
/* Tiers of --only-tier, or else of the format, as bits (1 << tier); 0: all. */
int options_tiers(const struct options *o, unsigned *mask, struct err *e);
/* Capacities of --curve-sizes, rising, each once: at most CURVE_MAX_SIZES; *count 0: none given. */
int options_curve_sizes(const struct options *o, uint64_t *size, size_t *count, struct err *e);
/* A rate of --prefill-rate or --config decode_rate and the tokens that it was measured with. */
int options_rate(const char *option, const char *text, double *rate, uint64_t *tokens,
                 struct err *e);
/* --epoch in ns, or else the default of the format. */
int options_epoch(const struct options *o, int64_t *epoch_ns, struct err *e);

#endif
