/* Available memory ends at the limit of address space. A bug looked like a tier of half the
 * machine's memory in a process that may map less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>

#include "lib/base/memory.h"
#include "lib/base/units.h"

static void the_machine_has_some(void **state)
{
    (void)state;
    uint64_t bytes = memory_available();
    assert_true(bytes > 0 && bytes < UINT64_MAX / 2);
}

static void the_limit_of_address_space_counts(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* sanitizers map terabytes */
#endif
    struct rlimit before, less;
    uint64_t limit = 3 * UNITS_GIB;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    less = before;
    less.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    assert_int_equal(getrlimit(RLIMIT_AS, &less), 0);
    if (less.rlim_cur != limit)
        skip(); /* qemu-user keeps such a limit from its programs */
    uint64_t bytes = memory_available();
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(bytes < limit); /* this process has something mapped */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_machine_has_some),
        cmocka_unit_test(the_limit_of_address_space_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
