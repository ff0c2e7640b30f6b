/* block_size.h - the tokens of a block of a trace that does not say it, and whether its partial
 * blocks have ids, by the numbers of ids against the lengths of its rows. */
#ifndef KVGEN_MEANING_BLOCK_SIZE_H
#define KVGEN_MEANING_BLOCK_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_SIZE_MAX     (1 << 20) /* tokens */
#define REQUEST_MAX_TOKENS ((int64_t)1 << 31)

/* One meaning of the ids of a row: of blocks of that many tokens, of all of them (tokens / size,
 * rounded up) or of full ones only (rounded down). */
struct block_reading {
    int64_t tokens;
    bool full;
};

/* The readings that fit all rows seen so far: powers of two from 16 to 1,024 both ways, other
 * powers of two and, where they leave one size only, other sizes with ids of all blocks. */
struct block_size {
    int64_t stated;            /* the only size; 0: any */
    uint32_t all, full;        /* bits of powers of two; bit 0 of the stated size */
    int64_t least, most;       /* sizes that fit with ids of all blocks */
    uint64_t rows, none_since; /* rows seen; the one since which no power of two fits, from 1 */
};

/* stated: the tokens of a block, from 1 to BLOCK_SIZE_MAX; 0: to be found. */
void block_size_begin(struct block_size *b, int64_t stated);
/* Whether a row fits. */
bool block_size_fits(struct block_reading r, int64_t tokens, size_t ids);
/* A row may have ids of all its blocks, or of full blocks only. Which of the two readings its count
 * of ids fits, for blocks of that many tokens. */
enum block_fit {
    BLOCK_FIT_NONE,
    BLOCK_FIT_ALL,  /* ids of all blocks */
    BLOCK_FIT_FULL, /* ids of full blocks only */
    BLOCK_FIT_BOTH
};
enum block_fit block_size_fit(int64_t block_tokens, int64_t tokens, size_t ids);
/* Takes a row in. False, and *b unchanged: nothing fits this row and those before. */
bool block_size_see(struct block_size *b, int64_t tokens, size_t ids);
/* Whether later rows can still choose. */
bool block_size_is_open(const struct block_size *b);
/* The reading: usual (tokens of the format's own blocks) if it fits, of all blocks rather than of
 * full ones; else the smallest from 16 to 1,024 of all blocks, else the largest of full ones; else
 * the smallest power of two, else the one size left. False: nothing is left but sizes that nobody
 * uses. */
bool block_size_choose(const struct block_size *b, int64_t usual, struct block_reading *out);
/* The other readings from 16 to 1,024 that fit, in words: "256 and 1024 tokens, 128 of full blocks
 * only". Returns how many; 0: buf is "". */
unsigned block_size_others(const struct block_size *b, struct block_reading chosen, char *buf,
                           size_t cap);
/* Adds a remark with what block_size_others wrote, unless that is "". */
struct notes;
void block_size_note(struct block_reading chosen, const char *others, struct notes *to);

#endif
