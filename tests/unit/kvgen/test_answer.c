/* The parts of an answer, each by hand: which requests are good and how many a load needs, when a
 * simulation is warm, what a search finds for planted loads, and how a window's objects are folded.
 * A bug looked like a load that held with a class that got nothing, a search that stepped over a
 * load that failed, rows that the end of a simulation swallowed, or a read of an object that a
 * replay had never written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "kvgen/answer/answer.h"
#include "kvgen/answer/criterion.h"
#include "kvgen/answer/line.h"
#include "kvgen/answer/search.h"
#include "kvgen/answer/warm.h"
#include "kvgen/answer/window.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

/* ---- the criterion ---- */

static const struct criterion criterion = {2 * S, 100 * MS, 0.95};

static void test_a_request_is_good_within_both_targets(void **state)
{
    (void)state;
    /* 1 ms a token, in steps of any size, and no host: 1000 tokens take 1 s. */
    const struct step_setup steps = {.model = {.parameters = 500000},
                                     .gpu = {.ops_s = 1000000000,
                                             .bytes_s = 1000000000,
                                             .tp = 1,
                                             .eta_ppm = STEP_TIME_PPM,
                                             .eta_a_ppm = STEP_TIME_PPM,
                                             .b_ppm = STEP_TIME_PPM},
                                     .step_tokens = 100000};
    struct engine_done d = {.first_token_ns = 2 * S, .token_ns = 100 * MS, .prompt_tokens = 1000};
    assert_int_equal(step_setup_first_token_ns(&steps, 1000), S);
    assert_true(criterion_is_good(&criterion, &steps, &d));
    d.token_ns++;
    assert_false(criterion_is_good(&criterion, &steps, &d));
    d.token_ns = -1; /* one token only */
    assert_true(criterion_is_good(&criterion, &steps, &d));
    d.first_token_ns++;
    assert_false(criterion_is_good(&criterion, &steps, &d));
    d.prompt_tokens = 4000; /* alone 4 s: 4.4 s are allowed */
    d.first_token_ns = 4400 * MS;
    assert_true(criterion_is_good(&criterion, &steps, &d));
    d.first_token_ns++;
    assert_false(criterion_is_good(&criterion, &steps, &d));
    assert_int_equal(criterion_first_token_ns(&criterion, &steps, 2000), 2 * S);

    /* Requests that wait. */
    struct engine_pending p = {.now_ns = 3 * S, .arrival_ns = S, .prompt_tokens = 1000};
    assert_false(criterion_is_late(&criterion, &steps, &p));
    p.now_ns++;
    assert_true(criterion_is_late(&criterion, &steps, &p));
    p.prompt_tokens = 4000;
    p.now_ns = 5400 * MS;
    assert_false(criterion_is_late(&criterion, &steps, &p));
    p.now_ns++;
    assert_true(criterion_is_late(&criterion, &steps, &p));
    p.output_tokens = 11; /* ten after the first one: 1 s is allowed, and then is past */
    p.first_ns = p.now_ns - S;
    assert_false(criterion_is_late(&criterion, &steps, &p));
    p.now_ns += 10;
    assert_true(criterion_is_late(&criterion, &steps, &p));
    p.output_tokens = 1;
    assert_false(criterion_is_late(&criterion, &steps, &p));
}

static void count(struct criterion_tally *t, enum trace_qos qos, unsigned good, unsigned bad)
{
    for (unsigned i = 0; i < good + bad; i++)
        criterion_count(t, qos, i < good);
}

static void test_each_class_needs_its_share(void **state)
{
    (void)state;
    struct criterion_tally t = {0};
    assert_false(criterion_holds(&criterion, &t));
    count(&t, TRACE_BATCH, 380, 0);
    count(&t, TRACE_INTERACTIVE, 19, 1);
    assert_true(criterion_is_decided(&criterion, &t));
    assert_true(criterion_holds(&criterion, &t));
    criterion_count(&t, TRACE_INTERACTIVE, false); /* 19 of 21 */
    assert_false(criterion_holds(&criterion, &t));
    t = (struct criterion_tally){0};
    count(&t, TRACE_BATCH, 400, 0);
    count(&t, TRACE_INTERACTIVE, 0, 19); /* too few to be a class: of all, 400 of 419 */
    assert_false(criterion_is_decided(&criterion, &t));
    assert_true(criterion_holds(&criterion, &t));
    count(&t, TRACE_BATCH, 1200, 0);
    assert_true(criterion_is_decided(&criterion, &t)); /* 1,619 requests and still no class */
}

