/* The fill against an engine of the test's own: every byte of the fill is written once, to its file
 * and offset, with the contents that its place has, by one thread or several; the queue is full
 * whenever a thread waits; a failed write or a stop ends it with what is in flight awaited; rounds
 * follow the fill without a gap and share nothing. A bug looked like this: the tail of a file that
 * is no multiple of the block written into the next file, a write left behind after ENOSPC, a file
 * closed while another thread still had a write for it. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kvprecond/fill.h"
#include "lib/base/clock.h"
#include "lib/data/data.h"

#define KIB 1024u

/* ---- an engine that completes one request a reap, the newest, but each fourth time the oldest
 * ---- */

struct fake {
    struct io io;
    struct io_req *stack[64];
    unsigned in_flight, peak, waits, waits_not_full, depth;
    uint64_t submitted, reaped;
    uint64_t fail_at; /* number of the write that fails, from 1; 0: none */
    int fail_with;
    bool last_begun; /* everything was submitted: waits with a shorter queue are right */
    uint64_t total;  /* bytes of the fill; 0: not known */
    uint64_t bytes;
    int64_t delay_ns; /* of each completion */
    uint64_t hang_at; /* this many completions are all that come; 0: no bound */
};

static int fake_submit(struct io *io, struct io_req *r)
{
    struct fake *f = (struct fake *)io;

    assert_true(f->in_flight < f->depth);
    assert_true(r->write);
    r->start_ns = clock_now_ns();
    f->stack[f->in_flight++] = r;
    if (f->in_flight > f->peak)
        f->peak = f->in_flight;
    f->submitted++;
    f->bytes += r->len;
    f->last_begun = f->bytes == f->total;
    r->result = f->submitted == f->fail_at ? f->fail_with : 0;
    return 0;
}

static int fake_kick(struct io *io)
{
    (void)io;
    return 0;
}

static int fake_reap(struct io *io, struct io_req **done, int max, int64_t until_ns)
{
    struct fake *f = (struct fake *)io;
    struct io_req *r;

    assert_true(max > 0);
    if (until_ns != 0) {
        f->waits++;
        if (f->in_flight < f->depth && !f->last_begun)
            f->waits_not_full++;
    } else if (f->in_flight < f->depth) {
        return 0; /* slow: completes nothing that is not waited for */
    }
    assert_true(f->in_flight > 0);
    if (f->hang_at && f->reaped == f->hang_at) {
        clock_sleep_until(until_ns, 0);
        return 0;
    }
    r = f->stack[--f->in_flight];
    if (++f->reaped % 4 == 0) {
        struct io_req *oldest = f->stack[0];

        f->stack[0] = r;
        r = oldest;
    }
    if (r->result == 0 && pwrite(r->fd, r->buf, r->len, (off_t)r->offset) != (ssize_t)r->len)
        r->result = -errno;
    if (f->delay_ns)
        clock_sleep_until(clock_now_ns() + f->delay_ns, 0);
    r->done_ns = clock_now_ns();
    done[0] = r;
    return 1;
}

static const struct io_ops fake_ops = {
    .name = "fake", .submit = fake_submit, .kick = fake_kick, .reap = fake_reap};

/* ---- a scratch folder, and one fill in it ---- */

#define QUEUES 3

struct scene {
    char top[64], path[96];
    struct fake fake[QUEUES];
    struct fill_queue queue[QUEUES];
    struct plan plan;
    struct fill_target *target;
    struct hist *service;
    struct fill_lane lane;
    struct fill_opts fill;
    struct fill_result result;
    struct err e;
    uint64_t stop_at; /* bytes; 0: never */
    bool abandons;    /* at stop_at */
    unsigned rounds, rounds_wanted;
    uint64_t round_bytes, round_writes;
};

static enum fill_wish tick(void *ctx, uint64_t written)
{
    struct scene *s = ctx;

    return !s->stop_at || written < s->stop_at ? FILL_GO_ON
           : s->abandons                       ? FILL_ABANDON
                                               : FILL_STOP;
}

static bool end_round(void *ctx, const struct fill_span *span)
{
    struct scene *s = ctx;

    assert_int_equal(span->elapsed_ns, s->fill.round_ns);
    assert_int_equal(hist_count(span->service), span->writes);
    s->round_bytes += span->bytes;
    s->round_writes += span->writes;
    return ++s->rounds == s->rounds_wanted;
}

