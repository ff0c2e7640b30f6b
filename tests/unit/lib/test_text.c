/* Marks and ends of texts, lists of words, and what is appended as far as it fits. Bugs looked like
 * a header behind a byte-order mark that was none, or a file named ".csv" that was taken for one.
 */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/text/text.h"

static void marks(void **state)
{
    (void)state;
    assert_int_equal(text_mark("\xef\xbb\xbf", 3), 3);
    assert_int_equal(text_mark("\xef\xbb\xbf{", 4), 3);
    assert_int_equal(text_mark("\xef\xbb\xbf", 2), 0);
    assert_int_equal(text_mark("abc", 3), 0);
    assert_int_equal(text_mark("", 0), 0);
}

static void ends(void **state)
{
    (void)state;
    assert_true(text_ends_with("a.csv", ".csv"));
    assert_false(text_ends_with(".csv", ".csv"));
    assert_false(text_ends_with("a.csv.zst", ".csv"));
    assert_false(text_ends_with("v", ".csv"));
}

static void lists(void **state)
{
    (void)state;
    const char *const list[] = {"tmpfs", "ramfs", NULL};
    assert_true(text_is_listed("ramfs", list));
    assert_false(text_is_listed("ram", list));
    assert_false(text_is_listed("", list));
}

static void appends_what_fits(void **state)
{
    (void)state;
    char buf[8] = "ab";
    text_append(buf, sizeof(buf), "%d", 123);
    assert_string_equal(buf, "ab123");
    text_append(buf, sizeof(buf), "%s", "4567");
    assert_string_equal(buf, "ab12345");
    text_append(buf, sizeof(buf), "8");
    assert_string_equal(buf, "ab12345");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks),
        cmocka_unit_test(ends),
        cmocka_unit_test(lists),
        cmocka_unit_test(appends_what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
