/* Expected: whatever wrote the file, the reader gives its rows, finds columns by name, and says
 * FILE:LINE for what is wrong. A
 * bug looks like a row that is lost, doubled or read from the wrong column, a wrong line number, or
 * a cut that passes for an end. */
/* builds: plain address thread arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

#include "lib/trace/csv.h"
#include "lib/trace/csv_scan.h"
#include "tests/unit/trace_checks.h"

/* Reads a text of one row and gives that row; the reader stays open. */
struct single {
    struct trace_reader *r;
    struct trace_cursor *c;
    const struct trace_row *row;
    size_t n;
};

static struct single read_single(const char *path, const char *text,
                                 const struct trace_read_opts *o)
{
    struct single s = {0};
    struct err e = {0};
    put_file(path, text, strlen(text));
    assert_int_equal(trace_open(&s.r, path, o, &e), 0);
    assert_int_equal(trace_cursor_open(&s.c, s.r, &e), 0);
    int rc = trace_cursor_next(s.c, &s.row, &s.n, &e);
    if (rc != 1)
        print_error("%s: %s\n", e.where, e.what);
    assert_int_equal(rc, 1);
    return s;
}

static void single_close(struct single *s)
{
    trace_cursor_close(s->c);
    trace_close(s->r);
}

static void assert_str(struct trace_str s, const char *want)
{
    assert_int_equal(s.len, strlen(want));
    assert_memory_equal(s.p ? s.p : want, want, (size_t)s.len);
}

static void test_core_row(void **state)
{
    struct scratch *t = *state;
    struct single s =
        read_single(t->path[0], HEADER "12.5,Read,1048576,Tier-2,user_1_ctx,Decode\n", NULL);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.row->time_ns, 12500000000);
    assert_int_equal(s.row->op, TRACE_READ);
    assert_int_equal(s.row->size, 1048576);
    assert_int_equal(s.row->tier, TRACE_STORAGE);
    assert_int_equal(s.row->phase, TRACE_DECODE);
    assert_str(s.row->key, "user_1_ctx");
    assert_int_equal(s.row->qos, TRACE_NO_QOS);
    assert_true(s.row->request == TRACE_NONE);
    assert_int_equal(s.row->status, TRACE_NO_STATUS);
    assert_int_equal(trace_columns(s.r), TRACE_CORE);
    single_close(&s);
}

/* Blank lines, of either end, alone or in long runs, are no rows, and the line of a bad row behind
 * them is right. A bug looked like 15 s for 131 MB of them. */
static void test_blank_lines(void **state)
{
    struct scratch *t = *state;
    enum {
        LONG = 200000
    };
    char *text = malloc(sizeof(HEADER) + 2 * LONG + 1000), *p = text;
    struct trace_read_opts o = {0};
    struct err e = {0};
    char where[128];
    size_t line = 2;

    assert_non_null(text);
    p += sprintf(p, "%s", HEADER);
    for (int i = 0; i < 3; i++) {
        size_t blank = i == 0 ? 1 : i == 1 ? 7 : LONG;
        p += sprintf(p, "%d,Read,5,Tier-2,k,Decode\n", i);
        for (size_t k = 0; k < blank; k++)
            p += sprintf(p, (size_t)i + k % 2 == 1 ? "\r\n" : "\n");
        line += 1 + blank;
    }
    p += sprintf(p, "4,Read,5,Tier-2,k,Decode\n\n\r\n\n");
    struct single s = read_single(t->path[0], text, NULL);
    size_t rows = s.n;
    while (trace_cursor_next(s.c, &s.row, &s.n, &e) > 0)
        rows += s.n;
    assert_int_equal(rows, 4);
    single_close(&s);

    sprintf(p, "5,Read,x,Tier-2,k,Decode\n");
    s = read_single(t->path[0], text, &o);
    int rc = 1;
    while (rc > 0)
        rc = trace_cursor_next(s.c, &s.row, &s.n, &e);
    assert_int_equal(rc, -EINVAL);
    snprintf(where, sizeof(where), "%s:%zu", t->path[0], line + 4);
    assert_string_equal(e.where, where);
    single_close(&s);
    free(text);
}

/* Blank lines before the header, more than any buffer holds, behind a byte-order mark or not: they
 * are passed over, and the line of a bad row is right, also after a rewind. A bug looked like a
 * write past the end of the heap's block, from a file of 115 bytes. */
