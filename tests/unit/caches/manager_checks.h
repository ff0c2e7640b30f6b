/* manager_checks.h - a manager under the scheduler: random conversations that share prefixes, with
 * transfers that take random numbers of steps, and a book of what each tier holds that is held
 * against what is told. A file that includes this has one test program. */
#ifndef TESTS_UNIT_CACHES_MANAGER_CHECKS_H
#define TESTS_UNIT_CACHES_MANAGER_CHECKS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/id_table.h"
#include "kvgen/rng.h"
#include "kvgen/serve/scheduler.h"

enum {
    CHECKED_REQUESTS = 60,
    CHECKED_PIECES = 24,
    CHECKED_TRANSFERS = 4096,
    CHECKED_STEPS = 30000
};

/* The keys that a tier holds; on the GPU how often (twins). */
struct book {
    struct id_table keys;
    uint32_t *copies; /* by number */
    uint64_t count, peak;
};

struct checked_transfer {
    uint64_t id;
    enum kv_transfer_kind kind;
    enum trace_tier from, to;
    struct serve_request *request;
    uint64_t *key;
    uint64_t count, due;
    bool in_step, done;
};

/* A run. The caller sets the first part. */
struct checked {
    struct rng *rng;
    const struct kv_cache_ops *ops;
    struct kv_cache *cache;
    uint64_t most[TRACE_TIERS]; /* copies that a tier has room for */
    bool same_units;            /* a key names the same tokens in each tier */
    bool host_twins;            /* the host may have two copies of a key for a while */
    bool files_untold;          /* what files have is not told by events */
    bool async;

    struct scheduler *scheduler;
    struct serve_request request[CHECKED_REQUESTS];
    struct chain_piece piece[CHECKED_REQUESTS][CHECKED_PIECES];
    uint64_t requests;
    struct book book[TRACE_TIERS];
    struct checked_transfer transfer[CHECKED_TRANSFERS];
    uint64_t transfers, step, gone;
    uint64_t done[4], found[TRACE_TIERS], drops[TRACE_TIERS], refusals, endless; /* done: by kind */
};

static bool book_has(const struct book *b, uint64_t key)
{
    return id_table_find(&b->keys, key) != ID_NONE;
}

static void book_add(struct book *b, uint64_t key)
{
    uint32_t n = id_table_find(&b->keys, key);
    if (n == ID_NONE) {
        assert_int_equal(id_table_reserve(&b->keys, 1), 0);
        b->copies = realloc(b->copies, b->keys.cap * sizeof(*b->copies));
        assert_non_null(b->copies);
        n = id_table_add(&b->keys, key);
        b->copies[n] = 0;
    }
    b->copies[n]++;
    b->count++;
    if (b->count > b->peak)
        b->peak = b->count;
}

static void book_remove(struct book *b, uint64_t key, bool twin)
{
    const uint32_t n = id_table_find(&b->keys, key);
    assert_true(n != ID_NONE);
    b->count--;
    b->copies[n]--;
    assert_int_equal(b->copies[n] > 0, twin);
    if (!twin)
        id_table_remove(&b->keys, n);
}

/* A copy being read stays, and one read within a step stays for whoever comes after it. */
static void check_not_read(const struct checked *c, enum trace_tier tier, uint64_t key)
{
    for (uint64_t i = 0; i < c->transfers; i++) {
        const struct checked_transfer *t = &c->transfer[i];
        if (t->done || t->in_step || tier == TRACE_GPU || t->from != tier)
            continue;
        for (uint64_t k = 0; k < t->count; k++)
            assert_true(t->key[k] != key ||
                        c->book[tier].copies[id_table_find(&c->book[tier].keys, key)] > 1);
    }
}

