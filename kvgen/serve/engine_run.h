/* engine_run.h - a simulation of an engine in steps: requests of a source wait for the scheduler,
 * each step takes the time of what it computes, the engine's cache decides what is kept, and every
 * row is told to a sink, or only counted. The other simulation is kvgen/sim/sim.h. One thread. */
#ifndef KVGEN_SERVE_ENGINE_RUN_H
#define KVGEN_SERVE_ENGINE_RUN_H

#include <stdint.h>

#include "kvgen/serve/copy_rows.h"
#include "kvgen/serve/decision_line.h"
#include "kvgen/serve/engine_caches.h"
#include "kvgen/serve/step_setup.h"
#include "kvgen/serve/transfers.h"
#include "kvgen/sim/row.h"
#include "kvgen/sim/sim.h"
#include "kvgen/source/source.h"
#include "kvgen/tier_model.h"
#include "kvgen/workload.h"
#include "lib/base/err.h"
#include "lib/base/hist.h"

/* A request that got its last token. Times are in ns. */
struct engine_done {
    int64_t now_ns, arrival_ns;
    int64_t first_token_ns; /* from its arrival */
    int64_t token_ns;       /* mean time between its tokens; -1: it had one only */
    enum trace_qos qos;
    uint64_t prompt_tokens, output_tokens;
    /* At its first admission; what was brought up from files for it counts as found there. */
    uint64_t found_tokens[TRACE_TIERS];
    int64_t files_ns; /* from the first question to files until what they have is on the GPU */
    const int64_t *time_ns; /* enum engine_time; lent for the call */
    uint64_t here;          /* requests in the engine that have not got their last token */
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
    const struct engine_choice *cache;
    struct engine_room room;
    struct step_setup steps; /* step_tokens and gpu.async are taken from the cache's settings */
    uint64_t link_bytes_s;   /* between host and GPU, a direction, at peak; 0: takes no time */
    int64_t load_ns;         /* once for each load */
    const struct tier_model *files; /* speed of Tier-2 */
    /* Hears of each request that got its last token; true ends the run, and
     * the sink gets the rows so far. NULL: nobody does. */
    bool (*done)(void *ctx, const struct engine_done *d);
    void *done_ctx;
    /* Called every few hundred steps with the present and the rows so far; true ends the run. NULL:
     * it is not. */
    bool (*look)(void *ctx, int64_t now_ns, uint64_t rows);
    void *look_ctx;
    /* Gets each step's decisions (decisions.h) as a line; the cache is vLLM's. 0, or a negative
     * errno with *e, which ends the run. NULL: nobody wants them. */
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

struct engine_run_stats {
    uint64_t steps, empty_steps; /* empty: without tokens */
    uint64_t preemptions, admissions, refused_admissions, look_ups;
    uint64_t too_long; /* requests that the GPU's blocks, or max_model_len, cannot hold */
    uint64_t stuck;    /* requests left when the engine had nothing more that it could do */
    uint64_t running_peak, waiting_peak; /* requests at once: that run; that are in the engine */
    int64_t busy_ns;                     /* of steps with tokens */
    int64_t time_ns[ENGINE_TIMES]; /* of all requests completed; their sum is their time in all */
    struct hist *token_ns[TRACE_QOSES]; /* by class: mean time between tokens of each request */
    uint64_t held_rows;                 /* most rows held at one time; 0 without a sink */
    /* The mean prompt of requests, and how many such the GPU's blocks hold at once. */
    uint64_t prompt_tokens, room_tokens;
    struct transfers_files files;
};

struct engine_run;

/* sink: NULL: nobody wants the rows. They are counted as if somebody did, everything else is the
 * same, and the run is faster. 0, or -ENOMEM or -EINVAL with *e. */
int engine_run_create(struct engine_run **out, const struct engine_run_opts *o, sim_sink sink,
                      void *ctx, struct err *e);
void engine_run_free(struct engine_run *r); /* takes NULL */
/* As sim_run. Call it once. */
int engine_run(struct engine_run *r, struct err *e);
/* Lent, complete after engine_run, and so far while it runs: what every simulation counts, what
 * this one does, what the cache did, and the cache. */
const struct sim_stats *engine_run_sim_stats(const struct engine_run *r);
const struct engine_run_stats *engine_run_stats(const struct engine_run *r);
const struct copy_rows_stats *engine_run_copies(const struct engine_run *r);
const struct engine_cache *engine_run_cache(const struct engine_run *r);

#endif
