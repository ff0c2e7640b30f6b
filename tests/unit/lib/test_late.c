/* A library that is loaded late gives all its functions or says what is missing, and is then asked
 * anew. A bug looked like: of a library that lacked one function the others were taken for loaded.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/late.h"

struct functions {
    double (*cosine)(double x);
    double (*other)(double x);
};

static int load(const char *file, const char *other, struct functions *table, struct err *e)
{
    const struct late_function all[] = {{"cos", offsetof(struct functions, cosine)},
                                        {other, offsetof(struct functions, other)}};
    const struct late_library library = {file, "waves need it", all, 2};

    return late_load(&library, table, e);
}

static void test_all_are_there(void **state)
{
    struct functions f = {0};
    struct err e = {0};

    (void)state;
    assert_int_equal(load("libm.so.6", "sin", &f, &e), 0);
    assert_true(f.cosine(0) > 0.99 && f.cosine(0) < 1.01);
    assert_true(f.other(0) > -0.01 && f.other(0) < 0.01);
    assert_int_equal(load("no such file", "sin", &f, &e), 0); /* they are there */
}

static void test_no_library(void **state)
{
    struct functions f = {0};
    struct err e = {0};

    (void)state;
    assert_int_equal(load("libnone.so.7", "sin", &f, &e), -ENOTSUP);
    assert_int_equal(e.class, ERR_INPUT);
    assert_string_equal(e.where, "libnone.so.7");
    assert_string_equal(e.what, "waves need it: cannot open shared object file: "
                                "No such file or directory");
}

static void test_a_function_is_missing(void **state)
{
    struct functions f = {0};
    struct err e = {0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(load("libm.so.6", "haversine", &f, &e), -ENOTSUP);
        assert_string_equal(e.what, "waves need it, and this one has no haversine");
    }
    assert_int_equal(load("libm.so.6", "sin", &f, &e), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_are_there),
        cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_a_function_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
