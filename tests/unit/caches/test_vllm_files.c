/* vLLM's file tier with a bound: a write that finds no room fails, a write under way has its room,
 * and the cleaner beside the engine removes what was read longest ago, down to nine tenths. A bug
 * looked like room that was lost when two wrote one file, a file that came back after it was
 * removed, or a cleaner that removed what was being written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "kvgen/cache/cache.h"
#include "kvgen/cache/vllm_files.h"

static void write_file(struct vllm_files *f, uint64_t key)
{
    assert_int_equal(vllm_files_claim(f, key), 0);
    vllm_files_put(f, key);
}

static void test_a_write_that_finds_no_room_fails(void **state)
{
    (void)state;
    struct vllm_files *f = vllm_files_create(true, 2, NULL);
    assert_non_null(f);
    assert_int_equal(vllm_files_claim(f, 1), 0);
    assert_int_equal(vllm_files_claim(f, 1), 0); /* two write one file: it takes room once */
    assert_int_equal(vllm_files_claim(f, 2), 0);
    assert_int_equal(vllm_files_claim(f, 3), -ENOSPC);
    assert_false(vllm_files_has(f, 1)); /* it is being written */
    vllm_files_put(f, 1);
    vllm_files_put(f, 1);
    assert_true(vllm_files_has(f, 1));
    vllm_files_put(f, 2);
    assert_int_equal(vllm_files_claim(f, 2), 0); /* it is there */
    assert_int_equal(vllm_files_claim(f, 3), -ENOSPC);
    vllm_files_free(f);
    f = vllm_files_create(true, 0, NULL);
    assert_non_null(f);
    for (uint64_t key = 0; key < 1000; key++)
        write_file(f, key);
    assert_false(vllm_files_are_full(f));
    vllm_files_free(f);
}

static void test_the_cleaner(void **state)
{
    (void)state;
    uint64_t key;
    struct vllm_files *f = vllm_files_create(true, 20, NULL);
    assert_non_null(f);
    for (key = 1; key <= 19; key++)
        write_file(f, key);
    assert_int_equal(vllm_files_claim(f, 20), 0);
    vllm_files_read(f, 1);
    vllm_files_read(f, 20); /* not there yet: nothing is read */
    assert_true(vllm_files_are_full(f));
    assert_true(vllm_files_clean(f, &key));
    assert_int_equal(key, 2);
    assert_true(vllm_files_clean(f, &key));
    assert_int_equal(key, 3);
    assert_false(vllm_files_clean(f, &key)); /* 18 are left */
    /* A file that was there when its write began, and is gone now, was not written again. */
    assert_int_equal(vllm_files_claim(f, 4), 0);
    write_file(f, 21);
    write_file(f, 22);
    assert_true(vllm_files_clean(f, &key));
    assert_int_equal(key, 4);
    vllm_files_put(f, 4);
    assert_false(vllm_files_has(f, 4));
    vllm_files_free(f);
}

static void test_what_is_being_written_stays(void **state)
{
    (void)state;
    uint64_t key;
    struct vllm_files *f = vllm_files_create(true, 1, NULL);
    assert_non_null(f);
    assert_int_equal(vllm_files_claim(f, 1), 0);
    assert_false(vllm_files_clean(f, &key));
    assert_int_equal(vllm_files_claim(f, 2), -ENOSPC);
    vllm_files_put(f, 1);
    assert_true(vllm_files_clean(f, &key)); /* nine tenths of one are none */
    assert_int_equal(vllm_files_claim(f, 2), 0);
    vllm_files_free(f);
    for (uint64_t most = 1; most < 1000; most++)
        assert_true(kv_files_cleaned(most) < most && kv_files_cleaned(most) == most * 9 / 10);
}

static void test_answers_take_a_step(void **state)
{
    (void)state;
    struct vllm_files *f = vllm_files_create(false, 2, NULL);
    assert_non_null(f);
    write_file(f, 1);
    assert_int_equal(vllm_files_ask(f, 1, true), FILES_ASKED);
    assert_int_equal(vllm_files_ask(f, 2, true), FILES_ASKED);
    vllm_files_step(f);
    assert_int_equal(vllm_files_ask(f, 1, false), FILES_HIT);
    write_file(f, 2);
    assert_int_equal(vllm_files_ask(f, 2, true), FILES_MISS); /* as it was answered */
    vllm_files_leave(f, 2);
    assert_int_equal(vllm_files_ask(f, 2, false), FILES_MISS);
    vllm_files_leave(f, 2);
    assert_int_equal(vllm_files_ask(f, 2, true), FILES_ASKED);
    vllm_files_free(f);
}

/* Two engines with the same files: each finds what the other wrote, and has answers of its own. */
static void test_shared_files(void **state)
{
    (void)state;
    uint64_t key;
    struct vllm_files *a = vllm_files_create(false, 4, NULL),
                      *b = vllm_files_create(false, 1, NULL);
    assert_true(a && b);
    assert_int_equal(vllm_files_join(b, a), 0);
    assert_int_equal(vllm_files_ask(b, 1, true), FILES_ASKED);
    write_file(a, 1);
    assert_true(vllm_files_has(b, 1));
    vllm_files_step(a);
    assert_int_equal(vllm_files_ask(b, 1, false), FILES_ASKED);
    vllm_files_step(b);
    assert_int_equal(vllm_files_ask(b, 1, false), FILES_HIT);
    for (key = 2; key <= 4; key++)
        write_file(b, key); /* the limit is the first one's */
    assert_int_equal(vllm_files_claim(b, 5), -ENOSPC);
    assert_int_equal(vllm_files_claim(a, 5), -ENOSPC);
    assert_true(vllm_files_clean(b, &key));
    assert_int_equal(key, 1);
    assert_false(vllm_files_has(a, 1));
    vllm_files_free(a);
    assert_true(vllm_files_has(b, 4));
    vllm_files_free(b);
}

/* With a limit of its own each engine fills its part, and its cleaner leaves the others' alone,
 * however long ago they were read. */
static void test_shares_of_files(void **state)
{
    (void)state;
    uint64_t key;
    struct vllm_files *a = vllm_files_create(true, 8, NULL), *b = vllm_files_create(true, 8, NULL);
    assert_true(a && b);
    assert_int_equal(vllm_files_join(b, a), 0);
    vllm_files_limit(a, 4);
    vllm_files_limit(b, 4);
    for (key = 1; key <= 4; key++)
        write_file(a, key);
    assert_int_equal(vllm_files_claim(a, 5), -ENOSPC);
    for (key = 5; key <= 8; key++)
        write_file(b, key);
    assert_int_equal(vllm_files_claim(b, 9), -ENOSPC);
    assert_int_equal(vllm_files_claim(b, 1), 0); /* it is there */
    vllm_files_read(b, 1);
    assert_true(vllm_files_clean(b, &key));
    assert_int_equal(key, 5);
    assert_false(vllm_files_clean(b, &key));
    assert_true(vllm_files_clean(a, &key));
    assert_int_equal(key, 2); /* b read the first one */
    vllm_files_free(a);
    vllm_files_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_write_that_finds_no_room_fails),
        cmocka_unit_test(test_the_cleaner),
        cmocka_unit_test(test_what_is_being_written_stays),
        cmocka_unit_test(test_answers_take_a_step),
        cmocka_unit_test(test_shared_files),
        cmocka_unit_test(test_shares_of_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
