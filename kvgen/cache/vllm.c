/* vllm.c - vLLM 0.33.0: its KVCacheManager by its rules. A request takes blocks as it is scheduled,
 * a full block is cached when its computation is scheduled, and what is freed stays cached until
 * its block is taken. What lies below the GPU is asked and told through kv_below_ops. */
#include "kvgen/cache/vllm.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/cache/block_pool.h"
#include "kvgen/cache/id_table.h"

struct kv_cache {
    struct vllm_opts o;
    struct kv_listener listener;
    struct block_pool *pool;
};

/* A request's blocks in one group. */
struct chain_blocks {
    uint64_t *key;
    uint32_t *block; /* BLOCK_NONE: outside the window */
    uint32_t *kept;  /* with a window: of them those that were cached, else BLOCK_NONE */
    uint64_t count;  /* blocks that were taken, those given back included */
    uint64_t cached; /* of them were looked at for caching */
    uint64_t left;   /* of them lie before the window and were given back */
    uint64_t found;  /* by the last look-up; lie in block[0..found) */
    uint64_t begin;  /* blocks before the window once what was found is there */
};

struct holder {
    void *below;
    uint64_t full;                       /* whole blocks of the chain */
    uint64_t found_tokens, below_tokens; /* of the last look-up */
    bool load_first;
    /* Blocks that the groups without a window had at the last look-up, if more than all had. */
    uint64_t junction;
    struct chain_blocks group[];
};

static uint64_t blocks_of(const struct kv_cache *c, uint64_t tokens)
{
    return (tokens + c->o.block_tokens - 1) / c->o.block_tokens;
}

static void tell(const struct kv_cache *c, enum kv_event_kind kind, const struct kv_request *r,
                 uint64_t key)
{
    const struct kv_event e = {.kind = kind, .tier = TRACE_GPU, .key = key, .request = r};
    c->listener.event(c->listener.ctx, &e);
}

static void cache_free(struct kv_cache *c)
{
    if (!c)
        return;
    if (c->o.below)
        c->o.below_ops->free(c->o.below);
    block_pool_free(c->pool);
    free(c);
}

struct kv_cache *vllm_create(const struct vllm_opts *o, const struct kv_listener *listener)
{
    struct kv_cache *c = calloc(1, sizeof(*c));
    if (!c) {
        if (o->below)
            o->below_ops->free(o->below);
        return NULL;
    }
    c->o = *o;
    c->listener = *listener;
    c->pool = block_pool_create(o->blocks, o->numbers);
    if (!c->pool) {
        cache_free(c);
        return NULL;
    }
    return c;
}

/* ---- requests come and go ---- */

static void holder_free(const struct kv_cache *c, struct holder *h)
{
    if (!h)
        return;
    for (uint32_t g = 0; g < c->o.groups; g++) {
        free(h->group[g].key);
        free(h->group[g].block);
        free(h->group[g].kept);
    }
    free(h);
}

static int arrive(struct kv_cache *c, struct kv_request *r)
{
    const uint64_t blocks = blocks_of(c, chain_tokens(&r->chain));
    struct holder *h = calloc(1, sizeof(*h) + c->o.groups * sizeof(*h->group));
    if (!h)
        return -ENOMEM;
    h->full = chain_tokens(&r->chain) / c->o.block_tokens;
    for (uint32_t g = 0; g < c->o.groups; g++) {
        struct chain_blocks *b = &h->group[g];
        b->key = malloc((blocks + 1) * sizeof(*b->key));
        b->block = malloc((blocks + 1) * sizeof(*b->block));
        if (c->o.window[g])
            b->kept = calloc(blocks + 1, sizeof(*b->kept));
        if (!b->key || !b->block || (c->o.window[g] && !b->kept)) {
            holder_free(c, h);
            return -ENOMEM;
        }
        chain_list_keys(&r->chain, g, c->o.block_tokens, h->full, b->key);
    }
    if (c->o.below && c->o.below_ops->arrive(c->o.below, r, &h->below)) {
        holder_free(c, h);
        return -ENOMEM;
    }
    r->state = h;
    return 0;
}

