/* copies.c - the cache `copies`: which blocks go down and up, by the table of its tiers. What a
 * tier gives up is its policy's business (copy_tier.h). */
#include "kvgen/manager/copies.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/memory.h"

/* Uses are counted as for a tier of at most so many blocks: a tier without a limit has no end. */
#define ADMISSION_BLOCKS ((uint64_t)1 << 20)

/* A request. */
struct holder {
    struct kv_request *request;
    uint64_t *key;          /* of each whole block of the chain */
    uint32_t *block;        /* its number on the GPU, as far as cached or found; COPY_NONE: the
                               request's own */
    enum trace_tier *where; /* of each block that the last look-up found */
    uint64_t blocks, found;
    uint64_t taken, cached; /* blocks of the GPU that it has; of these, those under a key */
};

/* The part of a request that this step computes. */
struct part {
    struct holder *holder;
    uint64_t to;
};

struct kv_cache {
    struct copies_cache_opts o;
    struct kv_listener listener;
    struct copy_tier *tier[TRACE_TIERS];
    struct admission *admission[TRACE_TIERS];
    uint64_t others; /* blocks of the GPU under no key */
    struct jobs jobs;
    struct part *part;
    size_t parts, parts_cap;
    /* By tier: who is to leave; of these, who goes down. */
    struct job_keys victims[TRACE_TIERS], moved[TRACE_TIERS];
    /* By tier: numbers of those that were used so often that they are to be below, too, pinned
     * until go_down; and their keys. */
    struct job_keys used[TRACE_TIERS], offered[TRACE_TIERS];
    struct job_keys list;         /* of one transfer */
    const struct kv_request *now; /* whose operation it is */
    bool failed;
};

static void keep(struct kv_cache *c, struct job_keys *k, uint64_t key)
{
    c->failed |= job_keys_add(k, key) < 0;
}

static void tell(const struct kv_cache *c, enum kv_event_kind kind, enum trace_tier tier,
                 uint64_t key)
{
    const struct kv_event e = {.kind = kind, .tier = tier, .key = key, .request = c->now};
    c->listener.event(c->listener.ctx, &e);
}

static void cache_free(struct kv_cache *c)
{
    if (!c)
        return;
    for (int t = 0; t < TRACE_TIERS; t++) {
        copy_tier_free(c->tier[t]);
        admission_free(c->admission[t]);
        free(c->victims[t].key);
        free(c->moved[t].key);
        free(c->used[t].key);
        free(c->offered[t].key);
    }
    jobs_release(&c->jobs);
    free(c->part);
    free(c->list.key);
    free(c);
}

struct kv_cache *copies_cache_create(const struct copies_cache_opts *o,
                                     const struct kv_listener *listener)
{
    struct kv_cache *c = calloc(1, sizeof(*c));
    bool failed = !c;
    if (!failed) {
        c->o = *o;
        c->listener = *listener;
    }
    for (int t = 0; t < TRACE_TIERS && !failed; t++) {
        const struct copies_tier *tier = &o->tier[t];
        if (!tier->room.blocks)
            continue;
        c->tier[t] = copy_tier_create(&tier->room);
        c->admission[t] = admission_create(tier->admission,
                                           tier->room.blocks < ADMISSION_BLOCKS ? tier->room.blocks
                                                                                : ADMISSION_BLOCKS,
                                           tier->admission_uses);
        failed = !c->tier[t] || !c->admission[t];
    }
    if (!failed)
        return c;
    cache_free(c);
    return NULL;
}

const struct copy_tier *copies_cache_tier(const struct kv_cache *c, enum trace_tier tier)
{
    return c->tier[tier];
}

/* The next tier below that there is; TRACE_NO_TIER: none. */
static enum trace_tier below(const struct kv_cache *c, enum trace_tier tier)
{
    int t = (int)tier + 1;
    while (t < TRACE_TIERS && !c->tier[t])
        t++;
    return t < TRACE_TIERS ? (enum trace_tier)t : TRACE_NO_TIER;
}

/* ---- requests come and go ---- */

