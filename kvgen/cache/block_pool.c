/* block_pool.c - the pool of vLLM 0.33.0 (v1/core/block_pool.py in its rules). Blocks under one
 * name are a ring in the order in which they got it; the table knows the first. Block 0 is the head
 * of the free queue, a ring, too. */
#include "kvgen/cache/block_pool.h"

#include <stdlib.h>

#include "kvgen/cache/id_table.h"

struct block {
    uint64_t key;
    uint32_t prev, next;             /* in the free queue */
    uint32_t older_twin, newer_twin; /* ring of one name */
    uint32_t references;
    uint32_t name; /* number + 1; 0: it has none */
};

struct block_pool {
    struct block *block;
    struct id_table names;
    uint32_t *first; /* by number of the name: the block that has had it longest */
    uint64_t blocks, idle;
};

struct block_pool *block_pool_create(uint64_t blocks, struct chain_numbers *numbers)
{
    struct block_pool *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->blocks = p->idle = blocks;
    p->block = calloc(blocks + 1, sizeof(*p->block));
    if (!p->block || chain_numbers_join(numbers, &p->names) ||
        id_table_reserve(&p->names, blocks) ||
        !(p->first = malloc((blocks + 1) * sizeof(*p->first)))) {
        block_pool_free(p);
        return NULL;
    }
    for (uint32_t i = 0; i <= blocks; i++) {
        p->block[i].prev = i ? i - 1 : (uint32_t)blocks;
        p->block[i].next = i < blocks ? i + 1 : 0;
    }
    return p;
}

void block_pool_free(struct block_pool *p)
{
    if (!p)
        return;
    id_table_free(&p->names);
    free(p->first);
    free(p->block);
    free(p);
}

uint64_t block_pool_blocks(const struct block_pool *p)
{
    return p->blocks;
}

uint64_t block_pool_idle(const struct block_pool *p)
{
    return p->idle;
}

uint32_t block_pool_find(const struct block_pool *p, uint64_t key)
{
    const uint32_t name = id_table_find(&p->names, key);
    return name == ID_NONE ? BLOCK_NONE : p->first[name];
}

void block_pool_expect(const struct block_pool *p, uint64_t key)
{
    id_table_expect(&p->names, key);
}

void block_pool_expect_block(const struct block_pool *p, uint32_t block)
{
    __builtin_prefetch(&p->block[block], 1);
}

bool block_pool_is_idle(const struct block_pool *p, uint32_t block)
{
    return p->block[block].references == 0;
}

static void unlink_idle(struct block_pool *p, uint32_t block)
{
    const struct block *b = &p->block[block];
    p->block[b->prev].next = b->next;
    p->block[b->next].prev = b->prev;
    p->idle--;
}

/* Puts the block behind `prev` in the free queue. */
static void link_idle(struct block_pool *p, uint32_t block, uint32_t prev)
{
    struct block *b = &p->block[block];
    b->prev = prev;
    b->next = p->block[prev].next;
    p->block[b->prev].next = block;
    p->block[b->next].prev = block;
    p->idle++;
}

void block_pool_hold(struct block_pool *p, uint32_t block)
{
    if (p->block[block].references++ == 0)
        unlink_idle(p, block);
}

/* The block loses its name; true: another one still has it. */
static bool unname(struct block_pool *p, uint32_t block)
{
    struct block *b = &p->block[block];
    const uint32_t name = b->name - 1;
    b->name = 0;
    if (b->newer_twin == block) {
        id_table_remove(&p->names, name);
        return false;
    }
    p->block[b->older_twin].newer_twin = b->newer_twin;
    p->block[b->newer_twin].older_twin = b->older_twin;
    if (p->first[name] == block)
        p->first[name] = b->newer_twin;
    return true;
}

uint32_t block_pool_take(struct block_pool *p, struct block_pool_loss *loss)
{
    const uint32_t block = p->block[0].next;
    struct block *b = &p->block[block];
    *loss = (struct block_pool_loss){.named = b->name > 0, .key = b->key};
    unlink_idle(p, block);
    __builtin_prefetch(&p->block[p->block[0].next], 1); /* the one that is taken next */
    b->references = 1;
    if (b->name)
        loss->twin = unname(p, block);
    return block;
}

void block_pool_name(struct block_pool *p, uint32_t block, uint64_t key)
{
    struct block *b = &p->block[block];
    uint32_t name = id_table_find(&p->names, key);
    b->key = key;
    if (name == ID_NONE) {
        b->older_twin = b->newer_twin = block;
        name = id_table_add(&p->names, key); /* there is room for each block's */
        b->name = name + 1;
        p->first[name] = block;
        return;
    }
    const uint32_t first = p->first[name];
    b->name = name + 1;
    b->older_twin = p->block[first].older_twin;
    b->newer_twin = first;
    p->block[b->older_twin].newer_twin = block;
    p->block[first].older_twin = block;
}

bool block_pool_named(const struct block_pool *p, uint32_t block, uint64_t *key)
{
    *key = p->block[block].key;
    return p->block[block].name > 0;
}

enum block_pool_release block_pool_release(struct block_pool *p, uint32_t block)
{
    struct block *b = &p->block[block];
    if (--b->references)
        return BLOCK_IN_USE;
    link_idle(p, block, b->name ? p->block[0].prev : 0);
    return b->name ? BLOCK_LAST : BLOCK_FIRST;
}
