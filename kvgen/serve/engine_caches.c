/* engine_caches.c - the table of engines and the text of --cache. What an engine's cache does is in
 * kvgen/cache, a file each; here its settings become that file's options. */
#include "kvgen/serve/engine_caches.h"

#include <errno.h>
#include <string.h>

#include "kvgen/cache/vllm.h"
#include "kvgen/cache/vllm_offload.h"
#include "kvgen/manager/copies.h"
#include "kvgen/manager/lmcache.h"
#include "kvgen/manager/lmcache_mp.h"
#include "kvgen/manager/sglang.h"
#include "lib/base/nearest.h"
#include "lib/base/units.h"

#define GIB      ((uint64_t)1 << 30)
#define ANY      UINT64_C(1000000000000)
#define ID_LIMIT ((uint64_t)1 << 30) /* of id_table.h */

#define SHARED "shared" /* settings that caches with shared files have */
#define SHARE  "share"
#define SHARED_HELP                                                                                \
    "All engines (--config engines) have the same files, in one --storage-capacity; also the "     \
    "other half "                                                                                  \
    "of "                                                                                          \
    "--prefill-only and --decode-only."

/* Settings of those whose reads and writes of files have threads. */
#define READ_THREADS  "read_threads"
#define WRITE_THREADS "write_threads"

enum {
    MOST_THREADS = 1 << 16, /* as many as a drive was measured with */
    MAX_TEXT = 1024,
    PAGE = 4096 /* vLLM rounds a chunk of host memory up to it */
};

struct engine_cache_kind {
    const char *name, *version, *about;
    const struct engine_setting *settings;
    bool vllm_scheduler; /* the scheduler's settings are the engine's own */
    bool fills;          /* its files have no bound of its own */
    int (*open)(struct engine_cache *out, const struct engine_values *v,
                const struct engine_room *room, const struct kv_listener *l, struct err *e);
};

/* ---- the scheduler ---- */

enum {
    S_BUDGET,
    S_SEQUENCES,
    S_MODEL_LEN,
    S_ASYNC,
    S_WHOLE,
    S_CHUNKS,
    S_LONG,
    S_ADAPTIVE,
    S_INTERVAL,
    S_WATERMARK
};
static const struct engine_setting scheduler_settings[] = {
    [S_BUDGET] = {"max_num_batched_tokens", ENGINE_COUNT, "", NULL, 1, ANY,
                  "Tokens of a step: 16384 with 160 GiB of GPU memory or more, 8192 with 70 "
                  "GiB or more and no A100, else 2048."},
    [S_SEQUENCES] = {"max_num_seqs", ENGINE_COUNT, "", NULL, 1, 1000000,
                     "Requests that run at once: 1024 with 70 GiB of GPU memory or more and no "
                     "A100, else 256."},
    [S_MODEL_LEN] = {"max_model_len", ENGINE_COUNT, "", NULL, 1, ANY,
                     "Most tokens of a request. What the GPU's blocks hold."},
    [S_ASYNC] = {"async_scheduling", ENGINE_SWITCH, "yes", NULL, 0, 0,
                 "Decide a step before the outputs of the one before are known."},
    [S_WHOLE] = {"scheduler_reserve_full_isl", ENGINE_SWITCH, "yes", NULL, 0, 0,
                 "Admit a request only if all its tokens fit now."},
    [S_CHUNKS] = {"enable_chunked_prefill", ENGINE_SWITCH, "yes", NULL, 0, 0,
                  "Compute a prompt in several steps."},
    [S_LONG] = {"long_prefill_token_threshold", ENGINE_COUNT, "0", NULL, 0, ANY,
                "Most tokens of one request in a step; 0: no limit."},
    [S_ADAPTIVE] = {"long_prefill_token_threshold_adaptive", ENGINE_SWITCH, "no", NULL, 0, 0,
                    "The same, but at least the budget shared by all requests."},
    [S_INTERVAL] = {"prefill_schedule_interval", ENGINE_COUNT, "1", NULL, 1, 1000000,
                    "Steps from one that computes prompts to the next, while others decode."},
    [S_WATERMARK] = {"watermark", ENGINE_SHARE, "0", NULL, 0, 0,
                     "Share of the blocks that admissions leave free."},
    {0}};

void engine_cache_scheduler(const struct engine_choice *c, const struct engine_room *room,
                            struct scheduler_opts *out)
{
    const double *v = c->scheduler.value;
    const bool *given = c->scheduler.given;
    const bool large = room->device_bytes >= 70 * GIB && !room->a100;
    const uint64_t budget = room->device_bytes >= 160 * GIB ? 16384 : large ? 8192 : 2048;
    *out = (struct scheduler_opts){.step_tokens = given[S_BUDGET] ? (uint64_t)v[S_BUDGET] : budget,
                                   .max_running = given[S_SEQUENCES] ? (uint64_t)v[S_SEQUENCES]
                                                  : large            ? 1024
                                                                     : 256,
                                   .max_tokens =
                                       given[S_MODEL_LEN] ? (uint64_t)v[S_MODEL_LEN] : KV_NO_LIMIT,
                                   .policy = room->policy,
                                   .milli_tokens = room->milli_tokens,
                                   .async = v[S_ASYNC] > 0,
                                   .whole_prompts = v[S_WHOLE] > 0,
                                   .chunks = v[S_CHUNKS] > 0,
                                   .long_tokens = (uint64_t)v[S_LONG],
                                   .adaptive = v[S_ADAPTIVE] > 0,
                                   .prefill_interval = (uint64_t)v[S_INTERVAL],
                                   .watermark = v[S_WATERMARK]};
}

/* ---- vLLM ---- */