static void test_too_many_that_are_not_good_decide(void **state)
{
    (void)state;
    struct criterion_tally t = {0};
    count(&t, TRACE_RESPONSIVE, 0, 20); /* 20 of 400 are allowed */
    assert_false(criterion_is_decided(&criterion, &t));
    count(&t, TRACE_RESPONSIVE, 0, 1);
    assert_true(criterion_is_decided(&criterion, &t));
    assert_false(criterion_holds(&criterion, &t));
}

/* ---- warm ---- */

/* Requests from second to second, one each, with so many of 1000 tokens from the drive. */
static bool pass(struct warm *w, unsigned from_s, unsigned to_s, uint64_t storage, bool good)
{
    for (unsigned s = from_s; s < to_s; s++) {
        const uint64_t of[WARM_ORIGINS] = {
            [WARM_STORAGE] = storage, [WARM_COMPUTED] = 1000 - storage};
        if (warm_add(w, (int64_t)s * S, of, good))
            return true;
    }
    return false;
}

/* Windows begin at 203, 304, 456, 684 s, to the next second. */
static void test_warm_when_two_windows_agree(void **state)
{
    (void)state;
    struct warm w;
    warm_begin(&w, 0, WARM_REQUESTS_MAX);
    assert_false(pass(&w, 0, 203, 100, true)); /* 67 requests in the window before: too few */
    assert_false(pass(&w, 203, 304, 500, true));
    assert_false(pass(&w, 304, 456, 509, true)); /* 0.9 points more */
    assert_true(pass(&w, 456, 457, 509, true));
    assert_true(w.settled);
    warm_begin(&w, 0, WARM_REQUESTS_MAX);
    assert_false(pass(&w, 0, 203, 100, true));
    assert_false(pass(&w, 203, 304, 500, true));
    assert_false(pass(&w, 304, 456, 511, true)); /* 1.1 points, and no error at all */
    assert_false(pass(&w, 456, 684, 511, true));
    assert_true(pass(&w, 684, 685, 511, true));
    assert_int_equal(w.begin_ns, 455625 * MS);
    warm_begin(&w, 1000 * S, WARM_REQUESTS_MAX); /* when caches have what they had */
    assert_false(pass(&w, 1000, 1456, 509, true));
    assert_true(pass(&w, 1456, 1457, 509, true));
    assert_true(w.settled);
}

static void test_what_varies_is_not_compared_to_a_point(void **state)
{
    (void)state;
    /* Every fifth request finds everything, and in the second window 8 or 20 more of 152: of a
     * standard error of 5 points, one and a half, and more than two. */
    for (unsigned more = 8; more <= 20; more += 12) {
        struct warm w;
        warm_begin(&w, 0, WARM_REQUESTS_MAX);
        for (unsigned s = 0, added = 0; s < 456; s++) {
            const bool adds = s >= 304 && s % 5 == 1 && added < more;
            const bool hit = s % 5 == 0 || adds;
            const uint64_t of[WARM_ORIGINS] = {
                [WARM_STORAGE] = hit ? 1000 : 0, [WARM_COMPUTED] = hit ? 0 : 1000};
            added += adds;
            assert_false(warm_add(&w, (int64_t)s * S, of, true));
        }
        const uint64_t of[WARM_ORIGINS] = {0};
        assert_true(warm_add(&w, 456 * S, of, true) == (more == 8));
        assert_true(w.settled == (more == 8));
    }
}