static void scene_queue(struct scene *s, unsigned i, unsigned depth, uint64_t total)
{
    void *pool = aligned_alloc(4096, (size_t)s->fill.bufs * s->plan.o.write_bytes);

    assert_non_null(pool);
    s->fake[i] = (struct fake){.io.ops = &fake_ops, .depth = depth, .total = total};
    s->queue[i] = (struct fill_queue){.io = &s->fake[i].io, .pool = pool};
}

/* Members left zero in *po are put in: a region of the volume, one file a region. */
static void scene_start(struct scene *s, const struct plan_opts *po, unsigned depth,
                        unsigned threads)
{
    struct fill_target_opts o = {.path = s->path, .kind = TARGET_DIR};
    const char *tmp = getenv("TMPDIR");
    struct plan_opts plan = *po;

    *s = (struct scene){0};
    plan.region = plan.region ? plan.region : plan.volume;
    plan.file_bytes = plan.file_bytes ? plan.file_bytes : plan.region;
    snprintf(s->top, sizeof(s->top), "%s/kvprecond-test.XXXXXX",
             tmp && strlen(tmp) < 32 ? tmp : "/tmp");
    assert_non_null(mkdtemp(s->top));
    snprintf(s->path, sizeof(s->path), "%s/target", s->top);
    plan_init(&s->plan, &plan);
    s->lane = (struct fill_lane){.plan = &s->plan, .queues = s->queue, .name = "", .node = -1};
    s->fill = (struct fill_opts){.lanes = &s->lane,
                                 .lane_count = 1,
                                 .threads = threads,
                                 .bufs = depth + 3,
                                 .depth = depth,
                                 .round = end_round,
                                 .tick = tick,
                                 .ctx = s};
    if (fill_target_open(&s->target, &o, &s->e) != 0 ||
        fill_target_plan(s->target, &s->plan, (depth + 4) * threads, &s->e) != 0 ||
        fill_target_start(s->target, &s->e) != 0)
        fail_msg("%s: %s", s->e.where, s->e.what);
    s->lane.target = s->target;
    s->service = hist_create();
    for (unsigned i = 0; i < threads; i++)
        scene_queue(s, i, depth, threads == 1 ? plan.volume : 0);
}

static int scene_fill(struct scene *s)
{
    return fill_run(&s->fill, &s->result, s->service, &s->e);
}

static void scene_end(struct scene *s)
{
    assert_int_equal(fill_target_close(s->target, false, &s->e), 0);
    assert_int_equal(access(s->path, F_OK), -1); /* it was made by the fill, so it goes */
    assert_int_equal(rmdir(s->top), 0);
    hist_free(s->service);
    for (unsigned i = 0; i < s->fill.threads; i++)
        free(s->queue[i].pool);
}

/* Every block of every part of the fill holds what it should. */
static void check_contents(struct scene *s)
{
    unsigned char *buf = malloc(s->plan.o.write_bytes);
    char name[160];

    for (uint64_t i = 0; i < s->plan.units * s->plan.writes_per_unit; i++) {
        struct plan_part part = plan_part(&s->plan, i / s->plan.writes_per_unit,
                                          i % s->plan.writes_per_unit * s->plan.o.write_bytes);
        struct data_fault fault;
        int fd;

        snprintf(name, sizeof(name), "%s/fill-%06llu.kv", s->path, (unsigned long long)part.file);
        fd = open(name, O_RDONLY);
        assert_true(fd >= 0);
        assert_int_equal(pread(fd, buf, part.len, (off_t)part.offset), part.len);
        close(fd);
        assert_int_equal(data_check_full(buf, part.len, &part.id, part.first_block, &fault), 0);
    }
    free(buf);
}

/* ---- what is expected ---- */

static void test_every_byte_once(void **state)
{
    /* files of 10 blocks, writes of 4, 103 in all: tails of files and of the fill are short */
    const struct plan_opts o = {
        .volume = 103 * 4 * KIB, .file_bytes = 40 * KIB, .seed = 7, .write_bytes = 16 * KIB};
    struct scene s;
    struct stat st;
    char name[160];

    (void)state;
    scene_start(&s, &o, 4, 1);
    assert_int_equal(scene_fill(&s), 0);
    assert_int_equal(s.result.bytes, o.volume);
    assert_int_equal(s.result.total_bytes, o.volume);
    assert_int_equal(s.result.writes, 10 * 3 + 1);
    assert_int_equal(hist_count(s.service), s.result.writes);
    assert_true(s.result.complete);
    assert_false(s.result.stopped);
    assert_int_equal(s.fake[0].in_flight, 0);
    assert_int_equal(s.fake[0].submitted, s.result.writes);
    assert_int_equal(fill_target_files(s.target), 11);
    check_contents(&s);
    snprintf(name, sizeof(name), "%s/fill-000010.kv", s.path);
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(st.st_size, 3 * 4 * KIB);
    assert_int_equal(fill_target_sync(s.target, &s.e), 0);
    scene_end(&s);
}