enum {
    V_BLOCK,
    V_CHUNK,
    V_POLICY,
    V_PROMPT,
    V_THRESHOLD,
    V_TRACKER,
    V_SYNC,
    V_SHARED,
    V_SHARE,
    V_READERS,
    V_WRITERS
};
static const struct engine_setting vllm_settings[] = {
    [V_BLOCK] = {"block_size", ENGINE_COUNT, "16", NULL, 1, 1 << 20,
                 "Tokens of a block on the GPU."},
    [V_CHUNK] = {"blocks_per_chunk", ENGINE_COUNT, "1", NULL, 1, 1 << 16,
                 "Blocks of a copy below the GPU."},
    [V_POLICY] = {"eviction_policy", ENGINE_CHOICE, "lru", "lru|arc", 0, 0,
                  "Which copy leaves host memory."},
    [V_PROMPT] = {"offload_prompt_only", ENGINE_SWITCH, "yes", NULL, 0, 0,
                  "Store only blocks of prompts, none of answers."},
    [V_THRESHOLD] = {"store_threshold", ENGINE_COUNT, "0", NULL, 0, 1 << 20,
                     "Offers of a block until it is stored; 0: at once. Not with files."},
    [V_TRACKER] = {"max_tracker_size", ENGINE_COUNT, "64000", NULL, 1, 1 << 28,
                   "Blocks whose offers are counted."},
    [V_SYNC] = {"sync_load_budget_bytes", ENGINE_COUNT, "0", NULL, 0, ANY,
                "Bytes of loads that a step waits for; larger ones come before the request runs."},
    [V_SHARED] = {SHARED, ENGINE_SWITCH, "no", NULL, 0, 0, SHARED_HELP},
    [V_SHARE] = {SHARE, ENGINE_SHARE, "1", NULL, 0, 0,
                 "With shared=yes: share of the files that each engine may write, such as 25%."},
    [V_READERS] = {READ_THREADS, ENGINE_COUNT, "16", NULL, 1, MOST_THREADS,
                   "Files that an engine reads at once from a measured drive (n_read_threads)."},
    [V_WRITERS] = {WRITE_THREADS, ENGINE_COUNT, "16", NULL, 1, MOST_THREADS,
                   "Files that an engine writes at once to a measured drive (n_write_threads)."},
    {0}};

static int bad(struct err *e, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, "--cache", "%s", why);
}

/* Host memory in chunks, as vLLM counts them. */
static uint64_t host_chunks(const struct engine_room *room, uint64_t chunk_bytes)
{
    const uint64_t all = (chunk_bytes * room->ranks + PAGE - 1) / PAGE * PAGE;
    const unsigned __int128 bytes = (unsigned __int128)room->capacity[TRACE_CPU] * room->ranks;
    return (uint64_t)(bytes / all);
}

/* Sizes of blocks and copies, and how many blocks the GPU has for requests. */
static int set_blocks(struct engine_cache *out, const struct engine_room *room,
                      uint64_t block_tokens, uint64_t chunk_tokens, struct err *e)
{
    out->block_tokens = block_tokens;
    out->chunk_tokens = chunk_tokens;
    if (room->block_bytes(room->model, block_tokens, &out->block_bytes) < 0 ||
        room->block_bytes(room->model, chunk_tokens, &out->chunk_bytes) < 0 ||
        out->block_bytes == 0)
        return bad(e, "a block has no size");
    /* vLLM keeps one block back, the null block. */
    out->blocks = room->capacity[TRACE_GPU] / out->block_bytes;
    if (out->blocks < 2)
        return bad(e, "--gpu-mem has no room for two blocks");
    if (--out->blocks >= ID_LIMIT)
        return bad(e, "--gpu-mem has room for more than 10^9 blocks: take larger ones");
    return 0;
}

/* Sets how many files --storage-capacity has room for. */
static int bound_files(struct vllm_offload_opts *below, struct engine_cache *out,
                       const struct engine_values *v, const struct engine_room *room, struct err *e)
{
    if (room->capacity[TRACE_STORAGE] == KV_NO_LIMIT)
        return 0;
    below->most_files = room->capacity[TRACE_STORAGE] / out->chunk_bytes;
    below->clean_files = out->clean = room->clean;
    out->chunks[TRACE_STORAGE] = below->most_files;
    below->own_files = v->value[V_SHARED] > 0 && v->value[V_SHARE] < 1
                           ? (uint64_t)(v->value[V_SHARE] * (double)below->most_files)
                           : 0;
    if (below->most_files == 0)
        return bad(e, "--storage-capacity has no room for one block; none: no such tier");
    if (v->value[V_SHARE] < 1 && below->own_files == 0)
        return bad(e, "share: an engine's part of --storage-capacity has no room for a block");
    return 0;
}

