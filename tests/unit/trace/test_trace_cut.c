/* Expected: any zstd file is read, however its frames are cut; of a file that is cut every whole
 * row comes, then an error that says after which row; no damage passes for other rows. A bug looks
 * like a cut that passes for an end, a row lost at a frame's edge, or a number of rows that is not
 * the one given. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "lib/trace/frame_out.h"
#include "lib/trace/write.h"
#include "tests/unit/scale.h"
#include "tests/unit/trace_checks.h"

/* Frames of any length, cut anywhere, with skippable ones between. */
static size_t to_frames(const char *text, size_t len, size_t frame, bool skippable, char **out)
{
    struct frame_encoder *c = frame_encoder_create(3);
    struct frame_bytes one = {0};
    struct err e = {0};
    size_t n = 0, cap = 1024;
    for (size_t at = 0; at < len; at += frame)
        cap += frame + 1024;
    *out = malloc(cap);
    for (size_t at = 0; at < len; at += frame) {
        size_t part = len - at < frame ? len - at : frame;
        if (skippable)
            n += frame_put_skippable(*out + n, 0x184D2A50, "junk", 4);
        assert_int_equal(frame_encode(c, text + at, part, &one, &e), 0);
        assert_true(one.len <= cap - n);
        memcpy(*out + n, one.at, one.len);
        n += one.len;
    }
    free(one.at);
    frame_encoder_free(c);
    return n;
}

static void test_any_frames(void **state)
{
    static const size_t frames[] = {1, 7, 100, 5000, 1 << 20};
    struct scratch *t = *state;
    size_t len;
    char *text = make_rows(500, true, &len);
    put_file(t->path[0], text, len);
    struct outcome plain = read_trace(t->path[0], NULL, 1);
    for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
        char *z;
        size_t n = to_frames(text, len, frames[i], i % 2, &z);
        put_file(t->path[1], z, n);
        for (unsigned cursors = 1; cursors <= 2; cursors++) {
            struct outcome o = read_trace(t->path[1], NULL, cursors);
            assert_int_equal(o.rc, 0);
            assert_int_equal(o.rows, 500);
            assert_true(o.sum == plain.sum);
        }
        free(z);
    }
    free(text);
}

/* Rows of text whose newline is among the first len bytes, the header not counted. */
static uint64_t whole_rows(const char *text, size_t len)
{
    uint64_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += text[i] == '\n';
    return n ? n - 1 : 0;
}

/* Every cut of a file is told, with the number of the rows that were given; at its ends each byte,
 * between them one of so many. From the end on, for a file written anew for each cut waits for the
 * disk. */
static void check_cuts(struct scratch *t, const char *z, size_t len, uint64_t rows,
                       unsigned cursors, size_t every)
{
    const size_t ends = (size_t)scaled(100); /* seek table, summary, and something of a frame */

    put_file(t->path[3], z, len);
    for (size_t cut = len - 1; cut > 0; cut -= cut < ends || len - cut < ends ? 1 : every) {
        char after[64];
        assert_int_equal(truncate(t->path[3], (off_t)cut), 0);
        struct outcome o = read_trace(t->path[3], NULL, cursors);
        if (cut < 4 && o.rc == -EINVAL)
            continue; /* too short to be told from text: no header */
        if (o.rc != -EBADMSG)
            print_error("cut at %zu of %zu: %d %s\n", cut, len, o.rc, o.e.what);
        assert_int_equal(o.rc, -EBADMSG);
        assert_int_equal(o.e.class, ERR_INPUT);
        assert_true(o.rows <= rows);
        snprintf(after, sizeof(after), "cut after row %llu ", (unsigned long long)o.rows);
        if (o.rows && !strstr(o.e.what, after))
            print_error("cut at %zu: %s\n", cut, o.e.what);
        assert_true(o.rows == 0 || strstr(o.e.what, after));
    }
}

static void test_cut_one_frame(void **state)
{
    size_t len;
    char *text = make_rows(40, false, &len), *z;
    size_t n = to_frames(text, len, len, false, &z);
    check_cuts(*state, z, n, whole_rows(text, len), 1, 1);
    free(z);
    free(text);
}

