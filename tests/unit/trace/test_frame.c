/* Expected: plain and zstd inputs are told by their bytes and give their contents whether read as a
 * stream or as pieces; what is cut, damaged or asks for too much is an error and never an end. A
 * bug looks like bytes lost at a frame's edge, or memory taken because a file said so. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/trace/frame.h"
#include "lib/trace/frame_out.h"
#include "tests/unit/trace_checks.h"

/* Everything that frame_in_read gives, in steps of step bytes. */
static int64_t read_all(const char *path, char *buf, size_t cap, size_t step, struct err *e)
{
    struct frame_in *in;
    int64_t n = 0, total = 0;
    int rc = frame_in_open(&in, path, NULL, e);
    if (rc)
        return rc;
    while ((size_t)total < cap &&
           (n = frame_in_read(in, buf + total,
                              cap - (size_t)total < step ? cap - (size_t)total : step, e)) > 0)
        total += n;
    frame_in_close(in);
    return n < 0 ? n : total;
}

static char *make_text(size_t len)
{
    char *text = malloc(len);
    for (size_t i = 0; i < len; i++)
        text[i] = i % 50 == 49 ? '\n' : (char)('a' + (i * i >> 7) % 26);
    return text;
}

static void test_plain(void **state)
{
    struct scratch *t = *state;
    struct err e = {0};
    size_t len = 700000;
    char *text = make_text(len), *back = malloc(len + 1);
    for (size_t n = 0; n < 6; n++) {
        put_file(t->path[0], text, n);
        assert_int_equal(read_all(t->path[0], back, len, 100, &e), n);
    }
    put_file(t->path[0], text, len);
    assert_int_equal(read_all(t->path[0], back, len + 1, 9999, &e), len);
    assert_memory_equal(back, text, len);
    free(text);
    free(back);
}

static void test_open_errors(void **state)
{
    struct scratch *t = *state;
    struct frame_in *in;
    struct err e = {0};
    assert_int_equal(frame_in_open(&in, t->path[0], NULL, &e), -ENOENT);
    assert_int_equal(e.class, ERR_INPUT);
    assert_string_equal(e.where, t->path[0]);
    assert_int_equal(frame_in_open(&in, t->dir, NULL, &e), -EISDIR);
}

/* One frame of unknown content size, written in parts. */
static size_t encode_parts(const char *text, size_t len, size_t part, char *dst, size_t cap)
{
    struct frame_encoder *c = frame_encoder_create(1);
    struct frame_bytes out = {0};
    struct err e = {0};
    size_t n = 0;
    for (size_t at = 0; at <= len; at += part) {
        size_t k = len - at < part ? len - at : part;
        struct frame_part p = {.p = text + at, .len = k, .last = at + part > len};
        assert_int_equal(frame_encode_part(c, &p, &out, &e), 0);
        assert_true(out.len <= cap - n);
        memcpy(dst + n, out.at, out.len);
        n += out.len;
    }
    free(out.at);
    frame_encoder_free(c);
    return n;
}

static void test_one_frame_in_parts(void **state)
{
    struct scratch *t = *state;
    struct err e = {0};
    size_t len = 900000, cap = len * 2 + 4096;
    char *text = make_text(len), *z = malloc(cap), *back = malloc(len + 1);
    size_t n = encode_parts(text, len, 123456, z, cap);
    put_file(t->path[1], z, n);
    assert_int_equal(read_all(t->path[1], back, len + 1, 70001, &e), len);
    assert_memory_equal(back, text, len);
    free(text);
    free(z);
    free(back);
}

/* A file of ours: provenance, frames, summary, table; returns its length. */
static size_t own_file(const char *text, size_t len, size_t frame, char *z, size_t cap)
{
    struct frame_encoder *c = frame_encoder_create(3);
    struct frame_table *table = frame_table_create();
    struct frame_bytes out = {0};
    struct err e = {0};
    size_t n = frame_put_skippable(z, FRAME_MAGIC_PROVENANCE, "{\"p\":1}", 7), got;
    frame_table_add(table, n, 0);
    for (size_t at = 0; at < len; at += frame) {
        size_t k = len - at < frame ? len - at : frame;
        assert_int_equal(frame_encode(c, text + at, k, &out, &e), 0);
        assert_true(out.len <= cap - n);
        memcpy(z + n, out.at, out.len);
        frame_table_add(table, out.len, k);
        n += out.len;
    }
    got = frame_put_skippable(z + n, FRAME_MAGIC_SUMMARY, "{\"s\":1}", 7);
    frame_table_add(table, got, 0);
    n += got;
    assert_int_equal(frame_table_encode(table, &out), 0);
    memcpy(z + n, out.at, out.len);
    n += out.len;
    free(out.at);
    frame_table_free(table);
    frame_encoder_free(c);
    return n;
}

