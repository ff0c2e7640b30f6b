/* Expected: what is written is read back equal; bytes depend on the rows alone, not on the number
 * of threads; no failure of the output goes unseen or leaves a file that looks whole. A bug looks
 * like a value that changed, frames that differ between runs, a full disk without an error, a
 * partial file left behind. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/base/hash.h"
#include "lib/trace/frame_out.h"
#include "lib/trace/read.h"
#include "lib/trace/write.h"
#include "tests/unit/trace_checks.h"

static uint64_t random_next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static int64_t number_or_none(uint64_t x)
{
    return x % 4 ? (int64_t)(x >> (1 + x % 60)) : TRACE_NONE;
}

/* The i-th row of a made trace: every column, every word, empty fields, odd strings. */
static void make_row(uint64_t i, struct trace_row *r, char buf[64])
{
    uint64_t s = i * 2 + 1;
    for (int k = 0; k < 5; k++)
        random_next(&s);
    memset(r, 0, sizeof(*r));
    r->time_ns = (int64_t)(random_next(&s) >> (2 + random_next(&s) % 60));
    r->op = (uint8_t)(i % TRACE_OPS);
    r->tier = r->op < TRACE_GENERATE ? (uint8_t)(s % 3) : TRACE_NO_TIER;
    r->phase = (uint8_t)(s / 3 % 5);
    r->qos = (uint8_t)(s / 15 % 4);
    r->class = (uint8_t)(s / 60 % (TRACE_NO_CLASS + 1));
    r->size = random_next(&s) >> (random_next(&s) % 64);
    int n = snprintf(buf, 64, "%skey_%llu%s", i % 7 ? "" : "q\"u,o\nt\re", (unsigned long long)i,
                     i % 11 ? "" : " ");
    r->key = (struct trace_str){buf, (uint32_t)n};
    if (i % 3)
        r->user = (struct trace_str){buf, (uint32_t)n / 2};
    r->request = number_or_none(random_next(&s));
    r->tokens = number_or_none(random_next(&s));
    r->arrival_ns = number_or_none(random_next(&s));
    r->duration_ns = number_or_none(random_next(&s));
    r->engine = i % 5 ? (int32_t)(i % 5) * 1000 : -1;
    r->due_ns = number_or_none(random_next(&s));
    r->eligible_ns = i % 5 ? r->time_ns : -1 - (int64_t)(s >> 5);
    r->start_ns = -(int64_t)(i % 3);
    r->latency_ns = (int64_t)(s >> 20);
    r->device_ns = number_or_none(random_next(&s));
    static const int status[] = {TRACE_OK,        TRACE_ABSENT, TRACE_CORRUPT,
                                 TRACE_NO_STATUS, ENOSPC,       EIO};
    r->status = status[i % 6];
}

struct written {
    struct trace_totals totals;
    uint64_t sum; /* of the rows, as row_mix */
};

#define ALL (TRACE_CORE | TRACE_EXTENDED | TRACE_SERVED | TRACE_RESULT)

static struct written write_rows(const char *path, const struct trace_write_opts *o, uint64_t count)
{
    struct written x = {.sum = 0};
    struct err e = {0};
    struct trace_writer *w;
    assert_int_equal(trace_create(&w, path, o, &e), 0);
    for (uint64_t i = 0; i < count; i++) {
        struct trace_row row;
        char buf[64];
        make_row(i, &row, buf);
        assert_int_equal(trace_write(w, &row, &e), 0);
        memset(buf, 'x', sizeof(buf)); /* strings are copied */
        make_row(i, &row, buf);
        x.sum += row_mix(&row);
    }
    assert_int_equal(trace_finish(w, NULL, &x.totals, &e), 0);
    assert_int_equal(x.totals.rows, count);
    return x;
}

