/* test_progress.c - progress lines: nothing on a pipe unless asked, whole lines there, one line
 * rewritten and wiped on a terminal (a pseudo-terminal here), at most once a second. A bug here
 * fills logs, or leaves the end of a longer line standing behind a shorter one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/progress.h"

/* The text that progress writes to a file in mode, after two shows. */
static void shown_in_file(enum progress_mode mode, char *buf, size_t cap)
{
    FILE *f = tmpfile();
    assert_non_null(f);
    struct progress *p = progress_open(f, "kvgen", mode, 0);
    assert_non_null(p);
    progress_show(p, "1 row", "{\"rows\":1}");
    progress_show(p, "2 rows", "{\"rows\":2}");
    progress_clear(p);
    progress_close(p);
    rewind(f);
    size_t n = fread(buf, 1, cap - 1, f);
    buf[n] = '\0';
    fclose(f);
}

static void files_and_pipes(void **state)
{
    (void)state;
    char buf[200];
    shown_in_file(PROGRESS_AUTO, buf, sizeof buf);
    assert_string_equal(buf, "");
    shown_in_file(PROGRESS_NONE, buf, sizeof buf);
    assert_string_equal(buf, "");
    shown_in_file(PROGRESS_TEXT, buf, sizeof buf);
    assert_string_equal(buf, "kvgen: 1 row\nkvgen: 2 rows\n");
    shown_in_file(PROGRESS_JSON, buf, sizeof buf);
    assert_string_equal(buf, "{\"rows\":1}\n{\"rows\":2}\n");
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    char text[5000], buf[1000];
    FILE *f = tmpfile();
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct progress *p = progress_open(f, "kvgen", PROGRESS_TEXT, 0);
    progress_show(p, text, "{}");
    progress_close(p);
    rewind(f);
    size_t n = fread(buf, 1, sizeof buf, f);
    assert_in_range(n, 100, 600);
    assert_int_equal(buf[n - 1], '\n');
    assert_ptr_equal(memchr(buf, '\n', n), buf + n - 1);
    fclose(f);
}

/* A terminal of so many columns. *master reads what it shows; skips where there is none. */
static FILE *open_terminal(unsigned short columns, int *master)
{
    *master = posix_openpt(O_RDWR | O_NOCTTY);
    if (*master < 0 || grantpt(*master) || unlockpt(*master))
        skip();
    /* a session's leader must not get it for its terminal: closing it would hang the test up */
    int slave = open(ptsname(*master), O_RDWR | O_NOCTTY);
    if (slave < 0)
        skip();
    FILE *f = fdopen(slave, "r+");
    assert_non_null(f);
    struct winsize ws = {.ws_row = 24, .ws_col = columns};
    assert_int_equal(ioctl(*master, TIOCSWINSZ, &ws), 0);
    return f;
}

static void a_terminal_line_is_rewritten(void **state)
{
    (void)state;
    static const char want[] = "\rkvgen: a long line t"
                               "\rkvgen: short        "
                               "\r            \r";
    char buf[sizeof want] = "";
    int master;
    FILE *f = open_terminal(21, &master);
    struct progress *p = progress_open(f, "kvgen", PROGRESS_AUTO, 0);
    assert_true(progress_due(p));
    progress_show(p, "a long line that is cut", "{}");
    progress_show(p, "short", "{}");
    progress_close(p);
    /* the kernel may hand it over in pieces */
    for (size_t got = 0; got < sizeof want - 1;) {
        ssize_t n = read(master, buf + got, sizeof want - 1 - got);
        assert_true(n > 0);
        got += (size_t)n;
    }
    assert_string_equal(buf, want);
    fclose(f);
    close(master);
}

/* The bar as a terminal of so many columns shows it. */
static void shown_bar(char *buf, size_t cap, unsigned short columns, double share,
                      const char *brief)
{
    int master;
    FILE *f = open_terminal(columns, &master);
    struct progress *p = progress_open(f, "kvgen", PROGRESS_AUTO, 0);
    const struct progress_bar bar = {share, brief, "brief"};
    progress_show_bar(p, &bar, "text", "{}");
    progress_close(p);
    /* the line, and the blanks that wipe it: two times its length, and three returns */
    size_t got = 0, want = cap;
    while (got < want) {
        ssize_t n = read(master, buf + got, cap - 1 - got);
        assert_true(n > 0);
        got += (size_t)n;
        char *end = memchr(buf + 1, '\r', got - 1);
        if (end)
            want = 2 * (size_t)(end - buf) + 1;
    }
    *(char *)memchr(buf + 1, '\r', got - 1) = '\0';
    memmove(buf, buf + 1, strlen(buf));
    fclose(f);
    close(master);
}

