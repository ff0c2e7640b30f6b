/* Numbers for ids against a plain list, with ids that come and go in runs, forwards and backwards,
 * as the keys of a chain do. A bug looked like an id that was found under the number of one that
 * had left, or like the link to the next free number that was taken for an id. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "kvgen/cache/id_table.h"
#include "kvgen/rng.h"

enum {
    IDS = 64,
    ROUNDS = 20000
};

static void test_runs_of_ids(void **state)
{
    (void)state;
    struct id_table t = {0};
    struct rng rng;
    uint32_t number[IDS], last = 0;
    for (int i = 0; i < IDS; i++)
        number[i] = ID_NONE;
    rng_seed(&rng, 7, 0);
    assert_int_equal(id_table_find(&t, 1), ID_NONE);
    assert_int_equal(id_table_find_near(&t, 1, &last), ID_NONE);
    for (int round = 0; round < ROUNDS; round++) {
        const int what = (int)rng_below(&rng, 4), from = (int)rng_below(&rng, IDS);
        const int step = rng_below(&rng, 2) ? 1 : -1;
        int length = (int)rng_below(&rng, 12);
        for (int i = from; length-- > 0 && i >= 0 && i < IDS; i += step) {
            /* Small ids are as good as large ones, and as links. */
            const uint64_t id = (uint64_t)i;
            assert_int_equal(id_table_find(&t, id), number[i]);
            assert_int_equal(id_table_find_near(&t, id, &last), number[i]);
            if (what == 0 && number[i] == ID_NONE) {
                assert_int_equal(id_table_reserve(&t, 1), 0);
                number[i] = id_table_add(&t, id);
                assert_true(number[i] < t.cap);
            } else if (what == 1 && number[i] != ID_NONE) {
                id_table_remove(&t, number[i]);
                number[i] = ID_NONE;
            }
        }
    }
    uint32_t count = 0;
    for (int i = 0; i < IDS; i++) {
        assert_int_equal(id_table_find(&t, (uint64_t)i), number[i]);
        count += number[i] != ID_NONE;
    }
    assert_int_equal(t.count, count);
    id_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_of_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