/* The same in each mode, with three threads that take turns as they like. */
static void test_threads_share_the_work(void **state)
{
    const struct plan_opts modes[] = {
        {.mode = PLAN_SEQUENTIAL, .file_bytes = 44 * KIB},
        {.mode = PLAN_RANDOM, .file_bytes = 44 * KIB},
        {.mode = PLAN_KV, .object_bytes = 100 * KIB, .file_per_object = true}};

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct plan_opts o = modes[i];
        struct scene s;

        o.volume = 1200 * KIB;
        o.write_bytes = 16 * KIB;
        o.seed = i;
        scene_start(&s, &o, 4, QUEUES);
        assert_int_equal(scene_fill(&s), 0);
        assert_int_equal(s.result.bytes, o.volume);
        assert_int_equal(s.result.writes, s.plan.units * s.plan.writes_per_unit);
        assert_int_equal(hist_count(s.service), s.result.writes);
        assert_true(s.result.complete);
        assert_int_equal(fill_target_files(s.target), plan_files(&s.plan));
        check_contents(&s);
        assert_int_equal(fill_target_sync(s.target, &s.e), 0);
        scene_end(&s);
    }
}

static void test_queue_is_full_when_it_waits(void **state)
{
    const struct plan_opts o = {
        .volume = 200 * 4 * KIB, .file_bytes = 1024 * KIB, .write_bytes = 4 * KIB};
    struct scene s;

    (void)state;
    scene_start(&s, &o, 8, 1);
    assert_int_equal(scene_fill(&s), 0);
    assert_int_equal(s.fake[0].peak, 8);
    assert_true(s.fake[0].waits > 0);
    assert_int_equal(s.fake[0].waits_not_full, 0);
    scene_end(&s);
}

static void test_full_file_system(void **state)
{
    const struct plan_opts o = {
        .volume = 64 * 4 * KIB, .file_bytes = 64 * KIB, .write_bytes = 4 * KIB};
    struct scene s;

    (void)state;
    scene_start(&s, &o, 4, 1);
    s.fake[0].fail_at = 21;
    s.fake[0].fail_with = -ENOSPC;
    assert_int_equal(scene_fill(&s), -ENOSPC);
    assert_int_equal(s.e.class, ERR_FAILED);
    assert_non_null(strstr(s.e.what, "No space"));
    assert_int_equal(s.fake[0].in_flight, 0);
    assert_true(s.fake[0].submitted < 21 + 4);
    assert_int_equal(s.result.bytes, (s.fake[0].submitted - 1) * 4 * KIB);
    assert_false(s.result.complete);
    scene_end(&s);
}

/* Writes that never end: those that did are counted, and the fill returns. */
static void test_abandoned_writes(void **state)
{
    const struct plan_opts o = {.volume = 64 * 4 * KIB, .write_bytes = 4 * KIB};
    static struct scene s; /* its engines go on knowing what is in flight */

    (void)state;
    scene_start(&s, &o, 4, QUEUES);
    for (unsigned i = 0; i < QUEUES; i++)
        s.fake[i].hang_at = i + 1;
    s.stop_at = 6 * 4 * KIB;
    s.abandons = true;
    assert_int_equal(scene_fill(&s), 0);
    assert_true(s.result.stuck);
    assert_true(s.result.stopped);
    assert_int_equal(s.result.bytes, 6 * 4 * KIB);
    assert_int_equal(s.fake[0].in_flight, 4);
    scene_end(&s);
}

/* One thread's failure ends the others too, with their writes awaited. */
static void test_failure_of_one_thread(void **state)
{
    const struct plan_opts o = {.volume = 4096 * 4 * KIB, .write_bytes = 4 * KIB};
    uint64_t submitted = 0;
    struct scene s;

    (void)state;
    scene_start(&s, &o, 4, QUEUES);
    for (unsigned i = 0; i < QUEUES; i++)
        s.fake[i].delay_ns = 1000000;
    s.fake[1].fail_at = 3;
    s.fake[1].fail_with = -EIO;
    assert_int_equal(scene_fill(&s), -EIO);
    assert_false(s.result.complete);
    for (unsigned i = 0; i < QUEUES; i++) {
        assert_int_equal(s.fake[i].in_flight, 0);
        submitted += s.fake[i].submitted;
    }
    assert_int_equal(s.result.bytes, (submitted - 1) * 4 * KIB);
    scene_end(&s);
}