static void test_blank_lines_before_the_header(void **state)
{
    static const char *const line[] = {"\n", "\r\n"};
    static const char rows[] = HEADER "0,Read,5,Tier-2,k,Decode\n1,Read,x,Tier-2,k,Decode\n";
    enum {
        LINES = 3000001
    };
    struct scratch *t = *state;
    char *text = malloc(3 + 2 * LINES + sizeof(rows)), where[128];

    assert_non_null(text);
    for (int kind = 0; kind < 4; kind++) {
        char *p = text;
        if (kind & 1)
            p = stpcpy(p, "\xef\xbb\xbf");
        for (int i = 0; i < LINES; i++)
            p = stpcpy(p, line[kind >> 1]);
        p = stpcpy(p, rows);
        put_file(t->path[0], text, (size_t)(p - text));
        struct trace_reader *r;
        struct err e = {0};
        assert_int_equal(trace_open(&r, t->path[0], NULL, &e), 0);
        snprintf(where, sizeof(where), "%s:%d", t->path[0], LINES + 3);
        for (int pass = 0; pass < 2; pass++) {
            const struct trace_row *row;
            struct trace_cursor *c;
            size_t n;
            assert_int_equal(trace_cursor_open(&c, r, &e), 0);
            assert_int_equal(trace_cursor_next(c, &row, &n, &e), 1);
            assert_int_equal(n, 1);
            assert_int_equal(trace_cursor_next(c, &row, &n, &e), -EINVAL);
            assert_string_equal(e.where, where);
            trace_cursor_close(c);
            assert_int_equal(trace_rewind(r, &e), 0);
        }
        trace_close(r);
    }
    put_file(t->path[0], text, LINES);
    struct outcome o = read_trace(t->path[0], NULL, 1);
    assert_int_equal(o.rc, -EINVAL);
    assert_string_equal(o.e.what, "empty: no header");
    free(text);
}

/* As Python's csv module writes by default: CRLF and quotes where needed; columns in another order.
 */
static void test_foreign_writer(void **state)
{
    struct scratch *t = *state;
    struct trace_read_opts o = {.want_line = true};
    struct single s = read_single(
        t->path[0],
        "\xef\xbb\xbfKey,Extra,Phase,Tier,Object_Size_Bytes,Operation,Timestamp,User\r\n"
        "\"a,\"\"b\"\"\r\nc\",x,Prefill,Tier-1,7,Write,0,\"u,1\"\r\n"
        "plain,,,Tier-0,8,Delete,1.000000001,\r\n\r\n"
        "last,\"\",Both,Tier-0,9,Read,2,u3",
        &o);
    assert_int_equal(s.n, 2);
    assert_str(s.row[0].key, "a,\"b\"\r\nc");
    assert_str(s.row[0].user, "u,1");
    assert_str(s.row[0].line, "\"a,\"\"b\"\"\r\nc\",x,Prefill,Tier-1,7,Write,0,\"u,1\"");
    assert_int_equal(s.row[0].op, TRACE_WRITE);
    assert_str(s.row[1].key, "plain");
    assert_str(s.row[1].line, "plain,,,Tier-0,8,Delete,1.000000001,");
    assert_int_equal(s.row[1].time_ns, 1000000001);
    assert_int_equal(s.row[1].user.len, 0);
    /* The last row has no newline: it comes when the file has ended. */
    assert_int_equal(trace_cursor_next(s.c, &s.row, &s.n, NULL), 1);
    assert_int_equal(s.n, 1);
    assert_str(s.row[0].key, "last");
    assert_str(s.row[0].user, "u3");
    assert_int_equal(s.row[0].phase, TRACE_BOTH);
    assert_int_equal(trace_cursor_next(s.c, &s.row, &s.n, NULL), 0);
    assert_str(trace_header(s.r),
               "Key,Extra,Phase,Tier,Object_Size_Bytes,Operation,Timestamp,User");
    single_close(&s);
}

