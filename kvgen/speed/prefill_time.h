/* prefill_time.h - how long an engine computes the keys and values of new tokens, and the same
 * fitted to measured points. Plain arithmetic: profiles and files are read in gpu_profile.h. */
#ifndef KVGEN_SPEED_PREFILL_TIME_H
#define KVGEN_SPEED_PREFILL_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/model.h"

/*
 * The time of m new tokens after h cached ones:
 *   t(h, m) = t0 + token x m + pair x X(h, m)
 * X(h, m) are the pairs of positions of one layer, as the mean over the layers that keep keys and
 * values: h m + m^2 / 2 with attention over the whole context, the integral of min(x, W) from h to
 * h + m with a window of W tokens.
 * By calculation token = 2 P / (eta F TP) and pair = 4 L d / (eta F TP): 2 operations per parameter
 * and token, 4 d per layer and pair of positions (Kaplan et al., "Scaling laws for neural language
 * models", 2020, appendix). P are the active parameters, L the layers that keep keys and values,
 * d = half of model.pair_elements, F the dense peak of a GPU in operations per second, TP the GPUs
 * of an engine, eta the share of the peak that is reached.
 */
struct prefill_time {
    bool measured; /* fitted to points; else by calculation */
    double t0_ns, token_ns, pair_ns;
    uint32_t full_layers, windowed_layers; /* at least one layer */
    uint64_t window;                       /* tokens */
    /* Layers whose attention is sparse count as windowed ones, with the tokens that they look at as
     * their window; this is what their indexers do to a pair, over what attention does; else 0. */
    double index_share;
};

/* The model and GPUs of one engine. */
struct prefill_gpu {
    double params;           /* P, above 0 */
    double operations_per_s; /* F of one GPU */
    double eta;              /* above 0, at most 1 */
    double t0_ns;
    uint32_t tensor_parallel;
};

/* The layers of m. Sets the times to 0. */
void prefill_time_layers(struct prefill_time *p, const struct model *m);
/* The times by calculation; the layers and m's pair_elements are known. */
void prefill_time_calculate(struct prefill_time *p, const struct model *m,
                            const struct prefill_gpu *gpu);

/* X(h, m), in pairs. */
double prefill_time_pairs(const struct prefill_time *p, double cached, double fresh);
/* t(h, m) in ns, rounded; at most 2^61. */
int64_t prefill_time_ns(const struct prefill_time *p, uint64_t cached, uint64_t fresh);

/* A measured point: what fresh tokens after cached ones took. */
struct prefill_point {
    uint64_t cached, fresh; /* fresh: at least 1 */
    double ns;              /* above 0 */
};

enum {
    PREFILL_POINTS = 4 /* least number of points for a fit */
};
#define PREFILL_MISS 0.20 /* largest relative error of the fit at a point */

/*
 * Fits t0, token and pair (each at least 0) to the points, whose layers are set: least squares of
 * log(fit / measured), the result rounded to 6 digits, so that every host has the same. 0; -EDOM:
 * the points do not tell the three apart; -ERANGE: the fit misses point *worst by more than
 * PREFILL_MISS, the most of all. *miss: the largest relative error, *worst its point.
 */
int prefill_time_fit(struct prefill_time *p, const struct prefill_point *point, size_t points,
                     size_t *worst, double *miss);

#endif
