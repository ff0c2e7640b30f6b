/* Finds the block size of a trace from its rows. blocks.c shows it the rows at the head of a file,
 * and checks every later row against the size found. */
#include "kvgen/source/block_size.h"

bool block_size_fits(int64_t size, int64_t tokens, size_t ids)
{
    return (uint64_t)tokens / (uint64_t)size + (tokens % size != 0) == ids;
}

/* ceil(tokens / size) = ids  <=>  tokens / ids <= size < tokens / (ids - 1). */
bool block_size_see(struct block_size *b, int64_t tokens, size_t ids)
{
    struct block_size row = BLOCK_SIZE_ANY;
    if (ids == 0 || tokens == 0)
        return ids == 0 && tokens == 0;
    if (ids > (uint64_t)tokens)
        return false;
    int64_t n = (int64_t)ids;
    row.least = (tokens + n - 1) / n;
    if (n > 1 && (tokens - 1) / (n - 1) < row.most)
        row.most = (tokens - 1) / (n - 1);
    if (row.least < b->least)
        row.least = b->least;
    if (row.most > b->most)
        row.most = b->most;
    if (row.least > row.most)
        return false;
    *b = row;
    return true;
}

/* The smallest power of two that is not below n. */
static int64_t power_from(int64_t n)
{
    int64_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

bool block_size_is_open(const struct block_size *b)
{
    return power_from(b->least) * 2 <= b->most;
}

int64_t block_size_choose(const struct block_size *b, int64_t usual)
{
    if (usual >= b->least && usual <= b->most)
        return usual;
    int64_t p = power_from(b->least);
    return p <= b->most ? p : b->least;
}
