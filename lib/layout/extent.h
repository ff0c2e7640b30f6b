/* Space in an arena or a slab, given out as lists of extents. An object takes the shortest free
 * extent that holds it, so space that was used before is used again before new space. If no extent
 * is long enough, it takes the longest ones until it fits: what fits in the free bytes never fails
 * from fragmentation. Freed neighbours merge. O(log n) per extent. One thread at a time. */
#ifndef KVTRACE_LAYOUT_EXTENT_H
#define KVTRACE_LAYOUT_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

struct extent {
    uint64_t offset, len; /* bytes, multiples of the unit */
};
/* A list is named by a number; 0: no list. It costs 16 bytes per extent. */

struct extent_pool;

/* A pool of capacity bytes (rounded down to units) in units of unit bytes, a power of two. An
 * extent has at most 2^32 - 1 units. NULL: no memory. */
struct extent_pool *extent_pool_create(uint64_t capacity, uint32_t unit);
/* The same over parts (1 to EXTENT_PARTS_MAX) of part_bytes each (rounded down to units), one
 * behind the other; each may be a device. An object goes whole into the part with the most free
 * bytes (of equal ones the first), and into several parts only when it fits whole into none. No
 * extent crosses a border. */
enum {
    EXTENT_PARTS_MAX = 16
};
struct extent_pool *extent_pool_create_parts(uint64_t part_bytes, unsigned parts, uint32_t unit);
void extent_pool_free(struct extent_pool *p); /* and all lists */

/* Allocates len bytes, rounded up to units; 0 takes one unit. 0; -ENOSPC or -ENOMEM, with nothing
 * taken. */
int extent_alloc(struct extent_pool *p, uint64_t len, uint32_t *list);
/* Makes *list (0: none yet) a list of len bytes, rounded in the same way. Keeps it if it is that
 * long, else releases it and allocates another. After an error *list is 0. */
int extent_resize(struct extent_pool *p, uint64_t len, uint32_t *list);
/* Takes exactly this space (multiples of the unit) and appends it to *list; *last is the list's
 * last extent. Both are 0 before the first. 0; -EEXIST: not all of it is free, or it is outside;
 * -ENOMEM. */
int extent_claim(struct extent_pool *p, uint64_t offset, uint64_t len, uint32_t *list,
                 uint32_t *last);
void extent_release(struct extent_pool *p, uint32_t list); /* takes 0 */
uint64_t extent_free_bytes(const struct extent_pool *p);
/* Bytes of all extents of list. */
uint64_t extent_bytes(const struct extent_pool *p, uint32_t list);
/* Gives the extent at *pos and moves on; start with *pos = list. False at the end. Any thread that
 * was handed the list may walk it until it is released, while the owner allocates others. */
bool extent_walk(const struct extent_pool *p, uint32_t *pos, struct extent *out);

#endif
