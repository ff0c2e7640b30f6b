/* sglang.c - drives our SGLang cache as the recordings were made: one request after the other, or
 * with `overlap` requests between prefill and end. */
#include "kvgen/manager/sglang.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/id_table.h"
#include "lib/base/memory.h"
#include "tests/engines/op_log.h"

enum {
    ID_TOKENS = 512
};

struct row {
    struct kv_request request;
    struct chain_piece *pieces;
    struct sglang_request found; /* by its look-up, and what was loaded of it */
};

struct transfer {
    uint64_t id;
    bool copies, done; /* copies: down */
};

struct driver {
    const struct scenario *s;
    struct op_log *log;
    const struct kv_cache_ops *ops;
    struct kv_cache *cache;
    struct sglang_settings set;
    struct row *row;
    struct transfer *transfer; /* under way */
    size_t transfers, cap;
    struct id_table device, host, loading; /* pages */
    uint64_t chunk_tokens;                 /* of a prefill; 0: the whole prompt */
    bool decodes, failed;
};

static bool has(const struct id_table *t, uint64_t page)
{
    return id_table_find(t, page) != ID_NONE;
}

static void set(struct driver *d, struct id_table *t, uint64_t page, bool there)
{
    if (there && !has(t, page)) {
        if (id_table_reserve(t, 1))
            d->failed = true;
        else
            id_table_add(t, page);
    } else if (!there && has(t, page))
        id_table_remove(t, id_table_find(t, page));
}

/* Its name in the recordings. */
static const char *op_of(const struct driver *d, const struct kv_event *e)
{
    switch (e->kind) {
    case KV_CACHED:
        return has(&d->loading, e->key) ? "dev.load"
               : has(&d->host, e->key)  ? "dev.restore"
                                        : "dev.store";
    case KV_DEMOTED:
        return "dev.demote";
    case KV_DROPPED:
        return e->tier == TRACE_GPU       ? "dev.drop"
               : e->tier == TRACE_STORAGE ? "l3.evict"
               : has(&d->device, e->key)  ? "host.evictdup"
                                          : "host.evict";
    case KV_STORED:
        return e->tier == TRACE_CPU ? "host.store" : "l3.store";
    case KV_PROMOTED:
        return "host.prefetch";
    case KV_READ:
        return "l3.load";
    case KV_TOUCHED:
        return "l3.dup";
    case KV_REFUSED:
        return "l3.reject";
    default:
        return NULL;
    }
}

static void on_event(void *ctx, const struct kv_event *e)
{
    struct driver *d = ctx;
    const char *op = op_of(d, e);
    if (op)
        op_log_add(d->log, op, e->key);
    struct id_table *t = e->tier == TRACE_GPU ? &d->device : e->tier == TRACE_CPU ? &d->host : NULL;
    if (t)
        set(d, t, e->key, e->kind != KV_DROPPED && e->kind != KV_DEMOTED);
    set(d, &d->loading, e->key, false);
}

static void on_transfer(void *ctx, const struct kv_transfer *t)
{
    struct driver *d = ctx;
    if (memory_room(&d->transfer, &d->cap, d->transfers, sizeof(*d->transfer), 64) < 0) {
        d->failed = true;
        return;
    }
    d->transfer[d->transfers++] =
        (struct transfer){.id = t->id, .copies = t->kind == KV_STORE || t->kind == KV_WRITE};
    for (uint64_t i = 0; t->kind == KV_LOAD && i < t->count; i++)
        set(d, &d->loading, t->keys[i], true);
}

static void on_flush(void *ctx, uint64_t id)
{
    (void)ctx, (void)id; /* files are written between requests */
}

/* Transfers end, and those that begin with it; copies to host and files only where it says so. */
static void settle(struct driver *d, bool copies)
{
    for (size_t i = 0; i < d->transfers; i++) {
        if (d->transfer[i].done || (d->transfer[i].copies && !copies))
            continue;
        d->transfer[i].done = true;
        d->ops->transfer_done(d->cache, d->transfer[i].id);
    }
    while (d->transfers && d->transfer[d->transfers - 1].done)
        d->transfers--;
}

