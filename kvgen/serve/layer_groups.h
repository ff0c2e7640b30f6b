/* layer_groups.h - the groups of layers that vLLM keeps apart. Layers of one kind (all tokens, or a
 * window of the last ones) fill groups of equally many layers, so that a block of each has the same
 * size and one pool holds them all: as many as the rarer kind has; the last group of a kind may be
 * padded. */
#ifndef KVGEN_SERVE_LAYER_GROUPS_H
#define KVGEN_SERVE_LAYER_GROUPS_H

#include <stdint.h>

#include "kvgen/cache/vllm.h"
#include "lib/base/err.h"
#include "lib/model/model.h"

/* A plain value; the model stays the caller's. */
struct layer_groups {
    const struct model *model;
    uint32_t groups;              /* at least 1; those without a window come first */
    uint64_t window[VLLM_GROUPS]; /* tokens; 0: all */
    uint32_t layers;              /* of each group, padding included; 0: all of the model */
};

/* The groups of a model. 0, or -EINVAL with *e: it has layers that are in no such group. */
int layer_groups_of(struct layer_groups *out, const struct model *m, struct err *e);
/* The same where a block has the keys and values of all layers: one group, without a window. The
 * state of a sequence is in no block. */
struct layer_groups layer_groups_together(const struct model *m);
/* Bytes of a block of tokens in one group, of one rank. groups is a struct layer_groups. 0 or
 * -EOVERFLOW. */
int layer_groups_bytes(const void *groups, uint64_t tokens, uint64_t *bytes);

#endif