static int arrive(struct kv_cache *c, struct kv_request *r)
{
    const uint64_t blocks = chain_tokens(&r->chain) / c->o.block_tokens;
    struct holder *h = calloc(1, sizeof(*h));
    if (!h)
        return -ENOMEM;
    h->request = r;
    h->blocks = blocks;
    h->key = malloc((blocks + 1) * sizeof(*h->key));
    h->block = malloc((blocks + 1) * sizeof(*h->block));
    h->where = malloc((blocks + 1) * sizeof(*h->where));
    if (!h->key || !h->block || !h->where) {
        free(h->key);
        free(h->block);
        free(h->where);
        free(h);
        return -ENOMEM;
    }
    struct chain_walk w = {.chain = &r->chain, .key = chain_root(0)};
    for (uint64_t i = 0; i < blocks; i++)
        h->key[i] = chain_key(&w, (i + 1) * c->o.block_tokens);
    for (int t = TRACE_CPU; t < TRACE_TIERS; t++)
        for (uint64_t i = 0; c->admission[t] && i < r->prompt_tokens / c->o.block_tokens; i++)
            admission_use(c->admission[t], h->key[i]);
    r->state = h;
    return 0;
}

static void depart(struct kv_cache *c, struct kv_request *r)
{
    struct holder *h = r->state;
    (void)c;
    free(h->key);
    free(h->block);
    free(h->where);
    free(h);
    r->state = NULL;
}

/* ---- down ---- */

static bool make_room(struct kv_cache *c, enum trace_tier tier, uint64_t blocks);

static struct job *begin(struct kv_cache *c, struct kv_transfer t, const struct job_keys *k)
{
    t.request = c->now;
    t.tokens = k->count * c->o.block_tokens;
    struct job *job = jobs_begin(&c->jobs, &c->listener, &t, k, NULL);
    c->failed |= !job;
    return job;
}

static void note_use(struct kv_cache *c, enum trace_tier tier, uint32_t block)
{
    const enum trace_tier down = below(c, tier);
    const uint32_t uses = copy_tier_count_use(c->tier[tier], block);
    if (down == TRACE_NO_TIER)
        return;
    const struct copies_tier *o = &c->o.tier[down];
    if (o->store != COPIES_AT_USE || uses < o->uses ||
        (o->prompt_only && copy_tier_is_marked(c->tier[tier], block)))
        return;
    copy_tier_pin(c->tier[tier], block);
    keep(c, &c->used[tier], block);
}

/* Offered blocks that the tier has are used there, the last one first. */
static void use_all(struct kv_cache *c, enum trace_tier tier, const struct job_keys *k)
{
    for (size_t i = k->count; i-- > 0;) {
        const uint32_t n = copy_tier_find(c->tier[tier], k->key[i]);
        if (n != COPY_NONE && copy_tier_is_ready(c->tier[tier], n))
            copy_tier_use(c->tier[tier], n);
    }
}

/* Offers a block to a tier. true: it takes it, which is told as `kind`. */
static bool take(struct kv_cache *c, enum trace_tier tier, uint64_t key, enum kv_event_kind kind)
{
    struct copy_tier *t = c->tier[tier];
    const uint32_t there = copy_tier_find(t, key);
    if (there != COPY_NONE) {
        const bool ready = copy_tier_is_ready(t, there);
        tell(c, ready ? KV_TOUCHED : KV_KNOWN, tier, key);
        if (ready)
            note_use(c, tier, there);
        return false;
    }
    const bool full = copy_tier_count(t) >= c->o.tier[tier].room.blocks;
    const uint32_t victim = full ? copy_tier_next(t) : COPY_NONE;
    const uint64_t victim_key = victim == COPY_NONE ? 0 : copy_tier_key(t, victim);
    /* Where one can go, only memory can be lacking. */
    c->failed |= full && victim == COPY_NONE && copy_tier_idle(t) > 0;
    if ((full && victim == COPY_NONE) ||
        !admission_allows(c->admission[tier], key, full ? &victim_key : NULL)) {
        tell(c, KV_REFUSED, tier, key);
        return false;
    }
    if (!make_room(c, tier, 1)) {
        c->failed = true;
        return false;
    }
    c->failed |= copy_tier_add(t, key) == COPY_NONE;
    tell(c, kind, tier, key);
    return !c->failed;
}

static bool is_below(const struct kv_cache *c, enum trace_tier tier, uint64_t key)
{
    for (int t = (int)tier + 1; t < TRACE_TIERS; t++)
        if (c->tier[t] && copy_tier_find(c->tier[t], key) != COPY_NONE)
            return true;
    return false;
}

