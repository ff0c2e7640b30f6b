/* serving.h - what a simulation of engines in steps is given, and what it counts: plain values,
 * which the run (engine_run.h) and each engine (engine.h) share. */
#ifndef KVGEN_SERVE_SERVING_H
#define KVGEN_SERVE_SERVING_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/serve/decision_line.h"
#include "kvgen/serve/engine_caches.h"
#include "kvgen/serve/step_setup.h"
#include "kvgen/serve/transfers.h"
#include "kvgen/source/source.h"
#include "kvgen/speed/tier_model.h"
#include "kvgen/workload.h"
#include "lib/base/hist.h"
#include "lib/trace/trace.h"

/* A request that got its last token, or is too long for the engine: then all times and what it
 * found are 0. Times are in ns. */
struct engine_done {
    int64_t now_ns, arrival_ns;
    int64_t first_token_ns; /* from its arrival */
    int64_t token_ns;       /* mean time between its tokens; -1: it had one only */
    enum trace_qos qos;
    bool too_long;
    uint64_t prompt_tokens, output_tokens;
    /* At its first admission; what was brought up from files for it counts as found there. */
    uint64_t found_tokens[TRACE_TIERS];
    int64_t files_ns; /* from the first question to files until what they have is on the GPU */
    const int64_t *time_ns; /* enum engine_time; lent for the call */
    uint64_t here;          /* requests in engines that have not got their last token */
};

/* A request that has not got its last token when a run ends. */
struct engine_pending {
    int64_t now_ns, arrival_ns;
    int64_t first_ns; /* of its first token; 0: it has none */
    int64_t files_ns; /* so far, as in engine_done; 0: it found nothing there */
    enum trace_qos qos;
    uint64_t prompt_tokens, output_tokens; /* output: that it is to get */
};

/* Which engine gets a request. */
enum engine_route {
    ENGINE_ROUTE_USER,   /* all requests of a user go to one */
    ENGINE_ROUTE_PREFIX, /* the one that holds most of its prompt; of several, the least busy */
    ENGINE_ROUTE_ROUND_ROBIN
};

/* All pointers stay the caller's and must live as long as the run. */
struct engine_run_opts {
    struct source *source;
    const struct workload *workload;
    bool shared_prompts;   /* requests may begin with a shared system prompt */
    bool apart;            /* no request finds anything: prompts.h */
    uint64_t max_requests; /* 0: no limit */
    uint64_t queue_bytes;  /* most that requests may take that are not answered; 0: no limit */
    int64_t duration_ns;   /* virtual time at which the run ends; 0: no limit */
    uint32_t engines;      /* that are alike; 0: one */
    enum engine_route route;
    bool prefill_only; /* requests end with their first token */
    /* Another node writes the prompt of a request to the files that it shares before the request
     * comes. */
    bool prompts_written;
    const struct kv_files *files_there; /* in them at the start; NULL: none */
    const struct engine_choice *cache;
    struct engine_room room; /* of each engine */
    struct step_setup steps; /* step_tokens and gpu.async are taken from the cache's settings */
    bool by_layers;          /* loads of a step come layer by layer, beside what it computes */
    uint64_t link_bytes_s;   /* between host and GPU, a direction, at peak; 0: takes no time */
    const struct tier_model *files; /* speed of Tier-2: of each engine's, or the shared one */
    /* Hears of each request that got its last token, or is too long; true ends the run, and
     * the sink gets the rows so far. NULL: nobody does. */
    bool (*done)(void *ctx, const struct engine_done *d);
    void *done_ctx;
    /* Called every few hundred steps with the present and the rows so far; true ends the run. NULL:
     * it is not. */
    bool (*look)(void *ctx, int64_t now_ns, uint64_t rows);
    void *look_ctx;
    /* Gets each step's decisions (decisions.h) as a line; of one engine, whose cache is vLLM's. 0,
     * or a negative errno with *e, which ends the run. NULL: nobody wants them. */
    int (*decided)(void *ctx, const struct decision_text *line, struct err *e);
    void *decided_ctx;
};

/* Where a request's time goes. */
enum engine_time {
    ENGINE_WAITING,   /* until its first admission; the host's own time of it is in here */
    ENGINE_LOADING,   /* its cache comes up */
    ENGINE_PREFILL,   /* until its first token */
    ENGINE_DECODE,    /* until its last token */
    ENGINE_PREEMPTED, /* from a preemption to the token after it */
    ENGINE_TIMES
};

/* Counts of one of several engines. */
struct engine_share {
    uint64_t requests, completed; /* that it got; that got their last token */
    uint64_t steps, preemptions, running_peak;
    int64_t busy_ns;             /* of steps with tokens */
    struct hist *first_token_ns; /* from a request's arrival to its first token */
};

/* Counts of all engines together. */
struct engine_run_stats {
    uint64_t steps, empty_steps; /* empty: without tokens */
    uint64_t preemptions, admissions, refused_admissions, look_ups;
    uint64_t too_long; /* requests of more than most_tokens */
    uint64_t stuck;    /* requests left when the engine had nothing more that it could do */
    uint64_t running_peak, waiting_peak; /* requests at once: that run; that are in engines */
    int64_t busy_ns;                     /* of steps with tokens */
    int64_t time_ns[ENGINE_TIMES]; /* of all requests completed; their sum is their time in all */
    struct hist *token_ns[TRACE_QOSES]; /* by class: mean time between tokens of each request */
    uint64_t held_rows;                 /* most rows held at one time; 0 without a sink */
    uint64_t prompt_tokens;             /* of all prompts that are not too long */
    uint64_t longest_prompt;            /* in tokens, those that are too long included */
    uint64_t room_tokens;               /* that the blocks of one engine's GPUs hold */
    uint64_t most_tokens;               /* that a request may have */
    uint64_t files_left_out;            /* of files_there: they had no room */
    struct transfers_files files;
};

#endif
