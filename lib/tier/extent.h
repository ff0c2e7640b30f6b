/* extent.h - space in an arena or slab as lists of extents. An object takes the shortest free
 * extent that holds it, so that freed (and already touched) space is used again before new; when
 * none does, the longest ones until it fits, so that a request that fits in the free bytes never
 * fails from fragmentation. Neighbours merge when freed; O(log n) an extent whatever the age. One
 * thread at a time. */
#ifndef KVTRACE_TIER_EXTENT_H
#define KVTRACE_TIER_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct extent {
    uint64_t offset, len; /* bytes, multiples of the unit */
};
/* An object's space is named by a number, 0: none; it costs 16 bytes an extent. */

struct extent_pool;
/* Space of capacity bytes (rounded down to units) in units of unit bytes, a power of two; at most
 * 2^32 - 1 units an extent. NULL: no memory. */
struct extent_pool *extent_pool_create(uint64_t capacity, uint32_t unit);
/* The same over parts (1 to EXTENT_PARTS_MAX) of part_bytes (rounded down to units) that lie one
 * behind another, a device each: an object is whole in the part with the most free bytes, of equal
 * ones the first, and in several only when it fits whole into none. No extent crosses a border. */
enum {
    EXTENT_PARTS_MAX = 16
};
struct extent_pool *extent_pool_create_parts(uint64_t part_bytes, unsigned parts, uint32_t unit);
void extent_pool_free(struct extent_pool *p); /* and everything allocated from it */
/* Allocates len bytes, rounded up to units; 0 takes one unit. 0; -ENOSPC or -ENOMEM, nothing taken.
 */
int extent_alloc(struct extent_pool *p, uint64_t len, uint32_t *list);
/* Takes just this space (multiples of the unit), behind what *list has; *last is the end of the
 * list, both 0 before the first. 0; -EEXIST: not all free, or outside; -ENOMEM. */
int extent_claim(struct extent_pool *p, uint64_t offset, uint64_t len, uint32_t *list,
                 uint32_t *last);
void extent_release(struct extent_pool *p, uint32_t list); /* takes 0 */
uint64_t extent_free_bytes(const struct extent_pool *p);
/* Bytes of all extents of list. */
uint64_t extent_bytes(const struct extent_pool *p, uint32_t list);
/* Gives the extent at *pos and moves on: start with *pos = list; false at the end. Any thread that
 * was handed the list (records keep their place in memory), until it is released. */
bool extent_walk(const struct extent_pool *p, uint32_t *pos, struct extent *out);

#endif
