/* The parts of an engine's run, each by hand: what a request's chain is made of, when transfers are
 * done, which of their objects wait for a thread of the engine, rows that wait for a duration, and
 * shares of the peak from measured rates. A bug looked like a turn that found nothing of the one
 * before, a load that was over before the link was free, an engine that had all objects of a load
 * in the drive at once, or rows that left out of order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/serve/held_rows.h"
#include "kvgen/serve/layer_groups.h"
#include "kvgen/serve/prompts.h"
#include "kvgen/serve/step_setup.h"
#include "kvgen/serve/transfers.h"
#include "lib/drive/drive_model.h"
#include "lib/json/jsonin.h"

#define MS INT64_C(1000000)

/* ---- chains ---- */

static struct request turn_of(uint64_t number, uint32_t turn, int32_t prompt)
{
    return (struct request){.number = number,
                            .turn = turn,
                            .prompt = prompt,
                            .context_tokens = 100,
                            .object = ident_turn(3, 77, turn)};
}

static void test_a_turn_begins_with_the_one_before(void **state)
{
    (void)state;
    const int64_t prompts[] = {5, 9};
    const struct workload w = {.prompt_tokens = prompts, .prompts = 2};
    struct prompts *p = prompts_create(&w, true, false);
    struct prompt first, second, other;
    struct request r = turn_of(1, 1, 1);
    assert_int_equal(prompts_take(p, &r, 20, &first), 0);
    assert_int_equal(first.tokens, 100); /* the system prompt of 9 is among them */
    assert_int_equal(first.chain.count, 3);
    assert_int_equal(first.chain.pieces[0].tokens, 9);
    assert_int_equal(first.class[0], TRACE_SYSTEM);
    r = turn_of(2, 2, 0); /* the conversation keeps the system prompt that it has */
    assert_int_equal(prompts_take(p, &r, 30, &second), 0);
    assert_int_equal(second.tokens, 100 + 20 + 100);
    for (int i = 0; i < 3; i++)
        assert_true(first.chain.pieces[i].content == second.chain.pieces[i].content);
    assert_int_equal(second.class[0], TRACE_SYSTEM);
    assert_int_equal(second.class[1], TRACE_MULTI_TURN);
    assert_int_equal(second.class[3], TRACE_USER);
    r = turn_of(3, 1, -1); /* the name again: another conversation */
    assert_int_equal(prompts_take(p, &r, 1, &other), 0);
    assert_int_equal(other.tokens, 100);
    assert_true(other.chain.pieces[0].content != first.chain.pieces[1].content);
    prompt_free(&first);
    prompt_free(&second);
    prompt_free(&other);
    prompts_free(p);
}

static void test_blocks_by_their_names(void **state)
{
    (void)state;
    const struct workload w = {.prompts = 0};
    const uint64_t ids[] = {10, 11, 12};
    struct prompts *p = prompts_create(&w, true, false);
    struct prompt a, b;
    struct request r = {.number = 1,
                        .prompt = -1,
                        .context_tokens = 1200,
                        .blocks = ids,
                        .block_count = 3,
                        .block_tokens = 512};
    assert_int_equal(prompts_take(p, &r, 1, &a), 0);
    r.number = 2;
    assert_int_equal(prompts_take(p, &r, 1, &b), 0);
    assert_int_equal(a.tokens, 1200);
    assert_int_equal(a.chain.count, 4);
    assert_true(a.chain.pieces[1].content == b.chain.pieces[1].content);
    /* The last one is not whole: it is the request's own. */
    assert_true(a.chain.pieces[2].content != b.chain.pieces[2].content);
    assert_int_equal(a.chain.pieces[2].tokens, 1200 - 1024);
    prompt_free(&a);
    prompt_free(&b);
    prompts_free(p);
}

static void test_conversations_are_forgotten(void **state)
{
    (void)state;
    const struct workload w = {.prompts = 0};
    struct prompts *p = prompts_create(&w, false, false);
    struct prompt q;
    for (uint64_t i = 0; i <= PROMPTS_CONVERSATIONS; i++) {
        struct request r = turn_of(i + 1, 1, -1);
        r.object = ident_dataset_turn(i, 1);
        assert_int_equal(prompts_take(p, &r, 1, &q), 0);
        prompt_free(&q);
    }
    struct request r = turn_of(1, 2, -1);
    r.object = ident_dataset_turn(0, 2); /* the first one has gone */
    assert_int_equal(prompts_take(p, &r, 1, &q), 0);
    assert_int_equal(q.tokens, 100);
    prompt_free(&q);
    r.object = ident_dataset_turn(2, 2);
    assert_int_equal(prompts_take(p, &r, 1, &q), 0);
    assert_int_equal(q.tokens, 201);
    prompt_free(&q);
    prompts_free(p);
}

