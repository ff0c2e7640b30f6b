/* worth.h - what each tier is worth: the same requests at the same times, simulated with all tiers
 * and without some. */
#ifndef KVGEN_WORTH_WORTH_H
#define KVGEN_WORTH_WORTH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kvgen/serve/engine_run.h"
#include "kvgen/worth/break_even.h"
#include "kvgen/worth/frozen.h"
#include "lib/base/hist.h"
#include "lib/json/jsonout.h"

enum {
    WORTH_VARIANTS = 5,
    WORTH_CURVE = 21 /* lengths, two an octave, from WORTH_CURVE_FIRST to 2^10 times that */
};
#define WORTH_CURVE_FIRST ((uint64_t)128) /* tokens */

/* --price: an hour of a GPU, of a GiB of Tier-1, of a GiB of Tier-2. */
struct worth_prices {
    bool given;
    double gpu, dram, nvme;
};

struct worth_opts {
    const struct engine_run_opts *engine; /* the run's, whose requests were recorded */
    const uint64_t *capacity;             /* of each of TRACE_TIERS tiers, as in hierarchy_opts */
    const struct tier_model *speed;       /* of each of TRACE_TIERS tiers */
    const struct model *model;
    const struct prefill_model *compute;
    struct frozen *requests;
    int64_t target_ns[TRACE_QOSES]; /* --config ttft_target; 0: none */
    struct worth_prices price;
    double watts; /* of a GPU; 0: not known */
};

/* Parses a CLASS=TIME of --config ttft_target, and gpu=N/h,dram=N/h,nvme=N/h of --price. 0 or
 * -EINVAL with *e. */
int worth_parse_target(int64_t target_ns[TRACE_QOSES], const char *text, struct err *e);
int worth_parse_prices(struct worth_prices *p, const char *text, struct err *e);

/* One simulation. */
struct worth_variant {
    const char *name;
    uint64_t capacity[TRACE_TIERS];
    struct hist *first_token_ns[TRACE_QOSES + 1]; /* by class, and of all */
    double within[TRACE_QOSES];                   /* share within the class's target */
    uint64_t requests, input_tokens;
    double engine_s, gpu_s; /* of prefill */
    double span_s;          /* virtual time until the last answer */
    double cost;            /* per million input tokens, in the prices' currency */
};

enum worth_verdict {
    WORTH_NO_GAIN,
    WORTH_GAIN,
    WORTH_WORSE
};

/* One tier below GPU memory. */
struct worth_tier {
    enum trace_tier tier;
    enum worth_verdict verdict;       /* by the mean time to the first token, 2 % either way */
    double change;                    /* of that mean, by the tier: -0.3 is 30 % less */
    double class_change[TRACE_QOSES]; /* likewise, by class; NAN: no requests */
    double gpu_change;                /* likewise, of the GPU seconds of prefill */
    bool timed;             /* it has a speed; else loading from it takes link and overhead */
    struct loading loading; /* of one request alone */
    double bytes_per_s;     /* behind t_L, at the break-even, else at 2^20 tokens; 0: no limit */
    uint64_t break_even_tokens; /* loading_break_even */
};

/* Time to the first token of a context that is computed, and of one that is loaded, but for the new
 * tokens behind it: t(0, n), and t0 + loading_s(n). */
struct worth_point {
    uint64_t tokens;
    double computed_s, loaded_s[TRACE_TIERS]; /* NAN: no such tier */
};

struct worth {
    struct worth_variant variant[WORTH_VARIANTS];
    unsigned variants;
    struct worth_tier tier[TRACE_TIERS];
    unsigned tiers;
    struct worth_point curve[WORTH_CURVE];
    double needed_bytes_per_s; /* above which only t_L stands against loading */
    bool measured;             /* the prefill's times; else by calculation */
    bool targets[TRACE_QOSES];
    bool priced;
    double watts;
};

/* Runs the simulations. 1: done; 0: a signal stopped them; negative errno with *e. worth_free it in
 * any case. */
int worth_run(struct worth *w, const struct worth_opts *o, struct err *e);
void worth_free(struct worth *w);

/* The verdict on a change of a mean or of a sum, as of worth_tier. */
enum worth_verdict worth_verdict_of(double change);

/* As text, in 80 columns, and as member "worth". */
void worth_print(FILE *f, const struct worth *w);
void worth_put(struct jsonout *j, const struct worth *w);

#endif