/* Row r as a request, whose pages get their names. 0 or -ENOMEM. */
static int make_request(struct driver *d, uint64_t r)
{
    const struct scenario_row *row = &d->s->row[r];
    uint64_t size = d->set.page_tokens, pages = (row->input_tokens + row->output_tokens) / size;
    struct row *q = &d->row[r];
    q->pieces = calloc(row->id_count + 2, sizeof(*q->pieces));
    if (!q->pieces)
        return -ENOMEM;
    q->request = (struct kv_request){
        .number = (uint32_t)r,
        .chain = {.pieces = q->pieces,
                  .count = scenario_pieces(d->s, r, ID_TOKENS, false, q->pieces)},
        .prompt_tokens = row->input_tokens,
        .known_tokens = row->input_tokens,
    };
    struct chain_walk walk = {.chain = &q->request.chain, .key = chain_root(0)};
    for (uint64_t i = 0; i < pages; i++) {
        uint64_t last = (i + 1) * size - 1, key = chain_key(&walk, last + 1);
        if (last < row->input_tokens)
            op_log_name(d->log, key, "%llu.%llu", (unsigned long long)row->ids[last / ID_TOKENS],
                        (unsigned long long)(last % ID_TOKENS / size));
        else
            op_log_name(d->log, key, "o%llu.%llu", (unsigned long long)r,
                        (unsigned long long)(last - row->input_tokens));
    }
    return 0;
}

static int prefill(struct driver *d, uint64_t r)
{
    struct kv_request *q = &d->row[r].request;
    struct kv_found found;
    int rc = make_request(d, r);
    if (!rc)
        rc = d->ops->arrive(d->cache, q);
    if (rc)
        return rc;
    settle(d, false);
    if (d->ops->look_up(d->cache, q, &found) != KV_FOUND)
        return -EAGAIN;
    d->row[r].found = *sglang_cache_request(q);
    const uint64_t there =
        found.tokens[TRACE_GPU] + found.tokens[TRACE_CPU] + found.tokens[TRACE_STORAGE];
    for (uint64_t at = there, step; !rc && at < q->prompt_tokens; at += step) {
        const uint64_t left = q->prompt_tokens - at;
        step = d->chunk_tokens && d->chunk_tokens < left ? d->chunk_tokens : left;
        const struct kv_room room = {.tokens = step};
        if (at == there ? !d->ops->admit(d->cache, q, &room) : !d->ops->extend(d->cache, q, step))
            return -EAGAIN;
        if (at == there)
            d->row[r].found.loaded = sglang_cache_request(q)->loaded;
        settle(d, false);
        q->computed_tokens = at;
        d->ops->scheduled(d->cache, q, step);
        rc = d->ops->step_built(d->cache);
        q->computed_tokens = at + step;
    }
    return rc;
}

static int finish(struct driver *d, uint64_t r)
{
    struct kv_request *q = &d->row[r].request;
    const uint64_t answer = d->decodes ? d->s->row[r].output_tokens - 1 : 0;
    for (uint64_t i = 0; i < answer; i++) {
        q->known_tokens++;
        if (!d->ops->extend(d->cache, q, 1))
            return -EAGAIN;
        q->computed_tokens++;
    }
    q->known_tokens++;
    d->ops->finished(d->cache, q);
    int rc = d->ops->step_built(d->cache);
    d->ops->depart(d->cache, q);
    return rc;
}

