/* The two orders that decide everything: waiting requests by priority and then arrival, events by
 * time and then their tie. A bug looked like a batch request served before an interactive one, or
 * two equal times that came out in the order of a heap's accidents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kvgen/heap.h"
#include "kvgen/queue.h"
#include "lib/rng.h"
#include "lib/trace.h"

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

static void assert_comes_back(const struct request *r)
{
    static const int64_t priority[3] = {3, 2, 1};
    struct queue *q = queue_create(priority);
    struct request out;
    assert_int_equal(queue_push(q, r), 0);
    assert_true(queue_pop(q, &out));
    assert_int_equal(out.number, r->number);
    assert_int_equal(out.arrival_ns, r->arrival_ns);
    assert_int_equal(out.user, r->user);
    assert_int_equal(out.qos, r->qos);
    assert_int_equal(out.prompt, r->prompt);
    assert_int_equal(out.turn, r->turn);
    assert_int_equal(out.slot, r->slot);
    assert_int_equal(out.context_tokens, r->context_tokens);
    assert_int_equal(out.generated_tokens, r->generated_tokens);
    assert_true(ident_equal(out.object, r->object));
    assert_ptr_equal(out.blocks, r->blocks);
    assert_int_equal(out.block_count, r->block_count);
    assert_int_equal(out.block_tokens, r->block_tokens);
    assert_int_equal(out.block_scope, r->block_scope);
    assert_int_equal(out.document, r->document);
    assert_int_equal(out.picks, r->picks);
    queue_free(q);
}

/* What waits is packed by its kind. */
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
        cmocka_unit_test(priority_then_arrival),    cmocka_unit_test(equal_priorities_share),
        cmocka_unit_test(requests_come_back_whole), cmocka_unit_test(long_queues_keep_order),
        cmocka_unit_test(events_by_time_then_tie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