/* ---- transfers ---- */

static struct kv_transfer transfer(uint64_t id, enum kv_transfer_kind kind, uint64_t keys)
{
    const bool gpu = kind == KV_STORE || kind == KV_LOAD;
    return (struct kv_transfer){.id = id,
                                .kind = kind,
                                .from = kind == KV_STORE     ? TRACE_GPU
                                        : kind == KV_PROMOTE ? TRACE_STORAGE
                                                             : TRACE_CPU,
                                .to = kind == KV_LOAD           ? TRACE_GPU
                                      : gpu || kind != KV_WRITE ? TRACE_CPU
                                                                : TRACE_STORAGE,
                                .count = keys};
}

static void test_the_link_takes_one_after_the_other(void **state)
{
    (void)state;
    const struct tier_model none = {0};
    const struct transfers_opts o = {.link_bytes_s = 1250000000, /* 1 GB/s is reached */
                                     .ranks = 2,
                                     .load_ns = 13 * MS,
                                     .chunk_bytes = 1000000,
                                     .files = &none};
    struct transfers *t = transfers_create(&o);
    struct transfer done;
    const struct kv_transfer a = transfer(0, KV_STORE, 5), b = transfer(1, KV_STORE, 5),
                             c = transfer(2, KV_LOAD, 1);
    assert_int_equal(transfers_begin(t, &a, 0, 1), 0);
    assert_int_equal(transfers_begin(t, &b, 0, 1), 0);
    assert_int_equal(transfers_begin(t, &c, 0, 1), 0);
    transfers_start(t, 100 * MS); /* step 1 ends: 10 ms each, down; 2 + 13 ms, up */
    assert_int_equal(transfers_next_ns(t, 2), 110 * MS);
    assert_true(transfers_next_ns(t, 1) == INT64_MAX);
    assert_false(transfers_take(t, true, 200 * MS, 1, &done)); /* step 2 says it at the earliest */
    assert_false(transfers_take(t, false, 200 * MS, 2, &done));
    assert_true(transfers_take(t, true, 114 * MS, 2, &done));
    assert_int_equal(done.id, 0);
    assert_true(transfers_take(t, true, 115 * MS, 2, &done));
    assert_int_equal(done.id, 2);
    transfers_flush(t, 1, 116 * MS, 3); /* step 3 waits for the second store */
    assert_int_equal(transfers_delay_ns(t), 4 * MS);
    assert_false(transfers_take(t, true, 120 * MS, 2, &done));
    assert_true(transfers_take(t, true, 120 * MS, 3, &done));
    assert_int_equal(transfers_count(t), 0);
    transfers_free(t);
}

static void test_files_and_loads_in_a_step(void **state)
{
    (void)state;
    const struct tier_model files = {
        .given = true, .read = {1000000000, 1 * MS}, .write = {500000000, 2 * MS}};
    const struct transfers_opts o = {
        .link_bytes_s = 1250000000, .ranks = 1, .chunk_bytes = 1000000, .files = &files};
    struct transfers *t = transfers_create(&o);
    struct transfer done;
    const struct kv_transfer up = transfer(0, KV_PROMOTE, 3), down = transfer(1, KV_WRITE, 1);
    struct kv_transfer in_step = transfer(2, KV_LOAD, 7);
    in_step.in_step = true;
    assert_int_equal(transfers_begin(t, &up, 10 * MS, 4), 0);
    assert_int_equal(transfers_begin(t, &down, 10 * MS, 4), 0);
    assert_true(transfers_since(t, 4));
    assert_false(transfers_since(t, 5));
    assert_false(transfers_take(t, false, 13 * MS, 4, &done));
    assert_true(transfers_take(t, false, 14 * MS, 4, &done)); /* 10 + 3 + 1 */
    assert_int_equal(done.kind, KV_PROMOTE);
    assert_true(transfers_take(t, false, 14 * MS, 4, &done)); /* 10 + 2 + 2 */
    assert_int_equal(done.kind, KV_WRITE);
    assert_int_equal(transfers_begin(t, &in_step, 20 * MS, 5), 0);
    assert_int_equal(transfers_delay_ns(t), 7 * MS);
    assert_true(transfers_take(t, true, 27 * MS, 5, &done));
    const struct transfers_files *f = transfers_files(t);
    assert_int_equal(f->bytes[0], 3000000);
    assert_int_equal(f->objects[0], 3);
    assert_int_equal(f->in_flight_ns[0], 12 * MS); /* three for 3 + 1 ms */
    assert_int_equal(f->bytes[1], 1000000);
    assert_int_equal(f->in_flight_ns[1], 4 * MS); /* 2 + 2 */
    transfers_free(t);
}

