/* step_time.h - how long an engine takes for a step: products, attention, reads of the cache, and
 * the exchange between the GPUs of one model. Whole numbers only, so every host finds the same.
 *
 *   G = max(2 parameters tokens / (eta ops), weights / (b bytes)) + attention_ops / (eta_a ops)
 *       + read_bytes / (b bytes) + 2 layers (2 (tp - 1) / tp tokens hidden_bytes / link + 20 us)
 *
 * with ops and bytes a second of all GPUs; the last term for tp > 1 only. */
#ifndef KVGEN_SERVE_STEP_TIME_H
#define KVGEN_SERVE_STEP_TIME_H

#include <stdbool.h>
#include <stdint.h>

#define STEP_TIME_PPM 1000000 /* a share of 1 */
/* A step's time beyond that of its GPUs where the host works ahead. */
#define STEP_TIME_ASYNC_NS 1000000

/* Layers whose tokens look at the same others. */
struct step_look {
    uint64_t pair_ops;    /* of attention, for a pair of tokens: 4 x layers x width */
    uint64_t cache_bytes; /* keys and values of a token */
    /* A token looks at so many at most, itself included: those of a window, or that sparse
     * attention picks; 0: at all before it. */
    uint64_t most;
};
enum {
    STEP_LOOKS = 2 /* full and windowed layers; or those that pick tokens, and their indexers */
};

/* The work of one token in a model. */
struct step_model {
    uint64_t parameters;   /* that a token is multiplied with, without embedding and output head */
    uint64_t always_bytes; /* of weights that each step reads: dense layers, shared experts */
    uint64_t routed_bytes; /* of all routed experts; 0: there are none */
    uint32_t experts, chosen;          /* routed ones, and how many of them a token takes */
    uint64_t head_bytes;               /* the output head, read by a step that gives a token */
    struct step_look look[STEP_LOOKS]; /* zero: there are no such layers */
    uint64_t layers, hidden_bytes;     /* hidden_bytes: of a token between layers */
};

struct step_gpu {
    uint64_t ops_s, bytes_s, link_bytes_s; /* at peak; link: a direction, read with tp > 1 only */
    uint64_t tp;                           /* GPUs that share the model, at least 1 */
    uint32_t eta_ppm, eta_a_ppm, b_ppm;    /* shares of the peaks that are reached */
    int64_t host_ns;                       /* t_host */
    bool async; /* the host prepares a step while the GPU computes the one before */
};

/* The work of a step. Begin with zero. */
struct step_work {
    uint64_t tokens;                 /* at least 1 */
    unsigned __int128 attention_ops; /* of prompts: pairs that are looked at x pair_ops */
    uint64_t read_bytes;             /* of the cache, by decodes */
    bool output;                     /* it gives a token */
};

/* Tokens of one request are part of the step, behind those before them. One token is a decode,
 * which takes the time to read what it looks at, and so are several with speculation (decode),
 * which read it together; others are a prompt's. */
void step_time_add(const struct step_model *m, struct step_work *w, uint64_t before,
                   uint64_t tokens, bool decode);
/* Weights that a step of so many tokens reads, in bytes: of the routed experts a share of
 * 1 - (1 - chosen / experts)^tokens. */
uint64_t step_time_weights(const struct step_model *m, const struct step_work *w);
/* The GPUs' time in ns (G). It must be below 292 years. */
int64_t step_time_gpu_ns(const struct step_model *m, const struct step_gpu *g,
                         const struct step_work *w);
/* The step's time in ns (T): host_ns + G, or, if the host works ahead, the larger of the two and 1
 * ms. */
int64_t step_time_ns(const struct step_model *m, const struct step_gpu *g,
                     const struct step_work *w);

#endif
