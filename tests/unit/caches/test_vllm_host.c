/* vLLM's host tier: its ARC and its LRU against plain lists that are searched, and the memory of a
 * chunk. A bug looked like a ghost that took as much room as a chunk, one that was forgotten twice,
 * or a victim of a request that runs where one of a request that ended was older. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kvgen/cache/vllm_host.h"
#include "kvgen/rng.h"
#include "tests/unit/scale.h"

enum {
    T1,
    T2,
    B1,
    B2,
    LISTS,
    KEYS = 40,
    MOST = 12
};

/* Oldest first. */
struct model {
    uint64_t key[LISTS][3 * MOST], count[LISTS];
    double target;
    uint64_t capacity;
    uint64_t dropped[MOST], drops;
};

static uint64_t find(const struct model *m, int list, uint64_t key)
{
    uint64_t i = 0;
    while (i < m->count[list] && m->key[list][i] != key)
        i++;
    return i;
}

static bool has(const struct model *m, int list, uint64_t key)
{
    return find(m, list, key) < m->count[list];
}

static void take(struct model *m, int list, uint64_t key)
{
    uint64_t i = find(m, list, key);
    if (i == m->count[list])
        return;
    for (m->count[list]--; i < m->count[list]; i++)
        m->key[list][i] = m->key[list][i + 1];
}

static void append(struct model *m, int list, uint64_t key)
{
    m->key[list][m->count[list]++] = key;
}

static void model_miss(struct model *m, uint64_t key)
{
    const double b1 = (double)m->count[B1], b2 = (double)m->count[B2];
    if (has(m, B1, key)) {
        m->target += b2 / b1 > 1 ? b2 / b1 : 1;
        if (m->target > (double)m->capacity)
            m->target = (double)m->capacity;
        take(m, B1, key);
        append(m, B1, key);
    } else if (has(m, B2, key)) {
        m->target -= b1 / b2 > 1 ? b1 / b2 : 1;
        if (m->target < 0)
            m->target = 0;
        take(m, B2, key);
        append(m, B2, key);
    }
}

static void model_make_room(struct model *m)
{
    m->drops = 0;
    if (m->count[T1] + m->count[T2] < m->capacity)
        return;
    const int from =
        m->count[T1] && (m->count[T1] >= (uint64_t)m->target || !m->count[T2]) ? T1 : T2;
    const uint64_t key = m->key[from][0];
    take(m, from, key);
    append(m, from + B1, key);
    if (m->count[from + B1] > m->capacity)
        take(m, from + B1, m->key[from + B1][0]);
    m->dropped[m->drops++] = key;
}

static void on_event(void *ctx, const struct kv_event *e)
{
    struct model *m = ctx;
    assert_int_equal(e->kind, KV_DROPPED);
    assert_int_equal(e->tier, TRACE_CPU);
    assert_true(m->drops > 0);
    assert_int_equal(m->dropped[--m->drops], e->key);
}

static void test_arc_is_that_of_plain_lists(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 7, 0);
    const int runs = scaled(300);
    for (int run = 0; run < runs; run++) {
        struct model m = {.capacity = 1 + rng_below(&rng, MOST)};
        const struct kv_listener l = {.ctx = &m, .event = on_event};
        struct vllm_host *h = vllm_host_create(m.capacity, true, NULL);
        assert_non_null(h);
        for (int i = 0; i < 400; i++) {
            struct vllm_host_request r = {0};
            const uint64_t key = 1 + rng_below(&rng, KEYS) * rng_below(&rng, KEYS) / KEYS;
            const uint32_t chunk = vllm_host_find(h, key);
            assert_int_equal(chunk != HOST_NONE, has(&m, T1, key) || has(&m, T2, key));
            if (chunk != HOST_NONE) { /* used again: at its end it is the newest of T2 */
                vllm_host_touch(h, &r, chunk, 0);
                vllm_host_end(h, key, false, true);
                take(&m, T1, key);
                take(&m, T2, key);
                append(&m, T2, key);
            } else {
                vllm_host_miss(h, key);
                model_miss(&m, key);
                model_make_room(&m);
                vllm_host_protect(h);
                assert_true(vllm_host_make_room(h, 1, &l, NULL));
                assert_int_equal(m.drops, 0);
                vllm_host_written(h, vllm_host_insert(h, &r, key, 0), false);
                take(&m, B1, key);
                take(&m, B2, key);
                append(&m, T1, key);
                vllm_host_end(h, key, true, false);
            }
            struct vllm_host_counts n;
            vllm_host_count(h, &n);
            for (int list = 0; list < LISTS; list++)
                assert_int_equal(n.list[list], m.count[list]);
            assert_true(n.target == m.target);
            assert_int_equal(n.chunks, m.count[T1] + m.count[T2]);
        }
        vllm_host_free(h);
    }
}