static void depart(struct kv_cache *c, struct kv_request *r)
{
    struct holder *h = r->state;
    if (c->o.below)
        c->o.below_ops->depart(c->o.below, h->below);
    holder_free(c, h);
    r->state = NULL;
}

/* ---- look-up ---- */

/* Cached blocks that a window needs before a boundary. */
static uint64_t window_blocks(const struct kv_cache *c, uint32_t group)
{
    return blocks_of(c, c->o.window[group] - 1);
}

/* The longest prefix of at most `most` blocks that a group without a window has. */
static uint64_t find_all(const struct kv_cache *c, struct chain_blocks *b, uint64_t most)
{
    uint64_t n = 0;
    while (n < most && (b->block[n] = block_pool_find(c->pool, b->key[n])) != BLOCK_NONE)
        n++;
    return n;
}

/* The largest n, at most `most`, for which the window before block n is cached. */
static uint64_t find_window(const struct kv_cache *c, struct chain_blocks *b, uint64_t need,
                            uint64_t most)
{
    uint64_t end = most, run = 0, i = most;
    while (i > 0 && run < need) {
        i--;
        b->block[i] = block_pool_find(c->pool, b->key[i]);
        run = b->block[i] != BLOCK_NONE ? run + 1 : 0;
        if (run == 0)
            end = i;
    }
    while (i > 0)
        b->block[--i] = BLOCK_NONE;
    return end;
}

/* Blocks of the prefix that all groups have. */
static uint64_t find(const struct kv_cache *c, struct holder *h, uint64_t most)
{
    uint64_t n = most;
    for (uint32_t g = 0; g < c->o.groups; g++)
        if (!c->o.window[g])
            n = find_all(c, &h->group[g], n);
    h->junction = n;
    for (uint64_t before = n + 1; n < before;) {
        before = n;
        for (uint32_t g = 0; g < c->o.groups; g++)
            if (c->o.window[g])
                n = find_window(c, &h->group[g], window_blocks(c, g), n);
    }
    if (h->junction == n)
        h->junction = 0;
    for (uint32_t g = 0; g < c->o.groups; g++)
        h->group[g].found = n;
    return n;
}

static enum kv_look look_up(struct kv_cache *c, struct kv_request *r, struct kv_found *out)
{
    struct holder *h = r->state;
    *out = (struct kv_found){{0}, false, false};
    /* The last token is always computed, for its output. */
    h->found_tokens = find(c, h, (r->known_tokens - 1) / c->o.block_tokens) * c->o.block_tokens;
    h->below_tokens = 0;
    enum kv_look answer = KV_FOUND;
    if (c->o.below)
        answer = c->o.below_ops->look_up(c->o.below, h->below, h->found_tokens, out);
    out->tokens[TRACE_GPU] = h->found_tokens;
    if (answer == KV_FOUND)
        h->below_tokens = out->tokens[TRACE_CPU] + out->tokens[TRACE_STORAGE];
    h->load_first = out->load_first;
    return answer;
}

/* ---- taking blocks ---- */

static void take_block(struct kv_cache *c, const struct kv_request *r, uint32_t *block)
{
    struct block_pool_loss loss;
    *block = block_pool_take(c->pool, &loss);
    if (loss.named) {
        const struct kv_event e = {.kind = KV_DROPPED,
                                   .tier = TRACE_GPU,
                                   .key = loss.key,
                                   .request = r,
                                   .twin = loss.twin};
        c->listener.event(c->listener.ctx, &e);
    }
    if (c->o.below)
        c->o.below_ops->taken(c->o.below, *block);
}

