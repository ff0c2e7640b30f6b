/* lmcache.c - drives our LMCache caches as the recordings were made: one request after the other,
 * or with `overlap` requests between look-up and load. */
#include "kvgen/cache/lmcache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/lmcache_mp.h"
#include "tests/engines/op_log.h"

enum {
    ID_TOKENS = 512
};

/* A request's chunks: the full ones, then that of the prompt's un-full end. */
struct keys {
    uint64_t *full;
    uint64_t full_count, prompt_full; /* of prompt and answer; of the prompt */
    uint64_t tail;                    /* 0: the prompt ends with a full chunk */
    uint64_t *prompt;                 /* as the look-up takes them */
    uint64_t prompt_count;
};

static void name_chunk(struct op_log *l, const struct scenario_row *row, uint64_t r, uint64_t key,
                       uint64_t begin, uint64_t end, uint64_t chunk)
{
    char unfull[24] = "";
    if (end - begin < chunk)
        snprintf(unfull, sizeof(unfull), "u%llu", (unsigned long long)(end - begin));
    if (end > row->input_tokens)
        op_log_name(l, key, "o%llu.%llu%s", (unsigned long long)r,
                    (unsigned long long)(begin / chunk), unfull);
    else if (chunk < ID_TOKENS)
        op_log_name(l, key, "%llu.%llu%s", (unsigned long long)row->ids[(end - 1) / ID_TOKENS],
                    (unsigned long long)(begin % ID_TOKENS / chunk), unfull);
    else
        op_log_name(l, key, "%llu%s", (unsigned long long)row->ids[(end - 1) / ID_TOKENS], unfull);
}

/* Cuts row r into chunks and names them. 0 or -ENOMEM; keys_free in both cases. */
static int keys_make(struct keys *k, struct op_log *l, const struct scenario *s, uint64_t r,
                     uint64_t chunk, bool unfull)
{
    const struct scenario_row *row = &s->row[r];
    struct chain_piece *pieces = calloc(row->id_count + 2, sizeof(*pieces));
    uint64_t total = row->input_tokens + row->output_tokens;
    *k = (struct keys){.full = calloc(total / chunk + 1, sizeof(*k->full)),
                       .prompt = calloc(row->input_tokens / chunk + 1, sizeof(*k->prompt)),
                       .full_count = total / chunk,
                       .prompt_full = row->input_tokens / chunk};
    if (!pieces || !k->full || !k->prompt) {
        free(pieces);
        return -ENOMEM;
    }
    struct chain chain = {pieces, scenario_pieces(s, r, ID_TOKENS, false, pieces)};
    struct chain_walk walk = {.chain = &chain, .key = chain_root(0)}, tail;
    for (uint64_t i = 0; i < k->full_count; i++) {
        tail = walk;
        if (i == k->prompt_full && unfull && row->input_tokens % chunk) {
            k->tail = chain_key(&tail, row->input_tokens);
            name_chunk(l, row, r, k->tail, i * chunk, row->input_tokens, chunk);
        }
        k->full[i] = chain_key(&walk, (i + 1) * chunk);
        name_chunk(l, row, r, k->full[i], i * chunk, (i + 1) * chunk, chunk);
    }
    if (k->full_count == k->prompt_full && unfull && row->input_tokens % chunk) {
        k->tail = chain_key(&walk, row->input_tokens);
        name_chunk(l, row, r, k->tail, k->prompt_full * chunk, row->input_tokens, chunk);
    }
    memcpy(k->prompt, k->full, k->prompt_full * sizeof(*k->prompt));
    k->prompt_count = k->prompt_full;
    if (k->tail)
        k->prompt[k->prompt_count++] = k->tail;
    free(pieces);
    return 0;
}

static void keys_free(struct keys *k)
{
    free(k->full);
    free(k->prompt);
    *k = (struct keys){0};
}

/* ---- the in-process engine ---- */

struct in_process {
    const struct scenario *s;
    struct op_log *log;
    struct lmcache *cache;
    struct lmcache_settings set;
    struct lmcache_request *request; /* by row */
    struct keys *keys;
    uint64_t step_tokens, held_for; /* requests that writes to L2 are held for */
    uint64_t loaded_tokens;
    uint64_t threads; /* that write to L2 */
    bool hangs;
};

