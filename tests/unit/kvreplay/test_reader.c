/* The reader's window: it is lent to the reader piece by piece, and all of it can be had. A bug
 * would look like this: rows in hand that hold most of the window, a reader that waits for more
 * free rows than there are, and a replay that hangs; or rows out of the order of the trace. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kvreplay/sched/reader.h"

enum {
    ROWS = 20000,
    WINDOW = 8192
};

static struct trace_reader *trace_of(char *path, int rows)
{
    struct trace_reader *trace;
    struct trace_read_opts o = {.want = TRACE_CORE, .want_line = true};
    struct err e = {0};
    FILE *f = fdopen(mkstemp(path), "w");

    fputs("Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n", f);
    for (int i = 0; i < rows; i++)
        fprintf(f, "%d,Write,%d,Tier-1,k%d,Prefill\n", i, i + 1, i);
    fclose(f);
    assert_int_equal(trace_open(&trace, path, &o, &e), 0);
    return trace;
}

/* A reader over a trace of ROWS rows. */
struct replayed {
    char path[32];
    struct trace_reader *trace;
    struct bell *bell;
    struct reader *r;
};

static void replayed_open(struct replayed *p, bool want_line)
{
    struct err e = {0};

    strcpy(p->path, "/tmp/kvreplay-unit-XXXXXX");
    p->trace = trace_of(p->path, ROWS);
    p->bell = bell_create();
    struct reader_opts o = {.rows = WINDOW,
                            .select.only_tier = SELECTION_ALL_TIERS,
                            .want_line = want_line,
                            .tell_starved = true,
                            .bell = p->bell};
    assert_int_equal(reader_open(&p->r, p->trace, &o, &e), 0);
}

static void replayed_close(struct replayed *p)
{
    uint64_t skipped;

    assert_true(reader_close(p->r, &skipped));
    bell_free(p->bell);
    trace_close(p->trace);
    unlink(p->path);
}

/* Takes until want rows are there or no more can come. */
static size_t take(struct reader *r, struct bell *bell, struct row **rows, size_t want)
{
    size_t n = 0;

    while (n < want) {
        uint32_t seen = bell_seen(bell);
        size_t got = reader_take(r, rows + n);
        n += got;
        if (got == 0 && (reader_starved(r) || reader_ended(r, NULL) != 0))
            break;
        if (got == 0)
            bell_wait(bell, seen, INT64_MAX);
    }
    return n;
}

static void whole_window_in_order(void **state)
{
    (void)state;
    static struct row *row[WINDOW + READER_BATCH];
    struct replayed p;
    struct err e = {0};
    uint64_t next = 0;

    replayed_open(&p, true);
    while (next < ROWS) {
        size_t n = take(p.r, p.bell, row, WINDOW);
        assert_true(n > WINDOW - READER_BATCH || next + n == ROWS); /* but part of a batch */
        for (size_t i = 0; i < n; i++, next++) {
            assert_int_equal(row[i]->number, next);
            assert_int_equal(row[i]->t.size, next + 1);
        }
        for (size_t i = n; i-- > 0;) /* in another order than they came */
            reader_give(p.r, row[i]);
    }
    assert_int_equal(take(p.r, p.bell, row, 1), 0);
    assert_int_equal(reader_ended(p.r, &e), 1);
    replayed_close(&p);
}

/* Rows that wait hold all of the window but two batches: the rest goes round and round. */
static void two_batches_are_enough(void **state)
{
    (void)state;
    static struct row *row[WINDOW + READER_BATCH];
    struct replayed p;

    replayed_open(&p, false);
    size_t n = take(p.r, p.bell, row, WINDOW), done = n;
    struct row **last = row + n - 2 * READER_BATCH;
    n = 2 * READER_BATCH;
    while (done < ROWS) {
        for (size_t i = 0; i < n; i++)
            reader_give(p.r, last[i]);
        n = take(p.r, p.bell, last, READER_BATCH);
        assert_true(n > 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(last[i]->number, done++);
    }
    replayed_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_window_in_order),
                                       cmocka_unit_test(two_batches_are_enough)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