static void checked_event(void *ctx, const struct kv_event *e)
{
    struct checked *c = ctx;
    struct book *b = &c->book[e->tier];
    switch (e->kind) {
    case KV_STORED:
    case KV_PROMOTED:
        assert_true((c->host_twins && e->tier == TRACE_CPU) || !book_has(b, e->key));
        book_add(b, e->key);
        break;
    case KV_CACHED:
        book_add(b, e->key);
        break;
    case KV_DEMOTED:
    case KV_DROPPED:
        check_not_read(c, e->tier, e->key);
        book_remove(b, e->key, e->twin);
        c->drops[e->tier]++;
        break;
    case KV_READ:
    case KV_TOUCHED:
        assert_true(book_has(b, e->key));
        break;
    case KV_REFUSED:
        c->refusals++;
        break;
    case KV_ENDLESS:
        c->endless++;
        break;
    default:
        break;
    }
    assert_true(b->count <= c->most[e->tier]);
}

static void checked_transfer(void *ctx, const struct kv_transfer *t)
{
    struct checked *c = ctx;
    assert_true(c->transfers < CHECKED_TRANSFERS);
    assert_true(t->count > 0);
    struct checked_transfer *n = &c->transfer[c->transfers++];
    *n = (struct checked_transfer){.id = t->id,
                                   .kind = t->kind,
                                   .from = t->from,
                                   .to = t->to,
                                   .count = t->count,
                                   .in_step = t->in_step,
                                   .due = c->step + rng_below(c->rng, 4)};
    n->key = malloc(t->count * sizeof(*n->key));
    assert_non_null(n->key);
    memcpy(n->key, t->keys, t->count * sizeof(*n->key));
    n->request = t->request ? &c->request[t->request->number] : NULL;
    for (uint64_t i = 0; i < t->count; i++) {
        if (c->files_untold && t->to == TRACE_STORAGE && !book_has(&c->book[t->to], t->keys[i]))
            book_add(&c->book[TRACE_STORAGE], t->keys[i]);
        if (t->from != TRACE_GPU || c->same_units)
            assert_true(book_has(&c->book[t->from], t->keys[i]));
        if (t->to != TRACE_GPU)
            assert_true(book_has(&c->book[t->to], t->keys[i]));
    }
}

static void checked_flush(void *ctx, uint64_t id)
{
    struct checked *c = ctx;
    for (uint64_t i = 0; i < c->transfers; i++)
        if (c->transfer[i].id == id)
            c->transfer[i].in_step = true;
}

static void checked_gone(void *ctx, struct serve_request *r)
{
    struct checked *c = ctx;
    assert_int_equal(r->outputs, r->output_tokens);
    c->gone++;
}

static void checked_admitted(void *ctx, const struct serve_request *r, enum admission_kind kind,
                             const struct kv_found *found)
{
    struct checked *c = ctx;
    (void)r, (void)kind;
    for (int t = 0; t < TRACE_TIERS; t++)
        c->found[t] += found->tokens[t];
}

/* Transfers end: those within the step, or those that are due. */
static void checked_end_transfers(struct checked *c, bool in_step)
{
    for (uint64_t i = 0; i < c->transfers; i++) {
        struct checked_transfer *t = &c->transfer[i];
        if (t->done || (in_step ? !t->in_step : t->due > c->step))
            continue;
        t->done = true;
        c->done[t->kind]++;
        c->ops->transfer_done(c->cache, t->id);
        if (t->kind == KV_LOAD && t->request->state == SERVE_LOADING)
            scheduler_loaded(c->scheduler, t->request);
    }
    uint64_t left = 0;
    for (uint64_t i = 0; i < c->transfers; i++) {
        if (c->transfer[i].done)
            free(c->transfer[i].key);
        else
            c->transfer[left++] = c->transfer[i];
    }
    c->transfers = left;
}