static void test_round_trip(void **state)
{
    struct scratch *t = *state;
    for (int zst = 0; zst < 2; zst++) {
        const struct trace_write_opts o = {.columns = ALL, .zstd = -1};
        struct written x = write_rows(t->path[zst], &o, 3000);
        for (unsigned cursors = 1; cursors <= 2; cursors++) {
            struct outcome r = read_trace(t->path[zst], NULL, cursors);
            if (r.rc)
                print_error("%s: %s\n", r.e.where, r.e.what);
            assert_int_equal(r.rc, 0);
            assert_int_equal(r.rows, 3000);
            assert_true(r.sum == x.sum);
        }
    }
}

static void test_exact_text(void **state)
{
    struct scratch *t = *state;
    struct err e = {0};
    struct trace_writer *w;
    struct trace_totals totals;
    const struct trace_write_opts o = {.columns = ALL, .epoch_ns = 1000000000};
    struct trace_row row = {.time_ns = 1500000001,
                            .op = TRACE_WRITE,
                            .size = 7,
                            .key = {"a,b", 3},
                            .tier = TRACE_CPU,
                            .phase = TRACE_EVICT,
                            .user = {"u", 1},
                            .qos = TRACE_BATCH,
                            .class = TRACE_CLASS_EVICT,
                            .status = ENOSPC,
                            .request = 0,
                            .tokens = TRACE_NONE,
                            .arrival_ns = 0,
                            .duration_ns = 1500,
                            .engine = 12,
                            .due_ns = TRACE_NONE,
                            .eligible_ns = -1500000000,
                            .start_ns = 120000,
                            .latency_ns = 1000,
                            .device_ns = 1};
    const char *want =
        "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,"
        "Tokens,Arrival,Duration_us,Engine,Due,Eligible,Start,Latency_us,Device_us,Status\n"
        "2.500000001,Write,7,Tier-1,\"a,b\",Evict,0,u,batch,evict,,1.000000,1.5,12,,"
        "-1.500000,0.000120,1,0.001,ENOSPC\n";
    size_t len, head = (size_t)(strchr(want, '\n') - want) + 1;
    char hex[HASH_HEX_LEN + 1];
    assert_int_equal(trace_create(&w, t->path[0], &o, &e), 0);
    assert_int_equal(trace_write(w, &row, &e), 0);
    assert_int_equal(trace_finish(w, NULL, &totals, &e), 0);
    char *text = get_file(t->path[0], &len);
    assert_string_equal(text, want);
    assert_int_equal(totals.csv_bytes, len);
    assert_int_equal(totals.file_bytes, len);
    hash_hex(hash_128(text + head, len - head), hex);
    assert_string_equal(totals.digest, hex);
    free(text);
}

static void test_threads_do_not_change_bytes(void **state)
{
    struct scratch *t = *state;
    static const unsigned threads[] = {1, 2, 5};
    char *first = NULL;
    size_t first_len = 0;
    char digest[33] = "";
    for (int i = 0; i < 3; i++) {
        const struct trace_write_opts o = {.columns = ALL, .zstd = 1, .threads = threads[i]};
        struct written x = write_rows(t->path[1], &o, 110000);
        size_t len;
        char *bytes = get_file(t->path[1], &len);
        if (i == 0) {
            first = bytes;
            first_len = len;
            memcpy(digest, x.totals.digest, 33);
            assert_true(x.totals.csv_bytes > (size_t)12 << 20); /* several frames */
            continue;
        }
        assert_int_equal(len, first_len);
        assert_memory_equal(bytes, first, len);
        assert_string_equal(x.totals.digest, digest);
        free(bytes);
    }
    free(first);
    struct trace_reader *r;
    struct err e = {0};
    const struct trace_read_opts o = {.want_digest = true};
    assert_int_equal(trace_open(&r, t->path[1], &o, &e), 0);
    assert_string_equal(trace_digest(r), "");
    assert_int_equal(read_cursors(r, 1).rows, 110000);
    assert_string_equal(trace_digest(r), digest);
    trace_close(r);
}

static uint32_t le32(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return (uint32_t)u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 | (uint32_t)u[3] << 24;
}

