/* The two orders that decide everything: waiting requests by priority and then arrival, events by
 * time and then their tie. A bug looked like a batch request served before an interactive one, or
 * two equal times that came out in the order of a heap's accidents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kvgen/rng.h"
#include "kvgen/sim/queue.h"
#include "lib/sort/heap.h"
#include "lib/trace/trace.h"

static void push(struct queue *q, uint64_t number, enum trace_qos qos)
{
    struct request r = {.number = number, .qos = (uint8_t)qos};
    assert_int_equal(queue_push(q, &r), 0);
}

static uint64_t pop(struct queue *q)
{
    struct request r = {0};
    return queue_pop(q, &r) ? r.number : 0;
}

static void priority_then_arrival(void **state)
{
    (void)state;
    static const int64_t priority[3] = {3, 2, 1};
    struct queue *q = queue_create(priority);
    assert_non_null(q);
    push(q, 1, TRACE_BATCH);
    push(q, 2, TRACE_RESPONSIVE);
    push(q, 3, TRACE_BATCH);
    push(q, 4, TRACE_INTERACTIVE);
    push(q, 5, TRACE_RESPONSIVE);
    assert_int_equal(queue_length(q), 5);
    static const uint64_t want[] = {4, 2, 5, 1, 3, 0};
    for (int i = 0; i < 6; i++)
        assert_int_equal(pop(q), want[i]);
    queue_free(q);
}

/* Every tenth is of the class that has waited longest, in and out of the packed part of a line. */
static void every_tenth_in_turn(void **state)
{
    (void)state;
    static const int64_t priority[3] = {3, 2, 1};
    struct queue *q = queue_create(priority);
    struct request r = {0};
    uint64_t number = 0, batch = 0, turns[TRACE_QOSES] = {0};

    queue_take_turns(q);
    for (int i = 0; i < 300; i++) {
        for (uint8_t qos = 0; qos < TRACE_QOSES; qos++) {
            r = (struct request){.number = ++number, .qos = qos, .arrival_ns = i * 10 - qos};
            if (r.arrival_ns >= 0 || qos == TRACE_INTERACTIVE)
                assert_int_equal(queue_push(q, &r), 0);
        }
    }
    /* Batch and responsive wait from 8 and 9 on, interactive from 0: that goes first in turn, too.
     */
    for (int i = 0; i < 300; i++) {
        assert_true(queue_pop(q, &r));
        if (i % 10 != 9)
            assert_int_equal(r.qos, TRACE_INTERACTIVE);
        else
            turns[r.qos]++;
        batch += r.qos == TRACE_BATCH;
    }
    /* By the first turn interactive ones up to 80 are gone, so batch (8) is first, then 9, 18 ...
     */
    assert_int_equal(turns[TRACE_INTERACTIVE], 0);
    assert_int_equal(turns[TRACE_BATCH], 15);
    assert_int_equal(turns[TRACE_RESPONSIVE], 15);
    assert_int_equal(batch, 15);
    queue_free(q);

    q = queue_create(priority); /* of equal times the lowest class */
    queue_take_turns(q);
    for (uint64_t n = 1; n <= 30; n++)
        push(q, n, (enum trace_qos)(n % 3));
    for (int i = 0; i < 9; i++)
        pop(q);
    assert_int_equal(pop(q), 2); /* 3 and all of its class are interactive */
    queue_free(q);
}

static void equal_priorities_share(void **state)
{
    (void)state;
    static const int64_t priority[3] = {1, 1, 2};
    struct queue *q = queue_create(priority);
    push(q, 1, TRACE_RESPONSIVE);
    push(q, 2, TRACE_INTERACTIVE);
    push(q, 3, TRACE_RESPONSIVE);
    push(q, 4, TRACE_BATCH);
    static const uint64_t want[] = {4, 1, 2, 3};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pop(q), want[i]);
    queue_free(q);
}

