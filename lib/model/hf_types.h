/* The element types that a config.json states for a cache. */
#ifndef KVTRACE_MODEL_HF_TYPES_H
#define KVTRACE_MODEL_HF_TYPES_H

#include "lib/model/hf_fields.h"
#include "lib/model/model.h"

/* A type, and the key that says so. */
struct hf_type {
    enum model_type type;
    char by[MODEL_KEYS_CAP];
};

/*
 * *activation: that of activations (torch_dtype, dtype), in which a cache is kept unless something
 * else is stated; float32 is kept in 16 bits, as vLLM does. *cache: that of keys and values: what
 * quantization_config, compression_config or quantization state of the cache (kv_cache_scheme,
 * kv_cache_quant_algo, in them or in a nested quantization), else *activation. The type of the
 * weights says nothing (hf_weights.h). Without a quantization_config, what hf_quant_config.json
 * states of the cache counts, as for vLLM: modelopt wrote it until its version 0.29. 0, or -EINVAL:
 * the cache has a type that is not known.
 *
 * Sources: vLLM's get_kv_cache_quant_algo_string (modelopt), CompressedTensorsConfig's
 * kv_cache_scheme, _resolve_auto_dtype, and get_config; TensorRT-LLM's config.json of a checkpoint.
 */
int hf_types_read(const struct hf_reader *r, struct hf_type *activation, struct hf_type *cache);

#endif
