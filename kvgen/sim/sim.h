/* sim.h - the event loop: takes requests from a source, queues them, serves them by workers on a
 * virtual clock, and tells every row to a sink. Knows neither files nor formats. */
#ifndef KVGEN_SIM_SIM_H
#define KVGEN_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/curve/curve.h"
#include "kvgen/sim/hierarchy.h"
#include "kvgen/sim/row.h"
#include "kvgen/sim/row_counts.h"
#include "kvgen/sim/tier_servers.h"
#include "kvgen/source/rag.h"
#include "kvgen/source/source.h"
#include "kvgen/tier_model.h"
#include "kvgen/workload.h"
#include "lib/base/err.h"
#include "lib/base/hist.h"
#include "lib/model/model.h"

enum sim_decode_reads {
    SIM_DECODE_BATCH,
    SIM_DECODE_ONCE,
    SIM_DECODE_NONE
};
/* What of a request's path a node does. */
enum sim_node {
    SIM_NODE_BOTH,
    SIM_NODE_PREFILL, /* no decode reads */
    SIM_NODE_DECODE   /* decode reads, of objects written before the first request */
};
enum {
    SIM_PREFILL_ONLY_TOKENS = 10000,
    SIM_PREPOP_TOKENS = 2048 /* of an object written before the first request */
};
/* The clock may not pass this (146 years): sums of two times then fit. */
#define SIM_LAST_NS (INT64_C(1) << 62)

struct sim_opts {
    const struct workload *workload;
    const struct model *model;
    uint32_t tensor_parallel; /* objects are 1/N of the model's bytes, rounded down */
    int64_t token_ns;         /* generation time of one token */
    uint32_t workers;
    uint64_t max_requests; /* submitted; 0: no limit */
    int64_t duration_ns;   /* ends the run; 0: no limit */
    bool prefix;           /* shared system prompts are looked up */
    enum sim_decode_reads decode_reads;
    enum sim_node node;
    uint64_t prepopulated; /* such objects of a decode node, at least 1 there */
    struct rag *rag;       /* documents; NULL: none */
    bool mlperf; /* as that benchmark's program does where it differs from its documentation */
    uint64_t seed;
    bool block_any;                 /* each block by itself; else only while all earlier ones hit */
    bool partial_blocks;            /* the last block of a request is sized by its tokens */
    int64_t granularity;            /* tokens of the objects of an entry; 0: it is one object */
    struct curve *curve;            /* is told every lookup; NULL: none */
    const struct tier_model *speed; /* of TRACE_TIERS tiers; NULL: operations take no time */
    uint32_t max_writers;           /* requests that write at once; 0: no limit */
};

/* 0: go on; 1: end the run here; negative errno with *e (ends it too). */
typedef int (*sim_sink)(void *ctx, const struct sim_row *row, struct err *e);

/* Where a request's time goes. */
enum sim_time {
    SIM_QUEUE, /* it waits for a worker */
    SIM_STORAGE,
    SIM_GENERATION,
    SIM_END_TO_END,
    SIM_TIMES
};

struct sim_stats {
    struct row_counts rows; /* that the sink was told, written or filtered out */
    uint64_t issued, served, completed, completed_by_qos[TRACE_QOSES];
    uint64_t context_tokens;         /* of requests served */
    uint64_t generated_tokens;       /* of requests completed */
    uint64_t waiting;                /* in the queue at the end */
    struct hist *time_ns[SIM_TIMES]; /* of requests completed; NULL where nothing is served */
    int64_t now_ns;                  /* virtual time reached */
};

struct sim;

/* o, what it points to and source stay the caller's. */
int sim_create(struct sim **out, const struct sim_opts *o, const struct hierarchy_opts *tiers,
               struct source *source, sim_sink sink, void *ctx, struct err *e);
void sim_free(struct sim *s);
/* Runs to the end: of the source, by a limit, or by the sink. 0, or the sink's or source's error.
 */
int sim_run(struct sim *s, struct err *e);
const struct sim_stats *sim_stats(const struct sim *s);
const struct hierarchy *sim_hierarchy(const struct sim *s);
/* NULL: operations take no time. */
const struct tier_servers *sim_tier_servers(const struct sim *s);

#endif