static void told(void *arg, enum lmcache_op op, uint64_t chunk)
{
    struct in_process *d = arg;
    const char *name = lmcache_op_names[op];
    if (op == LMCACHE_L1_ALLOCFAIL)
        op_log_mark(d->log, name, "store");
    else if (op == LMCACHE_L1_HANG)
        op_log_mark(d->log, name, "get");
    else
        op_log_add(d->log, name, chunk);
}

static int look_up(struct in_process *d, uint64_t r)
{
    struct keys *k = &d->keys[r];
    int rc = keys_make(k, d->log, d->s, r, d->set.chunk_tokens, d->set.save_unfull_chunk);
    if (rc)
        return rc;
    d->request[r] = (struct lmcache_request){
        .chunk = k->prompt, .chunks = k->prompt_count, .tokens = d->s->row[r].input_tokens};
    return lmcache_look_up(d->cache, &d->request[r]);
}

/* Stores what the request's steps complete: of the prompt, then chunk by chunk of the answer. */
static int store(struct in_process *d, uint64_t r)
{
    const struct scenario_row *row = &d->s->row[r];
    const struct lmcache_request *q = &d->request[r];
    const struct keys *k = &d->keys[r];
    uint64_t prompt = row->input_tokens, last = prompt + row->output_tokens - 1;
    uint64_t saved = q->hit_l1 + q->hit_l2, computed = q->hit_tokens;
    int rc = 0;
    while (!rc && computed < prompt) {
        uint64_t step = d->step_tokens && d->step_tokens < prompt - computed ? d->step_tokens
                                                                             : prompt - computed;
        computed += step;
        uint64_t end =
            computed == prompt ? k->prompt_count : lmcache_savable(&d->set, prompt, computed);
        if (end > saved)
            rc = lmcache_store(d->cache, k->prompt + saved, end - saved);
        saved = end > saved ? end : saved;
    }
    saved = k->prompt_full;
    for (computed = prompt; !rc && computed < last; computed++) {
        uint64_t end = lmcache_savable(&d->set, prompt, computed + 1);
        if (end > saved)
            rc = lmcache_store(d->cache, k->full + saved, end - saved);
        saved = end > saved ? end : saved;
    }
    return rc;
}

static int load_and_store(struct in_process *d, uint64_t r)
{
    int64_t loaded = lmcache_load(d->cache, &d->request[r]);
    d->hangs = loaded == -EAGAIN;
    if (loaded < 0)
        return d->hangs ? 0 : (int)loaded;
    d->loaded_tokens = (uint64_t)loaded;
    int rc = store(d, r);
    keys_free(&d->keys[r]);
    return rc;
}

/* All writes that were held end. */
static void flush(struct in_process *d)
{
    op_log_mark(d->log, "l2.flush", ".");
    lmcache_written(d->cache, UINT64_MAX);
}

/* With overlap: the request that was looked up longest ago. */
static int run_oldest(struct in_process *d, uint64_t r)
{
    op_log_mark(d->log, "run", "%llu", (unsigned long long)r);
    if (d->held_for && r % d->held_for == 0)
        flush(d);
    return load_and_store(d, r);
}

static bool holds(const void *arg, const char *tier, uint64_t id)
{
    const struct chunks *c = arg;
    return chunks_held(c, !strcmp(tier, "l1") ? CHUNK_L1 : CHUNK_L2, chunks_find(c, id));
}

/* What a tier holds at the end. The recorded order is that of the engine's table: by time for LRU,
 * FIFO and MRU; for LFU it is not the order of eviction, nor with pins that stay for ever or
 * several threads. */
static int at_end(struct in_process *d, struct scenario_outcome *o, enum chunk_tier tier,
                  struct err *e)
{
    const struct chunks *c = lmcache_chunks(d->cache);
    const char *name = tier == CHUNK_L1 ? "l1" : "l2";
    if (d->set.order == CHUNK_LFU || d->set.async_loading || d->threads > 1)
        return op_log_contents(d->log, o, name, holds, c, e);
    uint64_t *ids = calloc(chunks_count(c, tier) + 1, sizeof(*ids)), count = 0;
    if (!ids)
        return err_nomem(e, "chunks");
    for (uint32_t n = CHUNK_NONE; (n = chunks_next(c, tier, n)) != CHUNK_NONE;)
        ids[count++] = chunks_id(c, n);
    for (uint64_t i = 0; d->set.order == CHUNK_MRU && i < count / 2; i++) {
        uint64_t id = ids[i];
        ids[i] = ids[count - 1 - i];
        ids[count - 1 - i] = id;
    }
    int rc = op_log_order(d->log, o, name, ids, count, e);
    free(ids);
    return rc;
}

