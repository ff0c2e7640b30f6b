/* Requests from their rows: sums by hand, the same however the rows are cut into pieces or dealt to
 * threads, a bounded table that says what it cut, and arrivals mapped to the replay's clock at any
 * speed. A bug looked like an end-to-end latency ten times too long in a replay at --speed 10. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/rng.h"
#include "kvstat/count/blocks.h"
#include "kvstat/count/file_order.h"
#include "kvstat/count/requests.h"

#define MS INT64_C(1000000)

static const int64_t targets[TRACE_QOSES] = {50 * MS, 100 * MS, 1000 * MS};

static struct trace_row row(int64_t request, uint8_t op, uint8_t tier, int64_t start_ns,
                            int64_t latency_ns)
{
    return (struct trace_row){.request = request,
                              .op = op,
                              .tier = tier,
                              .phase = TRACE_DECODE,
                              .qos = TRACE_INTERACTIVE,
                              .class = TRACE_NO_CLASS,
                              .status = TRACE_OK,
                              .tokens = TRACE_NONE,
                              .arrival_ns = TRACE_NONE,
                              .duration_ns = TRACE_NONE,
                              .due_ns = TRACE_NONE,
                              .start_ns = start_ns,
                              .latency_ns = latency_ns,
                              .device_ns = latency_ns / 2};
}

static void add(struct requests *r, const struct trace_row *rows, size_t n)
{
    struct request_piece *piece = request_piece_create(true, 0);
    assert_int_equal(request_piece_add(piece, rows, n), 0);
    assert_int_equal(requests_append(r, piece, n), 0);
    request_piece_free(piece);
}

/* Two requests whose rows alternate, replayed at ten times the trace's speed. */
static void sums_by_hand(void **state)
{
    (void)state;
    struct trace_row rows[] = {
        row(1, TRACE_WRITE, TRACE_GPU, 10 * MS, 2 * MS),
        row(2, TRACE_READ, TRACE_CPU, 20 * MS, 4 * MS),
        row(1, TRACE_READ, TRACE_STORAGE, 12 * MS, 8 * MS),
        row(2, TRACE_READ, TRACE_STORAGE, 24 * MS, 16 * MS),
        row(1, TRACE_GENERATE, TRACE_NO_TIER, 20 * MS, 30 * MS),
    };
    const int64_t time_ms[] = {50, 150, 60, 160, 70}, arrival_ms[] = {30, 100, 30, 100, 30};
    for (size_t i = 0; i < 5; i++) {
        rows[i].time_ns = time_ms[i] * MS;
        rows[i].arrival_ns = arrival_ms[i] * MS;
        rows[i].due_ns = rows[i].time_ns / 10; /* --speed 10 */
    }
    struct requests *r = requests_create(true, targets);
    add(r, rows, 2);
    add(r, rows + 2, 3);
    assert_int_equal(requests_end_file(r), 0);
    const struct requests_totals *t = requests_totals(r);
    assert_int_equal(t->count, 2);
    assert_int_equal(t->cut, 0);
    assert_int_equal(t->with_arrival, 2);
    /* request 1: arrival 3 ms, 10..50 ms; request 2: arrival 10 ms, 20..40 ms */
    assert_int_equal(hist_max(t->metric[REQUESTS_END_TO_END]), 47 * MS);
    assert_int_equal(hist_min(t->metric[REQUESTS_END_TO_END]), 30 * MS);
    assert_int_equal(hist_max(t->metric[REQUESTS_QUEUE]), 10 * MS);
    assert_int_equal(hist_min(t->metric[REQUESTS_QUEUE]), 7 * MS);
    assert_int_equal(hist_max(t->metric[REQUESTS_STORAGE]), 20 * MS);
    assert_int_equal(hist_min(t->metric[REQUESTS_STORAGE]), 10 * MS);
    assert_int_equal(hist_count(t->metric[REQUESTS_GENERATION]), 1);
    assert_true(t->end_to_end_ns == (double)(77 * MS));
    const double parts[REQUEST_PARTS] = {
        [REQUEST_PART_QUEUE] = 17, [REQUEST_PART_GENERATION] = 30, [REQUEST_PART_GPU] = 2,
        [REQUEST_PART_CPU] = 4,    [REQUEST_PART_DEVICE] = 12,     [REQUEST_PART_STORAGE] = 12};
    for (int p = 0; p < REQUEST_PARTS; p++)
        assert_true(t->part_ns[p] == parts[p] * (double)MS);
    assert_int_equal(t->qos[TRACE_INTERACTIVE].count, 2);
    assert_int_equal(t->qos[TRACE_INTERACTIVE].within_target, 2);
    requests_free(r);
}