static void test_extended_and_result_columns(void **state)
{
    struct scratch *t = *state;
    struct trace_read_opts o = {.want_line = true};
    struct single s = read_single(
        t->path[0],
        "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,"
        "Arrival,"
        "Duration_us,Due,Eligible,Start,Latency_us,Device_us,Status\n"
        "1.25,Generate,0,,,,42,u,responsive,multi_turn,17,1.000000,1500.125,,-0.5,0.000000001,12.5,"
        "0.001,ENOSPC\n"
        "1735689600.123456789,Miss,0,,k,,,,,,,,,1.5,2,3,4,5,corrupt\n",
        &o);
    const struct trace_row *r = s.row;
    assert_int_equal(s.n, 2);
    assert_int_equal(r->op, TRACE_GENERATE);
    assert_int_equal(r->tier, TRACE_NO_TIER);
    assert_int_equal(r->request, 42);
    assert_int_equal(r->qos, TRACE_RESPONSIVE);
    assert_int_equal(r->class, TRACE_MULTI_TURN);
    assert_int_equal(r->tokens, 17);
    assert_int_equal(r->arrival_ns, 1000000000);
    assert_int_equal(r->duration_ns, 1500125);
    assert_true(r->due_ns == TRACE_NONE);
    assert_int_equal(r->eligible_ns, -500000000);
    assert_int_equal(r->start_ns, 1);
    assert_int_equal(r->latency_ns, 12500);
    assert_int_equal(r->device_ns, 1);
    assert_int_equal(r->status, ENOSPC);
    assert_str(r->line, "1.25,Generate,0,,,,42,u,responsive,multi_turn,17,1.000000,1500.125");
    assert_int_equal(r[1].time_ns, INT64_C(1735689600123456789));
    assert_int_equal(r[1].op, TRACE_MISS);
    assert_int_equal(r[1].status, TRACE_CORRUPT);
    assert_true(r[1].request == TRACE_NONE && r[1].duration_ns == TRACE_NONE);
    assert_int_equal(r[1].due_ns, 1500000000);
    struct trace_str h = trace_header(s.r);
    assert_memory_equal(h.p + h.len - 11, "Duration_us", 11);
    single_close(&s);
}

/* The engine of a row: a number, or nothing. */
static void test_engine(void **state)
{
    struct scratch *t = *state;
    static const char head[] = "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Engine\n";
    static const struct {
        const char *row;
        int32_t engine;
    } rows[] = {{"1,Read,5,Tier-2,k,Decode,7\n", 7},
                {"1,Read,5,Tier-2,k,Decode,\n", -1},
                {"1,Read,5,Tier-2,k,Decode,2147483647\n", INT32_MAX}};
    char text[256];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct trace_read_opts o = {0};
        snprintf(text, sizeof(text), "%s%s", head, rows[i].row);
        struct single s = read_single(t->path[0], text, &o);
        assert_int_equal(s.n, 1);
        assert_int_equal(trace_columns(s.r), TRACE_CORE | TRACE_SERVED);
        assert_int_equal(s.row->engine, rows[i].engine);
        single_close(&s);
    }
    static const char *const bad[] = {"-1", "2147483648", "x", "1.5"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        snprintf(text, sizeof(text), "%s1,Read,5,Tier-2,k,Decode,%s\n", head, bad[i]);
        put_file(t->path[0], text, strlen(text));
        struct outcome r = read_trace(t->path[0], NULL, 1);
        assert_int_equal(r.rc, -EINVAL);
        assert_non_null(strstr(r.e.what, "is not a whole number below 2^31"));
    }
}