static void test_pieces_of_our_own_file(void **state)
{
    struct scratch *t = *state;
    struct err e = {0};
    size_t len = 500000, cap = len * 2, at = 0;
    char *text = make_text(len), *z = malloc(cap);
    struct frame_in *in;
    struct frame_piece *p = frame_piece_create();
    put_file(t->path[1], z, own_file(text, len, 50000, z, cap));
    assert_int_equal(frame_in_open(&in, t->path[1], NULL, &e), 0);
    assert_true(frame_in_whole_rows(in));
    assert_string_equal(frame_in_provenance(in), "{\"p\":1}");
    assert_string_equal(frame_in_summary(in), "{\"s\":1}"); /* found through the table */
    for (int round = 0; round < 2; round++, at = 0) {
        while (frame_in_take(in, p, &e) == 1) {
            const char *piece;
            size_t n;
            assert_int_equal(frame_text(p, &piece, &n, &e), 0);
            assert_int_equal(n, 50000);
            assert_memory_equal(piece, text + at, n);
            at += n;
        }
        assert_int_equal(at, len);
        assert_int_equal(e.code, 0);
        uint64_t consumed, total;
        frame_in_progress(in, &consumed, &total);
        assert_int_equal(consumed, total);
        assert_int_equal(frame_in_rewind(in, &e), 0);
    }
    frame_in_close(in);
    frame_piece_free(p);
    free(text);
    free(z);
}

static int reads_left = -1; /* then one pread fails; -1: none */

ssize_t __real_pread(int fd, void *buf, size_t len, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at)
{
    if (reads_left < 0 || reads_left-- > 0)
        return __real_pread(fd, buf, len, at);
    errno = EIO;
    return -1;
}

/* A summary that cannot be read is an error; it looked like a file without one. */
static void test_a_summary_that_cannot_be_read(void **state)
{
    struct scratch *t = *state;
    char *text = make_text(1000), *z = malloc(10000);
    int reads;

    put_file(t->path[1], z, own_file(text, 1000, 500, z, 10000));
    for (reads = 0;; reads++) {
        struct frame_in *in;
        struct err e = {0};
        reads_left = reads;
        int rc = frame_in_open(&in, t->path[1], NULL, &e);
        if (rc == 0) {
            assert_string_equal(frame_in_summary(in), "{\"s\":1}");
            frame_in_close(in);
            break;
        }
        assert_int_equal(rc, -EIO);
        assert_int_equal(e.class, ERR_INPUT);
        assert_string_equal(e.where, t->path[1]);
    }
    assert_int_equal(reads, 4); /* the table's end, its last entry, the frame's head and text */
    reads_left = -1;
    free(text);
    free(z);
}

static void test_stream_of_our_own_file(void **state)
{
    struct scratch *t = *state;
    struct err e = {0};
    size_t len = 300000, cap = len * 2;
    char *text = make_text(len), *z = malloc(cap), *back = malloc(len + 1);
    size_t n = own_file(text, len, 70000, z, cap);
    put_file(t->path[1], z, n);
    assert_int_equal(read_all(t->path[1], back, len + 1, 4096, &e), len);
    assert_memory_equal(back, text, len);
    for (size_t cut = n - 1; cut > 8; cut -= cut > n - 150 ? 1 : 997) {
        memset(&e, 0, sizeof(e));
        put_file(t->path[1], z, cut);
        assert_int_equal(read_all(t->path[1], back, len + 1, 4096, &e), -EBADMSG);
        assert_non_null(strstr(e.what, "byte offset"));
        if (cut < 1000)
            break;
    }
    free(text);
    free(z);
    free(back);
}

/* All bytes before the cut come first. */
static void test_cut_gives_what_is_whole(void **state)
{
    struct scratch *t = *state;
    struct err e = {0};
    struct frame_in *in;
    size_t len = 1000000, cap = len * 2 + 4096, total = 0;
    char *text = make_text(len), *z = malloc(cap), *back = malloc(len + 1);
    size_t n = encode_parts(text, len, 100000, z, cap);
    put_file(t->path[1], z, n - 5); /* the end and the sum are missing */
    assert_int_equal(frame_in_open(&in, t->path[1], NULL, &e), 0);
    int64_t got;
    while ((got = frame_in_read(in, back + total, len + 1 - total, &e)) > 0)
        total += (size_t)got;
    assert_int_equal(got, -EBADMSG);
    assert_int_equal(frame_in_read(in, back, 1, &e), -EBADMSG); /* and stays */
    assert_false(frame_in_is_damaged(in));
    assert_int_equal(total, len);
    assert_memory_equal(back, text, len);
    frame_in_close(in);
    free(text);
    free(z);
    free(back);
}