/* A few conversations, of which each request takes some turns and says something of its own. */
static void checked_request(struct checked *c, uint64_t n, uint64_t most_tokens)
{
    struct chain_piece *p = c->piece[n];
    const uint64_t conversation = rng_below(c->rng, 6),
                   turns = rng_below(c->rng, CHECKED_PIECES - 3);
    uint64_t pieces = 0, tokens = 0;
    for (uint64_t i = 0; i <= turns && tokens < most_tokens; i++) {
        const uint64_t content = i == 0 ? 1 + conversation % 2 : 10 + conversation * 100 + i;
        p[pieces] = (struct chain_piece){content, 1 + content * 7919 % 60};
        tokens += p[pieces++].tokens;
    }
    struct serve_request *r = &c->request[n];
    r->output_tokens = 1 + rng_below(c->rng, 40);
    p[pieces++] = (struct chain_piece){1000000 + n, r->output_tokens};
    r->kv = (struct kv_request){.number = (uint32_t)n,
                                .chain = {.pieces = p, .count = pieces},
                                .prompt_tokens = tokens,
                                .max_load_tokens = KV_NO_LIMIT,
                                .max_offload_tokens = KV_NO_LIMIT};
}

static void checked_open(struct checked *c, const struct scheduler_opts *o)
{
    const struct scheduler_listener sl = {
        .ctx = c, .admitted = checked_admitted, .gone = checked_gone};
    c->scheduler = scheduler_create(o, c->ops, c->cache, &sl);
    assert_non_null(c->scheduler);
}

/* One step; asynchronous: with the outputs of the one before, which *last was. 0, or what schedule
 * said. */
static int checked_step(struct checked *c, struct step *last)
{
    struct step step = {0};
    c->step++;
    assert_true(c->step < CHECKED_STEPS);
    if (scheduler_has_work(c->scheduler)) {
        const int rc = scheduler_schedule(c->scheduler, &step);
        if (rc)
            return rc;
    }
    checked_end_transfers(c, true);
    const struct step outputs = c->async ? *last : step;
    *last = step;
    if (outputs.number)
        scheduler_outputs(c->scheduler, &outputs);
    checked_end_transfers(c, false);
    return 0;
}

/* Serves random requests of up to about that many tokens. Returns 0, or what schedule said. */
static int checked_run(struct checked *c, uint64_t most_tokens)
{
    const struct scheduler_opts so = {.step_tokens = 16 + rng_below(c->rng, 200),
                                      .max_running = 1 + rng_below(c->rng, 8),
                                      .max_tokens = KV_NO_LIMIT,
                                      .async = c->async,
                                      .connector = true,
                                      .whole_prompts = true,
                                      .chunks = true,
                                      .prefill_interval = 1};
    struct step last = {0};
    checked_open(c, &so);
    while (c->requests < CHECKED_REQUESTS ||
           ((scheduler_has_work(c->scheduler) || (c->async && last.number)) &&
            !scheduler_is_stuck(c->scheduler))) {
        for (uint64_t n = rng_below(c->rng, 3); n > 0 && c->requests < CHECKED_REQUESTS; n--) {
            checked_request(c, c->requests, most_tokens);
            assert_int_equal(scheduler_add(c->scheduler, &c->request[c->requests]), 0);
            c->requests++;
        }
        const int rc = checked_step(c, &last);
        if (rc)
            return rc;
        if (c->ops->second && rng_below(c->rng, 5) == 0)
            c->ops->second(c->cache);
    }
    return 0;
}

/* Only requests that fetch for ever are left. */
static void check_endless(const struct checked *c)
{
    uint64_t left = 0;
    for (const struct serve_request *r = scheduler_waiting(c->scheduler); r; r = r->next, left++)
        assert_true(r->kv.endless);
    assert_true(left > 0 && left <= c->endless);
    assert_int_equal(c->gone + left, c->requests);
}

/* All has left: nothing is under way, nothing is held. */
static void checked_end(struct checked *c)
{
    assert_int_equal(c->gone, c->requests);
    assert_int_equal(c->transfers, 0);
    assert_int_equal(c->ops->room_free(c->cache), c->ops->room(c->cache));
    assert_false(c->ops->busy(c->cache));
}

static void checked_free(struct checked *c)
{
    scheduler_free(c->scheduler);
    c->ops->free(c->cache);
    for (uint64_t i = 0; i < c->transfers; i++)
        free(c->transfer[i].key);
    for (int t = 0; t < TRACE_TIERS; t++) {
        id_table_free(&c->book[t].keys);
        free(c->book[t].copies);
    }
}

#endif
