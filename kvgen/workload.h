/* workload.h - the numbers of the workload that come from the configuration file. */
#ifndef KVGEN_WORKLOAD_H
#define KVGEN_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvgen/choices.h"
#include "lib/base/err.h"
#include "lib/conf/conf.h"

enum {
    WORKLOAD_PERSONAS = 3,
    WORKLOAD_QOS = 3
};

struct workload_persona {
    int64_t context[2], generation[2]; /* tokens, both included */
    double think_s[2];
};

/* Retrieval-augmented generation. */
struct workload_rag {
    int64_t chunk_tokens, max_chunk_bytes; /* the most that a chunk has, by both */
    uint32_t top_k;                        /* chunks read in a retrieval */
    uint32_t max_documents;                /* kept; 0: all */
    double chance;                         /* that a request retrieves, that a query follows it */
    bool zipfian;                          /* chunks by weights 1/rank; else equal */
    int64_t large_model_tokens[2], small_model_tokens[2]; /* of a document, both included */
};

struct workload {
    struct workload_persona persona[WORKLOAD_PERSONAS];
    double interactive;      /* share of users */
    double responsive_below; /* share that is interactive or responsive; the rest is batch */
    int64_t qos_priority[WORKLOAD_QOS]; /* by enum trace_qos; higher goes first */
    double end_conversation;            /* probability before each further turn */
    uint32_t max_turns, max_conversations;
    bool reload_all; /* every earlier turn is looked up, not only the one before */
    int64_t dataset_max_context, dataset_max_generated; /* tokens that are estimated from texts */
    double dataset_chars_per_token;
    double prompt_chance; /* probability that a request starts with a shared system prompt */
    const int64_t *prompt_tokens; /* of each shared system prompt; lent by the configuration */
    size_t prompts;
    int64_t decode_batch; /* generated tokens per further read */
    struct workload_rag rag;
    double large_entry_limit_ratio, target_usage_ratio;
    int64_t token_ns[GENERATION_MODES]; /* generation time of one token */
};

/* Reads them from c, which must live as long as w. -EINVAL with *e when numbers contradict one
 * another. */
int workload_read(struct workload *w, const struct conf *c, struct err *e);

#endif
