/* chain.c - keys of blocks. A piece that a block ends in the middle of counts up to there, so a key
 * depends on tokens only, not on how a trace cut them. */
#include "kvgen/cache/chain.h"

#include "lib/base/hash.h"

uint64_t chain_tokens(const struct chain *c)
{
    uint64_t tokens = 0;
    for (uint64_t i = 0; i < c->count; i++)
        tokens += c->pieces[i].tokens;
    return tokens;
}

uint64_t chain_root(uint64_t name)
{
    return hash_mix(name ^ UINT64_C(0x6b7663686169e5a1));
}

static uint64_t joined(uint64_t key, uint64_t content, uint64_t tokens)
{
    const uint64_t words[3] = {key, content, tokens};
    return hash_64(words, sizeof(words));
}

uint64_t chain_key(struct chain_walk *w, uint64_t end)
{
    if (end == 0)
        return w->key;
    const struct chain_piece *p = &w->chain->pieces[w->piece];
    while (end - w->begin > p->tokens) {
        w->key = joined(w->key, p->content, p->tokens);
        w->begin += p->tokens;
        p = &w->chain->pieces[++w->piece];
    }
    return joined(w->key, p->content, end - w->begin);
}

void chain_list_keys(const struct chain *c, uint32_t group, uint64_t tokens, uint64_t count,
                     uint64_t *out)
{
    struct chain_walk w = {.chain = c, .key = chain_root(group)};
    if (c->key && group < c->key_groups && tokens % c->key_tokens == 0 &&
        count * (tokens / c->key_tokens) <= c->keys) {
        const uint64_t *key = c->key + group * c->keys;
        const uint64_t each = tokens / c->key_tokens;
        for (uint64_t i = 0; i < count; i++)
            out[i] = key[(i + 1) * each - 1];
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        out[i] = chain_key(&w, (i + 1) * tokens);
}
