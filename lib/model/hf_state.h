/* The state of fixed size that layers of linear attention, Mamba and short convolutions keep. */
#ifndef KVTRACE_MODEL_HF_STATE_H
#define KVTRACE_MODEL_HF_STATE_H

#include <stdint.h>

#include "lib/model/hf_fields.h"

/*
 * Bytes of one sequence's state in one layer, on all ranks together. field says that there are such
 * layers; heads and head_dim are the attention's. K inputs of a convolution leave K - 1 to be kept:
 *   Mamba-1 (Jamba)              d (K - 1) + d N, with d = expand x hidden
 *   Mamba-2 (Nemotron-H, ...)    (H P + 2 G N) (K - 1) + H P N
 *   gated delta net (Qwen3-Next) (2 Hk Dk + Hv Dv) (K - 1) + Hv Dk Dv
 *   KDA (Kimi-Linear)            3 H D (K - 1) + H D D
 *   lightning (MiniMax)          H D D
 *   short convolution (LFM2)     d (K - 1)
 * elements of 16 bits, or of the type that the file gives (mamba_ssm_dtype, mamba_ssm_cache_dtype:
 * the recurrent part; mamba_cache_dtype: both parts). 0, or -EINVAL: a field is missing. Sources:
 * Gu and Dao, "Mamba", 2023; Dao and Gu, "Transformers are SSMs", 2024; Yang et al., "Gated delta
 * networks", 2024; Kimi Team, "Kimi Linear", 2025; MiniMax, "MiniMax-01", 2025.
 */
int hf_state_bytes(const struct hf_reader *r, const char *field, uint32_t heads, uint32_t head_dim,
                   uint64_t *bytes);

#endif
