/* cache.h - one cache of a given size under an eviction policy: what the curve simulates where
 * stack distances do not tell. Takes objects of any size, as the last tier does. */
#ifndef KVGEN_CURVE_CACHE_H
#define KVGEN_CURVE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/policy/policy.h"
#include "kvgen/source/ident.h"

struct cache;

/* capacity in bytes; UINT64_MAX: endless. NULL: no memory. */
struct cache *cache_create(const struct policy_ops *policy, uint64_t capacity);
void cache_free(struct cache *c);
/* Is the object there? Then its size and number, too (either may be NULL). */
bool cache_find(const struct cache *c, struct ident id, uint64_t *size, uint32_t *number);
/* Counts as used; false: not there. */
bool cache_touch(struct cache *c, struct ident id);
/* Adds an object that is not there; others go until it fits, or all of them. 0 or -ENOMEM. */
int cache_write(struct cache *c, struct ident id, uint64_t size);
uint64_t cache_peak_bytes(const struct cache *c);

#endif
