/* msan.c - runs the tests of a program in the place of cmocka's runner, in a build with the memory
 * sanitizer (make msan). cmocka is not compiled with it: what its runner writes, such as a test's
 * state, would count as never written. Its assertions only read, and one that fails ends the
 * program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static jmp_buf skipped;

/* The linker puts these in the place of cmocka's (tests/rules.mk). */
void __wrap__skip(const char *file, int line);
void __wrap__skip(const char *file, int line)
{
    printf("# %s:%d: skipped\n", file, line);
    longjmp(skipped, 1);
}

static int run(const struct CMUnitTest *t, void **state)
{
    if (t->setup_func && t->setup_func(state) != 0)
        return 1;
    if (setjmp(skipped) == 0)
        t->test_func(state);
    return t->teardown_func ? t->teardown_func(state) : 0;
}

int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction set_up, CMFixtureFunction tear_down);
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    void *group = NULL;
    int failed = 0;

    setvbuf(stdout, NULL, _IONBF, 0);
    printf("1..%zu\n# %s\n", n, name);
    if (set_up && set_up(&group) != 0)
        return 1;
    for (size_t i = 0; i < n; i++) {
        void *state = tests[i].initial_state ? tests[i].initial_state : group;
        int rc = run(&tests[i], &state);

        failed += rc != 0;
        printf("%sok %zu - %s\n", rc ? "not " : "", i + 1, tests[i].name);
    }
    return (tear_down && tear_down(&group) != 0) || failed > 0;
}