/* Frames as zstd's seekable format has them: sizes in the table add up to the file and its text. */
static void test_seek_table(void **state)
{
    struct scratch *t = *state;
    const struct trace_write_opts o = {.columns = ALL, .zstd = 1, .provenance = "{\"x\":1}"};
    struct written x = write_rows(t->path[1], &o, 60000);
    size_t len, packed = 0, text = 0;
    char *z = get_file(t->path[1], &len);
    assert_int_equal(le32(z), FRAME_MAGIC_PROVENANCE);
    assert_int_equal(le32(z + len - 4), FRAME_SEEKABLE_MAGIC);
    uint32_t count = le32(z + len - 9);
    const char *entry = z + len - 9 - 8 * (size_t)count;
    assert_int_equal(le32(entry - 8), FRAME_MAGIC_SEEK_TABLE);
    assert_int_equal(le32(entry + 4), 0); /* the provenance frame */
    for (uint32_t i = 0; i < count; i++) {
        packed += le32(entry + 8 * (size_t)i);
        text += le32(entry + 8 * (size_t)i + 4);
        assert_true(le32(entry + 8 * (size_t)i + 4) < (5u << 20));
    }
    assert_true(count > 2);
    assert_int_equal(packed, len - 9 - 8 * count - 8);
    assert_int_equal(text, x.totals.csv_bytes);
    assert_int_equal(x.totals.file_bytes, len);
    free(z);
}

static void test_one_frame(void **state)
{
    struct scratch *t = *state;
    const struct trace_write_opts o = {.columns = ALL, .zstd = 1, .one_frame = true, .threads = 3};
    struct written x = write_rows(t->path[1], &o, 60000);
    size_t len;
    char *z = get_file(t->path[1], &len);
    assert_int_equal(le32(z), 0xFD2FB528);
    struct outcome r = read_trace(t->path[1], NULL, 1);
    assert_int_equal(r.rc, 0);
    assert_true(r.sum == x.sum);
    put_file(t->path[1], z, len - 1);
    assert_int_equal(read_trace(t->path[1], NULL, 1).rc, -EBADMSG);
    free(z);
}

static void test_no_rows(void **state)
{
    struct scratch *t = *state;
    for (int zst = 0; zst < 3; zst++) {
        const struct trace_write_opts o = {
            .columns = TRACE_CORE, .zstd = zst > 0, .one_frame = zst == 2};
        write_rows(t->path[0], &o, 0);
        struct outcome r = read_trace(t->path[0], NULL, 2);
        assert_int_equal(r.rc, 0);
        assert_int_equal(r.rows, 0);
    }
}

/* A result: the rows of another trace verbatim, result columns behind them. */
static void test_result_rows(void **state)
{
    struct scratch *t = *state;
    const char *in = "Key,Odd,Timestamp,Operation,Object_Size_Bytes,Tier,Phase\r\n"
                     "\"k,\n1\",  x,5,Read,1,Tier-0,Decode\r\n"
                     "k2,\"\",6.0,Write,2,Tier-1,Prefill\r\n";
    const struct trace_read_opts ro = {.want_line = true};
    struct err e = {0};
    for (int round = 0; round < 2; round++) { /* the second replays the first one's result */
        const char *from = t->path[round ? 1 : 0], *to = t->path[round ? 3 : 1];
        if (round == 0)
            put_file(from, in, strlen(in));
        struct trace_reader *r;
        struct trace_cursor *c;
        struct trace_writer *w;
        const struct trace_row *rows;
        size_t n;
        assert_int_equal(trace_open(&r, from, &ro, &e), 0);
        struct trace_str h = trace_header(r);
        const struct trace_write_opts wo = {
            .columns = ALL, .zstd = -1, .header = h.p, .header_len = h.len, .threads = 2};
        assert_int_equal(trace_create(&w, to, &wo, &e), 0);
        assert_int_equal(trace_cursor_open(&c, r, &e), 0);
        while (trace_cursor_next(c, &rows, &n, &e) == 1)
            for (size_t i = 0; i < n; i++) {
                struct trace_row row = rows[i];
                row.due_ns = TRACE_NONE;
                row.eligible_ns = row.start_ns = round;
                row.latency_ns = row.device_ns = 1500;
                row.status = TRACE_ABSENT;
                assert_int_equal(trace_write(w, &row, &e), 0);
            }
        assert_int_equal(trace_finish(w, "{}", NULL, &e), 0);
        trace_cursor_close(c);
        trace_close(r);
    }
    struct trace_reader *r;
    struct trace_cursor *c;
    const struct trace_row *rows;
    size_t n;
    assert_int_equal(trace_open(&r, t->path[3], &ro, &e), 0);
    assert_int_equal(trace_columns(r), TRACE_CORE | TRACE_RESULT);
    assert_int_equal(trace_cursor_open(&c, r, &e), 0);
    assert_int_equal(trace_cursor_next(c, &rows, &n, &e), 1);
    assert_int_equal(n, 2);
    const char *line = "\"k,\n1\",  x,5,Read,1,Tier-0,Decode";
    assert_int_equal(rows[0].line.len, strlen(line));
    assert_memory_equal(rows[0].line.p, line, strlen(line));
    assert_int_equal(rows[1].start_ns, 1);
    assert_int_equal(rows[1].latency_ns, 1500);
    assert_int_equal(rows[1].status, TRACE_ABSENT);
    trace_cursor_close(c);
    trace_close(r);
}

