/* Expected: rows and fields are those of RFC 4180, the same with every instruction set and the same
 * that libcsv gives; a bad row costs no other row. A bug looks like a field cut in the wrong place
 * near the edge of a 64-byte block, a line number off by one, or a stray quote that swallows rows.
 */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <csv.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trace/csv.h"
#include "lib/trace/csv_scan.h"

/* Rows as one string: fields in brackets, rows ended by ';'. */
struct shown {
    char *p;
    size_t len;
    bool open; /* a row has begun */
};

static void show_field(void *field, size_t len, void *ctx)
{
    struct shown *s = ctx;
    s->p[s->len++] = '[';
    if (len)
        memcpy(s->p + s->len, field, len);
    s->len += len;
    s->p[s->len++] = ']';
    s->open = true;
}

static void show_row(int c, void *ctx)
{
    struct shown *s = ctx;
    (void)c;
    s->p[s->len++] = ';';
    s->open = false;
}

static int no_space(unsigned char c)
{
    (void)c;
    return 0;
}

static int is_newline(unsigned char c)
{
    return c == '\n';
}

/* The oracle: libcsv over the whole text. False: it is no sound CSV. */
static bool show_libcsv(const char *text, size_t len, struct shown *s)
{
    struct csv_parser p;
    s->len = 0;
    csv_init(&p, CSV_STRICT | CSV_STRICT_FINI);
    csv_set_space_func(&p, no_space);
    csv_set_term_func(&p, is_newline);
    bool ok = csv_parse(&p, text, len, show_field, show_row, s) == len &&
              csv_fini(&p, show_field, show_row, s) == 0;
    csv_free(&p);
    return ok;
}

/* Ours; false as soon as a row is bad. */
static bool show_ours(struct csv *c, const char *text, size_t len, struct shown *s)
{
    struct csv_row row;
    struct err e = {0};
    int rc;
    s->len = 0;
    csv_set(c, text, len);
    while ((rc = csv_next(c, &row, &e)) == 1) {
        for (size_t i = 0; i < row.count; i++)
            show_field((void *)(uintptr_t)row.field[i].p, row.field[i].len, s);
        show_row(0, s);
    }
    return rc == 0;
}

static uint64_t random_next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

/* Random text of few characters, so that separators and quotes meet in every way; quotes are rare,
 * plain runs long, in some rounds. */
static size_t random_text(uint64_t *seed, char *text, size_t cap)
{
    static const char *const alphabets[] = {"a,\n", "ab,\n\"", "abcdefgh,\n", "aaaaaaaaaa\"\",,\n",
                                            "\"\"\",\n\n"};
    const char *set = alphabets[random_next(seed) % 5];
    size_t len = random_next(seed) % cap, n = strlen(set);
    for (size_t i = 0; i < len; i++)
        text[i] = set[random_next(seed) % n];
    return len;
}

/* Random fields, written as they must be. */
static size_t random_rows(uint64_t *seed, char *text, size_t cap)
{
    char field[40];
    size_t len = 0, columns = 1 + random_next(seed) % 9;
    bool quotes = random_next(seed) % 2;
    while (len + columns * 100 < cap) {
        for (size_t c = 0; c < columns; c++) {
            size_t n = 1 + random_next(seed) % sizeof(field);
            for (size_t i = 0; i < n; i++)
                field[i] = quotes && random_next(seed) % 60 == 0 ? ",\"\n\r"[*seed % 4] : 'x';
            len += csv_put_field(text + len, field, n);
            text[len++] = c + 1 < columns ? ',' : '\n';
        }
    }
    return len;
}

static void compare(struct csv *c, const char *text, size_t len, struct shown *a, struct shown *b)
{
    bool sound = show_libcsv(text, len, a);
    bool ours = show_ours(c, text, len, b);
    if (sound != ours || (sound && (a->len != b->len || memcmp(a->p, b->p, a->len))))
        print_error("%s: %s, libcsv %s: %.*s\n", csv_isa_name(csv_isa()), ours ? "read" : "bad",
                    sound ? "read" : "bad", (int)len, text);
    assert_int_equal(sound, ours);
    if (!sound)
        return;
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->p, b->p, a->len);
}

