/* sglang.h - the cache of SGLang 0.5.23 behind the seam (kvgen/cache/sglang.h decides): the radix
 * tree over the GPU's pages, copies on the host, files below. Its unit of room is a page.
 *
 * A request fetches from files when it arrives, and is not looked up before that is done
 * (wait_complete). What the host has is loaded within the step that admits the request. Prompts are
 * inserted at the end of each step, answers at the request's end; copies to the host and to files
 * are made beside the steps, but those of write_back, which makes room, within theirs. */
#ifndef KVGEN_MANAGER_SGLANG_H
#define KVGEN_MANAGER_SGLANG_H

#include "kvgen/cache/cache.h"
#include "kvgen/cache/sglang.h"

extern const struct kv_cache_ops sglang_cache_ops;

/* held is set here. NULL: no memory. */
struct kv_cache *sglang_cache_create(const struct sglang_settings *settings,
                                     const struct kv_listener *listener);
/* Its tree, and its record of a request, for checks. */
const struct sglang *sglang_cache_state(const struct kv_cache *c);
const struct sglang_request *sglang_cache_request(const struct kv_request *r);

#endif