/* The only copy of a block, which the tier below refuses, falls further. */
static void fall(struct kv_cache *c, enum trace_tier tier, uint64_t key)
{
    enum trace_tier to = below(c, below(c, tier));
    struct job_keys one = {.key = &key, .count = 1};
    if (to != TRACE_NO_TIER && take(c, to, key, KV_STORED))
        begin(c,
              (struct kv_transfer){.kind = tier == TRACE_GPU ? KV_STORE : KV_WRITE,
                                   .from = tier,
                                   .to = to,
                                   .in_step = true},
              &one);
}

/* Who leaves a tier goes down before it does, where that is so. */
static bool make_room(struct kv_cache *c, enum trace_tier tier, uint64_t blocks)
{
    struct copy_tier *t = c->tier[tier];
    struct job_keys *victims = &c->victims[tier], *moved = &c->moved[tier];
    const enum trace_tier down = below(c, tier);
    if (!copy_tier_make_room(t, blocks, tier == TRACE_GPU ? c->others : 0, victims))
        return false;
    moved->count = 0;
    for (size_t i = 0; down != TRACE_NO_TIER && i < victims->count; i++) {
        const struct copies_tier *o = &c->o.tier[down];
        const uint32_t n = copy_tier_find(t, victims->key[i]);
        const struct job_keys one = {.key = &victims->key[i], .count = 1};
        if (o->store == COPIES_WHEN_EVICTED)
            use_all(c, down, &one);
        if (o->store == COPIES_WHEN_EVICTED && !(o->prompt_only && copy_tier_is_marked(t, n)) &&
            take(c, down, victims->key[i], KV_STORED))
            keep(c, moved, victims->key[i]);
        else if (c->o.single)
            fall(c, tier, victims->key[i]);
    }
    if (moved->count)
        begin(c,
              (struct kv_transfer){.kind = tier == TRACE_GPU ? KV_STORE : KV_WRITE,
                                   .from = tier,
                                   .to = down,
                                   .in_step = true},
              moved);
    for (size_t i = 0; i < victims->count; i++) {
        const uint64_t key = victims->key[i];
        const bool kept =
            c->o.single ? is_below(c, tier, key)
                        : down != TRACE_NO_TIER && copy_tier_find(c->tier[down], key) != COPY_NONE;
        tell(c, kept ? KV_DEMOTED : KV_DROPPED, tier, key);
        copy_tier_remove(t, copy_tier_find(t, key));
    }
    return true;
}

/* A block that was used often enough in a tier goes to the one below, which may use it there in
 * turn. */
static void go_down(struct kv_cache *c, enum trace_tier tier)
{
    const enum trace_tier down = below(c, tier);
    if (down == TRACE_NO_TIER)
        return;
    struct job_keys *used = &c->used[tier], *offered = &c->offered[tier];
    c->list.count = offered->count = 0;
    for (size_t i = 0; i < used->count; i++)
        keep(c, offered, copy_tier_key(c->tier[tier], (uint32_t)used->key[i]));
    use_all(c, down, offered);
    for (size_t i = 0; i < offered->count; i++) {
        const uint32_t n = (uint32_t)used->key[i];
        if (copy_tier_is_ready(c->tier[tier], n) && take(c, down, offered->key[i], KV_STORED))
            keep(c, &c->list, offered->key[i]); /* it stays pinned until it is there */
        else
            copy_tier_unpin(c->tier[tier], n);
    }
    used->count = 0;
    struct job *job = NULL;
    if (c->list.count)
        job = begin(c,
                    (struct kv_transfer){
                        .kind = tier == TRACE_GPU ? KV_STORE : KV_WRITE, .from = tier, .to = down},
                    &c->list);
    if (job)
        job->more[0] = true; /* its source is pinned */
    go_down(c, down);
}

/* A copy has come down. */
static void end_store(struct kv_cache *c, const struct job *j)
{
    struct copy_tier *from = c->tier[j->from], *to = c->tier[j->to];
    for (uint64_t i = j->count; i-- > 0;) {
        const uint32_t n = copy_tier_find(to, j->keys[i]);
        copy_tier_set_ready(to, n);
        copy_tier_use(to, n);
        copy_tier_unpin(to, n);
        if (j->more[0])
            copy_tier_unpin(from, copy_tier_find(from, j->keys[i]));
    }
    for (uint64_t i = 0; i < j->count; i++)
        note_use(c, j->to, copy_tier_find(to, j->keys[i]));
    go_down(c, j->to);
}

