/* The end of a stream that fails: a write that fails, first, in the middle or last, ends it with
 * its error, nothing is in flight afterwards, no later chunk begins, and the fillers have ended. A
 * bug looked like a filler that waited forever for a buffer that a failed write kept. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
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
    assert_true(written <= (uint64_t)CHUNKS * CHUNK);
    return FILL_GO_ON;
}

static enum fill_wish stop_soon(void *ctx, uint64_t written)
{
    (void)ctx;
    (void)written;
    return FILL_STOP;
}

/* Writes CHUNKS chunks to a new folder with that many fillers. */
static int run(unsigned fillers, enum fill_wish (*tick)(void *, uint64_t), struct fill_result *r)
{
    char path[] = "/tmp/kvtrace-stream.XXXXXX";
    const struct plan_opts po = {.mode = PLAN_STREAM,
                                 .region = (uint64_t)CHUNKS * CHUNK,
                                 .volume = (uint64_t)CHUNKS * CHUNK,
                                 .file_bytes = (uint64_t)CHUNKS * CHUNK,
                                 .write_bytes = CHUNK,
                                 .seed = 1};
    struct io_ops ops = io_psync_ops;
    struct err e = {0};
    struct plan plan;
    struct fill_target *target;
    struct hist *service = hist_create();
    void *pool = io_buffers_map((size_t)BUFS * CHUNK, IO_PAGES_HUGE);
    const struct io_opts io_o = {.depth = BUFS, .pool = pool, .buf_bytes = CHUNK, .bufs = BUFS};
    struct io *io;
    int ret;

    assert_non_null(mkdtemp(path));
    const struct fill_target_opts to = {.path = path, .kind = TARGET_DIR, .reserve_share = 0};
    plan_init(&plan, &po);
    assert_int_equal(fill_target_open(&target, &to, &e), 0);
    assert_int_equal(fill_target_plan(target, &plan, BUFS + 1, &e), 0);
    assert_int_equal(io_open(&io, IO_PSYNC, &io_o, &e), 0);
    ops.submit = failing_submit;
    ops.reap = watching_reap;
    io->ops = &ops;
    submitted = submitted_by_then = 0;
    const struct fill_queue queue = {.io = io, .pool = pool};
    struct fill_lane lane = {
        .plan = &plan, .target = target, .queues = &queue, .name = "", .node = -1};
    const struct fill_opts o = {.lanes = &lane,
                                .lane_count = 1,
                                .threads = 1,
                                .bufs = BUFS,
                                .fillers = fillers,
                                .depth = BUFS,
                                .tick = tick};
    ret = fill_run(&o, r, service, &e);
    if (ret < 0)
        assert_int_equal(e.class, ERR_FAILED);
    assert_int_equal(hist_count(service), r->writes);
    io->ops->close(io);
    io_buffers_unmap(pool, (size_t)BUFS * CHUNK);
    hist_free(service);
    assert_int_equal(fill_target_close(target, false, &e), 0);
    rmdir(path);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_is_written),
        cmocka_unit_test(test_a_failed_write_ends_it),
        cmocka_unit_test(test_a_stop_awaits_what_is_in_flight),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