static int open_vllm(struct engine_cache *out, const struct engine_values *v,
                     const struct engine_room *room, const struct kv_listener *l, struct err *e)
{
    const bool host = room->capacity[TRACE_CPU] > 0, files = room->capacity[TRACE_STORAGE] > 0;
    const uint64_t block = (uint64_t)v->value[V_BLOCK];
    int rc = set_blocks(out, room, block, block * (uint64_t)v->value[V_CHUNK], e);
    if (rc)
        return rc;
    struct vllm_opts o = {.blocks = out->blocks,
                          .block_tokens = out->block_tokens,
                          .groups = out->groups,
                          .numbers = room->numbers};
    memcpy(o.window, out->window, sizeof(o.window));
    struct vllm_offload_opts below = {.gpu_blocks = o.blocks,
                                      .block_tokens = o.block_tokens,
                                      .groups = o.groups,
                                      .window = o.window,
                                      .chunk_blocks = out->chunk_tokens / o.block_tokens,
                                      .chunks = host_chunks(room, out->chunk_bytes),
                                      .arc = v->value[V_POLICY] > 0,
                                      .prompt_only = v->value[V_PROMPT] > 0,
                                      .store_threshold = (uint64_t)v->value[V_THRESHOLD],
                                      .max_tracker_size = (uint64_t)v->value[V_TRACKER],
                                      .sync_load_bytes = (uint64_t)v->value[V_SYNC],
                                      .chunk_bytes = out->chunk_bytes * room->ranks,
                                      .lower = files ? VLLM_FILES : VLLM_NO_LOWER,
                                      .numbers = room->numbers};
    if (files && !host)
        return bad(e, "vllm keeps files below host memory: give --cpu-mem, or "
                      "--storage-capacity none");
    if (files && below.store_threshold >= 2)
        return bad(e, "vllm takes store_threshold only without files (--storage-capacity none)");
    if (files && (rc = bound_files(&below, out, v, room, e)) < 0)
        return rc;
    if (room->with)
        below.with = room->with->offload;
    if (host && below.chunks == 0)
        return bad(e, "--cpu-mem has no room for one block; 0: no such tier");
    if (below.chunks >= ID_LIMIT)
        return bad(e, "--cpu-mem has room for more than 10^9 blocks: take larger ones "
                      "(blocks_per_chunk)");
    if (host) {
        out->chunks[TRACE_CPU] = below.chunks;
        o.below_ops = &vllm_offload_ops;
        out->offload = o.below = vllm_offload_create(&below, l);
        if (!o.below)
            return err_nomem(e, "the cache");
    }
    out->scheduler.connector = host;
    out->numbers = room->numbers;
    out->ops = &vllm_cache_ops;
    out->cache = vllm_create(&o, l);
    return out->cache ? 0 : err_nomem(e, "the cache");
}

/* ---- LMCache below vLLM's block pool ---- */

/* vLLM's pool over the cache below it. Takes below, also on failure; NULL: no memory was left for
 * it. */
static int open_pool(struct engine_cache *out, const struct kv_below_ops *ops,
                     struct kv_below *below, const struct kv_listener *l, struct err *e)
{
    const struct vllm_opts o = {.blocks = out->blocks,
                                .block_tokens = out->block_tokens,
                                .groups = 1,
                                .below_ops = ops,
                                .below = below};
    if (!below)
        return err_nomem(e, "the cache");
    out->scheduler.connector = true;
    out->ops = &vllm_cache_ops;
    out->cache = vllm_create(&o, l);
    return out->cache ? 0 : err_nomem(e, "the cache");
}

/* Blocks and chunks of LMCache, and how many chunks each tier below the GPU has room for. */
static int set_chunks(struct engine_cache *out, const struct engine_room *room, uint64_t block,
                      uint64_t chunk, struct err *e)
{
    if (chunk % block)
        return bad(e, "chunk_size is not a multiple of block_size");
    int rc = set_blocks(out, room, block, chunk, e);
    if (rc)
        return rc;
    for (int t = TRACE_CPU; t <= TRACE_STORAGE; t++)
        if (room->capacity[t] != KV_NO_LIMIT)
            out->chunks[t] = room->capacity[t] / out->chunk_bytes;
    if (out->chunks[TRACE_CPU] == 0)
        return bad(e, "--cpu-mem has no room for one chunk (chunk_size)");
    if (room->capacity[TRACE_STORAGE] > 0 && room->capacity[TRACE_STORAGE] != KV_NO_LIMIT &&
        out->chunks[TRACE_STORAGE] == 0)
        return bad(e, "--storage-capacity has no room for one chunk (chunk_size); none: no such "
                      "tier");
    return 0;
}

enum {
    L_BLOCK,
    L_CHUNK,
    L_POLICY,
    L_LOCAL,
    L_DECODE,
    L_LEAST,
    L_ASYNC,
    L_FIXED,
    L_READERS,
    L_WRITERS
};
static const struct engine_setting lmcache_list[] = {
    [L_BLOCK] = {"block_size", ENGINE_COUNT, "16", NULL, 1, 1 << 20,
                 "Tokens of a block on the GPU (vLLM's)."},
    [L_CHUNK] = {"chunk_size", ENGINE_COUNT, "256", NULL, 1, 1 << 20,
                 "Tokens of a copy below the GPU."},
    [L_POLICY] = {"cache_policy", ENGINE_CHOICE, "LRU", "LRU|LFU|FIFO|MRU", 0, 0,
                  "Which copy leaves a full tier."},
    [L_LOCAL] = {"local_cpu", ENGINE_SWITCH, "yes", NULL, 0, 0,
                 "Keep copies in host memory; no: it only stages them."},
    [L_DECODE] = {"save_decode_cache", ENGINE_SWITCH, "no", NULL, 0, 0,
                  "Store chunks that end in an answer."},
    [L_LEAST] = {"min_retrieve_tokens", ENGINE_COUNT, "0", NULL, 0, ANY,
                 "Tokens that a load has at least."},
    [L_ASYNC] = {"enable_async_loading", ENGINE_SWITCH, "no", NULL, 0, 0,
                 "Load before the request runs, and not in its first step."},
    [L_FIXED] = {"fixed", ENGINE_SWITCH, "no", NULL, 0, 0,
                 "Leave the engine's bugs out: a load larger than host memory waits for ever."},
    [L_READERS] = {READ_THREADS, ENGINE_COUNT, "1", NULL, 1, MOST_THREADS,
                   "Files that a step reads at once from a measured drive."},
    [L_WRITERS] = {WRITE_THREADS, ENGINE_COUNT, "4", NULL, 1, MOST_THREADS,
                   "Files that an engine writes at once to a measured drive."},
    {0}};