/* A drive of 1 GB/s in all, however many are in it, up to 64. */
static struct drive_model *even_drive(void)
{
    static const char text[] = "{\"program\": \"kvtrace model\", \"points\": [{\"size_bytes\": "
                               "1000000, \"in_flight\": 64, "
                               "\"read_share\": 1, \"bytes_per_s\": 1000000000}]}";
    struct drive_model *m = NULL;
    struct jsonin *d = NULL;
    struct err e = {0};
    assert_int_equal(jsonin_parse(&d, text, sizeof(text) - 1, "model", &e), 0);
    assert_int_equal(drive_model_parse(&m, jsonin_root(d), "model", &e), 0);
    jsonin_free(d);
    return m;
}

/* Threads of an engine for reads and for writes, and what comes at time 0: transfers of so many
 * objects of 1 ms each. When each ends, and the sum of the times in the drive, in ms. */
static const struct threads_case {
    uint64_t threads[2];
    uint64_t keys[3]; /* promoted, promoted, written; 0: none */
    int64_t end_ms[3];
    int64_t in_flight_ms[2];
    bool in_turn;
} threads_cases[] = {
    {{1, 1}, {3, 1, 0}, {3, 4, 0}, {4, 0}, false},
    /* Two share the drive until 2 ms, then the last of the first one and the other. */
    {{2, 1}, {3, 1, 0}, {4, 4, 0}, {8, 0}, false},
    {{0, 0}, {3, 1, 0}, {4, 4, 0}, {16, 0}, false},
    /* A read and a write share it until 4 ms. */
    {{1, 1}, {3, 1, 2}, {5, 6, 4}, {6, 4}, false},
    /* Two writes and a read until 3 ms. */
    {{1, 2}, {1, 1, 2}, {3, 4, 3}, {4, 6}, false},
    /* Each transfer has one in the drive: all three until 3 ms, then the first read and the writes.
     */
    {{0, 0}, {3, 1, 2}, {6, 3, 5}, {9, 5}, true},
};

static void test_objects_wait_for_a_thread(void **state)
{
    (void)state;
    struct drive_model *drive = even_drive();
    const struct tier_model files = {.given = true, .drive = drive};
    for (size_t i = 0; i < sizeof(threads_cases) / sizeof(*threads_cases); i++) {
        const struct threads_case *c = &threads_cases[i];
        for (int late = 0; late < 2; late++) { /* whether anybody looks before all is over */
            const struct transfers_opts o = {.ranks = 1,
                                             .chunk_bytes = 1000000,
                                             .files = &files,
                                             .threads = {c->threads[0], c->threads[1]},
                                             .in_turn = c->in_turn};
            struct transfers *t = transfers_create(&o);
            for (uint64_t k = 0; k < 3; k++) {
                const struct kv_transfer what =
                    transfer(k, k == 2 ? KV_WRITE : KV_PROMOTE, c->keys[k]);
                if (c->keys[k])
                    assert_int_equal(transfers_begin(t, &what, 0, 1), 0);
            }
            struct transfer done;
            for (int64_t ms = late ? 20 : 1; ms <= 20; ms++)
                while (transfers_take(t, false, ms * MS, 1, &done))
                    assert_int_equal(ms, late ? 20 : c->end_ms[done.id]);
            assert_int_equal(transfers_count(t), 0);
            assert_int_equal(transfers_files(t)->in_flight_ns[0], c->in_flight_ms[0] * MS);
            assert_int_equal(transfers_files(t)->in_flight_ns[1], c->in_flight_ms[1] * MS);
            transfers_free(t);
        }
    }
    drive_model_free(drive);
}