static void unscheduled_counts_from_the_first_start(void **state)
{
    (void)state;
    struct trace_row rows[] = {row(5, TRACE_READ, TRACE_STORAGE, 100 * MS, 5 * MS),
                               row(5, TRACE_READ, TRACE_STORAGE, 90 * MS, 5 * MS),
                               row(6, TRACE_READ, TRACE_STORAGE, -9 * MS, 5 * MS)}; /* populating */
    rows[0].arrival_ns = rows[1].arrival_ns = 7 * MS;
    struct requests *r = requests_create(true, targets);
    add(r, rows, 3);
    assert_int_equal(requests_end_file(r), 0);
    const struct requests_totals *t = requests_totals(r);
    assert_int_equal(t->count, 1);
    assert_int_equal(t->with_arrival, 0);
    assert_int_equal(hist_max(t->metric[REQUESTS_END_TO_END]), 15 * MS);
    assert_null(t->metric[REQUESTS_QUEUE]);
    requests_free(r);
}

/* kvreplay --timing served: the first row's Due is the arrival itself, the other rows have none; at
 * any speed, and wherever the Timestamp of the first row lies. */
static void served_due_is_the_arrival(void **state)
{
    (void)state;
    struct trace_row rows[] = {row(1, TRACE_READ, TRACE_STORAGE, 10 * MS, 5 * MS),
                               row(1, TRACE_GENERATE, TRACE_NO_TIER, 15 * MS, 15 * MS),
                               row(2, TRACE_READ, TRACE_STORAGE, 40 * MS, 1 * MS)};
    rows[0].due_ns = 2 * MS;
    rows[2].due_ns = 39 * MS;
    for (size_t i = 0; i < 3; i++) {
        rows[i].arrival_ns = i < 2 ? 20 * MS : 390 * MS;
        rows[i].time_ns = rows[i].arrival_ns + 7 * MS; /* queued when the trace was made */
    }
    struct requests *r = requests_create(true, targets);
    add(r, rows, 3);
    assert_int_equal(requests_end_file(r), 0);
    const struct requests_totals *t = requests_totals(r);
    assert_int_equal(t->with_arrival, 2);
    assert_int_equal(hist_max(t->metric[REQUESTS_QUEUE]), 8 * MS);
    assert_int_equal(hist_min(t->metric[REQUESTS_QUEUE]), 1 * MS);
    assert_int_equal(hist_max(t->metric[REQUESTS_END_TO_END]), 28 * MS);
    assert_int_equal(hist_min(t->metric[REQUESTS_END_TO_END]), 2 * MS);
    requests_free(r);
}

/* kvreplay --timing closed: a user's first row comes at its time, the others the later the longer
 * those before took. A bug looked like this: the longer run was taken for a lower speed, and all
 * that a request had waited when the trace was made grew with it, to 69 % of the end-to-end time.
 */
static void delays_of_a_closed_replay_are_no_speed(void **state)
{
    (void)state;
    const int64_t time_ms[] = {10, 30, 50, 20}, due_ms[] = {0, 520, 1040, 10};

    for (int speed = 1; speed <= 4; speed *= 4) {
        struct trace_row rows[4];
        for (size_t i = 0; i < 4; i++) {
            rows[i] = row((int64_t)i, TRACE_READ, TRACE_STORAGE, due_ms[i] * MS, MS);
            rows[i].time_ns = speed * time_ms[i] * MS;
            rows[i].due_ns = due_ms[i] * MS;
            rows[i].arrival_ns = rows[i].time_ns - speed * 8 * MS;
        }
        struct requests *r = requests_create(true, targets);
        add(r, rows, 2);
        add(r, rows + 2, 2);
        assert_int_equal(requests_end_file(r), 0);
        const struct requests_totals *t = requests_totals(r);
        assert_int_equal(hist_max(t->metric[REQUESTS_QUEUE]), 8 * MS);
        assert_int_equal(hist_min(t->metric[REQUESTS_QUEUE]), 8 * MS);
        requests_free(r);
    }
}

