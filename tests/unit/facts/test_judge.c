/* Which shares and how many samples make a figure doubtful. A bug looked like kvreplay and kvstat
 * that judged the same run in two ways. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/facts/judge.h"

static void samples_bound_percentiles(void **state)
{
    static const uint64_t least[JUDGED] = {5, 59, 299};

    (void)state;
    for (unsigned i = 0; i < JUDGED; i++) {
        assert_int_equal(judge_samples(judge_percentile[i].ppm), least[i]);
        assert_int_equal(judge_percentile[i].percent * 10000, judge_percentile[i].ppm);
    }
    assert_int_equal(judge_samples(999900), 29956);
}

static void ten_samples_above(void **state)
{
    (void)state;
    assert_false(judge_enough(19, 500000));
    assert_true(judge_enough(20, 500000));
    assert_false(judge_enough(999, 990000));
    assert_true(judge_enough(1000, 990000));
}

static void shares(void **state)
{
    char buf[JUDGE_ADDED];

    (void)state;
    assert_int_equal(judge_longer(JUDGE_MOVES), VALIDITY_GOOD);
    assert_int_equal(judge_longer(0.0501), VALIDITY_UNRELIABLE);
    assert_string_equal(judge_added(buf, "a pause", 0.012), "a pause adds 1.2 % to");
    assert_string_equal(judge_added(buf, "a pause", 10), "a pause adds 1000 % to");
    assert_string_equal(judge_added(buf, "a pause", 10.1), "a pause is most of");
}

static void models_are_confirmed(void **state)
{
    (void)state;
    assert_true(judge_confirms(115, 100));
    assert_false(judge_confirms(115.1, 100));
    assert_true(judge_confirms(85, 100));
    assert_false(judge_confirms(84.9, 100));
    assert_false(judge_confirms(NAN, 100));
    assert_false(judge_confirms(100, NAN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_confirmed),
        cmocka_unit_test(samples_bound_percentiles),
        cmocka_unit_test(ten_samples_above),
        cmocka_unit_test(shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
