/* sglang.c - drives our SGLang cache as the recordings were made: one request after the other, or
 * with `overlap` requests between prefill and end. */
#include "kvgen/cache/sglang.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/engines/op_log.h"

enum {
    ID_TOKENS = 512
};

struct driver {
    const struct scenario *s;
    struct op_log *log;
    struct sglang *cache;
    struct sglang_settings set;
    struct sglang_request *request; /* by row */
    uint64_t **page;                /* keys by row; NULL: done */
    uint64_t chunk_tokens;          /* of a prefill; 0: the whole prompt */
    bool decodes;
};

static void told(void *arg, enum sglang_op op, uint64_t page)
{
    struct driver *d = arg;
    op_log_add(d->log, sglang_op_names[op], page);
}

/* The keys of a row's pages, which get their names. 0 or -ENOMEM. */
static int make_pages(struct driver *d, uint64_t r)
{
    const struct scenario_row *row = &d->s->row[r];
    uint64_t size = d->set.page_tokens, pages = (row->input_tokens + row->output_tokens) / size;
    struct chain_piece *pieces = calloc(row->id_count + 2, sizeof(*pieces));
    d->page[r] = calloc(pages + 1, sizeof(**d->page));
    if (!pieces || !d->page[r]) {
        free(pieces);
        return -ENOMEM;
    }
    struct chain chain = {pieces, scenario_pieces(d->s, r, ID_TOKENS, false, pieces)};
    struct chain_walk walk = {.chain = &chain, .key = chain_root(0)};
    for (uint64_t i = 0; i < pages; i++) {
        uint64_t last = (i + 1) * size - 1, key = chain_key(&walk, last + 1);
        if (last < row->input_tokens)
            op_log_name(d->log, key, "%llu.%llu", (unsigned long long)row->ids[last / ID_TOKENS],
                        (unsigned long long)(last % ID_TOKENS / size));
        else
            op_log_name(d->log, key, "o%llu.%llu", (unsigned long long)r,
                        (unsigned long long)(last - row->input_tokens));
        d->page[r][i] = key;
    }
    free(pieces);
    return 0;
}

static int prefill(struct driver *d, uint64_t r)
{
    struct sglang_request *q = &d->request[r];
    int rc = make_pages(d, r);
    *q = (struct sglang_request){.page = d->page[r], .prompt = d->s->row[r].input_tokens};
    if (!rc)
        rc = sglang_arrive(d->cache, q);
    if (!rc)
        rc = sglang_match(d->cache, q);
    if (!rc)
        rc = sglang_admit(d->cache, q);
    uint64_t at = q->own * d->set.page_tokens;
    while (!rc && at < q->prompt) {
        uint64_t left = q->prompt - at;
        uint64_t step = d->chunk_tokens && d->chunk_tokens < left ? d->chunk_tokens : left;
        rc = sglang_reserve(d->cache, q, at, at + step);
        sglang_loaded(d->cache);
        if (!rc)
            rc = sglang_insert(d->cache, q, at + step);
        at += step;
    }
    return rc;
}

static int finish(struct driver *d, uint64_t r)
{
    struct sglang_request *q = &d->request[r];
    uint64_t last = d->decodes ? q->prompt + d->s->row[r].output_tokens - 1 : q->prompt;
    int rc = 0;
    for (uint64_t t = q->prompt; !rc && t < last; t++)
        rc = sglang_decode(d->cache, q, t);
    if (!rc)
        rc = sglang_finish(d->cache, q, last);
    free(d->page[r]);
    d->page[r] = NULL;
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
        if (!rc)
            rc = sglang_poll(d->cache);
        if (rc)
            return rc == -ENOMEM
                       ? err_nomem(e, "pages")
                       : err_set(e, rc, ERR_INPUT, d->s->folder,
                                 "request %llu does not fit on the device", (unsigned long long)r);
        /* What is done after the last request was recorded by its numbers only. */
        rc = r < rows ? op_log_compare(d->log, o, e) : op_log_skip(d->log, e);
        if (rc <= 0)
            return rc;
        if (r >= rows)
            continue;
        uint64_t size = d->set.page_tokens;
        op_log_number(d->log, o, "_hit_dev", d->request[r].hit_device);
        op_log_number(d->log, o, "_hit_host", d->request[r].hit_host);
        op_log_number(d->log, o, "_loaded_host", d->request[r].loaded);
        op_log_number(d->log, o, "_l3_tokens", d->request[r].prefetched);
        op_log_number(d->log, o, "_dev_free", sglang_device_free(d->cache) * size);
        op_log_number(d->log, o, "_host_free", sglang_host_free(d->cache) * size);
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
    d.cache = sglang_create(&d.set, told, &d);
    d.request = calloc(s->rows + 1, sizeof(*d.request));
    d.page = calloc(s->rows + 1, sizeof(*d.page));
    if (d.cache && d.request && d.page)
        rc = requests(&d, o, e);
    else
        rc = err_nomem(e, "pages");
    for (uint64_t r = 0; d.page && r < s->rows; r++)
        free(d.page[r]);
    free(d.page);
    free(d.request);
    sglang_free(d.cache);
    op_log_close(d.log);
    return rc;
}
