/* A model's attention geometry, and the bytes that its cache needs. */
#ifndef KVTRACE_MODEL_MODEL_H
#define KVTRACE_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

enum model_attention {
    MODEL_MHA,
    MODEL_GQA,
    MODEL_MLA
};

/* Element types. */
enum model_type {
    MODEL_FLOAT16,
    MODEL_BFLOAT16,
    MODEL_FLOAT32,
    MODEL_FP8,
    MODEL_INT8,
    MODEL_INT4,
    MODEL_NVFP4, /* 4 bits, and 8 more for each 16 elements */
    MODEL_TYPES
};

enum model_kind {
    MODEL_KEYS_VALUES,
    MODEL_LATENT,       /* of multi-head latent attention: keys and values in one */
    MODEL_INDEX_KEYS,   /* by which sparse attention picks tokens ... */
    MODEL_INDEX_SCALES, /* ... and what restores them from 8 bits */
    MODEL_INPUTS,       /* the last inputs of a convolution, */
    MODEL_RECURRENT     /* and what a layer has gathered: the state of a sequence */
};

enum {
    MODEL_PARTS_MAX = 12,
    MODEL_KEYS_CAP = 96,
    MODEL_BIT = 1 << 14
};

/* One part of a sequence's cache: caches that are alike. */
struct model_part {
    enum model_kind kind;
    uint32_t caches;
    uint64_t elements; /* in one cache: of a token; of a state, in all */
    uint32_t heads;    /* ranks can divide it into so many; 0: into any number */
    uint32_t window;   /* holds at most so many tokens; 0: all */
    enum model_type type;
    char counted_by[MODEL_KEYS_CAP]; /* the keys of the file that say how many caches, ... */
    char typed_by[MODEL_KEYS_CAP];   /* ... and of which type; "": no file, or no key of it */
};

/* How the GPUs of an engine divide a cache. Each number: 0 the same as 1. */
struct model_ranks {
    uint32_t tensor;   /* the heads of a part; those above their number keep one head each */
    uint32_t pipeline; /* the layers; sizes are those of the rank with the most */
    uint32_t context;  /* the tokens, rounded up */
    bool evenly;       /* tensor ranks divide each part evenly, however many heads it has */
    bool latent;       /* they divide the latent and its index keys evenly */
};

/* A plain value. The geometry is that of most layers; the parts count every layer as it is. */
struct model {
    char id[96];   /* as --model takes it */
    char name[96]; /* for people */
    enum model_attention attention;
    uint32_t layers, hidden, heads, kv_heads, head_dim; /* kv_heads, head_dim: 0 for MLA */
    uint32_t kv_lora_rank, qk_rope_head_dim;            /* 0 except for MLA */
    uint32_t full_layers;     /* caches with the keys and values of all tokens, ... */
    uint32_t windowed_layers; /* ... and of the last tokens; 0: no sliding window */
    uint32_t state_layers;    /* layers with a state of fixed size (linear attention, Mamba) */
    uint32_t window;          /* tokens; 0: none */
    struct model_ranks ranks; /* as the model's file names them (0: it does not), or as set later */

    unsigned parts;
    struct model_part part[MODEL_PARTS_MAX];

    /* The arithmetic of prefill (hf_compute.h); 0: not known. Parameters that one token multiplies
     * with in all layers; elements that a pair of positions multiplies and adds in one layer: query
     * heads x (width of a key + width of a value), so twice heads x head_dim where these are equal.
     */
    uint64_t active_params, pair_elements;
    /* Sparse attention: the tokens that a token looks at, as its layers' indexers pick them among
     * all; and the elements that these multiply and add for a pair of positions, in all layers. 0:
     * not sparse. */
    uint64_t index_picks, index_elements;
    /* Parameters of the output head, and of all experts that tokens are routed to; the number of
     * experts in a layer, of which a token takes `chosen`. 0: not known, or there are none. */
    uint64_t head_params, routed_params;
    uint32_t experts, chosen;
    /* Bits of a parameter of the checkpoint, with its part of scales, in 1 / MODEL_BIT: on average
     * of those that each token multiplies with, of routed experts, and of the output head. 0: 16
     * bits. */
    uint32_t common_bits, routed_bits, head_bits;
};

/* The i-th built-in model, in the order of kvgen --list-models; NULL past the end. */
const struct model *model_builtin(size_t i);

/* Adds a part. false: there are MODEL_PARTS_MAX already. One of no caches is not added. */
bool model_add(struct model *m, const struct model_part *part);
/* Sets the full layers and the parts of a model whose layers are all alike, but for windows.
 * state_bytes: of a sequence in all layers. */
void model_settle(struct model *m, enum model_type type, uint64_t state_bytes);

/* Sets the element type of keys and values, or of the latent, by name: float32 float16 bfloat16 fp8
 * int8 int4 nvfp4. Index keys and states keep their own. 0, or -EINVAL: unknown. */
int model_set_dtype(struct model *m, const char *dtype, struct err *e);
/* The element type of keys and values, or of the latent. */
const char *model_dtype(const struct model *m);
const char *model_type_name(enum model_type type);

/* Is the part of a state, which does not grow with the tokens? */
bool model_is_state(const struct model_part *part);
/* Bytes of one token in all caches of the part (of a state: of a sequence), rounded down. */
uint64_t model_part_bytes(const struct model_part *part);

/*
 * Bytes that one sequence grows to with its tokens, on all ranks together: over all parts but
 * states, caches x elements x min(tokens, window) x bytes of an element, where elements are
 *   2 x kv_heads x head_dim         (MHA, GQA: keys and values)
 *   kv_lora_rank + qk_rope_head_dim (MLA: one latent, no factor 2)
 * and, with sparse attention, the index keys and their scales. Rounded down to whole bytes at the
 * end. 0, or -EOVERFLOW when it does not fit 64 bits. Sources: Vaswani et al., "Attention is all
 * you need", 2017 (MHA); Ainslie et al., "GQA", EMNLP 2023; DeepSeek-AI, "DeepSeek-V2", 2024,
 * section 2.1 (MLA caches the latent and the decoupled key).
 */
int model_bytes(const struct model *m, uint64_t tokens, uint64_t *bytes);
/* model_bytes of one token: the cost of one more token within the window. */
uint64_t model_bytes_per_token(const struct model *m);
/* Bytes of the state of a sequence, which do not depend on its length. */
uint64_t model_state_bytes(const struct model *m);
/* Bytes of the object of a whole sequence: model_bytes, and its state once. As model_bytes. */
int model_sequence_bytes(const struct model *m, uint64_t tokens, uint64_t *bytes);
/* The bytes of model_bytes that one of the model's ranks keeps; with state, those of
 * model_sequence_bytes. Returns as model_bytes. */
int model_rank_bytes(const struct model *m, uint64_t tokens, bool state, uint64_t *bytes);
/* Into how many pieces the model's ranks divide keys and values, or the latent. */
uint32_t model_divisor(const struct model *m);

enum model_layers {
    MODEL_ALL,
    MODEL_FULL,    /* those that keep all tokens */
    MODEL_WINDOWED /* those that keep the last ones */
};
/* Bytes of a block of tokens, whatever the window, in these layers. As model_bytes. */
int model_block_bytes(const struct model *m, enum model_layers layers, uint64_t tokens,
                      uint64_t *bytes);
/* The same, of one of the model's ranks. */
int model_rank_block_bytes(const struct model *m, enum model_layers layers, uint64_t tokens,
                           uint64_t *bytes);

#endif