static void assert_same(const struct request *out, const struct request *r)
{
    assert_int_equal(out->number, r->number);
    assert_int_equal(out->arrival_ns, r->arrival_ns);
    assert_int_equal(out->user, r->user);
    assert_int_equal(out->qos, r->qos);
    assert_int_equal(out->prompt, r->prompt);
    assert_int_equal(out->turn, r->turn);
    assert_int_equal(out->slot, r->slot);
    assert_int_equal(out->context_tokens, r->context_tokens);
    assert_int_equal(out->generated_tokens, r->generated_tokens);
    assert_true(ident_equal(out->object, r->object));
    assert_ptr_equal(out->blocks, r->blocks);
    assert_int_equal(out->block_count, r->block_count);
    assert_int_equal(out->block_tokens, r->block_tokens);
    assert_int_equal(out->block_scope, r->block_scope);
    assert_int_equal(out->document, r->document);
    assert_int_equal(out->picks, r->picks);
    assert_int_equal(out->shared, r->shared);
    assert_int_equal(out->shared_tokens, r->shared_tokens);
}

/* In front, and behind so many that it is packed. */
static void assert_comes_back(const struct request *r)
{
    static const int64_t priority[3] = {3, 2, 1};
    struct queue *q = queue_create(priority);
    struct request out;
    for (uint64_t before = 0; before < 200; before += 100) {
        for (uint64_t i = 0; i < before; i++)
            push(q, i + 1, (enum trace_qos)r->qos);
        assert_int_equal(queue_push(q, r), 0);
        for (uint64_t i = 0; i < before; i++)
            assert_int_equal(pop(q), i + 1);
        assert_true(queue_pop(q, &out));
        assert_same(&out, r);
        assert_int_equal(queue_length(q), 0);
    }
    queue_free(q);
}

/* A request that waits long is packed by its kind. */
static void requests_come_back_whole(void **state)
{
    (void)state;
    static const uint64_t id[2] = {7, UINT64_MAX};
    struct request any = {.number = UINT64_C(1) << 40,
                          .arrival_ns = INT64_C(1) << 61,
                          .user = UINT32_MAX,
                          .qos = TRACE_RESPONSIVE,
                          .prompt = -1,
                          .turn = UINT32_MAX - 1,
                          .slot = UINT32_MAX - 2,
                          .context_tokens = REQUEST_MAX_TOKENS,
                          .generated_tokens = REQUEST_MAX_TOKENS - 1};
    struct request object = any, blocks = any, none = any, query = any;
    object.object = ident_turn(5, 123456789, 3);
    object.prompt = 2;
    assert_comes_back(&object);
    blocks.blocks = id;
    blocks.block_count = 2;
    blocks.block_tokens = 512;
    blocks.block_scope = 9;
    assert_comes_back(&blocks);
    assert_comes_back(&none);
    query.document = 4;
    query.object = ident_document(3);
    query.picks = UINT64_MAX - 3;
    query.turn = query.slot = 0;
    assert_comes_back(&query);
    struct request itself = any;
    itself.turn = itself.slot = 0;
    itself.object = ident_request(itself.user & 0xffff, itself.number);
    assert_comes_back(&itself);
    itself.user &= 0xffff;
    assert_comes_back(&itself);
    struct request dataset = any;
    dataset.object = ident_dataset_turn(UINT64_C(1) << 43, dataset.turn);
    assert_comes_back(&dataset);
}

static uint64_t any_width(struct rng *r)
{
    return rng_u64(r) >> rng_below(r, 64);
}