/* Writes until the output fails; the error must come from trace_write or finish, whichever is
 * first. */
static struct err write_until_error(const char *path, bool zst, unsigned threads)
{
    struct err e = {0};
    struct trace_writer *w;
    const struct trace_write_opts o = {.columns = ALL, .zstd = zst, .threads = threads};
    struct trace_row row;
    char buf[64];
    if (trace_create(&w, path, &o, &e))
        return e;
    for (uint64_t i = 0; i < 100000; i++) {
        make_row(i, &row, buf);
        if (trace_write(w, &row, &e)) {
            trace_abandon(w);
            return e;
        }
    }
    assert_true(trace_finish(w, NULL, NULL, &e) < 0);
    return e;
}

static void test_full_disk(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct err e = write_until_error("/dev/full", i & 1, 1 + (unsigned)i);
        assert_int_equal(e.code, -ENOSPC);
        assert_int_equal(e.class, ERR_OUTPUT);
        assert_string_equal(e.where, "/dev/full");
        assert_int_equal(access("/dev/full", F_OK), 0);
    }
    struct err e = {0};
    struct trace_writer *w;
    assert_int_equal(trace_create(&w, "/dev/full", &(struct trace_write_opts){.columns = 0}, &e),
                     0);
    assert_int_equal(trace_finish(w, NULL, NULL, &e), -ENOSPC); /* a header alone */
}

static void test_partial_file_is_removed(void **state)
{
    struct scratch *t = *state;
    struct rlimit before, small;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 1 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 2; i++) {
        struct err e = write_until_error(t->path[i], i, 2);
        assert_int_equal(e.code, -EFBIG);
        assert_int_equal(e.class, ERR_OUTPUT);
        assert_int_equal(access(t->path[i], F_OK), -1);
    }
    setrlimit(RLIMIT_FSIZE, &before);
}

static void test_cannot_create(void **state)
{
    struct scratch *t = *state;
    struct err e = {0};
    struct trace_writer *w;
    char path[128];
    snprintf(path, sizeof(path), "%s/none/x.csv", t->dir);
    assert_int_equal(trace_create(&w, path, &(struct trace_write_opts){.columns = 0}, &e), -ENOENT);
    assert_int_equal(e.class, ERR_OUTPUT);
}