static void test_same_as_libcsv(void **state)
{
    enum csv_isa before = csv_isa();
    enum {
        CAP = 4096
    };
    char *text = malloc(CAP);
    struct shown a = {.p = malloc(CAP * 3)}, b = {.p = malloc(CAP * 3)};
    (void)state;
    for (int i = 0; i < 3; i++) {
        uint64_t seed = 99;
        if (csv_force_isa((enum csv_isa)i))
            continue;
        struct csv *c = csv_create();
        for (int round = 0; round < 3000; round++) {
            size_t len = random_text(&seed, text, 50 + (size_t)round % 400);
            compare(c, text, len, &a, &b);
        }
        for (int round = 0; round < 300; round++) {
            size_t len = random_rows(&seed, text, CAP);
            compare(c, text, len, &a, &b);
        }
        csv_close(c);
    }
    csv_force_isa(before);
    free(a.p);
    free(b.p);
    free(text);
}

/* A separator at every offset of a block, and an index that fills up in the middle of rows. */
static void test_scanners_agree(void **state)
{
    enum csv_isa before = csv_isa();
    struct csv_index *want = malloc(sizeof(*want)), *got = malloc(sizeof(*got));
    size_t len = 200000;
    char *text = malloc(len);
    uint64_t seed = 7;
    (void)state;
    for (int round = 0; round < 40; round++) {
        size_t n = round < 30 ? random_next(&seed) % 300 : len, gap = 1 + (size_t)round % 13;
        for (size_t i = 0; i < n; i++)
            text[i] = random_next(&seed) % gap ? 'x' : ",\n"[seed & 1];
        if (n && round % 3 == 0)
            text[random_next(&seed) % n] = '"';
        assert_int_equal(csv_force_isa(CSV_ISA_PORTABLE), 0);
        size_t done = csv_scan_pick()(want, text, n), lines = csv_scan_count_lines(text, n);
        for (int i = 1; i < 3; i++) {
            if (csv_force_isa((enum csv_isa)i))
                continue;
            assert_int_equal(csv_scan_pick()(got, text, n), done);
            assert_int_equal(got->quote, want->quote);
            assert_int_equal(got->count, want->count);
            assert_memory_equal(got->pos, want->pos, want->count * sizeof(*want->pos));
            assert_memory_equal(got->sep, want->sep, want->count);
            assert_int_equal(csv_scan_count_lines(text, n), lines);
        }
    }
    csv_force_isa(before);
    free(text);
    free(want);
    free(got);
}

/* After each step: what csv_next gave. */
struct step {
    int rc;
    uint64_t number;
    size_t count;
    const char *first; /* field; NULL: do not look */
};

static void check_steps(const char *text, const struct step *s)
{
    struct csv *c = csv_create();
    struct csv_row row;
    csv_set(c, text, strlen(text));
    for (;; s++) {
        struct err e = {0};
        int rc = csv_next(c, &row, &e);
        assert_int_equal(rc, s->rc);
        if (rc == 0)
            break;
        assert_int_equal(row.number, s->number);
        assert_int_equal(e.code, rc < 0 ? rc : 0);
        if (rc < 0)
            continue;
        assert_int_equal(row.count, s->count);
        assert_int_equal(row.field[0].len, strlen(s->first));
        assert_memory_equal(row.field[0].p, s->first, strlen(s->first));
    }
    csv_close(c);
}

static void test_lines_and_recovery(void **state)
{
    (void)state;
    check_steps(
        "a,b\r\n\n\r\nc\n\"d\n,\"\"\",\"\"\r\ne",
        (const struct step[]){
            {1, 0, 2, "a"}, {1, 3, 1, "c"}, {1, 4, 2, "d\n,\""}, {1, 6, 1, "e"}, {0, 0, 0, NULL}});
    check_steps("a,b\"\nc,d\n\"e\"f,g\nh\n\"i\nj\n", (const struct step[]){{-EINVAL, 0, 0, NULL},
                                                                           {1, 1, 2, "c"},
                                                                           {-EINVAL, 2, 0, NULL},
                                                                           {1, 3, 1, "h"},
                                                                           {-EINVAL, 4, 0, NULL},
                                                                           {1, 5, 1, "j"},
                                                                           {0, 0, 0, NULL}});
    check_steps("", (const struct step[]){{0, 0, 0, NULL}});
    check_steps("\n\n", (const struct step[]){{0, 0, 0, NULL}});
}