/* ---- look-up and up ---- */

static enum kv_look look_up(struct kv_cache *c, struct kv_request *r, struct kv_found *out)
{
    struct holder *h = r->state;
    const uint64_t most = (r->known_tokens - 1) / c->o.block_tokens;
    *out = (struct kv_found){{0}, false, false};
    for (h->found = 0; h->found < most; h->found++) {
        bool comes = false, there = false;
        for (int t = 0; t < TRACE_TIERS && !there; t++) {
            const uint32_t n =
                c->tier[t] ? copy_tier_find(c->tier[t], h->key[h->found]) : COPY_NONE;
            there = n != COPY_NONE && copy_tier_is_ready(c->tier[t], n);
            comes |= n != COPY_NONE && !there;
            h->where[h->found] = (enum trace_tier)t;
            if (t == TRACE_GPU)
                h->block[h->found] = n;
            /* A load under way will be there before one that begins now. */
            if (comes && t == TRACE_GPU)
                break;
        }
        if (!there && comes)
            return KV_ASK_AGAIN;
        if (!there)
            break;
        out->tokens[h->where[h->found]] += c->o.block_tokens;
        out->load_first |= h->where[h->found] != TRACE_GPU;
    }
    return KV_FOUND;
}

/* Blocks of the chain that the last look-up found in a tier go up from it. */
static void list_found(struct kv_cache *c, const struct holder *h, enum trace_tier tier)
{
    c->list.count = 0;
    for (uint64_t i = 0; i < h->found; i++)
        if (h->where[i] == tier)
            keep(c, &c->list, h->key[i]);
}

static void begin_loads(struct kv_cache *c, struct holder *h)
{
    for (int t = TRACE_CPU; t < TRACE_TIERS; t++) {
        list_found(c, h, (enum trace_tier)t);
        if (!c->list.count)
            continue;
        h->request->loads++;
        struct job *job = begin(
            c, (struct kv_transfer){.kind = KV_LOAD, .from = (enum trace_tier)t, .to = TRACE_GPU},
            &c->list);
        if (job)
            job->owner = h;
    }
}

/* A request's load, whose sources are pinned and which has its room; those in storage that host
 * memory takes go there first. */
static void load(struct kv_cache *c, struct holder *h)
{
    struct job_keys up = {0};
    for (uint64_t i = 0; c->o.through && c->tier[TRACE_CPU] && i < h->found; i++)
        if (h->where[i] == TRACE_STORAGE && take(c, TRACE_CPU, h->key[i], KV_PROMOTED)) {
            keep(c, &up, h->key[i]);
            h->where[i] = TRACE_CPU;
        }
    struct job *job = NULL;
    if (up.count)
        job = begin(
            c, (struct kv_transfer){.kind = KV_PROMOTE, .from = TRACE_STORAGE, .to = TRACE_CPU},
            &up);
    if (job)
        job->owner = h;
    else
        begin_loads(c, h);
    free(up.key);
}

/* A source of a copy that has gone up is let go, and leaves if the tier keeps nothing of that kind.
 */
static void let_go(struct kv_cache *c, enum trace_tier tier, uint64_t key)
{
    struct copy_tier *t = c->tier[tier];
    const uint32_t n = copy_tier_find(t, key);
    copy_tier_unpin(t, n);
    if (c->o.tier[tier].exclusive && !copy_tier_is_pinned(t, n)) {
        tell(c, KV_DROPPED, tier, key);
        copy_tier_remove(t, n);
        return;
    }
    copy_tier_use(t, n);
    note_use(c, tier, n);
}

/* Blocks from storage are in host memory, and pinned there for the load. */
static void end_promotion(struct kv_cache *c, const struct job *j)
{
    for (uint64_t i = j->count; i-- > 0;) {
        const uint32_t n = copy_tier_find(c->tier[TRACE_CPU], j->keys[i]);
        copy_tier_set_ready(c->tier[TRACE_CPU], n);
        copy_tier_use(c->tier[TRACE_CPU], n);
        let_go(c, TRACE_STORAGE, j->keys[i]);
    }
    c->now = ((struct holder *)j->owner)->request;
    begin_loads(c, j->owner);
}

