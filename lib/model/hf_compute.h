/* The arithmetic of prefill that a config.json describes: parameters that work on one token, and
 * the width of a pair of positions. */
#ifndef KVTRACE_MODEL_HF_COMPUTE_H
#define KVTRACE_MODEL_HF_COMPUTE_H

#include "lib/base/notes.h"
#include "lib/model/hf_fields.h"
#include "lib/model/model.h"

/* Matrices of one layer. With MLA, q is all of the query's, k the one that makes the latent, v the
 * one that reads it. */
enum hf_matrix {
    HF_Q,
    HF_K,
    HF_V,
    HF_O,
    HF_DENSE_GATE,
    HF_DENSE_UP,
    HF_DENSE_DOWN,
    HF_SHARED_GATE,
    HF_SHARED_UP,
    HF_SHARED_DOWN,
    HF_ROUTED_GATE, /* of all experts */
    HF_ROUTED_UP,
    HF_ROUTED_DOWN,
    HF_MATRICES
};

/* The parameters of a model's layers. A dense one has no experts, another no dense MLP. */
struct hf_matrices {
    bool known; /* else all is zero */
    uint64_t params[HF_MATRICES], router;
    uint64_t indexers; /* of all layers */
    bool dense[HF_LAYERS_MAX];
};

/*
 * Sets what m says of its arithmetic; its geometry and layers have been read. 0: the file
 * does not tell, or its layers differ in a way that is not known here. Never fails: a cache has its
 * size without them. x: the matrices. told: that there is no output head, because vocab_size is
 * missing and the class's default is not known here.
 *
 * Of each layer: the projections of attention (with MLA, those of the latents), the MLP (three
 * matrices where it is gated), in a mixture of experts those of the experts that one token takes,
 * the shared ones and the router; of sparse attention the indexers'. Not the embedding, the output
 * head, norms, biases and prediction heads. Sources: the model classes of the transformers library;
 * DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1 (MLA).
 */
void hf_compute_read(const struct hf_reader *r, struct model *m, struct hf_matrices *x,
                     struct notes *told);

#endif