static void test_the_horizon_and_the_hopeless(void **state)
{
    (void)state;
    struct warm w;
    uint64_t of[WARM_ORIGINS] = {[WARM_GPU] = 1};
    warm_begin(&w, 0, WARM_REQUESTS_MAX);
    assert_false(warm_add(&w, 100 * S, of, true));
    assert_true(warm_add(&w, WARM_HORIZON_NS, of, true));
    assert_false(w.settled);
    warm_begin(&w, 0, WARM_REQUESTS_MAX);
    for (unsigned i = 0; i + 1 < WARM_REQUESTS_MAX; i++)
        assert_false(warm_add(&w, 0, of, true));
    assert_true(warm_add(&w, 0, of, true));
    assert_false(w.settled);

    warm_begin(&w, 0, WARM_REQUESTS_MAX);
    for (unsigned s = 0; s < 404; s++) {
        of[WARM_GPU] = s < 304 ? 1000 : 0;
        of[WARM_HOST] = s < 304 ? 0 : 1000;
        assert_false(warm_add(&w, (int64_t)s * S, of, false));
        assert_false(warm_is_hopeless(&w));
    }
    for (unsigned s = 404; s < 456; s++)
        assert_false(warm_add(&w, (int64_t)s * S, of, false));
    assert_true(w.before.requests >= WARM_REQUESTS && warm_is_hopeless(&w));
}

/* ---- the end of a simulation ---- */

/* Three requests at once, of 100 tokens and 10, 20 and 30 of answers. */
struct three {
    struct source base; /* first */
    unsigned taken;
};

static int three_peek(struct source *s, int64_t *arrival_ns, struct err *e)
{
    (void)e;
    *arrival_ns = 0;
    return ((struct three *)s)->taken < 3;
}

static void three_take(struct source *s, struct request *out)
{
    const unsigned n = ++((struct three *)s)->taken;
    *out = (struct request){.number = n,
                            .prompt = -1,
                            .context_tokens = 100,
                            .generated_tokens = 10 * (int64_t)n,
                            .object = ident_request(n, n)};
}

static int block_bytes(const void *model, uint64_t tokens, uint64_t *bytes)
{
    (void)model;
    *bytes = tokens;
    return 0;
}

static unsigned generate_rows, requests_done;

static int count_rows(void *ctx, const struct sim_row *row, struct err *e)
{
    (void)ctx, (void)e;
    generate_rows += row->what.op == TRACE_GENERATE;
    return 0;
}

static bool second_is_enough(void *ctx, const struct engine_done *d)
{
    (void)ctx;
    assert_int_equal(d->output_tokens, 10 * ++requests_done);
    return requests_done == 2;
}

static struct engine_choice cache;
static const struct workload no_workload;
static const struct tier_model no_files;
static const struct step_setup slow_steps = {.model = {.parameters = 1},
                                             .gpu = {.ops_s = 1000000,
                                                     .bytes_s = 1000000,
                                                     .tp = 1,
                                                     .eta_ppm = STEP_TIME_PPM,
                                                     .eta_a_ppm = STEP_TIME_PPM,
                                                     .b_ppm = STEP_TIME_PPM,
                                                     .async = true}}; /* as the cache has it */

static struct engine_run_opts engine_of(struct three *three, uint64_t gpu_bytes)
{
    struct err e = {0};
    assert_int_equal(engine_choice_parse(&cache, "vllm", &e), 0);
    return (struct engine_run_opts){
        .source = &three->base,
        .workload = &no_workload,
        .cache = &cache,
        .room = {.capacity = {gpu_bytes}, .ranks = 1, .block_bytes = block_bytes},
        .steps = slow_steps,
        .files = &no_files};
}

/* Requests that wait at the end; so many of them have a first token. */
struct waiting {
    unsigned all, begun;
};

static void note_waiting(void *ctx, const struct engine_pending *p)
{
    struct waiting *w = ctx;
    w->all++;
    w->begun += p->first_ns > 0;
    assert_true(p->now_ns > 0 && p->arrival_ns == 0 && p->files_ns == 0);
    assert_true(p->prompt_tokens == 100 && p->output_tokens <= 30);
}

