/* test_lines.c - lines of 80 columns: names lose their middle and never half a character, values
 * stay with their units, and what has no room is counted. A bug looked like "1" at the end of a
 * line with "%" on the next, or a part that vanished without a word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "kvstat/screen/lines.h"

static void names_lose_their_middle(void **state)
{
    (void)state;
    char buf[LINES_BYTES];
    assert_string_equal(lines_shorten(buf, "short.csv", 9), "short.csv");
    assert_string_equal(lines_shorten(buf, "a-longer-name.csv", 11), "a-lo....csv");
    assert_string_equal(lines_shorten(buf, "a-longer-name.csv", 12), "a-lo...e.csv");
    /* of two columns each: three, the dots, and what has room of the end */
    lines_shorten(buf, "\xe7\x94\xa8\xe7\x94\xa8\xe7\x94\xa8\xe7\x94\xa8\xe7\x94\xa8\xe7\x94\xa8",
                  10);
    assert_in_range(cell_columns(buf), 8, 10);
    assert_int_equal(strlen(buf) % 3, 0);
}

static void a_line_ends_at_its_last_column(void **state)
{
    (void)state;
    struct lines l = {0};
    char text[200];
    memset(text, 'x', 199);
    text[199] = '\0';
    lines_add(&l, "%s", text);
    assert_int_equal(strlen(l.line[0]), LINES_COLUMNS);
    lines_add(&l, "one\ntwo\033[31m");
    assert_string_equal(l.line[1], "one?two?[31m");
    lines_gap(&l);
    lines_gap(&l);
    assert_int_equal(l.count, 3);
    for (int i = 0; i < 2 * LINES_ROOM; i++)
        lines_add(&l, "more");
    assert_int_equal(l.count, LINES_ROOM);
}

static void values_stay_with_their_units(void **state)
{
    (void)state;
    struct lines l = {0};
    struct lines_parts p = {0};
    /* The number would end the line at column 79. */
    lines_part(&p, "%s other 41.0 ms < 200 ms",
               "waiting for whatever it was that took so long to come");
    assert_true(lines_paragraph(&l, "Time went", &p, "; ", 2));
    assert_int_equal(l.count, 2);
    assert_string_equal(
        l.line[0],
        "Time went  waiting for whatever it was that took so long to come other 41.0 ms");
    assert_string_equal(l.line[1], "           < 200 ms");
}

static void what_has_no_room_is_counted(void **state)
{
    (void)state;
    struct lines l = {0};
    struct lines_parts p = {0};
    assert_true(lines_paragraph(&l, "Notes", &p, "; ", 1));
    assert_int_equal(l.count, 0);
    for (int i = 0; i < LINES_PARTS + 3; i++)
        lines_part(&p, "a note of some thirty characters %d", i);
    assert_false(lines_paragraph(&l, "Notes", &p, "; ", 1));
    assert_int_equal(l.count, 1);
    assert_string_equal(l.line[0],
                        "Notes      a note of some thirty characters 0; 26 more: --full");
    /* One part that is too long keeps its begin. */
    struct lines_parts one = {0};
    lines_part(&one, "%s %s", "a first sentence that goes on for quite a while, and then on and on",
               "until it is longer than any line could be");
    assert_false(lines_paragraph(&l, "Notes", &one, "; ", 1));
    assert_string_equal(
        l.line[1], "Notes      a first sentence that goes on for quite a while, and ... (--full)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lose_their_middle),
        cmocka_unit_test(a_line_ends_at_its_last_column),
        cmocka_unit_test(values_stay_with_their_units),
        cmocka_unit_test(what_has_no_room_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
