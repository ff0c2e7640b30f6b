/* trial.h - one simulation of a load on an engine: whether it holds, and what its warm part did.
 * Many may run at once, each in one thread. */
#ifndef KVGEN_ANSWER_TRIAL_H
#define KVGEN_ANSWER_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/answer/criterion.h"
#include "kvgen/answer/warm.h"
#include "kvgen/serve/engine_run.h"
#include "kvgen/source/source.h"
#include "lib/base/err.h"
#include "lib/base/hist.h"

/* A load that holds was counted for so long, if its requests come fast: for CRITERION_REQUESTS_MAX
 * at most. */
#define TRIAL_LEAST_NS INT64_C(120000000000)
#define TRIAL_BRIEF    5 /* a first look warms up for 1 in so many requests */

/* A user who has waited for a first token for so many times its target stands still. Of the users'
 * time no more may be lost so than requests may be bad: most requests can be good while some users
 * get nothing at all. */
#define TRIAL_STILL_TARGETS 10

/* Where the requests of a load come from. */
struct trial_load {
    /* A source of n users whose random numbers come from the seed: user i does the same whatever n
     * is; or a trace that n makes faster. *open is what close takes. 0 or negative errno with *e.
     * Any thread. */
    int (*open)(void *ctx, uint64_t n, uint64_t seed, void **open, struct source **source,
                struct err *e);
    void (*close)(void *open);
    void *ctx;
    const char *unit;  /* of n, in the plural */
    bool users;        /* n are people who wait for their answers */
    uint64_t requests; /* that a source has; half of them may pass until it is warm. 0: no end */
};

struct trial_opts {
    struct engine_run_opts engine; /* of the variant; source, done and done_ctx are set here */
    const struct trial_load *load;
    const struct criterion *criterion;
    uint64_t n, seed;
    bool brief; /* a first look: warms up for fewer requests, and counts no more than needed */
    bool whole; /* runs on although it is decided, until there are enough requests */
    int64_t least_ns; /* with whole: and for so long */
    sim_sink sink;    /* of all rows; NULL: nobody wants them */
    void *sink_ctx;
};

/* Times are in ns, and all but the first members are of the warm part. */
struct trial {
    uint64_t n, seed;
    bool held;
    bool settled, hopeless; /* warm.h; hopeless: there is no warm part */
    bool stuck;             /* the engine could do nothing more, or only pushed copies around */
    int64_t warm_ns;        /* begin of the warm part */
    int64_t span_ns;        /* its length */
    struct criterion_tally tally;
    uint64_t late;    /* counted there without being done: not good any more */
    int64_t still_ns; /* users stood still for so long, in all: see TRIAL_STILL_TARGETS */
    bool still;       /* for too long, so that it does not hold though enough requests are good */
    /* Owned. first_token_ns: by class, and of all; files_ns: how long requests waited for what
     * files have, of those that found something there. */
    struct hist *first_token_ns[TRACE_QOSES + 1], *token_ns, *files_ns;
    uint64_t origin[WARM_ORIGINS]; /* tokens of prompts, of requests that are done */
    uint64_t hits;                 /* of these, the requests that found something in files */
    uint64_t output_tokens;
    int64_t time_ns[ENGINE_TIMES], busy_ns;
    uint64_t refused_admissions;
    uint64_t too_long;       /* requests that the engine can never hold: not good, without times */
    uint64_t longest_prompt; /* in tokens, of the whole run */
    uint64_t moved[2];       /* bytes read from files and written to them, of all ranks */
    struct transfers_files files;     /* of all transfers, also of what a file had already */
    uint64_t peak_bytes[TRACE_TIERS]; /* most in a tier, of one rank; of the whole run */
};

/* Fills *t, which trial_free frees in any case. 0, or negative errno with *e. A signal ends it with
 * -EINTR. */
int trial_run(struct trial *t, const struct trial_opts *o, struct err *e);
void trial_free(struct trial *t);

/* Requests of the warm part that are done. */
uint64_t trial_done(const struct trial *t);
/* The same per second; 0 without a warm part. */
double trial_requests_s(const struct trial *t);

#endif