static int requests(struct in_process *d, struct scenario_outcome *o, struct err *e)
{
    uint64_t overlap = scenario_u64(d->s, "overlap", 1);
    int rc = 0;
    for (uint64_t r = 0; r < d->s->rows && !d->hangs; r++) {
        uint64_t run = r + 1 >= overlap ? r + 1 - overlap : UINT64_MAX;
        d->loaded_tokens = 0;
        rc = look_up(d, r);
        if (!rc && overlap == 1)
            rc = load_and_store(d, r);
        else if (!rc && run != UINT64_MAX)
            rc = run_oldest(d, run);
        for (uint64_t q = run + 1; !rc && overlap > 1 && r + 1 == d->s->rows && q < d->s->rows; q++)
            rc = run_oldest(d, q);
        if (!rc && d->held_for && r + 1 == d->s->rows)
            flush(d);
        if (rc)
            return err_nomem(e, "chunks");
        rc = op_log_compare(d->log, o, e);
        if (rc <= 0)
            return rc;
        op_log_number(d->log, o, "_hit_l1", d->request[r].hit_l1);
        op_log_number(d->log, o, "_hit_l2", d->request[r].hit_l2);
        op_log_number(d->log, o, "_hit_tokens", d->request[r].hit_tokens);
        op_log_number(d->log, o, "_l1_n", chunks_count(lmcache_chunks(d->cache), CHUNK_L1));
        op_log_number(d->log, o, "_l2_n", chunks_count(lmcache_chunks(d->cache), CHUNK_L2));
        op_log_number(d->log, o, "_loaded_tokens", d->loaded_tokens);
    }
    rc = at_end(d, o, CHUNK_L1, e);
    if (!rc)
        rc = at_end(d, o, CHUNK_L2, e);
    return rc ? rc : op_log_totals(d->log, o, e);
}

static int order_of(const struct scenario *s, enum chunk_order *out, struct err *e)
{
    static const char *const names[] = {
        [CHUNK_LRU] = "LRU", [CHUNK_LFU] = "LFU", [CHUNK_FIFO] = "FIFO", [CHUNK_MRU] = "MRU"};
    const char *name = scenario_text(s, "cache_policy", "LRU");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(name, names[i])) {
            *out = (enum chunk_order)i;
            return 0;
        }
    return err_set(e, 0, ERR_INPUT, s->folder, "cache_policy \"%s\" is not known", name);
}

static int drive_in_process(const struct scenario *s, struct scenario_outcome *o, struct err *e)
{
    struct in_process d = {
        .s = s,
        .set = {.chunk_tokens = scenario_u64(s, "chunk_size", 256),
                .l1_chunks = scenario_u64(s, "l1_capacity_chunks", 0),
                .l2_chunks = scenario_u64(s, "l2_capacity_chunks", 0),
                .local_cpu = scenario_bool(s, "local_cpu", true),
                .save_unfull_chunk = scenario_bool(s, "save_unfull_chunk", false),
                .save_decode_cache = scenario_bool(s, "save_decode_cache", false),
                .async_loading = scenario_bool(s, "enable_async_loading", false),
                .min_retrieve_tokens = scenario_u64(s, "min_retrieve_tokens", 0)},
        .step_tokens = scenario_u64(s, "prefill_step_tokens", 0),
        .held_for = scenario_u64(s, "disk_writes_held_for_requests", 0),
        .threads = scenario_u64(s, "disk_io_threads", 1),
    };
    d.set.writes_held = d.held_for > 0;
    int rc = order_of(s, &d.set.order, e);
    if (rc)
        return rc;
    /* Which file goes when depends on the order in which the threads' writes ended. */
    const struct op_log_opts opts = {.unnamed = d.threads > 1 ? "l2.evict" : NULL};
    rc = op_log_open(&d.log, s, &opts, e);
    if (rc)
        return rc;
    d.cache = lmcache_create(&d.set, told, &d);
    d.request = calloc(s->rows + 1, sizeof(*d.request));
    d.keys = calloc(s->rows + 1, sizeof(*d.keys));
    if (d.cache && d.request && d.keys)
        rc = requests(&d, o, e);
    else
        rc = err_nomem(e, "requests");
    for (uint64_t r = 0; d.keys && r < s->rows; r++)
        keys_free(&d.keys[r]);
    free(d.keys);
    free(d.request);
    lmcache_free(d.cache);
    op_log_close(d.log);
    return rc;
}

