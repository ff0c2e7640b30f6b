/* The cache that each layer of a config.json keeps for a sequence. */
#ifndef KVTRACE_MODEL_HF_LAYERS_H
#define KVTRACE_MODEL_HF_LAYERS_H

#include <stdint.h>

#include "lib/model/hf_fields.h"

enum hf_layer {
    HF_FULL,     /* keys and values of all tokens */
    HF_WINDOWED, /* of the last tokens */
    HF_STATE,    /* a state of fixed size */
    HF_NOTHING   /* of its own: no attention, another layer's, or attention to a picture */
};

struct hf_layers {
    uint32_t count, window;      /* window in tokens; 0: no windowed layers */
    const char *by;              /* the field that says what each layer keeps; NULL: a rule does */
    const char *states_by;       /* the field that says that layers keep a state; NULL: none does */
    uint32_t shared;             /* layers that use the keys and values of another one */
    uint8_t kind[HF_LAYERS_MAX]; /* enum hf_layer */
};

/* Fills all but count, which is given. 0 or -EINVAL. */
int hf_layers_read(const struct hf_reader *r, struct hf_layers *l);
/* How many layers are of that kind. */
uint32_t hf_layers_of(const struct hf_layers *l, enum hf_layer kind);

#endif
