/* test_err.c - errors: codes are always negative, text from hostile input cannot steer a terminal,
 * a cut never splits a character or loses the reason, and arguments may point into the error that
 * is being set. Names of errno go both ways. A bug here prints escape sequences, or a Status that
 * nobody reads back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "lib/base/err.h"

static void sets_code_class_and_text(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(err_set(&e, -EINVAL, ERR_TARGET, "f.csv:3", "size %d", 7), -EINVAL);
    assert_int_equal(e.code, -EINVAL);
    assert_int_equal(e.class, ERR_TARGET);
    assert_string_equal(e.where, "f.csv:3");
    assert_string_equal(e.what, "size 7");
    assert_int_equal(err_set(&e, ENOSPC, ERR_FAILED, NULL, "x"), -ENOSPC);
    assert_string_equal(e.where, "");
    assert_int_equal(err_set(&e, 0, ERR_INPUT, "", "x"), -EINVAL);
    assert_int_equal(err_set(NULL, EIO, ERR_INPUT, "w", "x"), -EIO);
    assert_int_equal(err_errno(NULL, EIO, ERR_INPUT, "w", "x"), -EIO);
}

static void control_characters_become_question_marks(void **state)
{
    (void)state;
    struct err e = {0};
    err_set(&e, -EINVAL, ERR_INPUT, "a\x1b[2Jb", "k\n\r\t\x7f\xc2\x9bm");
    assert_string_equal(e.where, "a?[2Jb");
    assert_string_equal(e.what, "k??????m");
    err_set(&e, -EINVAL, ERR_INPUT, "", "caf\xc3\xa9 \xc2\xb5s");
    assert_string_equal(e.what, "caf\xc3\xa9 \xc2\xb5s");
}

static void passwords_are_hidden(void **state)
{
    (void)state;
    struct err e = {0};
    err_set(&e, EIO, ERR_INPUT, "redis://me:secret@host/0",
            "no file s3://%%3Asecret@b, http://a@b");
    assert_string_equal(e.where, "redis://*********@host/0");
    assert_string_equal(e.what, "no file s3://*********@b, http://a@b");
    err_set(&e, EIO, ERR_INPUT, "a://b:1/c@d", "https://host:80/x");
    assert_string_equal(e.where, "a://b:1/c@d");
    assert_string_equal(e.what, "https://host:80/x");
}

static void long_text_is_cut_between_characters(void **state)
{
    (void)state;
    struct err e = {0};
    for (size_t lead = 0; lead < 4; lead++) {
        char text[2000];
        memset(text, 'x', lead);
        for (size_t i = lead; i + 4 < sizeof text; i += 4)
            memcpy(text + i, "\xf0\x9f\x98\x80", 5);
        err_set(&e, -EINVAL, ERR_INPUT, text, "%s", text);
        size_t where = strlen(e.where), what = strlen(e.what);
        assert_int_equal((where - lead) % 4, 0);
        assert_int_equal((what - lead) % 4, 0);
        assert_in_range(where, sizeof e.where - 4, sizeof e.where - 1);
        assert_in_range(what, sizeof e.what - 4, sizeof e.what - 1);
    }
}

static void the_reason_survives_a_long_name(void **state)
{
    (void)state;
    struct err e = {0};
    char name[3000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    err_errno(&e, -ENOSPC, ERR_OUTPUT, "out", "cannot write %s", name);
    const char *tail = ": No space left on device";
    assert_string_equal(e.what + strlen(e.what) - strlen(tail), tail);
    err_errno(&e, -ENOENT, ERR_INPUT, "f", "cannot open");
    assert_string_equal(e.what, "cannot open: No such file or directory");
    err_errno(&e, -99999, ERR_INPUT, "f", "odd");
    assert_string_equal(e.what, "odd: unknown error");
}

static void arguments_may_be_the_error_itself(void **state)
{
    (void)state;
    struct err e = {0};
    err_set(&e, -EIO, ERR_INPUT, "here", "inner");
    err_set(&e, e.code, e.class, e.where, "outer: %s", e.what);
    assert_string_equal(e.where, "here");
    assert_string_equal(e.what, "outer: inner");
}

static void exit_statuses(void **state)
{
    (void)state;
    static const int want[] = {2, 1, 1, 3};
    for (int c = ERR_INPUT; c <= ERR_TARGET; c++) {
        struct err e = {.code = -1, .class = (enum err_class)c};
        assert_int_equal(err_exit_status(&e), want[c]);
    }
}

static void formats_one_line(void **state)
{
    (void)state;
    struct err e = {0};
    char buf[64], small[8];
    err_set(&e, -EIO, ERR_INPUT, "f:1", "bad");
    assert_int_equal(err_format(&e, "kvstat", buf, sizeof buf), 16);
    assert_string_equal(buf, "kvstat: f:1: bad");
    assert_int_equal(err_format(&e, "kvstat", small, sizeof small), 16);
    assert_string_equal(small, "kvstat:");
    assert_int_equal(err_nomem(&e, "queue"), -ENOMEM);
    assert_int_equal(e.class, ERR_FAILED);
    err_format(&e, "kvgen", buf, sizeof buf);
    assert_string_equal(buf, "kvgen: out of memory (queue)");
}

static void errno_names_go_both_ways(void **state)
{
    (void)state;
    int known = 0;
    assert_string_equal(err_errno_name(ENOSPC), "ENOSPC");
    assert_string_equal(err_errno_name(EIO), "EIO");
    assert_string_equal(err_errno_name(EAGAIN), "EAGAIN");
    for (int v = -2; v < 5000; v++) {
        const char *name = err_errno_name(v);
        if (!name)
            continue;
        known++;
        assert_int_equal(err_errno_value(name, strlen(name)), v);
        assert_int_equal(err_errno_value(name, strlen(name) - 1) == v, 0);
    }
    assert_true(known > 120);
    assert_null(err_errno_name(0));
    assert_null(err_errno_name(4096));
    assert_int_equal(err_errno_value("ENONSENSE", 9), 0);
    assert_int_equal(err_errno_value("", 0), 0);
    assert_int_equal(err_errno_value("EIO, and more", 3), EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_code_class_and_text),
        cmocka_unit_test(control_characters_become_question_marks),
        cmocka_unit_test(passwords_are_hidden),
        cmocka_unit_test(long_text_is_cut_between_characters),
        cmocka_unit_test(the_reason_survives_a_long_name),
        cmocka_unit_test(arguments_may_be_the_error_itself),
        cmocka_unit_test(exit_statuses),
        cmocka_unit_test(formats_one_line),
        cmocka_unit_test(errno_names_go_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