static int open_lmcache(struct engine_cache *out, const struct engine_values *v,
                        const struct engine_room *room, const struct kv_listener *l, struct err *e)
{
    const double *n = v->value;
    int rc = set_chunks(out, room, (uint64_t)n[L_BLOCK], (uint64_t)n[L_CHUNK], e);
    if (rc)
        return rc;
    const bool files = room->capacity[TRACE_STORAGE] > 0;
    const struct lmcache_settings s = {.chunk_tokens = out->chunk_tokens,
                                       .l1_chunks = out->chunks[TRACE_CPU],
                                       .l2_chunks = !files ? 0
                                                    : out->chunks[TRACE_STORAGE]
                                                        ? out->chunks[TRACE_STORAGE]
                                                        : ID_LIMIT,
                                       .order = (enum chunk_order)n[L_POLICY],
                                       .local_cpu = n[L_LOCAL] > 0,
                                       .save_decode_cache = n[L_DECODE] > 0,
                                       .async_loading = n[L_ASYNC] > 0,
                                       .writes_held = true,
                                       .fixed = n[L_FIXED] > 0,
                                       .min_retrieve_tokens = (uint64_t)n[L_LEAST]};
    return open_pool(out, &lmcache_below_ops, lmcache_below_create(&s, l), l, e);
}

enum {
    M_BLOCK,
    M_CHUNK,
    M_POLICY,
    M_WATERMARK,
    M_RATIO,
    M_PREFETCH,
    M_STORE
};
static const struct engine_setting lmcache_mp_list[] = {
    [M_BLOCK] = {"block_size", ENGINE_COUNT, "16", NULL, 1, 1 << 20,
                 "Tokens of a block on the GPU (vLLM's)."},
    [M_CHUNK] = {"chunk_size", ENGINE_COUNT, "256", NULL, 1, 1 << 20,
                 "Tokens of a copy below the GPU."},
    [M_POLICY] = {"eviction_policy", ENGINE_CHOICE, "LRU", "LRU|ARC", 0, 0,
                  "Which copies leave host memory."},
    [M_WATERMARK] = {"eviction_trigger_watermark", ENGINE_SHARE, "0.8", NULL, 0, 0,
                     "Use of a tier from which a loop evicts, once a second."},
    [M_RATIO] = {"eviction_ratio", ENGINE_SHARE, "0.2", NULL, 0, 0,
                 "Share of the copies that then leave."},
    [M_PREFETCH] = {"prefetch_policy", ENGINE_CHOICE, "default", "default|retain", 0, 0,
                    "retain: what came from files stays in host memory."},
    [M_STORE] = {"store_policy", ENGINE_CHOICE, "default", "default|skip_l1", 0, 0,
                 "skip_l1: what files have leaves host memory."},
    {0}};

static int open_lmcache_mp(struct engine_cache *out, const struct engine_values *v,
                           const struct engine_room *room, const struct kv_listener *l,
                           struct err *e)
{
    const double *n = v->value;
    int rc = set_chunks(out, room, (uint64_t)n[M_BLOCK], (uint64_t)n[M_CHUNK], e);
    if (rc)
        return rc;
    const struct lmcache_mp_tier tier = {
        .chunks = out->chunks[TRACE_CPU], .watermark = n[M_WATERMARK], .ratio = n[M_RATIO]};
    struct lmcache_mp_opts o = {.chunk_tokens = out->chunk_tokens,
                                .settings = {.l1 = tier,
                                             .l2 = tier,
                                             .arc = n[M_POLICY] > 0,
                                             .retain = n[M_PREFETCH] > 0,
                                             .skip_l1 = n[M_STORE] > 0,
                                             .writes_held = true,
                                             .l2_room = out->chunks[TRACE_STORAGE],
                                             .l2_clean = room->clean}};
    out->clean = room->clean && out->chunks[TRACE_STORAGE];
    o.settings.l2.chunks = room->capacity[TRACE_STORAGE] > 0 ? UINT64_MAX : 0;
    out->by_second = out->in_turn = true;
    return open_pool(out, &lmcache_mp_below_ops, lmcache_mp_below_create(&o, l), l, e);
}

/* ---- SGLang ---- */

enum {
    G_PAGE,
    G_WRITE,
    G_ORDER,
    G_LOAD,
    G_FETCH,
    G_BUDGET,
    G_RUNNING,
    G_SHARED,
    G_READERS,
    G_WRITERS
};
static const struct engine_setting sglang_list[] = {
    [G_PAGE] = {"page_size", ENGINE_COUNT, "1", NULL, 1, 1 << 20,
                "Tokens of a page; each page has rows of its own."},
    [G_WRITE] = {"hicache_write_policy", ENGINE_CHOICE, "write_through",
                 "write_through|write_through_selective|write_back", 0, 0,
                 "When a page is copied to the host."},
    [G_ORDER] = {"radix_eviction_policy", ENGINE_CHOICE, "lru", "lru|lfu|slru|fifo|mru|filo", 0, 0,
                 "Which leaf of the tree leaves."},
    [G_LOAD] = {"load_back_threshold", ENGINE_COUNT, "10", NULL, 0, ANY,
                "Tokens that a load from the host has at least."},
    [G_FETCH] = {"prefetch_threshold", ENGINE_COUNT, "256", NULL, 0, ANY,
                 "Tokens that are fetched from files at least."},
    [G_BUDGET] =
        {"chunked_prefill_size", ENGINE_COUNT, "", NULL, 1, ANY,
         "Tokens of a step: 16384 with 160 GiB of GPU memory or more, 8192 with 70 GiB or more and "
         "no A100, else 2048."},
    [G_RUNNING] = {"max_running_requests", ENGINE_COUNT, "", NULL, 1, 1000000,
                   "Requests that run at once: 1024 with 70 GiB of GPU memory or more and no A100, "
                   "else 256."},
    [G_SHARED] = {SHARED, ENGINE_SWITCH, "no", NULL, 0, 0, SHARED_HELP},
    [G_READERS] = {READ_THREADS, ENGINE_COUNT, "1", NULL, 1, MOST_THREADS,
                   "Pages that an engine reads at once from a measured drive."},
    [G_WRITERS] = {WRITE_THREADS, ENGINE_COUNT, "1", NULL, 1, MOST_THREADS,
                   "Pages that an engine writes at once to a measured drive."},
    {0}};

