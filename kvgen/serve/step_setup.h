/* step_setup.h - from a model and a GPU's profile to what the time of a step needs (step_time.h),
 * and what a measured rate says of the share of the peak that is reached. */
#ifndef KVGEN_SERVE_STEP_SETUP_H
#define KVGEN_SERVE_STEP_SETUP_H

#include <stdint.h>

#include "kvgen/gpu_profile.h"
#include "kvgen/serve/step_time.h"
#include "lib/base/err.h"
#include "lib/model/model.h"

/* What a request costs the host once: tokenizing, HTTP. */
struct step_host {
    int64_t request_ns, token_ps; /* and for each token of its prompt, in ps */
};

struct step_setup {
    struct step_model model;
    struct step_gpu gpu;
    struct step_host host;
    uint64_t step_tokens; /* budget of a step: longer prompts take several */
};

/*
 * Fills model, gpu and host. params: active parameters in place of the model's; 0: the model's. tp:
 * GPUs of the engine. 0, or -EINVAL with *e: the model or the profile lacks a number.
 */
int step_setup(struct step_setup *s, const struct model *m, const struct gpu_profile *g,
               double params, uint32_t tp, struct err *e);

/* Time from a request's arrival to its first token, alone in the engine, without cache. */
int64_t step_setup_first_token_ns(const struct step_setup *s, uint64_t tokens);
/*
 * Sets both shares of the peak so that a prompt of that many tokens, alone, has its first token
 * when tokens / tokens_per_s says. where names the option in errors. 0, or -EINVAL with *e: no
 * share from 0.001 to 1 does.
 */
int step_setup_prefill_rate(struct step_setup *s, double tokens_per_s, uint64_t tokens,
                            struct err *e);
/* Likewise the share of the memory's bandwidth, from the tokens a second of one decode after that
 * many tokens. */
int step_setup_decode_rate(struct step_setup *s, double tokens_per_s, uint64_t tokens,
                           struct err *e);

#endif
