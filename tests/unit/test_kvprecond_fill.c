/* The fill loop against an engine of the test's own: every byte of the fill is written once, to its
 * file and offset, with the contents that its place has; the queue is full whenever the loop waits;
 * a failed write or a stop ends it with what is in flight awaited. A bug looked like this: the tail
 * of a file that is no multiple of the block written into the next file, or a write left behind
 * after ENOSPC. */
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
#include "lib/clock.h"
#include "lib/data.h"

#define KIB 1024u

/* ---- an engine that completes the newest request first, one a reap ---- */

struct fake {
    struct io io;
    struct io_req *stack[64];
    unsigned in_flight, peak, waits, waits_not_full, depth;
    uint64_t submitted;
    uint64_t fail_at; /* number of the write that fails, from 1; 0: none */
    int fail_with;
    bool last_begun; /* everything was submitted: waits with a shorter queue are right */
    uint64_t total;  /* bytes of the fill */
    uint64_t bytes;
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
    r = f->stack[--f->in_flight];
    if (r->result == 0 && pwrite(r->fd, r->buf, r->len, (off_t)r->offset) != (ssize_t)r->len)
        r->result = -errno;
    r->done_ns = clock_now_ns();
    done[0] = r;
    return 1;
}

static const struct io_ops fake_ops = {
    .name = "fake", .submit = fake_submit, .kick = fake_kick, .reap = fake_reap};

/* ---- a scratch folder, and one fill in it ---- */

struct scene {
    char top[64], path[96];
    struct fake fake;
    struct place *place;
    struct hist *service;
    void *pool;
    struct fill_opts fill;
    struct fill_result result;
    struct err e;
    uint64_t stop_at; /* bytes; 0: never */
};

static bool tick(void *ctx, uint64_t written)
{
    struct scene *s = ctx;

    return s->stop_at && written >= s->stop_at;
}

static void scene_start(struct scene *s, const struct place_opts *po, uint32_t block)
{
    const char *tmp = getenv("TMPDIR");
    struct place_opts o = *po;
    unsigned bufs = o.depth + 3;

    *s = (struct scene){0};
    snprintf(s->top, sizeof s->top, "%s/kvprecond-test.XXXXXX",
             tmp && strlen(tmp) < 32 ? tmp : "/tmp");
    assert_non_null(mkdtemp(s->top));
    snprintf(s->path, sizeof s->path, "%s/target", s->top);
    o.path = s->path;
    if (place_open(&s->place, &o, &s->e) != 0)
        fail_msg("%s: %s", s->e.where, s->e.what);
    s->service = hist_create();
    s->pool = aligned_alloc(4096, (size_t)bufs * block);
    assert_non_null(s->pool);
    s->fake = (struct fake){.io.ops = &fake_ops, .depth = o.depth, .total = o.size};
    s->fill = (struct fill_opts){.io = &s->fake.io,
                                 .place = s->place,
                                 .pool = s->pool,
                                 .bufs = bufs,
                                 .depth = o.depth,
                                 .size = o.size,
                                 .block_bytes = block,
                                 .tick = tick,
                                 .ctx = s};
}

static int scene_fill(struct scene *s)
{
    return fill_run(&s->fill, &s->result, s->service, &s->e);
}

static void scene_end(struct scene *s)
{
    assert_int_equal(place_close(s->place, false, &s->e), 0);
    assert_int_equal(access(s->path, F_OK), -1); /* it was made by the fill, so it goes */
    assert_int_equal(rmdir(s->top), 0);
    hist_free(s->service);
    free(s->pool);
}

/* Every block of every file holds what its place says. */
static void check_contents(struct scene *s, uint64_t size)
{
    unsigned char block[DATA_BLOCK];
    char name[160];

    for (uint64_t at = 0; at < size; at += DATA_BLOCK) {
        struct place_part part = place_part(s->place, at, DATA_BLOCK);
        struct data_fault fault;
        int fd;

        snprintf(name, sizeof name, "%s/fill-%06llu.kv", s->path, (unsigned long long)part.file);
        fd = open(name, O_RDONLY);
        assert_true(fd >= 0);
        assert_int_equal(pread(fd, block, sizeof block, (off_t)part.offset), DATA_BLOCK);
        close(fd);
        assert_int_equal(
            data_check_full(block, DATA_BLOCK, &part.id, part.offset / DATA_BLOCK, &fault), 0);
    }
}

/* ---- what is expected ---- */