static int open_sglang(struct engine_cache *out, const struct engine_values *v,
                       const struct engine_room *room, const struct kv_listener *l, struct err *e)
{
    const double *n = v->value;
    const uint64_t page = (uint64_t)n[G_PAGE];
    const bool files = room->capacity[TRACE_STORAGE] > 0;
    int rc = set_blocks(out, room, page, page, e);
    if (rc)
        return rc;
    out->blocks++; /* it keeps no page back */
    out->chunks[TRACE_CPU] = room->capacity[TRACE_CPU] / out->chunk_bytes;
    if (files && room->capacity[TRACE_STORAGE] != KV_NO_LIMIT)
        out->chunks[TRACE_STORAGE] = room->capacity[TRACE_STORAGE] / out->chunk_bytes;
    if (files && out->chunks[TRACE_CPU] == 0)
        return bad(e, "sglang keeps files below host memory: give --cpu-mem, or "
                      "--storage-capacity none");
    const struct sglang_settings s = {.page_tokens = page,
                                      .device_pages = out->blocks,
                                      .host_pages = out->chunks[TRACE_CPU],
                                      .write = (enum sglang_write)n[G_WRITE],
                                      .order = (enum page_order)n[G_ORDER],
                                      .load_back_threshold = (uint64_t)n[G_LOAD],
                                      .files = files,
                                      .files_max_pages = out->chunks[TRACE_STORAGE],
                                      .files_ratio = 0.9,
                                      .with =
                                          room->with ? sglang_cache_state(room->with->cache) : NULL,
                                      .prefetch_threshold = (uint64_t)n[G_FETCH],
                                      .numbers = room->numbers};
    if (v->given[G_BUDGET])
        out->scheduler.step_tokens = (uint64_t)n[G_BUDGET];
    if (v->given[G_RUNNING])
        out->scheduler.max_running = (uint64_t)n[G_RUNNING];
    out->scheduler.connector = true;
    out->numbers = room->numbers;
    out->ops = &sglang_cache_ops;
    out->cache = sglang_cache_create(&s, l);
    return out->cache ? 0 : err_nomem(e, "the cache");
}

/* ---- copies, a cache for questions of design ---- */

enum {
    C_BLOCK,
    C_STORE,
    C_USES,
    C_PROMPT,
    C_EXCLUSIVE,
    C_THROUGH,
    C_ADMISSION,
    C_SEEN,
    C_GPU,
    C_HOST,
    C_FILES,
    C_HIGH,
    C_LOW
};
#define POLICY_NAMES "lru|fifo|lfu|s3fifo|sieve|arc|mru"
static const struct engine_setting copies_list[] = {
    [C_BLOCK] = {"block_size", ENGINE_COUNT, "16", NULL, 1, 1 << 20, "Tokens of a block."},
    [C_STORE] = {"store", ENGINE_CHOICE, "use", "use|evicted|never", 0, 0,
                 "When a block is copied down: at a use, when the tier above gives it up, never."},
    [C_USES] = {"uses", ENGINE_COUNT, "1", NULL, 1, 255, "Of store=use: at which use."},
    [C_PROMPT] = {"prompt_only", ENGINE_SWITCH, "no", NULL, 0, 0, "Answers do not go down."},
    [C_EXCLUSIVE] = {"exclusive", ENGINE_SWITCH, "no", NULL, 0, 0, "What is loaded leaves below."},
    [C_THROUGH] = {"through", ENGINE_SWITCH, "no", NULL, 0, 0,
                   "A hit on files is copied to host memory, too."},
    [C_ADMISSION] = {"admission", ENGINE_CHOICE, "always", "always|seen|tinylfu", 0, 0,
                     "What a tier below takes."},
    [C_SEEN] = {"seen", ENGINE_COUNT, "2", NULL, 1, 15, "Of admission=seen: uses."},
    [C_GPU] = {"gpu_policy", ENGINE_CHOICE, "lru", POLICY_NAMES, 0, 0, "What leaves the GPU."},
    [C_HOST] = {"host_policy", ENGINE_CHOICE, "lru", POLICY_NAMES, 0, 0, "What leaves the host."},
    [C_FILES] = {"files_policy", ENGINE_CHOICE, "lru", POLICY_NAMES, 0, 0, "What leaves files."},
    [C_HIGH] = {"high", ENGINE_SHARE, "1", NULL, 0, 0,
                "Use of a tier below above which copies leave, ..."},
    [C_LOW] = {"low", ENGINE_SHARE, "1", NULL, 0, 0,
               "... down to this. 1 and 1: one for each that comes."},
    {0}};

static int open_copies(struct engine_cache *out, const struct engine_values *v,
                       const struct engine_room *room, const struct kv_listener *l, struct err *e)
{
    const double *n = v->value;
    const uint64_t block = (uint64_t)n[C_BLOCK];
    int rc = set_blocks(out, room, block, block, e);
    if (rc)
        return rc;
    if (n[C_LOW] > n[C_HIGH] || n[C_LOW] <= 0)
        return bad(e, "low is above high, or 0");
    out->blocks++; /* no block is kept back */
    struct copies_cache_opts o = {.block_tokens = block, .through = n[C_THROUGH] > 0};
    for (int t = 0; t < TRACE_TIERS; t++) {
        uint64_t blocks = t == TRACE_GPU                     ? out->blocks
                          : room->capacity[t] == KV_NO_LIMIT ? ID_LIMIT - 1
                                                             : room->capacity[t] / out->block_bytes;
        o.tier[t] = (struct copies_tier){.room = {.blocks = blocks,
                                                  .policy = (enum policy_number)n[C_GPU + t],
                                                  .high = t == TRACE_GPU ? 1 : n[C_HIGH],
                                                  .low = t == TRACE_GPU ? 1 : n[C_LOW]},
                                         .store = (enum copies_store)n[C_STORE],
                                         .uses = (uint32_t)n[C_USES],
                                         .prompt_only = n[C_PROMPT] > 0,
                                         .exclusive = n[C_EXCLUSIVE] > 0,
                                         .admission = (enum admission_rule)n[C_ADMISSION],
                                         .admission_uses = (uint32_t)n[C_SEEN]};
        if (t > TRACE_GPU && room->capacity[t] != KV_NO_LIMIT)
            out->chunks[t] = blocks;
    }
    out->scheduler.connector = true;
    out->anywhere = true;
    out->ops = &copies_cache_ops;
    out->cache = copies_cache_create(&o, l);
    return out->cache ? 0 : err_nomem(e, "the cache");
}