/* Transfers of an engine with a thread for each direction, at the drive alone or with another's. */
static struct transfers *of_one_thread(struct drive_model *drive, struct transfers *with)
{
    static struct tier_model files;
    files = (struct tier_model){.given = true, .drive = drive};
    return transfers_create(&(struct transfers_opts){
        .ranks = 1, .chunk_bytes = 1000000, .files = &files, .with = with, .threads = {1, 1}});
}

/* Each of two engines at one drive has a thread of its own: the second object of the first one
 * enters when its first one ends, and is told next. */
static void test_engines_have_threads_of_their_own(void **state)
{
    (void)state;
    struct drive_model *drive = even_drive();
    struct transfers *a = of_one_thread(drive, NULL), *b = of_one_thread(drive, a);
    struct transfer done;
    const struct kv_transfer two = transfer(0, KV_PROMOTE, 2), one = transfer(0, KV_PROMOTE, 1);
    assert_int_equal(transfers_begin(a, &two, 0, 1), 0);
    assert_int_equal(transfers_begin(b, &one, 0, 1), 0);
    assert_int_equal(transfers_next_ns(a, 2), 2 * MS);
    assert_true(transfers_take(b, false, 2 * MS, 1, &done));
    assert_false(transfers_take(a, false, 2 * MS, 1, &done));
    assert_int_equal(transfers_next_ns(a, 2), 3 * MS);
    assert_true(transfers_take(a, false, 3 * MS, 1, &done));
    assert_int_equal(transfers_next_ns(b, 2), INT64_MAX);
    assert_int_equal(transfers_files(a)->in_flight_ns[0], 3 * MS);
    assert_int_equal(transfers_files(b)->in_flight_ns[0], 2 * MS);
    transfers_free(a);
    transfers_free(b);
    drive_model_free(drive);
}

/* An engine leaves with one object in the drive and one that waits for a thread: the drive ends the
 * first one, and the other engine goes on. */
static void test_an_engine_leaves(void **state)
{
    (void)state;
    struct drive_model *drive = even_drive();
    struct transfers *a = of_one_thread(drive, NULL), *b = of_one_thread(drive, a);
    struct transfer done;
    const struct kv_transfer two = transfer(0, KV_PROMOTE, 2);
    assert_int_equal(transfers_begin(a, &two, 0, 1), 0);
    assert_int_equal(transfers_begin(b, &two, 0, 1), 0);
    transfers_free(a);
    assert_false(transfers_take(b, false, 3 * MS - 1, 1, &done));
    assert_true(transfers_take(b, false, 3 * MS, 1, &done));
    transfers_free(b);
    drive_model_free(drive);
}

/* A line that is never empty: each transfer ends after those before it, and none is lost. */
static void test_a_line_that_never_empties(void **state)
{
    (void)state;
    struct drive_model *drive = even_drive();
    const struct tier_model files = {.given = true, .drive = drive};
    const struct transfers_opts o = {
        .ranks = 1, .chunk_bytes = 1000000, .files = &files, .threads = {1, 1}};
    struct transfers *t = transfers_create(&o);
    struct transfer done;
    uint64_t told_of = 0;
    for (uint64_t id = 0; id < 2000; id++) {
        const struct kv_transfer what = transfer(id, KV_WRITE, 2 - id % 2);
        assert_int_equal(transfers_begin(t, &what, (int64_t)id * MS, 1), 0);
        while (transfers_take(t, false, (int64_t)id * MS, 1, &done))
            assert_int_equal(done.id, told_of++);
    }
    while (transfers_take(t, false, 3000 * MS, 1, &done))
        assert_int_equal(done.id, told_of++);
    assert_int_equal(told_of, 2000);
    assert_int_equal(transfers_files(t)->in_flight_ns[1], 3000 * MS);
    transfers_free(t);
    drive_model_free(drive);
}

/* ---- rows ---- */

static int64_t told[16];
static int64_t durations[16];
static unsigned rows_told;

static int take_row(void *ctx, const struct sim_row *row, struct err *e)
{
    (void)ctx, (void)e;
    told[rows_told] = row->time_ns;
    durations[rows_told++] = row->duration_ns;
    return 0;
}

static unsigned freed;

static void count_freed(struct held_request *q)
{
    (void)q;
    freed++;
}

