/* chunk_keys.c - the keys of a request's chunks. Where they lie is left to the managers. */
#include "kvgen/manager/chunk_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int chunk_keys_make(struct chunk_keys *k, const struct chain *chain, uint64_t prompt_tokens,
                    uint64_t chunk_tokens, bool unfull)
{
    const uint64_t total = chain_tokens(chain);
    *k = (struct chunk_keys){.full_count = total / chunk_tokens,
                             .prompt_full = prompt_tokens / chunk_tokens};
    k->full = malloc((k->full_count + 1) * sizeof(*k->full));
    k->prompt = malloc((k->prompt_full + 1) * sizeof(*k->prompt));
    if (!k->full || !k->prompt) {
        chunk_keys_free(k);
        return -ENOMEM;
    }
    struct chain_walk walk = {.chain = chain, .key = chain_root(0)}, end = walk;
    for (uint64_t i = 0; i < k->full_count; i++) {
        k->full[i] = chain_key(&walk, (i + 1) * chunk_tokens);
        if (i + 1 == k->prompt_full)
            end = walk;
    }
    memcpy(k->prompt, k->full, k->prompt_full * sizeof(*k->prompt));
    k->prompt_count = k->prompt_full;
    if (unfull && prompt_tokens % chunk_tokens)
        k->prompt[k->prompt_count++] = chain_key(&end, prompt_tokens);
    return 0;
}

void chunk_keys_free(struct chunk_keys *k)
{
    free(k->full);
    free(k->prompt);
    *k = (struct chunk_keys){0};
}