/* ---- waterfall, where steps are served ---- */

enum {
    W_BLOCK
};
static const struct engine_setting waterfall_list[] = {
    [W_BLOCK] = {"block_size", ENGINE_COUNT, "16", NULL, 1, 1 << 20, "Tokens of a block."}, {0}};

/* Bytes of a tier up to which it is filled: those of one that blocks fall into another from have a
 * limit. Of the GPU all are, since what runs needs them. */
static uint64_t filled(const struct engine_room *room, enum trace_tier tier)
{
    const uint64_t bytes = room->capacity[tier];
    if (tier != TRACE_CPU || room->capacity[TRACE_STORAGE] == 0 || bytes == KV_NO_LIMIT)
        return bytes;
    return (uint64_t)((double)bytes * room->target_usage_ratio);
}

static int open_waterfall(struct engine_cache *out, const struct engine_values *v,
                          const struct engine_room *room, const struct kv_listener *l,
                          struct err *e)
{
    const uint64_t block = (uint64_t)v->value[W_BLOCK];
    int rc = set_blocks(out, room, block, block, e);
    if (rc)
        return rc;
    out->blocks++; /* no block is kept back */
    struct copies_cache_opts o = {.block_tokens = block, .single = true};
    for (int t = 0; t < TRACE_TIERS; t++) {
        const uint64_t bytes = filled(room, (enum trace_tier)t);
        const uint64_t blocks = t == TRACE_GPU         ? out->blocks
                                : bytes == KV_NO_LIMIT ? ID_LIMIT - 1
                                                       : bytes / out->block_bytes;
        if (blocks == 0 && room->capacity[t] > 0)
            return bad(e, t == TRACE_CPU ? "--cpu-mem has no room for one block; 0: no such tier"
                                         : "--storage-capacity has no room for one block; none: "
                                           "no such tier");
        o.tier[t] = (struct copies_tier){
            .room = {.blocks = blocks, .policy = room->eviction, .high = 1, .low = 1},
            .store = COPIES_WHEN_EVICTED,
            .exclusive = room->promotes,
            .admission = ADMISSION_ALWAYS};
        if (t > TRACE_GPU && bytes != KV_NO_LIMIT)
            out->chunks[t] = blocks;
    }
    out->scheduler.connector = true;
    out->anywhere = out->single = true;
    out->rises = room->promotes;
    out->ops = &copies_cache_ops;
    out->cache = copies_cache_create(&o, l);
    return out->cache ? 0 : err_nomem(e, "the cache");
}

/* ---- all of them ---- */

static const struct engine_cache_kind kinds[] = {
    {"waterfall", NULL, "no engine's: one copy of a block, which falls when a tier gives it up",
     waterfall_list, true, false, open_waterfall},
    {"vllm", "0.33.0", "block pool on the GPU, OffloadingConnector with host memory and files",
     vllm_settings, true, true, open_vllm},
    {"lmcache", "0.5.6", "vLLM's block pool, LMCache in its process with host memory and files",
     lmcache_list, true, false, open_lmcache},
    {"lmcache-mp", "0.5.6", "vLLM's block pool, LMCache's server with host memory and files",
     lmcache_mp_list, true, true, open_lmcache_mp},
    {"sglang", "0.5.23", "radix tree over pages of the GPU and the host, HiCache's files",
     sglang_list, false, false, open_sglang},
    {"copies", NULL, "no engine's: a plain cache of copies, for questions of design", copies_list,
     true, false, open_copies},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static int unknown_kind(const char *name, struct err *e)
{
    struct nearest near = {.typed = name};
    char known[256] = "", hint[NEAREST_HINT];
    for (size_t i = 0; i < KINDS; i++) {
        nearest_offer(&near, kinds[i].name);
        snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", i ? ", " : "",
                 kinds[i].name);
    }
    return err_set(e, -EINVAL, ERR_INPUT, "--cache", "\"%s\" is no cache (known: %s)%s", name,
                   known, nearest_hint(&near, hint));
}

/* The number of a setting with that name; -1: there is none. */
static int find_setting(const struct engine_setting *list, const char *name)
{
    for (int i = 0; list[i].name; i++)
        if (strcmp(list[i].name, name) == 0)
            return i;
    return -1;
}

/* The place of the text among a|b|c; -1: it is none of them. */
static int find_choice(const char *choices, const char *text)
{
    const size_t len = strlen(text);
    for (int i = 0; *choices; i++) {
        const size_t n = strcspn(choices, "|");
        if (n == len && strncmp(choices, text, n) == 0)
            return i;
        choices += n + (choices[n] == '|');
    }
    return -1;
}

