/* ask.h - from the options of a run to its answer: which loads are searched, the search, the rows
 * of the window, and the file. One thread, beside those of the search. */
#ifndef KVGEN_ANSWER_ASK_H
#define KVGEN_ANSWER_ASK_H

#include <stdint.h>

#include "kvgen/answer/load.h"
#include "kvgen/serve/engine_run.h"
#include "kvgen/speed/gpu_profile.h"
#include "lib/base/progress.h"

/* The options of a load: --users, --speed, --request-rate. */
struct ask_load {
    uint64_t users;
    double speed, request_rate;
};

/* Where the rows of the window go. */
struct ask_window {
    /* Opens the output of a run at that load. 0 or negative errno with *e. */
    int (*open)(void *ctx, const struct ask_load *load, struct err *e);
    sim_sink sink; /* its ctx is that of close */
    int (*close)(void *ctx, struct err *e);
    void *ctx;
};

/* Everything stays the caller's. */
struct ask_opts {
    int argc;
    char *const *argv;
    int64_t started_wall_ns;
    struct load_opts load; /* the options of its source are those of the run */
    struct engine_run_opts engine;
    const struct model *model;
    const struct gpu_profile *gpu;
    const uint64_t *capacity; /* by tier, of one rank; HIERARCHY_UNLIMITED: no limit */
    double gpu_price;         /* of an hour; 0: not told */
    unsigned threads;
    struct progress *progress;
    const struct ask_window *window; /* NULL: nobody wants it */
};

/* Refuses a load to ask about that is beyond the most that is tried. 0 or -EINVAL with *e. */
int ask_check(const struct load_opts *load, struct err *e);
/* Writes options.answer. 0, -EINTR after a signal, or negative errno with *e. */
int ask(const struct ask_opts *o, struct err *e);

#endif
