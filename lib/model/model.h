/* A model's attention geometry, and the bytes that its cache needs. */
#ifndef KVTRACE_MODEL_MODEL_H
#define KVTRACE_MODEL_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

enum model_attention {
    MODEL_MHA,
    MODEL_GQA,
    MODEL_MLA
};

/* A plain value. The geometry is that of most layers; the sizes count every layer as it is. */
struct model {
    char id[96];   /* as --model takes it */
    char name[96]; /* for people */
    enum model_attention attention;
    uint32_t layers, hidden, heads, kv_heads, head_dim; /* kv_heads, head_dim: 0 for MLA */
    uint32_t kv_lora_rank, qk_rope_head_dim;            /* 0 except for MLA */
    uint32_t full_layers;     /* layers that keep the keys and values of all tokens, ... */
    uint32_t windowed_layers; /* ... and of the last tokens; 0: no sliding window */
    uint32_t state_layers;    /* layers with a state of fixed size (linear attention, Mamba) */
    uint64_t window;          /* tokens; 0: none */
    uint32_t element_bits;    /* of keys and values: 32, 16, 8 or 4 */

    /* The sizes: elements that one token adds in all full layers, and in all windowed layers; bytes
     * of the state of a sequence, which do not depend on its length. */
    uint64_t full_elements, windowed_elements, state_bytes;

    /* The arithmetic of prefill (hf_compute.h); 0: not known. Parameters that one token multiplies
     * with in all layers; elements that a pair of positions multiplies and adds in one layer: query
     * heads x (width of a key + width of a value), so twice heads x head_dim where these are equal.
     */
    uint64_t active_params, pair_elements;
};

/* The i-th built-in model, in the order of kvgen --list-models; NULL past the end. */
const struct model *model_builtin(size_t i);

/* Sets the full layers and the sizes of a model whose layers are all alike, but for windows. */
void model_settle(struct model *m);

/* Sets the element type of keys and values by name: float32 float16 bfloat16 fp8 int8 int4. The
 * state keeps its own. 0, or -EINVAL: unknown. */
int model_set_dtype(struct model *m, const char *dtype, struct err *e);
/* The element type by its width: float32 float16 fp8 int4. */
const char *model_dtype(const struct model *m);

/*
 * Bytes of the keys and values of one sequence over all layers, on all ranks together:
 *   layers x 2 x kv_heads x head_dim x tokens x bits / 8            (MHA, GQA)
 *   layers x (kv_lora_rank + qk_rope_head_dim) x tokens x bits / 8  (MLA: one latent, no factor 2)
 * with min(tokens, window) for tokens in windowed layers, rounded down to whole bytes at the end.
 * 0, or -EOVERFLOW when it does not fit 64 bits. Sources: Vaswani et al., "Attention is all you
 * need", 2017 (MHA); Ainslie et al., "GQA", EMNLP 2023; DeepSeek-AI, "DeepSeek-V2", 2024, section
 * 2.1 (MLA caches the latent and the decoupled key).
 */
int model_bytes(const struct model *m, uint64_t tokens, uint64_t *bytes);
/* model_bytes of one token: the cost of one more token within the window. */
uint64_t model_bytes_per_token(const struct model *m);
/* Bytes of the object of a whole sequence: its keys and values, and its state once. As model_bytes.
 */
int model_sequence_bytes(const struct model *m, uint64_t tokens, uint64_t *bytes);

#endif