static void test_quoted_is_told(void **state)
{
    struct csv *c = csv_create();
    struct csv_row row;
    struct err e = {0};
    const char *text = "a,\"b,\"\"\",,\"\",d\n";
    (void)state;
    csv_set(c, text, strlen(text));
    assert_int_equal(csv_next(c, &row, &e), 1);
    assert_int_equal(row.count, 5);
    static const bool want[] = {false, true, false, true, false};
    for (int i = 0; i < 5; i++)
        assert_int_equal(row.field[i].quoted, want[i]);
    assert_int_equal(row.line_len, strlen(text) - 1);
    csv_close(c);
}

static void check_too_big(char *text, size_t len)
{
    struct csv *c = csv_create();
    struct csv_row row;
    struct err e = {0};
    csv_set(c, text, len);
    assert_int_equal(csv_next(c, &row, &e), -E2BIG);
    assert_int_equal(csv_next(c, &row, &e), 1);
    assert_int_equal(row.count, 2);
    assert_int_equal(row.number, 1);
    assert_int_equal(csv_next(c, &row, &e), 0);
    csv_close(c);
}

static void test_limits(void **state)
{
    size_t len = 6 * CSV_MAX_ROW;
    char *text = malloc(len + 8);
    (void)state;
    static const char fills[] = {',', 'x'};
    static const size_t lens[] = {CSV_MAX_FIELDS + 8, 20000, CSV_MAX_ROW + 1, 6 * CSV_MAX_ROW};
    for (int f = 0; f < 2; f++)
        for (int l = 0; l < 4; l++) {
            if (fills[f] == 'x' && lens[l] <= CSV_MAX_ROW)
                continue;
            memset(text, fills[f], lens[l]);
            memcpy(text + lens[l], "\na,b", 4);
            check_too_big(text, lens[l] + 4);
            text[0] = text[2] = '"'; /* the way through libcsv */
            text[1] = 'q';
            text[3] = ',';
            check_too_big(text, lens[l] + 4);
        }
    free(text);
}

/* The last row end, found by reading from the start. */
static size_t naive_row_end(const char *text, size_t len)
{
    size_t end = 0;
    bool begin = true, quoted = false;
    for (size_t i = 0; i < len; i++) {
        if (quoted) {
            if (text[i] != '"')
                continue;
            if (i + 1 < len && text[i + 1] == '"')
                i++;
            else
                quoted = false;
            continue;
        }
        if (text[i] == '"' && begin)
            quoted = true;
        if (text[i] == '\n')
            end = i + 1;
        begin = text[i] == ',' || text[i] == '\n';
    }
    return end;
}

static void test_last_row_end(void **state)
{
    char text[512];
    uint64_t seed = 5;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t len = random_text(&seed, text, sizeof(text));
        assert_int_equal(csv_last_row_end(text, len), naive_row_end(text, len));
    }
}

static void test_put_field(void **state)
{
    static const char *const pairs[][2] = {
        {"", ""}, {"plain x", "plain x"}, {"a,b", "\"a,b\""}, {"\"", "\"\"\"\""}, {"\r", "\"\r\""}};
    char dst[32];
    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        size_t n = csv_put_field(dst, pairs[i][0], strlen(pairs[i][0]));
        assert_int_equal(n, strlen(pairs[i][1]));
        assert_memory_equal(dst, pairs[i][1], n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_libcsv),
        cmocka_unit_test(test_scanners_agree),
        cmocka_unit_test(test_lines_and_recovery),
        cmocka_unit_test(test_quoted_is_told),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_last_row_end),
        cmocka_unit_test(test_put_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