static void test_first_failure_is_told(void **state)
{
    const struct plan_opts o = {.volume = 4 * KIB, .write_bytes = 4 * KIB};
    struct scene s;

    (void)state;
    scene_start(&s, &o, 1, 1);
    s.fake[0].fail_at = 1;
    s.fake[0].fail_with = -EIO;
    assert_int_equal(scene_fill(&s), -EIO);
    assert_int_equal(s.result.bytes, 0);
    assert_non_null(strstr(s.e.what, "offset 0 of file 0"));
    scene_end(&s);
}

static void test_stop(void **state)
{
    const struct plan_opts o = {
        .volume = 65536 * 4 * KIB, .file_bytes = 1024 * KIB, .write_bytes = 4 * KIB};
    struct scene s;

    (void)state;
    scene_start(&s, &o, 4, 1);
    s.fake[0].delay_ns = 1000000; /* a minute in all */
    s.stop_at = 4 * KIB;
    assert_int_equal(scene_fill(&s), 0);
    assert_true(s.result.stopped);
    assert_false(s.result.complete);
    assert_int_equal(s.fake[0].in_flight, 0);
    assert_true(s.result.bytes >= s.stop_at && s.result.bytes < o.volume);
    assert_int_equal(s.result.bytes, s.fake[0].bytes);
    scene_end(&s);
}

/* Rounds come after the whole fill, are counted apart from it, and end when the caller says. */
static void test_rounds(void **state)
{
    const struct plan_opts modes[] = {
        {.mode = PLAN_SEQUENTIAL, .volume = 80 * KIB, .file_bytes = 16 * KIB},
        {.mode = PLAN_RANDOM, .volume = 80 * KIB, .file_bytes = 16 * KIB},
        {.mode = PLAN_KV, .volume = 80 * KIB, .object_bytes = 20 * KIB, .file_per_object = true}};

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct plan_opts o = modes[i];
        uint64_t submitted = 0;
        struct scene s;

        o.write_bytes = 8 * KIB;
        scene_start(&s, &o, 2, 2);
        s.fill.round_ns = 100000000; /* a thread may have to wait its turn */
        s.rounds_wanted = 3;
        for (unsigned q = 0; q < 2; q++)
            s.fake[q].delay_ns = 500000;
        if (scene_fill(&s) != 0)
            fail_msg("%s: %s", s.e.where, s.e.what);
        assert_true(s.result.complete);
        assert_false(s.result.stopped);
        assert_int_equal(s.result.bytes, o.volume);
        assert_int_equal(s.rounds, 3);
        assert_true(s.round_writes > 0);
        for (unsigned q = 0; q < 2; q++)
            submitted += s.fake[q].bytes;
        assert_int_equal(s.result.total_bytes, submitted);
        assert_true(s.result.total_bytes >= o.volume + s.round_bytes);
        scene_end(&s);
    }
}

static void test_rounds_end_at_the_most(void **state)
{
    const struct plan_opts o = {.volume = 16 * KIB, .write_bytes = 4 * KIB};
    struct scene s;

    (void)state;
    scene_start(&s, &o, 2, 1);
    s.fill.round_ns = 2000000;
    s.fake[0].delay_ns = 100000;
    s.rounds_wanted = STEADY_ROUNDS + 1;
    assert_int_equal(scene_fill(&s), 0);
    assert_int_equal(s.rounds, STEADY_ROUNDS);
    scene_end(&s);
}

static void test_buffers_ahead(void **state)
{
    (void)state;
    assert_int_equal(fill_buffers(16, 1024 * KIB), 16 + 8);
    assert_int_equal(fill_buffers(4, 64u * 1024 * KIB), 4 + 2);
    assert_true(fill_buffers(1, 4 * KIB) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte_once),
        cmocka_unit_test(test_threads_share_the_work),
        cmocka_unit_test(test_queue_is_full_when_it_waits),
        cmocka_unit_test(test_full_file_system),
        cmocka_unit_test(test_abandoned_writes),
        cmocka_unit_test(test_failure_of_one_thread),
        cmocka_unit_test(test_first_failure_is_told),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_rounds_end_at_the_most),
        cmocka_unit_test(test_buffers_ahead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