/* ---- LRU ---- */

enum {
    AT_ONCE = 4, /* requests */
    OPS = 600
};

/* A chunk by key; rank 0: it is not there. */
struct lru_chunk {
    uint64_t rank, position, readers;
    bool guarded;
};
struct lru {
    struct lru_chunk chunk[KEYS + 1];
    uint64_t capacity, count, ranks;
    uint64_t dropped[MOST], drops, told;
    struct lru_request {
        struct vllm_host_request r;
        uint64_t key[OPS], keys; /* that it touched, by position */
    } request[AT_ONCE];
};

static uint64_t lru_rank(struct lru *m, struct lru_request *q)
{
    return q->r.rank ? q->r.rank : m->ranks + 1;
}

/* The lowest rank leaves first, and of that the highest position; so many. False: there are none.
 */
static bool lru_choose(struct lru *m, uint64_t wanted)
{
    bool chosen[KEYS + 1] = {false};
    m->drops = m->told = 0;
    while (m->drops < wanted) {
        uint64_t best = 0;
        for (uint64_t k = 1; k <= KEYS; k++) {
            const struct lru_chunk *c = &m->chunk[k], *b = &m->chunk[best];
            if (c->rank && !c->readers && !c->guarded && !chosen[k] &&
                (!best || c->rank < b->rank || (c->rank == b->rank && c->position > b->position)))
                best = k;
        }
        if (!best)
            return false;
        chosen[best] = true;
        m->dropped[m->drops++] = best;
    }
    return true;
}

static void on_lru_event(void *ctx, const struct kv_event *e)
{
    struct lru *m = ctx;
    assert_int_equal(e->kind, KV_DROPPED);
    assert_true(m->told < m->drops);
    assert_int_equal(m->dropped[m->told++], e->key);
    m->chunk[e->key] = (struct lru_chunk){0};
    m->count--;
}

/* A request touches the chunk, or brings it, for which others that are not guarded leave. */
static void lru_use(struct vllm_host *h, struct lru *m, struct lru_request *q, uint64_t key)
{
    const struct kv_listener l = {.ctx = m, .event = on_lru_event};
    struct lru_chunk *c = &m->chunk[key];
    const uint64_t rank = lru_rank(m, q), at = q->keys++;
    q->key[at] = key;
    if (c->rank) {
        vllm_host_touch(h, &q->r, vllm_host_find(h, key), at);
        m->ranks = rank > m->ranks ? rank : m->ranks;
        if (rank > c->rank || (rank == c->rank && at < c->position)) {
            c->rank = rank;
            c->position = at;
        }
        return;
    }
    const uint64_t lacks = m->count == m->capacity;
    const bool fits = lru_choose(m, lacks);
    assert_int_equal(vllm_host_make_room(h, 1, &l, NULL), fits);
    if (!fits) {
        q->keys--;
        return;
    }
    assert_int_equal(m->told, m->drops);
    vllm_host_written(h, vllm_host_insert(h, &q->r, key, at), false);
    m->ranks = rank > m->ranks ? rank : m->ranks;
    *c = (struct lru_chunk){.rank = rank, .position = at};
    m->count++;
}

