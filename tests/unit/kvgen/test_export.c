/* Exports row by row: what a simulation never gives, but a foreign trace does. Keys that a format
 * cannot hold, objects that are read before anybody wrote them, results in the order of their
 * completion, and more rows than the memory takes. A bug looked like a key with a tab that became
 * two fields, a GET of nothing, or rows out of order across a temporary file. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kvgen/format/export.h"
#include "kvgen/format/thread_numbers.h"
#include "kvgen/rng.h"
#include "lib/base/keymap.h"
#include "lib/base/units.h"
#include "lib/log/iso_time.h"
#include "lib/sort/time_sort.h"
#include "lib/trace/frame.h"

static bool begins_with(const char *path, const char *bytes, size_t len)
{
    char head[16] = {0};
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(head, 1, len, f);
    fclose(f);
    return n == len && memcmp(head, bytes, len) == 0;
}

static char path[256];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/kvgen_export.%ld.%s", P_tmpdir, (long)getpid(), name);
    return path;
}

static struct trace_row row_of(enum trace_op op, const char *key, uint64_t size, double time_s)
{
    return (struct trace_row){.time_ns = (int64_t)(time_s * 1e9),
                              .size = size,
                              .key = {key, (uint32_t)strlen(key)},
                              .op = (uint8_t)op,
                              .tier = TRACE_STORAGE,
                              .phase = TRACE_NO_PHASE,
                              .status = TRACE_NO_STATUS,
                              .start_ns = TRACE_NONE,
                              .latency_ns = TRACE_NONE};
}

static struct trace_row result_of(enum trace_op op, const char *key, double start_s, double taken_s)
{
    struct trace_row row = row_of(op, key, 100, 77);
    row.start_ns = (int64_t)(start_s * 1e9);
    row.latency_ns = (int64_t)(taken_s * 1e9);
    row.status = TRACE_OK;
    return row;
}

/* The export of rows as text, to be freed; *rc of the first that failed. */
static char *text_of(enum export_format format, bool zstd, const struct trace_row *row, size_t n)
{
    struct export_opts o = {.path = in_folder("out.iolog"),
                            .endpoint = "file:///x/",
                            .segment_bytes = 1 << 20,
                            .zstd = zstd,
                            .reorder = true};
    struct export *x;
    struct err e = {0};
    struct trace_totals totals;
    assert_int_equal(export_open(&x, format, &o, &e), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(export_row(x, &row[i], i + 1, &e), 0);
    assert_int_equal(export_finish(x, &totals, &e), 0);
    export_free(x);
    struct frame_in *in;
    char *text = calloc(1, totals.csv_bytes + 1);
    assert_int_equal(frame_in_open(&in, path, NULL, &e), 0);
    assert_int_equal(begins_with(path, "\x28\xb5\x2f\xfd", 4), zstd);
    assert_int_equal(frame_in_read(in, text, totals.csv_bytes, &e), totals.csv_bytes);
    frame_in_close(in);
    unlink(path);
    return text;
}

static void preloads(void **state)
{
    (void)state;
    const struct trace_row rows[] = {
        row_of(TRACE_WRITE, "w", 10, 5),  row_of(TRACE_READ, "r", 20, 6),
        row_of(TRACE_READ, "w", 10, 6.5), row_of(TRACE_READ, "r", 20, 7),
        row_of(TRACE_DELETE, "r", 20, 8), row_of(TRACE_MISS, "m", 0, 9),
        row_of(TRACE_READ, "q", 30, 9)};
    char *text = text_of(EXPORT_SAI3, false, rows, 7);
    assert_string_equal(
        text, "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_"
              "byte\tend"
              "\tduration_ns\n"
              "0\t0\tPUT\tkvtrace\t1\t20\tfile:///x/\tr\t\t1970-01-01T00:00:05.000000000Z\t\t"
              "1970-01-01T00:00:05.000000000Z\t0\n"
              "1\t0\tPUT\tkvtrace\t1\t30\tfile:///x/\tq\t\t1970-01-01T00:00:05.000000000Z\t\t"
              "1970-01-01T00:00:05.000000000Z\t0\n"
              "2\t0\tPUT\tkvtrace\t1\t10\tfile:///x/\tw\t\t1970-01-01T00:00:05.000000000Z\t\t"
              "1970-01-01T00:00:05.000000000Z\t0\n"
              "3\t0\tGET\tkvtrace\t1\t20\tfile:///x/\tr\t\t1970-01-01T00:00:06.000000000Z\t\t"
              "1970-01-01T00:00:06.000000000Z\t0\n"
              "4\t0\tGET\tkvtrace\t1\t10\tfile:///x/\tw\t\t1970-01-01T00:00:06.500000000Z\t\t"
              "1970-01-01T00:00:06.500000000Z\t0\n"
              "5\t0\tGET\tkvtrace\t1\t20\tfile:///x/\tr\t\t1970-01-01T00:00:07.000000000Z\t\t"
              "1970-01-01T00:00:07.000000000Z\t0\n"
              "6\t0\tDELETE\tkvtrace\t1\t0\tfile:///x/\tr\t\t1970-01-01T00:00:08.000000000Z\t\t"
              "1970-01-01T00:00:08.000000000Z\t0\n"
              "7\t0\tGET\tkvtrace\t1\t30\tfile:///x/\tq\t\t1970-01-01T00:00:09.000000000Z\t\t"
              "1970-01-01T00:00:09.000000000Z\t0\n");
    free(text);
}

/* A result: rows by completion, one of them before zero, two in flight at once, one that failed. */
static void results(void **state)
{
    (void)state;
    struct trace_row rows[] = {
        result_of(TRACE_WRITE, "a", -1.5, 0.5), result_of(TRACE_WRITE, "c", 1.25, 0.25),
        result_of(TRACE_READ, "a", 1, 2), result_of(TRACE_DELETE, "a, b", 3, 0.000001)};
    rows[1].status = ENOSPC;
    char *text = text_of(EXPORT_WARP, true, rows, 4);
    assert_string_equal(
        text,
        "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\t"
        "last_byte\tend\tduration_ns\tcat\n"
        "0\t0\tPUT\tkvtrace\t1\t100\tfile:///x/\ta\t\t1970-01-01T00:00:00.000000000Z\t\t"
        "1970-01-01T00:00:00.500000000Z\t1970-01-01T00:00:00.500000000Z\t500000000\t0\n"
        "1\t0\tGET\tkvtrace\t1\t100\tfile:///x/\ta\t\t1970-01-01T00:00:02.500000000Z\t\t"
        "1970-01-01T00:00:04.500000000Z\t1970-01-01T00:00:04.500000000Z\t2000000000\t0\n"
        "2\t1\tPUT\tkvtrace\t1\t100\tfile:///x/\tc\tENOSPC\t1970-01-01T00:00:02.750000000Z\t\t"
        "1970-01-01T00:00:03.000000000Z\t1970-01-01T00:00:03.000000000Z\t250000000\t0\n"
        "3\t0\tDELETE\tkvtrace\t1\t0\tfile:///x/\ta, b\t\t1970-01-01T00:00:04.500000000Z\t\t"
        "1970-01-01T00:00:04.500001000Z\t1970-01-01T00:00:04.500001000Z\t1000\t0\n");
    free(text);
    /* An op-log is executed: what failed stays out. */
    text = text_of(EXPORT_SAI3, false, rows, 4);
    assert_null(strstr(text, "ENOSPC"));
    assert_null(strstr(text, "\tc\t"));
    assert_non_null(strstr(text, "\ta\t\t1970-01-01T00:00:02.500000000Z\t\t"
                                 "1970-01-01T00:00:04.500000000Z\t2000000000\n"));
    free(text);
}

/* Rows that go back in time are put in order; a read that is larger than the write gets room. */
static void iolog(void **state)
{
    (void)state;
    const struct trace_row rows[] = {row_of(TRACE_WRITE, "b", 5000, 2),
                                     row_of(TRACE_WRITE, "a", 4096, 1),
                                     row_of(TRACE_READ, "c", 100, 2.5),
                                     row_of(TRACE_READ, "a", 4000, 3),
                                     row_of(TRACE_DELETE, "a", 0, 4),
                                     row_of(TRACE_WRITE, "d", 4096, 5),
                                     row_of(TRACE_WRITE, "big", (UINT64_C(5) << 20) + 1, 6)};
    char *text = text_of(EXPORT_FIO, false, rows, 7);
    char want[1024] = "fio version 3 iolog\n", *p = want + strlen(want), job[300];
    const char *slab = strrchr(path, '/') + 1;
    int stem = (int)strlen(slab) - 6;
    static const char *const lines[] = {"0 S add",
                                        "0 S open",
                                        "0 S write 0 4096",
                                        "1000000 S write 4096 5000",
                                        "1500000 S read 12288 100",
                                        "2000000 S read 0 4000",
                                        "4000000 S write 0 4096",
                                        "5000000 S write 16384 1048576",
                                        "5000000 S write 1064960 1048576",
                                        "5000000 S write 2113536 1048576",
                                        "5000000 S write 3162112 1048576",
                                        "5000000 S write 4210688 1048576",
                                        "5000000 S write 5259264 1",
                                        "5000000 S close"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t at = strcspn(lines[i], "S");
        p += sprintf(p, "%.*s%.*s.slab%s\n", (int)at, lines[i], stem, slab, lines[i] + at + 1);
    }
    assert_string_equal(text, want);
    free(text);
    snprintf(job, sizeof job, "%.*s.fio", (int)strlen(path) - 6, path);
    FILE *f = fopen(job, "r");
    assert_non_null(f);
    want[fread(want, 1, sizeof want - 1, f)] = '\0';
    fclose(f);
    unlink(job);
    assert_non_null(strstr(want, "\ndirect=0\n"));
    assert_non_null(strstr(want, "\nexec_prerun=truncate -s 5263360 "));
}

/* ---- what cannot be written ---- */

static void refuses(enum export_format format, struct trace_row row, const char *why)
{
    struct export_opts o = {
        .path = in_folder("bad.iolog"), .endpoint = "s3://x/", .segment_bytes = 4096};
    struct export *x;
    struct err e = {0};
    struct trace_totals totals;
    char line[512];
    bool loss = false;
    assert_int_equal(export_open(&x, format, &o, &e), 0);
    int rc = export_row(x, &row, 9, &e);
    assert_int_equal(rc != 0 ? rc : export_finish(x, &totals, &e), -EINVAL);
    assert_int_equal(e.class, ERR_INPUT);
    assert_string_equal(e.where, "row 9");
    assert_non_null(strstr(e.what, why));
    export_free(x);
    assert_int_equal(access(path, F_OK), -1);
    /* Only looked at, it is a remark. */
    o.path = NULL;
    assert_int_equal(export_open(&x, format, &o, &e), 0);
    assert_int_equal(export_row(x, &row, 9, &e), 0);
    assert_int_equal(export_finish(x, &totals, &e), 0);
    assert_true(export_remark(x, 0, line, sizeof line, &loss));
    assert_true(loss);
    assert_non_null(strstr(line, "1 row (first: 9) "));
    assert_non_null(strstr(line, why));
    export_free(x);
}

static void refused_rows(void **state)
{
    (void)state;
    refuses(EXPORT_SAI3, row_of(TRACE_READ, "a\tb", 1, 0), "tab");
    refuses(EXPORT_SAI3, row_of(TRACE_READ, "a\nb", 1, 0), "newline");
    refuses(EXPORT_SAI3, row_of(TRACE_WRITE, "", 1, 0), "without a key");
    refuses(EXPORT_SAI3, row_of(TRACE_READ, "../../etc/passwd", 1, 0), "..");
    refuses(EXPORT_SAI3, row_of(TRACE_READ, "a/..", 1, 0), "..");
    refuses(EXPORT_SAI3, row_of(TRACE_READ, "a", 1, 7.3e9), "2199");
    refuses(EXPORT_WARP, result_of(TRACE_READ, "a\rb", 1, 1), "control");
    refuses(EXPORT_WARP, result_of(TRACE_READ, "\"a\"", 1, 1), "quote");
    refuses(EXPORT_WARP, result_of(TRACE_READ, "a\"b\"", 1, 1), "quote"); /* Go's csv: bare quote */
    refuses(EXPORT_WARP, row_of(TRACE_READ, "a", 1, 0), "latency");
    refuses(EXPORT_LIBCACHESIM, row_of(TRACE_READ, "a", 1, 5e9), "2^32 seconds");
    refuses(EXPORT_ORACLE, row_of(TRACE_READ, "a", 1, -1), "before 0");
    refuses(EXPORT_ORACLE, row_of(TRACE_READ, "a", UINT64_C(1) << 32, 0), "4 GiB");
    refuses(EXPORT_FIO, row_of(TRACE_WRITE, "a", UINT64_MAX / 2, 0), "2^62");
}

/* Names that look dangerous but are not: quotes and commas stand as they are. */
static void odd_keys(void **state)
{
    (void)state;
    const struct trace_row rows[] = {row_of(TRACE_WRITE, "..a/b..c, \"d\" 'e'", 1, 0)};
    char *text = text_of(EXPORT_SAI3, false, rows, 1);
    assert_non_null(strstr(text, "\t..a/b..c, \"d\" 'e'\t"));
    free(text);
}

static void remark_is(enum export_format format, const struct trace_row *row, size_t n,
                      const char *want, bool want_loss)
{
    struct export_opts o = {.endpoint = "", .segment_bytes = 4096};
    struct export *x;
    struct err e = {0};
    struct trace_totals totals;
    char line[512];
    bool loss, found = false;
    assert_int_equal(export_open(&x, format, &o, &e), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(export_row(x, &row[i], i + 1, &e), 0);
    assert_int_equal(export_finish(x, &totals, &e), 0);
    for (size_t i = 0; export_remark(x, i, line, sizeof line, &loss); i++)
        if (strstr(line, want) != NULL) {
            found = true;
            assert_int_equal(loss, want_loss);
        }
    export_free(x);
    assert_true(found);
}

static void remarks(void **state)
{
    (void)state;
    struct trace_row rows[] = {row_of(TRACE_WRITE, "a", 8000, 0), row_of(TRACE_READ, "a", 9000, 1),
                               row_of(TRACE_DELETE, "a", 9, 1), row_of(TRACE_READ, "a", 9000, 1),
                               row_of(TRACE_READ, "z", 0, 1)};
    remark_is(EXPORT_SAI3, rows, 4, "1 row (first: 2) that read another size", true);
    remark_is(EXPORT_SAI3, rows, 4, "1 row (first: 4) that read an object after", true);
    remark_is(EXPORT_FIO, rows, 5, "1 row (first: 5) of size 0", true);
    remark_is(EXPORT_FIO, rows, 4, "1 row (first: 2) that read more", false);
    remark_is(EXPORT_LIBCACHESIM, rows, 5, "1 row (first: 3) of moves", false);
    remark_is(EXPORT_ORACLE, rows, 5, "1 row (first: 5) of size 0", true);
    remark_is(EXPORT_MLPERF, rows, 5, "1 row (first: 3) of Delete", true);
    rows[1].op = TRACE_MISS;
    remark_is(EXPORT_SAI3, rows, 2, "1 row (first: 2) without I/O", false);
    rows[0] = result_of(TRACE_WRITE, "a", 0, 1);
    remark_is(EXPORT_WARP, rows, 1, "not enough for time segments", true);
    rows[0].status = EIO;
    remark_is(EXPORT_SAI3, rows, 1, "1 row (first: 1) that failed", true);
}

/* sai3-bench starts each operation at its time and ends at the first that fails. */
static void remarks_on_what_is_there(void **state)
{
    (void)state;
    struct trace_row rows[] = {row_of(TRACE_READ, "a", 8, 0),   row_of(TRACE_WRITE, "b", 8, 1),
                               row_of(TRACE_READ, "b", 8, 1),   row_of(TRACE_DELETE, "c", 8, 2),
                               row_of(TRACE_DELETE, "b", 8, 3), row_of(TRACE_READ, "b", 8, 4)};
    remark_is(EXPORT_SAI3, rows, 6, "1 row (first: 1) that read what was not written", false);
    remark_is(EXPORT_SAI3, rows, 6, "2 rows (first: 1) that start before the PUT", true);
    remark_is(EXPORT_SAI3, rows, 6, "1 row (first: 4) that delete", true);
    remark_is(EXPORT_SAI3, rows, 6, "1 row (first: 6) that read an object after", true);
    remark_is(EXPORT_FIO, rows, 6, "2 rows (first: 1) that read what was not written", true);
    remark_is(EXPORT_FIO, rows + 3, 1, "fio: no read and no write", true);
    /* Measured: what starts before the end of the write is early, at its end it is not. */
    struct trace_row measured[] = {result_of(TRACE_WRITE, "a", 1, 1),
                                   result_of(TRACE_READ, "a", 1.5, 1),
                                   result_of(TRACE_READ, "a", 2, 1)};
    remark_is(EXPORT_SAI3, measured, 3, "1 row (first: 2) that start before the PUT", true);
}

/* ---- the parts ---- */

/* Far more than fits: equal times keep their order, whatever the runs. */
static void sorting(void **state)
{
    (void)state;
    enum {
        N = 60000
    };
    struct time_sort *s;
    struct err e = {0};
    struct rng rng;
    char record[200] = {0};
    uint32_t last_number = 0, seen = 0;
    int64_t time_ns, last_ns = INT64_MIN;
    const void *p;
    size_t len;
    rng_seed(&rng, 4, 0);
    /* 3 bytes more than a power of two: the last growth gives room for no record. */
    assert_int_equal(time_sort_create(&s, P_tmpdir, (1 << 20) + 3, &e), 0);
    for (uint32_t i = 0; i < N; i++) {
        memcpy(record, &i, sizeof i);
        time_ns = i < N / 3 ? (int64_t)i / 7 : (int64_t)rng_below(&rng, 5000);
        assert_int_equal(time_sort_add(s, time_ns, record, 4 + i % 190, &e), 0);
    }
    assert_int_equal(time_sort_finish(s, &e), 0);
    while (time_sort_next(s, &time_ns, &p, &len, &e) > 0) {
        uint32_t number;
        memcpy(&number, p, sizeof number);
        assert_int_equal(len, 4 + number % 190);
        assert_true(time_ns > last_ns || (time_ns == last_ns && number > last_number));
        last_ns = time_ns;
        last_number = number;
        seen++;
    }
    assert_int_equal(seen, N);
    time_sort_free(s);
    assert_int_equal(time_sort_create(&s, "/nowhere/at/all", 1, &e), 0);
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < N; i++)
        rc = time_sort_add(s, 0, record, sizeof record, &e);
    assert_int_equal(rc, -ENOENT);
    assert_int_equal(e.class, ERR_OUTPUT);
    time_sort_free(s);
}

static struct hash128 key_number(uint64_t i)
{
    return (struct hash128){.lo = hash_mix(i) & 0xfff, .hi = i + 1};
}

/* Against an array: keys that collide, come, go and come again. */
static void keymaps(void **state)
{
    (void)state;
    enum {
        KEYS = 3000
    };
    static uint64_t want[KEYS]; /* 0: not there */
    struct keymap *m = keymap_create();
    struct rng rng;
    size_t count = 0;
    rng_seed(&rng, 8, 0);
    for (uint64_t i = 1; i < 200000; i++) {
        size_t k = (size_t)rng_below(&rng, KEYS);
        const uint64_t *found = keymap_find(m, key_number(k));
        assert_int_equal(found != NULL ? *found : 0, want[k]);
        if (want[k] != 0 && i % 3 == 0) {
            keymap_remove(m, key_number(k));
            want[k] = 0;
            count--;
        } else {
            uint64_t *value = keymap_get(m, key_number(k), i);
            assert_int_equal(*value, want[k] != 0 ? want[k] : i);
            count += want[k] == 0;
            *value = want[k] = i;
        }
        assert_int_equal(keymap_count(m), count);
    }
    struct hash128 zero = {0};
    assert_null(keymap_find(m, zero));
    *keymap_get(m, zero, 0) = 5;
    assert_int_equal(*keymap_find(m, zero), 5);
    keymap_remove(m, zero);
    keymap_remove(m, zero);
    assert_null(keymap_find(m, zero));
    keymap_free(m);
}

static void thread_numbers(void **state)
{
    (void)state;
    struct thread_numbers *c = thread_numbers_create();
    unsigned thread;
    static const struct {
        int64_t start, end;
        unsigned thread;
    } ops[] = {{0, 10, 0}, {0, 5, 1},   {0, 20, 2},  {5, 6, 1},   {7, 8, 1},
               {9, 30, 1}, {10, 10, 0}, {10, 11, 0}, {10, 11, 3}, {30, 30, 0}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        assert_int_equal(thread_numbers_take(c, ops[i].start, ops[i].end, &thread), 0);
        assert_int_equal(thread, ops[i].thread);
    }
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(thread_numbers_take(c, 40, 50, &thread), 0);
        assert_int_equal(thread, i);
    }
    thread_numbers_free(c);
}

static void times(void **state)
{
    (void)state;
    struct rng rng;
    char text[ISO_TIME_LEN + 1] = "";
    rng_seed(&rng, 1, 0);
    for (int i = 0; i < 100000; i++) {
        int64_t ns = i == 0 ? ISO_TIME_MAX : (int64_t)rng_below(&rng, (uint64_t)ISO_TIME_MAX), back;
        assert_int_equal(iso_time_put(text, ns), ISO_TIME_LEN);
        assert_int_equal(iso_time_parse(text, ISO_TIME_LEN, &back), 0);
        assert_int_equal(back, ns);
    }
    iso_time_put(text, INT64_C(1709208000000000001));
    assert_string_equal(text, "2024-02-29T12:00:00.000000001Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(preloads),
                                       cmocka_unit_test(results),
                                       cmocka_unit_test(iolog),
                                       cmocka_unit_test(refused_rows),
                                       cmocka_unit_test(odd_keys),
                                       cmocka_unit_test(remarks),
                                       cmocka_unit_test(remarks_on_what_is_there),
                                       cmocka_unit_test(sorting),
                                       cmocka_unit_test(keymaps),
                                       cmocka_unit_test(thread_numbers),
                                       cmocka_unit_test(times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
