/*
 * scheduler.h - which requests a step computes, and how many tokens of each: the scheduler of vLLM
 * 0.33.0 by its rules. It talks to a cache through kvgen/cache/cache.h and knows neither time nor
 * tiers: its caller adds requests, asks for the next step, and says when a step's outputs are there
 * and when transfers are done.
 *
 * Synchronous: schedule, outputs, schedule, outputs, ... Asynchronous: a step is scheduled before
 * the outputs of the one before it are told: schedule 1, schedule 2, outputs 1, schedule 3, ...
 */
#ifndef KVGEN_SERVE_SCHEDULER_H
#define KVGEN_SERVE_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/cache/cache.h"

enum scheduler_policy {
    SCHEDULER_FCFS,    /* first come, first served */
    SCHEDULER_PRIORITY /* lower priority numbers first */
};

struct scheduler_opts {
    uint64_t step_tokens; /* max_num_batched_tokens: budget of a step */
    uint64_t max_running; /* max_num_seqs */
    uint64_t max_tokens;  /* max_model_len: of a request */
    enum scheduler_policy policy;
    bool async;
    bool connector;     /* something below the GPU reads and writes its blocks */
    bool whole_prompts; /* scheduler_reserve_full_isl: admits what fits with all known tokens */
    bool chunks;        /* enable_chunked_prefill */
    /* long_prefill_token_threshold: of one request in a step; 0: no limit. adaptive: at least the
     * budget shared by all requests. */
    uint64_t long_tokens;
    bool adaptive;
    uint64_t prefill_interval; /* prefill_schedule_interval: in steps, while something decodes; 1 */
    double watermark;          /* share of the room that admissions leave free */
    /* Speculation: tokens that a decode gives in 1,000 steps, 1000 or more; 0: none, which is one a
     * step. */
    uint64_t milli_tokens;
};

enum serve_state {
    SERVE_WAITING,
    SERVE_LOADING, /* waits outside for its load, with its room taken */
    SERVE_LOADED,  /* its load is done */
    SERVE_RUNNING,
    SERVE_PREEMPTED,
    SERVE_DONE
};

/* A request. The first part is the caller's to set before scheduler_add; zero the rest. It stays
 * the caller's, and stays in place until `gone` was told. */
struct serve_request {
    struct kv_request kv;   /* number, chain, prompt_tokens, max_* */
    uint64_t output_tokens; /* how many it is to get, at least 1 */
    int64_t priority;

    enum serve_state state;
    uint64_t outputs;   /* tokens that it got */
    uint64_t in_flight; /* outputs that are computed and not told yet */
    uint64_t last_step; /* the last step that computes it, from 1 */
    uint64_t quiet;     /* steps to come that give it a token and change nothing else */
    uint64_t preemptions;
    uint64_t decodes;                  /* decode steps so far */
    struct serve_request *prev, *next; /* in a queue */
};

/* The part of one request that a step computes. */
struct step_part {
    struct serve_request *request;
    uint64_t tokens, before; /* before: computed tokens at the begin of the step */
    bool output;             /* it gives a token, ... */
    bool decode;             /* ... or with speculation several: as many as it computes */
    bool quiet;              /* and neither the cache nor the listener hears of it */
};
struct step {
    struct step_part *part; /* lent until the step after the next is scheduled */
    uint64_t parts;
    uint64_t number; /* from 1 */
};

enum admission_kind {
    ADMITTED_NEW,
    ADMITTED_AGAIN,   /* after a preemption */
    ADMITTED_TO_LOAD, /* its room is taken, its load begins */
    ADMITTED_LOADED   /* its load is done */
};

/* Who hears what the scheduler decides. A function may be NULL. */
struct scheduler_listener {
    void *ctx;
    /* found.tokens is filled also with KV_ASK_AGAIN, for the GPU. */
    void (*looked_up)(void *ctx, const struct serve_request *r, enum kv_look answer,
                      const struct kv_found *found);
    void (*admitted)(void *ctx, const struct serve_request *r, enum admission_kind kind,
                     const struct kv_found *found);
    void (*refused)(void *ctx, const struct serve_request *r, bool running);
    void (*preempted)(void *ctx, const struct serve_request *r); /* before it loses its tokens */
    /* It got a token: outputs, state. Of an answer's tokens only of the first one, the last one,
     * the one after a preemption, and of others some. */
    void (*output)(void *ctx, const struct serve_request *r);
    void (*gone)(void *ctx, struct serve_request *r); /* the scheduler knows it no more */
};

struct scheduler;

/* ops and cache stay the caller's. NULL: no memory. */
struct scheduler *scheduler_create(const struct scheduler_opts *o, const struct kv_cache_ops *ops,
                                   struct kv_cache *cache, const struct scheduler_listener *l);
/* The cache forgets the requests that are still there, so it goes later. Takes NULL. */
void scheduler_free(struct scheduler *s);

/* A request comes. 0 or -ENOMEM. Numbers grow from call to call. */
int scheduler_add(struct scheduler *s, struct serve_request *r);
/* Decides the next step. It may compute nothing. 0, -ENOMEM, or -EDEADLK: the cache waits for ever
 * (step_built of cache.h). */
int scheduler_schedule(struct scheduler *s, struct step *out);
/* The outputs of a step are there. In the order of the steps. */
void scheduler_outputs(struct scheduler *s, const struct step *step);
/* A KV_LOAD of a request that waits for it is done (after transfer_done of the cache). The request
 * goes on with the last one. */
void scheduler_loaded(struct scheduler *s, struct serve_request *r);

/* false: without an arrival every further step is empty and changes nothing. */
bool scheduler_has_work(const struct scheduler *s);
/* Only requests are left that wait for ever (kv.endless): without an arrival no further step brings
 * anything, though there is work. */
bool scheduler_is_stuck(const struct scheduler *s);
uint64_t scheduler_running(const struct scheduler *s);
/* The queues, from the first to serve: of requests that wait, and of those that hold room while
 * they wait. NULL: empty. Follow .next. */
const struct serve_request *scheduler_waiting(const struct scheduler *s);
const struct serve_request *scheduler_holding(const struct scheduler *s);

#endif