static void end_load(struct kv_cache *c, const struct job *j)
{
    struct holder *h = j->owner;
    for (uint64_t i = j->count; i-- > 0;)
        let_go(c, j->from, j->keys[i]);
    h->request->loads--;
    for (uint64_t i = 0; i < j->count; i++) {
        const uint32_t n = copy_tier_find(c->tier[TRACE_GPU], j->keys[i]);
        if (n == COPY_NONE)
            continue; /* it is the request's own */
        copy_tier_set_ready(c->tier[TRACE_GPU], n);
        tell(c, KV_CACHED, TRACE_GPU, j->keys[i]);
    }
    go_down(c, j->from);
}

/* ---- room on the GPU ---- */

static uint64_t blocks_of(const struct kv_cache *c, uint64_t tokens)
{
    return (tokens + c->o.block_tokens - 1) / c->o.block_tokens;
}

static uint64_t room(const struct kv_cache *c)
{
    return c->o.tier[TRACE_GPU].room.blocks;
}

static uint64_t room_free(const struct kv_cache *c)
{
    return room(c) - copy_tier_count(c->tier[TRACE_GPU]) - c->others +
           copy_tier_idle(c->tier[TRACE_GPU]);
}

static uint64_t room_lacking(const struct kv_cache *c, const struct kv_request *r)
{
    const struct holder *h = r->state;
    const uint64_t blocks = blocks_of(c, r->known_tokens);
    return blocks > h->taken ? blocks - h->taken : 0;
}

/* Takes blocks of the GPU until the request has that many. There is room for them. */
static void take_blocks(struct kv_cache *c, struct holder *h, uint64_t blocks)
{
    if (blocks <= h->taken)
        return;
    c->failed |= !make_room(c, TRACE_GPU, blocks - h->taken);
    c->others += blocks - h->taken;
    h->taken = blocks;
}

/* The request has what its look-up found. */
static void take_found(struct kv_cache *c, struct holder *h)
{
    struct copy_tier *gpu = c->tier[TRACE_GPU];
    uint64_t loads = 0;
    for (uint64_t i = 0; i < h->found; i++) {
        struct copy_tier *from = c->tier[h->where[i]];
        copy_tier_pin(from, copy_tier_find(from, h->key[i]));
        loads += h->where[i] != TRACE_GPU;
        if (h->where[i] == TRACE_GPU)
            note_use(c, TRACE_GPU, h->block[i]);
    }
    c->failed |= !make_room(c, TRACE_GPU, loads);
    for (uint64_t i = 0; i < h->found && !c->failed; i++) {
        if (h->where[i] == TRACE_GPU)
            continue;
        if (c->o.single && !c->o.tier[h->where[i]].exclusive) {
            c->others++;
            continue;
        }
        h->block[i] = copy_tier_add(gpu, h->key[i]);
        c->failed |= h->block[i] == COPY_NONE;
    }
    if (loads && !c->failed)
        load(c, h);
    h->taken = h->cached = h->found;
}

static bool admit(struct kv_cache *c, struct kv_request *r, const struct kv_room *want)
{
    struct holder *h = r->state;
    const bool first = r->computed_tokens == 0;
    const struct copy_tier *gpu = c->tier[TRACE_GPU];
    const uint64_t computed = first ? h->found * c->o.block_tokens : r->computed_tokens;
    uint64_t have = h->taken, idle = 0;
    for (uint64_t i = 0; first && i < h->found; i++)
        if (h->where[i] == TRACE_GPU) {
            have++;
            idle += !copy_tier_is_pinned(gpu, h->block[i]);
        }
    const uint64_t all = blocks_of(c, r->known_tokens);
    const uint64_t now = blocks_of(c, computed + want->tokens);
    const uint64_t there = room_free(c);
    if (want->whole && (all > have ? all - have : 0) + idle + want->leave > there)
        return false;
    if ((now > have ? now - have : 0) + idle + want->leave + want->promised > there)
        return false;
    c->now = r;
    if (first)
        take_found(c, h);
    take_blocks(c, h, now);
    go_down(c, TRACE_GPU);
    return true;
}

