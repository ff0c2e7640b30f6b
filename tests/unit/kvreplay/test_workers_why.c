/* The words about I/O that io_uring gave to threads that wait: nothing where it gave none, the
 * target and what it had to wait for where it did, and why it is not known. A bug looked like a
 * reason of buffered I/O for direct one, or silence where the kernel tells nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kvreplay/device/workers_why.h"

static const char *why(uint64_t reads, uint64_t writes, int direct, const char *file_system)
{
    static char text[WORKERS_WHY];
    const struct block_events_counts n = {
        .workers_known = 1, .worker_reads = reads, .worker_writes = writes, .worker_calls = 9};
    const struct tier_info tier = {.engine = "io_uring", .direct = direct};

    return workers_why(text, &n, &tier, file_system);
}

static void none_and_unknown(void **state)
{
    const struct block_events_counts unknown = {0};
    char text[WORKERS_WHY];

    (void)state;
    assert_string_equal(why(0, 0, 0, "ext4"), "");
    assert_string_equal(why(0, 0, 1, ""), "");
    assert_ptr_equal(strstr(workers_why(text, &unknown, NULL, ""), "not known: "), text);
}

static void reasons(void **state)
{
    static const char *const names[] = {"", "ext4", "a_name_of_the_most_lett"};
    const struct block_events_counts n = {.workers_known = 1, .worker_writes = 1};
    char text[WORKERS_WHY];

    (void)state;
    assert_string_equal(why(0, 64, 0, "ext4"), "buffered writes, which ext4 could not take without "
                                               "waiting, for pages of its cache or for blocks");
    assert_string_equal(why(1, 0, 0, "ext4"), "buffered reads, which ext4 could not take without "
                                              "waiting, for pages that are not in its cache");
    assert_string_equal(why(0, 1, 1, "xfs"),
                        "direct writes, which xfs could not take without waiting: to allocate "
                        "blocks, to make a file longer, for another write of the file, or for room "
                        "in the device's queue");
    assert_string_equal(why(1, 0, 1, ""), "direct reads, which the target could not take without "
                                          "waiting, as for room in the device's queue");
    assert_string_equal(why(1, 0, -1, ""),
                        "some reads, which the target could not take without waiting");
    assert_string_equal(workers_why(text, &n, NULL, "xfs"),
                        "some writes, which xfs could not take without waiting");
    /* Both, and nothing is cut. */
    for (int direct = -1; direct <= 1; direct++)
        for (unsigned i = 0; i < 3; i++) {
            const char *both = why(1, 1, direct, names[i]);
            assert_non_null(strstr(both, "; "));
            assert_true(strlen(both) < WORKERS_WHY - 1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_and_unknown),
        cmocka_unit_test(reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