/* The host has all of them when the time is over. */
static void test_who_waits_at_the_host_is_told(void **state)
{
    (void)state;
    static const struct source_ops ops = {.peek = three_peek, .take = three_take};
    struct three three = {.base = {&ops}};
    struct waiting waiting = {0};
    struct err e = {0};
    struct engine_run *r;
    struct engine_run_opts o = engine_of(&three, 16384);
    o.steps.host.request_ns = 2 * S;
    o.duration_ns = S;
    assert_int_equal(engine_run_create(&r, &o, NULL, NULL, &e), 0);
    assert_int_equal(engine_run(r, &e), 0);
    engine_run_pending(r, note_waiting, &waiting);
    assert_true(waiting.all == 3 && waiting.begun == 0);
    engine_run_free(r);
}

static void test_who_has_heard_enough_gets_the_rows_so_far(void **state)
{
    (void)state;
    static const struct source_ops ops = {.peek = three_peek, .take = three_take};
    struct three three = {.base = {&ops}};
    struct err e = {0};
    struct engine_run *r;
    struct engine_run_opts o = engine_of(&three, 16384);
    o.done = second_is_enough;
    assert_int_equal(engine_run_create(&r, &o, count_rows, NULL, &e), 0);
    assert_int_equal(engine_run(r, &e), 0);
    assert_int_equal(requests_done, 2);
    assert_int_equal(generate_rows, 6); /* those of the third end with the run, */
    struct waiting waiting = {0};
    engine_run_pending(r, note_waiting, &waiting); /* which tells of no other */
    assert_true(waiting.all == 1 && waiting.begun == 1);
    engine_run_free(r);
}

/* ---- requests that are too long ---- */

static unsigned refused;

static bool note_done(void *ctx, const struct engine_done *d)
{
    (void)ctx;
    refused += d->too_long;
    if (d->too_long)
        assert_true(d->first_token_ns == 0 && d->token_ns == -1 && d->prompt_tokens == 100);
    return false;
}

static const struct source_ops noted_ops = {.peek = three_peek, .take = three_take};

static void test_a_request_that_is_too_long_is_told(void **state)
{
    (void)state;
    struct three three = {.base = {&noted_ops}};
    struct err e = {0};
    struct engine_run *r;
    struct engine_run_opts o = engine_of(&three, 96); /* 100 tokens and the answer do not fit */
    refused = 0;
    o.done = note_done;
    assert_int_equal(engine_run_create(&r, &o, NULL, NULL, &e), 0);
    assert_int_equal(engine_run(r, &e), 0);
    assert_int_equal(refused, 3);
    assert_int_equal(engine_run_stats(r)->longest_prompt, 100);
    engine_run_free(r);
}

/* ---- the search ---- */

/* A planted load: holds below `holds`, but not from gap[0] to gap[1]. */
struct planted {
    uint64_t holds, gap[2];
    unsigned tries, fails_at;
    uint64_t largest_held, least_failed;
};

static int try_planted(void *ctx, uint64_t n, bool *held)
{
    struct planted *p = ctx;
    if (++p->tries == p->fails_at)
        return -EIO;
    *held = n < p->holds && !(n >= p->gap[0] && n <= p->gap[1]);
    if (*held && n > p->largest_held)
        p->largest_held = n;
    if (!*held && (!p->least_failed || n < p->least_failed))
        p->least_failed = n;
    return 0;
}

static void test_a_search_finds_the_edge(void **state)
{
    (void)state;
    for (uint64_t holds = 1; holds < 5000; holds += holds < 200 ? 1 : 97)
        for (unsigned start = 1; start <= 4096; start *= 4)
            for (unsigned step = 1; step <= 14; step += 13) {
                struct planted p = {.holds = holds};
                const struct search s = {.start = start, .most = 100000, .step = step, .apart = 1};
                uint64_t value, failed;
                assert_int_equal(search_largest(&s, try_planted, &p, &value, &failed), 0);
                assert_true(value < holds && failed >= holds);
                assert_true(failed - value == 1 || failed - value <= value / 20);
                assert_true(p.tries < 25);
                /* Wherever it began, it found the same. */
                const struct search other = {.start = 16, .most = 100000, .step = 5, .apart = 1};
                uint64_t value2, failed2;
                assert_int_equal(search_largest(&other, try_planted, &p, &value2, &failed2), 0);
                assert_true(value2 == value && failed2 == failed);
            }
}