static struct request random_request(struct rng *r, const struct request *before)
{
    static const uint64_t id[1] = {7};
    struct request q = {.number = before->number + 1 + rng_below(r, 3),
                        .arrival_ns = before->arrival_ns + (int64_t)(any_width(r) >> 24),
                        .user = (uint32_t)rng_below(r, IDENT_MAX_USERS),
                        .qos = (uint8_t)rng_below(r, 3),
                        .prompt = (int32_t)rng_below(r, 4) - 1,
                        .turn = (uint32_t)any_width(r),
                        .slot = rng_chance(r, 0.5) ? 0 : (uint32_t)any_width(r),
                        .context_tokens = (int64_t)(any_width(r) >> 33),
                        .generated_tokens = (int64_t)(any_width(r) >> 33)};
    switch (rng_below(r, 5)) {
    case 0: /* begun before, or a little later than that */
        q.object =
            ident_turn(q.user, (uint64_t)q.arrival_ns / 1000000 + 5 - rng_below(r, 6), q.turn);
        break;
    case 1:
        q.object = ident_request(q.user, q.number);
        break;
    case 2:
        q.object = ident_text(rng_u64(r), rng_u64(r));
        break;
    case 3:
        q.document = 1 + (uint32_t)rng_below(r, IDENT_MAX_USERS);
        q.object = ident_document(q.document - 1);
        q.picks = rng_u64(r);
        break;
    default:
        q.blocks = id;
        q.block_count = (uint32_t)any_width(r);
        q.block_tokens = (uint32_t)any_width(r);
        q.block_scope = (uint32_t)any_width(r);
    }
    return q;
}

/* Requests of every kind and width, over many segments, beside arrays that keep them whole. */
static void random_requests_come_back(void **state)
{
    (void)state;
    enum {
        MOST = 20000
    };
    static const int64_t priority[3] = {3, 2, 1};
    static struct request kept[3][MOST];
    uint32_t in[3] = {0}, out[3] = {0};
    struct queue *q = queue_create(priority);
    struct request last = {0}, got;
    struct rng r;
    rng_seed(&r, 11, 0);
    for (int i = 0; i < MOST; i++) {
        last = random_request(&r, &last);
        kept[last.qos][in[last.qos]++] = last;
        assert_int_equal(queue_push(q, &last), 0);
        bool much = i / 4000 % 2 == 1; /* grows and shrinks by turns */
        for (uint64_t n = rng_below(&r, much ? 4 : 2); n > 0 && queue_pop(q, &got); n--)
            assert_same(&got, &kept[got.qos][out[got.qos]++]);
    }
    assert_true(queue_bytes(q) > 0);
    while (queue_pop(q, &got))
        assert_same(&got, &kept[got.qos][out[got.qos]++]);
    assert_memory_equal(in, out, sizeof(in));
    assert_in_range(queue_bytes(q), 0, 3 * 8192); /* each line keeps one piece */
    queue_free(q);
}

/* Lines grow and shrink in any state. */
static void long_queues_keep_order(void **state)
{
    (void)state;
    static const int64_t priority[3] = {3, 2, 1};
    struct queue *q = queue_create(priority);
    struct rng r;
    uint64_t in = 0, out = 0;
    rng_seed(&r, 5, 0);
    for (int round = 0; round < 200; round++) {
        for (uint64_t n = rng_below(&r, 300); n > 0; n--)
            push(q, ++in, TRACE_BATCH);
        for (uint64_t n = rng_below(&r, 300); n > 0 && out < in; n--)
            assert_int_equal(pop(q), ++out);
        assert_int_equal(queue_length(q), in - out);
    }
    queue_free(q);
}

static void events_by_time_then_tie(void **state)
{
    (void)state;
    enum {
        N = 2000
    };
    struct heap h;
    struct rng r;
    rng_seed(&r, 7, 0);
    assert_int_equal(heap_init(&h, N), 0);
    for (uint32_t i = 0; i < N; i++)
        heap_push(&h, (struct heap_event){.time_ns = (int64_t)rng_below(&r, 50),
                                          .tie = (i * 7919u) % N,
                                          .item = i});
    struct heap_event last = {.time_ns = -1};
    for (int i = 0; i < N; i++) {
        struct heap_event top = *heap_top(&h), e = heap_pop(&h);
        assert_int_equal(top.item, e.item);
        assert_true(e.time_ns > last.time_ns || (e.time_ns == last.time_ns && e.tie > last.tie));
        last = e;
    }
    assert_null(heap_top(&h));
    heap_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priority_then_arrival),     cmocka_unit_test(every_tenth_in_turn),
        cmocka_unit_test(equal_priorities_share),    cmocka_unit_test(requests_come_back_whole),
        cmocka_unit_test(random_requests_come_back), cmocka_unit_test(long_queues_keep_order),
        cmocka_unit_test(events_by_time_then_tie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
