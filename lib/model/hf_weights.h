/* The types in which a config.json says that a checkpoint keeps its weights. */
#ifndef KVTRACE_MODEL_HF_WEIGHTS_H
#define KVTRACE_MODEL_HF_WEIGHTS_H

#include "lib/base/notes.h"
#include "lib/model/hf_compute.h"
#include "lib/model/hf_fields.h"
#include "lib/model/model.h"

/*
 * Sets the bits of m's parameters, as quantization_config, compression_config or quantization
 * (without a quantization_config also those of hf_quant_config.json) say, with the scales and zero
 * points that lie beside them. Matrices whose modules are listed as not converted have 16 bits, and
 * so have embedding, router and output head (but for lm_head of gptq). Never fails: what is not
 * known counts 16 bits, and is told.
 *
 *   fp8, fbgemm_fp8      8, and with weight_block_size a b 32 / (a b)
 *   mxfp4                4 + 8 / 32 in routed experts, 16 elsewhere
 *   awq                  bits + (16 + bits with zero_point) / group_size
 *   gptq, auto-round     bits + (16 + bits) / group_size
 *   bitsandbytes         8, or 4 + 32 / 64; twice quantised 4 + 8 / 64 + 32 / (64 x 256)
 *   compressed-tensors   num_bits of each of config_groups + (scale + zero point) / group_size: a
 *                        scale has 16 bits, of 4-bit floats 8, of blocks 32; a zero point num_bits,
 *                        0 if symmetric
 *   modelopt             FP8 8, NVFP4 4 + 8 / 16
 *
 * Sources: the quantizers of the transformers library; Open Compute Project, "OCP Microscaling
 * Formats", 2023; Dettmers et al., "QLoRA", 2023; vLLM's quantization layers.
 */
void hf_weights_read(const struct hf_reader *r, const struct hf_matrices *x, struct model *m,
                     struct notes *told);

#endif
