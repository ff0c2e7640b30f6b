/* lmcache.c - drives our LMCache caches as the recordings were made: one request after the other,
 * or with `overlap` requests between look-up and load. */
#include "kvgen/manager/lmcache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/manager/chunk_keys.h"
#include "kvgen/manager/lmcache_mp.h"
#include "lib/base/memory.h"
#include "tests/engines/op_log.h"

enum {
    ID_TOKENS = 512
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

/* Names the chunks of row r. */
static void name_chunks(struct op_log *l, const struct scenario *s, uint64_t r,
                        const struct chunk_keys *k, uint64_t chunk)
{
    const struct scenario_row *row = &s->row[r];
    for (uint64_t i = 0; i < k->full_count; i++)
        name_chunk(l, row, r, k->full[i], i * chunk, (i + 1) * chunk, chunk);
    for (uint64_t i = k->prompt_full; i < k->prompt_count; i++)
        name_chunk(l, row, r, k->prompt[i], i * chunk, row->input_tokens, chunk);
}

/* Row r as a request, whose chunks get their names. 0 or -ENOMEM; the pieces are the caller's. */
static int make_request(struct kv_request *q, struct chain_piece **pieces, struct op_log *l,
                        const struct scenario *s, uint64_t r, uint64_t chunk, bool unfull)
{
    const struct scenario_row *row = &s->row[r];
    struct chunk_keys keys;
    *pieces = calloc(row->id_count + 2, sizeof(**pieces));
    if (!*pieces)
        return -ENOMEM;
    *q = (struct kv_request){
        .number = (uint32_t)r,
        .chain = {.pieces = *pieces, .count = scenario_pieces(s, r, ID_TOKENS, false, *pieces)},
        .prompt_tokens = row->input_tokens,
        .known_tokens = row->input_tokens,
        .max_load_tokens = KV_NO_LIMIT,
        .max_offload_tokens = KV_NO_LIMIT,
    };
    int rc = chunk_keys_make(&keys, &q->chain, q->prompt_tokens, chunk, unfull);
    if (!rc)
        name_chunks(l, s, r, &keys, chunk);
    chunk_keys_free(&keys);
    return rc;
}

/* Transfers that have begun. Zero it; the caller frees .transfer. */
struct under_way {
    struct {
        uint64_t id;
        bool is_write, done;
    } * transfer;
    size_t count, cap;
    bool failed;
};

static void under_way_add(struct under_way *u, const struct kv_transfer *t)
{
    if (memory_room(&u->transfer, &u->cap, u->count, sizeof(*u->transfer), 64) < 0) {
        u->failed = true;
        return;
    }
    u->transfer[u->count].id = t->id;
    u->transfer[u->count].done = false;
    u->transfer[u->count++].is_write = t->to == TRACE_STORAGE;
}

static void on_flush(void *ctx, uint64_t id)
{
    (void)ctx, (void)id; /* what is held stays held */
}

/* ---- the in-process engine ---- */

struct row {
    struct kv_request request;
    struct chain_piece *pieces;
    void *state;
    struct lmcache_request found; /* by its look-up */
    uint64_t to_load;             /* tokens */
};

struct in_process {
    const struct scenario *s;
    struct op_log *log;
    const struct kv_below_ops *ops;
    struct kv_below *below;
    struct lmcache_settings set;
    struct row *row;
    uint64_t step_tokens, held_for; /* requests that writes to L2 are held for */
    uint64_t loaded_tokens;
    uint64_t threads; /* that write to L2 */
    struct under_way transfers;
    bool hangs;
};

/* Operations by what is told of them. */
static const struct {
    enum kv_event_kind kind;
    const char *host, *disk; /* NULL: does not happen */
} op_names[] = {
    {KV_READ, "l1.load", "l2.load"},           {KV_PROMOTED, "l1.promote", NULL},
    {KV_STORED, "l1.store", "l2.store"},       {KV_KNOWN, "l1.dup", "l2.inflight"},
    {KV_DROPPED, "l1.evict", "l2.evict"},      {KV_TOUCHED, NULL, "l2.dup"},
    {KV_REFUSED, "l1.allocfail", "l2.reject"}, {KV_WAITS, "l1.hang", NULL},
};

static void on_event(void *ctx, const struct kv_event *e)
{
    struct in_process *d = ctx;
    for (size_t i = 0; i < sizeof(op_names) / sizeof(*op_names); i++) {
        if (op_names[i].kind != e->kind)
            continue;
        const char *name = e->tier == TRACE_CPU ? op_names[i].host : op_names[i].disk;
        if (e->kind == KV_WAITS)
            op_log_mark(d->log, name, "get");
        else if (e->kind == KV_REFUSED && e->tier == TRACE_CPU)
            op_log_mark(d->log, name, "store");
        else
            op_log_add(d->log, name, e->key);
    }
}

static void on_transfer(void *ctx, const struct kv_transfer *t)
{
    struct in_process *d = ctx;
    under_way_add(&d->transfers, t);
}

/* All transfers end, and those that begin with it; of files only with `writes`. */
static void settle(struct in_process *d, bool writes)
{
    struct under_way *u = &d->transfers;
    for (size_t i = 0; i < u->count; i++) {
        if (u->transfer[i].done || (u->transfer[i].is_write && !writes))
            continue;
        u->transfer[i].done = true;
        d->ops->transfer_done(d->below, u->transfer[i].id);
    }
    while (u->count && u->transfer[u->count - 1].done)
        u->count--;
}

static int step(struct in_process *d)
{
    int rc = d->ops->step_built(d->below);
    d->hangs = rc == -EDEADLK;
    if (rc)
        return rc;
    settle(d, !d->held_for);
    if (d->ops->step_done)
        d->ops->step_done(d->below);
    return d->transfers.failed ? -ENOMEM : 0;
}

static int look_up(struct in_process *d, uint64_t r)
{
    struct row *q = &d->row[r];
    struct kv_found found = {{0}, false, false};
    int rc = make_request(&q->request, &q->pieces, d->log, d->s, r, d->set.chunk_tokens,
                          d->set.save_unfull_chunk);
    if (!rc)
        rc = d->ops->arrive(d->below, &q->request, &q->state);
    if (rc)
        return rc;
    d->ops->look_up(d->below, q->state, 0, &found);
    q->found = *lmcache_below_request(q->state);
    q->to_load = found.tokens[TRACE_CPU] + found.tokens[TRACE_STORAGE];
    return 0;
}

/* Loads what was found, then stores what each step completes: of the prompt, then of the answer. */
static int load_and_store(struct in_process *d, uint64_t r)
{
    const struct scenario_row *row = &d->s->row[r];
    struct row *q = &d->row[r];
    uint64_t prompt = row->input_tokens, last = prompt + row->output_tokens - 1;
    uint64_t computed = q->found.hit_tokens;
    d->loaded_tokens = q->to_load ? computed : 0;
    d->ops->admitted(d->below, q->state, 0, q->to_load);
    int rc = step(d);
    while (!rc && computed < last) {
        uint64_t left = computed < prompt ? prompt - computed : 1;
        computed += d->step_tokens && d->step_tokens < left ? d->step_tokens : left;
        d->ops->offer(d->below, q->state, computed, NULL);
        rc = step(d);
    }
    if (!rc)
        d->ops->finished(d->below, q->state, NULL);
    return d->hangs ? 0 : rc;
}

/* All writes that were held end. */
static void flush(struct in_process *d)
{
    op_log_mark(d->log, "l2.flush", ".");
    settle(d, true);
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

/* Compares what a tier holds at the end. The recorded order is that of the engine's table: by time
 * for LRU, FIFO and MRU; for LFU it is not the order of eviction, nor with pins that stay for ever
 * or several threads. */
static int at_end(struct in_process *d, struct scenario_outcome *o, enum chunk_tier tier,
                  struct err *e)
{
    const struct chunks *c = lmcache_below_chunks(d->below);
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
        const struct chunks *c = lmcache_below_chunks(d->below);
        op_log_number(d->log, o, "_hit_l1", d->row[r].found.hit_l1);
        op_log_number(d->log, o, "_hit_l2", d->row[r].found.hit_l2);
        op_log_number(d->log, o, "_hit_tokens", d->row[r].found.hit_tokens);
        op_log_number(d->log, o, "_l1_n", chunks_count(c, CHUNK_L1));
        op_log_number(d->log, o, "_l2_n", chunks_count(c, CHUNK_L2));
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
        .ops = &lmcache_below_ops,
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
    const struct kv_listener l = {&d, on_event, on_transfer, on_flush};
    d.below = lmcache_below_create(&d.set, &l);
    d.row = calloc(s->rows + 1, sizeof(*d.row));
    if (d.below && d.row)
        rc = requests(&d, o, e);
    else
        rc = err_nomem(e, "requests");
    for (uint64_t r = 0; d.row && r < s->rows; r++) {
        if (d.row[r].state)
            d.ops->depart(d.below, d.row[r].state);
        free(d.row[r].pieces);
    }
    free(d.row);
    free(d.transfers.transfer);
    d.ops->free(d.below);
    op_log_close(d.log);
    return rc;
}

/* ---- the multi-process server ---- */

struct server {
    const struct scenario *s;
    struct op_log *log;
    const struct kv_below_ops *ops;
    struct kv_below *below;
    bool retain;
    uint64_t chunk_tokens, tick;
    struct under_way transfers;
};

static void on_event_mp(void *ctx, const struct kv_event *e)
{
    const struct server *d = ctx;
    const bool host = e->tier == TRACE_CPU;
    const char *name = NULL;
    switch (e->kind) {
    case KV_READ:
        name = host ? "read" : "l2.load";
        break;
    case KV_STORED:
        name = host ? "l1.store" : "l2.store";
        break;
    case KV_REFUSED:
        name = "l1.oom";
        break;
    case KV_DROPPED: /* the loop's, or at the end of a request's read */
        name = e->request ? "l1.droptemp" : host ? "l1.evict" : "l2.evict";
        break;
    case KV_DEMOTED:
        name = "l1.delete";
        break;
    case KV_PROMOTED:
        name = d->retain ? "l1.promote" : "l1.temp";
        break;
    case KV_KNOWN:
        name = "l2.dup";
        break;
    default:
        return;
    }
    op_log_add(d->log, name, e->key);
}

static void on_transfer_mp(void *ctx, const struct kv_transfer *t)
{
    struct server *d = ctx;
    under_way_add(&d->transfers, t);
}

static void settle_mp(struct server *d)
{
    for (size_t i = 0; i < d->transfers.count; i++)
        d->ops->transfer_done(d->below, d->transfers.transfer[i].id);
    d->transfers.count = 0;
}

static int serve(struct server *d, uint64_t r, struct lmcache_mp_request *found)
{
    struct kv_request q;
    struct chain_piece *pieces;
    void *state = NULL;
    struct kv_found f = {{0}, false, false};
    int rc = make_request(&q, &pieces, d->log, d->s, r, d->chunk_tokens, false);
    if (!rc)
        rc = d->ops->arrive(d->below, &q, &state);
    if (!rc) {
        while (d->ops->look_up(d->below, state, 0, &f) != KV_FOUND)
            settle_mp(d);
        *found = *lmcache_mp_below_request(state);
        d->ops->admitted(d->below, state, 0, f.tokens[TRACE_CPU] + f.tokens[TRACE_STORAGE]);
        settle_mp(d);
        d->ops->offer(d->below, state, q.prompt_tokens, NULL);
        settle_mp(d);
        d->ops->finished(d->below, state, NULL);
        rc = d->ops->step_built(d->below);
        d->ops->depart(d->below, state);
    }
    if (!rc && (r + 1) % d->tick == 0)
        d->ops->second(d->below);
    free(pieces);
    return rc || d->transfers.failed ? -ENOMEM : 0;
}

static int drive_server(const struct scenario *s, struct scenario_outcome *o, struct err *e)
{
    const char *policy = scenario_text(s, "eviction_policy", "LRU");
    if (strcmp(policy, "LRU") != 0 && strcmp(policy, "ARC") != 0)
        return err_set(e, 0, ERR_INPUT, s->folder, "eviction_policy \"%s\" is not known", policy);
    int64_t l2 = (int64_t)scenario_f64(s, "l2_capacity_chunks", 0);
    const struct lmcache_mp_opts opts = {
        .chunk_tokens = scenario_u64(s, "chunk_size", 256),
        .settings = {.l1 = {scenario_u64(s, "l1_capacity_chunks", 0),
                            scenario_f64(s, "trigger_watermark", 0.8),
                            scenario_f64(s, "eviction_ratio", 0.2)},
                     .l2 = {l2 < 0 ? UINT64_MAX : (uint64_t)l2,
                            scenario_f64(s, "l2_trigger_watermark", 0.8),
                            scenario_f64(s, "l2_eviction_ratio", 0.2)},
                     .arc = !strcmp(policy, "ARC"),
                     .retain = !strcmp(scenario_text(s, "prefetch_policy", "default"), "retain"),
                     .skip_l1 = !strcmp(scenario_text(s, "store_policy", "default"), "skip_l1")}};
    struct server d = {.s = s,
                       .ops = &lmcache_mp_below_ops,
                       .retain = opts.settings.retain,
                       .chunk_tokens = opts.chunk_tokens,
                       .tick = scenario_u64(s, "eviction_tick_every_requests", 1)};
    const struct kv_listener l = {&d, on_event_mp, on_transfer_mp, on_flush};
    int rc = op_log_open(&d.log, s, &(struct op_log_opts){0}, e);
    if (rc)
        return rc;
    d.below = lmcache_mp_below_create(&opts, &l);
    if (!d.below)
        rc = err_nomem(e, "chunks");
    for (uint64_t r = 0; !rc && r < s->rows; r++) {
        struct lmcache_mp_request q = {0};
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
    d.ops->free(d.below);
    free(d.transfers.transfer);
    op_log_close(d.log);
    return rc < 0 ? rc : 0;
}

int drive_lmcache(const struct scenario *s, struct scenario_outcome *o, struct err *e)
{
    return strncmp(scenario_text(s, "mode", ""), "multi-process", 13) ? drive_in_process(s, o, e)
                                                                      : drive_server(s, o, e);
}
