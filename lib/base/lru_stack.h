/* LRU stack distances in bytes: for each use of an object, the smallest LRU cache that would hit.
 * Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970;
 * O(log n) per use as in Bennett and Kruskal, "LRU stack processing", IBM Journal of R&D 19(4),
 * 1975. */
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
 * Uses the object of that key (a well-mixed hash). *number: the object's index from 0, in order of
 * first use. *distance: the bytes of all objects used since its last use, itself included, each
 * counted once with the size it had then; 0 if it was also the last one used; LRU_STACK_NEW at its
 * first use.
 *
 * An LRU cache of C bytes that takes objects of any size holds the object exactly when
 * *distance <= C, as long as no object changes its size. Returns 0, -ENOMEM, or -EOVERFLOW when all
 * sizes together pass 2^63. Memory: about 130 bytes per object.
 */
int lru_stack_use(struct lru_stack *s, struct hash128 key, uint64_t size, uint64_t *distance,
                  uint32_t *number);
/* Returns whether the object was ever used; if so, *size is its size at its last use. */
bool lru_stack_find(const struct lru_stack *s, struct hash128 key, uint64_t *size);
/* Number of objects ever used, and their bytes together (an upper bound of distances). */
uint64_t lru_stack_objects(const struct lru_stack *s);
uint64_t lru_stack_bytes(const struct lru_stack *s);

#endif