static void test_every_byte_once(void **state)
{
    /* files of 10 blocks, writes of 4, 103 in all: tails of files and of the fill are short */
    const struct place_opts o = {
        .size = 103 * 4 * KIB, .file_bytes = 40 * KIB, .seed = 7, .depth = 4};
    struct scene s;
    struct stat st;
    char name[160];

    (void)state;
    scene_start(&s, &o, 16 * KIB);
    assert_int_equal(scene_fill(&s), 0);
    assert_int_equal(s.result.bytes, o.size);
    assert_int_equal(s.result.writes, 10 * 3 + 1);
    assert_int_equal(hist_count(s.service), s.result.writes);
    assert_false(s.result.stopped);
    assert_int_equal(s.fake.in_flight, 0);
    assert_int_equal(s.fake.submitted, s.result.writes);
    assert_int_equal(place_files(s.place), 11);
    check_contents(&s, o.size);
    snprintf(name, sizeof name, "%s/fill-000010.kv", s.path);
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(st.st_size, 3 * 4 * KIB);
    assert_int_equal(place_sync(s.place, &s.e), 0);
    scene_end(&s);
}

static void test_queue_is_full_when_it_waits(void **state)
{
    const struct place_opts o = {.size = 200 * 4 * KIB, .file_bytes = 1024 * KIB, .depth = 8};
    struct scene s;

    (void)state;
    scene_start(&s, &o, 4 * KIB);
    assert_int_equal(scene_fill(&s), 0);
    assert_int_equal(s.fake.peak, 8);
    assert_true(s.fake.waits > 0);
    assert_int_equal(s.fake.waits_not_full, 0);
    scene_end(&s);
}

static void test_full_file_system(void **state)
{
    const struct place_opts o = {.size = 64 * 4 * KIB, .file_bytes = 64 * KIB, .depth = 4};
    struct scene s;

    (void)state;
    scene_start(&s, &o, 4 * KIB);
    s.fake.fail_at = 21;
    s.fake.fail_with = -ENOSPC;
    assert_int_equal(scene_fill(&s), -ENOSPC);
    assert_int_equal(s.e.class, ERR_FAILED);
    assert_non_null(strstr(s.e.what, "No space"));
    assert_int_equal(s.fake.in_flight, 0);
    assert_true(s.fake.submitted < 21 + 4);
    assert_int_equal(s.result.bytes, (s.fake.submitted - 1) * 4 * KIB);
    scene_end(&s);
}

static void test_first_failure_is_told(void **state)
{
    const struct place_opts o = {.size = 4 * KIB, .file_bytes = 4 * KIB, .depth = 1};
    struct scene s;

    (void)state;
    scene_start(&s, &o, 4 * KIB);
    s.fake.fail_at = 1;
    s.fake.fail_with = -EIO;
    assert_int_equal(scene_fill(&s), -EIO);
    assert_int_equal(s.result.bytes, 0);
    assert_non_null(strstr(s.e.what, "offset 0 of file 0"));
    scene_end(&s);
}

static void test_stop(void **state)
{
    const struct place_opts o = {.size = 1024 * 4 * KIB, .file_bytes = 64 * KIB, .depth = 4};
    struct scene s;

    (void)state;
    scene_start(&s, &o, 4 * KIB);
    s.stop_at = 100 * 4 * KIB;
    assert_int_equal(scene_fill(&s), 0);
    assert_true(s.result.stopped);
    assert_int_equal(s.fake.in_flight, 0);
    assert_in_range(s.result.bytes, 100 * 4 * KIB, 105 * 4 * KIB);
    assert_int_equal(s.result.bytes, s.fake.bytes);
    scene_end(&s);
}

static void test_contents_differ_by_seed_and_file(void **state)
{
    struct place_opts o = {.size = 128 * KIB, .file_bytes = 64 * KIB, .seed = 1, .depth = 1};
    struct place_part one, two, other;
    struct scene s;

    (void)state;
    scene_start(&s, &o, 4 * KIB);
    one = place_part(s.place, 0, 4 * KIB);
    two = place_part(s.place, 64 * KIB, 4 * KIB);
    assert_int_equal(two.file, 1);
    assert_int_equal(two.offset, 0);
    assert_memory_not_equal(&one.id.key, &two.id.key, sizeof one.id.key);
    scene_end(&s);
    o.seed = 2;
    scene_start(&s, &o, 4 * KIB);
    other = place_part(s.place, 0, 4 * KIB);
    assert_memory_not_equal(&one.id, &other.id, sizeof one.id);
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
        cmocka_unit_test(test_queue_is_full_when_it_waits),
        cmocka_unit_test(test_full_file_system),
        cmocka_unit_test(test_first_failure_is_told),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_contents_differ_by_seed_and_file),
        cmocka_unit_test(test_buffers_ahead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