/* Columns of some results only; other results, and rows that do not want them, have no extra. */
static void test_extra_columns(void **state)
{
    struct scratch *t = *state;
    static const char text[] =
        "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Due,Eligible,Start,Latency_us,"
        "Device_us,Slot_us,Status,First_byte_us,Rank,Endpoint,Thread,Queue_us,Drive_us\n"
        "1,Read,5,Tier-2,k,Decode,,0,0,12.5,1,0.25,S3:SlowDown,3.125,7,\"http://a,b/\",t-1,0.5,10\n"
        "2,Read,5,Tier-2,k,Decode,,0,0,12.5,1,,lost,,,,,,\n";
    struct trace_read_opts o = {.want_line = true};
    struct single s = read_single(t->path[0], text, &o);
    const struct trace_row *r = s.row;
    assert_int_equal(s.n, 2);
    assert_int_equal(trace_columns(s.r), TRACE_CORE | TRACE_RESULT | TRACE_EXTRA);
    assert_string_equal(trace_status_text(r->status), "S3:SlowDown");
    assert_int_equal(r->extra->slot_ns, 250);
    assert_int_equal(r->extra->first_byte_ns, 3125);
    assert_true(r->extra->queue_ns == 500 && r->extra->drive_ns == 10000);
    assert_int_equal(r->extra->rank, 7);
    assert_str(r->extra->endpoint, "http://a,b/");
    assert_str(r->extra->thread, "t-1");
    assert_str(r->line, "1,Read,5,Tier-2,k,Decode");
    assert_int_equal(r[1].status, TRACE_LOST);
    assert_true(r[1].extra->slot_ns == TRACE_NONE && r[1].extra->first_byte_ns == TRACE_NONE);
    assert_true(r[1].extra->queue_ns == TRACE_NONE && r[1].extra->drive_ns == TRACE_NONE);
    assert_true(r[1].extra->rank == TRACE_NONE);
    assert_int_equal(r[1].extra->endpoint.len + r[1].extra->thread.len, 0);
    assert_str(trace_header(s.r), "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase");
    single_close(&s);
    o.want = TRACE_CORE | TRACE_BIT(TRACE_COL_STATUS);
    s = read_single(t->path[0], text, &o);
    assert_null(s.row->extra);
    single_close(&s);
    /* A trace that is no result keeps columns of these names. */
    s = read_single(t->path[0],
                    "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Thread\n"
                    "1,Read,5,Tier-2,k,Decode,x\n",
                    &(struct trace_read_opts){.want_line = true});
    assert_str(s.row->line, "1,Read,5,Tier-2,k,Decode,x");
    assert_str(s.row->extra->thread, "x");
    single_close(&s);
}

/* Notes are skipped wherever they stand, with any number of cursors, and have no part in counts and
 * digest; line numbers go on. */
static void test_notes(void **state)
{
    struct scratch *t = *state;
    size_t len, n = 0, at = 0;
    char *text = make_rows(20000, true, &len), *noted = malloc(len * 2 + 4096);
    static const char *const notes[] = {",Note,0,,{},\n", "0.5,Note,0,,\"{\"\"a,b\"\":\n1}\",\n"};
    const struct trace_read_opts digest = {.want_digest = true};
    for (size_t line = 0; at < len; line++) {
        size_t row = (size_t)(strchr(text + at, '\n') - (text + at)) + 1;
        memcpy(noted + n, text + at, row);
        n += row;
        at += row;
        bool whole = line > 0 && (line < 3 || line % 1500 == 0) && text[at - 2] == 'e';
        if (whole || at == len)
            n += (size_t)sprintf(noted + n, "%s", notes[line % 2]);
    }
    put_file(t->path[0], text, len);
    put_file(t->path[2], noted, n);
    struct outcome plain = read_trace(t->path[0], NULL, 1);
    for (unsigned cursors = 1; cursors <= 3; cursors++) {
        struct outcome o = read_trace(t->path[2], NULL, cursors);
        assert_int_equal(o.rc, 0);
        assert_int_equal(o.rows, 20000);
        assert_true(o.sum == plain.sum);
    }
    char want[33];
    struct err e = {0};
    for (int i = 0; i <= 2; i += 2) {
        struct trace_reader *r;
        assert_int_equal(trace_open(&r, t->path[i], &digest, &e), 0);
        assert_int_equal(read_cursors(r, 1).rows, 20000);
        if (i == 0)
            memcpy(want, trace_digest(r), sizeof(want));
        else
            assert_string_equal(trace_digest(r), want);
        trace_close(r);
    }
    free(text);
    free(noted);
}

static void check_note(struct scratch *t, size_t json_len, const char *what)
{
    char *text = malloc(json_len * 2 + 512);
    size_t n = (size_t)sprintf(text, HEADER "1,Read,5,Tier-2,first,Decode\n,Note,0,,\"");
    for (size_t i = 0; i < json_len; i++, n += 2)
        memcpy(text + n, "\"\"", 2); /* every byte of it doubled */
    n += (size_t)sprintf(text + n, "\",\n3,Read,5,Tier-2,last\n");
    put_file(t->path[0], text, n);
    struct outcome o = read_trace(t->path[0], NULL, 1);
    char where[128];
    snprintf(where, sizeof(where), "%s:%d", t->path[0], what ? 3 : 4);
    assert_true(o.rc == -EINVAL || o.rc == -E2BIG);
    assert_string_equal(o.e.where, where);
    assert_non_null(strstr(o.e.what, what ? what : "5 fields"));
    assert_int_equal(o.rows, 1);
    free(text);
}

