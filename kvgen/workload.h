/* workload.h - the numbers of the workload that the configuration file gives, and the random draws
 * that need nothing else. */
#ifndef KVGEN_WORKLOAD_H
#define KVGEN_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvgen/rng.h"
#include "lib/base/err.h"
#include "lib/conf/conf.h"
#include "lib/trace/trace.h"

enum {
    WORKLOAD_PERSONAS = 3
};

/* --generation-mode, in the order of its choices: index into workload.token_ns. */
enum workload_generation {
    GENERATION_NONE,
    GENERATION_FAST,
    GENERATION_REALISTIC,
    GENERATION_MODES
};

/* Ranges include both ends. */
struct workload_persona {
    int64_t context[2], generation[2]; /* tokens */
    double think_s[2];
};

/* Retrieval-augmented generation. */
struct workload_rag {
    int64_t chunk_tokens, max_chunk_bytes; /* upper bounds of a chunk; the smaller one holds */
    uint32_t top_k;                        /* chunks that one retrieval reads */
    uint32_t max_documents;                /* that are kept; 0: all */
    double chance;                         /* that a request retrieves; that a query follows it */
    bool zipfian;                          /* chunks are picked by weights 1/rank; else equally */
    int64_t large_model_tokens[2], small_model_tokens[2]; /* of a document, both ends included */
};

struct workload {
    struct workload_persona persona[WORKLOAD_PERSONAS];
    double interactive;      /* share of users */
    double responsive_below; /* share that is interactive or responsive; the rest is batch */
    int64_t qos_priority[TRACE_QOSES]; /* by enum trace_qos; the highest is served first */
    double end_conversation;           /* probability that a conversation ends before a turn */
    uint32_t max_turns;                /* of a conversation */
    uint32_t max_conversations;        /* live at once */
    bool reload_all; /* a turn looks up all earlier turns, not only the one before */
    int64_t dataset_max_context, dataset_max_generated; /* tokens, where estimated from texts */
    double dataset_chars_per_token;
    double prompt_chance;         /* that a request starts with a shared system prompt */
    const int64_t *prompt_tokens; /* of each shared system prompt; lent by the configuration */
    size_t prompts;
    int64_t decode_batch; /* generated tokens per further read */
    struct workload_rag rag;
    double large_entry_limit_ratio, target_usage_ratio;
    int64_t token_ns[GENERATION_MODES]; /* time to generate one token */
};

/* Reads the numbers from c, which must outlive w. 0, or -EINVAL with *e when two numbers contradict
 * each other. */
int workload_read(struct workload *w, const struct conf *c, struct err *e);

/* A service class, by the shares of users. One draw. */
enum trace_qos workload_draw_qos(const struct workload *w, struct rng *rng);
/* The shared system prompt that a request starts with, from 0; -1: none. One draw, or two. */
int32_t workload_draw_prompt(const struct workload *w, struct rng *rng);
/* Tokens of a request's own object: its context behind shared prompt number prompt (-1: none). */
int64_t workload_own_tokens(const struct workload *w, int64_t context_tokens, int32_t prompt);

#endif
