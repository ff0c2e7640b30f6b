/* bench_kvgen_caches.c - what a block costs in each cache behind the seam: conversations that grow
 * and share prefixes, drawn from a seed and served one after the other, with a GPU of 50,000
 * blocks, a host of 100,000 and files of a million. Prints operations on blocks a second (each that
 * a cache tells, and each block that a request asks for) and bytes a block that is held; judges
 * nothing. */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kvgen/cache/vllm.h"
#include "kvgen/cache/vllm_offload.h"
#include "kvgen/manager/copies.h"
#include "kvgen/manager/lmcache.h"
#include "kvgen/manager/lmcache_mp.h"
#include "kvgen/manager/sglang.h"
#include "kvgen/rng.h"

enum {
    REQUESTS = 60000,
    CONVERSATIONS = 4000,
    TURN = 12, /* blocks that a turn adds */
    TURNS = 16,
    BLOCK = 16,
    GPU = 50000,
    HOST = 100000,
    FILES = 1000000,
    TRANSFERS = 1024
};

/* A cache and what it told. */
struct bench {
    const struct kv_cache_ops *ops;
    struct kv_cache *cache;
    uint64_t operations, held;
    uint64_t transfer[TRANSFERS], transfers;
    bool files_untold;
};

static void on_event(void *ctx, const struct kv_event *e)
{
    struct bench *b = ctx;
    b->operations++;
    if (e->kind == KV_CACHED || e->kind == KV_STORED || e->kind == KV_PROMOTED)
        b->held++;
    else if (e->kind == KV_DROPPED || e->kind == KV_DEMOTED)
        b->held--;
}

static void on_transfer(void *ctx, const struct kv_transfer *t)
{
    struct bench *b = ctx;
    if (b->transfers == TRANSFERS)
        abort();
    b->transfer[b->transfers++] = t->id;
    if (b->files_untold && t->to == TRACE_STORAGE)
        b->held += t->count;
}

static void on_flush(void *ctx, uint64_t id)
{
    (void)ctx, (void)id; /* all transfers end at once */
}

/* ---- the caches ---- */

static void open_pool(struct bench *b, const struct kv_listener *l, const struct kv_below_ops *ops,
                      struct kv_below *below)
{
    const struct vllm_opts o = {
        .blocks = GPU, .block_tokens = BLOCK, .groups = 1, .below_ops = ops, .below = below};
    b->ops = &vllm_cache_ops;
    b->cache = below ? vllm_create(&o, l) : NULL;
}

static void open_vllm(struct bench *b, const struct kv_listener *l, bool arc)
{
    static const uint64_t window;
    const struct vllm_offload_opts o = {.gpu_blocks = GPU,
                                        .block_tokens = BLOCK,
                                        .groups = 1,
                                        .window = &window,
                                        .chunks = HOST,
                                        .chunk_blocks = 1,
                                        .arc = arc,
                                        .prompt_only = true,
                                        .max_tracker_size = 64000,
                                        .lower = VLLM_FILES};
    b->files_untold = true;
    open_pool(b, l, &vllm_offload_ops, vllm_offload_create(&o, l));
}

static void open_lmcache(struct bench *b, const struct kv_listener *l, enum chunk_order order)
{
    const struct lmcache_settings set = {.chunk_tokens = BLOCK,
                                         .l1_chunks = HOST,
                                         .l2_chunks = FILES,
                                         .local_cpu = true,
                                         .writes_held = true,
                                         .order = order};
    open_pool(b, l, &lmcache_below_ops, lmcache_below_create(&set, l));
}

static void open_lmcache_mp(struct bench *b, const struct kv_listener *l)
{
    const struct lmcache_mp_opts o = {
        .chunk_tokens = BLOCK,
        .settings = {.l1 = {HOST, 0.8, 0.2}, .l2 = {FILES, 0.8, 0.2}, .writes_held = true}};
    open_pool(b, l, &lmcache_mp_below_ops, lmcache_mp_below_create(&o, l));
}

static void open_sglang(struct bench *b, const struct kv_listener *l, enum sglang_write write)
{
    const struct sglang_settings set = {.page_tokens = BLOCK,
                                        .device_pages = GPU,
                                        .host_pages = HOST,
                                        .write = write,
                                        .load_back_threshold = 10,
                                        .files = true,
                                        .files_max_pages = FILES,
                                        .files_ratio = 0.9,
                                        .prefetch_threshold = 256};
    b->ops = &sglang_cache_ops;
    b->cache = sglang_cache_create(&set, l);
}

static void open_copies(struct bench *b, const struct kv_listener *l, enum policy_number policy,
                        enum admission_rule admission)
{
    struct copies_cache_opts o = {.block_tokens = BLOCK};
    static const uint64_t blocks[TRACE_TIERS] = {GPU, HOST, FILES};
    for (int t = 0; t < TRACE_TIERS; t++)
        o.tier[t] =
            (struct copies_tier){.room = {blocks[t], policy, 1, 1},
                                 .uses = 1,
                                 .admission = t == TRACE_STORAGE ? admission : ADMISSION_ALWAYS,
                                 .admission_uses = 2};
    b->ops = &copies_cache_ops;
    b->cache = copies_cache_create(&o, l);
}