static void test_long_notes(void **state)
{
    check_note(*state, 0, "Note row without Key");
    check_note(*state, 100, NULL);
    check_note(*state, (size_t)1 << 20, NULL);
    check_note(*state, ((size_t)1 << 20) + 1, "longer than 1 MiB");
    check_note(*state, ((size_t)1 << 20) + 999, "longer than 1 MiB");
}

/* Each row: what it is, and words of the message. All are the third line of their file. */
static const char *const bad_rows[][2] = {
    {"1,Read,5,Tier-2,k", "5 fields where the header has 6"},
    {"1,Read,5,Tier-2,k,Decode,x", "7 fields where the header has 6"},
    {"x,Read,5,Tier-2,k,Decode", "Timestamp 'x'"},
    {",Read,5,Tier-2,k,Decode", "Timestamp ''"},
    {"1.0000000001,Read,5,Tier-2,k,Decode", "Timestamp"},
    {"1.00000000:,Read,5,Tier-2,k,Decode", "Timestamp"},
    {"1.00000000/,Read,5,Tier-2,k,Decode", "Timestamp"},
    {"9999999999999,Read,5,Tier-2,k,Decode", "Timestamp"},
    {"9223372037,Read,5,Tier-2,k,Decode", "Timestamp"},
    {"1e3,Read,5,Tier-2,k,Decode", "Timestamp"},
    {"1:5,Read,5,Tier-2,k,Decode", "Timestamp"},
    {"1,read,5,Tier-2,k,Decode", "Operation 'read'"},
    {"1,Readings,5,Tier-2,k,Decode", "Operation"},
    {"1,,5,Tier-2,k,Decode", "Operation ''"},
    {"1,Read,-5,Tier-2,k,Decode", "Object_Size_Bytes '-5'"},
    {"1,Read,5.0,Tier-2,k,Decode", "Object_Size_Bytes"},
    {"1,Read,,Tier-2,k,Decode", "Object_Size_Bytes ''"},
    {"1,Read,18446744073709551616,Tier-2,k,Decode", "Object_Size_Bytes"},
    {"1,Read,123456789x,Tier-2,k,Decode", "Object_Size_Bytes"},
    {"1,Read,5,Tier-3,k,Decode", "Tier 'Tier-3'"},
    {"1,Read,5,Tier-2,k,Decoding", "Phase 'Decoding'"},
    {"1,Read,5,,k,Decode", "Read row without Tier"},
    {"1,Write,5,Tier-1,,Decode", "Write row without Key"},
    {"1,Miss,0,,,", "Miss row without Key"},
    {"1,Read,5,Tier-2,a\"b,Decode", "unexpected quote"},
    {"1,Read,5,Tier-2,\"a\"b,Decode", "unexpected quote"},
    {"1,Read,5,Tier-2,\"ab,Decode", "not closed"},
};

static void check_bad_row(struct scratch *t, const char *row, const char *what, const char *end)
{
    char text[512], where[128];
    int n = snprintf(text, sizeof(text),
                     HEADER "0,Write,5,Tier-2,\"k\"\"\",Prefill%s%s%s"
                            "2,Write,5,Tier-2,last,Prefill%s",
                     end, row, end, end);
    put_file(t->path[0], text, (size_t)n);
    struct outcome o = read_trace(t->path[0], NULL, 1);
    snprintf(where, sizeof(where), "%s:3", t->path[0]);
    if (o.rc != -EINVAL || !strstr(o.e.what, what))
        print_error("%s: gave %d '%s: %s'\n", row, o.rc, o.e.where, o.e.what);
    assert_int_equal(o.rc, -EINVAL);
    assert_non_null(strstr(o.e.what, what));
    assert_string_equal(o.e.where, where);
    assert_int_equal(o.e.class, ERR_INPUT);
    assert_int_equal(o.rows, 1);
    o = read_trace(t->path[0], &(struct trace_read_opts){.skip_bad_rows = true}, 1);
    assert_int_equal(o.rc, 0);
    assert_int_equal(o.bad, 1);
    assert_int_equal(o.rows, 2);
    assert_non_null(strstr(o.first_bad, where));
}

static void test_bad_rows(void **state)
{
    for (size_t i = 0; i < sizeof(bad_rows) / sizeof(*bad_rows); i++) {
        check_bad_row(*state, bad_rows[i][0], bad_rows[i][1], "\n");
        check_bad_row(*state, bad_rows[i][0], bad_rows[i][1], "\r\n");
    }
}

