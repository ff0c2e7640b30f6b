/* The state of fixed size that layers of linear attention, Mamba and short convolutions keep. */
#ifndef KVTRACE_MODEL_HF_STATE_H
#define KVTRACE_MODEL_HF_STATE_H

#include <stdint.h>

#include "lib/model/hf_types.h"

/* One layer's. */
struct hf_state {
    uint64_t inputs;    /* elements: the last inputs of its convolution, */
    uint64_t recurrent; /* and what it has gathered */
    struct hf_type inputs_type, recurrent_type;
};

/*
 * Reads the state of one layer, on all ranks together. field says that there are such layers; heads
 * and head_dim are the attention's. K inputs of a convolution leave K - 1 to be kept:
 *   Mamba-1 (Jamba)              d (K - 1) + d N, with d = expand x hidden
 *   Mamba-2 (Nemotron-H, ...)    (H P + 2 G N) (K - 1) + H P N
 *   gated delta net (Qwen3-Next) (2 Hk Dk + Hv Dv) (K - 1) + Hv Dk Dv
 *   KDA (Kimi-Linear)            3 H D (K - 1) + H D D
 *   lightning (MiniMax)          H D D
 *   short convolution (LFM2)     d (K - 1)
 * elements of the activations' type, or of the type that the file gives (mamba_ssm_dtype,
 * mamba_ssm_cache_dtype: the recurrent part; mamba_cache_dtype: both parts). What KDA has gathered
 * is float32 in every engine. 0, or -EINVAL: a field is missing. Sources: Gu and Dao, "Mamba",
 * 2023; Dao and Gu, "Transformers are SSMs", 2024; Yang et al., "Gated delta networks", 2024; Kimi
 * Team, "Kimi Linear", 2025; MiniMax, "MiniMax-01", 2025; vLLM's MambaStateDtypeCalculator.
 */
int hf_state_read(const struct hf_reader *r, const char *field, const struct model *m,
                  const struct hf_type *activation, struct hf_state *s);

#endif