static int set_value(const struct engine_setting *s, const char *text, double *out, struct err *e)
{
    uint64_t n;
    int choice;
    switch (s->kind) {
    case ENGINE_COUNT:
        if (units_parse_size(text, &n) < 0 || n < s->least || n > s->most)
            return err_set(e, -EINVAL, ERR_INPUT, "--cache",
                           "%s: \"%s\" is not a whole number from %llu to %llu", s->name, text,
                           (unsigned long long)s->least, (unsigned long long)s->most);
        *out = (double)n;
        return 0;
    case ENGINE_SHARE:
        if (units_parse_share(text, out) < 0 || !(*out >= 0 && *out <= 1))
            return err_set(e, -EINVAL, ERR_INPUT, "--cache",
                           "%s: \"%s\" is not a share from 0 to 1, or to 100%%", s->name, text);
        return 0;
    case ENGINE_SWITCH:
    case ENGINE_CHOICE:
        break;
    }
    const char *choices = s->kind == ENGINE_SWITCH ? "no|yes" : s->choices;
    choice = find_choice(choices, text);
    if (choice < 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--cache", "%s: \"%s\" is not %s", s->name, text,
                       choices);
    *out = choice;
    return 0;
}

static int set_defaults(const struct engine_setting *list, struct engine_values *v, struct err *e)
{
    int rc = 0;
    *v = (struct engine_values){0};
    for (int i = 0; list[i].name && !rc; i++)
        if (list[i].def[0])
            rc = set_value(&list[i], list[i].def, &v->value[i], e);
    return rc;
}

static int set_part(struct engine_choice *c, char *part, struct err *e)
{
    char *value = strchr(part, '=');
    struct engine_values *v = &c->own;
    const struct engine_setting *list = c->kind->settings;
    struct nearest near = {.typed = part};
    if (!value)
        return err_set(e, -EINVAL, ERR_INPUT, "--cache",
                       "\"%s\": expected KEY=VALUE, or %s:help alone", part, c->kind->name);
    *value++ = '\0';
    if (c->kind->version && strcmp(part, "version") == 0)
        return strcmp(value, c->kind->version) == 0
                   ? 0
                   : err_set(e, -EINVAL, ERR_INPUT, "--cache",
                             "version %s of %s is not known: its rules are those of %s", value,
                             c->kind->name, c->kind->version);
    int i = find_setting(list, part);
    if (i < 0 && c->kind->vllm_scheduler) {
        v = &c->scheduler;
        list = scheduler_settings;
        i = find_setting(list, part);
    }
    if (i < 0) {
        char hint[NEAREST_HINT];
        for (int k = 0; c->kind->settings[k].name; k++)
            nearest_offer(&near, c->kind->settings[k].name);
        for (int k = 0; c->kind->vllm_scheduler && scheduler_settings[k].name; k++)
            nearest_offer(&near, scheduler_settings[k].name);
        return err_set(e, -EINVAL, ERR_INPUT, "--cache",
                       "%s has no setting \"%s\"%s (--cache %s:help lists them)", c->kind->name,
                       part, nearest_hint(&near, hint), c->kind->name);
    }
    v->given[i] = true;
    return set_value(&list[i], value, &v->value[i], e);
}

/* The name in front of the settings. -ENAMETOOLONG: no cache has such a name. */
static int split(const char *text, char copy[MAX_TEXT], char **parts)
{
    if (strlen(text) >= MAX_TEXT)
        return -ENAMETOOLONG;
    strcpy(copy, text);
    *parts = strchr(copy, ':');
    if (*parts)
        *(*parts)++ = '\0';
    return 0;
}

bool engine_choice_asks(const char *text)
{
    const char *parts = strchr(text, ':');
    return parts && strcmp(parts, ":help") == 0;
}

int engine_choice_parse(struct engine_choice *c, const char *text, struct err *e)
{
    char copy[MAX_TEXT], *parts, *rest = NULL;
    *c = (struct engine_choice){0};
    if (split(text, copy, &parts) < 0)
        return bad(e, "the text is too long");
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, copy) == 0)
            c->kind = &kinds[i];
    if (!c->kind)
        return unknown_kind(copy, e);
    int rc = set_defaults(c->kind->settings, &c->own, e);
    if (!rc)
        rc = set_defaults(scheduler_settings, &c->scheduler, e);
    if (!rc && parts && !*parts)
        rc = bad(e, "nothing behind the :");
    if (rc || engine_choice_asks(text))
        return rc;
    for (char *part = parts ? strtok_r(parts, ",", &rest) : NULL; part && !rc;
         part = strtok_r(NULL, ",", &rest))
        rc = set_part(c, part, e);
    return rc;
}

static void hears_event(void *ctx, const struct kv_event *e)
{
    (void)ctx, (void)e;
}

static void hears_transfer(void *ctx, const struct kv_transfer *t)
{
    (void)ctx, (void)t;
}

static void hears_flush(void *ctx, uint64_t id)
{
    (void)ctx, (void)id;
}

int engine_choice_check_room(const struct engine_choice *c, const struct engine_room *room,
                             struct err *e)
{
    const struct kv_listener nobody = {NULL, hears_event, hears_transfer, hears_flush};
    struct engine_cache cache;
    const int rc = engine_cache_open(&cache, c, room, &nobody, e);
    if (cache.cache)
        cache.ops->free(cache.cache);
    return rc;
}

bool engine_choice_takes(const struct engine_choice *c, const struct engine_room *room)
{
    struct err e = {0};
    return engine_choice_check_room(c, room, &e) == 0;
}

struct engine_choice engine_choice_alone(const struct engine_choice *c)
{
    struct engine_choice alone = *c;
    struct err e = {0};
    if (c->kind->open != open_lmcache && c->kind->open != open_lmcache_mp)
        return alone;
    engine_choice_parse(&alone, "vllm", &e);
    alone.scheduler = c->scheduler;
    alone.own.value[V_BLOCK] = c->own.value[L_BLOCK];
    return alone;
}

/* The value of a setting that not all caches have; or what is said here. */
static double value_of(const struct engine_choice *c, const char *name, double otherwise)
{
    const int i = c->kind ? find_setting(c->kind->settings, name) : -1;
    return i < 0 ? otherwise : c->own.value[i];
}

bool engine_choice_shares(const struct engine_choice *c)
{
    return value_of(c, SHARED, 0) > 0;
}