/* Our own file: frames that end at row ends, a seek table. */
static char *own_file(const struct scratch *t, size_t rows, size_t key_len, size_t *len)
{
    struct err e = {0};
    struct trace_writer *w;
    char *key = malloc(key_len);
    const struct trace_write_opts o = {.columns = TRACE_CORE, .zstd = 1, .provenance = "{\"a\":1}"};
    assert_int_equal(trace_create(&w, t->path[1], &o, &e), 0);
    for (size_t i = 0; i < rows; i++) {
        memset(key, 'a' + (int)(i % 26), key_len);
        struct trace_row row = {.time_ns = (int64_t)i,
                                .size = i,
                                .key = {key, (uint32_t)key_len},
                                .op = TRACE_WRITE,
                                .tier = TRACE_STORAGE};
        assert_int_equal(trace_write(w, &row, &e), 0);
    }
    assert_int_equal(trace_finish(w, "{\"s\":2}", NULL, &e), 0);
    free(key);
    return get_file(t->path[1], len);
}

static void test_cut_own_file(void **state)
{
    struct scratch *t = *state;
    size_t len;
    char *z = own_file(t, 70, 65000, &len); /* two frames */
    check_cuts(t, z, len, 70, 1, 40 / (size_t)scaled(8));
    free(z);
}

static void test_threads_on_frames(void **state)
{
    struct scratch *t = *state;
    size_t len;
    uint64_t rows, sum;
    char *z = own_file(t, 400, 65000, &len);
    uint64_t want = read_trace(t->path[1], NULL, 1).sum;
    assert_int_equal(read_threads(t->path[1], &rows, &sum).code, 0);
    assert_int_equal(rows, 400);
    assert_true(sum == want);
    put_file(t->path[1], z, len / 2);
    struct err e = read_threads(t->path[1], &rows, &sum);
    assert_int_equal(e.code, -EBADMSG);
    assert_true(rows > 0 && rows < 400);
    free(z);
}

static void test_provenance_and_summary(void **state)
{
    struct scratch *t = *state;
    struct err e = {0};
    struct trace_reader *r;
    size_t len;
    free(own_file(t, 10, 10, &len));
    assert_int_equal(trace_open(&r, t->path[1], NULL, &e), 0);
    assert_string_equal(trace_provenance(r), "{\"a\":1}");
    assert_string_equal(trace_summary(r), "{\"s\":2}");
    assert_true(trace_can_rewind(r));
    struct outcome first = read_cursors(r, 1);
    assert_int_equal(trace_rewind(r, &e), 0);
    struct outcome again = read_cursors(r, 2);
    assert_int_equal(first.rows, 10);
    assert_int_equal(again.rows, 10);
    assert_true(first.sum == again.sum);
    trace_close(r);
}

/* No flipped bit gives other rows without an error, but in bytes that hold no rows. */
static void test_flipped_bits(void **state)
{
    struct scratch *t = *state;
    size_t len;
    char *z = own_file(t, 50, 20, &len);
    uint64_t sum = read_trace(t->path[1], NULL, 1).sum;
    size_t step = len * 8 / (size_t)scaled((int)len * 8);
    int fd = open(t->path[1], O_WRONLY);
    assert_true(fd >= 0);
    for (size_t bit = 0; bit < len * 8; bit += step) {
        off_t at = (off_t)(bit / 8);
        char flipped = (char)(z[bit / 8] ^ 1 << bit % 8);
        assert_int_equal(pwrite(fd, &flipped, 1, at), 1);
        struct outcome o = read_trace(t->path[1], NULL, 1);
        assert_int_equal(pwrite(fd, z + at, 1, at), 1);
        if (o.rc == 0 && o.sum != sum)
            print_error("bit %zu of %zu: %llu rows\n", bit, len * 8, (unsigned long long)o.rows);
        assert_true(o.rc < 0 || o.sum == sum);
    }
    close(fd);
    free(z);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_any_frames),        TEST(test_cut_one_frame),          TEST(test_cut_own_file),
        TEST(test_threads_on_frames), TEST(test_provenance_and_summary), TEST(test_flipped_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
