/* block_pool.h - the blocks of one GPU as vLLM keeps them: a free queue, reference counts, and
 * names of what is cached. A free block keeps its name until it is taken. 52 bytes a block,
 * its place in the table included. */
#ifndef KVGEN_CACHE_BLOCK_POOL_H
#define KVGEN_CACHE_BLOCK_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/cache/chain_numbers.h"

#define BLOCK_NONE 0u /* no block has this number */

struct block_pool;

/* blocks: those that can be used, numbered from 1; at most 2^30. numbers: those of the keys; NULL:
 * keys are hashes. NULL: no memory. */
struct block_pool *block_pool_create(uint64_t blocks, struct chain_numbers *numbers);
void block_pool_free(struct block_pool *p); /* takes NULL */
uint64_t block_pool_blocks(const struct block_pool *p);
uint64_t block_pool_idle(const struct block_pool *p); /* blocks in the free queue */

/* The block that has had this name longest; BLOCK_NONE: none has it. */
uint32_t block_pool_find(const struct block_pool *p, uint64_t key);
/* It is about to be asked for. */
void block_pool_expect(const struct block_pool *p, uint64_t key);
/* The block is about to be held, named or released. */
void block_pool_expect_block(const struct block_pool *p, uint32_t block);
bool block_pool_is_idle(const struct block_pool *p, uint32_t block);
/* A request uses the block: one reference more. An idle one leaves the free queue. */
void block_pool_hold(struct block_pool *p, uint32_t block);
/* The copy that a block lost when it was taken. */
struct block_pool_loss {
    bool named;   /* it was cached */
    uint64_t key; /* as that */
    bool twin;    /* another block has the same name */
};
/* Takes the head of the free queue, which is not empty, with one reference. */
uint32_t block_pool_take(struct block_pool *p, struct block_pool_loss *loss);
/* The held block, which has no name, is cached under that key from now on. */
void block_pool_name(struct block_pool *p, uint32_t block, uint64_t key);
/* The name of a block, in *key; false: it has none. */
bool block_pool_named(const struct block_pool *p, uint32_t block, uint64_t *key);

enum block_pool_release {
    BLOCK_IN_USE, /* others have it */
    BLOCK_FIRST,  /* without a name: head of the free queue */
    BLOCK_LAST    /* its tail */
};
/* One reference less. */
enum block_pool_release block_pool_release(struct block_pool *p, uint32_t block);

#endif