static void test_a_search_where_more_may_hold_again(void **state)
{
    (void)state;
    for (uint64_t from = 1; from < 300; from++)
        for (uint64_t width = 0; width < 60; width += 7) {
            struct planted p = {.holds = 300, .gap = {from, from + width}};
            const struct search s = {.start = 16, .most = 100000, .step = 14, .apart = 1};
            uint64_t value, failed;
            assert_int_equal(search_largest(&s, try_planted, &p, &value, &failed), 0);
            assert_true(failed == p.least_failed && value < failed);
            assert_true(p.largest_held <= value || p.largest_held > failed);
        }
}

static void test_the_ends_of_a_search(void **state)
{
    (void)state;
    struct planted p = {.holds = 1};
    struct search s = {.start = 16, .most = 100000, .step = 14, .apart = 1};
    uint64_t value, failed;
    assert_int_equal(search_largest(&s, try_planted, &p, &value, &failed), 0);
    assert_int_equal(value, 0);
    assert_int_equal(failed, 1);
    p = (struct planted){.holds = 1000000};
    assert_int_equal(search_largest(&s, try_planted, &p, &value, &failed), 0);
    assert_int_equal(value, 100000);
    assert_int_equal(failed, 0);
    p = (struct planted){.holds = 50, .fails_at = 3};
    assert_int_equal(search_largest(&s, try_planted, &p, &value, &failed), -EIO);
    assert_int_equal(p.tries, 3);
}

static void test_a_verdict_is_about_the_seeds(void **state)
{
    (void)state;
    const struct answer_users u = {.value = 38, .low = 36, .high = 40};
    assert_int_equal(answer_verdict_of(&u, 36), ANSWER_PASS);
    assert_int_equal(answer_verdict_of(&u, 37), ANSWER_UNDECIDED);
    assert_int_equal(answer_verdict_of(&u, 40), ANSWER_UNDECIDED);
    assert_int_equal(answer_verdict_of(&u, 41), ANSWER_FAIL);
}

/* ---- the limit ---- */

/* 400 requests that were computed for 1 s each, and half of them waited so long for files. */
static struct trial spent(int64_t files_ns)
{
    struct trial t = {.files_ns = hist_create(), .busy_ns = 400 * S};
    t.tally.requests[TRACE_BATCH] = 400;
    t.time_ns[ENGINE_DECODE] = 400 * S;
    t.time_ns[ENGINE_WAITING] = 200 * files_ns;
    assert_int_equal(hist_record_n(t.files_ns, files_ns, 200), 0);
    return t;
}

static enum limit end_of(const struct step_setup *steps, const struct trial *held,
                         const struct trial *failed)
{
    const struct limit_load before = limit_load_of(steps, held);
    const struct limit_load after = failed ? limit_load_of(steps, failed) : before;
    return limit_find(&before, failed ? &after : NULL, LIMIT_DRIVE_MAY);
}

static void test_what_grows_is_the_limit(void **state)
{
    (void)state;
    const struct step_setup steps = {.model = {.parameters = 500000},
                                     .gpu = {.ops_s = 1000000000,
                                             .bytes_s = 1000000000,
                                             .tp = 1,
                                             .eta_ppm = STEP_TIME_PPM,
                                             .eta_a_ppm = STEP_TIME_PPM,
                                             .b_ppm = STEP_TIME_PPM},
                                     .step_tokens = 1000};
    struct trial held = spent(S), failed = spent(3 * S);
    assert_int_equal(end_of(&steps, &held, NULL), LIMIT_NONE);
    failed.moved[0] = 2;
    failed.moved[1] = 1;
    assert_int_equal(end_of(&steps, &held, &failed), LIMIT_STORAGE_READS);
    failed.moved[1] = 3;
    assert_int_equal(end_of(&steps, &held, &failed), LIMIT_STORAGE_WRITES);
    const struct limit_load before = limit_load_of(&steps, &held);
    const struct limit_load after = limit_load_of(&steps, &failed);
    assert_int_equal(limit_find(&before, &after, LIMIT_DRIVE_NOT), LIMIT_DECODE);
    failed.time_ns[ENGINE_DECODE] += 900 * S; /* the files' second is less */
    assert_int_equal(end_of(&steps, &held, &failed), LIMIT_DECODE);
    const struct limit_load later = limit_load_of(&steps, &failed);
    assert_int_equal(limit_find(&before, &later, LIMIT_DRIVE_DOES), LIMIT_STORAGE_WRITES);
    failed.origin[WARM_COMPUTED] = 200000; /* 1 ms each, of 400 s */
    assert_int_equal(end_of(&steps, &held, &failed), LIMIT_PREFILL);
    failed.refused_admissions = 201;
    assert_int_equal(end_of(&steps, &held, &failed), LIMIT_GPU_MEMORY);
    failed.refused_admissions = 0;
    failed.time_ns[ENGINE_PREEMPTED] = 1000 * S;
    assert_int_equal(end_of(&steps, &held, &failed), LIMIT_GPU_MEMORY);
    failed.time_ns[ENGINE_LOADING] = 2000 * S;
    assert_int_equal(end_of(&steps, &held, &failed), LIMIT_HOST_LINK);
    failed.too_long = 21; /* of 400 */
    assert_int_equal(end_of(&steps, &held, &failed), LIMIT_GPU_MEMORY);
    failed.stuck = true;
    assert_int_equal(end_of(&steps, &held, &failed), LIMIT_HOST_MEMORY);
    trial_free(&held);
    trial_free(&failed);
}