/* content: the key of what is in it, cached or not; 0: no whole block. */
static void give_back(struct kv_cache *c, const struct kv_request *r, uint32_t block,
                      uint64_t content)
{
    uint64_t key;
    block_pool_named(c->pool, block, &key);
    switch (block_pool_release(c->pool, block)) {
    case BLOCK_IN_USE:
        tell(c, KV_FREED_IN_USE, r, key);
        break;
    case BLOCK_FIRST:
        tell(c, KV_FREED_EMPTY, r, content);
        break;
    case BLOCK_LAST:
        tell(c, KV_FREED, r, key);
        break;
    }
}

/* Blocks [from, to) of the group go back, the last one first. */
static void give_back_range(struct kv_cache *c, const struct kv_request *r, struct chain_blocks *b,
                            uint64_t from, uint64_t to)
{
    const struct holder *h = r->state;
    bool told = false;
    for (uint64_t i = to; i > from;) {
        i--;
        if (i >= from + ID_TABLE_AHEAD)
            block_pool_expect_block(c->pool, b->block[i - ID_TABLE_AHEAD]);
        if (b->block[i] == BLOCK_NONE)
            continue;
        if (!told)
            tell(c, KV_FREEING, r, 0);
        told = true;
        give_back(c, r, b->block[i], i < h->full ? b->key[i] : 0);
    }
}

/* Blocks that no later token looks at go back. */
static void leave_windows(struct kv_cache *c, const struct kv_request *r, uint64_t computed)
{
    struct holder *h = r->state;
    for (uint32_t g = 0; g < c->o.groups; g++) {
        struct chain_blocks *b = &h->group[g];
        if (!c->o.window[g] || computed < c->o.window[g])
            continue;
        uint64_t out = (computed - c->o.window[g] + 1) / c->o.block_tokens;
        if (out > b->count)
            out = b->count;
        if (out <= b->left)
            continue;
        give_back_range(c, r, b, b->left, out);
        for (; b->left < out; b->left++)
            b->block[b->left] = b->kept[b->left] = BLOCK_NONE;
    }
}

/* Whether a full block of a group is to be cached. */
static bool is_kept(const struct kv_cache *c, const struct kv_request *r, uint32_t group,
                    uint64_t block)
{
    if (!c->o.window[group] || c->o.all_windows)
        return true;
    const struct holder *h = r->state;
    const uint64_t need = window_blocks(c, group);
    const uint64_t last = (r->prompt_tokens - 1) / c->o.block_tokens;
    return (block < last && block + need >= last) ||
           (block < h->junction && block + need >= h->junction);
}

static void cache_up_to(struct kv_cache *c, const struct kv_request *r, uint64_t tokens)
{
    struct holder *h = r->state;
    for (uint32_t g = 0; g < c->o.groups; g++) {
        struct chain_blocks *b = &h->group[g];
        const uint64_t full = tokens / c->o.block_tokens;
        for (; b->cached < full && b->cached < b->count; b->cached++) {
            const uint32_t block = b->block[b->cached];
            uint64_t key;
            if (b->cached + ID_TABLE_AHEAD < full)
                block_pool_expect(c->pool, b->key[b->cached + ID_TABLE_AHEAD]);
            if (block == BLOCK_NONE || !is_kept(c, r, g, b->cached) ||
                block_pool_named(c->pool, block, &key))
                continue;
            block_pool_name(c->pool, block, b->key[b->cached]);
            if (b->kept)
                b->kept[b->cached] = block;
            tell(c, KV_CACHED, r, b->key[b->cached]);
        }
    }
}

/* Free blocks that r needs to have room for that many tokens of its chain, counting those that it
 * found and that lie in the free queue. */
static uint64_t needed(const struct kv_cache *c, const struct holder *h, uint64_t tokens)
{
    uint64_t need = 0;
    for (uint32_t g = 0; g < c->o.groups; g++) {
        const struct chain_blocks *b = &h->group[g];
        const uint64_t start = b->begin > b->found ? b->begin : b->found;
        const uint64_t have = b->count ? b->count : start, want = blocks_of(c, tokens);
        need += want > have ? want - have : 0;
        for (uint64_t i = 0; i < b->found; i++)
            need += b->block[i] != BLOCK_NONE && block_pool_is_idle(c->pool, b->block[i]);
    }
    return need;
}