static void a_bar_takes_the_room_that_is_left(void **state)
{
    (void)state;
    char buf[400];
    shown_bar(buf, sizeof buf, 41, 0.5, "0:10 left, 1 row");
    assert_string_equal(buf, "kvgen [#######--------] 0:10 left, 1 row");
    shown_bar(buf, sizeof buf, 200, 0.99, "brief");
    assert_string_equal(buf, "kvgen [###################-] brief");
    shown_bar(buf, sizeof buf, 81, 0, "brief");
    assert_string_equal(buf, "kvgen [--------------------] brief");
    shown_bar(buf, sizeof buf, 81, 1, "brief");
    assert_string_equal(buf, "kvgen [####################] brief");
    shown_bar(buf, sizeof buf, 81, (double)NAN, "brief");
    assert_string_equal(buf, "kvgen: brief");
    shown_bar(buf, sizeof buf, 20, 0.5, "brief and more"); /* no room for five cells */
    assert_string_equal(buf, "kvgen [##---] brief");
    shown_bar(buf, sizeof buf, 19, 0.5, "brief and more");
    assert_string_equal(buf, "kvgen: brief");
    shown_bar(buf, sizeof buf, 10, 0.5, "brief and more");
    assert_string_equal(buf, "kvgen: br");
}

static void counts_are_short(void **state)
{
    (void)state;
    char b[16];
    assert_string_equal(progress_count(b, 0), "0");
    assert_string_equal(progress_count(b, 999), "999");
    assert_string_equal(progress_count(b, 1000), "1.00k");
    assert_string_equal(progress_count(b, 12345), "12.3k");
    assert_string_equal(progress_count(b, 999499), "999k");
    assert_string_equal(progress_count(b, 1234567), "1.23M");
    assert_string_equal(progress_count(b, UINT64_MAX), "18.4E");
}

static void due_once_a_second(void **state)
{
    (void)state;
    FILE *f = tmpfile();
    struct progress *p = progress_open(f, "kvgen", PROGRESS_TEXT, INT64_C(3600000000000));
    assert_false(progress_due(p)); /* first_ns is an hour away */
    progress_close(p);
    p = progress_open(f, "kvgen", PROGRESS_TEXT, 0);
    int64_t first = clock_now_ns();
    assert_true(progress_due(p));
    bool again = progress_due(p);
    assert_true(!again || clock_now_ns() - first >= 1000000000);
    progress_close(p);
    p = progress_open(f, "kvgen", PROGRESS_AUTO, 0);
    assert_false(progress_due(p)); /* not a terminal */
    progress_close(p);
    progress_close(NULL);
    fclose(f);
}

static void time_left(void **state)
{
    (void)state;
    char b[16];
    const int64_t s = 1000000000;
    assert_string_equal(progress_time_left(b, 0.5, 35 * s), "0:35");
    assert_string_equal(progress_time_left(b, 0.1, 60 * s), "9:00");
    assert_string_equal(progress_time_left(b, 0.5, 3725 * s), "1:02:05");
    assert_string_equal(progress_time_left(b, 1, 35 * s), "0:00");
    assert_string_equal(progress_time_left(b, 0, 35 * s), "");
    assert_string_equal(progress_time_left(b, 1.5, 35 * s), "");
    assert_string_equal(progress_time_left(b, -1, 35 * s), "");
    assert_string_equal(progress_time_left(b, (double)NAN, 35 * s), "");
    assert_string_equal(progress_time_left(b, 1e-12, 35 * s), "");
    assert_string_equal(progress_time_left(b, 0.5, 9999 * 3600 * s), "9999:00:00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_pipes),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(a_terminal_line_is_rewritten),
        cmocka_unit_test(a_bar_takes_the_room_that_is_left),
        cmocka_unit_test(counts_are_short),
        cmocka_unit_test(due_once_a_second),
        cmocka_unit_test(time_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