static void test_junk_behind_a_frame(void **state)
{
    struct scratch *t = *state;
    struct err e = {0};
    char z[256], back[64];
    size_t n = encode_parts("hello\n", 6, 6, z, sizeof(z));
    memcpy(z + n, "xyzzyxyzzy", 10);
    put_file(t->path[1], z, n + 10);
    struct frame_in *in;
    assert_int_equal(frame_in_open(&in, t->path[1], NULL, &e), 0);
    assert_int_equal(frame_in_read(in, back, sizeof(back), &e), 6);
    assert_int_equal(frame_in_read(in, back, sizeof(back), &e), -EBADMSG);
    assert_non_null(strstr(e.what, "damaged"));
    assert_true(frame_in_is_damaged(in));
    frame_in_close(in);
}

/* Frame headers that ask for a window of 2^28 and of 2^31 (RFC 8878, 3.1.1.1.2), with one raw
 * block. */
static void test_windows_are_bounded(void **state)
{
    struct scratch *t = *state;
    unsigned char z[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0, 0x09, 0, 0, 'x'};
    struct frame_in *in;
    char back[8];
    for (int log = 27; log <= 28; log++)
        for (int long_window = 0; long_window < 2; long_window++) {
            const struct frame_in_opts o = {.long_window = long_window};
            struct err e = {0};
            z[5] = (unsigned char)((log - 10) << 3);
            put_file(t->path[1], z, sizeof(z));
            assert_int_equal(frame_in_open(&in, t->path[1], &o, &e), 0);
            int64_t n = frame_in_read(in, back, sizeof(back), &e);
            assert_int_equal(n, log == 27 || long_window ? 1 : -E2BIG);
            if (n < 0)
                assert_non_null(strstr(e.what, "long=true"));
            frame_in_close(in);
        }
}

/* A frame of ours that claims 2^40 bytes must not be believed. */
static void test_claims_are_not_believed(void **state)
{
    struct scratch *t = *state;
    unsigned char z[64];
    size_t n = frame_put_skippable(z, FRAME_MAGIC_PROVENANCE, "{}", 2);
    const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0,  0,
                                   0,    1,    0,    0,    0x09, 0, 0, 'x'};
    struct err e = {0};
    struct frame_in *in;
    struct frame_piece *p = frame_piece_create();
    const char *text;
    size_t len;
    memcpy(z + n, frame, sizeof(frame));
    put_file(t->path[1], z, n + sizeof(frame));
    assert_int_equal(frame_in_open(&in, t->path[1], NULL, &e), 0);
    assert_int_equal(frame_in_take(in, p, &e), 1);
    assert_int_equal(frame_text(p, &text, &len, &e), -EBADMSG);
    assert_int_equal(len, 0);
    frame_piece_free(p);
    frame_in_close(in);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)
/* Bytes given back come first, in any steps, then the rest; a rewind forgets it. */
static void test_unread(void **state)
{
    struct scratch *t = *state;
    struct frame_in *in;
    struct err e = {0};
    char buf[16];
    put_file(t->path[0], "abcdefgh", 8);
    assert_int_equal(frame_in_open(&in, t->path[0], NULL, &e), 0);
    assert_int_equal(frame_in_read(in, buf, 5, &e), 5);
    assert_int_equal(frame_in_unread(in, buf, 5), 0);
    assert_int_equal(frame_in_read(in, buf, 2, &e), 2);
    assert_int_equal(frame_in_unread(in, buf, 2), 0); /* before what is left of the five */
    assert_int_equal(frame_in_read(in, buf, 2, &e), 2);
    assert_int_equal(frame_in_read(in, buf + 2, 9, &e), 3);
    assert_int_equal(frame_in_read(in, buf + 5, 9, &e), 3);
    assert_memory_equal(buf, "abcdefgh", 8);
    assert_int_equal(frame_in_read(in, buf, 9, &e), 0);
    assert_int_equal(frame_in_unread(in, "xyz", 3), 0);
    assert_int_equal(frame_in_rewind(in, &e), 0);
    assert_int_equal(frame_in_read(in, buf, 9, &e), 8);
    assert_memory_equal(buf, "abcdefgh", 8);
    frame_in_close(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_plain),
        TEST(test_unread),
        TEST(test_open_errors),
        TEST(test_one_frame_in_parts),
        TEST(test_pieces_of_our_own_file),
        TEST(test_a_summary_that_cannot_be_read),
        TEST(test_stream_of_our_own_file),
        TEST(test_cut_gives_what_is_whole),
        TEST(test_junk_behind_a_frame),
        TEST(test_windows_are_bounded),
        TEST(test_claims_are_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