/* Times that no replay has: the arrival does not fit the clock, and is not known. */
static void absurd_clock_is_unknown(void **state)
{
    (void)state;
    struct trace_row rows[] = {row(1, TRACE_READ, TRACE_STORAGE, 1 * MS, 5 * MS),
                               row(2, TRACE_READ, TRACE_STORAGE, 2 * MS, 5 * MS)};
    rows[0].due_ns = 0;
    rows[0].time_ns = 0;
    rows[0].arrival_ns = -INT64_MAX / 2;
    rows[1].due_ns = INT64_MAX / 2;
    rows[1].time_ns = 1;
    struct requests *r = requests_create(true, targets);
    add(r, rows, 2);
    assert_int_equal(requests_end_file(r), 0);
    assert_int_equal(requests_totals(r)->count, 2);
    assert_int_equal(requests_totals(r)->with_arrival, 1);
    requests_free(r);
}

/* Numbers beyond the window are counted in parts, and said to be. */
static void window_is_bounded(void **state)
{
    (void)state;
    struct requests *r = requests_create(true, targets);
    struct trace_row *rows = calloc(4096, sizeof(*rows));
    const uint64_t total = REQUESTS_WINDOW_ROWS + 2 * 4096;
    assert_non_null(rows);
    for (uint64_t at = 0; at < total; at += 4096) {
        for (uint64_t i = 0; i < 4096; i++)
            rows[i] = row((int64_t)((at + i) / 4 + 1), TRACE_READ, TRACE_STORAGE, 0, MS);
        if (at == 0)
            rows[7].request = 1000000; /* comes again at the end */
        if (at + 4096 == total)
            rows[7].request = 1000000;
        add(r, rows, 4096);
    }
    assert_int_equal(requests_end_file(r), 0);
    assert_int_equal(requests_totals(r)->count, total / 4 + 2);
    assert_int_equal(requests_totals(r)->cut, 1);
    requests_free(r);
    free(rows);
}

/* Numbers need not grow: those of other programs are hashes. A bug counted each that was 8 million
 * below the greatest as a part of an earlier one. */
static void numbers_of_any_order(void **state)
{
    (void)state;
    static const int64_t first[] = {INT64_MAX - 3, 5, 1, (int64_t)1 << 40, 70000000};
    struct requests *r = requests_create(true, targets);
    assert_non_null(r);
    for (size_t f = 0; f < sizeof(first) / sizeof(first[0]); f++) {
        struct trace_row rows[2] = {row(first[f], TRACE_READ, TRACE_STORAGE, 0, MS),
                                    row(first[f] + 1, TRACE_READ, TRACE_STORAGE, 0, MS)};
        add(r, rows, 2);
        assert_int_equal(requests_end_file(r), 0);
    }
    assert_int_equal(requests_totals(r)->count, 10);
    assert_int_equal(requests_totals(r)->cut, 0);
    requests_free(r);
}

/* ---- several threads through file_order ---- */

enum {
    PIECES = 200,
    PIECE_ROWS = 100,
    THREADS = 4
};

struct shared {
    struct file_order *order;
    const struct trace_row *rows;
    pthread_mutex_t lock;
    uint64_t next;
    unsigned threads;
};
struct hand {
    struct shared *s;
    unsigned number;
};

static void *work(void *arg)
{
    struct hand *h = arg;
    struct file_order_piece *piece = NULL;
    struct err e = {0};
    for (;;) {
        pthread_mutex_lock(&h->s->lock);
        uint64_t number = h->s->next++;
        pthread_mutex_unlock(&h->s->lock);
        if (number >= PIECES)
            break;
        piece = file_order_next(h->s->order, h->number, piece, number);
        if (!piece || file_order_add(piece, h->s->rows + number * PIECE_ROWS, PIECE_ROWS, &e) < 0)
            break;
    }
    file_order_next(h->s->order, h->number, piece, UINT64_MAX);
    return NULL;
}

