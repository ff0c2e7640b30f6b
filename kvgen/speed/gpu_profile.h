/* gpu_profile.h - turns --gpu-profile and --prefill into plain numbers about GPUs, for the
 * simulator. */
#ifndef KVGEN_SPEED_GPU_PROFILE_H
#define KVGEN_SPEED_GPU_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/speed/prefill_time.h"
#include "lib/base/err.h"
#include "lib/model/model.h"

struct jsonin_v;

/* One GPU, and what is around it. */
struct gpu_profile {
    bool given;
    char name[64];
    double bf16_tflops, fp8_tflops;            /* dense peak; fp8 0: it has none */
    double hbm_gb, hbm_tb_s, link_gb_s, watts; /* link: to the host, a direction */
    double eta, t0_ms, load_overhead_ms;
    /* For steps (serve/step_setup.h): the share of the peak that attention reaches (0: eta), the
     * share of the memory's bandwidth, the host's time of a step and of a request, and the
     * bandwidth between the GPUs of an engine, a direction (0: not known). */
    double eta_a, b, t_host_ms, host_ms, gpu_link_gb_s;
    bool overhead_given; /* load_overhead_ms is not the default */
    bool fp8;            /* it computes in FP8 */
    /* The last one of eta, eta_a, t0_ms, host_ms and type that was given by text; NULL: none. */
    const char *time_key;
};

/*
 * Sets what --gpu-profile says: NAME or FILE.json, then perhaps :KEY=VALUE,... with the keys eta,
 * t0_ms, load_overhead_ms, link_gb_s eta_a, b, t_host_ms, host_ms, gpu_link_gb_s and type (bf16,
 * fp8). The file is an object with name, bf16_tflops, link_gb_s, and perhaps fp8_tflops, hbm_gb,
 * hbm_tb_s, watts, eta, t0_ms, load_overhead_ms, eta_a, b, t_host_ms, host_ms, gpu_link_gb_s. 0;
 * -EINVAL, or the error of the file, with *e.
 */
int gpu_profile_set(struct gpu_profile *g, const char *text, struct err *e);
/* The file that such a text names, in name of size bytes; NULL: none. */
const char *gpu_profile_file(const char *text, char *name, size_t size);
/* A parsed file; where names it in errors. */
int gpu_profile_parse(struct gpu_profile *g, const struct jsonin_v *root, const char *where,
                      struct err *e);

/* The GPUs that compute, and their time for a prompt. A plain value. */
struct prefill_model {
    struct prefill_time time;
    uint32_t engines;         /* at least 1 */
    uint32_t tensor_parallel; /* GPUs of each */
    uint32_t host_ranks;      /* the host carries the bytes of a row this many times */
    double link_bytes_per_s;  /* between host and engine; 0: takes no time */
    int64_t load_overhead_ns; /* once a request that loads from below Tier-0 */
};

/* Sets a prefill_model for the model m on engines of tensor_parallel GPUs. The host's tiers move
 * the bytes of a row host_ranks times. params: active parameters; 0: those of m. prefill: the file
 * of points; NULL: by calculation. 0, or negative errno with *e: the model does not tell what the
 * calculation needs, or the file's error. */
struct prefill_setup {
    const struct model *model;
    struct gpu_profile *gpu;
    const char *prefill;
    double params;
    uint32_t engines, tensor_parallel, host_ranks;
};
int prefill_model_set(struct prefill_model *p, const struct prefill_setup *s, struct err *e);

int prefill_points_parse(struct prefill_time *p, struct gpu_profile *g, const struct jsonin_v *root,
                         const char *where, struct err *e);

#endif