/* A negative latency counted as 0 in every percentile. */
static void test_lengths_of_time_are_not_negative(void **state)
{
    struct scratch *t = *state;
    static const char *const bad[][2] = {
        {"-1,,,,1,1,ok", "Duration_us '-1' is not a duration"},
        {"1,,,,-0.001,1,ok", "Latency_us '-0.001' is not a duration"},
        {"1,-1,-1,-1,1,-2,ok", "Device_us '-2' is not a duration"}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char text[512];
        snprintf(
            text, sizeof(text),
            "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Duration_us,Due,Eligible,Start,"
            "Latency_us,Device_us,Status\n1,Read,5,Tier-2,k,Decode,%s\n",
            bad[i][0]);
        put_file(t->path[0], text, strlen(text));
        struct outcome o = read_trace(t->path[0], NULL, 1);
        assert_int_equal(o.rc, -EINVAL);
        assert_non_null(strstr(o.e.what, bad[i][1]));
    }
}

static void test_extreme_values_are_taken(void **state)
{
    struct scratch *t = *state;
    struct single s =
        read_single(t->path[0],
                    HEADER "9223372036.854775807,Read,18446744073709551615,Tier-2,k,\n"
                           "00000000000000001.5,Read,0000000000000000000005,Tier-2,k,\n"
                           "12345678.123456789,Read,12345678,Tier-2,k,\n"
                           "123456789.1,Read,1234567890123456,Tier-2,k,\n",
                    NULL);
    assert_int_equal(s.n, 4);
    assert_true(s.row[0].time_ns == INT64_MAX);
    assert_true(s.row[0].size == UINT64_MAX);
    assert_int_equal(s.row[1].time_ns, 1500000000);
    assert_int_equal(s.row[1].size, 5);
    assert_int_equal(s.row[2].time_ns, 12345678123456789);
    assert_int_equal(s.row[2].size, 12345678);
    assert_int_equal(s.row[3].time_ns, 123456789100000000);
    assert_int_equal(s.row[3].size, 1234567890123456);
    single_close(&s);
}

static void check_open_fails(struct scratch *t, const char *text, int code, const char *what)
{
    struct err e = {0};
    struct trace_reader *r;
    put_file(t->path[0], text, strlen(text));
    int rc = trace_open(&r, t->path[0], NULL, &e);
    if (rc != code || !strstr(e.what, what))
        print_error("gave %d '%s'\n", rc, e.what);
    assert_int_equal(rc, code);
    assert_non_null(strstr(e.what, what));
    assert_string_equal(e.where, t->path[0]);
    assert_int_equal(e.class, ERR_INPUT);
}

static void test_bad_headers(void **state)
{
    struct scratch *t = *state;
    struct err e = {0};
    struct trace_reader *r;
    assert_int_equal(trace_open(&r, t->path[2], NULL, &e), -ENOENT);
    assert_int_equal(trace_open(&r, t->dir, NULL, &e), -EISDIR);
    check_open_fails(t, "", -EINVAL, "empty: no header");
    check_open_fails(t, "\n\r\n", -EINVAL, "empty: no header");
    check_open_fails(t, "a,b,c\n1,2,3\n", -EINVAL, "no column Timestamp");
    check_open_fails(t, "Timestamp,Operation,Object_Size_Bytes,Tier,Phase\n", -EINVAL,
                     "no column Key");
    check_open_fails(t, "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Key\n", -EINVAL,
                     "column Key appears twice");
    check_open_fails(t, "\"Timestamp,Operation", -EINVAL, "header");
}

/* Only who keeps the text of rows, to put new result columns behind it, wants the old ones last. */
static void test_result_columns_anywhere(void **state)
{
    static const char text[] = "Due,Timestamp,Status,Operation,Object_Size_Bytes,Tier,Key,Phase\n"
                               "0.5,1.0,absent,Read,4096,Tier-2,k,Decode\n";
    struct scratch *t = *state;
    struct err e = {0};
    const struct trace_row *row;
    struct trace_reader *r;
    struct trace_cursor *c;
    size_t n = 0;
    put_file(t->path[0], text, strlen(text));
    struct trace_read_opts o = {.want_line = true};
    assert_int_equal(trace_open(&r, t->path[0], &o, &e), -EINVAL);
    assert_non_null(
        strstr(e.what, "result column Due must stand with the other result columns at the end"));
    assert_int_equal(trace_open(&r, t->path[0], NULL, &e), 0);
    assert_int_equal(trace_cursor_open(&c, r, &e), 0);
    assert_int_equal(trace_cursor_next(c, &row, &n, &e), 1);
    assert_int_equal(n, 1);
    assert_int_equal(row->due_ns, 500000000);
    assert_int_equal(row->status, TRACE_ABSENT);
    assert_int_equal(row->size, 4096);
    trace_cursor_close(c);
    trace_close(r);
}