static void test_reader_of_pipe_goes_away(void **state)
{
    (void)state;
    int fd[2];
    char path[32];
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(fd), 0);
    snprintf(path, sizeof(path), "/dev/fd/%d", fd[1]);
    struct err e = {0};
    struct trace_writer *w;
    assert_int_equal(trace_create(&w, path, &(struct trace_write_opts){.columns = ALL}, &e), 0);
    close(fd[1]);
    close(fd[0]);
    int rc = 0;
    for (uint64_t i = 0; i < 100000 && rc == 0; i++) {
        struct trace_row row;
        char buf[64];
        make_row(i, &row, buf);
        rc = trace_write(w, &row, &e);
    }
    assert_int_equal(rc, -EPIPE);
    trace_abandon(w);
}

/* Notes, and columns of some results only, come back as they were written; Notes are in no sum. */
static void test_notes_and_extra_columns(void **state)
{
    struct scratch *t = *state;
    struct trace_totals with, without;
    struct err e = {0};
    for (int zst = 0; zst < 2; zst++) {
        const struct trace_write_opts o = {.columns = ALL | TRACE_EXTRA, .zstd = zst, .threads = 2};
        for (int notes = 0; notes < 2; notes++) {
            struct trace_writer *w;
            assert_int_equal(trace_create(&w, t->path[zst], &o, &e), 0);
            const struct trace_row note = {.op = TRACE_NOTE, .key = {"{\"a\":1,\"b\":2}", 13}};
            if (notes)
                assert_int_equal(trace_write(w, &note, &e), 0);
            for (uint64_t i = 0; i < 40000; i++) {
                struct trace_extra x = {.slot_ns = (int64_t)i,
                                        .first_byte_ns = TRACE_NONE,
                                        .rank = (int64_t)i % 4,
                                        .endpoint = {"s3://a,b", 8}};
                struct trace_row row;
                char buf[64];
                make_row(i, &row, buf);
                row.extra = i % 3 ? &x : NULL;
                assert_int_equal(trace_write(w, &row, &e), 0);
                if (notes && i % 9999 == 0)
                    assert_int_equal(trace_write(w, &note, &e), 0);
            }
            if (notes)
                assert_int_equal(trace_write(w, &note, &e), 0);
            assert_int_equal(trace_finish(w, NULL, notes ? &with : &without, &e), 0);
        }
        assert_int_equal(with.rows, 40000);
        assert_string_equal(with.digest, without.digest);
        assert_true(with.csv_bytes > without.csv_bytes);
        struct trace_reader *r;
        struct trace_cursor *c;
        const struct trace_row *row;
        size_t n;
        uint64_t seen = 0;
        assert_int_equal(
            trace_open(&r, t->path[zst], &(struct trace_read_opts){.want_digest = true}, &e), 0);
        assert_int_equal(trace_cursor_open(&c, r, &e), 0);
        while (trace_cursor_next(c, &row, &n, &e) == 1)
            for (size_t k = 0; k < n; k++, seen++) {
                struct trace_row want;
                char buf[64];
                make_row(seen, &want, buf);
                assert_true(row[k].time_ns == want.time_ns && row[k].status == want.status);
                assert_true(row[k].extra->slot_ns == (seen % 3 ? (int64_t)seen : TRACE_NONE));
                assert_true(row[k].extra->rank == (seen % 3 ? (int64_t)seen % 4 : TRACE_NONE));
                assert_int_equal(row[k].extra->endpoint.len, seen % 3 ? 8 : 0);
                assert_true(row[k].extra->first_byte_ns == TRACE_NONE);
            }
        assert_int_equal(e.code, 0);
        assert_int_equal(seen, 40000);
        assert_string_equal(trace_digest(r), with.digest);
        trace_cursor_close(c);
        trace_close(r);
    }
}

static void test_impossible_rows_are_refused(void **state)
{
    struct scratch *t = *state;
    struct err e = {0};
    struct trace_writer *w;
    char *key = calloc(1, TRACE_MAX_KEY + 1);
    assert_int_equal(trace_create(&w, t->path[0], &(struct trace_write_opts){.columns = 0}, &e), 0);
    struct trace_row row = {.key = {key, TRACE_MAX_KEY + 1}};
    assert_int_equal(trace_write(w, &row, &e), -EINVAL);
    trace_abandon(w);
    assert_int_equal(access(t->path[0], F_OK), -1);
    free(key);
}