/* ---- the window ---- */

static struct {
    int64_t time_ns;
    struct hierarchy_op op;
    int64_t arrival_ns;
} told[32];
static unsigned rows_told;

static int take(void *ctx, const struct sim_row *row, struct err *e)
{
    (void)ctx, (void)e;
    told[rows_told].time_ns = row->time_ns;
    told[rows_told].arrival_ns = row->request ? row->request->arrival_ns : -1;
    told[rows_told++].op = row->what;
    return 0;
}

static int row(struct window *w, int64_t time_ns, enum trace_op op, enum trace_tier tier,
               uint64_t key)
{
    static const struct request request = {.number = 1, .arrival_ns = 95 * S};
    const struct sim_row r = {
        .time_ns = time_ns,
        .request = &request,
        .what = {.op = op, .tier = tier, .size = 10, .id = ident_chain(key, 0)}};
    return window_row(w, &r, NULL);
}

static void test_a_window_folds_what_was_written_before(void **state)
{
    (void)state;
    struct window *w = window_create(100 * S, 10 * S, 2, take, NULL);
    rows_told = 0;
    assert_int_equal(row(w, 99 * S, TRACE_READ, TRACE_STORAGE, 1), 0);
    assert_int_equal(row(w, 100 * S, TRACE_READ, TRACE_CPU, 1), 0);
    for (uint64_t key = 1; key <= 3; key++) /* the third shares an object with the first */
        assert_int_equal(row(w, 101 * S, TRACE_READ, TRACE_STORAGE, key), 0);
    assert_int_equal(row(w, 102 * S, TRACE_WRITE, TRACE_STORAGE, 9), 0);
    assert_int_equal(row(w, 103 * S, TRACE_READ, TRACE_STORAGE, 9), 0);
    assert_int_equal(row(w, 104 * S, TRACE_DELETE, TRACE_STORAGE, 1), 0);
    assert_int_equal(row(w, 105 * S, TRACE_DELETE, TRACE_STORAGE, 9), 0);
    assert_int_equal(row(w, 106 * S, TRACE_READ, TRACE_STORAGE, 9), 0); /* an older one of it */
    assert_int_equal(row(w, 110 * S, TRACE_READ, TRACE_STORAGE, 1), 1);
    assert_int_equal(rows_told, 7);
    assert_int_equal(told[0].time_ns, 1 * S);
    assert_int_equal(told[0].arrival_ns, 0);
    assert_true(ident_equal(told[0].op.id, ident_block(0)));
    assert_true(ident_equal(told[1].op.id, ident_block(1)));
    assert_true(ident_equal(told[2].op.id, ident_block(0)));
    assert_true(ident_equal(told[3].op.id, ident_chain(9, 0)));
    assert_true(ident_equal(told[4].op.id, ident_chain(9, 0)));
    assert_int_equal(told[5].op.op, TRACE_DELETE);
    assert_true(ident_equal(told[6].op.id, ident_block(1)));
    const struct window_stats *st = window_stats(w);
    assert_int_equal(st->rows, 7);
    assert_int_equal(st->read_bytes, 50);
    assert_int_equal(st->written_bytes, 10);
    assert_int_equal(st->pool_objects, 2);
    assert_int_equal(st->pool_bytes, 20);
    window_free(w);
}