static void test_rows_wait_for_a_duration(void **state)
{
    (void)state;
    struct virtual_clock clock = {0};
    struct row_counts counts = {0};
    struct held_request q = {.free = count_freed};
    const struct hierarchy_op generate = {.op = TRACE_GENERATE,
                                          .tier = TRACE_NO_TIER,
                                          .phase = TRACE_DECODE,
                                          .class = TRACE_NO_CLASS};
    const struct hierarchy_op write = {
        .op = TRACE_WRITE, .tier = TRACE_GPU, .phase = TRACE_PREFILL, .class = TRACE_USER};
    struct emitter *emitter = emitter_create(&clock, &counts, take_row, NULL);
    struct held_rows *h = held_rows_create(emitter);
    held_rows_add(h, 1, &write, NULL);
    assert_int_equal(rows_told, 1);
    const uint64_t first = held_rows_open(h, 2, &generate, &q);
    held_rows_add(h, 3, &write, &q);
    const uint64_t second = held_rows_open(h, 4, &generate, NULL);
    held_rows_leave(&q);
    assert_int_equal(freed, 0);
    held_rows_close(h, second, 9);
    assert_int_equal(rows_told, 1);
    held_rows_close(h, first, 10);
    assert_int_equal(rows_told, 4);
    assert_int_equal(freed, 1);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(told[i], i + 1);
    assert_int_equal(durations[1], 8);
    assert_int_equal(durations[3], 5);
    held_rows_open(h, 20, &generate, NULL);
    held_rows_end(h, 50);
    assert_int_equal(durations[4], 30);
    assert_int_equal(held_rows_most(h), 3);

    /* Rows that begin later get their places by then, and the end takes those that never did. */
    uint64_t number[3] = {99, 99, 99};
    struct held_request late = {.free = count_freed};
    held_rows_open_later(h, 70, &generate, NULL, &number[1]);
    held_rows_open_later(h, 60, &generate, &late, &number[0]);
    held_rows_open_later(h, 90, &generate, NULL, &number[2]);
    held_rows_leave(&late);
    rows_told = 0;
    held_rows_add(h, 55, &write, NULL);
    held_rows_add(h, 65, &write, NULL);
    assert_int_equal(rows_told, 1);
    assert_int_equal(number[1], 99);
    held_rows_pass(h, 80);
    held_rows_close(h, number[0], 80);
    assert_int_equal(freed, 2);
    held_rows_close(h, number[1], 85);
    held_rows_end(h, 85);
    const int64_t begins[] = {55, 60, 65, 70, 85}, takes[] = {0, 20, 0, 15, 0};
    assert_int_equal(rows_told, 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(told[i], begins[i]);
        assert_int_equal(durations[i], takes[i]);
    }
    held_rows_open_later(h, 95, &generate, NULL, &number[2]);
    held_rows_free(h);
    emitter_free(emitter);
}

/* ---- shares of the peak ---- */

static void test_measured_rates(void **state)
{
    (void)state;
    struct gpu_profile g = {0};
    struct step_setup s = {.step_tokens = 8192};
    struct err e;
    const struct model *llama = model_builtin(3);
    const struct step_weights bf16 = {.bytes = 2, .tp = 1}, fp8 = {.bytes = 1, .tp = 1};
    assert_int_equal(gpu_profile_set(&g, "h100", &e), 0);
    assert_int_equal(step_setup(&s, llama, &g, &bf16, &e), 0);
    /* The page of serving: 60.0 ms of the GPU and 1 ms; 25 ms and 1.1 us a token of the host. */
    assert_in_range(step_setup_first_token_ns(&s, 2048), 88 * MS, 89 * MS);
    assert_in_range(step_setup_first_token_ns(&s, 100000), 8260 * MS, 8280 * MS);
    assert_int_equal(step_setup_prefill_rate(&s, 11300, 100000, &e), 0);
    assert_in_range(step_setup_first_token_ns(&s, 100000), 8849 * MS, 8850 * MS);
    assert_in_range(s.gpu.eta_ppm, 460000, 475000);
    assert_int_equal(step_setup_decode_rate(&s, 120, 2000, &e), 0);
    assert_in_range(s.gpu.b_ppm, 550000, 720000);
    assert_true(step_setup_prefill_rate(&s, 1e9, 2000, &e) < 0);
    assert_int_equal(gpu_profile_set(&g, "h100:eta=0.25,b=0.5,eta_a=0.125", &e), 0);
    assert_int_equal(step_setup(&s, llama, &g, &bf16, &e), 0);
    assert_int_equal(s.gpu.eta_ppm, 250000);
    assert_int_equal(s.gpu.eta_a_ppm, 125000);
    assert_int_equal(s.gpu.b_ppm, 500000);
    const uint64_t whole = s.model.always_bytes;
    assert_int_equal(step_setup(&s, llama, &g, &fp8, &e), 0);
    assert_true(2 * s.model.always_bytes == whole);
    assert_true(s.model.hidden_bytes == 2 * llama->hidden);
    /* 128 experts of which a token takes 4: always are what is left of the active ones. */
    assert_int_equal(step_setup(&s, model_builtin(7), &g, &bf16, &e), 0);
    assert_int_equal(s.model.experts, 128);
    assert_true(s.model.routed_bytes == UINT64_C(2) * 36 * 128 * 3 * 2880 * 2880);
    assert_true(s.model.always_bytes ==
                2 * (model_builtin(7)->active_params - UINT64_C(36) * 4 * 3 * 2880 * 2880));
}

