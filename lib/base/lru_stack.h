/* lru_stack.h - stack distances of a stream of uses in bytes: of any cache that evicts the least
 * recently used, which sizes hold the object that is used. Mattson et al., "Evaluation techniques
 * for storage hierarchies", IBM Systems Journal 9(2), 1970; O(log n) a use as in Bennett and
 * Kruskal, "LRU stack processing", IBM Journal of R&D 19(4), 1975. */
#ifndef KVTRACE_BASE_LRU_STACK_H
#define KVTRACE_BASE_LRU_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/hash.h"

#define LRU_STACK_NEW UINT64_MAX

struct lru_stack;

struct lru_stack *lru_stack_create(void); /* NULL: no memory */
void lru_stack_free(struct lru_stack *s);

/*
 * Uses the object of that key (its low word well mixed), whose number in the stack (from 0, in
 * order of first use) is left in *number. *distance: the bytes of all objects used since its last
 * use, its own included, each counted once with the size it had then; 0 when it was the one used
 * last; LRU_STACK_NEW at its first use.
 *
 * An LRU cache of C bytes that takes objects of any size, as the last tier does, holds the object
 * exactly when *distance <= C, whatever the sizes, as long as each object keeps its own. 0,
 * -ENOMEM, or -EOVERFLOW when all sizes together pass 2^63. Memory: some 130 bytes an object.
 */
int lru_stack_use(struct lru_stack *s, struct hash128 key, uint64_t size, uint64_t *distance,
                  uint32_t *number);
/* Was the object ever used? Then its size at its last use, too. */
bool lru_stack_find(const struct lru_stack *s, struct hash128 key, uint64_t *size);
/* Objects ever used, and their bytes: the largest distance there can be. */
uint64_t lru_stack_objects(const struct lru_stack *s);
uint64_t lru_stack_bytes(const struct lru_stack *s);

#endif
