/* step_setup.h - from a model and a GPU's profile to what the time of a step needs (step_time.h),
 * and what a measured rate says of the share of the peak that is reached. */
#ifndef KVGEN_SERVE_STEP_SETUP_H
#define KVGEN_SERVE_STEP_SETUP_H

#include <stdint.h>

#include "kvgen/serve/step_time.h"
#include "kvgen/speed/gpu_profile.h"
#include "kvgen/speed/prefill_time.h"
#include "lib/base/err.h"
#include "lib/model/model.h"

/* The host's time for a request, once: tokenizing, HTTP. */
struct step_host {
    int64_t request_ns, token_ps; /* and for each token of its prompt, in ps */
    int64_t load_ns;              /* and once for each load, in the engine's connector */
};

struct step_setup {
    struct step_model model;
    struct step_gpu gpu;
    struct step_host host;
    uint64_t step_tokens; /* budget of a step: longer prompts take several */
};

/*
 * What is loaded of a model. params: active parameters in place of the model's; 0: the model's.
 * bytes: of a parameter; 0: as the model's checkpoint has them. tp: GPUs of the engine, which share
 * the weights.
 */
struct step_weights {
    double params;
    uint32_t bytes, tp;
};
/* Fills model, gpu and host. 0, or -EINVAL with *e: the model or the profile lacks a number. */
int step_setup(struct step_setup *s, const struct model *m, const struct gpu_profile *g,
               const struct step_weights *w, struct err *e);

/*
 * Memory that an engine leaves for its cache on each GPU: 0.92 of all (gpu_memory_utilization of
 * vLLM 0.33.0), less its part of the weights (those of the layers, the output head, an embedding as
 * large as that), less 2 GB for activations and graphs. 0, or -EINVAL with *e: the profile or the
 * model lacks a number, or nothing is left.
 */
struct step_memory {
    uint64_t cache_bytes, weight_bytes; /* of one GPU */
};
int step_setup_memory(struct step_memory *out, const struct model *m, const struct gpu_profile *g,
                      const struct step_weights *w, struct err *e);

/* Time of the GPUs for so many tokens of prompts in steps of the whole budget, without what their
 * attention takes. */
double step_setup_prefill_ns(const struct step_setup *s, uint64_t tokens);
/* Time from a request's arrival to its first token, alone in the engine, without cache. */
int64_t step_setup_first_token_ns(const struct step_setup *s, uint64_t tokens);
/*
 * Sets both shares of the peak so that a prompt of that many tokens, alone, has its first token
 * when tokens / tokens_per_s says. where names the option in errors. 0, or -EINVAL with *e: no
 * share from 0.001 to 1 does.
 */
int step_setup_prefill_rate(struct step_setup *s, double tokens_per_s, uint64_t tokens,
                            struct err *e);
/*
 * Sets the shares of the peak and the host's time of a request as measured times to the first token
 * say (prefill_time_fit): what a token and a pair of positions take, against what they would take
 * at the peak (pairs: at most all of it), and t0 less one step of the host. 0, or -EINVAL with *e:
 * a token takes less than it would at the peak, or a thousand times as long.
 */
int step_setup_measured(struct step_setup *s, const struct model *m, const struct prefill_time *t,
                        struct err *e);
/* Likewise the share of the memory's bandwidth, from the tokens a second of one decode after that
 * many tokens. */
int step_setup_decode_rate(struct step_setup *s, double tokens_per_s, uint64_t tokens,
                           struct err *e);

#endif