static void lru_end(struct vllm_host *h, struct lru *m, struct lru_request *q)
{
    while (q->keys > 0) {
        const uint64_t key = q->key[--q->keys];
        vllm_host_end(h, key, false, false);
        if (!m->chunk[key].rank)
            continue;
        m->chunk[key].rank = ++m->ranks;
        m->chunk[key].position = 0;
    }
    q->r = (struct vllm_host_request){0};
}

static void lru_step(struct vllm_host *h, struct lru *m, struct rng *rng)
{
    struct lru_request *q = &m->request[rng_below(rng, AT_ONCE)];
    const uint64_t key = 1 + rng_below(rng, KEYS), what = rng_below(rng, 20);
    struct lru_chunk *c = &m->chunk[key];
    if (what < 12) {
        lru_use(h, m, q, key);
    } else if (what < 14) {
        lru_end(h, m, q);
    } else if (what < 17 && c->rank) {
        const bool ends = c->readers && rng_below(rng, 4);
        (ends ? vllm_host_end_read : vllm_host_begin_read)(h, vllm_host_find(h, key), false);
        c->readers += ends ? UINT64_MAX : 1;
    } else if (what == 17) {
        vllm_host_protect(h);
        for (uint64_t k = 1; k <= KEYS; k++)
            m->chunk[k].guarded = false;
    } else if (what > 17 && c->rank) {
        vllm_host_protect_chunk(h, vllm_host_find(h, key));
        c->guarded = true;
    }
}

static void test_lru_is_that_of_a_plain_list(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 11, 0);
    const int runs = scaled(300);
    for (int run = 0; run < runs; run++) {
        struct lru m = {.capacity = 1 + rng_below(&rng, MOST)};
        struct vllm_host *h = vllm_host_create(m.capacity, false, NULL);
        assert_non_null(h);
        vllm_host_protect(h); /* nothing is guarded yet */
        for (int i = 0; i < OPS; i++) {
            lru_step(h, &m, &rng);
            uint64_t free_to_leave = 0;
            for (uint64_t k = 1; k <= KEYS; k++) {
                assert_int_equal(vllm_host_find(h, k) != HOST_NONE, m.chunk[k].rank > 0);
                free_to_leave += m.chunk[k].rank && !m.chunk[k].readers;
            }
            assert_int_equal(vllm_host_may_leave(h), free_to_leave);
        }
        vllm_host_free(h);
    }
}

static void ignore(void *ctx, const struct kv_event *e)
{
    (void)ctx, (void)e;
}

/* Filled to the last chunk and, with ARC, the last ghost. */
static void test_memory_of_a_chunk(void **state)
{
    (void)state;
    static const uint64_t capacities[] = {4096, 4097, 65536, 100000};
    const struct kv_listener l = {.event = ignore};
    for (int i = 0; i < 8; i++) {
        const uint64_t capacity = capacities[i / 2];
        struct vllm_host *h = vllm_host_create(capacity, i % 2, NULL);
        assert_non_null(h);
        for (uint64_t key = 1; key <= 4 * capacity; key++) {
            struct vllm_host_request r = {0};
            vllm_host_protect(h);
            assert_true(vllm_host_make_room(h, 1, &l, NULL));
            vllm_host_written(h, vllm_host_insert(h, &r, key, 0), false);
            vllm_host_end(h, key, key % 2, key % 2 == 0);
        }
        struct vllm_host_counts n;
        vllm_host_count(h, &n);
        assert_int_equal(n.chunks, capacity);
        assert_true(vllm_host_memory(h) <= 96 * capacity);
        vllm_host_free(h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arc_is_that_of_plain_lists),
        cmocka_unit_test(test_lru_is_that_of_a_plain_list),
        cmocka_unit_test(test_memory_of_a_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
