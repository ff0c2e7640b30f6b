/* sized_cache.h - one cache of a given size under an eviction policy. The curve simulates one for
 * each capacity where stack distances do not apply. It takes objects of any size, as the last tier
 * of a hierarchy does. */
#ifndef KVGEN_CURVE_SIZED_CACHE_H
#define KVGEN_CURVE_SIZED_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/policy/policy.h"
#include "kvgen/source/ident.h"

struct sized_cache;

/* capacity is in bytes; UINT64_MAX: endless. NULL: no memory. */
struct sized_cache *sized_cache_create(const struct policy_ops *policy, uint64_t capacity);
void sized_cache_free(struct sized_cache *c);
/* true: the object is there; *size and *number are its own (either pointer may be NULL). */
bool sized_cache_find(const struct sized_cache *c, struct ident id, uint64_t *size,
                      uint32_t *number);
/* The object counts as used; false: it is not there. */
bool sized_cache_touch(struct sized_cache *c, struct ident id);
/* Adds an object that is not there. Others are evicted until it fits, or all of them. 0 or -ENOMEM.
 */
int sized_cache_write(struct sized_cache *c, struct ident id, uint64_t size);
/* The most bytes it has ever held. */
uint64_t sized_cache_peak_bytes(const struct sized_cache *c);

#endif