/* Measured times of one prompt: the engine's first token comes as they say, and what no GPU of that
 * kind can do is refused. */
static void test_measured_times(void **state)
{
    (void)state;
    struct gpu_profile g = {0};
    struct step_setup s = {.step_tokens = 8192};
    struct err e;
    const struct model *llama = model_builtin(3);
    const struct step_weights bf16 = {.bytes = 2, .tp = 1};
    struct prefill_time t;
    const struct prefill_gpu all = {.params = (double)llama->active_params,
                                    .operations_per_s = 989e12,
                                    .eta = 1,
                                    .tensor_parallel = 1};
    assert_int_equal(gpu_profile_set(&g, "h100", &e), 0);
    assert_int_equal(step_setup(&s, llama, &g, &bf16, &e), 0);
    prefill_time_layers(&t, llama);
    prefill_time_calculate(&t, llama, &all);
    const double token_ns = t.token_ns, pair_ns = t.pair_ns;
    t.t0_ns = 40e6;
    t.token_ns = token_ns / 0.4;
    t.pair_ns = pair_ns / 0.3;
    assert_int_equal(step_setup_measured(&s, llama, &t, &e), 0);
    assert_int_equal(s.gpu.eta_ppm, 400000);
    assert_int_equal(s.gpu.eta_a_ppm, 300000);
    assert_int_equal(s.host.request_ns, 39 * MS);
    for (uint64_t tokens = 1000; tokens <= 100000; tokens *= 10) {
        const double want = (double)prefill_time_ns(&t, 0, tokens);
        const double got = (double)step_setup_first_token_ns(&s, tokens);
        assert_true(got > 0.99 * want && got < 1.01 * want);
    }
    t.pair_ns = 0; /* attention that no point shows takes what it does at the peak */
    assert_int_equal(step_setup_measured(&s, llama, &t, &e), 0);
    assert_int_equal(s.gpu.eta_a_ppm, STEP_TIME_PPM);
    s.gpu.async = false; /* each step waits for the host */
    assert_int_equal(step_setup_measured(&s, llama, &t, &e), 0);
    assert_int_equal(s.host.request_ns, 35 * MS);
    t.token_ns = 0.9 * token_ns;
    assert_int_equal(step_setup_measured(&s, llama, &t, &e), -EINVAL);
    t.token_ns = 2000 * token_ns;
    assert_int_equal(step_setup_measured(&s, llama, &t, &e), -EINVAL);
}

/* ---- memory ---- */