enum {
    CACHES = 9
};
static const char *const names[CACHES] = {"vllm lru",          "vllm arc",   "lmcache LRU",
                                          "lmcache LFU",       "lmcache-mp", "sglang write_through",
                                          "sglang write_back", "copies lru", "copies arc, tinylfu"};

static void open_cache(struct bench *b, const struct kv_listener *l, int which)
{
    switch (which) {
    case 0:
    case 1:
        open_vllm(b, l, which == 1);
        break;
    case 2:
    case 3:
        open_lmcache(b, l, which == 2 ? CHUNK_LRU : CHUNK_LFU);
        break;
    case 4:
        open_lmcache_mp(b, l);
        break;
    case 5:
    case 6:
        open_sglang(b, l, which == 5 ? SGLANG_WRITE_THROUGH : SGLANG_WRITE_BACK);
        break;
    case 7:
        open_copies(b, l, POLICY_LRU, ADMISSION_ALWAYS);
        break;
    default:
        open_copies(b, l, POLICY_ARC, ADMISSION_TINYLFU);
    }
}

/* ---- requests ---- */

static void settle(struct bench *b)
{
    for (uint64_t i = 0; i < b->transfers; i++)
        b->ops->transfer_done(b->cache, b->transfer[i]);
    b->transfers = 0;
}

static void end_step(struct bench *b)
{
    settle(b);
    if (b->ops->step_done)
        b->ops->step_done(b->cache);
}

/* One request: its look-up, its load, one step for its prompt, its end. */
static int serve(struct bench *b, struct kv_request *r)
{
    struct kv_found found;
    struct kv_room room = {.whole = true};
    r->known_tokens = r->prompt_tokens;
    if (b->ops->arrive(b->cache, r))
        return -1;
    while (b->ops->look_up(b->cache, r, &found) != KV_FOUND) {
        if (b->ops->step_built(b->cache))
            return -1;
        end_step(b);
    }
    const uint64_t there =
        found.tokens[TRACE_GPU] + found.tokens[TRACE_CPU] + found.tokens[TRACE_STORAGE];
    if (found.load_first) {
        if (!b->ops->admit(b->cache, r, &room) || b->ops->step_built(b->cache))
            return -1;
        settle(b);
        r->computed_tokens = there;
        b->ops->loaded(b->cache, r);
    }
    room.tokens = r->known_tokens - there;
    if (!b->ops->admit(b->cache, r, &room))
        return -1;
    r->computed_tokens = there;
    b->ops->scheduled(b->cache, r, room.tokens);
    if (b->ops->step_built(b->cache))
        return -1;
    end_step(b);
    r->computed_tokens = r->known_tokens++;
    b->ops->finished(b->cache, r);
    if (b->ops->step_built(b->cache))
        return -1;
    end_step(b);
    b->ops->depart(b->cache, r);
    return 0;
}

/* The next turn of a conversation: all of it so far, and a turn more. */
static int next_request(struct bench *b, struct rng *rng, uint64_t *turns, uint32_t number)
{
    const uint64_t c =
        rng_below(rng, CONVERSATIONS) * rng_below(rng, CONVERSATIONS) / CONVERSATIONS;
    const uint64_t n = turns[c] % TURNS + 1, age = turns[c]++ / TURNS;
    struct chain_piece piece[TURNS + 1];
    for (uint64_t i = 0; i < n; i++)
        piece[i] = (struct chain_piece){(age << 32) + c * TURNS + i + 1, TURN * BLOCK};
    piece[n] = (struct chain_piece){(UINT64_C(1) << 48) + number, 2};
    struct kv_request r = {.number = number,
                           .chain = {.pieces = piece, .count = n + 1},
                           .prompt_tokens = n * TURN * BLOCK + 1,
                           .max_load_tokens = KV_NO_LIMIT,
                           .max_offload_tokens = KV_NO_LIMIT};
    b->operations += n * TURN;
    return serve(b, &r);
}

static uint64_t in_use(void)
{
    const struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* Time of the processor, so that other work on the machine does not count. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(void)
{
    static uint64_t turns[CONVERSATIONS];
    for (int i = 0; i < CACHES; i++) {
        struct bench b = {0};
        struct rng rng;
        const struct kv_listener l = {&b, on_event, on_transfer, on_flush};
        const uint64_t before = in_use();
        rng_seed(&rng, 11, 0);
        memset(turns, 0, sizeof(turns));
        open_cache(&b, &l, i);
        if (!b.cache)
            return 1;
        const double begin = seconds();
        for (uint32_t r = 0; r < REQUESTS; r++) {
            if (next_request(&b, &rng, turns, r))
                return 1;
            if (b.ops->second && r % 100 == 99)
                b.ops->second(b.cache);
        }
        const double spent = seconds() - begin;
        printf("%-22s %6.2f M operations on blocks a second (%" PRIu64
               "), %5.1f bytes a block held (%" PRIu64 ")\n",
               names[i], (double)b.operations / spent / 1e6, b.operations,
               (double)(in_use() - before) / (double)b.held, b.held);
        fflush(stdout);
        b.ops->free(b.cache);
    }
    return 0;
}
