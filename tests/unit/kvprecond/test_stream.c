/* The end of a stream that fails: a write that fails, first, in the middle or last, ends it with
 * its error, nothing is in flight afterwards, no later chunk begins, and the fillers have ended. A
 * bug looked like a filler that waited forever for a buffer that a failed write kept, or like one
 * of several targets that failed and was not named. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kvprecond/fill.h"
#include "lib/io/io.h"

#define CHUNK  (64u << 10)
#define CHUNKS 20u
#define BUFS   4u

/* ---- psync, with one write that fails ---- */

static unsigned fail_at; /* 0: none fails */
static unsigned submitted;
static unsigned submitted_by_then; /* when the failure was told; 0: none yet */

static int failing_submit(struct io *io, struct io_req *req)
{
    if (++submitted == fail_at)
        req->fd = -1;
    return io_psync_ops.submit(io, req);
}

/* Requests that the engine's threads end meanwhile may be told before the failure: only one that
 * begins after it is wrong. */
static int watching_reap(struct io *io, struct io_req **done, int max, int64_t until_ns)
{
    const int n = io_psync_ops.reap(io, done, max, until_ns);

    for (int i = 0; i < n; i++)
        if (done[i]->result < 0 && submitted_by_then == 0)
            submitted_by_then = submitted;
    return n;
}

static enum fill_wish go_on(void *ctx, uint64_t written)
{
    (void)ctx;
    assert_true(written <= UINT64_C(2) * CHUNKS * CHUNK);
    return FILL_GO_ON;
}

static enum fill_wish stop_soon(void *ctx, uint64_t written)
{
    (void)ctx;
    (void)written;
    return FILL_STOP;
}

/* Writes CHUNKS chunks to each of so many new folders with that many fillers. */
static int run_all(unsigned lanes, unsigned fillers, enum fill_wish (*tick)(void *, uint64_t),
                   struct fill_result *r, struct err *e)
{
    static const char *const names[2] = {"first", "second"};
    char path[2][32];
    const struct plan_opts po = {.mode = PLAN_STREAM,
                                 .region = (uint64_t)CHUNKS * CHUNK,
                                 .volume = (uint64_t)CHUNKS * CHUNK,
                                 .file_bytes = (uint64_t)CHUNKS * CHUNK,
                                 .write_bytes = CHUNK,
                                 .seed = 1};
    struct io_ops ops = io_psync_ops;
    struct plan plan;
    struct fill_lane lane[2];
    struct fill_queue queue[2];
    struct hist *service = hist_create();

    plan_init(&plan, &po);
    ops.submit = failing_submit;
    ops.reap = watching_reap;
    submitted = submitted_by_then = 0;
    for (unsigned i = 0; i < lanes; i++) {
        void *pool = io_buffers_map((size_t)BUFS * CHUNK, IO_PAGES_HUGE);
        const struct io_opts io_o = {.depth = BUFS, .pool = pool, .buf_bytes = CHUNK, .bufs = BUFS};

        snprintf(path[i], sizeof(path[i]), "/tmp/kvtrace-stream.XXXXXX");
        assert_non_null(mkdtemp(path[i]));
        const struct fill_target_opts to = {
            .path = path[i], .kind = TARGET_DIR, .reserve_share = 0};
        queue[i].pool = pool;
        lane[i] =
            (struct fill_lane){.plan = &plan, .queues = &queue[i], .name = names[i], .node = -1};
        assert_int_equal(fill_target_open(&lane[i].target, &to, e), 0);
        assert_int_equal(fill_target_plan(lane[i].target, &plan, BUFS + 1, e), 0);
        assert_int_equal(io_open(&queue[i].io, IO_PSYNC, &io_o, e), 0);
        if (i == 0)
            queue[i].io->ops = &ops;
    }
    const struct fill_opts o = {.lanes = lane,
                                .lane_count = lanes,
                                .threads = 1,
                                .bufs = BUFS,
                                .fillers = fillers,
                                .depth = BUFS,
                                .tick = tick};
    int ret = fill_run(&o, r, service, e);
    assert_int_equal(hist_count(service), r->writes);
    for (unsigned i = 0; i < lanes; i++) {
        struct err closing;

        queue[i].io->ops->close(queue[i].io);
        io_buffers_unmap(queue[i].pool, (size_t)BUFS * CHUNK);
        assert_int_equal(fill_target_close(lane[i].target, false, &closing), 0);
        rmdir(path[i]);
    }
    hist_free(service);
    return ret;
}

static int run(unsigned fillers, enum fill_wish (*tick)(void *, uint64_t), struct fill_result *r)
{
    struct err e = {0};
    int ret = run_all(1, fillers, tick, r, &e);

    if (ret < 0)
        assert_int_equal(e.class, ERR_FAILED);
    return ret;
}

static void test_all_is_written(void **state)
{
    struct fill_result r;

    (void)state;
    fail_at = 0;
    for (unsigned fillers = 1; fillers <= 3; fillers++) {
        assert_int_equal(run(fillers, go_on, &r), 0);
        assert_true(r.complete && !r.stopped && !r.stuck);
        assert_int_equal(r.bytes, (uint64_t)CHUNKS * CHUNK);
        assert_int_equal(submitted, CHUNKS);
        assert_true(r.data_wait_ns >= 0 && r.store_wait_ns >= 0);
        assert_true(r.elapsed_ns > 0);
    }
}

static void test_a_failed_write_ends_it(void **state)
{
    const unsigned at[] = {1, 10, CHUNKS};
    struct fill_result r;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned fillers = 1; fillers <= 3; fillers++) {
            fail_at = at[i];
            assert_int_equal(run(fillers, go_on, &r), -EBADF);
            assert_false(r.complete || r.stopped || r.stuck);
            assert_int_equal(submitted, submitted_by_then);
            assert_int_equal(r.writes, submitted - 1);
        }
}

static void test_a_stop_awaits_what_is_in_flight(void **state)
{
    struct fill_result r;

    (void)state;
    fail_at = 0;
    assert_int_equal(run(1, stop_soon, &r), 0);
    assert_false(r.stuck);
    assert_int_equal(r.writes, submitted);
    assert_int_equal(r.bytes, (uint64_t)submitted * CHUNK);
    assert_int_equal(r.complete, submitted == CHUNKS);
}

/* The error has the target's name, and the stream to the other one has ended, too. */
static void test_a_failed_target_is_named(void **state)
{
    struct fill_result r;
    struct err e = {0};

    (void)state;
    fail_at = 1;
    assert_int_equal(run_all(2, 1, go_on, &r, &e), -EBADF);
    assert_string_equal(e.where, "first");
    assert_false(r.complete || r.stopped || r.stuck);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_is_written),
        cmocka_unit_test(test_a_failed_write_ends_it),
        cmocka_unit_test(test_a_stop_awaits_what_is_in_flight),
        cmocka_unit_test(test_a_failed_target_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