static void test_what_weights_leave(void **state)
{
    (void)state;
    struct gpu_profile g = {0};
    struct step_memory m;
    struct err e;
    const struct step_weights one = {.bytes = 2, .tp = 1}, four = {.bytes = 2, .tp = 4},
                              fp8 = {.bytes = 1, .tp = 1};
    const struct model *llama = model_builtin(3);
    assert_int_equal(gpu_profile_set(&g, "h100", &e), 0);
    /* 8.03 G parameters: 0.92 x 80 GB - 16.06 GB - 2 GB. */
    assert_int_equal(step_setup_memory(&m, llama, &g, &one, &e), 0);
    assert_in_range(m.weight_bytes, 16050000000, 16070000000);
    assert_in_range(m.cache_bytes, 55530000000, 55550000000);
    assert_true(m.cache_bytes + m.weight_bytes == 71600000000);
    assert_int_equal(step_setup_memory(&m, llama, &g, &fp8, &e), 0);
    assert_in_range(m.weight_bytes, 8025000000, 8035000000);
    assert_int_equal(step_setup_memory(&m, llama, &g, &four, &e), 0);
    assert_in_range(m.weight_bytes, 4010000000, 4020000000);
    /* 70.6 G parameters on one GPU of 80 GB, or on one of unknown size. */
    const struct model *large = model_builtin(4);
    assert_int_equal(step_setup_memory(&m, large, &g, &one, &e), -ENOSPC);
    assert_non_null(strstr(e.what, "weights take 141"));
    assert_int_equal(step_setup_memory(&m, large, &g, &four, &e), 0);
    g.hbm_gb = 0;
    assert_int_equal(step_setup_memory(&m, llama, &g, &one, &e), -EINVAL);
}

/* ---- groups of layers ---- */

static struct model layers(uint32_t full, uint32_t windowed, uint32_t window)
{
    struct model m = {.id = "m", .layers = full + windowed, .full_layers = full};
    const struct model_part all = {.kind = MODEL_KEYS_VALUES,
                                   .caches = full,
                                   .elements = 2048,
                                   .heads = 8,
                                   .type = MODEL_BFLOAT16};
    struct model_part last = all;
    last.caches = windowed;
    last.window = window;
    m.windowed_layers = windowed;
    m.window = window;
    if (full)
        model_add(&m, &all);
    if (windowed)
        model_add(&m, &last);
    return m;
}

static void test_layers_of_a_kind_fill_groups_of_one_size(void **state)
{
    (void)state;
    struct layer_groups g;
    struct err e = {0};
    uint64_t bytes;
    struct model m = layers(10, 52, 1024);
    assert_int_equal(layer_groups_of(&g, &m, &e), 0);
    assert_int_equal(g.groups, 7); /* 10 and 5 x 10, and 2 padded to 10 */
    assert_int_equal(g.layers, 10);
    assert_int_equal(g.window[0], 0);
    assert_int_equal(g.window[1], 1024);
    assert_int_equal(g.window[6], 1024);
    assert_int_equal(layer_groups_bytes(&g, 16, &bytes), 0);
    assert_int_equal(bytes, 16 * 10 * 2048 * 2);
    m = layers(18, 18, 128);
    assert_int_equal(layer_groups_of(&g, &m, &e), 0);
    assert_int_equal(g.groups, 2);
    m = layers(32, 0, 0);
    assert_int_equal(layer_groups_of(&g, &m, &e), 0);
    assert_int_equal(g.groups, 1);
    assert_int_equal(layer_groups_bytes(&g, 16, &bytes), 0);
    assert_int_equal(bytes, 16 * 32 * 2048 * 2);
    m = layers(20, 21, 128); /* nearly as many: one group each, the smaller one padded */
    assert_int_equal(layer_groups_of(&g, &m, &e), 0);
    assert_int_equal(g.groups, 2);
    assert_int_equal(g.layers, 21);
    m = layers(1, 20, 128);
    assert_int_equal(layer_groups_of(&g, &m, &e), -EINVAL);
    m = layers(10, 10, 128);
    m.state_layers = 3;
    assert_int_equal(layer_groups_of(&g, &m, &e), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_of_a_kind_fill_groups_of_one_size),
        cmocka_unit_test(test_a_turn_begins_with_the_one_before),
        cmocka_unit_test(test_blocks_by_their_names),
        cmocka_unit_test(test_conversations_are_forgotten),
        cmocka_unit_test(test_the_link_takes_one_after_the_other),
        cmocka_unit_test(test_files_and_loads_in_a_step),
        cmocka_unit_test(test_objects_wait_for_a_thread),
        cmocka_unit_test(test_engines_have_threads_of_their_own),
        cmocka_unit_test(test_an_engine_leaves),
        cmocka_unit_test(test_a_line_that_never_empties),
        cmocka_unit_test(test_rows_wait_for_a_duration),
        cmocka_unit_test(test_measured_rates),
        cmocka_unit_test(test_measured_times),
        cmocka_unit_test(test_what_weights_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
