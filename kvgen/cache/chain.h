/* chain.h - a request as a chain of tokens. A chain is a list of pieces; token j of a piece is
 * known by the piece's content and j, so two chains are equal up to a token if their pieces are.
 * The engine cuts a chain into blocks of its own size, and a block's key stands for the chain from
 * its first token to the block's end. */
#ifndef KVGEN_CACHE_CHAIN_H
#define KVGEN_CACHE_CHAIN_H

#include <stdint.h>

/* Equal contents are equal token by token, as far as both go. */
struct chain_piece {
    uint64_t content;
    uint64_t tokens; /* at least 1 */
};

/* The pieces stay the caller's, and stay as they are while a request uses them. */
struct chain {
    const struct chain_piece *pieces;
    uint64_t count;
    /* Keys that somebody has already: of its first `keys` blocks of key_tokens tokens, in the
     * namespaces chain_root(0), chain_root(1) and so on, one after the other. NULL: of none. */
    const uint64_t *key;
    uint64_t keys, key_tokens;
    uint32_t key_groups;
};

uint64_t chain_tokens(const struct chain *c);

/* The key of the empty chain, with which every chain of one namespace begins. Other models, groups
 * of layers or salts are other namespaces. */
uint64_t chain_root(uint64_t name);

/* Walks along a chain from its first token. A plain value: zero it, then set chain and key (one of
 * chain_root). */
struct chain_walk {
    const struct chain *chain;
    uint64_t key;   /* of the chain up to the begin of the piece */
    uint64_t piece; /* number of the piece that the walk is in */
    uint64_t begin; /* token at which it begins */
};

/* The key of the chain's first `end` tokens. end is at most the chain's tokens and not below the
 * end of the call before. Keys are 64-bit hashes (XXH3): among 10 million blocks two are taken for
 * one with a chance of 3 in a million. O(pieces passed). */
uint64_t chain_key(struct chain_walk *w, uint64_t end);
/* The keys of its first `count` blocks of that many tokens, in the namespace of a group of layers,
 * to out. */
void chain_list_keys(const struct chain *c, uint32_t group, uint64_t tokens, uint64_t count,
                     uint64_t *out);

#endif
