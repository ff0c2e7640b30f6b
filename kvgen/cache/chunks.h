/* chunks.h - the chunks that an engine's two tiers below the GPU hold, found by id, and the order
 * in which each tier gives them up. A chunk is in none, one or both of the tiers; each tier pins
 * and orders it by itself. Used by the managers of engines whose orders skip what is pinned, which
 * the policies of kvgen/policy do not know. One thread at a time. */
#ifndef KVGEN_CACHE_CHUNKS_H
#define KVGEN_CACHE_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#define CHUNK_NONE UINT32_MAX

struct chain_numbers;

enum chunk_tier {
    CHUNK_L1, /* memory of the host */
    CHUNK_L2, /* files */
    CHUNK_TIERS
};

/* Who goes first. */
enum chunk_order {
    CHUNK_LRU,  /* least recently touched */
    CHUNK_LFU,  /* least often touched; of those, the one that has had so many touches longest */
    CHUNK_FIFO, /* first to come */
    CHUNK_MRU,  /* most recently touched */
    /* Entries that were touched are apart from those that only came; the least recently used one of
     * either goes. The caller says of which (chunks_first). */
    CHUNK_TWO_LISTS
};

struct chunks;

struct chunks *chunks_create(enum chunk_order l1, enum chunk_order l2); /* NULL: no memory */
void chunks_free(struct chunks *c);                                     /* takes NULL */
/* Before the first chunk: ids are numbers of keys from now on. n NULL: any. 0 or -ENOMEM. */
int chunks_number(struct chunks *c, struct chain_numbers *n);
/* After this there is room for that many more ids, and for CHUNK_TOUCHES uses of as many. The other
 * functions need that room, and fail never. 0 or -ENOMEM. */
enum {
    CHUNK_TOUCHES = 8
};
int chunks_reserve(struct chunks *c, uint64_t more);

/* The number of a chunk, valid as long as the chunk is in a tier. _find: CHUNK_NONE if it is in
 * none. _get: makes a number for an absent one, which must come to a tier next. */
uint32_t chunks_find(const struct chunks *c, uint64_t id);
uint32_t chunks_get(struct chunks *c, uint64_t id);
uint64_t chunks_id(const struct chunks *c, uint32_t number);

/* A tier's entries. begin: counted, but neither held nor given up until put (its write is under
 * way). put: it enters the order as the newest, with one use. touch: it is used once more. drop: it
 * leaves the tier, held or begun, and its pins there are gone; in no tier, its number is free. What
 * is not held takes no touch. held and begun take CHUNK_NONE: false. */
void chunks_begin(struct chunks *c, enum chunk_tier tier, uint32_t number);
void chunks_put(struct chunks *c, enum chunk_tier tier, uint32_t number);
void chunks_put_again(struct chunks *c, enum chunk_tier tier, uint32_t number); /* and touched */
void chunks_touch(struct chunks *c, enum chunk_tier tier, uint32_t number);
void chunks_drop(struct chunks *c, enum chunk_tier tier, uint32_t number);
bool chunks_held(const struct chunks *c, enum chunk_tier tier, uint32_t number);
bool chunks_begun(const struct chunks *c, enum chunk_tier tier, uint32_t number);

/* Pins are counted. What is pinned is no victim. */
void chunks_pin(struct chunks *c, enum chunk_tier tier, uint32_t number);
void chunks_unpin(struct chunks *c, enum chunk_tier tier, uint32_t number);
bool chunks_pinned(const struct chunks *c, enum chunk_tier tier, uint32_t number);
/* A mark of the caller's, which goes when the chunk leaves the tier. It may be set before the chunk
 * comes. */
void chunks_mark(struct chunks *c, enum chunk_tier tier, uint32_t number, bool mark);
bool chunks_marked(const struct chunks *c, enum chunk_tier tier, uint32_t number);
/* It is never a victim again: it leaves the order, so that no search passes over it. */
void chunks_keep(struct chunks *c, enum chunk_tier tier, uint32_t number);

/* Who goes next: CHUNK_NONE if the rest is pinned. O(1 + entries that are pinned and older). */
uint32_t chunks_victim(const struct chunks *c, enum chunk_tier tier);
/* The entry after that one in the order, from who goes first; CHUNK_NONE begins, and ends. What is
 * kept for ever or begun is not in it. */
uint32_t chunks_next(const struct chunks *c, enum chunk_tier tier, uint32_t number);
/* With CHUNK_TWO_LISTS: the entry that goes first among those that were touched, or among those
 * that were not (CHUNK_NONE: there is none), and how many there are. In chunks_next all of the
 * former follow all of the latter. */
uint32_t chunks_first(const struct chunks *c, enum chunk_tier tier, bool touched);
uint64_t chunks_listed(const struct chunks *c, enum chunk_tier tier, bool touched);
bool chunks_is_touched(const struct chunks *c, enum chunk_tier tier, uint32_t number);
/* Entries that are held; those that are begun, too. */
uint64_t chunks_count(const struct chunks *c, enum chunk_tier tier);
uint64_t chunks_used(const struct chunks *c, enum chunk_tier tier);
/* Bytes of all that is allocated. */
uint64_t chunks_memory(const struct chunks *c);

#endif