/* Takes what was found, then blocks for the first `tokens` tokens of the chain. */
static void take(struct kv_cache *c, struct kv_request *r, uint64_t tokens)
{
    struct holder *h = r->state;
    for (uint32_t g = 0; g < c->o.groups; g++) {
        struct chain_blocks *b = &h->group[g];
        for (uint64_t i = 0; i < b->found; i++)
            if (b->block[i] != BLOCK_NONE) {
                if (c->o.below)
                    c->o.below_ops->taken(c->o.below, b->block[i]);
                block_pool_hold(c->pool, b->block[i]);
            }
        for (uint64_t i = 0; b->kept && i < b->found; i++)
            b->kept[i] = is_kept(c, r, g, i) ? b->block[i] : BLOCK_NONE;
        if (b->found)
            b->count = b->cached = b->found;
        for (; b->count < b->begin; b->count++)
            b->block[b->count] = b->kept[b->count] = BLOCK_NONE;
        b->found = b->begin = 0;
    }
    for (uint32_t g = 0; g < c->o.groups; g++) {
        struct chain_blocks *b = &h->group[g];
        for (const uint64_t want = blocks_of(c, tokens); b->count < want; b->count++) {
            take_block(c, r, &b->block[b->count]);
            if (b->kept)
                b->kept[b->count] = BLOCK_NONE;
        }
    }
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Once the first `computed` tokens are there, a window needs nothing before it: neither a block
 * that was found nor one to load into. */
static void begin_windows(const struct kv_cache *c, struct holder *h, uint64_t computed)
{
    for (uint32_t g = 0; g < c->o.groups; g++) {
        struct chain_blocks *b = &h->group[g];
        b->begin = 0;
        if (!c->o.window[g] || computed < c->o.window[g])
            continue;
        b->begin = (computed - c->o.window[g] + 1) / c->o.block_tokens;
        for (uint64_t i = 0; i < b->begin && i < b->found; i++)
            b->block[i] = BLOCK_NONE;
    }
}

static bool admit(struct kv_cache *c, struct kv_request *r, const struct kv_room *room)
{
    struct holder *h = r->state;
    const uint64_t computed = r->computed_tokens + h->found_tokens + h->below_tokens;
    const uint64_t after = computed + room->tokens;
    if (r->computed_tokens)
        leave_windows(c, r, computed);
    else
        begin_windows(c, h, computed);
    const uint64_t idle = block_pool_idle(c->pool);
    if (room->whole && needed(c, h, r->known_tokens) + room->leave > idle)
        return false;
    if (needed(c, h, after) + room->leave + room->promised > idle)
        return false;
    take(c, r, after);
    if (c->o.below && r->computed_tokens == 0)
        c->o.below_ops->admitted(c->o.below, h->below, h->found_tokens, computed);
    if (room->tokens)
        cache_up_to(c, r, at_most(after, r->known_tokens));
    h->found_tokens = h->below_tokens = 0;
    return true;
}

static void loaded(struct kv_cache *c, struct kv_request *r)
{
    cache_up_to(c, r, r->computed_tokens);
}

static bool extend(struct kv_cache *c, struct kv_request *r, uint64_t tokens)
{
    const uint64_t after = r->computed_tokens + tokens;
    leave_windows(c, r, r->computed_tokens);
    if (needed(c, r->state, after) > block_pool_idle(c->pool))
        return false;
    take(c, r, after);
    cache_up_to(c, r, at_most(after, r->known_tokens));
    return true;
}

/* ---- steps ---- */

static void list_held(const struct kv_cache *c, const struct holder *h,
                      struct kv_held held[VLLM_GROUPS])
{
    for (uint32_t g = 0; g < c->o.groups; g++) {
        const struct chain_blocks *b = &h->group[g];
        held[g] = (struct kv_held){b->key, b->kept ? b->kept : b->block, b->count};
    }
}

static void scheduled(struct kv_cache *c, struct kv_request *r, uint64_t tokens)
{
    struct holder *h = r->state;
    if (!c->o.below)
        return;
    struct kv_held held[VLLM_GROUPS];
    list_held(c, h, held);
    c->o.below_ops->offer(c->o.below, h->below, r->computed_tokens + tokens, held);
}

/* The next block that is to be taken, cached or offered comes after that. */
static uint64_t quiet_until(const struct kv_cache *c, const struct kv_request *r)
{
    const struct holder *h = r->state;
    const struct chain_blocks *b = &h->group[0];
    if (c->o.groups > 1 || c->o.window[0])
        return 0;
    const uint64_t taken = b->count * c->o.block_tokens;
    const uint64_t until = at_most(taken, (b->cached + 1) * c->o.block_tokens - 1);
    if (!c->o.below)
        return until;
    if (!c->o.below_ops->quiet_until)
        return 0;
    return at_most(until, c->o.below_ops->quiet_until(c->o.below, h->below));
}

static int step_built(struct kv_cache *c)
{
    return c->o.below ? c->o.below_ops->step_built(c->o.below) : 0;
}

static void computed(struct kv_cache *c, struct kv_request *r, uint64_t tokens)
{
    cache_up_to(c, r, tokens);
}

static void give_all_back(struct kv_cache *c, struct kv_request *r)
{
    struct holder *h = r->state;
    for (uint32_t g = 0; g < c->o.groups; g++) {
        struct chain_blocks *b = &h->group[g];
        give_back_range(c, r, b, b->left, b->count);
        b->count = b->cached = b->left = 0;
    }
}

static void finished(struct kv_cache *c, struct kv_request *r)
{
    struct holder *h = r->state;
    if (c->o.below) {
        struct kv_held held[VLLM_GROUPS];
        list_held(c, h, held);
        leave_windows(c, r, r->computed_tokens);
        c->o.below_ops->finished(c->o.below, h->below, held);
    }
    give_all_back(c, r);
}

static void preempted(struct kv_cache *c, struct kv_request *r)
{
    struct holder *h = r->state;
    if (c->o.below)
        c->o.below_ops->preempted(c->o.below, h->below);
    give_all_back(c, r);
}

static void transfer_done(struct kv_cache *c, uint64_t id)
{
    c->o.below_ops->transfer_done(c->o.below, id);
}

static void step_done(struct kv_cache *c)
{
    if (c->o.below && c->o.below_ops->step_done)
        c->o.below_ops->step_done(c->o.below);
}

static void second(struct kv_cache *c)
{
    if (c->o.below && c->o.below_ops->second)
        c->o.below_ops->second(c->o.below);
}

static bool file_written(struct kv_cache *c, uint64_t key)
{
    return c->o.below && c->o.below_ops->file_written &&
           c->o.below_ops->file_written(c->o.below, key);
}

static uint64_t room(const struct kv_cache *c)
{
    return block_pool_blocks(c->pool);
}

static uint64_t room_free(const struct kv_cache *c)
{
    return block_pool_idle(c->pool);
}

static uint64_t room_lacking(const struct kv_cache *c, const struct kv_request *r)
{
    return needed(c, r->state, r->known_tokens);
}

static bool busy(const struct kv_cache *c)
{
    return c->o.below && c->o.below_ops->busy(c->o.below);
}

const struct kv_cache_ops vllm_cache_ops = {
    .name = "vllm",
    .version = "0.33.0",
    .free = cache_free,
    .arrive = arrive,
    .look_up = look_up,
    .admit = admit,
    .loaded = loaded,
    .extend = extend,
    .scheduled = scheduled,
    .quiet_until = quiet_until,
    .step_built = step_built,
    .computed = computed,
    .finished = finished,
    .preempted = preempted,
    .transfer_done = transfer_done,
    .step_done = step_done,
    .second = second,
    .depart = depart,
    .file_written = file_written,
    .room = room,
    .room_free = room_free,
    .room_lacking = room_lacking,
    .busy = busy,
};
