/* The arithmetic of prefill that a config.json describes: parameters that work on one token, and
 * the width of a pair of positions. */
#ifndef KVTRACE_MODEL_HF_COMPUTE_H
#define KVTRACE_MODEL_HF_COMPUTE_H

#include "lib/model/hf_fields.h"
#include "lib/model/model.h"

/*
 * Sets what m says of its arithmetic; its geometry and layers have been read. 0: the file
 * does not tell, or its layers differ in a way that is not known here. Never fails: a cache has its
 * size without them.
 *
 * Of each layer: the projections of attention (with MLA, those of the latents), the MLP (three
 * matrices where it is gated), in a mixture of experts those of the experts that one token takes,
 * the shared ones and the router; of sparse attention the indexers'. Not the embedding, the output
 * head, norms, biases and prediction heads. Sources: the model classes of the transformers library;
 * DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1 (MLA).
 */
void hf_compute_read(const struct hf_reader *r, struct model *m);

#endif
