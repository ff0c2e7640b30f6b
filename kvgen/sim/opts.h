/* opts.h - what a simulation is told. All of its parts read these options, none changes them. */
#ifndef KVGEN_SIM_OPTS_H
#define KVGEN_SIM_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/sim/compat.h"
#include "kvgen/sim/hierarchy.h"
#include "kvgen/source/rag.h"
#include "kvgen/source/source.h"
#include "kvgen/speed/tier_model.h"
#include "kvgen/workload.h"
#include "lib/model/model.h"

struct curve;

/* In the order of --config decode_reads: how often a request reads its object while it decodes. */
enum sim_decode_reads {
    SIM_DECODE_BATCH, /* once, and once more for each batch of generated tokens */
    SIM_DECODE_ONCE,
    SIM_DECODE_NONE
};
/* In the order of --config block_reuse: when a block that is present can hit. */
enum sim_block_reuse {
    SIM_REUSE_PREFIX, /* while all earlier blocks of its request hit */
    SIM_REUSE_ANY     /* always */
};
/* The part of serving that a node does. */
enum sim_node {
    SIM_NODE_BOTH,
    SIM_NODE_PREFILL, /* no decode reads */
    SIM_NODE_DECODE   /* only decode reads, of objects written before the first request */
};
enum {
    SIM_PREFILL_ONLY_TOKENS = 10000 /* requests with this context or more do no decode reads */
};

/* All pointers stay the caller's and must live as long as the simulation. */
struct sim_opts {
    /* requests and workers */
    struct source *source;
    const struct workload *workload;
    uint32_t workers;
    uint64_t max_requests; /* submitted; 0: no limit */
    int64_t duration_ns;   /* virtual time at which the run ends; 0: no limit */
    uint64_t queue_bytes;  /* most that waiting requests may take; 0: no limit */
    uint64_t seed;
    const struct compat *compat; /* NULL: compat_none */

    /* what a request does */
    enum sim_node node;
    bool fill_storage; /* storage, whose capacity is limited, is full before the first request */
    uint64_t prepopulated; /* objects that a decode node finds; at least 1 there */
    bool prefix;           /* shared system prompts are looked up */
    enum sim_decode_reads decode_reads;
    struct rag *rag;  /* documents for retrieval; NULL: none */
    bool rag_timed;   /* the source brings them; else they are there before the first request */
    int64_t token_ns; /* time to generate one token */

    /* what the cache holds */
    struct hierarchy_opts tiers;
    const struct model *model; /* an object is what one of its ranks keeps */
    int64_t granularity;       /* tokens of each object of an entry; 0: an entry is one object */
    enum sim_block_reuse block_reuse;
    bool partial_blocks; /* the last block of a request or entry is sized by its tokens */
    struct curve *curve; /* is told every lookup; NULL: none */

    /* how long operations take */
    const struct tier_model *speed; /* TRACE_TIERS of them; NULL: operations take no time */
    uint32_t max_writers;           /* requests that write at once; 0: no limit */
};

#endif
