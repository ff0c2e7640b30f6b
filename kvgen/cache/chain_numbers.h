/* chain_numbers.h - small numbers for the keys of blocks, so that what is known of a block lies in
 * arrays: a table of ids (id_table.h) that joins looks a number up where others hash an id. A key
 * keeps its number while a request holds it, somebody else does, or a table has it. One thread at a
 * time. */
#ifndef KVGEN_CACHE_CHAIN_NUMBERS_H
#define KVGEN_CACHE_CHAIN_NUMBERS_H

#include <stdint.h>

#include "kvgen/cache/id_table.h"

struct chain_numbers;

struct chain_numbers *chain_numbers_create(void);                   /* NULL: no memory */
struct chain_numbers *chain_numbers_share(struct chain_numbers *n); /* one user more: n */
void chain_numbers_free(struct chain_numbers *n);                   /* one less; takes NULL */

/* The table, which is empty, gets numbers for ids from now on; it leaves when it is freed, which
 * comes first. n NULL: its ids may be any. 0 or -ENOMEM. */
int chain_numbers_join(struct chain_numbers *n, struct id_table *t);

/* Puts numbers, from 1, in the place of the keys of a chain's blocks, from its first one on, and
 * holds each. A key stands for all of its chain so far: the one before it is always the same. 0; or
 * -ENOMEM, after which the list is of no use. */
int chain_numbers_take(struct chain_numbers *n, uint64_t *key, uint64_t count);
/* The same for a key without those before it in its chain. Slow once there are chains. */
int chain_numbers_take_lone(struct chain_numbers *n, uint64_t *key);
/* Numbers that have a key are held once more. */
void chain_numbers_hold(struct chain_numbers *n, const uint64_t *number, uint64_t count);
/* Numbers that were taken, or held, are held once less. */
void chain_numbers_release(struct chain_numbers *n, const uint64_t *number, uint64_t count);
uint64_t chain_numbers_key(const struct chain_numbers *n, uint64_t number); /* it has one */
/* The number of a key, of which `before` is that of the one before it in its chain; 0: that has
 * none, or it is the first. 0: the key has none. */
uint64_t chain_numbers_next(const struct chain_numbers *n, uint64_t before, uint64_t key);
/* The same without the one before it. Slow where it is no head of a chain or part of one. */
uint64_t chain_numbers_find(const struct chain_numbers *n, uint64_t key);

#endif