static void test_the_busiest_part_is_found(void **state)
{
    (void)state;
    struct window_load l = {0};
    const struct {
        int64_t s;
        uint64_t bytes;
    } rows[] = {{1, 900}, {10, 5}, {12, 7}, {13, 1}, {20, 8}, {29, 800}};
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct sim_row r = {.time_ns = rows[i].s * S,
                                  .what = {.op = TRACE_READ,
                                           .tier = TRACE_STORAGE,
                                           .size = rows[i].bytes,
                                           .id = ident_chain(1, 0)}};
        assert_int_equal(window_load_row(&l, &r, NULL), 0);
    }
    assert_int_equal(window_busiest(&l, 5 * S, 29 * S, 3 * S), 10 * S); /* 5 + 7 */
    assert_int_equal(window_busiest(&l, 5 * S, 30 * S, 3 * S), 27 * S);
    assert_int_equal(window_busiest(&l, 13 * S, 15 * S, 3 * S), 13 * S); /* none fits */
    window_load_free(&l);
    const struct tier_model files = {.given = true, .write = {1000, 0}}, none = {.given = true};
    assert_int_equal(window_pool(&files, 10), 1500);
    assert_int_equal(window_pool(&files, 1000), 16);
    assert_true(window_pool(&none, 10) == UINT64_MAX);
}

/* Whether a line grows that goes from one number to another, with every other moment by swing
 * higher and lower. */
static bool grows(uint64_t from, uint64_t to, uint64_t swing)
{
    struct line l = {0};
    for (uint64_t i = 0; i < 400; i++) {
        const uint64_t here = from + (to - from) * i / 400;
        assert_int_equal(line_add(&l, i % 2 ? here + swing : here - swing), 0);
    }
    const bool does = line_grows(&l);
    line_free(&l);
    return does;
}

static void test_a_line_grows_by_its_means(void **state)
{
    (void)state;
    assert_true(grows(50, 200, 0));
    assert_true(grows(50, 200, 40));
    assert_false(grows(100, 100, 90)); /* its last moment is 19 times its first */
    assert_false(grows(100, 150, 0));  /* means of 108 and 141 */
    assert_false(grows(5, 20, 0));     /* few, for 400 requests */
    struct line comes = {0};           /* and has not grown before; then it goes */
    for (uint64_t i = 0; i < 400; i++)
        assert_int_equal(line_add(&comes, i < 280 ? 50 : 150), 0);
    assert_false(line_grows(&comes));
    line_free(&comes);
    const struct line none = {0};
    assert_false(line_grows(&none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_is_good_within_both_targets),
        cmocka_unit_test(test_each_class_needs_its_share),
        cmocka_unit_test(test_too_many_that_are_not_good_decide),
        cmocka_unit_test(test_warm_when_two_windows_agree),
        cmocka_unit_test(test_what_varies_is_not_compared_to_a_point),
        cmocka_unit_test(test_the_horizon_and_the_hopeless),
        cmocka_unit_test(test_who_waits_at_the_host_is_told),
        cmocka_unit_test(test_who_has_heard_enough_gets_the_rows_so_far),
        cmocka_unit_test(test_a_request_that_is_too_long_is_told),
        cmocka_unit_test(test_a_line_grows_by_its_means),
        cmocka_unit_test(test_a_search_finds_the_edge),
        cmocka_unit_test(test_a_search_where_more_may_hold_again),
        cmocka_unit_test(test_the_ends_of_a_search),
        cmocka_unit_test(test_a_verdict_is_about_the_seeds),
        cmocka_unit_test(test_what_grows_is_the_limit),
        cmocka_unit_test(test_a_window_folds_what_was_written_before),
        cmocka_unit_test(test_the_busiest_part_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