/* ---- the multi-process server ---- */

struct server {
    const struct scenario *s;
    struct op_log *log;
    struct lmcache_mp *cache;
    uint64_t chunk_tokens, tick;
};

static void told_mp(void *arg, enum lmcache_mp_op op, uint64_t chunk)
{
    struct server *d = arg;
    op_log_add(d->log, lmcache_mp_op_names[op], chunk);
}

static int serve(struct server *d, uint64_t r, struct lmcache_mp_request *q)
{
    struct keys k;
    int rc = keys_make(&k, d->log, d->s, r, d->chunk_tokens, false);
    *q = (struct lmcache_mp_request){.chunk = k.prompt, .chunks = k.prompt_count};
    if (!rc)
        rc = lmcache_mp_look_up(d->cache, q);
    if (!rc) {
        lmcache_mp_read(d->cache, q);
        rc = lmcache_mp_store(d->cache, q->chunk + q->hit, q->chunks - q->hit);
    }
    if (!rc)
        lmcache_mp_end(d->cache, q);
    if (!rc && (r + 1) % d->tick == 0)
        lmcache_mp_evict(d->cache);
    keys_free(&k);
    return rc;
}

static int drive_server(const struct scenario *s, struct scenario_outcome *o, struct err *e)
{
    int64_t l2 = (int64_t)scenario_f64(s, "l2_capacity_chunks", 0);
    struct lmcache_mp_settings set = {
        .l1 = {scenario_u64(s, "l1_capacity_chunks", 0), scenario_f64(s, "trigger_watermark", 0.8),
               scenario_f64(s, "eviction_ratio", 0.2)},
        .l2 = {l2 < 0 ? UINT64_MAX : (uint64_t)l2, scenario_f64(s, "l2_trigger_watermark", 0.8),
               scenario_f64(s, "l2_eviction_ratio", 0.2)},
        .retain = !strcmp(scenario_text(s, "prefetch_policy", "default"), "retain"),
        .skip_l1 = !strcmp(scenario_text(s, "store_policy", "default"), "skip_l1"),
    };
    struct server d = {.s = s,
                       .chunk_tokens = scenario_u64(s, "chunk_size", 256),
                       .tick = scenario_u64(s, "eviction_tick_every_requests", 1)};
    int rc = op_log_open(&d.log, s, &(struct op_log_opts){0}, e);
    if (rc)
        return rc;
    d.cache = lmcache_mp_create(&set, told_mp, &d);
    if (!d.cache)
        rc = err_nomem(e, "chunks");
    for (uint64_t r = 0; !rc && r < s->rows; r++) {
        struct lmcache_mp_request q;
        if (serve(&d, r, &q))
            rc = err_nomem(e, "chunks");
        if (!rc)
            rc = op_log_compare(d.log, o, e);
        if (rc <= 0)
            break;
        op_log_number(d.log, o, "_hit_l1", q.hit - q.hit_l2);
        op_log_number(d.log, o, "_hit_l2", q.hit_l2);
        rc = 0;
    }
    if (!rc)
        rc = op_log_totals(d.log, o, e);
    lmcache_mp_free(d.cache);
    op_log_close(d.log);
    return rc < 0 ? rc : 0;
}

int drive_lmcache(const struct scenario *s, struct scenario_outcome *o, struct err *e)
{
    return strncmp(scenario_text(s, "mode", ""), "multi-process", 13) ? drive_in_process(s, o, e)
                                                                      : drive_server(s, o, e);
}
