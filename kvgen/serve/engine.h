/* engine.h - one engine that serves in steps: its scheduler, its cache, and its transfers. It takes
 * requests, decides steps when it is told to, and says when the next one begins. Several engines
 * share a clock, the rows and the counts of a run (engine_run.h). One thread. */
#ifndef KVGEN_SERVE_ENGINE_H
#define KVGEN_SERVE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/serve/copy_rows.h"
#include "kvgen/serve/decisions.h"
#include "kvgen/serve/held_rows.h"
#include "kvgen/serve/prompts.h"
#include "kvgen/serve/scheduler.h"
#include "kvgen/serve/serving.h"
#include "kvgen/sim/sim.h"
#include "kvgen/sim/virtual_clock.h"

#define ENGINE_NO_ROW UINT64_MAX

/* A request in an engine. Zero it, and set what is said to be the caller's. */
struct engine_request {
    struct held_request held; /* first, the caller's: held.r is the request */
    struct serve_request serve;
    struct copy_rows_request copies;
    struct prompt prompt;
    struct decisions_ids ids; /* where decisions are wanted: its own copy */
    int64_t ready_ns;         /* the host is done with it */
    int64_t since_ns;         /* it has been in its phase */
    int64_t first_ns;         /* its first token */
    int64_t asked_ns;         /* its look-up had to wait for the first time; -1: none had */
    int64_t answered_ns;      /* and had its answer then; -1: it has none */
    uint64_t found_tokens[TRACE_TIERS], promoted_tokens;
    bool admitted;         /* at least once */
    uint64_t loads_tokens; /* that it computes once its loads of the step under way are done; 0: no
                            * such loads */
    int64_t time_ns[ENGINE_TIMES];
    enum engine_time phase;
    uint64_t prefill_row, decode_row;
    struct engine_request *prev, *next; /* of all requests that are here */
};

struct engine;

/* Shared by the engines of a run. All of it stays the caller's. */
struct engine_world {
    const struct engine_run_opts *o;
    struct virtual_clock *clock;
    struct held_rows *rows; /* NULL: rows are only counted */
    struct sim_stats *stats;
    struct engine_run_stats *own;
    const struct engine *shares; /* its files are those of the engines to come; NULL: no one's */
    uint64_t here;               /* requests that engines have */
    uint64_t leaving;            /* of them: have their last token */
    uint64_t running;            /* of them, those that run */
    bool enough;                 /* who listens has heard all: the rows so far are still told */
    int rc;                      /* why the run fails; 0: it does not */
    void *ctx;
    int64_t (*next_request_ns)(void *ctx); /* when one comes, or may; INT64_MAX: none will */
    void (*answered)(void *ctx, const struct request *r);
    void (*gone)(void *ctx, struct engine_request *q); /* the engine knows it no more */
};
/* No memory was left. */
void engine_world_fail(struct engine_world *w);

/* number: from 0. 0, or -ENOMEM or -EINVAL with *e. */
int engine_create(struct engine **out, struct engine_world *w, uint32_t number, struct err *e);
void engine_free(struct engine *g); /* takes NULL; before the requests that it has */

/* A request comes, now. */
void engine_take(struct engine *g, struct engine_request *q);
/* Somebody else wrote that file, in a tier that the engine shares. false: it has no room. */
bool engine_file_written(struct engine *g, const struct kv_file *f);
/* The run ends: what is left of the step under way was not computed. */
void engine_cut(struct engine *g);
/* When its step ends and the next one may begin; INT64_MAX: it waits for a request. */
int64_t engine_wake_ns(const struct engine *g);
/* Tells the outputs of the step that ends now, where no other is decided before (synchronous). */
void engine_end_step(struct engine *g);
/* Lets the engine do what it does once a second, up to now. */
void engine_pass_seconds(struct engine *g);
/* Decides the step that begins now, if there is anything to do. */
void engine_step(struct engine *g);
/* Requests are there, and nothing will ever come of them unless others come. */
bool engine_is_stuck(const struct engine *g);
/* It has nothing to do until a request comes. */
void engine_sleep(struct engine *g);

uint64_t engine_requests(const struct engine *g); /* that it has */
/* All of it is lent. */
const struct engine_cache *engine_cache(const struct engine *g);
const struct copy_rows *engine_copies(const struct engine *g);
const struct engine_share *engine_stats(const struct engine *g);
/* Requests that wait and hold nothing. */
uint64_t engine_waiting(const struct engine *g);
/* Adds what passed its files since the last time to those of the run. */
void engine_count_files(struct engine *g);

#endif
