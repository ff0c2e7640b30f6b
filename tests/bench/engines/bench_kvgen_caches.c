/* bench_kvgen_caches.c - what a block costs in engines' caches: conversations that grow and share
 * prefixes, drawn from a seed, with a host of 100,000 chunks and files of a million (SGLang: a
 * device of 50,000 pages, too). Prints operations on blocks a second (each that a cache tells, and
 * each block that a request asks for) and bytes a block that is held; judges nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/lmcache.h"
#include "kvgen/cache/sglang.h"
#include "kvgen/rng.h"
#include "lib/base/clock.h"
#include "lib/base/hash.h"

enum {
    REQUESTS = 100000,
    CONVERSATIONS = 4000,
    TURN = 12, /* blocks that a turn adds */
    TURNS = 16,
    CHAIN = TURN * TURNS,
    HOST = 100000,
    DEVICE = 50000,
    FILES = 1000000
};

static uint64_t operations;

static void told_lmcache(void *arg, enum lmcache_op op, uint64_t chunk)
{
    (void)arg, (void)op, (void)chunk;
    operations++;
}

static void told_sglang(void *arg, enum sglang_op op, uint64_t page)
{
    (void)arg, (void)op, (void)page;
    operations++;
}

/* The next request: blocks of a conversation, one turn more than before. Returns how many. */
static uint64_t next_request(struct rng *rng, uint64_t *turns, uint64_t *block)
{
    uint64_t c = rng_below(rng, CONVERSATIONS) * rng_below(rng, CONVERSATIONS) / CONVERSATIONS;
    uint64_t n = TURN * (turns[c] % TURNS + 1), age = turns[c]++ / TURNS;
    for (uint64_t i = 0; i < n; i++)
        block[i] = hash_mix((age << 40) + c * CHAIN + i + 1);
    operations += n;
    return n;
}

static int run_lmcache(enum chunk_order order, struct rng *rng, uint64_t *turns)
{
    const struct lmcache_settings set = {.chunk_tokens = 256,
                                         .l1_chunks = HOST,
                                         .l2_chunks = FILES,
                                         .local_cpu = true,
                                         .order = order};
    struct lmcache *c = lmcache_create(&set, told_lmcache, NULL);
    uint64_t block[CHAIN];
    for (int i = 0; c && i < REQUESTS; i++) {
        struct lmcache_request r = {.chunk = block, .chunks = next_request(rng, turns, block)};
        r.tokens = r.chunks * 256 + 1;
        if (lmcache_look_up(c, &r) < 0 || lmcache_load(c, &r) < 0)
            return -1;
        lmcache_loaded(c, &r);
        const uint64_t hit = r.hit_l1 + r.hit_l2;
        const int64_t got = lmcache_store(c, block + hit, r.chunks - hit);
        if (got < 0 || lmcache_submit(c, block + hit, (uint64_t)got))
            return -1;
    }
    if (!c)
        return -1;
    const struct chunks *chunks = lmcache_chunks(c);
    printf("%.1f bytes a chunk on L2, ",
           (double)chunks_memory(chunks) / (double)chunks_count(chunks, CHUNK_L2));
    lmcache_free(c);
    return 0;
}

static int run_sglang(enum sglang_write write, struct rng *rng, uint64_t *turns)
{
    const struct sglang_settings set = {.page_tokens = 64,
                                        .device_pages = DEVICE,
                                        .host_pages = HOST,
                                        .write = write,
                                        .load_back_threshold = 10,
                                        .files = true,
                                        .files_max_pages = FILES,
                                        .files_ratio = 0.9,
                                        .prefetch_threshold = 256};
    struct sglang *c = sglang_create(&set, told_sglang, NULL);
    uint64_t block[CHAIN];
    for (int i = 0; c && i < REQUESTS; i++) {
        struct sglang_request r = {.page = block};
        uint64_t n = next_request(rng, turns, block);
        r.prompt = n * 64 + 1;
        if (sglang_arrive(c, &r) < 0 || sglang_match(c, &r) < 0 || sglang_admit(c, &r) < 0 ||
            sglang_reserve(c, &r, r.hit_device + r.loaded, r.prompt) < 0)
            return -1;
        sglang_loaded(c);
        if (sglang_insert(c, &r, r.prompt) < 0 || sglang_finish(c, &r, r.prompt) < 0 ||
            sglang_poll(c) < 0)
            return -1;
    }
    if (!c)
        return -1;
    printf("%.1f bytes a page on the host or in files, ",
           (double)sglang_memory(c) / (HOST + (double)sglang_files(c)));
    sglang_free(c);
    return 0;
}

int main(void)
{
    static uint64_t turns[CONVERSATIONS];
    static const char *const names[] = {"lmcache lru", "lmcache lfu", "sglang write_through",
                                        "sglang write_back"};
    for (int i = 0; i < 4; i++) {
        struct rng rng;
        rng_seed(&rng, 11, 0);
        memset(turns, 0, sizeof(turns));
        operations = 0;
        int64_t begin = clock_now_ns();
        printf("%-22s ", names[i]);
        int rc = i < 2 ? run_lmcache(i == 0 ? CHUNK_LRU : CHUNK_LFU, &rng, turns)
                       : run_sglang(i == 2 ? SGLANG_WRITE_THROUGH : SGLANG_WRITE_BACK, &rng, turns);
        if (rc < 0)
            return 1;
        double seconds = (double)(clock_now_ns() - begin) / 1e9;
        printf("%.2f M operations on blocks a second (%" PRIu64 ")\n",
               (double)operations / seconds / 1e6, operations);
    }
    return 0;
}