static void test_cursors_agree(void **state)
{
    struct scratch *t = *state;
    for (int quotes = 0; quotes < 2; quotes++) {
        size_t len, count = 40000;
        char *text = make_rows(count, quotes, &len);
        put_file(t->path[0], text, len);
        struct trace_read_opts o = {.want_line = true};
        struct outcome one = read_trace(t->path[0], &o, 1);
        struct outcome three = read_trace(t->path[0], &o, 3);
        assert_int_equal(one.rc, 0);
        assert_int_equal(three.rc, 0);
        assert_int_equal(one.rows, count);
        assert_int_equal(three.rows, count);
        assert_true(one.sum == three.sum);
        free(text);
    }
}

static void test_threads(void **state)
{
    struct scratch *t = *state;
    size_t len;
    char *text = make_rows(40000, true, &len), where[128];
    uint64_t rows, sum;
    put_file(t->path[0], text, len);
    uint64_t want = read_trace(t->path[0], NULL, 1).sum;
    assert_int_equal(read_threads(t->path[0], &rows, &sum).code, 0);
    assert_int_equal(rows, 40000);
    assert_true(sum == want);
    char *bad = strstr(text, "\n20003.25,Read") + 1;
    size_t line = 1;
    for (char *p = text; p < bad; p++)
        line += *p == '\n';
    *bad = 'x';
    put_file(t->path[0], text, len);
    snprintf(where, sizeof(where), "%s:%zu", t->path[0], line);
    struct err e = read_threads(t->path[0], &rows, &sum);
    assert_int_equal(e.code, -EINVAL);
    assert_string_equal(e.where, where);
    free(text);
}

static void test_line_numbers_with_cursors(void **state)
{
    struct scratch *t = *state;
    size_t len;
    char *text = make_rows(40000, true, &len), where[128];
    char *bad = strstr(text, "\n33333.25,Read") + 1;
    size_t line = 1;
    for (char *p = text; p < bad; p++)
        line += *p == '\n';
    bad[0] = 'x';
    put_file(t->path[0], text, len);
    snprintf(where, sizeof(where), "%s:%zu", t->path[0], line);
    for (unsigned cursors = 1; cursors <= 4; cursors++) {
        struct outcome o = read_trace(t->path[0], NULL, cursors);
        assert_int_equal(o.rc, -EINVAL);
        assert_string_equal(o.e.where, where);
        assert_true(o.rows >= 33333);
        o = read_trace(t->path[0], &(struct trace_read_opts){.skip_bad_rows = true}, cursors);
        assert_int_equal(o.rc, 0);
        assert_int_equal(o.rows, 39999);
        assert_non_null(strstr(o.first_bad, where));
    }
    free(text);
}

static void test_instruction_sets_agree(void **state)
{
    struct scratch *t = *state;
    size_t len;
    char *text = make_rows(5000, true, &len);
    put_file(t->path[0], text, len);
    enum csv_isa before = csv_isa();
    uint64_t sum = read_trace(t->path[0], NULL, 1).sum;
    for (int i = 0; i < 3; i++) {
        if (csv_force_isa((enum csv_isa)i))
            continue;
        struct outcome o = read_trace(t->path[0], NULL, 2);
        assert_int_equal(o.rows, 5000);
        assert_true(o.sum == sum);
    }
    csv_force_isa(before);
    free(text);
}