static void run_threads(const struct trace_row *rows, unsigned threads, struct requests *r,
                        struct occupancy *o)
{
    struct shared s = {
        .order = file_order_create(threads, true, 0, r, NULL), .rows = rows, .threads = threads};
    struct hand hand[THREADS];
    pthread_t thread[THREADS];
    struct err e = {0};
    pthread_mutex_init(&s.lock, NULL);
    for (unsigned i = 0; i < threads; i++) {
        hand[i] = (struct hand){&s, i};
        assert_int_equal(pthread_create(&thread[i], NULL, work, &hand[i]), 0);
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(file_order_finish(s.order, o, &e), 0);
    assert_int_equal(requests_end_file(r), 0);
    file_order_free(s.order);
    pthread_mutex_destroy(&s.lock);
}

static void threads_make_no_difference(void **state)
{
    (void)state;
    static struct trace_row rows[PIECES * PIECE_ROWS];
    struct occupancy one = {0}, many = {0};
    struct rng g;
    rng_seed(&g, 11, 0);
    for (size_t i = 0; i < PIECES * PIECE_ROWS; i++) {
        rows[i] = row((int64_t)(i / 10 + rng_below(&g, 300)),
                      rng_below(&g, 2) ? TRACE_WRITE : TRACE_DELETE, (uint8_t)rng_below(&g, 3),
                      (int64_t)i * MS, (int64_t)rng_below(&g, 1000000));
        rows[i].size = rng_below(&g, 1000);
    }
    struct requests *a = requests_create(true, targets);
    run_threads(rows, 1, a, &one);
    for (int again = 0; again < 20; again++) {
        struct requests *b = requests_create(true, targets);
        run_threads(rows, THREADS, b, &many);
        assert_memory_equal(&one, &many, sizeof(one));
        assert_int_equal(requests_totals(a)->count, requests_totals(b)->count);
        assert_true(requests_totals(a)->end_to_end_ns == requests_totals(b)->end_to_end_ns);
        for (int p = 0; p < REQUEST_PARTS; p++)
            assert_true(requests_totals(a)->part_ns[p] == requests_totals(b)->part_ns[p]);
        requests_free(b);
    }
    assert_in_range(requests_totals(a)->count, 2000, 2300);
    requests_free(a);
}

/* However a file is cut into pieces, requests follow each other in the order of their last rows. */
static void order_of_the_last_rows(void **state)
{
    enum {
        N = 512
    };
    static struct trace_row rows[2 * N];
    struct blocks_mean mean[2];

    (void)state;
    for (int i = 0; i < N; i++) {
        unsigned turned = 0;
        for (int bit = 0; bit < 9; bit++)
            turned |= ((unsigned)i >> bit & 1) << (8 - bit);
        rows[i] = row(i, TRACE_READ, TRACE_STORAGE, 0, MS);
        rows[N + i] = row((int64_t)turned, TRACE_READ, TRACE_STORAGE, i * MS, MS);
    }
    for (int k = 0; k < 2; k++) {
        struct requests *r = requests_create(true, targets);
        requests_follow(r);
        for (size_t at = 0, n = k == 0 ? 2 * N : 7; at < 2 * N; at += n)
            add(r, rows + at, 2 * N - at < n ? 2 * N - at : n);
        assert_int_equal(requests_end_file(r), 0);
        assert_int_equal(blocks_count(requests_totals(r)->end_to_end), N);
        assert_true(blocks_mean(requests_totals(r)->end_to_end, &mean[k]));
        requests_free(r);
    }
    assert_true(mean[0].mean == mean[1].mean && mean[0].variance == mean[1].variance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_by_hand),
        cmocka_unit_test(order_of_the_last_rows),
        cmocka_unit_test(unscheduled_counts_from_the_first_start),
        cmocka_unit_test(served_due_is_the_arrival),
        cmocka_unit_test(delays_of_a_closed_replay_are_no_speed),
        cmocka_unit_test(absurd_clock_is_unknown),
        cmocka_unit_test(window_is_bounded),
        cmocka_unit_test(numbers_of_any_order),
        cmocka_unit_test(threads_make_no_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