int engine_choice_check_shared(const struct engine_choice *c, const struct engine_room *room,
                               uint32_t engines, bool with_run, struct err *e)
{
    const uint64_t files = room->capacity[TRACE_STORAGE];
    const double share = value_of(c, SHARE, 1);
    if (!engine_choice_shares(c))
        return share < 1 ? bad(e, "share needs shared=yes") : 0;
    if (engines < 2 && !with_run)
        return bad(
            e, "shared=yes needs --config engines=2 or more, or another run that has the files, "
               "too: --prefill-only, --decode-only or --files-from");
    if (files == 0)
        return bad(e, "shared=yes needs files (--storage-capacity)");
    if (share < 1 && files == KV_NO_LIMIT)
        return bad(e, "share needs a limit of the files (--storage-capacity)");
    if (share < 1 && share * engines > 1 + 1e-9)
        return err_set(e, -EINVAL, ERR_INPUT, "--cache",
                       "share: %u engines with %g %% each are more than all files: at most %g %%",
                       (unsigned)engines, 100 * share, 100.0 / engines);
    return 0;
}

bool engine_choice_is_waterfall(const struct engine_choice *c)
{
    return !c->kind || c->kind->open == open_waterfall;
}

bool engine_choice_fills(const struct engine_choice *c)
{
    return c->kind && c->kind->fills;
}

const char *engine_choice_name(const struct engine_choice *c)
{
    return c->kind ? c->kind->name : "waterfall";
}

const char *engine_choice_version(const struct engine_choice *c)
{
    return c->kind ? c->kind->version : NULL;
}

bool engine_choice_limits_each(const struct engine_choice *c)
{
    return value_of(c, SHARE, 1) < 1;
}

/* ---- for people, and for JSON ---- */

/* A value as one writes it; "" where the engine decides. */
static const char *text_of(const struct engine_setting *s, const struct engine_values *v, int i,
                           char buf[48])
{
    const char *choices = s->kind == ENGINE_SWITCH ? "no|yes" : s->choices;
    if (!s->def[0] && !v->given[i])
        return "";
    if (s->kind == ENGINE_COUNT) {
        snprintf(buf, 48, "%llu", (unsigned long long)v->value[i]);
        return buf;
    }
    if (s->kind == ENGINE_SHARE) {
        snprintf(buf, 48, "%g", v->value[i]);
        return buf;
    }
    for (int k = (int)v->value[i]; k > 0; k--)
        choices = strchr(choices, '|') + 1;
    snprintf(buf, 48, "%.*s", (int)strcspn(choices, "|"), choices);
    return buf;
}

static void help_list(FILE *f, const struct engine_setting *list, const struct engine_values *v)
{
    char buf[48], name[96];
    for (int i = 0; list[i].name; i++) {
        const char *value = text_of(&list[i], v, i, buf);
        snprintf(name, sizeof(name), "%s=%s", list[i].name, *value ? value : "...");
        fprintf(f, "  %s\n      %s%s%s%s\n", name, list[i].help, list[i].choices ? " (" : "",
                list[i].choices ? list[i].choices : "", list[i].choices ? ")" : "");
    }
}

int engine_choice_help(FILE *f, const struct engine_choice *c, struct err *e)
{
    fprintf(f, "%s%s%s: %s.\nSettings, with the values in force:\n", c->kind->name,
            c->kind->version ? " " : "", c->kind->version ? c->kind->version : "", c->kind->about);
    help_list(f, c->kind->settings, &c->own);
    if (c->kind->vllm_scheduler) {
        fputs("Of its scheduler:\n", f);
        help_list(f, scheduler_settings, &c->scheduler);
    }
    return fflush(f) == 0 && !ferror(f)
               ? 0
               : err_set(e, -EIO, ERR_OUTPUT, "", "standard output cannot be written");
}

static void put_list(struct jsonout *j, const struct engine_setting *list,
                     const struct engine_values *v)
{
    char buf[48];
    for (int i = 0; list[i].name; i++) {
        const char *value = text_of(&list[i], v, i, buf);
        if (!*value)
            jsonout_null(j, list[i].name);
        else if (list[i].kind == ENGINE_COUNT)
            jsonout_u64(j, list[i].name, (uint64_t)v->value[i]);
        else if (list[i].kind == ENGINE_SHARE)
            jsonout_f64(j, list[i].name, v->value[i]);
        else if (list[i].kind == ENGINE_SWITCH)
            jsonout_bool(j, list[i].name, v->value[i] > 0);
        else
            jsonout_text_value(j, list[i].name, value);
    }
}

void engine_choice_put(struct jsonout *j, const struct engine_choice *c)
{
    jsonout_text_value(j, "name", engine_choice_name(c));
    jsonout_text_value(j, "version", engine_choice_version(c));
    jsonout_object(j, "settings");
    put_list(j, c->kind->settings, &c->own);
    if (c->kind->vllm_scheduler)
        put_list(j, scheduler_settings, &c->scheduler);
    jsonout_end(j);
}

int engine_cache_open(struct engine_cache *out, const struct engine_choice *c,
                      const struct engine_room *room, const struct kv_listener *l, struct err *e)
{
    *out = (struct engine_cache){.groups = room->groups ? room->groups : 1};
    memcpy(out->window, room->window, sizeof(out->window));
    if ((out->groups > 1 || out->window[0]) && c->kind->open != open_vllm)
        return err_set(e, -EINVAL, ERR_INPUT, "--cache",
                       "%s does not simulate layers with a window, which only vllm does",
                       c->kind->name);
    engine_cache_scheduler(c, room, &out->scheduler);
    out->threads[0] = (uint64_t)value_of(c, READ_THREADS, 0);
    out->threads[1] = (uint64_t)value_of(c, WRITE_THREADS, 0);
    return c->kind->open(out, &c->own, room, l, e);
}