static void loaded(struct kv_cache *c, struct kv_request *r)
{
    (void)c, (void)r; /* its blocks were told when they came */
}

static bool extend(struct kv_cache *c, struct kv_request *r, uint64_t tokens)
{
    struct holder *h = r->state;
    const uint64_t blocks = blocks_of(c, r->computed_tokens + tokens);
    if (blocks > h->taken && blocks - h->taken > room_free(c))
        return false;
    c->now = r;
    take_blocks(c, h, blocks);
    return true;
}

/* ---- steps ---- */

/* Blocks that the first `tokens` tokens fill can be found. One that another request filled, too, is
 * shared from now on. */
static void cache_up_to(struct kv_cache *c, struct holder *h, uint64_t tokens)
{
    struct copy_tier *gpu = c->tier[TRACE_GPU];
    const uint64_t full = tokens / c->o.block_tokens;
    c->now = h->request;
    for (; h->cached < full && h->cached < h->taken && !c->failed; h->cached++) {
        const uint64_t key = h->key[h->cached];
        uint32_t n = copy_tier_find(gpu, key);
        h->block[h->cached] = COPY_NONE;
        if (c->o.single && n == COPY_NONE && is_below(c, TRACE_GPU, key))
            continue;
        c->others--;
        if (n != COPY_NONE) {
            copy_tier_pin(gpu, n);
        } else {
            n = copy_tier_add(gpu, key);
            c->failed |= n == COPY_NONE;
            if (c->failed)
                return;
            copy_tier_set_ready(gpu, n);
            if (h->cached >= h->request->prompt_tokens / c->o.block_tokens)
                copy_tier_set_mark(gpu, n);
            tell(c, KV_CACHED, TRACE_GPU, key);
        }
        h->block[h->cached] = n;
        note_use(c, TRACE_GPU, n);
    }
    go_down(c, TRACE_GPU);
}

static void scheduled(struct kv_cache *c, struct kv_request *r, uint64_t tokens)
{
    if (memory_room(&c->part, &c->parts_cap, c->parts, sizeof(*c->part), 64) < 0) {
        c->failed = true;
        return;
    }
    const uint64_t to = r->computed_tokens + tokens;
    c->part[c->parts++] = (struct part){r->state, to < r->known_tokens ? to : r->known_tokens};
}

static int step_built(struct kv_cache *c)
{
    for (size_t i = 0; i < c->parts; i++)
        cache_up_to(c, c->part[i].holder, c->part[i].to);
    c->parts = 0;
    return c->failed ? -ENOMEM : 0;
}

static void computed(struct kv_cache *c, struct kv_request *r, uint64_t tokens)
{
    cache_up_to(c, r->state, tokens);
}

/* The last block first, so that the begin of the chain is the newest. */
static void give_back(struct kv_cache *c, struct kv_request *r)
{
    struct holder *h = r->state;
    c->others -= h->taken - h->cached;
    for (uint64_t i = h->cached; i-- > 0;) {
        if (h->block[i] == COPY_NONE) {
            c->others--;
            continue;
        }
        copy_tier_use(c->tier[TRACE_GPU], h->block[i]);
        copy_tier_unpin(c->tier[TRACE_GPU], h->block[i]);
    }
    h->taken = h->cached = h->found = 0;
}

static void transfer_done(struct kv_cache *c, uint64_t id)
{
    struct job j;
    jobs_end(&c->jobs, id, &j);
    c->now = NULL;
    switch (j.kind) {
    case KV_STORE:
    case KV_WRITE:
        end_store(c, &j);
        break;
    case KV_PROMOTE:
        end_promotion(c, &j);
        break;
    case KV_LOAD:
        end_load(c, &j);
        break;
    }
    free(j.keys);
}

static bool busy(const struct kv_cache *c)
{
    return c->jobs.open > 0;
}

const struct kv_cache_ops copies_cache_ops = {
    .name = "copies",
    .free = cache_free,
    .arrive = arrive,
    .look_up = look_up,
    .admit = admit,
    .loaded = loaded,
    .extend = extend,
    .scheduled = scheduled,
    .step_built = step_built,
    .computed = computed,
    .finished = give_back,
    .preempted = give_back,
    .transfer_done = transfer_done,
    .depart = depart,
    .room = room,
    .room_free = room_free,
    .room_lacking = room_lacking,
    .busy = busy,
};