/* Counts the rows of a file that is still written, and says how its reading ended. */
static uint64_t rows_so_far(const char *path, int *rc, enum trace_end *end)
{
    struct err e = {0};
    struct trace_reader *r;
    struct trace_cursor *c;
    const struct trace_row *rows;
    uint64_t count = 0;
    size_t n;
    assert_int_equal(trace_open(&r, path, NULL, &e), 0);
    assert_int_equal(trace_cursor_open(&c, r, &e), 0);
    while ((*rc = trace_cursor_next(c, &rows, &n, &e)) == 1)
        count += n;
    *end = trace_end(r);
    trace_cursor_close(c);
    trace_close(r);
    return count;
}

static void test_flushed_rows_are_there(void **state)
{
    struct scratch *t = *state;
    char digest[2][33];
    for (int zst = 0; zst < 2; zst++) {
        for (int flushes = 0; flushes < 2; flushes++) {
            const struct trace_write_opts o = {.columns = 0, .zstd = zst};
            struct trace_totals totals;
            struct trace_writer *w;
            struct err e = {0};
            assert_int_equal(trace_create(&w, t->path[0], &o, &e), 0);
            for (uint64_t i = 0; i < 5; i++) {
                enum trace_end end;
                int rc;
                struct trace_row row = {.key = {"k", 1}, .size = i, .op = TRACE_WRITE};
                if (flushes) {
                    trace_flush(w);
                    trace_flush(w); /* nothing new: no empty frame, no second header */
                    assert_int_equal(rows_so_far(t->path[0], &rc, &end), i);
                    assert_int_equal(rc, zst ? -EBADMSG : 0);
                    assert_true(!zst || end == TRACE_END_UNFINISHED);
                }
                assert_int_equal(trace_write(w, &row, &e), 0);
            }
            assert_int_equal(trace_finish(w, NULL, &totals, &e), 0);
            assert_int_equal(totals.rows, 5);
            memcpy(digest[flushes], totals.digest, sizeof(totals.digest));
        }
        assert_string_equal(digest[0], digest[1]);
    }
}

/* An older file of that name is there again when the new one is not finished. */
static void test_older_file_comes_back(void **state)
{
    struct scratch *t = *state;
    const struct trace_write_opts o = {.columns = 0, .zstd = 0};
    struct trace_row row = {.key = {"k", 1}, .op = TRACE_WRITE};
    struct err e = {0};
    struct stat st;
    char aside[600];
    for (int finished = 0; finished < 2; finished++) {
        struct trace_writer *w;
        size_t len;
        put_file(t->path[0], "before", 6);
        assert_int_equal(chmod(t->path[0], 0640), 0);
        snprintf(aside, sizeof(aside), "%s.%ld.old", t->path[0], (long)getpid());
        assert_int_equal(trace_create(&w, t->path[0], &o, &e), 0);
        assert_int_equal(access(aside, F_OK), 0);
        assert_int_equal(trace_write(w, &row, &e), 0);
        if (finished)
            assert_int_equal(trace_finish(w, NULL, NULL, &e), 0);
        else
            trace_abandon(w);
        assert_int_equal(access(aside, F_OK), -1);
        char *text = get_file(t->path[0], &len);
        assert_int_equal(strcmp(text, "before") == 0, !finished);
        free(text);
        assert_int_equal(stat(t->path[0], &st), 0);
        assert_int_equal(st.st_mode & 0777, 0640);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_exact_text),
        TEST(test_threads_do_not_change_bytes),
        TEST(test_seek_table),
        TEST(test_one_frame),
        TEST(test_no_rows),
        TEST(test_result_rows),
        TEST(test_full_disk),
        TEST(test_partial_file_is_removed),
        TEST(test_cannot_create),
        TEST(test_reader_of_pipe_goes_away),
        TEST(test_notes_and_extra_columns),
        TEST(test_impossible_rows_are_refused),
        TEST(test_flushed_rows_are_there),
        TEST(test_older_file_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
