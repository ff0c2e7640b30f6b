/* The Notes around plain output: provenance first, summary last, whatever columns came in; found
 * again by name, from any number of cursors and after a rewind; digests and counts leave them out.
 * A bug looked like a pipe whose result did not say that its GPU was simulated, or a cut file whose
 * first Note was taken for its summary. */
/* builds: plain address arm64 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/trace/read.h"
#include "lib/trace/write.h"
#include "tests/unit/trace_checks.h"

enum {
    ROWS = 50000
};

/* A JSON text of about len bytes, full of what CSV must quote. */
static char *json_of(const char *name, size_t len)
{
    char *text = malloc(len + 64);
    size_t n = (size_t)sprintf(text, "{\"name\":\"%s\",\"a\":[", name);

    while (n < len)
        n += (size_t)sprintf(text + n, "\"x\",");
    strcpy(text + n, "1]}");
    return text;
}

static void write_rows(const char *path, const struct trace_write_opts *o, const char *summary,
                       struct trace_totals *totals)
{
    struct trace_writer *w;
    struct err e = {0};

    assert_int_equal(trace_create(&w, path, o, &e), 0);
    for (int i = 0; i < ROWS; i++) {
        struct trace_row row;

        trace_row_clear(&row);
        row.op = TRACE_WRITE;
        row.tier = TRACE_STORAGE;
        row.key = (struct trace_str){"k", 1};
        row.line = (struct trace_str){"k,Write,5,\"a,b\",Tier-2,,0.5", 27};
        row.status = TRACE_OK;
        assert_int_equal(trace_write(w, &row, &e), 0);
    }
    assert_int_equal(trace_finish(w, summary, totals, &e), 0);
}

/* Reads all rows with that many cursors, turn by turn. The end is as told: 0, or -EBADMSG. */
static uint64_t read_until(struct trace_reader *r, unsigned cursors, int end)
{
    struct trace_cursor *c[4];
    const struct trace_row *rows;
    struct err e = {0};
    uint64_t seen = 0;
    size_t n;
    bool any = true;

    for (unsigned i = 0; i < cursors; i++)
        assert_int_equal(trace_cursor_open(&c[i], r, &e), 0);
    while (any) {
        any = false;
        for (unsigned i = 0; i < cursors; i++)
            if (trace_cursor_next(c[i], &rows, &n, &e) == 1) {
                any = true;
                seen += n;
            }
    }
    assert_int_equal(e.code, end);
    for (unsigned i = 0; i < cursors; i++)
        trace_cursor_close(c[i]);
    return seen;
}
static uint64_t read_rows(struct trace_reader *r, unsigned cursors)
{
    return read_until(r, cursors, 0);
}

static void notes_come_back(void **state)
{
    struct scratch *t = *state;
    static const char header[] = "Key,Operation,Object_Size_Bytes,\"my, own\",Tier,Phase,Timestamp";
    char *provenance = json_of("first", 700000), *summary = json_of("last", 900000);
    struct trace_totals with, without;
    struct err e = {0};

    for (int lines = 0; lines < 2; lines++) {
        struct trace_write_opts o = {.columns = TRACE_RESULT | (lines ? 0 : TRACE_EXTENDED),
                                     .header = lines ? header : NULL,
                                     .header_len = lines ? strlen(header) : 0,
                                     .threads = 2,
                                     .provenance = provenance};
        struct trace_reader *r;

        write_rows(t->path[0], &o, summary, &without);
        assert_int_equal(trace_open(&r, t->path[0], NULL, &e), 0);
        assert_null(trace_provenance(r));
        trace_close(r);

        o.notes = "test";
        write_rows(t->path[0], &o, summary, &with);
        assert_string_equal(with.digest, without.digest);
        assert_int_equal(with.rows, ROWS);
        assert_int_equal(trace_open(&r, t->path[0], NULL, &e), 0);
        for (unsigned cursors = 1; cursors <= 4; cursors += 3) {
            assert_string_equal(trace_provenance(r), provenance);
            assert_null(trace_summary(r));
            assert_int_equal(read_rows(r, cursors), ROWS);
            assert_string_equal(trace_provenance(r), provenance);
            assert_string_equal(trace_summary(r), summary);
            assert_true(trace_notes(r).first && trace_notes(r).last);
            assert_int_equal(trace_notes(r).count, 2);
            assert_int_equal(trace_rewind(r, &e), 0);
        }
        trace_close(r);
    }
    free(provenance);
    free(summary);
}

/* Without a summary, and with one that is too long for a Note, the end says rows and digest. */
static void the_end_without_a_summary(void **state)
{
    struct scratch *t = *state;
    struct trace_write_opts o = {.columns = TRACE_RESULT, .notes = "test"};
    char *summary = json_of("too long", TRACE_MAX_NOTE), want[160];
    struct trace_totals totals;
    struct err e = {0};

    for (int i = 0; i < 2; i++) {
        struct trace_reader *r;

        write_rows(t->path[0], &o, i ? summary : NULL, &totals);
        assert_int_equal(trace_open(&r, t->path[0], NULL, &e), 0);
        assert_string_equal(trace_provenance(r), "{}");
        read_rows(r, 1);
        snprintf(want, sizeof(want), "{\"program\":\"test\",\"rows\":%d,\"digest\":\"%s\"}", ROWS,
                 totals.digest);
        assert_string_equal(trace_summary(r), want);
        trace_close(r);
    }
    free(summary);
}

/* A file that is cut before its last Note has no summary; two files one after the other have more
 * Notes than one. Compressed output has frames, and no Notes. */
static void cut_and_appended(void **state)
{
    struct scratch *t = *state;
    struct trace_write_opts o = {
        .columns = TRACE_RESULT, .notes = "test", .provenance = "{\"p\":1}"};
    char command[600];
    struct trace_reader *r;
    struct err e = {0};

    write_rows(t->path[0], &o, "{\"s\":2}", NULL);
    snprintf(command, sizeof(command), "sed '$d' '%s' > '%s'", t->path[0], t->path[1]);
    assert_int_equal(system(command), 0);
    assert_int_equal(trace_open(&r, t->path[1], NULL, &e), 0);
    assert_int_equal(read_until(r, 1, -EBADMSG), ROWS);
    assert_int_equal(trace_end(r), TRACE_END_UNFINISHED);
    assert_string_equal(trace_provenance(r), "{\"p\":1}");
    assert_null(trace_summary(r));
    assert_true(trace_notes(r).first && !trace_notes(r).last);
    trace_close(r);

    snprintf(command, sizeof(command), "sed 1d '%s' | cat '%s' - > '%s'", t->path[0], t->path[0],
             t->path[1]);
    assert_int_equal(system(command), 0);
    assert_int_equal(trace_open(&r, t->path[1], NULL, &e), 0);
    assert_int_equal(read_rows(r, 1), 2 * ROWS);
    assert_int_equal(trace_notes(r).count, 4);
    trace_close(r);

    o.zstd = 1;
    write_rows(t->path[1], &o, "{\"s\":2}", NULL);
    assert_int_equal(trace_open(&r, t->path[1], NULL, &e), 0);
    assert_int_equal(read_rows(r, 1), ROWS);
    assert_int_equal(trace_notes(r).count, 0);
    assert_string_equal(trace_provenance(r), "{\"p\":1}");
    assert_string_equal(trace_summary(r), "{\"s\":2}");
    trace_close(r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(notes_come_back),
        TEST(the_end_without_a_summary),
        TEST(cut_and_appended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
