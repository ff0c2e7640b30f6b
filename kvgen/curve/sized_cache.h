/* sized_cache.h - one cache of a given size under an eviction policy: what the curve simulates
 * where stack distances do not tell. Takes objects of any size, as the last tier does. */
#ifndef KVGEN_CURVE_SIZED_CACHE_H
#define KVGEN_CURVE_SIZED_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/policy/policy.h"
#include "kvgen/source/ident.h"

struct sized_cache;

/* capacity in bytes; UINT64_MAX: endless. NULL: no memory. */
struct sized_cache *sized_cache_create(const struct policy_ops *policy, uint64_t capacity);
void sized_cache_free(struct sized_cache *c);
/* Is the object there? Then its size and number, too (either may be NULL). */
bool sized_cache_find(const struct sized_cache *c, struct ident id, uint64_t *size,
                      uint32_t *number);
/* Counts as used; false: not there. */
bool sized_cache_touch(struct sized_cache *c, struct ident id);
/* Adds an object that is not there; others go until it fits, or all of them. 0 or -ENOMEM. */
int sized_cache_write(struct sized_cache *c, struct ident id, uint64_t size);
uint64_t sized_cache_peak_bytes(const struct sized_cache *c);

#endif