/* A row over the limits is one bad row; what stands around it is read. */
static void check_long_row(struct scratch *t, size_t key_len, bool quoted, const char *what)
{
    size_t n = 0;
    char *text = malloc(key_len + 512);
    n += (size_t)sprintf(text, HEADER "1,Read,5,Tier-2,first,Decode\n2,Read,5,Tier-2,%s",
                         quoted ? "\"," : "");
    memset(text + n, 'k', key_len);
    n += key_len;
    n += (size_t)sprintf(text + n, "%s,Decode\n3,Read,5,Tier-2,last,Decode\n", quoted ? "\"" : "");
    put_file(t->path[0], text, n);
    struct outcome o = read_trace(t->path[0], NULL, 1);
    assert_true(o.rc == -EINVAL || o.rc == -E2BIG);
    assert_non_null(strstr(o.e.where, ":3"));
    assert_non_null(strstr(o.e.what, what));
    assert_int_equal(o.rows, 1);
    o = read_trace(t->path[0], &(struct trace_read_opts){.skip_bad_rows = true}, 1);
    assert_int_equal(o.rc, 0);
    assert_int_equal(o.rows, 2);
    assert_int_equal(o.bad, 1);
    free(text);
}

static void test_long_rows(void **state)
{
    check_long_row(*state, 65537, false, "longer than 64 KiB");
    check_long_row(*state, 65537, true, "longer than 64 KiB");
    check_long_row(*state, (size_t)1 << 20, false, "longer than 1 MiB");
    check_long_row(*state, (size_t)5 << 20, false, "longer than 1 MiB");
}

static void test_longest_key_is_read(void **state)
{
    struct scratch *t = *state;
    char *text = malloc(70000);
    int n = sprintf(text, HEADER "1,Read,5,Tier-2,");
    memset(text + n, 'k', TRACE_MAX_KEY);
    sprintf(text + n + TRACE_MAX_KEY, ",Decode\n");
    struct single s = read_single(t->path[0], text, NULL);
    assert_int_equal(s.row->key.len, TRACE_MAX_KEY);
    single_close(&s);
    free(text);
}

struct pipe_feed {
    const char *path;
    const char *text;
    size_t len;
};

static void *feed(void *arg)
{
    struct pipe_feed *p = arg;
    FILE *f = fopen(p->path, "wb");
    for (size_t i = 0; i < p->len; i += 1000) {
        fwrite(p->text + i, 1, p->len - i < 1000 ? p->len - i : 1000, f);
        fflush(f);
    }
    fclose(f);
    return NULL;
}

static void test_from_a_pipe(void **state)
{
    struct scratch *t = *state;
    size_t len;
    char *text = make_rows(5000, true, &len);
    put_file(t->path[0], text, len);
    struct outcome file = read_trace(t->path[0], NULL, 1);
    pthread_t id;
    struct pipe_feed p = {t->path[2], text, len};
    assert_int_equal(mkfifo(t->path[2], 0600), 0);
    pthread_create(&id, NULL, feed, &p);
    struct outcome piped = read_trace(t->path[2], NULL, 1);
    pthread_join(id, NULL);
    assert_int_equal(piped.rc, 0);
    assert_int_equal(piped.rows, 5000);
    assert_true(piped.sum == file.sum);
    free(text);
}

static void test_progress(void **state)
{
    struct scratch *t = *state;
    struct err e = {0};
    struct trace_reader *r;
    struct trace_cursor *c;
    const struct trace_row *rows;
    size_t len, n;
    uint64_t seen = 0;
    char *text = make_rows(20000, true, &len);
    put_file(t->path[0], text, len);
    assert_int_equal(trace_open(&r, t->path[0], NULL, &e), 0);
    assert_int_equal(trace_cursor_open(&c, r, &e), 0);
    while (trace_cursor_next(c, &rows, &n, &e) == 1)
        seen += n;
    assert_int_equal(seen, 20000);
    uint64_t consumed, total;
    trace_progress(r, &consumed, &total);
    assert_int_equal(consumed, len);
    assert_int_equal(total, len);
    trace_cursor_close(c);
    trace_close(r);
    free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_core_row),
        TEST(test_blank_lines),
        TEST(test_blank_lines_before_the_header),
        TEST(test_foreign_writer),
        TEST(test_extended_and_result_columns),
        TEST(test_bad_rows),
        TEST(test_lengths_of_time_are_not_negative),
        TEST(test_extreme_values_are_taken),
        TEST(test_bad_headers),
        TEST(test_result_columns_anywhere),
        TEST(test_cursors_agree),
        TEST(test_threads),
        TEST(test_line_numbers_with_cursors),
        TEST(test_instruction_sets_agree),
        TEST(test_long_rows),
        TEST(test_longest_key_is_read),
        TEST(test_from_a_pipe),
        TEST(test_progress),
        TEST(test_engine),
        TEST(test_extra_columns),
        TEST(test_notes),
        TEST(test_long_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
