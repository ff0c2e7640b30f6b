/* Finds the meaning of the ids of a trace from its rows. The sources show it the rows at the head
 * of a file, and check every later row against what was found. */
#include "kvgen/meaning/block_size.h"

#include "lib/base/notes.h"
#include "lib/text/text.h"

enum {
    FIRST = 4, /* 2^4 = 16 tokens */
    LAST = 10, /* 1,024 */
    POWERS = 21
};
#define USED (((1u << (LAST + 1)) - 1) & ~((1u << FIRST) - 1))

void block_size_begin(struct block_size *b, int64_t stated)
{
    *b = (struct block_size){.stated = stated,
                             .all = stated > 0 ? 1 : (1u << POWERS) - 1,
                             .full = stated > 0 ? 1 : USED,
                             .least = 1,
                             .most = stated > 0 ? 0 : BLOCK_SIZE_MAX};
}

static int64_t size_of(const struct block_size *b, unsigned bit)
{
    return b->stated > 0 ? b->stated : (int64_t)1 << bit;
}

bool block_size_fits(struct block_reading r, int64_t tokens, size_t ids)
{
    return (uint64_t)tokens / (uint64_t)r.tokens + (!r.full && tokens % r.tokens != 0) == ids;
}

enum block_fit block_size_fit(int64_t block_tokens, int64_t tokens, size_t ids)
{
    struct block_reading all = {.tokens = block_tokens};
    struct block_reading full = {.tokens = block_tokens, .full = true};
    return (block_size_fits(all, tokens, ids) ? BLOCK_FIT_ALL : 0) |
           (block_size_fits(full, tokens, ids) ? BLOCK_FIT_FULL : 0);
}

/* ceil(tokens / size) = ids  <=>  tokens / ids <= size < tokens / (ids - 1). */
static void see_interval(struct block_size *b, int64_t tokens, size_t ids)
{
    if (ids == 0 && tokens == 0)
        return;
    if (ids == 0 || ids > (uint64_t)tokens) {
        b->most = 0;
        return;
    }
    int64_t n = (int64_t)ids, least = (tokens + n - 1) / n;
    b->least = least > b->least ? least : b->least;
    if (n > 1 && (tokens - 1) / (n - 1) < b->most)
        b->most = (tokens - 1) / (n - 1);
}

bool block_size_see(struct block_size *b, int64_t tokens, size_t ids)
{
    struct block_size row = *b;
    for (unsigned i = 0; i < POWERS; i++) {
        struct block_reading of = {.tokens = size_of(b, i)};
        if ((row.all & 1u << i) && !block_size_fits(of, tokens, ids))
            row.all &= ~(1u << i);
        of.full = true;
        if ((row.full & 1u << i) && !block_size_fits(of, tokens, ids))
            row.full &= ~(1u << i);
    }
    see_interval(&row, tokens, ids);
    row.rows++;
    if ((row.all | row.full) == 0 && row.none_since == 0)
        row.none_since = row.rows;
    if ((row.all | row.full) == 0 && row.least > row.most)
        return false;
    *b = row;
    return true;
}

bool block_size_is_open(const struct block_size *b)
{
    if ((b->all | b->full) == 0)
        return b->least < b->most;
    return __builtin_popcount(b->all) + __builtin_popcount(b->full) > 1;
}

bool block_size_choose(const struct block_size *b, int64_t usual, struct block_reading *out)
{
    uint32_t own = usual > 0 && (usual & (usual - 1)) == 0 ? (uint32_t)usual : 0; /* its bit */
    uint32_t all = b->all, full = b->full, used = b->stated > 0 ? 1 : USED;
    *out = (struct block_reading){0};
    if (b->stated == 0 && (all & own))
        all &= own;
    else if (b->stated == 0 && (full & own))
        out->full = true, full &= own;
    else if (all & used)
        all &= used;
    else
        out->full = (full & used) != 0;
    if (out->full)
        out->tokens = size_of(b, 31u - (unsigned)__builtin_clz(full));
    else if (all != 0)
        out->tokens = size_of(b, (unsigned)__builtin_ctz(all));
    else if (b->least == b->most)
        out->tokens = b->least;
    return out->tokens > 0;
}

unsigned block_size_others(const struct block_size *b, struct block_reading chosen, char *buf,
                           size_t cap)
{
    unsigned count = 0;
    buf[0] = '\0';
    for (int full = 0; full < 2; full++)
        for (unsigned i = FIRST; i <= LAST && b->stated == 0; i++) {
            bool is_chosen = chosen.full == (full != 0) && chosen.tokens == size_of(b, i);
            if (is_chosen || !((full ? b->full : b->all) & 1u << i))
                continue;
            text_append(buf, cap, "%s%lld%s", count++ > 0 ? ", " : "", (long long)size_of(b, i),
                        full ? " with ids of full blocks only" : "");
        }
    return count;
}

void block_size_note(struct block_reading chosen, const char *others, struct notes *to)
{
    if (others[0] != '\0')
        notes_add(
            to,
            "blocks are taken for %s%lld tokens; the rows also fit %s (--block-size sets the size)",
            chosen.full ? "full ones of " : "", (long long)chosen.tokens, others);
}
