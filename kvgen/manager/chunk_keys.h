/* chunk_keys.h - a request's chain cut into the chunks of an engine. */
#ifndef KVGEN_MANAGER_CHUNK_KEYS_H
#define KVGEN_MANAGER_CHUNK_KEYS_H

#include <stdbool.h>

#include "kvgen/cache/chain.h"

/* Zero it before the first use. */
struct chunk_keys {
    uint64_t *full; /* of each whole chunk of the chain */
    uint64_t full_count;
    uint64_t prompt_full; /* of them lie within the prompt */
    uint64_t *prompt;     /* those, then that of the prompt's un-full end, if it is wanted */
    uint64_t prompt_count;
};

/* unfull: the prompt's un-full end is a chunk, too. 0, then chunk_keys_free; or -ENOMEM. */
int chunk_keys_make(struct chunk_keys *k, const struct chain *chain, uint64_t prompt_tokens,
                    uint64_t chunk_tokens, bool unfull);
void chunk_keys_free(struct chunk_keys *k);

#endif
