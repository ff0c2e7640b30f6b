/* block_size.h - the tokens of a block of a trace that does not say it, by the numbers of ids
 * against the lengths of its rows. */
#ifndef KVGEN_SOURCE_BLOCK_SIZE_H
#define KVGEN_SOURCE_BLOCK_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_SIZE_MAX (1 << 20) /* tokens */

/* The sizes, from least to most, that fit all rows seen so far. Begin with BLOCK_SIZE_ANY. */
struct block_size {
    int64_t least, most;
};
#define BLOCK_SIZE_ANY ((struct block_size){1, BLOCK_SIZE_MAX})

/* Whether blocks of size tokens fit a row: its ids are tokens / size, rounded up. */
bool block_size_fits(int64_t size, int64_t tokens, size_t ids);
/* Takes a row in. False, and *b unchanged: no size fits this row and those before. */
bool block_size_see(struct block_size *b, int64_t tokens, size_t ids);
/* Whether later rows can still choose among powers of two. */
bool block_size_is_open(const struct block_size *b);
/* The size: usual if it fits, else the smallest power of two that fits, else the smallest size. */
int64_t block_size_choose(const struct block_size *b, int64_t usual);

#endif
