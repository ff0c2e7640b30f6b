/* Notes stay texts of their own: what is added is there in its order, what is too much is cut or
 * left out and nothing behind it is written over, merging adds nothing twice. A bug looked like: a
 * note that itself held the separator came out of a report as two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/base/notes.h"

static void test_order(void **state)
{
    struct notes n = {0};
    char buf[64];

    (void)state;
    assert_string_equal(notes_join(&n, "; ", buf, sizeof(buf)), "");
    notes_add(&n, "no %s (%d)", "iopoll", 95);
    notes_add(&n, "one; and a half");
    assert_int_equal(n.count, 2);
    assert_string_equal(n.text[0], "no iopoll (95)");
    assert_string_equal(n.text[1], "one; and a half");
    assert_true(notes_has(&n, "no iopoll (95)"));
    assert_false(notes_has(&n, "no iopoll"));
    assert_string_equal(notes_join(&n, ", ", buf, sizeof(buf)), "no iopoll (95), one; and a half");
}

static void test_bounds(void **state)
{
    struct {
        struct notes n;
        char behind[8];
    } guarded = {.behind = "intact!"};
    struct notes *n = &guarded.n;
    char longest[NOTES_CAP + 20], joined[NOTES_JOINED_CAP];

    (void)state;
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    for (unsigned i = 0; i < NOTES_MAX + 3; i++)
        notes_add(n, "%s", longest);
    assert_int_equal(n->count, NOTES_MAX);
    assert_int_equal(strlen(n->text[NOTES_MAX - 1]), NOTES_CAP - 1);
    assert_string_equal(guarded.behind, "intact!");
    notes_join(n, "; ", joined, sizeof(joined));
    assert_int_equal(strlen(joined), NOTES_MAX * (NOTES_CAP - 1) + (NOTES_MAX - 1) * 2);
    memset(joined, 'y', sizeof(joined));
    notes_join(n, "; ", joined, 10);
    assert_int_equal(strlen(joined), 9);
    assert_int_equal(joined[10], 'y');
}

static void test_merge(void **state)
{
    struct notes n = {0}, more = {0};

    (void)state;
    notes_add(&n, "a");
    notes_add(&more, "b");
    notes_add(&more, "a");
    notes_add(&more, "b");
    notes_merge(&n, &more);
    notes_merge(&n, &more);
    assert_int_equal(n.count, 2);
    assert_string_equal(n.text[1], "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_merge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
