/* lmcache.h - LMCache 0.5.6's in-process engine below vLLM's block pool, as its connector drives it
 * (kvgen/cache/lmcache.h decides).
 *
 * Its look-up pins, so a request's look-up is made once and holds until it is admitted. A load ends
 * within its step (with async_loading: before the request runs, one request after the other), a
 * store to memory, too; files are written beside the steps. Where a load finds no memory, the
 * engine waits until a file is written; if none is, it waits for ever: KV_WAITS is told, and
 * step_built fails with -EDEADLK. */
#ifndef KVGEN_MANAGER_LMCACHE_H
#define KVGEN_MANAGER_LMCACHE_H

#include "kvgen/cache/cache.h"
#include "kvgen/cache/lmcache.h"

extern const struct kv_below_ops lmcache_below_ops;

/* Without writes_held a file is there when its write begins. NULL: no memory. */
struct kv_below *lmcache_below_create(const struct lmcache_settings *settings,
                                      const struct kv_listener *listener);
/* Its chunks, and the result of a request's last look-up, for checks. */
const struct chunks *lmcache_below_chunks(const struct kv_below *b);
const struct lmcache_request *lmcache_below_request(const void *state);

#endif