static int requests(struct driver *d, struct scenario_outcome *o, struct err *e)
{
    uint64_t overlap = scenario_u64(d->s, "overlap", 1), rows = d->s->rows;
    for (uint64_t r = 0; r + 1 < rows + overlap; r++) {
        uint64_t done = r + 1 >= overlap ? r + 1 - overlap : UINT64_MAX;
        int rc = r < rows ? prefill(d, r) : 0;
        if (!rc && done != UINT64_MAX) {
            if (overlap > 1 && r < rows)
                op_log_mark(d->log, "finish", "%llu", (unsigned long long)done);
            rc = finish(d, done);
        }
        settle(d, true);
        if (!rc && d->failed)
            rc = -ENOMEM;
        if (rc)
            return rc == -ENOMEM
                       ? err_nomem(e, "pages")
                       : err_set(e, rc, ERR_INPUT, d->s->folder,
                                 "request %llu does not fit on the device", (unsigned long long)r);
        /* Work after the last request was recorded by its numbers only. */
        rc = r < rows ? op_log_compare(d->log, o, e) : op_log_skip(d->log, e);
        if (rc <= 0)
            return rc;
        if (r >= rows)
            continue;
        uint64_t size = d->set.page_tokens;
        const struct sglang *state = sglang_cache_state(d->cache);
        const struct sglang_request *found = &d->row[r].found;
        op_log_number(d->log, o, "_hit_dev", found->hit_device);
        op_log_number(d->log, o, "_hit_host", found->hit_host);
        op_log_number(d->log, o, "_loaded_host", found->loaded);
        op_log_number(d->log, o, "_l3_tokens", found->prefetched);
        op_log_number(d->log, o, "_dev_free", sglang_device_free(state) * size);
        op_log_number(d->log, o, "_host_free", sglang_host_free(state) * size);
    }
    return op_log_totals(d->log, o, e);
}

/* The number of a name in a list; -1: it is not in it. */
static int find_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

int drive_sglang(const struct scenario *s, struct scenario_outcome *o, struct err *e)
{
    uint64_t size = scenario_u64(s, "page_size", 64);
    const char *write = scenario_text(s, "write_policy", "write_through");
    const char *order = scenario_text(s, "radix_eviction_policy", "lru");
    int write_number = find_name(sglang_write_names, SGLANG_WRITES, write);
    int order_number = find_name(sglang_order_names, PAGE_ORDERS, order);
    if (order_number < 0 || (write_number < 0 && scenario_u64(s, "host_capacity_tokens", 0) > 0))
        return err_set(e, 0, ERR_INPUT, s->folder, "policy \"%s\" or \"%s\" is not known", write,
                       order);
    struct driver d = {
        .s = s,
        .ops = &sglang_cache_ops,
        .set = {.page_tokens = size,
                .device_pages = scenario_u64(s, "device_capacity_tokens", 0) / size,
                .host_pages = scenario_u64(s, "host_capacity_tokens", 0) / size,
                .write = write_number < 0 ? SGLANG_WRITE_THROUGH : (enum sglang_write)write_number,
                .order = (enum page_order)order_number,
                .load_back_threshold = scenario_u64(s, "load_back_threshold", 10),
                .files = !strcmp(scenario_text(s, "storage", ""), "file"),
                .files_max_pages = scenario_u64(s, "storage_max_pages", 0),
                .files_ratio = scenario_f64(s, "storage_eviction_ratio", 0.9),
                .prefetch_threshold = scenario_u64(s, "prefetch_threshold", 256)},
        .chunk_tokens = scenario_u64(s, "chunked_prefill", 0),
        .decodes = scenario_bool(s, "decode_tokens", true),
    };
    /* With write_back a thread writes the files while the device goes on evicting. */
    const struct op_log_opts opts = {.page_tokens = size,
                                     .apart = d.set.write == SGLANG_WRITE_BACK ? "l3." : NULL};
    int rc = op_log_open(&d.log, s, &opts, e);
    if (rc)
        return rc;
    const struct kv_listener l = {&d, on_event, on_transfer, on_flush};
    d.cache = sglang_cache_create(&d.set, &l);
    d.row = calloc(s->rows + 1, sizeof(*d.row));
    if (d.cache && d.row)
        rc = requests(&d, o, e);
    else
        rc = err_nomem(e, "pages");
    for (uint64_t r = 0; d.row && r < s->rows; r++) {
        if (d.row[r].request.state)
            d.ops->depart(d.cache, &d.row[r].request);
        free(d.row[r].pieces);
    }
    free(d.row);
    free(d.transfer);
    id_table_free(&d.device);
    id_table_free(&d.host);
    id_table_free(&d.loading);
    d.ops->free(d.cache);
    op_log_close(d.log);
    return rc;
}
